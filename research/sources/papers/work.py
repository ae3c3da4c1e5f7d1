"""Description of a scholarly work, and merging of several descriptions of one work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
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
from research.core.text.publication_dates import FUTURE_TOLERANCE
from research.core.urls import canonical_url
from research.http.sanitize import MAX_SNIPPET_CHARS, remove_control_characters, strip_html, tidy_text, truncate_text

EVIDENCE_KIND: EvidenceKind = "paper"
MAX_TITLE_CHARS = 500
MAX_NAME_CHARS = 120  # of an author or a venue
MAX_AUTHORS = 100  # of one work
NOTICE_BY_TYPE: dict[str, PublicationNotice] = {
    update_type: cast("PublicationNotice", notice) for update_type, notice in data.rows("notices.tsv")
}
NOTICE_SEVERITY: tuple[PublicationNotice, ...] = get_args(PublicationNotice)  # ascending

_DOI_PATTERN = re.compile(r"10\.\d{4,9}/\S+")
_DOI_PREFIX_PATTERN = re.compile(r"(?i)\s*(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?")
_INLINE_TAG_PATTERN = re.compile(
    r"(?i)</?(?:jats:)?(?:bold|italic|sc|underline|monospace|sup|sub|i|b|em|strong)\b[^<>]*>"
)
_BLOCK_TAG_PATTERN = re.compile(r"(?i)</?(?:jats:)?(?:title|p|sec|list-item|abstract)\b[^<>]*>")
_ABSTRACT_HEADING_PATTERN = re.compile(r"(?i)<jats:title>\s*abstract\s*</jats:title>")
# Publishers prefix this to the title of the work; a notice has a title such as "Retraction of …".
_RETRACTED_PREFIX_PATTERN = re.compile(r"(?i)(?:retracted|withdrawn)(?: (?:article|paper|chapter))?\s*:\s*")


@dataclass(frozen=True)
class Work:
    """Description of a work in one catalogue.

    `doi` is lower-case without a prefix; `page_url` is an address other than that of the DOI;
    `full_text_url` leads to the full text. `notices_by_doi` are notices about other works, as in a
    retraction notice.
    """

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
        # A DOI may contain characters that have a meaning in a URL.
        doi_url = f"https://doi.org/{quote(self.doi, safe='/()[]:;,.-_~!*$&+=@')}" if self.doi else ""
        return canonical_url(doi_url) or canonical_url(self.page_url)


def most_severe(notices: Iterable[PublicationNotice]) -> PublicationNotice:
    """Return the most severe notice, or "" if there is none."""
    return max(notices, key=NOTICE_SEVERITY.index, default="")


# Parsing of fields; any field of a response may have any type


def parse_doi(value: object) -> str:
    """Return a DOI in lower case without a URL prefix; "" if the value is not a DOI."""
    text = _DOI_PREFIX_PATTERN.sub("", value, count=1).strip() if isinstance(value, str) else ""
    return text.lower() if _DOI_PATTERN.fullmatch(text) and len(text) <= MAX_NAME_CHARS * 2 else ""


def parse_title(value: object) -> tuple[str, PublicationNotice]:
    """Return a title without markup, and the notice that precedes it ("RETRACTED: …")."""
    title = truncate_text(strip_html(value), MAX_TITLE_CHARS)
    prefix = _RETRACTED_PREFIX_PATTERN.match(title)
    return (title[prefix.end() :], "retracted") if prefix else (title, "")


def parse_name(value: object) -> str:
    """Return a name as one line of plain text, limited in length."""
    return truncate_text(" ".join(strip_html(value).split()), MAX_NAME_CHARS)


def parse_abstract(value: object) -> str:
    """Return an abstract without JATS or HTML tags, with paragraphs and headings on their own
    lines."""
    if not isinstance(value, str):
        return ""
    text = _ABSTRACT_HEADING_PATTERN.sub("", value[: 2 * MAX_SNIPPET_CHARS])
    lines = _BLOCK_TAG_PATTERN.sub("\n", _INLINE_TAG_PATTERN.sub("", text)).split("\n")
    return truncate_text(tidy_text("\n".join(map(strip_html, lines))), MAX_SNIPPET_CHARS)


def parse_count(value: object) -> int | None:
    """Return a count, or None if the value is not a plausible one."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return cast("int", value) if is_integer and 0 <= cast("int", value) < 10**9 else None


def parse_date_parts(parts: Sequence[Any]) -> tuple[int | None, date | None]:
    """Return the year, and the date if all three parts are valid; parts are numbers or digits."""
    numbers = [int(p) if str(p).isascii() and str(p).isdigit() else 0 for p in [*parts][:3]]
    year = numbers[0] if numbers and 1000 <= numbers[0] <= 9999 else None
    try:
        return year, date(*numbers) if year and len(numbers) == 3 else None
    except ValueError:
        return year, None


