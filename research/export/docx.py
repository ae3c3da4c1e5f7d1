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

from research.citations.markup import Node, encodable
from research.citations.numbering import CitedAnswer
from research.core.i18n import Say
from research.core.records import Place, Report
from research.core.text.words import detect_language
from research.export.columns import columns, wanted
from research.export.document import Document, document, leftward, plain
from research.export.markdown import utc
from research.export.omml import formula
from research.export.paging import Pages
from research.export.sketch import described, mapped_places, sketch_png
from research.export.words import speaker

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LETTER = re.compile("[A-Za-z]")
_HAN = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
# Words that run from right to left, with what stands between them.
_LEFTWARD = re.compile(
    "((?:[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[\\s\\d.,:;!?'\"-]+(?=[\u0590-\u08ff]))?)+)"
)
_BLOCKS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})
_WIDTH = 9_412  # twentieths of a point between the margins of A4
_INK, _FAINT, _LINK = RGBColor(0x1F, 0x23, 0x28), RGBColor(0x65, 0x6D, 0x76), "1A56A0"
_LATIN, _EAST, _MONO = "Calibri", "Microsoft YaHei", "Consolas"
_OTHER = "Arial"  # Arabic, Hebrew; Word finds fonts for other scripts itself
_DEEPEST = 8  # level of a list: Word has nine
_STEP = 360  # twentieths of a point that a level is set in
_BULLETS = "•◦"
_BULLET, _DECIMAL = 0, 1  # kinds of lists
_LONGEST = 255  # characters of a property


def report_docx(report: Report, cited: CitedAnswer | None) -> bytes:
    """The whole report as a Word file (.docx)."""
    told = document(report, cited)
    made = utc(cited.answer.made if cited else report.run.created)
    author = cited.answer.author if cited else ""
    return drawn_docx(told, made=made, author=author, places=mapped_places(report, cited))


def drawn_docx(
    told: Document,
    *,
    made: datetime,
    author: str = "",
    places: Sequence[tuple[int, Place]] = (),
) -> bytes:
    """A document as a Word file, with a picture of the places under their heading."""
    return _Writer(told, places).written(made, author)


def cleaned(text: str) -> str:
    """Text that XML can hold."""
    return _NOT_XML.sub("", encodable(text))


# --- XML

qn = cache(qualified)  # asked for each element, and there are few


def _el(tag: str, /, *children: Any, **attributes: object) -> Any:
    """An element of WordprocessingML; its attributes are of the same namespace."""
    made = etree.Element(qn(f"w:{tag}"), {qn(f"w:{k}"): str(v) for k, v in attributes.items()})
    made.extend(children)
    return made


def _text(text: str) -> Iterator[Any]:
    """The content of a run, with its line breaks."""
    for at, line in enumerate(cleaned(text).replace("\t", " ").split("\n")):
        if at:
            yield _el("br")
        if line:
            told = _el("t")
            told.text = line
            told.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            yield told


def _run(text: str, *marks: Any) -> Any:
    """A run of text. Punctuation is set in the font of those that it stands among: in Chinese in the
    Chinese one, in English with a name in Han characters in the Latin one."""
    looks = list(marks)
    if _chinese(text) and not any(mark.tag == qn("w:rFonts") for mark in looks):
        at = 1 if looks and looks[0].tag == qn("w:rStyle") else 0
        looks.insert(at, _el("rFonts", hint="eastAsia"))
    return _el("r", *([_el("rPr", *looks)] if looks else []), *_text(text))


def _chinese(text: str) -> bool:
    return bool(_HAN.search(text)) and (detect_language(text) == "zh" or not _LETTER.search(text))


def _field(kind: str) -> Any:
    return _el("r", _el("fldChar", fldCharType=kind))


def _code(instruction: str) -> Any:
    told = _el("instrText")
    told.text = instruction
    told.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return _el("r", told)


