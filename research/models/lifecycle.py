"""Gemini model names that are shut down, redirected to another model, or aliases.

Source: the dated table `data/models.json`.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

from research import data
from research.core.records import Record


class ModelRedirect(Record):
    """From `day` on, another model answers the requests for a model, at that model's price."""

    day: date
    model: str


def _load_table() -> dict[str, Any]:
    return data.json_object("models.json")


def names_as_of() -> date:
    """Return the day on which the names were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def shut_down_models() -> dict[str, str]:
    """Return the names that are shut down with the day in ISO 8601, "" if it is unknown."""
    names: dict[str, str] = _load_table()["shut_down"]
    return names


@cache
def model_redirects() -> dict[str, ModelRedirect]:
    """Return the names whose requests another model answers."""
    routed = _load_table()["routed"].items()
    return {name: ModelRedirect(day=entry["from"], model=entry["to"]) for name, entry in routed}


def model_aliases() -> dict[str, str]:
    """Return the aliases with the names they stand for."""
    aliases: dict[str, str] = _load_table()["aliases"]
    return aliases


def resolve_name(name: str, day: date) -> str:
    """Return the name of the model that answers requests for `name` on a day."""
    name = model_aliases().get(name, name)
    redirect = model_redirects().get(name)
    return redirect.model if redirect and day >= redirect.day else name


def describe_change(name: str) -> str:
    """Return a sentence about a name that is shut down or redirected; "" for any other name."""
    if name in shut_down_models():
        when = f" on {shut_down_models()[name]}" if shut_down_models()[name] else ""
        return f"{name} was shut down{when}"
    if redirect := model_redirects().get(name):
        return f"from {redirect.day} on {name} is answered by {redirect.model}, at that model's price"
    return ""
