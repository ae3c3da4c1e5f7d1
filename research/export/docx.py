"""A report as a Word file, drawn from its document tree with styles, lists, links and bookmarks.

The body is built as XML in linear time, because python-docx searches for every cell anew.
Characters that XML forbids are dropped. The same report gives the same bytes. The table of contents
is a field with its entries filled in, each with a page number field of its own, so that Word does
not ask to update fields when it opens the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from io import BytesIO
from itertools import groupby
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn as qualified
from docx.shared import Cm, Emu, Pt, RGBColor
from lxml import etree

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Place, Report
from research.core.text.control_chars import replace_surrogates
from research.core.text.tokenizer import detect_language
from research.export.column_widths import fit_columns, measure_columns
from research.export.document import ReportDocument, build_document, is_right_to_left, plain_text
from research.export.markdown import to_utc
from research.export.omml import formula_omml
from research.export.page_estimation import PageEstimator
from research.export.report_texts import report_translator
from research.export.sketch_map import describe_map, places_on_map, sketch_png

_INVALID_XML_CHAR = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LETTER = re.compile("[A-Za-z]")
_HAN = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
# Right-to-left words, with the digits, spaces and punctuation between them.
_RIGHT_TO_LEFT_RUN = re.compile(
    "((?:[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\\s\\d.,:;!?'\"-]+(?=[\u0590-\u08ff]))?)+)"
)
_BLOCK_TAGS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})
_TEXT_WIDTH_TWIPS = 9_412  # twentieths of a point: the text width of A4
_TEXT_COLOR, _MUTED_COLOR, _LINK_COLOR = RGBColor(0x1F, 0x23, 0x28), RGBColor(0x65, 0x6D, 0x76), "1A56A0"
_LATIN_FONT, _EAST_ASIAN_FONT, _MONO_FONT = "Calibri", "Microsoft YaHei", "Consolas"
_COMPLEX_SCRIPT_FONT = "Arial"  # Arabic, Hebrew; Word finds fonts for other scripts itself
_MAX_LIST_LEVEL = 8  # Word has nine list levels
_LIST_INDENT_TWIPS = 360  # twentieths of a point per level
_BULLET_CHARS = "•◦"
_BULLET_LIST, _NUMBERED_LIST = 0, 1  # kinds of lists
_MAX_PROPERTY_CHARS = 255  # limit of a document property


def report_docx(report: Report, cited: CitedAnswer | None) -> bytes:
    """Return the whole report as a Word file (.docx)."""
    document = build_document(report, cited)
    timestamp = to_utc(cited.answer.made if cited else report.run.created)
    author = cited.answer.author if cited else ""
    return document_docx(document, made=timestamp, author=author, places=places_on_map(report, cited))


def document_docx(
    document: ReportDocument,
    *,
    made: datetime,
    author: str = "",
    places: Sequence[tuple[int, Place]] = (),
) -> bytes:
    """Return a document as a Word file, with a map below the heading of its places."""
    return _DocxWriter(document, places).write(made, author)


def clean_xml_text(text: str) -> str:
    """Remove characters that XML forbids."""
    return _INVALID_XML_CHAR.sub("", replace_surrogates(text))


# --- XML

qn = cache(qualified)  # called for every element, with few distinct names


def _element(tag: str, /, *children: Any, **attributes: object) -> Any:
    """Create a WordprocessingML element; its attributes have the same namespace."""
    element = etree.Element(qn(f"w:{tag}"), {qn(f"w:{k}"): str(v) for k, v in attributes.items()})
    element.extend(children)
    return element


def _text_elements(text: str) -> Iterator[Any]:
    """Yield the content of a run, with its line breaks."""
    for at, line in enumerate(clean_xml_text(text).replace("\t", " ").split("\n")):
        if at:
            yield _element("br")
        if line:
            text_element = _element("t")
            text_element.text = line
            text_element.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            yield text_element


def _text_run(text: str, *run_properties: Any) -> Any:
    """Create a run of text.

    Within Chinese text punctuation is set in the East Asian font, elsewhere in the Latin one, even
    beside a name in Han characters.
    """
    properties = list(run_properties)
    if _needs_chinese_font(text) and not any(item.tag == qn("w:rFonts") for item in properties):
        at = 1 if properties and properties[0].tag == qn("w:rStyle") else 0
        properties.insert(at, _element("rFonts", hint="eastAsia"))
    return _element("r", *([_element("rPr", *properties)] if properties else []), *_text_elements(text))


def _needs_chinese_font(text: str) -> bool:
    return bool(_HAN.search(text)) and (detect_language(text) == "zh" or not _LETTER.search(text))


def _field_char(kind: str) -> Any:
    return _element("r", _element("fldChar", fldCharType=kind))


def _field_instruction(instruction: str) -> Any:
    text_element = _element("instrText")
    text_element.text = instruction
    text_element.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return _element("r", text_element)


def _paragraph(style: str, runs: Iterable[Any], *paragraph_properties: Any) -> Any:
    return _element("p", _element("pPr", _element("pStyle", val=style), *paragraph_properties), *runs)


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
        self._lists = _Numbering()
        self._source_numbers = _source_number_range(document.nodes)

    def write(self, timestamp: datetime, author: str) -> bytes:
        """Build the body and return the file as bytes."""
        title = clean_xml_text(self._document.title).strip() or self._translate("untitled")
        _set_up_page(self._file, title)
        _set_up_styles(self._file, self._document.language == "zh")
        nodes = list(self._document.nodes)
        if nodes and _has_tag(nodes[0], "h") and _heading_level(nodes[0]) == 0:
            nodes = nodes[1:]
        self._body.append(_paragraph("Title", [_text_run(title)]))
        self._body.append(_paragraph("Byline", [_text_run(f"Sightline · {timestamp:%Y-%m-%d %H:%M} UTC")]))
        self._write_contents([node for node in nodes if _has_tag(node, "h") and 1 <= _heading_level(node) <= 2])
        front = len(self._body)
        self._write_blocks(nodes, is_top_level=True)
        if len(self._body) > front and self._body[front].tag == qn("w:p"):
            self._body[front].find(qn("w:pPr")).insert(1, _element("pageBreakBefore"))
        self._fill_page_numbers()
        body = self._file.element.body
        for old in list(body)[:-1]:
            body.remove(old)
        for at, element in enumerate(self._body):
            body.insert(at, element)
        self._lists.write(self._file.part.numbering_part.element)
        _set_properties(self._file, title, clean_xml_text(author).strip() or "Sightline", timestamp)
        return _package_bytes(self._file)

    def _write_contents(self, headings: Sequence[Any]) -> None:
        """Write the table of contents: a field whose result links to the headings."""
        if not headings:
            return
        self._body.append(_paragraph("ContentsTitle", [_text_run(self._translate("contents"))]))
        opening = [_field_char("begin"), _field_instruction(' TOC \\o "1-2" \\h \\z \\u '), _field_char("separate")]
        for at, node in enumerate(headings):
            title = " ".join(plain_text(item for item in node["c"] if not _has_tag(item, "cite")).split())
            name = _bookmark_name(node["id"])
            page = [
                _element("r", _element("tab")),
                _field_char("begin"),
                _field_instruction(f" PAGEREF {name} \\h "),
                _field_char("separate"),
                _text_run("1"),
                _field_char("end"),
            ]
            self._page_number_runs[name] = page[4]
            entry = _element("hyperlink", _text_run(title or "—"), *page, anchor=name, history=1)
            runs = [*(opening if at == 0 else []), entry]
            self._body.append(_paragraph(f"toc{_heading_level(node)}", runs))
        self._body[-1].append(_field_char("end"))

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
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                self._write_paragraphs(list(group), style, properties)
                continue
            for node in group:
                self._write_block(node, style, properties, depth)
                if is_top_level and _has_tag(node, "h") and _heading_level(node) == 1 and self._is_places_heading(node):
                    self._write_map()

    def _write_paragraphs(self, nodes: Sequence[Node], style: str, properties: tuple[Any, ...]) -> None:
        """Write a paragraph, split around displayed formulas."""
        for displayed, group in groupby(nodes, key=_is_displayed):
            for part in ([node] for node in group) if displayed else [list(group)]:
                if displayed or any(not isinstance(node, str) or node.strip() for node in part):
                    self._append_block(
                        _paragraph(style, self._build_runs(part), *_direction_properties(part), *map(_copy, properties))
                    )

    def _append_block(self, element: Any) -> None:
        """Append an element, with a paragraph between two tables, which Word would merge."""
        if self._body and self._body[-1].tag == element.tag == qn("w:tbl"):
            self._body.append(_paragraph("Normal", []))
        self._body.append(element)

    def _write_block(self, node: Any, style: str, properties: tuple[Any, ...], depth: int) -> None:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            self._write_heading(node)
        elif kind in ("ul", "ol"):
            self._write_list(node, depth + 1)
        elif kind == "table":
            self._write_table(node)
        elif kind == "pre":
            self._append_block(_paragraph("Code", [_text_run(plain_text(content).rstrip("\n"), _mono_fonts())]))
        elif kind == "blockquote":
            self._write_blocks(content, "Quote", (), depth)
        elif kind == "hr":
            line = _element("pBdr", _element("bottom", val="single", sz=4, space=1, color="D0D7DE"))
            self._append_block(_paragraph("Normal", [], line))
        elif kind == "p":
            self._write_paragraphs(content, style, properties)
        else:
            self._write_blocks(content, style, properties, depth)

    def _write_heading(self, node: Any) -> None:
        level = min(max(_heading_level(node), 1), 4)
        runs = self._with_bookmark(_bookmark_name(str(node["id"])), self._build_runs(node["c"]))
        self._append_block(_paragraph(f"Heading{level}", runs, *_direction_properties(node["c"])))

    def _is_places_heading(self, node: Any) -> bool:
        return plain_text(node["c"]) == self._translate("places")

    def _with_bookmark(self, name: str, runs: Iterable[Any]) -> Iterator[Any]:
        """Yield runs within a bookmark."""
        self._bookmarks += 1
        number = self._bookmarks
        yield _element("bookmarkStart", id=number, name=name)
        yield from runs
        yield _element("bookmarkEnd", id=number)

    def _write_list(self, node: Any, depth: int) -> None:
        """Write the items of a list; sources get bookmarks that citations link to."""
        depth = min(depth, _MAX_LIST_LEVEL)
        ordered, sources = node["t"] == "ol", node.get("role") == "sources"
        start = int(node.get("start", 1))
        key = self._lists.add_numbered(depth, start) if ordered else self._lists.bullet_id
        style = "ListNumber" if ordered else "ListBullet"
        mark = _element("numPr", _element("ilvl", val=depth), _element("numId", val=key))
        inset = _element("ind", left=_LIST_INDENT_TWIPS * (depth + 1) + _LIST_INDENT_TWIPS // 4)
        items = [item for item in node["c"] if isinstance(item, dict)]
        for number, item in enumerate(items, start):
            content: list[Any] = list(item["c"])
            first = list(_leading_nodes(content))
            inline = first[0]["c"] if len(first) == 1 and _has_tag(first[0], "p") else first
            runs: Iterable[Any] = self._build_runs(inline)
            if sources:
                runs = self._with_bookmark(f"source_{number}", list(runs))
            self._append_block(_paragraph(style, runs, _copy(mark), *_direction_properties(inline)))
            self._write_blocks(content[len(first) :], "ListContinue", (inset,), depth)

    def _write_table(self, node: Any) -> None:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        column_count = max((len(row["c"]) for row in rows), default=0)
        if not column_count:
            return
        widths = _column_widths([row["c"] for row in rows[:200]], column_count)
        table = _element(
            "tbl",
            _element(
                "tblPr",
                _element("tblStyle", val="TableGrid"),
                _element("tblW", w=sum(widths), type="dxa"),
                _element("tblBorders", *(_element(s, val="single", sz=4, color=_BORDER_COLOR) for s in _TABLE_BORDERS)),
                _element("tblLayout", type="fixed"),
                _element(
                    "tblCellMar",
                    *(_element(side, w=w, type="dxa") for side, w in _CELL_MARGINS_TWIPS.items()),
                ),
            ),
            _element("tblGrid", *(_element("gridCol", w=width) for width in widths)),
        )
        table.extend(self._table_row(row, widths, is_small=column_count > 7) for row in rows)
        self._append_block(table)
        self._body.append(_paragraph("AfterTable", []))

    def _table_row(self, row: Any, column_widths: Sequence[int], *, is_small: bool) -> Any:
        head = bool(row["c"]) and all(cell["t"] == "th" for cell in row["c"])
        row_properties = [_element("cantSplit"), *([_element("tblHeader")] if head else [])]
        row_element = _element("tr", _element("trPr", *row_properties))
        cells = [*row["c"], *({"t": "td", "c": []} for _ in range(len(column_widths) - len(row["c"])))]
        for cell, width in zip(cells, column_widths, strict=True):
            shade = [_element("shd", val="clear", color="auto", fill="F4F6F8")] if head else []
            align = _ALIGNMENTS.get(str(cell.get("align", "")))
            properties = [*_direction_properties(cell["c"]), *([_element("jc", val=align)] if align else [])]
            style = "SmallCell" if is_small else "Cell"
            only_citations = all(_has_tag(item, "cite") for item in cell["c"])
            runs = self._build_runs(cell["c"], bold=head, as_superscript=not only_citations)
            row_element.append(
                _element(
                    "tc",
                    _element("tcPr", _element("tcW", w=width, type="dxa"), *shade),
                    _paragraph(style, runs, *properties),
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
        inline = self._file.add_picture(BytesIO(png), width=Emu(_TEXT_WIDTH_TWIPS * 635))
        description = clean_xml_text(describe_map(shown, self._document.language))
        inline._inline.docPr.set("descr", description)
        inline._inline.docPr.set("name", self._translate("map"))
        drawing = inline._inline.getparent()
        self._append_block(_paragraph("Picture", [_element("r", drawing)]))

    # --- Within a paragraph

    def _build_runs(
        self, nodes: Sequence[Node], *run_properties: Any, bold: bool = False, as_superscript: bool = True
    ) -> list[Any]:
        properties = [*run_properties, *([_element("b"), _element("bCs")] if bold else [])]
        return list(self._build_inline(nodes, properties, as_superscript))

    def _build_inline(self, nodes: Sequence[Node], properties: list[Any], as_superscript: bool) -> Iterator[Any]:
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if _has_tag(after, "cite") else node
                for part in _RIGHT_TO_LEFT_RUN.split(text):
                    if part:
                        direction = [_element("rtl")] if _RIGHT_TO_LEFT_RUN.fullmatch(part) else []
                        yield _text_run(part, *map(_copy, properties), *direction)
            elif node["t"] == "br":
                yield _element("r", _element("br"))
            elif node["t"] == "cite":
                yield self._citation_run(int(node["number"]), as_superscript)
            elif node["t"] == "math":
                yield self._formula_element(node, properties)
            elif node["t"] == "a" and (key := self._link_id(str(node["href"]))):
                inner = [_element("rStyle", val="Hyperlink"), *_without_property(properties, "rStyle")]
                link = _element("hyperlink", *self._build_inline(node["c"], inner, as_superscript), history=1)
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
            _text_run(tex, *map(_copy, _sorted_properties([*properties, _mono_fonts()])))
            if formula is None
            else formula
        )

    def _citation_run(self, number: int, as_superscript: bool) -> Any:
        run = _text_run(f"[{number}]", _element("rStyle", val="Citation" if as_superscript else "Hyperlink"))
        if number not in self._source_numbers:
            return run
        return _element("hyperlink", run, anchor=f"source_{number}", history=1)

    def _link_id(self, url: str) -> str:
        """Return the relationship id of a web address, "" for any other address."""
        if not url.startswith(("http://", "https://")):
            return ""
        if url not in self._links:
            self._links[url] = self._file.part.relate_to(
                clean_xml_text(url), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
        return self._links[url]


def _copy(element: Any) -> Any:
    """Copy an element, which can be in one place only."""
    return etree.fromstring(etree.tostring(element)) if len(element) else _copy_empty(element)


def _copy_empty(element: Any) -> Any:
    return etree.Element(element.tag, dict(element.attrib))


def _mono_fonts() -> Any:
    return _element("rFonts", ascii=_MONO_FONT, hAnsi=_MONO_FONT, cs=_MONO_FONT, eastAsia=_EAST_ASIAN_FONT)


_RUN_PROPERTIES = {
    "strong": lambda: [_element("b"), _element("bCs")],
    "em": lambda: [_element("i"), _element("iCs")],
    "s": lambda: [_element("strike")],
    "code": lambda: [_mono_fonts()],
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


def _has_tag(node: Any, tag: str) -> bool:
    return isinstance(node, dict) and node["t"] == tag


def _direction_properties(nodes: Iterable[Node]) -> list[Any]:
    """Return the property of a right-to-left paragraph, if it is one."""
    return [_element("bidi")] if is_right_to_left(nodes) else []


def _is_displayed(node: Node) -> bool:
    return isinstance(node, dict) and bool(node.get("display"))


def _is_inline(node: Node) -> bool:
    return isinstance(node, str) or node["t"] not in _BLOCK_TAGS


def _heading_level(node: Any) -> int:
    """Return the level of a heading; the title has level 0."""
    return int(node["level"]) - 1


def _bookmark_name(key: object) -> str:
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)


def _leading_nodes(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield the first paragraph of a list item, or the inline nodes before its first block."""
    if nodes and _has_tag(nodes[0], "p"):
        yield nodes[0]
        return
    for node in nodes:
        if not _is_inline(node):
            return
        yield node


