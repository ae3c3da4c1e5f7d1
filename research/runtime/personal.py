"""What each person's runs work with: the kit of the process, or one with their own choices and keys.

A kit is made when it is first needed and replaced when what its owner has chosen changes. One that
nobody needs any more is closed on the loop, once the runs and calls that work with it are over.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from research.accounts.keys import Keys
from research.accounts.preferences import Preferences
from research.core.records import Options
from research.core.settings import Settings
from research.runtime.live import Resources
from research.runtime.loop import Loop
from research.runtime.services import Services

MOST = 64  # kits of people's own that are kept for when they come again


@dataclass(eq=False)
class _Lent:
    """A kit, and how many calls are at work with it."""

    services: Services
    resources: Resources
    calls: int = 0


class House(Protocol):
    """Where runs are worked on in a process."""

    resources: Resources
    loop: Loop

    def at_work(self) -> list[Resources]:
        """What the runs under way there work with."""


class PersonalServices:
    """The kits of a desk, by owner."""

    def __init__(self, services: Services, runs: House, keys: Keys | None = None) -> None:
        """Without `keys`, nobody's own are used."""
        self._desk, self._runs = services, runs
        self.preferences = Preferences(services.settings, services.store, keys)
        self._base = self._lent(services, ())
        self._owners: OrderedDict[str, tuple[Settings, _Lent]] = OrderedDict()
        self._retired: list[_Lent] = []
        self._lock = threading.RLock()

    def services(self, owner: str = "local") -> Services:
        """What an owner's runs work with."""
        return self._of(owner).services

    def usual(self, owner: str) -> Options:
        """The limits of an owner's run that brings none."""
        return self.services(owner).usual()

    def session(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in the memory of this process alone."""
        return self.preferences.keys.session(owner) if self.preferences.keys else {}

    def hold(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys that an owner has in the memory of another process for these here."""
        if self.preferences.keys and keys != self.session(owner):
            self.preferences.keys.hold(owner, keys)
            self._of(owner)  # the kit with the others is closed once nobody works with it

    @contextmanager
    def using(self, owner: str) -> Iterator[Resources]:
        """The means of an owner, kept open for so long."""
        with self.open(owner) as (_, resources):
            yield resources

    @contextmanager
    def open(self, owner: str) -> Iterator[tuple[Services, Resources]]:
        """The kit of an owner with its means, kept open for so long."""
        with self._lock:
            lent = self._of(owner)
            lent.calls += 1
        try:
            yield lent.services, lent.resources
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
            personal = [lent.services for _, lent in self._owners.values()]
            personal += [lent.services for lent in self._retired]
            self._owners.clear()
            self._retired.clear()
        for services in dict.fromkeys(personal):
            if services is not self._desk:
                await services.closing()
        await self._desk.closing()

    # Making and closing

    def _lent(self, services: Services, keys: tuple[str, ...]) -> _Lent:
        resources = self._runs.resources.lent(
            services.settings, services.reasoner, services.sources, services.checker(),
            asks=services.models is not None, keys=keys,
        )  # fmt: skip
        return _Lent(services, resources)

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
                services = Services(settings, self._desk)
                lent = self._lent(services, services.borrowed(keys))
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
        at_work = {id(resources) for resources in self._runs.at_work()}
        with self._lock:
            free = [
                one for one in self._retired if not one.calls and id(one.resources) not in at_work
            ]
            self._retired = [one for one in self._retired if one not in free]
        for one in free:
            self._runs.loop.keep(one.services.closing())
