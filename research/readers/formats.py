"""One reader per file format: bytes -> `Draft`, the pieces of text a file is made of.

Knows the third-party parsers and their limits; each is loaded with the first file of its format. Knows nothing of file names, offsets or records, and
does not know: text in pictures (it says which pages are some), footnotes and running heads of Word files, number formats
of spreadsheets (25 % is stored as 0.25), or what a cell's formula would give if it was never saved.
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
from research.core.text.sentences import unwrapped
from research.readers.packages import PackageError, check_package
from research.readers.webpages import ShapeError

if TYPE_CHECKING:
    import pypdf

MAX_PAGES = 2_000
MAX_CHARACTERS = 5_000_000
MAX_ROWS = 100_000
MAX_UNPACKED = 200 * 1024 * 1024  # bytes a zip container may claim to hold
MAX_CELLS = 10_000_000  # cells a spreadsheet may span, blank ones included
MAX_MEGAPIXELS = 100
MAX_DEPTH = 256  # elements in each other, of which libxml2 reads no more
ROWS_PER_SECTION = 50
PICTURES = ("PNG", "JPEG", "WEBP", "TIFF")  # as Pillow calls them

Problem = Literal["unsupported", "unreadable", "encrypted", "empty", "no text layer", "too large"]
# The limit that a file is over: of its size, its text, the pages of a PDF, the rows of a table, the
# cells of a sheet, what a container unpacks to, what one page of a PDF draws, how deep it is nested, the
# megapixels of a picture, the attributes of an element, the elements of a page, the time and the memory that reading it takes;
# or that of the machine: files that are read at once, processes that can be started.
Limit = Literal[
    "", "size", "characters", "pages", "rows", "cells", "unpacked", "page", "depth", "pixels",
    "attributes", "elements", "time", "memory", "busy", "start",
]  # fmt: skip

_UNSEEN = "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]"

# pypdf tells its logger about every flaw it repairs; trafilatura about every page without text.
for _name in ("pypdf", "trafilatura"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class Unreadable(Exception):
    """A file that gives no text. `detail`, also the message, is one line for its owner; `limit` is
    the limit that it is over, if that is why; `pages` are pictures."""

    def __init__(
        self, problem: Problem, detail: str, limit: Limit = "", pages: Sequence[int] = ()
    ) -> None:
        self.problem: Problem = problem
        self.pages = tuple(pages)
        self.limit: Limit = limit
        self.detail = one_line(detail, 300)
        super().__init__(self.detail)


def too_long() -> Unreadable:
    """That a file has more text than is taken in."""
    detail = f"The file holds more than {MAX_CHARACTERS:,} characters of text; split it."
    return Unreadable("too large", detail, "characters")


def binary() -> Unreadable:
    """That a file is no text, whatever its name says."""
    return Unreadable("unreadable", "This is a binary file, not text.")


def too_deep() -> Unreadable:
    """That the elements of a page or a document lie too deep in each other."""
    detail = f"It is nested more than {MAX_DEPTH} levels deep; save it as PDF or plain text."
    return Unreadable("unreadable", detail, "depth")


def misshapen(error: ShapeError) -> Unreadable:
    """Return the error that a page has more attributes or elements than any real page needs."""
    return Unreadable("unreadable", f"{error}; save it as PDF or plain text.", error.shape)


class Block(NamedTuple):
    """A stretch of text under a path of headings. `shown` marks a heading line itself."""

    text: str
    path: tuple[str, ...] = ()
    page: int | None = None
    shown: bool = False


@dataclass
class Draft:
    """What a reader makes of a file: pieces in order and whatever the file says about itself."""

    pieces: list[Block] = field(default_factory=list)
    title: str = ""
    url: str = ""
    published: date | None = None
    language: Language | None = None
    pictures: dict[int, str] = field(default_factory=dict)  # pages that are pictures -> chapter
    trail: list[tuple[int, str]] = field(default_factory=list)

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.trail)

    def head(self, level: int, text: str) -> None:
        """Opens a section: a heading closes all headings of its level and below."""
        if text := one_line(text):
            self.trail = [*(item for item in self.trail if item[0] < level), (level, text)]
            self.pieces.append(Block(text, self.path, shown=True))

    def body(self, text: str) -> None:
        if text.strip():
            self.pieces.append(Block(text, self.path))


# Text


def visible(text: str) -> str:
    """Text without what cannot be seen: controls, bidi overrides, zero-width marks."""
    text = re.sub("\r\n?|[\v\f\x85\u2028\u2029]", "\n", text).replace("\u00a0", " ")
    return re.sub(_UNSEEN, "", text)


def clean(text: str) -> str:
    """Visible text without trailing spaces, blank lines and blanks inside decimals."""
    lines = (line.rstrip() for line in join_decimals(visible(text)).split("\n"))
    return "\n".join(line for line in lines if line)


def one_line(text: str, size: int = 200) -> str:
    return " ".join(clean(text).split())[:size].rstrip()


def first_line(text: str) -> str:
    """The first line if it is short enough to be a title."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else ""


