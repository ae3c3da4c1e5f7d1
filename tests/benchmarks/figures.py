"""A measured figure beside its target."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from research.core.settings import Settings


@dataclass(frozen=True, slots=True)
class Figure:
    """`measured` is better when it is low, unless `more` says that more is better."""

    name: str
    measured: float
    unit: str = ""
    target: float | None = None
    more: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured as a multiple of the target."""
        return self.measured / self.target if self.target else None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        good = self.measured >= self.target if self.more else self.measured <= self.target
        return "met" if good else "missed"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all values do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def processor(pid: int) -> float:
    """Milliseconds of processor time that a process has had, its own and the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


class Unreachable(ValueError):
    """A limit that is in force keeps a benchmark from what it measures."""


def at_once(runs: int, settings: Settings, *, calls: int = 0) -> Figure:
    """So many runs, and in its note the limits that hold them.

    `calls` is how many calls of models they have under way together.

    Raises:
        Unreachable: a limit would make some of them wait for others.
    """
    shown = dict(settings.display_values())
    wanted = {
        "SIGHTLINE_MAX_RUNS": runs,
        "SIGHTLINE_MAX_RUNS_EACH": runs,
        "SIGHTLINE_MODEL_CONCURRENCY": calls,
        "SIGHTLINE_REQUESTS_PER_MINUTE": calls,
    }
    for name, number in wanted.items():
        limit = int(shown[name])
        if 0 < limit < number:
            raise Unreachable(
                f"{name} is {limit} and {number} are to go on at once: they would take"
                f" {math.ceil(number / limit)} turns, and no target could be reached"
            )
    limits = ", ".join(f"{name} {shown[name] if shown[name] != '0' else 'off'}" for name in wanted)
    return Figure("runs at once", runs, note=limits)


class Others:
    """How busy the machine is with something else while something is measured. The fake servers of
    a benchmark are that too. Needs Linux."""

    def __init__(self) -> None:
        self._since = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        """The time, and the seconds that all cores have worked for other processes."""
        fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
        user, nice, system, _, _, *interrupts = map(int, fields)
        busy = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), busy - time.process_time()

    def __str__(self) -> str:
        at, busy = (now - then for now, then in zip(self._now(), self._since, strict=True))
        return f"others took {busy / at:.1f} cores"


def machine() -> str:
    """The machine and what else it does: cores, Python, load average of the last minute."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    return f"{cores} cores, Python {platform.python_version()}, load average {load:.1f}"
