"""What counts as news: a report without any has no stories, no timeline and no tones."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from research.news.coverage import cover
from research.records import Evidence, EvidenceKind, Passage

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def piece(
    name: str, kind: EvidenceKind = "news", day: date | None = date(2026, 11, 20), **more: bool
) -> Evidence:
    passage = Passage(id=name, text=f"{name} is told.", end=len(name) + 9)
    return Evidence(
        id=name, kind=kind, title=name, publisher=f"{name} Post", retrieved=NOW, published=day,
        passages=(passage,), **more,
    )  # fmt: skip


def headlines(*found: Evidence) -> set[str]:
    told = cover(found, NOW)
    return {story.headline for story in told.stories} if told else set()


@pytest.mark.parametrize("kind", ["library", "web"])
def test_documents_with_a_date_are_no_news(kind: EvidenceKind) -> None:
    assert cover([piece("A note of ours", kind), piece("Sample", kind, sample=True)], NOW) is None


def test_a_date_of_ours_stands_beside_the_news_and_a_sample_does_not() -> None:
    own, sample = piece("A note of ours", "library"), piece("A sample", "library", sample=True)
    page = piece("A page without a day", "web", None)
    assert headlines(piece("Bridge falls"), own, sample, page) == {"Bridge falls", "A note of ours"}


def test_news_without_a_day_is_news() -> None:
    assert headlines(piece("Bridge falls", day=None)) == {"Bridge falls"}
