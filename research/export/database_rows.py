"""Rows of a database as an exported table, and the files of the results of a report.

Values keep their types where the format has types, and NULL is an empty cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from research.citations.numbering import CitedAnswer
from research.core.display_names import localise_rows
from research.core.reading_notes import reading_note_lines
from research.core.records import QueryResult, Report
from research.export.database_rows_markdown import column_coverage_lines
from research.export.options import ExportOptions
from research.export.provenance import provenance_lines
from research.export.report_facts import query_results, report_language
from research.export.report_texts import report_translator
from research.export.table_csv import table_csv
from research.export.table_excel import ABOUT_SHEET, Sheet, workbook_bytes
from research.export.table_model import ExportColumn, ExportTable, unique_names
from research.export.table_parquet import arrow_table, table_parquet


def rows_table(rows: QueryResult) -> ExportTable:
    """Build the table of a result, with unique column names.

    Its metadata is the statement (`sql`), and in how many rows the compared columns have a value
    (`known`), and the doubts with which the files it reads were read (`notes`).
    """
    types = rows.types or ("text",) * len(rows.names)
    columns = [ExportColumn(name, kind) for name, kind in zip(unique_names(rows.names), types, strict=True)]
    metadata = {"sql": rows.sql}
    if lines := _coverage_lines(rows):
        metadata["known"] = "\n".join(lines)
    if rows.reading_notes:
        metadata["notes"] = "\n".join(reading_note_lines(rows.reading_notes))
    return ExportTable("rows", columns, rows.rows, metadata)


def rows_arrow_table(rows: QueryResult) -> pa.Table:
    """Convert rows to an Arrow table with typed columns and unique names."""
    return arrow_table(rows_table(rows))


def rows_excel(rows: QueryResult, provenance: Sequence[str] = ()) -> bytes:
    """Return a workbook with a sheet of typed cells and a sheet with the statement.

    The sheet of the statement also says in how many rows the compared columns have a value, and the doubts
    with which the files it reads were read.
    Provenance lines, if given, go to an "About" sheet.
    """
    typed = arrow_table(rows_table(rows))
    columns = [ExportColumn(name) for name in typed.column_names]
    table = ExportTable("rows", columns, zip(*(column.to_pylist() for column in typed.columns), strict=True))
    lines = [rows.sql, *_coverage_lines(rows), *reading_note_lines(rows.reading_notes)]
    notes: dict[str, Sequence[str]] = {"SQL": lines}
    return workbook_bytes([Sheet(table)], notes | ({ABOUT_SHEET: provenance} if provenance else {}))


def _coverage_lines(rows: QueryResult) -> list[str]:
    """Describe column coverage in Chinese and English, as these files have no language."""
    both = [column_coverage_lines(rows, report_translator(language)) for language in ("zh", "en")]
    return [" / ".join(lines) for lines in zip(*both, strict=True)]


# Writers of the formats "rows": one result of a report, by `table_number` of the options


def result_csv(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return a result as CSV."""
    return table_csv([rows_table(_result(report, options))])


def result_excel(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return a result as a workbook whose column headings are in the language of the options."""
    rows = localise_rows(_result(report, options), options.language or report_language(report, cited))
    return rows_excel(rows, provenance_lines(report, cited))


def result_parquet(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return a result as Parquet."""
    return table_parquet(rows_table(_result(report, options)))


def _result(report: Report, options: ExportOptions) -> QueryResult:
    return query_results(report)[max(options.table_number, 1) - 1]
