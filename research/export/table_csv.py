"""The CSV writer of exported tables: UTF-8, lines as in RFC 4180."""

from __future__ import annotations

from collections.abc import Sequence
from csv import writer
from io import StringIO

from research.export.spreadsheet_text import csv_cell
from research.export.table_model import ExportTable


def table_csv(tables: Sequence[ExportTable]) -> bytes:
    """Encode tables as CSV, column names first.

    A byte order mark keeps Excel from garbling Chinese. Several tables are separated by an empty
    line, each below its name or number. Cells are escaped by `csv_cell`. The metadata `notes` of a table
    stands below it.
    """
    out = StringIO()
    lines = writer(out)
    for at, table in enumerate(tables):
        if len(tables) > 1:
            lines.writerows([[]] * (at > 0) + [[csv_cell(table.name or f"{at + 1}")]])
        lines.writerow([csv_cell(column.name) for column in table.columns])
        lines.writerows([csv_cell(value) for value in row] for row in table.rows)
        lines.writerows(note_lines((table.metadata or {}).get("notes", "").splitlines()))
    return ("\ufeff" + out.getvalue()).encode()


def note_lines(notes: Sequence[str]) -> list[list[str]]:
    """Return the rows of notes below a table, after an empty one; none if there are no notes."""
    return [[], *([csv_cell(f"注 Note: {note}")] for note in notes)] if notes else []
