"""Files -> text: what a file says, as plain text with sections that can be cited.

`read` is pure: bytes in, a `Document` out, no file system, no network; what cannot be read raises
`Unreadable`. Text and markup are read here, packaged formats in `research.library.formats`. The
text keeps the file's own characters (no NFKC), so that a quote from it is found again in the file; only
white space that a layout has put there is gone.
"""

from __future__ import annotations

import csv
import hashlib
import os
import struct
import threading
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path, PurePosixPath

from lxml import etree

from research.language.text import language
from research.library.formats import (
    MAX_CELLS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_MEGAPIXELS,
    MAX_PAGES,
    MAX_ROWS,
    MAX_UNPACKED,
    Block,
    Draft,
    Limit,
    Problem,
    Unreadable,
    clean,
    one_line,
    read_csv,
    read_docx,
    read_pdf,
    read_picture,
    read_tsv,
    read_xlsx,
    too_deep,
    too_long,
)
from research.library.markup import read_html, read_md, read_txt, web_address
from research.records import Language, Record

__all__ = [
    "LIMITS",
    "MAX_BYTES",
    "MAX_CHARACTERS",
    "MAX_PAGES",
    "MAX_ROWS",
    "PICTURES",
    "SUFFIXES",
    "Document",
    "Limit",
    "Problem",
    "Section",
    "Unreadable",
    "accepted",
    "read",
    "walk",
]

MB = 1024 * 1024
MAX_BYTES = 50 * MB
# What a file may have; sizes in MB.
LIMITS: dict[Limit, int] = {
    "size": MAX_BYTES // MB,
    "characters": MAX_CHARACTERS,
    "pages": MAX_PAGES,
    "rows": MAX_ROWS,
    "cells": MAX_CELLS,
    "unpacked": MAX_UNPACKED // MB,
    "depth": MAX_DEPTH,
    "pixels": MAX_MEGAPIXELS,
}

# `warnings.catch_warnings` changes the whole process: two at once restore each other's filters.
_ONE_AT_A_TIME = threading.Lock()


class Section(Record):
    """`text[start:end]` of a document is the body; `heading` the path of headings above it."""

    heading: str
    start: int
    end: int
    page: int | None = None


class Document(Record):
    """A file as plain text. Paragraphs end with a line break; sections are in order, never empty.

    Heading lines are part of the text and lie between sections. `published` is what the file states
    about itself, never a guess. `sha256` is that of the file's bytes. `pictures` are the pages that hold
    pictures without text, each with its chapter.
    """

    name: str
    title: str
    text: str
    sections: tuple[Section, ...]
    url: str = ""
    published: date | None = None
    language: Language
    sha256: str
    pictures: tuple[tuple[int, str], ...] = ()


def read(name: str, data: bytes, *, scans: bool = False) -> Document:
    """The text of a file. `name` decides the format by its suffix and stands in for a title. With
    `scans`, pages that are pictures may be all that there is.

    Raises:
        Unreadable: the file gives no text; it says why.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        what = f"{suffix} files" if suffix else "Files without a suffix"
        raise Unreadable("unsupported", f"{what} cannot be read; accepted: {' '.join(SUFFIXES)}.")
    if len(data) > MAX_BYTES:
        detail = f"The file is larger than {LIMITS['size']} MB; split it."
        raise Unreadable("too large", detail, "size")
    draft = _parse(suffix, data) if data.strip() else Draft()
    title = one_line(draft.title) or one_line(path.stem) or "untitled"
    text, sections = _tile(draft.pieces, title)
    if not text.strip() and not (scans and draft.pictures):
        if draft.pictures:
            raise Unreadable(
                "no text layer", "The file holds pictures without text.", pages=[*draft.pictures]
            )
        raise Unreadable("empty", "The file holds no text.")
    if len(text) > MAX_CHARACTERS:
        raise too_long()
    return Document(
        name=name.encode("utf-8", "replace").decode(),
        title=title,
        text=text,
        sections=sections,
        url=web_address(draft.url),
        published=draft.published,
        language=draft.language or language(text or title),
        sha256=hashlib.sha256(data).hexdigest(),
        pictures=tuple(draft.pictures.items()),
    )


def walk(folder: Path, *, pictures: bool = False) -> Iterator[Path]:
    """The accepted files below a folder, sorted; nothing hidden, no link that leads out of it. Pictures
    are among them if they can be read: a folder may have thousands."""
    root = folder.resolve()
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(here, name) for name in names if not name.startswith((".", "~$"))]
    for path in sorted(found):
        if accepted(path.name, pictures=pictures) and _inside(path, root):
            yield path


def accepted(name: str, *, pictures: bool = False) -> bool:
    """Whether a file of that name is of a kind that is read, with or without pictures."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix in _READERS and (pictures or suffix not in PICTURES)


def _inside(path: Path, root: Path) -> bool:
    try:
        target = path.resolve()
        parts = target.relative_to(root).parts
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a link out of the folder
        return False
    return target.is_file() and not any(part.startswith(".") for part in parts)


@cache
def _parser_errors() -> tuple[type[Exception], ...]:
    """What the parsers of the formats raise on damaged files; most of it is undocumented."""
    from docx.exceptions import PythonDocxError
    from docx.opc.exceptions import OpcError
    from openpyxl.utils.exceptions import InvalidFileException
    from pypdf.errors import DependencyError, PyPdfError

    return (
        PyPdfError,
        DependencyError,
        PythonDocxError,
        OpcError,
        InvalidFileException,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        etree.LxmlError,
        csv.Error,
        struct.error,
        ArithmeticError,  # with OverflowError
        AssertionError,
        AttributeError,
        EOFError,
        LookupError,  # with KeyError and IndexError
        MemoryError,
        OSError,
        RuntimeError,  # with RecursionError and NotImplementedError
        SyntaxError,  # with ElementTree.ParseError
        TypeError,
        ValueError,  # with UnicodeError
    )


def _parse(suffix: str, data: bytes) -> Draft:
    try:
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _READERS[suffix](data)
    except _parser_errors() as error:
        if "Excessive depth" in str(error):  # as libxml2 calls it
            raise too_deep() from error
        kind = suffix[1:].upper()
        detail = f"The file is damaged or no {kind} file; open it, save it anew and try again."
        raise Unreadable("unreadable", detail) from error


def _tile(pieces: list[Block], title: str) -> tuple[str, tuple[Section, ...]]:
    """Joins pieces to a text. Pieces under one heading make one section; so does a bare heading."""
    kept = [piece._replace(text=body) for piece in pieces if (body := clean(piece.text))]
    sections: list[Section] = []
    at = 0
    last: tuple[str, int | None] | None = None
    for piece, after in zip(kept, [*kept, None][1:], strict=True):
        start, at = at, at + len(piece.text) + 1
        path = piece.path[:-1] if piece.shown else piece.path
        place = (" > ".join(path[1:] if path[:1] == (title,) else path), piece.page)
        if piece.shown and after and not (after.shown and len(after.path) <= len(piece.path)):
            last = None
            continue
        if place == last and not piece.shown:
            start = sections.pop().start
        sections.append(Section(heading=place[0], start=start, end=at - 1, page=piece.page))
        last = None if piece.shown else place
    return "\n".join(piece.text for piece in kept), tuple(sections)


PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
_READERS: dict[str, Callable[[bytes], Draft]] = {
    ".txt": read_txt,
    ".md": read_md,
    ".markdown": read_md,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".xlsx": read_xlsx,
    **dict.fromkeys(PICTURES, read_picture),
}
SUFFIXES = tuple(_READERS)
