"""Files of tables as a DuckDB database: CSV, TSV, Excel, Parquet and JSON lines.

Two steps, so that what was recognised can be corrected in between: `recognise` says which tables,
columns and types a file has, `load` writes them. What a value is not (a word in a column of numbers)
is never dropped: the column stays text, and that is told.

A file is a stranger's, so both happen in a child process with limits (`research.readers`); what it comes to is
written as JSON and as a database. There, a file is read by an engine that may read that one path and no
other, has no network and no extension. A workbook is measured before it is opened
(`research.readers.extents`).
Names of files, sheets and columns are made of letters, digits and _ alone, whatever they were.
"""

# ruff: noqa: S608  (statements are of our own words, of names in quotes and of numbered columns)

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
MAX_FILE_BYTES = 1_073_741_824  # bytes of a file
MAX_ROWS = 20_000_000  # of a table
MAX_COLUMNS = 500
SAMPLE_ROWS = 2_000  # rows from which types are told
PREVIEW_ROWS = 5  # rows that are shown
MAX_SHEETS = 50
MAX_UNPACKED_BYTES = 2 * MAX_FILE_BYTES  # bytes of an Excel file without its compression
BLOCK_SIZE = 1 << 20
MAX_LINE_CHARS = 4_194_304  # characters of a line of a text
MAX_ENGINE_MB = 1_500  # MB that DuckDB and what feeds it may take
COST_PER_COLUMN = (1.0, 0.02)  # MB and seconds of processor time for each column that is written
_BASE_MEMORY_MB = {".parquet": 512, ".jsonl": 320, ".ndjson": 320}  # MB; others need less
MAX_PROCESSOR_SECONDS = 7_200.0  # seconds of processor time of any file
_PARSER_POOL = ParserPool(3, "research.readers.table_files")
MAX_WAIT_SECONDS = 300.0  # seconds that a file waits for its turn
MAX_NAME_CHARS = 60  # characters of a name
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
    "text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "date": "DATE",
    "datetime": "TIMESTAMP", "boolean": "BOOLEAN",
}  # fmt: skip
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
    """A file that has no tables that can be read. `row` is the line where, 0 if that is not known."""

    def __init__(self, reason: UnreadableReason, file: str, *, row: int = 0) -> None:
        self.reason, self.file, self.row = reason, file, row
        super().__init__(self.message_in("en"))

    def message_in(self, language: Language) -> str:
        """What is wrong, in one line."""
        from research.core.i18n import message

        key = "broken_at" if self.reason == "broken" and self.row else self.reason
        return message(f"unreadable.{key}", language, file=self.file, row=self.row)


class FileColumn(Record):
    """A column. `heading` is what the file has, `name` what statements call it."""

    heading: str
    name: str
    type: FileColumnType


class FileTable(Record):
    """A table of a file. `header` is the number of the row with the headings, from 1; 0 for none.
    `kept` names columns that stayed text, since not all of their values are of the type."""

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
    """What the analyst says a table is. `columns` are new names and types by heading; "" leaves one
    as it was. `header` is the row of the headings, None for the one that was recognised."""

    name: str = ""
    header: int | None = None
    columns: dict[str, tuple[str, FileColumnType | Literal[""]]] = Field(default_factory=dict)


def recognise_tables(path: Path, name: str, corrections: Mapping[str, Correction] | None = None) -> tuple[FileTable, ...]:  # fmt: skip
    """The tables of a file that was called `name`. Corrections are by the sheet, "" for a file that has
    none.

    Raises:
        Unreadable: there are none, or they are too large.
    """
    shown = _display_name(name)
    kind = Path(name).suffix.lower()
    if kind not in TABLE_SUFFIXES:
        raise UnreadableTableError("kind", shown)
    size = path.stat().st_size
    if not size:
        raise UnreadableTableError("empty", shown)
    if size > MAX_FILE_BYTES:
        raise UnreadableTableError("size", shown)
    given = {sheet: each.model_dump(mode="json") for sheet, each in (corrections or {}).items()}
    found = _parse_in_child(
        "recognise_task", _resource_limits(path, kind, shown), shown,
        path=str(path.absolute()), kind=kind, shown=shown, corrections=given,
    )  # fmt: skip
    taken: set[str] = set()
    tables = tuple(FileTable.model_validate(each) for each in found)
    return tuple(t.model_copy(update={"name": _unique_name(t.name, taken)}) for t in tables)


