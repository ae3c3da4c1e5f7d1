"""Small PDF files for tests, written operator by operator: text is placed line by line, as programs do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.sources.library.test_hostile_documents import pdf, stream

_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
_CHINESE = (
    b"<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[<</Type/Font"
    b"/Subtype/CIDFontType0/BaseFont/STSong-Light/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 4>>"
    b"/DW 1000/FontDescriptor<</Type/FontDescriptor/FontName/STSong-Light/Flags 4/FontBBox[0 -120 1000 880]"
    b"/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 880/StemV 93>>>>]>>"
)
Line = tuple[float, float, str]
"""Distance from the left and from the top of the page, in points, and the text."""


def show(lines: Iterable[Line], size: float = 10.0) -> bytes:
    """Return the operators that show lines of Latin text (F1) or Chinese text (F2)."""
    out = []
    for x, y, text in lines:
        is_latin = text.isascii()
        shown = b"(" + text.encode() + b")" if is_latin else b"<" + text.encode("utf-16-be").hex().encode() + b">"
        out.append(b"BT /F%d %g Tf 1 0 0 1 %g %g Tm %b Tj ET\n" % (1 if is_latin else 2, size, x, 842 - y, shown))
    return b"".join(out)


def make_pdf(*pages: bytes, rotation: int = 0) -> bytes:
    """Return a PDF whose A4 pages have these operators."""
    kids = b" ".join(b"%d 0 R" % (5 + 2 * index) for index in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, len(pages)), _FONT, _CHINESE,
    ]  # fmt: skip
    for index, operators in enumerate(pages):
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Rotate %d/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>" % (rotation, 6 + 2 * index),
            stream(operators),
        ]
    return pdf(*objects)


def column(x: float, top: float, texts: Sequence[str], pitch: float = 14.0) -> list[Line]:
    """Return lines of text below each other."""
    return [(x, top + pitch * index, text) for index, text in enumerate(texts)]
