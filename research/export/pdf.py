"""A report as a PDF: what its tree says, set on A4 with fonts that are embedded.

Every character can be copied out of it again, also one that no font has. The same report gives the
same bytes. Draws nothing but text, rules and the picture of the places; reads and fetches nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote

from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from research.evidence.citations import CitedAnswer
from research.evidence.markup import Node
from research.export.document import Document, document, plain
from research.export.fonts import seen
from research.export.lines import Line, Piece, Style, boxed, lines, natural
from research.export.markdown import utc
from research.export.setting import Draw, Heading, Set, Strip, bands, columns, pages
from research.export.sketch import described, mapped, sketch_png
from research.export.words import Say, speaker
from research.records import Language, Place, Report

INK, FAINT, LINK, RULE, SHADE = "#1f2328", "#656d76", "#1a56a0", "#d0d7de", "#f4f6f8"
LEFT, TOP, FOOT = 64.0, 72.0, 66.0  # margins in points
WIDTH, HEIGHT = A4[0] - 2 * LEFT, A4[1] - TOP - FOOT
ROWS = 1_000  # of a table, and
CELLS = 12_000  # of it: more would take minutes, and nobody reads them on paper
BLOCKS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})

_SIZES = {1: 22.0, 2: 15.5, 3: 12.5, 4: 11.0}
_LEAST = 26.0  # points of a column, and
_MOST = 90.0  # how much of them its longest word may claim
_DEEPEST = WIDTH * 0.6  # how far from the left anything begins
_TALL = HEIGHT / 2  # a row that is taller may be parted
_PARTED = 12  # lines of each part
_LOCK = threading.Lock()  # fonts keep what one document at a time has used


class Pictured(NamedTuple):
    """The picture of the places: a PNG, and what it shows in words."""

    png: bytes
    words: str


def report_pdf(report: Report, cited: CitedAnswer | None) -> bytes:
    """The whole report as a PDF."""
    told = document(report, cited)
    made = utc(cited.answer.made if cited else report.run.created)
    author = cited.answer.author if cited else ""
    return drawn_pdf(told, made=made, author=author, places=mapped(report, cited))


def drawn_pdf(
    told: Document,
    *,
    made: datetime,
    author: str = "",
    places: Sequence[tuple[int, Place]] = (),
) -> bytes:
    """A document as a PDF, with a picture of the places under their heading."""
    picture = None
    if places:
        numbers, shown = zip(*places, strict=True)
        png = sketch_png(shown, told.language, numbers=numbers)
        picture = Pictured(png, described(shown, told.language)) if png else None
    with _LOCK:
        return _Printer(told, picture).printed(made, author)


class _Printer:
    """Sets a document in strips, puts them on pages and draws these."""

    def __init__(self, told: Document, picture: Pictured | None) -> None:
        self._told, self._picture = told, picture
        self._say: Say = speaker(told.language)
        self._body = Style(10.5 if told.language == "zh" else 10.2, INK)
        self._leading = 1.68 if told.language == "zh" else 1.5
        self._boxed = 0
        self._level = -1  # of the last entry of the outline
        self._sources = _sources(told.nodes)

    def printed(self, made: datetime, author: str) -> bytes:
        title = seen(self._told.title) or self._say("untitled")
        body = pages(self._report(), HEIGHT)
        starts = [
            (set_.strip.heading, number)
            for number, page in enumerate(body)
            for set_ in page
            if set_.strip.heading
        ]
        front = self._front(title, made, starts, 0)
        first = len(pages(front, HEIGHT))
        sheets = [*pages(self._front(title, made, starts, first + 1), HEIGHT), *body]
        into = BytesIO()
        canvas = Canvas(into, pagesize=A4, invariant=1, pageCompression=1, lang=_tag(self._told))
        _stamp(canvas, made)
        canvas.setTitle(title)
        canvas.setAuthor(seen(author) or "Sightline")
        canvas.setSubject("")
        canvas.setCreator("Sightline")
        canvas.setViewerPreference("DisplayDocTitle", "true")
        for number, sheet in enumerate(sheets, 1):
            self._page(canvas, sheet, title, number, len(sheets))
        if any(heading for heading, _ in starts):
            canvas.showOutline()
        canvas.save()
        return into.getvalue()

    # --- Pages

    def _page(self, canvas: Any, sheet: list[Set], title: str, number: int, last: int) -> None:
        for strip, top, gap in sheet:
            canvas.saveState()
            strip.draw(canvas, FOOT + top, gap)
            canvas.restoreState()
            if strip.heading:
                self._outline(canvas, strip.heading, FOOT + top + gap)
        small = Style(8, FAINT)
        if number > 1:
            head = lines([(title, small)], WIDTH * 0.8)[0]
            _draw_line(canvas, head, LEFT, A4[1] - 44)
            _rule(canvas, LEFT, A4[1] - 51, WIDTH)
        foot = lines([(f"{number} / {last}", small)], WIDTH)[0]
        _draw_line(canvas, foot, (A4[0] - foot.width) / 2, 36)
        canvas.showPage()

    def _outline(self, canvas: Any, heading: Heading, top: float) -> None:
        """An entry of the outline, at most one level below the one before it."""
        self._level = min(max(heading.level - 2, 0), self._level + 1)
        canvas.bookmarkPage(heading.goal, fit="XYZ", left=0, top=top)
        canvas.addOutlineEntry(heading.title, heading.goal, self._level, closed=self._level > 0)

    def _front(
        self, title: str, made: datetime, starts: Sequence[tuple[Heading, int]], first: int
    ) -> list[Strip]:
        """The title and the contents."""
        style = Style(_SIZES[1], INK, bold=True)
        strips = [*self._lines([(title, style)], leading=1.35, before=26)]
        when = f"Sightline · {made:%Y-%m-%d %H:%M} UTC"
        strips += self._lines([(when, Style(9.5, FAINT))], before=12)
        strips.append(Strip(1, lambda canvas, top, gap: _rule(canvas, LEFT, top, WIDTH), 14))
        listed = [(heading, page) for heading, page in starts if heading.level <= 3]
        if listed:
            head = Style(_SIZES[3], INK, bold=True)
            strips += self._lines([(self._say("contents"), head)], before=24, keeps=True)
        for heading, page in listed:
            strips += self._entry(heading, page + first)
        return strips

    def _entry(self, heading: Heading, page: int) -> Iterator[Strip]:
        """A line of the contents, which leads to its heading; a long title is cut to the line."""
        top_level = heading.level <= 2
        style = Style(10.2 if top_level else 9.2, INK if top_level else FAINT, bold=top_level)
        inset = 0.0 if top_level else 16.0
        number = lines([(str(page), style._replace(bold=False))], WIDTH)[0]
        room = WIDTH - inset - number.width - 24
        found = lines([(heading.title, style)], room)
        if len(found) > 1:
            found = lines([(found[0].text[:-1].rstrip() + "…", style)], room + 12)
        height = 21.0 if top_level else 16.5

        def draw(canvas: Any, top: float, gap: float) -> None:
            base = top - height + 5
            _draw_line(canvas, found[0], LEFT + inset, base)
            _draw_line(canvas, number, LEFT + WIDTH - number.width, base)
            canvas.setStrokeColor(HexColor("#b6bec7"))
            canvas.setLineWidth(0.6)
            canvas.setDash([0.6, 3.4])
            canvas.setLineCap(1)
            start = LEFT + inset + found[0].width + 8
            canvas.line(start, base + 1, max(start, LEFT + WIDTH - number.width - 8), base + 1)
            area = (LEFT, top - height, LEFT + WIDTH, top)
            canvas.linkAbsolute("", heading.goal, area, Border="[0 0 0]")

        yield Strip(height, draw, 4.0 if top_level else 0.0)

    # --- The report

    def _report(self) -> list[Strip]:
        nodes = list(self._told.nodes)
        if nodes and isinstance(nodes[0], dict) and nodes[0]["t"] == "h" and nodes[0]["level"] == 1:
            nodes = nodes[1:]  # it is the title of the first page
        strips = list(self._blocks(nodes, 0.0, self._body, top=True))
        if self._boxed:
            note = self._say("boxed", count=self._boxed)
            strips += self._lines([(note, Style(9, FAINT))], before=18)
        return strips

    def _blocks(
        self,
        nodes: Sequence[Node],
        inset: float,
        style: Style,
        *,
        top: bool = False,
        gap: float = 7.5,
    ) -> Iterator[Strip]:
        """Blocks from the left by `inset`; what is no block between them is a paragraph."""
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                yield from self._paragraph(list(group), inset, style, gap)
                continue
            for node in group:
                yield from self._block(node, inset, style, gap)
                if top and self._picture and self._opens_places(node):
                    yield _image(self._picture)

    def _opens_places(self, node: Any) -> bool:
        return bool(
            node["t"] == "h" and node["level"] == 2 and plain(node["c"]) == self._say("places")
        )

    def _block(self, node: Any, inset: float, style: Style, gap: float) -> Iterator[Strip]:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            yield from self._heading(node, inset)
        elif kind in ("ul", "ol"):
            yield from self._list(node, inset, style)
        elif kind == "table":
            yield from self._table(node, inset)
        elif kind == "pre":
            yield from self._code(plain(content), inset)
        elif kind == "blockquote":
            deep = min(inset + 14, _DEEPEST)
            quoted = self._blocks(content, deep, style._replace(colour="#4b535d"))
            for at, strip in enumerate(quoted):
                yield _barred(strip, LEFT + deep - 12, first=at == 0)
        elif kind == "hr":
            x, wide = LEFT + inset, WIDTH - inset
            yield Strip(1, lambda canvas, top, _: _rule(canvas, x, top, wide), 12)
        elif kind == "p":
            yield from self._paragraph(content, inset, style, gap)
        else:
            yield from self._blocks(content, inset, style)

    def _heading(self, node: Any, inset: float) -> Iterator[Strip]:
        level = min(int(node["level"]), 4)
        style = Style(_SIZES[level], INK, bold=True)
        before = {1: 28.0, 2: 26.0, 3: 17.0, 4: 13.0}[level]
        pieces = list(self._pieces(node["c"], style))
        title = seen(plain(item for item in node["c"] if not _is_cite(item))).strip()
        strips = list(self._lines(pieces, inset=inset, leading=1.4, before=before, keeps=True))
        if strips:
            first = Heading(title or self._say("untitled"), level, str(node["id"]))
            strips[0] = strips[0]._replace(heading=first)
        yield from strips

    def _paragraph(
        self, nodes: Sequence[Node], inset: float, style: Style, gap: float
    ) -> Iterator[Strip]:
        yield from self._lines(list(self._pieces(nodes, style)), inset=inset, before=gap)

    def _lines(
        self,
        pieces: list[Piece],
        *,
        inset: float = 0.0,
        before: float = 0.0,
        leading: float = 0.0,
        keeps: bool = False,
    ) -> Iterator[Strip]:
        """A paragraph as a strip for each line; neither its first nor its last stands alone."""
        self._boxed += boxed(pieces)
        found = lines(pieces, WIDTH - inset)
        if not any(line.stretches for line in found):
            return
        size = max(style.size for _, style in pieces)
        height = size * (leading or self._leading)
        last = len(found) - 1
        for at, line in enumerate(found):
            near = at == 0 or at == last - 1
            yield Strip(
                height,
                _drawing(line, LEFT + inset, height, size),
                before if at == 0 else 0.0,
                keeps or (near and at < last),
            )

    def _list(self, node: Any, inset: float, style: Style) -> Iterator[Strip]:
        """Each item beside its mark. The items of the list of sources are what citations lead to."""
        ordered, sources = node["t"] == "ol", node.get("role") == "sources"
        items = [item for item in node["c"] if isinstance(item, dict)]
        start = int(node.get("start", 1))
        if sources:
            style = style._replace(size=style.size - 1)
        widest = lines([(f"{start + len(items)}.", style)], WIDTH)[0].width
        deep = inset + (max(widest + 7, 18.0) if ordered else 14.0)
        deep = min(deep, _DEEPEST)
        for number, item in enumerate(items, start):
            mark = lines([(f"{number}." if ordered else "•", style)], WIDTH)[0]
            goal = f"source-{number}" if sources else ""
            strips = list(self._blocks(item["c"], deep, style, gap=4.0))
            if not strips:
                strips = [Strip(style.size * self._leading, lambda canvas, top, gap: None, 4.0)]
            x = LEFT + deep - (mark.width + 5 if ordered else 11.0)
            strips[0] = _marked(strips[0], mark, x, style.size * self._leading, style.size, goal)
            yield from strips

    def _code(self, text: str, inset: float) -> Iterator[Strip]:
        style = Style(9.2, INK, mono=True)
        self._boxed += boxed([(text, style)])
        rows = lines(
            [(text.rstrip("\n").expandtabs(4), style)], WIDTH - inset - 20, keep_spaces=True
        )
        last = len(rows) - 1
        for at, row in enumerate(rows):
            pad = (7.0 if at == 0 else 0.0, 7.0 if at == last else 0.0)
            height = 13.2 + sum(pad)
            draw = _shaded(
                _drawing(row, LEFT + inset + 10, 13.2, 9.2, pad[0]),
                LEFT + inset,
                WIDTH - inset,
                height,
            )
            yield Strip(height, draw, 9.0 if at == 0 else 0.0, at == 0 and last > 0)

    # --- Tables

    def _table(self, node: Any, inset: float) -> Iterator[Strip]:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        across = max((len(row["c"]) for row in rows), default=0)
        if not across:
            return
        shown = rows[: max(2, min(ROWS, CELLS // across))]
        style = self._body._replace(size=8.8 if across <= 7 else 7.8)
        cells = [[self._cell(cell, style) for cell in row["c"]] for row in shown]
        for row in cells:
            row += [([], "left")] * (across - len(row))
        heads = 1 if all(cell["t"] == "th" for cell in rows[0]["c"]) else 0
        yield from self._bands(cells, heads, inset, style)
        if len(shown) < len(rows):
            note = self._say("rows cut", count=len(rows) - len(shown))
            yield from self._lines([(note, Style(9, FAINT))], inset=inset, before=6)

    def _cell(self, cell: Any, style: Style) -> tuple[list[Piece], str]:
        bold = style._replace(bold=True) if cell["t"] == "th" else style
        raised = any(not _is_cite(node) for node in cell["c"] if node != " ")
        pieces = list(self._pieces(cell["c"], bold, raised=raised))
        self._boxed += boxed(pieces)
        return pieces, str(cell.get("align", "left"))

    def _bands(
        self, cells: list[list[tuple[list[Piece], str]]], heads: int, inset: float, style: Style
    ) -> Iterator[Strip]:
        room = WIDTH - inset
        pad = 5.0
        sizes = [
            [natural(pieces) for pieces, _ in column] for column in zip(*cells[:200], strict=True)
        ]
        most = min(_MOST, room / 2)
        wants = [max(size[0] for size in column) + 2 * pad + 1 for column in sizes]
        words = [max(size[1] for size in column) + 2 * pad + 1 for column in sizes]
        least = [max(_LEAST, min(word, most)) for word in words]
        wants = [max(want, low) for want, low in zip(wants, least, strict=True)]
        for number, band in enumerate(bands(least, room)):
            wide = columns([wants[at] for at in band], [least[at] for at in band], room)
            drawn = [
                self._row([row[at] for at in band], wide, inset, style, head=place < heads)
                for place, row in enumerate(cells)
            ]
            top = tuple(strip for row in drawn[:heads] for strip in row)
            top = top if sum(strip.height for strip in top) < HEIGHT / 3 else ()
            for place, row in enumerate(drawn):
                for at, strip in enumerate(row):
                    first = place == 0 and at == 0
                    yield strip._replace(
                        before=(9.0 if number == 0 else 14.0) if first else 0.0,
                        keeps=(place < max(heads, 1) or place == len(drawn) - 2)
                        and place < len(drawn) - 1,
                        heads=top if place >= heads else (),
                    )

    def _row(
        self,
        cells: Sequence[tuple[list[Piece], str]],
        wide: Sequence[float],
        inset: float,
        style: Style,
        *,
        head: bool,
    ) -> list[Strip]:
        """A row as one strip, or as several if it is tall."""
        pad, leading = 5.0, style.size * 1.45
        found = [
            lines(pieces, width - 2 * pad) for (pieces, _), width in zip(cells, wide, strict=True)
        ]
        deep = max(len(cell) for cell in found)
        step = deep if deep * leading <= _TALL else _PARTED
        strips = []
        for start in range(0, deep, step):
            part = [cell[start : start + step] for cell in found]
            over = 4.0 if start == 0 else 0.0
            under = 4.5 if start + step >= deep else 0.0
            height = max(len(cell) for cell in part) * leading + over + under
            aligns = [align for _, align in cells]
            draw = _row_drawing(part, aligns, wide, LEFT + inset, leading, style.size, over)
            if head:
                draw = _shaded(draw, LEFT + inset, sum(wide), height)
            if under:
                draw = _ruled(draw, LEFT + inset, sum(wide), height, strong=head)
            strips.append(Strip(height, draw))
        return strips

    # --- Within a line

    def _pieces(
        self, nodes: Iterable[Node], style: Style, *, raised: bool = True
    ) -> Iterator[Piece]:
        """The text of inline nodes with its styles. A citation stands close to what it is for."""
        listed = list(nodes)
        for at, node in enumerate(listed):
            after = listed[at + 1] if at + 1 < len(listed) else None
            if isinstance(node, str):
                yield (node.rstrip(" ") if _is_cite(after) else node), style
            else:
                yield from self._marked(node, style, raised)

    def _marked(self, node: Any, style: Style, raised: bool) -> Iterator[Piece]:
        kind = node["t"]
        if kind == "br":
            yield "\n", style
        elif kind == "cite":
            number = int(node["number"])
            goal = f"source-{number}" if number in self._sources else ""
            yield (
                f"[{number}]",
                style._replace(
                    raised=raised,
                    goal=goal,
                    href="",
                    colour=LINK,
                    bold=False,
                    italic=False,
                    mono=False,
                ),
            )
        else:
            yield from self._pieces(node.get("c", ()), _styled(style, node), raised=raised)


def _styled(style: Style, node: Any) -> Style:
    kind = node["t"]
    if kind == "strong":
        return style._replace(bold=True)
    if kind == "em":
        return style._replace(italic=True)
    if kind in ("code", "math"):
        return style._replace(mono=True)
    if kind == "s":
        return style._replace(struck=True)
    if kind == "a":
        return style._replace(href=_address(str(node["href"])), colour=LINK)
    return style


def _address(url: str) -> str:
    """A web address in ASCII; nothing for any other."""
    safe = url.startswith(("http://", "https://"))
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]-._") if safe else ""


def _is_inline(node: Node) -> bool:
    return isinstance(node, str) or node["t"] not in BLOCKS


def _is_cite(node: Any) -> bool:
    return isinstance(node, dict) and node["t"] == "cite"


def _sources(nodes: Iterable[Node]) -> range:
    """The numbers that the list of sources has."""
    for node in nodes:
        if isinstance(node, dict) and node.get("role") == "sources":
            start = int(node.get("start", 1))
            return range(start, start + len(node["c"]))
    return range(0)


def _tag(told: Document) -> str:
    languages: dict[Language, str] = {"zh": "zh-CN", "en": "en"}
    return languages.get(told.language, "en")


def _stamp(canvas: Any, made: datetime) -> None:
    """The time at which the report was made, in place of the time at which it is drawn."""
    stamp = canvas._doc._timeStamp
    stamp.t = made.timestamp()
    stamp.lt = made.timetuple()
    stamp.YMDhms = tuple(stamp.lt)[:6]


# --- Drawing


def _draw_line(canvas: Any, line: Line, x: float, base: float) -> None:
    """A line of text from `x`, standing on `base`, with its links."""
    if not line.stretches:
        return
    text = canvas.beginText(x, base)
    text.setCharSpace(line.spread)
    for stretch in line.stretches:
        style, width = stretch.style, stretch.width + line.spread * len(stretch.text)
        size = style.drawn_size
        text.setFont(stretch.font, size)
        text.setFillColor(HexColor(style.colour))
        text.setRise(style.size * 0.36 if style.raised else 0)
        text.setTextRenderMode(2 if stretch.stroked else 0)
        if stretch.stroked:
            text.setStrokeColor(HexColor(style.colour))
            canvas.setLineWidth(size * 0.035)
        text.setTextTransform(1, 0, 0.2 if style.italic else 0, 1, x, base)
        text.textOut(stretch.text)
        _linked(canvas, style, x, base, width)
        x += width
    text.setCharSpace(0)
    text.setRise(0)
    text.setTextRenderMode(0)
    canvas.drawText(text)


def _linked(canvas: Any, style: Style, x: float, base: float, width: float) -> None:
    area = (x, base - style.size * 0.25, x + width, base + style.size * 0.95)
    if style.href:
        canvas.linkURL(style.href, area, relative=0)
    elif style.goal:
        canvas.linkAbsolute("", style.goal, area, Border="[0 0 0]")
    if style.struck:
        canvas.setStrokeColor(HexColor(style.colour))
        canvas.setLineWidth(style.size * 0.06)
        canvas.line(x, base + style.size * 0.33, x + width, base + style.size * 0.33)


def _rule(canvas: Any, x: float, y: float, width: float, *, strong: bool = False) -> None:
    canvas.setStrokeColor(HexColor("#8c959f" if strong else RULE))
    canvas.setLineWidth(0.8 if strong else 0.5)
    canvas.line(x, y, x + width, y)


def _base(height: float, size: float) -> float:
    """How far below the top of a line its letters stand."""
    return (height + size * 0.74) / 2


def _drawing(line: Line, x: float, height: float, size: float, over: float = 0.0) -> Draw:
    def draw(canvas: Any, top: float, _: float) -> None:
        _draw_line(canvas, line, x, top - over - _base(height, size))

    return draw


def _shaded(inner: Draw, x: float, width: float, height: float) -> Draw:
    def draw(canvas: Any, top: float, gap: float) -> None:
        canvas.setFillColor(HexColor(SHADE))
        canvas.rect(x, top - height - 0.2, width, height + 0.2, stroke=0, fill=1)
        inner(canvas, top, gap)

    return draw


def _ruled(inner: Draw, x: float, width: float, height: float, *, strong: bool) -> Draw:
    def draw(canvas: Any, top: float, gap: float) -> None:
        inner(canvas, top, gap)
        _rule(canvas, x, top - height, width, strong=strong)

    return draw


def _barred(strip: Strip, x: float, *, first: bool) -> Strip:
    """A strip of a quotation, with a bar at its left."""

    def draw(canvas: Any, top: float, gap: float) -> None:
        canvas.setStrokeColor(HexColor(RULE))
        canvas.setLineWidth(2.2)
        canvas.line(x, top + (0 if first else gap), x, top - strip.height)
        strip.draw(canvas, top, gap)

    return strip._replace(draw=draw)


def _marked(strip: Strip, mark: Line, x: float, height: float, size: float, goal: str) -> Strip:
    """The first strip of an item of a list, with its mark."""

    def draw(canvas: Any, top: float, gap: float) -> None:
        if goal:
            canvas.bookmarkPage(goal, fit="XYZ", left=0, top=top + 6)
        _draw_line(canvas, mark, x, top - _base(height, size))
        strip.draw(canvas, top, gap)

    return strip._replace(draw=draw)


def _row_drawing(
    cells: Sequence[Sequence[Line]],
    aligns: Sequence[str],
    wide: Sequence[float],
    left: float,
    leading: float,
    size: float,
    over: float,
) -> Draw:
    def draw(canvas: Any, top: float, _: float) -> None:
        x = left
        for cell, align, width in zip(cells, aligns, wide, strict=True):
            for at, line in enumerate(cell):
                slack = width - 10 - line.width
                shift = {"right": slack, "center": slack / 2}.get(align, 0.0)
                base = top - over - at * leading - _base(leading, size)
                _draw_line(canvas, line, x + 5 + shift, base)
            x += width

    return draw


def _image(picture: Pictured) -> Strip:
    reader = ImageReader(BytesIO(picture.png))
    across, down = reader.getSize()
    width = min(WIDTH, 380 * across / down)
    height = width * down / across

    def draw(canvas: Any, top: float, _: float) -> None:
        words = f"\ufeff{seen(picture.words)}".encode("utf-16-be").hex()
        canvas._code.append(f"/Figure <</Alt <{words}>>> BDC")
        canvas.drawImage(reader, LEFT, top - height, width, height)
        canvas._code.append("EMC")

    return Strip(height, draw, 10)
