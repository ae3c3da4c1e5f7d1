"""Terminal lines that describe the events of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import research
from research.cli.terminal import clean_line, shorten

if TYPE_CHECKING:
    from research import Event, Plan, Reflection, TaskFinished


StyledLines = list[tuple[str, str]]


def format_event(event: Event) -> StyledLines:
    """Return the lines about an event, each with its style; none for events without one."""
    match event.data:
        case research.StatusChanged(status=status):
            return [(status, "dim")]
        case research.PlanMade(plan=plan):
            return _plan_lines(plan)
        case research.ClarificationNeeded(clarification=clarification):
            return [(f"asks: {shorten(clarification.question)}", "bold")]
        case research.ClarificationAnswered(answer=answer):
            return [(f"answered: {shorten(answer or '(skipped)')}", "bold")]
        case research.InstructionAdded(text=text):
            return [(f"instruction: {shorten(text)}", "bold")]
        case research.TaskStarted(task=task):
            why = f" ({task.purpose})" if task.purpose else ""
            return [(f"round {task.round}: {task.source} ← {shorten(task.query)}{why}", "cyan")]
        case research.TaskFinished() as finished:
            return _finding_lines(finished)
        case research.ToolCalled(tool=tool, arguments=arguments):
            values = " ".join(str(value) for value in arguments.values())
            return [(f"  {tool} {shorten(clean_line(values))}", "dim")]
        case research.DatabaseStepTaken(step=step):
            return [(f"  {step.kind} {shorten(clean_line(step.sql or step.text))}", "dim")]
        case research.ReflectionMade(reflection=reflection):
            return _reflection_lines(reflection)
        case research.SectionAdvanced(part=part, step="done", cites=cites):
            return [(f"section {part}: done, citations: {cites}", "bold")]
        case research.SectionAdvanced(part=part, step=step_name, round=round_):
            return [(f"section {part}: {step_name} ({round_ + 1})", "dim")]
        case research.RowAdvanced(row=row, step="done", filled=filled, cells=cells):
            return [(f"row {row}: {filled} of {cells} cells", "bold")]
        case research.RowAdvanced(row=row, step=step_name):
            return [(f"row {row}: {step_name}", "dim")]
        case research.WritingStarted():
            return [("writing", "dim")]
        case research.AnswerWritten(quotes=quotes, cites=cites, failures=failures):
            return [(_answer_line(quotes if cites is None else cites, failures), "bold")]
        case research.CheckStarted(sentences=sentences):
            return [(f"checking {sentences} sentences", "dim")]
        case research.ReportSaved(report=path, problem=problem):
            return [(f"not saved: {problem}", "yellow")] if problem else [(f"saved: {path}", "dim")]
    return [(f"  {text}", style) for text, style in _call_lines(event)]


def _call_lines(event: Event) -> StyledLines:
    """Return the lines about an event of a call to a model or service, or one with a note."""
    match event.data:
        case research.RateLimitWait(service=service, is_over=False):
            return [(f"{service}: waiting for its turn", "dim")]
        case research.RetryScheduled(service=service, reason=reason, seconds=seconds):
            return [(f"{service}: {reason}, retrying in {seconds:g} s", "yellow")]
        case research.PartsUnreadable(service=service, parts=parts):
            return [(f"{service}: could not be read in the answer: {shorten(clean_line('; '.join(parts)))}", "yellow")]
    note = clean_line(event.data.describe("en"))
    return [(note, "yellow")] if note else []


def _plan_lines(plan: Plan) -> StyledLines:
    if plan.grid:
        first = f"table: {len(plan.grid.rows)} rows by {len(plan.grid.columns)} columns"
    else:
        first = f"plan: {shorten('; '.join(part_label(part.subject, part.text) for part in plan.parts))}"
    return [(first, "bold")] + [(note, "dim") for note in plan.notes]


def _explain_reason(finished: TaskFinished) -> str:
    """Explain why a search found nothing. Return the reason itself if it is that of a later version."""
    try:
        failure = research.Failure(
            source=finished.provider or finished.task.source,
            reason=finished.reason,
            hint=finished.hint,
            message=finished.message,
        )
    except ValueError:
        return str(finished.reason)
    return finished.message or "nothing found" if failure.reason == "empty" else research.explain_failure(failure, "en")


def _finding_lines(finished: TaskFinished) -> StyledLines:
    query = shorten(finished.task.query, 40)
    if finished.reason:
        style = "dim" if finished.reason == "empty" else "yellow"
        return [(f"  {query} → {_explain_reason(finished)}", style)]
    titles = "; ".join(dict.fromkeys(finished.titles))
    if finished.provider:
        titles = f"{finished.provider}: {titles}"
    suffix = ", reused" if finished.reused else f", {finished.seconds:.2f} s"
    noun = "passage" if finished.passages == 1 else "passages"
    return [(f"  {query} → {finished.passages} {noun}{suffix}: {shorten(titles)}", "green")]


def _reflection_lines(reflection: Reflection) -> StyledLines:
    lines = [(f"reflection: {shorten(reflection.note)}", "bold")]
    if not reflection.sufficient:
        lines += [(f"  missing: {shorten(gap)}", "") for gap in reflection.gap]
        lines += [(f"  next: {shorten(task.query)}", "") for task in reflection.follow_ups]
    return lines


def _answer_line(cited: int, failed: int) -> str:
    note = f", {failed} {'step' if failed == 1 else 'steps'} failed" if failed else ""
    return f"answer: {cited} {'cited statement' if cited == 1 else 'cited statements'}{note}"


def part_label(subject: str, text: str) -> str:
    """Return the text of a part of the question, after its subject unless the text contains that."""
    return f"{subject}: {text}" if subject and subject not in text else text
