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
from research.readers.duckdb_config import CONFIG
from research.readers.extents import ExtentError, check_workbook
from research.readers.packages import PackageError
from research.readers.pool import MB, Allowance, ParserError, ParserPool

Type = Literal["text", "integer", "number", "date", "datetime", "boolean"]
COLUMN_TYPES: tuple[Type, ...] = get_args(Type)
Why = Literal[
    "kind", "size", "rows", "columns", "empty", "encoding", "ragged", "broken", "value", "extent",
    "unpacked", "time", "memory", "busy", "start",
]  # fmt: skip
LARGEST = 1_073_741_824  # bytes of a file
ROWS = 20_000_000  # of a table
COLUMNS = 500
SAMPLE = 2_000  # rows from which types are told
SHOWN = 5  # rows that are shown
SHEETS = 50
UNPACKED = 2 * LARGEST  # bytes of an Excel file without its compression
BLOCK = 1 << 20
LINE = 4_194_304  # characters of a line of a text
ENGINE = 1_500  # MB that DuckDB and what feeds it may take
WRITING = (1.0, 0.02)  # MB and seconds of processor time for each column that is written
_BASES = {".parquet": 512, ".jsonl": 320, ".ndjson": 320}  # MB; others need less
LONGEST = 7_200.0  # seconds of processor time of any file
_PARSERS = ParserPool(3, "research.readers.table_files")
PATIENCE = 300.0  # seconds that a file waits for its turn
NAME = 60  # characters of a name
TABLE_KINDS = (
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
_BOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
_SQL: dict[Type, str] = {
    "text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "date": "DATE",
    "datetime": "TIMESTAMP", "boolean": "BOOLEAN",
}  # fmt: skip
_DAY = r"\d{4}(?:-\d{1,2}-\d{1,2}|/\d{1,2}/\d{1,2}|\.\d{1,2}\.\d{1,2}|年\d{1,2}月\d{1,2}日)"
_FORMS: dict[Type, re.Pattern[str]] = {
    "integer": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})"),
    "number": re.compile(r"[+-]?(?:0|[1-9]\d{0,17})?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?<=\d)"),
    "date": re.compile(_DAY),
    "datetime": re.compile(_DAY + r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"),
    "boolean": re.compile(r"true|false", re.IGNORECASE),
}
Say = Callable[[float], None]
"""Told how much of the work is done, 0 to 1."""


class Unreadable(Exception):
    """A file that has no tables that can be read. `row` is the line where, 0 if that is not known."""

    def __init__(self, why: Why, file: str, *, row: int = 0) -> None:
        self.why, self.file, self.row = why, file, row
        super().__init__(self.told("en"))

    def told(self, language: Language) -> str:
        """What is wrong, in one line."""
        from research.core.i18n import message

        key = "broken_at" if self.why == "broken" and self.row else self.why
        return message(f"unreadable.{key}", language, file=self.file, row=self.row)


class FileColumn(Record):
    """A column. `heading` is what the file has, `name` what statements call it."""

    heading: str
    name: str
    type: Type


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
    columns: dict[str, tuple[str, Type | Literal[""]]] = Field(default_factory=dict)


def recognise(path: Path, name: str, corrections: Mapping[str, Correction] | None = None) -> tuple[FileTable, ...]:  # fmt: skip
    """The tables of a file that was called `name`. Corrections are by the sheet, "" for a file that has
    none.

    Raises:
        Unreadable: there are none, or they are too large.
    """
    shown = _shown(name)
    kind = Path(name).suffix.lower()
    if kind not in TABLE_KINDS:
        raise Unreadable("kind", shown)
    size = path.stat().st_size
    if not size:
        raise Unreadable("empty", shown)
    if size > LARGEST:
        raise Unreadable("size", shown)
    given = {sheet: each.model_dump(mode="json") for sheet, each in (corrections or {}).items()}
    found = _parse_apart(
        "recognise_task", _allowance(path, kind, shown), shown,
        path=str(path.absolute()), kind=kind, shown=shown, corrections=given,
    )  # fmt: skip
    taken: set[str] = set()
    tables = tuple(FileTable.model_validate(each) for each in found)
    return tuple(t.model_copy(update={"name": _unique(t.name, taken)}) for t in tables)


