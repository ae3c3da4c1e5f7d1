"""The section stage: one section of a report, searched, written, judged and deepened by itself.

Sections do not wait for each other. Each step of one is noted as soon as it is paid for, so that a
run that goes on repeats none of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from research.agent.nodes.addresses import held
from research.agent.nodes.budget import Ended
from research.agent.nodes.context import RunContext
from research.agent.nodes.update import HEADING
from research.core.i18n import message
from research.core.records import (
    Draft,
    Finding,
    Language,
    Options,
    Plan,
    Question,
    Record,
    Reflection,
    Say,
    Section,
    Span,
    Task,
    fingerprint,
)
from research.sources.base import Notes

_R = TypeVar("_R", bound=Record)
Search = Callable[[Task], Awaitable[Finding]]


async def work(
    part: str,
    question: Question,
    plan: Plan,
    search: Search,
    context: RunContext,
    say: Say,
    searched: Callable[[Sequence[Finding]], None] = lambda findings: None,
) -> tuple[Section, list[Finding]]:
    """The section of a part of the plan, and all that was found for it.

    A section of an `earlier` report is kept if nothing new is found. Each round of reflection asks
    for what is missing, at most `options.queries` new tasks at a time and `options.reflections`
    rounds. Where the meter has no room for a step, the section stays as it is. `searched` is called
    with what was found when there will be no further search.
    """
    options, earlier, now = context.options, context.earlier, context.clock()
    section = earlier.section(part) if earlier else Section(part=part)
    findings: list[Finding] = []
    tasks = [task for task in plan.tasks if task.part == part]
    for round_ in range(options.reflections + 1):
        say("section", part=part, step="searching", round=round_)
        findings += await asyncio.gather(*map(search, tasks))
        if round_ == options.reflections:
            searched(findings)
        if earlier and section.spans and not earlier.fresh(findings):
            section = section.model_copy(update={"kept": True})
            break
        material = earlier.material(part, findings, now) if earlier else findings
        try:
            say("section", part=part, step="writing", round=round_)
            section = await _filled(section, round_, question, plan, material, context, say)
            if round_ == options.reflections:
                break
            say("section", part=part, step="reflecting", round=round_)
            reflection = await _judged(section, round_, question, plan, material, context, say)
        except Ended as ended:
            context.meter.lack(ended.why)
            break
        section = section.model_copy(
            update={
                "rounds": round_ + 1,
                "gap": reflection.gap,
                "failures": (*section.failures, *reflection.failures),
            }
        )
        follow_ups = [held(task, question) for task in reflection.follow_ups]
        tasks = new(follow_ups, findings, options)
        if reflection.sufficient or not tasks:
            break
    searched(findings)
    say(
        "section", part=part, step="done", round=section.rounds, cites=_cites(section),
        kept=section.kept,
    )  # fmt: skip
    return section, findings


async def _filled(
    section: Section, round_: int, question: Question, plan: Plan, findings: Sequence[Finding],
    context: RunContext, say: Say,
) -> Section:  # fmt: skip
    async def ask() -> Section:
        async with context.meter.writing.open():
            return await context.reasoner.fill(
                question, plan, section, findings, context.options, say
            )

    step = _step(f"{section.part} text {round_}", section, plan, findings)
    return await once(step, Section, ask, context.notes)


async def _judged(
    section: Section, round_: int, question: Question, plan: Plan, findings: Sequence[Finding],
    context: RunContext, say: Say,
) -> Reflection:  # fmt: skip
    async def ask() -> Reflection:
        async with context.meter.searching.open():
            return await context.reasoner.reconsider(
                question, plan, section, findings, context.options, round_ + 1, say
            )

    step = _step(f"{section.part} judgement {round_}", section, plan, findings)
    return await once(step, Reflection, ask, context.notes)


def _step(name: str, section: Section, plan: Plan, findings: Sequence[Finding]) -> str:
    """A step's name, which is another one where the section is to tell something else, or where a
    search has succeeded that failed before."""
    about = [text for p in plan.parts if p.id == section.part for text in (p.subject, p.text)]
    known = sorted({f.task.key for f in findings if f.reason in (None, "empty")})
    return f"{name} {fingerprint(*about, *known)}"


async def once(step: str, shape: type[_R], ask: Callable[[], Awaitable[_R]], notes: Notes) -> _R:
    """What was noted of a step, else what comes of it now. What failed is not noted: it is tried
    again by a run that goes on."""
    if (known := notes.noted(step)) is not None:
        return shape.model_validate_json(known)
    made = await ask()
    if not getattr(made, "failures", ()):
        await notes.note(step, made.model_dump_json())
    return made


def bound(
    plan: Plan,
    head: Draft,
    sections: Sequence[Section],
    tongue: Language,
    findings: Sequence[Finding] = (),
) -> Draft:
    """A report: what stands before its sections, and the sections in the order of the outline. One
    without a text says what came of its searches. A section that is alone and has headings of its own
    stands under the report's title."""
    known = {section.part: section for section in sections}
    spans = [span.model_copy(update={"part": ""}) for span in head.spans]
    for part in plan.parts:
        section = known.get(part.id, Section(part=part.id))
        if len(plan.parts) > 1 or not any(span.kind == "heading" for span in section.spans):
            title = f"{HEADING}{heading(part.subject)}\n\n"
            spans.append(Span(kind="text", text=title, part=part.id))
        fate = _fate([f for f in findings if f.task.part == part.id])
        why = message(f"unwritten.{fate}", tongue)
        body = section.spans or (Span(kind="missing", text=why),)
        spans += [span.model_copy(update={"part": part.id}) for span in body]
    authors = [head.author, *(section.author for section in sections)]
    return Draft(
        spans=tuple(spans),
        author=next(filter(None, authors), ""),
        failures=(*(f for s in sections for f in s.failures), *head.failures),
        unwritten=head.unwritten,
    )


def _fate(findings: Sequence[Finding]) -> str:
    reasons = {finding.reason for finding in findings}
    if not reasons or reasons & {None, "left out"}:
        return "other"
    return "empty" if reasons == {"empty"} else "failed"


def heading(title: str) -> str:
    """A title that may come from a model, as the text of a Markdown heading: one line, no marks."""
    return re.sub(r"([\\`*_\[\]<>|#@])", r"\\\1", " ".join(title.split()))


def new(tasks: Sequence[Task], findings: Sequence[Finding], options: Options) -> list[Task]:
    """Tasks for chosen sources that the section has not had, at most `queries`."""
    seen = {finding.task.key for finding in findings}
    fresh: dict[str, Task] = {}
    for task in tasks:
        if task.source in options.sources and task.key not in seen:
            fresh.setdefault(task.key, task)
    return list(fresh.values())[: options.queries]


def _cites(section: Section) -> int:
    return sum(bool(span.cites) for span in section.spans)
