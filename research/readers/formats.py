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
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lxml import etree

from research.core.records import Language
from research.core.text.decimals import join_decimals
from research.core.text.sentences import unwrap_lines
from research.readers.packages import PackageError, check_package
from research.readers.webpages import PageLimitError

if TYPE_CHECKING:
    import pypdf

MAX_PAGES = 2_000
MAX_CHARACTERS = 5_000_000
MAX_ROWS = 100_000
MAX_UNPACKED_BYTES = 200 * 1024 * 1024  # declared by a zip container
MAX_CELLS = 10_000_000  # spanned by a spreadsheet, including blank cells
MAX_MEGAPIXELS = 100
MAX_DEPTH = 256  # libxml2's limit on nested elements
ROWS_PER_SECTION = 50
PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")  # names in Pillow

FileProblem = Literal["unsupported", "unreadable", "encrypted", "empty", "no text layer", "too large"]
# The limit that a file exceeds: its size, characters of text, pages of a PDF, rows of a table,
# cells of a sheet, unpacked size, drawing of one PDF page, depth of nesting, pixels of an image,
# attributes of an element, elements of a page, time or memory of the parser; or a limit of the
# machine: files read at once (busy), processes that can be started (start).
FileLimit = Literal[
    "", "size", "characters", "pages", "rows", "cells", "unpacked", "page", "depth", "pixels",
    "attributes", "elements", "time", "memory", "busy", "start",
]  # fmt: skip

_INVISIBLE_CHARS = "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]"

# pypdf logs every flaw it repairs, trafilatura every page without text.
for _name in ("pypdf", "trafilatura"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class UnreadableFileError(Exception):
    """A file has no readable text.

    `detail`, also the message, is one line for the file's owner; `limit` is the exceeded limit, if
    any; `pages` are the pages that are images.
    """

    def __init__(self, problem: FileProblem, detail: str, limit: FileLimit = "", pages: Sequence[int] = ()) -> None:
        self.problem: FileProblem = problem
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
    return UnreadableFileError("unreadable", "This is a binary file, not text.")


def too_deep_error() -> UnreadableFileError:
    """Return the error for elements that are nested too deep."""
    detail = f"It is nested more than {MAX_DEPTH} levels deep; save it as PDF or plain text."
    return UnreadableFileError("unreadable", detail, "depth")


def page_limit_error(error: PageLimitError) -> UnreadableFileError:
    """Return the error for a page with more attributes or elements than any real page needs."""
    return UnreadableFileError("unreadable", f"{error}; save it as PDF or plain text.", error.limit)


class TextBlock(NamedTuple):
    """A piece of text under a path of headings; `is_heading` marks a heading line itself."""

    text: str
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    is_heading: bool = False


@dataclass
class FileDraft:
    """Result of a reader: text blocks in order, and the file's statements about itself."""

    blocks: list[TextBlock] = field(default_factory=list)
    title: str = ""
    url: str = ""
    published: date | None = None
    language: Language | None = None
    picture_pages: dict[int, str] = field(default_factory=dict)  # image pages -> chapter
    open_headings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def heading_path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.open_headings)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading, which closes all open headings of its level and below."""
        if text := one_line(text):
            self.open_headings = [*(item for item in self.open_headings if item[0] < level), (level, text)]
            self.blocks.append(TextBlock(text, self.heading_path, is_heading=True))

    def add_text(self, text: str) -> None:
        if text.strip():
            self.blocks.append(TextBlock(text, self.heading_path))


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
    return " ".join(clean_lines(text).split())[:max_characters].rstrip()


def title_line(text: str) -> str:
    """Return the first line if it is short enough to be a title, or ""."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else ""


def decode_text(data: bytes) -> str:
    """Decode UTF-8, UTF-16 with a byte order mark, or GB18030; refuse anything else.

    Raises:
        UnreadableFileError: the encoding is unknown, or the file is binary.
    """
    mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-8-sig", "utf-16" if mark else "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeError:
            continue
        if encoding == "gb18030" and not is_plausible_gb18030(data):
            break
        return reject_binary(text)
    raise UnreadableFileError("unreadable", "This is no text in UTF-8, UTF-16 or GB18030; save it as UTF-8.")


def is_plausible_gb18030(data: bytes) -> bool:
    """Return True if most pairs are common characters; French in Latin-1 decodes to rare ones."""
    pairs = re.findall(rb"[\x81-\xfe][\x30-\xfe]", data)
    return bool(2 * sum(pair[1] >= 0x80 for pair in pairs) > len(pairs))


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


def _label_cells(names: Sequence[str], row: Sequence[str]) -> str:
    """Format a row as `Header: cell; Header: cell`, leaving out blank cells."""
    cells = []
    for index, cell in enumerate(row):
        if cell and (text := one_line(cell, MAX_CHARACTERS)):
            name = names[index] if index < len(names) else ""
            cells.append(f"{name}: {text}" if name else text)
    return "; ".join(cells)


def table_lines(rows: Sequence[Sequence[str]], has_header: bool) -> list[str]:
    """Format a table as lines; without a header, two columns are read as names and values."""
    rows = [row for row in rows if any(map(str.strip, row))]
    if len(rows) > 1 and (has_header or max(map(len, rows)) > 2):
        names = [one_line(name) for name in rows[0]]
        return [_label_cells(names, row) for row in rows[1:]]
    pairs = [[text for cell in row if (text := one_line(cell, MAX_CHARACTERS))] for row in rows]
    return [(": " if len(pair) == 2 else "; ").join(pair) for pair in pairs]


def _add_rows(draft: FileDraft, rows: Iterable[Sequence[str]], path: tuple[str, ...] = ()) -> None:
    filled = (row for row in rows if any(map(str.strip, row)))
    header = next(filled, None)
    if header is None:
        return
    names = [one_line(name) for name in header]
    lines: list[str] = []
    size = 0
    for row in filled:
        lines.append(_label_cells(names, row))
        size += len(lines[-1])
        if size > MAX_CHARACTERS:
            raise too_long_error()
        if len(lines) > MAX_ROWS:
            detail = f"The table has more than {MAX_ROWS:,} rows; split it."
            raise UnreadableFileError("too large", detail, "rows")
    for start in range(0, len(lines), ROWS_PER_SECTION):
        part = lines[start : start + ROWS_PER_SECTION]
        draft.blocks.append(TextBlock("\n".join(part), (*path, f"{start + 1}–{start + len(part)}")))
    if not lines:
        draft.blocks.append(TextBlock(_label_cells((), header), path))


def read_csv(data: bytes, fallback: str = ",") -> FileDraft:
    """Read separated values; the separator is detected, the first row names the columns."""
    text = decode_text(data)
    try:
        separator = csv.Sniffer().sniff(text[:8_192], delimiters=",;\t|").delimiter
    except csv.Error:
        separator = fallback
    draft = FileDraft()
    _add_rows(draft, csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return draft


def read_tsv(data: bytes) -> FileDraft:
    return read_csv(data, fallback="\t")


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
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


def _word_text(element: Any) -> str:
    """Return the visible text below an element, with insertions, links and text boxes."""
    out: list[str] = []
    walker = etree.iterwalk(element, events=("start",))
    for _, node in walker:
        if node.tag in _SKIPPED_TAGS:
            walker.skip_subtree()
        elif node.tag == f"{_WORD_NAMESPACE}t":
            out.append(node.text or "")
        else:
            out.append(_BREAK_CHARS.get(node.tag, ""))
    return "".join(out)


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
