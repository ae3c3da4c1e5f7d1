"""A process that reads pictures of pages: the words by OCR, and a small picture to show beside them.

`research.sources.library.ocr` starts it for one file and ends it; the gigabyte that the models take goes with
it. In: a line of JSON, {"suffix", "size"}, the file, then the number of a page on each line. Out: a
line of JSON for each page, {"page", "text", "picture"} (JPEG in base64) or {"page", "failed"}.
What a hostile file does to the parsers it does in here: with bounded memory, and connecting nowhere.
"""

from __future__ import annotations

import base64
import io
import json
import math
import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.readers.formats import MAX_MEGAPIXELS, PICTURE_FORMATS
from research.readers.worker import refuse_connections

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_RENDER_PIXELS = 3_000_000  # pixels that are read: a page of A4 at 175 dots an inch
MAX_PDF_SCALE = 6.0  # pixels of a point of a PDF at most, where a page is tiny
MAX_PREVIEW_PIXELS = (1000, 1400)  # pixels of the picture that is shown, at most
JPEG_QUALITY = 70
MAX_MEMORY_BYTES = 6 * 1024**3  # bytes of addresses; about 1.1 GB of memory are used
PageRenderer = Callable[[int], "Image"]
ImageReader = Callable[["Image"], str]


class ImageTooLargeError(Exception):
    """A picture has more pixels than are opened."""


def make_renderer(suffix: str, data: bytes) -> PageRenderer:
    """What draws a page of a file, by its number, no larger than can be read well."""
    return _make_pdf_renderer(data) if suffix == ".pdf" else lambda number: _render_image(data, number)


def _make_pdf_renderer(data: bytes) -> PageRenderer:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)

    def draw(number: int) -> Image:
        page = document[number - 1]
        try:
            wide, high = page.get_size()
            scale = min(MAX_PDF_SCALE, math.sqrt(MAX_RENDER_PIXELS / (wide * high)))
            picture: Image = page.render(scale=scale).to_pil()
            return picture.convert("RGB")
        finally:
            page.close()

    return draw


def _render_image(data: bytes, number: int) -> Image:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=PICTURE_FORMATS) as file:
        file.seek(number - 1)
        wide, high = file.size
        if wide * high > MAX_MEGAPIXELS * 1_000_000:
            raise ImageTooLargeError
        scale = math.sqrt(MAX_RENDER_PIXELS / (wide * high))
        if scale < 1:
            file.thumbnail((max(1, int(wide * scale)), max(1, int(high * scale))))
        picture = ImageOps.exif_transpose(file)
        if picture.has_transparency_data:  # what shows through is paper
            picture = picture.convert("RGBA")
            paper = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(paper, picture)
        return picture.convert("RGB")


def encode_preview(picture: Image) -> bytes:
    """A picture as it is shown beside what was read from it."""
    small = picture.copy()
    small.thumbnail(MAX_PREVIEW_PIXELS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()


def load_engine() -> ImageReader:
    """What reads a picture, one line of text for each that it finds; the models lie in the package."""
    import numpy
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    found = {name: next(models.glob(f"*_{name.lower()}_*.onnx")) for name in ("Det", "Cls", "Rec")}
    # A model that is named is never fetched. Pictures come in the size that is to be read.
    reads = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": MAX_RENDER_PIXELS,
            **{f"{name}.model_path": str(path) for name, path in found.items()},
        }
    )

    def read(picture: Image) -> str:
        lines = reads(numpy.asarray(picture)[:, :, ::-1]).txts  # blue first, as OpenCV has it
        return "\n".join(lines or ())

    return read


def read_page(render: PageRenderer, recognise: ImageReader, number: int) -> dict[str, Any]:
    """What became of a page, in the words of the protocol."""
    try:
        picture = render(number)
        text = recognise(picture)
        return {
            "page": number,
            "text": text,
            "picture": base64.b64encode(encode_preview(picture)).decode(),
        }
    except ImageTooLargeError:
        return {"page": number, "failed": "pixels"}
    except MemoryError:
        return {"page": number, "failed": "memory"}
    except Exception:  # noqa: BLE001 - whatever parsers of damaged files raise
        return {"page": number, "failed": "damaged"}


def _limit_resources() -> None:
    """Little memory, and the last place in the queue for the processor, where the system knows that."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(10)


def _receive_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Takes what is asked for, and ends the process, whatever it is at, once nobody can ask any more."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def main() -> None:
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    sys.addaudithook(refuse_connections)
    _limit_resources()
    told = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(told["size"])
    read = load_engine()
    try:
        draw = make_renderer(told["suffix"], data)
    except Exception:  # noqa: BLE001 - as above

        def draw(_number: int) -> Image:
            raise ValueError("the file cannot be opened")

    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=(asked,), daemon=True).start()
    while True:
        print(json.dumps(read_page(draw, read, int(asked.get()))), file=said, flush=True)


if __name__ == "__main__":
    main()
