"""Word files as text: headings, paragraphs, tables, footnotes and endnotes.

Not supported: running heads.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from research.readers.drafts import MAX_CHARACTERS, FileDraft, TextBlock, one_line, table_lines, title_line
from research.readers.office_files import check_container, usable_title
from research.readers.scripts import lowered_text, raised_text

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
