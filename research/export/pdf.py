"""A report as a PDF: what its tree says, set on A4 with fonts that are embedded.

The tree goes to the template `report.typ` as JSON, made ready: tables with the widths of their columns,
text with what needs a font of its own apart. Letters that no font of the program or of the machine can
draw are named by their script, and a line at the end says so. The file is tagged for screen readers,
and the same report gives the same bytes. Reads and fetches nothing but fonts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from urllib.parse import quote

from babel import Locale
from fontTools.unicodedata import script

from research.citations.markup import Node
from research.citations.numbering import CitedAnswer
from research.core.i18n import Say
from research.core.records import Place, Report
from research.export.columns import bands, columns, wanted
from research.export.document import Document, document, leftward, plain
from research.export.fonts import EMOJI, LETTERS, MONO, PLAIN, WESTERN, alone, drawable, seen, thin
from research.export.markdown import utc
from research.export.maths import listed, parsed, readable
from research.export.press import printed
from research.export.sketch import described, mapped_places, sketch_svg
from research.export.words import speaker

ROWS = 1_000  # of a table, and
CELLS = 12_000  # of it: nobody reads more on paper
_WIDTH = 467.0  # points between the margins of A4
_LEAST, _MOST = 26.0, 90.0  # points of a column, and how much of them its longest word may claim
_PAD = 11.0  # points beside the text of a cell
_DEEPEST = 8  # lists and quotations within each other; what is deeper is set at that depth
_BLOCKS = frozenset({"p", "h", "ul", "ol", "li", "table", "pre", "blockquote", "hr"})
_NAMED = 12  # kinds of letters that could not be drawn are told by name

_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3"
    "|[\u203c-\u3299\U0001f000-\U0001faff](?:[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
    "|\u200d[\u2190-\u3299\U0001f000-\U0001faff])+"
)
# A word without a place where a line could end; scripts that join their letters are left whole.
_LONG = r"[!-~\u00a1-\u058f\u1e00-\u1fff]{%d,}"
# What is drawn aslant at once, for no font has italics: a word of a script that does not join, a Han.
_LEANING = r"(?P<lean>[0-9A-Za-z\u00aa-\u052f\u1e00-\u1fff]{1,24}|[\u3400-\u9fff\uac00-\ud7a3])"
_HEAPED = re.compile(  # more marks on a letter than can be told apart take minutes
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{12})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+"
)
_PARTING = re.compile(r"(?<=[/?&=._\-%#+,;:@~|])(?=[^/?&=._\-%#+,;:@~|])")
_SHARED = "“”‘’—…·"  # marks of Chinese and of Latin, which are not as wide in both
_NEUTRAL = " “”‘’—…·0123456789()[]"


def report_pdf(report: Report, cited: CitedAnswer | None) -> bytes:
    """The whole report as a PDF."""
    told = document(report, cited)
    made = utc(cited.answer.made if cited else report.run.created)
    author = cited.answer.author if cited else ""
    return drawn_pdf(told, made=made, author=author, places=mapped_places(report, cited))


def drawn_pdf(
    told: Document,
    *,
    made: datetime,
    author: str = "",
    places: Sequence[tuple[int, Place]] = (),
) -> bytes:
    """A document as a PDF, with a picture of the places under their heading."""
    return printed("report.typ", _Setter(told, places).data(made, author), made=made)


class _Setter:
    """Makes a document ready for the template."""

    def __init__(self, told: Document, places: Sequence[tuple[int, Place]]) -> None:
        self._told, self._places = told, places
        self._say: Say = speaker(told.language)
        self._western = told.language != "zh"  # how wide a mark is unless it says otherwise
        self._sources = _sources(told.nodes)
        self._heads: dict[str, list[Any]] = {}
        self._lost: dict[str, None] = {}  # names of what no font can draw

    def data(self, made: datetime, author: str) -> dict[str, Any]:
        title = seen(self._told.title).strip() or self._say("untitled")
        nodes = list(self._told.nodes)
        if nodes and _is(nodes[0], "h") and nodes[0]["level"] == 1:  # type: ignore[index]
            nodes = nodes[1:]  # it is the title of the first page
        body = self._blocks(nodes, 0)
        marks = PLAIN if self._told.language == "zh" else (WESTERN, *PLAIN)
        return {
            "language": self._told.language,
            "title": title,
            "named": self._text(title, bold=True),
            "author": seen(author).strip() or "Sightline",
            "byline": f"Sightline · {made:%Y-%m-%d %H:%M} UTC",
            "contents": self._say("contents"),
            "fonts": {
                "plain": marks, "mono": (MONO, *marks), "emoji": (EMOJI, *marks),
                "letters": (LETTERS, *marks), "marks": (PLAIN[0],) if self._western else (WESTERN,),
            },
            "heads": self._heads,
            "nodes": [*body, *self._note()],
        }  # fmt: skip

    def _note(self) -> Iterator[dict[str, Any]]:
        """What could not be drawn."""
        if self._lost:
            names = [*self._lost][:_NAMED]
            told = self._say("comma").join(names) + ("…" if len(names) < len(self._lost) else "")
            yield {"t": "note", "c": self._text(self._say("lost", what=told))}

    # --- Blocks

    def _blocks(self, nodes: Sequence[Node], depth: int) -> list[Any]:
        """Blocks in order; what is no block between them is a paragraph."""
        out: list[Any] = []
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                out += self._paragraphs(list(group))
            else:
                out += (made for node in group for made in self._block(node, depth))
        return out

    def _paragraphs(self, nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
        """A paragraph, in parts around the formulas that stand in a line of their own."""
        for displayed, group in groupby(nodes, key=_is_displayed):
            part = list(group)
            if displayed:
                yield from (self._formula(node) for node in part)
            elif any(not isinstance(node, str) or node.strip() for node in part):
                yield {"t": "p", "c": self._inline(part), **_directed(part)}

    def _block(self, node: Any, depth: int) -> Iterator[dict[str, Any]]:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            yield self._heading(node)
            if node["level"] == 2 and plain(content) == self._say("places"):
                yield from self._picture()
        elif kind in ("ul", "ol") and depth < _DEEPEST:
            yield self._list(node, depth)
        elif kind == "table":
            yield from self._table(node)
        elif kind == "pre":
            text = plain(content).rstrip("\n").expandtabs(4)
            lines = [self._text(line, keep=True) for line in text.split("\n")]
            yield {"t": "pre", "c": lines}
        elif kind == "blockquote" and depth < _DEEPEST:
            yield {"t": "blockquote", "c": self._blocks(content, depth + 1)}
        elif kind == "hr":
            yield {"t": "hr"}
        elif kind == "p":
            yield from self._paragraphs(content)
        else:
            yield from self._blocks(content, depth)

    def _heading(self, node: Any) -> dict[str, Any]:
        """Its name is that of the contents and of the outline, without its citations."""
        key = f"h{len(self._heads)}"
        self._heads[key] = self._inline(node["c"], bold=True)
        name = seen(plain(item for item in node["c"] if not _is(item, "cite"))).strip()
        level = min(max(int(node["level"]) - 1, 1), 5)
        return {"t": "h", "level": level, "id": key, "name": name or self._say("untitled")}

    def _picture(self) -> Iterator[dict[str, Any]]:
        if self._places:
            numbers, shown = zip(*self._places, strict=True)
            svg = sketch_svg(shown, self._told.language, numbers=numbers, printed=True)
            yield {"t": "picture", "svg": svg, "words": described(shown, self._told.language)}

    def _list(self, node: Any, depth: int) -> dict[str, Any]:
        """The items of the list of sources are what citations lead to."""
        items = [item for item in node["c"] if isinstance(item, dict)]
        made: dict[str, Any] = {"t": node["t"], "c": [self._item(i["c"], depth) for i in items]}
        if node["t"] == "ol":
            made["start"] = int(node.get("start", 1))
            made["sources"] = node is self._sources
        return made

    def _item(self, nodes: Sequence[Node], depth: int) -> list[Any]:
        return self._blocks(nodes, depth + 1)

    # --- Tables

    def _table(self, node: Any) -> Iterator[dict[str, Any]]:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        across = max((len(row["c"]) for row in rows), default=0)
        if not across:
            return
        shown = rows[: max(2, min(ROWS, CELLS // across))]
        cells = [
            [*row["c"], *({"t": "td", "c": []} for _ in range(across - len(row["c"])))]
            for row in shown
        ]
        size = 8.8 if across <= 7 else 7.8
        wants, words = wanted(cells[:200], across)
        least = [max(_LEAST, min(word * size + _PAD, _MOST)) for word in words]
        most = [max(want * size + _PAD, low) for want, low in zip(wants, least, strict=True)]
        drawn = [[self._cell(cell) for cell in row] for row in cells]
        heads = 1 if all(cell["t"] == "th" for cell in shown[0]["c"]) else 0
        for band in bands(least, _WIDTH):
            wide = columns([most[at] for at in band], [least[at] for at in band], _WIDTH)
            rows_ = [[row[at] for at in band] for row in drawn]
            yield {"t": "table", "wide": wide, "size": size, "heads": heads, "c": rows_}
        if len(shown) < len(rows):
            note = self._say("rows cut", count=len(rows) - len(shown))
            yield {"t": "note", "c": self._text(note)}

    def _cell(self, cell: Any) -> dict[str, Any]:
        raised = any(not _is(node, "cite") for node in cell["c"] if node != " ")
        head = cell["t"] == "th"
        content = self._inline(cell["c"], raised=raised, longest=12, bold=head)
        made = {"align": str(cell.get("align", "left")), **_directed(cell["c"])}
        return {**made, "c": [{"t": "strong", "c": content}] if head else content}

    # --- Within a paragraph

    def _inline(
        self,
        nodes: Iterable[Node],
        *,
        raised: bool = True,
        longest: int = 31,
        leans: bool = False,
        bold: bool = False,
    ) -> list[Any]:
        """Inline nodes. A citation stands close to what it is for."""
        listed = list(nodes)
        out: list[Any] = []
        for at, node in enumerate(listed):
            after = listed[at + 1] if at + 1 < len(listed) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if _is(after, "cite") else node
                out += self._text(text, longest, leans=leans, bold=bold)
            elif node["t"] == "cite":
                out.append(self._cite(int(node["number"]), raised=raised))
            elif node["t"] == "br":
                out.append({"t": "br"})
            elif node["t"] == "math":
                out.append(self._formula({**node, "display": False}, longest))
            else:
                kind = node["t"] if node["t"] in ("strong", "s", "code", "a") else "span"
                inner = self._inline(
                    node.get("c", ()),
                    raised=raised,
                    longest=longest,
                    leans=leans or node["t"] == "em",
                    bold=bold or node["t"] == "strong",
                )
                href = _address(str(node["href"])) if kind == "a" else ""
                out.append(
                    {"t": "span" if kind == "a" and not href else kind, "href": href, "c": inner}
                )
        return out

    def _formula(self, node: Any, longest: int = 31) -> dict[str, Any]:
        tex, display = str(node["c"][0]), bool(node.get("display"))
        found = parsed(tex, display=display)
        if not found or not all(map(drawable, readable(tex))):
            return {"t": "code", "c": self._text(tex, longest)}
        return {"t": "math", "display": display, "c": listed(found), "words": readable(tex)}

    def _cite(self, number: int, *, raised: bool) -> dict[str, Any]:
        start = int(self._sources.get("start", 1)) if self._sources else 0
        leads = bool(self._sources) and start <= number < start + len(self._sources["c"])
        return {"t": "cite", "number": number, "leads": leads, "raised": raised}

    def _text(
        self,
        text: str,
        longest: int = 31,
        *,
        keep: bool = False,
        leans: bool = False,
        bold: bool = False,
    ) -> list[Any]:
        """Text in pieces: what needs another font, what may be parted, what `leans`, what is `bold` for
        want of a font by a stroke alone, and what cannot be drawn."""
        text = _HEAPED.sub(r"\1", seen(text))
        if not keep:
            text = re.sub(" {2,}", " ", text)
        lost = "".join(char for char in sorted(set(text)) if not drawable(char))
        odd = [f"(?P<emoji>{_EMOJI})", f"(?P<mark>[{_SHARED}]+)", f"(?P<long>{_LONG % longest})"]
        if leans:
            odd[2:] = [_LEANING]
        if apart := "".join(char for char in sorted(set(text)) if alone(char)):
            letters = re.escape(apart)
            odd.insert(0, rf"(?P<letters>[\w{letters}]*[{letters}][\w{letters}]*)")
        if bold and (faint := "".join(char for char in sorted(set(text)) if thin(char))):
            odd.insert(0, f"(?P<thin>[{re.escape(faint)}]+)")
        if lost:
            odd.insert(0, f"(?P<lost>[{re.escape(lost)}]+)")
        out: list[Any] = []
        at = 0
        for match in re.finditer("|".join(odd), text):
            piece = self._odd(str(match.lastgroup), match, text)
            if piece is not None:
                out += [text[at : match.start()], *piece]
                at = match.end()
        out.append(text[at:])
        return [piece for piece in out if piece != ""]

    def _odd(self, kind: str, match: re.Match[str], text: str) -> list[Any] | None:
        words = match[0]
        if kind == "lost":
            return [{"t": "lost", "c": [f"[{name}]"]} for name in self._names(words)]
        if kind in ("emoji", "letters", "thin"):
            return [{"t": kind, "c": [words]}]
        if kind == "lean":
            return [{"t": "lean", "c": [words]}]
        if kind == "long":
            return list(_parted(words))
        if _is_western(text, match.start(), match.end()) == self._western:
            return None
        return [{"t": "mark", "c": [words]}]

    def _names(self, letters: str) -> Iterator[str]:
        """What letters are: a script once for all of its own, else the number of each."""
        for own, group in groupby(letters, key=script):
            locale = Locale(self._told.language)
            known = "" if own in _UNNAMED else locale.scripts.get(own, "")
            for name in [known] if known else [f"U+{ord(char):04X}" for char in group]:
                self._lost.setdefault(name)
                yield name


_UNNAMED = ("Hani", "Zyyy", "Zinh", "Zzzz")  # Han and signs are told one by one


def _parted(word: str) -> Iterator[Any]:
    """A long word with places where a line may end: behind signs, else anywhere."""
    for at, part in enumerate(_PARTING.split(word)):
        if at:
            yield {"t": "part"}
        if len(part) <= 24:
            yield part
            continue
        step = 1 if len(part) <= 500 else 10
        for place in range(0, len(part), step):
            if place:
                yield {"t": "part"}
            yield part[place : place + step]


def _is_western(text: str, start: int, end: int) -> bool:
    """Whether a mark that both scripts have stands in Latin text: what is outside of it decides,
    else what is inside."""
    before = text[max(0, start - 40) : start].strip(_NEUTRAL)[-1:]
    after = text[end : end + 40].strip(_NEUTRAL)[:1]
    outer, inner = (before, after) if text[start] in "“‘" else (after, before)
    return not _wide(outer or inner or " ")


def _wide(char: str) -> bool:
    return char >= "\u2e80" and not "\ua4d0" <= char < "\uac00"


def _directed(nodes: Iterable[Node]) -> dict[str, bool]:
    return {"rtl": True} if leftward(nodes) else {}


def _address(url: str) -> str:
    """A web address in ASCII; nothing for any other."""
    safe = url.startswith(("http://", "https://"))
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]-._") if safe else ""


def _is(node: Any, kind: str) -> bool:
    return isinstance(node, dict) and node["t"] == kind


def _is_displayed(node: Node) -> bool:
    return isinstance(node, dict) and bool(node.get("display"))


def _is_inline(node: Node) -> bool:
    return isinstance(node, str) or node["t"] not in _BLOCKS


def _sources(nodes: Iterable[Node]) -> Any:
    """The list of sources, which citations lead to."""
    found = (n for n in nodes if isinstance(n, dict) and n.get("role") == "sources")
    return next(found, None)