def _source_number_range(nodes: Iterable[Node]) -> range:
    """Return the numbers of the list of sources."""
    for node in nodes:
        if isinstance(node, dict) and node.get("role") == "sources":
            start = int(node.get("start", 1))
            return range(start, start + len(node["c"]))
    return range(0)


_CELL_PADDING_TWIPS = 280  # twentieths of a point: space left and right of the text of a cell


def _column_widths(rows: Sequence[Sequence[Any]], column_count: int) -> list[int]:
    """Fit column widths to their content, in twentieths of a point."""
    preferred_ems, min_ems = measure_columns(rows, column_count)
    floor = _TEXT_WIDTH_TWIPS / 100
    em = 200 if column_count <= 7 else 160
    low = [
        max(min(word * em, _TEXT_WIDTH_TWIPS / max(column_count, 3)), floor) + _CELL_PADDING_TWIPS for word in min_ems
    ]
    preferred = [max(size * em + _CELL_PADDING_TWIPS, small) for size, small in zip(preferred_ems, low, strict=True)]
    if sum(low) > _TEXT_WIDTH_TWIPS:
        low = [part * _TEXT_WIDTH_TWIPS / sum(low) for part in low]
        preferred = [max(size, small) for size, small in zip(preferred, low, strict=True)]
    return [int(width) for width in fit_columns(preferred, low, _TEXT_WIDTH_TWIPS)]


