"""arXiv's API (https://info.arxiv.org/help/api/user-manual.html): preprints, as Atom with elements of
its own. It wants one request in three seconds."""

from __future__ import annotations

import re
from typing import Any

from research.core.errors import Trouble
from research.core.records import Author, Say
from research.http.client import Client
from research.http.pace import Pace
from research.sources.papers.service import QUEUE, terms
from research.sources.papers.work import AUTHORS, Work, bare_doi, dated, named, prose, titled

BASE_URL = "https://export.arxiv.org"
PACE = Pace(3.0)
_ATOM, _OWN = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
_ID = re.compile(r"https?://arxiv\.org/abs/(?P<id>[\w.-]+?(?:/\d+)?)(?:v\d+)?", re.A)


class ArXiv:
    """Searches what is said of preprints for all the words of a query."""

    name = "arxiv"

    def __init__(self, client: Client, pace: Pace = PACE) -> None:
        self._client = client
        self._pace = pace

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        if not (words := terms(query)):
            return []
        await self._pace.waited(self.name, say, QUEUE)
        asked = {
            "search_query": " AND ".join(f"all:{term}" for term in words),
            "start": "0",
            "max_results": str(most),
            "sortBy": "relevance",
        }
        feed = await self._client.xml("arXiv", "/api/query", asked, f"{_ATOM}feed")
        entries = feed.findall(f"{_ATOM}entry")[:most]
        for entry in entries:
            if "arxiv.org/api/errors" in _text(entry, f"{_ATOM}id"):  # with the status of success
                raise Trouble("refused", f"arXiv: {_text(entry, f'{_ATOM}summary')}")
        return [work for entry in entries if (work := _work(entry))]

    async def close(self) -> None:
        await self._client.close()


def _work(entry: Any) -> Work | None:
    title, notice = titled(_text(entry, f"{_ATOM}title"))
    at = _ID.fullmatch(_text(entry, f"{_ATOM}id"))
    if not title or not at:
        return None
    doi = bare_doi(_text(entry, f"{_OWN}doi"))
    year, day = dated(_text(entry, f"{_ATOM}published")[:10].split("-"))
    names = (named(_text(one, f"{_ATOM}name")) for one in entry.findall(f"{_ATOM}author")[:AUTHORS])
    return Work(
        title=title,
        service=ArXiv.name,
        doi=doi or bare_doi(f"10.48550/arXiv.{at['id']}"),  # every preprint has one
        page=f"https://arxiv.org/abs/{at['id']}",
        full=f"https://arxiv.org/pdf/{at['id']}",
        abstract=prose(" ".join(_text(entry, f"{_ATOM}summary").split())),
        authors=tuple(Author(name=name) for name in names if name),
        year=year,
        day=day,
        venue=named(_text(entry, f"{_OWN}journal_ref")) or "arXiv",
        notice=notice,
    )


def _text(entry: Any, path: str) -> str:
    return (entry.findtext(path) or "").strip()
