"""Scanned documents, made of text: pages set in a system font, then skewed, blurred and grained.

    python -m tests.scans FOLDER [PAGES]

writes scan.pdf, pictures alone, and what its pages say as scan.json. The Chinese text is that of the
sample documents.
"""

from __future__ import annotations

import io
import json
import random
import sys
from importlib import resources
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
)
SIZE = (1654, 2339)  # A4 at 200 dots an inch
LETTERS, LEADING, MARGIN, COLUMNS = 30, 44, 130, 46  # pixels; characters of a line
SKEW, BLUR, GRAIN = 1.2, 1.1, 14  # degrees at most; radius in pixels; levels of grey


def font() -> str:
    """A font with Chinese characters; "" if there is none."""
    return next((path for path in FONTS if Path(path).is_file()), "")


def lacking() -> str:
    """Why no scan can be made here; "" if one can."""
    return "" if font() else "no font with Chinese characters: install fonts-noto-cjk"


def texts(pages: int) -> list[str]:
    """What the pages say: two sample documents on each."""
    folder = resources.files("research") / "data" / "library"
    files = sorted(f.name for f in folder.iterdir() if f.name.startswith("zh-"))
    said = [(folder / name).read_text(encoding="utf-8") for name in files]
    bodies = [text.split("---\n", 2)[-1] for text in said]
    lines = [[line.strip("#*- ") for line in body.split("\n") if line.strip()] for body in bodies]
    return ["\n".join([*lines[2 * n], *lines[2 * n + 1]]) for n in range(pages)]


def page(text: str, seed: int = 0) -> Image.Image:
    """A text as the picture of a page."""
    chance = random.Random(seed)
    face = ImageFont.truetype(font(), LETTERS)
    sheet = Image.new("L", SIZE, 246)
    pen = ImageDraw.Draw(sheet)
    down = MARGIN
    for line in text.split("\n"):
        for at in range(0, len(line), COLUMNS):
            pen.text((MARGIN, down), line[at : at + COLUMNS], font=face, fill=30)
            down += LEADING
    assert down < SIZE[1], "too much text for a page"
    angle = chance.choice((-1, 1)) * chance.uniform(0.6, 1) * SKEW
    sheet = sheet.rotate(angle, Image.Resampling.BICUBIC, fillcolor=246)
    sheet = sheet.filter(ImageFilter.GaussianBlur(BLUR))
    noise = Image.frombytes("L", SIZE, chance.randbytes(SIZE[0] * SIZE[1]))
    return Image.blend(sheet, noise, GRAIN / 255)


def pdf(pictures: list[Image.Image]) -> bytes:
    """Pictures as the pages of a PDF without text."""
    out = io.BytesIO()
    first, *others = pictures
    first.save(out, "PDF", save_all=True, append_images=others, resolution=200, quality=60)
    return out.getvalue()


def main() -> None:
    folder, pages = Path(sys.argv[1]), int((sys.argv[2:] or ["10"])[0])
    said = texts(pages)
    (folder / "scan.pdf").write_bytes(pdf([page(text, n) for n, text in enumerate(said)]))
    (folder / "scan.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