# --- Lists


class _Numbering:
    """List definitions of a file. Each numbered list counts separately."""

    bullet_id = 1

    def __init__(self) -> None:
        self._numbered_lists: list[tuple[int, int]] = []  # depth and start

    def add_numbered(self, depth: int, start: int) -> int:
        """Add a numbered list and return its numbering id."""
        self._numbered_lists.append((depth, start))
        return self.bullet_id + len(self._numbered_lists)

    def write(self, numbering: Any) -> None:
        """Replace the list definitions of the template."""
        for old in list(numbering):
            numbering.remove(old)
        numbering.append(_abstract_list(_BULLET_LIST))
        numbering.append(_abstract_list(_NUMBERED_LIST))
        numbering.append(_element("num", _element("abstractNumId", val=_BULLET_LIST), numId=self.bullet_id))
        for key, (depth, start) in enumerate(self._numbered_lists, self.bullet_id + 1):
            override = _element("lvlOverride", _element("startOverride", val=start), ilvl=depth)
            numbering.append(_element("num", _element("abstractNumId", val=_NUMBERED_LIST), override, numId=key))


def _abstract_list(kind: int) -> Any:
    definition = _element("abstractNum", _element("multiLevelType", val="multilevel"), abstractNumId=kind)
    for level in range(_MAX_LIST_LEVEL + 1):
        marker = f"%{level + 1}." if kind == _NUMBERED_LIST else _BULLET_CHARS[level % len(_BULLET_CHARS)]
        hanging = _LIST_INDENT_TWIPS if kind == _BULLET_LIST else _LIST_INDENT_TWIPS + 60
        definition.append(
            _element(
                "lvl",
                _element("start", val=1),
                _element("numFmt", val="decimal" if kind == _NUMBERED_LIST else "bullet"),
                _element("lvlText", val=marker),
                _element("lvlJc", val="left"),
                _element("pPr", _element("ind", left=_LIST_INDENT_TWIPS * (level + 1) + 60, hanging=hanging)),
                ilvl=level,
            )
        )
    return definition


