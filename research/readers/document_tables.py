"""Tables within web pages and Word files, for a database: each is named by its caption or the heading above it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from research.readers.drafts import MAX_CHARACTERS, UnreadableFileError, one_line
from research.readers.html_tables import read_tables
from research.readers.table_layout import join_headings
from research.readers.table_records import UnreadableTableError, unique_name
from research.readers.table_text import CellTable, marked_headings, spread_cells
from research.readers.webpages import decode_page, parse_html
from research.readers.word import WordReader, open_word_file

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_CAPTION_CHARS = 80


class DocumentTable(NamedTuple):
    """A table of a document: its name, which no other table of it has, and its rows of texts."""

    name: str
    rows: list[list[str]]


def read_document_tables(path: Path, kind: str, file: str) -> list[DocumentTable]:
    """Read the tables of a document that hold data, in order; a number in merged cells stands in the first alone.

    Raises:
        UnreadableTableError: the document is broken or too large.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise UnreadableTableError("size", file)
    read = _word_tables if kind == ".docx" else _page_tables
    used_names: set[str] = set()
    try:
        return [
            DocumentTable(unique_name(caption or f"table {number}", used_names), rows)
            for number, (caption, rows) in enumerate(read(path.read_bytes()), 1)
        ]
    except UnreadableFileError as error:
        raise UnreadableTableError("unpacked" if error.problem == "too large" else "broken", file) from None
    except Exception:  # noqa: BLE001 - damaged files raise anything
        raise UnreadableTableError("broken", file) from None


def _rows(table: CellTable) -> list[list[str]]:
    """Return the texts of a table by row and column, with its marked headings in one row."""
    rows = spread_cells(table.cells, table.heading_count, repeats_numbers=False)
    rows = [[one_line(text, MAX_CHARACTERS) for text in row] for row in rows]
    if not table.heading_count:
        return rows
    headings = marked_headings(rows, table.heading_count)
    return [join_headings(rows, headings), *rows[headings.last :]]


def _title(table: CellTable) -> str:
    """Return the only text in the first row of a table, which then is no heading, or ""."""
    texts = {cell.text.strip() for cell in table.cells[0]} - {""}
    return one_line(texts.pop(), MAX_CAPTION_CHARS) if len(texts) == 1 and len(table.cells[0]) == 1 else ""


def _page_tables(data: bytes) -> Iterator[tuple[str, list[list[str]]]]:
    for table in read_tables(parse_html(decode_page(data), require_complete=True)):
        yield (_title(table) or table.caption)[:MAX_CAPTION_CHARS], _rows(table)


def _word_tables(data: bytes) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the tables of a Word file with two columns and rows at least.

    One is named by a title in its first row, by the paragraph before it if that is short, else by the last heading.
    """
    heading, caption = "", ""
    for block in WordReader(open_word_file(data)).blocks():
        if block.table is None:
            text = one_line(block.text, MAX_CAPTION_CHARS + 1)
            heading = text if block.level is not None and text else heading
            caption = text or caption
        elif len(block.table.cells) > 1 and max(map(len, block.table.cells)) > 1:
            name = caption if len(caption) <= MAX_CAPTION_CHARS else heading[:MAX_CAPTION_CHARS]
            yield _title(block.table) or name, _rows(block.table)
            caption = heading
