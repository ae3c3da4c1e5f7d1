"""A recogniser that knows what the pages say: it reads in no time, or waits until it is let."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Generator, Mapping, Sequence

from PIL import Image

from research.sources.library.ocr import OCRFailure, OCRResult


class Typist:
    """Gives `texts` by page, and fails at those that `fails` names. It remembers which pages it was
    asked for, and waits at the page `halt` until it is let go on or is to stop."""

    def __init__(
        self,
        texts: Mapping[int, str],
        fails: Mapping[int, OCRFailure] | None = None,
        halt: int = 0,
    ) -> None:
        self.texts, self.fails, self.halt = texts, dict(fails or {}), halt
        self.asked: list[int] = []
        self.halted, self.go = threading.Event(), threading.Event()

    def __call__(
        self, name: str, data: bytes, pages: Sequence[int], going: Callable[[], bool]
    ) -> Generator[OCRResult, None, None]:
        for page in pages:
            self.asked.append(page)
            if page == self.halt:
                self.halted.set()
                while going() and not self.go.wait(0.02):
                    pass
            if not going():
                return
            failed = self.fails.get(page, "")
            yield (OCRResult(page, failure=failed) if failed else OCRResult(page, self.texts[page], paper(page)))

    def there(self) -> Typist:
        """As the library is given it."""
        return self


def paper(page: int) -> bytes:
    """A picture of a page, each of another grey."""
    out = io.BytesIO()
    Image.new("L", (20, 30), 100 + page).save(out, "JPEG")
    return out.getvalue()