def _paragraph(style: str, runs: Iterable[Any], *looks: Any) -> Any:
    return _el("p", _el("pPr", _el("pStyle", val=style), *looks), *runs)


# --- The file


class _Writer:
    def __init__(self, told: Document, places: Sequence[tuple[int, Place]]) -> None:
        self._told, self._places = told, places
        self._say: Say = speaker(told.language)
        self._file: Any = docx.Document()
        self._body: list[Any] = []
        self._links: dict[str, str] = {}
        self._numbers: dict[str, Any] = {}  # the runs of the contents that tell pages
        self._bookmarks = 0
        self._lists = _Lists()
        self._sources = _sources(told.nodes)

    def written(self, made: datetime, author: str) -> bytes:
        title = cleaned(self._told.title).strip() or self._say("untitled")
        _page(self._file, title)
        _styles(self._file, self._told.language == "zh")
        nodes = list(self._told.nodes)
        if nodes and _is(nodes[0], "h") and _level(nodes[0]) == 0:
            nodes = nodes[1:]
        self._body.append(_paragraph("Title", [_run(title)]))
        self._body.append(_paragraph("Byline", [_run(f"Sightline · {made:%Y-%m-%d %H:%M} UTC")]))
        self._contents([node for node in nodes if _is(node, "h") and 1 <= _level(node) <= 2])
        front = len(self._body)
        self._blocks(nodes, top=True)
        if len(self._body) > front and self._body[front].tag == qn("w:p"):
            self._body[front].find(qn("w:pPr")).insert(1, _el("pageBreakBefore"))
        self._paged()
        body = self._file.element.body
        for old in list(body)[:-1]:
            body.remove(old)
        for at, element in enumerate(self._body):
            body.insert(at, element)
        self._lists.put(self._file.part.numbering_part.element)
        _properties(self._file, title, cleaned(author).strip() or "Sightline", made)
        return _packed(self._file)

    def _contents(self, headings: Sequence[Any]) -> None:
        """The table of contents: a field, with links to the headings as its result."""
        if not headings:
            return
        self._body.append(_paragraph("ContentsTitle", [_run(self._say("contents"))]))
        opening = [_field("begin"), _code(' TOC \\o "1-2" \\h \\z \\u '), _field("separate")]
        for at, node in enumerate(headings):
            title = " ".join(plain(item for item in node["c"] if not _is(item, "cite")).split())
            name = _anchor(node["id"])
            page = [
                _el("r", _el("tab")), _field("begin"), _code(f" PAGEREF {name} \\h "),
                _field("separate"), _run("1"), _field("end"),
            ]  # fmt: skip
            self._numbers[name] = page[4]
            entry = _el("hyperlink", _run(title or "—"), *page, anchor=name, history=1)
            runs = [*(opening if at == 0 else []), entry]
            self._body.append(_paragraph(f"toc{_level(node)}", runs))
        self._body[-1].append(_field("end"))

    def _paged(self) -> None:
        """Writes into the contents on which page each heading is, about."""
        found = Pages(self._file).of(self._body)
        for name, run in self._numbers.items():
            run.find(qn("w:t")).text = str(found[name])

    # --- Blocks

    def _blocks(
        self,
        nodes: Sequence[Node],
        style: str = "Normal",
        looks: tuple[Any, ...] = (),
        depth: int = -1,
        *,
        top: bool = False,
    ) -> None:
        """Blocks in order; what is no block between them is a paragraph of `style`. `depth` is that of
        the list that they are in."""
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                self._paragraphs(list(group), style, looks)
                continue
            for node in group:
                self._block(node, style, looks, depth)
                if top and _is(node, "h") and _level(node) == 1 and self._is_places(node):
                    self._picture()

    def _paragraphs(self, nodes: Sequence[Node], style: str, looks: tuple[Any, ...]) -> None:
        """A paragraph, in parts around the formulas that stand in a line of their own."""
        for alone, group in groupby(nodes, key=_is_displayed):
            for part in ([node] for node in group) if alone else [list(group)]:
                if alone or any(not isinstance(node, str) or node.strip() for node in part):
                    self._put(_paragraph(style, self._runs(part), *_way(part), *map(_copy, looks)))

    def _put(self, element: Any) -> None:
        """Two tables that touch would be one."""
        if self._body and self._body[-1].tag == element.tag == qn("w:tbl"):
            self._body.append(_paragraph("Normal", []))
        self._body.append(element)

    def _block(self, node: Any, style: str, looks: tuple[Any, ...], depth: int) -> None:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            self._heading(node)
        elif kind in ("ul", "ol"):
            self._list(node, depth + 1)
        elif kind == "table":
            self._table(node)
        elif kind == "pre":
            self._put(_paragraph("Code", [_run(plain(content).rstrip("\n"), _mono())]))
        elif kind == "blockquote":
            self._blocks(content, "Quote", (), depth)
        elif kind == "hr":
            line = _el("pBdr", _el("bottom", val="single", sz=4, space=1, color="D0D7DE"))
            self._put(_paragraph("Normal", [], line))
        elif kind == "p":
            self._paragraphs(content, style, looks)
        else:
            self._blocks(content, style, looks, depth)

    def _heading(self, node: Any) -> None:
        level = min(max(_level(node), 1), 4)
        runs = self._marked(_anchor(str(node["id"])), self._runs(node["c"]))
        self._put(_paragraph(f"Heading{level}", runs, *_way(node["c"])))

    def _is_places(self, node: Any) -> bool:
        return plain(node["c"]) == self._say("places")

    def _marked(self, name: str, runs: Iterable[Any]) -> Iterator[Any]:
        """Runs with a bookmark around them."""
        self._bookmarks += 1
        number = self._bookmarks
        yield _el("bookmarkStart", id=number, name=name)
        yield from runs
        yield _el("bookmarkEnd", id=number)

    def _list(self, node: Any, depth: int) -> None:
        """The items of a list, each with its number; the sources are what citations lead to."""
        depth = min(depth, _DEEPEST)
        ordered, sources = node["t"] == "ol", node.get("role") == "sources"
        start = int(node.get("start", 1))
        key = self._lists.decimal(depth, start) if ordered else self._lists.bullet
        style = "ListNumber" if ordered else "ListBullet"
        mark = _el("numPr", _el("ilvl", val=depth), _el("numId", val=key))
        inset = _el("ind", left=_STEP * (depth + 1) + _STEP // 4)
        items = [item for item in node["c"] if isinstance(item, dict)]
        for number, item in enumerate(items, start):
            content: list[Any] = list(item["c"])
            first = list(_leading(content))
            inline = first[0]["c"] if len(first) == 1 and _is(first[0], "p") else first
            runs: Iterable[Any] = self._runs(inline)
            if sources:
                runs = self._marked(f"source_{number}", list(runs))
            self._put(_paragraph(style, runs, _copy(mark), *_way(inline)))
            self._blocks(content[len(first) :], "ListContinue", (inset,), depth)

    def _table(self, node: Any) -> None:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        across = max((len(row["c"]) for row in rows), default=0)
        if not across:
            return
        wide = _widths([row["c"] for row in rows[:200]], across)
        table = _el(
            "tbl",
            _el(
                "tblPr",
                _el("tblStyle", val="TableGrid"),
                _el("tblW", w=sum(wide), type="dxa"),
                _el("tblBorders", *(_el(s, val="single", sz=4, color=_RULE) for s in _SIDES)),
                _el("tblLayout", type="fixed"),
                _el(
                    "tblCellMar",
                    *(_el(side, w=w, type="dxa") for side, w in _CELL.items()),
                ),
            ),
            _el("tblGrid", *(_el("gridCol", w=width) for width in wide)),
        )
        table.extend(self._row(row, wide, small=across > 7) for row in rows)
        self._put(table)
        self._body.append(_paragraph("AfterTable", []))

    def _row(self, row: Any, wide: Sequence[int], *, small: bool) -> Any:
        head = bool(row["c"]) and all(cell["t"] == "th" for cell in row["c"])
        marks = [_el("cantSplit"), *([_el("tblHeader")] if head else [])]
        made = _el("tr", _el("trPr", *marks))
        cells = [*row["c"], *({"t": "td", "c": []} for _ in range(len(wide) - len(row["c"])))]
        for cell, width in zip(cells, wide, strict=True):
            shade = [_el("shd", val="clear", color="auto", fill="F4F6F8")] if head else []
            align = _JUSTIFIED.get(str(cell.get("align", "")))
            looks = [*_way(cell["c"]), *([_el("jc", val=align)] if align else [])]
            style = "SmallCell" if small else "Cell"
            alone = all(_is(item, "cite") for item in cell["c"])
            runs = self._runs(cell["c"], bold=head, raised=not alone)
            made.append(
                _el(
                    "tc",
                    _el("tcPr", _el("tcW", w=width, type="dxa"), *shade),
                    _paragraph(style, runs, *looks),
                )
            )
        return made

    def _picture(self) -> None:
        if not self._places:
            return
        numbers, shown = zip(*self._places, strict=True)
        png = sketch_png(shown, self._told.language, numbers=numbers)
        if not png:
            return
        inline = self._file.add_picture(BytesIO(png), width=Emu(_WIDTH * 635))
        words = cleaned(described(shown, self._told.language))
        inline._inline.docPr.set("descr", words)
        inline._inline.docPr.set("name", self._say("map"))
        drawing = inline._inline.getparent()
        self._put(_paragraph("Picture", [_el("r", drawing)]))

    # --- Within a paragraph

    def _runs(
        self, nodes: Sequence[Node], *marks: Any, bold: bool = False, raised: bool = True
    ) -> list[Any]:
        looks = [*marks, *([_el("b"), _el("bCs")] if bold else [])]
        return list(self._inline(nodes, looks, raised))

    def _inline(self, nodes: Sequence[Node], looks: list[Any], raised: bool) -> Iterator[Any]:
        for at, node in enumerate(nodes):
            after = nodes[at + 1] if at + 1 < len(nodes) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if _is(after, "cite") else node
                for part in _LEFTWARD.split(text):
                    if part:
                        way = [_el("rtl")] if _LEFTWARD.fullmatch(part) else []
                        yield _run(part, *map(_copy, looks), *way)
            elif node["t"] == "br":
                yield _el("r", _el("br"))
            elif node["t"] == "cite":
                yield self._cite(int(node["number"]), raised)
            elif node["t"] == "math":
                yield self._formula(node, looks)
            elif node["t"] == "a" and (key := self._link(str(node["href"]))):
                inner = [_el("rStyle", val="Hyperlink"), *_besides(looks, "rStyle")]
                link = _el("hyperlink", *self._inline(node["c"], inner, raised), history=1)
                link.set(qn("r:id"), key)
                yield link
            else:
                mark = _MARKS.get(node["t"])
                inner = _ordered([*looks, *(mark() if mark else ())])
                yield from self._inline(node.get("c", ()), inner, raised)

    def _formula(self, node: Any, looks: list[Any]) -> Any:
        """A formula that Word can edit, else its source."""
        tex = str(node["c"][0])
        made = formula(tex, display=bool(node.get("display")))
        return _run(tex, *map(_copy, _ordered([*looks, _mono()]))) if made is None else made

    def _cite(self, number: int, raised: bool) -> Any:
        run = _run(f"[{number}]", _el("rStyle", val="Citation" if raised else "Hyperlink"))
        if number not in self._sources:
            return run
        return _el("hyperlink", run, anchor=f"source_{number}", history=1)

    def _link(self, url: str) -> str:
        """The key of a web address among the links of the file; nothing for any other address."""
        if not url.startswith(("http://", "https://")):
            return ""
        if url not in self._links:
            self._links[url] = self._file.part.relate_to(
                cleaned(url), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
        return self._links[url]


def _copy(element: Any) -> Any:
    """An element may stand in one place only."""
    return etree.fromstring(etree.tostring(element)) if len(element) else _el_copy(element)


def _el_copy(element: Any) -> Any:
    return etree.Element(element.tag, dict(element.attrib))


def _mono() -> Any:
    return _el("rFonts", ascii=_MONO, hAnsi=_MONO, cs=_MONO, eastAsia=_EAST)


_MARKS = {
    "strong": lambda: [_el("b"), _el("bCs")],
    "em": lambda: [_el("i"), _el("iCs")],
    "s": lambda: [_el("strike")],
    "code": lambda: [_mono()],
}
_ORDER = {
    qn(f"w:{tag}"): at
    for at, tag in enumerate(("rStyle", "rFonts", "b", "bCs", "i", "iCs", "strike"))
}
_JUSTIFIED = {"right": "right", "center": "center"}
_RULE = "C4CCD4"
_SIDES = ("top", "left", "bottom", "right", "insideH", "insideV")
_CELL = {"top": 40, "left": 90, "bottom": 40, "right": 90}


def _ordered(looks: Iterable[Any]) -> list[Any]:
    """Each once, in the order that the schema wants."""
    unique = {look.tag: look for look in looks}
    return sorted(unique.values(), key=lambda look: _ORDER[look.tag])


def _besides(looks: Iterable[Any], tag: str) -> list[Any]:
    return [look for look in looks if look.tag != qn(f"w:{tag}")]


def _is(node: Any, kind: str) -> bool:
    return isinstance(node, dict) and node["t"] == kind


def _way(nodes: Iterable[Node]) -> list[Any]:
    """The mark of a paragraph that runs from right to left."""
    return [_el("bidi")] if leftward(nodes) else []


def _is_displayed(node: Node) -> bool:
    return isinstance(node, dict) and bool(node.get("display"))


def _is_inline(node: Node) -> bool:
    return isinstance(node, str) or node["t"] not in _BLOCKS


def _level(node: Any) -> int:
    """The level of a heading below the title, which is 0."""
    return int(node["level"]) - 1


def _anchor(key: object) -> str:
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)


def _leading(nodes: Sequence[Any]) -> Iterator[Any]:
    """What stands beside the mark of an item: its first paragraph, or the text before any block."""
    if nodes and _is(nodes[0], "p"):
        yield nodes[0]
        return
    for node in nodes:
        if not _is_inline(node):
            return
        yield node


def _sources(nodes: Iterable[Node]) -> range:
    """The numbers that the list of sources has."""
    for node in nodes:
        if isinstance(node, dict) and node.get("role") == "sources":
            start = int(node.get("start", 1))
            return range(start, start + len(node["c"]))
    return range(0)


_BESIDE = 280  # of a cell, left and right of its text


def _widths(rows: Sequence[Sequence[Any]], across: int) -> list[int]:
    """The widths of columns by what is in them, in twentieths of a point."""
    wants, least = wanted(rows, across)
    floor = _WIDTH / 100
    em = 200 if across <= 7 else 160
    low = [max(min(word * em, _WIDTH / max(across, 3)), floor) + _BESIDE for word in least]
    most = [max(want * em + _BESIDE, small) for want, small in zip(wants, low, strict=True)]
    if sum(low) > _WIDTH:
        low = [part * _WIDTH / sum(low) for part in low]
        most = [max(want, small) for want, small in zip(most, low, strict=True)]
    return [int(width) for width in columns(most, low, _WIDTH)]


# --- Lists


class _Lists:
    """The lists of a file. Each numbered one counts for itself."""

    bullet = 1

    def __init__(self) -> None:
        self._numbered: list[tuple[int, int]] = []  # depth and start

    def decimal(self, depth: int, start: int) -> int:
        self._numbered.append((depth, start))
        return self.bullet + len(self._numbered)

    def put(self, numbering: Any) -> None:
        """Writes them in place of those of the template."""
        for old in list(numbering):
            numbering.remove(old)
        numbering.append(_kind(_BULLET))
        numbering.append(_kind(_DECIMAL))
        numbering.append(_el("num", _el("abstractNumId", val=_BULLET), numId=self.bullet))
        for key, (depth, start) in enumerate(self._numbered, self.bullet + 1):
            begun = _el("lvlOverride", _el("startOverride", val=start), ilvl=depth)
            numbering.append(_el("num", _el("abstractNumId", val=_DECIMAL), begun, numId=key))


def _kind(kind: int) -> Any:
    made = _el("abstractNum", _el("multiLevelType", val="multilevel"), abstractNumId=kind)
    for level in range(_DEEPEST + 1):
        told = f"%{level + 1}." if kind == _DECIMAL else _BULLETS[level % len(_BULLETS)]
        hanging = _STEP if kind == _BULLET else _STEP + 60
        made.append(
            _el(
                "lvl",
                _el("start", val=1),
                _el("numFmt", val="decimal" if kind == _DECIMAL else "bullet"),
                _el("lvlText", val=told),
                _el("lvlJc", val="left"),
                _el("pPr", _el("ind", left=_STEP * (level + 1) + 60, hanging=hanging)),
                ilvl=level,
            )
        )
    return made


# --- The look of the file


def _page(file: Any, title: str) -> None:
    """A4, with the title above each page but the first and its number below."""
    section = file.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.2)
    section.top_margin, section.bottom_margin = Cm(2.4), Cm(2.2)
    section.header_distance = section.footer_distance = Cm(1.2)
    section.different_first_page_header_footer = True
    section.header.paragraphs[0]._p.append(_run(title))
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = 1
        for part in (
            _field("begin"),
            _code(" PAGE "),
            _field("separate"),
            _run("1"),
            _field("end"),
        ):
            paragraph._p.append(part)


