"""Text of Word paragraphs as a reader sees it: fields as results, changes as accepted, nothing hidden.

Source: ISO/IEC 29500-1, 17.3 (paragraphs and runs), 17.13 (changes) and 17.16 (fields).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from lxml import etree

from research.readers.scripts import lowered_text, raised_text
from research.readers.word_math import formula_text

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED_TAGS = {f"{W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "rt")} | {_FALLBACK}
_BREAK_CHARS = {f"{W}br": "\n", f"{W}cr": "\n", f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}noBreakHyphen": "-"}
_NOTE_KINDS = {f"{W}footnoteReference": "footnote", f"{W}endnoteReference": "endnote"}
_NOTE_PREFIXES = {"footnote": "", "endnote": "e"}
_MIN_RAISE = 2  # half-points; LibreOffice lowers a subscript by no more
_MAX_STYLE_DEPTH = 20

# Characters of symbol fonts, which have codes of their own, by the code in the font.
_SYMBOL_RANGES = {
    0x20: " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    0xA0: "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑",
    0xF1: "⟩∫",
}
_SYMBOL_FONTS: dict[str, dict[int, str]] = {
    "symbol": {first + n: char for first, chars in _SYMBOL_RANGES.items() for n, char in enumerate(chars)},
    "wingdings": {
        0x28: "☎", 0x2A: "✉", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x77: "◆",
        0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
        0xFE: "☑",
    },
    "wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"},
}  # fmt: skip
_UNKNOWN_SYMBOL = "\ufffd"


class ParagraphText(NamedTuple):
    """The text of a paragraph, with the contents of its text boxes and its notes, which stand elsewhere on the page."""

    text: str
    boxes: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()


def is_on(element: Any) -> bool:
    """Return True if a property is present and not switched off."""
    return element is not None and element.get(f"{W}val") not in ("0", "false", "off")


class ParagraphReader:
    """Reads paragraphs of one file in their order, as notes are numbered by their first reference."""

    def __init__(self, styles: Any, notes: Mapping[tuple[str, str], Any]) -> None:
        """Take the root of the part `styles`, and the notes by their kind, "footnote" or "endnote", and id."""
        self._styles = {style.get(f"{W}styleId"): style for style in styles.iterchildren(f"{W}style")}
        self._style_properties: dict[str | None, dict[str, str]] = {None: {}}
        self._notes = dict(notes)
        self._note_counts = dict.fromkeys(_NOTE_PREFIXES, 0)

    def read(self, paragraph: Any) -> ParagraphText:
        """Return the text of a paragraph. Superscripts and subscripts have their plain forms; the mark of a
        footnote is [n], of an endnote [en]."""
        pieces = _Pieces()
        boxes: list[Any] = []
        notes: list[str] = []
        open_fields: list[bool] = []  # for each, True until its result begins
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        base = self._properties_of_style(style.get(f"{W}val")) if style is not None else {}
        walker = etree.iterwalk(paragraph, events=("start",))
        for _, node in walker:
            if node.tag in _SKIPPED_TAGS:
                walker.skip_subtree()
            elif node.tag == f"{W}r" and "vanish" in self._run_properties(node, base):
                _follow_fields(node, open_fields)
                walker.skip_subtree()
            elif node.tag == f"{W}txbxContent":
                boxes.append(node)
                walker.skip_subtree()
            elif node.tag == f"{W}fldChar":
                _follow_field(node, open_fields)
            elif any(open_fields[:-1]):
                continue  # the result of a field in the instruction of another
            elif node.tag == f"{W}t":
                properties = self._run_properties(node.getparent(), base)
                pieces.add(_decode_symbols(node.text or "", properties.get("font", "")), properties.get("script", ""))
            elif node.tag == f"{W}sym":
                properties = self._run_properties(node.getparent(), base)
                pieces.add(_symbol(node.get(f"{W}font"), node.get(f"{W}char")), properties.get("script", ""))
            elif node.tag == f"{_MATH}oMath":
                pieces.add(formula_text(node))
                walker.skip_subtree()
            elif node.tag == f"{W}checkBox":
                state = node.find(f"{W}checked")
                pieces.add("☒" if is_on(state if state is not None else node.find(f"{W}default")) else "☐")
            elif node.tag in _NOTE_KINDS:
                mark, note = self._read_note(node, _NOTE_KINDS[node.tag])
                pieces.add(mark)
                notes += [note] if note else []
            else:
                pieces.add(_BREAK_CHARS.get(node.tag, ""))
        return ParagraphText(pieces.join(), tuple(boxes), tuple(notes))

    def _read_note(self, reference: Any, kind: str) -> tuple[str, str]:
        """Return the mark of a note and its text, which begins with the mark."""
        note = self._notes.pop((kind, reference.get(f"{W}id") or ""), None)  # a damaged note may refer to itself
        if note is None:
            return "", ""
        has_own_mark = is_on_attribute(reference.get(f"{W}customMarkFollows"))
        self._note_counts[kind] += not has_own_mark
        mark = "" if has_own_mark else f"[{_NOTE_PREFIXES[kind]}{self._note_counts[kind]}]"
        texts = (self.read(paragraph).text.strip() for paragraph in note.iter(f"{W}p"))
        return f" {mark}" if mark else "", " ".join(filter(None, (mark, *texts)))

    def _run_properties(self, run: Any, base: Mapping[str, str]) -> Mapping[str, str]:
        direct = run.find(f"{W}rPr")
        if direct is None:
            return base
        style = direct.find(f"{W}rStyle")
        properties = {**base, **self._properties_of_style(style.get(f"{W}val") if style is not None else None)}
        return _merge_properties(properties, direct)

    def _properties_of_style(self, style_id: str | None, depth: int = 0) -> dict[str, str]:
        if style_id not in self._style_properties:
            style = self._styles.get(style_id)
            if style is None or depth > _MAX_STYLE_DEPTH:
                return {}
            parent = style.find(f"{W}basedOn")
            inherited = self._properties_of_style(parent.get(f"{W}val"), depth + 1) if parent is not None else {}
            self._style_properties[style_id] = _merge_properties(dict(inherited), style.find(f"{W}rPr"))
        return self._style_properties[style_id]


def is_on_attribute(value: str | None) -> bool:
    return value in ("1", "true", "on")


def _merge_properties(properties: dict[str, str], element: Any) -> dict[str, str]:
    """Add what an element `rPr` states to the inherited properties: "script", "vanish" and "font"."""
    if element is None:
        return properties
    for child in element.iterchildren(f"{W}position", f"{W}vertAlign", f"{W}vanish", f"{W}rFonts"):
        value = child.get(f"{W}val") or ""
        if child.tag == f"{W}rFonts":
            properties["font"] = child.get(f"{W}ascii") or properties.get("font", "")
        elif child.tag == f"{W}vanish":
            if is_on(child):
                properties["vanish"] = "on"
            else:
                properties.pop("vanish", None)
        elif child.tag == f"{W}vertAlign":
            properties["script"] = value if value in ("superscript", "subscript") else ""
        elif re.fullmatch(r"-?\d{1,4}", value) and abs(int(value)) >= _MIN_RAISE:
            properties["script"] = "superscript" if int(value) > 0 else "subscript"
    return properties


def _follow_fields(run: Any, open_fields: list[bool]) -> None:
    for character in run.iterchildren(f"{W}fldChar"):
        _follow_field(character, open_fields)


def _follow_field(character: Any, open_fields: list[bool]) -> None:
    kind = character.get(f"{W}fldCharType")
    if kind == "begin":
        open_fields.append(True)
    elif open_fields and kind == "separate":
        open_fields[-1] = False
    elif open_fields and kind == "end":
        open_fields.pop()


class _Pieces:
    """Pieces of a paragraph; a superscript may consist of several runs."""

    def __init__(self) -> None:
        self._text = ""
        self._pending = ""
        self._script = ""

    def add(self, text: str, script: str = "") -> None:
        if text and script != self._script:
            self._flush()
            self._script = script
        self._pending += text

    def join(self) -> str:
        self._flush()
        return self._text

    def _flush(self) -> None:
        if self._script == "superscript":
            self._pending = raised_text(self._pending, self._text[-20:])
        elif self._script == "subscript" and self._text and not self._text[-1].isspace():
            self._pending = lowered_text(self._pending)
        self._text += self._pending
        self._pending = ""


def _symbol(font: str | None, code: str | None) -> str:
    """Return a character that a symbol font has at a hexadecimal code, U+FFFD if it is unknown."""
    if not code or not re.fullmatch(r"[0-9A-Fa-f]{1,4}", code):
        return _UNKNOWN_SYMBOL
    number = int(code, 16)
    known = _SYMBOL_FONTS.get((font or "").lower())
    if known is not None:
        return known.get(number & 0xFF, _UNKNOWN_SYMBOL)
    return chr(number) if number >= 0x20 and not 0xD800 <= number <= 0xF8FF else _UNKNOWN_SYMBOL


def _decode_symbols(text: str, font: str) -> str:
    """Replace the private characters U+F020 to U+F0FF, by which Word names the codes of symbol fonts."""
    known = _SYMBOL_FONTS.get(font.lower())
    if known is None:
        return text
    return re.sub("[\uf020-\uf0ff]", lambda match: known.get(ord(match[0]) & 0xFF, _UNKNOWN_SYMBOL), text)
