"""Client of PubMed through NCBI's E-utilities.

A search returns ids, which are then fetched as XML. Without a key, three requests per second are
allowed. Formats: https://www.ncbi.nlm.nih.gov/books/NBK25499, https://dtd.nlm.nih.gov/ncbi/pubmed.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Author
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.http.sanitize import MAX_SNIPPET_CHARS, remove_control_characters, tidy_text, truncate_text
from research.sources.papers.provider import MAX_QUEUE_SECONDS, PaperProvider, extract_terms
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
RATE_LIMITER = RateLimiter(0.34, is_shared=True)
_EUTILS_PATH = "/entrez/eutils"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LANGUAGE_CODES = {"eng": "en", "chi": "zh"}  # the languages that the application distinguishes


class PubMed(PaperProvider):
    """Searches the literature of medicine and the life sciences."""

    name = "pubmed"

    def __init__(self, client: ServiceClient, rate_limiter: RateLimiter = RATE_LIMITER) -> None:
        super().__init__(client)
        self._rate_limiter = rate_limiter

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        if not (terms := extract_terms(query)):
            return []
        common = {"db": "pubmed", "tool": "sightline", "email": self._client.contact}
        parameters = {"term": " ".join(terms), "retmax": str(limit), "retmode": "json", "sort": "relevance"}
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        body = await self._client.get_json("PubMed", f"{_EUTILS_PATH}/esearch.fcgi", common | parameters)
        result = body.get("esearchresult")
        if not isinstance(result, dict):
            raise ServiceError("malformed", "PubMed: the JSON has no result", hint="endpoint")
        if error := remove_control_characters(result.get("ERROR")):
            raise ServiceError("refused", f"PubMed: {error}")
        ids = [pmid for pmid in _as_list(result.get("idlist")) if isinstance(pmid, str) and pmid.isdecimal()]
        if not ids:
            return []
        await self._rate_limiter.acquire(self.name, emit, MAX_QUEUE_SECONDS)
        articles = await self._client.get_xml(
            "PubMed",
            f"{_EUTILS_PATH}/efetch.fcgi",
            common | {"id": ",".join(ids[:limit]), "retmode": "xml"},
            "PubmedArticleSet",
        )
        return [work for record in articles.findall("PubmedArticle")[:limit] if (work := _parse_work(record))]


def _parse_work(record: Any) -> Work | None:
    article = record.find("MedlineCitation/Article")
    pmid = (record.findtext("MedlineCitation/PMID") or "").strip()
    title, notice = parse_title(_inner_text(article.find("ArticleTitle")) if article is not None else "")
    if not title or not pmid.isdecimal():
        return None
    ids = {
        element.get("IdType"): (element.text or "").strip()
        for element in record.findall("PubmedData/ArticleIdList/ArticleId")
    }
    doi_elements = [element for element in article.findall("ELocationID") if element.get("EIdType") == "doi"]
    dois = [parse_doi(element.text) for element in doi_elements] + [parse_doi(ids.get("doi"))]
    year, day = _parse_published(article)
    types = {(element.text or "").strip() for element in article.iterfind("PublicationTypeList/PublicationType")}
    notices = [
        NOTICE_BY_TYPE.get(element.get("RefType"), "")
        for element in record.iterfind("MedlineCitation/CommentsCorrectionsList/CommentsCorrections")
    ]
    pmc_id = ids.get("pmc", "").upper()
    return Work(
        title=title,
        provider=PubMed.name,
        doi=next(filter(None, dois), ""),
        page_url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        full_text_url=f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc_id}/" if pmc_id[3:].isdecimal() else "",
        abstract=_parse_abstract(article),
        authors=tuple(_parse_authors(article)),
        year=year,
        published=day,
        venue=parse_name(article.findtext("Journal/Title")),
        language=_LANGUAGE_CODES.get((article.findtext("Language") or "").strip(), ""),
        notice=most_severe([notice, *notices, "retracted" if "Retracted Publication" in types else ""]),
    )


def _parse_published(article: Any) -> tuple[int | None, date | None]:
    """Return the year and, if known, the date of the issue or, without one, of online publication."""
    online, issue = article.find("ArticleDate"), article.find("Journal/JournalIssue/PubDate")
    for element in (issue, online):
        if element is None:
            continue
        month = (element.findtext("Month") or "").strip()
        month_key = month[:3].lower()
        parts = [
            element.findtext("Year") or (element.findtext("MedlineDate") or "")[:4],
            _MONTHS.index(month_key) + 1 if month_key in _MONTHS else month,
            element.findtext("Day") or "",
        ]
        year, day = parse_date_parts([str(part).strip() for part in parts])
        if year:
            return year, day
    return None, None


def _parse_abstract(article: Any) -> str:
    """Return the parts of the abstract, each on a line with its label."""
    lines = []
    for part in article.iterfind("Abstract/AbstractText"):
        label = " ".join((part.get("Label") or "").split())
        lines.append(f"{label}: {_inner_text(part)}" if label else _inner_text(part))
    return truncate_text(tidy_text("\n".join(lines)), MAX_SNIPPET_CHARS)


def _parse_authors(article: Any) -> list[Author]:
    authors = []
    for element in article.findall("AuthorList/Author")[:MAX_AUTHORS]:
        family = parse_name(element.findtext("LastName"))
        given = parse_name(element.findtext("ForeName") or element.findtext("Initials"))
        name = parse_name(_inner_text(element.find("CollectiveName")))
        authors.append(Author(family=family, given=given) if family else Author(name=name))
    return [author for author in authors if author.display_name]


def _inner_text(element: Any) -> str:
    """Return the text of an element and its descendants on one line."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
