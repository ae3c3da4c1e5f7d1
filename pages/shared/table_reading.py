"""Drawing of how a table was read from a file: one line of decisions, the doubts, and the rows that are not in the data."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, t
from research import CERTAIN_NOTES, FileTable, ReadingNote, describe_reading, describe_reading_note, find_notes

MAX_LINE_CHARS = 600
MAX_NOTE_CHARS = 400
_ROW_KIND_KEYS = {
    "total": "files.row_total",
    "average": "files.row_average",
    "note": "files.row_note",
    "width": "files.row_width",
    "heading": "files.row_heading",
}


def draw_reading(table: FileTable, key: str) -> None:
    """Draw how a table was read."""
    st.caption(escape_markdown(describe_reading(table, current_language()), MAX_LINE_CHARS))
    notes = find_notes(table)
    for note in notes:
        if note.kind in CERTAIN_NOTES and note.kind not in ("totals", "averages"):  # these are in the summary
            st.caption(escape_markdown(describe_reading_note(note, current_language()), MAX_NOTE_CHARS))
    draw_doubts(notes)
    if table.set_aside:
        label = t("files.set_aside", n=format_number(table.set_aside_count))
        with st.popover(label, icon=":material/splitscreen_bottom:", type="tertiary", key=f"aside_{key}"):
            lines = [
                t("files.row", n=row.row, kind=t(_ROW_KIND_KEYS[row.kind]), text=escape_markdown(row.text, 300))
                for row in table.set_aside
            ]
            st.markdown("\n".join(f"- {line}" for line in lines))


def draw_doubts(notes: Sequence[ReadingNote]) -> None:
    """Draw the doubts among notes on how tables were read; those that are certain are left out."""
    lines = [
        escape_markdown(describe_reading_note(note, current_language()), MAX_NOTE_CHARS)
        for note in notes
        if note.kind not in CERTAIN_NOTES
    ]
    if lines:
        st.warning(lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines), icon=":material/help:")
