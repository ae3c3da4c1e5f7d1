"""A work as a catalogue describes it, and several descriptions of one work as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, cast, get_args
from urllib.parse import quote

from research import data
from research.citations.registry import evidence_id
from research.core.records import (
    Author,
    Evidence,
    EvidenceKind,
    Notice,
    Paper,
    Passage,
    fingerprint,
    normalised,
)
from research.core.urls import canonical_url
from research.http.plain import SNIPPET, legible, shortened, tidy, unmarked

KIND: EvidenceKind = "paper"
AHEAD = timedelta(days=1)  # it may be tomorrow elsewhere
TITLE = 500  # characters
NAME = 120  # characters of the name of an author or a venue
AUTHORS = 100  # more of one work are left out
NOTICES: dict[str, Notice] = {said: cast("Notice", own) for said, own in data.rows("notices.tsv")}
GRAVITY: tuple[Notice, ...] = get_args(Notice)  # from none to the gravest

_DOI = re.compile(r"10\.\d{4,9}/\S+")
_DOI_AT = re.compile(r"(?i)\s*(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?")
_INLINE = re.compile(r"(?i)</?(?:jats:)?(?:bold|italic|sc|underline|monospace|sup|sub|i|b|em|strong)\b[^<>]*>")  # fmt: skip
_BLOCK = re.compile(r"(?i)</?(?:jats:)?(?:title|p|sec|list-item|abstract)\b[^<>]*>")
_HEADED = re.compile(r"(?i)<jats:title>\s*abstract\s*</jats:title>")
# Publishers put it before the title of the work itself; a notice is a "Retraction of" or so.
_STRUCK = re.compile(r"(?i)(?:retracted|withdrawn)(?: (?:article|paper|chapter))?\s*:\s*")


@dataclass(frozen=True)
class Work:
    """What one catalogue says of a work. `doi` is bare and in lower case, `page` an address beside that
    of the DOI, `full` one where all of it may be read; `notices` are what it says of other works, by
    their DOIs, as the notice of a retraction does."""

    title: str
    service: str
    doi: str = ""
    page: str = ""
    full: str = ""
    abstract: str = ""
    authors: tuple[Author, ...] = ()
    year: int | None = None
    day: date | None = None
    venue: str = ""
    language: str = ""
    cited: int | None = None
    counted: str = ""
    notice: Notice = ""
    notices: tuple[tuple[str, Notice], ...] = ()

    @property
    def url(self) -> str:
        # A DOI may have signs that mean something else in an address.
        at = f"https://doi.org/{quote(self.doi, safe='/()[]:;,.-_~!*$&+=@')}" if self.doi else ""
        return canonical_url(at) or canonical_url(self.page)


def gravest(notices: Iterable[Notice]) -> Notice:
    return max(notices, key=GRAVITY.index, default="")


# Fields of services, of which any may be anything


def bare_doi(value: object) -> str:
    """A DOI without what leads to it; "" if it is none."""
    text = _DOI_AT.sub("", value, count=1).strip() if isinstance(value, str) else ""
    return text.lower() if _DOI.fullmatch(text) and len(text) <= NAME * 2 else ""


def titled(value: object) -> tuple[str, Notice]:
    """A title without mark-up, and what is written before it."""
    title = shortened(unmarked(value), TITLE)
    struck = _STRUCK.match(title)
    return (title[struck.end() :], "retracted") if struck else (title, "")


def named(value: object) -> str:
    return shortened(" ".join(unmarked(value).split()), NAME)


def prose(value: object) -> str:
    """An abstract without the tags of JATS or HTML; its paragraphs and headings stay on lines of their
    own."""
    if not isinstance(value, str):
        return ""
    text = _HEADED.sub("", value[: 2 * SNIPPET])
    lines = _BLOCK.sub("\n", _INLINE.sub("", text)).split("\n")
    return shortened(tidy("\n".join(map(unmarked, lines))), SNIPPET)


def whole(value: object) -> int | None:
    """A count."""
    good = isinstance(value, int) and not isinstance(value, bool)
    return cast("int", value) if good and 0 <= cast("int", value) < 10**9 else None


def dated(parts: Sequence[Any]) -> tuple[int | None, date | None]:
    """The year, and the day where all of it is given: numbers or their digits."""
    numbers = [int(p) if str(p).isascii() and str(p).isdigit() else 0 for p in [*parts][:3]]
    year = numbers[0] if numbers and 1000 <= numbers[0] <= 9999 else None
    try:
        return year, date(*numbers) if year and len(numbers) == 3 else None
    except ValueError:
        return year, None


def address(value: object) -> str:
    return canonical_url(legible(value))


# One work, however often it was found


def united(lists: Iterable[Sequence[Work]]) -> list[Work]:
    """The works of the catalogues, each once: those that more of them found early come first.

    Two descriptions are of one work if they have the same DOI, or the same title and year; with DOIs
    of their own, such as those of a preprint and an article, also the first author has to be one.
    What a notice says of a work holds for it.
    """
    groups: list[list[Work]] = []
    scores: list[float] = []
    for works in lists:
        for place, work in enumerate(works):
            at = next(
                (n for n, group in enumerate(groups) if any(_same(work, o) for o in group)), -1
            )
            if at < 0:
                groups.append([])
                scores.append(0.0)
            groups[at].append(work)
            scores[at] += 1 / (60 + place)  # reciprocal ranks (Cormack et al., SIGIR 2009)
    told = [notice for group in groups for work in group for notice in work.notices]
    order = sorted(range(len(groups)), key=lambda n: -scores[n])
    return [_noted(_merged(groups[n]), groups[n], told) for n in order]


def _same(one: Work, other: Work) -> bool:
    if one.doi and one.doi == other.doi:
        return True
    alike = normalised(one.title) == normalised(other.title) and one.year == other.year
    if not alike or not one.title or one.year is None:
        return False
    return not (one.doi and other.doi) or (len(_first(one)) > 0 and _first(one) == _first(other))


def _first(work: Work) -> str:
    """The family name of the first author."""
    return normalised(work.authors[0].shown).rpartition(" ")[2] if work.authors else ""


# Whose word counts where several know: publishers deposit with Crossref what they have published.
_TRUST = ("crossref", "pubmed", "openalex", "arxiv")


def _merged(group: Sequence[Work]) -> Work:
    """One description with the richest of each field."""
    known = sorted(group, key=lambda work: _TRUST.index(work.service))
    first = known[0]
    counts = [work for work in known if work.cited is not None]
    count = max(counts, key=lambda work: work.cited or 0, default=None)
    dates = next((work for work in known if work.day), None)
    year = next((work.year for work in known if work.year is not None), None)
    structured = (work.authors for work in known if any(a.family for a in work.authors))
    return replace(
        first,
        doi=_any(work.doi for work in known),
        page=_any(work.page for work in known),
        full=_any(work.full for work in known),
        abstract=max((work.abstract for work in known), key=len),
        authors=next(structured, ()) or _any(work.authors for work in known),
        year=year,
        day=dates.day if dates and dates.day and dates.day.year == year else None,
        venue=_any(work.venue for work in known),
        language=_any(work.language for work in known),
        cited=count.cited if count else None,
        counted=count.service if count else "",
        notice=gravest(work.notice for work in known),
    )


def _any(values: Iterable[Any]) -> Any:
    """The first that says anything."""
    last = None
    for value in values:
        last = value
        if value:
            break
    return last


def _noted(work: Work, group: Sequence[Work], told: Iterable[tuple[str, Notice]]) -> Work:
    own = {one.doi for one in group if one.doi}
    return replace(work, notice=gravest([work.notice, *(n for doi, n in told if doi in own)]))


def evidence(work: Work, retrieved: datetime) -> Evidence | None:
    """A work as evidence; of one without an abstract its title is what can be cited."""
    url, text = work.url, work.abstract or work.title
    if not url or not work.title:
        return None
    full = canonical_url(work.full)
    return Evidence(
        id=evidence_id(KIND, url, url),
        kind=KIND,
        title=work.title,
        publisher=work.venue,
        url=url,
        also=full if full != url else "",
        language=work.language,
        retrieved=retrieved,
        published=work.day if work.day and work.day <= retrieved.date() + AHEAD else None,
        passages=(Passage(id=fingerprint(url, text), text=text, end=len(text)),),
        paper=Paper(
            authors=work.authors, year=work.year, venue=work.venue, doi=work.doi,
            cited=work.cited, counted=work.counted,
        ),
        notice=work.notice,
    )  # fmt: skip
