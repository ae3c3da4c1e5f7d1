"""What an owner's runs have used, by day: from the records of the calls, and nobody else's."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from research.accounts.usage import DayUsage, usage_by_day
from research.core.events import parse_event
from research.core.records import Usage
from research.storage.store import Store
from tests.runtime.test_store import run

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
WRITTEN = Usage(stage="write", model="gemini:gemini-3.8-flash", input=100, output=10, cost=0.5)
UNKNOWN = Usage(stage="write", model="openai:nobody-knows", calls=2, input=7, output=1)
SEARCHED = Usage(stage="search", model="tavily", searches=1)


@pytest.fixture
def store(place: Path | str) -> Store:
    made = Store(place)
    made.add_run(run("one", created=NOON), None, "")
    made.add_run(run("two", created=NOON, owner="bob"), None, "")
    return made


def spent(store: Store, run_id: str, at: datetime, *usages: Usage) -> None:
    store.append_events(run_id, [(at, parse_event("usage", usage.model_dump(mode="json"))) for usage in usages])


def test_calls_are_summed_by_day_stage_and_model(store: Store) -> None:
    spent(store, "one", NOON, WRITTEN, WRITTEN, UNKNOWN)
    spent(store, "one", NOON + timedelta(hours=1), WRITTEN, SEARCHED)
    spent(store, "one", NOON + timedelta(days=1), SEARCHED)
    store.append_events("one", [(NOON, parse_event("found", {"stage": "write", "model": "none"}))])
    day, model = date(2026, 3, 4), WRITTEN.model
    assert usage_by_day(store, "ann", NOON - timedelta(days=1)) == [
        DayUsage(day=day, stage="search", model="tavily", calls=1, searches=1, unpriced=1),
        DayUsage(day=day, stage="write", model=model, calls=3, input=300, output=30, cost=1.5),
        DayUsage(day=day, stage="write", model=UNKNOWN.model, calls=2, input=7, output=1, unpriced=2),
        DayUsage(day=date(2026, 3, 5), stage="search", model="tavily", calls=1, searches=1, unpriced=1),
    ]  # fmt: skip
    store.close()


def test_calls_whose_tokens_are_estimated_are_told_apart(store: Store) -> None:
    spent(store, "one", NOON, WRITTEN, WRITTEN.model_copy(update={"estimated": True}))
    (row,) = usage_by_day(store, "ann", NOON - timedelta(days=1))
    assert (row.calls, row.input, row.estimated) == (2, 200, 1)
    store.close()


def test_what_was_used_before_and_by_others_is_left_out(store: Store) -> None:
    spent(store, "one", NOON - timedelta(days=2), WRITTEN)
    spent(store, "two", NOON, SEARCHED)
    assert usage_by_day(store, "ann", NOON - timedelta(days=1)) == []
    assert [row.model for row in usage_by_day(store, "bob", NOON - timedelta(days=1))] == ["tavily"]
    assert usage_by_day(store, "nobody", NOON - timedelta(days=9)) == []
    store.close()


def test_a_day_is_that_of_the_time_zone(store: Store) -> None:
    spent(store, "one", datetime(2026, 3, 4, 17, 0, tzinfo=UTC), WRITTEN)
    spent(store, "one", datetime(2026, 3, 4, 18, 20, tzinfo=UTC), WRITTEN)
    (utc,) = usage_by_day(store, "ann", NOON - timedelta(days=1))
    (china,) = usage_by_day(store, "ann", NOON - timedelta(days=1), ZoneInfo("Asia/Shanghai"))
    nepal = usage_by_day(store, "ann", NOON - timedelta(days=1), ZoneInfo("Asia/Kathmandu"))
    assert (utc.day, china.day) == (date(2026, 3, 4), date(2026, 3, 5))
    assert [row.day.day for row in nepal] == [4, 5]  # 22:45 and 00:05 there
    store.close()


def test_a_record_that_was_spoilt_takes_no_other_with_it(store: Store) -> None:
    spent(store, "one", NOON, WRITTEN)
    for spoilt in ({"stage": "write"}, {"stage": "write", "model": "m", "calls": "many"}, {"stage": "dream", "model": "m"}):  # fmt: skip
        store.append_events("one", [(NOON, parse_event("usage", spoilt))])
    assert [row.model for row in usage_by_day(store, "ann", NOON - timedelta(days=1))] == [WRITTEN.model]
    store.close()
