"""OpenDocument texts (.odt): headings, paragraphs, lists, tables, footnotes and endnotes.

Source: https://docs.oasis-open.org/office/OpenDocument/v1.3/ (part 3, schema). Deleted text of tracked
changes and running heads are left out.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Container, Sequence
from typing import Any

from lxml import etree

from research.readers.drafts import MAX_CHARACTERS, FileDraft, UnreadableFileError, one_line, title_line
from research.readers.office_files import check_container, usable_title
from research.readers.scripts import lowered_text, raised_text
from research.readers.table_text import table_lines

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_SKIPPED_TAGS = {
    f"{_TEXT}tracked-changes", f"{_TEXT}ruby-text", f"{_OFFICE}annotation", f"{_OFFICE}forms",
    f"{_TEXT}sequence-decls", f"{_SVG}title", f"{_SVG}desc",
}  # fmt: skip
_BLOCK_TAGS = (f"{_TEXT}p", f"{_TEXT}h", f"{_TABLE}table")
_MAX_REPEATED_CELLS = 64  # of a row
_PARTS = ("content.xml", "styles.xml", "meta.xml")
_CONTEXT_CHARS = 40  # before a superscript, which show its meaning


class _TextReader:
    """Collects the text of paragraphs, with superscripts in plain form, and of the notes they refer to."""

    def __init__(self, styles: dict[str, str]) -> None:
        """`styles` holds "super" or "sub" by the name of a text style."""
        self._styles = styles
        self.notes: list[str] = []

    def read(self, element: Any) -> str:
        """Return the text below an element; paragraphs within it end with a line break."""
        return self._node_text(element, "")

    def _node_text(self, element: Any, before: str) -> str:
        text = element.text or ""
        for child in element:
            text += self._child_text(child, before + text[-_CONTEXT_CHARS:]) + (child.tail or "")
        return text

    def _child_text(self, child: Any, before: str) -> str:
        """Return the text of an element within a paragraph that follows the text `before`."""
        if not isinstance(child.tag, str) or child.tag in _SKIPPED_TAGS:
            return ""
        if child.tag == f"{_TEXT}s":
            return " " * min(int(child.get(f"{_TEXT}c", "1")), 100)
        if child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            return "\t" if child.tag == f"{_TEXT}tab" else "\n"
        if child.tag == f"{_TEXT}note":
            return self._note_text(child)
        text = self._node_text(child, before[-_CONTEXT_CHARS:])
        script = self._styles.get(child.get(f"{_TEXT}style-name", "")) if child.tag == f"{_TEXT}span" else None
        if script == "super":
            return raised_text(text, before)
        if script == "sub":
            return lowered_text(text)
        return f"{text}\n" if child.tag in _BLOCK_TAGS else text

    def _note_text(self, note: Any) -> str:
        """Keep a note with its mark, [n] or [en], and return the mark."""
        citation, body = note.find(f"{_TEXT}note-citation"), note.find(f"{_TEXT}note-body")
        prefix = "e" if note.get(f"{_TEXT}note-class") == "endnote" else ""
        number = "".join(citation.itertext()).strip() if citation is not None else str(len(self.notes) + 1)
        mark = f"[{prefix}{number}]"
        if body is not None and (text := one_line(self.read(body), MAX_CHARACTERS)):
            self.notes.append(f"{mark} {text}")
        return f" {mark}"


def read_odt(data: bytes) -> FileDraft:
    """Read the headings, paragraphs, lists and tables of a text document, then its notes."""
    check_container(data, "document")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: _parse_xml(package.read(name)) for name in _PARTS if name in package.namelist()}
    content = parts["content.xml"]
    title = parts["meta.xml"].findtext(".//{http://purl.org/dc/elements/1.1/}title") if "meta.xml" in parts else ""
    styles = [
        style for name in ("styles.xml", "content.xml") if name in parts for style in parts[name].iter(f"{_STYLE}style")
    ]
    body = content.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise UnreadableFileError("unreadable", "This is no text document (ODT); save it anew as ODT or DOCX.")
    draft = FileDraft()
    reader = _TextReader(_script_styles(styles))
    _add_blocks(draft, body, reader, _title_styles(styles))
    for note in reader.notes:
        draft.add_text(note)
    top = draft.blocks[0].text if draft.blocks else ""
    draft.title = draft.title or usable_title(title) or title_line(top)
    return draft


def _parse_xml(data: bytes) -> Any:
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))


def _title_styles(styles: Sequence[Any]) -> set[str]:
    """Return the names of the style of titles and of the automatic styles made from it."""
    parent = f"{_STYLE}parent-style-name"
    return {"Title", *(style.get(f"{_STYLE}name", "") for style in styles if style.get(parent) == "Title")}


def _script_styles(styles: Sequence[Any]) -> dict[str, str]:
    """Return "super" or "sub" by the name of each text style that raises or lowers characters."""
    scripts: dict[str, str] = {}
    for style in styles:
        properties = style.find(f"{_STYLE}text-properties")
        position = (properties.get(f"{_STYLE}text-position") or "" if properties is not None else "").split(" ")[0]
        is_lowered = position == "sub" or position.startswith("-")
        if position and position.strip("0%-"):
            scripts[style.get(f"{_STYLE}name", "")] = "sub" if is_lowered else "super"
    return scripts


def _add_blocks(draft: FileDraft, parent: Any, reader: _TextReader, titles: Container[str]) -> None:
    """Add the blocks of a body, a section or a list in document order."""
    for child in parent:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED_TAGS:
            continue
        if child.tag == f"{_TEXT}h":
            draft.add_heading(int(child.get(f"{_TEXT}outline-level", "1")), reader.read(child))
        elif child.tag == f"{_TEXT}p" and child.get(f"{_TEXT}style-name") in titles and not draft.title:
            draft.title = one_line(reader.read(child))
            draft.add_heading(0, draft.title)
            draft.open_headings = []
        elif child.tag == f"{_TEXT}p":
            draft.add_text(reader.read(child))
        elif child.tag == f"{_TABLE}table":
            draft.add_text("\n".join(_table_lines(child, reader)))
        else:
            _add_blocks(draft, child, reader, titles)


def _table_lines(table: Any, reader: _TextReader) -> list[str]:
    """Return the rows of a table as lines; covered cells are blank."""
    rows = []
    for row in table.iter(f"{_TABLE}table-row"):
        if next(row.iterancestors(f"{_TABLE}table")) is not table:  # a row of a table in a cell
            continue
        cells: list[str] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            repeated = min(int(cell.get(f"{_TABLE}number-columns-repeated", "1")), _MAX_REPEATED_CELLS)
            cells += [reader.read(cell).strip()] * repeated
        rows.append(cells)
    return table_lines(rows, len([*table.iterfind(f"{_TABLE}table-header-rows/{_TABLE}table-row")]))
