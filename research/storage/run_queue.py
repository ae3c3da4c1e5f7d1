"""Whose turn it is, where only so many runs may go on at once. Knows no store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class QueueEntry(NamedTuple):
    """A run that is under way or waits to be, as the store knows it."""

    id: str
    owner: str
    status: str
    engine: str


def select_next(entries: Iterable[QueueEntry], max_total: int, max_per_owner: int) -> list[QueueEntry]:
    """Who of those that wait, in the order of their coming, may begin now.

    At most `total` runs go on at once, and at most `each` of one owner; 0 is no limit. Who has had
    its share holds up nobody behind it.
    """
    entries = list(entries)
    busy = Counter(one.owner for one in entries if one.status == "running")
    free = max_total - busy.total() if max_total else len(entries)
    turn: list[QueueEntry] = []
    for one in entries:
        if one.status != "queued" or len(turn) >= free:
            continue
        if max_per_owner and busy[one.owner] >= max_per_owner:
            continue
        busy[one.owner] += 1
        turn.append(one)
    return turn


def queue_position(entries: Sequence[QueueEntry], run_id: str, max_per_owner: int) -> tuple[int, bool]:
    """How many wait in front of a run, and whether it is its owner's own runs that it waits for."""
    before: list[QueueEntry] = []
    for one in entries:
        if one.id == run_id:
            own = sum(other.owner == one.owner for other in entries if other.status == "running")
            if max_per_owner and own >= max_per_owner:
                before = [other for other in before if other.owner == one.owner]
                return len(before), True
            return len(before), False
        if one.status == "queued":
            before.append(one)
    return 0, False
