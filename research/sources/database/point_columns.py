"""Coordinate columns of a result, and the points of its rows.

The columns are recognised by their names: longitude and latitude in one of the usual spellings,
with the coordinate system, which is WGS-84 unless the name says GCJ-02.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from research.core.coordinates import Point, from_gcj02

_LNG_NAME = re.compile(r"(?:.*_)?(?:lng|lon|long|longitude|经度)(?:_?(wgs_?84|gcj_?02))?")
_LAT_NAME = re.compile(r"(?:.*_)?(?:lat|latitude|纬度)(?:_?(wgs_?84|gcj_?02))?")


@dataclass(frozen=True, slots=True)
class PointColumns:
    """Indexes of the longitude and latitude columns of a result, and their coordinate system."""

    lng_index: int
    lat_index: int
    system: str  # "", wgs84, gcj02

    @classmethod
    def from_names(cls, names: Sequence[str]) -> PointColumns | None:
        """Find the coordinate columns among column names; of several pairs, prefer WGS-84."""
        lngs, lats = _columns_by_system(_LNG_NAME, names), _columns_by_system(_LAT_NAME, names)
        for system in ("wgs84", "", "gcj02"):
            if system in lngs and system in lats:
                return cls(lngs[system], lats[system], system)
        return None

    def read_point(self, row: Sequence[Any]) -> Point | None:
        """Return the point of a row in WGS-84 degrees; None if it has none, or one that is not on
        the Earth."""
        lng, lat = _finite_number(row[self.lng_index]), _finite_number(row[self.lat_index])
        if lng is None or lat is None or not (-180 <= lng <= 180 and -90 <= lat <= 90):
            return None
        point = Point(lng, lat)
        return from_gcj02(point) if self.system == "gcj02" else point


def _columns_by_system(pattern: re.Pattern[str], names: Sequence[str]) -> dict[str, int]:
    """Map each coordinate system to the first column with such a name."""
    columns: dict[str, int] = {}
    for index, name in enumerate(names):
        if match := pattern.fullmatch(name.lower()):
            columns.setdefault((match[1] or "").replace("_", ""), index)
    return columns


def _finite_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if isfinite(value) else None
