"""Usage estimates of runs, from their limits and from the usage of earlier runs.

Tokens are counted by stage with constants measured on this program's own prompts. The owner's
finished runs with the same models correct them: each quantity is multiplied by the ratio of the
real usage of those runs to their estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from research.agent.nodes.budget import count_worked_seconds
from research.core.events import Event, TaskFinished, UnknownEvent, UsageRecorded
from research.core.records import Run, RunEstimate, RunOptions, Stage, Usage
from research.core.settings import Role
from research.models.prices import AgentTaskPrice, agent_task_price, with_cost
from research.sources import registry

MAX_EARLIER_RUNS = 12  # earlier runs that are considered
QUERIES_PER_GROUNDED_SEARCH = 2  # queries that a model's own web search makes for one of ours

# Input and output tokens of one call, and additional input tokens per search.
_PLAN_TOKENS = (320, 100)
_SEARCH_TOKENS = (95, 80)
_SUMMARY_TOKENS = (450, 90)
_REFLECT_TOKENS, _REFLECT_TOKENS_PER_SEARCH = (700, 65), 100
_WRITE_TOKENS, _WRITE_TOKENS_PER_SEARCH = (600, 80), 170
_SECONDS_BY_STAGE: dict[Stage, float] = {"plan": 2.0, "search": 4.0, "reflect": 2.0, "write": 8.0}
_ROLE_BY_STAGE: dict[Stage, Role] = {
    "plan": "plan",
    "search": "search",
    "summarise": "search",
    "reflect": "reflect",
    "write": "write",
}
_UNKNOWN_AGENT_PRICE = AgentTaskPrice(usd=0, searches=1, input=0, output=0, seconds=0)  # for unknown agents
_RULES_SECONDS_PER_ROUND = 0.1  # seconds of a round without a model


@dataclass(frozen=True)
class ModelSetup:
    """The models by role, empty for rules only, and whether a model itself searches the web."""

    models: Mapping[Role, str]
    uses_grounding: bool = False
    agent: str = ""  # the agent that executes each web search as a task


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with its events about usage."""

    run: Run
    events: Sequence[Event]

    @property
    def usage(self) -> list[UsageRecorded]:
        return [event.data for event in self.events if isinstance(event.data, UsageRecorded)]

    @property
    def searches(self) -> int:
        """The number of searches, as the budget of the run counts them."""
        paid: dict[str, int] = {}
        for usage in self.usage:
            paid[usage.task] = paid.get(usage.task, 0) + usage.searches
        searches = [event.data for event in self.events if isinstance(event.data, TaskFinished)]
        counted = [search for search in searches if not search.reused and search.reason != "left out"]
        return sum(max(1, paid.get(search.task.id, 0)) for search in counted)


def estimate_run(
    options: RunOptions,
    setup: ModelSetup,
    earlier: Iterable[FinishedRun],
    day: date,
    *,
    tasks: int | None = None,
) -> RunEstimate:
    """Estimate the usage of a run.

    Args:
        options: the options of the run.
        setup: the models of the run.
        earlier: finished runs of the owner, newest first; those with the same models correct the
            estimate.
        day: the day whose prices apply.
        tasks: the number of searches in the first round, if known.
    """
    similar = [run for run in earlier if _is_comparable(run, setup)][:MAX_EARLIER_RUNS]
    guess = _estimate_by_constants(options, setup, day, tasks)
    guesses = [_estimate_by_constants(run.run.options, setup, day) for run in similar]
    costs = [_sum_cost(run.usage) for run in similar]
    cost = guess.cost
    if similar and cost is not None and None not in costs:
        cost = _scale(guess.cost, sum(c or 0 for c in costs), sum(g.cost or 0 for g in guesses))
    estimate = RunEstimate(
        searches=round(_scale(guess.searches, sum(e.searches for e in similar), sum(g.searches for g in guesses))),
        tokens=round(_scale(guess.tokens, sum(_sum_tokens(e.usage) for e in similar), sum(g.tokens for g in guesses))),
        cost=cost,
        seconds=_scale(
            guess.seconds, sum(count_worked_seconds(e.events) for e in similar), sum(g.seconds for g in guesses)
        ),
        runs=len(similar),
    )
    return _apply_limits(estimate, options)


def _is_comparable(finished: FinishedRun, setup: ModelSetup) -> bool:
    """Return whether a run used the same models and searched if its limits allow it.

    A run whose usage cannot be read is comparable to none.
    """
    if any(isinstance(event.data, UnknownEvent) for event in finished.events):
        return False
    used = {(u.stage, u.model) for u in finished.usage if u.input + u.output}
    expected = {(stage, setup.models[role]) for stage, role in _ROLE_BY_STAGE.items() if setup.models}
    expected |= {("search", setup.agent)} if setup.agent else set()
    return (
        not finished.run.based_on
        and bool(used) == bool(expected)
        and used <= expected
        and bool(finished.searches) == bool(finished.run.options.loops)
    )


def _scale(estimate: float | None, actual: float, estimated: float) -> float:
    """Correct an estimate by the ratio of actual to estimated usage of other runs."""
    return (estimate or 0.0) * actual / estimated if actual and estimated else estimate or 0.0


def _sum_tokens(usage: Iterable[Usage]) -> int:
    return sum(item.input + item.output for item in usage)


