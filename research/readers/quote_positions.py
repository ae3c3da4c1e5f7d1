"""Positions of a quote among the characters of a page, and the boxes of its lines.

The text of a document is cleaned when it is read: lines are joined, hyphenation is undone, spaces between
Chinese characters are removed. Quotes are therefore compared without white space, hyphens, bullets,
accents and letter case, with compatibility characters such as ligatures decomposed and radicals as characters. A
row of a table is stored as `Heading: cell; Heading: cell`; its cells are looked for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from research.core.page_views import QuoteMatch
from research.readers.cjk_radicals import IDEOGRAPHS

MAX_QUOTE_CHARS = 4_000  # folded characters of a quote that are looked for
_MIN_PIECE_WEIGHT = 10  # of a piece of a quote; a Han character counts twice
_MIN_PIECE_CHARS = _MIN_PIECE_WEIGHT // 2
_MIN_LONG_WEIGHT = 30  # of a piece that is no phrase of a similar sentence; of a short quote,
_MIN_LONG_PART = 0.4  # this share of its weight
_MAX_CELLS = 64  # of a table row
_MIN_ROW_WEIGHT = 6  # of its cells
_MAX_EDGE_CHARS = 200  # between a piece that a page break cuts off and the end of the page: footers and page numbers
_MIN_LONG_SHARE = 0.5  # of a quote, found in long pieces
_MIN_WHOLE_SHARE = 0.95  # of a quote, found in any pieces, with which no page break cuts it off
_BULLETS = frozenset("·•‧∙▪■●◦○")  # extractors return different characters for one bullet
_IGNORED_CATEGORIES = {"Cc", "Cf", "Cs", "Cn", "Mn", "Pd", "Zs", "Zl", "Zp"}
_MAX_GAP = 3.0  # between two characters of a line, in heights of a character
_MAX_COLUMN_GAP = 0.6  # between two characters of a vertical line, in heights of a character
_MIN_OVERLAP = 0.5  # of two characters of a line, as a share of the smaller one


class FoldedText(NamedTuple):
    """The characters of a text that are compared, and the index of each in the text."""

    text: str
    indexes: Sequence[int]


class CharacterBox(NamedTuple):
    """A rectangle on a page, in any unit; `top` is smaller than `bottom`."""

    left: float
    top: float
    right: float
    bottom: float


class _Piece(NamedTuple):
    """A piece of a quote, and where it is in the folded text of the page."""

    at: int
    page_at: int
    length: int


def fold_text(characters: Iterable[str]) -> FoldedText:
    """Fold a text for comparison; a surrogate pair, as PDFium returns it, becomes one character."""
    folded: list[str] = []
    indexes: list[int] = []
    high = ""
    for index, character in enumerate(characters):
        if "\ud800" <= character < "\udc00":
            high = character
            continue
        start = index
        if high and "\udc00" <= character < "\ue000":
            character, start = (high + character).encode("utf-16", "surrogatepass").decode("utf-16"), index - 1
        high = ""
        for part in _fold_character(character):
            folded.append(part)
            indexes.append(start)
    return FoldedText("".join(folded), indexes)


@lru_cache(8192)
def _fold_character(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", IDEOGRAPHS.get(ord(character), character).casefold())
    return "".join(
        part for part in decomposed if part not in _BULLETS and unicodedata.category(part) not in _IGNORED_CATEGORIES
    )


def find_quote(quote: str, page: FoldedText, context: str = "") -> tuple[QuoteMatch, list[int]]:
    """Return how much of a quote is on a page, and the indexes of its characters there, in the quote's order.

    `context` is a longer text around the quote: of a quote that occurs several times, the occurrence in the
    context is taken, else the first one.
    """
    if not page.text:
        return "no characters", []
    folded = fold_text(quote).text[:MAX_QUOTE_CHARS]
    if not folded:
        return "none", []
    context_at = page.text.find(fold_text(context).text)
    at = page.text.find(folded, max(0, context_at))
    if at < 0:
        at = page.text.find(folded)
    if at < 0 and (row := _find_row(quote[:MAX_QUOTE_CHARS], page.text)):
        match, at, length = row
        return match, [*page.indexes[at : at + length]]
    lines = [line for line in quote[:MAX_QUOTE_CHARS].split("\n") if line.strip()] if at < 0 else []
    if len(lines) > 1 and any(_find_row(line, page.text) for line in lines):
        results = [find_quote(line, page, context) for line in lines]
        is_whole = all(match == "whole" for match, _ in results)
        return ("whole" if is_whole else "part"), [index for _, indexes in results for index in indexes]
    pieces = [_Piece(0, at, len(folded))] if at >= 0 else _find_pieces(folded, page.text)
    characters = [
        page.indexes[index] for piece in pieces for index in range(piece.page_at, piece.page_at + piece.length)
    ]
    is_whole = sum(piece.length for piece in pieces) == len(folded)
    return ("whole" if is_whole else "part" if pieces else "none"), characters


def _find_row(quote: str, page: str) -> tuple[QuoteMatch, int, int] | None:
    """Find the longest run of cells of a table row, stored with headings, that stand one after the other on a page.

    Return how much of the row it is, where it begins in the folded text, and its length.
    """
    parts = quote.split("; ")[:_MAX_CELLS]
    if len(parts) < 2 or not all(": " in part for part in parts[:-1]):
        return None
    cells = [fold_text(part.partition(": ")[2]).text for part in parts]
    best: tuple[int, int, str] = (0, 0, "")
    for first in range(len(cells)):
        end = len(cells)
        while end - first > max(best[0], 1) and "".join(cells[first:end]) not in page:
            end -= 1
        run = "".join(cells[first:end])
        if end - first > max(best[0], 1) and _weight(run) >= _MIN_ROW_WEIGHT:
            best = (end - first, page.find(run), run)
    count, at, run = best
    return ("whole" if count == len(cells) else "part", at, len(run)) if count else None


def _find_pieces(quote: str, page: str) -> list[_Piece]:
    """Find the longest pieces of a quote that are on a page, from the start of the quote.

    The words of a quote are in pieces where the page has other text between them, such as a caption or a
    footer, or where it orders columns differently. Return nothing if the pieces may be chance.
    """
    pieces: list[_Piece] = []
    at = 0
    while at < len(quote):
        after = pieces[-1].page_at + pieces[-1].length if pieces else 0
        length = _longest_prefix(quote[at:], page) if quote[at : at + _MIN_PIECE_CHARS] in page else 0
        if _weight(quote[at : at + length]) < _MIN_PIECE_WEIGHT:
            at += 1
            continue
        piece = quote[at : at + length]
        found = page.find(piece, after)
        pieces.append(_Piece(at, found if found >= 0 else page.find(piece), length))
        at += length
    min_weight = min(_MIN_LONG_WEIGHT, _MIN_LONG_PART * _weight(quote))
    long_pieces = [piece for piece in pieces if _weight(quote[piece.at : piece.at + piece.length]) >= min_weight]
    has_long_share = sum(piece.length for piece in long_pieces) >= _MIN_LONG_SHARE * len(quote)
    if has_long_share and sum(piece.length for piece in pieces) >= _MIN_WHOLE_SHARE * len(quote):
        return pieces
    cut = [
        *(piece for piece in long_pieces if _is_cut(piece, len(quote), len(page), _MAX_EDGE_CHARS)),
        *(piece for piece in pieces if _is_cut(piece, len(quote), len(page), 0)),
    ][:1]
    return cut or (long_pieces if has_long_share else [])


def _longest_prefix(text: str, page: str) -> int:
    """Return the length of the longest prefix of a text that is on a page."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] in page:
            low = middle
        else:
            high = middle - 1
    return low


