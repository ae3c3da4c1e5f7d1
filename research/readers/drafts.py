"""Drafts of documents: the text blocks of a file, and the reasons why it has none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, NamedTuple

from research.core.records import Language
from research.core.text.decimals import join_decimals
from research.readers.file_content import ARCHIVE_SUFFIXES
from research.readers.text_encoding import detect_encoding
from research.readers.webpages import PageLimitError

MAX_CHARACTERS = 5_000_000
MAX_DEPTH = 256  # libxml2's limit on nested elements

FileProblem = Literal["unsupported", "unreadable", "encrypted", "empty", "no text layer", "mislabelled", "too large"]
# The limit that a file exceeds: its size, characters of text, pages of a PDF, rows of a table,
# cells of a sheet, unpacked size, drawing of one PDF page, depth of nesting, pixels of an image,
# attributes of an element, elements of a page, slides that are pictures, files attached to a mail, mails
# attached to each other, time or memory of the parser, formulas without stored results; or a limit of the machine: files read at once (busy),
# processes that can be started (start).
FileLimit = Literal[
    "", "size", "characters", "pages", "rows", "cells", "unpacked", "page", "depth", "pixels",
    "attributes", "elements", "slides", "formulas", "attachments", "attached", "time", "memory", "busy", "start",
]  # fmt: skip

_INVISIBLE_CHARS = "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


class UnreadableFileError(Exception):
    """A file has no readable text.

    `detail`, also the message, is one line for the file's owner; `limit` is the exceeded limit, if
    any; `pages` are the pages that are images; `content` is the suffix of the format that a mislabelled file has.
    """

    def __init__(
        self, problem: FileProblem, detail: str, limit: FileLimit = "", pages: Sequence[int] = (), content: str = ""
    ) -> None:
        self.problem: FileProblem = problem
        self.content = content
        self.pages = tuple(pages)
        self.limit: FileLimit = limit
        self.detail = one_line(detail, 300)
        super().__init__(self.detail)


def too_long_error() -> UnreadableFileError:
    """Return the error for a file with too much text."""
    detail = f"The file holds more than {MAX_CHARACTERS:,} characters of text; split it."
    return UnreadableFileError("too large", detail, "characters")


def binary_file_error() -> UnreadableFileError:
    """Return the error for a binary file with a text suffix."""
    return UnreadableFileError("unreadable", "This is a binary file, not text; check that it is the right file.")


def damaged_file_error(suffix: str) -> UnreadableFileError:
    """Return the error for a file that its reader cannot parse."""
    kind = suffix[1:].upper()
    detail = f"The file is damaged or incomplete, or no {kind} file; get it again, or open it and save it anew."
    return UnreadableFileError("unreadable", detail)


def mislabelled_error(suffix: str, content: str) -> UnreadableFileError:
    """Return the error for a file whose content is not of the format of its suffix."""
    if content in ARCHIVE_SUFFIXES:
        detail = f"This is a packed file ({content}), not a {suffix} file; unpack it and add the files in it."
    elif content == ".txt":
        detail = f"This is plain text, not a {suffix} file; rename it to .txt or .csv."
    else:
        detail = f"This is a {content} file, not a {suffix} file; rename it to {content}, or save it anew."
    return UnreadableFileError("mislabelled", detail, content=content)


def too_deep_error() -> UnreadableFileError:
    """Return the error for elements that are nested too deep."""
    detail = f"It is nested more than {MAX_DEPTH} levels deep; save it as PDF or plain text."
    return UnreadableFileError("unreadable", detail, "depth")


def page_limit_error(error: PageLimitError) -> UnreadableFileError:
    """Return the error for a page with more attributes or elements than any real page needs."""
    return UnreadableFileError("unreadable", f"{error}; save it as PDF or plain text.", error.limit)


class TextBlock(NamedTuple):
    """A piece of text under a path of headings; `is_heading` marks a heading line itself.

    `last_page` is the page of its end, if that is not the page of its beginning.
    """

    text: str
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    is_heading: bool = False
    last_page: int | None = None


@dataclass
class FileDraft:
    """Result of a reader: text blocks in order, and the file's statements about itself."""

    blocks: list[TextBlock] = field(default_factory=list)
    title: str = ""
    url: str = ""
    published: date | None = None
    language: Language | None = None
    picture_pages: dict[int, str] = field(default_factory=dict)  # image pages -> chapter
    attachments: list[tuple[str, bytes]] = field(default_factory=list)  # files of a mail: name, content
    uncalculated: int = 0  # formulas without a stored result
    is_cut: bool = False  # ends before its own end, so that text may be missing
    open_headings: list[tuple[int, str]] = field(default_factory=list)
    page: int | None = None  # of the blocks that are added next

    @property
    def heading_path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.open_headings)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading, which closes all open headings of its level and below."""
        if text := one_line(text):
            self.open_headings = [*(item for item in self.open_headings if item[0] < level), (level, text)]
            self.blocks.append(TextBlock(text, self.heading_path, self.page, is_heading=True))

    def add_text(self, text: str) -> None:
        if text.strip():
            self.blocks.append(TextBlock(text, self.heading_path, self.page))


# Text


def remove_invisible(text: str) -> str:
    """Remove invisible characters: controls, bidi overrides, zero-width marks."""
    text = re.sub("\r\n?|[\v\f\x85\u2028\u2029]", "\n", text).replace("\u00a0", " ")
    return re.sub(_INVISIBLE_CHARS, "", text)


def clean_lines(text: str) -> str:
    """Remove invisible characters, trailing spaces, blank lines and spaces inside decimals."""
    lines = (line.rstrip() for line in join_decimals(remove_invisible(text)).split("\n"))
    return "\n".join(line for line in lines if line)


def one_line(text: str, max_characters: int = 200) -> str:
    """Return a text on one line, without invisible characters and spaces inside decimals."""
    if text.isprintable() and not any(mark in text for mark in (" .", ". ", "．")):  # the most frequent texts
        return " ".join(text.split())[:max_characters].rstrip()
    return " ".join(clean_lines(text).split())[:max_characters].rstrip()


def title_line(text: str) -> str:
    """Return the first line if it is short enough to be a title, or ""."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else ""


def decode_text(data: bytes) -> str:
    """Decode a text whose encoding can be told from its bytes.

    Raises:
        UnreadableFileError: it cannot, or the file is binary.
    """
    guess = detect_encoding(data)
    if guess is None or not guess.is_sure:
        if b"\0" in data:
            raise binary_file_error()
        raise UnreadableFileError("unreadable", "The encoding of this text cannot be told; save it as UTF-8.")
    try:
        return reject_binary(data.decode(guess.encoding))
    except UnicodeError:
        raise UnreadableFileError("unreadable", "This text has damaged characters; save it as UTF-8.") from None


def reject_binary(text: str) -> str:
    """Return the text unless it contains too many control characters.

    Raises:
        UnreadableFileError: it looks like a binary file.
    """
    controls = len(re.findall(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]", text))
    if "\0" in text or (controls > 3 and controls * 50 > len(text)):
        raise binary_file_error()
    return text


# Tables


def label_cells(names: Sequence[str], row: Sequence[str]) -> str:
    """Format a row as `Header: cell; Header: cell`, leaving out blank cells."""
    cells = []
    for index, cell in enumerate(row):
        if cell and (text := one_line(cell, MAX_CHARACTERS)):
            name = names[index] if index < len(names) else ""
            cells.append(f"{name}: {text}" if name else text)
    return "; ".join(cells)
