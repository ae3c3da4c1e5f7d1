"""What a database was put to, step by step, in words: while it happens and afterwards."""

from __future__ import annotations

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_duration, format_number, t
from research import DatabaseStep, has_message

CONFIRMED = "confirmed"  # what the engine says of a statement that somebody has found right
STEP_ICONS = {
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


def describe_step(step: DatabaseStep, max_characters: int = 0) -> str:
    """A step without its statement, as Markdown; what it says is cut at `limit` characters."""
    key = f"thought.{step.kind}"
    name = t(key) if has_message(key) else escape_markdown(step.kind)
    text = t("thought.known") if step.kind == "write" and step.text == CONFIRMED else step.text
    found = ""
    if step.rows is not None:
        gained = step.kind == "supplement"
        found = t("thought.gained", n=step.rows) if gained else t("rows.rows", n=format_number(step.rows))
    took = format_duration(step.seconds) if step.kind == "run" else ""
    said = " · ".join(filter(None, [escape_markdown(text, max_characters), found, took]))
    return f"**{name}** — {said}" if said else f"**{name}**"
