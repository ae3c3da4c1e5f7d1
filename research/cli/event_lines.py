"""Terminal lines that describe the events of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from research.cli.terminal import clean_line, shorten

if TYPE_CHECKING:
    from research import Event


StyledLines = list[tuple[str, str]]


def _plan_lines(event: Event) -> StyledLines:
    plan = event.data["plan"]
    if grid := plan["grid"]:
        size = f"{len(grid['rows'])} rows by {len(grid['columns'])} columns"
        return [(f"table: {size}", "bold")] + [(note, "dim") for note in plan["notes"]]
    parts = "; ".join(part_label(p["subject"], p["text"]) for p in plan["parts"])
    return [(f"plan: {shorten(parts)}", "bold")] + [(note, "dim") for note in plan["notes"]]


def _search_lines(event: Event) -> StyledLines:
    task = event.data["task"]
    why = f" ({task['why']})" if task["why"] else ""
    return [(f"round {task['round']}: {task['source']} ← {shorten(task['query'])}{why}", "cyan")]


def _explain_reason(data: Mapping[str, Any]) -> str:
    """Explain why a search found nothing; an unknown reason of a later version is returned as it
    is."""
    from research import Failure, explain_failure

    try:
        failure = Failure(
            source=data.get("provider") or data["task"]["source"],
            reason=data["reason"],
            hint=data.get("hint", ""),
            message=data["message"],
        )
    except ValueError:
        return str(data["reason"])
    return data["message"] or "nothing found" if failure.reason == "empty" else explain_failure(failure, "en")


def _finding_lines(event: Event) -> StyledLines:
    data = event.data
    query = shorten(data["task"]["query"], 40)
    if data["reason"]:
        style = "dim" if data["reason"] == "empty" else "yellow"
        return [(f"  {query} → {_explain_reason(data)}", style)]
    count = data["passages"]
    titles = "; ".join(dict.fromkeys(data["titles"]))
    if data["provider"]:
        titles = f"{data['provider']}: {titles}"
    suffix = ", reused" if data["reused"] else f", {data['seconds']:.2f} s"
    noun = "passage" if count == 1 else "passages"
    return [(f"  {query} → {count} {noun}{suffix}: {shorten(titles)}", "green")]


def _reflection_lines(event: Event) -> StyledLines:
    data = event.data
    if data.get("skipped"):
        return []
    lines = [(f"reflection: {shorten(data['note'])}", "bold")]
    if not data["sufficient"]:
        lines += [(f"  missing: {shorten(gap)}", "") for gap in data["gap"]]
        lines += [(f"  next: {shorten(task['query'])}", "") for task in data["follow_ups"]]
    return lines


def _answer_lines(event: Event) -> StyledLines:
    cited, failed = event.data["cites"], event.data["failures"]
    note = f", {failed} {'step' if failed == 1 else 'steps'} failed" if failed else ""
    return [
        (
            f"answer: {cited} {'cited statement' if cited == 1 else 'cited statements'}{note}",
            "bold",
        )
    ]


def _retry_lines(event: Event) -> StyledLines:
    data = event.data
    return [(f"  {data['what']}: {data['reason']}, retrying in {data['seconds']:g} s", "yellow")]


def _row_lines(event: Event) -> StyledLines:
    data = event.data
    if data["step"] == "done":
        return [(f"row {data['row']}: {data['filled']} of {data['cells']} cells", "bold")]
    return [(f"row {data['row']}: {data['step']}", "dim")]


def _section_lines(event: Event) -> StyledLines:
    data = event.data
    if data["step"] == "done":
        return [(f"section {data['part']}: done, citations: {data['cites']}", "bold")]
    return [(f"section {data['part']}: {data['step']} ({data['round'] + 1})", "dim")]


def _queue_lines(event: Event) -> StyledLines:
    over = event.data["over"]
    return [] if over else [(f"  {event.data['what']}: waiting for its turn", "dim")]


def _unsupported_thinking_lines(event: Event) -> StyledLines:
    data = event.data
    return [
        (
            f"  {data['what']}: does not accept thinking level {data['level']}; asked without",
            "yellow",
        )
    ]


def _undercount_lines(event: Event) -> StyledLines:
    data = event.data
    return [
        (
            f"  {data['what']}: counted only {data['tokens']} tokens of a longer prompt; it may not "
            "have read all of it",
            "yellow",
        )
    ]


def _unreadable_lines(event: Event) -> StyledLines:
    data = event.data
    parts = shorten(clean_line("; ".join(data["parts"])))
    return [(f"  {data['what']}: could not be read in the answer: {parts}", "yellow")]


def _tool_lines(event: Event) -> StyledLines:
    data = event.data
    if "arguments" not in data:  # a step of the database agent
        return [(f"  {data['name']} {shorten(clean_line(data['sql'] or data['text']))}", "dim")]
    arguments = " ".join(str(value) for value in data["arguments"].values())
    return [(f"  {data['tool']} {shorten(clean_line(arguments))}", "dim")]


def _status_lines(event: Event) -> StyledLines:
    return [(event.data["status"], "dim")]


def _saved_lines(event: Event) -> StyledLines:
    path, why = event.data["report"], event.data["problem"]
    return [(f"not saved: {why}", "yellow")] if why else [(f"saved: {path}", "dim")]


def part_label(subject: str, text: str) -> str:
    return f"{subject}: {text}" if subject and subject not in text else text


LINES_BY_EVENT: dict[str, Callable[[Event], StyledLines]] = {
    "status": _status_lines,
    "plan": _plan_lines,
    "search": _search_lines,
    "found": _finding_lines,
    "tool": _tool_lines,
    "reflection": _reflection_lines,
    "writing": lambda _: [("writing", "dim")],
    "checking": lambda event: [(f"checking {event.data['sentences']} sentences", "dim")],
    "waiting": _retry_lines,
    "section": _section_lines,
    "row": _row_lines,
    "queued": _queue_lines,
    "unthinking": _unsupported_thinking_lines,
    "prompt_undercounted": _undercount_lines,
    "parts_unreadable": _unreadable_lines,
    "unclear": lambda event: [(f"asks: {shorten(event.data['question'])}", "bold")],
    "clarified": lambda event: [(f"answered: {shorten(event.data['answer'] or '(skipped)')}", "bold")],
    "instruction": lambda event: [(f"instruction: {shorten(event.data['text'])}", "bold")],
    "saved": _saved_lines,
    "answer": _answer_lines,
}
