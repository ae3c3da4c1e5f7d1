"""A report as a Word file, drawn from its document tree with styles, lists, links and bookmarks.

`docx_xml` builds its elements, `docx_styles` its look and its lists. Characters that XML
forbids are dropped. The same report gives the same bytes. The table of contents
is a field with its entries filled in, each with a page number field of its own, so that Word does
not ask to update fields when it opens the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from itertools import groupby
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.shared import Emu

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Place, Report
from research.export.column_widths import fit_columns, measure_columns
from research.export.document import (
    ReportDocument,
    build_document,
    has_tag,
    is_displayed,
    is_right_to_left,
    plain_text,
    source_number_range,
)
from research.export.docx_styles import (
    LIST_INDENT_TWIPS,
    MAX_LIST_LEVEL,
    TEXT_WIDTH_TWIPS,
    ListDefinitions,
    set_up_page,
    set_up_styles,
)
from research.export.docx_xml import (
    clean_xml_text,
    copy_element,
    element,
    field_char,
    field_instruction,
    mono_fonts,
    paragraph,
    qn,
    text_run,
)
from research.export.omml import formula_omml
from research.export.options import DEFAULT_OPTIONS, ExportOptions
from research.export.page_estimation import PageEstimator
from research.export.report_texts import report_translator
from research.export.sketch_map import describe_map, places_on_map, sketch_png
from research.export.tree_markdown import is_inline

# Right-to-left words, with the digits, spaces and punctuation between them.
_RIGHT_TO_LEFT_RUN = re.compile(
    "((?:[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\\s\\d.,:;!?'\"-]+(?=[\u0590-\u08ff]))?)+)"
)
_MAX_PROPERTY_CHARS = 255  # limit of a document property


def report_docx(report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> bytes:
    """Return the whole report as a Word file (.docx)."""
    return document_docx(build_document(report, cited, options), places_on_map(report, cited))


def document_docx(document: ReportDocument, places: Sequence[tuple[int, Place]] = ()) -> bytes:
    """Return a document as a Word file, with a map of the places, each with its number, 0 for none."""
    return _DocxWriter(document, places).write()


# --- The file


class _DocxWriter:
    """Builds a Word file from a document."""

    def __init__(self, document: ReportDocument, places: Sequence[tuple[int, Place]]) -> None:
        self._document, self._places = document, places
        self._translate: Translator = report_translator(document.language)
        self._file: Any = docx.Document()
        self._body: list[Any] = []
        self._links: dict[str, str] = {}
        self._page_number_runs: dict[str, Any] = {}  # runs of the contents, by bookmark
        self._bookmarks = 0
        self._lists = ListDefinitions()
        self._source_numbers = source_number_range(document.nodes)

    def write(self) -> bytes:
        """Build the body and return the file as bytes."""
        title = clean_xml_text(self._document.title).strip() or self._translate("untitled")
        set_up_page(self._file, title)
        set_up_styles(self._file, self._document.language == "zh")
        nodes = list(self._document.nodes)
        if nodes and has_tag(nodes[0], "h") and _heading_level(nodes[0]) == 0:
            nodes = nodes[1:]
        self._body.append(paragraph("Title", [text_run(title)]))
        self._body.append(paragraph("Byline", [text_run(f"Sightline · {self._document.timestamp:%Y-%m-%d %H:%M} UTC")]))
        self._write_contents([node for node in nodes if has_tag(node, "h") and 1 <= _heading_level(node) <= 2])
        front = len(self._body)
        self._write_blocks(nodes, is_top_level=True)
        if len(self._body) > front and self._body[front].tag == qn("w:p"):
            self._body[front].find(qn("w:pPr")).insert(1, element("pageBreakBefore"))
        self._fill_page_numbers()
        body = self._file.element.body
        for old in list(body)[:-1]:
            body.remove(old)
        for at, block in enumerate(self._body):
            body.insert(at, block)
        self._lists.write(self._file.part.numbering_part.element)
        author = clean_xml_text(self._document.author).strip() or "Sightline"
        _set_properties(self._file, title, author, self._document.timestamp)
        return _package_bytes(self._file)

    def _write_contents(self, headings: Sequence[Any]) -> None:
        """Write the table of contents: a field whose result links to the headings."""
        if not headings:
            return
        self._body.append(paragraph("ContentsTitle", [text_run(self._translate("contents"))]))
        opening = [field_char("begin"), field_instruction(' TOC \\o "1-2" \\h \\z \\u '), field_char("separate")]
        for at, node in enumerate(headings):
            title = " ".join(plain_text(item for item in node["c"] if not has_tag(item, "cite")).split())
            name = _bookmark_name(node["id"])
            page = [
                element("r", element("tab")),
                field_char("begin"),
                field_instruction(f" PAGEREF {name} \\h "),
                field_char("separate"),
                text_run("1"),
                field_char("end"),
            ]
            self._page_number_runs[name] = page[4]
            entry = element("hyperlink", text_run(title or "—"), *page, anchor=name, history=1)
            runs = [*(opening if at == 0 else []), entry]
            self._body.append(paragraph(f"toc{_heading_level(node)}", runs))
        self._body[-1].append(field_char("end"))

    def _fill_page_numbers(self) -> None:
        """Write the estimated page number of each heading into the contents."""
        pages = PageEstimator(self._file).bookmark_pages(self._body)
        for name, run in self._page_number_runs.items():
            run.find(qn("w:t")).text = str(pages[name])

    # --- Blocks

    def _write_blocks(
        self,
        nodes: Sequence[Node],
        style: str = "Normal",
        properties: tuple[Any, ...] = (),
        depth: int = -1,
        *,
        is_top_level: bool = False,
    ) -> None:
        """Write blocks in order; inline nodes between them become paragraphs of `style`.

        `depth` is the level of the enclosing list, -1 outside of lists.
        """
        for inline, group in groupby(nodes, key=is_inline):
            if inline:
                self._write_paragraphs(list(group), style, properties)
                continue
            for node in group:
                self._write_block(node, style, properties, depth)
                if is_top_level and has_tag(node, "h") and _heading_level(node) == 1 and self._is_places_heading(node):
                    self._write_map()

    def _write_paragraphs(self, nodes: Sequence[Node], style: str, properties: tuple[Any, ...]) -> None:
        """Write a paragraph, split around displayed formulas."""
        for displayed, group in groupby(nodes, key=is_displayed):
            for part in ([node] for node in group) if displayed else [list(group)]:
                if displayed or any(not isinstance(node, str) or node.strip() for node in part):
                    self._append_block(
                        paragraph(
                            style, self._build_runs(part), *_direction_properties(part), *map(copy_element, properties)
                        )
                    )

    def _append_block(self, block: Any) -> None:
        """Append a block, with a paragraph between two tables, which Word would merge."""
        if self._body and self._body[-1].tag == block.tag == qn("w:tbl"):
            self._body.append(paragraph("Normal", []))
        self._body.append(block)

    def _write_block(self, node: Any, style: str, properties: tuple[Any, ...], depth: int) -> None:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            self._write_heading(node)
        elif kind in ("ul", "ol"):
            self._write_list(node, depth + 1)
        elif kind == "table":
            self._write_table(node)
        elif kind == "pre":
            self._append_block(paragraph("Code", [text_run(plain_text(content).rstrip("\n"), mono_fonts())]))
        elif kind == "blockquote":
            self._write_blocks(content, "Quote", (), depth)
        elif kind == "hr":
            line = element("pBdr", element("bottom", val="single", sz=4, space=1, color="D0D7DE"))
            self._append_block(paragraph("Normal", [], line))
        elif kind == "p":
            self._write_paragraphs(content, style, properties)
        else:
            self._write_blocks(content, style, properties, depth)

    def _write_heading(self, node: Any) -> None:
        level = min(max(_heading_level(node), 1), 4)
        runs = self._with_bookmark(_bookmark_name(str(node["id"])), self._build_runs(node["c"]))
        self._append_block(paragraph(f"Heading{level}", runs, *_direction_properties(node["c"])))

    def _is_places_heading(self, node: Any) -> bool:
        return plain_text(node["c"]) == self._translate("places")

    def _with_bookmark(self, name: str, runs: Iterable[Any]) -> Iterator[Any]:
        """Yield runs within a bookmark."""
        self._bookmarks += 1
        number = self._bookmarks
        yield element("bookmarkStart", id=number, name=name)
        yield from runs
        yield element("bookmarkEnd", id=number)

    def _write_list(self, node: Any, depth: int) -> None:
        """Write the items of a list; sources get bookmarks that citations link to."""
        depth = min(depth, MAX_LIST_LEVEL)
        ordered, sources = node["t"] == "ol", node.get("role") == "sources"
        start = int(node.get("start", 1))
        key = self._lists.add_numbered(depth, start) if ordered else self._lists.bullet_id
        style = "ListNumber" if ordered else "ListBullet"
        mark = element("numPr", element("ilvl", val=depth), element("numId", val=key))
        inset = element("ind", left=LIST_INDENT_TWIPS * (depth + 1) + LIST_INDENT_TWIPS // 4)
        items = [item for item in node["c"] if isinstance(item, dict)]
        for number, item in enumerate(items, start):
            content: list[Any] = list(item["c"])
            first = list(_leading_nodes(content))
            inline = first[0]["c"] if len(first) == 1 and has_tag(first[0], "p") else first
            runs: Iterable[Any] = self._build_runs(inline)
            if sources:
                runs = self._with_bookmark(f"source_{number}", list(runs))
            self._append_block(paragraph(style, runs, copy_element(mark), *_direction_properties(inline)))
            self._write_blocks(content[len(first) :], "ListContinue", (inset,), depth)

    def _write_table(self, node: Any) -> None:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        column_count = max((len(row["c"]) for row in rows), default=0)
        if not column_count:
            return
        widths = _column_widths([row["c"] for row in rows[:200]], column_count)
        table = element(
            "tbl",
            element(
                "tblPr",
                element("tblStyle", val="TableGrid"),
                element("tblW", w=sum(widths), type="dxa"),
                element("tblBorders", *(element(s, val="single", sz=4, color=_BORDER_COLOR) for s in _TABLE_BORDERS)),
                element("tblLayout", type="fixed"),
                element(
                    "tblCellMar",
                    *(element(side, w=w, type="dxa") for side, w in _CELL_MARGINS_TWIPS.items()),
                ),
            ),
            element("tblGrid", *(element("gridCol", w=width) for width in widths)),
        )
        table.extend(self._table_row(row, widths, is_small=column_count > 7) for row in rows)
        self._append_block(table)
        self._body.append(paragraph("AfterTable", []))

    def _table_row(self, row: Any, column_widths: Sequence[int], *, is_small: bool) -> Any:
        head = bool(row["c"]) and all(cell["t"] == "th" for cell in row["c"])
        row_properties = [element("cantSplit"), *([element("tblHeader")] if head else [])]
        row_element = element("tr", element("trPr", *row_properties))
        cells = [*row["c"], *({"t": "td", "c": []} for _ in range(len(column_widths) - len(row["c"])))]
        for cell, width in zip(cells, column_widths, strict=True):
            shade = [element("shd", val="clear", color="auto", fill="F4F6F8")] if head else []
            align = _ALIGNMENTS.get(str(cell.get("align", "")))
            properties = [*_direction_properties(cell["c"]), *([element("jc", val=align)] if align else [])]
            style = "SmallCell" if is_small else "Cell"
            only_citations = all(has_tag(item, "cite") for item in cell["c"])
            runs = self._build_runs(cell["c"], bold=head, as_superscript=not only_citations)
            row_element.append(
                element(
                    "tc",
                    element("tcPr", element("tcW", w=width, type="dxa"), *shade),
                    paragraph(style, runs, *properties),
                )
            )
        return row_element

    def _write_map(self) -> None:
        if not self._places:
            return
        numbers, shown = zip(*self._places, strict=True)
        png = sketch_png(shown, self._document.language, numbers=numbers)
        if not png:
            return
        inline = self._file.add_picture(BytesIO(png), width=Emu(TEXT_WIDTH_TWIPS * 635))
        description = clean_xml_text(describe_map(shown, self._document.language))
        inline._inline.docPr.set("descr", description)
        inline._inline.docPr.set("name", self._translate("map"))
        drawing = inline._inline.getparent()
        self._append_block(paragraph("Picture", [element("r", drawing)]))

    # --- Within a paragraph

    def _build_runs(
        self, nodes: Sequence[Node], *run_properties: Any, bold: bool = False, as_superscript: bool = True
    ) -> list[Any]:
        properties = [*run_properties, *([element("b"), element("bCs")] if bold else [])]
        return list(self._build_inline(nodes, properties, as_superscript))

    def _build_inline(self, nodes: Sequence[Node], properties: list[Any], as_superscript: bool) -> Iterator[Any]:
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if has_tag(after, "cite") else node
                for part in _RIGHT_TO_LEFT_RUN.split(text):
                    if part:
                        direction = [element("rtl")] if _RIGHT_TO_LEFT_RUN.fullmatch(part) else []
                        yield text_run(part, *map(copy_element, properties), *direction)
            elif node["t"] == "br":
                yield element("r", element("br"))
            elif node["t"] == "cite":
                yield self._citation_run(int(node["number"]), as_superscript)
            elif node["t"] == "math":
                yield self._formula_element(node, properties)
            elif node["t"] == "a" and (key := self._link_id(str(node["href"]))):
                inner = [element("rStyle", val="Hyperlink"), *_without_property(properties, "rStyle")]
                link = element("hyperlink", *self._build_inline(node["c"], inner, as_superscript), history=1)
                link.set(qn("r:id"), key)
                yield link
            else:
                mark = _RUN_PROPERTIES.get(node["t"])
                inner = _sorted_properties([*properties, *(mark() if mark else ())])
                yield from self._build_inline(node.get("c", ()), inner, as_superscript)

    def _formula_element(self, node: Any, properties: list[Any]) -> Any:
        """Return an editable formula, or a run of its source if it cannot be read."""
        tex = str(node["c"][0])
        formula = formula_omml(tex, is_display=bool(node.get("display")))
        return (
            text_run(tex, *map(copy_element, _sorted_properties([*properties, mono_fonts()])))
            if formula is None
            else formula
        )

    def _citation_run(self, number: int, as_superscript: bool) -> Any:
        run = text_run(f"[{number}]", element("rStyle", val="Citation" if as_superscript else "Hyperlink"))
        if number not in self._source_numbers:
            return run
        return element("hyperlink", run, anchor=f"source_{number}", history=1)

    def _link_id(self, url: str) -> str:
        """Return the relationship id of a web address, "" for any other address."""
        if not url.startswith(("http://", "https://")):
            return ""
        if url not in self._links:
            self._links[url] = self._file.part.relate_to(
                clean_xml_text(url), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
        return self._links[url]


_RUN_PROPERTIES = {
    "strong": lambda: [element("b"), element("bCs")],
    "em": lambda: [element("i"), element("iCs")],
    "s": lambda: [element("strike")],
    "code": lambda: [mono_fonts()],
}
_PROPERTY_ORDER = {qn(f"w:{tag}"): at for at, tag in enumerate(("rStyle", "rFonts", "b", "bCs", "i", "iCs", "strike"))}
_ALIGNMENTS = {"right": "right", "center": "center"}
_BORDER_COLOR = "C4CCD4"
_TABLE_BORDERS = ("top", "left", "bottom", "right", "insideH", "insideV")
_CELL_MARGINS_TWIPS = {"top": 40, "left": 90, "bottom": 40, "right": 90}


def _sorted_properties(properties: Iterable[Any]) -> list[Any]:
    """Keep the last property of each tag, in the order of the schema."""
    unique = {item.tag: item for item in properties}
    return sorted(unique.values(), key=lambda look: _PROPERTY_ORDER[look.tag])


def _without_property(properties: Iterable[Any], tag: str) -> list[Any]:
    return [item for item in properties if item.tag != qn(f"w:{tag}")]


def _direction_properties(nodes: Iterable[Node]) -> list[Any]:
    """Return the property of a right-to-left paragraph, if it is one."""
    return [element("bidi")] if is_right_to_left(nodes) else []


def _heading_level(node: Any) -> int:
    """Return the level of a heading; the title has level 0."""
    return int(node["level"]) - 1


def _bookmark_name(key: object) -> str:
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)


def _leading_nodes(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield the first paragraph of a list item, or the inline nodes before its first block."""
    if nodes and has_tag(nodes[0], "p"):
        yield nodes[0]
        return
    for node in nodes:
        if not is_inline(node):
            return
        yield node


