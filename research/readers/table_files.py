"""Conversion of table files to a DuckDB database: CSV, TSV, Excel, Parquet and JSON lines.

Two steps allow corrections in between: `detect_tables` detects tables, columns and types,
`load_tables` writes them. No value is dropped: a column with a value of another type, such as a
word among numbers, stays text and is reported.

Files are untrusted, so both steps run in child processes with limits (`research.readers.pool`), and
results are written as JSON and as a database. The engine may read only that one path, and has no
network and no extensions. Workbooks are measured before they are opened
(`research.readers.extents`). Table and column names consist of letters, digits and _.
"""

# ruff: noqa: S608  (statements consist of our own text, quoted names and numbered columns)

from __future__ import annotations

import codecs
import csv
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

import duckdb
from pydantic import Field
from python_calamine import CalamineWorkbook, SheetTypeEnum

from research.core.records import Language, Record
from research.readers.duckdb_config import ENGINE_CONFIG
from research.readers.extents import ExtentError, check_workbook
from research.readers.packages import PackageError
from research.readers.pool import MB, ParserError, ParserPool, ResourceLimits

FileColumnType = Literal["text", "integer", "number", "date", "datetime", "boolean"]
COLUMN_TYPES: tuple[FileColumnType, ...] = get_args(FileColumnType)
UnreadableReason = Literal[
    "kind", "size", "rows", "columns", "empty", "encoding", "ragged", "broken", "value", "extent",
    "unpacked", "time", "memory", "busy", "start",
]  # fmt: skip
MAX_FILE_BYTES = 1_073_741_824
MAX_ROWS = 20_000_000  # per table
MAX_COLUMNS = 500
SAMPLE_ROWS = 2_000  # rows from which types are inferred
PREVIEW_ROWS = 5  # rows shown
MAX_SHEETS = 50
MAX_UNPACKED_BYTES = 2 * MAX_FILE_BYTES  # of an uncompressed Excel file
BLOCK_SIZE = 1 << 20
MAX_LINE_CHARS = 4_194_304  # longest line of a text file
MAX_ENGINE_MB = 1_500  # of DuckDB and its input
COST_PER_COLUMN = (1.0, 0.02)  # MB and seconds of processor time per column written
_BASE_MEMORY_MB = {".parquet": 512, ".jsonl": 320, ".ndjson": 320}  # others need less
MAX_PROCESSOR_SECONDS = 7_200.0  # for files of any size
_PARSER_POOL = ParserPool(3, "research.readers.table_files")
MAX_WAIT_SECONDS = 300.0  # that a file waits for a free process
MAX_NAME_CHARS = 60
TABLE_SUFFIXES = (
    ".csv",
    ".tsv",
    ".txt",
    ".xlsx",
    ".xls",
    ".xlsb",
    ".ods",
    ".parquet",
    ".jsonl",
    ".ndjson",
)
_WORKBOOK_SUFFIXES = (".xlsx", ".xls", ".xlsb", ".ods")
_SQL_TYPES: dict[FileColumnType, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "boolean": "BOOLEAN",
}
_DAY_PATTERN = r"\d{4}(?:-\d{1,2}-\d{1,2}|/\d{1,2}/\d{1,2}|\.\d{1,2}\.\d{1,2}|年\d{1,2}月\d{1,2}日)"
_TYPE_PATTERNS: dict[FileColumnType, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})"),
    "number": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?<=\d)"),
    "date": re.compile(_DAY_PATTERN),
    "datetime": re.compile(_DAY_PATTERN + r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
}
ProgressCallback = Callable[[float], None]
"""Told how much of the work is done, 0 to 1."""


class UnreadableTableError(Exception):
    """A file has no readable tables; `row` is the line of the problem, or 0 if unknown."""

    def __init__(self, reason: UnreadableReason, file: str, *, row: int = 0) -> None:
        self.reason, self.file, self.row = reason, file, row
        super().__init__(self.message_in("en"))

    def message_in(self, language: Language) -> str:
        """Return the problem as one line in a language."""
        from research.core.i18n import message

        key = "broken_at" if self.reason == "broken" and self.row else self.reason
        return message(f"unreadable.{key}", language, file=self.file, row=self.row)


class FileColumn(Record):
    """A column: `heading` in the file, and `name` for SQL."""

    heading: str
    name: str
    type: FileColumnType


