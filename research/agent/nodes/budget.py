"""What a run may still use: its searches, tokens, money and seconds, and who asked it to end.

Four fifths of a limit are for searching, the rest is for the answer, and no less than the largest
call so far has taken. Work under way is cut off by closing its gate; what was finished by then stays.

A search counts as one, or as the number of queries that its service reports to have run and billed,
which only its reply tells. So a search begins only if there is room for as many as the largest one of
the same source has counted so far. A limit of searches is passed only where searches that began
together, or one larger than all before, report more than that; the answer then says so.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Literal

from research.core.i18n import message
from research.core.records import Event, Language, RunOptions, Span, Task, Usage

SEARCH_SHARE = 0.8  # of a limit: then nothing is searched any more
GRACE_SECONDS = 0.1  # seconds in which a call may end whose own usage was the last there was room for
LimitReason = Literal["", "searches", "tokens", "cost", "seconds", "stopped"]


class RunEndedError(Exception):
    """Work that did not begin, or was cut off; `why` names the limit, or that it was stopped."""

    def __init__(self, reason: LimitReason) -> None:
        self.reason: LimitReason = reason
        super().__init__(reason)


class WorkScope:
    """A kind of work that may be done until the gate is shut."""

    def __init__(self) -> None:
        self.closed_reason: LimitReason = ""
        self._timeouts: set[asyncio.Timeout] = set()

    def close(self, reason: LimitReason) -> None:
        """Lets nothing in any more."""
        self.closed_reason = self.closed_reason or reason

    def cancel(self) -> None:
        """Ends what is under way behind a gate that is shut."""
        for alarm in self._timeouts:
            if not alarm.expired():
                alarm.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[None]:
        """What is done inside.

        Raises:
            Ended: the gate is shut, or was while it was done.
        """
        if self.closed_reason:
            raise RunEndedError(self.closed_reason)
        alarm = asyncio.timeout(None)
        try:
            async with alarm:
                self._timeouts.add(alarm)
                try:
                    yield
                finally:
                    self._timeouts.discard(alarm)
        except TimeoutError:
            if alarm.expired():
                raise RunEndedError(self.closed_reason) from None
            raise


class RunBudget:
    """What one run has used, fed by the usage that the page shows. Belongs to the loop of the run.

    A run that goes on brings what it has used before: the ids of the searches that it began, its
    usage, and the seconds that it worked.
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
        self._running_searches: Counter[str] = Counter()  # searches under way, by source
        self._largest_search: dict[str, int] = {}  # the most that one search of a source has counted
        self._worked_seconds = worked_seconds
        self._timers: list[asyncio.TimerHandle] = []
        self.searching, self.writing = WorkScope(), WorkScope()
        self.tokens, self.cost, self.has_unpriced_calls = 0, 0.0, False
        self._largest_call: dict[LimitReason, float] = {"tokens": 0, "cost": 0.0}  # of all calls
        self.skip_reason: LimitReason = ""  # why something was not done that would have been done
        for item in usage:
            self._add_usage(item)
        self._apply_limits()

    @property
    def search_count(self) -> int:
        """The searches that were begun; one that asked a service several times counts so often."""
        return sum(max(n, self._billed_searches[task]) for task, n in self._started_searches.items())

    @property
    def search_block_reason(self) -> LimitReason:
        """Why nothing may be searched any more; "" while something may."""
        full = not self._has_search_budget(min(self._largest_search.values(), default=1))
        return self.searching.closed_reason or ("searches" if full else "")

    def _has_search_budget(self, searches: int) -> bool:
        """Return whether the limit leaves room for a search that counts as `searches`.

        Each search under way is reckoned as the dearest of its source; the first is always let in.
        """
        limit, used = self._limits.searches, self.search_count
        pending = sum(n * (self._largest_search.get(s, 1) - 1) for s, n in self._running_searches.items())
        return not limit or not used or used + pending + searches <= limit

    @property
    def reflection_block_reason(self) -> LimitReason:
        """Why no judgement is worth its call: no search could follow it, or no answer be paid."""
        tight = (w for w, used, limit in self._limited_usage() if limit < used + 2 * self._largest_call[w])
        return self.search_block_reason or next(tight, "")

    @property
    def extra_call_block_reason(self) -> LimitReason:
        """Why there is no room for one more call beside those that have to be; "" if there is."""
        full = (w for w, used, limit in self._limited_usage() if limit < used + self._largest_call[w])
        return self.writing.closed_reason or next(full, "")

    @property
    def has_call_limits(self) -> bool:
        """Whether each call has to be seen before the next may begin."""
        return bool(self._limits.tokens or self._limits.cost)

    def start_search(self, task: Task) -> None:
        """Counts a search that is about to begin.

        Raises:
            Ended: there is no room for it.
        """
        if why := self.search_block_reason:
            raise RunEndedError(why)
        if not self._has_search_budget(self._largest_search.get(task.source, 1)):
            raise RunEndedError("searches")
        self._started_searches[task.id] += 1
        self._running_searches[task.source] += 1

    def finish_search(self, task: Task) -> None:
        """Note that a search is over, and how much it has counted."""
        self._running_searches[task.source] -= 1
        counted = max(1, self._billed_searches[task.id])
        self._largest_search[task.source] = max(self._largest_search.get(task.source, 1), counted)

    def record_skip(self, reason: LimitReason) -> None:
        """Notes that something is not done."""
        self.skip_reason = self.skip_reason or reason

    def add_usage(self, usage: Usage) -> None:
        """Takes in what a call has used."""
        self._add_usage(usage)
        if self._apply_limits():
            self._schedule(GRACE_SECONDS, self._cancel_work)

    def stop_searching(self) -> None:
        """Ends the searching at once, as somebody asked; there is time to write."""
        self.searching.close("stopped")
        self.searching.cancel()

    def start_clock(self) -> None:
        """Starts the clock."""
        if limit := self._limits.seconds:
            self._schedule(limit * SEARCH_SHARE - self._worked_seconds, self._end_search_time)
            self._schedule(limit - self._worked_seconds, self._end_run_time)

    def cancel_timers(self) -> None:
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
        """What was used of the limits that are set, beside these."""
        if self._limits.tokens:
            yield "tokens", self.tokens, self._limits.tokens
        if self._limits.cost:
            yield "cost", self.cost, self._limits.cost

    def _apply_limits(self) -> bool:
        """Shuts what there is no room for; says whether a limit has just been reached."""
        before = self.writing.closed_reason
        for why, used, limit in self._limited_usage():
            if used >= limit * SEARCH_SHARE or used + self._largest_call[why] > limit:
                self.searching.close(why)
            if used >= limit:
                self.writing.close(why)
        return bool(self.writing.closed_reason and not before)

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

    # In words

    def describe_limit(self, reason: LimitReason, language: Language = "en") -> str:
        """A limit."""
        if reason in ("", "stopped"):
            return ""
        n = getattr(self._limits, reason)
        told = f"{n:,}" if reason in ("searches", "tokens") else f"{n:g}"
        return message(f"budget.{reason}", language, n=told)

    def notices(self, language: Language, unwritten_reason: LimitReason = "") -> list[Span]:
        """What an answer says of the limits that had an effect on it. `unwritten` is why nobody
        could write it."""
        said = []
        if why := unwritten_reason or self.skip_reason:
            key = "unwritten" if unwritten_reason else "stopped" if why == "stopped" else "short"
            said.append(message(f"budget.{key}", language, limit=self.describe_limit(why, language)))
        if self._limits.searches and self.search_count > self._limits.searches:
            limit = self.describe_limit("searches", language)
            said.append(message("budget.over", language, limit=limit, n=f"{self.search_count:,}"))
        if self._limits.cost and self.has_unpriced_calls:
            said.append(message("budget.unknown", language))
        return [Span(kind="notice", text=text) for text in said]


def count_worked_seconds(events: Iterable[Event]) -> float:
    """The seconds that a run has worked, pauses between stop and going on left out. Of a process
    that was killed they end with the last that it told."""
    total, since, last = 0.0, None, None
    for event in events:
        status = event.data.get("status") if event.kind == "status" else None
        if status and since and last:
            total += ((last if status == "interrupted" else event.time) - since).total_seconds()
            since = None
        if status == "running":
            since = event.time
        last = event.time
    if since and last:
        total += (last - since).total_seconds()
    return total
