"""Google's Deep Research agent: one query is a task of minutes, done in the background and asked after.

What was begun is noted with the run: one that was cut off asks after the same task again, and does
not pay for a second. Source of the format: https://ai.google.dev/api/interactions-api, and
https://ai.google.dev/gemini-api/docs/deep-research.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from research.core.deadlines import pause_deadlines
from research.core.errors import REDIRECT_STATUSES, ServiceError, error_from_status
from research.core.records import EventEmitter, Failure, FailureReason, Readiness, Span, Usage, fingerprint
from research.core.text.tokenizer import is_blank
from research.models.chat import missing_key_error, retry
from research.models.clients import ModelClients
from research.models.errors import classify_error
from research.models.gemini import count_member, get_member, list_member
from research.models.roles import ModelSpec
from research.sources.base import STEP_RESULTS
from research.sources.web.grounding import GroundedText, parse_grounding
from research.sources.web.provider import SearchResult

FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 1.0, 10.0  # seconds until it is asked after: at first, and at most
MAX_FAILED_POLLS = 5  # times in a row that it may not be reached
_RUNNING_STATUSES = {"queued", "in_progress", "requires_continuation"}
_FAILURE_STATUSES: dict[str, tuple[FailureReason, str]] = {
    "failed": ("unavailable", "failed"),
    "cancelled": ("unavailable", "was cancelled"),
    "incomplete": ("cut off", "ended before it was done"),
    "budget_exceeded": ("quota", "used up its budget"),
    "requires_action": ("unavailable", "asks for something that it is not given"),
}


class DeepResearch:
    """Each search is a task of the agent."""

    name = "deep-research"
    has_summary = True

    def __init__(
        self, clients: ModelClients, clock: Callable[[], datetime], *, max_poll_seconds: float = MAX_POLL_SECONDS
    ) -> None:
        """`every` are the seconds between two looks at a task, once it has taken a while."""
        self._clients = clients
        self._settings = clients.settings
        self._clock = clock
        self._max_poll_seconds = max_poll_seconds
        self.spec = ModelSpec("gemini", self._settings.deep_research, "GEMINI_DEEP_RESEARCH")

    def readiness(self) -> Readiness:
        if self._settings.key("gemini"):
            return Readiness(state="live", detail=self.spec.name)
        return Readiness(state="missing", detail="GEMINI_API_KEY")

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        if not self._settings.key("gemini"):
            raise missing_key_error(self.spec, self._settings)
        notes = STEP_RESULTS.get()
        step = f"{self.name} {fingerprint(self.spec.name, query)}"
        begun: str | None = json.loads(notes.load_result(step) or "null") if notes else None
        with pause_deadlines():  # the deadline of a search is none for this; it has one of its own
            if begun is None:
                begun = await retry(
                    lambda: self._start_task(query), self._parse_task_id, self.spec, self._clients, "search", emit
                )
                if notes:
                    await notes.save_result(step, json.dumps(begun))
            try:
                return self._build_result(query, await self._wait_for_task(begun), emit)
            except ServiceError as found:
                if notes and found.reason not in ("timeout", "unreachable"):
                    await notes.save_result(step, "null")  # there is nothing to come back to
                raise

    async def close(self) -> None:
        """The client is shared and closed by whoever made it."""

    # The task

    async def _start_task(self, query: str) -> Any:
        """Begins a task. What was lost on the way may have begun, so that only what was turned
        away for a while is asked again.

        Raises:
            Trouble: it cannot begin.
        """
        try:
            return await self._call(
                lambda api: api.create(
                    agent=self.spec.name,
                    input=f"Today is {self._clock().date().isoformat()}. Research this query:\n{query}",
                    agent_config={"type": "deep-research", "visualization": "off"},
                    background=True,
                    store=True,
                )
            )
        except ServiceError as found:
            again = found.is_retryable and found.reason == "quota"
            raise ServiceError(
                found.reason,
                found.message,
                hint=found.hint,
                is_retryable=again,
                retry_after_seconds=found.retry_after_seconds,
            ) from found

    def _parse_task_id(self, body: Any) -> str:
        begun = get_member(body, "id")
        if not isinstance(begun, str) or not begun:
            raise ServiceError("malformed", f"{self.spec} began a task without an id")
        return begun

    async def _wait_for_task(self, task_id: str) -> Any:
        """A task once it is over.

        Raises:
            Trouble: it takes too long, or cannot be asked after.
        """
        loop, limit = asyncio.get_running_loop(), self._settings.deep_research_timeout
        end, pause, lost = loop.time() + limit, min(FIRST_POLL_SECONDS, self._max_poll_seconds), 0
        while True:
            wait = pause
            try:
                body = await self._call(lambda api: api.get(task_id))
                lost = 0
                if get_member(body, "status") not in _RUNNING_STATUSES:
                    return body
            except ServiceError as found:
                lost += 1
                if found.hint == "model":  # as of a name that nobody knows
                    message = f"{self.spec}: the task is not there any more"
                    raise ServiceError("not found", message) from found
                if not (found.is_retryable or found.reason == "timeout") or lost == MAX_FAILED_POLLS:
                    raise
                wait = max(wait, found.retry_after_seconds or 0)
            if loop.time() + wait > end:
                message = f"{self.spec} was still at work after {limit:g} s; whoever resumes the run waits for the same task"  # fmt: skip
                raise ServiceError("timeout", message)
            await asyncio.sleep(wait)
            pause = min(pause * 1.5, self._max_poll_seconds)

    async def _call(self, send: Callable[[Any], Awaitable[Any]]) -> Any:
        """What a request answers, as it came.

        Raises:
            Trouble: it fails.
        """
        interactions = await self._clients.interactions_api()
        limit = self._settings.model_timeout
        try:
            async with asyncio.timeout(limit):
                response = await send(interactions.with_raw_response)
            if response.status_code in REDIRECT_STATUSES:
                sent = error_from_status(response.status_code, "", response.headers)
                message = f"{self.spec}: {sent.message} (check {self.spec.address_setting})"
                raise ServiceError(sent.reason, message)
            return json.loads(response.http_response.text.removeprefix("\ufeff"))
        except Exception as error:
            found = classify_error(error, self.spec)
            if found.reason == "timeout":
                message = f"{self.spec} did not answer within {limit:g} s"
                raise ServiceError("timeout", message) from error
            raise found from error

    # What came of it

    def _build_result(self, query: str, body: Any, emit: EventEmitter) -> SearchResult:
        grounded = parse_report(body, self._clock())
        self._emit_usage(get_member(body, "usage"), grounded, emit)
        status = str(get_member(body, "status") or "")
        failures: tuple[Failure, ...] = ()
        if status != "completed":
            reason, words = _FAILURE_STATUSES.get(status, ("malformed", f"ended as {status[:40]!r}"))
            told = "; ".join(str(get_member(error, "message"))[:300] for error in list_member(body, "errors")[:3])
            broken = ServiceError(reason, f"{self.spec} {words}" + (f": {told}" if told else ""))
            if is_blank(grounded.text):
                raise broken
            failures = (broken.to_failure("search", self.name, query),)
        if is_blank(grounded.text):
            raise ServiceError("malformed", f"{self.spec} answered without a text")
        notes = []
        if grounded.unplaced_count:
            notes.append(f"{grounded.unplaced_count} citations could not be placed")
        if not grounded.evidence:
            notes.append("no sources returned")
        return SearchResult(
            evidence=grounded.evidence,
            summary=grounded.spans or (Span(kind="text", text=grounded.text),),
            executed_queries=grounded.executed_queries,
            suggestions=grounded.suggestions,
            message="; ".join(notes),
            failures=failures,
        )

    def _emit_usage(self, usage: Any, grounded: GroundedText, emit: EventEmitter) -> None:
        def tokens(*names: str) -> int:
            return sum(count_member(usage, f"total_{name}_tokens") or 0 for name in names)

        counts = list_member(usage, "grounding_tool_count")
        counted = [count_member(n, "count") or 0 for n in counts if get_member(n, "type") == "google_search"]
        record = Usage(
            stage="search",
            model=str(self.spec),
            input=tokens("input", "tool_use"),
            output=tokens("output", "thought"),
            cached=tokens("cached"),
            searches=sum(counted) or len(grounded.executed_queries),
        )
        emit("usage", **record.model_dump(mode="json"))


def parse_report(body: Any, retrieved: datetime) -> GroundedText:
    """The report of a task with its sources: the texts of its last output, whose citations name an
    address and a stretch in bytes of the text that they come with."""
    steps = list_member(body, "steps")
    outputs = [step for step in steps if get_member(step, "type") == "model_output"]
    contents = list_member(outputs[-1], "content") if outputs else list_member(body, "outputs")
    parts = [content for content in contents if get_member(content, "type") in ("text", None)]
    chunks: list[Any] = []
    supports: list[Any] = []
    for at, part in enumerate(parts):
        for cite in list_member(part, "annotations"):
            if get_member(cite, "type") == "url_citation":
                segment = {
                    "part_index": at,
                    "start_index": get_member(cite, "start_index"),
                    "end_index": get_member(cite, "end_index"),
                }
                supports.append({"segment": segment, "grounding_chunk_indices": [len(chunks)]})
                chunks.append({"web": {"uri": get_member(cite, "url"), "title": get_member(cite, "title")}})
    queries, shown = [], ""
    for step in steps:
        if get_member(step, "type") == "google_search_call":
            queries += list_member(get_member(step, "arguments"), "queries")
        if get_member(step, "type") == "google_search_result":
            for result in list_member(step, "result"):
                shown = shown or get_member(result, "search_suggestions")
    metadata = {
        "grounding_chunks": chunks,
        "grounding_supports": supports,
        "web_search_queries": queries,
        "search_entry_point": {"rendered_content": shown},
    }
    grounded = parse_grounding(parts, metadata, retrieved)
    return replace(grounded, executed_queries=tuple(dict.fromkeys(grounded.executed_queries)))
