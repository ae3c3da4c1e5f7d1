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

from research.agent.nodes.answer import AnswerNotWrittenError, build_answer, compose_answer
from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.check import check_answer
from research.agent.nodes.context import RunContext
from research.agent.nodes.news_coverage import CoverageBuilder, EarlyCoverage, cover_news, read_ahead
from research.agent.nodes.plan import empty_plan, make_plan, standalone_question
from research.agent.nodes.question import clean_question
from research.agent.nodes.reflect import reflect_on_findings
from research.agent.nodes.search import run_search
from research.agent.nodes.section import write_section
from research.agent.nodes.table import fill_row
from research.core.errors import ServiceError
from research.core.records import (
    Answer,
    Cell,
    Draft,
    EventEmitter,
    Finding,
    NewsCoverage,
    Plan,
    Question,
    Readiness,
    Reflection,
    ReportSection,
    Row,
    Task,
)
from research.core.tracing import trace_node
from research.sources.base import STEP_RESULTS

RECURSION_LIMIT = 60  # supersteps: two a round, ten rounds at most, and room to spare


_T = TypeVar("_T")


def append_items(known: Sequence[_T], new: Sequence[_T] | None) -> list[_T]:
    """Add to a list of the state; None clears it."""
    return [] if new is None else [*known, *new]


class GraphState(TypedDict, total=False):
    """What a run knows so far. `pending` holds the tasks of the round under way."""

    asked: str | None
    question: Question
    plan: Plan
    pending: list[Task]
    round: int
    rounds: int
    approved: bool
    unclear: bool
    findings: Annotated[list[Finding], append_items]
    sections: Annotated[list[ReportSection], append_items]
    cells: Annotated[list[Cell], append_items]
    reflections: Annotated[list[Reflection], append_items]
    answer: Answer
    unchecked: bool


@dataclass(frozen=True)
class GraphContext(RunContext):
    """What a run works with, and what its sections share."""

    running_searches: dict[str, asyncio.Task[Finding]] = field(default_factory=dict)  # searches, by key
    early_coverage: EarlyCoverage = field(default_factory=EarlyCoverage)


class SectionInput(TypedDict):
    """What the node of a section is sent."""

    question: Question
    plan: Plan
    part: str


class RowInput(TypedDict):
    """What the node of a row is sent."""

    question: Question
    plan: Plan
    row: Row


GraphRuntime = Runtime[GraphContext]
NodeFunction = Callable[..., Any]


def _event_emitter(runtime: GraphRuntime, task_id: str = "") -> EventEmitter:
    tell = runtime.context.send_event

    def say(kind: str, /, **data: Any) -> None:
        tell(kind, {**data, "task": task_id} if kind == "usage" else data)

    return say


async def _plan_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    question = clean_question(state["asked"] or "").model_copy(update={"before": runtime.context.memory})
    _event_emitter(runtime)("question", text=question.text, language=question.language)
    return await _plan_question(question, runtime)


async def _plan_question(question: Question, runtime: GraphRuntime) -> dict[str, Any]:
    context, say = runtime.context, _event_emitter(runtime)
    update: dict[str, Any] = {
        "question": question, "round": 1, "rounds": context.options.loops, "unclear": False,
    }  # fmt: skip
    plan = context.plan or await _make_plan_within_budget(question, context, say)
    if isinstance(plan, Draft):
        answer = build_answer(question, plan, (), context.clock())
        return {**update, "answer": answer, "pending": []}
    say("plan", plan=plan.model_dump(mode="json"))
    if plan.unclear and context.clarification is None and context.plan is None:
        say("unclear", **plan.unclear.model_dump(mode="json"))
        update["unclear"] = True
    update["question"] = standalone_question(question, plan)
    pending = list(plan.tasks) if context.options.loops else []
    ahead = bool(pending or plan.grid)
    approved = context.plan is not None or not (context.options.approve and ahead)
    return {**update, "plan": plan, "pending": pending, "approved": approved}


