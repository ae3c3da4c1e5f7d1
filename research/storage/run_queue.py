"""The order of queued runs under the limits on concurrent runs, independent of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class QueueEntry(NamedTuple):
    """A run that is under way or queued."""

    id: str
    owner: str
    status: str
    engine: str


def select_next(entries: Iterable[QueueEntry], max_total: int, max_per_owner: int) -> list[QueueEntry]:
    """Select the queued runs that may start now, given all entries in order of arrival.

    At most `max_total` runs are under way at once, and `max_per_owner` of one owner; 0 is no limit.
    A run whose owner has reached the limit does not block those behind it.
    """
    entries = list(entries)
    running = Counter(entry.owner for entry in entries if entry.status == "running")
    free_slots = max_total - running.total() if max_total else len(entries)
    selected: list[QueueEntry] = []
    for entry in entries:
        if entry.status != "queued" or len(selected) >= free_slots:
            continue
        if max_per_owner and running[entry.owner] >= max_per_owner:
            continue
        running[entry.owner] += 1
        selected.append(entry)
    return selected


def queue_position(entries: Sequence[QueueEntry], run_id: str, max_per_owner: int) -> tuple[int, bool]:
    """Return the number of runs ahead of a queued one.

    The second value tells whether it only waits for other runs of the same owner.
    """
    ahead: list[QueueEntry] = []
    for entry in entries:
        if entry.id == run_id:
            own_running = sum(
                other_entry.owner == entry.owner for other_entry in entries if other_entry.status == "running"
            )
            if max_per_owner and own_running >= max_per_owner:
                ahead = [other_entry for other_entry in ahead if other_entry.owner == entry.owner]
                return len(ahead), True
            return len(ahead), False
        if entry.status == "queued":
            ahead.append(entry)
    return 0, False
