"""Common parts of the web providers that use Google's Gemini API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from research.core.errors import ServiceError
from research.core.records import Failure, Readiness, Span
from research.models.clients import ModelClients
from research.models.errors import classify_error
from research.models.retries import missing_key_error
from research.models.roles import ModelSpec
from research.sources.base import configured_readiness
from research.sources.web.grounding import GroundedText
from research.sources.web.provider import SearchResult

_T = TypeVar("_T")


class GoogleProvider:
    """A web provider that uses a model of the Gemini API and its key."""

    has_summary = True

    def __init__(self, clients: ModelClients, clock: Callable[[], datetime], spec: ModelSpec) -> None:
        self._clients = clients
        self._settings = clients.settings
        self._clock = clock
        self.spec = spec

    def readiness(self) -> Readiness:
        return configured_readiness(bool(self._settings.key("gemini")), "GEMINI_API_KEY", self.spec.name)

    async def close(self) -> None:
        """Do nothing: the client is shared and closed by its owner."""

    def _require_key(self) -> None:
        """Raise ServiceError if no key is set."""
        if not self._settings.key("gemini"):
            raise missing_key_error(self.spec, self._settings)

    async def _await_response(self, request: Awaitable[_T]) -> _T:
        """Await a request within the time limit for models.

        Raises:
            ServiceError: it fails.
        """
        limit = self._settings.model_timeout
        try:
            async with asyncio.timeout(limit):
                return await request
        except Exception as error:
            service_error = classify_error(error, self.spec)
            if service_error.reason == "timeout":
                raise ServiceError("timeout", f"{self.spec} did not answer within {limit:g} s") from error
            raise service_error from error


def grounded_result(
    grounded: GroundedText, failures: tuple[Failure, ...], first_note: str = "", last_note: str = ""
) -> SearchResult:
    """Return a text with its sources as a result.

    Its message consists of `first_note`, of notes on citations and sources, and of `last_note`.
    """
    notes = [first_note]
    if grounded.unplaced_count:
        notes.append(f"{grounded.unplaced_count} citations could not be placed")
    if not grounded.evidence:
        notes.append("no sources returned")
    return SearchResult(
        evidence=grounded.evidence,
        summary=grounded.spans or (Span(kind="text", text=grounded.text),),
        executed_queries=grounded.executed_queries,
        suggestions=grounded.suggestions,
        message="; ".join(filter(None, [*notes, last_note])),
        failures=failures,
    )
