"""Rows of a table, read from lines, from files and from the results of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from research.core.records import Place, Report, Row
from research.core.sql_quoting import quote_identifier
from research.core.text.quotes import normalise_quote
from research.readers.duckdb_config import ENGINE_CONFIG
from research.readers.table_records import Correction, FileColumn, FileTable

MAX_ROWS = 500
MAX_NAME_CHARS = 200
_NAME_HEADINGS = ("name", "title", "row", "名称", "名字", "标题", "景区", "景点")
_ABOUT_HEADINGS = ("about", "city", "place", "of", "说明", "城市", "地点")


def rows_from_lines(text: str) -> tuple[Row, ...]:
    """Parse lines as typed or pasted: a name, then optionally a tab or bar and what distinguishes
    it."""
    return _make_rows(_split_line(line) for line in text.splitlines())


def _split_line(line: str) -> tuple[str, str, Place | None]:
    for delimiter in ("\t", " | ", "|"):
        name, separator, about = line.partition(delimiter)
        if separator:
            return name, about, None
    return line, "", None


class ImportedRows(NamedTuple):
    """The rows of a file, and how its table was read."""

    rows: tuple[Row, ...]
    table: FileTable


def rows_from_file(path: Path, name: str = "") -> ImportedRows:
    """Read rows from the first table of a file originally called `name`, "" for the name of its path.

    Names come from a column `name` (or another heading of `_NAME_HEADINGS`), else from the first column;
    `about` or `city` distinguishes rows with the same name. Words above words are a heading only if they
    contain one of these.

    Raises:
        UnreadableTableError: the file has no readable table.
    """
    from research.readers.table_files import detect_tables, load_tables  # imports a database engine

    table = detect_tables(path, name)[0]
    is_list = table.header == 1 and all(column.type == "text" for column in table.columns)
    if is_list and _find_column(table, _NAME_HEADINGS) is None:
        table = detect_tables(path, name, {table.sheet: Correction(header=0)})[0]
    name_column = _find_column(table, _NAME_HEADINGS) or table.columns[0]
    about_column = _find_column(table, _ABOUT_HEADINGS)
    taken = [name_column, *([about_column] if about_column else [])]
    as_text = {column.heading: ("", "text") for column in taken}
    correction = Correction.model_validate({"header": table.correction.header, "columns": as_text})
    table = next(each for each in detect_tables(path, name, {table.sheet: correction}) if each.sheet == table.sheet)
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        target = Path(folder) / "rows.duckdb"
        (table,) = load_tables([(path, [table])], target)
        rows = _make_rows((row[0], row[1] if about_column else "", None) for row in _read_columns(target, table, taken))
    return ImportedRows(rows, table)


def _find_column(table: FileTable, words: Sequence[str]) -> FileColumn | None:
    """Return the column whose heading is the first of some words; None if there is none."""
    columns = {normalise_quote(column.heading): column for column in table.columns} if table.header else {}
    return next((columns[word] for word in words if word in columns), None)


def _read_columns(database: Path, table: FileTable, columns: Sequence[FileColumn]) -> Iterator[tuple[str, ...]]:
    """Yield the texts of some columns of a table."""
    import duckdb

    names = ", ".join(quote_identifier(column.name) for column in columns)
    with duckdb.connect(str(database), read_only=True, config=dict(ENGINE_CONFIG)) as raw:
        cursor = raw.execute(f"select {names} from {quote_identifier(table.name)}")  # noqa: S608 - quoted names
        while batch := cursor.fetchmany(MAX_ROWS):
            yield from (tuple(value or "" for value in row) for row in batch)


def rows_from_report(report: Report) -> tuple[Row, ...]:
    """Return as rows what a run found: its places, else the first text column of its rows, else its
    papers."""
    places = [item.place for item in report.evidence if item.place]
    if places:
        return _make_rows((place.name, place.city or place.district, place) for place in places)
    for finding in report.findings:
        if finding.rows and finding.rows.rows:
            text_column = next((n for n, kind in enumerate(finding.rows.types) if kind == "text"), 0)
            return _make_rows(
                (str(row[text_column]), "", None) for row in finding.rows.rows if row[text_column] is not None
            )
    papers = [item for item in report.evidence if item.kind == "paper"]
    return _make_rows((item.title, str(item.paper.year or "") if item.paper else "", None) for item in papers)


def _make_rows(entries: Iterable[tuple[str, str, Place | None]]) -> tuple[Row, ...]:
    return tuple(_unique_rows(entries))


def _unique_rows(entries: Iterable[tuple[str, str, Place | None]]) -> Iterator[Row]:
    """Yield at most `MAX_ROWS` rows, without unnamed ones and duplicates.

    An entry has a name, the text that distinguishes it from others of the name, and its place or
    None.
    """
    seen: set[tuple[str, str]] = set()
    for name, about, place in entries:
        name, about = " ".join(name.split())[:MAX_NAME_CHARS], " ".join(about.split())[:MAX_NAME_CHARS]
        key = normalise_quote(name), normalise_quote(about)
        if not name or key in seen:
            continue
        seen.add(key)
        yield Row(id=f"r{len(seen)}", name=name, qualifier=about, place=place)
        if len(seen) == MAX_ROWS:
            return
