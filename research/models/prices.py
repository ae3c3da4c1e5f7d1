"""What usage costs, as an estimate: prices from one dated file, unknown where it has none.

Cost in US dollars = (input - cached) * price of input + cached * price of cached input
+ output (with thinking) * price of output + searches * price of a search. Where the price of cached
input is not known it counts as input, so that the estimate is never too low for that reason. A task of
an agent costs the most that its maker says a usual one does, whatever its tokens.
"""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from typing import Any

from research import data
from research.core.records import Record, Usage
from research.models.lifecycle import resolve


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(data.text("prices.json"))
    return table


def prices_as_of() -> date:
    """The day on which the prices were looked up."""
    return date.fromisoformat(_table()["as_of"])


def priced(usage: Usage, day: date) -> Usage:
    """The usage with its estimated cost on a day; `cost` stays None for a model without a price."""
    if agent := task(usage.model):
        return usage.model_copy(update={"cost": agent.usd * usage.calls})
    price = _price(usage.model, day)
    if price is None:
        return usage
    long = usage.input > price.get("long_from", float("inf"))
    into = price["long_input"] if long else price["input"]
    out = price["long_output"] if long else price["output"]
    tokens = (
        (usage.input - usage.cached) * into
        + usage.cached * price.get("cached", into)
        + usage.output * out
    )
    searches = usage.searches * _table()["search_usd"]
    return usage.model_copy(update={"cost": tokens / _table()["per_tokens"] + searches})


class TaskPrice(Record):
    """What a usual task of an agent uses at most: US dollars, searches, tokens and seconds."""

    usd: float
    searches: int
    input: int
    output: int
    seconds: float


def task(agent: str) -> TaskPrice | None:
    """Of an agent's task ("gemini:deep-research-preview-04-2026"); None if that is not known."""
    found = _table()["tasks"].get(agent)
    return TaskPrice.model_validate(found) if isinstance(found, dict) else None


def _price(model: str, day: date) -> dict[str, Any] | None:
    """Return the price of the model that answers on a day: of several, the first that has not ended."""
    provider, _, name = model.partition(":")
    name = resolve(name, day) if provider == "gemini" else name
    periods = _table()["models"].get(f"{provider}:{name}", ())
    for period in periods:
        if "until" not in period or day <= date.fromisoformat(period["until"]):
            found: dict[str, Any] = period
            return found
    return None


def priced_names() -> list[str]:
    """Return the names of Gemini's models that have a price."""
    models = (model.partition(":") for model in _table()["models"])
    return [name for provider, _, name in models if provider == "gemini"]


class Price(Record):
    """US dollars for a million tokens that go in and that come out, and for a search. `until` is the
    last day on which they hold, if that is known."""

    input: float
    output: float
    search: float
    until: date | None = None


def price(model: str, day: date) -> Price | None:
    """What a model ("gemini:gemini-3.8-flash") costs on a day; None if that is not known."""
    found = _price(model, day)
    if found is None:
        return None
    per = 1_000_000 / _table()["per_tokens"]
    return Price(
        input=found["input"] * per,
        output=found["output"] * per,
        search=_table()["search_usd"],
        until=date.fromisoformat(found["until"]) if "until" in found else None,
    )
