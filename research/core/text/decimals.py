"""Decimals whose parts a layout has spaced apart: "0 . 5" is 0.5, and "12 . 5 %" is 12.5 %.

The full stop of a sentence and the number of an item of a list are not joined: "1 . 5 apples",
"2 . 3". In doubt the text stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from research.core.text.folding import fold_text
from research.core.text.tokenizer import has_han
from research.core.text.units import SCALES, UNITS, match_unit

_BLANK = "[ \u00a0\u2000-\u200a\u202f\u3000]"
# Not within a longer number, a name, a version (1.0.5), a score (3-0) or a time of day.
_SPACED_DECIMAL_PATTERN = re.compile(
    rf"(?<![A-Za-z\d.,．])(?<![A-Za-z\d][-–—:/])(?<![.．]{_BLANK})(?<!\b\d{_BLANK})"
    rf"(?P<whole>\d{{1,3}}(?:,\d{{3}})*)(?P<left>{_BLANK}*)[.．](?P<right>{_BLANK}*)(?P<part>\d+)"
    rf"(?!\d|{_BLANK}*[.．]{_BLANK}*\d|[,:/–—-]\d)"
)
_SCALE_PATTERN = re.compile(rf"{_BLANK}?(?:{'|'.join(sorted(map(re.escape, SCALES), reverse=True))})(?![a-z])")  # fmt: skip
_INTEGER_KINDS = ("", "count", "people", "edition", "line")
_CONTEXT_CHARS = 40  # characters before a number in which its sentence goes on, and behind it its unit


def join_decimals(text: str) -> str:
    """Return the text with the blanks inside decimals removed."""
    return _replace_decimals(text, lambda number, size: number)


def pad_decimals(text: str) -> str:
    """Return the text with zeros before decimals in place of the blanks inside them: offsets stay."""
    return _replace_decimals(text, lambda number, size: number.rjust(size, "0"))


def _replace_decimals(text: str, format_decimal: Callable[[str, int], str]) -> str:
    def written(match: re.Match[str]) -> str:
        if not _is_decimal(match):
            return match[0]
        return format_decimal(f"{match['whole']}.{match['part']}", len(match[0]))

    return _SPACED_DECIMAL_PATTERN.sub(written, text)


def _is_decimal(match: re.Match[str]) -> bool:
    """Decide by what stands around two numbers with a point between them.

    No sentence ends in a blank and a full stop behind a 0. Any other number needs a unit behind it and,
    lest it be that of an item of a list, words before it on its line, unless it is written with
    thousands or is a price with two decimals. A point right behind a number
    ends a sentence in English, unless a 0 stands before it and a unit behind; in Chinese it does not.
    """
    if not match["left"] and not match["right"]:
        return False
    text, zero = match.string, match["whole"] == "0"
    if zero and match["left"]:
        return True
    unit, kind = _following_unit(text, match.end())
    near = text[max(0, match.start() - _CONTEXT_CHARS) : match.start()]
    before = near.rpartition("\n")[2].rstrip()
    if match["left"] and len(match["part"]) == 2 and re.search(r"[$€£¥￥]$", before):
        return True
    large = "," in match["whole"]
    if not unit or (match["right"] and not before and not zero and not large):
        return False
    chinese = has_han(before[-1:]) or has_han(unit)
    return bool(match["left"]) or chinese or (zero and kind != "duration")


def _following_unit(text: str, position: int) -> tuple[str, str]:
    """The unit or the scale behind a number and its kind; what is counted whole is no unit."""
    rest = fold_text(text[position : position + _CONTEXT_CHARS]).removeprefix("\\")
    if scale := _SCALE_PATTERN.match(rest):
        return scale[0], "scale"
    spelling, _ = match_unit(rest, 0)
    kind = UNITS[spelling][0].kind if spelling else ""
    return ("", "") if kind in _INTEGER_KINDS else (spelling, kind)
