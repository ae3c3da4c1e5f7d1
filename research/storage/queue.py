"""Whose turn it is, where only so many runs may go on at once. Knows no store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Waiting(NamedTuple):
    """A run that is under way or waits to be, as the store knows it."""

    id: str
    owner: str
    status: str
    engine: str


def admitted(line: Iterable[Waiting], total: int, each: int) -> list[Waiting]:
    """Who of those that wait, in the order of their coming, may begin now.

    At most `total` runs go on at once, and at most `each` of one owner; 0 is no limit. Who has had
    its share holds up nobody behind it.
    """
    line = list(line)
    busy = Counter(one.owner for one in line if one.status == "running")
    free = total - busy.total() if total else len(line)
    turn: list[Waiting] = []
    for one in line:
        if one.status != "queued" or len(turn) >= free:
            continue
        if each and busy[one.owner] >= each:
            continue
        busy[one.owner] += 1
        turn.append(one)
    return turn


def ahead(line: Sequence[Waiting], run_id: str, each: int) -> tuple[int, bool]:
    """How many wait in front of a run, and whether it is its owner's own runs that it waits for."""
    before: list[Waiting] = []
    for one in line:
        if one.id == run_id:
            own = sum(other.owner == one.owner for other in line if other.status == "running")
            if each and own >= each:
                before = [other for other in before if other.owner == one.owner]
                return len(before), True
            return len(before), False
        if one.status == "queued":
            before.append(one)
    return 0, False
