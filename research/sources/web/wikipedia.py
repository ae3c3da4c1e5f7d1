"""Web search in Wikipedia through the MediaWiki API. Needs no key; used only if enabled.

Follows the API etiquette: one request at a time, with an identifying user agent. The text is under
CC BY-SA 4.0, which the publisher's name states wherever a source is shown.
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
from research.core.events import EventEmitter
from research.core.json_values import as_object, keep_objects
from research.core.records import Evidence, Failure, Passage, Readiness, fingerprint
from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import detect_language, tokenize, word_weights
from research.core.urls import canonical_url
from research.http import mediawiki
from research.http.client import ServiceClient
from research.http.mediawiki import search_rank
from research.http.sanitize import remove_control_characters, tidy_text, truncate_text
from research.sources.web.provider import SearchResult
from research.sources.web.results import EVIDENCE_KIND, merge_results

ATTRIBUTION = "Wikipedia, CC BY-SA 4.0"
MAX_QUERY_CHARS = 300  # the search refuses longer queries
MAX_PASSAGE_CHARS = 1_200
MAX_PASSAGES = 3  # per article
TITLE_WEIGHT = 0.1  # factor for title words, which fit the whole article

# Articles mix scripts; the wiki converts them on request.
_LANGUAGE_VARIANTS = {"zh": "zh-cn"}
_request_locks: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Wikipedia:
    """Web provider that searches the wiki of the query's language, others only if that finds
    nothing.

    The passages are the parts of an article that share most with the query.
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
        """Create a provider; `timeout_seconds` is per request, of which each article takes one."""
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
        sent_query = truncate_text(query, MAX_QUERY_CHARS)
        remarks = [] if sent_query == query else [f"query shortened to {len(sent_query)} characters"]
        evidence: tuple[Evidence, ...] = ()
        failures: tuple[Failure, ...] = ()
        for language in self._language_order(query):
            retrieved = self._clock()
            pages, new_failures = await self._fetch_articles(language, sent_query)
            failures += new_failures
            evidence = await asyncio.to_thread(self._build_evidence, pages, language, query, retrieved)
            if evidence:
                break
            remarks.append(f"nothing in Wikipedia ({language})")
        return SearchResult(
            evidence=evidence,
            executed_queries=() if sent_query == query else (sent_query,),
            message="; ".join(remarks),
            failures=failures,
        )

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _language_order(self, query: str) -> list[str]:
        query_language = detect_language(query)
        return sorted(self._clients, key=lambda code: code != query_language)

    async def _fetch_articles(self, language: str, query: str) -> tuple[list[dict[str, Any]], tuple[Failure, ...]]:
        """Return the articles found, best first, and failures after the first article.

        A response has the text of one article; the others are requested one by one.
        """
        pages: dict[object, dict[str, Any]] = {}
        parameters = _query_parameters(language, query, self._max_results)
        failures: tuple[Failure, ...] = ()
        for _ in range(self._max_results):
            try:
                response = await self._request(language, parameters)
            except ServiceError as error:
                if not any("extract" in page for page in pages.values()):
                    raise
                failures = (error.to_failure("search", self.name, query),)
                break
            for page in keep_objects(as_object(response.get("query")).get("pages")):
                pages.setdefault(page.get("pageid"), {}).update(page)
            continuation = as_object(response.get("continue"))
            if response.get("batchcomplete") or not continuation:
                break
            parameters |= {name: str(value) for name, value in continuation.items()}
        return sorted(pages.values(), key=search_rank), failures

    async def _request(self, language: str, parameters: dict[str, str]) -> dict[str, Any]:
        async with _request_lock():
            response = await mediawiki.query_api(self._clients[language], "Wikipedia", parameters)
        if "query" not in response and "batchcomplete" not in response:
            raise ServiceError("malformed", "Wikipedia: the JSON has no query", hint="endpoint")
        return response

    def _build_evidence(
        self, pages: list[dict[str, Any]], language: str, query: str, retrieved: datetime
    ) -> tuple[Evidence, ...]:
        weights = word_weights(query)
        items = (_article_evidence(page, language, weights, retrieved) for page in pages)
        return merge_results(items, self._max_results)


def _request_lock() -> asyncio.Lock:
    """Return the lock that serialises requests, one per event loop."""
    return _request_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def _query_parameters(language: str, query: str, max_results: int) -> dict[str, str]:
    """Return the parameters of a combined search and text extraction."""
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
    """A range of an article's text within one section."""

    start: int
    end: int
    heading: str


def _article_evidence(
    page: dict[str, Any], language: str, weights: dict[str, float], retrieved: datetime
) -> Evidence | None:
    """Convert an article to evidence; None for disambiguation pages or without text or address."""
    address = canonical_url(remove_control_characters(page.get("canonicalurl") or page.get("fullurl")))
    title, text = tidy_text(page.get("title")), remove_control_characters(page.get("extract"))
    title_words = set(tokenize(title))
    weights = {word: weight * TITLE_WEIGHT if word in title_words else weight for word, weight in weights.items()}
    chunks = _select_chunks(text, weights)
    if not address or not chunks or "disambiguation" in as_object(page.get("pageprops")):
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
                id=fingerprint(address, text[chunk.start : chunk.end]),
                text=text[chunk.start : chunk.end],
                start=chunk.start,
                end=chunk.end,
                heading=chunk.heading,
            )
            for chunk in chunks
        ),
    )


def _select_chunks(text: str, weights: dict[str, float]) -> list[_TextChunk]:
    """Return the chunks that share most with the query, best first, or else the opening."""
    chunks = list(_split_chunks(text))
    scores = {chunk: _shared_weight(text, chunk, weights) for chunk in chunks}
    sharing = sorted((chunk for chunk in chunks if scores[chunk]), key=lambda p: -scores[p])
    return sharing[:MAX_PASSAGES] or chunks[:1]


def _shared_weight(text: str, chunk: _TextChunk, weights: dict[str, float]) -> float:
    words = set(tokenize(f"{chunk.heading}\n{text[chunk.start : chunk.end]}"))
    return sum(weight for word, weight in weights.items() if word in words)


def _split_chunks(text: str) -> Iterator[_TextChunk]:
    """Yield chunks: consecutive paragraphs of a section, up to the length of a passage."""
    heading = ""
    start = end = 0
    for line in re.finditer(r"\S[^\n]*", text):
        title = _section_heading(line.group().rstrip())
        for paragraph_start, paragraph_end in [] if title else _split_paragraph(text, line.start(), line.end()):
            if end and paragraph_end - start > MAX_PASSAGE_CHARS:
                yield _TextChunk(start, end, heading)
                end = 0
            start, end = start if end else paragraph_start, paragraph_end
        if title:
            if end:
                yield _TextChunk(start, end, heading)
            heading, end = title, 0
    if end:
        yield _TextChunk(start, end, heading)


def _section_heading(line: str) -> str:
    """Return the heading in a line like == History ==, or ""."""
    return line.strip("= ") if line.startswith("==") and line.endswith("==") else ""


def _split_paragraph(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a paragraph, or parts of it cut at sentence ends, or else at word ends."""
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
