"""How many requests run at once and how many begin in a minute, here one of half a second."""

from __future__ import annotations

import asyncio
import time

import pytest

from research.models.clients import ModelClients
from research.models.request_limits import Cooldown, RequestLimiter
from research.models.roles import parse_spec
from tests.fakes import until
from tests.models.conftest import loaded

GEMINI, OPENAI = parse_spec("gemini-3.8-flash"), parse_spec("openai:gpt-5")
MINUTE = 0.5


class Watched:
    """Requests that take turns, and when each began."""

    def __init__(self, limiter: RequestLimiter, lasts: float = 0.0) -> None:
        self._limiter, self._lasts = limiter, lasts
        self.begun: list[float] = []
        self._inside = 0
        self.together = 0

    async def one(self) -> None:
        async with self._limiter.acquire():
            self.begun.append(time.monotonic())
            self._inside += 1
            self.together = max(self.together, self._inside)
            await asyncio.sleep(self._lasts)
            self._inside -= 1


async def test_as_many_run_at_once_as_are_allowed() -> None:
    watched = Watched(RequestLimiter(3), lasts=0.02)
    await asyncio.gather(*(watched.one() for _ in range(10)))
    assert (watched.together, len(watched.begun)) == (3, 10)


async def test_who_waits_asks_before_what_has_come_is_read() -> None:
    limiter, told = RequestLimiter(1), list[str]()

    async def one(name: str) -> None:
        async with limiter.acquire():
            await asyncio.sleep(0)
            told.append(f"{name} asked")
            await asyncio.sleep(0.01)
        await limiter.yield_to_waiters()
        told.append(f"{name} read")

    await asyncio.gather(one("first"), one("second"))
    assert told == ["first asked", "second asked", "first read", "second read"]


async def test_no_minute_sees_more_requests_begin_than_are_allowed() -> None:
    watched = Watched(RequestLimiter(100, 3, window_seconds=MINUTE))
    await asyncio.gather(*(watched.one() for _ in range(8)))
    gaps = [later - first for first, later in zip(watched.begun, watched.begun[3:], strict=False)]
    assert len(gaps) == 5
    assert min(gaps) >= MINUTE - 0.01


async def test_requests_within_the_allowance_do_not_wait() -> None:
    watched = Watched(RequestLimiter(100, 3, window_seconds=60))
    start = time.monotonic()
    await asyncio.gather(*(watched.one() for _ in range(3)))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(("limits", "told"), [((1, 0), 2), ((9, 2), 1), ((9, 3), 0)])
async def test_who_has_to_wait_is_told_so_and_when_it_is_over(limits: tuple[int, int], told: int) -> None:
    limiter = RequestLimiter(*limits, window_seconds=0.1)
    heard: list[bool] = []

    async def one() -> None:
        async with limiter.acquire(heard.append):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(3)))
    assert heard[:told] == [True] * told
    assert sorted(heard) == [False] * told + [True] * told


async def test_a_turn_is_given_back_by_a_request_that_fails_or_is_cancelled() -> None:
    limiter = RequestLimiter(1)
    with pytest.raises(ZeroDivisionError):
        async with limiter.acquire():
            _ = 1 / 0
    waiting = asyncio.create_task(Watched(limiter, lasts=60).one())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await asyncio.wait_for(Watched(limiter).one(), 1)


async def test_each_provider_has_a_limiter_of_its_own_and_only_one() -> None:
    clients = ModelClients(loaded({"SIGHTLINE_MODEL_CONCURRENCY": "1"}))
    assert clients.limiter(GEMINI) is clients.limiter(GEMINI)
    async with clients.limiter(GEMINI).acquire(), clients.limiter(OPENAI).acquire():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Watched(clients.limiter(GEMINI)).one(), 0.05)


async def test_a_rest_is_over_when_it_has_lasted() -> None:
    rest = Cooldown()
    assert rest.remaining_seconds == 0
    rest.start(0.2, "used up")
    assert 0 < rest.remaining_seconds <= 0.2
    end = time.monotonic() + 0.25
    await asyncio.to_thread(until, lambda: time.monotonic() > end)
    assert rest.remaining_seconds == 0
