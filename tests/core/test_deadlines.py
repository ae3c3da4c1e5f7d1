"""What counts against a deadline and what does not, on a loop whose time passes only in waiting."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from research.agent.nodes.search import run_search
from research.core.deadlines import Countdown, count_down, deadline, pause_deadlines
from research.core.events import EventEmitter, ignore_event
from research.core.records import Finding, Task
from research.models.request_limits import RequestLimiter
from tests.fakes import Outcome, ScriptedSource

T = TypeVar("T")
TASK = Task(id="1.1", source="web", query="tower")


class Idle(selectors.DefaultSelector):
    """Instead of waiting it notes how long it would have waited."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.waited += timeout or 0.0
        return super().select(0 if timeout else timeout)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.idle = Idle()
        super().__init__(self.idle)

    def time(self) -> float:
        return self.idle.waited


def ran(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


def now() -> float:
    return asyncio.get_running_loop().time()


async def turn(seconds: float) -> None:
    with pause_deadlines():
        await asyncio.sleep(seconds)


# The clocks


def test_work_counts_and_is_cancelled_when_the_time_is_over() -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with deadline(10):
                await asyncio.sleep(11)
        return now()

    assert ran(work()) == pytest.approx(10)


def test_a_turn_that_is_waited_for_does_not_count() -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with deadline(10) as clock:
                await asyncio.sleep(4)
                await turn(100)
                assert clock.remaining_seconds == pytest.approx(6)
                await asyncio.sleep(7)
        return now()

    assert ran(work()) == pytest.approx(110)


def test_every_deadline_around_a_turn_stands_still_and_those_of_others_do_not() -> None:
    async def work() -> None:
        async def other() -> float:
            with contextlib.suppress(TimeoutError):
                async with deadline(5):
                    await asyncio.sleep(100)
            return now()

        late = asyncio.create_task(other())
        with count_down(20) as outer:
            async with deadline(10) as middle, deadline(5) as inner:
                await turn(50)
                await asyncio.sleep(3)
                assert [clock.remaining_seconds for clock in (outer, middle, inner)] == pytest.approx([17, 7, 2])
        assert await late == pytest.approx(5)

    ran(work())


def test_a_deadline_stands_still_until_the_last_of_several_turns_has_come() -> None:
    async def work() -> float:
        async with deadline(10) as clock:
            await asyncio.gather(turn(30), turn(50), turn(20))
            assert clock.remaining_seconds == pytest.approx(10)
            await asyncio.gather(turn(5), asyncio.sleep(7))
        return clock.remaining_seconds

    assert ran(work()) == pytest.approx(8)


def test_who_is_left_behind_may_wait_on_after_the_deadline_is_over() -> None:
    async def work() -> None:
        async def behind() -> None:
            await turn(5)
            await turn(5)

        with contextlib.suppress(TimeoutError):
            async with deadline(3):
                task = asyncio.create_task(behind())
                await asyncio.sleep(1)
                raise TimeoutError
        await task

    ran(work())


def test_what_is_cleaned_up_after_the_time_was_over_may_wait_for_a_turn() -> None:
    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with deadline(3):
                try:
                    await asyncio.sleep(100)
                finally:
                    await turn(4)
        return now()

    assert ran(work()) == pytest.approx(7)


def test_a_clock_tells_what_is_left_and_ends_nothing() -> None:
    async def work() -> Countdown:
        with count_down(3) as clock:
            await asyncio.sleep(5)
            assert clock.remaining_seconds == pytest.approx(-2)
        return clock

    ran(work())


# A search that has to wait for its turn


class Limited(ScriptedSource):
    """Asks a service that takes a while, as often as a limiter lets it."""

    def __init__(self, limiter: RequestLimiter, lasts: float) -> None:
        super().__init__(usual=Outcome(waits=lasts))
        self._limiter = limiter

    async def search(self, task: Task, say: EventEmitter) -> Finding:
        async with self._limiter.acquire():
            return await super().search(task, say)


class Forgetful:
    async def find(self, task: Task) -> None:
        return None

    async def start_search(self, task: Task) -> int:
        return 1

    async def finish_search(self, search_id: int, finding: Finding) -> None:
        """Nothing is kept."""


def searched(limiter: RequestLimiter, lasts: float, count: int = 5) -> list[str | None]:
    """The reasons of as many searches at once as are asked for, each with 30 seconds."""

    async def work() -> list[Finding]:
        source = Limited(limiter, lasts)
        searches = (run_search(TASK, source, Forgetful(), ignore_event, deadline_seconds=30) for _ in range(count))
        return await asyncio.gather(*searches)

    return [finding.reason for finding in ran(work())]


@pytest.mark.parametrize("limiter", [(100, 1), (1, 0), (2, 3)])
def test_a_search_that_waits_for_its_turn_is_not_late(limiter: tuple[int, int]) -> None:
    assert searched(RequestLimiter(*limiter), lasts=20) == [None] * 5


def test_a_search_that_waited_for_its_turn_is_late_if_the_service_is() -> None:
    assert searched(RequestLimiter(100, 1), lasts=31) == ["timeout"] * 5


def test_a_search_that_is_stopped_while_it_waits_ends_at_once_and_leaves_its_turn() -> None:
    async def work() -> None:
        limiter = RequestLimiter(1, 1)
        source = Limited(limiter, 1)
        first, second, third = (
            asyncio.create_task(run_search(TASK, source, Forgetful(), ignore_event, deadline_seconds=30))
            for _ in range(3)
        )
        await asyncio.sleep(10)
        assert (first.done(), second.done()) == (True, False)
        second.cancel()
        await asyncio.wait([second])
        assert (second.cancelled(), now()) == (True, pytest.approx(10))
        assert (await third).reason is None
        assert now() == pytest.approx(61)

    ran(work())
