"""Reports with planted defects: numbering repairs what it can, and the check of sentences finds the rest."""

from collections import Counter

import pytest

from research.citations.numbering import check_numbering
from research.citations.registry import EvidenceRegistry
from research.core.records import SupportStatus
from research.core.urls import url_identity
from tests.linter.plantings import (
    GOOD,
    Judged,
    balanced,
    by_words,
    check,
    confusion,
    differing,
    overlap,
    planted,
)
from tests.tables import each_row

NAMES = sorted(planted())


def found(language: str = "") -> list[Judged]:
    checked = [item for name in NAMES for item in check(name).judged]
    return [item for item in checked if language in ("", item.language)]


def _at(language: str, status: str) -> list[str]:
    """The claims that have this status or this label, but not both."""
    wrong = [i for i in found(language) if (i.label == status) != (i.found == status)]
    return [f"{i.label} found {i.found}: {i.name}" for i in wrong]


def test_there_is_enough_to_measure() -> None:
    sentences = [(item, s) for item in planted().values() for s in item.sentences]
    assert len(NAMES) >= 16
    assert len(sentences) >= 240
    for language in ("zh", "en"):
        labels = Counter(s.label for item, s in sentences if item.language == language)
        assert sum(labels.values()) >= 120
        assert labels["differs"] >= 25
        assert labels["unsupported"] >= 25
        assert labels["none"] >= 12
        assert labels["quoted"] + labels["supported"] >= 60


@each_row("name", NAMES)
def test_every_sentence_has_something_to_be_judged_by(name: str) -> None:
    item = planted()[name]
    ids = [passage.id for source in item.sources for passage in source.passages]
    assert len(set(ids)) == len(ids)
    for labelled in item.sentences:
        assert (labelled.kind in ("missing", "invented")) == (labelled.label == "none"), labelled


@each_row("name", NAMES)
def test_a_numbered_report_has_no_mechanical_defect(name: str) -> None:
    checked = check(name)
    assert check_numbering(checked.cited) == []
    assert checked.cited.sources


@each_row("name", NAMES)
def test_duplicates_of_one_address_are_one_source_with_one_number(name: str) -> None:
    item, numbered = planted()[name], check(name).cited
    registry = EvidenceRegistry()
    ids = [registry.add(evidence).id for evidence in item.evidence]
    twins = [(at, source.same_as) for at, source in enumerate(item.sources) if source.same_as is not None]  # fmt: skip
    assert twins
    for at, first in twins:
        assert ids[at] == ids[first]
        passages = {p.id for n in (at, first) for p in item.sources[n].passages}
        shown = [s for s in numbered.sources if passages & {p.id for p in s.evidence.passages}]
        assert len(shown) == 1
    assert len(registry) == len(item.sources) - len(twins)
    addresses = [url_identity(source.evidence.url) for source in numbered.sources]
    assert len(set(addresses)) == len(addresses)


def test_every_labelled_sentence_is_found_and_nothing_else_is_taken_for_a_claim() -> None:
    missed = [item.name for item in found() if item.found is None]
    assert missed == []
    beside = [sentence.text for name in NAMES for sentence in check(name).beside]
    assert len(beside) <= 0.01 * len(found()), beside


def test_a_sentence_without_a_source_and_one_with_an_invented_source_have_none() -> None:
    wrong = [i.name for i in found() if (i.label == "none") != (i.found == "none")]
    assert wrong == []


@pytest.mark.parametrize("language", ["zh", "en"])
def test_changed_figures_dates_and_units_are_found(language: str) -> None:
    recall, precision = differing(found(language))
    assert recall >= 0.7, _at(language, "differs")
    assert precision >= 0.95, _at(language, "differs")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_few_changed_figures_pass_for_supported(language: str) -> None:
    changed = [item for item in found(language) if item.label == "differs"]
    assert sum(item.found in GOOD for item in changed) <= 0.08 * len(changed)


def test_no_sentence_that_nobody_labelled_is_said_to_differ() -> None:
    beside = [sentence for name in NAMES for sentence in check(name).beside]
    recall, precision = differing(found(), beside)
    assert recall >= 0.7
    assert precision >= 0.95


@pytest.mark.parametrize("language", ["zh", "en"])
def test_supported_is_told_from_unsupported(language: str) -> None:
    everything = found(language)
    with_source = [item for item in everything if item.label != "none"]
    wrong = [f"{i.kind}, {i.found}: {i.name}" for i in everything if not i.right]
    assert balanced(everything) >= 0.65, wrong
    assert balanced(with_source) >= 0.6, wrong


def test_the_check_beats_word_overlap_at_its_best() -> None:
    cited = [item for item in found() if item.label != "none"]
    assert balanced(cited) > by_words(cited)


def test_what_stands_word_for_word_is_never_doubted() -> None:
    assert [i.name for i in found() if i.label == "quoted" and i.found not in GOOD] == []


def told(label: SupportStatus, status: SupportStatus | None, share: float = 0.0) -> Judged:
    return Judged(label=label, found=status, overlap=share, name="", kind="", language="en")


def test_scores_count_what_was_found_and_what_was_not() -> None:
    some = [
        told("supported", "quoted", 0.9),
        told("supported", "unclear", 0.4),
        told("quoted", None, 0.8),
        told("differs", "differs", 0.9),
        told("differs", "unclear", 0.5),
        told("unsupported", "differs", 0.2),
        told("none", None, 0.0),
        told("none", "supported", 0.0),
    ]
    assert differing(some) == (0.5, 0.5)
    assert balanced(some) == pytest.approx((1 / 3 + 3 / 5) / 2)
    assert by_words(some) == pytest.approx((1 + 3 / 5) / 2)
    assert confusion(some)["quoted", ""] == 1
    assert sum(confusion(some).values()) == len(some)


def test_overlap_is_the_share_of_the_words_that_tell_something() -> None:
    assert overlap("The tower opened in 1925.", ["In 1925 the tower was opened."]) == 1.0
    assert overlap("The tower opened in 1925.", ["A bridge.", "It rained."]) == 0.0
    assert overlap("The tower opened in 1925.", []) == 0.0
