"""What the services have in common: the seam to them, and the words that they are asked."""

from __future__ import annotations

import re
from typing import Any, Protocol

from research.core.errors import ServiceError
from research.core.records import EventEmitter
from research.core.text.tokenizer import word_weights
from research.http.sanitize import keep_objects
from research.sources.papers.work import Work

MAX_QUERY_CHARS = 300  # characters of a query
MAX_TERMS = 8  # words of a query that all have to be there
MAX_QUEUE_SECONDS = 60.0  # seconds that a search waits for its turn at most

_WORD_PATTERN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SHORT_TERM_PATTERN = re.compile(r"\d|[B-HJ-Z]")  # vitamin D, type 2


class PaperProvider(Protocol):
    """A catalogue of scholarly works."""

    @property
    def name(self) -> str:
        """openalex, crossref, arxiv, pubmed."""

    async def search(self, query: str, limit: int, emit: EventEmitter) -> list[Work]:
        """What it finds, the best first, at most `most`.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""


def extract_terms(query: str) -> list[str]:
    """The words of a query as they are written, without the idle ones and what would be an operator:
    for services that want all words to be there."""
    found = list(dict.fromkeys(_WORD_PATTERN.findall(query[: 2 * MAX_QUERY_CHARS])))
    return [word for word in found if word_weights(word) or _SHORT_TERM_PATTERN.fullmatch(word)][:MAX_TERMS]


def require_rows(value: object, provider: str) -> list[dict[str, Any]]:
    """The rows of a list that an answer has to have.

    Raises:
        Trouble: there is none.
    """
    if not isinstance(value, list):
        raise ServiceError("malformed", f"{provider}: the JSON has no list of results", hint="endpoint")
    return keep_objects(value)
