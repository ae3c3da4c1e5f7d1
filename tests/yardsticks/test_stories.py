"""The labelled stories: what the set is said to be, the measure, and the document beside it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.yardsticks.stories import FIGURES, RESULTS, ROWS, average_link, items, measured, scores

README = Path(__file__).with_name("README.md")


def test_the_set_is_what_it_is_said_to_be() -> None:
    every = items()
    assert len({one.id for one in every}) == len(every) >= 150
    languages: dict[str, set[str]] = defaultdict(set)
    halves: dict[str, set[str]] = defaultdict(set)
    for one in every:
        languages[one.story].add(one.language[:2])
        halves[one.story].add(one.half)
    assert len(languages) >= 50
    assert sum(len(found) == 2 for found in languages.values()) * 2 >= len(languages)
    assert all(len(found) == 1 for found in halves.values())
    assert {one.language for one in every} == {"zh", "zh-Hant", "en"}


def test_pairs_and_b_cubed_count_what_is_together() -> None:
    found = scores(["a", "a", "a", "b"], [1, 1, 2, 2])
    assert (found["pairs P"], found["pairs R"]) == (1 / 2, 1 / 3)
    assert round(found["B3 P"], 3) == 0.75
    assert round(found["B3 R"], 3) == 0.667


def test_groups_by_average_link_are_no_chains() -> None:
    like = {(0, 1): 0.9, (1, 2): 0.8}
    groups = average_link(3, lambda a, b: like.get((a, b), 0.0), 0.5)
    assert groups[0] == groups[1] != groups[2]


def test_the_document_tells_what_was_measured() -> None:
    text = README.read_text(encoding="utf-8")
    for one in json.loads(RESULTS.read_text(encoding="utf-8"))["sets"]:
        for name in ROWS:
            cells = " | ".join(f"{one[name][figure]:.3f}" for figure in FIGURES)
            assert f"| {one['half']} | {name} | {cells} |" in text


@pytest.mark.slow
def test_stories_of_both_languages_are_found_on_pieces_that_the_score_was_not_fitted_on() -> None:
    row = measured(half="unseen")["sets"][0]
    found, undated = row["program"], row["program, no dates"]
    assert found["pairs P"] >= 0.9
    assert found["pairs R"] >= 0.75
    assert found["B3 F"] >= 0.88
    assert row["program, titles"]["B3 F"] >= 0.83
    assert undated["B3 F"] > row["tf-idf"]["B3 F"] + 0.1
