"""Cost estimates of usage by the prices of one dated file.

Cost in US dollars = (input - cached) * price of input + cached * price of cached input + output
(with thinking) * price of output + searches * price of a search. Without a price for cached input
it counts as input, so that the estimate is not too low. A task of an agent costs the maximum that
its maker states for a usual one, whatever its tokens.
"""

from __future__ import annotations

from datetime import date
from typing import Any, TypeVar

from research import data
from research.core.records import Record, Usage
from research.models.lifecycle import resolve_name

_UsageT = TypeVar("_UsageT", bound=Usage)


def _load_table() -> dict[str, Any]:
    return data.json_object("prices.json")


def prices_as_of() -> date:
    """Return the day on which the prices were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def with_cost(usage: _UsageT, day: date) -> _UsageT:
    """Return the usage with its estimated cost on a day; `cost` stays None without a price."""
    if agent := agent_task_price(usage.model):
        return usage.model_copy(update={"cost": agent.usd * usage.calls})
    price = _price_entry(usage.model, day)
    if price is None:
        return usage
    is_long = usage.input > price.get("long_from", float("inf"))
    input_price = price["long_input"] if is_long else price["input"]
    output_price = price["long_output"] if is_long else price["output"]
    tokens = (
        (usage.input - usage.cached) * input_price
        + usage.cached * price.get("cached", input_price)
        + usage.output * output_price
    )
    searches = usage.searches * _load_table()["search_usd"]
    return usage.model_copy(update={"cost": tokens / _load_table()["per_tokens"] + searches})


class AgentTaskPrice(Record):
    """Maximum usage of a usual agent task: US dollars, searches, tokens and seconds."""

    usd: float
    searches: int
    input: int
    output: int
    seconds: float


def agent_task_price(agent: str) -> AgentTaskPrice | None:
    """Return the price of an agent's task ("gemini:deep-research-preview-04-2026") or None."""
    entry = _load_table()["tasks"].get(agent)
    return AgentTaskPrice.model_validate(entry) if isinstance(entry, dict) else None


def _price_entry(model: str, day: date) -> dict[str, Any] | None:
    """Return the price entry of the model that answers on a day: the first not yet ended."""
    provider, _, name = model.partition(":")
    name = resolve_name(name, day) if provider == "gemini" else name
    periods = _load_table()["models"].get(f"{provider}:{name}", ())
    for period in periods:
        if "until" not in period or day <= date.fromisoformat(period["until"]):
            entry: dict[str, Any] = period
            return entry
    return None


def priced_names() -> list[str]:
    """Return the names of Gemini models with a price."""
    models = (model.partition(":") for model in _load_table()["models"])
    return [name for provider, _, name in models if provider == "gemini"]


class ModelPrice(Record):
    """US dollars per million input and output tokens, and per search. `until` is the last day of
    validity, if known."""

    input: float
    output: float
    search: float
    until: date | None = None


def model_price(model: str, day: date) -> ModelPrice | None:
    """Return the price of a model ("gemini:gemini-3.8-flash") on a day; None if unknown."""
    entry = _price_entry(model, day)
    if entry is None:
        return None
    factor = 1_000_000 / _load_table()["per_tokens"]
    return ModelPrice(
        input=entry["input"] * factor,
        output=entry["output"] * factor,
        search=_load_table()["search_usd"],
        until=date.fromisoformat(entry["until"]) if "until" in entry else None,
    )
