"""The section stage: one section of a report, searched, written and judged independently.

Sections do not wait for each other. The result of each step is saved as soon as it is paid for, so
that a resumed run repeats none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.question_urls import keep_known_urls
from research.agent.nodes.report_update import HEADING_PREFIX
from research.agent.reasoner import ReasonerInput
from research.core.events import EventEmitter, SectionAdvanced
from research.core.i18n import message
from research.core.records import (
    Draft,
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
    """Write the section of a part of the plan; return it with all its findings.

    A section of an earlier report is kept if nothing new is found. Each of at most
    `options.reflections` rounds of reflection adds at most `options.queries` tasks. If the budget
    forbids a step, the section stays as it is.

    `on_searched` receives the findings once no further search will follow: before the text of the
    last possible round is written, and again at the end.
    """
    options, earlier, now = context.options, context.earlier_report, context.clock()
    section = earlier.section(part_id) if earlier else ReportSection(part=part_id)
    findings: list[Finding] = []
    tasks = [task for task in plan.tasks if task.part == part_id]
    for round_ in range(options.reflections + 1):
        emit(SectionAdvanced(part=part_id, step="searching", round=round_))
        findings += await asyncio.gather(*map(search, tasks))
        if round_ == options.reflections:
            on_searched(findings)
        if earlier and section.spans and not earlier.new_findings(findings):
            section = section.model_copy(update={"carried_over": True})
            break
        material = earlier.section_material(part_id, findings, now) if earlier else findings
        try:
            emit(SectionAdvanced(part=part_id, step="writing", round=round_))
            step = _step_name(f"{part_id} text {round_}", section, plan, material)
            inputs = ReasonerInput(question, options, emit, plan, material)
            write = partial(context.reasoner.write_section, inputs, section)
            scope = context.budget.writing
            section = await load_or_compute(step, ReportSection, partial(scope.run, write), context.step_results)
            if round_ == options.reflections:
                break
            emit(SectionAdvanced(part=part_id, step="reflecting", round=round_))
            step = _step_name(f"{part_id} judgement {round_}", section, plan, material)
            judge = partial(context.reasoner.reflect_on_section, inputs, section, round_ + 1)
            scope = context.budget.searching
            reflection = await load_or_compute(step, Reflection, partial(scope.run, judge), context.step_results)
        except RunEndedError as ended:
            context.budget.record_skip(ended.reason)
            break
        failures = (*section.failures, *reflection.failures)
        update = {"rounds": round_ + 1, "gap": reflection.gap, "failures": failures}
        section = section.model_copy(update=update)
        follow_ups = [keep_known_urls(task, question) for task in reflection.follow_ups]
        tasks = select_new_tasks(follow_ups, findings, options)
        if reflection.sufficient or not tasks:
            break
    on_searched(findings)
    cites = sum(bool(span.references) for span in section.spans)
    emit(SectionAdvanced(part=part_id, step="done", round=section.rounds, cites=cites, kept=section.carried_over))
    return section, findings


def _step_name(name: str, section: ReportSection, plan: Plan, findings: Sequence[Finding]) -> str:
    """Return the key of a step's result; it depends on the section's topic and successful searches."""
    texts = [text for p in plan.parts if p.id == section.part for text in (p.subject, p.text)]
    succeeded = sorted({f.task.key for f in findings if not f.has_failed})
    return f"{name} {fingerprint(*texts, *succeeded)}"


async def load_or_compute(
    step: str, output_type: type[_R], compute: Callable[[], Awaitable[_R]], step_results: StepResults
) -> _R:
    """Return the saved result of a step, or compute and save it.

    Results with failures are not saved, so that a resumed run tries again.
    """
    if (saved := step_results.load_result(step)) is not None:
        return output_type.model_validate_json(saved)
    result = await compute()
    if not getattr(result, "failures", ()):
        await step_results.save_result(step, result.model_dump_json())
    return result


def assemble_report(
    plan: Plan,
    preface: Draft,
    sections: Sequence[ReportSection],
    language: Language,
    findings: Sequence[Finding] = (),
) -> Draft:
    """Assemble a report from its preface and its sections, in the order of the outline.

    A section without text states the outcome of its searches. A single section with headings of its
    own stands directly under the report's title.
    """
    by_part = {section.part: section for section in sections}
    spans = [span.model_copy(update={"part": ""}) for span in preface.spans]
    for part in plan.parts:
        section = by_part.get(part.id, ReportSection(part=part.id))
        if len(plan.parts) > 1 or not any(span.kind == "heading" for span in section.spans):
            title = f"{HEADING_PREFIX}{escape_heading(part.subject)}\n\n"
            spans.append(Span(kind="text", text=title, part=part.id))
        outcome = _search_outcome([f for f in findings if f.task.part == part.id])
        explanation = message(f"unwritten.{outcome}", language)
        body = section.spans or (Span(kind="missing", text=explanation),)
        spans += [span.model_copy(update={"part": part.id}) for span in body]
    authors = [preface.author, *(section.author for section in sections)]
    return Draft(
        spans=tuple(spans),
        author=next(filter(None, authors), ""),
        failures=(*(f for s in sections for f in s.failures), *preface.failures),
        placeholder=preface.placeholder,
    )


def _search_outcome(findings: Sequence[Finding]) -> str:
    """Return the outcome of searches as the end of a message id: empty, failed or other."""
    reasons = {finding.reason for finding in findings}
    if not reasons or reasons & {None, "left out"}:
        return "other"
    return "empty" if reasons == {"empty"} else "failed"


def escape_heading(title: str) -> str:
    """Escape a title, possibly from a model, as the one-line text of a Markdown heading."""
    return re.sub(r"([\\`*_\[\]<>|#@])", r"\\\1", " ".join(title.split()))


def select_new_tasks(tasks: Sequence[Task], findings: Sequence[Finding], options: RunOptions) -> list[Task]:
    """Return the new tasks of chosen sources, at most `options.queries`."""
    seen = {finding.task.key for finding in findings}
    new_tasks: dict[str, Task] = {}
    for task in tasks:
        if task.source in options.sources and task.key not in seen:
            new_tasks.setdefault(task.key, task)
    return list(new_tasks.values())[: options.queries]