def _parse_in_child(task: str, limits: ResourceLimits, file: str, report_progress: ProgressCallback = lambda part: None, **arguments: Any) -> Any:  # fmt: skip
    """Run a function of this module in a parser process and return its result.

    Raises:
        Unreadable: the file cannot be read.
    """
    try:
        found = _PARSER_POOL.call(
            f"research.readers.table_files:{task}",
            arguments=arguments,
            limits=limits,
            progress=report_progress,
            max_wait_seconds=MAX_WAIT_SECONDS,
        )
    except ParserError as error:
        raise UnreadableTableError("broken" if error.fault == "crash" else error.fault, file) from error
    if "why" in found:
        raise UnreadableTableError(found["why"], file, row=int(found["row"]))
    return found["found"]


def _run_task(parse: Callable[[], Any]) -> dict[str, Any]:
    """Run a function in a parser process; return its result, or the reason why the file is
    unreadable."""
    try:
        return {"found": parse()}
    except UnreadableTableError as error:
        return {"why": error.reason, "row": error.row}


def _resource_limits(path: Path, kind: str, file: str, columns: int = 0, target: Path | None = None) -> ResourceLimits:  # fmt: skip
    """Return the memory, time and disk limits for reading a file.

    They follow from its uncompressed size, and from the memory and time that DuckDB takes for each
    of the `columns` that are written into `target`.

    Raises:
        Unreadable: the file is a workbook that must not be opened.
    """
    about = path.stat()
    plain = size = about.st_size / MB
    if kind in _WORKBOOK_SUFFIXES:
        plain = _unpacked_size_bytes(str(path.absolute()), kind, file, about.st_size, about.st_mtime_ns) / MB
        memory = 160 + plain * (40 if kind == ".xls" else 8)
        more = 10.0 if kind == ".xls" else 1.0
    else:
        base = _BASE_MEMORY_MB.get(kind, 128)
        memory = min(MAX_ENGINE_MB, base + 20 * size)
        more = 30.0 if kind == ".parquet" else 2.0
    memory += COST_PER_COLUMN[0] * columns
    seconds = 1.5 + more * plain + COST_PER_COLUMN[1] * columns
    written = target.stat().st_size if target and target.exists() else 0
    disk = written + int((1_024 + 30 * plain) * MB)
    return ResourceLimits(int(memory * MB), min(MAX_PROCESSOR_SECONDS, seconds), disk)


@lru_cache(64)
def _unpacked_size_bytes(path: str, kind: str, file: str, size: int, modified_ns: int) -> int:
    """The bytes of a workbook without its compression; asked again only once the file has changed.

    Raises:
        Unreadable: it is not opened.
    """
    allowance = ResourceLimits(128 * MB + 4 * size, 2.0 + 0.1 * size / MB)
    plain: int = _parse_in_child("check_task", allowance, file, path=path, kind=kind, shown=file)
    return plain


def check_task(data: bytes, progress: ProgressCallback, *, path: str, kind: str, shown: str) -> dict[str, Any]:
    """The bytes of a workbook without its compression; a task of a parser process."""

    def check() -> int:
        try:
            return check_workbook(Path(path), kind, MAX_UNPACKED_BYTES)
        except ExtentError:
            raise UnreadableTableError("extent", shown) from None
        except PackageError as error:
            over = error.problem in ("unpacked", "entries")
            raise UnreadableTableError("unpacked" if over else "broken", shown) from None
        except Exception:  # noqa: BLE001 - whatever is raised over damage
            raise UnreadableTableError("broken", shown) from None

    return _run_task(check)


def recognise_task(
    data: bytes, progress: ProgressCallback, *, path: str, kind: str, shown: str, corrections: Mapping[str, Any]
) -> dict[str, Any]:
    """The tables of a file; a task of a parser process."""
    given = {sheet: Correction.model_validate(each) for sheet, each in corrections.items()}
    return _run_task(lambda: [each.model_dump(mode="json") for each in _recognise_kind(Path(path), kind, shown, given)])