def _parse_apart(task: str, allowance: Allowance, file: str, say: Say = lambda part: None, **arguments: Any) -> Any:  # fmt: skip
    """Run a function of this module in a parser process and return its result.

    Raises:
        Unreadable: the file cannot be read.
    """
    try:
        found = _PARSERS.call(
            f"research.readers.table_files:{task}",
            arguments=arguments,
            allowance=allowance,
            progress=say,
            patience=PATIENCE,
        )
    except ParserError as error:
        raise Unreadable("broken" if error.fault == "crash" else error.fault, file) from error
    if "why" in found:
        raise Unreadable(found["why"], file, row=int(found["row"]))
    return found["found"]


def _task(parse: Callable[[], Any]) -> dict[str, Any]:
    """Run a function in a parser process; return its result, or the reason why the file is
    unreadable."""
    try:
        return {"found": parse()}
    except Unreadable as error:
        return {"why": error.why, "row": error.row}


def _allowance(path: Path, kind: str, file: str, columns: int = 0, target: Path | None = None) -> Allowance:  # fmt: skip
    """Return the memory, time and disk limits for reading a file.

    They follow from its uncompressed size, and from the memory and time that DuckDB takes for each
    of the `columns` that are written into `target`.

    Raises:
        Unreadable: the file is a workbook that must not be opened.
    """
    about = path.stat()
    plain = size = about.st_size / MB
    if kind in _BOOKS:
        plain = _plain_size(str(path.absolute()), kind, file, about.st_size, about.st_mtime_ns) / MB
        memory = 160 + plain * (40 if kind == ".xls" else 8)
        more = 10.0 if kind == ".xls" else 1.0
    else:
        base = _BASES.get(kind, 128)
        memory = min(ENGINE, base + 20 * size)
        more = 30.0 if kind == ".parquet" else 2.0
    memory += WRITING[0] * columns
    seconds = 1.5 + more * plain + WRITING[1] * columns
    written = target.stat().st_size if target and target.exists() else 0
    disk = written + int((1_024 + 30 * plain) * MB)
    return Allowance(int(memory * MB), min(LONGEST, seconds), disk)


@lru_cache(64)
def _plain_size(path: str, kind: str, file: str, size: int, changed: int) -> int:
    """The bytes of a workbook without its compression; asked again only once the file has changed.

    Raises:
        Unreadable: it is not opened.
    """
    allowance = Allowance(128 * MB + 4 * size, 2.0 + 0.1 * size / MB)
    plain: int = _parse_apart("check_task", allowance, file, path=path, kind=kind, shown=file)
    return plain


def check_task(data: bytes, progress: Say, *, path: str, kind: str, shown: str) -> dict[str, Any]:
    """The bytes of a workbook without its compression; a task of a parser process."""

    def check() -> int:
        try:
            return check_workbook(Path(path), kind, UNPACKED)
        except ExtentError:
            raise Unreadable("extent", shown) from None
        except PackageError as error:
            over = error.problem in ("unpacked", "entries")
            raise Unreadable("unpacked" if over else "broken", shown) from None
        except Exception:  # noqa: BLE001 - whatever is raised over damage
            raise Unreadable("broken", shown) from None

    return _task(check)


def recognise_task(
    data: bytes, progress: Say, *, path: str, kind: str, shown: str, corrections: Mapping[str, Any]
) -> dict[str, Any]:
    """The tables of a file; a task of a parser process."""
    given = {sheet: Correction.model_validate(each) for sheet, each in corrections.items()}
    return _task(
        lambda: [
            each.model_dump(mode="json") for each in _recognised(Path(path), kind, shown, given)
        ]
    )


def _recognised(path: Path, kind: str, shown: str, given: Mapping[str, Correction]) -> list[FileTable]:  # fmt: skip
    found: list[FileTable] = []
    if kind in _BOOKS:
        for sheet, rows in _sheets(path, shown):
            first = [row for row, _ in zip(rows, range(SAMPLE), strict=False)]
            if any(any(row) for row in first):
                table = _told(first, shown, sheet, given.get(sheet))
                if len(first[0]) > len(table.columns):  # what stands further right, further down
                    reach = max(map(_reach, rows), default=0)
                    table = _told(first, shown, sheet, given.get(sheet), reach)
                found.append(table)
        if not found:
            raise Unreadable("empty", shown)
    elif kind in (".parquet", ".jsonl", ".ndjson"):
        found.append(_typed(path, kind, shown, given.get("")))
    else:
        encoding = _encoding(path, shown)
        first, delimiter = _first(path, encoding, kind, shown)
        table = _told(first, shown, "", given.get(""))
        found.append(table.model_copy(update={"encoding": encoding, "delimiter": delimiter}))
    return found


