"""Wikipedia by the MediaWiki API. Works without a key; asked only if it is enabled.

Its etiquette is kept: one request at a time, under a name that tells who asks. Its text is under
CC BY-SA 4.0, which the publisher's name says wherever a source is shown.
"""

from __future__ import annotations

import asyncio
import re
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from research.citations.registry import evidence_id
from research.core.errors import Trouble
from research.core.records import Evidence, Failure, Passage, Readiness, Say, fingerprint
from research.core.text.sentences import ends as sentence_ends
from research.core.text.words import detect_language, telling, tokens
from research.core.urls import canonical_url
from research.http import mediawiki
from research.http.client import Client
from research.http.mediawiki import mapping, rank
from research.http.plain import legible, rows, shortened, tidy
from research.sources.web.provider import Found
from research.sources.web.results import KIND, united

ATTRIBUTION = "Wikipedia, CC BY-SA 4.0"
LONGEST = 300  # characters of a query; the search refuses more
PASSAGE = 1_200  # characters that a passage has at most
PASSAGES = 3  # taken from one article
TITLE_WEIGHT = 0.1  # of a word that is in the title: all of the article is about it

# Articles mix scripts; the wiki turns them into one on request.
_VARIANTS = {"zh": "zh-cn"}
_turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Wikipedia:
    """Searches the wiki of the query's language, the others only if that one has nothing.

    The passages are those parts of an article that share most with the query.
    """

    name = "wikipedia"
    summarises = False

    def __init__(
        self,
        languages: tuple[str, ...] = ("zh", "en"),
        *,
        base_url: str = "https://{language}.wikipedia.org",
        results: int = 4,
        timeout: float = 30.0,
        contact: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout` is for each request: an article is one. `contact` is an address of mail."""
        self._clients = {
            code: Client(base_url.replace("{language}", code), timeout=timeout, contact=contact)
            for code in languages
        }
        self._results = results
        self._clock = clock

    def ready(self) -> Readiness:
        return Readiness(state="live")

    async def search(self, query: str, say: Say) -> Found:
        query = tidy(query)
        asked = shortened(query, LONGEST)
        said = [] if asked == query else [f"query shortened to {len(asked)} characters"]
        evidence: tuple[Evidence, ...] = ()
        failures: tuple[Failure, ...] = ()
        for code in self._order(query):
            retrieved = self._clock()
            pages, failed = await self._pages(code, asked)
            failures += failed
            evidence = await asyncio.to_thread(self._evidence, pages, code, query, retrieved)
            if evidence:
                break
            said.append(f"nothing in Wikipedia ({code})")
        return Found(
            evidence=evidence,
            asked=() if asked == query else (asked,),
            message="; ".join(said),
            failures=failures,
        )

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _order(self, query: str) -> list[str]:
        own = detect_language(query)
        return sorted(self._clients, key=lambda code: code != own)

    async def _pages(
        self, code: str, query: str
    ) -> tuple[list[dict[str, Any]], tuple[Failure, ...]]:
        """The articles found, best first, and what failed once some of them were there.

        A response has the text of one article only; the others are asked for in turn.
        """
        pages: dict[object, dict[str, Any]] = {}
        parameters = _parameters(code, query, self._results)
        failures: tuple[Failure, ...] = ()
        for _ in range(self._results):
            try:
                answer = await self._ask(code, parameters)
            except Trouble as trouble:
                if not any("extract" in page for page in pages.values()):
                    raise
                failures = (trouble.failure("search", self.name, query),)
                break
            for page in rows(mapping(answer.get("query")).get("pages")):
                pages.setdefault(page.get("pageid"), {}).update(page)
            rest = mapping(answer.get("continue"))
            if answer.get("batchcomplete") or not rest:
                break
            parameters |= {name: str(value) for name, value in rest.items()}
        return sorted(pages.values(), key=rank), failures

    async def _ask(self, code: str, parameters: dict[str, str]) -> dict[str, Any]:
        async with _turn():
            answer = await mediawiki.ask(self._clients[code], "Wikipedia", parameters)
        if "query" not in answer and "batchcomplete" not in answer:
            raise Trouble("malformed", "Wikipedia: the JSON has no query", hint="endpoint")
        return answer

    def _evidence(
        self, pages: list[dict[str, Any]], code: str, query: str, retrieved: datetime
    ) -> tuple[Evidence, ...]:
        weights = telling(query)
        items = (_article(page, code, weights, retrieved) for page in pages)
        return united(items, self._results)


def _turn() -> asyncio.Lock:
    """What lets one request out at a time; a lock serves one loop only."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def _parameters(code: str, query: str, results: int) -> dict[str, str]:
    """The search and the text of what it finds, in one request."""
    parameters = {
        "action": "query",
        "generator": "search",
        "gsrsearch": query,
        "gsrlimit": str(results),
        "gsrnamespace": "0",
        "prop": "extracts|info|pageprops",
        "inprop": "url",
        "ppprop": "disambiguation",
        "explaintext": "1",
        "exsectionformat": "wiki",
        "exlimit": "1",
    }
    return parameters | ({"variant": _VARIANTS[code]} if code in _VARIANTS else {})


# Passages


class _Piece(NamedTuple):
    """A stretch of an article's text within one section."""

    start: int
    end: int
    heading: str


def _article(
    page: dict[str, Any], code: str, weights: dict[str, float], retrieved: datetime
) -> Evidence | None:
    """An article as evidence; None if it only tells namesakes apart, or has no text or address."""
    address = canonical_url(legible(page.get("canonicalurl") or page.get("fullurl")))
    title, text = tidy(page.get("title")), legible(page.get("extract"))
    named = set(tokens(title))
    weights = {w: n * TITLE_WEIGHT if w in named else n for w, n in weights.items()}
    pieces = _best(text, weights)
    if not address or not pieces or "disambiguation" in mapping(page.get("pageprops")):
        return None
    return Evidence(
        id=evidence_id(KIND, address, address),
        kind=KIND,
        title=" ".join(title.split()) or "Wikipedia",
        publisher=ATTRIBUTION,
        url=address,
        language=code,
        retrieved=retrieved,
        passages=tuple(
            Passage(
                id=fingerprint(address, text[piece.start : piece.end]),
                text=text[piece.start : piece.end],
                start=piece.start,
                end=piece.end,
                heading=piece.heading,
            )
            for piece in pieces
        ),
    )


def _best(text: str, weights: dict[str, float]) -> list[_Piece]:
    """The pieces that share most with the query, best first; without any such, the opening."""
    pieces = list(_pieces(text))
    scores = {piece: _shared_weight(text, piece, weights) for piece in pieces}
    sharing = sorted((piece for piece in pieces if scores[piece]), key=lambda p: -scores[p])
    return sharing[:PASSAGES] or pieces[:1]


def _shared_weight(text: str, piece: _Piece, weights: dict[str, float]) -> float:
    words = set(tokens(f"{piece.heading}\n{text[piece.start : piece.end]}"))
    return sum(weight for word, weight in weights.items() if word in words)


def _pieces(text: str) -> Iterator[_Piece]:
    """The article cut: paragraphs of a section together as long as they fit into a passage."""
    heading = ""
    start = end = 0
    for line in re.finditer(r"\S[^\n]*", text):
        title = _title(line.group().rstrip())
        for a, b in [] if title else _parts(text, line.start(), line.end()):
            if end and b - start > PASSAGE:
                yield _Piece(start, end, heading)
                end = 0
            start, end = start if end else a, b
        if title:
            if end:
                yield _Piece(start, end, heading)
            heading, end = title, 0
    if end:
        yield _Piece(start, end, heading)


def _title(line: str) -> str:
    """What stands in a line like == History ==; "" of any other line."""
    return line.strip("= ") if line.startswith("==") and line.endswith("==") else ""


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A paragraph, or as many parts as it takes: cut at a sentence's end, or else at a word's."""
    end = start + len(text[start:end].rstrip())
    while end - start > PASSAGE:
        ends = [*sentence_ends(text, start, start + PASSAGE)]
        size = (
            ends[-1] - start if ends else len(shortened(text[start : start + PASSAGE + 1], PASSAGE))
        )
        yield start, start + size
        start += size
        while text[start].isspace():
            start += 1
    yield start, end