def _sum_cost(usage: Iterable[Usage]) -> float | None:
    """Return the total cost in US dollars, None if any part is unknown."""
    costs = [item.cost for item in usage]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _estimate_by_constants(options: RunOptions, setup: ModelSetup, day: date, tasks: int | None = None) -> RunEstimate:
    """Estimate from constants: the first round in full, plus one follow-up round if allowed."""
    # The map is searched for few questions only.
    text_sources = [name for name in options.sources if registry.get_source(name).query_type != "place"]
    text_sources = text_sources or list(options.sources)
    first_searches = options.queries * len(text_sources) if tasks is None else tasks
    follow_ups = len(text_sources) if options.loops > 1 else 0
    searches = first_searches + follow_ups if options.loops else 0
    web_searches = searches // len(text_sources) if "web" in text_sources else 0
    usage = list(_expected_usage(options, setup, first_searches, searches, web_searches)) if setup.models else []
    agent = agent_task_price(setup.agent) or _UNKNOWN_AGENT_PRICE
    if setup.agent and web_searches:
        usage.append(
            Usage(
                stage="search",
                model=setup.agent,
                calls=web_searches,
                input=agent.input * web_searches,
                output=agent.output * web_searches,
            )
        )
    priced = [with_cost(item, day) for item in usage]
    stages: list[Stage] = ["plan", "search", "write"]
    if follow_ups:
        stages += ["reflect", "search"]
    seconds = (
        sum(_SECONDS_BY_STAGE[stage] for stage in stages) if setup.models else _RULES_SECONDS_PER_ROUND * options.loops
    )
    extra_searches = (QUERIES_PER_GROUNDED_SEARCH - 1) * web_searches * setup.uses_grounding
    if setup.agent and web_searches:
        extra_searches = (agent.searches - 1) * web_searches
        seconds += agent.seconds * stages.count("search")
    return RunEstimate(
        searches=searches + extra_searches,
        tokens=_sum_tokens(priced),
        cost=_sum_cost(priced),
        seconds=seconds if options.loops else _SECONDS_BY_STAGE["write"] * bool(setup.models),
    )


def estimate_table(options: RunOptions, setup: ModelSetup, searches: int, rows: int, day: date) -> RunEstimate:
    """Estimate the maximum usage of a table: all searches, their results read once for each row.

    `searches` and `rows` are the numbers of the table; `day` is the day whose prices apply.
    """
    web_searches = searches if "web" in options.sources else 0
    usage = []
    if setup.models:
        if web_searches and not setup.agent:
            stage, size = ("search", _SEARCH_TOKENS) if setup.uses_grounding else ("summarise", _SUMMARY_TOKENS)
            usage.append(_call_usage(setup, "search", stage, size, calls=web_searches))  # type: ignore[arg-type]
        extra_input = _WRITE_TOKENS_PER_SEARCH * searches // max(1, rows)
        usage.append(_call_usage(setup, "write", "write", _WRITE_TOKENS, extra_input, rows))
    priced = [with_cost(item, day) for item in usage]
    extra_searches = (QUERIES_PER_GROUNDED_SEARCH - 1) * web_searches * setup.uses_grounding
    seconds = (
        _SECONDS_BY_STAGE["search"] + _SECONDS_BY_STAGE["write"] if setup.models else _RULES_SECONDS_PER_ROUND * rows
    )
    estimate = RunEstimate(
        searches=searches + extra_searches, tokens=_sum_tokens(priced), cost=_sum_cost(priced), seconds=seconds
    )
    return _apply_limits(estimate, options)


def _expected_usage(
    options: RunOptions, setup: ModelSetup, first_round_searches: int, searches: int, web_searches: int
) -> Iterable[Usage]:
    """Yield the model calls that a run is likely to make."""

    call = partial(_call_usage, setup)
    if options.loops:
        yield call("plan", "plan", _PLAN_TOKENS)
    if web_searches and not setup.agent:
        stage, size = ("search", _SEARCH_TOKENS) if setup.uses_grounding else ("summarise", _SUMMARY_TOKENS)
        yield call("search", stage, size, calls=web_searches)  # type: ignore[arg-type]
    for round_ in range(min(options.loops - 1, 2)):
        yield call(
            "reflect",
            "reflect",
            _REFLECT_TOKENS,
            _REFLECT_TOKENS_PER_SEARCH * (searches if round_ else first_round_searches),
        )
    yield call("write", "write", _WRITE_TOKENS, _WRITE_TOKENS_PER_SEARCH * searches)


def _call_usage(
    setup: ModelSetup,
    role: Role,
    stage: Stage,
    tokens: tuple[int, int],
    extra_input: int = 0,
    calls: int = 1,
) -> Usage:
    """Return the usage of calls with (input, output) tokens each, and additional input tokens."""
    return Usage(
        stage=stage,
        model=setup.models[role],
        calls=calls,
        input=(tokens[0] + extra_input) * calls,
        output=tokens[1] * calls,
        searches=QUERIES_PER_GROUNDED_SEARCH * calls if role == "search" and setup.uses_grounding else 0,
    )


def _apply_limits(estimate: RunEstimate, options: RunOptions) -> RunEstimate:
    """Cap an estimate at the limits of the run; a limit of 0 is none."""

    def cap(value: float, limit: float) -> float:
        return min(value, limit) if limit else value

    return estimate.model_copy(
        update={
            "searches": int(cap(estimate.searches, options.searches)),
            "tokens": int(cap(estimate.tokens, options.tokens)),
            "cost": None if estimate.cost is None else cap(estimate.cost, options.cost),
            "seconds": cap(estimate.seconds, options.seconds),
        }
    )
