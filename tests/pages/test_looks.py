"""Which looks at a run are passed on to Streamlit, and which are left out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.middleware import polling
from pages.middleware.polling import IDLE_POLL_SECONDS, MAX_IDLE_POLLS_PER_SECOND, PollingMiddleware

Events = dict[str, int | None]


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def asked(run: str = "one", fragment: str = "live", *, auto: bool = True) -> dict[str, Any]:
    """A page's request for a part of it, or for all of it."""
    message = BackMsg()
    message.rerun_script.query_string = f"run={run}&lang=en" if run else ""
    message.rerun_script.fragment_id = fragment
    message.rerun_script.is_auto_rerun = auto
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def passed(
    made: PollingMiddleware, messages: list[dict[str, Any] | Callable[[], object]], kind: str = "websocket"
) -> list[dict[str, Any]]:
    """Those of the messages of a connection that came through; what can be called is called in its
    turn."""
    line, through = list(messages), list[dict[str, Any]]()
    end = {"type": "websocket.disconnect"}

    async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        while (message := await receive()) is not end:
            through.append(message)

    async def receive() -> Any:
        while line and callable(line[0]):
            line.pop(0)()  # type: ignore[operator]
        return line.pop(0) if line else end

    made.app = app
    scope = {"type": kind, "headers": [], "path": "/_stcore/stream"}
    asyncio.run(made(scope, receive, None))
    return through


@pytest.fixture
def events() -> Events:
    return {"one": 3}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def made(events: Events, clock: Clock) -> PollingMiddleware:
    return PollingMiddleware(None, clock, lambda run_id, owner: events.get(run_id, 0))


def test_a_look_is_passed_on_when_something_has_happened(made: PollingMiddleware, events: Events) -> None:
    more = asked()
    assert passed(made, [asked(), asked(), lambda: events.update(one=4), more, asked()]) == [
        asked(), more,
    ]  # fmt: skip


def test_a_look_is_passed_on_now_and_then_although_nothing_has(made: PollingMiddleware, clock: Clock) -> None:
    def later() -> None:
        clock.now += 0.6 * IDLE_POLL_SECONDS

    through = passed(made, [asked(), later, asked(), later, asked(), later, asked()])
    assert len(through) == 2


def test_whoever_clicks_or_opens_the_page_anew_sees_it_at_once(made: PollingMiddleware) -> None:
    click, load = asked(auto=False), asked(fragment="", auto=False)
    line = [asked(), asked(), click, asked(), load, asked(), asked()]
    assert passed(made, line) == [asked(), click, asked(), load, asked()]


def test_each_run_each_part_and_each_page_is_looked_at_by_itself(made: PollingMiddleware) -> None:
    line = [asked(), asked("two"), asked("one", "text"), asked("two"), asked()]
    assert passed(made, line) == line[:3]
    assert passed(made, [asked()]) == [asked()]


def test_what_is_no_look_at_a_run_is_passed_on(made: PollingMiddleware) -> None:
    none = asked("")
    words = {"type": "websocket.receive", "text": "words"}
    broken = {"type": "websocket.receive", "bytes": b"\xff\xff"}
    long = {"type": "websocket.receive", "bytes": asked()["bytes"] + b"\x00" * polling.MAX_POLL_BYTES}
    line = [none, none, words, words, broken, broken, long, long]
    assert passed(made, line) == line
    assert len(passed(made, [asked(), asked()], kind="http")) == 2


def test_where_the_store_cannot_be_asked_the_page_says_so(made: PollingMiddleware, events: Events) -> None:
    events["one"] = None
    assert len(passed(made, [asked(), asked()])) == 2


def test_the_more_follow_the_rarer_are_looks_without_news(made: PollingMiddleware, clock: Clock) -> None:
    made._last_poll_times.update(dict.fromkeys(range(3 * MAX_IDLE_POLLS_PER_SECOND), clock.now))

    def later() -> None:
        clock.now += IDLE_POLL_SECONDS

    line: list[Any] = [asked(), later, asked(), later, asked(), later, asked()]
    assert len(passed(made, line)) == 3  # the others have asked no more for a while
    assert set(made._last_poll_times) == set(range(3 * MAX_IDLE_POLLS_PER_SECOND))
