"""Queries that list and count the library's documents and passages.

Lists are read from the covering index `document_listed`, never from the texts, so that a library of
thousands of documents is listed in a few milliseconds.
"""

# ruff: noqa: S608  (only names of our own columns are formatted into statements)

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal, get_args

from research.core.records.evidence import format_page_range
from research.readers.documents import PICTURE_SUFFIXES
from research.storage.sqlite_files import SQLiteFile, parse_stored_time

DocumentKind = Literal["pdf", "word", "table", "web", "text", "slides", "book", "mail", "picture"]
SortField = Literal["title", "name", "kind", "language", "published", "passages", "added"]
SORT_FIELDS: tuple[SortField, ...] = get_args(SortField)
PAGE_SIZE = 50  # documents per page of the list

_KIND_BY_SUFFIX: dict[str, DocumentKind] = {
    ".pdf": "pdf",
    ".docx": "word",
    ".odt": "word",
    ".rtf": "word",
    ".pptx": "slides",
    ".epub": "book",
    ".eml": "mail",
    ".msg": "mail",
    ".xlsx": "table",
    ".csv": "table",
    ".tsv": "table",
    ".xls": "table",
    ".xlsb": "table",
    ".ods": "table",
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
    """A document as shown in the library's list."""

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
    """Filters and order of a document list; an empty field filters nothing.

    `text` is searched in titles and names; `year` is the year of the document's own date, or
    `UNDATED`; `names` limits the list to documents of these names.
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
    """Numbers of own and sample documents, and of the selected ones by kind, language and year."""

    own_count: int = 0
    sample_count: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    by_language: dict[str, int] = field(default_factory=dict)
    by_year: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage with its position: `text` is the document's text from `start` to `end`.

    With `is_ocr`, it was recognised in the image of its page.
    """

    heading: str
    page: int | None
    start: int
    end: int
    text: str
    is_ocr: bool = False
    last_page: int | None = None

    @property
    def page_range(self) -> str:
        """The page, or the first and the last one, as in "3" and "3–4"; "" if unknown."""
        return format_page_range(self.page, self.last_page)


def document_kind(name: str) -> DocumentKind:
    """Return the kind of a file by its suffix."""
    return _KIND_BY_SUFFIX.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), "text")


class DocumentList:
    """Lists and counts the documents and passages in the library file `_db`."""

    _db: SQLiteFile

    def list_all(self) -> list[DocumentEntry]:
        """Return all documents, the analyst's own first, by title."""
        return [_parse_entry(row) for row in self._db.read(f"select {_COLUMNS} order by sample, title")]

    def list_page(
        self, query: DocumentQuery, offset: int = 0, limit: int = PAGE_SIZE
    ) -> tuple[list[DocumentEntry], int]:
        """Return `limit` matching documents from `offset` on, and the total number of matches."""
        where, args = _build_where(query)
        total = self._db.read_value(f"select count(*) from document indexed by document_listed where {where}", args)
        order = query.sort_field if query.sort_field in SORT_FIELDS else "added"
        collate = " collate nocase" if order in ("title", "name") else ""
        direction = "desc" if query.is_descending else "asc"
        rows = self._db.read(
            f"select {_COLUMNS} where {where} order by {order}{collate} {direction} nulls last, id {direction} limit ? offset ?",
            (*args, limit, offset),
        )
        return [_parse_entry(row) for row in rows], int(total)

    def count_by_origin(self) -> tuple[int, int]:
        """Return the number of own documents and of sample documents."""
        rows: list[Any] = self._db.read("select sum(1 - sample), sum(sample) from document indexed by document_listed")
        return int(rows[0][0] or 0), int(rows[0][1] or 0)

    def count_documents(self, is_sample: bool | None = None) -> DocumentCounts:
        """Count all documents; count by kind, language and year only the samples (`is_sample` True), only
        own documents (False), or all (None)."""
        rows: list[Any] = self._db.read(
            "select sample, kind, language, coalesce(substr(published, 1, 4), ?), count(*) "
            "from document indexed by document_listed group by 1, 2, 3, 4",
            (DocumentQuery.UNDATED,),
        )
        breakdowns: list[dict[str, int]] = [{}, {}, {}]
        sums = [0, 0]
        for sample, *values, count in rows:
            sums[sample] += count
            if is_sample is None or bool(sample) == is_sample:
                for counts, value in zip(breakdowns, values, strict=True):
                    counts[value] = counts.get(value, 0) + count
        return DocumentCounts(sums[0], sums[1], *breakdowns)

    def find_entry(self, document_id: int) -> DocumentEntry | None:
        """Return one document, or None if the id is unknown."""
        rows = self._db.read(
            "select id, name, title, url, published, language, sample, added, passages, characters, "
            "kind from document where id=?",
            (document_id,),
        )
        return _parse_entry(rows[0]) if rows else None

    def list_excerpts(self, document_id: int, offset: int = 0, limit: int = 30) -> list[Excerpt]:
        """Return `limit` passages of a document from `offset` on, in order."""
        rows: list[Any] = self._db.read(
            "select heading, page, start, finish, last_page, exists(select 1 from scan_page s "
            "where s.document=p.document and s.page=p.page) "
            "from passage p where document=? order by start, id limit ? offset ?",
            (document_id, limit, offset),
        )
        text = self.document_text(document_id) if rows else ""
        return [Excerpt(r[0], r[1], r[2], r[3], text[r[2] : r[3]], bool(r[5]), r[4]) for r in rows]

    def passage_index(self, document_id: int, start: int) -> int:
        """Return the number of a document's passages that begin before the character offset `start`."""
        return int(
            self._db.read_value("select count(*) from passage where document=? and start<?", (document_id, start))
        )

    def document_text(self, document_id: int) -> str:
        """Return the whole text of a document, or "" if the id is unknown."""
        return str(self._db.read_value("select text from document where id=?", (document_id,), ""))

    def languages(self) -> frozenset[str]:
        """Return the languages of the library's documents."""
        return frozenset(str(row[0]) for row in self._db.read("select distinct language from document"))


def _build_where(query: DocumentQuery) -> tuple[str, list[object]]:
    """Build the SQL condition of a document query, with its arguments."""
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
