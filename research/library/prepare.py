"""From a file to the rows of the index: its passages with their words, and the names it gives.

Pure but for `Prepared.store`, which writes the rows; knows nothing of searching.
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from typing import Literal

from research.library.bin import NEW_ID
from research.library.documents import Document, Limit, Unreadable, read
from research.library.listing import kind_of
from research.library.names import aliases_of, name_key, title_names
from research.library.passages import split
from research.text import STOP, characters, tokens

OPENING = 160  # characters of a document that stand for it


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one file: `outcome` is a success or the problem, `detail` one clear line, `limit`
    the limit that it is over."""

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
    passages: int = 0
    detail: str = ""
    limit: Limit = ""

    @property
    def ok(self) -> bool:
        return self.outcome in ("added", "replaced", "unchanged")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be stored."""

    document: Document
    passages: list[tuple[object, ...]]
    names: list[str]
    aliases: list[tuple[str, str]]

    def store(self, connection: sqlite3.Connection, *, sample: bool) -> Added:
        """Puts the document in the place of one with the same name."""
        doc = self.document
        replaced = connection.execute("delete from document where name=?", (doc.name,)).rowcount
        row = connection.execute(
            "insert into document(id, name, sha256, title, url, published, language, sample, added, "
            f"kind, passages, characters, text) values({NEW_ID},?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                doc.name, doc.sha256, doc.title, doc.url,
                doc.published.isoformat() if doc.published else None, doc.language, int(sample),
                datetime.now(UTC).isoformat(), kind_of(doc.name), len(self.passages),
                len(doc.text), doc.text,
            ),
        )  # fmt: skip
        number = row.lastrowid
        connection.executemany(
            "insert into passage(document, heading, page, start, finish, title_tokens, "
            "body_tokens, opening_tokens) values(?,?,?,?,?,?,?,?)",
            [(number, *passage) for passage in self.passages],
        )
        connection.executemany(
            "insert into name values(?,?,?)", [(name_key(n), n, number) for n in self.names]
        )
        both = [*self.aliases, *((b, a) for a, b in self.aliases)]
        connection.executemany(
            "insert into alias values(?,?,?,?)", [(name_key(a), a, b, number) for a, b in both]
        )
        return Added(doc.name, "replaced" if replaced else "added", len(self.passages))


def storable(name: str) -> str:
    """A name that the file system could not decode, as text that can be stored."""
    return name.encode("utf-8", "replace").decode()


def prepare(name: str, data: bytes, known: str) -> Added | Prepared:
    """Reads a file; `known` is the digest (SHA-256) of what the index has under its name."""
    if hashlib.sha256(data).hexdigest() == known:
        return Added(name, "unchanged")
    try:
        document = read(name, data)
    except Unreadable as error:
        return Added(name, error.problem, detail=str(error), limit=error.limit)
    passages: list[tuple[object, ...]] = []
    opening = " ".join(dict.fromkeys(significant(tokens(_opening(document)))))
    title = _terms(document.title)
    for section in document.sections:
        titles = f"{title} {_heading(section.heading)}"
        for start, end in split(document.text, section.start, section.end):
            body = _terms(document.text[start:end])
            passages.append((section.heading, section.page, start, end, titles, body, opening))
    return Prepared(
        document, passages, title_names(document.title), aliases_of(document.title, document.text)
    )


@lru_cache(4096)
def _heading(text: str) -> str:
    """Headings are few and come again: 门票, Tickets."""
    return _terms(text)


def _terms(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    return " ".join([*significant(tokens(text)), *characters(text)])


def significant(words: Iterable[str]) -> list[str]:
    """The words that are indexed and searched: all but those that say nothing."""
    return [word for word in words if word not in STOP]


def _opening(document: Document) -> str:
    """The first line of the document's first section."""
    start, end = document.sections[0].start, document.sections[0].end
    return document.text[start : min(end, start + OPENING)].split("\n", 1)[0]


@lru_cache(1)
def sample_files() -> tuple[tuple[str, bytes], ...]:
    """Name and content of the documents that ship with the package."""
    folder = resources.files("research") / "data" / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".md")), key=lambda f: f.name)
    return tuple((f"sample/{f.name}", f.read_bytes()) for f in files)
