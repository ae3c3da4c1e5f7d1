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

from research.agent.nodes.budget import worked
from research.core.records import Estimate, Event, Options, Run, Stage, Usage
from research.core.settings import Role
from research.models.prices import TaskPrice, priced, task
from research.sources import registry

EARLIER = 12  # runs that are looked at
GROUNDED = 2  # queries that a model's own search asks for one of ours

# Tokens in and out of one call; of reading what was found, for each search.
_PLAN = (320, 100)
_SEARCH = (95, 80)
_SUMMARY = (450, 90)
_REFLECT, _REFLECT_EACH = (700, 65), 100
_WRITE, _WRITE_EACH = (600, 80), 170
_SECONDS: dict[Stage, float] = {"plan": 2.0, "search": 4.0, "reflect": 2.0, "write": 8.0}
_ROLES: dict[Stage, Role] = {
    "plan": "plan", "search": "search", "summarise": "search", "reflect": "reflect", "write": "write",
}  # fmt: skip
_UNKNOWN = TaskPrice(usd=0, searches=1, input=0, output=0, seconds=0)  # of an agent
_RULES = 0.1  # seconds of a round without a model


@dataclass(frozen=True)
class Averages:
    """Who works: the models by role, none for rules alone; and whether a model itself searches."""

    models: Mapping[Role, str]
    grounded: bool = False
    agent: str = ""  # that does a task for each search of the web


@dataclass(frozen=True)
class Earlier:
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


def estimate(
    options: Options,
    averages: Averages,
    earlier: Iterable[Earlier],
    day: date,
    *,
    tasks: int | None = None,
) -> Estimate:
    """What a run of these limits will use. `tasks` are the searches of its first round, if known."""
    alike = [item for item in earlier if _alike(item, averages)][:EARLIER]
    guess = _guess(options, averages, day, tasks)
    guesses = [_guess(item.run.options, averages, day) for item in alike]
    costs = [_cost(item.usage) for item in alike]
    cost = guess.cost
    if alike and cost is not None and None not in costs:
        cost = _scaled(guess.cost, sum(c or 0 for c in costs), sum(g.cost or 0 for g in guesses))
    made = Estimate(
        searches=round(
            _scaled(
                guess.searches, sum(e.searches for e in alike), sum(g.searches for g in guesses)
            )
        ),
        tokens=round(
            _scaled(
                guess.tokens, sum(_tokens(e.usage) for e in alike), sum(g.tokens for g in guesses)
            )
        ),
        cost=cost,
        seconds=_scaled(
            guess.seconds, sum(worked(e.events) for e in alike), sum(g.seconds for g in guesses)
        ),
        runs=len(alike),
    )
    return _capped(made, options)


def _alike(item: Earlier, averages: Averages) -> bool:
    """Whether the same models made a run, and it did searches of its own if it might. One whose
    account cannot be read is like no other."""
    try:
        used = {(u.stage, u.model) for u in item.usage if u.input + u.output}
        searches = item.searches
    except (KeyError, TypeError, ValueError):
        return False
    known = {(stage, averages.models[role]) for stage, role in _ROLES.items() if averages.models}
    known |= {("search", averages.agent)} if averages.agent else set()
    return (
        not item.run.based_on
        and bool(used) == bool(known)
        and used <= known
        and bool(searches) == bool(item.run.options.loops)
    )


def _scaled(guess: float | None, actual: float, guessed: float) -> float:
    """A guess, corrected by how far others were off."""
    return (guess or 0.0) * actual / guessed if actual and guessed else guess or 0.0


def _tokens(usage: Iterable[Usage]) -> int:
    return sum(item.input + item.output for item in usage)


