"""`constraints.txt`: one version for all that is required, and one that the requirement allows."""

from __future__ import annotations

import re

from tests.constraints import FILES, ROOT, closure, extras, plain, required

TEXT = (ROOT / "constraints.txt").read_text(encoding="utf-8")
PINNED = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", TEXT, re.M))


def test_every_requirement_has_one_version_that_it_allows() -> None:
    wanted = [one for name in FILES for one in required(ROOT / name)] + extras()
    assert [str(one) for one in wanted if plain(one.name) not in PINNED] == []
    wrong = [one for one in wanted if not one.specifier.contains(PINNED[plain(one.name)])]
    assert [str(one) for one in wrong] == []


def test_the_file_has_one_line_for_each_name_and_says_where_it_comes_from() -> None:
    first, *lines = TEXT.splitlines()
    assert first.startswith("# The versions that all tests passed with")
    assert lines == [f"{name}=={version}" for name, version in sorted(PINNED.items())]


def test_what_a_requirement_requires_in_turn_has_a_version_as_well() -> None:
    needed = closure(required(ROOT / "requirements.txt"))
    assert {"starlette", "aiohttp", "langgraph-checkpoint", "pydantic-core"} <= needed.keys()
    assert {"starlette", "aiohttp", "langgraph-checkpoint", "pydantic-core"} <= PINNED.keys()
