"""Stretches of time that news is asked for: whether a date lies within, and the days that a model gives.

Times are UTC. Knows no clock: today is an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from research.news.dates import Moment, read


class Window(NamedTuple):
    """A stretch of time, its end not in it."""

    since: datetime
    until: datetime

    def misses(self, known: Moment | None) -> bool:
        """Whether what is known lies outside. The unknown does not; of a day any hour will do."""
        if known is None:
            return False
        length = timedelta(days=1) if known.day_only else timedelta(microseconds=1)
        return known.at + length <= self.since or known.at >= self.until


def days(start: date, end: date) -> Window:
    """The days from the first to the last, both in it."""
    return Window(
        datetime.combine(start, time(), UTC),
        datetime.combine(end, time(), UTC) + timedelta(days=1),
    )


def day(value: object) -> date | None:
    """A day as a model writes it; None if it is none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    found = read(value).moment
    return found.day if found else None


# A pair of dates that a model has given


@dataclass(frozen=True, slots=True)
class Period:
    """Two days, both included, the first not after the last; and what was put right."""

    start: date
    end: date
    swapped: bool = False
    clamped: bool = False


@dataclass(frozen=True, slots=True)
class NoPeriod:
    """Why a pair of dates cannot be used, in both languages."""

    zh: str
    en: str


def period(start: str | None, end: str | None, today: date) -> Period | NoPeriod:
    """The period that a pair of texts means, each of which must be YYYY-MM-DD.

    Dates in the wrong order are swapped; an end after today becomes today.
    """
    days: list[date] = []
    for text, zh, en in ((start, "开始日期", "start date"), (end, "结束日期", "end date")):
        said = (text or "").strip()
        if not said:
            return NoPeriod(f"没有{zh}", f"there is no {en}")
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", said):
            short = said if len(said) <= 40 else said[:39] + "…"
            return NoPeriod(
                f"{zh}“{short}”不是 YYYY-MM-DD 格式", f"the {en} {short!r} is not YYYY-MM-DD"
            )
        try:
            days.append(date.fromisoformat(said))
        except ValueError:
            return NoPeriod(
                f"{zh} {said} 不是真实存在的日期", f"the {en} {said} does not exist in the calendar"
            )
    first, last = min(days), max(days)
    if first > today:
        return NoPeriod(
            f"时间段 {first} 至 {last} 在今天（{today}）之后",
            f"the period from {first} to {last} lies after today, {today}",
        )
    return Period(first, min(last, today), swapped=days[0] > days[1], clamped=last > today)
