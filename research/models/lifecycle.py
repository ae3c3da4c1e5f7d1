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


class ModelRedirect(Record):
    """From a day on, requests for a model are answered by another one, at that one's price."""

    day: date
    model: str


@cache
def _load_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(data.text("models.json"))
    return table


def names_as_of() -> date:
    """Return the day on which the names were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def shut_down_models() -> dict[str, str]:
    """Return the names that are shut down, each with the day as ISO 8601, "" if it is not known."""
    found: dict[str, str] = _load_table()["shut_down"]
    return found


@cache
def model_redirects() -> dict[str, ModelRedirect]:
    """Return the names whose requests go to another model."""
    routed = _load_table()["routed"].items()
    return {name: ModelRedirect(day=entry["from"], model=entry["to"]) for name, entry in routed}


def model_aliases() -> dict[str, str]:
    """Return the names that stand for another one."""
    found: dict[str, str] = _load_table()["aliases"]
    return found


def resolve_name(name: str, day: date) -> str:
    """Return the name of the model that answers requests for `name` on a day."""
    name = model_aliases().get(name, name)
    route = model_redirects().get(name)
    return route.model if route and day >= route.day else name


def describe_change(name: str) -> str:
    """Return a sentence on a name that is gone or going; "" for any other name."""
    if name in shut_down_models():
        when = f" on {shut_down_models()[name]}" if shut_down_models()[name] else ""
        return f"{name} was shut down{when}"
    if route := model_redirects().get(name):
        return f"from {route.day} on {name} is answered by {route.model}, at that model's price"
    return ""
