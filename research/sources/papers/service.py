"""What the services have in common: the seam to them, and the words that they are asked."""

from __future__ import annotations

import re
from typing import Any, Protocol

from research.core.errors import Trouble
from research.core.records import Say
from research.core.text.words import telling
from research.http.plain import rows
from research.sources.papers.work import Work

LONGEST = 300  # characters of a query
TERMS = 8  # words of a query that all have to be there
QUEUE = 60.0  # seconds that a search waits for its turn at most

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SIGN = re.compile(r"\d|[B-HJ-Z]")  # vitamin D, type 2


class Service(Protocol):
    """A catalogue of scholarly works."""

    @property
    def name(self) -> str:
        """openalex, crossref, arxiv, pubmed."""

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        """What it finds, the best first, at most `most`.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""


def terms(query: str) -> list[str]:
    """The words of a query as they are written, without the idle ones and what would be an operator:
    for services that want all words to be there."""
    found = list(dict.fromkeys(_WORD.findall(query[: 2 * LONGEST])))
    return [word for word in found if telling(word) or _SIGN.fullmatch(word)][:TERMS]


def listed(value: object, service: str) -> list[dict[str, Any]]:
    """The rows of a list that an answer has to have.

    Raises:
        Trouble: there is none.
    """
    if not isinstance(value, list):
        raise Trouble("malformed", f"{service}: the JSON has no list of results", hint="endpoint")
    return rows(value)
