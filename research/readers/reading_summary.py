"""Texts on how a table was read from a file: one line of decisions, and the doubts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from research.core.i18n import Translator, message
from research.core.reading_notes import describe_reading_note
from research.core.records import Language, ReadingNote, ReadingNoteKind
from research.readers.table_records import FileColumn, FileTable

MAX_NAMED_COLUMNS = 4
MAX_EXAMPLE_ROWS = 3
_DELIMITERS = {",": "loaded.commas", ";": "loaded.semicolons", "\t": "loaded.tabs", "|": "loaded.bars"}
_ENCODINGS = {"utf-8-sig": "UTF-8", "cp950": "Big5", "cp932": "Shift_JIS", "cp949": "EUC-KR"}
_SET_ASIDE = {
    "total": "loaded.totals_aside",
    "average": "loaded.averages_aside",
    "note": "loaded.notes_aside",
    "width": "loaded.wide_aside",
    "heading": "loaded.headings_aside",
}
_COLUMN_REMARKS = (
    "total_columns",
    "sentinel",
    "parentheses",
    "blank_labels",
    "hidden_columns",
    "percent",
)  # name columns of the table
_REASONS: dict[str, ReadingNoteKind] = {
    "day or month first": "day or month first",
    "different units": "different units",
    "thousands or decimals": "thousands or decimals",
    "two-digit years": "two-digit years",
    "shortened": "shortened",
    "other values": "other values",
    "metres or millions": "metres or millions",
}


def encoding_label(encoding: str) -> str:
    """Return the usual name of an encoding, such as Windows-1252."""
    if encoding.startswith("cp125"):
        return f"Windows-{encoding[2:]}"
    return _ENCODINGS.get(encoding, encoding.upper())


def describe_reading(table: FileTable, language: Language) -> str:
    """Return one line on how a table was read, such as "Semicolons, Windows-1252, headings in row 3"."""
    translate: Translator = lambda key, /, **blanks: message(key, language, **blanks)  # noqa: E731
    parts = [*_layout_parts(table, translate), *_column_parts(table, translate), *_row_parts(table, translate)]
    line = message("mark.comma", language).join(parts)
    return line[:1].upper() + line[1:]


def reading_lines(table: FileTable, language: Language) -> list[str]:
    """Return the line on how a table was read, and a sentence for each doubt and set of rows left out."""
    return [describe_reading(table, language), *(describe_reading_note(note, language) for note in find_notes(table))]


def _layout_parts(table: FileTable, translate: Translator) -> Iterator[str]:
    if table.sheet_name:
        yield translate("loaded.sheet", sheet=table.sheet_name)
    elif not table.delimiter:
        yield translate("loaded.own_types")
        return
    if table.delimiter:
        key = _DELIMITERS.get(table.delimiter)
        yield translate(key) if key else translate("loaded.other_delimiter", mark=table.delimiter)
        yield encoding_label(table.encoding)
    if not table.header:
        yield translate("loaded.no_headings")
    elif table.header_rows > 1:
        yield translate("loaded.headings_in_rows", first=table.header - table.header_rows + 1, last=table.header)
    else:
        yield translate("loaded.headings_in_row", row=table.header)


def _column_parts(table: FileTable, translate: Translator) -> Iterator[str]:
    typed = [column for column in table.columns if column.type != "text"]
    named = partial(_join_names, translate=translate)
    if columns := [c for c in typed if c.type in ("integer", "number") and c.format.decimal_mark == ","]:
        yield translate("loaded.decimal_commas", columns=named(columns))
    if columns := [c for c in typed if c.format.date_order == "dmy"]:
        yield translate("loaded.days_first", columns=named(columns))
    if columns := [c for c in typed if c.format.date_order == "mdy"]:
        yield translate("loaded.months_first", columns=named(columns))
    for is_zone, unit in dict.fromkeys((c.type == "datetime", c.format.unit) for c in typed if c.format.unit):
        columns = [c for c in typed if c.format.unit == unit and (c.type == "datetime") == is_zone]
        if is_zone:
            yield translate("loaded.zone", zone=unit, columns=named(columns))
        else:
            shown = unit.replace("\\", "₩" if table.encoding == "cp949" else "¥")
            yield translate("loaded.unit", unit=shown, columns=named(columns))
    if columns := [c for c in typed if c.format.is_scaled]:
        yield translate("loaded.scaled", columns=named(columns))
    if columns := [c for c in typed if c.format.is_compact]:
        yield translate("loaded.compact", columns=named(columns))
    if columns := [c for c in typed if c.format.serials]:
        yield translate("loaded.serials", columns=named(columns), n=sum(c.format.serials for c in columns))
    if columns := [c for c in table.columns if c.format.reason == "names"]:
        yield translate("loaded.names", columns=named(columns))
    if columns := [c for c in table.columns if c.format.reason == "identifier"]:
        yield translate("loaded.identifiers", columns=named(columns))
    if columns := [c for c in typed if c.missing]:
        yield translate("loaded.missing", columns=named(columns), n=sum(c.missing for c in columns))
    if columns := [c for c in table.columns if c.choice]:
        yield translate("loaded.chosen", columns=named(columns))


def _row_parts(table: FileTable, translate: Translator) -> Iterator[str]:
    if table.set_aside_count > len(table.set_aside):
        yield translate("loaded.rows_aside", n=table.set_aside_count)
    else:
        for kind, number in Counter(row.kind for row in table.set_aside).items():
            yield translate(_SET_ASIDE[kind], n=number)
    if table.correction.keep_totals:
        yield translate("loaded.totals_kept")


def _join_names(columns: Sequence[FileColumn], *, translate: Translator) -> str:
    names = [column.name for column in columns[:MAX_NAMED_COLUMNS]]
    more = ["…"] if len(columns) > MAX_NAMED_COLUMNS else []
    return translate("mark.list").join(names + more)


def find_notes(table: FileTable) -> tuple[ReadingNote, ...]:
    """Return the doubts with which a table was read, and the totals that are not in it."""
    return (
        *(note for column in table.columns for note in _column_notes(table, column)),
        *_row_notes(table),
        *_layout_notes(table),
    )


def _column_notes(table: FileTable, column: FileColumn) -> Iterator[ReadingNote]:
    note = partial(ReadingNote, table=table.name, column=column.name)
    if odd := column.odd:
        yield note(
            kind="left out" if column.choice else "mixed",
            type=odd.type,
            count=odd.count,
            total=odd.total,
            examples=odd.examples,
        )
    elif column.name in table.kept:  # a table that an earlier version has read
        yield note(kind="mixed", type="number")
    elif column.type == "text" and (reason := _REASONS.get(column.format.reason)):
        yield note(kind=reason, examples=(column.format.example,) if column.format.example else ())
    if column.type != "text" and column.format.is_doubtful:
        yield note(kind="thousands" if column.type == "integer" else "decimals")


def _row_notes(table: FileTable) -> Iterator[ReadingNote]:
    for kind, note_kind in (("total", "totals"), ("average", "averages"), ("width", "wide rows")):
        rows = [row for row in table.set_aside if row.kind == kind]
        if rows:
            is_complete = table.set_aside_count == len(table.set_aside)
            yield ReadingNote(
                kind=note_kind,
                table=table.name,
                count=len(rows) if is_complete else table.set_aside_count,
                examples=tuple(f"{row.text} ({row.row})" for row in rows[:MAX_EXAMPLE_ROWS]),
            )
    if table.short_rows:
        yield ReadingNote(kind="short rows", table=table.name, count=table.short_rows)


def _layout_notes(table: FileTable) -> Iterator[ReadingNote]:
    for notice in table.notices:
        note = partial(ReadingNote, kind=notice.kind, table=table.name)
        if notice.kind in _COLUMN_REMARKS:
            for name in notice.text.split(", "):
                yield note(column=name, examples=(name,), count=1)
        else:
            yield note(examples=(notice.text,) if notice.text else (), count=notice.count)