def _styles(file: Any, chinese: bool) -> None:
    styles = file.styles
    defaults = styles.element.find(qn("w:docDefaults"))
    for fonts in defaults.iter(qn("w:rFonts")):
        fonts.attrib.clear()
        for kind, name in (
            ("ascii", _LATIN),
            ("hAnsi", _LATIN),
            ("cs", _OTHER),
            ("eastAsia", _EAST),
        ):
            fonts.set(qn(f"w:{kind}"), name)
    for told in defaults.iter(qn("w:lang")):
        told.set(qn("w:val"), "en-US")
        told.set(qn("w:eastAsia"), "zh-CN")
    _style(file, "Normal", 10.5, after=6, line=1.5 if chinese else 1.3)
    _style(file, "Title", 22, after=4, before=20, bold=True, line=1.3)
    _plain_title(styles["Title"])
    for level, (size, before) in enumerate(((15.5, 22), (12.5, 14), (11, 10), (10.5, 8)), 1):
        _style(file, f"Heading {level}", size, after=4, before=before, bold=True, line=1.3)
        styles[f"Heading {level}"].font.italic = False
    for name in ("List Bullet", "List Number", "List Continue"):
        _style(file, name, 10.5, after=3, line=1.35 if chinese else 1.25)
        properties = styles[name].element.pPr
        for tag in ("w:numPr", "w:ind", "w:contextualSpacing"):
            for old in properties.findall(qn(tag)):
                properties.remove(old)
    _style(file, "Quote", 10.5, after=6, left=14)
    styles["Quote"].font.italic = False
    styles["Quote"].font.color.rgb = RGBColor(0x4B, 0x53, 0x5D)
    _bordered(styles["Quote"])
    _style(file, "Byline", 9.5, after=18, faint=True)
    _style(file, "Contents Title", 12.5, after=6, before=12, bold=True)
    _style(file, "toc 1", 10.5, after=2, before=4, bold=True)
    _style(file, "toc 2", 9.5, after=1, left=14, faint=True)
    for level in (1, 2):
        _early(
            styles[f"toc {level}"], _el("tabs", _el("tab", val="right", leader="dot", pos=_WIDTH))
        )
    _style(file, "Code", 9, after=8, before=4, line=1.15)
    _shaded(styles["Code"])
    _style(file, "Cell", 9, line=1.2)
    _style(file, "Small Cell", 8, line=1.15)
    _style(file, "After Table", 5, line=1.0)
    _style(file, "Picture", 10.5, after=6, before=4)
    _style(file, "Header", 8, faint=True)
    _style(file, "Footer", 8, faint=True)
    link = styles.add_style("Hyperlink", WD_STYLE_TYPE.CHARACTER, builtin=True)
    cite = styles.add_style("Citation", WD_STYLE_TYPE.CHARACTER)
    for style in (link, cite):
        style.font.color.rgb = RGBColor.from_string(_LINK)
    cite.font.superscript = True


