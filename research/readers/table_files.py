"""Conversion of table files to a DuckDB database: CSV, TSV, Excel, Parquet, JSON, JSON lines, and the tables of web pages and Word files.

Two steps allow corrections in between: `detect_tables` detects tables, columns and types,
`load_tables` writes them. No value is dropped: a column with a value of another type, such as a
word among numbers, stays text and is reported.

Files are untrusted, so both steps run in child processes with limits (`research.readers.pool`), and
results are written as JSON and as a database. The engine may read only that one path, and has no
network and no extensions. Workbooks are measured before they are opened
(`research.readers.extents`). Table and column names consist of letters, digits and _.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from research.readers.extents import ExtentError, check_workbook
from research.readers.file_content import ARCHIVE_SUFFIXES, FileContent, fits, recognise
from research.readers.packages import PackageError
from research.readers.pool import MB, ParserError, ParserPool, ResourceLimits
from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_loading import write_table
from research.readers.table_records import (
    DOCUMENT_SUFFIXES,
    MAX_NAME_CHARS,
    TABLE_SUFFIXES,
    WORKBOOK_SUFFIXES,
    Correction,
    FileTable,
    UnreadableTableError,
    unique_name,
)
from research.readers.table_remarks import TableRemark
from research.readers.worker import ProgressCallback

MAX_FILE_BYTES = 1_073_741_824
MAX_UNPACKED_BYTES = 2 * MAX_FILE_BYTES  # of an uncompressed Excel file
MAX_ENGINE_MB = 1_500  # of DuckDB and its input
COST_PER_COLUMN = (1.0, 0.02)  # MB and seconds of processor time per column written
_BASE_MEMORY_MB = {".parquet": 512, ".json": 320, ".jsonl": 320, ".ndjson": 320}  # others need less
MAX_PROCESSOR_SECONDS = 7_200.0  # for files of any size
MAX_WAIT_SECONDS = 300.0  # that a file waits for a free process
_PARSER_POOL = ParserPool(3, "research.readers.table_files")


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
    content = _recognise(path, display_name)
    named_kind, kind = kind, _content_kind(content, kind, display_name)
    correction_data = {sheet: entry.model_dump(mode="json") for sheet, entry in (corrections or {}).items()}
    try:
        results = _parse_in_child(
            "detect_task",
            _resource_limits(path, kind, display_name),
            display_name,
            path=str(path.absolute()),
            kind=kind,
            display_name=display_name,
            corrections=correction_data,
        )
    except UnreadableTableError as error:
        is_page = kind in (".html", ".htm")
        if error.reason == "empty" and (kind != named_kind or (is_page and content.suffix in (".txt", ".xml", ".eml"))):
            # such as the page of an error under the name of a workbook
            raise UnreadableTableError("mislabelled", display_name, content=content.suffix) from None
        raise
    used_names: set[str] = set()
    tables = tuple(FileTable.model_validate(entry) for entry in results)
    remarks = (TableRemark(kind="read_as", text=kind, count=1),) if kind != named_kind else ()
    return tuple(
        table.model_copy(
            update={
                "name": unique_name(table.name, used_names),
                "content": kind if remarks else "",
                "notices": (*table.notices, *remarks),
            }
        )
        for table in tables
    )


def _content_kind(content: FileContent, kind: str, file: str) -> str:
    """Return the suffix of the format that a file really has: `kind`, that of its name, unless another can be told.

    Raises:
        UnreadableTableError: it is blank, cut off, encrypted, packed, or of a format without tables.
    """
    if content.is_blank:
        raise UnreadableTableError("empty", file)
    if content.is_encrypted:
        raise UnreadableTableError("encrypted", file)
    if content.is_cut:
        raise UnreadableTableError("broken", file)
    if fits(".csv" if kind == ".txt" else kind, content.suffix):
        return kind
    if content.suffix in ARCHIVE_SUFFIXES:
        raise UnreadableTableError("packed", file, content=content.suffix)
    if content.suffix not in TABLE_SUFFIXES:
        raise UnreadableTableError("mislabelled", file, content=content.suffix)
    return ".csv" if content.suffix == ".txt" else content.suffix


def _recognise(path: Path, file: str) -> FileContent:
    """Recognise the format of a file in a parser process."""
    size = path.stat().st_size
    limits = ResourceLimits(128 * MB + 4 * size, 2.0 + 0.1 * size / MB)
    return FileContent(*_parse_in_child("recognise_task", limits, file, path=str(path.absolute())))


def recognise_task(data: bytes, progress: ProgressCallback, *, path: str) -> dict[str, Any]:
    """Recognise the format of a file; runs in a parser process."""
    with Path(path).open("rb") as file:
        return {"result": recognise(file)}


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
    if "reason" in result:
        raise UnreadableTableError(result["reason"], file, row=int(result["row"]), content=result["content"])
    return result["result"]


def _run_task(parse: Callable[[], Any]) -> dict[str, Any]:
    """Return a task's result, or the reason why the file is unreadable."""
    try:
        return {"result": parse()}
    except UnreadableTableError as error:
        return {"reason": error.reason, "row": error.row, "content": error.content}


