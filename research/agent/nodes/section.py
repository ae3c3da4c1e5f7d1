"""The section stage: one section of a report, searched, written, judged and deepened by itself.

Sections do not wait for each other. Each step of one is noted as soon as it is paid for, so that a
run that goes on repeats none of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.question_urls import keep_known_urls
from research.agent.nodes.report_update import HEADING_PREFIX
from research.core.i18n import message
from research.core.records import (
    Draft,
    EventEmitter,
    Finding,
    Language,
    Plan,
    Question,
    Record,
    Reflection,
    ReportSection,
    RunOptions,
    Span,
    Task,
    fingerprint,
)
from research.sources.base import StepResults

_R = TypeVar("_R", bound=Record)
SearchFunction = Callable[[Task], Awaitable[Finding]]


async def write_section(
    part_id: str,
    question: Question,
    plan: Plan,
    search: SearchFunction,
    context: RunContext,
    emit: EventEmitter,
    on_searched: Callable[[Sequence[Finding]], None] = lambda findings: None,
) -> tuple[ReportSection, list[Finding]]:
    """The section of a part of the plan, and all that was found for it.

    A section of an `earlier` report is kept if nothing new is found. Each round of reflection asks
    for what is missing, at most `options.queries` new tasks at a time and `options.reflections`
    rounds. Where the meter has no room for a step, the section stays as it is. `searched` is called
    with what was found when there will be no further search.
    """
    options, earlier, now = context.options, context.earlier_report, context.clock()
    section = earlier.section(part_id) if earlier else ReportSection(part=part_id)
    findings: list[Finding] = []
    tasks = [task for task in plan.tasks if task.part == part_id]
    for round_ in range(options.reflections + 1):
        emit("section", part=part_id, step="searching", round=round_)
        findings += await asyncio.gather(*map(search, tasks))
        if round_ == options.reflections:
            on_searched(findings)
        if earlier and section.spans and not earlier.new_findings(findings):
            section = section.model_copy(update={"kept": True})
            break
        material = earlier.section_material(part_id, findings, now) if earlier else findings
        try:
            emit("section", part=part_id, step="writing", round=round_)
            section = await _write_text(section, round_, question, plan, material, context, emit)
            if round_ == options.reflections:
                break
            emit("section", part=part_id, step="reflecting", round=round_)
            reflection = await _reflect_on_section(section, round_, question, plan, material, context, emit)
        except RunEndedError as ended:
            context.budget.record_skip(ended.reason)
            break
        section = section.model_copy(
            update={
                "rounds": round_ + 1,
                "gap": reflection.gap,
                "failures": (*section.failures, *reflection.failures),
            }
        )
        follow_ups = [keep_known_urls(task, question) for task in reflection.follow_ups]
        tasks = select_new_tasks(follow_ups, findings, options)
        if reflection.sufficient or not tasks:
            break
    on_searched(findings)
    emit(
        "section", part=part_id, step="done", round=section.rounds, cites=_count_citations(section),
        kept=section.kept,
    )  # fmt: skip
    return section, findings


async def _write_text(
    section: ReportSection, round_: int, question: Question, plan: Plan, findings: Sequence[Finding],
    context: RunContext, emit: EventEmitter,
) -> ReportSection:  # fmt: skip
    async def ask() -> ReportSection:
        async with context.budget.writing.enter():
            return await context.reasoner.write_section(question, plan, section, findings, context.options, emit)

    step = _step_name(f"{section.part} text {round_}", section, plan, findings)
    return await run_once(step, ReportSection, ask, context.step_results)


async def _reflect_on_section(
    section: ReportSection, round_: int, question: Question, plan: Plan, findings: Sequence[Finding],
    context: RunContext, emit: EventEmitter,
) -> Reflection:  # fmt: skip
    async def ask() -> Reflection:
        async with context.budget.searching.enter():
            return await context.reasoner.reflect_on_section(
                question, plan, section, findings, context.options, round_ + 1, emit
            )

    step = _step_name(f"{section.part} judgement {round_}", section, plan, findings)
    return await run_once(step, Reflection, ask, context.step_results)


def _step_name(name: str, section: ReportSection, plan: Plan, findings: Sequence[Finding]) -> str:
    """A step's name, which is another one where the section is to tell something else, or where a
    search has succeeded that failed before."""
    about = [text for p in plan.parts if p.id == section.part for text in (p.subject, p.text)]
    known = sorted({f.task.key for f in findings if f.reason in (None, "empty")})
    return f"{name} {fingerprint(*about, *known)}"


async def run_once(step: str, output_type: type[_R], ask: Callable[[], Awaitable[_R]], step_results: StepResults) -> _R:
    """What was noted of a step, else what comes of it now. What failed is not noted: it is tried
    again by a run that goes on."""
    if (known := step_results.load_result(step)) is not None:
        return output_type.model_validate_json(known)
    made = await ask()
    if not getattr(made, "failures", ()):
        await step_results.save_result(step, made.model_dump_json())
    return made


def assemble_report(
    plan: Plan,
    preface: Draft,
    sections: Sequence[ReportSection],
    language: Language,
    findings: Sequence[Finding] = (),
) -> Draft:
    """A report: what stands before its sections, and the sections in the order of the outline. One
    without a text says what came of its searches. A section that is alone and has headings of its own
    stands under the report's title."""
    known = {section.part: section for section in sections}
    spans = [span.model_copy(update={"part": ""}) for span in preface.spans]
    for part in plan.parts:
        section = known.get(part.id, ReportSection(part=part.id))
        if len(plan.parts) > 1 or not any(span.kind == "heading" for span in section.spans):
            title = f"{HEADING_PREFIX}{heading_text(part.subject)}\n\n"
            spans.append(Span(kind="text", text=title, part=part.id))
        fate = _search_outcome([f for f in findings if f.task.part == part.id])
        why = message(f"unwritten.{fate}", language)
        body = section.spans or (Span(kind="missing", text=why),)
        spans += [span.model_copy(update={"part": part.id}) for span in body]
    authors = [preface.author, *(section.author for section in sections)]
    return Draft(
        spans=tuple(spans),
        author=next(filter(None, authors), ""),
        failures=(*(f for s in sections for f in s.failures), *preface.failures),
        unwritten=preface.unwritten,
    )


def _search_outcome(findings: Sequence[Finding]) -> str:
    reasons = {finding.reason for finding in findings}
    if not reasons or reasons & {None, "left out"}:
        return "other"
    return "empty" if reasons == {"empty"} else "failed"


def heading_text(title: str) -> str:
    """A title that may come from a model, as the text of a Markdown heading: one line, no marks."""
    return re.sub(r"([\\`*_\[\]<>|#@])", r"\\\1", " ".join(title.split()))


def select_new_tasks(tasks: Sequence[Task], findings: Sequence[Finding], options: RunOptions) -> list[Task]:
    """Tasks for chosen sources that the section has not had, at most `queries`."""
    seen = {finding.task.key for finding in findings}
    fresh: dict[str, Task] = {}
    for task in tasks:
        if task.source in options.sources and task.key not in seen:
            fresh.setdefault(task.key, task)
    return list(fresh.values())[: options.queries]


def _count_citations(section: ReportSection) -> int:
    return sum(bool(span.cites) for span in section.spans)
