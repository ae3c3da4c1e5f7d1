"""How often the check of sentences is right on the labelled pairs that are here."""

from pathlib import Path

import pytest

from research.records import Language
from tests.evaluation.plantings import Judged, balanced, by_words, differing, judged, pairs

FOLDER = Path(__file__).parent / "pairs"
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def found(name: str = "*") -> list[Judged]:
    return [judged(pair) for file in sorted(FOLDER.glob(f"{name}.jsonl")) for pair in pairs(file)]


@pytest.mark.parametrize(("language", "share"), [("zh", 0.82), ("en", 0.71)])
def test_the_readme_tells_the_accuracy_that_is_measured(language: Language, share: float) -> None:
    own = [item for item in found() if item.language == language]
    assert len(own) > 140
    assert balanced(own) == pytest.approx(share, abs=0.02)
    assert f"{share:.0%}".replace("%", " %") in README


def test_pairs_that_were_never_seen_are_judged_far_better_than_by_words() -> None:
    unseen = found("unseen")
    assert balanced(unseen) >= 0.8
    assert balanced(unseen) > by_words(unseen) + 0.2


def test_changed_figures_are_found_in_hard_pairs_too() -> None:
    recall, precision = differing(found(), ())
    assert min(recall, precision) >= 0.9
