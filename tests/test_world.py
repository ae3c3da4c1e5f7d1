"""Questions about the world without key and model: `tests/world/questions.jsonl` says of each what must
be quoted (all of `found`) and from which kinds of sources, or, where `found` is empty, that the answer
has to say that nothing was found. The open sources are fakes with a small corpus and a plain search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research.core.text.tokenizer import has_han
from tests.servers.world import CORPUS, FakeWorld
from tests.terminal import terminal

QUESTIONS = [json.loads(line) for line in CORPUS.with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()]
KINDS = {
    "web page, Wikipedia": "Wikipedia", "网页，Wikipedia": "Wikipedia",
    "web page, Wikidata": "Wikidata", "网页，Wikidata": "Wikidata",
    "paper, ": "papers", "论文，": "papers",
}  # fmt: skip
NOTHING = 3  # the status of a run that found nothing


@pytest.fixture(scope="module")
def world() -> Iterator[FakeWorld]:
    with FakeWorld.of_the_corpus() as fake:
        yield fake


@pytest.mark.slow
@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked["question"])
def test_it_is_answered_with_quotes_from_two_kinds_of_sources_or_not_at_all(
    world: FakeWorld, tmp_path: Path, asked: dict[str, Any]
) -> None:
    env = world.settings | {"SIGHTLINE_OPEN_SOURCES": "on"}
    done = terminal(tmp_path, "ask", asked["question"], env=env)
    _, answer, sources, *_ = re.split(r"^## (?:Answer|Sources|答案|来源)$", done.stdout, flags=re.M)
    sources = sources.partition("\n## ")[0]
    quoted = "\n".join(line for line in answer.splitlines() if re.match(r"- .+ \[\d+\]", line))
    if not asked["found"]:
        assert done.returncode == NOTHING and not quoted, done.stdout
        assert re.search("Not found in the sources|所查资料中未找到", answer), answer
        return
    assert done.returncode == 0, done.stderr
    for text in asked["found"]:
        assert text in quoted, answer
    kinds = {kind for words, kind in KINDS.items() if f"— {words}" in sources}
    assert set(asked["kinds"]) <= kinds and len(kinds) >= 2, sources


def test_ten_are_in_each_language_and_most_have_an_answer() -> None:
    chinese = [one for one in QUESTIONS if has_han(one["question"])]
    assert (len(QUESTIONS), len(chinese)) == (20, 10)
    assert sum(bool(one["found"]) for one in QUESTIONS) == 18


@pytest.mark.slow
@pytest.mark.parametrize("fault", [403, 429, 500, "html", "broken", "silent", "drops"])
@pytest.mark.parametrize(
    ("service", "named", "question", "found"),
    [
        ("wikipedia", "Wikipedia", "What causes coral bleaching?", "marine heatwaves"),
        ("wikidata", "Wikidata", "How tall is Mount Everest?", "8,848.86 metres"),
        ("openalex", "OpenAlex", "How tall is Mount Everest?", "8,848.86 metres"),
    ],
)
def test_a_service_that_fails_is_named_and_the_others_answer(
    tmp_path: Path, service: str, named: str, question: str, found: str, fault: int | str
) -> None:
    with FakeWorld.of_the_corpus() as world:
        world.faulty = (service,)
        world.status = fault if isinstance(fault, int) else 200
        world.fault = fault if isinstance(fault, str) else ""
        patience = "8" if fault == "silent" else "30"  # the others have time on a busy machine, too
        env = world.settings | {
            "SIGHTLINE_OPEN_SOURCES": "on",
            "SIGHTLINE_SEARCH_TIMEOUT": patience,
        }
        done = terminal(tmp_path, "ask", question, "--loops", "1", env=env)
    assert done.returncode == 0, done.stderr
    answer, _, rest = done.stdout.partition("\n## Sources\n")
    assert found in answer
    failed = rest.partition("\n## Failed steps\n")[2].partition("\n## ")[0]
    assert named in failed, rest