# --- The look of the file


def _set_up_page(file: Any, title: str) -> None:
    """Set A4 with the title above each page but the first, and the page number below."""
    section = file.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.2)
    section.top_margin, section.bottom_margin = Cm(2.4), Cm(2.2)
    section.header_distance = section.footer_distance = Cm(1.2)
    section.different_first_page_header_footer = True
    section.header.paragraphs[0]._p.append(_text_run(title))
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = 1
        for part in (
            _field_char("begin"),
            _field_instruction(" PAGE "),
            _field_char("separate"),
            _text_run("1"),
            _field_char("end"),
        ):
            paragraph._p.append(part)


def _set_up_styles(file: Any, is_chinese: bool) -> None:
    styles = file.styles
    defaults = styles.element.find(qn("w:docDefaults"))
    for fonts in defaults.iter(qn("w:rFonts")):
        fonts.attrib.clear()
        for kind, name in (
            ("ascii", _LATIN_FONT),
            ("hAnsi", _LATIN_FONT),
            ("cs", _COMPLEX_SCRIPT_FONT),
            ("eastAsia", _EAST_ASIAN_FONT),
        ):
            fonts.set(qn(f"w:{kind}"), name)
    for languages in defaults.iter(qn("w:lang")):
        languages.set(qn("w:val"), "en-US")
        languages.set(qn("w:eastAsia"), "zh-CN")
    _set_style(file, "Normal", 10.5, after=6, line=1.5 if is_chinese else 1.3)
    _set_style(file, "Title", 22, after=4, before=20, is_bold=True, line=1.3)
    _remove_title_rule(styles["Title"])
    for level, (size, before) in enumerate(((15.5, 22), (12.5, 14), (11, 10), (10.5, 8)), 1):
        _set_style(file, f"Heading {level}", size, after=4, before=before, is_bold=True, line=1.3)
        styles[f"Heading {level}"].font.italic = False
    for name in ("List Bullet", "List Number", "List Continue"):
        _set_style(file, name, 10.5, after=3, line=1.35 if is_chinese else 1.25)
        properties = styles[name].element.pPr
        for tag in ("w:numPr", "w:ind", "w:contextualSpacing"):
            for old in properties.findall(qn(tag)):
                properties.remove(old)
    _set_style(file, "Quote", 10.5, after=6, left=14)
    styles["Quote"].font.italic = False
    styles["Quote"].font.color.rgb = RGBColor(0x4B, 0x53, 0x5D)
    _add_border(styles["Quote"])
    _set_style(file, "Byline", 9.5, after=18, is_muted=True)
    _set_style(file, "Contents Title", 12.5, after=6, before=12, is_bold=True)
    _set_style(file, "toc 1", 10.5, after=2, before=4, is_bold=True)
    _set_style(file, "toc 2", 9.5, after=1, left=14, is_muted=True)
    for level in (1, 2):
        _insert_property(
            styles[f"toc {level}"], _element("tabs", _element("tab", val="right", leader="dot", pos=_TEXT_WIDTH_TWIPS))
        )
    _set_style(file, "Code", 9, after=8, before=4, line=1.15)
    _add_shading(styles["Code"])
    _set_style(file, "Cell", 9, line=1.2)
    _set_style(file, "Small Cell", 8, line=1.15)
    _set_style(file, "After Table", 5, line=1.0)
    _set_style(file, "Picture", 10.5, after=6, before=4)
    _set_style(file, "Header", 8, is_muted=True)
    _set_style(file, "Footer", 8, is_muted=True)
    link = styles.add_style("Hyperlink", WD_STYLE_TYPE.CHARACTER, builtin=True)
    cite = styles.add_style("Citation", WD_STYLE_TYPE.CHARACTER)
    for style in (link, cite):
        style.font.color.rgb = RGBColor.from_string(_LINK_COLOR)
    cite.font.superscript = True


