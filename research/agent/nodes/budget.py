"""The budget of a run: searches, tokens, cost and seconds, and requests to end it.

Four fifths of a limit are for searching. The rest is for the answer, but at least as much as the
largest call so far. Running work is cancelled by closing its scope; finished results stay.

A search counts as one, or as the number of queries that its service reports to have billed, which is
known only from its reply. So a search is estimated as the largest one of its source so far, and
starts only if the limit allows that many. If a search counts more than estimated, the limit is
exceeded, and the answer says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from research.core.events import Event, StatusChanged
from research.core.i18n import message
from research.core.records import Language, RunOptions, Span, Task, Usage

SEARCH_SHARE = 0.8  # of a limit; at this share searching ends
GRACE_SECONDS = 0.1  # time for the call that reached a limit to end
_T = TypeVar("_T")
LimitReason = Literal["", "searches", "tokens", "cost", "seconds", "stopped"]


class RunEndedError(Exception):
    """Work was not started or was cancelled; `reason` names the limit, or "stopped"."""

    def __init__(self, reason: LimitReason) -> None:
        self.reason: LimitReason = reason
        super().__init__(reason)


class WorkScope:
    """A kind of work that is allowed until the scope is closed."""

    def __init__(self) -> None:
        self.closed_reason: LimitReason = ""
        self._timeouts: set[asyncio.Timeout] = set()

    def close(self, reason: LimitReason) -> None:
        """Reject new work; the first reason stays."""
        self.closed_reason = self.closed_reason or reason

    def cancel(self) -> None:
        """Cancel the running work of a closed scope."""
        for timeout in self._timeouts:
            if not timeout.expired():
                timeout.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """Run the body of a `with` statement as work of this scope.

        Raises:
            RunEndedError: the scope was closed before, or the work was cancelled.
        """
        if self.closed_reason:
            raise RunEndedError(self.closed_reason)
        timeout = asyncio.timeout(None)
        try:
            async with timeout:
                self._timeouts.add(timeout)
                try:
                    yield
                finally:
                    self._timeouts.discard(timeout)
        except TimeoutError:
            if timeout.expired():
                raise RunEndedError(self.closed_reason) from None
            raise

    async def run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do some work in this scope.

        Raises:
            RunEndedError: the scope was closed before, or the work was cancelled.
        """
        async with self.enter():
            return await work()


