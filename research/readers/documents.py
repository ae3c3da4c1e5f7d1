"""Conversion of document files to plain text with sections that can be cited.

`read_document` takes bytes and returns a `Document`, or raises `UnreadableFileError`. Files are
untrusted, so they are parsed in a child process with limits, by `parse_document`. Text and mark-up
are read in `research.readers.markup`, tables in `tabular_text`, each other format in a module of its
own. The text keeps the file's own characters (no NFKC), so that a quote can be found in the file; only white
space from the layout is removed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from email.errors import MessageError
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from lxml import etree
from pydantic import Base64Bytes

from research.core.records import Language, Record
from research.core.text.tokenizer import detect_language
from research.readers.drafts import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    FileDraft,
    FileLimit,
    FileProblem,
    TextBlock,
    UnreadableFileError,
    clean_lines,
    damaged_file_error,
    mislabelled_error,
    one_line,
    remove_invisible,
    too_deep_error,
    too_long_error,
)
from research.readers.epub import read_epub
from research.readers.file_content import fits, recognise
from research.readers.json_records import read_json, read_json_lines
from research.readers.mail import MAX_ATTACHED_DEPTH, MAX_ATTACHMENTS, read_eml
from research.readers.markup import read_html, read_markdown, read_plain_text, web_address
from research.readers.notebooks import read_notebook
from research.readers.office_files import MAX_UNPACKED_BYTES
from research.readers.open_document import read_odt
from research.readers.outlook import read_msg
from research.readers.pdf import MAX_PAGES, read_pdf
from research.readers.pictures import MAX_MEGAPIXELS, read_picture
from research.readers.pool import MB, ParserError, ParserFault, ParserPool, ResourceLimits
from research.readers.rich_text import read_rtf
from research.readers.slides import read_pptx
from research.readers.tabular_text import MAX_CELLS, MAX_ROWS, read_csv, read_ods, read_tsv, read_workbook, read_xlsx
from research.readers.webpages import MAX_ATTRIBUTES, MAX_ELEMENTS
from research.readers.word import read_docx

MAX_BYTES = 50 * MB
# Limits of a file; sizes in MB.
FILE_LIMITS: dict[FileLimit, int] = {
    "size": MAX_BYTES // MB,
    "characters": MAX_CHARACTERS,
    "pages": MAX_PAGES,
    "rows": MAX_ROWS,
    "cells": MAX_CELLS,
    "unpacked": MAX_UNPACKED_BYTES // MB,
    "depth": MAX_DEPTH,
    "pixels": MAX_MEGAPIXELS,
    "attributes": MAX_ATTRIBUTES,
    "elements": MAX_ELEMENTS,
    "attachments": MAX_ATTACHMENTS,
    "attached": MAX_ATTACHED_DEPTH,
}
MAX_WAIT_SECONDS = 600.0  # that a file waits for a free process


class ParsingLimits(NamedTuple):
    """Limits for parsing a file of one format.

    Memory in MB: `base_memory_mb` + `memory_factor` × file size. Processor time in seconds:
    `base_seconds` + `seconds_per_mb` × MB. Ordinary files were measured to need at most a quarter
    of each limit.
    """

    base_memory_mb: int
    memory_factor: int
    base_seconds: float
    seconds_per_mb: float


_TEXT_LIMITS, _PAGE_LIMITS = ParsingLimits(64, 32, 1.5, 3), ParsingLimits(64, 150, 1.5, 4)
_WHOLE_PAGE_LIMITS = ParsingLimits(64, 60, 1.0, 1)
MAX_PROCESSOR_SECONDS = 900.0  # for files of any size
_PARSER_POOL = ParserPool(3)


class DocumentSection(Record):
    """A section: its body is `text[start:end]` of the document, `heading` the path of headings
    above it. A section that is a sentence over a page end has a `last_page` beside its first one.
    """

    heading: str
    start: int
    end: int
    page: int | None = None
    last_page: int | None = None


class Attachment(Record):
    """A file attached to a mail; `data` is empty if its format cannot be read."""

    name: str
    data: Base64Bytes


class Document(Record):
    """A file as plain text. Paragraphs end with a line break; sections are in order and never
    empty.

    Heading lines are part of the text and lie between sections. `published` is stated by the file,
    never guessed. `sha256` is the digest of the file's bytes. `content` is the suffix of the format in which the file
    was read, "" for that of its name, and `uncalculated` the number of formulas without a stored result. A file with
    `is_cut` ends before its own end, so that text may be missing. `pictures` are the pages that hold
    images without text, each with its chapter, `attachments` the files in a mail.
    """

    name: str
    title: str
    text: str
    sections: tuple[DocumentSection, ...]
    url: str = ""
    published: date | None = None
    language: Language
    sha256: str
    content: str = ""
    uncalculated: int = 0
    is_cut: bool = False
    pictures: tuple[tuple[int, str], ...] = ()
    attachments: tuple[Attachment, ...] = ()


def read_document(name: str, data: bytes, *, allow_scans: bool = False) -> Document:
    """Read a file as text; the suffix of `name` decides the format, its stem is the fallback title.

    With `allow_scans`, a file may consist of image pages only.

    Raises:
        UnreadableFileError: the file has no readable text; the error gives the reason.
    """
    suffix = _check_suffix(name, data)
    file_format = _FORMATS[suffix]
    try:
        result = _parse_in_child(name, data, file_format.limits, file_format.imports, allow_scans=allow_scans)
    except ParserError as error:
        if suffix not in (".html", ".htm") or error.fault in ("busy", "start"):
            raise _parser_failure(error.fault, suffix) from error
        try:  # all text is faster to read than the main text
            result = _parse_in_child(
                name, data, _WHOLE_PAGE_LIMITS, file_format.imports, allow_scans=allow_scans, all_text=True
            )
        except ParserError as second_error:
            raise _parser_failure(second_error.fault, suffix) from second_error
    if "document" not in result:
        raise UnreadableFileError(**result)
    return Document.model_validate(result["document"])


def _parse_in_child(name: str, data: bytes, limits: ParsingLimits, imports: Sequence[str], **options: bool) -> Any:
    size = len(data) / MB
    return _PARSER_POOL.call(
        "research.readers.documents:parse_task",
        data,
        {"name": name, **options},
        limits=ResourceLimits(
            int((limits.base_memory_mb + limits.memory_factor * size) * MB),
            min(MAX_PROCESSOR_SECONDS, limits.base_seconds + limits.seconds_per_mb * size),
        ),
        imports=imports,
        max_wait_seconds=MAX_WAIT_SECONDS,
    )


def parse_task(data: bytes, progress: object, *, name: str, **options: bool) -> dict[str, Any]:
    """Run `parse_document` as a task of a parser process."""
    try:
        return {"document": parse_document(name, data, **options).model_dump(mode="json")}
    except UnreadableFileError as error:
        return {
            "problem": error.problem,
            "detail": error.detail,
            "limit": error.limit,
            "pages": error.pages,
            "content": error.content,
        }


def _parser_failure(fault: ParserFault, suffix: str) -> UnreadableFileError:
    """Return the error for a file whose parser failed."""
    if fault == "crash":
        return damaged_file_error(suffix)
    problem, limit, detail = _PARSER_FAILURES[fault]
    return UnreadableFileError(problem, detail, limit)


_PARSER_FAILURES: dict[ParserFault, tuple[FileProblem, FileLimit, str]] = {
    "busy": ("unreadable", "busy", "Too many files are being read; try again."),
    "start": ("unreadable", "start", "The process that reads files cannot be started; it is no fault of the file."),
    "time": (
        "too large", "time", "Reading it takes longer than a file of its size may take; save it anew or split it.",
    ),
    "memory": (
        "too large", "memory", "Reading it takes more memory than a file of its size may take; save it anew or split it.",
    ),
}  # fmt: skip


def _check_suffix(name: str, data: bytes) -> str:
    """Return the suffix of a file, which must have a known format and an accepted size.

    Raises:
        UnreadableFileError: it has not.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    if suffix not in _FORMATS:
        subject = f"{suffix} files" if suffix else "Files without a suffix"
        raise UnreadableFileError("unsupported", f"{subject} cannot be read; accepted: {' '.join(SUFFIXES)}.")
    if len(data) > MAX_BYTES:
        detail = f"The file is larger than {FILE_LIMITS['size']} MB; split it."
        raise UnreadableFileError("too large", detail, "size")
    return suffix


