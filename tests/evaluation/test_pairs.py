"""How often the check of sentences is right is told as it is measured on the labelled pairs."""

from pathlib import Path

import pytest

from research.evidence.support import ACCURACY
from research.records import Language
from tests.evaluation.plantings import Judged, balanced, by_words, differing, judged, pairs

FOLDER = Path(__file__).parent / "pairs"


def found(name: str = "*") -> list[Judged]:
    return [judged(pair) for file in sorted(FOLDER.glob(f"{name}.jsonl")) for pair in pairs(file)]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_accuracy_that_readers_are_told_is_the_one_that_is_measured(language: Language) -> None:
    own = [item for item in found() if item.language == language]
    assert len(own) > 140
    assert balanced(own) == pytest.approx(ACCURACY[language], abs=0.02)


def test_pairs_that_were_never_seen_are_judged_far_better_than_by_words() -> None:
    unseen = found("unseen")
    assert balanced(unseen) >= 0.8
    assert balanced(unseen) > by_words(unseen) + 0.2


def test_changed_figures_are_found_in_hard_pairs_too() -> None:
    recall, precision = differing(found(), ())
    assert min(recall, precision) >= 0.9
