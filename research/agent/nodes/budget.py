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
from research.core.records import Event, Language, Options, Span, Task, Usage

NEAR = 0.8  # of a limit: then nothing is searched any more
GRACE = 0.1  # seconds in which a call may end whose own usage was the last there was room for
Why = Literal["", "searches", "tokens", "cost", "seconds", "stopped"]


class Ended(Exception):
    """Work that did not begin, or was cut off; `why` names the limit, or that it was stopped."""

    def __init__(self, why: Why) -> None:
        self.why: Why = why
        super().__init__(why)


class Gate:
    """A kind of work that may be done until the gate is shut."""

    def __init__(self) -> None:
        self.why: Why = ""
        self._alarms: set[asyncio.Timeout] = set()

    def shut(self, why: Why) -> None:
        """Lets nothing in any more."""
        self.why = self.why or why

    def cut(self) -> None:
        """Ends what is under way behind a gate that is shut."""
        for alarm in self._alarms:
            if not alarm.expired():
                alarm.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """What is done inside.

        Raises:
            Ended: the gate is shut, or was while it was done.
        """
        if self.why:
            raise Ended(self.why)
        alarm = asyncio.timeout(None)
        try:
            async with alarm:
                self._alarms.add(alarm)
                try:
                    yield
                finally:
                    self._alarms.discard(alarm)
        except TimeoutError:
            if alarm.expired():
                raise Ended(self.why) from None
            raise