def parse_document(name: str, data: bytes, *, allow_scans: bool = False, all_text: bool = False) -> Document:
    """Parse a file in this process; for trusted files, or within a parser process.

    `all_text` reads all text of a web page, menus included, instead of its main text. `allow_scans` accepts
    a file without text that consists of image pages.

    Raises:
        UnreadableFileError: the file has no readable text; the error gives the reason.
    """
    named_suffix = _check_suffix(name, data)
    suffix = _content_suffix(named_suffix, data)
    draft = _read_by_suffix(suffix, data, all_text=all_text) if suffix else FileDraft()
    title = one_line(draft.title) or one_line(PurePosixPath(name.replace("\\", "/")).stem) or "untitled"
    text, sections = _join_blocks(draft.blocks, title)
    if not text.strip() and not (allow_scans and draft.picture_pages):
        if draft.picture_pages:
            raise UnreadableFileError(
                "no text layer", "The file holds pictures without text.", pages=[*draft.picture_pages]
            )
        if draft.is_cut:
            raise damaged_file_error(suffix)
        if draft.uncalculated:
            detail = (
                "The workbook holds only formulas without stored results; open it in Excel, save it and add it again."
            )
            raise UnreadableFileError("empty", detail, "formulas")
        raise UnreadableFileError("empty", "The file holds no text; check that it is the right file.")
    if len(text) > MAX_CHARACTERS:
        raise too_long_error()
    return Document(
        name=name.encode("utf-8", "replace").decode(),
        title=title,
        text=text,
        sections=sections,
        url=web_address(draft.url),
        published=draft.published,
        language=draft.language or detect_language(text or title),
        sha256=hashlib.sha256(data).hexdigest(),
        content=suffix if suffix != named_suffix else "",
        uncalculated=draft.uncalculated,
        is_cut=draft.is_cut,
        pictures=tuple(draft.picture_pages.items()),
        attachments=tuple(
            Attachment(
                name=remove_invisible(file),
                data=base64.b64encode(content if is_accepted(file, include_pictures=True) else b""),
            )
            for file, content in draft.attachments
        ),
    )


