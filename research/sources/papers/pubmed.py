"""PubMed by NCBI's E-utilities (https://www.ncbi.nlm.nih.gov/books/NBK25499): a search gives ids, which
are fetched as XML (https://dtd.nlm.nih.gov/ncbi/pubmed). Three requests a second without a key."""

from __future__ import annotations

from typing import Any

from research.core.errors import ServiceError
from research.core.records import Author, EventEmitter
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.http.sanitize import MAX_SNIPPET_CHARS, remove_control_characters, tidy_text, truncate_text
from research.sources.papers.provider import MAX_QUEUE_SECONDS, extract_terms
from research.sources.papers.work import (
    MAX_AUTHORS,
    NOTICE_BY_TYPE,
    Work,
    most_severe,
    parse_date_parts,
    parse_doi,
    parse_name,
    parse_title,
)

BASE_URL = "https://eutils.ncbi.nlm.nih.gov"
RATE_LIMITER = RateLimiter(0.34)
_EUTILS_PATH = "/entrez/eutils"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LANGUAGE_CODES = {"eng": "en", "chi": "zh"}  # as far as they are told apart here


class PubMed:
    """Searches the literature of medicine and the life sciences."""

    name = "pubmed"

    def __init__(self, client: ServiceClient, rate_limiter: RateLimiter = RATE_LIMITER) -> None:
        self._client = client
        self._rate_limiter = rate_limiter

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        if not (words := extract_terms(query)):
            return []
        own = {"db": "pubmed", "tool": "sightline", "email": self._client.contact}
        asked = {
            "term": " ".join(words), "retmax": str(limit), "retmode": "json",
            "sort": "relevance",
        }  # fmt: skip
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        answer = await self._client.get_json("PubMed", f"{_EUTILS_PATH}/esearch.fcgi", own | asked)
        told = answer.get("esearchresult")
        if not isinstance(told, dict):
            raise ServiceError("malformed", "PubMed: the JSON has no result", hint="endpoint")
        if error := remove_control_characters(told.get("ERROR")):
            raise ServiceError("refused", f"PubMed: {error}")
        ids = [one for one in _as_list(told.get("idlist")) if isinstance(one, str) and one.isdecimal()]
        if not ids:
            return []
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        found = await self._client.get_xml(
            "PubMed",
            f"{_EUTILS_PATH}/efetch.fcgi",
            own | {"id": ",".join(ids[:limit]), "retmode": "xml"},
            "PubmedArticleSet",
        )
        return [work for one in found.findall("PubmedArticle")[:limit] if (work := _parse_work(one))]

    async def close(self) -> None:
        await self._client.close()


def _parse_work(record: Any) -> Work | None:
    article = record.find("MedlineCitation/Article")
    number = (record.findtext("MedlineCitation/PMID") or "").strip()
    title, notice = parse_title(_inner_text(article.find("ArticleTitle")) if article is not None else "")
    if not title or not number.isdecimal():
        return None
    ids = {one.get("IdType"): (one.text or "").strip() for one in record.findall("PubmedData/ArticleIdList/ArticleId")}
    located = [one for one in article.findall("ELocationID") if one.get("EIdType") == "doi"]
    dois = [parse_doi(one.text) for one in located] + [parse_doi(ids.get("doi"))]
    year, day = _parse_published(article)
    types = {(one.text or "").strip() for one in article.iterfind("PublicationTypeList/PublicationType")}
    notices = [
        NOTICE_BY_TYPE.get(one.get("RefType"), "")
        for one in record.iterfind("MedlineCitation/CommentsCorrectionsList/CommentsCorrections")
    ]
    free = ids.get("pmc", "").upper()
    return Work(
        title=title,
        provider=PubMed.name,
        doi=next(filter(None, dois), ""),
        page_url=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        full_text_url=f"https://pmc.ncbi.nlm.nih.gov/articles/{free}/" if free[3:].isdecimal() else "",
        abstract=_parse_abstract(article),
        authors=tuple(_parse_authors(article)),
        year=year,
        published=day,
        venue=parse_name(article.findtext("Journal/Title")),
        language=_LANGUAGE_CODES.get((article.findtext("Language") or "").strip(), ""),
        notice=most_severe([notice, *notices, "retracted" if "Retracted Publication" in types else ""]),
    )


def _parse_published(article: Any) -> Any:
    """The year and perhaps the day: of publication online, else that of the issue."""
    online, issue = article.find("ArticleDate"), article.find("Journal/JournalIssue/PubDate")
    for found in (issue, online):
        if found is None:
            continue
        month = (found.findtext("Month") or "").strip()
        at = month[:3].lower()
        parts = [
            found.findtext("Year") or (found.findtext("MedlineDate") or "")[:4],
            _MONTHS.index(at) + 1 if at in _MONTHS else month,
            found.findtext("Day") or "",
        ]
        year, day = parse_date_parts([str(part).strip() for part in parts])
        if year:
            return year, day
    return None, None


def _parse_abstract(article: Any) -> str:
    """Its parts on lines of their own, with their labels."""
    lines = []
    for part in article.iterfind("Abstract/AbstractText"):
        label = " ".join((part.get("Label") or "").split())
        lines.append(f"{label}: {_inner_text(part)}" if label else _inner_text(part))
    return truncate_text(tidy_text("\n".join(lines)), MAX_SNIPPET_CHARS)


def _parse_authors(article: Any) -> list[Author]:
    out = []
    for one in article.findall("AuthorList/Author")[:MAX_AUTHORS]:
        family = parse_name(one.findtext("LastName"))
        given = parse_name(one.findtext("ForeName") or one.findtext("Initials"))
        name = parse_name(_inner_text(one.find("CollectiveName")))
        out.append(Author(family=family, given=given) if family else Author(name=name))
    return [one for one in out if one.display_name]


def _inner_text(element: Any) -> str:
    """The text of an element with all that is in it, on one line."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