class FileTable(Record):
    """A table of a file.

    `header` is the number of the heading row, from 1, or 0 for none. `kept` names the columns that
    stayed text because some of their values are not of the detected type.
    """

    name: str
    file: str
    sheet: str = ""
    header: int = 1
    columns: tuple[FileColumn, ...]
    sample: tuple[tuple[str, ...], ...] = ()
    rows: int | None = None
    encoding: str = ""
    delimiter: str = ""
    kept: tuple[str, ...] = ()


class Correction(Record):
    """The analyst's correction of a table.

    `columns` maps headings to new names and types; "" keeps the detected one. `header` is the
    number of the heading row, None to keep the detected one.
    """

    name: str = ""
    header: int | None = None
    columns: dict[str, tuple[str, FileColumnType | Literal[""]]] = Field(default_factory=dict)


def detect_tables(
    path: Path, name: str = "", corrections: Mapping[str, Correction] | None = None
) -> tuple[FileTable, ...]:
    """Detect the tables of a file originally called `name`, "" for the name of its path.

    Corrections are keyed by sheet, "" for formats without sheets.

    Raises:
        UnreadableTableError: there are none, or they are too large.
    """
    name = name or path.name
    display_name = _display_name(name)
    kind = Path(name).suffix.lower()
    if kind not in TABLE_SUFFIXES:
        raise UnreadableTableError("kind", display_name)
    size = path.stat().st_size
    if not size:
        raise UnreadableTableError("empty", display_name)
    if size > MAX_FILE_BYTES:
        raise UnreadableTableError("size", display_name)
    correction_data = {sheet: entry.model_dump(mode="json") for sheet, entry in (corrections or {}).items()}
    results = _parse_in_child(
        "recognise_task",
        _resource_limits(path, kind, display_name),
        display_name,
        path=str(path.absolute()),
        kind=kind,
        shown=display_name,
        corrections=correction_data,
    )
    used_names: set[str] = set()
    tables = tuple(FileTable.model_validate(entry) for entry in results)
    return tuple(table.model_copy(update={"name": _unique_name(table.name, used_names)}) for table in tables)


def _parse_in_child(task: str, limits: ResourceLimits, file: str, report_progress: ProgressCallback = lambda part: None, **arguments: Any) -> Any:  # fmt: skip
    """Run a function of this module in a parser process and return its result.

    Raises:
        UnreadableTableError: the file cannot be read.
    """
    try:
        result = _PARSER_POOL.call(
            f"research.readers.table_files:{task}",
            arguments=arguments,
            limits=limits,
            progress=report_progress,
            max_wait_seconds=MAX_WAIT_SECONDS,
        )
    except ParserError as error:
        raise UnreadableTableError("broken" if error.fault == "crash" else error.fault, file) from error
    if "why" in result:
        raise UnreadableTableError(result["why"], file, row=int(result["row"]))
    return result["found"]


def _run_task(parse: Callable[[], Any]) -> dict[str, Any]:
    """Return a task's result, or the reason why the file is unreadable."""
    try:
        return {"found": parse()}
    except UnreadableTableError as error:
        return {"why": error.reason, "row": error.row}


def _resource_limits(path: Path, kind: str, file: str, columns: int = 0, target: Path | None = None) -> ResourceLimits:
    """Return the memory, time and disk limits for reading a file.

    They depend on its uncompressed size and on the number of `columns` written into `target`.

    Raises:
        UnreadableTableError: the file is a workbook that must not be opened.
    """
    file_stat = path.stat()
    unpacked_mb = size_mb = file_stat.st_size / MB
    if kind in _WORKBOOK_SUFFIXES:
        unpacked_mb = (
            _unpacked_size_bytes(str(path.absolute()), kind, file, file_stat.st_size, file_stat.st_mtime_ns) / MB
        )
        memory_mb = 160 + unpacked_mb * (40 if kind == ".xls" else 8)
        seconds_per_mb = 10.0 if kind == ".xls" else 1.0
    else:
        base_mb = _BASE_MEMORY_MB.get(kind, 128)
        memory_mb = min(MAX_ENGINE_MB, base_mb + 20 * size_mb)
        seconds_per_mb = 30.0 if kind == ".parquet" else 2.0
    memory_mb += COST_PER_COLUMN[0] * columns
    seconds = 1.5 + seconds_per_mb * unpacked_mb + COST_PER_COLUMN[1] * columns
    written_bytes = target.stat().st_size if target and target.exists() else 0
    disk = written_bytes + int((1_024 + 30 * unpacked_mb) * MB)
    return ResourceLimits(int(memory_mb * MB), min(MAX_PROCESSOR_SECONDS, seconds), disk)


