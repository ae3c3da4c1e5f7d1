"""The versions that the tests passed with, of all that is required and of what that requires in turn.

    python -m tests.constraints > constraints.txt

writes those that are installed here: run it where all tests have just passed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "tests/requirements.txt")
HEAD = """\
# The versions that all tests passed with, on Python {python}. A new one: docs/deployment.md
"""


def plain(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub("[-_.]+", "-", name).lower()


def required(file: Path) -> list[Requirement]:
    """What a file of requirements asks for, here."""
    lines = (line.split("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    found = [Requirement(line) for line in lines if line]
    return [one for one in found if one.marker is None or one.marker.evaluate()]


def extras() -> list[Requirement]:
    """What runs in PostgreSQL and reading scans need beside."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = project["optional-dependencies"]
    return [Requirement(text) for text in [*known["postgres"], *known["ocr"]]]


def closure(wanted: list[Requirement]) -> dict[str, str]:
    """The installed versions of some requirements and of all that they require, by plain name."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(one.name, extra) for one in wanted for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (plain(name), extra) in seen:
            continue
        seen.add((plain(name), extra))
        found = distribution(name)
        versions[plain(name)] = found.version
        waiting += _needed(found.requires or [], extra)
    return versions


def _needed(lines: list[str], extra: str) -> Iterator[tuple[str, str]]:
    for line in lines:
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            yield from ((one.name, more) for more in ("", *one.extras))


def main() -> None:
    wanted = [one for name in FILES for one in required(ROOT / name)] + extras()
    print(HEAD.format(python=".".join(map(str, sys.version_info[:2]))), end="")
    for name, version in sorted(closure(wanted).items()):
        print(f"{name}=={version.partition('+')[0]}")


if __name__ == "__main__":
    main()