def _style(
    file: Any,
    name: str,
    size: float,
    *,
    after: float = 0,
    before: float = 0,
    left: float = 0,
    line: float = 0,
    bold: bool = False,
    faint: bool = False,
) -> None:
    """Sets a paragraph style, or adds it. Its font is that of the file, not that of the theme."""
    styles = file.styles
    if name not in styles:
        style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=name.startswith("toc"))
        style.base_style = styles["Normal"]
    style = styles[name]
    style.font.size, style.font.bold = Pt(size), bold
    look = style.element.get_or_add_rPr()
    for old in look.findall(qn("w:szCs")):
        look.remove(old)
    look.find(qn("w:sz")).addnext(_el("szCs", val=int(2 * size)))  # of Arabic, Hebrew, Thai
    style.font.color.rgb = _FAINT if faint else _INK
    style.font.name = _LATIN
    fonts = style.element.rPr.rFonts
    fonts.attrib.clear()
    for kind, font in (("ascii", _LATIN), ("hAnsi", _LATIN), ("eastAsia", _EAST), ("cs", _OTHER)):
        fonts.set(qn(f"w:{kind}"), font)
    paragraph = style.paragraph_format
    paragraph.space_after, paragraph.space_before = Pt(after), Pt(before)
    if left:
        paragraph.left_indent = Pt(left)
    if line:
        paragraph.line_spacing = line
    paragraph.widow_control = True


