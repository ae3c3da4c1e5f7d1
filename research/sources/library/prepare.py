"""Conversion of a file into index rows: passages with their words, and the names it contains.

Pure except for `PreparedDocument.store`; knows nothing of searching.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from typing import Literal

from research.core.text.tokenizer import STOP_WORDS, content_characters, tokenize
from research.readers.documents import Document, read_document
from research.readers.drafts import FileLimit, UnreadableFileError
from research.readers.page_images import is_rendered
from research.sources.library.document_pages import StoredVersion
from research.sources.library.listing import document_kind
from research.sources.library.names import extract_aliases, extract_title_names, name_key
from research.sources.library.passages import split_passages
from research.sources.library.trash import NEXT_ID_SQL

OPENING_CHARS = 160  # characters of a document's opening
SUCCESSFUL_OUTCOMES = ("added", "replaced", "unchanged")


@dataclass(frozen=True, slots=True)
class AddResult:
    """The result of adding one file.

    `outcome` is a success or the problem, `detail` a one-line explanation, `limit` the exceeded
    limit, `pages` the pages that hold images without text. `is_attachment` marks a file that came with
    a mail, `skipped_attachments` are the names of those whose format cannot be read. `content` is the suffix of the
    format that a mislabelled file has; if the library has the file, it was read as such.
    `uncalculated` is the number of formulas without a stored result, which are missing from the text. A file with `is_cut` ends before
    its own end.
    """

    name: str
    outcome: Literal[
        "added",
        "replaced",
        "unchanged",
        "unsupported",
        "unreadable",
        "encrypted",
        "empty",
        "no text layer",
        "mislabelled",
        "too large",
        "too many",
    ]
    passage_count: int = 0
    detail: str = ""
    limit: FileLimit = ""
    pages: tuple[int, ...] = ()
    is_attachment: bool = False
    skipped_attachments: tuple[str, ...] = ()
    content: str = ""
    uncalculated: int = 0
    is_cut: bool = False

    @property
    def is_ok(self) -> bool:
        """True if the library has the file."""
        return self.outcome in SUCCESSFUL_OUTCOMES

    @property
    def is_remarked(self) -> bool:
        """True if the library has the file, but read as another format than that of its name, or in part."""
        return self.is_ok and bool(self.content or self.uncalculated or self.is_cut)


@dataclass(frozen=True, slots=True)
class MissingOriginal:
    """The file of a stored document whose original was not kept."""

    name: str
    sha256: str
    data: bytes
    is_attachment: bool = False

    def store(self, connection: sqlite3.Connection) -> AddResult:
        """Insert the file; the document stays as it is. The result has the pages that can be read by OCR now."""
        connection.execute(
            "insert or ignore into original(document, data) select id, ? from document where name=? and sha256=?",
            (self.data, self.name, self.sha256),
        )
        passage_count, pages = connection.execute(
            "select d.passages, (select json_group_array(page) from scan_page where document=d.id and "
            "state='waiting') from document d where d.name=?",
            (self.name,),
        ).fetchone() or (0, "[]")
        return AddResult(
            self.name, "replaced", passage_count, pages=tuple(json.loads(pages)), is_attachment=self.is_attachment
        )


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be stored; `data` is the file if it is kept, to show its pages or read scanned ones.

    `attachments` are the names of the documents that came with a mail.
    """

    document: Document
    passages: list[tuple[object, ...]]
    names: list[str]
    aliases: list[tuple[str, str]]
    data: bytes = b""
    attachments: tuple[str, ...] = ()
    is_attachment: bool = False
    skipped_attachments: tuple[str, ...] = ()

    def store(self, connection: sqlite3.Connection, *, is_sample: bool = False) -> AddResult:
        """Insert the document, replacing one of the same name."""
        doc = self.document
        replaced = connection.execute("delete from document where name=?", (doc.name,)).rowcount
        if document_kind(doc.name) == "mail":
            self._remove_former_attachments(connection)
        row = connection.execute(
            "insert into document(id, name, sha256, title, url, published, language, sample, added, "
            f"kind, passages, characters, text) values({NEXT_ID_SQL},?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                doc.name, doc.sha256, doc.title, doc.url,
                doc.published.isoformat() if doc.published else None, doc.language, int(is_sample),
                datetime.now(UTC).isoformat(), document_kind(doc.name), len(self.passages),
                len(doc.text), doc.text,
            ),
        )  # fmt: skip
        document_id = row.lastrowid or 0
        connection.executemany(
            "insert into passage(document, heading, page, last_page, start, finish, title_tokens, "
            "body_tokens, opening_tokens) values(?,?,?,?,?,?,?,?,?)",
            [(document_id, *passage) for passage in self.passages],
        )
        names, aliases = build_name_rows(self.names, self.aliases, document_id)
        connection.executemany("insert into name values(?,?,?)", names)
        connection.executemany("insert into alias values(?,?,?,?)", aliases)
        if self.data:
            connection.execute("insert into original values(?,?)", (document_id, self.data))
        connection.executemany(
            "insert into scan_page(document, page, heading, state) values(?,?,?,'waiting')",
            [(document_id, page, chapter) for page, chapter in doc.pictures],
        )
        return AddResult(
            doc.name,
            "replaced" if replaced else "added",
            len(self.passages),
            pages=tuple(page for page, _ in doc.pictures),
            is_attachment=self.is_attachment,
            skipped_attachments=self.skipped_attachments,
            content=doc.content,
            uncalculated=doc.uncalculated,
            is_cut=doc.is_cut,
        )

    def _remove_former_attachments(self, connection: sqlite3.Connection) -> None:
        """Delete the documents that came with an earlier version of this mail and are no longer in it."""
        prefix = f"{self.document.name}/"
        connection.execute("delete from unread where substr(name, 1, ?)=?", (len(prefix), prefix))
        rows = connection.execute("select name from document where substr(name, 1, ?)=?", (len(prefix), prefix))
        inner = tuple(f"{name}/" for name in self.attachments)
        former = [(name,) for (name,) in rows if name not in self.attachments and not name.startswith(inner)]
        connection.executemany("delete from document where name=?", former)


