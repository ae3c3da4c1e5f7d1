"""Makes the fonts that printed reports are set in: research/data/fonts/*.ttf.

Run by hand, where a font is to be made anew. Needs fontTools, Debian's packages fonts-noto-cjk,
fonts-noto-core, fonts-dejavu-core and unicode-data, and the file NotoEmoji_400Regular.ttf of the npm
package @expo-google-fonts/noto-emoji, whose path is the one argument.

The Han are those of the Table of General Standard Chinese Characters (8,105), of the IRG's
International Ideographs Core (9,810), of GB 2312, of level 1 of Big5 and of JIS X 0208, and all of
the font beyond U+20000, which are mostly for names; the Hangul are those of KS X 1001. Outlines become
quadratic, as TrueType wants them; hints are left out, and so is what shapes letters where a script
does without.
"""

from __future__ import annotations

import bz2
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection, TTFont, newTable

FONTS = Path(__file__).resolve().parents[2] / "research" / "data" / "fonts"
SYSTEM = Path("/usr/share/fonts")
UNIHAN = Path("/usr/share/unicode")
ERROR = 1.0  # how far a curve may stray: thousandths of the type size

LATIN = ((0x20, 0x58F), (0x1D00, 0x1DBF), (0x1E00, 0x1FFF))
GREEK = (0x370, 0x3FF)  # whole words of it, for Noto Sans CJK has no accents
SIGNS = ((0x2000, 0x2BFF), (0x2E00, 0x2E7F), (0xFFFC, 0xFFFE))
EAST = ((0x2E80, 0x33FF), (0xFE10, 0xFE6F), (0xFF00, 0xFFEF), (0x1F100, 0x1F2FF))
LETTERS = ((0x1D400, 0x1D7FF),)
PICTURES = ((0x2000, 0x3300), (0x1F000, 0x1FAFF))
RARE = ((0x20000, 0x3FFFF),)
# Scripts whose letters take shapes, each in a font of its own: its block, with the marks that join.
SHAPED = {
    "arabic": (
        (0x600, 0x6FF),
        (0x750, 0x77F),
        (0xFB50, 0xFDFF),
        (0xFE70, 0xFEFC),
        (0x200C, 0x200F),
    ),
    "hebrew": ((0x590, 0x5FF), (0xFB1D, 0xFB4F), (0x200C, 0x200F)),
    "thai": ((0xE00, 0xE7F), (0x200C, 0x200D), (0x25CC, 0x25CC)),
    "devanagari": ((0x900, 0x97F), (0xA8E0, 0xA8FF), (0x200C, 0x200D), (0x25CC, 0x25CC)),
}


def within(*ranges: tuple[int, int]) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}


def decoded(pairs: Iterable[tuple[int, int]], encoding: str) -> Iterator[int]:
    for lead, trail in pairs:
        try:
            yield ord(bytes((lead, trail)).decode(encoding))
        except (UnicodeDecodeError, TypeError):
            continue


def listed(name: str, key: str) -> set[int]:
    """The characters that have a property of the Unihan database."""
    text = bz2.decompress((UNIHAN / f"{name}.txt.bz2").read_bytes()).decode("utf-8")
    return {int(code, 16) for code in re.findall(rf"^U\+([0-9A-F]+)\t{key}\t", text, re.M)}


def common() -> set[int]:
    """The 3,755 Han of level 1 of GB 2312."""
    return set(decoded(((a, b) for a in range(0xB0, 0xD8) for b in range(0xA1, 0xFF)), "gb2312"))


def han() -> set[int]:
    gb = decoded(((a, b) for a in range(0xB0, 0xF8) for b in range(0xA1, 0xFF)), "gb2312")
    big5 = decoded(((a, b) for a in range(0xA4, 0xC7) for b in range(0x40, 0xFF)), "big5")
    jis = decoded(((a, b) for a in range(0xB0, 0xD0) for b in range(0xA1, 0xFF)), "euc_jp")
    tables = listed("Unihan_OtherMappings", "kTGH") | listed("Unihan_IRGSources", "kIICore")
    return tables | set(gb) | set(big5) | set(jis)


def hangul() -> set[int]:
    """The 2,350 syllables of KS X 1001."""
    return set(decoded(((a, b) for a in range(0xB0, 0xC9) for b in range(0xA1, 0xFF)), "euc_kr"))


def collected(file: str, family: str) -> TTFont:
    collection = TTCollection(SYSTEM / "opentype" / "noto" / file, lazy=True)
    return next(font for font in collection.fonts if font["name"].getDebugName(1) == family)