def _is_cut(piece: _Piece, quote_length: int, page_length: int, max_gap: int) -> bool:
    """Return True for the start of a quote at the end of a page, and for its end at the start, but for a gap."""
    runs_over = piece.at == 0 and page_length - piece.page_at - piece.length <= max_gap
    continues = piece.at + piece.length == quote_length and piece.page_at <= max_gap
    return runs_over or continues


def _weight(text: str) -> int:
    return len(text) + sum(character >= "\u3400" for character in text)


def join_lines(boxes: Iterable[CharacterBox]) -> list[CharacterBox]:
    """Join the boxes of characters in reading order to one box a line, horizontal or vertical."""
    lines: list[CharacterBox] = []
    last: CharacterBox | None = None
    for box in boxes:
        if last is not None and (_is_beside(last, box) or _is_below(last, box)):
            line = lines[-1]
            lines[-1] = CharacterBox(
                min(line.left, box.left),
                min(line.top, box.top),
                max(line.right, box.right),
                max(line.bottom, box.bottom),
            )
        else:
            lines.append(box)
        last = box
    return lines


def _is_beside(first: CharacterBox, second: CharacterBox) -> bool:
    """Return True for neighbours in a horizontal line, in either direction of writing."""
    overlap = min(first.bottom, second.bottom) - max(first.top, second.top)
    height = min(first.bottom - first.top, second.bottom - second.top)
    gap = max(second.left - first.right, first.left - second.right)
    return overlap >= _MIN_OVERLAP * height and gap <= _MAX_GAP * height


def _is_below(first: CharacterBox, second: CharacterBox) -> bool:
    """Return True for neighbours in a vertical line."""
    overlap = min(first.right, second.right) - max(first.left, second.left)
    width = min(first.right - first.left, second.right - second.left)
    height = min(first.bottom - first.top, second.bottom - second.top)
    gap = max(second.top - first.bottom, first.top - second.bottom)
    return overlap >= _MIN_OVERLAP * width and gap <= _MAX_COLUMN_GAP * height
