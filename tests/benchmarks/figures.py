"""A measured figure beside its target."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


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
