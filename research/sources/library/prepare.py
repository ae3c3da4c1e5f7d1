"""From a file to the rows of the index: its passages with their words, and the names it gives.

Pure but for `Prepared.store`, which writes the rows; knows nothing of searching.
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from typing import Literal

from research.core.text.tokenizer import STOP_WORDS, content_characters, tokenize
from research.readers.documents import Document, FileLimit, UnreadableFileError, read_document
from research.sources.library.listing import document_kind
from research.sources.library.names import extract_aliases, extract_title_names, name_key
from research.sources.library.passages import split_passages
from research.sources.library.trash import NEXT_ID_SQL

OPENING_CHARS = 160  # characters of a document that stand for it


@dataclass(frozen=True, slots=True)
class AddResult:
    """What became of one file: `outcome` is a success or the problem, `detail` one clear line, `limit`
    the limit that it is over, `pages` those that hold pictures without text."""

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
        "too large",
        "too many",
    ]
    passage_count: int = 0
    detail: str = ""
    limit: FileLimit = ""
    pages: tuple[int, ...] = ()

    @property
    def is_ok(self) -> bool:
        return self.outcome in ("added", "replaced", "unchanged")


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be stored; `data` is its file, if pages of it can be read as pictures."""

    document: Document
    passages: list[tuple[object, ...]]
    names: list[str]
    aliases: list[tuple[str, str]]
    data: bytes = b""

    def store(self, connection: sqlite3.Connection, *, sample: bool) -> AddResult:
        """Puts the document in the place of one with the same name."""
        doc = self.document
        replaced = connection.execute("delete from document where name=?", (doc.name,)).rowcount
        row = connection.execute(
            "insert into document(id, name, sha256, title, url, published, language, sample, added, "
            f"kind, passages, characters, text) values({NEXT_ID_SQL},?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                doc.name, doc.sha256, doc.title, doc.url,
                doc.published.isoformat() if doc.published else None, doc.language, int(sample),
                datetime.now(UTC).isoformat(), document_kind(doc.name), len(self.passages),
                len(doc.text), doc.text,
            ),
        )  # fmt: skip
        number = row.lastrowid or 0
        connection.executemany(
            "insert into passage(document, heading, page, start, finish, title_tokens, "
            "body_tokens, opening_tokens) values(?,?,?,?,?,?,?,?)",
            [(number, *passage) for passage in self.passages],
        )
        names, aliases = build_name_rows(self.names, self.aliases, number)
        connection.executemany("insert into name values(?,?,?)", names)
        connection.executemany("insert into alias values(?,?,?,?)", aliases)
        if doc.pictures and self.data:
            connection.execute("insert into scan values(?,?)", (number, self.data))
        connection.executemany(
            "insert into scan_page(document, page, heading, state) values(?,?,?,'waiting')",
            [(number, page, chapter) for page, chapter in doc.pictures],
        )
        return AddResult(
            doc.name, "replaced" if replaced else "added", len(self.passages),
            pages=tuple(page for page, _ in doc.pictures),
        )  # fmt: skip


def to_storable_name(name: str) -> str:
    """A name that the file system could not decode, as text that can be stored."""
    return name.encode("utf-8", "replace").decode()


def prepare_document(
    name: str,
    data: bytes,
    known_digest: str,
    *,
    keep_scans: bool = False,
    reader: Callable[..., Document] = read_document,
) -> AddResult | PreparedDocument:
    """Reads a file; `known` is the digest (SHA-256) of what the index has under its name. With `scans`,
    what is a picture in it can be read later."""
    if hashlib.sha256(data).hexdigest() == known_digest:
        return AddResult(name, "unchanged")
    try:
        document = reader(name, data, scans=keep_scans)
    except UnreadableFileError as error:
        return AddResult(name, error.problem, 0, str(error), error.limit, error.pages)
    text = document.text
    stretches = [
        (section.heading, section.page, start, end)
        for section in document.sections
        for start, end in split_passages(text, section.start, section.end)
    ]
    first = document.sections[0] if document.sections else None
    begins = opening_line(text, first.start, first.end) if first else ""
    return PreparedDocument(
        document,
        build_passage_rows(document.title, text, begins, stretches),
        extract_title_names(document.title),
        extract_aliases(document.title, text),
        data if keep_scans and document.pictures else b"",
    )


def opening_line(text: str, start: int, end: int) -> str:
    """The first line of a document's first section, which goes from `start` to `end`."""
    return text[start : min(end, start + OPENING_CHARS)].split("\n", 1)[0]


def build_passage_rows(
    title: str, text: str, opening_text: str, spans: Iterable[tuple[str, int | None, int, int]]
) -> list[tuple[object, ...]]:
    """The passages of a document that begins with `begins`, each given as its heading, page, start and
    end, with the words by which they are found."""
    words = " ".join(dict.fromkeys(remove_stop_words(tokenize(opening_text))))
    titles = _index_terms(title)
    return [
        (heading, page, start, end, f"{titles} {_heading_terms(heading)}", _index_terms(text[start:end]), words)
        for heading, page, start, end in spans
    ]


def build_name_rows(
    names: Iterable[str], aliases: Sequence[tuple[str, str]], document_id: int
) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, str, int]]]:
    """What is stored of a document's names, and of those that mean the same, both ways."""
    both = [*aliases, *((b, a) for a, b in aliases)]
    return (
        [(name_key(name), name, document_id) for name in names],
        [(name_key(a), a, b, document_id) for a, b in both],
    )


@lru_cache(4096)
def _heading_terms(text: str) -> str:
    """Headings are few and come again: 门票, Tickets."""
    return _index_terms(text)


def _index_terms(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return " ".join([*remove_stop_words(tokenize(text)), *content_characters(text)])


def remove_stop_words(words: Iterable[str]) -> list[str]:
    """The words that are indexed and searched: all but those that say nothing."""
    return [word for word in words if word not in STOP_WORDS]


@lru_cache(1)
def load_sample_files() -> tuple[tuple[str, bytes], ...]:
    """Name and content of the documents that ship with the package."""
    folder = resources.files("research") / "data" / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)
    return tuple((f"sample/{f.name}", f.read_bytes()) for f in files)
