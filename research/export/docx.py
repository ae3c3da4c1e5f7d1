"""A report as a Word file: what its tree says, with real styles, lists, links and bookmarks.

The body is put together as XML, in time that grows with its length: python-docx finds a cell anew
each time. What XML cannot hold is left out. The same report gives the same bytes. The table of
contents is a field whose entries are there already, each with a field of its own for its page, so that
Word asks nothing when it opens the file.
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

from research.citations.model_markdown import Node, replace_surrogates
from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Place, Report
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
# Words that run from right to left, with what stands between them.
_RIGHT_TO_LEFT_RUN = re.compile(
    "((?:[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\\s\\d.,:;!?'\"-]+(?=[\u0590-\u08ff]))?)+)"
)
_BLOCK_TAGS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})
_TEXT_WIDTH_TWIPS = 9_412  # twentieths of a point between the margins of A4
_TEXT_COLOR, _MUTED_COLOR, _LINK_COLOR = RGBColor(0x1F, 0x23, 0x28), RGBColor(0x65, 0x6D, 0x76), "1A56A0"
_LATIN_FONT, _EAST_ASIAN_FONT, _MONO_FONT = "Calibri", "Microsoft YaHei", "Consolas"
_COMPLEX_SCRIPT_FONT = "Arial"  # Arabic, Hebrew; Word finds fonts for other scripts itself
_MAX_LIST_LEVEL = 8  # level of a list: Word has nine
_LIST_INDENT_TWIPS = 360  # twentieths of a point that a level is set in
_BULLET_CHARS = "•◦"
_BULLET_LIST, _NUMBERED_LIST = 0, 1  # kinds of lists
_MAX_PROPERTY_CHARS = 255  # characters of a property


def report_docx(report: Report, cited: CitedAnswer | None) -> bytes:
    """The whole report as a Word file (.docx)."""
    told = build_document(report, cited)
    made = to_utc(cited.answer.made if cited else report.run.created)
    author = cited.answer.author if cited else ""
    return document_docx(told, made=made, author=author, places=places_on_map(report, cited))


def document_docx(
    document: ReportDocument,
    *,
    made: datetime,
    author: str = "",
    places: Sequence[tuple[int, Place]] = (),
) -> bytes:
    """A document as a Word file, with a picture of the places under their heading."""
    return _DocxWriter(document, places).write(made, author)


def clean_xml_text(text: str) -> str:
    """Text that XML can hold."""
    return _INVALID_XML_CHAR.sub("", replace_surrogates(text))


# --- XML

qn = cache(qualified)  # asked for each element, and there are few


def _element(tag: str, /, *children: Any, **attributes: object) -> Any:
    """An element of WordprocessingML; its attributes are of the same namespace."""
    made = etree.Element(qn(f"w:{tag}"), {qn(f"w:{k}"): str(v) for k, v in attributes.items()})
    made.extend(children)
    return made


def _text_elements(text: str) -> Iterator[Any]:
    """The content of a run, with its line breaks."""
    for at, line in enumerate(clean_xml_text(text).replace("\t", " ").split("\n")):
        if at:
            yield _element("br")
        if line:
            told = _element("t")
            told.text = line
            told.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            yield told


def _text_run(text: str, *run_properties: Any) -> Any:
    """A run of text. Punctuation is set in the font of those that it stands among: in Chinese in the
    Chinese one, in English with a name in Han characters in the Latin one."""
    looks = list(run_properties)
    if _needs_chinese_font(text) and not any(mark.tag == qn("w:rFonts") for mark in looks):
        at = 1 if looks and looks[0].tag == qn("w:rStyle") else 0
        looks.insert(at, _element("rFonts", hint="eastAsia"))
    return _element("r", *([_element("rPr", *looks)] if looks else []), *_text_elements(text))


def _needs_chinese_font(text: str) -> bool:
    return bool(_HAN.search(text)) and (detect_language(text) == "zh" or not _LETTER.search(text))


def _field_char(kind: str) -> Any:
    return _element("r", _element("fldChar", fldCharType=kind))


def _field_instruction(instruction: str) -> Any:
    told = _element("instrText")
    told.text = instruction
    told.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return _element("r", told)


def _paragraph(style: str, runs: Iterable[Any], *paragraph_properties: Any) -> Any:
    return _element("p", _element("pPr", _element("pStyle", val=style), *paragraph_properties), *runs)


# --- The file


class _DocxWriter:
    def __init__(self, document: ReportDocument, places: Sequence[tuple[int, Place]]) -> None:
        self._document, self._places = document, places
        self._translate: Translator = report_translator(document.language)
        self._file: Any = docx.Document()
        self._body: list[Any] = []
        self._links: dict[str, str] = {}
        self._page_number_runs: dict[str, Any] = {}  # the runs of the contents that tell pages
        self._bookmarks = 0
        self._lists = _Numbering()
        self._source_numbers = _source_number_range(document.nodes)

    def write(self, timestamp: datetime, author: str) -> bytes:
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
        """The table of contents: a field, with links to the headings as its result."""
        if not headings:
            return
        self._body.append(_paragraph("ContentsTitle", [_text_run(self._translate("contents"))]))
        opening = [_field_char("begin"), _field_instruction(' TOC \\o "1-2" \\h \\z \\u '), _field_char("separate")]
        for at, node in enumerate(headings):
            title = " ".join(plain_text(item for item in node["c"] if not _has_tag(item, "cite")).split())
            name = _bookmark_name(node["id"])
            page = [
                _element("r", _element("tab")), _field_char("begin"), _field_instruction(f" PAGEREF {name} \\h "),
                _field_char("separate"), _text_run("1"), _field_char("end"),
            ]  # fmt: skip
            self._page_number_runs[name] = page[4]
            entry = _element("hyperlink", _text_run(title or "—"), *page, anchor=name, history=1)
            runs = [*(opening if at == 0 else []), entry]
            self._body.append(_paragraph(f"toc{_heading_level(node)}", runs))
        self._body[-1].append(_field_char("end"))

    def _fill_page_numbers(self) -> None:
        """Writes into the contents on which page each heading is, about."""
        found = PageEstimator(self._file).bookmark_pages(self._body)
        for name, run in self._page_number_runs.items():
            run.find(qn("w:t")).text = str(found[name])

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
        """Blocks in order; what is no block between them is a paragraph of `style`. `depth` is that of
        the list that they are in."""
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                self._write_paragraphs(list(group), style, properties)
                continue
            for node in group:
                self._write_block(node, style, properties, depth)
                if is_top_level and _has_tag(node, "h") and _heading_level(node) == 1 and self._is_places_heading(node):
                    self._write_map()

    def _write_paragraphs(self, nodes: Sequence[Node], style: str, properties: tuple[Any, ...]) -> None:
        """A paragraph, in parts around the formulas that stand in a line of their own."""
        for alone, group in groupby(nodes, key=_is_displayed):
            for part in ([node] for node in group) if alone else [list(group)]:
                if alone or any(not isinstance(node, str) or node.strip() for node in part):
                    self._append_block(
                        _paragraph(style, self._build_runs(part), *_direction_properties(part), *map(_copy, properties))
                    )

    def _append_block(self, element: Any) -> None:
        """Two tables that touch would be one."""
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
        """Runs with a bookmark around them."""
        self._bookmarks += 1
        number = self._bookmarks
        yield _element("bookmarkStart", id=number, name=name)
        yield from runs
        yield _element("bookmarkEnd", id=number)

    def _write_list(self, node: Any, depth: int) -> None:
        """The items of a list, each with its number; the sources are what citations lead to."""
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
        across = max((len(row["c"]) for row in rows), default=0)
        if not across:
            return
        wide = _column_widths([row["c"] for row in rows[:200]], across)
        table = _element(
            "tbl",
            _element(
                "tblPr",
                _element("tblStyle", val="TableGrid"),
                _element("tblW", w=sum(wide), type="dxa"),
                _element("tblBorders", *(_element(s, val="single", sz=4, color=_BORDER_COLOR) for s in _TABLE_BORDERS)),
                _element("tblLayout", type="fixed"),
                _element(
                    "tblCellMar",
                    *(_element(side, w=w, type="dxa") for side, w in _CELL_MARGINS_TWIPS.items()),
                ),
            ),
            _element("tblGrid", *(_element("gridCol", w=width) for width in wide)),
        )
        table.extend(self._table_row(row, wide, is_small=across > 7) for row in rows)
        self._append_block(table)
        self._body.append(_paragraph("AfterTable", []))

    def _table_row(self, row: Any, column_widths: Sequence[int], *, is_small: bool) -> Any:
        head = bool(row["c"]) and all(cell["t"] == "th" for cell in row["c"])
        marks = [_element("cantSplit"), *([_element("tblHeader")] if head else [])]
        made = _element("tr", _element("trPr", *marks))
        cells = [*row["c"], *({"t": "td", "c": []} for _ in range(len(column_widths) - len(row["c"])))]
        for cell, width in zip(cells, column_widths, strict=True):
            shade = [_element("shd", val="clear", color="auto", fill="F4F6F8")] if head else []
            align = _ALIGNMENTS.get(str(cell.get("align", "")))
            looks = [*_direction_properties(cell["c"]), *([_element("jc", val=align)] if align else [])]
            style = "SmallCell" if is_small else "Cell"
            alone = all(_has_tag(item, "cite") for item in cell["c"])
            runs = self._build_runs(cell["c"], bold=head, as_superscript=not alone)
            made.append(
                _element(
                    "tc",
                    _element("tcPr", _element("tcW", w=width, type="dxa"), *shade),
                    _paragraph(style, runs, *looks),
                )
            )
        return made

    def _write_map(self) -> None:
        if not self._places:
            return
        numbers, shown = zip(*self._places, strict=True)
        png = sketch_png(shown, self._document.language, numbers=numbers)
        if not png:
            return
        inline = self._file.add_picture(BytesIO(png), width=Emu(_TEXT_WIDTH_TWIPS * 635))
        words = clean_xml_text(describe_map(shown, self._document.language))
        inline._inline.docPr.set("descr", words)
        inline._inline.docPr.set("name", self._translate("map"))
        drawing = inline._inline.getparent()
        self._append_block(_paragraph("Picture", [_element("r", drawing)]))

    # --- Within a paragraph

    def _build_runs(
        self, nodes: Sequence[Node], *run_properties: Any, bold: bool = False, as_superscript: bool = True
    ) -> list[Any]:
        looks = [*run_properties, *([_element("b"), _element("bCs")] if bold else [])]
        return list(self._build_inline(nodes, looks, as_superscript))

    def _build_inline(self, nodes: Sequence[Node], properties: list[Any], as_superscript: bool) -> Iterator[Any]:
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if _has_tag(after, "cite") else node
                for part in _RIGHT_TO_LEFT_RUN.split(text):
                    if part:
                        way = [_element("rtl")] if _RIGHT_TO_LEFT_RUN.fullmatch(part) else []
                        yield _text_run(part, *map(_copy, properties), *way)
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
        """A formula that Word can edit, else its source."""
        tex = str(node["c"][0])
        made = formula_omml(tex, is_display=bool(node.get("display")))
        return _text_run(tex, *map(_copy, _sorted_properties([*properties, _mono_fonts()]))) if made is None else made

    def _citation_run(self, number: int, as_superscript: bool) -> Any:
        run = _text_run(f"[{number}]", _element("rStyle", val="Citation" if as_superscript else "Hyperlink"))
        if number not in self._source_numbers:
            return run
        return _element("hyperlink", run, anchor=f"source_{number}", history=1)

    def _link_id(self, url: str) -> str:
        """The key of a web address among the links of the file; nothing for any other address."""
        if not url.startswith(("http://", "https://")):
            return ""
        if url not in self._links:
            self._links[url] = self._file.part.relate_to(
                clean_xml_text(url), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
        return self._links[url]


def _copy(element: Any) -> Any:
    """An element may stand in one place only."""
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
    """Each once, in the order that the schema wants."""
    unique = {look.tag: look for look in properties}
    return sorted(unique.values(), key=lambda look: _PROPERTY_ORDER[look.tag])


def _without_property(properties: Iterable[Any], tag: str) -> list[Any]:
    return [look for look in properties if look.tag != qn(f"w:{tag}")]


def _has_tag(node: Any, tag: str) -> bool:
    return isinstance(node, dict) and node["t"] == tag


def _direction_properties(nodes: Iterable[Node]) -> list[Any]:
    """The mark of a paragraph that runs from right to left."""
    return [_element("bidi")] if is_right_to_left(nodes) else []


def _is_displayed(node: Node) -> bool:
    return isinstance(node, dict) and bool(node.get("display"))


def _is_inline(node: Node) -> bool:
    return isinstance(node, str) or node["t"] not in _BLOCK_TAGS


def _heading_level(node: Any) -> int:
    """The level of a heading below the title, which is 0."""
    return int(node["level"]) - 1


def _bookmark_name(key: object) -> str:
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)


def _leading_nodes(nodes: Sequence[Any]) -> Iterator[Any]:
    """What stands beside the mark of an item: its first paragraph, or the text before any block."""
    if nodes and _has_tag(nodes[0], "p"):
        yield nodes[0]
        return
    for node in nodes:
        if not _is_inline(node):
            return
        yield node


def _source_number_range(nodes: Iterable[Node]) -> range:
    """The numbers that the list of sources has."""
    for node in nodes:
        if isinstance(node, dict) and node.get("role") == "sources":
            start = int(node.get("start", 1))
            return range(start, start + len(node["c"]))
    return range(0)


_CELL_PADDING_TWIPS = 280  # of a cell, left and right of its text


def _column_widths(rows: Sequence[Sequence[Any]], column_count: int) -> list[int]:
    """The widths of columns by what is in them, in twentieths of a point."""
    wants, least = measure_columns(rows, column_count)
    floor = _TEXT_WIDTH_TWIPS / 100
    em = 200 if column_count <= 7 else 160
    low = [max(min(word * em, _TEXT_WIDTH_TWIPS / max(column_count, 3)), floor) + _CELL_PADDING_TWIPS for word in least]
    most = [max(want * em + _CELL_PADDING_TWIPS, small) for want, small in zip(wants, low, strict=True)]
    if sum(low) > _TEXT_WIDTH_TWIPS:
        low = [part * _TEXT_WIDTH_TWIPS / sum(low) for part in low]
        most = [max(want, small) for want, small in zip(most, low, strict=True)]
    return [int(width) for width in fit_columns(most, low, _TEXT_WIDTH_TWIPS)]


# --- Lists


class _Numbering:
    """The lists of a file. Each numbered one counts for itself."""

    bullet_id = 1

    def __init__(self) -> None:
        self._numbered_lists: list[tuple[int, int]] = []  # depth and start

    def add_numbered(self, depth: int, start: int) -> int:
        self._numbered_lists.append((depth, start))
        return self.bullet_id + len(self._numbered_lists)

    def write(self, numbering: Any) -> None:
        """Writes them in place of those of the template."""
        for old in list(numbering):
            numbering.remove(old)
        numbering.append(_abstract_list(_BULLET_LIST))
        numbering.append(_abstract_list(_NUMBERED_LIST))
        numbering.append(_element("num", _element("abstractNumId", val=_BULLET_LIST), numId=self.bullet_id))
        for key, (depth, start) in enumerate(self._numbered_lists, self.bullet_id + 1):
            begun = _element("lvlOverride", _element("startOverride", val=start), ilvl=depth)
            numbering.append(_element("num", _element("abstractNumId", val=_NUMBERED_LIST), begun, numId=key))


def _abstract_list(kind: int) -> Any:
    made = _element("abstractNum", _element("multiLevelType", val="multilevel"), abstractNumId=kind)
    for level in range(_MAX_LIST_LEVEL + 1):
        told = f"%{level + 1}." if kind == _NUMBERED_LIST else _BULLET_CHARS[level % len(_BULLET_CHARS)]
        hanging = _LIST_INDENT_TWIPS if kind == _BULLET_LIST else _LIST_INDENT_TWIPS + 60
        made.append(
            _element(
                "lvl",
                _element("start", val=1),
                _element("numFmt", val="decimal" if kind == _NUMBERED_LIST else "bullet"),
                _element("lvlText", val=told),
                _element("lvlJc", val="left"),
                _element("pPr", _element("ind", left=_LIST_INDENT_TWIPS * (level + 1) + 60, hanging=hanging)),
                ilvl=level,
            )
        )
    return made


# --- The look of the file


def _set_up_page(file: Any, title: str) -> None:
    """A4, with the title above each page but the first and its number below."""
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
    for told in defaults.iter(qn("w:lang")):
        told.set(qn("w:val"), "en-US")
        told.set(qn("w:eastAsia"), "zh-CN")
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
    """Sets a paragraph style, or adds it. Its font is that of the file, not that of the theme."""
    styles = file.styles
    if name not in styles:
        style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=name.startswith("toc"))
        style.base_style = styles["Normal"]
    style = styles[name]
    style.font.size, style.font.bold = Pt(size), is_bold
    look = style.element.get_or_add_rPr()
    for old in look.findall(qn("w:szCs")):
        look.remove(old)
    look.find(qn("w:sz")).addnext(_element("szCs", val=int(2 * size)))  # of Arabic, Hebrew, Thai
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
    """The template has a rule below the title."""
    for old in style.element.pPr.findall(qn("w:pBdr")):
        style.element.pPr.remove(old)


def _add_border(style: Any) -> None:
    line = _element("pBdr", _element("left", val="single", sz=18, space=8, color="D0D7DE"))
    _insert_property(style, line)


def _add_shading(style: Any) -> None:
    _insert_property(style, _element("shd", val="clear", color="auto", fill="F4F6F8"))
    style.font.name = _MONO_FONT


def _insert_property(style: Any, element: Any) -> None:
    """Puts a mark where the schema wants borders and shades: before the spacing."""
    properties = style.element.get_or_add_pPr()
    later = [child for child in properties if child.tag in _LATER_PROPERTIES]
    at = list(properties).index(later[0]) if later else len(properties)
    properties.insert(at, element)


_LATER_PROPERTIES = frozenset(qn(f"w:{tag}") for tag in ("spacing", "ind", "contextualSpacing", "jc", "outlineLvl"))


# --- The package


def _set_properties(file: Any, title: str, author: str, timestamp: datetime) -> None:
    told = file.core_properties
    told.title, told.author = title[:_MAX_PROPERTY_CHARS], author[:_MAX_PROPERTY_CHARS]
    told.last_modified_by = author[:_MAX_PROPERTY_CHARS]
    told.created = told.modified = timestamp.replace(tzinfo=None, microsecond=0)
    told.comments, told.keywords, told.revision = "", "", 1


def _package_bytes(file: Any) -> bytes:
    """The file as bytes, without the time at which it is written or the template's thumbnail."""
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