def _recognise_kind(path: Path, kind: str, file: str, corrections: Mapping[str, Correction]) -> list[FileTable]:  # fmt: skip
    found: list[FileTable] = []
    if kind in _WORKBOOK_SUFFIXES:
        for sheet, rows in _read_sheets(path, file):
            first = [row for row, _ in zip(rows, range(SAMPLE_ROWS), strict=False)]
            if any(any(row) for row in first):
                table = _table_from_rows(first, file, sheet, corrections.get(sheet))
                if len(first[0]) > len(table.columns):  # what stands further right, further down
                    reach = max(map(_last_filled_column, rows), default=0)
                    table = _table_from_rows(first, file, sheet, corrections.get(sheet), reach)
                found.append(table)
        if not found:
            raise UnreadableTableError("empty", file)
    elif kind in (".parquet", ".jsonl", ".ndjson"):
        found.append(_describe_typed_file(path, kind, file, corrections.get("")))
    else:
        encoding = _detect_encoding(path, file)
        first, delimiter = _first_rows(path, encoding, kind, file)
        table = _table_from_rows(first, file, "", corrections.get(""))
        found.append(table.model_copy(update={"encoding": encoding, "delimiter": delimiter}))
    return found


def load_tables(
    sources: Sequence[tuple[Path, Sequence[FileTable]]],
    target: Path,
    report_progress: ProgressCallback = lambda part: None,
) -> tuple[FileTable, ...]:
    """Writes tables into a new DuckDB file, and says what they have become. A file that could not be
    written whole is none.

    Raises:
        Unreadable: one is broken or too large.
    """
    total = sum(path.stat().st_size for path, _ in sources) or 1
    part, done, out = target.with_suffix(".part"), 0, list[FileTable]()
    taken: set[str] = set()
    try:
        for path, tables in sources:
            share = path.stat().st_size / total
            before = done / total
            for n, table in enumerate(tables):
                named = table.model_copy(update={"name": _unique_name(table.name, taken)})
                start = before + share * n / len(tables)
                width = share / len(tables)
                kind = Path(table.file).suffix.lower()
                made = _parse_in_child(
                    "write_task",
                    _resource_limits(path, kind, table.file, len(table.columns), part),
                    table.file,
                    _scale_progress(report_progress, start, width),
                    path=str(path.absolute()),
                    table=named.model_dump(mode="json"),
                    target=str(part.absolute()),
                )
                out.append(FileTable.model_validate(made))
            done += path.stat().st_size
        part.replace(target)
    finally:
        for left in (part, part.with_name(f"{part.name}.wal")):
            left.unlink(missing_ok=True)
    report_progress(1.0)
    return tuple(out)


def write_task(
    data: bytes, progress: ProgressCallback, *, path: str, table: Mapping[str, Any], target: str
) -> dict[str, Any]:
    """A table, written into a database; a task of a parser process."""
    known = FileTable.model_validate(table)
    return _run_task(lambda: _write_table(Path(path), known, Path(target), progress).model_dump(mode="json"))


def _scale_progress(report_progress: ProgressCallback, start: float, width: float) -> ProgressCallback:
    """Tells of a part of the work as of the whole."""
    return lambda part: report_progress(start + width * part)


# Names


