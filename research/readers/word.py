"""Word files as text: headings, numbered paragraphs, tables, text boxes, footnotes and endnotes.

Changes are read as accepted. Not supported: running heads, comments, charts, and documents embedded in others.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

from research.readers.drafts import MAX_CHARACTERS, FileDraft, TextBlock, one_line, title_line
from research.readers.office_files import check_container, usable_title
from research.readers.table_text import Cell, CellTable
from research.readers.word_numbering import Numbering
from research.readers.word_text import ParagraphReader, ParagraphText, W, is_on

_COMPATIBILITY_NAMESPACE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_WRAPPERS = {
    *(f"{W}{name}" for name in ("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo")),
    *(f"{_COMPATIBILITY_NAMESPACE}{name}" for name in ("AlternateContent", "Choice")),
}
_MAX_HEADING_LEVEL = 9


class WordBlock(NamedTuple):
    """A paragraph, or a table as lines, with the heading level of a paragraph: 0 for the title, None for text."""

    text: str
    level: int | None = None
    is_note: bool = False
    table: CellTable | None = None


def _outline_level(element: Any) -> int | None:
    level = element.find(f"{W}pPr/{W}outlineLvl")
    value = level.get(f"{W}val") or "" if level is not None else ""
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
            return level if level <= _MAX_HEADING_LEVEL else None
        style = getattr(style, "base_style", None)
    return None


def _children(element: Any, *names: str) -> Iterator[Any]:
    """Yield the children with these names in order, including those in content controls and insertions."""
    wanted = {f"{W}{name}" for name in names}
    for child in element.iterchildren("*"):
        if child.tag in wanted:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _children(child, *names)


class WordReader:
    """Reads the blocks of a Word document in their order."""

    def __init__(self, document: Any) -> None:
        self._body = document.element.body
        styles = document.styles.element
        self._levels = {style.style_id: _style_level(style) for style in document.styles}
        self._paragraphs = ParagraphReader(styles, dict(_notes(document)))
        self._numbering = Numbering(next(_parts(document, "numbering"), None), styles)

    def blocks(self, container: Any = None) -> Iterator[WordBlock]:
        """Yield the blocks in the body or in another container: each paragraph, then its text boxes and notes."""
        unfinished = ""  # the text of paragraphs whose ends are deleted
        for element in _children(self._body if container is None else container, "p", "tbl"):
            if element.tag == f"{W}tbl":
                if unfinished:
                    yield WordBlock(unfinished)
                    unfinished = ""
                yield from self._table_blocks(element)
                continue
            content = self._paragraphs.read(element)
            if _has_deleted_end(element):
                unfinished += content.text
            else:
                text = self._numbering.label(element) + unfinished + content.text
                is_empty = not (unfinished + content.text).strip()
                unfinished = ""
                yield WordBlock("" if is_empty else text, self._level(element))
            yield from self._aside_blocks(content)
        if unfinished:
            yield WordBlock(unfinished)

    def _aside_blocks(self, content: ParagraphText) -> Iterator[WordBlock]:
        for box in content.boxes:
            yield from self.blocks(box)
        for note in content.notes:
            yield WordBlock(one_line(note, MAX_CHARACTERS), is_note=True)

    def _level(self, paragraph: Any) -> int | None:
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        level = self._levels.get(style.get(f"{W}val")) if style is not None else None
        if level is None:
            level = _outline_level(paragraph)
        return level if level is None or level <= _MAX_HEADING_LEVEL else None

    def _table_blocks(self, table: Any) -> Iterator[WordBlock]:
        """Yield a table as one block, then the notes in it; a table of one cell is a frame around its blocks."""
        rows = [row for row in _children(table, "tr") if not _is_left_out(row)]
        if len(rows) == 1 and len(cells := [*_children(rows[0], "tc")]) == 1:
            yield from self.blocks(cells[0])
            return
        content, notes = self._read_table(table)
        yield WordBlock("\n".join(content.lines()), table=content)
        for note in notes:
            yield WordBlock(note, is_note=True)

    def _read_table(self, table: Any) -> tuple[CellTable, list[str]]:
        """Return the cells of a table, and the notes in it."""
        rows: list[list[Cell]] = []
        notes: list[str] = []
        heading_rows = 0
        merged: dict[int, tuple[int, int]] = {}  # by column: row and place of the cell that may go on below
        for row in _children(table, "tr"):
            if _is_left_out(row):
                continue
            if heading_rows == len(rows) and is_on(row.find(f"{W}trPr/{W}tblHeader")):
                heading_rows += 1
            column = _count(row.find(f"{W}trPr/{W}gridBefore"), 0)
            cells = [Cell("", column)] if column else []
            for cell in _children(row, "tc"):
                if cell.find(f"{W}tcPr/{W}cellDel") is not None:
                    continue
                width = _count(cell.find(f"{W}tcPr/{W}gridSpan"), 1)
                merge = cell.find(f"{W}tcPr/{W}vMerge")
                is_continued = merge is not None and merge.get(f"{W}val") != "restart"
                if is_continued and column in merged:
                    top, place = merged[column]
                    rows[top][place] = rows[top][place]._replace(rows=len(rows) - top + 1)
                else:
                    text, cell_notes = self._cell_text(cell)
                    notes += cell_notes
                    cells.append(Cell(text, width))
                    merged.pop(column, None)
                    if merge is not None:
                        merged[column] = (len(rows), len(cells) - 1)
                column += width
            rows.append(cells)
        return CellTable(rows, heading_rows if heading_rows < len(rows) else 0), notes

    def _cell_text(self, cell: Any) -> tuple[str, list[str]]:
        blocks = [*self.blocks(cell)]
        text = "\n".join(block.text for block in blocks if block.text.strip() and not block.is_note)
        return text, [block.text for block in blocks if block.is_note]


def _count(element: Any, default: int) -> int:
    value = element.get(f"{W}val") or "" if element is not None else ""
    return int(value) if re.fullmatch(r"\d{1,4}", value) else default


def _is_left_out(row: Any) -> bool:
    """Return True if a row of a table is deleted or hidden."""
    return row.find(f"{W}trPr/{W}del") is not None or is_on(row.find(f"{W}trPr/{W}hidden"))


def _has_deleted_end(paragraph: Any) -> bool:
    """Return True if the end of a paragraph is deleted or moved away, so that the next one continues it."""
    mark = paragraph.find(f"{W}pPr/{W}rPr")
    return mark is not None and (mark.find(f"{W}del") is not None or mark.find(f"{W}moveFrom") is not None)


def _parts(document: Any, name: str) -> Iterator[Any]:
    """Yield the roots of the parts of a document that have a kind, as "numbering"."""
    for relation in document.part.rels.values():
        if relation.reltype.endswith(f"/{name}") and not relation.is_external:
            yield etree.fromstring(relation.target_part.blob, etree.XMLParser(resolve_entities=False))


def _notes(document: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the footnotes and endnotes by kind and id; others of a type are separators."""
    for kind in ("footnote", "endnote"):
        for root in _parts(document, f"{kind}s"):
            for note in root.iterchildren(f"{W}{kind}"):
                if note.get(f"{W}type") in (None, "normal"):
                    yield (kind, note.get(f"{W}id") or ""), note


def open_word_file(data: bytes) -> Any:
    """Open a Word file.

    Raises:
        UnreadableFileError: it is encrypted, of an old format or too large.
    """
    import docx

    check_container(data, "document")
    return docx.Document(io.BytesIO(data))


def read_docx(data: bytes) -> FileDraft:
    """Read the paragraphs and tables of a Word file, with headings by style or outline level."""
    document = open_word_file(data)
    draft = FileDraft()
    for block in WordReader(document).blocks():
        if block.level is None:
            draft.add_text(block.text)
        elif block.level or draft.title:
            draft.add_heading(block.level or 1, block.text)
        elif block.text.strip():
            draft.title = one_line(block.text)
            draft.blocks.append(TextBlock(draft.title, is_heading=True))
    top = draft.blocks[0].text if draft.blocks else ""
    draft.title = draft.title or usable_title(document.core_properties.title) or title_line(top)
    return draft
