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

from research.core.deadlines import uncounted
from research.core.errors import REDIRECTS, Trouble, of_status
from research.core.records import Failure, Readiness, Reason, Say, Span, Usage, fingerprint
from research.core.text.words import is_blank
from research.models.calls import no_key, repeated
from research.models.clients import Clients
from research.models.errors import trouble
from research.models.gemini import get, members, number
from research.models.roles import Spec
from research.sources.base import NOTES
from research.sources.web.grounding import Grounded, read
from research.sources.web.provider import Found

FIRST, EVERY = 1.0, 10.0  # seconds until it is asked after: at first, and at most
LOST = 5  # times in a row that it may not be reached
_GOING = {"queued", "in_progress", "requires_continuation"}
_ENDS: dict[str, tuple[Reason, str]] = {
    "failed": ("unavailable", "failed"),
    "cancelled": ("unavailable", "was cancelled"),
    "incomplete": ("cut off", "ended before it was done"),
    "budget_exceeded": ("quota", "used up its budget"),
    "requires_action": ("unavailable", "asks for something that it is not given"),
}


class DeepResearch:
    """Each search is a task of the agent."""

    name = "deep-research"
    summarises = True

    def __init__(
        self, clients: Clients, clock: Callable[[], datetime], *, every: float = EVERY
    ) -> None:
        """`every` are the seconds between two looks at a task, once it has taken a while."""
        self._clients = clients
        self._settings = clients.settings
        self._clock = clock
        self._every = every
        self.spec = Spec("gemini", self._settings.deep_research, "GEMINI_DEEP_RESEARCH")

    def ready(self) -> Readiness:
        if self._settings.key("gemini"):
            return Readiness(state="live", detail=self.spec.name)
        return Readiness(state="missing", detail="GEMINI_API_KEY")

    async def search(self, query: str, say: Say) -> Found:
        if not self._settings.key("gemini"):
            raise no_key(self.spec, self._settings)
        notes = NOTES.get()
        step = f"{self.name} {fingerprint(self.spec.name, query)}"
        begun: str | None = json.loads(notes.noted(step) or "null") if notes else None
        with uncounted():  # the deadline of a search is none for this; it has one of its own
            if begun is None:
                begun = await repeated(
                    lambda: self._begun(query), self._id, self.spec, self._clients, "search", say
                )
                if notes:
                    await notes.note(step, json.dumps(begun))
            try:
                return self._found(query, await self._ended(begun), say)
            except Trouble as found:
                if notes and found.reason not in ("timeout", "unreachable"):
                    await notes.note(step, "null")  # there is nothing to come back to
                raise

    async def close(self) -> None:
        """The client is shared and closed by whoever made it."""

    # The task

    async def _begun(self, query: str) -> Any:
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
        except Trouble as found:
            again = found.again and found.reason == "quota"
            raise Trouble(
                found.reason, found.message, hint=found.hint, again=again, after=found.after
            ) from found

    def _id(self, body: Any) -> str:
        begun = get(body, "id")
        if not isinstance(begun, str) or not begun:
            raise Trouble("malformed", f"{self.spec} began a task without an id")
        return begun

    async def _ended(self, begun: str) -> Any:
        """A task once it is over.

        Raises:
            Trouble: it takes too long, or cannot be asked after.
        """
        loop, limit = asyncio.get_running_loop(), self._settings.deep_research_timeout
        end, pause, lost = loop.time() + limit, min(FIRST, self._every), 0
        while True:
            wait = pause
            try:
                body = await self._call(lambda api: api.get(begun))
                lost = 0
                if get(body, "status") not in _GOING:
                    return body
            except Trouble as found:
                lost += 1
                if found.hint == "model":  # as of a name that nobody knows
                    message = f"{self.spec}: the task is not there any more"
                    raise Trouble("not found", message) from found
                if not (found.again or found.reason == "timeout") or lost == LOST:
                    raise
                wait = max(wait, found.after or 0)
            if loop.time() + wait > end:
                message = f"{self.spec} was still at work after {limit:g} s; whoever resumes the run waits for the same task"  # fmt: skip
                raise Trouble("timeout", message)
            await asyncio.sleep(wait)
            pause = min(pause * 1.5, self._every)

    async def _call(self, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        """What a request answers, as it came.

        Raises:
            Trouble: it fails.
        """
        interactions = await self._clients.interactions()
        limit = self._settings.model_timeout
        try:
            async with asyncio.timeout(limit):
                response = await ask(interactions.with_raw_response)
            if response.status_code in REDIRECTS:
                sent = of_status(response.status_code, "", response.headers)
                message = f"{self.spec}: {sent.message} (check {self.spec.address})"
                raise Trouble(sent.reason, message)
            return json.loads(response.http_response.text.removeprefix("\ufeff"))
        except Exception as error:
            found = trouble(error, self.spec)
            if found.reason == "timeout":
                message = f"{self.spec} did not answer within {limit:g} s"
                raise Trouble("timeout", message) from error
            raise found from error

    # What came of it

    def _found(self, query: str, body: Any, say: Say) -> Found:
        grounded = report(body, self._clock())
        self._count(get(body, "usage"), grounded, say)
        status = str(get(body, "status") or "")
        failures: tuple[Failure, ...] = ()
        if status != "completed":
            reason, words = _ENDS.get(status, ("malformed", f"ended as {status[:40]!r}"))
            told = "; ".join(
                str(get(error, "message"))[:300] for error in members(body, "errors")[:3]
            )
            broken = Trouble(reason, f"{self.spec} {words}" + (f": {told}" if told else ""))
            if is_blank(grounded.text):
                raise broken
            failures = (broken.failure("search", self.name, query),)
        if is_blank(grounded.text):
            raise Trouble("malformed", f"{self.spec} answered without a text")
        notes = []
        if grounded.unplaced:
            notes.append(f"{grounded.unplaced} citations could not be placed")
        if not grounded.evidence:
            notes.append("no sources returned")
        return Found(
            evidence=grounded.evidence,
            summary=grounded.spans or (Span(kind="text", text=grounded.text),),
            asked=grounded.asked,
            suggestions=grounded.suggestions,
            message="; ".join(notes),
            failures=failures,
        )

    def _count(self, usage: Any, grounded: Grounded, say: Say) -> None:
        def tokens(*names: str) -> int:
            return sum(number(usage, f"total_{name}_tokens") or 0 for name in names)

        counts = members(usage, "grounding_tool_count")
        counted = [number(n, "count") or 0 for n in counts if get(n, "type") == "google_search"]
        record = Usage(
            stage="search",
            model=str(self.spec),
            input=tokens("input", "tool_use"),
            output=tokens("output", "thought"),
            cached=tokens("cached"),
            searches=sum(counted) or len(grounded.asked),
        )
        say("usage", **record.model_dump(mode="json"))


def report(body: Any, retrieved: datetime) -> Grounded:
    """The report of a task with its sources: the texts of its last output, whose citations name an
    address and a stretch in bytes of the text that they come with."""
    steps = members(body, "steps")
    outputs = [step for step in steps if get(step, "type") == "model_output"]
    contents = members(outputs[-1], "content") if outputs else members(body, "outputs")
    parts = [content for content in contents if get(content, "type") in ("text", None)]
    chunks: list[Any] = []
    supports: list[Any] = []
    for at, part in enumerate(parts):
        for cite in members(part, "annotations"):
            if get(cite, "type") == "url_citation":
                segment = {
                    "part_index": at,
                    "start_index": get(cite, "start_index"),
                    "end_index": get(cite, "end_index"),
                }
                supports.append({"segment": segment, "grounding_chunk_indices": [len(chunks)]})
                chunks.append({"web": {"uri": get(cite, "url"), "title": get(cite, "title")}})
    queries, shown = [], ""
    for step in steps:
        if get(step, "type") == "google_search_call":
            queries += members(get(step, "arguments"), "queries")
        if get(step, "type") == "google_search_result":
            for result in members(step, "result"):
                shown = shown or get(result, "search_suggestions")
    metadata = {
        "grounding_chunks": chunks,
        "grounding_supports": supports,
        "web_search_queries": queries,
        "search_entry_point": {"rendered_content": shown},
    }
    grounded = read(parts, metadata, retrieved)
    return replace(grounded, asked=tuple(dict.fromkeys(grounded.asked)))
