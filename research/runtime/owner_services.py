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

from research.accounts.keys import KeyStore
from research.accounts.preferences import Preferences
from research.core.records import RunOptions
from research.core.settings import Settings
from research.runtime.active_run import RunResources
from research.runtime.event_loop import EventLoopThread
from research.runtime.services import Services

MAX_KEPT_SERVICES = 64  # kits of people's own that are kept for when they come again


@dataclass(eq=False)
class _ServicesEntry:
    """A kit, and how many calls are at work with it."""

    services: Services
    resources: RunResources
    active_calls: int = 0


class RunHost(Protocol):
    """Where runs are worked on in a process."""

    resources: RunResources
    loop: EventLoopThread

    def active_resources(self) -> list[RunResources]:
        """What the runs under way there work with."""


class OwnerServices:
    """The kits of a desk, by owner."""

    def __init__(self, default_services: Services, host: RunHost, keys: KeyStore | None = None) -> None:
        """Without `keys`, nobody's own are used."""
        self._default_services, self._host = default_services, host
        self.preferences = Preferences(default_services.settings, default_services.store, keys)
        self._default_entry = self._make_entry(default_services, ())
        self._entries: OrderedDict[str, tuple[Settings, _ServicesEntry]] = OrderedDict()
        self._retired: list[_ServicesEntry] = []
        self._lock = threading.RLock()

    def services(self, owner: str = "local") -> Services:
        """What an owner's runs work with."""
        return self._entry_for(owner).services

    def default_options(self, owner: str) -> RunOptions:
        """The limits of an owner's run that brings none."""
        return self.services(owner).default_options()

    def session_keys(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in the memory of this process alone."""
        return self.preferences.keys.session_keys(owner) if self.preferences.keys else {}

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes the keys that an owner has in the memory of another process for these here."""
        if self.preferences.keys and keys != self.session_keys(owner):
            self.preferences.keys.set_session_keys(owner, keys)
            self._entry_for(owner)  # the kit with the others is closed once nobody works with it

    @contextmanager
    def open_resources(self, owner: str) -> Iterator[RunResources]:
        """The means of an owner, kept open for so long."""
        with self.open_services(owner) as (_, resources):
            yield resources

    @contextmanager
    def open_services(self, owner: str) -> Iterator[tuple[Services, RunResources]]:
        """The kit of an owner with its means, kept open for so long."""
        with self._lock:
            lent = self._entry_for(owner)
            lent.active_calls += 1
        try:
            yield lent.services, lent.resources
        finally:
            with self._lock:
                lent.active_calls -= 1
            self._schedule_close()

    def close_unused(self) -> None:
        """A run is over; called on the loop."""
        self._close_retired()

    async def close_all(self) -> None:
        """Closes what lives on the loop of the runs, on it."""
        with self._lock:
            personal = [lent.services for _, lent in self._entries.values()]
            personal += [lent.services for lent in self._retired]
            self._entries.clear()
            self._retired.clear()
        for services in dict.fromkeys(personal):
            if services is not self._default_services:
                await services.close()
        await self._default_services.close()

    # Making and closing

    def _make_entry(self, services: Services, keys: tuple[str, ...]) -> _ServicesEntry:
        resources = self._host.resources.derive(
            services.settings, services.reasoner, services.sources, services.make_checker(),
            uses_models=services.models is not None, key_names=keys,
        )  # fmt: skip
        return _ServicesEntry(services, resources)

    def _entry_for(self, owner: str) -> _ServicesEntry:
        mine = self.preferences
        settings, keys = mine.settings_for(owner), mine.owner_keys(owner)
        with self._lock:
            known = self._entries.get(owner)
            if known and known[0] == settings:
                self._entries.move_to_end(owner)
                return known[1]
            if settings == self._default_services.settings:
                lent = self._default_entry
            else:
                services = Services(settings, self._default_services)
                lent = self._make_entry(services, services.required_keys(keys))
            self._entries[owner] = settings, lent
            out = [known[1]] if known else []
            while len(self._entries) > MAX_KEPT_SERVICES:
                out.append(self._entries.popitem(last=False)[1][1])
            self._retired += [one for one in out if one is not self._default_entry]
        self._schedule_close()
        return lent

    def _schedule_close(self) -> None:
        if self._retired:
            self._host.loop.call_soon(self._close_retired)

    def _close_retired(self) -> None:
        """Closes the kits that nobody works with any more."""
        if not self._retired:
            return
        at_work = {id(resources) for resources in self._host.active_resources()}
        with self._lock:
            free = [one for one in self._retired if not one.active_calls and id(one.resources) not in at_work]
            self._retired = [one for one in self._retired if one not in free]
        for one in free:
            self._host.loop.start_task(one.services.close())