@lru_cache(64)
def _unpacked_size_bytes(path: str, kind: str, file: str, size: int, modified_ns: int) -> int:
    """Return the uncompressed size of a workbook, cached until the file changes.

    Raises:
        UnreadableTableError: the workbook must not be opened.
    """
    limits = ResourceLimits(128 * MB + 4 * size, 2.0 + 0.1 * size / MB)
    unpacked_bytes: int = _parse_in_child("check_task", limits, file, path=path, kind=kind, shown=file)
    return unpacked_bytes


def check_task(data: bytes, progress: ProgressCallback, *, path: str, kind: str, shown: str) -> dict[str, Any]:
    """Return the uncompressed size of a workbook; runs in a parser process."""

    def check() -> int:
        try:
            return check_workbook(Path(path), kind, MAX_UNPACKED_BYTES)
        except ExtentError:
            raise UnreadableTableError("extent", shown) from None
        except PackageError as error:
            is_too_large = error.problem in ("unpacked", "entries")
            raise UnreadableTableError("unpacked" if is_too_large else "broken", shown) from None
        except Exception:  # noqa: BLE001 - damaged files raise anything
            raise UnreadableTableError("broken", shown) from None

    return _run_task(check)


def recognise_task(
    data: bytes, progress: ProgressCallback, *, path: str, kind: str, shown: str, corrections: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the tables of a file; runs in a parser process."""
    corrections_by_sheet = {sheet: Correction.model_validate(entry) for sheet, entry in corrections.items()}
    return _run_task(
        lambda: [
            entry.model_dump(mode="json") for entry in _recognise_kind(Path(path), kind, shown, corrections_by_sheet)
        ]
    )


def _recognise_kind(path: Path, kind: str, file: str, corrections: Mapping[str, Correction]) -> list[FileTable]:
    tables: list[FileTable] = []
    if kind in _WORKBOOK_SUFFIXES:
        for sheet, rows in _read_sheets(path, file):
            first_rows = [row for row, _ in zip(rows, range(SAMPLE_ROWS), strict=False)]
            if any(any(row) for row in first_rows):
                table = _table_from_rows(first_rows, file, sheet, corrections.get(sheet))
                if len(first_rows[0]) > len(table.columns):  # later rows may be wider
                    last_column = max(map(_last_filled_column, rows), default=0)
                    table = _table_from_rows(first_rows, file, sheet, corrections.get(sheet), last_column)
                tables.append(table)
        if not tables:
            raise UnreadableTableError("empty", file)
    elif kind in (".parquet", ".jsonl", ".ndjson"):
        tables.append(_describe_typed_file(path, kind, file, corrections.get("")))
    else:
        encoding = _detect_encoding(path, file)
        first_rows, delimiter = _first_rows(path, encoding, kind, file)
        table = _table_from_rows(first_rows, file, "", corrections.get(""))
        tables.append(table.model_copy(update={"encoding": encoding, "delimiter": delimiter}))
    return tables


def load_tables(
    sources: Sequence[tuple[Path, Sequence[FileTable]]],
    target: Path,
    report_progress: ProgressCallback = lambda part: None,
) -> tuple[FileTable, ...]:
    """Write tables into a new DuckDB file and return them as written; on failure nothing is left.

    Raises:
        UnreadableTableError: a file is broken or too large.
    """
    total = sum(path.stat().st_size for path, _ in sources) or 1
    partial_file, finished_bytes, written = target.with_suffix(".part"), 0, list[FileTable]()
    used_names: set[str] = set()
    try:
        for path, tables in sources:
            file_share = path.stat().st_size / total
            finished_share = finished_bytes / total
            for index, table in enumerate(tables):
                renamed = table.model_copy(update={"name": _unique_name(table.name, used_names)})
                progress_start = finished_share + file_share * index / len(tables)
                progress_width = file_share / len(tables)
                kind = Path(table.file).suffix.lower()
                result = _parse_in_child(
                    "write_task",
                    _resource_limits(path, kind, table.file, len(table.columns), partial_file),
                    table.file,
                    _scale_progress(report_progress, progress_start, progress_width),
                    path=str(path.absolute()),
                    table=renamed.model_dump(mode="json"),
                    target=str(partial_file.absolute()),
                )
                written.append(FileTable.model_validate(result))
            finished_bytes += path.stat().st_size
        partial_file.replace(target)
    finally:
        for leftover in (partial_file, partial_file.with_name(f"{partial_file.name}.wal")):
            leftover.unlink(missing_ok=True)
    report_progress(1.0)
    return tuple(written)


def write_task(
    data: bytes, progress: ProgressCallback, *, path: str, table: Mapping[str, Any], target: str
) -> dict[str, Any]:
    """Write one table into a database and describe it; runs in a parser process."""
    parsed_table = FileTable.model_validate(table)
    return _run_task(lambda: _write_table(Path(path), parsed_table, Path(target), progress).model_dump(mode="json"))


def _scale_progress(report_progress: ProgressCallback, start: float, width: float) -> ProgressCallback:
    """Return a callback that maps the progress of one part to that of the whole."""
    return lambda part: report_progress(start + width * part)


# Names


def _display_name(name: str) -> str:
    """Return the last part of a file's name on one line, for display."""
    return (
        " ".join("".join(c if c.isprintable() else " " for c in name.replace("\\", "/").rsplit("/", 1)[-1]).split())[
            :MAX_NAME_CHARS
        ]
        or "?"
    )


def _sql_name(text: str, default: str) -> str:
    """Turn a text into an SQL name."""
    name = re.sub(r"\W+", "_", text.strip(), flags=re.UNICODE).strip("_")[:MAX_NAME_CHARS]
    if not name:
        return default
    return f"_{name}" if name[0].isdigit() else name


def _unique_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate.lower() in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate.lower())
    return candidate