class RunBudget:
    """The usage of one run and its limits. It may be used only in the event loop of the run.

    A resumed run passes its earlier usage: the ids of the started searches, the usage of its calls,
    and the seconds that it worked.
    """

    def __init__(
        self,
        options: RunOptions,
        started_searches: Iterable[str] = (),
        usage: Iterable[Usage] = (),
        worked_seconds: float = 0.0,
    ) -> None:
        self._limits = options
        self._started_searches = Counter(started_searches)
        self._billed_searches: Counter[str] = Counter()
        self._running_searches: Counter[str] = Counter()  # by source
        self._largest_search: dict[str, int] = {}  # the largest count of a search, by source
        self._worked_seconds = worked_seconds
        self._timers: list[asyncio.TimerHandle] = []
        self.searching, self.writing = WorkScope(), WorkScope()
        self.tokens, self.cost, self.has_unpriced_calls = 0, 0.0, False
        self._largest_call: dict[LimitReason, float] = {"tokens": 0, "cost": 0.0}  # of any call
        self.skip_reason: LimitReason = ""  # why planned work was skipped
        for item in usage:
            self._add_usage(item)
        self._apply_limits()

    @property
    def search_count(self) -> int:
        """The number of started searches; each counts as often as its service was queried."""
        return sum(max(n, self._billed_searches[task]) for task, n in self._started_searches.items())

    @property
    def search_block_reason(self) -> LimitReason:
        """The reason why no search may start; "" if one may."""
        is_used_up = not self._has_search_budget(min(self._largest_search.values(), default=1))
        return self.searching.closed_reason or ("searches" if is_used_up else "")

    def _has_search_budget(self, search_count: int) -> bool:
        """Return whether the limit allows a search that counts as `search_count`.

        Each running search is estimated as the largest of its source. The first search is always
        allowed.
        """
        limit, used = self._limits.searches, self.search_count
        pending = sum(n * (self._largest_search.get(s, 1) - 1) for s, n in self._running_searches.items())
        return not limit or not used or used + pending + search_count <= limit

    @property
    def reflection_block_reason(self) -> LimitReason:
        """The reason why a reflection would be useless; "" if it is not.

        After it no search could start, or the budget would not suffice for the answer.
        """
        return self.search_block_reason or self._exceeded_limit(calls=2)

    @property
    def extra_call_block_reason(self) -> LimitReason:
        """The limit that forbids an optional call; "" if there is none."""
        return self.writing.closed_reason or self._exceeded_limit(calls=1)

    @property
    def has_call_limits(self) -> bool:
        """True if the usage of each call must be known before the next may start."""
        return bool(self._limits.tokens or self._limits.cost)

    def start_search(self, task: Task) -> None:
        """Count a search that is about to start.

        Raises:
            RunEndedError: the budget does not allow it.
        """
        if reason := self.search_block_reason:
            raise RunEndedError(reason)
        if not self._has_search_budget(self._largest_search.get(task.source, 1)):
            raise RunEndedError("searches")
        self._started_searches[task.id] += 1
        self._running_searches[task.source] += 1

    def finish_search(self, task: Task) -> None:
        """Record the end of a search, and its count."""
        self._running_searches[task.source] -= 1
        counted = max(1, self._billed_searches[task.id])
        self._largest_search[task.source] = max(self._largest_search.get(task.source, 1), counted)

    def record_skip(self, reason: LimitReason) -> None:
        """Record that work was skipped; the first reason stays."""
        self.skip_reason = self.skip_reason or reason

    def add_usage(self, usage: Usage) -> None:
        """Add the usage of a call, and cancel all work soon if it reached a limit."""
        self._add_usage(usage)
        if self._apply_limits():
            self._schedule(GRACE_SECONDS, self._cancel_work)

    def stop_searching(self) -> None:
        """Stop searching at once, at the user's request; the answer can still be written."""
        self.searching.close("stopped")
        self.searching.cancel()

    def start_clock(self) -> None:
        """Schedule the ends of searching and of the run, if its time is limited."""
        if limit := self._limits.seconds:
            self._schedule(limit * SEARCH_SHARE - self._worked_seconds, self._end_search_time)
            self._schedule(limit - self._worked_seconds, self._end_run_time)

    def cancel_timers(self) -> None:
        """Cancel the scheduled ends, when the run has ended."""
        for timer in self._timers:
            timer.cancel()

    def _schedule(self, seconds: float, callback: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(max(0.0, seconds), callback))

    def _add_usage(self, usage: Usage) -> None:
        self.tokens += usage.input + usage.output
        self.cost += usage.cost or 0.0
        self.has_unpriced_calls = self.has_unpriced_calls or (usage.cost is None and bool(usage.input + usage.output))
        if usage.task:
            self._billed_searches[usage.task] += usage.searches

        self._largest_call["tokens"] = max(self._largest_call["tokens"], usage.input + usage.output)
        self._largest_call["cost"] = max(self._largest_call["cost"], usage.cost or 0.0)

    def _limited_usage(self) -> Iterator[tuple[LimitReason, float, float]]:
        """Yield each limited quantity with its usage and its limit."""
        if self._limits.tokens:
            yield "tokens", self.tokens, self._limits.tokens
        if self._limits.cost:
            yield "cost", self.cost, self._limits.cost

    def _exceeded_limit(self, calls: int) -> LimitReason:
        """Return the limit that some more calls as large as the largest would exceed; "" for none."""
        limited = self._limited_usage()
        return next(
            (reason for reason, used, limit in limited if limit < used + calls * self._largest_call[reason]), ""
        )

    def _apply_limits(self) -> bool:
        """Close the scopes that have no budget left; return whether a limit was just reached."""
        earlier_reason = self.writing.closed_reason
        for reason, used, limit in self._limited_usage():
            if used >= limit * SEARCH_SHARE or used + self._largest_call[reason] > limit:
                self.searching.close(reason)
            if used >= limit:
                self.writing.close(reason)
        return bool(self.writing.closed_reason and not earlier_reason)

    def _end_search_time(self) -> None:
        self.searching.close("seconds")
        self.searching.cancel()

    def _end_run_time(self) -> None:
        self.searching.close("seconds")
        self.writing.close("seconds")
        self._cancel_work()

    def _cancel_work(self) -> None:
        self.searching.cancel()
        self.writing.cancel()

    # Messages

    def describe_limit(self, reason: LimitReason, language: Language = "en") -> str:
        """Describe a limit in words; "" if the reason is no limit."""
        if reason in ("", "stopped"):
            return ""
        n = getattr(self._limits, reason)
        formatted = f"{n:,}" if reason in ("searches", "tokens") else f"{n:g}"
        return message(f"budget.{reason}", language, n=formatted)

    def notices(self, language: Language, unwritten_reason: LimitReason = "") -> list[Span]:
        """Return notices on the limits that affected an answer.

        `unwritten_reason` is the reason why the answer could not be written.
        """
        texts = []
        if reason := unwritten_reason or self.skip_reason:
            key = "unwritten" if unwritten_reason else "stopped" if reason == "stopped" else "short"
            texts.append(message(f"budget.{key}", language, limit=self.describe_limit(reason, language)))
        if self._limits.searches and self.search_count > self._limits.searches:
            limit = self.describe_limit("searches", language)
            texts.append(message("budget.over", language, limit=limit, n=f"{self.search_count:,}"))
        if self._limits.cost and self.has_unpriced_calls:
            texts.append(message("budget.unknown", language))
        return [Span(kind="notice", text=text) for text in texts]


def count_worked_seconds(events: Iterable[Event]) -> float:
    """Return the seconds that a run has worked, without pauses between stop and resumption.

    The work of a killed process ends with its last event.
    """
    total, since, last = 0.0, None, None
    for event in events:
        status = event.data.status if isinstance(event.data, StatusChanged) else None
        if status and since and last:
            total += ((last if status == "interrupted" else event.time) - since).total_seconds()
            since = None
        if status == "running":
            since = event.time
        last = event.time
    if since and last:
        total += (last - since).total_seconds()
    return total