def load(
    sources: Sequence[tuple[Path, Sequence[FileTable]]], target: Path, say: Say = lambda part: None
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
                named = table.model_copy(update={"name": _unique(table.name, taken)})
                start = before + share * n / len(tables)
                width = share / len(tables)
                kind = Path(table.file).suffix.lower()
                made = _parse_apart(
                    "write_task",
                    _allowance(path, kind, table.file, len(table.columns), part),
                    table.file,
                    _within(say, start, width),
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
    say(1.0)
    return tuple(out)


def write_task(
    data: bytes, progress: Say, *, path: str, table: Mapping[str, Any], target: str
) -> dict[str, Any]:
    """A table, written into a database; a task of a parser process."""
    known = FileTable.model_validate(table)
    return _task(
        lambda: _written(Path(path), known, Path(target), progress).model_dump(mode="json")
    )


def _within(say: Say, start: float, width: float) -> Say:
    """Tells of a part of the work as of the whole."""
    return lambda part: say(start + width * part)


# Names


def _shown(name: str) -> str:
    """The name of a file as it is shown: its last part, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in name.replace("\\", "/").rsplit("/", 1)[-1]).split())[:NAME] or "?"  # fmt: skip


def _named(text: str, instead: str) -> str:
    """A name for statements."""
    name = re.sub(r"\W+", "_", text.strip(), flags=re.UNICODE).strip("_")[:NAME]
    if not name:
        return instead
    return f"_{name}" if name[0].isdigit() else name


def _unique(name: str, taken: set[str]) -> str:
    made, n = name, 1
    while made.lower() in taken:
        n += 1
        made = f"{name}_{n}"
    taken.add(made.lower())
    return made


# Recognising


def _reach(row: Sequence[str]) -> int:
    """The number of the last value of a row that is not empty."""
    return max((n for n, value in enumerate(row, 1) if value), default=0)


def _told(
    rows: Sequence[Sequence[str]], file: str, sheet: str, given: Correction | None, reach: int = 0
) -> FileTable:
    """A table, by its first rows; of those after them, `reach` is the number of the last column with a value."""
    header = _header(rows) if given is None or given.header is None else given.header
    if header > len(rows):
        raise Unreadable("empty", file)
    body = [row for row in rows[header:] if any(row)]
    widths = Counter(len(row) for row in body)
    own = len(rows[header - 1]) if header else 0
    width = max(widths, key=lambda n: (widths[n], n == own)) if widths else own
    headings = list(rows[header - 1]) if header else []
    if not header and not body:
        raise Unreadable("empty", file)
    while len(headings) < width:
        headings.append("")
    while len(headings) > reach and not headings[-1] and not any(len(row) >= len(headings) and row[len(headings) - 1] for row in body):  # fmt: skip
        headings.pop()
    if len(headings) > COLUMNS:
        raise Unreadable("columns", file)
    types = [_type([row[n] for row in body if n < len(row)]) for n in range(len(headings))]
    columns = _columns(headings, types, given)
    stem = Path(file).stem
    table = sheet if sheet and not re.fullmatch(r"(?i)sheet\d*|工作表\d*", sheet) else stem
    return FileTable(
        name=_named((given.name if given else "") or table, "table_1"),
        file=file, sheet=sheet, header=header, columns=columns,
        sample=tuple(tuple(v[:200] for v in row[: len(columns)]) for row in body[:SHOWN]),
    )  # fmt: skip


def _columns(headings: Sequence[str], types: Sequence[Type], given: Correction | None) -> tuple[FileColumn, ...]:  # fmt: skip
    corrected = given.columns if given else {}
    taken: set[str] = set()
    out = []
    for n, (heading, kind) in enumerate(zip(headings, types, strict=True), 1):
        shown = " ".join(heading.split())[:200] or f"column_{n}"
        name, wanted = corrected.get(shown, ("", ""))
        called = _unique(_named(name or heading, f"column_{n}"), taken)
        out.append(FileColumn(heading=shown, name=called, type=wanted or kind))
    return tuple(out)


def _header(rows: Sequence[Sequence[str]]) -> int:
    """Which row has the headings, from 1: the first that is as wide as the table and has no numbers and
    no dates; 0 if the first such row has."""
    widths = Counter(sum(map(bool, row)) for row in rows[:100] if any(row))
    if not widths:
        return 0
    width = max(widths, key=lambda n: (widths[n], n))
    for n, row in enumerate(rows[:100], 1):
        filled = [value for value in row if value]
        if len(filled) >= width:
            plain = all(_type([value]) == "text" for value in filled)
            return n if plain and len(set(filled)) == len(filled) else 0
    return 0


def _type(values: Sequence[str]) -> Type:
    """What all values of a column are; text if there are none."""
    known = [value.strip() for value in values if value.strip()]
    for kind, form in _FORMS.items():
        if known and all(form.fullmatch(value) for value in known):
            return kind
    return "text"


def _encoding(path: Path, file: str) -> str:
    """How a text is written: the whole of it is read, for a wrong guess would only show in its rows."""
    with path.open("rb") as opened:
        head = opened.read(4096)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        guesses = ["utf-16"]
    elif b"\x00" in head and not _is_bytewise(head):
        guesses = ["utf-16-le" if head[1::2].count(0) >= head[0::2].count(0) else "utf-16-be"]
    else:
        guesses = ["utf-8-sig", "gb18030"]
    for guess in guesses:
        decoder = codecs.getincrementaldecoder(guess)()
        with suppress(UnicodeError), path.open("rb") as opened:
            while block := opened.read(BLOCK):
                if "\x00" in decoder.decode(block):
                    raise Unreadable("broken", file)
            decoder.decode(b"", final=True)
            return guess
    raise Unreadable("encoding", file)


def _is_bytewise(head: bytes) -> bool:
    """Return whether a text is in a single-byte encoding with a few zero bytes, rather than in
    UTF-16, where every comma and every line break contains one."""
    rest = head.replace(b"\x00", b"")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(rest)  # its last character may be cut
    except UnicodeError:
        return False
    return 4 * (len(head) - len(rest)) < len(head)


def _lines(opened: TextIO, file: str) -> Iterator[str]:
    """The lines of a text, none of which is endless."""
    number = 0
    while line := opened.readline(LINE + 1):
        number += 1
        if len(line) > LINE:
            raise Unreadable("broken", file, row=number)
        yield line


def _first(path: Path, encoding: str, kind: str, file: str) -> tuple[list[list[str]], str]:
    """The first rows of a text, and what its values are parted by."""
    with path.open(encoding=encoding, newline="") as opened:
        text = opened.read(200_000)
    head = "\n".join(text.splitlines()[:50])
    best = {mark: head.count(mark) for mark in (("\t",) if kind == ".tsv" else (",", "\t", ";", "|"))}  # fmt: skip
    delimiter = max(best, key=lambda mark: best[mark])
    rows: list[list[str]] = []
    csv.field_size_limit(LINE)  # a text may be as long as a line
    try:
        with path.open(encoding=encoding, newline="") as opened:
            for row in csv.reader(_lines(opened, file), delimiter=delimiter):
                rows.append(row)
                if len(rows) >= SAMPLE:
                    break
    except csv.Error:
        raise Unreadable("broken", file, row=len(rows) + 1) from None
    if not any(any(row) for row in rows):
        raise Unreadable("empty", file)
    return rows, delimiter


def _sheets(path: Path, file: str) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """The sheets of an Excel file and their rows as texts. What a formula came to last is its value."""
    try:
        book = CalamineWorkbook.from_path(str(path))
        for about in book.sheets_metadata[:SHEETS]:
            name = about.name
            try:
                sheet = book.get_sheet_by_name(name)
            except Exception:
                if about.typ == SheetTypeEnum.WorkSheet:
                    raise
                continue  # a sheet of charts has no rows
            yield name, ([_cell(value) for value in row] for row in sheet.iter_rows())
    except Unreadable:
        raise
    except Exception:  # noqa: BLE001 - the reader has an error for each kind of damage
        raise Unreadable("broken", file) from None


def _cell(value: object) -> str:
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


class _UnlikeError(Exception):
    """A line of JSON has a key or a type that none of the first ones has."""


def _typed(path: Path, kind: str, file: str, given: Correction | None) -> FileTable:
    """The table of a file that has types of its own."""
    try:
        table = _described(path, kind, file, given, SAMPLE * 10)
        if kind != ".parquet":
            with _reading(path, file) as raw:
                raw.execute(f"select count(COLUMNS(*)) from {_source(path, kind)}").fetchall()
        return table
    except _UnlikeError:
        return _described(path, kind, file, given, -1)


def _described(path: Path, kind: str, file: str, given: Correction | None, sampled: int) -> FileTable:  # fmt: skip
    """The table of a file that has types of its own; of JSON lines, told by the first `sampled` ones, by all if it is -1."""
    with _reading(path, file) as raw:
        source = _source(path, kind, sampled)
        if kind == ".parquet":
            where = _text(str(path.absolute()))
            (rows,) = raw.execute(f"select sum(num_rows) from parquet_file_metadata({where})").fetchone() or (0,)  # fmt: skip
            if rows and not 0 <= rows <= ROWS:
                raise Unreadable("rows", file)
        found = raw.execute(f"describe select * from {source}").fetchall()
        rows = raw.execute(f"select * from {source} limit {SHOWN}").fetchall()
    if not found:
        raise Unreadable("empty", file)
    if len(found) > COLUMNS:
        raise Unreadable("columns", file)
    columns = _columns([row[0] for row in found], [_own(row[1]) for row in found], given)
    sample = tuple(tuple("" if v is None else str(v)[:200] for v in row) for row in rows)
    name = _named((given.name if given else "") or Path(file).stem, "table_1")
    return FileTable(name=name, file=file, columns=columns, sample=sample)


def _own(kind: str) -> Type:
    """Our name for a type of DuckDB's."""
    if re.fullmatch(r"U?(TINY|SMALL|BIG)?INT|U?INTEGER", kind):
        return "integer" if kind != "UBIGINT" else "number"
    if re.match(r"DOUBLE|FLOAT|DECIMAL|U?HUGEINT", kind):
        return "number"
    return {"DATE": "date", "BOOLEAN": "boolean"}.get(kind, "datetime" if kind.startswith("TIMESTAMP") else "text")  # type: ignore[return-value]  # fmt: skip


# Loading


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source(path: Path, kind: str, sampled: int = SAMPLE * 10) -> str:
    where = _text(str(path.absolute()))
    if kind == ".parquet":
        return f"read_parquet({where})"
    return f"read_json({where}, format = 'newline_delimited', maximum_object_size = 16777216, sample_size = {sampled})"  # fmt: skip


@contextmanager
def _reading(path: Path, file: str, target: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:  # fmt: skip
    """An engine that may read one file, and write into `target`."""
    with tempfile.TemporaryDirectory(prefix="sightline-", ignore_cleanup_errors=True) as spill:
        config = {**CONFIG, "temp_directory": spill, "preserve_insertion_order": True}
        try:
            with duckdb.connect(str(target or ":memory:"), config=config) as raw:
                raw.execute(f"set allowed_paths = [{_text(str(path.absolute()))}]")
                raw.execute("set enable_progress_bar = true")
                raw.execute("set enable_progress_bar_print = false")
                raw.execute("set enable_external_access = false")
                raw.execute("set lock_configuration = true")
                yield raw
        except duckdb.ConversionException:
            raise
        except duckdb.OutOfMemoryException:
            raise Unreadable("memory", file) from None
        except (duckdb.Error, UnicodeError) as error:
            if isinstance(error, duckdb.BinderException) or "JSON transform error" in str(error):
                raise _UnlikeError from None  # a known column is missing among the first lines, or new later
            row = re.search(r"Line: (\d+)", str(error))
            ragged = "Expected Number of Columns" in str(error)
            raise Unreadable("ragged" if ragged else "broken", file, row=int(row[1]) if row else 0) from None  # fmt: skip


def _written(path: Path, table: FileTable, target: Path, say: Say) -> FileTable:
    """A table, written; columns not all of whose values are of their type are text."""
    kind = Path(table.file).suffix.lower()
    if kind in (".parquet", ".jsonl", ".ndjson"):
        try:
            return _filled(path, _source(path, kind), table, target, say, given=True)
        except _UnlikeError:
            return _filled(path, _source(path, kind, -1), table, target, say, given=True)
    if kind in _BOOKS or table.encoding != "utf-8-sig":
        with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
            plain = Path(folder) / "plain.csv"
            if kind in _BOOKS:
                _unbooked(path, table, plain)
                parted = ","
            else:
                _recoded(path, table.encoding, plain)
                parted = table.delimiter
            return _filled(plain, _csv(plain, table, parted), table, target, say)
    return _filled(path, _csv(path, table, table.delimiter), table, target, say)


def _csv(path: Path, table: FileTable, delimiter: str) -> str:
    columns = ", ".join(f"c{n}: 'VARCHAR'" for n in range(len(table.columns)))
    return (
        f"read_csv({_text(str(path.absolute()))}, auto_detect = false, header = false, "
        f"delim = {_text(delimiter)}, quote = '\"', escape = '\"', skip = {table.header}, "
        f"columns = {{{columns}}}, max_line_size = {LINE}, null_padding = false)"
    )


def _recoded(path: Path, encoding: str, plain: Path) -> None:
    with path.open(encoding=encoding, newline="") as given, plain.open("w", encoding="utf-8", newline="") as made:  # fmt: skip
        while block := given.read(BLOCK):
            made.write(block)


def _unbooked(path: Path, table: FileTable, plain: Path) -> None:
    """A sheet as CSV, its rows from the first on as wide as its columns."""
    width = len(table.columns)
    with plain.open("w", encoding="utf-8", newline="") as made:
        writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for name, rows in _sheets(path, table.file):
            if name == table.sheet:
                for n, row in enumerate(rows, 1):
                    if n <= table.header or any(row):  # rows of nothing but formats
                        flat = [" ".join(v.splitlines()) for v in row] if n <= table.header else row
                        writer.writerow([*flat[:width], *[""] * (width - len(row))])


def _value(n: int, kind: Type) -> str:
    """A text of the file as a value of a type; an error where it is none."""
    text = f"nullif(trim(c{n}), '')"
    if kind == "text":
        return f"nullif(c{n}, '')"
    if kind == "integer":  # DuckDB would round 1.5
        return f"CAST(CASE WHEN contains(c{n}, '.') OR contains(c{n}, 'e') OR contains(c{n}, 'E') THEN c{n} || '!' ELSE {text} END AS BIGINT)"  # fmt: skip
    if kind in ("date", "datetime"):
        text = f"replace(translate({text}, '年月/', '---'), '日', '')"
        if kind == "date":
            text = f"replace({text}, '.', '-')"
        else:  # a point may stand before parts of a second as well
            text = rf"regexp_replace({text}, '^(\d{{4}})\.(\d+)\.(\d+)', '\1-\2-\3')"
    return f"CAST({text} AS {_SQL[kind]})"


def _filled(
    path: Path, source: str, table: FileTable, target: Path, say: Say, *, given: bool = False
) -> FileTable:
    for _ in range(2):
        columns = table.columns
        if given:
            own = [_quoted(column.heading) for column in columns]
            values = [f"CAST({name} AS {_SQL[c.type]})" for name, c in zip(own, columns, strict=True)]  # fmt: skip
        else:
            values = [_value(n, column.type) for n, column in enumerate(columns)]
        listed = ", ".join(f"{v} AS {_quoted(c.name)}" for v, c in zip(values, columns, strict=True))  # fmt: skip
        try:
            with _reading(path, table.file, target) as raw, _told_of(raw, say):
                raw.execute(f"create table {_quoted(table.name)} as select {listed} from {source}")
                (rows,) = raw.execute(f"select count(*) from {_quoted(table.name)}").fetchone() or (0,)  # fmt: skip
        except duckdb.ConversionException:
            tried = [v.replace("CAST(", "TRY_CAST(", 1) for v in values]
            wrong = ", ".join(f"count(*) FILTER (WHERE ({t}) IS NULL AND nullif(trim(CAST({own[n] if given else f'c{n}'} AS VARCHAR)), '') IS NOT NULL)" for n, t in enumerate(tried))  # fmt: skip
            with _reading(path, table.file) as raw, _told_of(raw, say):
                counted = raw.execute(f"select {wrong} from {source}").fetchone() or ()
            kept = tuple(c.name for c, n in zip(columns, counted, strict=True) if n)
            columns = tuple(c.model_copy(update={"type": "text"}) if c.name in kept else c for c in columns)  # fmt: skip
            table = table.model_copy(update={"columns": columns, "kept": kept})
            continue
        if rows > ROWS:
            raise Unreadable("rows", table.file)
        return table.model_copy(update={"rows": rows})
    raise Unreadable("value", table.file)


@contextmanager
def _told_of(raw: duckdb.DuckDBPyConnection, say: Say) -> Iterator[None]:
    """Tells of the progress of what is done within."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            part: Any = raw.query_progress()
            if isinstance(part, float) and 0 <= part <= 100:
                say(part / 100)

    thread = threading.Thread(target=watch, name="sightline-loading", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
