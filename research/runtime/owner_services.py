"""Services of each owner: those of the process, or others with the owner's own choices and keys.

They are created when first needed and replaced when the owner's choices change. Services out of use
are closed on the loop once no run or call uses them any more.
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

MAX_CACHED_SERVICES = 64  # services of single owners


@dataclass(eq=False)
class _ServicesEntry:
    """Services with the number of calls that use them."""

    services: Services
    resources: RunResources
    active_calls: int = 0


class RunHost(Protocol):
    """The object that executes the runs of a process: its `RunManager` or `ServerWorker`."""

    resources: RunResources
    loop: EventLoopThread

    def active_resources(self) -> list[RunResources]:
        """Return the resources of the runs under way."""


class OwnerServices:
    """The services of an application, by owner."""

    def __init__(self, default_services: Services, host: RunHost, keys: KeyStore | None = None) -> None:
        """Start with the default services. Without `keys`, no owner's own keys are used."""
        self._default_services, self._host = default_services, host
        self.preferences = Preferences(default_services.settings, default_services.store, keys)
        self._default_entry = self._make_entry(default_services, ())
        self._entries: OrderedDict[str, tuple[Settings, _ServicesEntry]] = OrderedDict()
        self._retired: list[_ServicesEntry] = []
        self._lock = threading.RLock()

    def services(self, owner: str = "local") -> Services:
        """Return the services for the runs of an owner."""
        return self._entry_for(owner).services

    def default_options(self, owner: str) -> RunOptions:
        """Return the options for a run of an owner that specifies none."""
        return self.services(owner).default_options()

    def session_keys(self, owner: str) -> dict[str, str]:
        """Return the keys of an owner that are only in the memory of this process."""
        return self.preferences.keys.session_keys(owner) if self.preferences.keys else {}

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Set an owner's session keys to those in the memory of another process."""
        if self.preferences.keys and keys != self.session_keys(owner):
            self.preferences.keys.set_session_keys(owner, keys)
            self._entry_for(owner)  # schedules the services with the old keys to be closed once unused

    @contextmanager
    def open_resources(self, owner: str) -> Iterator[RunResources]:
        """Return the resources of an owner, kept open inside the context."""
        with self.open_services(owner) as (_, resources):
            yield resources

    @contextmanager
    def open_services(self, owner: str) -> Iterator[tuple[Services, RunResources]]:
        """Return the services and resources of an owner, kept open inside the context."""
        with self._lock:
            entry = self._entry_for(owner)
            entry.active_calls += 1
        try:
            yield entry.services, entry.resources
        finally:
            with self._lock:
                entry.active_calls -= 1
            self._schedule_close()

    def close_unused(self) -> None:
        """Close unused services after a run has ended. Called on the loop."""
        self._close_retired()

    async def close_all(self) -> None:
        """Close all services. Called on the loop of the runs, where their clients live."""
        with self._lock:
            cached = [entry.services for _, entry in self._entries.values()]
            cached += [entry.services for entry in self._retired]
            self._entries.clear()
            self._retired.clear()
        for services in dict.fromkeys(cached):
            if services is not self._default_services:
                await services.close()
        await self._default_services.close()

    # Creation and closing

    def _make_entry(self, services: Services, keys: tuple[str, ...]) -> _ServicesEntry:
        resources = self._host.resources.derive(
            services.settings,
            services.reasoner,
            services.sources,
            services.make_checker(),
            uses_models=services.models is not None,
            key_names=keys,
        )
        return _ServicesEntry(services, resources)

    def _entry_for(self, owner: str) -> _ServicesEntry:
        """Return the services of an owner, created anew if the owner's settings have changed."""
        preferences = self.preferences
        settings, keys = preferences.settings_for(owner), preferences.owner_keys(owner)
        with self._lock:
            cached = self._entries.get(owner)
            if cached and cached[0] == settings:
                self._entries.move_to_end(owner)
                return cached[1]
            if settings == self._default_services.settings:
                entry = self._default_entry
            else:
                services = Services(settings, self._default_services)
                entry = self._make_entry(services, services.required_keys(keys))
            self._entries[owner] = settings, entry
            retired = [cached[1]] if cached else []
            while len(self._entries) > MAX_CACHED_SERVICES:
                retired.append(self._entries.popitem(last=False)[1][1])
            self._retired += [unused for unused in retired if unused is not self._default_entry]
        self._schedule_close()
        return entry

    def _schedule_close(self) -> None:
        if self._retired:
            self._host.loop.call_soon(self._close_retired)

    def _close_retired(self) -> None:
        """Close the retired services that no run or call uses any more."""
        if not self._retired:
            return
        active_ids = {id(resources) for resources in self._host.active_resources()}
        with self._lock:
            unused = [
                entry for entry in self._retired if not entry.active_calls and id(entry.resources) not in active_ids
            ]
            self._retired = [entry for entry in self._retired if entry not in unused]
        for entry in unused:
            self._host.loop.start_task(entry.services.close())