# Detection


def _last_filled_column(row: Sequence[str]) -> int:
    """Return the number of the last non-empty value of a row."""
    return max((n for n, value in enumerate(row, 1) if value), default=0)


def _table_from_rows(
    rows: Sequence[Sequence[str]], file: str, sheet: str, correction: Correction | None, last_filled_column: int = 0
) -> FileTable:
    """Detect a table from its first rows.

    `last_filled_column` is the number of the last column with a value in later rows.
    """
    header = _find_header(rows) if correction is None or correction.header is None else correction.header
    if header > len(rows):
        raise UnreadableTableError("empty", file)
    body = [row for row in rows[header:] if any(row)]
    widths = Counter(len(row) for row in body)
    header_width = len(rows[header - 1]) if header else 0
    width = max(widths, key=lambda n: (widths[n], n == header_width)) if widths else header_width
    headings = list(rows[header - 1]) if header else []
    if not header and not body:
        raise UnreadableTableError("empty", file)
    while len(headings) < width:
        headings.append("")
    while (
        len(headings) > last_filled_column
        and not headings[-1]
        and not any(len(row) >= len(headings) and row[len(headings) - 1] for row in body)
    ):
        headings.pop()
    if len(headings) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    types = [_infer_type([row[n] for row in body if n < len(row)]) for n in range(len(headings))]
    columns = _make_columns(headings, types, correction)
    stem = Path(file).stem
    table = sheet if sheet and not re.fullmatch(r"(?i)sheet\d*|工作表\d*", sheet) else stem
    return FileTable(
        name=_sql_name((correction.name if correction else "") or table, "table_1"),
        file=file,
        sheet=sheet,
        header=header,
        columns=columns,
        sample=tuple(tuple(v[:200] for v in row[: len(columns)]) for row in body[:PREVIEW_ROWS]),
    )


def _make_columns(
    headings: Sequence[str], types: Sequence[FileColumnType], correction: Correction | None
) -> tuple[FileColumn, ...]:
    corrected = correction.columns if correction else {}
    used_names: set[str] = set()
    out = []
    for n, (heading, kind) in enumerate(zip(headings, types, strict=True), 1):
        display_heading = " ".join(heading.split())[:200] or f"column_{n}"
        name, corrected_type = corrected.get(display_heading, ("", ""))
        column_name = _unique_name(_sql_name(name or heading, f"column_{n}"), used_names)
        out.append(FileColumn(heading=display_heading, name=column_name, type=corrected_type or kind))
    return tuple(out)