ReadFile = AddResult | MissingOriginal | PreparedDocument


def to_storable_name(name: str) -> str:
    """Replace characters that the file system could not decode, so that the name can be stored."""
    return name.encode("utf-8", "replace").decode()


def prepare_document(
    name: str,
    data: bytes,
    known: StoredVersion,
    *,
    keep_scans: bool = False,
    max_original_bytes: int = 0,
    reader: Callable[..., Document] = read_document,
) -> ReadFile:
    """Read a file, unless the `known` version of its document has the same bytes.

    With `keep_scans`, scanned pages are accepted and the file is kept to read them later. A file whose pages
    can be shown is kept if it has at most `max_original_bytes`.
    """
    should_keep = is_rendered(name) and len(data) <= max_original_bytes
    digest = hashlib.sha256(data).hexdigest()
    if digest == known.sha256:
        is_missing = not known.has_original and (should_keep or (keep_scans and known.has_waiting_pages))
        return MissingOriginal(name, digest, data) if is_missing else AddResult(name, "unchanged")
    try:
        document = reader(name, data, allow_scans=keep_scans)
    except UnreadableFileError as error:
        return AddResult(name, error.problem, 0, str(error), error.limit, error.pages, content=error.content)
    text = document.text
    spans = [
        (section.heading, section.page, section.last_page, start, end)
        for section in document.sections
        for start, end in split_passages(text, section.start, section.end)
    ]
    first_section = document.sections[0] if document.sections else None
    opening_text = opening_line(text, first_section.start, first_section.end) if first_section else ""
    return PreparedDocument(
        document,
        build_passage_rows(document.title, text, opening_text, spans),
        extract_title_names(document.title),
        extract_aliases(document.title, text),
        data if should_keep or (keep_scans and document.pictures) else b"",
    )


def opening_line(text: str, start: int, end: int) -> str:
    """Return the first line of a document's first section, which spans `start` to `end`."""
    return text[start : min(end, start + OPENING_CHARS)].split("\n", 1)[0]


def build_passage_rows(
    title: str, text: str, opening_text: str, spans: Iterable[tuple[str, int | None, int | None, int, int]]
) -> list[tuple[object, ...]]:
    """Return rows, with indexed words, of passages given as (heading, page, last page, start, end)."""
    opening_terms = " ".join(dict.fromkeys(remove_stop_words(tokenize(opening_text))))
    title_terms = _index_terms(title)
    return [
        (
            heading,
            page,
            last_page,
            start,
            end,
            f"{title_terms} {_heading_terms(heading)}",
            _index_terms(text[start:end]),
            opening_terms,
        )
        for heading, page, last_page, start, end in spans
    ]


def build_name_rows(
    names: Iterable[str], aliases: Sequence[tuple[str, str]], document_id: int
) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, str, int]]]:
    """Return the rows of a document's names and of its aliases, which are stored in both
    directions.
    """
    pairs = [*aliases, *((b, a) for a, b in aliases)]
    return (
        [(name_key(name), name, document_id) for name in names],
        [(name_key(a), a, b, document_id) for a, b in pairs],
    )


@lru_cache(4096)
def _heading_terms(text: str) -> str:
    """Return the index terms of a heading, cached because headings repeat (门票, Tickets)."""
    return _index_terms(text)


def _index_terms(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return " ".join([*remove_stop_words(tokenize(text)), *content_characters(text)])


def remove_stop_words(words: Iterable[str]) -> list[str]:
    """Return the words that are indexed and searched."""
    return [word for word in words if word not in STOP_WORDS]


@lru_cache(1)
def load_sample_files() -> tuple[tuple[str, bytes], ...]:
    """Return name and content of the sample documents shipped with the package."""
    folder = resources.files("research") / "data" / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)
    return tuple((f"sample/{f.name}", f.read_bytes()) for f in files)
