"""Sentences on the doubts with which a table was read from a file."""

from __future__ import annotations

from collections.abc import Iterable

from research.core.i18n import message
from research.core.records import Language, ReadingNote

_MESSAGE_KEYS = {
    "left out": "loaded.left_out",
    "mixed": "loaded.mixed",
    "thousands": "loaded.as_thousands",
    "decimals": "loaded.as_decimals",
    "day or month first": "loaded.day_or_month_first",
    "different units": "loaded.different_units",
    "totals": "loaded.totals",
    "wide rows": "loaded.wide_rows",
    "short rows": "loaded.short_rows",
}


def describe_reading_note(note: ReadingNote, language: Language) -> str:
    """Return one sentence on a doubt with which a table was read."""
    sentence = message(
        _MESSAGE_KEYS[note.kind],
        language,
        table=note.table,
        column=note.column,
        type=note.type,
        count=note.count,
        total=note.total,
    )
    # Quoted, so that no point of an example ends the sentence.
    quoted = [message("mark.quoted", language, text=example) for example in note.examples]
    examples = message("mark.list", language).join(quoted)
    if not examples:
        return sentence + message("mark.stop", language)
    return message("mark.colon", language).join([sentence, examples]) + message("mark.stop", language)


def reading_note_lines(notes: Iterable[ReadingNote]) -> list[str]:
    """Return the notes in Chinese and English, one line each, for files that have no language."""
    return [f"{describe_reading_note(note, 'zh')} / {describe_reading_note(note, 'en')}" for note in notes]