async def _clarification_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    """Pauses the run until what its plan asks back is answered or skipped: then it is planned anew
    with the answer, or goes on as it was planned."""
    context, unclear = runtime.context, state["plan"].unclear
    if context.clarification is None and context.plan is None:
        interrupt("the question")
    if not context.clarification or unclear is None:
        return {"unclear": False}
    added = (f"{unclear.question} {context.clarification}",)
    return await _plan_question(state["question"].model_copy(update={"added": added}), runtime)


def _add_instructions(question: Question, runtime: GraphRuntime) -> Question:
    """The question with what was said to the run while it went on."""
    told = runtime.context.instructions()
    if not told:
        return question
    _event_emitter(runtime)("heeded", count=len(told))
    return question.model_copy(update={"added": (*question.added, *told)})


async def _approval_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    """Pauses the run until it is given a plan, which may have been edited, as may its limits."""
    context, say = runtime.context, _event_emitter(runtime)
    if context.plan is None:
        interrupt("the plan")
    plan = context.plan or state["plan"]
    say("plan", plan=plan.model_dump(mode="json"))
    rounds = context.options.loops
    pending = list(plan.tasks) if rounds else []
    return {"plan": plan, "pending": pending, "rounds": rounds, "approved": True}


async def _make_plan_within_budget(question: Question, context: GraphContext, emit: EventEmitter) -> Plan | Draft:
    try:
        async with context.budget.searching.enter():
            return await make_plan(question, context.reasoner, context.options, emit)
    except RunEndedError as ended:
        context.budget.record_skip(ended.reason)
        return empty_plan(question)


async def _route_after_search(state: GraphState) -> str:
    """No reflection after the last round: nothing could follow it."""
    return "finalize_answer" if state["round"] >= state["rounds"] else "reflection"


async def _reflection_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    context, round_, say = runtime.context, state["round"], _event_emitter(runtime)
    meter = context.budget
    try:
        if meter.reflection_block_reason:
            raise RunEndedError(meter.reflection_block_reason)
        async with meter.searching.enter():
            reflection = await reflect_on_findings(
                _add_instructions(state["question"], runtime),
                state["plan"],
                state.get("findings", []),
                context.reasoner,
                context.options,
                round_,
                say,
            )
    except RunEndedError as ended:
        meter.record_skip(ended.reason)
        return {"pending": []}
    say("reflection", **reflection.model_dump(mode="json"))
    pending = list(reflection.follow_ups)
    return {
        "reflections": [reflection],
        "pending": pending,
        "round": round_ + 1 if pending else round_,
    }


async def _answer_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    context, say = runtime.context, _event_emitter(runtime)
    answer = state.get("answer")
    lost: list[Finding] = []
    if answer is None:
        lost = await _search_missing_sources(state, runtime) if state["rounds"] else []
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
            context.budget.record_skip(context.budget.reflection_block_reason or "stopped")
        say("writing")
        question = _add_instructions(state["question"], runtime)
        answer = await _write_answer({**state, "question": question}, context, say)
    say("answer", quotes=answer.quote_count, cites=answer.cited_span_count, failures=len(answer.failures))
    return {"answer": answer, "findings": lost, "unchecked": context.checker is not None}


async def _check_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    question, findings = state["question"], state.get("findings", [])
    if runtime.context.checker is None:  # any more: the run was cut off before
        return {}
    answer = await check_answer(question, state["answer"], findings, runtime.context, _event_emitter(runtime))
    return {"answer": answer}


async def _write_answer(state: GraphState, context: GraphContext, emit: EventEmitter) -> Answer:
    """The answer; of a report with its coverage, which is found out while it is written."""
    question, findings = state["question"], state.get("findings", [])
    reflections, sections = state.get("reflections", []), state.get("sections", [])
    cells = state.get("cells", [])
    writing = compose_answer(question, state["plan"], findings, context, emit, reflections, sections, cells)
    if not state["plan"].outline:
        return await writing
    told = asyncio.create_task(
        context.early_coverage.get_coverage(findings, _coverage_builder(question, context, emit))
    )
    try:
        answer = await writing
    except AnswerNotWrittenError:
        await told  # it is paid for; what comes of it is noted
        raise
    except BaseException:
        told.cancel()
        raise
    coverage = await told
    failures = (*answer.failures, *(coverage.failures if coverage else ()))
    return answer.model_copy(update={"coverage": coverage, "failures": failures})


