"""Lists of the library's documents: a page of them, how many there are, the passages of one.

What a list shows is read from an index alone, never from the texts: a library of thousands of
documents is listed in some milliseconds.
"""

# ruff: noqa: S608  (names of our own columns alone are put into statements)

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal, get_args

from research.readers.documents import PICTURE_SUFFIXES
from research.storage.sqlite_files import SQLiteFile, parse_stored_time

DocumentKind = Literal["pdf", "word", "table", "web", "text", "picture"]
SortField = Literal["title", "name", "kind", "language", "published", "passages", "added"]
SORT_FIELDS: tuple[SortField, ...] = get_args(SortField)
PAGE_SIZE = 50  # documents of a page of the list

_KIND_BY_SUFFIX: dict[str, DocumentKind] = {
    ".pdf": "pdf",
    ".docx": "word",
    ".xlsx": "table",
    ".csv": "table",
    ".tsv": "table",
    ".html": "web",
    ".htm": "web",
    **dict.fromkeys(PICTURE_SUFFIXES, "picture"),
}
_COLUMNS = (
    "id, name, title, url, published, language, sample, added, passages, characters, kind "
    "from document indexed by document_listed"
)


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document as the library lists it."""

    id: int
    name: str
    title: str
    url: str
    published: date | None
    language: str
    is_sample: bool
    added_at: datetime | None  # None where the stored time cannot be read
    passage_count: int
    character_count: int
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """Which documents a list is to have; what is empty leaves nothing out.

    `text` is looked for in titles and names, `year` is that of the document's own date (`UNDATED`:
    it states none). With `names`, only documents that have these are wanted.
    """

    UNDATED: ClassVar[str] = "-"
    text: str = ""
    language: str = ""
    kind: str = ""
    year: str = ""
    is_sample: bool | None = None
    names: tuple[str, ...] | None = None
    sort_field: SortField = "added"
    is_descending: bool = True


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """How many documents the library has, and of those that were asked for, how many of each."""

    own_count: int = 0
    sample_count: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    by_language: dict[str, int] = field(default_factory=dict)
    by_year: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage in its place; `text` is the document's from `start` to `end`. With `ocr` it was read
    from the picture of its page."""

    heading: str
    page: int | None
    start: int
    end: int
    text: str
    is_ocr: bool = False


def document_kind(name: str) -> DocumentKind:
    """What kind of file it is, by its suffix."""
    return _KIND_BY_SUFFIX.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), "text")


def list_all(db: SQLiteFile) -> list[DocumentEntry]:
    """All documents, the analyst's own first, by title."""
    return [_parse_entry(row) for row in db.read(f"select {_COLUMNS} order by sample, title")]


def list_page(db: SQLiteFile, query: DocumentQuery, offset: int, limit: int) -> tuple[list[DocumentEntry], int]:
    """A stretch of the documents that are wanted, in order, and how many there are in all."""
    where, args = _build_where(query)
    found: list[Any] = db.read(f"select count(*) from document indexed by document_listed where {where}", args)
    order = query.sort_field if query.sort_field in SORT_FIELDS else "added"
    collate = " collate nocase" if order in ("title", "name") else ""
    way = "desc" if query.is_descending else "asc"
    rows = db.read(
        f"select {_COLUMNS} where {where} order by {order}{collate} {way} nulls last, id {way} limit ? offset ?",
        (*args, limit, offset),
    )
    return [_parse_entry(row) for row in rows], int(found[0][0])


def list_ids(db: SQLiteFile, query: DocumentQuery) -> list[int]:
    """All that are wanted, by id."""
    where, args = _build_where(query)
    rows: list[Any] = db.read(f"select id from document indexed by document_listed where {where}", args)
    return [int(row[0]) for row in rows]


def count_by_origin(db: SQLiteFile) -> tuple[int, int]:
    """How many documents are the analyst's own, and how many are samples."""
    rows: list[Any] = db.read("select sum(1 - sample), sum(sample) from document indexed by document_listed")
    return int(rows[0][0] or 0), int(rows[0][1] or 0)


def count_documents(db: SQLiteFile, sample: bool | None = None) -> DocumentCounts:
    """How many documents there are; by kind, language and year only those that are asked for."""
    rows: list[Any] = db.read(
        "select sample, kind, language, coalesce(substr(published, 1, 4), ?), count(*) "
        "from document indexed by document_listed group by 1, 2, 3, 4",
        (DocumentQuery.UNDATED,),
    )
    of: list[dict[str, int]] = [{}, {}, {}]
    sums = [0, 0]
    for shipped, *values, n in rows:
        sums[shipped] += n
        if sample is None or bool(shipped) == sample:
            for table, value in zip(of, values, strict=True):
                table[value] = table.get(value, 0) + n
    return DocumentCounts(sums[0], sums[1], *of)


def find_entry(db: SQLiteFile, document_id: int) -> DocumentEntry | None:
    """One document, or None if there is none of that id."""
    rows = db.read(
        "select id, name, title, url, published, language, sample, added, passages, characters, "
        "kind from document where id=?",
        (document_id,),
    )
    return _parse_entry(rows[0]) if rows else None


def list_excerpts(db: SQLiteFile, document_id: int, offset: int, limit: int) -> list[Excerpt]:
    """A stretch of a document's passages, in order."""
    rows: list[Any] = db.read(
        "select heading, page, start, finish, exists(select 1 from scan_page s "
        "where s.document=p.document and s.page=p.page) "
        "from passage p where document=? order by start, id limit ? offset ?",
        (document_id, limit, offset),
    )
    texts: list[Any] = db.read("select text from document where id=?", (document_id,)) if rows else []
    if not texts:
        return []
    text = str(texts[0][0])
    return [Excerpt(r[0], r[1], r[2], r[3], text[r[2] : r[3]], bool(r[4])) for r in rows]


def passage_index(db: SQLiteFile, document_id: int, start: int) -> int:
    """How many passages of a document come before the one that begins at a character."""
    rows: list[Any] = db.read("select count(*) from passage where document=? and start<?", (document_id, start))
    return int(rows[0][0])


def _build_where(query: DocumentQuery) -> tuple[str, list[object]]:
    parts, args = ["1"], list[object]()
    for word in query.text.split():
        like = "%" + "".join("\\" + c if c in "\\%_" else c for c in word) + "%"
        parts.append("(title like ? escape '\\' or name like ? escape '\\')")
        args += [like, like]
    for column, value in (("language", query.language), ("kind", query.kind)):
        if value:
            parts.append(f"{column}=?")
            args.append(value)
    if query.year == DocumentQuery.UNDATED:
        parts.append("published is null")
    elif query.year:
        parts.append("substr(published, 1, 4)=?")
        args.append(query.year)
    if query.is_sample is not None:
        parts.append("sample=?")
        args.append(int(query.is_sample))
    if query.names is not None:
        parts.append("name in (select value from json_each(?))")
        args.append(json.dumps(query.names))
    return " and ".join(parts), args


def _parse_entry(row: Any) -> DocumentEntry:
    return DocumentEntry(
        row[0], row[1], row[2], row[3], parse_stored_time(date, row[4]), row[5],
        bool(row[6]), parse_stored_time(datetime, row[7]), row[8], row[9], row[10],
    )  # fmt: skip
