"""The order of the stages, as a LangGraph graph: wiring only.

    generate_query -> (clarification) -> (approval) -> <source>_research (parallel) -> reflection -+-> finalize_answer
        |                                ^        |                             |     ^   ^
        |                                +--------|---- follow-ups -------------+     |   |
        |                                         +---- the last round ---------------+   |
        +---- a direct answer ------------------------------------------------------------+

Behind finalize_answer comes check_answer, if somebody is set to check answers.

A plan that is the outline of a report goes to `section` instead, once for each of its sections, side by
side; one that is a table goes to `row`, once for each of its rows. There is one node per source, all made by one loop. The state of a run starts empty and belongs to
that run alone; its limits and helpers come with the context and are not stored. Nodes and routers
are all `async`: a plain function would be sent to a thread, and many runs would wait for threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt
from typing_extensions import TypedDict  # of which a server makes JSON schemas on Python 3.11 too

from research.agent.nodes.answer import Unwritten, answered, compose
from research.agent.nodes.budget import Ended
from research.agent.nodes.check import checked
from research.agent.nodes.context import RunContext
from research.agent.nodes.coverage import Begin, Early, covered, read_ahead
from research.agent.nodes.plan import alone, make_plan, unplanned
from research.agent.nodes.question import understand
from research.agent.nodes.reflect import judge
from research.agent.nodes.search import look_up
from research.agent.nodes.section import work
from research.agent.nodes.table import fill_row
from research.core.errors import Trouble
from research.core.records import (
    Answer,
    Cell,
    Coverage,
    Draft,
    Finding,
    Plan,
    Question,
    Readiness,
    Reflection,
    Row,
    Say,
    Section,
    Task,
)
from research.core.tracing import traced
from research.sources.base import NOTES

RECURSION_LIMIT = 60  # supersteps: two a round, ten rounds at most, and room to spare


_T = TypeVar("_T")


def append(known: Sequence[_T], new: Sequence[_T] | None) -> list[_T]:
    """Add to a list of the state; None clears it."""
    return [] if new is None else [*known, *new]


class State(TypedDict, total=False):
    """What a run knows so far. `pending` holds the tasks of the round under way."""

    asked: str | None
    question: Question
    plan: Plan
    pending: list[Task]
    round: int
    rounds: int
    approved: bool
    unclear: bool
    findings: Annotated[list[Finding], append]
    sections: Annotated[list[Section], append]
    cells: Annotated[list[Cell], append]
    reflections: Annotated[list[Reflection], append]
    answer: Answer
    unchecked: bool


@dataclass(frozen=True)
class Context(RunContext):
    """What a run works with, and what its sections share."""

    under_way: dict[str, asyncio.Task[Finding]] = field(default_factory=dict)  # searches, by key
    early: Early = field(default_factory=Early)


class Chapter(TypedDict):
    """What the node of a section is sent."""

    question: Question
    plan: Plan
    part: str


class Line(TypedDict):
    """What the node of a row is sent."""

    question: Question
    plan: Plan
    row: Row


Run = Runtime[Context]
Node = Callable[..., Any]


def _voice(runtime: Run, task: str = "") -> Say:
    tell = runtime.context.tell

    def say(kind: str, /, **data: Any) -> None:
        tell(kind, {**data, "task": task} if kind == "usage" else data)

    return say


async def _plan(state: State, runtime: Run) -> dict[str, Any]:
    question = understand(state["asked"] or "").model_copy(
        update={"before": runtime.context.before}
    )
    _voice(runtime)("question", text=question.text, language=question.language)
    return await _begun(question, runtime)


async def _begun(question: Question, runtime: Run) -> dict[str, Any]:
    context, say = runtime.context, _voice(runtime)
    update: dict[str, Any] = {
        "question": question, "round": 1, "rounds": context.options.loops, "unclear": False,
    }  # fmt: skip
    plan = context.plan or await _planned(question, context, say)
    if isinstance(plan, Draft):
        answer = answered(question, plan, (), context.clock())
        return {**update, "answer": answer, "pending": []}
    say("plan", plan=plan.model_dump(mode="json"))
    if plan.unclear and context.clarified is None and context.plan is None:
        say("unclear", **plan.unclear.model_dump(mode="json"))
        update["unclear"] = True
    update["question"] = alone(question, plan)
    pending = list(plan.tasks) if context.options.loops else []
    ahead = bool(pending or plan.grid)
    approved = context.plan is not None or not (context.options.approve and ahead)
    return {**update, "plan": plan, "pending": pending, "approved": approved}


async def _clarify(state: State, runtime: Run) -> dict[str, Any]:
    """Pauses the run until what its plan asks back is answered or skipped: then it is planned anew
    with the answer, or goes on as it was planned."""
    context, unclear = runtime.context, state["plan"].unclear
    if context.clarified is None and context.plan is None:
        interrupt("the question")
    if not context.clarified or unclear is None:
        return {"unclear": False}
    added = (f"{unclear.question} {context.clarified}",)
    return await _begun(state["question"].model_copy(update={"added": added}), runtime)


def _instructed(question: Question, runtime: Run) -> Question:
    """The question with what was said to the run while it went on."""
    told = runtime.context.instructions()
    if not told:
        return question
    _voice(runtime)("heeded", count=len(told))
    return question.model_copy(update={"added": (*question.added, *told)})


async def _approve(state: State, runtime: Run) -> dict[str, Any]:
    """Pauses the run until it is given a plan, which may have been edited, as may its limits."""
    context, say = runtime.context, _voice(runtime)
    if context.plan is None:
        interrupt("the plan")
    plan = context.plan or state["plan"]
    say("plan", plan=plan.model_dump(mode="json"))
    rounds = context.options.loops
    pending = list(plan.tasks) if rounds else []
    return {"plan": plan, "pending": pending, "rounds": rounds, "approved": True}


async def _planned(question: Question, context: Context, say: Say) -> Plan | Draft:
    try:
        async with context.meter.searching.open():
            return await make_plan(question, context.reasoner, context.options, say)
    except Ended as ended:
        context.meter.lack(ended.why)
        return unplanned(question)


async def _after_search(state: State) -> str:
    """No reflection after the last round: nothing could follow it."""
    return "finalize_answer" if state["round"] >= state["rounds"] else "reflection"


async def _reflect(state: State, runtime: Run) -> dict[str, Any]:
    context, round_, say = runtime.context, state["round"], _voice(runtime)
    meter = context.meter
    try:
        if meter.thoughtless:
            raise Ended(meter.thoughtless)
        async with meter.searching.open():
            reflection = await judge(
                _instructed(state["question"], runtime),
                state["plan"],
                state.get("findings", []),
                context.reasoner,
                context.options,
                round_,
                say,
            )
    except Ended as ended:
        meter.lack(ended.why)
        return {"pending": []}
    say("reflection", **reflection.model_dump(mode="json"))
    pending = list(reflection.follow_ups)
    return {
        "reflections": [reflection],
        "pending": pending,
        "round": round_ + 1 if pending else round_,
    }


async def _answer(state: State, runtime: Run) -> dict[str, Any]:
    context, say = runtime.context, _voice(runtime)
    answer = state.get("answer")
    lost: list[Finding] = []
    if answer is None:
        lost = await _lost(state, runtime) if state["rounds"] else []
        findings = [*state.get("findings", []), *lost]
        state = {**state, "findings": findings}
        undone = any(finding.reason == "left out" for finding in findings)
        plan = state["plan"]
        searched = state["rounds"] and not (plan.recalled or plan.outline or plan.grid)
        if len(state.get("reflections", [])) < state["round"] and searched:
            last = state["round"] >= state["rounds"]
            say("reflection", round=state["round"], skipped=True, last=last)
            undone = undone or bool(findings and not last)
        if undone:  # which a run that goes on has told before it paused
            context.meter.lack(context.meter.thoughtless or "stopped")
        say("writing")
        question = _instructed(state["question"], runtime)
        answer = await _composed({**state, "question": question}, context, say)
    say("answer", quotes=answer.quotes, cites=answer.cites, failures=len(answer.failures))
    return {"answer": answer, "findings": lost, "unchecked": context.checker is not None}


async def _check(state: State, runtime: Run) -> dict[str, Any]:
    question, findings = state["question"], state.get("findings", [])
    if runtime.context.checker is None:  # any more: the run was cut off before
        return {}
    answer = await checked(question, state["answer"], findings, runtime.context, _voice(runtime))
    return {"answer": answer}


async def _composed(state: State, context: Context, say: Say) -> Answer:
    """The answer; of a report with its coverage, which is found out while it is written."""
    question, findings = state["question"], state.get("findings", [])
    reflections, sections = state.get("reflections", []), state.get("sections", [])
    cells = state.get("cells", [])
    writing = compose(question, state["plan"], findings, context, say, reflections, sections, cells)
    if not state["plan"].outline:
        return await writing
    told = asyncio.create_task(context.early.coverage(findings, _covering(question, context, say)))
    try:
        answer = await writing
    except Unwritten:
        await told  # it is paid for; what comes of it is noted
        raise
    except BaseException:
        told.cancel()
        raise
    coverage = await told
    failures = (*answer.failures, *(coverage.failures if coverage else ()))
    return answer.model_copy(update={"coverage": coverage, "failures": failures})


def _covering(question: Question, context: Context, say: Say) -> Begin:
    """What finds out the coverage of a report."""

    async def begin(findings: Sequence[Finding]) -> Coverage | None:
        return await covered(question, findings, context, say)

    return begin


async def _section(chapter: Chapter, runtime: Run) -> dict[str, Any]:
    context = runtime.context

    async def search(task: Task) -> Finding:
        finding, first = await _shared(_spoken(task, chapter["question"]), runtime)
        if first:
            beside.append(asyncio.create_task(read_ahead(finding)))
        return finding

    def searched(findings: Sequence[Finding]) -> None:
        covering = _covering(chapter["question"], context, _voice(runtime))
        context.early.searched(chapter["part"], findings, chapter["plan"], covering)

    beside: list[asyncio.Task[None]] = []
    try:
        section, findings = await work(
            chapter["part"],
            _instructed(chapter["question"], runtime),
            chapter["plan"],
            search,
            context,
            _voice(runtime),
            searched,
        )
    except BaseException:
        context.early.cancel()
        raise
    finally:
        for reading in beside:
            reading.cancel()
    return {"sections": [section], "findings": findings}


async def _row(line: Line, runtime: Run) -> dict[str, Any]:
    grid = line["plan"].grid
    since = grid.since if grid else None

    async def search(task: Task) -> Finding:
        spoken = _spoken(task, line["question"])
        finding, _ = await _shared(spoken, runtime, since)
        return finding

    cells, findings = await fill_row(
        line["row"],
        _instructed(line["question"], runtime),
        line["plan"],
        search,
        runtime.context,
        _voice(runtime),
    )
    return {"cells": cells, "findings": findings}


async def _shared(task: Task, runtime: Run, since: datetime | None = None) -> tuple[Finding, bool]:
    """One search, and whether this is the first to want it: those who want the same at the same time
    share it. What was found before `since` is looked for anew."""
    under_way = runtime.context.under_way
    if known := under_way.get(task.key):
        finding = await asyncio.shield(known)
        return finding.model_copy(update={"task": task, "reused": True}), False
    searching = asyncio.create_task(_found(task, runtime, since))
    under_way[task.key] = searching
    return await searching, True


def _search_node() -> Callable[..., Any]:
    async def search(task: Task, runtime: Run) -> dict[str, Any]:
        return {"findings": [await _found(task, runtime)]}

    return search


class _Gone:
    """What stands for a source that is not there any more: its package was taken away, and a run that
    was cut off goes on."""

    turns = 1

    def ready(self) -> Readiness:
        return Readiness(state="missing", detail="")

    async def search(self, task: Task, say: Say) -> Finding:
        raise Trouble("unavailable", f"the source {task.source} is not installed")


async def _lost(state: State, runtime: Run) -> list[Finding]:
    """What came of the planned searches that no node does any more."""
    known = {finding.task.key for finding in state.get("findings", [])}
    tasks = [
        task
        for task in state["plan"].tasks
        if task.source not in runtime.context.sources and task.key not in known
    ]
    spoken = (_spoken(task, state["question"]) for task in tasks)
    return list(await asyncio.gather(*(_found(task, runtime) for task in spoken)))


def _spoken(task: Task, question: Question) -> Task:
    """The task with the language in which its search is told of."""
    return task.model_copy(update={"language": question.language})


async def _found(task: Task, runtime: Run, since: datetime | None = None) -> Finding:
    context, say = runtime.context, _voice(runtime, task.id)
    say("search", task=task.model_dump(mode="json"))
    token = NOTES.set(context.notes)
    try:
        finding = await look_up(
            task,
            context.sources.get(task.source, _Gone()),
            context.ledger,
            say,
            deadline=context.deadline,
            delay=context.delay,
            meter=context.meter,
            since=since,
        )
    finally:
        NOTES.reset(token)
    say(
        "found",
        task=task.model_dump(mode="json"),
        passages=finding.passages,
        titles=[evidence.title for evidence in finding.evidence],
        reason=finding.reason,
        hint=finding.hint,
        provider=finding.provider,
        message=finding.message,
        beside=[failure.message for failure in finding.failures],
        seconds=finding.seconds,
        reused=finding.reused,
        cached=finding.started.isoformat() if finding.cached else "",
    )
    return finding


def build(
    nodes: Mapping[str, str],
    around: Callable[[str, Node], Node] = lambda name, node: node,
    first: Node | None = None,
    last: Node | None = None,
    context: type[Any] = Context,
    state: type[Any] = State,
    given: type[Any] | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """The graph over some sources, given by the names of their nodes; not yet compiled.

    Where it is not this process that drives it, `around` gives each node, by its name, what it works
    with, of which the `context` then holds only a token, `first` is a node that sees what was sent, and
    `last` one that sees how it ended. `state` is a state with more in it, `given` the part of it that a client may send.
    """

    async def fan_out(state: State) -> list[Send] | str:
        plan = state.get("plan")
        if plan and plan.grid:
            lines = [Line(question=state["question"], plan=plan, row=row) for row in plan.grid.rows]
            return [Send("row", line) for line in lines]
        if state["pending"] and plan and plan.outline:
            question = state["question"]
            chapters = [Chapter(question=question, plan=plan, part=p.id) for p in plan.parts]
            return [Send("section", chapter) for chapter in chapters]
        tasks = [task for task in state["pending"] if task.source in nodes]
        spoken = (_spoken(task, state["question"]) for task in tasks)
        return [Send(nodes[task.source], task) for task in spoken] or "finalize_answer"

    async def planned(state: State) -> list[Send] | str:
        if state.get("unclear"):
            return "clarification"
        return await fan_out(state) if state.get("approved", True) else "approval"

    def add(name: str, node: Node, receives: type[Any] | None = None) -> None:
        graph.add_node(name, around(name, node), input_schema=receives)

    graph = StateGraph(state, context_schema=context, input_schema=given)
    add("generate_query", traced("plan", _plan))
    add("clarification", traced("plan", _clarify))
    add("approval", _approve)
    add("reflection", traced("reflect", _reflect))
    add("finalize_answer", traced("answer", _answer))
    add("check_answer", traced("check", _check))
    add("section", traced("section", _section), Chapter)
    graph.add_edge("section", "finalize_answer")
    add("row", traced("row", _row), Line)
    graph.add_edge("row", "finalize_answer")
    targets = [*nodes.values(), "section", "row", "finalize_answer"]
    for name, node in nodes.items():
        add(node, traced(f"search {name}", _search_node()), Task)
        graph.add_conditional_edges(node, _after_search, ["reflection", "finalize_answer"])
    if first:
        graph.add_node("receive_question", first)
        graph.add_edge(START, "receive_question")
    graph.add_edge("receive_question" if first else START, "generate_query")
    planning = [*targets, "approval", "clarification"]
    graph.add_conditional_edges("generate_query", planned, planning)
    graph.add_conditional_edges("clarification", planned, planning)
    graph.add_conditional_edges("approval", fan_out, targets)
    graph.add_conditional_edges("reflection", fan_out, targets)
    end = "report" if last else END

    async def written(state: State) -> str:
        return "check_answer" if state.get("unchecked") else end

    graph.add_conditional_edges("finalize_answer", written, ["check_answer", end])
    graph.add_edge("check_answer", end)
    if last:
        graph.add_node("report", last)
        graph.add_edge("report", END)
    return graph
