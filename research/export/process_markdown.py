"""Markdown sections on the course of a run: its failures, its plan and its rounds."""

from __future__ import annotations

from collections.abc import Iterator

from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Evidence, Failure, FailureHint, FailureReason, Finding, Reflection, Report, Task
from research.export.failures import FailureGroup, group_failures
from research.export.markdown_escaping import (
    bullet_list,
    escape_lines_keeping_formulas,
    escape_markdown,
    join_facts,
    service_label,
)
from research.export.report_facts import collect_failures, report_language, round_numbers, to_utc, unfinished_tasks
from research.export.report_texts import has_report_text
from research.export.sources_markdown import source_line

MAX_QUERIES = 5  # queries listed for failures with the same sentence


# Plan and rounds


def failure_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield the section on failures: groups with their queries, then service messages."""
    failures = collect_failures(report, cited)
    if not failures:
        return
    groups = group_failures(failures, report_language(report, cited))
    yield f"## {translate('failures')}"
    yield from bullet_list(_failure_group_line(group, translate) for group in groups)
    details = dict.fromkeys(text for group in groups for text in group.details)
    if details:
        yield (translate("failure details") + translate("colon")).rstrip()
        yield from bullet_list(escape_markdown(text) for text in details)


def _failure_group_line(group: FailureGroup, translate: Translator) -> str:
    text = escape_markdown(group.text)
    if group.failure_count > 1:
        text += translate("aside", what=f"{group.failure_count}×")
    queries = [f"“{escape_markdown(query)}”" for query in group.queries[:MAX_QUERIES]]
    if len(group.queries) > MAX_QUERIES:
        queries.append("…")
    return text + translate("aside", what=translate("comma").join(queries)) if queries else text


def _failure_line(failure: Failure, translate: Translator) -> str:
    """Describe a failure: query, stage, service and reason."""
    stage = translate(f"stage.{failure.stage}")
    service = service_label(failure.source, translate) if failure.source.strip() else ""
    subject = f"“{escape_markdown(failure.query)}”" if failure.query.strip() else stage
    facts = [
        stage if failure.stage != "search" and subject != stage else "",
        service,
        *_reason_facts(failure.reason, failure.hint, failure.message, translate),
    ]
    return f"{subject} — {join_facts(facts, translate)}"


def _reason_facts(
    reason: FailureReason | None, hint: FailureHint, message: str, translate: Translator
) -> Iterator[str]:
    """Yield a reason in words, and a hint."""
    if reason == "unclear" and message.strip():  # the message is a question to the user
        yield translate("reason.unclear") + translate("colon") + escape_markdown(message)
        return
    if reason == "no model" and message.strip():  # the message is complete
        yield escape_markdown(message)
        return
    yield translate(f"reason.{reason}") if reason else ""
    yield translate(f"hint.{hint}") if hint else ""
    if reason in (None, "empty"):  # other messages are in the section on failures
        yield escape_markdown(message)


# Plan and rounds


def plan_blocks(report: Report, translate: Translator, *, include_evidence: bool) -> Iterator[str]:
    """Yield the plan and its rounds, with the sources of each search if `include_evidence` is set."""
    yield f"## {translate('plan')}"
    if report.plan is None:
        yield translate("no plan")
    else:
        if report.plan.edited:
            yield translate("edited")
        yield from bullet_list(_conversation_lines(report, translate))
        if report.plan.parts:
            yield translate("parts")
        yield from bullet_list(
            f"“{escape_markdown(part.text)}”" + (f" — {escape_markdown(part.subject)}" if part.subject else "")
            for part in report.plan.parts
        )
        yield from (escape_markdown(note) for note in report.plan.notes if note.strip())
    for number in round_numbers(report):
        yield from _round_blocks(report, number, translate, include_evidence=include_evidence)


def _conversation_lines(report: Report, translate: Translator) -> Iterator[str]:
    """Yield the clarification of the run and the instructions sent while it ran."""
    clarification = report.clarification
    if clarification and clarification.answer is not None:
        answer = escape_markdown(clarification.answer) or translate("clarified skipped")
        yield translate("clarified", question=escape_markdown(clarification.question), answer=answer)
    for instruction in report.instructions:
        yield translate(
            "instruction" if instruction.applied else "instruction late", text=escape_markdown(instruction.text)
        )


def _round_blocks(report: Report, round_number: int, translate: Translator, *, include_evidence: bool) -> Iterator[str]:
    yield f"### {translate('round', round=round_number)}"
    finished = [
        _finding_line(finding, translate, include_evidence=include_evidence)
        for finding in report.findings
        if finding.task.round == round_number
    ]
    unfinished = [
        _task_line(task, [translate("not run")], translate) for task in unfinished_tasks(report, round_number)
    ]
    yield from bullet_list([*finished, *unfinished])
    for reflection in report.reflections:
        if reflection.round == round_number:
            yield from _reflection_blocks(reflection, translate)


def _task_line(task: Task, outcome: list[str], translate: Translator, provider: str = "") -> str:
    service = service_label(task.source, translate)
    service_note = translate("by", source=service, provider=service_label(provider, translate)) if provider else ""
    reason = (
        translate(f"why.{task.purpose}") if has_report_text(f"why.{task.purpose}") else escape_markdown(task.purpose)
    )
    why = translate("why", why=reason) if task.purpose.strip() else ""
    return f"“{escape_markdown(task.query)}” — {join_facts([service_note or service, why, *outcome], translate)}"


def _reuse_note(finding: Finding, translate: Translator) -> str:
    """Note that a result comes from the cache, with its time, or is reused."""
    if finding.cached:
        return translate("cached", time=f"{to_utc(finding.started):%Y-%m-%d %H:%M} UTC")
    return translate("reused") if finding.reused else ""


def _finding_line(finding: Finding, translate: Translator, *, include_evidence: bool) -> str:
    count = finding.passage_count
    outcome = [
        translate("passage" if count == 1 else "passages", count=count) if not finding.reason else "",
        *_reason_facts(finding.reason, finding.hint, finding.message, translate),
        translate("seconds", seconds=f"{finding.seconds:.1f}"),
        _reuse_note(finding, translate),
    ]
    queries = translate("semicolon").join(f"“{escape_markdown(query)}”" for query in finding.provider_queries)
    details = [
        *([translate("asked", queries=queries)] if queries else []),
        *(translate("beside", failure=_failure_line(failure, translate)) for failure in finding.failures),
        *(_found_source_line(item, translate) for item in finding.evidence if include_evidence),
    ]
    line = _task_line(finding.task, outcome, translate, finding.provider.strip())
    return "".join([line, *(f"\n  - {fact}" for fact in details)])


def _found_source_line(evidence: Evidence, translate: Translator) -> str:
    """Format a source of a finding, and note if its words are those of a search model."""
    grounding = any(passage.origin == "grounding" for passage in evidence.passages)
    return source_line(evidence, translate) + (translate("semicolon") + translate("grounding") if grounding else "")


def _reflection_blocks(reflection: Reflection, translate: Translator) -> Iterator[str]:
    yield translate("sufficient" if reflection.sufficient else "insufficient")
    yield from escape_lines_keeping_formulas(reflection.note)
    yield from bullet_list(
        [
            *(translate("gap", gap=escape_markdown(gap)) for gap in reflection.gap),
            *(translate("follow-up", query=_task_line(task, [], translate)) for task in reflection.follow_ups),
        ]
    )
