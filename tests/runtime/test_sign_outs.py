"""Ended sign-ins: recorded for every process that shares the store, for as long as they could be valid."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from research.storage.store import Store

NOW = datetime.now(UTC).replace(microsecond=0)
LATER = NOW + timedelta(hours=12)


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    made = Store(place)
    yield made
    made.close()


def test_a_sign_in_that_was_ended_is_known_to_another_process(store: Store, place: Path | str) -> None:
    other = Store(place)
    assert not other.is_signed_out("ann", "one", NOW)
    store.record_sign_out("ann", "one", NOW, LATER)
    assert other.is_signed_out("ann", "one", NOW)
    assert not other.is_signed_out("ann", "two", NOW)
    assert not other.is_signed_out("bob", "one", NOW)
    other.close()


def test_all_sign_ins_of_a_person_up_to_a_time_are_ended_at_once(store: Store) -> None:
    store.record_sign_out("ann", "", NOW, LATER)
    for before in (0, 1, 3600):
        assert store.is_signed_out("ann", "any", NOW - timedelta(seconds=before))
    for after in (0.001, 1, 3600):
        assert not store.is_signed_out("ann", "any", NOW + timedelta(seconds=after))
    assert not store.is_signed_out("bob", "any", NOW)


def test_it_outlasts_a_restart_and_goes_when_the_sign_in_could_not_be_valid(
    place: Path | str,
) -> None:
    store = Store(place)
    store.record_sign_out("ann", "old", NOW, NOW - timedelta(seconds=1))
    store.record_sign_out("ann", "new", NOW, LATER)
    store.close()
    store = Store(place)
    assert store.is_signed_out("ann", "new", NOW)
    assert not store.is_signed_out("ann", "old", NOW)
    store.close()
