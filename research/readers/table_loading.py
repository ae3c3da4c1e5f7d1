"""Writing of the tables of a file into a DuckDB database."""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import csv
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import duckdb

from research.core.sql_quoting import quote_identifier, quote_literal
from research.readers.column_choices import make_odd_values
from research.readers.delimited_text import MAX_LINE_CHARS, has_usual_style, read_rows
from research.readers.nested_columns import flat_expression
from research.readers.row_conversion import RowConverter
from research.readers.table_areas import TableArea
from research.readers.table_layout import filled_count
from research.readers.table_records import (
    MAX_ROWS,
    SHEET_SUFFIXES,
    TYPED_SUFFIXES,
    FileColumn,
    FileColumnType,
    FileTable,
    UnreadableTableError,
)
from research.readers.table_remarks import TableRemark
from research.readers.table_sources import SchemaMismatchError, open_engine, read_sheets
from research.readers.total_rows import (
    MAX_SET_ASIDE,
    ROW_HINT,
    RowKind,
    RowSorter,
    SetAsideRow,
    TotalColumns,
    is_total_heading,
    make_set_aside,
)
from research.readers.worker import ProgressCallback

BLOCK_ROWS = 500  # that are converted at once
MIN_BLOCK_ROWS = 32
LABEL_COLUMNS = 3  # of text, in which a row is named a total
MIN_ENGINE_BYTES = 4_000_000  # of a text file, from which on the engine reads it by itself if it can
_NO_SUM = re.compile(
    r"率|比重|占比|比例|[%％]|增速|增长|指数|平均|均价|单价|价格|年份|年度$|^年$|^月$|编号|序号|排名|名次|rate|share|ratio|percent|index|average"
    r"|\bavg|mean|price|^year\b|\byear$|^month\b|\bmonth$|\bid\b|\bno\.?$|rank|growth",
    re.IGNORECASE,
)
_SQL_TYPES: dict[FileColumnType, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "boolean": "BOOLEAN",
}


def write_table(path: Path, table: FileTable, target: Path, report_progress: ProgressCallback) -> FileTable:
    """Write a table into the database `target`, and return it as written: with the number of its rows,
    and with the columns that became text because some of their values are of another type.

    Raises:
        UnreadableTableError: the file is broken, or has too many rows.
    """
    kind = table.kind
    if kind in TYPED_SUFFIXES:
        create = partial(
            _create_table, path, table=table, target=target, report_progress=report_progress, has_own_types=True
        )
        try:
            return create(flat_expression(path, table.file, kind))
        except SchemaMismatchError:
            return create(flat_expression(path, table.file, kind, -1))
    if kind not in SHEET_SUFFIXES and table.encoding == "utf-8-sig" and _is_plain(path, table):
        try:
            return _create_table(path, _csv_expression(path, table, table.delimiter), table, target, report_progress)
        except UnreadableTableError as error:
            if error.reason not in ("broken", "value"):
                raise
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        csv_path = Path(folder) / "plain.csv"
        written = _write_plain_csv(path, table, csv_path)
        plain = written.model_copy(update={"header": 0})
        created = _create_table(csv_path, _csv_expression(csv_path, plain, ","), plain, target, report_progress)
        return created.model_copy(update={"header": table.header})


def _is_plain(path: Path, table: FileTable) -> bool:
    """Return True if the engine can read a large text file as it is: no value needs converting, no row may be a
    total or a note.
    """
    if path.stat().st_size < MIN_ENGINE_BYTES or table.area != TableArea():
        return False
    if len(table.delimiter.encode()) != 1 or not all(column.format.is_plain for column in table.columns):
        return False
    if not has_usual_style(path, table.encoding, table.delimiter):
        return False
    labels = [n for n, column in enumerate(table.columns) if column.type == "text"]
    if not labels:
        return True
    source = _csv_expression(path, table, table.delimiter)
    words = " or ".join(f"regexp_matches(c{n}, {quote_literal(ROW_HINT)}, 'i')" for n in labels[:LABEL_COLUMNS])
    is_unlabelled = " and ".join(f"coalesce(trim(c{n}), '') = ''" for n in labels)
    try:
        with open_engine(path, table.file) as raw:
            query = f"select count(*) from {source} where {words} or ({is_unlabelled})"
            (count,) = raw.execute(query).fetchone() or (0,)
    except (UnreadableTableError, SchemaMismatchError, duckdb.ConversionException):
        return False
    return not count