def _set_style(
    file: Any,
    name: str,
    size: float,
    *,
    after: float = 0,
    before: float = 0,
    left: float = 0,
    line: float = 0,
    is_bold: bool = False,
    is_muted: bool = False,
) -> None:
    """Set or add a paragraph style, with the fonts of the file instead of those of the theme."""
    styles = file.styles
    if name not in styles:
        style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=name.startswith("toc"))
        style.base_style = styles["Normal"]
    style = styles[name]
    style.font.size, style.font.bold = Pt(size), is_bold
    run_properties = style.element.get_or_add_rPr()
    for old in run_properties.findall(qn("w:szCs")):
        run_properties.remove(old)
    run_properties.find(qn("w:sz")).addnext(
        _element("szCs", val=int(2 * size))
    )  # size of complex scripts: Arabic, Hebrew, Thai
    style.font.color.rgb = _MUTED_COLOR if is_muted else _TEXT_COLOR
    style.font.name = _LATIN_FONT
    fonts = style.element.rPr.rFonts
    fonts.attrib.clear()
    for kind, font in (
        ("ascii", _LATIN_FONT),
        ("hAnsi", _LATIN_FONT),
        ("eastAsia", _EAST_ASIAN_FONT),
        ("cs", _COMPLEX_SCRIPT_FONT),
    ):
        fonts.set(qn(f"w:{kind}"), font)
    paragraph = style.paragraph_format
    paragraph.space_after, paragraph.space_before = Pt(after), Pt(before)
    if left:
        paragraph.left_indent = Pt(left)
    if line:
        paragraph.line_spacing = line
    paragraph.widow_control = True


def _remove_title_rule(style: Any) -> None:
    """Remove the rule that the template has below the title."""
    for old in style.element.pPr.findall(qn("w:pBdr")):
        style.element.pPr.remove(old)


def _add_border(style: Any) -> None:
    line = _element("pBdr", _element("left", val="single", sz=18, space=8, color="D0D7DE"))
    _insert_property(style, line)


def _add_shading(style: Any) -> None:
    _insert_property(style, _element("shd", val="clear", color="auto", fill="F4F6F8"))
    style.font.name = _MONO_FONT


def _insert_property(style: Any, element: Any) -> None:
    """Insert a property where the schema expects borders and shading: before the spacing."""
    properties = style.element.get_or_add_pPr()
    later = [child for child in properties if child.tag in _LATER_PROPERTIES]
    at = list(properties).index(later[0]) if later else len(properties)
    properties.insert(at, element)


_LATER_PROPERTIES = frozenset(qn(f"w:{tag}") for tag in ("spacing", "ind", "contextualSpacing", "jc", "outlineLvl"))


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
