"""Strips of a printed page: what is as wide as the page, has a height and is not parted.

A report becomes a column of strips, and the column becomes pages. A strip that has to stay with the
next says so; one that belongs to a table names the strips that are repeated above it on a new page.
Knows heights and breaks; what a strip draws is its own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Draw = Callable[[Any, float, float], None]  # canvas, its top, the gap that is left above it


class Heading(NamedTuple):
    """An entry of the outline and of the contents."""

    title: str
    level: int
    goal: str


class Strip(NamedTuple):
    height: float
    draw: Draw
    before: float = 0.0  # the gap above it, unless a page begins with it
    keeps: bool = False  # stays on one page with the next
    heads: tuple[Strip, ...] = ()  # drawn above it where a page begins with it
    heading: Heading | None = None


class Set(NamedTuple):
    """A strip on its page, `top` points above the foot."""

    strip: Strip
    top: float
    gap: float


def pages(strips: Iterable[Strip], height: float) -> list[list[Set]]:
    """Strips on pages of a height. What is to stay together does, if a page can hold it."""
    found: list[list[Set]] = [[]]
    room = height
    for group in _groups(strips):
        if found[-1] and _height(group) > room and _height(group) - group[0].before <= height:
            found.append([])
            room = height
        for strip in group:
            if found[-1] and strip.before + strip.height > room:
                found.append([])
                room = height
            if not found[-1]:
                for head in strip.heads:
                    found[-1].append(Set(head, room, 0.0))
                    room -= head.height
            gap = strip.before if found[-1] else 0.0
            found[-1].append(Set(strip, room - gap, gap))
            room -= gap + strip.height
    return found


def _groups(strips: Iterable[Strip]) -> Iterator[list[Strip]]:
    group: list[Strip] = []
    for strip in strips:
        group.append(strip)
        if not strip.keeps:
            yield group
            group = []
    if group:
        yield group


def _height(group: Sequence[Strip]) -> float:
    return sum(strip.before + strip.height for strip in group)


def columns(natural: Sequence[float], least: Sequence[float], width: float) -> list[float]:
    """The widths of a table's columns: as they like if there is room, else those that want much are
    as wide as each other, and none is narrower than its least."""
    if sum(natural) <= width:
        spare = width - sum(natural) if sum(natural) > 0.6 * width else 0.0
        return [want + spare * want / sum(natural) for want in natural]
    low, high = 0.0, max(natural)
    for _ in range(40):
        level = (low + high) / 2
        if sum(_up_to(level, natural, least)) > width:
            high = level
        else:
            low = level
    return _up_to(low, natural, least)


def _up_to(level: float, natural: Sequence[float], least: Sequence[float]) -> list[float]:
    return [max(few, min(want, level)) for want, few in zip(natural, least, strict=True)]


def bands(least: Sequence[float], width: float) -> list[list[int]]:
    """The columns of a table that is too wide, in bands that fit; each begins with the first."""
    found: list[list[int]] = [[0]]
    used = least[0] if least else 0.0
    for at in range(1, len(least)):
        if used + least[at] > width and len(found[-1]) > 1:
            found.append([0])
            used = least[0]
        found[-1].append(at)
        used += least[at]
    return found
