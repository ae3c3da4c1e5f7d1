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
    Paper,
    Passage,
    PublicationNotice,
    fingerprint,
    normalise_query,
)
from research.core.urls import canonical_url
from research.http.sanitize import MAX_SNIPPET_CHARS, remove_control_characters, strip_html, tidy_text, truncate_text

EVIDENCE_KIND: EvidenceKind = "paper"
MAX_DATE_AHEAD = timedelta(days=1)  # it may be tomorrow elsewhere
MAX_TITLE_CHARS = 500  # characters
MAX_NAME_CHARS = 120  # characters of the name of an author or a venue
MAX_AUTHORS = 100  # more of one work are left out
NOTICE_BY_TYPE: dict[str, PublicationNotice] = {
    said: cast("PublicationNotice", own) for said, own in data.rows("notices.tsv")
}
NOTICE_SEVERITY: tuple[PublicationNotice, ...] = get_args(PublicationNotice)  # from none to the gravest

_DOI_PATTERN = re.compile(r"10\.\d{4,9}/\S+")
_DOI_PREFIX_PATTERN = re.compile(r"(?i)\s*(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?")
_INLINE_TAG_PATTERN = re.compile(r"(?i)</?(?:jats:)?(?:bold|italic|sc|underline|monospace|sup|sub|i|b|em|strong)\b[^<>]*>")  # fmt: skip
_BLOCK_TAG_PATTERN = re.compile(r"(?i)</?(?:jats:)?(?:title|p|sec|list-item|abstract)\b[^<>]*>")
_ABSTRACT_HEADING_PATTERN = re.compile(r"(?i)<jats:title>\s*abstract\s*</jats:title>")
# Publishers put it before the title of the work itself; a notice is a "Retraction of" or so.
_RETRACTED_PREFIX_PATTERN = re.compile(r"(?i)(?:retracted|withdrawn)(?: (?:article|paper|chapter))?\s*:\s*")


@dataclass(frozen=True)
class Work:
    """What one catalogue says of a work. `doi` is bare and in lower case, `page` an address beside that
    of the DOI, `full` one where all of it may be read; `notices` are what it says of other works, by
    their DOIs, as the notice of a retraction does."""

    title: str
    provider: str
    doi: str = ""
    page_url: str = ""
    full_text_url: str = ""
    abstract: str = ""
    authors: tuple[Author, ...] = ()
    year: int | None = None
    published: date | None = None
    venue: str = ""
    language: str = ""
    citation_count: int | None = None
    citation_source: str = ""
    notice: PublicationNotice = ""
    notices_by_doi: tuple[tuple[str, PublicationNotice], ...] = ()

    @property
    def url(self) -> str:
        # A DOI may have signs that mean something else in an address.
        at = f"https://doi.org/{quote(self.doi, safe='/()[]:;,.-_~!*$&+=@')}" if self.doi else ""
        return canonical_url(at) or canonical_url(self.page_url)


def most_severe(notices: Iterable[PublicationNotice]) -> PublicationNotice:
    return max(notices, key=NOTICE_SEVERITY.index, default="")


# Fields of services, of which any may be anything


def parse_doi(value: object) -> str:
    """A DOI without what leads to it; "" if it is none."""
    text = _DOI_PREFIX_PATTERN.sub("", value, count=1).strip() if isinstance(value, str) else ""
    return text.lower() if _DOI_PATTERN.fullmatch(text) and len(text) <= MAX_NAME_CHARS * 2 else ""


def parse_title(value: object) -> tuple[str, PublicationNotice]:
    """A title without mark-up, and what is written before it."""
    title = truncate_text(strip_html(value), MAX_TITLE_CHARS)
    struck = _RETRACTED_PREFIX_PATTERN.match(title)
    return (title[struck.end() :], "retracted") if struck else (title, "")


def parse_name(value: object) -> str:
    return truncate_text(" ".join(strip_html(value).split()), MAX_NAME_CHARS)


def parse_abstract(value: object) -> str:
    """An abstract without the tags of JATS or HTML; its paragraphs and headings stay on lines of their
    own."""
    if not isinstance(value, str):
        return ""
    text = _ABSTRACT_HEADING_PATTERN.sub("", value[: 2 * MAX_SNIPPET_CHARS])
    lines = _BLOCK_TAG_PATTERN.sub("\n", _INLINE_TAG_PATTERN.sub("", text)).split("\n")
    return truncate_text(tidy_text("\n".join(map(strip_html, lines))), MAX_SNIPPET_CHARS)


def parse_count(value: object) -> int | None:
    """A count."""
    good = isinstance(value, int) and not isinstance(value, bool)
    return cast("int", value) if good and 0 <= cast("int", value) < 10**9 else None