def _cost(usage: Iterable[Usage]) -> float | None:
    """The money, None if any of it is unknown."""
    costs = [item.cost for item in usage]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _guess(options: Options, averages: Averages, day: date, tasks: int | None = None) -> Estimate:
    """By constants alone: the first round in full, and as a rule one that follows it up."""
    # A map is asked for few questions only.
    texts = [name for name in options.sources if registry.of(name).asked != "place"]
    texts = texts or list(options.sources)
    first = options.queries * len(texts) if tasks is None else tasks
    follow_ups = len(texts) if options.loops > 1 else 0
    n = first + follow_ups if options.loops else 0
    web = n // len(texts) if "web" in texts else 0
    usage = list(_calls(options, averages, first, n, web)) if averages.models else []
    agent = task(averages.agent) or _UNKNOWN
    if averages.agent and web:
        usage.append(
            Usage(
                stage="search",
                model=averages.agent,
                calls=web,
                input=agent.input * web,
                output=agent.output * web,
            )
        )
    calls = [priced(item, day) for item in usage]
    stages: list[Stage] = ["plan", "search", "write"]
    if follow_ups:
        stages += ["reflect", "search"]
    seconds = (
        sum(_SECONDS[stage] for stage in stages) if averages.models else _RULES * options.loops
    )
    more = (GROUNDED - 1) * web * averages.grounded
    if averages.agent and web:
        more = (agent.searches - 1) * web
        seconds += agent.seconds * stages.count("search")
    return Estimate(
        searches=n + more,
        tokens=_tokens(calls),
        cost=_cost(calls),
        seconds=seconds if options.loops else _SECONDS["write"] * bool(averages.models),
    )


def tabled(options: Options, averages: Averages, searches: int, rows: int, day: date) -> Estimate:
    """At most what a table uses: so many searches, and what they find is read once for each row."""
    web = searches if "web" in options.sources else 0
    usage = []
    if averages.models:
        if web and not averages.agent:
            stage, size = ("search", _SEARCH) if averages.grounded else ("summarise", _SUMMARY)
            usage.append(_used(averages, "search", stage, size, times=web))  # type: ignore[arg-type]
        each = _WRITE_EACH * searches // max(1, rows)
        usage.append(_used(averages, "write", "write", _WRITE, each, rows))
    calls = [priced(item, day) for item in usage]
    more = (GROUNDED - 1) * web * averages.grounded
    seconds = _SECONDS["search"] + _SECONDS["write"] if averages.models else _RULES * rows
    made = Estimate(
        searches=searches + more, tokens=_tokens(calls), cost=_cost(calls), seconds=seconds
    )
    return _capped(made, options)


def _calls(options: Options, averages: Averages, first: int, n: int, web: int) -> Iterable[Usage]:
    """The calls of models that a run is likely to make."""

    call = partial(_used, averages)
    if options.loops:
        yield call("plan", "plan", _PLAN)
    if web and not averages.agent:
        stage, size = ("search", _SEARCH) if averages.grounded else ("summarise", _SUMMARY)
        yield call("search", stage, size, times=web)  # type: ignore[arg-type]
    for round_ in range(min(options.loops - 1, 2)):
        yield call("reflect", "reflect", _REFLECT, _REFLECT_EACH * (n if round_ else first))
    yield call("write", "write", _WRITE, _WRITE_EACH * n)


def _used(
    averages: Averages,
    role: Role,
    stage: Stage,
    size: tuple[int, int],
    more: int = 0,
    times: int = 1,
) -> Usage:
    return Usage(
        stage=stage,
        model=averages.models[role],
        calls=times,
        input=(size[0] + more) * times,
        output=size[1] * times,
        searches=GROUNDED * times if role == "search" and averages.grounded else 0,
    )


def _capped(made: Estimate, options: Options) -> Estimate:
    """No more than the limits of the run allow."""

    def least(value: float, limit: float) -> float:
        return min(value, limit) if limit else value

    return made.model_copy(
        update={
            "searches": int(least(made.searches, options.searches)),
            "tokens": int(least(made.tokens, options.tokens)),
            "cost": None if made.cost is None else least(made.cost, options.cost),
            "seconds": least(made.seconds, options.seconds),
        }
    )
