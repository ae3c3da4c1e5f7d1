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
    "averages": "loaded.averages",
}
_REASON_KEYS = {
    "thousands or decimals": "loaded.thousands_or_decimals",
    "two-digit years": "loaded.two_digit_years",
    "shortened": "loaded.shortened",
    "other values": "loaded.other_values",
    "metres or millions": "loaded.metres_or_millions",
}
_LAYOUT_KEYS = {
    "area": "loaded.area",
    "above": "loaded.above",
    "words": "loaded.words",
    "row_names": "loaded.row_names",
    "repeated": "loaded.repeated",
    "unnamed": "loaded.unnamed",
    "blank_rows": "loaded.blank_rows",
    "blank_labels": "loaded.blank_labels",
    "unsummed": "loaded.unsummed",
    "unlabelled": "loaded.unlabelled",
    "total_columns": "loaded.total_columns",
    "of_which": "loaded.of_which",
    "indented": "loaded.indented",
    "parts": "loaded.parts",
    "label_rows": "loaded.label_rows",
    "hidden_sheet": "loaded.hidden_sheet",
    "hidden_rows": "loaded.hidden_rows",
    "hidden_columns": "loaded.hidden_columns",
    "filtered": "loaded.filtered",
    "uncalculated": "loaded.uncalculated",
    "errors": "loaded.errors",
    "percent": "loaded.percent",
    "sentinel": "loaded.sentinel",
    "one_column": "loaded.one_column",
    "skipped_sheets": "loaded.skipped_sheets",
    "merged_numbers": "loaded.merged_numbers",
    "unknown_details": "loaded.unknown_details",
    "serial_days": "loaded.serial_days",
    "read_as": "loaded.read_as",
    "cut": "loaded.cut",
    "parentheses": "loaded.parentheses",
}
# Notes on how a file is laid out, which matter to no figure.
LAYOUT_NOTES = frozenset(
    ("area", "above", "words", "row_names", "repeated", "unnamed", "hidden_sheet", "skipped_sheets")
)
# Notes that leave no doubt.
CERTAIN_NOTES = frozenset(("totals", "averages", "area", "above", "row_names", "repeated", "unnamed", "percent"))


def describe_reading_note(note: ReadingNote, language: Language) -> str:
    """Return one sentence on a doubt with which a table was read."""
    if key := _LAYOUT_KEYS.get(note.kind):
        return message(key, language, text="; ".join(note.examples), n=note.count)
    if key := _REASON_KEYS.get(note.kind):
        return message(key, language, column=note.column, example="; ".join(note.examples))
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
