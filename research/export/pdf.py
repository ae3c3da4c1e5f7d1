"""A report as a PDF on A4, drawn from its document tree with embedded fonts.

The template `report.typ` gets the tree as JSON, with column widths for tables and with text split
where it needs another font. Letters that no font can draw are replaced by the name of their script,
and a line at the end says so. The file is tagged for screen readers, and the same report gives the
same bytes. Reads and fetches nothing but fonts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote

from babel import Locale
from fontTools.unicodedata import script

from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Place, Report
from research.export.column_widths import fit_columns, measure_columns, split_into_bands
from research.export.document import (
    ReportDocument,
    build_document,
    has_tag,
    is_displayed,
    is_right_to_left,
    plain_text,
    source_number_range,
)
from research.export.fonts import (
    ACCENTED_LETTERS_FONT,
    EMOJI_FONT,
    MONO_FONT,
    TEXT_FONTS,
    WESTERN_FONT,
    is_drawable,
    needs_accents_font,
    needs_stroke,
    visible_text,
)
from research.export.formula_tree import formula_text, parse_formula, to_json_lists
from research.export.options import DEFAULT_OPTIONS, ExportOptions
from research.export.report_texts import report_translator
from research.export.sketch_map import describe_map, places_on_map, sketch_svg
from research.export.tree_markdown import is_inline
from research.export.typesetting import compile_template

MAX_TABLE_ROWS = 1_000  # rows of a table on paper; a note counts the others
MAX_TABLE_CELLS = 12_000
_TEXT_WIDTH_POINTS = 467.0  # points between the margins of A4
_MIN_COLUMN_POINTS, _MAX_WORD_POINTS = 26.0, 90.0  # least width, and limit for the longest word
_CELL_PADDING_POINTS = 11.0  # points beside the text of a cell
_MAX_NESTING = 8  # lists and quotations; deeper ones are set at this depth
_MAX_NAMED_SCRIPTS = 12  # listed in the note on undrawable letters

_EMOJI = (
    "[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3"
    "|[\u203c-\u3299\U0001f000-\U0001faff](?:[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
    "|\u200d[\u2190-\u3299\U0001f000-\U0001faff])+"
)
# A word in which no line can break. Scripts with joined letters are left whole.
_LONG_WORD = r"[!-~\u00a1-\u058f\u1e00-\u1fff]{%d,}"
# Pieces slanted as a whole, as no font has italics: a word of unjoined letters, or one Han.
_SLANTED = r"(?P<slanted>[0-9A-Za-z\u00aa-\u052f\u1e00-\u1fff]{1,24}|[\u3400-\u9fff\uac00-\ud7a3])"
_STACKED_MARKS = re.compile(  # setting letters with more marks takes minutes
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{12})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+"
)
_BREAK_POINT = re.compile(r"(?<=[/?&=._\-%#+,;:@~|])(?=[^/?&=._\-%#+,;:@~|])")
_SHARED_PUNCTUATION = "“”‘’—…·"  # used in Chinese and Latin text, with different widths
_NEUTRAL_CHARS = " “”‘’—…·0123456789()[]"


def report_pdf(report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> bytes:
    """Return the whole report as a PDF."""
    return document_pdf(build_document(report, cited, options), places_on_map(report, cited))


def document_pdf(document: ReportDocument, places: Sequence[tuple[int, Place]] = ()) -> bytes:
    """Return a document as a PDF, with a map of the places, each with its number, 0 for none."""
    return compile_template("report.typ", _TemplateData(document, places).build(), timestamp=document.timestamp)


class _TemplateData:
    """Builds the template data of a document."""

    def __init__(self, document: ReportDocument, places: Sequence[tuple[int, Place]]) -> None:
        self._document, self._places = document, places
        self._translate: Translator = report_translator(document.language)
        self._is_western = document.language != "zh"  # default width of shared punctuation
        self._source_numbers = source_number_range(document.nodes)
        self._headings: dict[str, list[Any]] = {}
        self._undrawable: dict[str, None] = {}  # names of undrawable scripts and characters, in order

    def build(self) -> dict[str, Any]:
        """Return the data of the template `report.typ`."""
        title = visible_text(self._document.title).strip() or self._translate("untitled")
        nodes = list(self._document.nodes)
        if nodes and has_tag(nodes[0], "h") and nodes[0]["level"] == 1:  # type: ignore[index]
            nodes = nodes[1:]  # the first page shows it as its title
        body = self._build_blocks(nodes, 0)
        marks = TEXT_FONTS if self._document.language == "zh" else (WESTERN_FONT, *TEXT_FONTS)
        return {
            "language": self._document.language,
            "title": title,
            "title_nodes": self._split_text(title, is_bold=True),
            "author": visible_text(self._document.author).strip() or "Sightline",
            "byline": f"Sightline · {self._document.timestamp:%Y-%m-%d %H:%M} UTC",
            "contents": self._translate("contents"),
            "fonts": {
                "plain": marks,
                "mono": (MONO_FONT, *marks),
                "emoji": (EMOJI_FONT, *marks),
                "letters": (ACCENTED_LETTERS_FONT, *marks),
                "marks": (TEXT_FONTS[0],) if self._is_western else (WESTERN_FONT,),
            },
            "headings": self._headings,
            "nodes": [*body, *self._undrawable_note()],
        }

    def _undrawable_note(self) -> Iterator[dict[str, Any]]:
        """Yield a note on the letters that no font can draw."""
        if self._undrawable:
            names = [*self._undrawable][:_MAX_NAMED_SCRIPTS]
            text = self._translate("comma").join(names) + ("…" if len(names) < len(self._undrawable) else "")
            yield {"t": "note", "c": self._split_text(self._translate("lost", what=text))}

    # --- Blocks

    def _build_blocks(self, nodes: Sequence[Node], depth: int) -> list[Any]:
        """Build blocks in order; inline nodes between them become paragraphs."""
        out: list[Any] = []
        for inline, group in groupby(nodes, key=is_inline):
            if inline:
                out += self._build_paragraphs(list(group))
            else:
                out += (block for node in group for block in self._build_block(node, depth))
        return out

    def _build_paragraphs(self, nodes: Sequence[Node]) -> Iterator[dict[str, Any]]:
        """Build a paragraph, split around displayed formulas."""
        for displayed, group in groupby(nodes, key=is_displayed):
            part = list(group)
            if displayed:
                yield from (self._build_formula(node) for node in part)
            elif any(not isinstance(node, str) or node.strip() for node in part):
                yield {"t": "p", "c": self._build_inline(part), **_direction_data(part)}

    def _build_block(self, node: Any, depth: int) -> Iterator[dict[str, Any]]:
        kind, content = node["t"], node.get("c", [])
        if kind == "h":
            yield self._build_heading(node)
            if node["level"] == 2 and plain_text(content) == self._translate("places"):
                yield from self._build_map()
        elif kind in ("ul", "ol") and depth < _MAX_NESTING:
            yield self._build_list(node, depth)
        elif kind == "table":
            yield from self._build_tables(node)
        elif kind == "pre":
            text = plain_text(content).rstrip("\n").expandtabs(4)
            lines = [self._split_text(line, keep_spaces=True) for line in text.split("\n")]
            yield {"t": "pre", "c": lines}
        elif kind == "blockquote" and depth < _MAX_NESTING:
            yield {"t": "blockquote", "c": self._build_blocks(content, depth + 1)}
        elif kind == "hr":
            yield {"t": "hr"}
        elif kind == "p":
            yield from self._build_paragraphs(content)
        else:
            yield from self._build_blocks(content, depth)

    def _build_heading(self, node: Any) -> dict[str, Any]:
        """Build a heading; its name in contents and outline has no citations."""
        key = f"h{len(self._headings)}"
        self._headings[key] = self._build_inline(node["c"], is_bold=True)
        name = visible_text(plain_text(item for item in node["c"] if not has_tag(item, "cite"))).strip()
        level = min(max(int(node["level"]) - 1, 1), 5)
        return {"t": "h", "level": level, "id": key, "name": name or self._translate("untitled")}

    def _build_map(self) -> Iterator[dict[str, Any]]:
        if self._places:
            numbers, shown = zip(*self._places, strict=True)
            svg = sketch_svg(shown, self._document.language, numbers=numbers, for_print=True)
            yield {"t": "picture", "svg": svg, "words": describe_map(shown, self._document.language)}

    def _build_list(self, node: Any, depth: int) -> dict[str, Any]:
        """Build a list. Citations link to the items of the list of sources."""
        items = [item for item in node["c"] if isinstance(item, dict)]
        block: dict[str, Any] = {"t": node["t"], "c": [self._build_blocks(item["c"], depth + 1) for item in items]}
        if node["t"] == "ol":
            block["start"] = int(node.get("start", 1))
            block["sources"] = node.get("role") == "sources"
        return block

    # --- Tables

    def _build_tables(self, node: Any) -> Iterator[dict[str, Any]]:
        rows = [row for row in node["c"] if isinstance(row, dict)]
        column_count = max((len(row["c"]) for row in rows), default=0)
        if not column_count:
            return
        shown = rows[: max(2, min(MAX_TABLE_ROWS, MAX_TABLE_CELLS // column_count))]
        cells = [[*row["c"], *({"t": "td", "c": []} for _ in range(column_count - len(row["c"])))] for row in shown]
        size = 8.8 if column_count <= 7 else 7.8
        preferred_ems, min_ems = measure_columns(cells[:200], column_count)
        min_widths = [
            max(_MIN_COLUMN_POINTS, min(ems * size + _CELL_PADDING_POINTS, _MAX_WORD_POINTS)) for ems in min_ems
        ]
        preferred_widths = [
            max(ems * size + _CELL_PADDING_POINTS, low) for ems, low in zip(preferred_ems, min_widths, strict=True)
        ]
        drawn = [[self._build_cell(cell) for cell in row] for row in cells]
        header_rows = 1 if all(cell["t"] == "th" for cell in shown[0]["c"]) else 0
        for band in split_into_bands(min_widths, _TEXT_WIDTH_POINTS):
            widths = fit_columns(
                [preferred_widths[at] for at in band], [min_widths[at] for at in band], _TEXT_WIDTH_POINTS
            )
            band_rows = [[row[at] for at in band] for row in drawn]
            yield {"t": "table", "widths": widths, "size": size, "header_rows": header_rows, "c": band_rows}
        if len(shown) < len(rows):
            note = self._translate("rows cut", count=len(rows) - len(shown))
            yield {"t": "note", "c": self._split_text(note)}

    def _build_cell(self, cell: Any) -> dict[str, Any]:
        has_text = any(not has_tag(node, "cite") for node in cell["c"] if node != " ")
        head = cell["t"] == "th"
        content = self._build_inline(cell["c"], as_superscript=has_text, max_word_chars=12, is_bold=head)
        attributes = {"align": str(cell.get("align", "left")), **_direction_data(cell["c"])}
        return {**attributes, "c": [{"t": "strong", "c": content}] if head else content}

    # --- Within a paragraph

    def _build_inline(
        self,
        nodes: Iterable[Node],
        *,
        as_superscript: bool = True,
        max_word_chars: int = 31,
        is_slanted: bool = False,
        is_bold: bool = False,
    ) -> list[Any]:
        """Build inline nodes. A space before a citation is dropped."""
        listed = list(nodes)
        out: list[Any] = []
        for at, node in enumerate(listed):
            after = listed[at + 1] if at + 1 < len(listed) else None
            if isinstance(node, str):
                text = node.rstrip(" ") if has_tag(after, "cite") else node
                out += self._split_text(text, max_word_chars, is_slanted=is_slanted, is_bold=is_bold)
            elif node["t"] == "cite":
                out.append(self._build_citation(int(node["number"]), as_superscript=as_superscript))
            elif node["t"] == "br":
                out.append({"t": "br"})
            elif node["t"] == "math":
                out.append(self._build_formula({**node, "display": False}, max_word_chars))
            else:
                kind = node["t"] if node["t"] in ("strong", "s", "code", "a") else "span"
                inner = self._build_inline(
                    node.get("c", ()),
                    as_superscript=as_superscript,
                    max_word_chars=max_word_chars,
                    is_slanted=is_slanted or node["t"] == "em",
                    is_bold=is_bold or node["t"] == "strong",
                )
                href = _ascii_address(str(node["href"])) if kind == "a" else ""
                out.append({"t": "span" if kind == "a" and not href else kind, "href": href, "c": inner})
        return out

    def _build_formula(self, node: Any, max_word_chars: int = 31) -> dict[str, Any]:
        tex, display = str(node["c"][0]), bool(node.get("display"))
        formula = parse_formula(tex, is_display=display)
        if not formula or not all(map(is_drawable, formula_text(tex))):
            return {"t": "code", "c": self._split_text(tex, max_word_chars)}
        return {"t": "math", "display": display, "c": to_json_lists(formula), "words": formula_text(tex)}

    def _build_citation(self, number: int, *, as_superscript: bool) -> dict[str, Any]:
        is_listed = number in self._source_numbers
        return {"t": "cite", "number": number, "is_listed": is_listed, "superscript": as_superscript}

    def _split_text(
        self,
        text: str,
        max_word_chars: int = 31,
        *,
        keep_spaces: bool = False,
        is_slanted: bool = False,
        is_bold: bool = False,
    ) -> list[Any]:
        """Split text into pieces with the same treatment.

        Pieces need another font (`emoji`, `letters`, `mark`), points at which a long word may break
        (`break`), a slant (`slanted`), a stroke because no bold font has them (`stroked`), or a
        substitute because no font can draw them (`undrawable`).
        """
        text = _STACKED_MARKS.sub(r"\1", visible_text(text))
        if not keep_spaces:
            text = re.sub(" {2,}", " ", text)
        undrawable = "".join(char for char in sorted(set(text)) if not is_drawable(char))
        patterns = [
            f"(?P<emoji>{_EMOJI})",
            f"(?P<mark>[{_SHARED_PUNCTUATION}]+)",
            f"(?P<long>{_LONG_WORD % max_word_chars})",
        ]
        if is_slanted:
            patterns[2:] = [_SLANTED]
        if accented := "".join(char for char in sorted(set(text)) if needs_accents_font(char)):
            letters = re.escape(accented)
            patterns.insert(0, rf"(?P<letters>[\w{letters}]*[{letters}][\w{letters}]*)")
        if is_bold and (stroked := "".join(char for char in sorted(set(text)) if needs_stroke(char))):
            patterns.insert(0, f"(?P<stroked>[{re.escape(stroked)}]+)")
        if undrawable:
            patterns.insert(0, f"(?P<undrawable>[{re.escape(undrawable)}]+)")
        out: list[Any] = []
        at = 0
        for match in re.finditer("|".join(patterns), text):
            piece = self._special_piece(str(match.lastgroup), match, text)
            if piece is not None:
                out += [text[at : match.start()], *piece]
                at = match.end()
        out.append(text[at:])
        return [piece for piece in out if piece != ""]

    def _special_piece(self, kind: str, match: re.Match[str], text: str) -> list[Any] | None:
        """Return the nodes of a piece; None for punctuation of the width that the text has anyway."""
        words = match[0]
        if kind == "undrawable":
            return [{"t": "undrawable", "c": [f"[{name}]"]} for name in self._undrawable_names(words)]
        if kind in ("emoji", "letters", "stroked", "slanted"):
            return [{"t": kind, "c": [words]}]
        if kind == "long":
            return list(_break_word(words))
        if _is_western(text, match.start(), match.end()) == self._is_western:
            return None
        return [{"t": "mark", "c": [words]}]

    def _undrawable_names(self, letters: str) -> Iterator[str]:
        """Yield the script of each run of letters, or the code points if it has no name."""
        for script_code, group in groupby(letters, key=script):
            locale = Locale(self._document.language)
            script_name = "" if script_code in _UNNAMED_SCRIPTS else locale.scripts.get(script_code, "")
            for name in [script_name] if script_name else [f"U+{ord(char):04X}" for char in group]:
                self._undrawable.setdefault(name)
                yield name


_UNNAMED_SCRIPTS = ("Hani", "Zyyy", "Zinh", "Zzzz")  # Han and signs are listed one by one


def _break_word(word: str) -> Iterator[Any]:
    """Yield a long word with break points, after signs or else anywhere."""
    for at, part in enumerate(_BREAK_POINT.split(word)):
        if at:
            yield {"t": "break"}
        if len(part) <= 24:
            yield part
            continue
        step = 1 if len(part) <= 500 else 10
        for start in range(0, len(part), step):
            if start:
                yield {"t": "break"}
            yield part[start : start + step]


def _is_western(text: str, start: int, end: int) -> bool:
    """Return whether punctuation that both scripts use is within Latin text.

    The character outside of a quotation decides, else the one inside.
    """
    before = text[max(0, start - 40) : start].strip(_NEUTRAL_CHARS)[-1:]
    after = text[end : end + 40].strip(_NEUTRAL_CHARS)[:1]
    outer, inner = (before, after) if text[start] in "“‘" else (after, before)
    return not _is_wide(outer or inner or " ")


def _is_wide(char: str) -> bool:
    return char >= "\u2e80" and not "\ua4d0" <= char < "\uac00"


def _direction_data(nodes: Iterable[Node]) -> dict[str, bool]:
    return {"rtl": True} if is_right_to_left(nodes) else {}


def _ascii_address(url: str) -> str:
    """Return a web address in ASCII, "" for any other address."""
    is_web_address = url.startswith(("http://", "https://"))
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]-._") if is_web_address else ""