def _display_name(name: str) -> str:
    """The name of a file as it is shown: its last part, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in name.replace("\\", "/").rsplit("/", 1)[-1]).split())[:MAX_NAME_CHARS] or "?"  # fmt: skip


def _sql_name(text: str, default: str) -> str:
    """A name for statements."""
    name = re.sub(r"\W+", "_", text.strip(), flags=re.UNICODE).strip("_")[:MAX_NAME_CHARS]
    if not name:
        return default
    return f"_{name}" if name[0].isdigit() else name


def _unique_name(name: str, taken: set[str]) -> str:
    made, n = name, 1
    while made.lower() in taken:
        n += 1
        made = f"{name}_{n}"
    taken.add(made.lower())
    return made


# Recognising


def _last_filled_column(row: Sequence[str]) -> int:
    """The number of the last value of a row that is not empty."""
    return max((n for n, value in enumerate(row, 1) if value), default=0)


def _table_from_rows(
    rows: Sequence[Sequence[str]], file: str, sheet: str, correction: Correction | None, last_filled_column: int = 0
) -> FileTable:
    """A table, by its first rows; of those after them, `reach` is the number of the last column with a value."""
    header = _find_header(rows) if correction is None or correction.header is None else correction.header
    if header > len(rows):
        raise UnreadableTableError("empty", file)
    body = [row for row in rows[header:] if any(row)]
    widths = Counter(len(row) for row in body)
    own = len(rows[header - 1]) if header else 0
    width = max(widths, key=lambda n: (widths[n], n == own)) if widths else own
    headings = list(rows[header - 1]) if header else []
    if not header and not body:
        raise UnreadableTableError("empty", file)
    while len(headings) < width:
        headings.append("")
    while len(headings) > last_filled_column and not headings[-1] and not any(len(row) >= len(headings) and row[len(headings) - 1] for row in body):  # fmt: skip
        headings.pop()
    if len(headings) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    types = [_infer_type([row[n] for row in body if n < len(row)]) for n in range(len(headings))]
    columns = _make_columns(headings, types, correction)
    stem = Path(file).stem
    table = sheet if sheet and not re.fullmatch(r"(?i)sheet\d*|工作表\d*", sheet) else stem
    return FileTable(
        name=_sql_name((correction.name if correction else "") or table, "table_1"),
        file=file, sheet=sheet, header=header, columns=columns,
        sample=tuple(tuple(v[:200] for v in row[: len(columns)]) for row in body[:PREVIEW_ROWS]),
    )  # fmt: skip


def _make_columns(headings: Sequence[str], types: Sequence[FileColumnType], correction: Correction | None) -> tuple[FileColumn, ...]:  # fmt: skip
    corrected = correction.columns if correction else {}
    taken: set[str] = set()
    out = []
    for n, (heading, kind) in enumerate(zip(headings, types, strict=True), 1):
        shown = " ".join(heading.split())[:200] or f"column_{n}"
        name, wanted = corrected.get(shown, ("", ""))
        called = _unique_name(_sql_name(name or heading, f"column_{n}"), taken)
        out.append(FileColumn(heading=shown, name=called, type=wanted or kind))
    return tuple(out)


def _find_header(rows: Sequence[Sequence[str]]) -> int:
    """Which row has the headings, from 1: the first that is as wide as the table and has no numbers and
    no dates; 0 if the first such row has."""
    widths = Counter(sum(map(bool, row)) for row in rows[:100] if any(row))
    if not widths:
        return 0
    width = max(widths, key=lambda n: (widths[n], n))
    for n, row in enumerate(rows[:100], 1):
        filled = [value for value in row if value]
        if len(filled) >= width:
            plain = all(_infer_type([value]) == "text" for value in filled)
            return n if plain and len(set(filled)) == len(filled) else 0
    return 0


def _infer_type(values: Sequence[str]) -> FileColumnType:
    """What all values of a column are; text if there are none."""
    known = [value.strip() for value in values if value.strip()]
    for kind, form in _TYPE_PATTERNS.items():
        if known and all(form.fullmatch(value) for value in known):
            return kind
    return "text"


def _detect_encoding(path: Path, file: str) -> str:
    """How a text is written: the whole of it is read, for a wrong guess would only show in its rows."""
    with path.open("rb") as opened:
        head = opened.read(4096)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        guesses = ["utf-16"]
    elif b"\x00" in head and not _is_single_byte(head):
        guesses = ["utf-16-le" if head[1::2].count(0) >= head[0::2].count(0) else "utf-16-be"]
    else:
        guesses = ["utf-8-sig", "gb18030"]
    for guess in guesses:
        decoder = codecs.getincrementaldecoder(guess)()
        with suppress(UnicodeError), path.open("rb") as opened:
            while block := opened.read(BLOCK_SIZE):
                if "\x00" in decoder.decode(block):
                    raise UnreadableTableError("broken", file)
            decoder.decode(b"", final=True)
            return guess
    raise UnreadableTableError("encoding", file)


def _is_single_byte(head: bytes) -> bool:
    """Return whether a text is in a single-byte encoding with a few zero bytes, rather than in
    UTF-16, where every comma and every line break contains one."""
    rest = head.replace(b"\x00", b"")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest)  # its last character may be cut
    except UnicodeError:
        return False
    return 4 * (len(head) - len(rest)) < len(head)


def _read_lines(opened: TextIO, file: str) -> Iterator[str]:
    """The lines of a text, none of which is endless."""
    number = 0
    while line := opened.readline(MAX_LINE_CHARS + 1):
        number += 1
        if len(line) > MAX_LINE_CHARS:
            raise UnreadableTableError("broken", file, row=number)
        yield line


def _first_rows(path: Path, encoding: str, kind: str, file: str) -> tuple[list[list[str]], str]:
    """The first rows of a text, and what its values are parted by."""
    with path.open(encoding=encoding, newline="") as opened:
        text = opened.read(200_000)
    head = "\n".join(text.splitlines()[:50])
    best = {mark: head.count(mark) for mark in (("\t",) if kind == ".tsv" else (",", "\t", ";", "|"))}  # fmt: skip
    delimiter = max(best, key=lambda mark: best[mark])
    rows: list[list[str]] = []
    csv.field_size_limit(MAX_LINE_CHARS)  # a text may be as long as a line
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
    """The sheets of an Excel file and their rows as texts. What a formula came to last is its value."""
    try:
        book = CalamineWorkbook.from_path(str(path))
        for about in book.sheets_metadata[:MAX_SHEETS]:
            name = about.name
            try:
                sheet = book.get_sheet_by_name(name)
            except Exception:
                if about.typ == SheetTypeEnum.WorkSheet:
                    raise
                continue  # a sheet of charts has no rows
            yield name, ([_format_cell(value) for value in row] for row in sheet.iter_rows())
    except UnreadableTableError:
        raise
    except Exception:  # noqa: BLE001 - the reader has an error for each kind of damage
        raise UnreadableTableError("broken", file) from None


def _format_cell(value: object) -> str:
    if type(value) is str:  # most are
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        plain = value.time() == time()
        return value.date().isoformat() if plain else value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value)


class _SchemaMismatchError(Exception):
    """A line of JSON has a key or a type that none of the first ones has."""


def _describe_typed_file(path: Path, kind: str, file: str, correction: Correction | None) -> FileTable:
    """The table of a file that has types of its own."""
    try:
        table = _describe_sample(path, kind, file, correction, SAMPLE_ROWS * 10)
        if kind != ".parquet":
            with _open_engine(path, file) as raw:
                raw.execute(f"select count(COLUMNS(*)) from {_source_expression(path, kind)}").fetchall()
        return table
    except _SchemaMismatchError:
        return _describe_sample(path, kind, file, correction, -1)


def _describe_sample(path: Path, kind: str, file: str, correction: Correction | None, sample_size: int) -> FileTable:  # fmt: skip
    """The table of a file that has types of its own; of JSON lines, told by the first `sampled` ones, by all if it is -1."""
    with _open_engine(path, file) as raw:
        source = _source_expression(path, kind, sample_size)
        if kind == ".parquet":
            where = _quote_literal(str(path.absolute()))
            (rows,) = raw.execute(f"select sum(num_rows) from parquet_file_metadata({where})").fetchone() or (0,)  # fmt: skip
            if rows and not 0 <= rows <= MAX_ROWS:
                raise UnreadableTableError("rows", file)
        found = raw.execute(f"describe select * from {source}").fetchall()
        rows = raw.execute(f"select * from {source} limit {PREVIEW_ROWS}").fetchall()
    if not found:
        raise UnreadableTableError("empty", file)
    if len(found) > MAX_COLUMNS:
        raise UnreadableTableError("columns", file)
    columns = _make_columns([row[0] for row in found], [_type_from_duckdb(row[1]) for row in found], correction)
    sample = tuple(tuple("" if v is None else str(v)[:200] for v in row) for row in rows)
    name = _sql_name((correction.name if correction else "") or Path(file).stem, "table_1")
    return FileTable(name=name, file=file, columns=columns, sample=sample)


def _type_from_duckdb(duckdb_type: str) -> FileColumnType:
    """Our name for a type of DuckDB's."""
    if re.fullmatch(r"U?(TINY|SMALL|BIG)?INT|U?INTEGER", duckdb_type):
        return "integer" if duckdb_type != "UBIGINT" else "number"
    if re.match(r"DOUBLE|FLOAT|DECIMAL|U?HUGEINT", duckdb_type):
        return "number"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(duckdb_type, "datetime" if duckdb_type.startswith("TIMESTAMP") else "text")  # type: ignore[return-value]  # fmt: skip


