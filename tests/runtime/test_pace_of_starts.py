"""At most so many starts within a minute for each owner, whichever way they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from research import QuestionError, RateLimitError, close_application, get_application
from research.http import rate_limiter
from research.http.rate_limiter import RateLimiter
from research.runtime.start_limit import count_start


def test_an_owner_waits_and_another_does_not() -> None:
    clock = [0.0]
    pace = RateLimiter(60, lambda: clock[0], max_starts=2)
    count_start(pace, "ann")
    clock[0] = 10
    count_start(pace, "ann")
    clock[0] = 15.5
    with pytest.raises(RateLimitError) as refused:
        count_start(pace, "ann")
    assert (refused.value.limit, refused.value.wait_seconds) == (2, 45)
    count_start(pace, "bob")
    clock[0] = 60
    count_start(pace, "ann")
    with pytest.raises(RateLimitError):
        count_start(pace, "ann")


def test_being_refused_makes_the_wait_no_longer() -> None:
    clock = [0.0]
    pace = RateLimiter(60, lambda: clock[0], max_starts=1)
    count_start(pace, "ann")
    for second in range(1, 60):
        clock[0] = second
        with pytest.raises(RateLimitError) as refused:
            count_start(pace, "ann")
        assert refused.value.wait_seconds == 60 - second
    clock[0] = 60
    count_start(pace, "ann")


def test_without_a_limit_nothing_is_counted() -> None:
    pace = RateLimiter(60, max_starts=0)
    for _ in range(1000):
        count_start(pace, "ann")
    assert len(pace) == 0


def test_the_memory_of_owners_is_bounded() -> None:
    pace = RateLimiter(60, lambda: 0.0, max_starts=1, max_keys=10)
    for n in range(100):
        count_start(pace, str(n))
    assert len(pace) == 10
    with pytest.raises(RateLimitError):
        count_start(pace, "99")


def test_every_way_to_start_is_counted_and_what_is_asked_wrongly_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_STARTS_PER_MINUTE", "1")
    close_application()
    try:
        with pytest.raises(QuestionError):
            get_application().runs.start("", owner="ann")
        ways = {
            "start": lambda: get_application().runs.start("What is known?", owner="ann"),
            "report_on": lambda: get_application().start_report("The news", owner="ann"),
            "ask_database": lambda: get_application().start_database_run("How many?", owner="ann"),
            "resume": lambda: get_application().runs.resume("none", owner="ann"),
            "more": lambda: get_application().runs.extend("none", owner="ann"),
            "look_again": lambda: get_application().watches.start_update("none", owner="ann"),
        }
        for name, way in ways.items():
            with pytest.raises(RateLimitError):
                way()
            assert get_application().runs.recent_runs(owner="ann") == [], name
        assert get_application().runs.resume("none", owner="bob") is None
        assert get_application().runs.approve("none", owner="ann") is None  # was counted when it was started
    finally:
        close_application()


def test_previews_of_plans_are_counted_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_STARTS_PER_MINUTE", "1")
    close_application()
    try:
        plan = get_application().runs.preview_plan("What is known?", owner="ann")
        with pytest.raises(RateLimitError):
            get_application().runs.preview_plan("What is known?", owner="ann")
        assert plan.tasks
        assert get_application().runs.start("What is known?", plan=plan, owner="ann").question == "What is known?"
        with pytest.raises(RateLimitError):
            get_application().runs.start("What is known?", plan=plan, owner="ann")
    finally:
        close_application()


def test_only_a_shared_limit_is_divided_among_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limiter, "process_count", 4)
    own, shared = RateLimiter(60, lambda: 0.0), RateLimiter(60, lambda: 0.0, is_shared=True)
    assert [limiter.reserve(1_000) for limiter in (own, shared)] == [0.0, 0.0]
    assert [limiter.reserve(1_000) for limiter in (own, shared)] == [60.0, 240.0]
