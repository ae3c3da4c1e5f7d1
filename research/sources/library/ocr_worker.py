"""A worker process that recognises the text of page images and makes a small preview of each.

`ocr` starts one process per file and ends it, which frees the gigabyte that the models take. Input:
a JSON line {"suffix", "size"}, the file, then one page number per line. Output: one JSON line per
page, {"page", "text", "picture"} (JPEG in base64) or {"page", "failed"}. Hostile files are
contained here: memory is limited and network connections are refused.
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

from research.readers.pictures import ImageTooLargeError, draw_picture
from research.readers.worker import refuse_connections

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_RENDER_PIXELS = 3_000_000  # an A4 page at 175 dots per inch
MAX_PDF_SCALE = 6.0  # pixels per PDF point, for tiny pages
MAX_PREVIEW_PIXELS = (1000, 1400)  # width and height
JPEG_QUALITY = 70
MAX_MEMORY_BYTES = 6 * 1024**3  # of address space; about 1.1 GB of memory are used
PageRenderer = Callable[[int], "Image"]
ImageReader = Callable[["Image"], str]


def make_renderer(suffix: str, data: bytes) -> PageRenderer:
    """Return a function that renders a page by its number, within `MAX_RENDER_PIXELS`."""
    return (
        _make_pdf_renderer(data) if suffix == ".pdf" else lambda number: draw_picture(data, number, MAX_RENDER_PIXELS)
    )


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


def encode_preview(picture: Image) -> bytes:
    """Encode an image as a small JPEG preview."""
    small = picture.copy()
    small.thumbnail(MAX_PREVIEW_PIXELS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return out.getvalue()


def load_engine() -> ImageReader:
    """Load the models shipped in the OCR package and return a function that reads an image."""
    import numpy
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    model_paths = {name: next(models.glob(f"*_{name.lower()}_*.onnx")) for name in ("Det", "Cls", "Rec")}
    # Explicit model paths prevent downloads. Images already have the size to be read.
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": MAX_RENDER_PIXELS,
            **{f"{name}.model_path": str(path) for name, path in model_paths.items()},
        }
    )

    def read(picture: Image) -> str:
        lines = engine(numpy.asarray(picture)[:, :, ::-1]).txts  # BGR, as OpenCV expects
        return "\n".join(lines or ())

    return read


def read_page(render: PageRenderer, recognise: ImageReader, number: int) -> dict[str, Any]:
    """Return the protocol message for one page."""
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
    except Exception:  # noqa: BLE001 - parsers of damaged files raise anything
        return {"page": number, "failed": "damaged"}


def _limit_resources() -> None:
    """Limit memory and lower the processor priority, where the system supports it."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(10)


def _receive_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Queue requested page numbers; exit the process at once when the input is closed."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def main() -> None:
    """Read the file from the standard input, then answer requests for its pages until the input is closed."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # library output must not mix with the protocol
    sys.addaudithook(refuse_connections)
    _limit_resources()
    header = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(header["size"])
    read = load_engine()
    try:
        draw = make_renderer(header["suffix"], data)
    except Exception:  # noqa: BLE001 - as above

        def draw(_number: int) -> Image:
            raise ValueError("the file cannot be opened")

    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=(requests,), daemon=True).start()
    while True:
        print(json.dumps(read_page(draw, read, int(requests.get()))), file=output, flush=True)


if __name__ == "__main__":
    main()
