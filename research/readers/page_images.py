"""Pages of original files as pictures in which the words of quotes are marked.

`render_page` runs `render_page_task` in a child process with limits, because files are untrusted. PDF pages
are drawn by PDFium, image files by Pillow. Pictures are WebP, lossless unless that is large: pages of text have
about a sixth of the bytes of PNG.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from research.core.page_views import DEFAULT_WIDTH_PIXELS, MarkBox, PageImage, QuoteMatch, RenderFault
from research.readers.documents import PICTURE_SUFFIXES
from research.readers.pictures import ImageTooLargeError, draw_picture
from research.readers.pool import MB, ParserError, ParserFault, ParserPool, ResourceLimits
from research.readers.quote_positions import CharacterBox, find_quote, fold_text, join_lines

if TYPE_CHECKING:
    import pypdfium2
    from PIL.Image import Image

RENDERED_SUFFIXES = (".pdf", *PICTURE_SUFFIXES)
MAX_WIDTH_PIXELS = 2_400
MAX_PAGE_PIXELS = 6_000_000
MAX_PAGE_CHARS = 200_000  # in which quotes are looked for
MAX_LOSSLESS_BYTES = 400_000
MAX_WAIT_SECONDS = 30.0  # for a free process
_LOSSY_QUALITY = 75
_MARK_COLOUR = (255, 233, 120)
_MARK_EDGE_COLOUR = (190, 130, 0)  # visible on dark pages as well
_MARK_PADDING_PIXELS = 1
_BASE_MEMORY_MB, _MEMORY_FACTOR = 768, 4  # an embedded image of 100 megapixels is unpacked
_BASE_SECONDS, _SECONDS_PER_MB = 15.0, 0.5
_POOL = ParserPool(2)

_RENDER_FAULTS: dict[ParserFault, RenderFault] = {
    "time": "time", "memory": "memory", "busy": "busy", "start": "start", "crash": "damaged",
}  # fmt: skip


def is_rendered(name: str) -> bool:
    """Return True if pages of a file of this name can be drawn."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower() in RENDERED_SUFFIXES


class PageRenderError(Exception):
    """A page could not be drawn."""

    def __init__(self, fault: RenderFault) -> None:
        self.fault: RenderFault = fault
        super().__init__(fault)


def render_page(
    data: bytes,
    name: str,
    page: int,
    quotes: Sequence[str],
    *,
    contexts: Sequence[str] = (),
    width_px: int = DEFAULT_WIDTH_PIXELS,
    paint_marks: bool = False,
) -> PageImage:
    """Draw a page of a file, counted from 1, and find quotes on it.

    The suffix of `name` decides the format. `contexts` are longer texts around each quote, which tell
    which occurrence is meant. A picture is never enlarged.

    Raises:
        PageRenderError: there is no picture of the page.
        ValueError: pages of this format are never drawn; see `is_rendered`.
    """
    if not is_rendered(name):
        raise ValueError(f"Pages of {name!r} cannot be drawn.")
    size_mb = len(data) / MB
    try:
        result = _POOL.call(
            "research.readers.page_images:render_page_task",
            data,
            {
                "name": name,
                "page": page,
                "quotes": list(quotes),
                "contexts": list(contexts) or [""] * len(quotes),
                "width_px": max(1, min(width_px, MAX_WIDTH_PIXELS)),
                "paint_marks": paint_marks,
            },
            limits=ResourceLimits(
                int((_BASE_MEMORY_MB + _MEMORY_FACTOR * size_mb) * MB), _BASE_SECONDS + _SECONDS_PER_MB * size_mb
            ),
            imports=("research.readers.pdfium", "PIL.WebPImagePlugin", "PIL.TiffImagePlugin", "PIL.ImageDraw"),
            max_wait_seconds=MAX_WAIT_SECONDS,
        )
    except ParserError as error:
        raise PageRenderError(_RENDER_FAULTS[error.fault]) from error
    if "fault" in result:
        raise PageRenderError(result["fault"])
    return PageImage(
        page,
        base64.b64decode(result["image"]),
        result["width"],
        result["height"],
        tuple(MarkBox(*box) for box in result["boxes"]),
        tuple(result["found"]),
        paint_marks,
    )


def render_page_task(
    data: bytes,
    progress: object,
    *,
    name: str,
    page: int,
    quotes: list[str],
    contexts: list[str],
    width_px: int,
    paint_marks: bool,
) -> dict[str, Any]:
    """Draw a page as a task of a parser process; return the fields of a `PageImage`, or a fault."""
    try:
        if PurePosixPath(name).suffix.lower() == ".pdf":
            picture, characters, boxes = _draw_pdf_page(data, page, width_px)
        else:
            picture, characters, boxes = _draw_picture(data, page, width_px), "", []
    except PageRenderError as error:
        return {"fault": error.fault}
    folded = fold_text(characters)
    found: list[QuoteMatch] = []
    marks: list[MarkBox] = []
    for index, (quote, context) in enumerate(zip(quotes, contexts, strict=True)):
        match, positions = find_quote(quote, folded, context)
        lines = join_lines(box for at in dict.fromkeys(positions) if (box := boxes[at]) is not None)
        quote_marks = [mark for line in lines if (mark := _to_mark(index, line, picture.size)) is not None]
        found.append(match if quote_marks or match == "no characters" else "none")  # it may be beyond the edge
        marks += quote_marks
    if paint_marks:
        picture = _paint(picture, marks)
    return {
        "image": base64.b64encode(_encode(picture)).decode(),
        "width": picture.width,
        "height": picture.height,
        "boxes": marks,
        "found": found,
    }