def _find_header(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of the heading row, from 1, or 0 if there is none.

    It is the first row as wide as the table, if it has no numbers, dates or repeated values.
    """
    widths = Counter(sum(map(bool, row)) for row in rows[:100] if any(row))
    if not widths:
        return 0
    width = max(widths, key=lambda n: (widths[n], n))
    for n, row in enumerate(rows[:100], 1):
        filled = [value for value in row if value]
        if len(filled) >= width:
            is_text = all(_infer_type([value]) == "text" for value in filled)
            return n if is_text and len(set(filled)) == len(filled) else 0
    return 0


def _infer_type(values: Sequence[str]) -> FileColumnType:
    """Return the type that all values of a column have; text if there are no values."""
    filled = [value.strip() for value in values if value.strip()]
    for kind, pattern in _TYPE_PATTERNS.items():
        if filled and all(pattern.fullmatch(value) for value in filled):
            return kind
    return "text"


def _detect_encoding(path: Path, file: str) -> str:
    """Return the encoding of a text file, verified by decoding all of it."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        candidates = ["utf-16"]
    elif b"\x00" in head and not _is_single_byte(head):
        candidates = ["utf-16-le" if head[1::2].count(0) >= head[0::2].count(0) else "utf-16-be"]
    else:
        candidates = ["utf-8-sig", "gb18030"]
    for encoding in candidates:
        decoder = codecs.getincrementaldecoder(encoding)()
        with suppress(UnicodeError), path.open("rb") as stream:
            while block := stream.read(BLOCK_SIZE):
                if "\x00" in decoder.decode(block):
                    raise UnreadableTableError("broken", file)
            decoder.decode(b"", final=True)
            return encoding
    raise UnreadableTableError("encoding", file)


def _is_single_byte(head: bytes) -> bool:
    """Return True if a text with zero bytes has a single-byte encoding rather than UTF-16.

    In UTF-16, every comma and every line break contains a zero byte.
    """
    rest = head.replace(b"\x00", b"")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest)  # the last character may be cut
    except UnicodeError:
        return False
    return 4 * (len(head) - len(rest)) < len(head)


def _read_lines(opened: TextIO, file: str) -> Iterator[str]:
    """Yield the lines of a text file, refusing endless ones."""
    number = 0
    while line := opened.readline(MAX_LINE_CHARS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARS:
            raise UnreadableTableError("broken", file, row=number)
        yield line


def _first_rows(path: Path, encoding: str, kind: str, file: str) -> tuple[list[list[str]], str]:
    """Return the first rows of a text file, and its delimiter."""
    with path.open(encoding=encoding, newline="") as opened:
        text = opened.read(200_000)
    head = "\n".join(text.splitlines()[:50])
    counts = {candidate: head.count(candidate) for candidate in (("\t",) if kind == ".tsv" else (",", "\t", ";", "|"))}
    delimiter = max(counts, key=lambda mark: counts[mark])
    rows: list[list[str]] = []
    csv.field_size_limit(MAX_LINE_CHARS)  # a field may be as long as a line
    try:
        with path.open(encoding=encoding, newline="") as opened:
            for row in csv.reader(_read_lines(opened, file), delimiter=delimiter):
                rows.append(row)
                if len(rows) >= SAMPLE_ROWS:
                    break
    except csv.Error:
        raise UnreadableTableError("broken", file, row=len(rows) + 1) from None
    if not any(any(row) for row in rows):
        raise UnreadableTableError("empty", file)
    return rows, delimiter


def _read_sheets(path: Path, file: str) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """Yield the sheets of an Excel file with their rows as texts; formulas give their stored
    values.
    """
    try:
        book = CalamineWorkbook.from_path(str(path))
        for metadata in book.sheets_metadata[:MAX_SHEETS]:
            name = metadata.name
            try:
                sheet = book.get_sheet_by_name(name)
            except Exception:
                if metadata.typ == SheetTypeEnum.WorkSheet:
                    raise
                continue  # a chart sheet has no rows
            yield name, ([_format_cell(value) for value in row] for row in sheet.iter_rows())
    except UnreadableTableError:
        raise
    except Exception:  # noqa: BLE001 - the library raises many kinds of errors
        raise UnreadableTableError("broken", file) from None


def _format_cell(value: object) -> str:
    if type(value) is str:  # the most frequent type
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        is_midnight = value.time() == time()
        return value.date().isoformat() if is_midnight else value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value)