def _plain_title(style: Any) -> None:
    """The template has a rule below the title."""
    for old in style.element.pPr.findall(qn("w:pBdr")):
        style.element.pPr.remove(old)


def _bordered(style: Any) -> None:
    line = _el("pBdr", _el("left", val="single", sz=18, space=8, color="D0D7DE"))
    _early(style, line)


def _shaded(style: Any) -> None:
    _early(style, _el("shd", val="clear", color="auto", fill="F4F6F8"))
    style.font.name = _MONO


def _early(style: Any, mark: Any) -> None:
    """Puts a mark where the schema wants borders and shades: before the spacing."""
    properties = style.element.get_or_add_pPr()
    later = [child for child in properties if child.tag in _LATER]
    at = list(properties).index(later[0]) if later else len(properties)
    properties.insert(at, mark)


_LATER = frozenset(
    qn(f"w:{tag}") for tag in ("spacing", "ind", "contextualSpacing", "jc", "outlineLvl")
)


# --- The package


def _properties(file: Any, title: str, author: str, made: datetime) -> None:
    told = file.core_properties
    told.title, told.author = title[:_LONGEST], author[:_LONGEST]
    told.last_modified_by = author[:_LONGEST]
    told.created = told.modified = made.replace(tzinfo=None, microsecond=0)
    told.comments, told.keywords, told.revision = "", "", 1


def _packed(file: Any) -> bytes:
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
