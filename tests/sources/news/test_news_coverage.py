"""What counts as news: a report without any has no stories, no timeline and no tones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from research.core.records import Evidence, EvidenceKind, Passage
from research.sources.news.coverage import build_coverage

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def piece(name: str, kind: EvidenceKind = "news", day: date | None = date(2026, 11, 20), **more: bool) -> Evidence:
    passage = Passage(id=name, text=f"{name} is told.", end=len(name) + 9)
    return Evidence(
        id=name, kind=kind, title=name, publisher=f"{name} Post", retrieved=NOW, published=day,
        passages=(passage,), **more,
    )  # fmt: skip


def headlines(*found: Evidence) -> set[str]:
    told = build_coverage(found, NOW)
    return {story.headline for story in told.stories} if told else set()


@pytest.mark.parametrize("kind", ["library", "web"])
def test_documents_with_a_date_are_no_news(kind: EvidenceKind) -> None:
    assert build_coverage([piece("A note of ours", kind), piece("Sample", kind, sample=True)], NOW) is None


def test_a_date_of_ours_stands_beside_the_news_and_a_sample_does_not() -> None:
    own, sample = piece("A note of ours", "library"), piece("A sample", "library", sample=True)
    page = piece("A page without a day", "web", None)
    assert headlines(piece("Bridge falls"), own, sample, page) == {"Bridge falls", "A note of ours"}


def test_news_without_a_day_is_news() -> None:
    assert headlines(piece("Bridge falls", day=None)) == {"Bridge falls"}


TOLD = (
    piece("Ferry sinks off Indonesia", day=date(2026, 11, 10)),
    piece("Ferry sinks off Indonesia ", day=date(2026, 11, 11)),
    piece("Museum in Oslo extends its opening hours", day=date(2026, 11, 19)),
    piece("Gold hits record high", day=None),
)


def test_stories_have_their_days_and_those_without_one_say_so() -> None:
    told = build_coverage(TOLD, NOW)
    assert told
    assert {(s.day, s.latest, s.stale) for s in told.stories} == {
        (date(2026, 11, 10), date(2026, 11, 11), True),
        (date(2026, 11, 19), date(2026, 11, 19), False),
        (None, None, False),
    }
    assert (told.undated, told.latest_day) == (1, date(2026, 11, 19))
    assert told.days == (
        (date(2026, 11, 10), 1),
        (date(2026, 11, 11), 1),
        (date(2026, 11, 19), 1),
    )


def test_age_counts_from_the_day_of_the_report() -> None:
    later = build_coverage(TOLD, NOW + timedelta(days=30))
    assert later and sum(story.stale for story in later.stories) == 2


def test_outlets_tell_their_pieces_stories_and_first_day() -> None:
    names = ("A", "B", "A", "")
    told = build_coverage([e.model_copy(update={"publisher": n}) for e, n in zip(TOLD, names, strict=True)], NOW)
    assert told
    assert [(o.name, o.items, o.stories, o.first) for o in told.outlets] == [
        ("A", 2, 2, date(2026, 11, 10)),
        ("B", 1, 1, date(2026, 11, 11)),
        ("", 1, 1, None),
    ]
