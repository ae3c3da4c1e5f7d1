"""The fonts that reports are set in. They ship with the program: no machine needs fonts of its own.

Knows which font draws a character, and how wide. A character that none of them has is drawn as a box
of the first; its place is kept, so that a copy of the text still holds it. Knows no layout.

`Embedded` puts a font into a PDF as PDF 32000-1:2008 describes in 9.7.4: two bytes for a character,
the glyphs that are used, and a table that leads back to Unicode. reportlab's own fonts stop at
U+FFFF and lose what they cannot draw.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from reportlab.pdfbase import pdfdoc, pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

FOLDER = Path(__file__).resolve().parent.parent / "data" / "fonts"
_PREFIX = "Sightline-"
_LAST = 0xFFFF  # the highest number of two bytes
# What draws what, in this order.
_PLAIN = ("regular", "symbols", "emoji", "maths")
_FACES: dict[str, tuple[str, ...]] = {
    "plain": _PLAIN,
    "bold": ("bold", *_PLAIN),
    "mono": ("mono", *_PLAIN),
    "western": ("western", *_PLAIN),  # quotation marks as wide as Latin has them
    "western bold": ("western-bold", "bold", *_PLAIN),
}
# Controls and what only steers the drawing: joiners, directions, variants of pictures.
_UNSEEN = re.compile(
    "[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\ufdd0-\ufdef\ufffe\uffff]"
)
_SPACES = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u1680\u2028\u2029]")


class Drawn(NamedTuple):
    """How a character is drawn: the font, its width in thousandths of the size, whether the font is
    bold only by a stroke around its glyphs, and whether it is a box in place of the character."""

    font: str
    width: float
    stroked: bool
    boxed: bool


def seen(text: str) -> str:
    """Text as it is drawn: composed, with plain spaces, without what cannot be seen."""
    text = _UNSEEN.sub("", _SPACES.sub(" ", text))
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


class Embedded(TTFont):  # type: ignore[misc]
    """A font whose characters are numbered as they come, apart for each document."""

    def __init__(self, name: str, file: Path) -> None:
        super().__init__(_PREFIX + name, str(file))
        self.shapable = False
        self._numbers: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()

    def splitString(self, text: str, doc: Any, encoding: str = "utf-8") -> list[tuple[int, bytes]]:
        numbers = self._numbers.setdefault(doc, {})
        codes = [numbers.setdefault(char, min(len(numbers) + 1, _LAST)) for char in text]
        return [(0, struct.pack(f">{len(codes)}H", *codes))]

    def getSubsetInternalName(self, subset: int, doc: Any) -> str:
        if self.fontName not in doc.fontMapping:
            doc.fontMapping[self.fontName] = f"/F{len(doc.fontMapping) + 1}"
            doc.delayedFonts.append(self)
        return str(doc.fontMapping[self.fontName])

    def addObjects(self, doc: Any) -> None:
        """The font with the glyphs that the document has used."""
        chars = list(self._numbers.pop(doc, {}))[:_LAST]
        drawn = [code for char in chars if (code := ord(char)) in self.face.charToGlyph]
        name = self.getSubsetInternalName(0, doc)[1:]
        base = f"AAAAAA+{self.face.name.decode('ascii')}"
        descended = pdfdoc.PDFDictionary(
            {
                "Type": pdfdoc.PDFName("Font"),
                "Subtype": pdfdoc.PDFName("CIDFontType2"),
                "BaseFont": pdfdoc.PDFName(base),
                "CIDSystemInfo": pdfdoc.PDFDictionary(
                    {
                        "Registry": pdfdoc.PDFString("Adobe"),
                        "Ordering": pdfdoc.PDFString("Identity"),
                        "Supplement": 0,
                    }
                ),
                "FontDescriptor": self.face.addSubsetObjects(doc, base, drawn),
                "DW": round(self.face.defaultWidth),
                "W": pdfdoc.PDFArray([1, pdfdoc.PDFArray([round(self.width(c)) for c in chars])]),
                "CIDToGIDMap": _stream(doc, self._glyphs(chars), f"glyphs:{base}"),
            }
        )
        font = pdfdoc.PDFDictionary(
            {
                "Type": pdfdoc.PDFName("Font"),
                "Subtype": pdfdoc.PDFName("Type0"),
                "BaseFont": pdfdoc.PDFName(base),
                "Encoding": pdfdoc.PDFName("Identity-H"),
                "DescendantFonts": pdfdoc.PDFArray([doc.Reference(descended, f"descended:{base}")]),
                "ToUnicode": _stream(doc, _to_unicode(chars), f"unicode:{base}"),
            }
        )
        doc.idToObject["BasicFonts"].dict[name] = doc.Reference(font, f"font:{base}")

    def width(self, char: str) -> float:
        return float(self.face.charWidths.get(ord(char), self.face.defaultWidth))

    def _glyphs(self, chars: Iterable[str]) -> bytes:
        """The place of each character's glyph in the font as it is cut down: each glyph once, in
        the order of the characters, after that of a missing one."""
        places = {0: 0}
        found = (self.face.charToGlyph.get(ord(char), 0) for char in chars)
        numbers = [0, *(places.setdefault(glyph, len(places)) for glyph in found)]
        return struct.pack(f">{len(numbers)}H", *numbers)


def _stream(doc: Any, content: bytes, name: str) -> Any:
    stream = pdfdoc.PDFStream(content=content)
    stream.filters = [pdfdoc.PDFZCompress]
    return doc.Reference(stream, name)


def _to_unicode(chars: list[str]) -> bytes:
    """A CMap from the numbers of characters to UTF-16; a section of it holds at most 100."""
    lines = [
        f"<{number:04X}> <{char.encode('utf-16-be').hex().upper()}>"
        for number, char in enumerate(chars, 1)
    ]
    sections = [lines[at : at + 100] for at in range(0, len(lines), 100)]
    mapped = [
        "\n".join([f"{len(part)} beginbfchar", *part, "endbfchar"]) for part in sections if part
    ]
    return "\n".join([_CMAP_HEAD, *mapped, _CMAP_TAIL]).encode("ascii")


_CMAP_HEAD = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange"""
_CMAP_TAIL = "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend"


@cache
def _loaded(name: str) -> Embedded:
    """A font of the folder: read once, for reading takes longer than a page."""
    font = Embedded(name, FOLDER / f"{name}.ttf")
    pdfmetrics.registerFont(font)
    return font


@lru_cache(maxsize=1 << 16)
def drawn(char: str, face: str) -> Drawn:
    """How a face draws a character: plain, bold, mono, or the marks of "western", "western bold"."""
    code = ord(char)
    for name in _FACES[face]:
        font = _loaded(name)
        if code in font.face.charToGlyph:
            stroked = face.endswith("bold") and not name.endswith("bold") and name != "emoji"
            return Drawn(font.fontName, font.width(char), stroked, boxed=False)
    font = _loaded("regular")
    return Drawn(font.fontName, font.width(char), stroked=False, boxed=not char.isspace())
