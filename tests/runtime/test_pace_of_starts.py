"""At most so many starts within a minute for each owner, whichever way they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from research import PaceError, QuestionError, application
from research.runtime.pace import Pace


def test_an_owner_waits_and_another_does_not() -> None:
    clock = [0.0]
    pace = Pace(2, lambda: clock[0])
    pace.start("ann")
    clock[0] = 10
    pace.start("ann")
    clock[0] = 15.5
    with pytest.raises(PaceError) as refused:
        pace.start("ann")
    assert (refused.value.limit, refused.value.wait) == (2, 45)
    pace.start("bob")
    clock[0] = 60
    pace.start("ann")
    with pytest.raises(PaceError):
        pace.start("ann")


def test_being_refused_makes_the_wait_no_longer() -> None:
    clock = [0.0]
    pace = Pace(1, lambda: clock[0])
    pace.start("ann")
    for second in range(1, 60):
        clock[0] = second
        with pytest.raises(PaceError) as refused:
            pace.start("ann")
        assert refused.value.wait == 60 - second
    clock[0] = 60
    pace.start("ann")


def test_without_a_limit_nothing_is_counted() -> None:
    pace = Pace(0)
    for _ in range(1000):
        pace.start("ann")
    assert len(pace) == 0


def test_the_memory_of_owners_is_bounded() -> None:
    pace = Pace(1, lambda: 0.0, most=10)
    for n in range(100):
        pace.start(str(n))
    assert len(pace) == 10
    with pytest.raises(PaceError):
        pace.start("99")


def test_every_way_to_start_is_counted_and_what_is_asked_wrongly_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_STARTS_PER_MINUTE", "1")
    application.close()
    try:
        with pytest.raises(QuestionError):
            application.start("", owner="ann")
        ways = {
            "start": lambda: application.start("What is known?", owner="ann"),
            "report_on": lambda: application.report_on("The news", owner="ann"),
            "ask_database": lambda: application.ask_database("How many?", owner="ann"),
            "resume": lambda: application.resume("none", owner="ann"),
            "more": lambda: application.more("none", owner="ann"),
            "look_again": lambda: application.look_again("none", owner="ann"),
        }
        for name, way in ways.items():
            with pytest.raises(PaceError):
                way()
            assert application.recent(owner="ann") == [], name
        assert application.resume("none", owner="bob") is None
        assert application.approve("none", owner="ann") is None  # was counted when it was started
    finally:
        application.close()


def test_previews_of_plans_are_counted_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_STARTS_PER_MINUTE", "1")
    application.close()
    try:
        plan = application.plan("What is known?", owner="ann")
        with pytest.raises(PaceError):
            application.plan("What is known?", owner="ann")
        assert plan.tasks
        assert (
            application.start("What is known?", plan=plan, owner="ann").question == "What is known?"
        )
        with pytest.raises(PaceError):
            application.start("What is known?", plan=plan, owner="ann")
    finally:
        application.close()