class Meter:
    """What one run has used, fed by the usage that the page shows. Belongs to the loop of the run.

    A run that goes on brings what it has used before: the ids of the searches that it began, its
    usage, and the seconds that it worked.
    """

    def __init__(
        self,
        options: Options,
        started: Iterable[str] = (),
        usage: Iterable[Usage] = (),
        worked: float = 0.0,
    ) -> None:
        self._limits = options
        self._started = Counter(started)
        self._paid: Counter[str] = Counter()
        self._running: Counter[str] = Counter()  # searches under way, by source
        self._dearest: dict[str, int] = {}  # the most that one search of a source has counted
        self._worked = worked
        self._timers: list[asyncio.TimerHandle] = []
        self.searching, self.writing = Gate(), Gate()
        self.tokens, self.cost, self.unpriced = 0, 0.0, False
        self._largest: dict[Why, float] = {"tokens": 0, "cost": 0.0}  # of all calls
        self.short: Why = ""  # why something was not done that would have been done
        for item in usage:
            self._add(item)
        self._look()

    @property
    def searches(self) -> int:
        """The searches that were begun; one that asked a service several times counts so often."""
        return sum(max(n, self._paid[task]) for task, n in self._started.items())

    @property
    def closed(self) -> Why:
        """Why nothing may be searched any more; "" while something may."""
        full = not self._has_room(min(self._dearest.values(), default=1))
        return self.searching.why or ("searches" if full else "")

    def _has_room(self, searches: int) -> bool:
        """Return whether the limit leaves room for a search that counts as `searches`.

        Each search under way is reckoned as the dearest of its source; the first is always let in.
        """
        limit, used = self._limits.searches, self.searches
        pending = sum(n * (self._dearest.get(s, 1) - 1) for s, n in self._running.items())
        return not limit or not used or used + pending + searches <= limit

    @property
    def thoughtless(self) -> Why:
        """Why no judgement is worth its call: no search could follow it, or no answer be paid."""
        tight = (w for w, used, limit in self._used() if limit < used + 2 * self._largest[w])
        return self.closed or next(tight, "")

    @property
    def tight(self) -> Why:
        """Why there is no room for one more call beside those that have to be; "" if there is."""
        full = (w for w, used, limit in self._used() if limit < used + self._largest[w])
        return self.writing.why or next(full, "")

    @property
    def counted(self) -> bool:
        """Whether each call has to be seen before the next may begin."""
        return bool(self._limits.tokens or self._limits.cost)

    def take(self, task: Task) -> None:
        """Counts a search that is about to begin.

        Raises:
            Ended: there is no room for it.
        """
        if why := self.closed:
            raise Ended(why)
        if not self._has_room(self._dearest.get(task.source, 1)):
            raise Ended("searches")
        self._started[task.id] += 1
        self._running[task.source] += 1

    def settle(self, task: Task) -> None:
        """Note that a search is over, and how much it has counted."""
        self._running[task.source] -= 1
        counted = max(1, self._paid[task.id])
        self._dearest[task.source] = max(self._dearest.get(task.source, 1), counted)

    def lack(self, why: Why) -> None:
        """Notes that something is not done."""
        self.short = self.short or why

    def spend(self, usage: Usage) -> None:
        """Takes in what a call has used."""
        self._add(usage)
        if self._look():
            self._in(GRACE, self._cut)

    def end(self) -> None:
        """Ends the searching at once, as somebody asked; there is time to write."""
        self.searching.shut("stopped")
        self.searching.cut()

    def begin(self) -> None:
        """Starts the clock."""
        if limit := self._limits.seconds:
            self._in(limit * NEAR - self._worked, self._time_to_write)
            self._in(limit - self._worked, self._time_is_up)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _in(self, seconds: float, act: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(max(0.0, seconds), act))

    def _add(self, usage: Usage) -> None:
        self.tokens += usage.input + usage.output
        self.cost += usage.cost or 0.0
        self.unpriced = self.unpriced or (usage.cost is None and bool(usage.input + usage.output))
        if usage.task:
            self._paid[usage.task] += usage.searches

        self._largest["tokens"] = max(self._largest["tokens"], usage.input + usage.output)
        self._largest["cost"] = max(self._largest["cost"], usage.cost or 0.0)

    def _used(self) -> Iterator[tuple[Why, float, float]]:
        """What was used of the limits that are set, beside these."""
        if self._limits.tokens:
            yield "tokens", self.tokens, self._limits.tokens
        if self._limits.cost:
            yield "cost", self.cost, self._limits.cost

    def _look(self) -> bool:
        """Shuts what there is no room for; says whether a limit has just been reached."""
        before = self.writing.why
        for why, used, limit in self._used():
            if used >= limit * NEAR or used + self._largest[why] > limit:
                self.searching.shut(why)
            if used >= limit:
                self.writing.shut(why)
        return bool(self.writing.why and not before)

    def _time_to_write(self) -> None:
        self.searching.shut("seconds")
        self.searching.cut()

    def _time_is_up(self) -> None:
        self.searching.shut("seconds")
        self.writing.shut("seconds")
        self._cut()

    def _cut(self) -> None:
        self.searching.cut()
        self.writing.cut()

    # In words

    def words(self, why: Why, tongue: Language = "en") -> str:
        """A limit."""
        if why in ("", "stopped"):
            return ""
        n = getattr(self._limits, why)
        told = f"{n:,}" if why in ("searches", "tokens") else f"{n:g}"
        return message(f"budget.{why}", tongue, n=told)

    def notices(self, tongue: Language, unwritten: Why = "") -> list[Span]:
        """What an answer says of the limits that had an effect on it. `unwritten` is why nobody
        could write it."""
        said = []
        if why := unwritten or self.short:
            key = "unwritten" if unwritten else "stopped" if why == "stopped" else "short"
            said.append(message(f"budget.{key}", tongue, limit=self.words(why, tongue)))
        if self._limits.searches and self.searches > self._limits.searches:
            limit = self.words("searches", tongue)
            said.append(message("budget.over", tongue, limit=limit, n=f"{self.searches:,}"))
        if self._limits.cost and self.unpriced:
            said.append(message("budget.unknown", tongue))
        return [Span(kind="notice", text=text) for text in said]


def worked(events: Iterable[Event]) -> float:
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