def decode(data: bytes) -> str:
    """UTF-8, UTF-16 with its mark, or GB18030; anything else is refused rather than guessed."""
    mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-8-sig", "utf-16" if mark else "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeError:
            continue
        if encoding == "gb18030" and not looks_chinese(data):
            break
        return checked(text)
    raise Unreadable("unreadable", "This is no text in UTF-8, UTF-16 or GB18030; save it as UTF-8.")


def looks_chinese(data: bytes) -> bool:
    """Whether GB18030 is plausible: it also decodes French in Latin-1, to rare characters."""
    pairs = re.findall(rb"[\x81-\xfe][\x30-\xfe]", data)
    return bool(2 * sum(pair[1] >= 0x80 for pair in pairs) > len(pairs))


def checked(text: str) -> str:
    """The text unless it is a binary file in disguise."""
    controls = len(re.findall(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]", text))
    if "\0" in text or (controls > 3 and controls * 50 > len(text)):
        raise binary()
    return text


# Tables


def _labelled(names: Sequence[str], row: Sequence[str]) -> str:
    """A row as one line, `Header: cell; Header: cell`, blank cells left out."""
    cells = []
    for at, cell in enumerate(row):
        if cell and (text := one_line(cell, MAX_CHARACTERS)):
            name = names[at] if at < len(names) else ""
            cells.append(f"{name}: {text}" if name else text)
    return "; ".join(cells)


def table_lines(rows: Sequence[Sequence[str]], has_header: bool) -> list[str]:
    """A table as lines. Without a marked header two columns are read as names and values."""
    rows = [row for row in rows if any(map(str.strip, row))]
    if len(rows) > 1 and (has_header or max(map(len, rows)) > 2):
        names = [one_line(name) for name in rows[0]]
        return [_labelled(names, row) for row in rows[1:]]
    pairs = [[text for cell in row if (text := one_line(cell, MAX_CHARACTERS))] for row in rows]
    return [(": " if len(pair) == 2 else "; ").join(pair) for pair in pairs]


def _add_rows(draft: Draft, rows: Iterable[Sequence[str]], path: tuple[str, ...] = ()) -> None:
    filled = (row for row in rows if any(map(str.strip, row)))
    header = next(filled, None)
    if header is None:
        return
    names = [one_line(name) for name in header]
    lines: list[str] = []
    size = 0
    for row in filled:
        lines.append(_labelled(names, row))
        size += len(lines[-1])
        if size > MAX_CHARACTERS:
            raise too_long()
        if len(lines) > MAX_ROWS:
            detail = f"The table has more than {MAX_ROWS:,} rows; split it."
            raise Unreadable("too large", detail, "rows")
    for at in range(0, len(lines), ROWS_PER_SECTION):
        part = lines[at : at + ROWS_PER_SECTION]
        draft.pieces.append(Block("\n".join(part), (*path, f"{at + 1}–{at + len(part)}")))
    if not lines:
        draft.pieces.append(Block(_labelled((), header), path))


def read_csv(data: bytes, fallback: str = ",") -> Draft:
    """Comma-separated values, or whatever separates them; the first row names the columns."""
    text = decode(data)
    try:
        separator = csv.Sniffer().sniff(text[:8_192], delimiters=",;\t|").delimiter
    except csv.Error:
        separator = fallback
    draft = Draft()
    _add_rows(draft, csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return draft


def read_tsv(data: bytes) -> Draft:
    return read_csv(data, fallback="\t")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    # A size that the file claims is not to be trusted: it decides how many blanks are made up.
    sheet.reset_dimensions()
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row) + 1
        if cells > MAX_CELLS:
            detail = f"A sheet of the workbook spans more than {MAX_CELLS:,} cells; split it."
            raise Unreadable("too large", detail, "cells")
        yield [_cell(value) for value in row]


def read_xlsx(data: bytes) -> Draft:
    """A workbook: stored values, no formulas; a sheet's first filled row names its columns."""
    import openpyxl

    check_container(data, "workbook")
    draft = Draft()
    book = openpyxl.load_workbook(
        io.BytesIO(data), read_only=True, data_only=True, keep_links=False
    )
    for sheet in book.worksheets:
        _add_rows(draft, _sheet_rows(sheet), (one_line(sheet.title),))
    return draft


# Containers


def check_container(data: bytes, what: str) -> None:
    """Refuses, before anything is unpacked, what is locked, old or a zip bomb."""
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise Unreadable(
                "encrypted", f"The {what} is protected with a password; save it without."
            )
        raise Unreadable("unreadable", f"The {what} is in an old Office format; save it anew.")
    try:
        check_package(io.BytesIO(data), MAX_UNPACKED)
    except PackageError as error:
        if error.problem == "encrypted":
            locked = f"The {what} is protected with a password; save it without."
            raise Unreadable("encrypted", locked) from None
        if error.problem == "doctype":
            declared = f"The {what} declares a document type, which no office program writes; save it anew."
            raise Unreadable("unreadable", declared) from None
        limit = MAX_UNPACKED // 1024**2
        many = f"The {what} unpacks to more than {limit} MB, or to far more than its size allows."
        raise Unreadable("too large", many, "unpacked") from None


# Word

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_GONE = {f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", f"{_W}rt", f"{_MC}Fallback"}
_BREAKS = {
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}p": "\n",
    f"{_W}tab": "\t",
    f"{_W}noBreakHyphen": "-",
}


def _word_text(element: Any) -> str:
    """The visible text below an element, insertions, links and text boxes included."""
    out: list[str] = []
    walker = etree.iterwalk(element, events=("start",))
    for _, node in walker:
        if node.tag in _GONE:
            walker.skip_subtree()
        elif node.tag == f"{_W}t":
            out.append(node.text or "")
        else:
            out.append(_BREAKS.get(node.tag, ""))
    return "".join(out)


def _outline_level(element: Any) -> int | None:
    level = element.find(f"{_W}pPr/{_W}outlineLvl")
    value = level.get(f"{_W}val") or "" if level is not None else ""
    return int(value) + 1 if value.isdigit() else None


def _style_level(style: Any) -> int | None:
    """0 for the title, 1 to 9 for a heading, None for text; a style may inherit its level."""
    for _ in range(10):
        if style is None:
            break
        name = (style.name or "").strip().casefold()
        if name in ("title", "标题"):
            return 0
        if found := re.match(r"(?:heading|标题)\s*(\d?)", name):
            return int(found[1] or 1)
        if level := _outline_level(style.element):
            return level if level <= 9 else None
        style = getattr(style, "base_style", None)
    return None


def _word_level(paragraph: Any, styles: dict[str, int | None]) -> int | None:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    level = styles.get(style.get(f"{_W}val")) if style is not None else None
    if level is None:
        level = _outline_level(paragraph)
    return level if level is None or level <= 9 else None


def _word_table(table: Any) -> list[str]:
    rows = []
    for row in table.iterchildren(f"{_W}tr"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_W}tc"):
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            width = int(span.get(f"{_W}val", "1")) if span is not None else 1
            cells += [_word_text(cell), *[""] * (min(width, 64) - 1)]
        rows.append(cells)
    return table_lines(rows, has_header=table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None)


def _word_blocks(body: Any) -> Iterator[Any]:
    """Paragraphs and tables in the order of the document, those in content controls included."""
    for child in body.iterchildren(f"{_W}p", f"{_W}tbl", f"{_W}sdt", f"{_W}sdtContent"):
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        else:
            yield from _word_blocks(child)


def read_docx(data: bytes) -> Draft:
    """A Word file: paragraphs and tables in order, headings by style or outline level."""
    import docx

    check_container(data, "document")
    document = docx.Document(io.BytesIO(data))
    styles = {style.style_id: _style_level(style) for style in document.styles}
    draft = Draft()
    for block in _word_blocks(document.element.body):
        if block.tag == f"{_W}tbl":
            draft.body("\n".join(_word_table(block)))
            continue
        text = _word_text(block)
        level = _word_level(block, styles)
        if level is None:
            draft.body(text)
        elif level or draft.title:
            draft.head(level or 1, text)
        elif text.strip():
            draft.title = one_line(text)
            draft.pieces.append(Block(draft.title, shown=True))
    top = draft.pieces[0].text if draft.pieces else ""
    draft.title = draft.title or sensible(document.core_properties.title) or first_line(top)
    return draft


_JUNK = re.compile(
    r"(?i)\(?(?:untitled|anonymous|unspecified)|microsoft word\b|word document|无标题|未命名|文档\s?\d*$"
    r"|.*\.(docx?|indd|pdf|tex|dvi|pages)$"
)


def sensible(title: object) -> str:
    """A title from a file's properties, unless a program put it there."""
    text = one_line(title) if isinstance(title, str) else ""
    return "" if len(text) < 2 or _JUNK.match(text) else text


# PDF


def _broken_hints() -> tuple[type[Exception], ...]:
    """What pypdf raises where what a PDF says about itself is damaged."""
    from pypdf.errors import PyPdfError

    return PyPdfError, AttributeError, LookupError, RecursionError, TypeError, ValueError


def _own_title(reader: pypdf.PdfReader) -> str:
    try:
        return sensible(reader.metadata.title if reader.metadata else "")
    except _broken_hints():  # a title is no reason to refuse the text
        return ""


def _chapters(reader: pypdf.PdfReader) -> dict[int, str]:
    """Page -> top-level entry of the outline; pages that share chapters have none."""
    try:
        return _outline(reader)
    except _broken_hints():  # nor is an outline that points nowhere
        return {}


def _outline(reader: pypdf.PdfReader) -> dict[int, str]:
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


def _drawn(page: pypdf.PageObject, number: int) -> str:
    """The text of a page, whose drawing may unpack to far more than the file has bytes."""
    from pypdf.errors import LimitReachedError

    try:
        return page.extract_text()
    except LimitReachedError as error:
        detail = f"Page {number:,} of the PDF draws more than can be read; leave it out."
        raise Unreadable("too large", detail, "page") from error


def read_pdf(data: bytes) -> Draft:
    """A PDF: one piece per page, lines joined that the layout broke inside a sentence."""
    import pypdf
    from pypdf.errors import DependencyError

    locked = Unreadable("encrypted", "The PDF is protected with a password; save it without.")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise locked
        total = len(reader.pages)
    except DependencyError as error:  # a cipher that is not installed
        raise locked from error
    if total > MAX_PAGES:
        detail = f"The PDF has {total:,} pages; at most {MAX_PAGES:,} are read. Split it."
        raise Unreadable("too large", detail, "pages")
    draft = Draft(title=_own_title(reader))
    chapters = _chapters(reader)
    size = 0
    for number, page in enumerate(reader.pages, 1):
        text = clean(unwrapped(_drawn(page, number)))
        size += len(text)
        if size > MAX_CHARACTERS:
            raise too_long()
        chapter = chapters.get(number - 1)
        draft.pieces.append(Block(text, (chapter,) if chapter else (), page=number))
        if not text and _pictured(page):
            draft.pictures[number] = chapter or ""
    whole = next((piece.text for piece in draft.pieces if piece.text), "")
    if not whole and not draft.pictures:  # letters that are drawn as lines, perhaps
        draft.pictures = {number: chapters.get(number - 1) or "" for number in range(1, total + 1)}
    draft.title = draft.title or first_line(whole)
    return draft


def _pictured(page: pypdf.PageObject) -> bool:
    """Whether a page without text shows a picture."""
    try:
        return bool(page.images.keys())
    except _broken_hints():  # what is damaged is told when it is read
        return True


# Pictures


def read_picture(data: bytes) -> Draft:
    """A picture, or several in one file, as pages without text. None of them is unpacked."""
    from PIL import Image

    huge = f"The picture has more than {MAX_MEGAPIXELS} megapixels; make it smaller."
    count = 0
    try:
        with Image.open(io.BytesIO(data), formats=PICTURES) as file, suppress(EOFError):
            while count <= MAX_PAGES:
                file.seek(count)
                if file.width * file.height > MAX_MEGAPIXELS * 1_000_000:
                    raise Unreadable("too large", huge, "pixels")
                count += 1
    except Image.DecompressionBombError as error:
        raise Unreadable("too large", huge, "pixels") from error
    if count > MAX_PAGES:
        detail = f"The file has more than {MAX_PAGES:,} pictures. Split it."
        raise Unreadable("too large", detail, "pages")
    return Draft(pictures=dict.fromkeys(range(1, count + 1), ""))