def parse_url(value: object) -> str:
    """Return a canonical URL, or "" if the value is not one."""
    return canonical_url(remove_control_characters(value))


# Merging


def merge_works(result_lists: Iterable[Sequence[Work]]) -> list[Work]:
    """Merge the results of several catalogues, ordered by reciprocal rank fusion.

    Two descriptions denote one work if they have the same DOI, or the same title and year; if both
    have a DOI, as a preprint and its article do, the first author must match as well. Notices about
    a work are applied to it.
    """
    groups: list[list[Work]] = []
    scores: list[float] = []
    for works in result_lists:
        for rank, work in enumerate(works):
            group_index = next(
                (n for n, group in enumerate(groups) if any(_is_same_work(work, member) for member in group)), -1
            )
            if group_index < 0:
                groups.append([])
                scores.append(0.0)
            groups[group_index].append(work)
            scores[group_index] += 1 / (60 + rank)  # reciprocal ranks (Cormack et al., SIGIR 2009)
    notices = [notice for group in groups for work in group for notice in work.notices_by_doi]
    order = sorted(range(len(groups)), key=lambda n: -scores[n])
    return [_apply_notices(_merge_group(groups[n]), groups[n], notices) for n in order]


def _is_same_work(first: Work, second: Work) -> bool:
    if first.doi and first.doi == second.doi:
        return True
    is_similar = normalise_query(first.title) == normalise_query(second.title) and first.year == second.year
    if not is_similar or not first.title or first.year is None:
        return False
    return not (first.doi and second.doi) or (
        len(_first_author_surname(first)) > 0 and _first_author_surname(first) == _first_author_surname(second)
    )


def _first_author_surname(work: Work) -> str:
    """Return the normalised family name of the first author."""
    return normalise_query(work.authors[0].display_name).rpartition(" ")[2] if work.authors else ""


# Crossref comes first, since publishers themselves deposit their works there.
_PROVIDER_PRIORITY = ("crossref", "pubmed", "openalex", "arxiv")


def _merge_group(group: Sequence[Work]) -> Work:
    """Merge the descriptions of one work, taking the most complete value of each field."""
    ranked = sorted(group, key=lambda work: _PROVIDER_PRIORITY.index(work.provider))
    first = ranked[0]
    counts = [work for work in ranked if work.citation_count is not None]
    most_cited = max(counts, key=lambda work: work.citation_count or 0, default=None)
    dated = next((work for work in ranked if work.published), None)
    year = next((work.year for work in ranked if work.year is not None), None)
    structured = (work.authors for work in ranked if any(a.family for a in work.authors))
    return replace(
        first,
        doi=_first_non_empty(work.doi for work in ranked),
        page_url=_first_non_empty(work.page_url for work in ranked),
        full_text_url=_first_non_empty(work.full_text_url for work in ranked),
        abstract=max((work.abstract for work in ranked), key=len),
        authors=next(structured, ()) or _first_non_empty(work.authors for work in ranked),
        year=year,
        published=dated.published if dated and dated.published and dated.published.year == year else None,
        venue=_first_non_empty(work.venue for work in ranked),
        language=_first_non_empty(work.language for work in ranked),
        citation_count=most_cited.citation_count if most_cited else None,
        citation_source=most_cited.provider if most_cited else "",
        notice=most_severe(work.notice for work in ranked),
    )


def _first_non_empty(values: Iterable[Any]) -> Any:
    """Return the first non-empty value, else the last value."""
    values = list(values)
    return next(filter(None, values), values[-1])


def _apply_notices(work: Work, group: Sequence[Work], notices: Iterable[tuple[str, PublicationNotice]]) -> Work:
    dois = {member.doi for member in group if member.doi}
    return replace(work, notice=most_severe([work.notice, *(n for doi, n in notices if doi in dois)]))


def work_evidence(work: Work, retrieved: datetime) -> Evidence | None:
    """Return a work as evidence, with its abstract or, without one, its title as the passage."""
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
        further_url=full if full != url else "",
        language=work.language,
        retrieved=retrieved,
        published=work.published if work.published and work.published <= retrieved.date() + FUTURE_TOLERANCE else None,
        passages=(Passage(id=fingerprint(url, text), text=text, end=len(text)),),
        paper=Paper(
            authors=work.authors,
            year=work.year,
            venue=work.venue,
            doi=work.doi,
            citation_count=work.citation_count,
            citation_source=work.citation_source,
        ),
        notice=work.notice,
    )
