"""PubMed by NCBI's E-utilities (https://www.ncbi.nlm.nih.gov/books/NBK25499): a search gives ids, which
are fetched as XML (https://dtd.nlm.nih.gov/ncbi/pubmed). Three requests a second without a key."""

from __future__ import annotations

from typing import Any

from research.core.errors import Trouble
from research.core.records import Author, Say
from research.http.client import Client
from research.http.pace import Pace
from research.http.plain import SNIPPET, legible, shortened, tidy
from research.sources.papers.service import QUEUE, terms
from research.sources.papers.work import (
    AUTHORS,
    NOTICES,
    Work,
    bare_doi,
    dated,
    gravest,
    named,
    titled,
)

BASE_URL = "https://eutils.ncbi.nlm.nih.gov"
PACE = Pace(0.34)
_PATH = "/entrez/eutils"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LANGUAGES = {"eng": "en", "chi": "zh"}  # as far as they are told apart here


class PubMed:
    """Searches the literature of medicine and the life sciences."""

    name = "pubmed"

    def __init__(self, client: Client, pace: Pace = PACE) -> None:
        self._client = client
        self._pace = pace

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        if not (words := terms(query)):
            return []
        own = {"db": "pubmed", "tool": "sightline", "email": self._client.contact}
        asked = {
            "term": " ".join(words), "retmax": str(most), "retmode": "json",
            "sort": "relevance",
        }  # fmt: skip
        await self._pace.waited(self.name, say, QUEUE)
        answer = await self._client.json("PubMed", f"{_PATH}/esearch.fcgi", own | asked)
        told = answer.get("esearchresult")
        if not isinstance(told, dict):
            raise Trouble("malformed", "PubMed: the JSON has no result", hint="endpoint")
        if error := legible(told.get("ERROR")):
            raise Trouble("refused", f"PubMed: {error}")
        ids = [one for one in _list(told.get("idlist")) if isinstance(one, str) and one.isdecimal()]
        if not ids:
            return []
        await self._pace.waited(self.name, say, QUEUE)
        found = await self._client.xml(
            "PubMed",
            f"{_PATH}/efetch.fcgi",
            own | {"id": ",".join(ids[:most]), "retmode": "xml"},
            "PubmedArticleSet",
        )
        return [work for one in found.findall("PubmedArticle")[:most] if (work := _work(one))]

    async def close(self) -> None:
        await self._client.close()


def _work(record: Any) -> Work | None:
    article = record.find("MedlineCitation/Article")
    number = (record.findtext("MedlineCitation/PMID") or "").strip()
    title, notice = titled(_inner(article.find("ArticleTitle")) if article is not None else "")
    if not title or not number.isdecimal():
        return None
    ids = {
        one.get("IdType"): (one.text or "").strip()
        for one in record.findall("PubmedData/ArticleIdList/ArticleId")
    }
    located = [one for one in article.findall("ELocationID") if one.get("EIdType") == "doi"]
    dois = [bare_doi(one.text) for one in located] + [bare_doi(ids.get("doi"))]
    year, day = _published(article)
    types = {
        (one.text or "").strip() for one in article.iterfind("PublicationTypeList/PublicationType")
    }
    notices = [
        NOTICES.get(one.get("RefType"), "")
        for one in record.iterfind("MedlineCitation/CommentsCorrectionsList/CommentsCorrections")
    ]
    free = ids.get("pmc", "").upper()
    return Work(
        title=title,
        service=PubMed.name,
        doi=next(filter(None, dois), ""),
        page=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        full=f"https://pmc.ncbi.nlm.nih.gov/articles/{free}/" if free[3:].isdecimal() else "",
        abstract=_abstract(article),
        authors=tuple(_authors(article)),
        year=year,
        day=day,
        venue=named(article.findtext("Journal/Title")),
        language=_LANGUAGES.get((article.findtext("Language") or "").strip(), ""),
        notice=gravest([notice, *notices, "retracted" if "Retracted Publication" in types else ""]),
    )


def _published(article: Any) -> Any:
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
        year, day = dated([str(part).strip() for part in parts])
        if year:
            return year, day
    return None, None


def _abstract(article: Any) -> str:
    """Its parts on lines of their own, with their labels."""
    lines = []
    for part in article.iterfind("Abstract/AbstractText"):
        label = " ".join((part.get("Label") or "").split())
        lines.append(f"{label}: {_inner(part)}" if label else _inner(part))
    return shortened(tidy("\n".join(lines)), SNIPPET)


def _authors(article: Any) -> list[Author]:
    out = []
    for one in article.findall("AuthorList/Author")[:AUTHORS]:
        family = named(one.findtext("LastName"))
        given = named(one.findtext("ForeName") or one.findtext("Initials"))
        name = named(_inner(one.find("CollectiveName")))
        out.append(Author(family=family, given=given) if family else Author(name=name))
    return [one for one in out if one.shown]


def _inner(element: Any) -> str:
    """The text of an element with all that is in it, on one line."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
