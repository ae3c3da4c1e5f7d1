"""Names of Gemini models that are shut down, answered by another model, or aliases of one.

From one dated table, `data/models.json`.
"""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from typing import Any

from research import data
from research.core.records import Record


class Route(Record):
    """From a day on, requests for a model are answered by another one, at that one's price."""

    day: date
    model: str


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(data.text("models.json"))
    return table


def as_of() -> date:
    """Return the day on which the names were looked up."""
    return date.fromisoformat(_table()["as_of"])


def shut_down() -> dict[str, str]:
    """Return the names that are shut down, each with the day as ISO 8601, "" if it is not known."""
    found: dict[str, str] = _table()["shut_down"]
    return found


@cache
def routes() -> dict[str, Route]:
    """Return the names whose requests go to another model."""
    routed = _table()["routed"].items()
    return {name: Route(day=entry["from"], model=entry["to"]) for name, entry in routed}


def aliases() -> dict[str, str]:
    """Return the names that stand for another one."""
    found: dict[str, str] = _table()["aliases"]
    return found


def resolve(name: str, day: date) -> str:
    """Return the name of the model that answers requests for `name` on a day."""
    name = aliases().get(name, name)
    route = routes().get(name)
    return route.model if route and day >= route.day else name


def describe(name: str) -> str:
    """Return a sentence on a name that is gone or going; "" for any other name."""
    if name in shut_down():
        when = f" on {shut_down()[name]}" if shut_down()[name] else ""
        return f"{name} was shut down{when}"
    if route := routes().get(name):
        return f"from {route.day} on {name} is answered by {route.model}, at that model's price"
    return ""
