"""Google's Deep Research agent: each query is a background task of several minutes, polled until
done.

The task id is saved with the run, so that a resumed run polls the same task and does not pay for a
second one. Format: https://ai.google.dev/api/interactions-api and
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
from research.core.events import EventEmitter, UsageRecorded
from research.core.records import Failure, FailureReason, fingerprint
from research.core.text.tokenizer import is_blank
from research.models.clients import ModelClients
from research.models.gemini import count_member, get_member, list_member
from research.models.retries import retry
from research.models.roles import ModelSpec
from research.sources.base import STEP_RESULTS
from research.sources.web.google_provider import GoogleProvider, grounded_result
from research.sources.web.grounding import GroundedText, parse_grounding
from research.sources.web.provider import SearchResult

FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 1.0, 10.0  # initial and longest interval
MAX_FAILED_POLLS = 5  # consecutive failed polls
_RUNNING_STATUSES = {"queued", "in_progress", "requires_continuation"}
_FAILURE_STATUSES: dict[str, tuple[FailureReason, str]] = {
    "failed": ("unavailable", "failed"),
    "cancelled": ("unavailable", "was cancelled"),
    "incomplete": ("cut off", "ended before it was done"),
    "budget_exceeded": ("quota", "used up its budget"),
    "requires_action": ("unavailable", "asks for something that it is not given"),
}


class DeepResearch(GoogleProvider):
    """Web provider that runs each search as a task of the agent."""

    name = "deep-research"

    def __init__(
        self, clients: ModelClients, clock: Callable[[], datetime], *, max_poll_seconds: float = MAX_POLL_SECONDS
    ) -> None:
        """Create a provider; `max_poll_seconds` is the longest interval between two polls of a
        task.
        """
        super().__init__(clients, clock, ModelSpec("gemini", clients.settings.deep_research, "GEMINI_DEEP_RESEARCH"))
        self._max_poll_seconds = max_poll_seconds

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        self._require_key()
        step_results = STEP_RESULTS.get()
        step = f"{self.name} {fingerprint(self.spec.name, query)}"
        task_id: str | None = json.loads(step_results.load_result(step) or "null") if step_results else None
        with pause_deadlines():  # the task has its own time limit
            if task_id is None:
                task_id = await retry(
                    lambda: self._start_task(query), self._parse_task_id, self.spec, self._clients, "search", emit
                )
                if step_results:
                    await step_results.save_result(step, json.dumps(task_id))
            try:
                return self._build_result(query, await self._wait_for_task(task_id), emit)
            except ServiceError as error:
                if step_results and error.reason not in ("timeout", "unreachable"):
                    await step_results.save_result(step, "null")  # the task cannot be resumed
                raise

    # The task

    async def _start_task(self, query: str) -> Any:
        """Start a task and return the response.

        A lost response may belong to a started task, so only requests rejected for quota are
        retryable.

        Raises:
            ServiceError: the task cannot start.
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
        except ServiceError as error:
            is_retryable = error.is_retryable and error.reason == "quota"
            raise ServiceError(
                error.reason,
                error.message,
                hint=error.hint,
                is_retryable=is_retryable,
                retry_after_seconds=error.retry_after_seconds,
            ) from error

    def _parse_task_id(self, body: Any) -> str:
        task_id = get_member(body, "id")
        if not isinstance(task_id, str) or not task_id:
            raise ServiceError("malformed", f"{self.spec} began a task without an id")
        return task_id

    async def _wait_for_task(self, task_id: str) -> Any:
        """Poll a task until it is over and return the final response.

        Raises:
            ServiceError: it takes too long, or cannot be polled.
        """
        loop, limit = asyncio.get_running_loop(), self._settings.deep_research_timeout
        deadline, interval, failed_polls = loop.time() + limit, min(FIRST_POLL_SECONDS, self._max_poll_seconds), 0
        while True:
            wait = interval
            try:
                body = await self._call(lambda api: api.get(task_id))
                failed_polls = 0
                if get_member(body, "status") not in _RUNNING_STATUSES:
                    return body
            except ServiceError as error:
                failed_polls += 1
                if error.hint == "model":  # HTTP 404
                    message = f"{self.spec}: the task is not there any more"
                    raise ServiceError("not found", message) from error
                if not (error.is_retryable or error.reason == "timeout") or failed_polls == MAX_FAILED_POLLS:
                    raise
                wait = max(wait, error.retry_after_seconds or 0)
            if loop.time() + wait > deadline:
                message = (
                    f"{self.spec} was still at work after {limit:g} s; whoever resumes the run waits for the same task"
                )
                raise ServiceError("timeout", message)
            await asyncio.sleep(wait)
            interval = min(interval * 1.5, self._max_poll_seconds)

    async def _call(self, send: Callable[[Any], Awaitable[Any]]) -> Any:
        """Send a request and return the parsed JSON of the response.

        Raises:
            ServiceError: it fails.
        """
        interactions = await self._clients.interactions_api()

        async def send_and_parse() -> Any:
            response = await send(interactions.with_raw_response)
            if response.status_code in REDIRECT_STATUSES:
                redirect_error = error_from_status(response.status_code, "", response.headers)
                message = f"{self.spec}: {redirect_error.message} (check {self.spec.address_setting})"
                raise ServiceError(redirect_error.reason, message)
            return json.loads(response.http_response.text.removeprefix("\ufeff"))

        return await self._await_response(send_and_parse())

    # Results

    def _build_result(self, query: str, body: Any, emit: EventEmitter) -> SearchResult:
        grounded = parse_report(body, self._clock())
        self._emit_usage(get_member(body, "usage"), grounded, emit)
        status = str(get_member(body, "status") or "")
        failures: tuple[Failure, ...] = ()
        if status != "completed":
            reason, problem = _FAILURE_STATUSES.get(status, ("malformed", f"ended as {status[:40]!r}"))
            details = "; ".join(str(get_member(error, "message"))[:300] for error in list_member(body, "errors")[:3])
            partial_error = ServiceError(reason, f"{self.spec} {problem}" + (f": {details}" if details else ""))
            if is_blank(grounded.text):
                raise partial_error
            failures = (partial_error.to_failure("search", self.name, query),)
        if is_blank(grounded.text):
            raise ServiceError("malformed", f"{self.spec} answered without a text")
        return grounded_result(grounded, failures)

    def _emit_usage(self, usage: Any, grounded: GroundedText, emit: EventEmitter) -> None:
        def tokens(*names: str) -> int:
            return sum(count_member(usage, f"total_{name}_tokens") or 0 for name in names)

        counts = list_member(usage, "grounding_tool_count")
        search_counts = [
            count_member(count, "count") or 0 for count in counts if get_member(count, "type") == "google_search"
        ]
        usage_event = UsageRecorded(
            stage="search",
            model=str(self.spec),
            input=tokens("input", "tool_use"),
            output=tokens("output", "thought"),
            cached=tokens("cached"),
            searches=sum(search_counts) or len(grounded.executed_queries),
        )
        emit(usage_event)


