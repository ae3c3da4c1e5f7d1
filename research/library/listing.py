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

from research.library.documents import PICTURES
from research.storage import Database, stored_time

Kind = Literal["pdf", "word", "table", "web", "text", "picture"]
Order = Literal["title", "name", "kind", "language", "published", "passages", "added"]
ORDERS: tuple[Order, ...] = get_args(Order)
PAGE = 50  # documents of a page of the list

_KIND_OF: dict[str, Kind] = {
    ".pdf": "pdf",
    ".docx": "word",
    ".xlsx": "table",
    ".csv": "table",
    ".tsv": "table",
    ".html": "web",
    ".htm": "web",
    **dict.fromkeys(PICTURES, "picture"),
}
_COLUMNS = (
    "id, name, title, url, published, language, sample, added, passages, characters, kind "
    "from document indexed by document_listed"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document as the library lists it."""

    id: int
    name: str
    title: str
    url: str
    published: date | None
    language: str
    sample: bool
    added: datetime | None  # None where the stored time cannot be read
    passages: int
    characters: int
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which documents a list is to have; what is empty leaves nothing out.

    `text` is looked for in titles and names, `year` is that of the document's own date (`UNDATED`:
    it states none). With `names`, only documents that have these are wanted.
    """

    UNDATED: ClassVar[str] = "-"
    text: str = ""
    language: str = ""
    kind: str = ""
    year: str = ""
    sample: bool | None = None
    names: tuple[str, ...] | None = None
    order: Order = "added"
    descending: bool = True


@dataclass(frozen=True, slots=True)
class Counts:
    """How many documents the library has, and of those that were asked for, how many of each."""

    own: int = 0
    sample: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage in its place; `text` is the document's from `start` to `end`. With `ocr` it was read
    from the picture of its page."""

    heading: str
    page: int | None
    start: int
    end: int
    text: str
    ocr: bool = False


def kind_of(name: str) -> Kind:
    """What kind of file it is, by its suffix."""
    return _KIND_OF.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), "text")


def everything(db: Database) -> list[Entry]:
    """All documents, the analyst's own first, by title."""
    return [_entry(row) for row in db.read(f"select {_COLUMNS} order by sample, title")]


def page(db: Database, wanted: Wanted, offset: int, limit: int) -> tuple[list[Entry], int]:
    """A stretch of the documents that are wanted, in order, and how many there are in all."""
    where, args = _where(wanted)
    found: list[Any] = db.read(
        f"select count(*) from document indexed by document_listed where {where}", args
    )
    order = wanted.order if wanted.order in ORDERS else "added"
    collate = " collate nocase" if order in ("title", "name") else ""
    way = "desc" if wanted.descending else "asc"
    rows = db.read(
        f"select {_COLUMNS} where {where} order by {order}{collate} {way} nulls last, id {way} "
        "limit ? offset ?",
        (*args, limit, offset),
    )
    return [_entry(row) for row in rows], int(found[0][0])


def ids(db: Database, wanted: Wanted) -> list[int]:
    """All that are wanted, by id."""
    where, args = _where(wanted)
    rows: list[Any] = db.read(
        f"select id from document indexed by document_listed where {where}", args
    )
    return [int(row[0]) for row in rows]


def sums(db: Database) -> tuple[int, int]:
    """How many documents are the analyst's own, and how many are samples."""
    rows: list[Any] = db.read(
        "select sum(1 - sample), sum(sample) from document indexed by document_listed"
    )
    return int(rows[0][0] or 0), int(rows[0][1] or 0)


def counts(db: Database, sample: bool | None = None) -> Counts:
    """How many documents there are; by kind, language and year only those that are asked for."""
    rows: list[Any] = db.read(
        "select sample, kind, language, coalesce(substr(published, 1, 4), ?), count(*) "
        "from document indexed by document_listed group by 1, 2, 3, 4",
        (Wanted.UNDATED,),
    )
    of: list[dict[str, int]] = [{}, {}, {}]
    sums = [0, 0]
    for shipped, *values, n in rows:
        sums[shipped] += n
        if sample is None or bool(shipped) == sample:
            for table, value in zip(of, values, strict=True):
                table[value] = table.get(value, 0) + n
    return Counts(sums[0], sums[1], *of)


def entry(db: Database, document: int) -> Entry | None:
    """One document, or None if there is none of that id."""
    rows = db.read(
        "select id, name, title, url, published, language, sample, added, passages, characters, "
        "kind from document where id=?",
        (document,),
    )
    return _entry(rows[0]) if rows else None


def excerpts(db: Database, document: int, offset: int, limit: int) -> list[Excerpt]:
    """A stretch of a document's passages, in order."""
    rows: list[Any] = db.read(
        "select heading, page, start, finish, exists(select 1 from scan_page s "
        "where s.document=p.document and s.page=p.page) "
        "from passage p where document=? order by start, id limit ? offset ?",
        (document, limit, offset),
    )
    texts: list[Any] = db.read("select text from document where id=?", (document,)) if rows else []
    if not texts:
        return []
    text = str(texts[0][0])
    return [Excerpt(r[0], r[1], r[2], r[3], text[r[2] : r[3]], bool(r[4])) for r in rows]


def place(db: Database, document: int, start: int) -> int:
    """How many passages of a document come before the one that begins at a character."""
    rows: list[Any] = db.read(
        "select count(*) from passage where document=? and start<?", (document, start)
    )
    return int(rows[0][0])


def _where(wanted: Wanted) -> tuple[str, list[object]]:
    parts, args = ["1"], list[object]()
    for word in wanted.text.split():
        like = "%" + "".join("\\" + c if c in "\\%_" else c for c in word) + "%"
        parts.append("(title like ? escape '\\' or name like ? escape '\\')")
        args += [like, like]
    for column, value in (("language", wanted.language), ("kind", wanted.kind)):
        if value:
            parts.append(f"{column}=?")
            args.append(value)
    if wanted.year == Wanted.UNDATED:
        parts.append("published is null")
    elif wanted.year:
        parts.append("substr(published, 1, 4)=?")
        args.append(wanted.year)
    if wanted.sample is not None:
        parts.append("sample=?")
        args.append(int(wanted.sample))
    if wanted.names is not None:
        parts.append("name in (select value from json_each(?))")
        args.append(json.dumps(wanted.names))
    return " and ".join(parts), args


def _entry(row: Any) -> Entry:
    return Entry(
        row[0], row[1], row[2], row[3], stored_time(date, row[4]), row[5],
        bool(row[6]), stored_time(datetime, row[7]), row[8], row[9], row[10],
    )  # fmt: skip
