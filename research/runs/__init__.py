"""How a run lasts, and where everything is put together.

This is the composition root: it picks the reasoner and the sources. The functions here act on the
process's one engine, which starts with the first call. It is a plain module singleton on purpose:
a cache of the web framework could be emptied by any visitor, and the running questions with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from research import settings as _settings
from research.library.index import Library
from research.reasoners.digest import Digest
from research.records import Event, Options, Plan, Readiness, Report, Run
from research.runs.local import LocalRuns
from research.settings import Settings
from research.sources import Source
from research.sources.library import LibrarySource


class Desk:
    """Everything one data folder needs: its settings, its library and its runs."""

    def __init__(self, settings: Settings) -> None:
        """Raises StoreError if the data folder cannot be used."""
        self.settings = settings
        self.library = Library(settings.data_dir / "library.db")
        self.sources: dict[str, Source] = {
            source.name: source
            for source in (LibrarySource(self.library, settings.passages_per_search),)
        }
        self.runs = LocalRuns(settings, Digest(self.library), self.sources)

    def close(self) -> None:
        self.runs.close()
        self.library.close()


_lock = threading.Lock()
_desk: Desk | None = None


def desk(data_dir: Path | None = None) -> Desk:
    """The process's desk, opened with the environment's settings on first use.

    `data_dir`, given on first use, beats the environment.

    Raises:
        SettingError: a setting is not usable.
        StoreError: the data folder cannot be used. The next call tries again.
    """
    global _desk
    with _lock:
        if _desk is None:
            _desk = Desk(_settings.load(data_dir=data_dir))
        return _desk


def close() -> None:
    """Interrupts what is going on and releases the data folder."""
    global _desk
    with _lock:
        if _desk is not None:
            _desk.close()
            _desk = None


def start(
    question: str,
    *,
    options: Options | None = None,
    owner: str = "local",
    plan: Plan | None = None,
    based_on: str = "",
    run_id: str = "",
) -> Run:
    """Starts a run and returns at once. See `LocalRuns.start`."""
    return desk().runs.start(
        question, options=options, owner=owner, plan=plan, based_on=based_on, run_id=run_id
    )


def plan(question: str, *, options: Options | None = None) -> Plan:
    """The plan that a run of this question would begin with; nothing is searched."""
    return desk().runs.plan(question, options=options)


def follow(run_id: str, after: int = 0, *, owner: str = "local") -> Iterator[Event]:
    """The events of a run as they happen, from number `after` on, until it is over."""
    return desk().runs.follow(run_id, after, owner=owner)


def events(run_id: str, after: int = 0, *, owner: str = "local") -> Sequence[Event]:
    """The events of a run that are there now."""
    return desk().runs.events(run_id, after, owner=owner)


def stop(run_id: str, *, owner: str = "local") -> None:
    """Stops a run; what it has found is kept."""
    desk().runs.stop(run_id, owner=owner)


def resume(run_id: str, *, owner: str = "local") -> Run | None:
    """Goes on with a stopped, interrupted or failed run."""
    return desk().runs.resume(run_id, owner=owner)


def list(*, owner: str = "local", limit: int = 200) -> Sequence[Run]:
    """An owner's runs, newest first."""
    return desk().runs.list(owner=owner, limit=limit)


def get(run_id: str, *, owner: str = "local") -> Run | None:
    """A run by id."""
    return desk().runs.get(run_id, owner=owner)


def report(run_id: str, *, owner: str = "local") -> Report | None:
    """Everything a run has to show so far."""
    return desk().runs.report(run_id, owner=owner)


def readiness() -> dict[str, Readiness]:
    """What each source can do now, by name."""
    return {name: source.ready() for name, source in desk().sources.items()}
