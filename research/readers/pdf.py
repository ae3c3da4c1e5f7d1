"""PDF files as text in the order of reading, a block a page, and one for a sentence over a page end.

PDFium gives the characters with their positions; the modules `pdf_*` make words, lines, columns,
tables and paragraphs of them. Text in images is not read here; pages that are images are reported.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from research.core.text.sentences import find_sentence_ends
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
from research.readers.pdf_drawings import DrawnLines, read_drawn_lines
from research.readers.pdf_hyphens import HyphenResolver
from research.readers.pdf_layout import TextRegion, split_page
from research.readers.pdf_lines import Row, build_rows, upright_words
from research.readers.pdf_margins import NEIGHBOURS, without_running_rows
from research.readers.pdf_paragraphs import Paragraph, build_paragraphs, continues
from research.readers.pdf_ruled_tables import insert_tables, take_tables
from research.readers.pdf_tables import FormattedTable, Strip, TableFormatter, TableRegion
from research.readers.pdf_words import PageTooLargeError, page_words

if TYPE_CHECKING:
    import pypdfium2

MAX_PAGES = 2_000
_MAX_REMARK = 40  # characters of a line that says that a table goes on
_PICTURE_DEPTH = 5  # of forms within forms
_CONTINUED = re.compile(
    r"^\W*(?:table\s*[\d.]+\W*)?(?:table\s+)?cont(?:inued|inues|\.|'d)|^\W*[续續接](?:上|下|前|后|後)?[页頁表]|[(（][续續][)）]$",
    re.I,
)  # beside a table that goes on over a page end

logging.getLogger("pypdfium2").setLevel(logging.CRITICAL + 1)  # it warns of chapters with sections


class _Page(NamedTuple):
    """The rows of a page: those in its main direction, and those in each other one."""

    number: int
    rows: list[Row]
    turned_rows: list[list[Row]]
    lines: DrawnLines
    has_picture: bool


class _Piece(NamedTuple):
    """A piece of text that stands on one page, or goes on over page ends."""

    text: str
    page: int
    last_page: int


def read_pdf(data: bytes) -> FileDraft:
    """Read a PDF, one block per page, rejoining lines broken within sentences.

    Raises:
        UnreadableFileError: it has a password, too many pages or too much text.
        RuntimeError: it is damaged (pypdfium2.PdfiumError).
    """
    document = _open_document(data)
    try:
        total = len(document)
        if total > MAX_PAGES:
            detail = f"The PDF has {total:,} pages; at most {MAX_PAGES:,} are read. Split it."
            raise UnreadableFileError("too large", detail, "pages")
        draft = FileDraft(title=usable_title(document.get_metadata_value("Title")))
        chapters = _page_chapters(document, total)
        layout = _PageLayout()
        for page in _without_running_lines(_read_pages(document)):
            if not page.rows and page.has_picture:
                draft.picture_pages[page.number] = chapters.get(page.number) or ""
            layout.add(page)
    finally:
        document.close()
    for piece in layout.pieces(total):
        chapter = chapters.get(piece.page)
        last_page = piece.last_page if piece.last_page > piece.page else None
        draft.blocks.append(TextBlock(piece.text, (chapter,) if chapter else (), piece.page, last_page=last_page))
    first_text = next((block.text for block in draft.blocks if block.text), "")
    if not first_text and not draft.picture_pages:  # perhaps letters drawn as lines
        draft.picture_pages = {number: chapters.get(number) or "" for number in range(1, total + 1)}
    draft.title = draft.title or title_line(layout.first_paragraph())
    return draft


def _open_document(data: bytes) -> pypdfium2.PdfDocument:
    from pypdfium2 import PdfiumError

    from research.readers.pdfium import is_protected, open_pdf

    try:
        return open_pdf(data)
    except PdfiumError as error:
        if is_protected(error):
            detail = "The PDF is protected with a password; save it without."
            raise UnreadableFileError("encrypted", detail) from error
        raise


def _page_chapters(document: pypdfium2.PdfDocument, total: int) -> dict[int, str]:
    """Map page numbers to top-level outline entries; "" for pages with several."""
    starts: dict[int, list[str]] = {}
    for entry in document.get_toc(max_depth=1):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None and page >= 0:
            starts.setdefault(page + 1, []).append(one_line(entry.get_title()))
    chapters: dict[int, str] = {}
    current = ""
    for page in range(1, total + 1):
        names = starts.get(page, [])
        chapters[page] = current if not names else names[0] if len(names) == 1 else ""
        current = names[-1] if names else current
    return chapters


def _read_pages(document: pypdfium2.PdfDocument) -> Iterator[_Page]:
    """Yield the pages with their rows."""
    for number in range(1, len(document) + 1):
        page = document[number - 1]
        try:
            directions = [build_rows(words) for words in upright_words(page_words(page))]
            lines = read_drawn_lines(page) if directions else DrawnLines([], [])
            rows = directions[0] if directions else []
            yield _Page(number, rows, directions[1:], lines, _has_picture(page))
        except PageTooLargeError as error:
            detail = f"Page {number:,} of the PDF draws more than can be read; leave it out."
            raise UnreadableFileError("too large", detail, "page") from error
        finally:
            page.close()


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    """Return True if a page shows an image."""
    import pypdfium2.raw as pdfium

    return any(True for _ in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=_PICTURE_DEPTH))


def _without_running_lines(pages: Iterator[_Page]) -> Iterator[_Page]:
    """Leave out running heads, feet and page numbers, which are compared with the pages around."""
    reach = max(NEIGHBOURS)
    window: deque[_Page] = deque(maxlen=2 * reach + 1)
    waiting: deque[_Page] = deque()
    for page in pages:
        window.append(page)
        waiting.append(page)
        if len(waiting) > reach:
            yield _without_running(waiting.popleft(), window)
    while waiting:
        yield _without_running(waiting.popleft(), window)


def _without_running(page: _Page, window: Sequence[_Page]) -> _Page:
    neighbours = {other.number - page.number: other.rows for other in window}
    around = {distance: neighbours[distance] for distance in NEIGHBOURS if distance in neighbours}
    return page._replace(rows=without_running_rows(page.rows, page.number, around))


def _regions(rows: Sequence[Row], lines: DrawnLines, gutters: list[Strip]) -> Iterator[TextRegion | TableRegion]:
    """Yield the regions of a page in the order of reading."""
    rest, tables = take_tables(rows, lines)
    return insert_tables(split_page(rest, lines.ruled, gutters), tables)


class _PageLayout:
    """The paragraphs and tables of a document in the order of reading."""

    def __init__(self) -> None:
        self._paragraphs: list[Paragraph] = []
        # The last paragraph, and the last caption, of each font size, which the next column may continue.
        self._last: dict[tuple[float, bool], Paragraph] = {}
        self._tables = TableFormatter()
        self._gutters: list[Strip] = []  # the last ones between columns
        self._characters = 0

    def add(self, page: _Page) -> None:
        """Add the text of a page."""
        regions = _regions(page.rows, page.lines, self._gutters)
        is_page_start = True
        for region in regions:
            if isinstance(region, TableRegion):
                self._add_table(self._tables.format(region, is_page_start=is_page_start), page.number)
                is_page_start = False
                continue
            if not all(_CONTINUED.search(row.text) and len(row.text) <= _MAX_REMARK for row in region.rows):
                self._tables.end()
                is_page_start = False
            for paragraph in build_paragraphs(region.rows, page.number):
                self._add_paragraph(paragraph)
        for rows in page.turned_rows:
            for region in _regions(rows, DrawnLines([], []), []):
                if isinstance(region, TableRegion):
                    self._add_table(TableFormatter().format(region, is_page_start=False), page.number)
                else:
                    for paragraph in build_paragraphs(region.rows, page.number):
                        self._append(paragraph)

    def _add_table(self, table: FormattedTable, page: int) -> None:
        """Add the lines of a table; the row that goes on from the page before is on both."""
        if table.last_row:
            last = next(paragraph for paragraph in reversed(self._paragraphs) if not paragraph.size)
            last.lines, last.pages = [table.last_row], [last.pages[0], page]
        for line in table.lines:
            self._append(Paragraph([line], [page], 0.0))

    def _add_paragraph(self, paragraph: Paragraph) -> None:
        size = round(paragraph.size * 2) / 2
        for last in (self._last.get((size, False)), self._last.get((size, True))):
            if last and paragraph.pages[0] - last.pages[-1] < 2 and continues(last, paragraph):
                last.extend(paragraph)
                self._count(paragraph)
                return
        self._append(paragraph)
        self._last[size, paragraph.is_caption] = paragraph

    def _append(self, paragraph: Paragraph) -> None:
        self._paragraphs.append(paragraph)
        self._count(paragraph)

    def _count(self, paragraph: Paragraph) -> None:
        self._characters += sum(map(len, paragraph.lines))
        if self._characters > MAX_CHARACTERS:
            raise too_long_error()

    def first_paragraph(self) -> str:
        """Return the first paragraph, "" if a table comes first."""
        first = next((paragraph for paragraph in self._paragraphs if any(paragraph.lines)), None)
        return HyphenResolver(()).resolve(first.text()) if first and first.size else ""

    def pieces(self, total: int) -> Iterator[_Piece]:
        """Yield the text of each page, and each sentence that goes on over a page end after its first page."""
        texts = [paragraph.text() for paragraph in self._paragraphs]
        hyphens = HyphenResolver(texts)
        begins: dict[int, list[str]] = defaultdict(list)  # page -> rest of the last paragraph of the page before
        bodies: dict[int, list[str]] = defaultdict(list)
        spans: dict[int, list[_Piece]] = defaultdict(list)
        for paragraph, text in zip(self._paragraphs, texts, strict=True):
            for piece in _split_by_page(paragraph, text):
                resolved = piece._replace(text=clean_lines(hyphens.resolve(piece.text)))
                if piece.page < piece.last_page:
                    spans[piece.page].append(resolved)
                elif piece.page == paragraph.pages[0]:
                    bodies[piece.page].append(resolved.text)
                else:
                    begins[piece.page].append(resolved.text)
        for page in range(1, total + 1):
            yield _Piece("\n".join(begins[page] + bodies[page]), page, page)
            yield from spans[page]


def _split_by_page(paragraph: Paragraph, text: str) -> Iterator[_Piece]:
    """Split the text of a paragraph into its sentences over page ends and the text between them."""
    if paragraph.pages[0] == paragraph.pages[-1] or not paragraph.size:  # a row of a table is not split
        yield _Piece(text, paragraph.pages[0], paragraph.pages[-1])
        return
    starts = [*zip(paragraph.line_starts, paragraph.pages, strict=True)]
    cuts = [0, *find_sentence_ends(text), len(text)]
    start = 0
    pages = (paragraph.pages[0],) * 2
    for begin, end in pairwise(cuts):
        if begin == end:
            continue
        lines = [page for at, page in starts if at < end]
        first = [page for at, page in starts if at <= begin + 1]
        span = (first[-1] if first else lines[0], lines[-1])
        if begin and span != pages:
            yield _Piece(text[start:begin].strip(), *pages)
            start = begin
        pages = span
    yield _Piece(text[start:].strip(), *pages)
