"""What usage is estimated to cost, worked out by hand from the prices per million tokens."""

from __future__ import annotations

import json
from datetime import date, timedelta
from importlib.resources import files
from typing import Any

import pytest

from research.core.records import Usage
from research.models.prices import prices_as_of, with_cost
from research.models.roles import DEFAULT_MODELS
from tests.tables import each_row

THEN = date(2026, 12, 31)  # the last day of the promotion
LATER = THEN + timedelta(days=1)
TABLE = json.loads(files("research").joinpath("data/prices.json").read_text(encoding="utf-8"))


def cost(model: str, day: date = THEN, /, **used: Any) -> float | None:
    return with_cost(Usage(stage="write", model=model, **used), day).cost


@pytest.mark.parametrize(("day", "dollars"), [(THEN, 0.75 + 3.75), (LATER, 1.5 + 7.5)])
def test_a_price_holds_until_its_day(day: date, dollars: float) -> None:
    used: dict[str, Any] = {"input": 1_000_000, "output": 1_000_000}
    assert cost("gemini:gemini-3.8-flash", day, **used) == pytest.approx(dollars)


def test_tokens_and_searches_add_up() -> None:
    used: dict[str, Any] = {"input": 10_000, "output": 2_000, "searches": 3}
    dollars = 0.01 * 0.75 + 0.002 * 3.75 + 3 * 0.014
    assert cost("gemini:gemini-3.8-flash", **used) == pytest.approx(dollars)


def test_cached_input_costs_less_where_that_price_is_known() -> None:
    used: dict[str, Any] = {"input": 1_000_000, "cached": 400_000}
    assert cost("gemini:gemini-3.8-flash", **used) == pytest.approx(0.6 * 0.75 + 0.4 * 0.075)
    assert cost("gemini:gemini-3.5-flash-lite", **used) == pytest.approx(0.3)


@pytest.mark.parametrize(("tokens", "into", "out"), [(200_000, 2, 12), (200_001, 4, 18)])
def test_a_long_prompt_has_prices_of_its_own(tokens: int, into: float, out: float) -> None:
    used: dict[str, Any] = {"input": tokens, "output": 1_000}
    dollars = (tokens * into + 1_000 * out) / 1_000_000
    assert cost("gemini:gemini-3.1-pro-preview", **used) == pytest.approx(dollars)


def test_an_alias_costs_what_it_stands_for() -> None:
    used: dict[str, Any] = {"input": 5_000, "output": 500}
    assert cost("gemini:gemini-flash-latest", **used) == cost("gemini:gemini-3.8-flash", **used)


@pytest.mark.parametrize(
    ("name", "successor"),
    [("gemini-3.5-flash", "gemini-3.6-flash"), ("gemini-3.7-flash", "gemini-3.8-flash")],
)
def test_a_model_that_another_answers_for_costs_what_that_one_costs(name: str, successor: str) -> None:
    used: dict[str, Any] = {"input": 5_000, "output": 500}
    routed = date(2026, 10, 8)
    assert cost(f"gemini:{name}", routed, **used) == cost(f"gemini:{successor}", routed, **used)
    before = TABLE["models"][f"gemini:{name}"][0]
    assert cost(f"gemini:{name}", routed - timedelta(days=1), **used) == pytest.approx(
        (5_000 * before["input"] + 500 * before["output"]) / 1_000_000
    )


def test_a_task_of_an_agent_costs_the_most_of_a_usual_one_whatever_it_used() -> None:
    agent = "gemini:deep-research-preview-04-2026"
    assert cost(agent, input=10, output=1, searches=2) == cost(agent, input=900_000) == 3.0
    assert cost("gemini:deep-research-max-preview-04-2026", calls=2) == 14.0
    assert cost("gemini:deep-research-9") is None


@each_row("model", ["gemini:gemini-9", "openai:gpt-fake", "ollama:qwen3:8b", ""])
def test_the_cost_of_a_model_without_a_price_is_unknown(model: str) -> None:
    assert cost(model, input=1_000, output=1_000, searches=1) is None


def test_every_default_model_has_a_price_on_every_day() -> None:
    for name in DEFAULT_MODELS.values():
        for day in (prices_as_of(), THEN, LATER, date(2030, 1, 1)):
            assert cost(f"gemini:{name}", day, input=1)


def test_periods_follow_each_other_and_the_last_has_no_end() -> None:
    for model, periods in TABLE["models"].items():
        ends = [period.get("until", "") for period in periods]
        assert ends[-1] == "", model
        assert ends[:-1] == sorted(ends[:-1]), model
        assert all(period["input"] < period["output"] for period in periods), model


def test_nothing_but_the_cost_is_changed() -> None:
    usage = Usage(stage="plan", model="gemini:gemini-3.8-flash", input=7, output=1)
    assert with_cost(usage, THEN).model_copy(update={"cost": None}) == usage