def _content_suffix(suffix: str, data: bytes) -> str:
    """Return the suffix of the format in which a file is read: `suffix`, that of its name, unless its content is
    another kind of table; "" for a blank file.

    Raises:
        UnreadableFileError: it is encrypted, cut off, or of another format.
    """
    content = recognise(io.BytesIO(data))
    if content.is_blank:
        return ""
    if content.is_encrypted:
        raise UnreadableFileError("encrypted", "The file is protected with a password; save it without.")
    if content.is_cut:
        raise damaged_file_error(suffix)
    if fits(suffix, content.suffix):
        return suffix
    is_table = suffix in (".csv", ".tsv", *_WORKBOOKS)
    if is_table and content.suffix == ".txt":
        return ".csv"
    if is_table and content.suffix == ".html" and b"<table" in data.lower():  # exports of banks, called .xls
        return ".html"
    if (is_table and content.suffix in _WORKBOOKS) or (content.suffix == ".json" and suffix in _JSON_LINES):
        return content.suffix
    raise mislabelled_error(suffix, content.suffix)


def find_accepted_files(folder: Path, *, include_pictures: bool = False) -> Iterator[Path]:
    """Yield the accepted files below a folder, sorted, without hidden files and links that lead
    outside.

    Images are included only if they can be read, because a folder may have thousands.
    """
    root = folder.resolve()
    paths = []
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(directory, name) for name in names if not name.startswith((".", "~$"))]
    for path in sorted(paths):
        if is_accepted(path.name, include_pictures=include_pictures) and _is_inside(path, root):
            yield path


def is_accepted(name: str, *, include_pictures: bool = False) -> bool:
    """Return True if a file of this name has a readable format."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix in _FORMATS and (include_pictures or suffix not in PICTURE_SUFFIXES)


def _is_inside(path: Path, root: Path) -> bool:
    """Return True if a path, with links resolved, is a visible file below a folder."""
    try:
        target = path.resolve()
        parts = target.relative_to(root).parts
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a link to the outside
        return False
    return target.is_file() and not any(part.startswith(".") for part in parts)


@cache
def _parser_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that parsers raise for damaged files; most are undocumented."""
    from docx.exceptions import PythonDocxError
    from docx.opc.exceptions import OpcError
    from openpyxl.utils.exceptions import InvalidFileException

    return (
        PythonDocxError,
        OpcError,
        InvalidFileException,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        etree.LxmlError,
        csv.Error,
        MessageError,
        struct.error,
        ArithmeticError,  # includes OverflowError
        AssertionError,
        AttributeError,
        EOFError,
        LookupError,  # includes KeyError and IndexError
        OSError,
        RuntimeError,  # includes RecursionError, NotImplementedError and pypdfium2's PdfiumError
        SyntaxError,  # includes ElementTree.ParseError
        TypeError,
        ValueError,  # includes UnicodeError
    )


