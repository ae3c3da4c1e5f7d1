"""The order of the stages, as a LangGraph graph. The stages themselves are in `nodes`.

    generate_query -> (clarification) -> (approval) -> <source>_research (parallel) -> reflection
      -+-> finalize_answer
        |                                ^        |                             |     ^   ^
        |                                +--------|---- follow-ups -------------+     |   |
        |                                         +---- the last round ---------------+   |
        +---- a direct answer ------------------------------------------------------------+

check_answer follows finalize_answer if the run has a citation checker.

A plan that is the outline of a report goes to `section` instead, once for each of its sections in
parallel; a plan that is a table goes to `row`, once for each of its rows. There is one node per
source. The state of a run is stored in checkpoints; its limits and helpers are in the context, which
is not stored. Nodes and routers are all `async`: a plain function would run in a thread, and many
runs would compete for threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt

from research.agent.nodes.answer import AnswerNotWrittenError, build_answer, compose_answer
from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.check import check_answer
from research.agent.nodes.news_coverage import CoverageBuilder, cover_news, precompute_news
from research.agent.nodes.plan import empty_plan, make_plan, standalone_question
from research.agent.nodes.question import build_question
from research.agent.nodes.reflect import reflect_on_findings
from research.agent.nodes.search import run_search
from research.agent.nodes.section import write_section
from research.agent.nodes.table import fill_row
from research.agent.state import GraphContext, GraphState, RowInput, SectionInput
from research.core.errors import ServiceError
from research.core.events import (
    AnswerWritten,
    ClarificationNeeded,
    DatabaseStepTaken,
    EventEmitter,
    InstructionApplied,
    PlanMade,
    QuestionParsed,
    ReflectionMade,
    ReflectionSkipped,
    RunEvent,
    TaskFinished,
    TaskStarted,
    ToolCalled,
    UsageRecorded,
    WritingStarted,
)
from research.core.records import Answer, Draft, Finding, NewsCoverage, Plan, Question, Readiness, Task
from research.core.tracing import trace_node
from research.sources.base import STEP_RESULTS

GraphRuntime = Runtime[GraphContext]
NodeFunction = Callable[..., Any]


def _event_emitter(runtime: GraphRuntime, task_id: str = "") -> EventEmitter:
    """Return the emitter of a run; it adds the id of the task to events that a source emits."""
    send_event = runtime.context.send_event

    def emit(event: RunEvent, /) -> None:
        is_of_task = isinstance(event, UsageRecorded | ToolCalled | DatabaseStepTaken)
        send_event(event.model_copy(update={"task": task_id}) if is_of_task else event)

    return emit


async def _plan_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    question = build_question(state["asked"] or "").model_copy(update={"memory": runtime.context.memory})
    _event_emitter(runtime)(QuestionParsed(text=question.text, language=question.language))
    return await _plan_question(question, runtime)


async def _plan_question(question: Question, runtime: GraphRuntime) -> dict[str, Any]:
    context, emit = runtime.context, _event_emitter(runtime)
    update: dict[str, Any] = {"question": question, "round": 1, "rounds": context.options.loops, "unclear": False}
    plan = context.plan or await _make_plan_within_budget(question, context, emit)
    if isinstance(plan, Draft):
        answer = build_answer(question, plan, (), context.clock())
        return {**update, "answer": answer, "pending": []}
    emit(PlanMade(plan=plan))
    if plan.clarification and context.clarification is None and context.plan is None:
        emit(ClarificationNeeded(clarification=plan.clarification))
        update["unclear"] = True
    update["question"] = standalone_question(question, plan)
    pending = list(plan.tasks) if context.options.loops else []
    has_work = bool(pending or plan.grid)
    is_approved = context.plan is not None or not (context.options.approve and has_work)
    return {**update, "plan": plan, "pending": pending, "approved": is_approved}


async def _clarification_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    """Pause the run until its clarifying question is answered or skipped.

    With an answer the question is planned again; without one the run keeps its plan.
    """
    context, unclear = runtime.context, state["plan"].clarification
    if context.clarification is None and context.plan is None:
        interrupt("the question")
    if not context.clarification or unclear is None:
        return {"unclear": False}
    additions = (f"{unclear.question} {context.clarification}",)
    return await _plan_question(state["question"].model_copy(update={"additions": additions}), runtime)


def _add_instructions(question: Question, runtime: GraphRuntime) -> Question:
    """Add to the question the instructions that the run received meanwhile."""
    instructions = runtime.context.instructions()
    if not instructions:
        return question
    _event_emitter(runtime)(InstructionApplied(count=len(instructions)))
    return question.model_copy(update={"additions": (*question.additions, *instructions)})


async def _approval_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    """Pause the run until its plan is approved; plan and limits may have been edited."""
    context, emit = runtime.context, _event_emitter(runtime)
    if context.plan is None:
        interrupt("the plan")
    plan = context.plan or state["plan"]
    emit(PlanMade(plan=plan))
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
    """Return the node after a search. After the last round a reflection would be useless."""
    return "finalize_answer" if state["round"] >= state["rounds"] else "reflection"


async def _reflection_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    context, round_, emit = runtime.context, state["round"], _event_emitter(runtime)
    budget = context.budget
    try:
        if budget.reflection_block_reason:
            raise RunEndedError(budget.reflection_block_reason)
        async with budget.searching.enter():
            reflection = await reflect_on_findings(
                _add_instructions(state["question"], runtime),
                state["plan"],
                state.get("findings", []),
                context.reasoner,
                context.options,
                round_,
                emit,
            )
    except RunEndedError as ended:
        budget.record_skip(ended.reason)
        return {"pending": []}
    emit(ReflectionMade(reflection=reflection))
    pending = list(reflection.follow_ups)
    return {
        "reflections": [reflection],
        "pending": pending,
        "round": round_ + 1 if pending else round_,
    }


async def _answer_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    context, emit = runtime.context, _event_emitter(runtime)
    answer = state.get("answer")
    missing: list[Finding] = []
    if answer is None:
        missing = await _search_missing_sources(state, runtime) if state["rounds"] else []
        findings = [*state.get("findings", []), *missing]
        state = {**state, "findings": findings}
        is_incomplete = any(finding.reason == "left out" for finding in findings)
        plan = state["plan"]
        has_searched = state["rounds"] and not (plan.from_memory or plan.outline or plan.grid)
        if len(state.get("reflections", [])) < state["round"] and has_searched:
            is_last = state["round"] >= state["rounds"]
            emit(ReflectionSkipped(round=state["round"], last=is_last))
            is_incomplete = is_incomplete or bool(findings and not is_last)
        if is_incomplete:  # a resumed run recorded this reason before it paused
            context.budget.record_skip(context.budget.reflection_block_reason or "stopped")
        emit(WritingStarted())
        question = _add_instructions(state["question"], runtime)
        answer = await _write_answer({**state, "question": question}, context, emit)
    counts = {"quotes": answer.quote_count, "cites": answer.cited_span_count, "failures": len(answer.failures)}
    emit(AnswerWritten(**counts))
    return {"answer": answer, "findings": missing, "unchecked": context.checker is not None}


async def _check_node(state: GraphState, runtime: GraphRuntime) -> dict[str, Any]:
    question, findings = state["question"], state.get("findings", [])
    if runtime.context.checker is None:  # a resumed run may have lost its checker
        return {}
    answer = await check_answer(question, state["answer"], findings, runtime.context, _event_emitter(runtime))
    return {"answer": answer}


async def _write_answer(state: GraphState, context: GraphContext, emit: EventEmitter) -> Answer:
    """Write the answer; for a report, determine its news coverage at the same time."""
    question, findings = state["question"], state.get("findings", [])
    reflections, sections = state.get("reflections", []), state.get("sections", [])
    cells = state.get("cells", [])
    writing = compose_answer(question, state["plan"], findings, context, emit, reflections, sections, cells)
    if not state["plan"].outline:
        return await writing
    coverage_task = asyncio.create_task(
        context.early_coverage.get_coverage(findings, _coverage_builder(question, context, emit))
    )
    try:
        answer = await writing
    except AnswerNotWrittenError:
        await coverage_task  # it is paid for, and its result is recorded
        raise
    except BaseException:
        coverage_task.cancel()
        raise
    coverage = await coverage_task
    failures = (*answer.failures, *(coverage.failures if coverage else ()))
    return answer.model_copy(update={"coverage": coverage, "failures": failures})


def _coverage_builder(question: Question, context: GraphContext, emit: EventEmitter) -> CoverageBuilder:
    """Return a function that determines the news coverage of a report."""

    async def build_coverage(findings: Sequence[Finding]) -> NewsCoverage | None:
        return await cover_news(question, findings, context, emit)

    return build_coverage


async def _section_node(section_input: SectionInput, runtime: GraphRuntime) -> dict[str, Any]:
    context = runtime.context

    async def search(task: Task) -> Finding:
        finding, has_started = await _search_once(_with_language(task, section_input["question"]), runtime)
        if has_started:
            precomputations.append(asyncio.create_task(precompute_news(finding)))
        return finding

    def finish_searching(findings: Sequence[Finding]) -> None:
        build_coverage = _coverage_builder(section_input["question"], context, _event_emitter(runtime))
        context.early_coverage.finish_section(section_input["part"], findings, section_input["plan"], build_coverage)

    precomputations: list[asyncio.Task[None]] = []
    try:
        section, findings = await write_section(
            section_input["part"],
            _add_instructions(section_input["question"], runtime),
            section_input["plan"],
            search,
            context,
            _event_emitter(runtime),
            finish_searching,
        )
    except BaseException:
        context.early_coverage.cancel()
        raise
    finally:
        for precomputation in precomputations:
            precomputation.cancel()
    return {"sections": [section], "findings": findings}


async def _row_node(row_input: RowInput, runtime: GraphRuntime) -> dict[str, Any]:
    grid = row_input["plan"].grid
    since = grid.fresh_after if grid else None

    async def search(task: Task) -> Finding:
        localized = _with_language(task, row_input["question"])
        finding, _ = await _search_once(localized, runtime, since)
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
    """Run a search unless the same one is running already.

    Return its finding, and whether this call started it; other callers share the result. Results
    from before `since` are not reused.
    """
    running = runtime.context.running_searches
    if running_search := running.get(task.key):
        finding = await asyncio.shield(running_search)
        return finding.model_copy(update={"task": task, "reused": True}), False
    new_search = asyncio.create_task(_search_task(task, runtime, since))
    running[task.key] = new_search
    return await new_search, True


async def _search_node(task: Task, runtime: GraphRuntime) -> dict[str, Any]:
    return {"findings": [await _search_task(task, runtime)]}


class _MissingSource:
    """A stand-in for a source whose package was removed while a run was interrupted."""

    max_sequential_calls = 1

    def readiness(self) -> Readiness:
        return Readiness(state="missing", detail="")

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        raise ServiceError("unavailable", f"the source {task.source} is not installed")


async def _search_missing_sources(state: GraphState, runtime: GraphRuntime) -> list[Finding]:
    """Return the findings of planned searches whose source has no node any more."""
    known_keys = {finding.task.key for finding in state.get("findings", [])}
    tasks = [
        task
        for task in state["plan"].tasks
        if task.source not in runtime.context.sources and task.key not in known_keys
    ]
    localized = (_with_language(task, state["question"]) for task in tasks)
    return list(await asyncio.gather(*(_search_task(task, runtime) for task in localized)))


def _with_language(task: Task, question: Question) -> Task:
    """Return the task with the language for messages about its search."""
    return task.model_copy(update={"language": question.language})


async def _search_task(task: Task, runtime: GraphRuntime, since: datetime | None = None) -> Finding:
    context, emit = runtime.context, _event_emitter(runtime, task.id)
    emit(TaskStarted(task=task))
    token = STEP_RESULTS.set(context.step_results)
    try:
        finding = await run_search(
            task,
            context.sources.get(task.source, _MissingSource()),
            context.ledger,
            emit,
            deadline_seconds=context.deadline_seconds,
            delay_seconds=context.delay_seconds,
            budget=context.budget,
            since=since,
        )
    finally:
        STEP_RESULTS.reset(token)
    emit(TaskFinished.from_finding(finding))
    return finding


def _select_searches(state: GraphState, node_names: Mapping[str, str]) -> list[Send] | str:
    """Return the rows, sections or searches to start in parallel, or the node that writes."""
    plan = state.get("plan")
    if plan and plan.grid:
        row_inputs = [RowInput(question=state["question"], plan=plan, row=row) for row in plan.grid.rows]
        return [Send("row", row_input) for row_input in row_inputs]
    if state["pending"] and plan and plan.outline:
        question = state["question"]
        section_inputs = [SectionInput(question=question, plan=plan, part=part.id) for part in plan.parts]
        return [Send("section", section_input) for section_input in section_inputs]
    tasks = [task for task in state["pending"] if task.source in node_names]
    localized = (_with_language(task, state["question"]) for task in tasks)
    return [Send(node_names[task.source], task) for task in localized] or "finalize_answer"


_NODES: tuple[tuple[str, NodeFunction, type[Any] | None], ...] = (  # name, node, input
    ("generate_query", trace_node("plan", _plan_node), None),
    ("clarification", trace_node("plan", _clarification_node), None),
    ("approval", _approval_node, None),
    ("reflection", trace_node("reflect", _reflection_node), None),
    ("finalize_answer", trace_node("answer", _answer_node), None),
    ("check_answer", trace_node("check", _check_node), None),
    ("section", trace_node("section", _section_node), SectionInput),
    ("row", trace_node("row", _row_node), RowInput),
)


def build_graph(
    node_names: Mapping[str, str],
    wrap_node: Callable[[str, NodeFunction], NodeFunction] = lambda name, node: node,
    first_node: NodeFunction | None = None,
    last_node: NodeFunction | None = None,
    context_type: type[Any] = GraphContext,
    state_type: type[Any] = GraphState,
    input_type: type[Any] | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """Build the graph over some sources, without compiling it.

    Args:
        node_names: the name of the node of each source; the other arguments are for LangGraph servers.
        wrap_node: wraps each node, given its name, to supply its context.
        first_node: a node that receives the client's input.
        last_node: a node that reports how the run ended.
        context_type: the context of the nodes; on a server it holds only a token.
        state_type: the state, with additional keys.
        input_type: the part of the state that a client may send.
    """

    async def start_searches(state: GraphState) -> list[Send] | str:
        return _select_searches(state, node_names)

    async def route_after_plan(state: GraphState) -> list[Send] | str:
        if state.get("unclear"):
            return "clarification"
        return await start_searches(state) if state.get("approved", True) else "approval"

    graph = StateGraph(state_type, context_schema=context_type, input_schema=input_type)
    for name, node, node_input in _NODES:
        graph.add_node(name, wrap_node(name, node), input_schema=node_input)
    graph.add_edge("section", "finalize_answer")
    graph.add_edge("row", "finalize_answer")
    targets = [*node_names.values(), "section", "row", "finalize_answer"]
    for source, name in node_names.items():
        node = wrap_node(name, trace_node(f"search {source}", _search_node))
        graph.add_node(name, node, input_schema=Task)
        graph.add_conditional_edges(name, _route_after_search, ["reflection", "finalize_answer"])
    if first_node:
        graph.add_node("receive_question", first_node)
        graph.add_edge(START, "receive_question")
    graph.add_edge("receive_question" if first_node else START, "generate_query")
    targets_after_plan = [*targets, "approval", "clarification"]
    graph.add_conditional_edges("generate_query", route_after_plan, targets_after_plan)
    graph.add_conditional_edges("clarification", route_after_plan, targets_after_plan)
    graph.add_conditional_edges("approval", start_searches, targets)
    graph.add_conditional_edges("reflection", start_searches, targets)
    end = "report" if last_node else END

    async def route_after_answer(state: GraphState) -> str:
        return "check_answer" if state.get("unchecked") else end

    graph.add_conditional_edges("finalize_answer", route_after_answer, ["check_answer", end])
    graph.add_edge("check_answer", end)
    if last_node:
        graph.add_node("report", last_node)
        graph.add_edge("report", END)
    return graph