def _coverage_builder(question: Question, context: GraphContext, emit: EventEmitter) -> CoverageBuilder:
    """What finds out the coverage of a report."""

    async def begin(findings: Sequence[Finding]) -> NewsCoverage | None:
        return await cover_news(question, findings, context, emit)

    return begin


async def _section_node(section_input: SectionInput, runtime: GraphRuntime) -> dict[str, Any]:
    context = runtime.context

    async def search(task: Task) -> Finding:
        finding, first = await _search_once(_with_language(task, section_input["question"]), runtime)
        if first:
            beside.append(asyncio.create_task(read_ahead(finding)))
        return finding

    def searched(findings: Sequence[Finding]) -> None:
        covering = _coverage_builder(section_input["question"], context, _event_emitter(runtime))
        context.early_coverage.finish_section(section_input["part"], findings, section_input["plan"], covering)

    beside: list[asyncio.Task[None]] = []
    try:
        section, findings = await write_section(
            section_input["part"],
            _add_instructions(section_input["question"], runtime),
            section_input["plan"],
            search,
            context,
            _event_emitter(runtime),
            searched,
        )
    except BaseException:
        context.early_coverage.cancel()
        raise
    finally:
        for reading in beside:
            reading.cancel()
    return {"sections": [section], "findings": findings}


async def _row_node(row_input: RowInput, runtime: GraphRuntime) -> dict[str, Any]:
    grid = row_input["plan"].grid
    since = grid.since if grid else None

    async def search(task: Task) -> Finding:
        spoken = _with_language(task, row_input["question"])
        finding, _ = await _search_once(spoken, runtime, since)
        return finding

    cells, findings = await fill_row(
        row_input["row"],
        _add_instructions(row_input["question"], runtime),
        row_input["plan"],
        search,
        runtime.context,
        _event_emitter(runtime),
    )
    return {"cells": cells, "findings": findings}


async def _search_once(task: Task, runtime: GraphRuntime, since: datetime | None = None) -> tuple[Finding, bool]:
    """One search, and whether this is the first to want it: those who want the same at the same time
    share it. What was found before `since` is looked for anew."""
    under_way = runtime.context.running_searches
    if known := under_way.get(task.key):
        finding = await asyncio.shield(known)
        return finding.model_copy(update={"task": task, "reused": True}), False
    searching = asyncio.create_task(_search_task(task, runtime, since))
    under_way[task.key] = searching
    return await searching, True


def _build_search_node() -> Callable[..., Any]:
    async def search(task: Task, runtime: GraphRuntime) -> dict[str, Any]:
        return {"findings": [await _search_task(task, runtime)]}

    return search


class _MissingSource:
    """What stands for a source that is not there any more: its package was taken away, and a run that
    was cut off goes on."""

    max_sequential_calls = 1

    def readiness(self) -> Readiness:
        return Readiness(state="missing", detail="")

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        raise ServiceError("unavailable", f"the source {task.source} is not installed")


async def _search_missing_sources(state: GraphState, runtime: GraphRuntime) -> list[Finding]:
    """What came of the planned searches that no node does any more."""
    known = {finding.task.key for finding in state.get("findings", [])}
    tasks = [
        task for task in state["plan"].tasks if task.source not in runtime.context.sources and task.key not in known
    ]
    spoken = (_with_language(task, state["question"]) for task in tasks)
    return list(await asyncio.gather(*(_search_task(task, runtime) for task in spoken)))


def _with_language(task: Task, question: Question) -> Task:
    """The task with the language in which its search is told of."""
    return task.model_copy(update={"language": question.language})