def _csv_expression(path: Path, table: FileTable, delimiter: str) -> str:
    """Return the SQL that reads a CSV file as text columns c0, c1, …"""
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({quote_literal(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {quote_literal(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {MAX_LINE_CHARS}, null_padding = false)"
    )


def _read_table_rows(path: Path, table: FileTable) -> Iterator[list[str]]:
    """Yield all rows of a table's file or sheet, the headings included, cut to the columns of its area."""
    if table.kind not in SHEET_SUFFIXES:
        rows: Iterator[list[str]] = read_rows(path, table.encoding, table.delimiter, table.file)
    else:
        rows = next(
            (sheet.rows for sheet in read_sheets(path, table.kind, table.file) if sheet.name == table.sheet_name),
            iter(()),
        )
    area = table.area
    for number, row in enumerate(rows, 1):
        if area.last_row and number > area.last_row:
            return
        yield area.cut(row) if area.contains(number) else []


@dataclass
class _WrittenRows:
    """The result of one pass over the rows of a table."""

    columns: tuple[FileColumn, ...] = ()
    has_mixed_columns: bool = False
    set_aside: list[SetAsideRow] = field(default_factory=list)
    set_aside_count: int = 0
    short_rows: int = 0
    remarks: tuple[TableRemark, ...] = ()
    late_kinds: dict[int, RowKind] = field(default_factory=dict)

    def put_aside(self, number: int, kind: RowKind, row: Sequence[str]) -> None:
        """Keep a row beside the table."""
        self.set_aside_count += 1
        if len(self.set_aside) < MAX_SET_ASIDE:
            self.set_aside.append(make_set_aside(number, kind, row))


def _write_plain_csv(path: Path, table: FileTable, csv_path: Path) -> FileTable:
    """Write the data of a table to `csv_path`, without headings, in the forms that the engine reads.

    Returns the table with the rows that are no data, the number of missing values, remarks, and as text the
    columns that have a value in another form. Values in another form, and totals above their rows, are known
    only after a pass over the rows, which is then repeated.
    """
    late_kinds: dict[int, RowKind] = {}
    while True:
        result = _write_rows(path, table, csv_path, late_kinds)
        table = table.model_copy(update={"columns": result.columns})
        if result.has_mixed_columns:
            late_kinds = {}
        elif result.late_kinds and not late_kinds:
            late_kinds = result.late_kinds
        else:
            break
    update = {
        "set_aside": tuple(result.set_aside),
        "set_aside_count": result.set_aside_count,
        "short_rows": result.short_rows,
        "notices": (*table.notices, *result.remarks),
    }
    return table.model_copy(update=update)


def _write_rows(path: Path, table: FileTable, csv_path: Path, late_kinds: Mapping[int, RowKind]) -> _WrittenRows:
    """Write the rows of a table, but those of `late_kinds`, which a former pass has shown to be no data."""
    rows = enumerate(_read_table_rows(path, table), 1)
    headings = [row for _, row in islice(rows, table.header)]
    with csv_path.open("w", encoding="utf-8", newline="") as output:
        writer = _RowWriter(table, headings, output, late_kinds)
        while block := list(islice(rows, BLOCK_ROWS)):
            writer.add_block(block)
    return writer.finish()


class _RowWriter:
    """Writes rows of data in the forms that the engine reads, and keeps the others beside them."""

    def __init__(
        self, table: FileTable, headings: Sequence[Sequence[str]], output: TextIO, late_kinds: Mapping[int, RowKind]
    ) -> None:
        self._table, self._late_kinds = table, late_kinds
        numbers, additive = _number_columns(table)
        self._sorter = RowSorter(numbers, additive, [heading for heading in headings if filled_count(heading) > 1])
        self._totals = TotalColumns(additive)
        self._converter = RowConverter(table.columns)
        self._result = _WrittenRows()
        self._output = csv.writer(output, quoting=csv.QUOTE_ALL, lineterminator="\n")
        self._has_rows = False

    def add_block(self, block: Sequence[tuple[int, list[str]]]) -> None:
        """Add rows with their numbers: at once if they are surely data, else half of them each, or one by one."""
        width = len(self._table.columns)
        rows = [row for _, row in block]
        is_even = all(len(row) == width for row in rows) and not any(number in self._late_kinds for number, _ in block)
        converted = self._converter.convert_rows(rows) if is_even else None
        if converted is None or not self._sorter.add_data(converted):
            if len(block) > MIN_BLOCK_ROWS and self._sorter.accepts_blocks:
                middle = len(block) // 2
                self.add_block(block[:middle])
                self.add_block(block[middle:])
                return
            for number, row in block:
                self._add_row(number, row)
            return
        self._converter.accept_rows(rows, converted)
        values = list(zip(*converted, strict=True))
        if self._totals.is_open:
            for row_values in values:
                self._totals.add(row_values)
        self._output.writerows(values)

    def _add_row(self, number: int, row: list[str]) -> None:
        self._has_rows = True
        if not any(cell.strip() for cell in row):
            self._sorter.skip_blank()
            return
        width = len(self._table.columns)
        values = self._converter.convert(row)
        if any(row[width:]):
            self._result.put_aside(number, "width", row)
            return
        blanks = [""] * (width - len(values))
        has_missing = self._converter.has_missing
        kind = self._sorter.kind(number, values + blanks, has_missing=has_missing) or self._late_kinds.get(number)
        if kind and not (kind in ("total", "average") and self._table.correction.keep_totals):
            self._result.put_aside(number, kind, row)
            return
        self._result.short_rows += bool(blanks)
        values = self._converter.accept() + blanks
        self._totals.add(values)
        self._output.writerow(values)

    def finish(self) -> _WrittenRows:
        """Return what became of the rows."""
        result, columns = self._result, self._table.columns
        result.columns, result.has_mixed_columns = self._converter.columns(), self._converter.has_mixed_columns
        if self._has_rows:
            findings = self._sorter.finish()
            result.late_kinds = findings.kinds
            totals = (columns[n] for n in self._totals.found())
            sums = ", ".join(column.name for column in totals if not is_total_heading(column.heading))
            column_remarks = (TableRemark(kind="total_columns", text=sums, count=1),) if sums else ()
            result.remarks = (*findings.remarks, *column_remarks)
        return result


def _number_columns(table: FileTable) -> tuple[list[int], list[int]]:
    """Return the columns with numbers, and those of them whose sums mean something."""
    numbers = [n for n, column in enumerate(table.columns) if column.type in ("integer", "number")]
    additive = [
        n for n in numbers if table.columns[n].format.unit != "%" and not _NO_SUM.search(table.columns[n].heading)
    ]
    return numbers, additive


def _value_expression(column_index: int, kind: FileColumnType) -> str:
    """Return the SQL that converts a text column to a type, or fails."""
    text = f"nullif(trim(c{column_index}), '')"
    if kind == "text":
        return f"nullif(rtrim(replace(c{column_index}, e'\\r\\n', e'\\n'), e' \\t'), '')"
    if kind == "integer":  # DuckDB would round 1.5
        return f"CAST(CASE WHEN contains(c{column_index}, '.') OR contains(c{column_index}, 'e') OR contains(c{column_index}, 'E') THEN c{column_index} || '!' ELSE {text} END AS BIGINT)"
    if kind in ("date", "datetime"):
        text = f"replace(translate({text}, '年月/', '---'), '日', '')"
        if kind == "date":
            text = f"replace({text}, '.', '-')"
        else:  # a point may also precede fractions of a second
            text = rf"regexp_replace({text}, '^(\d{{4}})\.(\d+)\.(\d+)', '\1-\2-\3')"
    return f"CAST({text} AS {_SQL_TYPES[kind]})"


def _create_table(
    path: Path,
    source: str,
    table: FileTable,
    target: Path,
    report_progress: ProgressCallback,
    *,
    has_own_types: bool = False,
) -> FileTable:
    """Create a table from `source`, the SQL that reads its file.

    With `has_own_types`, the columns of the source have the headings as their names, and a column with a
    value of another type becomes text; else the columns are texts called c0, c1, …

    Raises:
        UnreadableTableError: the file is broken, has too many rows, or a value is of another type ("value").
    """
    for _ in range(2):
        columns = table.columns
        if has_own_types:
            quoted_headings = [quote_identifier(column.heading) for column in columns]
            values = [
                f"{'TRY_CAST' if c.choice and c.odd else 'CAST'}({name} AS {_SQL_TYPES[c.type]})"
                for name, c in zip(quoted_headings, columns, strict=True)
            ]
        else:
            values = [_value_expression(n, column.type) for n, column in enumerate(columns)]
        select_list = ", ".join(f"{v} AS {quote_identifier(c.name)}" for v, c in zip(values, columns, strict=True))
        try:
            with open_engine(path, table.file, target) as raw, _poll_progress(raw, report_progress):
                raw.execute(f"create table {quote_identifier(table.name)} as select {select_list} from {source}")
                (rows,) = raw.execute(f"select count(*) from {quote_identifier(table.name)}").fetchone() or (0,)
        except duckdb.ConversionException:
            if not has_own_types:
                raise UnreadableTableError("value", table.file) from None
            texts = [f"nullif(trim(CAST({heading} AS VARCHAR)), '')" for heading in quoted_headings]
            tries = [f"TRY_CAST({h} AS {_SQL_TYPES[c.type]})" for h, c in zip(quoted_headings, columns, strict=True)]
            counts = [f"count({text}), count({text}) FILTER (WHERE {value} IS NULL)" for text, value in zip(texts, tries, strict=True)]  # fmt: skip
            with open_engine(path, table.file) as raw, _poll_progress(raw, report_progress):
                row = raw.execute(f"select {', '.join(counts)} from {source}").fetchone() or ()
            table = _with_odd_values(table, list(zip(row[::2], row[1::2], strict=True)))
            continue
        if rows > MAX_ROWS:
            raise UnreadableTableError("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise UnreadableTableError("value", table.file)


def _with_odd_values(table: FileTable, counts: Sequence[tuple[int, int]]) -> FileTable:
    """Return a table with the number of values, and of values of another type, of each column.

    A column with such values is text unless a person has chosen its type.
    """
    columns = list(table.columns)
    for index, (total, count) in enumerate(counts):
        if count:
            column = columns[index]
            update = {"odd": make_odd_values(column.type, (), count, total)}
            columns[index] = column.model_copy(update=update if column.choice else update | {"type": "text"})
    return table.model_copy(update={"columns": tuple(columns)})


@contextmanager
def _poll_progress(raw: duckdb.DuckDBPyConnection, report_progress: ProgressCallback) -> Iterator[None]:
    """Report the progress of the statements executed in the context."""
    finished = threading.Event()

    def poll() -> None:
        while not finished.wait(0.25):
            percentage: Any = raw.query_progress()
            if isinstance(percentage, float) and 0 <= percentage <= 100:
                report_progress(percentage / 100)

    thread = threading.Thread(target=poll, name="sightline-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