# Loading


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source_expression(path: Path, kind: str, sample_size: int = SAMPLE_ROWS * 10) -> str:
    where = _quote_literal(str(path.absolute()))
    if kind == ".parquet":
        return f"read_parquet({where})"
    return f"read_json({where}, format = 'newline_delimited', maximum_object_size = 16777216, sample_size = {sample_size})"  # fmt: skip


@contextmanager
def _open_engine(path: Path, file: str, target: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:  # fmt: skip
    """An engine that may read one file, and write into `target`."""
    with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill:
        config = {**ENGINE_CONFIG, "temp_directory": spill, "preserve_insertion_order": True}
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
                raise _SchemaMismatchError from None  # a known column is missing among the first lines, or new later
            row = re.search(r"Line: (\d+)", str(error))
            ragged = "Expected Number of Columns" in str(error)
            raise UnreadableTableError("ragged" if ragged else "broken", file, row=int(row[1]) if row else 0) from None  # fmt: skip


def _write_table(path: Path, table: FileTable, target: Path, report_progress: ProgressCallback) -> FileTable:
    """A table, written; columns not all of whose values are of their type are text."""
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
            plain = Path(folder) / "plain.csv"
            if kind in _WORKBOOK_SUFFIXES:
                _write_sheet_as_csv(path, table, plain)
                parted = ","
            else:
                _recode_to_utf8(path, table.encoding, plain)
                parted = table.delimiter
            return _create_table(plain, _csv_expression(plain, table, parted), table, target, report_progress)
    return _create_table(path, _csv_expression(path, table, table.delimiter), table, target, report_progress)


def _csv_expression(path: Path, table: FileTable, delimiter: str) -> str:
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({_quote_literal(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {_quote_literal(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {MAX_LINE_CHARS}, null_padding = false)"
    )


def _recode_to_utf8(path: Path, encoding: str, plain: Path) -> None:
    with path.open(encoding=encoding, newline="") as given, plain.open("w", encoding="utf-8", newline="") as made:  # fmt: skip
        while block := given.read(BLOCK_SIZE):
            made.write(block)


def _write_sheet_as_csv(path: Path, table: FileTable, plain: Path) -> None:
    """A sheet as CSV, its rows from the first on as wide as its columns."""
    width = len(table.columns)
    with plain.open("w", encoding="utf-8", newline="") as made:
        writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for name, rows in _read_sheets(path, table.file):
            if name == table.sheet:
                for n, row in enumerate(rows, 1):
                    if n <= table.header or any(row):  # rows of nothing but formats
                        flat = [" ".join(v.splitlines()) for v in row] if n <= table.header else row
                        writer.writerow([*flat[:width], *[""] * (width - len(row))])


def _value_expression(column_index: int, kind: FileColumnType) -> str:
    """A text of the file as a value of a type; an error where it is none."""
    text = f"nullif(trim(c{column_index}), '')"
    if kind == "text":
        return f"nullif(c{column_index}, '')"
    if kind == "integer":  # DuckDB would round 1.5
        return f"CAST(CASE WHEN contains(c{column_index}, '.') OR contains(c{column_index}, 'e') OR contains(c{column_index}, 'E') THEN c{column_index} || '!' ELSE {text} END AS BIGINT)"  # fmt: skip
    if kind in ("date", "datetime"):
        text = f"replace(translate({text}, '年月/', '---'), '日', '')"
        if kind == "date":
            text = f"replace({text}, '.', '-')"
        else:  # a point may stand before parts of a second as well
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
            own = [_quote_identifier(column.heading) for column in columns]
            values = [f"CAST({name} AS {_SQL_TYPES[c.type]})" for name, c in zip(own, columns, strict=True)]  # fmt: skip
        else:
            values = [_value_expression(n, column.type) for n, column in enumerate(columns)]
        listed = ", ".join(f"{v} AS {_quote_identifier(c.name)}" for v, c in zip(values, columns, strict=True))  # fmt: skip
        try:
            with _open_engine(path, table.file, target) as raw, _poll_progress(raw, report_progress):
                raw.execute(f"create table {_quote_identifier(table.name)} as select {listed} from {source}")
                (rows,) = raw.execute(f"select count(*) from {_quote_identifier(table.name)}").fetchone() or (0,)  # fmt: skip
        except duckdb.ConversionException:
            tried = [v.replace("CAST(", "TRY_CAST(", 1) for v in values]
            wrong = ", ".join(f"count(*) FILTER (WHERE ({t}) IS NULL AND nullif(trim(CAST({own[n] if has_own_types else f'c{n}'} AS VARCHAR)), '') IS NOT NULL)" for n, t in enumerate(tried))  # fmt: skip
            with _open_engine(path, table.file) as raw, _poll_progress(raw, report_progress):
                counted = raw.execute(f"select {wrong} from {source}").fetchone() or ()
            kept = tuple(c.name for c, n in zip(columns, counted, strict=True) if n)
            columns = tuple(c.model_copy(update={"type": "text"}) if c.name in kept else c for c in columns)  # fmt: skip
            table = table.model_copy(update={"columns": columns, "kept": kept})
            continue
        if rows > MAX_ROWS:
            raise UnreadableTableError("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise UnreadableTableError("value", table.file)


@contextmanager
def _poll_progress(raw: duckdb.DuckDBPyConnection, report_progress: ProgressCallback) -> Iterator[None]:
    """Tells of the progress of what is done within."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            part: Any = raw.query_progress()
            if isinstance(part, float) and 0 <= part <= 100:
                report_progress(part / 100)

    thread = threading.Thread(target=watch, name="sightline-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
