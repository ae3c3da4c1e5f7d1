"""Scanned pages: the queue of pages to read, their recognised text and their images.

A page that was read is ordinary text of its document, found and cited by its number. A file that is
too large to be kept (`originals`) is kept until all its pages were read; a small image of each page stays.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from research.core.text.sentences import unwrap_lines
from research.core.text.tokenizer import detect_language
from research.readers.drafts import MAX_CHARACTERS, clean_lines
from research.sources.library.names import extract_aliases
from research.sources.library.ocr import OCRFailure, OCRResult
from research.sources.library.passages import split_passages
from research.sources.library.prepare import build_name_rows, build_passage_rows, opening_line
from research.storage.sqlite_files import SQLiteFile

LANGUAGE_SAMPLE_CHARS = 10_000  # characters used to detect the language


@dataclass(frozen=True, slots=True)
class Scan:
    """A document with unread scanned pages, and the state of its pages.

    `has_file` is False for a document added where no OCR engine was installed.
    """

    document_id: int
    name: str
    title: str
    page_count: int
    read_count: int
    waiting_pages: tuple[int, ...]
    failed_pages: tuple[tuple[int, OCRFailure], ...]
    has_file: bool


@dataclass(frozen=True, slots=True)
class OCRJob:
    """The queued pages of a document, and its file."""

    document_id: int
    name: str
    pages: tuple[int, ...]
    data: bytes


def list_unfinished(db: SQLiteFile) -> list[Scan]:
    """Return the documents with queued or failed pages, in the order of reading."""
    rows: list[Any] = db.read(
        "select d.id, d.name, d.title, s.page, s.state, s.reason, "
        "exists(select 1 from original o where o.document = d.id) from scan_page s "
        "join document d on d.id = s.document where s.document in "
        "(select document from scan_page where state<>'read') order by d.id, s.page"
    )
    out = []
    for (document_id, name, title), group in groupby(rows, key=lambda row: row[:3]):
        pages = [*group]
        out.append(
            Scan(
                document_id,
                name,
                title,
                len(pages),
                sum(row[4] == "read" for row in pages),
                tuple(row[3] for row in pages if row[4] == "waiting"),
                tuple((row[3], row[5]) for row in pages if row[4] == "failed"),
                bool(pages[0][6]),
            )
        )
    return out


def next_job(db: SQLiteFile) -> OCRJob | None:
    """Return the next document to read, or None."""
    rows: list[Any] = db.read(
        "select d.id, d.name, o.data from original o join document d on d.id = o.document "
        "where exists(select 1 from scan_page s where s.document = d.id and s.state='waiting') "
        "order by d.id limit 1"
    )
    if not rows:
        return None
    document_id, name, data = rows[0]
    pages: list[Any] = db.read(
        "select page from scan_page where document=? and state='waiting' order by page", (document_id,)
    )
    return OCRJob(document_id, name, tuple(row[0] for row in pages), data)


def store_result(connection: sqlite3.Connection, document_id: int, result: OCRResult, max_original_bytes: int) -> bool:
    """Store the result of a page and its passages; return False if the page is no longer queued.

    After the last page, an original of more than `max_original_bytes` is deleted.
    """
    row = connection.execute(
        "select d.title, d.text, s.heading from scan_page s join document d on d.id = s.document "
        "where s.document=? and s.page=? and s.state='waiting'",
        (document_id, result.page),
    ).fetchone()
    if row is None:
        return False
    title, document_text, heading = row
    text, failure = clean_lines(unwrap_lines(result.text)), result.failure
    if len(document_text) + len(text) > MAX_CHARACTERS:
        text, failure = "", "characters"
    connection.execute(
        "update scan_page set state=?, reason=?, picture=? where document=? and page=?",
        ("failed" if failure else "read", failure, result.picture or None, document_id, result.page),
    )
    if text and not failure:
        _insert_page_text(connection, document_id, title, document_text, heading, result.page, text)
    connection.execute(
        "delete from original where document=?1 and length(data)>?2 and not exists"
        "(select 1 from scan_page where document=?1 and state<>'read')",
        (document_id, max_original_bytes),
    )
    return True


def _insert_page_text(
    connection: sqlite3.Connection,
    document_id: int,
    title: str,
    document_text: str,
    heading: str,
    page: int,
    text: str,
) -> None:
    """Insert a page's text before that of the next page, and add its passages."""
    (next_start,) = connection.execute(
        "select min(start) from passage where document=? and page>?", (document_id, page)
    ).fetchone()
    if next_start is None:
        start = len(document_text) + bool(document_text)
        document_text = f"{document_text}\n{text}" if document_text else text
    else:
        start = next_start
        document_text = f"{document_text[:next_start]}{text}\n{document_text[next_start:]}"
        connection.execute(
            "update passage set start=start+?1, finish=finish+?1 where document=?2 and start>=?3",
            (len(text) + 1, document_id, next_start),
        )
    spans = [(heading, page, None, a, b) for a, b in split_passages(document_text, start, start + len(text))]
    connection.executemany(
        "insert into passage(document, heading, page, last_page, start, finish, title_tokens, body_tokens, "
        "opening_tokens) values(?,?,?,?,?,?,?,?,?)",
        [
            (document_id, *row)
            for row in build_passage_rows(
                title, document_text, opening_line(document_text, 0, len(document_text)), spans
            )
        ],
    )
    _, aliases = build_name_rows((), extract_aliases(title, text), document_id)
    connection.executemany("insert into alias values(?,?,?,?)", aliases)
    connection.execute(
        "update document set text=?1, characters=length(?1), passages="
        "(select count(*) from passage where document=?2), language=?3 where id=?2",
        (document_text, document_id, detect_language(document_text[:LANGUAGE_SAMPLE_CHARS])),
    )


def retry_failed_pages(connection: sqlite3.Connection, document_id: int) -> None:
    """Queue the failed pages of a document again."""
    connection.execute(
        "update scan_page set state='waiting', reason='' where document=? and state='failed'",
        (document_id,),
    )


def page_image(db: SQLiteFile, document_id: int, page: int) -> bytes:
    """Return the image of a page (JPEG), or b"" if there is none."""
    picture = db.read_value("select picture from scan_page where document=? and page=?", (document_id, page))
    return picture or b""


def find_document_with_image(db: SQLiteFile, name: str, page: int, text: str) -> int | None:
    """Return the id of the named document if it contains `text` and has an image of the page."""
    found: int | None = db.read_value(
        "select d.id from document d join scan_page s on s.document = d.id and s.page=? "
        "where d.name=? and s.picture is not null and instr(d.text, ?)",
        (page, name, text),
    )
    return found
