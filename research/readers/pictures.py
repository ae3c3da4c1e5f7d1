"""Image files as documents: their pages have no text until these are recognised."""

from __future__ import annotations

import io
import math
from contextlib import suppress
from typing import TYPE_CHECKING

from research.readers.drafts import FileDraft, UnreadableFileError
from research.readers.pdf import MAX_PAGES

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_MEGAPIXELS = 100
_STRIP_OFFSETS, _STRIP_SIZES = 273, 279  # tags of a TIFF file (TIFF 6.0, section 3)
PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")  # names in Pillow


class ImageTooLargeError(Exception):
    """An image has more pixels than the limit."""


def read_picture(data: bytes) -> FileDraft:
    """Read an image file as pages without text, one per frame; nothing is decoded."""
    from PIL import Image

    size_detail = f"The picture has more than {MAX_MEGAPIXELS} megapixels; make it smaller."
    count, is_cut = 0, _is_cut(data)
    try:
        with Image.open(io.BytesIO(data), formats=PICTURE_FORMATS) as file, suppress(EOFError):
            while count <= MAX_PAGES:
                file.seek(count)
                if file.width * file.height > MAX_MEGAPIXELS * 1_000_000:
                    raise UnreadableFileError("too large", size_detail, "pixels")
                count += 1
                tags = getattr(file, "tag_v2", {})
                ends = zip(tags.get(_STRIP_OFFSETS, ()), tags.get(_STRIP_SIZES, ()), strict=False)
                is_cut |= any(offset + size > len(data) for offset, size in ends)
    except Image.DecompressionBombError as error:
        raise UnreadableFileError("too large", size_detail, "pixels") from error
    if count > MAX_PAGES:
        detail = f"The file has more than {MAX_PAGES:,} pictures. Split it."
        raise UnreadableFileError("too large", detail, "pages")
    return FileDraft(picture_pages=dict.fromkeys(range(1, count + 1), ""), is_cut=is_cut)


def _is_cut(data: bytes) -> bool:
    """Return True for a JPEG or PNG file without its end.

    Source: ITU-T T.81, B.1.1.3 (SOS and EOI); PNG 1.2, 11.2.5 (IEND).
    """
    if data.startswith(b"\xff\xd8"):
        return b"\xff\xd9" not in data[data.rfind(b"\xff\xda") :]
    return data.startswith(b"\x89PNG") and b"IEND" not in data[-65_536:]


def draw_picture(data: bytes, number: int, max_pixels: int) -> Picture:
    """Return a frame of an image file, counted from 1, upright, without transparency, of at most `max_pixels`.

    Raises:
        ImageTooLargeError: the frame has more than `MAX_MEGAPIXELS`.
        EOFError: there is no such frame.
    """
    from PIL import Image, ImageOps

    try:
        opened = Image.open(io.BytesIO(data), formats=PICTURE_FORMATS)
    except Image.DecompressionBombError as error:
        raise ImageTooLargeError from error
    with opened as file:
        file.seek(number - 1)
        wide, high = file.size
        if wide * high > MAX_MEGAPIXELS * 1_000_000:
            raise ImageTooLargeError
        scale = math.sqrt(max_pixels / (wide * high))
        if scale < 1:
            file.thumbnail((max(1, int(wide * scale)), max(1, int(high * scale))))
        picture = ImageOps.exif_transpose(file)
        if picture.has_transparency_data:  # transparent pixels become white
            picture = picture.convert("RGBA")
            paper = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(paper, picture)
        return picture.convert("RGB")
