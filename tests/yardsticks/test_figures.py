"""The labelled pairs of news with figures: what the set is said to be, the measure, and the document beside it."""

from __future__ import annotations

import json
from pathlib import Path

from research.core.text.quantities import find_measures
from tests.yardsticks.figures import FIGURES, RESULTS, measured, pairs, right, scores

README = Path(__file__).with_name("README.md")


def test_the_set_is_what_it_is_said_to_be() -> None:
    every = pairs()
    assert len({pair.id for pair in every}) == len(every) >= 60
    assert 0.4 < sum(bool(pair.figures) for pair in every) / len(every) < 0.6
    for pair in every:
        for figure, piece in zip(pair.figures, pair.pieces, strict=False):
            assert figure in piece.text
            assert find_measures(figure)
    assert {pair.language for pair in every} == {"zh", "en", "zh-en"}


def test_a_conflict_counts_with_both_its_figures_alone() -> None:
    pair = next(pair for pair in pairs() if pair.id == "canal-queue")
    assert right([("38艘", "41艘")], pair)
    assert not right([("38艘", "40艘")], pair)
    found = scores(lambda one: [("38艘", "40艘")], [pair, next(p for p in pairs() if not p.figures)])
    assert (found["shown"], found["false"], found["P"]) == (0, 1, 0)


def test_the_document_tells_what_was_measured() -> None:
    text = README.read_text(encoding="utf-8")
    for one in json.loads(RESULTS.read_text(encoding="utf-8"))["sets"]:
        for way, row in one["figures"].items():
            cells = " | ".join(f"{row[name]:.2f}" for name in FIGURES)
            assert f"| {one['half']} | {way} | {cells} |" in text


def test_more_conflicts_are_right_than_by_the_unit_alone() -> None:
    figures = measured("unseen")["sets"][0]["figures"]
    assert figures["program"]["F"] > figures["plain"]["F"] + 0.1
    assert figures["program"]["P"] > figures["plain"]["P"] + 0.1
    assert figures["program"]["shown"] >= 0.8
