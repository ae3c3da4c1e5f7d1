"""The answer stage: the reasoner's draft, with notes on failures and sample data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from research.agent.nodes.budget import LimitReason, RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.section import assemble_report, load_or_compute
from research.agent.nodes.table import table_draft
from research.agent.reasoner import ReasonerInput
from research.citations.numbering import number_citations
from research.citations.registry import collect_evidence
from research.core.coordinates import format_distance
from research.core.events import EventEmitter
from research.core.i18n import message
from research.core.records import (
    ASKS_BACK,
    Answer,
    Cell,
    Draft,
    Failure,
    Finding,
    Language,
    Plan,
    Question,
    Reflection,
    ReportSection,
    Span,
    fingerprint,
)
from research.core.text.tokenizer import certain_language

SQL_TOOL = "sql"  # marks a task whose query is SQL
# Requests for an answer in a language: 用英文, "in Chinese"; not "in Chinese cities".
_LANGUAGE_REQUEST_TEMPLATE = r"\b(?:in|into|to)(?: simplified| traditional| plain)? (?:{0})\b(?!\s+(?!please|only|and|with)[a-z])|\b(?:write|draft|translate)\b.{{0,24}}\b(?:{0})\b"
_LANGUAGE_REQUESTS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        rf"(?:用|以|成|为|译|写).{{0,8}}英[文语]|英[文语]版|{_LANGUAGE_REQUEST_TEMPLATE.format('english')}", re.I
    ),
    "zh": re.compile(
        rf"(?:用|以|成|为|译|写).{{0,8}}(?:中文|汉语|简体|繁体)|中文版|{_LANGUAGE_REQUEST_TEMPLATE.format('chinese|mandarin')}",
        re.I,
    ),
}
_NON_PROSE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]*`|“[^”]*”|「[^」]*」|https?://\S+", re.M | re.S)
MAX_SUGGESTIONS = 5  # search suggestions; Google's terms limit them for one answer


class AnswerNotWrittenError(Exception):
    """The answer could not be written; `answer` replaces it and holds the evidence."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        reasons = [f"{f.reason}: {f.message}" for f in answer.failures if f.stage == "write"]
        super().__init__("; ".join(reasons) or "the answer could not be written")


async def compose_answer(
    question: Question,
    plan: Plan,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
    reflections: Sequence[Reflection] = (),
    sections: Sequence[ReportSection] = (),
    cells: Sequence[Cell] = (),
) -> Answer:
    """Write the answer of a run. If the budget allows none, quote the findings.

    Raises:
        AnswerNotWrittenError: no model could write it now; the findings are kept for another
          attempt.
    """
    material, created_at = (*findings, *question.memory_findings), context.clock()
    unwritten_reason: LimitReason = ""
    if plan.grid:
        draft = table_draft(plan.grid, cells, question.language)
    else:
        draft, unwritten_reason = await _write_draft(question, plan, findings, context, emit, reflections, sections)
    limit_notices = context.budget.notices(question.language, unwritten_reason)
    notices = (*limit_notices, *_widened_search_notices(question, findings))
    draft = draft.model_copy(update={"spans": (*notices, *draft.spans)})
    failures = [*plan.failures]
    if plan.grid:  # an unclear query is no failure of a cell, as other sources are searched
        findings = [finding for finding in findings if finding.reason not in ASKS_BACK]
    for round_ in sorted({f.task.round for f in findings} | {r.round for r in reflections}):
        failures += search_failures([f for f in findings if f.task.round == round_])
        failures += [f for r in reflections if r.round == round_ for f in r.failures]
    answer = build_answer(question, draft, material, created_at, failures)
    if plan.grid:
        answer = answer.model_copy(update={"cells": tuple(cells)})
    if draft.placeholder:
        raise AnswerNotWrittenError(answer)
    return answer


