"""What a run will use, told before it starts: from its limits, and from what earlier ones came to.

Tokens are counted by stage, with constants that were measured on this program's own prompts. They
know nothing of a model's habits, so what the owner's finished runs with the same models really used
corrects them: each quantity by the same factor by which those runs differed from their estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from research.agent.nodes.budget import count_worked_seconds
from research.core.records import Event, Run, RunEstimate, RunOptions, Stage, Usage
from research.core.settings import Role
from research.models.prices import AgentTaskPrice, add_cost, agent_task_price
from research.sources import registry

MAX_EARLIER_RUNS = 12  # runs that are looked at
QUERIES_PER_GROUNDED_SEARCH = 2  # queries that a model's own search asks for one of ours

# Tokens in and out of one call; of reading what was found, for each search.
_PLAN_TOKENS = (320, 100)
_SEARCH_TOKENS = (95, 80)
_SUMMARY_TOKENS = (450, 90)
_REFLECT_TOKENS, _REFLECT_TOKENS_PER_SEARCH = (700, 65), 100
_WRITE_TOKENS, _WRITE_TOKENS_PER_SEARCH = (600, 80), 170
_SECONDS_BY_STAGE: dict[Stage, float] = {"plan": 2.0, "search": 4.0, "reflect": 2.0, "write": 8.0}
_ROLE_BY_STAGE: dict[Stage, Role] = {
    "plan": "plan", "search": "search", "summarise": "search", "reflect": "reflect", "write": "write",
}  # fmt: skip
_UNKNOWN_AGENT_PRICE = AgentTaskPrice(usd=0, searches=1, input=0, output=0, seconds=0)  # of an agent
_RULES_SECONDS_PER_ROUND = 0.1  # seconds of a round without a model


@dataclass(frozen=True)
class ModelSetup:
    """Who works: the models by role, none for rules alone; and whether a model itself searches."""

    models: Mapping[Role, str]
    uses_grounding: bool = False
    agent: str = ""  # that does a task for each search of the web


@dataclass(frozen=True)
class FinishedRun:
    """A finished run and its events of what it used."""

    run: Run
    events: Sequence[Event]

    @property
    def usage(self) -> list[Usage]:
        return [Usage.model_validate(e.data) for e in self.events if e.kind == "usage"]

    @property
    def searches(self) -> int:
        """As the account of the run counts them."""
        paid: dict[str, int] = {}
        for usage in self.usage:
            paid[usage.task] = paid.get(usage.task, 0) + usage.searches
        made = [e.data for e in self.events if e.kind == "found" and not e.data["reused"]]
        return sum(max(1, paid.get(d["task"]["id"], 0)) for d in made if d["reason"] != "left out")


def estimate_run(
    options: RunOptions,
    setup: ModelSetup,
    earlier: Iterable[FinishedRun],
    day: date,
    *,
    tasks: int | None = None,
) -> RunEstimate:
    """What a run of these limits will use. `tasks` are the searches of its first round, if known."""
    alike = [item for item in earlier if _is_comparable(item, setup)][:MAX_EARLIER_RUNS]
    guess = _estimate_by_constants(options, setup, day, tasks)
    guesses = [_estimate_by_constants(item.run.options, setup, day) for item in alike]
    costs = [_sum_cost(item.usage) for item in alike]
    cost = guess.cost
    if alike and cost is not None and None not in costs:
        cost = _scale(guess.cost, sum(c or 0 for c in costs), sum(g.cost or 0 for g in guesses))
    made = RunEstimate(
        searches=round(_scale(guess.searches, sum(e.searches for e in alike), sum(g.searches for g in guesses))),
        tokens=round(_scale(guess.tokens, sum(_sum_tokens(e.usage) for e in alike), sum(g.tokens for g in guesses))),
        cost=cost,
        seconds=_scale(
            guess.seconds, sum(count_worked_seconds(e.events) for e in alike), sum(g.seconds for g in guesses)
        ),
        runs=len(alike),
    )
    return _apply_limits(made, options)


def _is_comparable(finished: FinishedRun, setup: ModelSetup) -> bool:
    """Whether the same models made a run, and it did searches of its own if it might. One whose
    account cannot be read is like no other."""
    try:
        used = {(u.stage, u.model) for u in finished.usage if u.input + u.output}
        searches = finished.searches
    except (KeyError, TypeError, ValueError):
        return False
    known = {(stage, setup.models[role]) for stage, role in _ROLE_BY_STAGE.items() if setup.models}
    known |= {("search", setup.agent)} if setup.agent else set()
    return (
        not finished.run.based_on
        and bool(used) == bool(known)
        and used <= known
        and bool(searches) == bool(finished.run.options.loops)
    )


def _scale(estimate: float | None, actual: float, estimated: float) -> float:
    """A guess, corrected by how far others were off."""
    return (estimate or 0.0) * actual / estimated if actual and estimated else estimate or 0.0


def _sum_tokens(usage: Iterable[Usage]) -> int:
    return sum(item.input + item.output for item in usage)


def _sum_cost(usage: Iterable[Usage]) -> float | None:
    """The money, None if any of it is unknown."""
    costs = [item.cost for item in usage]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _estimate_by_constants(options: RunOptions, setup: ModelSetup, day: date, tasks: int | None = None) -> RunEstimate:
    """By constants alone: the first round in full, and as a rule one that follows it up."""
    # A map is asked for few questions only.
    texts = [name for name in options.sources if registry.get_source(name).query_type != "place"]
    texts = texts or list(options.sources)
    first = options.queries * len(texts) if tasks is None else tasks
    follow_ups = len(texts) if options.loops > 1 else 0
    n = first + follow_ups if options.loops else 0
    web = n // len(texts) if "web" in texts else 0
    usage = list(_expected_usage(options, setup, first, n, web)) if setup.models else []
    agent = agent_task_price(setup.agent) or _UNKNOWN_AGENT_PRICE
    if setup.agent and web:
        usage.append(
            Usage(
                stage="search",
                model=setup.agent,
                calls=web,
                input=agent.input * web,
                output=agent.output * web,
            )
        )
    calls = [add_cost(item, day) for item in usage]
    stages: list[Stage] = ["plan", "search", "write"]
    if follow_ups:
        stages += ["reflect", "search"]
    seconds = (
        sum(_SECONDS_BY_STAGE[stage] for stage in stages) if setup.models else _RULES_SECONDS_PER_ROUND * options.loops
    )
    more = (QUERIES_PER_GROUNDED_SEARCH - 1) * web * setup.uses_grounding
    if setup.agent and web:
        more = (agent.searches - 1) * web
        seconds += agent.seconds * stages.count("search")
    return RunEstimate(
        searches=n + more,
        tokens=_sum_tokens(calls),
        cost=_sum_cost(calls),
        seconds=seconds if options.loops else _SECONDS_BY_STAGE["write"] * bool(setup.models),
    )


def estimate_table(options: RunOptions, setup: ModelSetup, searches: int, rows: int, day: date) -> RunEstimate:
    """At most what a table uses: so many searches, and what they find is read once for each row."""
    web = searches if "web" in options.sources else 0
    usage = []
    if setup.models:
        if web and not setup.agent:
            stage, size = ("search", _SEARCH_TOKENS) if setup.uses_grounding else ("summarise", _SUMMARY_TOKENS)
            usage.append(_call_usage(setup, "search", stage, size, times=web))  # type: ignore[arg-type]
        each = _WRITE_TOKENS_PER_SEARCH * searches // max(1, rows)
        usage.append(_call_usage(setup, "write", "write", _WRITE_TOKENS, each, rows))
    calls = [add_cost(item, day) for item in usage]
    more = (QUERIES_PER_GROUNDED_SEARCH - 1) * web * setup.uses_grounding
    seconds = (
        _SECONDS_BY_STAGE["search"] + _SECONDS_BY_STAGE["write"] if setup.models else _RULES_SECONDS_PER_ROUND * rows
    )
    made = RunEstimate(searches=searches + more, tokens=_sum_tokens(calls), cost=_sum_cost(calls), seconds=seconds)
    return _apply_limits(made, options)


def _expected_usage(
    options: RunOptions, setup: ModelSetup, first_round_searches: int, searches: int, web_searches: int
) -> Iterable[Usage]:
    """The calls of models that a run is likely to make."""

    call = partial(_call_usage, setup)
    if options.loops:
        yield call("plan", "plan", _PLAN_TOKENS)
    if web_searches and not setup.agent:
        stage, size = ("search", _SEARCH_TOKENS) if setup.uses_grounding else ("summarise", _SUMMARY_TOKENS)
        yield call("search", stage, size, times=web_searches)  # type: ignore[arg-type]
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
    times: int = 1,
) -> Usage:
    return Usage(
        stage=stage,
        model=setup.models[role],
        calls=times,
        input=(tokens[0] + extra_input) * times,
        output=tokens[1] * times,
        searches=QUERIES_PER_GROUNDED_SEARCH * times if role == "search" and setup.uses_grounding else 0,
    )


def _apply_limits(estimate: RunEstimate, options: RunOptions) -> RunEstimate:
    """No more than the limits of the run allow."""

    def least(value: float, limit: float) -> float:
        return min(value, limit) if limit else value

    return estimate.model_copy(
        update={
            "searches": int(least(estimate.searches, options.searches)),
            "tokens": int(least(estimate.tokens, options.tokens)),
            "cost": None if estimate.cost is None else least(estimate.cost, options.cost),
            "seconds": least(estimate.seconds, options.seconds),
        }
    )
