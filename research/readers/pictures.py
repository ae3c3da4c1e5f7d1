"""Image files as documents: their pages have no text until these are recognised."""

from __future__ import annotations

import io
from contextlib import suppress

from research.readers.drafts import FileDraft, UnreadableFileError
from research.readers.pdf import MAX_PAGES

MAX_MEGAPIXELS = 100
PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")  # names in Pillow


def read_picture(data: bytes) -> FileDraft:
    """Read an image file as pages without text, one per frame; nothing is decoded."""
    from PIL import Image

    size_detail = f"The picture has more than {MAX_MEGAPIXELS} megapixels; make it smaller."
    count = 0
    try:
        with Image.open(io.BytesIO(data), formats=PICTURE_FORMATS) as file, suppress(EOFError):
            while count <= MAX_PAGES:
                file.seek(count)
                if file.width * file.height > MAX_MEGAPIXELS * 1_000_000:
                    raise UnreadableFileError("too large", size_detail, "pixels")
                count += 1
    except Image.DecompressionBombError as error:
        raise UnreadableFileError("too large", size_detail, "pixels") from error
    if count > MAX_PAGES:
        detail = f"The file has more than {MAX_PAGES:,} pictures. Split it."
        raise UnreadableFileError("too large", detail, "pages")
    return FileDraft(picture_pages=dict.fromkeys(range(1, count + 1), ""))
