"""Usage of an owner's runs by day, stage and model, read from usage events without loading runs."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, tzinfo
from operator import add
from typing import get_args

from pydantic_core import from_json
from sqlalchemy import bindparam, literal_column, select

from research.core.records import Record, Stage
from research.storage.statements import RUN_OF_OWNER
from research.storage.store import Store
from research.storage.tables import event, run

log = logging.getLogger(__name__)

_LIST_USAGE = (
    select(event.c.time, event.c.data)
    .join(run, run.c.id == event.c.run)
    .where(
        RUN_OF_OWNER,
        event.c.kind == literal_column("'usage'"),
        event.c.time >= bindparam("since"),
    )
)
_STAGES = get_args(Stage)
_COUNT_DEFAULTS = {"calls": 1, "input": 0, "output": 0, "searches": 0}


class DayUsage(Record):
    """The usage of one model in one stage on one day.

    `cost` is an estimate in US dollars for the calls with a known price; `unpriced` counts the
    others, `estimated` the calls whose tokens the server did not count.
    """

    day: date
    stage: Stage
    model: str
    calls: int = 0
    input: int = 0
    output: int = 0
    searches: int = 0
    cost: float = 0.0
    unpriced: int = 0
    estimated: int = 0


_USAGE_FIELDS = tuple(DayUsage.model_fields)


def usage_by_day(store: Store, owner: str, since: datetime, time_zone: tzinfo = UTC) -> list[DayUsage]:
    """Return the usage by day of a time zone, earliest first, without days of no usage."""
    # By minute, stage and model: in every time zone a day begins with a full minute.
    sums: dict[tuple[str, object, object], list[float]] = {}
    rows = store.database.read(_LIST_USAGE, owner=owner, since=since.astimezone(UTC).isoformat())
    for time, data in rows:
        try:
            used = from_json(data)
            key = time[:16], used["stage"], used["model"]
            counts = [used.get(name, default) + 0 for name, default in _COUNT_DEFAULTS.items()]
            cost = used.get("cost")
            counts += [0, counts[0]] if cost is None else [cost + 0, 0]
            counts.append(counts[0] if used.get("estimated") else 0)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            log.warning("a row of the store cannot be read: %s", type(error).__name__)
            continue
        sum_so_far = sums.get(key)
        sums[key] = counts if sum_so_far is None else [*map(add, sum_so_far, counts)]
    days: dict[tuple[date, str, str], list[float]] = {}
    for (minute, stage, model), counts in sums.items():
        if stage not in _STAGES:  # written by another version
            continue
        day = datetime.fromisoformat(minute).replace(tzinfo=UTC).astimezone(time_zone).date()
        day_key = day, str(stage), str(model)
        days[day_key] = [*map(add, days[day_key], counts)] if day_key in days else counts
    return [
        DayUsage.model_validate(dict(zip(_USAGE_FIELDS, (*key, *counts), strict=True)))
        for key, counts in sorted(days.items())
    ]