def cut(font: TTFont, codes: set[int], *, shapes: bool = False) -> TTFont:
    """The font with these characters alone, and with what `shapes` them."""
    shaping = ["GSUB", "GPOS", "GDEF", "BASE"]
    options = Options(
        layout_features=["*"] if shapes else [], hinting=False, notdef_outline=True,
        glyph_names=False, name_IDs=[0, 1, 2, 4, 5, 6, 13, 14], name_languages=[0x409],
        recalc_timestamp=False,
        drop_tables=["vhea", "vmtx", "VORG", "DSIG", "STAT", "MATH", *([] if shapes else shaping)],
    )  # fmt: skip
    cutter = Subsetter(options)
    cutter.populate(unicodes=codes & set(font.getBestCmap()))
    cutter.subset(font)
    return font


def quadratic(font: TTFont) -> TTFont:
    """The same font with the outlines of TrueType."""
    glyphs, order = font.getGlyphSet(), font.getGlyphOrder()
    drawn: dict[str, Any] = {}
    for name in order:
        pen = TTGlyphPen(glyphs)
        glyphs[name].draw(Cu2QuPen(pen, ERROR, reverse_direction=True))
        drawn[name] = pen.glyph()
    font["loca"] = newTable("loca")
    font["glyf"] = glyf = newTable("glyf")
    glyf.glyphOrder, glyf.glyphs = order, drawn
    font["hmtx"].metrics = {
        name: (font["hmtx"].metrics[name][0], getattr(glyph, "xMin", 0) or 0) for name, glyph in _bounded(drawn, glyf)
    }
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    for field in (
        "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs",
        "maxStackElements", "maxSizeOfInstructions", "maxPoints", "maxContours",
        "maxCompositePoints", "maxCompositeContours", "maxComponentElements", "maxComponentDepth",
    ):  # fmt: skip
        setattr(maxp, field, 0)
    maxp.maxZones = 1
    font["post"].formatType = 3.0
    del font["CFF "]
    font.sfntVersion = "\0\1\0\0"
    return font


def _bounded(drawn: dict[str, Any], glyf: Any) -> Iterator[tuple[str, Any]]:
    for name, glyph in drawn.items():
        glyph.recalcBounds(glyf)
        yield name, glyph


def save(font: TTFont, name: str) -> None:
    font.recalcTimestamp = False
    font.save(FONTS / f"{name}.ttf")
    size = (FONTS / f"{name}.ttf").stat().st_size
    print(f"{name}: {len(font.getBestCmap()):,} characters, {size:,} bytes", flush=True)


def main(emoji: str) -> None:
    latin, signs, east = within(*LATIN), within(*SIGNS), within(*EAST)
    for weight, name in (("Regular", "western"), ("Bold", "western-bold")):
        western = collected(f"NotoSansCJK-{weight}.ttc", "Noto Sans CJK KR")
        save(quadratic(cut(western, {ord(char) for char in "“”‘’—…·"})), name)
    mono = collected("NotoSansCJK-Regular.ttc", "Noto Sans Mono CJK SC")
    save(quadratic(cut(mono, latin | within((0x2000, 0x22FF)))), "mono")
    joined = within(*PICTURES, (0x30, 0x39), (0x200D, 0x200D), (0x20E3, 0x20E3), (0xE0020, 0xE007F))
    pictures = cut(TTFont(emoji), joined | {ord("#"), ord("*"), 0xFE0F}, shapes=True)
    save(pictures, "emoji")
    noto = SYSTEM / "truetype" / "noto"
    for name, blocks in SHAPED.items():
        file = noto / f"NotoSans{name.title()}-Regular.ttf"
        save(cut(TTFont(file), within(*blocks), shapes=True), name)
    bold = collected("NotoSansCJK-Bold.ttc", "Noto Sans CJK SC")
    kana = within((0x3000, 0x30FF), (0xFF00, 0xFFEF))
    save(quadratic(cut(bold, latin | signs | kana | common())), "bold")
    regular = quadratic(
        cut(
            collected("NotoSansCJK-Regular.ttc", "Noto Sans CJK SC"),
            latin | signs | east | han() | hangul() | within(*RARE),
        )
    )
    save(regular, "regular")
    here = set(regular.getBestCmap()) | set(pictures.getBestCmap())
    dejavu = TTFont(SYSTEM / "truetype" / "dejavu" / "DejaVuSans.ttf")
    save(cut(dejavu, ((latin | signs) - here) | within(GREEK)), "symbols")
    maths = TTFont(noto / "NotoSansMath-Regular.ttf")
    save(cut(maths, within(*LETTERS) | (signs - here - set(dejavu.getBestCmap()))), "maths")


if __name__ == "__main__":
    main(sys.argv[1])