def _resource_limits(path: Path, kind: str, file: str, columns: int = 0, target: Path | None = None) -> ResourceLimits:
    """Return the memory, time and disk limits for reading a file.

    They depend on its uncompressed size and on the number of `columns` written into `target`.

    Raises:
        UnreadableTableError: the file is a workbook that must not be opened.
    """
    file_stat = path.stat()
    unpacked_mb = size_mb = file_stat.st_size / MB
    if kind in WORKBOOK_SUFFIXES:
        unpacked_mb = (
            _unpacked_size_bytes(str(path.absolute()), kind, file, file_stat.st_size, file_stat.st_mtime_ns) / MB
        )
        memory_mb = 160 + unpacked_mb * (40 if kind == ".xls" else 8)
        seconds_per_mb = 10.0 if kind == ".xls" else 1.0
    elif kind in DOCUMENT_SUFFIXES:
        memory_mb = 224 + 400 * size_mb
        seconds_per_mb = 20.0
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
    unpacked_bytes: int = _parse_in_child("check_task", limits, file, path=path, kind=kind, display_name=file)
    return unpacked_bytes


def check_task(data: bytes, progress: ProgressCallback, *, path: str, kind: str, display_name: str) -> dict[str, Any]:
    """Return the uncompressed size of a workbook; runs in a parser process."""

    def check() -> int:
        try:
            return check_workbook(Path(path), kind, MAX_UNPACKED_BYTES)
        except ExtentError:
            raise UnreadableTableError("extent", display_name) from None
        except PackageError as error:
            is_too_large = error.problem in ("unpacked", "entries")
            raise UnreadableTableError("unpacked" if is_too_large else "broken", display_name) from None
        except Exception:  # noqa: BLE001 - damaged files raise anything
            raise UnreadableTableError("broken", display_name) from None

    return _run_task(check)


def detect_task(
    data: bytes, progress: ProgressCallback, *, path: str, kind: str, display_name: str, corrections: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the tables of a file; runs in a parser process."""
    corrections_by_sheet = {sheet: Correction.model_validate(entry) for sheet, entry in corrections.items()}
    return _run_task(
        lambda: [
            entry.model_dump(mode="json")
            for entry in detect_tables_of_kind(Path(path), kind, display_name, corrections_by_sheet)
        ]
    )


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
                renamed = table.model_copy(update={"name": unique_name(table.name, used_names)})
                progress_start = finished_share + file_share * index / len(tables)
                progress_width = file_share / len(tables)
                result = _parse_in_child(
                    "write_task",
                    _resource_limits(path, table.kind, table.file, len(table.columns), partial_file),
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
    return _run_task(lambda: write_table(Path(path), parsed_table, Path(target), progress).model_dump(mode="json"))


def _scale_progress(report_progress: ProgressCallback, start: float, width: float) -> ProgressCallback:
    """Return a callback that maps the progress of one part to that of the whole."""
    return lambda part: report_progress(start + width * part)


def _display_name(name: str) -> str:
    """Return the last part of a file's name on one line, for display; shortened, it keeps its suffix."""
    last_part = name.replace("\\", "/").rsplit("/", 1)[-1]
    printable = "".join(character if character.isprintable() else " " for character in last_part)
    full_name = " ".join(printable.split()) or "?"
    if len(full_name) <= MAX_NAME_CHARS:
        return full_name
    suffix = Path(full_name).suffix[:10]
    return full_name[: MAX_NAME_CHARS - len(suffix)] + suffix