_CELL_PADDING_TWIPS = 280  # twentieths of a point: space left and right of the text of a cell


def _column_widths(rows: Sequence[Sequence[Any]], column_count: int) -> list[int]:
    """Fit column widths to their content, in twentieths of a point."""
    preferred_ems, min_ems = measure_columns(rows, column_count)
    floor = TEXT_WIDTH_TWIPS / 100
    em = 200 if column_count <= 7 else 160
    low = [
        max(min(word * em, TEXT_WIDTH_TWIPS / max(column_count, 3)), floor) + _CELL_PADDING_TWIPS for word in min_ems
    ]
    preferred = [max(size * em + _CELL_PADDING_TWIPS, small) for size, small in zip(preferred_ems, low, strict=True)]
    if sum(low) > TEXT_WIDTH_TWIPS:
        low = [part * TEXT_WIDTH_TWIPS / sum(low) for part in low]
        preferred = [max(size, small) for size, small in zip(preferred, low, strict=True)]
    return [int(width) for width in fit_columns(preferred, low, TEXT_WIDTH_TWIPS)]


# --- The package


def _set_properties(file: Any, title: str, author: str, timestamp: datetime) -> None:
    properties = file.core_properties
    properties.title, properties.author = title[:_MAX_PROPERTY_CHARS], author[:_MAX_PROPERTY_CHARS]
    properties.last_modified_by = author[:_MAX_PROPERTY_CHARS]
    properties.created = properties.modified = timestamp.replace(tzinfo=None, microsecond=0)
    properties.comments, properties.keywords, properties.revision = "", "", 1


def _package_bytes(file: Any) -> bytes:
    """Return the file as bytes without the time of writing and the template's thumbnail."""
    rels = file.part.package.rels
    for key in [key for key, rel in rels.items() if rel.reltype.endswith("/thumbnail")]:
        del rels[key]
    first, last = BytesIO(), BytesIO()
    file.save(first)
    with ZipFile(first) as source, ZipFile(last, "w", ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = ZIP_DEFLATED
            target.writestr(entry, source.read(name))
    return last.getvalue()