def parse_report(body: Any, retrieved: datetime) -> GroundedText:
    """Parse a task's report and its sources.

    The text is the last model output. Citations name an address and a byte range of their text
    part.
    """
    steps = list_member(body, "steps")
    outputs = [step for step in steps if get_member(step, "type") == "model_output"]
    contents = list_member(outputs[-1], "content") if outputs else list_member(body, "outputs")
    parts = [content for content in contents if get_member(content, "type") in ("text", None)]
    chunks: list[Any] = []
    supports: list[Any] = []
    for index, part in enumerate(parts):
        for annotation in list_member(part, "annotations"):
            if get_member(annotation, "type") == "url_citation":
                segment = {
                    "part_index": index,
                    "start_index": get_member(annotation, "start_index"),
                    "end_index": get_member(annotation, "end_index"),
                }
                supports.append({"segment": segment, "grounding_chunk_indices": [len(chunks)]})
                chunks.append({"web": {"uri": get_member(annotation, "url"), "title": get_member(annotation, "title")}})
    queries, suggestions_html = [], ""
    for step in steps:
        if get_member(step, "type") == "google_search_call":
            queries += list_member(get_member(step, "arguments"), "queries")
        if get_member(step, "type") == "google_search_result":
            for result in list_member(step, "result"):
                suggestions_html = suggestions_html or get_member(result, "search_suggestions")
    metadata = {
        "grounding_chunks": chunks,
        "grounding_supports": supports,
        "web_search_queries": queries,
        "search_entry_point": {"rendered_content": suggestions_html},
    }
    grounded = parse_grounding(parts, metadata, retrieved)
    return replace(grounded, executed_queries=tuple(dict.fromkeys(grounded.executed_queries)))