class _SchemaMismatchError(Exception):
    """A line of JSON has a key or a type that is missing from the sampled lines."""


def _describe_typed_file(path: Path, kind: str, file: str, correction: Correction | None) -> FileTable:
    """Detect the table of a file with types of its own, scanning all lines on a mismatch."""
    try:
        table = _describe_sample(path, kind, file, correction, SAMPLE_ROWS * 10)
        if kind != ".parquet":
            with _open_engine(path, file) as raw:
                raw.execute(f"select count(COLUMNS(*)) from {_source_expression(path, kind)}").fetchall()
        return table
    except _SchemaMismatchError:
        return _describe_sample(path, kind, file, correction, -1)


def _describe_sample(path: Path, kind: str, file: str, correction: Correction | None, sample_size: int) -> FileTable:
    """Detect the table of a typed file from `sample_size` JSON lines; -1 means all lines."""
    with _open_engine(path, file) as raw:
        source = _source_expression(path, kind, sample_size)
        if kind == ".parquet":
            path_literal = _quote_literal(str(path.absolute()))
            (rows,) = raw.execute(f"select sum(num_rows) from parquet_file_metadata({path_literal})").fetchone() or (0,)
            if rows and not 0 <= rows <= MAX_ROWS:
                raise UnreadableTableError("rows", file)
        described = raw.execute(f"describe select * from {source}").fetchall()
        rows = raw.execute(f"select * from {source} limit {PREVIEW_ROWS}").fetchall()
    if not described:
        raise UnreadableTableError("empty", file)
    if len(described) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    columns = _make_columns([row[0] for row in described], [_type_from_duckdb(row[1]) for row in described], correction)
    sample = tuple(tuple("" if value is None else str(value)[:200] for value in row) for row in rows)
    name = _sql_name((correction.name if correction else "") or Path(file).stem, "table_1")
    return FileTable(name=name, file=file, columns=columns, sample=sample)


def _type_from_duckdb(duckdb_type: str) -> FileColumnType:
    """Convert a DuckDB type to a `FileColumnType`."""
    if re.fullmatch(r"U?(TINY|SMALL|BIG)?INT|U?INTEGER", duckdb_type):
        return "integer" if duckdb_type != "UBIGINT" else "number"
    if re.match(r"DOUBLE|FLOAT|DECIMAL|U?HUGEINT", duckdb_type):
        return "number"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(
        duckdb_type, "datetime" if duckdb_type.startswith("TIMESTAMP") else "text"
    )  # type: ignore[return-value]


# Loading


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source_expression(path: Path, kind: str, sample_size: int = SAMPLE_ROWS * 10) -> str:
    path_literal = _quote_literal(str(path.absolute()))
    if kind == ".parquet":
        return f"read_parquet({path_literal})"
    return f"read_json({path_literal}, format = 'newline_delimited', maximum_object_size = 16777216, sample_size = {sample_size})"


