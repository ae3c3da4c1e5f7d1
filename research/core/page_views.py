"""Pages of cited documents as they can be shown: as a picture with marks, as text, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from research.core.records import Evidence, Passage

IMAGE_TYPE = "image/webp"
DEFAULT_WIDTH_PIXELS = 1_000

# The whole quote is on the page, only a part of it, nothing of it; or the positions of the page's words are
# unknown (a scan).
QuoteMatch = Literal["whole", "part", "none", "no characters"]

# Drawing took too long or too much memory, no process was free or could be started, the file is damaged or
# protected by a password, the picture has too many pixels, or the file has no such page.
RenderFault = Literal["time", "memory", "busy", "start", "damaged", "encrypted", "pixels", "no page"]

# Why a page cannot be shown: the source is no document of the library, the document has no pages, it was
# removed or replaced by another version, its original was not kept; or it could not be drawn.
MissingPageReason = Literal["no document", "no pages", "changed", "not kept", RenderFault]


class MarkBox(NamedTuple):
    """The words of a quote in one line of a page, in pixels; `quote` is the index of the quote."""

    quote: int
    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page as a picture of `IMAGE_TYPE`.

    `boxes` are the marked lines, and `found` says of each quote how much of it they cover. With `is_marked`,
    the marks are painted in the picture.
    """

    page: int
    data: bytes
    width: int
    height: int
    boxes: tuple[MarkBox, ...]
    found: tuple[QuoteMatch, ...]
    is_marked: bool

    @property
    def match(self) -> QuoteMatch:
        """The match of all quotes together: "part" if some are marked and some are not."""
        matches = set(self.found)
        if len(matches) > 1:
            return "part"
        return matches.pop() if matches else "none"


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page of a format that is not drawn, such as a slide; `spans` are the quotes in it."""

    page: int
    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def parts(self) -> Iterator[tuple[str, bool]]:
        """The text in parts, each with True if it is marked."""
        at = 0
        for start, end in sorted(self.spans):
            yield self.text[at:start], False
            yield self.text[max(at, start) : end], True
            at = max(at, end)
        yield self.text[at:], False


@dataclass(frozen=True, slots=True)
class MissingPage:
    """A page that cannot be shown."""

    reason: MissingPageReason


PageView = PageImage | PageText | MissingPage


class CitedText(NamedTuple):
    """A passage, and the spans of its text to mark: all of it if there are none."""

    passage: Passage
    spans: Sequence[tuple[int, int]] = ()


class PageViewer(Protocol):
    """Returns the page of the first cited text with all of them marked."""

    def __call__(self, evidence: Evidence, texts: Sequence[CitedText], *, paint_marks: bool = False) -> PageView: ...
