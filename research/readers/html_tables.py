"""Tables of web pages: their cells by row and column, with merged cells and marked headings.

Source of merged cells: https://html.spec.whatwg.org/multipage/tables.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

from research.readers.drafts import one_line
from research.readers.table_text import MAX_ROW_SPAN, Cell, CellTable
from research.readers.webpages import text_pieces

# Share of links in the text of a table above which it is navigation, by whether it has headings or a caption.
MAX_LINK_SHARES = {True: 0.8, False: 0.5}
MAX_TERM_CHARS = 60
_LAYOUT_CONTENT = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "form", "nav", "article", "section")


def flatten_text(root: Any) -> str:
    """Return the text below an element, with line breaks around blocks."""
    return "\n".join(line.strip() for line in "".join(text_pieces(root)).split("\n"))


def is_data_table(table: Any) -> bool:
    """Return True if a table holds data, and does not arrange a page or its menus."""
    if (table.get("role") or "").lower() in ("presentation", "none"):
        return False
    if next(table.iterdescendants(*_LAYOUT_CONTENT), None) is not None:
        return False
    if max((len(row) for row in table.iter("tr")), default=0) < 2:
        return False
    has_headings = next(table.iter("th", "caption"), None) is not None
    links = sum(len(re.sub(r"\s+", "", link.text_content())) for link in table.iter("a"))
    return links <= MAX_LINK_SHARES[has_headings] * len(re.sub(r"\s+", "", table.text_content()))


def read_table(table: Any) -> CellTable:
    """Read the cells of a table element, which may leave out the tags of its rows' groups."""
    rows = [list(row.iterchildren("td", "th")) for row in table.iter("tr")]
    in_heads = [row.getparent().tag == "thead" for row in table.iter("tr")]
    kept = [(cells, in_head) for cells, in_head in zip(rows, in_heads, strict=True) if cells]
    heading_rows = 0
    for cells, in_head in kept:
        if not in_head and any(cell.tag != "th" for cell in cells):
            break
        heading_rows += 1
    texts = [
        [Cell(flatten_text(cell), _span(cell, "colspan"), _span(cell, "rowspan")) for cell in cells]
        for cells, _ in kept
    ]
    caption = " ".join(one_line(flatten_text(element)) for element in table.iterchildren("caption"))
    marked_rows = heading_rows if heading_rows < len(kept) else 0
    return CellTable(texts, marked_rows, caption)


def _span(cell: Any, name: str) -> int:
    """Return how many columns or rows a cell covers; 0 rows mean all that follow."""
    match = re.match(r"\s*(\d{1,5})", cell.get(name) or "")
    number = int(match[1]) if match else 1
    return number or (MAX_ROW_SPAN if name == "rowspan" else 1)


def label_page(root: Any) -> None:
    """Replace tables that hold data, and lists of terms, by lines that can be understood one by one."""
    _label_tables(root)
    _label_definitions(root)


def _label_tables(root: Any) -> None:
    """Replace tables that hold data by paragraphs, one for each row, which name the columns."""
    for table in [*root.iter("table")]:
        if not is_data_table(table):
            continue
        content = read_table(table)
        lines = [content.caption] if content.caption else []
        lines += content.lines()
        _replace_by_paragraphs(table, lines)


def _label_definitions(root: Any) -> None:
    """Replace lists of short terms with their descriptions by paragraphs, as "Fee: 40 yuan"."""
    for definitions in [*root.iter("dl")]:
        if next(definitions.iterdescendants("dl", *_LAYOUT_CONTENT), None) is not None:
            continue
        lines: list[tuple[str, list[str]]] = []
        for element in definitions.iter("dt", "dd"):
            text = flatten_text(element).strip()
            if element.tag == "dt" and lines and not lines[-1][1]:  # several terms with one description
                lines[-1] = (f"{lines[-1][0]}, {text}", [])
            elif element.tag == "dt":
                lines.append((text, []))
            elif lines:
                lines[-1][1].append(text)
        if lines and all(len(term) <= MAX_TERM_CHARS for term, _ in lines):
            _replace_by_paragraphs(definitions, (": ".join(filter(None, (t, "; ".join(d)))) for t, d in lines))


def _replace_by_paragraphs(element: Any, lines: Iterable[str]) -> None:
    tail = element.tail
    element.clear()
    element.tag, element.tail = "div", tail
    for line in lines:
        etree.SubElement(element, "p").text = line


def _holds_names_and_values(table: Any) -> bool:
    """Return True if each row is a name, marked as a heading, and its value: such a table has no columns of data."""
    rows = [[cell.tag for cell in row.iterchildren("td", "th")] for row in table.iter("tr")]
    return all(tags == ["th", "td"] for tags in rows if len(tags) > 1)


def read_tables(root: Any) -> Iterator[CellTable]:
    """Yield the tables of a page that hold rows of data; without a caption, one has the heading above it."""
    heading = ""
    for element in root.iter("h1", "h2", "h3", "h4", "h5", "h6", "table"):
        if element.tag != "table":
            heading = one_line(flatten_text(element))
        elif is_data_table(element) and not _holds_names_and_values(element):
            table = read_table(element)
            yield table._replace(caption=table.caption or heading)
