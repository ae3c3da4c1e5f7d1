"""Files -> text: what a file says, as plain text with sections that can be cited.

`read` takes bytes and returns a `Document`; a file that cannot be read raises `Unreadable`. The bytes are
a stranger's, so they are parsed in a child process with limits (`research.readers`), by `parse`. Text and
markup are read in `research.readers.markup`, packaged formats in `research.readers.formats`. The
text keeps the file's own characters (no NFKC), so that a quote from it is found again in the file; only
white space that a layout has put there is gone.
"""

from __future__ import annotations

import csv
import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lxml import etree

from research.core.records import Language, Record
from research.core.text.words import detect_language
from research.readers.formats import (
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
from research.readers.markup import read_html, read_md, read_txt, web_address
from research.readers.pool import MB, Allowance, Fault, ParserError, ParserPool
from research.readers.webpages import MAX_ATTRIBUTES, MAX_ELEMENTS

__all__ = [
    "FILE_LIMITS",
    "MAX_BYTES",
    "MAX_CHARACTERS",
    "MAX_PAGES",
    "MAX_ROWS",
    "PICTURE_SUFFIXES",
    "SUFFIXES",
    "Document",
    "Limit",
    "Problem",
    "Section",
    "Unreadable",
    "accepted",
    "parse",
    "read",
    "walk",
]

MAX_BYTES = 50 * MB
# What a file may have; sizes in MB.
FILE_LIMITS: dict[Limit, int] = {
    "size": MAX_BYTES // MB,
    "characters": MAX_CHARACTERS,
    "pages": MAX_PAGES,
    "rows": MAX_ROWS,
    "cells": MAX_CELLS,
    "unpacked": MAX_UNPACKED // MB,
    "depth": MAX_DEPTH,
    "pixels": MAX_MEGAPIXELS,
    "attributes": MAX_ATTRIBUTES,
    "elements": MAX_ELEMENTS,
}
PATIENCE = 600.0  # seconds that a file waits for its turn


class Rate(NamedTuple):
    """Limits for parsing a file of a format.

    `memory` is in MB, plus `times` the size of the file. `seconds` are of processor time, plus
    `more` seconds for each MB. An ordinary file was measured to need at most a quarter of each
    limit.
    """

    memory: int
    times: int
    seconds: float
    more: float


_TEXT, _PAGE = Rate(64, 32, 1.5, 3), Rate(64, 150, 1.5, 4)
_PLAIN_PAGE = Rate(64, 60, 1.0, 1)
_RATES = {
    ".html": _PAGE, ".htm": _PAGE, ".md": _PAGE, ".markdown": _PAGE,
    ".pdf": Rate(224, 40, 1.5, 60), ".docx": Rate(96, 400, 1.5, 20), ".xlsx": Rate(96, 150, 1.5, 15),
}  # fmt: skip
LONGEST = 900.0  # seconds of processor time of any file
_IMPORTS = {
    ".html": ("trafilatura",), ".htm": ("trafilatura",), ".pdf": ("pypdf",), ".docx": ("docx",),
    ".xlsx": ("openpyxl",), **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"), ("PIL.TiffImagePlugin",)),
}  # fmt: skip
_PARSERS = ParserPool(3)


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
    suffix = _suffix(name, data)
    rate = _RATES.get(suffix, _TEXT)
    try:
        found = _parse_apart(name, data, rate, scans=scans)
    except ParserError as error:
        if suffix not in (".html", ".htm") or error.fault in ("busy", "start"):
            raise _broken_off(error.fault, suffix) from error
        try:  # finding the main text takes longer than reading all of it
            found = _parse_apart(name, data, _PLAIN_PAGE, scans=scans, whole=True)
        except ParserError as second:
            raise _broken_off(second.fault, suffix) from second
    if "document" not in found:
        raise Unreadable(**found)
    return Document.model_validate(found["document"])


def _parse_apart(name: str, data: bytes, rate: Rate, **options: bool) -> Any:
    size = len(data) / MB
    return _PARSERS.call(
        "research.readers.documents:parse_task",
        data,
        {"name": name, **options},
        allowance=Allowance(
            int((rate.memory + rate.times * size) * MB),
            min(LONGEST, rate.seconds + rate.more * size),
        ),
        imports=_IMPORTS.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), ()),
        patience=PATIENCE,
    )


def parse_task(data: bytes, progress: object, *, name: str, **options: bool) -> dict[str, Any]:
    """`parse` as a task of a parser process."""
    try:
        return {"document": parse(name, data, **options).model_dump(mode="json")}
    except Unreadable as error:
        return {
            "problem": error.problem,
            "detail": error.detail,
            "limit": error.limit,
            "pages": error.pages,
        }


def _broken_off(fault: Fault, suffix: str) -> Unreadable:
    """The refusal of a file over which the parser broke off."""
    if fault == "busy":
        return Unreadable("unreadable", "Too many files are being read; try again.", "busy")
    if fault == "start":
        detail = "The process that reads files cannot be started; it is no fault of the file."
        return Unreadable("unreadable", detail, "start")
    if fault == "time":
        detail = (
            "Reading it takes longer than a file of its size may take; save it anew or split it."
        )
        return Unreadable("too large", detail, "time")
    if fault == "memory":
        detail = "Reading it takes more memory than a file of its size may take; save it anew or split it."
        return Unreadable("too large", detail, "memory")
    return _damaged(suffix)


def _damaged(suffix: str) -> Unreadable:
    kind = suffix[1:].upper()
    detail = f"The file is damaged or no {kind} file; open it, save it anew and try again."
    return Unreadable("unreadable", detail)


def _suffix(name: str, data: bytes) -> str:
    """The suffix of a file that is of a known format and not too large.

    Raises:
        Unreadable: it is not.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    if suffix not in _READERS:
        what = f"{suffix} files" if suffix else "Files without a suffix"
        raise Unreadable("unsupported", f"{what} cannot be read; accepted: {' '.join(SUFFIXES)}.")
    if len(data) > MAX_BYTES:
        detail = f"The file is larger than {FILE_LIMITS['size']} MB; split it."
        raise Unreadable("too large", detail, "size")
    return suffix


def parse(name: str, data: bytes, *, scans: bool = False, whole: bool = False) -> Document:
    """`read` in this very process, for files that no stranger wrote. A web page is taken `whole`, its menus
    included, instead of by its main text.

    Raises:
        Unreadable: the file gives no text; it says why.
    """
    suffix = _suffix(name, data)
    draft = _parse(suffix, data, whole=whole) if data.strip() else Draft()
    title = (
        one_line(draft.title) or one_line(PurePosixPath(name.replace("\\", "/")).stem) or "untitled"
    )
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
        language=draft.language or detect_language(text or title),
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
    return suffix in _READERS and (pictures or suffix not in PICTURE_SUFFIXES)


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
        OSError,
        RuntimeError,  # with RecursionError and NotImplementedError
        SyntaxError,  # with ElementTree.ParseError
        TypeError,
        ValueError,  # with UnicodeError
    )


def _parse(suffix: str, data: bytes, *, whole: bool) -> Draft:
    try:
        if whole and suffix in (".html", ".htm"):
            return read_html(data, whole=True)
        return _READERS[suffix](data)
    except _parser_errors() as error:
        if "Excessive depth" in str(error):  # as libxml2 calls it
            raise too_deep() from error
        raise _damaged(suffix) from error


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


PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
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
    **dict.fromkeys(PICTURE_SUFFIXES, read_picture),
}
SUFFIXES = tuple(_READERS)
