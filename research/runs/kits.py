"""What each person's runs work with: the kit of the process, or one with their own choices and keys.

A kit is made when it is first needed and replaced when what its owner has chosen changes. One that
nobody needs any more is closed on the loop, once the runs and calls that work with it are over.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from research.models.roles import parse, reporter
from research.records import Options
from research.runs.keys import Keys
from research.runs.kit import Kit
from research.runs.live import Means
from research.runs.loop import Loop
from research.runs.store import Store
from research.settings import CHOICES, SettingError, Settings, overlaid

log = logging.getLogger(__name__)

MOST = 64  # kits of people's own that are kept for when they come again
MODELS = ("QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL",
          "CHECK_MODEL")  # fmt: skip


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
        self._desk, self._runs, self.keys = kit, runs, keys
        self._base = self._lent(kit, ())
        self._owners: OrderedDict[str, tuple[Settings, _Lent]] = OrderedDict()
        self._retired: list[_Lent] = []
        self._lock = threading.RLock()

    @property
    def base(self) -> Settings:
        """The settings of those who have chosen nothing."""
        return self._desk.settings

    @property
    def store(self) -> Store:
        return self._desk.store

    @property
    def keyed(self) -> bool:
        """Whether keys of people can be used: not where the runs are worked on elsewhere."""
        return self.keys is not None and not self._desk.settings.runs_url

    def chosen(self, owner: str) -> dict[str, str]:
        """What an owner has chosen, by the name of the setting.

        Raises:
            StoreError: the store cannot be used.
        """
        known = self._desk.store.preferences(owner)
        return {n: v for n, v in known.items() if n in CHOICES and isinstance(v, str)}

    def brought(self, owner: str) -> dict[str, str]:
        """The keys that an owner has brought along."""
        return self.keys.of(owner) if self.keys and self.keyed else {}

    def settings(self, owner: str) -> Settings:
        """The settings for an owner. A choice that is not usable any more counts as none."""
        base, wanted = self._desk.settings, {**self.chosen(owner), **self.brought(owner)}
        if not wanted:
            return base
        try:
            return checked(base, wanted)
        except SettingError:
            pass
        kept: dict[str, str] = {}
        for name, value in wanted.items():
            try:
                checked(base, kept | {name: value})
            except SettingError as error:
                log.warning("what somebody has chosen is left out: %s", error)
            else:
                kept[name] = value
        return checked(base, kept)

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
        settings, keys = self.settings(owner), self.brought(owner)
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


def checked(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """The settings with these choices, all of which can be worked with.

    Raises:
        SettingError: one of them cannot.
    """
    made = overlaid(settings, choices)
    for name in MODELS:
        if choices.get(name, "").strip():
            parse(choices[name], name)
    reporter(made)
    return made
