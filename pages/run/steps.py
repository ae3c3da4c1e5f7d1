"""Steps of a database search as text, during the run and afterwards."""

from __future__ import annotations

from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_duration, format_number, t
from research import DatabaseStep, has_message

CONFIRMED = "confirmed"  # text of a step that reuses a confirmed statement
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
    """Return a step as Markdown without its SQL.

    Its text is cut at `max_characters`; 0 means no limit.
    """
    key = f"thought.{step.kind}"
    name = t(key) if has_message(key) else escape_markdown(step.kind)
    text = t("thought.known") if step.kind == "write" and step.text == CONFIRMED else step.text
    row_text = ""
    if step.rows is not None:
        gained = step.kind == "supplement"
        row_text = t("thought.gained", n=step.rows) if gained else t("rows.rows", n=format_number(step.rows))
    duration = format_duration(step.seconds) if step.kind == "run" else ""
    details = " · ".join(filter(None, [escape_markdown(text, max_characters), row_text, duration]))
    return f"**{name}** — {details}" if details else f"**{name}**"
