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
from research.models.lifecycle import resolve_name


@cache
def _load_table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(data.text("prices.json"))
    return table


def prices_as_of() -> date:
    """The day on which the prices were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def add_cost(usage: Usage, day: date) -> Usage:
    """The usage with its estimated cost on a day; `cost` stays None for a model without a price."""
    if agent := agent_task_price(usage.model):
        return usage.model_copy(update={"cost": agent.usd * usage.calls})
    price = _price_entry(usage.model, day)
    if price is None:
        return usage
    long = usage.input > price.get("long_from", float("inf"))
    into = price["long_input"] if long else price["input"]
    out = price["long_output"] if long else price["output"]
    tokens = (usage.input - usage.cached) * into + usage.cached * price.get("cached", into) + usage.output * out
    searches = usage.searches * _load_table()["search_usd"]
    return usage.model_copy(update={"cost": tokens / _load_table()["per_tokens"] + searches})


class AgentTaskPrice(Record):
    """What a usual task of an agent uses at most: US dollars, searches, tokens and seconds."""

    usd: float
    searches: int
    input: int
    output: int
    seconds: float


def agent_task_price(agent: str) -> AgentTaskPrice | None:
    """Of an agent's task ("gemini:deep-research-preview-04-2026"); None if that is not known."""
    found = _load_table()["tasks"].get(agent)
    return AgentTaskPrice.model_validate(found) if isinstance(found, dict) else None


def _price_entry(model: str, day: date) -> dict[str, Any] | None:
    """Return the price of the model that answers on a day: of several, the first that has not ended."""
    provider, _, name = model.partition(":")
    name = resolve_name(name, day) if provider == "gemini" else name
    periods = _load_table()["models"].get(f"{provider}:{name}", ())
    for period in periods:
        if "until" not in period or day <= date.fromisoformat(period["until"]):
            found: dict[str, Any] = period
            return found
    return None


def priced_names() -> list[str]:
    """Return the names of Gemini's models that have a price."""
    models = (model.partition(":") for model in _load_table()["models"])
    return [name for provider, _, name in models if provider == "gemini"]


class ModelPrice(Record):
    """US dollars for a million tokens that go in and that come out, and for a search. `until` is the
    last day on which they hold, if that is known."""

    input: float
    output: float
    search: float
    until: date | None = None


def model_price(model: str, day: date) -> ModelPrice | None:
    """What a model ("gemini:gemini-3.8-flash") costs on a day; None if that is not known."""
    found = _price_entry(model, day)
    if found is None:
        return None
    per = 1_000_000 / _load_table()["per_tokens"]
    return ModelPrice(
        input=found["input"] * per,
        output=found["output"] * per,
        search=_load_table()["search_usd"],
        until=date.fromisoformat(found["until"]) if "until" in found else None,
    )
