"""Base class and shared functions of the clients of paper catalogues."""

from __future__ import annotations

import re
from typing import Any

from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.json_values import keep_objects
from research.core.text.tokenizer import word_weights
from research.http.client import ServiceClient
from research.sources.papers.work import Work

MAX_QUERY_CHARS = 300
MAX_TERMS = 8  # for services that require all words to match
MAX_QUEUE_SECONDS = 60.0  # wait for the rate limiter

_WORD_PATTERN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SHORT_TERM_PATTERN = re.compile(r"\d|[B-HJ-Z]")  # vitamin D, type 2


class PaperProvider:
    """Base class of the clients of catalogues. It owns the HTTP client that it uses."""

    name: str  # one of openalex, crossref, arxiv, pubmed

    def __init__(self, client: ServiceClient) -> None:
        self._client = client

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        """Return at most `limit` works, best first.

        Raises:
            ServiceError: the search failed.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def extract_terms(query: str) -> list[str]:
    """Return the significant words of a query, without operators, for services that match all
    words."""
    words = list(dict.fromkeys(_WORD_PATTERN.findall(query[: 2 * MAX_QUERY_CHARS])))
    return [word for word in words if word_weights(word) or _SHORT_TERM_PATTERN.fullmatch(word)][:MAX_TERMS]


def require_rows(value: object, provider: str) -> list[dict[str, Any]]:
    """Return the objects of a list that a response must contain.

    Raises:
        ServiceError: the value is not a list.
    """
    if not isinstance(value, list):
        raise ServiceError("malformed", f"{provider}: the JSON has no list of results", hint="endpoint")
    return keep_objects(value)
