"""Readers of file formats: from bytes to a `FileDraft`, the text blocks of a file.

Third-party parsers are loaded with the first file of their format. Not supported: text in images
(image pages are reported), footnotes and running heads of Word files, number formats of
spreadsheets (25 % is stored as 0.25), and formulas whose values were never saved.
"""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from research.core.text.sentences import unwrap_lines
from research.readers.drafts import (
    MAX_CHARACTERS,
    FileDraft,
    TextBlock,
    UnreadableFileError,
    clean_lines,
    decode_text,
    label_cells,
    one_line,
    table_lines,
    title_line,
    too_long_error,
)
from research.readers.packages import PackageError, check_package
from research.readers.scripts import lowered_text, raised_text
from research.readers.table_layout import LAYOUT_ROWS, find_delimiter, find_headings, join_headings

if TYPE_CHECKING:
    import pypdf

MAX_PAGES = 2_000
MAX_ROWS = 100_000
MAX_UNPACKED_BYTES = 200 * 1024 * 1024  # declared by a zip container
MAX_CELLS = 10_000_000  # spanned by a spreadsheet, including blank cells
MAX_MEGAPIXELS = 100
ROWS_PER_SECTION = 50
PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")  # names in Pillow

# pypdf logs every flaw it repairs, trafilatura every page without text.
for _name in ("pypdf", "trafilatura"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


def _add_rows(draft: FileDraft, rows: Iterable[Sequence[str]], path: tuple[str, ...] = ()) -> None:
    """Add the rows of a table under a heading path, in sections of `ROWS_PER_SECTION`, labelled
    with their columns."""
    rows = iter(rows)
    first_rows = list(islice(rows, LAYOUT_ROWS))
    headings = find_headings(first_rows)
    for row in first_rows[: max(0, headings.first - 1)]:  # a title or a remark above the table
        if line := label_cells((), row):
            draft.blocks.append(TextBlock(line, path))
    header = join_headings(first_rows, headings)
    names = [one_line(name) for name in header]
    rows = chain(first_rows[headings.last :], rows)
    lines: list[str] = []
    size = 0
    for row in (row for row in rows if any(map(str.strip, row))):
        lines.append(label_cells(names, row))
        size += len(lines[-1])
        if size > MAX_CHARACTERS:
            raise too_long_error()
        if len(lines) > MAX_ROWS:
            detail = f"The table has more than {MAX_ROWS:,} rows; split it."
            raise UnreadableFileError("too large", detail, "rows")
    for start in range(0, len(lines), ROWS_PER_SECTION):
        part = lines[start : start + ROWS_PER_SECTION]
        draft.blocks.append(TextBlock("\n".join(part), (*path, f"{start + 1}–{start + len(part)}")))
    if header and not lines:
        draft.blocks.append(TextBlock(label_cells((), header), path))


def read_csv(data: bytes, suffix: str = ".csv") -> FileDraft:
    """Read separated values; the separator and the row that names the columns are detected."""
    text = decode_text(data)
    delimiter = find_delimiter(text, suffix).mark
    draft = FileDraft()
    _add_rows(draft, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return draft


def read_tsv(data: bytes) -> FileDraft:
    return read_csv(data, ".tsv")


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a worksheet as texts."""
    # The declared size is not trusted: it would decide how many blank cells are generated.
    sheet.reset_dimensions()
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row) + 1
        if cells > MAX_CELLS:
            detail = f"A sheet of the workbook spans more than {MAX_CELLS:,} cells; split it."
            raise UnreadableFileError("too large", detail, "cells")
        yield [_format_cell(value) for value in row]


def read_xlsx(data: bytes) -> FileDraft:
    """Read the stored values of a workbook; each sheet's first filled row names its columns."""
    import openpyxl

    check_container(data, "workbook")
    draft = FileDraft()
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        _add_rows(draft, _sheet_rows(sheet), (one_line(sheet.title),))
    return draft


# Containers


def check_container(data: bytes, content_name: str) -> None:
    """Refuse encrypted, old and oversized containers before anything is unpacked.

    Raises:
        UnreadableFileError: the container is refused.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise UnreadableFileError("encrypted", f"The {content_name} is protected with a password; save it without.")
        raise UnreadableFileError("unreadable", f"The {content_name} is in an old Office format; save it anew.")
    try:
        check_package(io.BytesIO(data), MAX_UNPACKED_BYTES)
    except PackageError as error:
        if error.problem == "encrypted":
            detail = f"The {content_name} is protected with a password; save it without."
            raise UnreadableFileError("encrypted", detail) from None
        if error.problem == "doctype":
            doctype_detail = (
                f"The {content_name} declares a document type, which no office program writes; save it anew."
            )
            raise UnreadableFileError("unreadable", doctype_detail) from None
        limit = MAX_UNPACKED_BYTES // 1024**2
        size_detail = f"The {content_name} unpacks to more than {limit} MB, or to far more than its size allows."
        raise UnreadableFileError("too large", size_detail, "unpacked") from None


# Word

_WORD_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_COMPATIBILITY_NAMESPACE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_SKIPPED_TAGS = {
    f"{_WORD_NAMESPACE}del",
    f"{_WORD_NAMESPACE}moveFrom",
    f"{_WORD_NAMESPACE}pPr",
    f"{_WORD_NAMESPACE}rPr",
    f"{_WORD_NAMESPACE}rt",
    f"{_COMPATIBILITY_NAMESPACE}Fallback",
}
_BREAK_CHARS = {
    f"{_WORD_NAMESPACE}br": "\n",
    f"{_WORD_NAMESPACE}cr": "\n",
    f"{_WORD_NAMESPACE}p": "\n",
    f"{_WORD_NAMESPACE}tab": "\t",
    f"{_WORD_NAMESPACE}noBreakHyphen": "-",
}


_NOTE_REFERENCES = {f"{_WORD_NAMESPACE}footnoteReference": "", f"{_WORD_NAMESPACE}endnoteReference": "e"}


def _word_text(element: Any) -> str:
    """Return the visible text below an element, with insertions, links and text boxes.

    Superscripts and subscripts have their plain forms; the mark of a footnote is [n], of an endnote [en].
    """
    text = ""
    walker = etree.iterwalk(element, events=("start",))
    for _, node in walker:
        if node.tag in _SKIPPED_TAGS:
            walker.skip_subtree()
        elif node.tag == f"{_WORD_NAMESPACE}t":
            text += _script_text(node, text)
        elif node.tag in _NOTE_REFERENCES:
            text += f" [{_NOTE_REFERENCES[node.tag]}{node.get(f'{_WORD_NAMESPACE}id')}]"
        else:
            text += _BREAK_CHARS.get(node.tag, "")
    return text


def _script_text(node: Any, before: str) -> str:
    """Return the text of a run in its plain form, if it is raised or lowered."""
    alignment = node.getparent().find(f"{_WORD_NAMESPACE}rPr/{_WORD_NAMESPACE}vertAlign")
    kind = alignment.get(f"{_WORD_NAMESPACE}val") if alignment is not None else ""
    if kind == "superscript":
        return raised_text(node.text or "", before)
    return lowered_text(node.text or "") if kind == "subscript" else node.text or ""


def _word_notes(document: Any) -> Iterator[str]:
    """Yield the footnotes and endnotes of a Word file, each with its mark."""
    for kind, prefix in (("footnote", ""), ("endnote", "e")):
        for relation in document.part.rels.values():
            if relation.reltype.endswith(f"/{kind}s") and not relation.is_external:
                root = etree.fromstring(relation.target_part.blob, etree.XMLParser(resolve_entities=False))
                for note in root.iterchildren(f"{_WORD_NAMESPACE}{kind}"):
                    text = one_line(_word_text(note), MAX_CHARACTERS)
                    if text and note.get(f"{_WORD_NAMESPACE}type") is None:  # others are separators
                        yield f"[{prefix}{note.get(f'{_WORD_NAMESPACE}id')}] {text}"


def _outline_level(element: Any) -> int | None:
    level = element.find(f"{_WORD_NAMESPACE}pPr/{_WORD_NAMESPACE}outlineLvl")
    value = level.get(f"{_WORD_NAMESPACE}val") or "" if level is not None else ""
    return int(value) + 1 if value.isdigit() else None


def _style_level(style: Any) -> int | None:
    """Return the heading level of a style, perhaps inherited: 0 for the title, 1 to 9, None for
    text.
    """
    for _ in range(10):
        if style is None:
            break
        name = (style.name or "").strip().casefold()
        if name in ("title", "标题"):
            return 0
        if match := re.match(r"(?:heading|标题)\s*(\d?)", name):
            return int(match[1] or 1)
        if level := _outline_level(style.element):
            return level if level <= 9 else None
        style = getattr(style, "base_style", None)
    return None


def _word_level(paragraph: Any, styles: dict[str, int | None]) -> int | None:
    style = paragraph.find(f"{_WORD_NAMESPACE}pPr/{_WORD_NAMESPACE}pStyle")
    level = styles.get(style.get(f"{_WORD_NAMESPACE}val")) if style is not None else None
    if level is None:
        level = _outline_level(paragraph)
    return level if level is None or level <= 9 else None


def _word_table(table: Any) -> list[str]:
    """Return the rows of a Word table as lines."""
    rows = []
    for row in table.iterchildren(f"{_WORD_NAMESPACE}tr"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_WORD_NAMESPACE}tc"):
            span = cell.find(f"{_WORD_NAMESPACE}tcPr/{_WORD_NAMESPACE}gridSpan")
            width = int(span.get(f"{_WORD_NAMESPACE}val", "1")) if span is not None else 1
            cells += [_word_text(cell), *[""] * (min(width, 64) - 1)]
        rows.append(cells)
    return table_lines(
        rows, has_header=table.find(f"{_WORD_NAMESPACE}tr/{_WORD_NAMESPACE}trPr/{_WORD_NAMESPACE}tblHeader") is not None
    )


def _word_blocks(body: Any) -> Iterator[Any]:
    """Yield paragraphs and tables in document order, including those in content controls."""
    for child in body.iterchildren(
        f"{_WORD_NAMESPACE}p", f"{_WORD_NAMESPACE}tbl", f"{_WORD_NAMESPACE}sdt", f"{_WORD_NAMESPACE}sdtContent"
    ):
        if child.tag in (f"{_WORD_NAMESPACE}p", f"{_WORD_NAMESPACE}tbl"):
            yield child
        else:
            yield from _word_blocks(child)


def read_docx(data: bytes) -> FileDraft:
    """Read the paragraphs and tables of a Word file, with headings by style or outline level."""
    import docx

    check_container(data, "document")
    document = docx.Document(io.BytesIO(data))
    styles = {style.style_id: _style_level(style) for style in document.styles}
    draft = FileDraft()
    for block in _word_blocks(document.element.body):
        if block.tag == f"{_WORD_NAMESPACE}tbl":
            draft.add_text("\n".join(_word_table(block)))
            continue
        text = _word_text(block)
        level = _word_level(block, styles)
        if level is None:
            draft.add_text(text)
        elif level or draft.title:
            draft.add_heading(level or 1, text)
        elif text.strip():
            draft.title = one_line(text)
            draft.blocks.append(TextBlock(draft.title, is_heading=True))
    for note in _word_notes(document):
        draft.add_text(note)
    top = draft.blocks[0].text if draft.blocks else ""
    draft.title = draft.title or usable_title(document.core_properties.title) or title_line(top)
    return draft


_GENERATED_TITLE_PATTERN = re.compile(
    r"(?i)\(?(?:untitled|anonymous|unspecified)|microsoft word\b|word document|无标题|未命名|文档\s?\d*$"
    r"|.*\.(docx?|indd|pdf|tex|dvi|pages)$"
)


def usable_title(title: object) -> str:
    """Return the title in a file's properties unless it was generated by a program."""
    text = one_line(title) if isinstance(title, str) else ""
    return "" if len(text) < 2 or _GENERATED_TITLE_PATTERN.match(text) else text


# PDF


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


# Pictures


def read_picture(data: bytes) -> FileDraft:
    """Read an image file as pages without text, one per frame; nothing is decoded."""
    from PIL import Image

    size_detail = f"The picture has more than {MAX_MEGAPIXELS} megapixels; make it smaller."
    count = 0
    try:
        with Image.open(io.BytesIO(data), formats=PICTURE_FORMATS) as file, suppress(EOFError):
            while count <= MAX_PAGES:
                file.seek(count)
                if file.width * file.height > MAX_MEGAPIXELS * 1_000_000:
                    raise UnreadableFileError("too large", size_detail, "pixels")
                count += 1
    except Image.DecompressionBombError as error:
        raise UnreadableFileError("too large", size_detail, "pixels") from error
    if count > MAX_PAGES:
        detail = f"The file has more than {MAX_PAGES:,} pictures. Split it."
        raise UnreadableFileError("too large", detail, "pages")
    return FileDraft(picture_pages=dict.fromkeys(range(1, count + 1), ""))