def _draw_picture(data: bytes, page: int, width_px: int) -> Image:
    try:
        picture = draw_picture(data, page, MAX_PAGE_PIXELS)
    except ImageTooLargeError:
        raise PageRenderError("pixels") from None
    except EOFError:
        raise PageRenderError("no page") from None
    except (OSError, SyntaxError, ValueError):
        raise PageRenderError("damaged") from None
    picture.thumbnail((width_px, picture.height))
    return picture


def _draw_pdf_page(data: bytes, number: int, width_px: int) -> tuple[Image, str, list[CharacterBox | None]]:
    """Return the picture of a page, its characters, and the box of each in pixels, None without an extent."""
    from pypdfium2 import PdfiumError

    from research.readers.pdfium import is_protected, open_pdf

    try:
        document = open_pdf(data)
    except PdfiumError as error:
        raise PageRenderError("encrypted" if is_protected(error) else "damaged") from None
    with closing(document):
        if not 1 <= number <= len(document):
            raise PageRenderError("no page")
        document.init_forms()  # draws what is filled in
        try:
            page = document[number - 1]
            wide, high = page.get_size()
            scale = min(width_px / max(wide, 1), math.sqrt(MAX_PAGE_PIXELS / max(wide * high, 1)))
            bitmap = page.render(scale=scale)
            picture: Image = bitmap.to_pil().convert("RGB")
            characters, boxes = _page_characters(page, bitmap.get_posconv(page))
        except PdfiumError:
            raise PageRenderError("damaged") from None
    return picture, characters, boxes


def _page_characters(page: pypdfium2.PdfPage, converter: pypdfium2.PdfPosConv) -> tuple[str, list[CharacterBox | None]]:
    """Return the characters of a PDF page in the order of its content, and the box of each in pixels."""
    from pypdfium2 import raw

    text_page = page.get_textpage()
    count = min(text_page.count_chars(), MAX_PAGE_CHARS)
    characters = "".join(chr(raw.FPDFText_GetUnicode(text_page, index)) for index in range(count))
    boxes: list[CharacterBox | None] = []
    for index, character in enumerate(characters):
        if character.isspace():
            boxes.append(None)
            continue
        # The height is that of the font, so that the marks of a line are even. The width is that of the glyph:
        # that of the font reaches into the next character where punctuation is set narrower.
        left, bottom, right, top = text_page.get_charbox(index)
        _, font_bottom, _, font_top = text_page.get_charbox(index, loose=True)
        if font_bottom < font_top:
            bottom, top = font_bottom, font_top
        (x1, y1), (x2, y2) = converter.to_bitmap(left, bottom), converter.to_bitmap(right, top)
        box = CharacterBox(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        boxes.append(box if box.left < box.right and box.top < box.bottom else None)
    return characters, boxes


def _to_mark(quote: int, line: CharacterBox, size: tuple[int, int]) -> MarkBox | None:
    """Return the part of a line that is within the picture, slightly enlarged; None if there is none."""
    left, top = (max(0, math.floor(edge) - _MARK_PADDING_PIXELS) for edge in line[:2])
    right, bottom = (
        min(limit, math.ceil(edge) + _MARK_PADDING_PIXELS) for edge, limit in zip(line[2:], size, strict=True)
    )
    return MarkBox(quote, left, top, right - left, bottom - top) if left < right and top < bottom else None


def _paint(picture: Image, marks: Sequence[MarkBox]) -> Image:
    """Paint marks as a highlighter does: the paper takes the colour, the letters stay."""
    from PIL import Image, ImageChops, ImageDraw

    colours = Image.new("RGB", picture.size, "white")
    draw = ImageDraw.Draw(colours)
    rectangles = [(mark.left, mark.top, mark.left + mark.width - 1, mark.top + mark.height - 1) for mark in marks]
    for rectangle in rectangles:
        draw.rectangle(rectangle, fill=_MARK_COLOUR)
    painted = ImageChops.multiply(picture, colours)
    draw = ImageDraw.Draw(painted)
    for left, _, right, bottom in rectangles:
        draw.line((left, bottom, right, bottom), fill=_MARK_EDGE_COLOUR)
    return painted


def _encode(picture: Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "WEBP", lossless=True, method=2)
    if len(out.getvalue()) > MAX_LOSSLESS_BYTES:  # a photograph or a scan
        lossy = io.BytesIO()
        picture.save(lossy, "WEBP", quality=_LOSSY_QUALITY)
        return min(out.getvalue(), lossy.getvalue(), key=len)
    return out.getvalue()