def parse_date_parts(parts: Sequence[Any]) -> tuple[int | None, date | None]:
    """The year, and the day where all of it is given: numbers or their digits."""
    numbers = [int(p) if str(p).isascii() and str(p).isdigit() else 0 for p in [*parts][:3]]
    year = numbers[0] if numbers and 1000 <= numbers[0] <= 9999 else None
    try:
        return year, date(*numbers) if year and len(numbers) == 3 else None
    except ValueError:
        return year, None


def parse_url(value: object) -> str:
    return canonical_url(remove_control_characters(value))


# One work, however often it was found


def merge_works(result_lists: Iterable[Sequence[Work]]) -> list[Work]:
    """The works of the catalogues, each once: those that more of them found early come first.

    Two descriptions are of one work if they have the same DOI, or the same title and year; with DOIs
    of their own, such as those of a preprint and an article, also the first author has to be one.
    What a notice says of a work holds for it.
    """
    groups: list[list[Work]] = []
    scores: list[float] = []
    for works in result_lists:
        for place, work in enumerate(works):
            at = next((n for n, group in enumerate(groups) if any(_is_same_work(work, o) for o in group)), -1)
            if at < 0:
                groups.append([])
                scores.append(0.0)
            groups[at].append(work)
            scores[at] += 1 / (60 + place)  # reciprocal ranks (Cormack et al., SIGIR 2009)
    told = [notice for group in groups for work in group for notice in work.notices_by_doi]
    order = sorted(range(len(groups)), key=lambda n: -scores[n])
    return [_apply_notices(_merge_group(groups[n]), groups[n], told) for n in order]


def _is_same_work(one: Work, other: Work) -> bool:
    if one.doi and one.doi == other.doi:
        return True
    alike = normalise_query(one.title) == normalise_query(other.title) and one.year == other.year
    if not alike or not one.title or one.year is None:
        return False
    return not (one.doi and other.doi) or (
        len(_first_author_surname(one)) > 0 and _first_author_surname(one) == _first_author_surname(other)
    )


def _first_author_surname(work: Work) -> str:
    """The family name of the first author."""
    return normalise_query(work.authors[0].display_name).rpartition(" ")[2] if work.authors else ""


# Whose word counts where several know: publishers deposit with Crossref what they have published.
_PROVIDER_PRIORITY = ("crossref", "pubmed", "openalex", "arxiv")


def _merge_group(group: Sequence[Work]) -> Work:
    """One description with the richest of each field."""
    known = sorted(group, key=lambda work: _PROVIDER_PRIORITY.index(work.provider))
    first = known[0]
    counts = [work for work in known if work.citation_count is not None]
    count = max(counts, key=lambda work: work.citation_count or 0, default=None)
    dates = next((work for work in known if work.published), None)
    year = next((work.year for work in known if work.year is not None), None)
    structured = (work.authors for work in known if any(a.family for a in work.authors))
    return replace(
        first,
        doi=_first_non_empty(work.doi for work in known),
        page_url=_first_non_empty(work.page_url for work in known),
        full_text_url=_first_non_empty(work.full_text_url for work in known),
        abstract=max((work.abstract for work in known), key=len),
        authors=next(structured, ()) or _first_non_empty(work.authors for work in known),
        year=year,
        published=dates.published if dates and dates.published and dates.published.year == year else None,
        venue=_first_non_empty(work.venue for work in known),
        language=_first_non_empty(work.language for work in known),
        citation_count=count.citation_count if count else None,
        citation_source=count.provider if count else "",
        notice=most_severe(work.notice for work in known),
    )


def _first_non_empty(values: Iterable[Any]) -> Any:
    """The first that says anything."""
    last = None
    for value in values:
        last = value
        if value:
            break
    return last


def _apply_notices(work: Work, group: Sequence[Work], notices: Iterable[tuple[str, PublicationNotice]]) -> Work:
    own = {one.doi for one in group if one.doi}
    return replace(work, notice=most_severe([work.notice, *(n for doi, n in notices if doi in own)]))


def work_evidence(work: Work, retrieved: datetime) -> Evidence | None:
    """A work as evidence; of one without an abstract its title is what can be cited."""
    url, text = work.url, work.abstract or work.title
    if not url or not work.title:
        return None
    full = canonical_url(work.full_text_url)
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, url, url),
        kind=EVIDENCE_KIND,
        title=work.title,
        publisher=work.venue,
        url=url,
        also=full if full != url else "",
        language=work.language,
        retrieved=retrieved,
        published=work.published if work.published and work.published <= retrieved.date() + MAX_DATE_AHEAD else None,
        passages=(Passage(id=fingerprint(url, text), text=text, end=len(text)),),
        paper=Paper(
            authors=work.authors, year=work.year, venue=work.venue, doi=work.doi,
            cited=work.citation_count, counted=work.citation_source,
        ),
        notice=work.notice,
    )  # fmt: skip
