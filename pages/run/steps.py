"""What a database was put to, step by step, in words: while it happens and afterwards."""

from __future__ import annotations

from pages.shared.safe import plain
from pages.shared.words import number, seconds, t
from research import Step, has_message

KNOWN = "confirmed"  # what the engine says of a statement that somebody has found right
ICONS = {
    "tables": ":material/table_view:",
    "understand": ":material/lightbulb:",
    "link": ":material/link:",
    "write": ":material/edit_note:",
    "refused": ":material/block:",
    "run": ":material/play_arrow:",
    "judge": ":material/rule:",
    "supplement": ":material/playlist_add:",
    "missing": ":material/help:",
}


def told(step: Step, limit: int = 0) -> str:
    """A step without its statement, as Markdown; what it says is cut at `limit` characters."""
    key = f"thought.{step.kind}"
    name = t(key) if has_message(key) else plain(step.kind)
    text = t("thought.known") if step.kind == "write" and step.text == KNOWN else step.text
    found = ""
    if step.rows is not None:
        gained = step.kind == "supplement"
        found = t("thought.gained", n=step.rows) if gained else t("rows.rows", n=number(step.rows))
    took = seconds(step.seconds) if step.kind == "run" else ""
    said = " · ".join(filter(None, [plain(text, limit), found, took]))
    return f"**{name}** — {said}" if said else f"**{name}**"
