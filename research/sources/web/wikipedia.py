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
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Evidence, Failure, Passage, Readiness, fingerprint
from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import detect_language, tokenize, word_weights
from research.core.urls import canonical_url
from research.http import mediawiki
from research.http.client import ServiceClient
from research.http.mediawiki import as_object, search_rank
from research.http.sanitize import keep_objects, remove_control_characters, tidy_text, truncate_text
from research.sources.web.provider import SearchResult
from research.sources.web.results import EVIDENCE_KIND, merge_results

ATTRIBUTION = "Wikipedia, CC BY-SA 4.0"
MAX_QUERY_CHARS = 300  # characters of a query; the search refuses more
MAX_PASSAGE_CHARS = 1_200  # characters that a passage has at most
MAX_PASSAGES = 3  # taken from one article
TITLE_WEIGHT = 0.1  # of a word that is in the title: all of the article is about it

# Articles mix scripts; the wiki turns them into one on request.
_LANGUAGE_VARIANTS = {"zh": "zh-cn"}
_request_locks: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Wikipedia:
    """Searches the wiki of the query's language, the others only if that one has nothing.

    The passages are those parts of an article that share most with the query.
    """

    name = "wikipedia"
    has_summary = False

    def __init__(
        self,
        languages: tuple[str, ...] = ("zh", "en"),
        *,
        base_url: str = "https://{language}.wikipedia.org",
        max_results: int = 4,
        timeout_seconds: float = 30.0,
        contact_email: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout` is for each request: an article is one. `contact` is an address of mail."""
        self._clients = {
            code: ServiceClient(
                base_url.replace("{language}", code), timeout_seconds=timeout_seconds, contact=contact_email
            )
            for code in languages
        }
        self._max_results = max_results
        self._clock = clock

    def readiness(self) -> Readiness:
        return Readiness(state="live")

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        query = tidy_text(query)
        asked = truncate_text(query, MAX_QUERY_CHARS)
        said = [] if asked == query else [f"query shortened to {len(asked)} characters"]
        evidence: tuple[Evidence, ...] = ()
        failures: tuple[Failure, ...] = ()
        for code in self._language_order(query):
            retrieved = self._clock()
            pages, failed = await self._fetch_articles(code, asked)
            failures += failed
            evidence = await asyncio.to_thread(self._build_evidence, pages, code, query, retrieved)
            if evidence:
                break
            said.append(f"nothing in Wikipedia ({code})")
        return SearchResult(
            evidence=evidence,
            executed_queries=() if asked == query else (asked,),
            message="; ".join(said),
            failures=failures,
        )

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _language_order(self, query: str) -> list[str]:
        own = detect_language(query)
        return sorted(self._clients, key=lambda code: code != own)

    async def _fetch_articles(self, language: str, query: str) -> tuple[list[dict[str, Any]], tuple[Failure, ...]]:
        """The articles found, best first, and what failed once some of them were there.

        A response has the text of one article only; the others are asked for in turn.
        """
        pages: dict[object, dict[str, Any]] = {}
        parameters = _query_parameters(language, query, self._max_results)
        failures: tuple[Failure, ...] = ()
        for _ in range(self._max_results):
            try:
                answer = await self._request(language, parameters)
            except ServiceError as trouble:
                if not any("extract" in page for page in pages.values()):
                    raise
                failures = (trouble.to_failure("search", self.name, query),)
                break
            for page in keep_objects(as_object(answer.get("query")).get("pages")):
                pages.setdefault(page.get("pageid"), {}).update(page)
            rest = as_object(answer.get("continue"))
            if answer.get("batchcomplete") or not rest:
                break
            parameters |= {name: str(value) for name, value in rest.items()}
        return sorted(pages.values(), key=search_rank), failures

    async def _request(self, language: str, parameters: dict[str, str]) -> dict[str, Any]:
        async with _request_lock():
            answer = await mediawiki.query_api(self._clients[language], "Wikipedia", parameters)
        if "query" not in answer and "batchcomplete" not in answer:
            raise ServiceError("malformed", "Wikipedia: the JSON has no query", hint="endpoint")
        return answer

    def _build_evidence(
        self, pages: list[dict[str, Any]], language: str, query: str, retrieved: datetime
    ) -> tuple[Evidence, ...]:
        weights = word_weights(query)
        items = (_article_evidence(page, language, weights, retrieved) for page in pages)
        return merge_results(items, self._max_results)


def _request_lock() -> asyncio.Lock:
    """What lets one request out at a time; a lock serves one loop only."""
    return _request_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def _query_parameters(language: str, query: str, max_results: int) -> dict[str, str]:
    """The search and the text of what it finds, in one request."""
    parameters = {
        "action": "query",
        "generator": "search",
        "gsrsearch": query,
        "gsrlimit": str(max_results),
        "gsrnamespace": "0",
        "prop": "extracts|info|pageprops",
        "inprop": "url",
        "ppprop": "disambiguation",
        "explaintext": "1",
        "exsectionformat": "wiki",
        "exlimit": "1",
    }
    return parameters | ({"variant": _LANGUAGE_VARIANTS[language]} if language in _LANGUAGE_VARIANTS else {})


# Passages


class _TextChunk(NamedTuple):
    """A stretch of an article's text within one section."""

    start: int
    end: int
    heading: str


def _article_evidence(
    page: dict[str, Any], language: str, weights: dict[str, float], retrieved: datetime
) -> Evidence | None:
    """An article as evidence; None if it only tells namesakes apart, or has no text or address."""
    address = canonical_url(remove_control_characters(page.get("canonicalurl") or page.get("fullurl")))
    title, text = tidy_text(page.get("title")), remove_control_characters(page.get("extract"))
    named = set(tokenize(title))
    weights = {w: n * TITLE_WEIGHT if w in named else n for w, n in weights.items()}
    pieces = _select_chunks(text, weights)
    if not address or not pieces or "disambiguation" in as_object(page.get("pageprops")):
        return None
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, address, address),
        kind=EVIDENCE_KIND,
        title=" ".join(title.split()) or "Wikipedia",
        publisher=ATTRIBUTION,
        url=address,
        language=language,
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


def _select_chunks(text: str, weights: dict[str, float]) -> list[_TextChunk]:
    """The pieces that share most with the query, best first; without any such, the opening."""
    pieces = list(_split_chunks(text))
    scores = {piece: _shared_weight(text, piece, weights) for piece in pieces}
    sharing = sorted((piece for piece in pieces if scores[piece]), key=lambda p: -scores[p])
    return sharing[:MAX_PASSAGES] or pieces[:1]


def _shared_weight(text: str, chunk: _TextChunk, weights: dict[str, float]) -> float:
    words = set(tokenize(f"{chunk.heading}\n{text[chunk.start : chunk.end]}"))
    return sum(weight for word, weight in weights.items() if word in words)


def _split_chunks(text: str) -> Iterator[_TextChunk]:
    """The article cut: paragraphs of a section together as long as they fit into a passage."""
    heading = ""
    start = end = 0
    for line in re.finditer(r"\S[^\n]*", text):
        title = _section_heading(line.group().rstrip())
        for a, b in [] if title else _split_paragraph(text, line.start(), line.end()):
            if end and b - start > MAX_PASSAGE_CHARS:
                yield _TextChunk(start, end, heading)
                end = 0
            start, end = start if end else a, b
        if title:
            if end:
                yield _TextChunk(start, end, heading)
            heading, end = title, 0
    if end:
        yield _TextChunk(start, end, heading)


def _section_heading(line: str) -> str:
    """What stands in a line like == History ==; "" of any other line."""
    return line.strip("= ") if line.startswith("==") and line.endswith("==") else ""


def _split_paragraph(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A paragraph, or as many parts as it takes: cut at a sentence's end, or else at a word's."""
    end = start + len(text[start:end].rstrip())
    while end - start > MAX_PASSAGE_CHARS:
        ends = [*sentence_ends(text, start, start + MAX_PASSAGE_CHARS)]
        size = (
            ends[-1] - start
            if ends
            else len(truncate_text(text[start : start + MAX_PASSAGE_CHARS + 1], MAX_PASSAGE_CHARS))
        )
        yield start, start + size
        start += size
        while text[start].isspace():
            start += 1
    yield start, end
