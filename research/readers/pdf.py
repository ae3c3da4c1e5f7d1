"""PDF files as text, a block a page.

Text in images is not read here; pages that are images are reported.
"""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from research.core.text.sentences import unwrap_lines
from research.readers.drafts import (
    MAX_CHARACTERS,
    FileDraft,
    TextBlock,
    UnreadableFileError,
    clean_lines,
    one_line,
    title_line,
    too_long_error,
)
from research.readers.office_files import usable_title

if TYPE_CHECKING:
    import pypdf

MAX_PAGES = 2_000

logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # it logs every flaw that it repairs


def _damaged_metadata_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that pypdf raises for damaged metadata."""
    from pypdf.errors import PyPdfError

    return PyPdfError, AttributeError, LookupError, RecursionError, TypeError, ValueError


def _metadata_title(reader: pypdf.PdfReader) -> str:
    try:
        return usable_title(reader.metadata.title if reader.metadata else "")
    except _damaged_metadata_errors():  # a damaged title must not prevent reading the text
        return ""


def _page_chapters(reader: pypdf.PdfReader) -> dict[int, str]:
    """Map page indexes to top-level outline entries; "" for pages with several."""
    try:
        return _read_outline(reader)
    except _damaged_metadata_errors():  # nor must a damaged outline
        return {}


def _read_outline(reader: pypdf.PdfReader) -> dict[int, str]:
    starts: dict[int, list[str]] = {}
    for entry in reader.outline:
        if not isinstance(entry, list):
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0:
                starts.setdefault(page, []).append(one_line(str(entry.title or "")))
    chapters: dict[int, str] = {}
    current = ""
    for page in range(len(reader.pages)):
        names = starts.get(page, [])
        chapters[page] = current if not names else names[0] if len(names) == 1 else ""
        current = names[-1] if names else current
    return chapters


def _page_text(page: pypdf.PageObject, number: int) -> str:
    """Extract the text of a page, whose drawing may unpack to far more than the file's size."""
    from pypdf.errors import LimitReachedError

    try:
        return page.extract_text()
    except LimitReachedError as error:
        detail = f"Page {number:,} of the PDF draws more than can be read; leave it out."
        raise UnreadableFileError("too large", detail, "page") from error


def read_pdf(data: bytes) -> FileDraft:
    """Read a PDF, one block per page, rejoining lines broken within sentences."""
    import pypdf
    from pypdf.errors import DependencyError

    password_error = UnreadableFileError("encrypted", "The PDF is protected with a password; save it without.")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise password_error
        total = len(reader.pages)
    except DependencyError as error:  # the cipher is not installed
        raise password_error from error
    if total > MAX_PAGES:
        detail = f"The PDF has {total:,} pages; at most {MAX_PAGES:,} are read. Split it."
        raise UnreadableFileError("too large", detail, "pages")
    draft = FileDraft(title=_metadata_title(reader))
    chapters = _page_chapters(reader)
    size = 0
    for number, page in enumerate(reader.pages, 1):
        text = clean_lines(unwrap_lines(_page_text(page, number)))
        size += len(text)
        if size > MAX_CHARACTERS:
            raise too_long_error()
        chapter = chapters.get(number - 1)
        draft.blocks.append(TextBlock(text, (chapter,) if chapter else (), page=number))
        if not text and _has_picture(page):
            draft.picture_pages[number] = chapter or ""
    first_text = next((block.text for block in draft.blocks if block.text), "")
    if not first_text and not draft.picture_pages:  # perhaps letters drawn as lines
        draft.picture_pages = {number: chapters.get(number - 1) or "" for number in range(1, total + 1)}
    draft.title = draft.title or title_line(first_text)
    return draft


def _has_picture(page: pypdf.PageObject) -> bool:
    """Return True if a page shows an image."""
    try:
        return bool(page.images.keys())
    except _damaged_metadata_errors():  # damage is reported when the image is read
        return True