@contextmanager
def _open_engine(path: Path, file: str, target: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an engine that may read one file and write into `target`."""
    with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill_folder:
        config = {**ENGINE_CONFIG, "temp_directory": spill_folder, "preserve_insertion_order": True}
        try:
            with duckdb.connect(str(target or ":memory:"), config=config) as raw:
                raw.execute(f"set allowed_paths = [{_quote_literal(str(path.absolute()))}]")
                raw.execute("set enable_progress_bar = true")
                raw.execute("set enable_progress_bar_print = false")
                raw.execute("set enable_external_access = false")
                raw.execute("set lock_configuration = true")
                yield raw
        except duckdb.ConversionException:
            raise
        except duckdb.OutOfMemoryException:
            raise UnreadableTableError("memory", file) from None
        except (duckdb.Error, UnicodeError) as error:
            if isinstance(error, duckdb.BinderException) or "JSON transform error" in str(error):
                raise _SchemaMismatchError from None  # columns differ from the sample
            row = re.search(r"Line: (\d+)", str(error))
            ragged = "Expected Number of Columns" in str(error)
            raise UnreadableTableError("ragged" if ragged else "broken", file, row=int(row[1]) if row else 0) from None


def _write_table(path: Path, table: FileTable, target: Path, report_progress: ProgressCallback) -> FileTable:
    """Write a table; columns with values of another type become text."""
    kind = Path(table.file).suffix.lower()
    if kind in (".parquet", ".jsonl", ".ndjson"):
        try:
            return _create_table(
                path, _source_expression(path, kind), table, target, report_progress, has_own_types=True
            )
        except _SchemaMismatchError:
            return _create_table(
                path, _source_expression(path, kind, -1), table, target, report_progress, has_own_types=True
            )
    if kind in _WORKBOOK_SUFFIXES or table.encoding != "utf-8-sig":
        with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
            csv_path = Path(folder) / "plain.csv"
            if kind in _WORKBOOK_SUFFIXES:
                _write_sheet_as_csv(path, table, csv_path)
                delimiter = ","
            else:
                _recode_to_utf8(path, table.encoding, csv_path)
                delimiter = table.delimiter
            return _create_table(csv_path, _csv_expression(csv_path, table, delimiter), table, target, report_progress)
    return _create_table(path, _csv_expression(path, table, table.delimiter), table, target, report_progress)


def _csv_expression(path: Path, table: FileTable, delimiter: str) -> str:
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({_quote_literal(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {_quote_literal(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {MAX_LINE_CHARS}, null_padding = false)"
    )


def _recode_to_utf8(path: Path, encoding: str, plain: Path) -> None:
    with path.open(encoding=encoding, newline="") as source, plain.open("w", encoding="utf-8", newline="") as target:
        while block := source.read(BLOCK_SIZE):
            target.write(block)


def _write_sheet_as_csv(path: Path, table: FileTable, plain: Path) -> None:
    """Write a sheet as CSV, cut or padded to the number of columns."""
    width = len(table.columns)
    with plain.open("w", encoding="utf-8", newline="") as output:
        writer = csv.writer(output, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for name, rows in _read_sheets(path, table.file):
            if name == table.sheet:
                for number, row in enumerate(rows, 1):
                    if number <= table.header or any(row):  # skips rows without values
                        values = [" ".join(value.splitlines()) for value in row] if number <= table.header else row
                        writer.writerow([*values[:width], *[""] * (width - len(row))])


def _value_expression(column_index: int, kind: FileColumnType) -> str:
    """Return the SQL that converts a text column to a type, or fails."""
    text = f"nullif(trim(c{column_index}), '')"
    if kind == "text":
        return f"nullif(c{column_index}, '')"
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
    for _ in range(2):
        columns = table.columns
        if has_own_types:
            quoted_headings = [_quote_identifier(column.heading) for column in columns]
            values = [f"CAST({name} AS {_SQL_TYPES[c.type]})" for name, c in zip(quoted_headings, columns, strict=True)]
        else:
            values = [_value_expression(n, column.type) for n, column in enumerate(columns)]
        select_list = ", ".join(f"{v} AS {_quote_identifier(c.name)}" for v, c in zip(values, columns, strict=True))
        try:
            with _open_engine(path, table.file, target) as raw, _poll_progress(raw, report_progress):
                raw.execute(f"create table {_quote_identifier(table.name)} as select {select_list} from {source}")
                (rows,) = raw.execute(f"select count(*) from {_quote_identifier(table.name)}").fetchone() or (0,)
        except duckdb.ConversionException:
            try_expressions = [v.replace("CAST(", "TRY_CAST(", 1) for v in values]
            count_expressions = ", ".join(
                f"count(*) FILTER (WHERE ({t}) IS NULL AND nullif(trim(CAST({quoted_headings[n] if has_own_types else f'c{n}'} AS VARCHAR)), '') IS NOT NULL)"
                for n, t in enumerate(try_expressions)
            )
            with _open_engine(path, table.file) as raw, _poll_progress(raw, report_progress):
                failure_counts = raw.execute(f"select {count_expressions} from {source}").fetchone() or ()
            kept = tuple(c.name for c, n in zip(columns, failure_counts, strict=True) if n)
            columns = tuple(c.model_copy(update={"type": "text"}) if c.name in kept else c for c in columns)
            table = table.model_copy(update={"columns": columns, "kept": kept})
            continue
        if rows > MAX_ROWS:
            raise UnreadableTableError("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise UnreadableTableError("value", table.file)


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
