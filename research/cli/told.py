"""What happens in a run, in words: a line or more for each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from research.cli.screen import cut, plain

if TYPE_CHECKING:
    from research import Event


Lines = list[tuple[str, str]]


def _told_plan(event: Event) -> Lines:
    plan = event.data["plan"]
    if grid := plan["grid"]:
        size = f"{len(grid['rows'])} rows by {len(grid['columns'])} columns"
        return [(f"table: {size}", "bold")] + [(note, "dim") for note in plan["notes"]]
    parts = "; ".join(named_part(p["subject"], p["text"]) for p in plan["parts"])
    return [(f"plan: {cut(parts)}", "bold")] + [(note, "dim") for note in plan["notes"]]


def _told_search(event: Event) -> Lines:
    task = event.data["task"]
    why = f" ({task['why']})" if task["why"] else ""
    return [(f"round {task['round']}: {task['source']} ← {cut(task['query'])}{why}", "cyan")]


def _reason(data: Mapping[str, Any]) -> str:
    """Why a search has brought nothing, as a sentence; one of a later version keeps its own word."""
    from research import Failure, explain_failure

    try:
        failure = Failure(
            source=data.get("provider") or data["task"]["source"], reason=data["reason"],
            hint=data.get("hint", ""), message=data["message"],
        )  # fmt: skip
    except ValueError:
        return str(data["reason"])
    return (
        data["message"] or "nothing found"
        if failure.reason == "empty"
        else explain_failure(failure, "en")
    )


def _told_found(event: Event) -> Lines:
    data = event.data
    query = cut(data["task"]["query"], 40)
    if data["reason"]:
        style = "dim" if data["reason"] == "empty" else "yellow"
        return [(f"  {query} → {_reason(data)}", style)]
    count = data["passages"]
    titles = "; ".join(dict.fromkeys(data["titles"]))
    if data["provider"]:
        titles = f"{data['provider']}: {titles}"
    kept = ", reused" if data["reused"] else f", {data['seconds']:.2f} s"
    many = "passage" if count == 1 else "passages"
    return [(f"  {query} → {count} {many}{kept}: {cut(titles)}", "green")]


def _told_reflection(event: Event) -> Lines:
    data = event.data
    if data.get("skipped"):
        return []
    lines = [(f"reflection: {cut(data['note'])}", "bold")]
    if not data["sufficient"]:
        lines += [(f"  missing: {cut(gap)}", "") for gap in data["gap"]]
        lines += [(f"  next: {cut(task['query'])}", "") for task in data["follow_ups"]]
    return lines


def _told_answer(event: Event) -> Lines:
    cited, failed = event.data["cites"], event.data["failures"]
    note = f", {failed} {'step' if failed == 1 else 'steps'} failed" if failed else ""
    return [
        (
            f"answer: {cited} {'cited statement' if cited == 1 else 'cited statements'}{note}",
            "bold",
        )
    ]


def _told_waiting(event: Event) -> Lines:
    data = event.data
    return [(f"  {data['what']}: {data['reason']}, retrying in {data['seconds']:g} s", "yellow")]


def _told_row(event: Event) -> Lines:
    data = event.data
    if data["step"] == "done":
        return [(f"row {data['row']}: {data['filled']} of {data['cells']} cells", "bold")]
    return [(f"row {data['row']}: {data['step']}", "dim")]


def _told_section(event: Event) -> Lines:
    data = event.data
    if data["step"] == "done":
        return [(f"section {data['part']}: done, citations: {data['cites']}", "bold")]
    return [(f"section {data['part']}: {data['step']} ({data['round'] + 1})", "dim")]


def _told_queued(event: Event) -> Lines:
    over = event.data["over"]
    return [] if over else [(f"  {event.data['what']}: waiting for its turn", "dim")]


def _told_unthinking(event: Event) -> Lines:
    data = event.data
    return [
        (
            f"  {data['what']}: does not accept thinking level {data['level']}; asked without",
            "yellow",
        )
    ]


def _tell_undercount(event: Event) -> Lines:
    data = event.data
    return [
        (
            f"  {data['what']}: counted only {data['tokens']} tokens of a longer prompt; it may not "
            "have read all of it",
            "yellow",
        )
    ]


def _tell_unreadable(event: Event) -> Lines:
    data = event.data
    parts = cut(plain("; ".join(data["parts"])))
    return [(f"  {data['what']}: could not be read in the answer: {parts}", "yellow")]


def _told_tool(event: Event) -> Lines:
    data = event.data
    if "arguments" not in data:  # a step of the database
        return [(f"  {data['name']} {cut(plain(data['sql'] or data['text']))}", "dim")]
    said = " ".join(str(value) for value in data["arguments"].values())
    return [(f"  {data['tool']} {cut(plain(said))}", "dim")]


def _told_status(event: Event) -> Lines:
    return [(event.data["status"], "dim")]


def _told_saved(event: Event) -> Lines:
    path, why = event.data["report"], event.data["problem"]
    return [(f"not saved: {why}", "yellow")] if why else [(f"saved: {path}", "dim")]


def named_part(subject: str, text: str) -> str:
    return f"{subject}: {text}" if subject and subject not in text else text


TELL: dict[str, Callable[[Event], Lines]] = {
    "status": _told_status,
    "plan": _told_plan,
    "search": _told_search,
    "found": _told_found,
    "tool": _told_tool,
    "reflection": _told_reflection,
    "writing": lambda _: [("writing", "dim")],
    "checking": lambda event: [(f"checking {event.data['sentences']} sentences", "dim")],
    "waiting": _told_waiting,
    "section": _told_section,
    "row": _told_row,
    "queued": _told_queued,
    "unthinking": _told_unthinking,
    "prompt_undercounted": _tell_undercount,
    "parts_unreadable": _tell_unreadable,
    "unclear": lambda event: [(f"asks: {cut(event.data['question'])}", "bold")],
    "clarified": lambda event: [(f"answered: {cut(event.data['answer'] or '(skipped)')}", "bold")],
    "instruction": lambda event: [(f"instruction: {cut(event.data['text'])}", "bold")],
    "saved": _told_saved,
    "answer": _told_answer,
}
