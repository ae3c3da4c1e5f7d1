"""What each person's runs work with: the kit of the process, or one with their own choices and keys.

A kit is made when it is first needed and replaced when what its owner has chosen changes. One that
nobody needs any more is closed on the loop, once the runs and calls that work with it are over.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from research.account.keys import Keys
from research.account.preferences import Preferences
from research.records import Options
from research.runs.kit import Kit
from research.runs.live import Means
from research.runs.loop import Loop
from research.settings import Settings

MOST = 64  # kits of people's own that are kept for when they come again


@dataclass(eq=False)
class _Lent:
    """A kit, and how many calls are at work with it."""

    kit: Kit
    means: Means
    calls: int = 0


class House(Protocol):
    """Where runs are worked on in a process."""

    means: Means
    loop: Loop

    def at_work(self) -> list[Means]:
        """What the runs under way there work with."""


class Kits:
    """The kits of a desk, by owner."""

    def __init__(self, kit: Kit, runs: House, keys: Keys | None = None) -> None:
        """Without `keys`, nobody's own are used."""
        self._desk, self._runs = kit, runs
        self.preferences = Preferences(kit.settings, kit.store, keys)
        self._base = self._lent(kit, ())
        self._owners: OrderedDict[str, tuple[Settings, _Lent]] = OrderedDict()
        self._retired: list[_Lent] = []
        self._lock = threading.RLock()

    def kit(self, owner: str = "local") -> Kit:
        """What an owner's runs work with."""
        return self._of(owner).kit

    def usual(self, owner: str) -> Options:
        """The limits of an owner's run that brings none."""
        return self.kit(owner).usual()

    @contextmanager
    def using(self, owner: str) -> Iterator[Means]:
        """The means of an owner, kept open for so long."""
        with self.open(owner) as (_, means):
            yield means

    @contextmanager
    def open(self, owner: str) -> Iterator[tuple[Kit, Means]]:
        """The kit of an owner with its means, kept open for so long."""
        with self._lock:
            lent = self._of(owner)
            lent.calls += 1
        try:
            yield lent.kit, lent.means
        finally:
            with self._lock:
                lent.calls -= 1
            self._soon()

    def released(self) -> None:
        """A run is over; called on the loop."""
        self._sweep()

    async def closing(self) -> None:
        """Closes what lives on the loop of the runs, on it."""
        with self._lock:
            kits = [lent.kit for _, lent in self._owners.values()]
            kits += [lent.kit for lent in self._retired]
            self._owners.clear()
            self._retired.clear()
        for kit in dict.fromkeys(kits):
            if kit is not self._desk:
                await kit.closing()
        await self._desk.closing()

    # Making and closing

    def _lent(self, kit: Kit, keys: tuple[str, ...]) -> _Lent:
        means = self._runs.means.lent(
            kit.settings, kit.reasoner, kit.sources, kit.checker(),
            asks=kit.models is not None, keys=keys,
        )  # fmt: skip
        return _Lent(kit, means)

    def _of(self, owner: str) -> _Lent:
        mine = self.preferences
        settings, keys = mine.settings(owner), mine.brought(owner)
        with self._lock:
            known = self._owners.get(owner)
            if known and known[0] == settings:
                self._owners.move_to_end(owner)
                return known[1]
            if settings == self._desk.settings:
                lent = self._base
            else:
                kit = Kit(settings, self._desk)
                lent = self._lent(kit, kit.borrowed(keys))
            self._owners[owner] = settings, lent
            out = [known[1]] if known else []
            while len(self._owners) > MOST:
                out.append(self._owners.popitem(last=False)[1][1])
            self._retired += [one for one in out if one is not self._base]
        self._soon()
        return lent

    def _soon(self) -> None:
        if self._retired:
            self._runs.loop.soon(self._sweep)

    def _sweep(self) -> None:
        """Closes the kits that nobody works with any more."""
        if not self._retired:
            return
        at_work = {id(means) for means in self._runs.at_work()}
        with self._lock:
            free = [one for one in self._retired if not one.calls and id(one.means) not in at_work]
            self._retired = [one for one in self._retired if one not in free]
        for one in free:
            self._runs.loop.keep(one.kit.closing())