async def _search_task(task: Task, runtime: GraphRuntime, since: datetime | None = None) -> Finding:
    context, say = runtime.context, _event_emitter(runtime, task.id)
    say("search", task=task.model_dump(mode="json"))
    token = STEP_RESULTS.set(context.step_results)
    try:
        finding = await run_search(
            task,
            context.sources.get(task.source, _MissingSource()),
            context.ledger,
            say,
            deadline_seconds=context.deadline_seconds,
            delay_seconds=context.delay_seconds,
            budget=context.budget,
            since=since,
        )
    finally:
        STEP_RESULTS.reset(token)
    say(
        "found",
        task=task.model_dump(mode="json"),
        passages=finding.passage_count,
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


def build_graph(
    node_names: Mapping[str, str],
    wrap_node: Callable[[str, NodeFunction], NodeFunction] = lambda name, node: node,
    first_node: NodeFunction | None = None,
    last_node: NodeFunction | None = None,
    context_type: type[Any] = GraphContext,
    state_type: type[Any] = GraphState,
    input_type: type[Any] | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """The graph over some sources, given by the names of their nodes; not yet compiled.

    Where it is not this process that drives it, `around` gives each node, by its name, what it works
    with, of which the `context` then holds only a token, `first` is a node that sees what was sent, and
    `last` one that sees how it ended. `state` is a state with more in it, `given` the part of it that a client may send.
    """

    async def fan_out(state: GraphState) -> list[Send] | str:
        plan = state.get("plan")
        if plan and plan.grid:
            lines = [RowInput(question=state["question"], plan=plan, row=row) for row in plan.grid.rows]
            return [Send("row", line) for line in lines]
        if state["pending"] and plan and plan.outline:
            question = state["question"]
            chapters = [SectionInput(question=question, plan=plan, part=p.id) for p in plan.parts]
            return [Send("section", chapter) for chapter in chapters]
        tasks = [task for task in state["pending"] if task.source in node_names]
        spoken = (_with_language(task, state["question"]) for task in tasks)
        return [Send(node_names[task.source], task) for task in spoken] or "finalize_answer"

    async def planned(state: GraphState) -> list[Send] | str:
        if state.get("unclear"):
            return "clarification"
        return await fan_out(state) if state.get("approved", True) else "approval"

    def add(name: str, node: NodeFunction, receives: type[Any] | None = None) -> None:
        graph.add_node(name, wrap_node(name, node), input_schema=receives)

    graph = StateGraph(state_type, context_schema=context_type, input_schema=input_type)
    add("generate_query", trace_node("plan", _plan_node))
    add("clarification", trace_node("plan", _clarification_node))
    add("approval", _approval_node)
    add("reflection", trace_node("reflect", _reflection_node))
    add("finalize_answer", trace_node("answer", _answer_node))
    add("check_answer", trace_node("check", _check_node))
    add("section", trace_node("section", _section_node), SectionInput)
    graph.add_edge("section", "finalize_answer")
    add("row", trace_node("row", _row_node), RowInput)
    graph.add_edge("row", "finalize_answer")
    targets = [*node_names.values(), "section", "row", "finalize_answer"]
    for name, node in node_names.items():
        add(node, trace_node(f"search {name}", _build_search_node()), Task)
        graph.add_conditional_edges(node, _route_after_search, ["reflection", "finalize_answer"])
    if first_node:
        graph.add_node("receive_question", first_node)
        graph.add_edge(START, "receive_question")
    graph.add_edge("receive_question" if first_node else START, "generate_query")
    planning = [*targets, "approval", "clarification"]
    graph.add_conditional_edges("generate_query", planned, planning)
    graph.add_conditional_edges("clarification", planned, planning)
    graph.add_conditional_edges("approval", fan_out, targets)
    graph.add_conditional_edges("reflection", fan_out, targets)
    end = "report" if last_node else END

    async def written(state: GraphState) -> str:
        return "check_answer" if state.get("unchecked") else end

    graph.add_conditional_edges("finalize_answer", written, ["check_answer", end])
    graph.add_edge("check_answer", end)
    if last_node:
        graph.add_node("report", last_node)
        graph.add_edge("report", END)
    return graph