async def _write_draft(
    question: Question,
    plan: Plan,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
    reflections: Sequence[Reflection],
    sections: Sequence[ReportSection],
) -> tuple[Draft, LimitReason]:
    """Let the reasoner write, and return the draft and the limit that prevented it, if any."""
    material = (*findings, *question.memory_findings)
    reasoner, earlier_report = context.reasoner, context.earlier_report
    inputs = ReasonerInput(question, context.options, emit, plan, material)
    try:
        async with context.budget.writing.enter():
            if plan.outline:
                if earlier_report and sections and all(section.carried_over for section in sections):
                    preface = earlier_report.preface
                else:
                    sections_fingerprint = fingerprint(*(s.model_dump_json() for s in sections))
                    preface = await load_or_compute(
                        f"preface {sections_fingerprint}",
                        Draft,
                        lambda: reasoner.write_preface(inputs, sections),
                        context.step_results,
                    )
                return assemble_report(plan, preface, sections, question.language, findings), ""
            if findings and all(finding.task.tool == SQL_TOOL for finding in findings):
                return reasoner.quote_findings(question, plan, material), ""  # rows answer it
            return await reasoner.write(inputs, reflections), ""
    except RunEndedError as ended:
        draft = reasoner.quote_findings(question, plan, material)
        if plan.outline and any(section.spans for section in sections):
            empty_preface = Draft(spans=(), author=draft.author)
            draft = assemble_report(plan, empty_preface, sections, question.language, findings)
        return draft, ended.reason


def _widened_search_notices(question: Question, findings: Sequence[Finding]) -> Iterator[Span]:
    """Yield a notice for each place around which a search had to exceed the requested radius."""
    widened = (f for f in findings if f.search_area and f.search_area.requested_radius)
    for finding in {f.search_area: f for f in widened}.values():
        if finding.provider == "offline" and not finding.evidence:
            continue  # the built-in sample of places is incomplete, as the finding states
        centre, language = finding.search_area, question.language
        assert centre is not None
        key = "answering.widened" if finding.evidence else "answering.nowhere"
        distances = {"asked": format_distance(centre.requested_radius), "far": format_distance(centre.radius)}
        text = message(key, language, place=centre.name, **distances)
        yield Span(kind="notice", text=text)


def _language_notices(question: Question, draft: Draft) -> Iterator[Span]:
    """Yield a notice if an answer is in another language than its question, unless requested.

    Quotes are ignored, as they are in the language of their sources.
    """
    prose = "".join(span.text for span in draft.spans if span.kind == "text" and not span.generated)
    language = certain_language(_NON_PROSE.sub(" ", prose))
    if not language or language == question.language:
        return
    if not _LANGUAGE_REQUESTS[language].search(question.original_text or question.text):
        yield Span(kind="notice", text=message("answering.unlike", question.language))


def build_answer(
    question: Question,
    draft: Draft,
    findings: Sequence[Finding],
    created_at: datetime,
    earlier_failures: Sequence[Failure] = (),
) -> Answer:
    """Build an answer from a draft, with notes on failures and sample data."""
    answer = Answer(
        title=question.original_text or question.text,
        language=question.language,
        author=draft.author,
        spans=(*_language_notices(question, draft), *draft.spans),
        failures=tuple(dict.fromkeys((*earlier_failures, *draft.failures))),
        placeholder=draft.placeholder,
        suggestions=tuple(dict.fromkeys(f.suggestions for f in findings if f.suggestions))[:MAX_SUGGESTIONS],
        created=created_at,
    )
    sources = number_citations(answer, collect_evidence(findings)).sources
    return answer.model_copy(update={"sample": any(s.evidence.sample for s in sources)})


def search_failures(findings: Sequence[Finding]) -> tuple[Failure, ...]:
    """Return the failures of searches, including partial ones. A search without results has not failed."""
    failures: list[Failure] = []
    for finding in findings:
        failures += finding.failures
        if finding.has_failed:
            failures.append(
                Failure(
                    source=finding.task.source,
                    query=finding.task.query,
                    reason=finding.reason,
                    hint=finding.hint,
                    message=finding.message,
                )
            )
    return tuple(failures)