def _read_by_suffix(suffix: str, data: bytes, *, all_text: bool) -> FileDraft:
    """Read a file with the reader of its format; convert what parsers raise for damaged files to
    UnreadableFileError."""
    try:
        if all_text and suffix in (".html", ".htm"):
            return read_html(data, all_text=True)
        return _FORMATS[suffix].read(data)
    except _parser_errors() as error:
        if "Excessive depth" in str(error):  # message of libxml2
            raise too_deep_error() from error
        raise damaged_file_error(suffix) from error


def _join_blocks(blocks: list[TextBlock], title: str) -> tuple[str, tuple[DocumentSection, ...]]:
    """Join blocks to a text and its sections.

    Consecutive blocks under one heading form a section; so does a heading without text.
    """
    cleaned = [block._replace(text=body) for block in blocks if (body := clean_lines(block.text))]
    sections: list[DocumentSection] = []
    offset = 0
    previous: tuple[str, int | None, int | None] | None = None
    for block, next_block in zip(cleaned, [*cleaned, None][1:], strict=True):
        start, offset = offset, offset + len(block.text) + 1
        path = block.heading_path[:-1] if block.is_heading else block.heading_path
        location = (" > ".join(path[1:] if path[:1] == (title,) else path), block.page, block.last_page)
        if (
            block.is_heading
            and next_block
            and not (next_block.is_heading and len(next_block.heading_path) <= len(block.heading_path))
        ):
            previous = None
            continue
        if location == previous and not block.is_heading:
            start = sections.pop().start
        heading, page, last_page = location
        sections.append(DocumentSection(heading=heading, start=start, end=offset - 1, page=page, last_page=last_page))
        previous = None if block.is_heading else location
    return "\n".join(block.text for block in cleaned), tuple(sections)


class FileFormat(NamedTuple):
    """A format of files: its reader, limits, and modules that are loaded before these apply."""

    read: Callable[[bytes], FileDraft]
    limits: ParsingLimits = _TEXT_LIMITS
    imports: tuple[str, ...] = ()


_WORKBOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
_JSON_LINES = (".jsonl", ".ndjson")
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
_FORMATS = {
    ".txt": FileFormat(read_plain_text),
    **dict.fromkeys((".md", ".markdown"), FileFormat(read_markdown, _PAGE_LIMITS)),
    **dict.fromkeys((".html", ".htm"), FileFormat(read_html, _PAGE_LIMITS, ("trafilatura",))),
    ".pdf": FileFormat(read_pdf, ParsingLimits(320, 40, 1.5, 60), ("research.readers.pdfium",)),
    ".docx": FileFormat(read_docx, ParsingLimits(96, 400, 1.5, 20), ("docx",)),
    ".pptx": FileFormat(read_pptx, ParsingLimits(128, 150, 1.5, 15), ("pptx",)),
    ".odt": FileFormat(read_odt, ParsingLimits(96, 400, 1.5, 20)),
    ".rtf": FileFormat(read_rtf, ParsingLimits(64, 80, 1.5, 10)),
    ".epub": FileFormat(read_epub, ParsingLimits(96, 150, 1.5, 20)),
    ".eml": FileFormat(read_eml, ParsingLimits(64, 60, 1.5, 4)),
    ".msg": FileFormat(read_msg, ParsingLimits(64, 60, 1.5, 4), ("olefile",)),
    ".ipynb": FileFormat(read_notebook, _PAGE_LIMITS),
    ".csv": FileFormat(read_csv),
    ".tsv": FileFormat(read_tsv),
    ".json": FileFormat(read_json),
    **dict.fromkeys((".jsonl", ".ndjson"), FileFormat(read_json_lines)),
    ".xlsx": FileFormat(read_xlsx, ParsingLimits(96, 150, 1.5, 15), ("openpyxl",)),
    **dict.fromkeys(
        (".xls", ".xlsb"), FileFormat(read_workbook, ParsingLimits(96, 150, 1.5, 15), ("python_calamine", "olefile"))
    ),
    ".ods": FileFormat(read_ods, ParsingLimits(96, 400, 1.5, 20), ("python_calamine",)),
    **dict.fromkeys(PICTURE_SUFFIXES, FileFormat(read_picture, imports=("PIL.TiffImagePlugin",))),
}
SUFFIXES = tuple(_FORMATS)
