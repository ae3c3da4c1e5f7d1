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

from research.readers.formats import MAX_MEGAPIXELS, PICTURES
from research.readers.worker import connect_nowhere

if TYPE_CHECKING:
    from PIL.Image import Image

AREA = 3_000_000  # pixels that are read: a page of A4 at 175 dots an inch
ENLARGED = 6.0  # pixels of a point of a PDF at most, where a page is tiny
SHOWN = (1000, 1400)  # pixels of the picture that is shown, at most
QUALITY = 70
MEMORY = 6 * 1024**3  # bytes of addresses; about 1.1 GB of memory are used
Draw = Callable[[int], "Image"]
Read = Callable[["Image"], str]


class TooLarge(Exception):
    """A picture has more pixels than are opened."""


def opened(suffix: str, data: bytes) -> Draw:
    """What draws a page of a file, by its number, no larger than can be read well."""
    return _pdf(data) if suffix == ".pdf" else lambda number: _picture(data, number)


def _pdf(data: bytes) -> Draw:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)

    def draw(number: int) -> Image:
        page = document[number - 1]
        try:
            wide, high = page.get_size()
            scale = min(ENLARGED, math.sqrt(AREA / (wide * high)))
            picture: Image = page.render(scale=scale).to_pil()
            return picture.convert("RGB")
        finally:
            page.close()

    return draw


def _picture(data: bytes, number: int) -> Image:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=PICTURES) as file:
        file.seek(number - 1)
        wide, high = file.size
        if wide * high > MAX_MEGAPIXELS * 1_000_000:
            raise TooLarge
        scale = math.sqrt(AREA / (wide * high))
        if scale < 1:
            file.thumbnail((max(1, int(wide * scale)), max(1, int(high * scale))))
        picture = ImageOps.exif_transpose(file)
        if picture.has_transparency_data:  # what shows through is paper
            picture = picture.convert("RGBA")
            paper = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(paper, picture)
        return picture.convert("RGB")


def shown(picture: Image) -> bytes:
    """A picture as it is shown beside what was read from it."""
    small = picture.copy()
    small.thumbnail(SHOWN)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def engine() -> Read:
    """What reads a picture, one line of text for each that it finds; the models lie in the package."""
    import numpy
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    found = {name: next(models.glob(f"*_{name.lower()}_*.onnx")) for name in ("Det", "Cls", "Rec")}
    # A model that is named is never fetched. Pictures come in the size that is to be read.
    reads = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": AREA,
            **{f"{name}.model_path": str(path) for name, path in found.items()},
        }
    )

    def read(picture: Image) -> str:
        lines = reads(numpy.asarray(picture)[:, :, ::-1]).txts  # blue first, as OpenCV has it
        return "\n".join(lines or ())

    return read


def answer(draw: Draw, read: Read, number: int) -> dict[str, Any]:
    """What became of a page, in the words of the protocol."""
    try:
        picture = draw(number)
        text = read(picture)
        return {
            "page": number,
            "text": text,
            "picture": base64.b64encode(shown(picture)).decode(),
        }
    except TooLarge:
        return {"page": number, "failed": "pixels"}
    except MemoryError:
        return {"page": number, "failed": "memory"}
    except Exception:  # noqa: BLE001 - whatever parsers of damaged files raise
        return {"page": number, "failed": "damaged"}


def _bounded() -> None:
    """Little memory, and the last place in the queue for the processor, where the system knows that."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(10)


def _hear(asked: queue.SimpleQueue[bytes]) -> None:
    """Takes what is asked for, and ends the process, whatever it is at, once nobody can ask any more."""
    for line in sys.stdin.buffer:
        asked.put(line)
    os._exit(0)


def main() -> None:
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    sys.addaudithook(connect_nowhere)
    _bounded()
    told = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(told["size"])
    read = engine()
    try:
        draw = opened(told["suffix"], data)
    except Exception:  # noqa: BLE001 - as above

        def draw(_number: int) -> Image:
            raise ValueError("the file cannot be opened")

    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(asked,), daemon=True).start()
    while True:
        print(json.dumps(answer(draw, read, int(asked.get()))), file=said, flush=True)


if __name__ == "__main__":
    main()
