"""Joins decimals that a layout has spaced apart: "0 . 5" is 0.5, and "12 . 5 %" is 12.5 %.

A full stop after a number and the number of a list item are not joined: "1 . 5 apples", "2 . 3". In
doubt the text is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from research.core.text.folding import fold_text
from research.core.text.tokenizer import has_han
from research.core.text.units import SCALES, UNITS, match_unit

_BLANK = "[ \u00a0\u2000-\u200a\u202f\u3000]"
# Not inside a longer number, a name, a version (1.0.5), a score (3-0) or a time of day.
_SPACED_DECIMAL_PATTERN = re.compile(
    rf"(?<![A-Za-z\d.,．])(?<![A-Za-z\d][-–—:/])(?<![.．]{_BLANK})(?<!\b\d{_BLANK})"
    rf"(?P<whole>\d{{1,3}}(?:,\d{{3}})*)(?P<left>{_BLANK}*)[.．](?P<right>{_BLANK}*)(?P<part>\d+)"
    rf"(?!\d|{_BLANK}*[.．]{_BLANK}*\d|[,:/–—-]\d)"
)
_SCALE_PATTERN = re.compile(rf"{_BLANK}?(?:{'|'.join(sorted(map(re.escape, SCALES), reverse=True))})(?![a-z])")
_INTEGER_KINDS = ("", "count", "people", "edition", "line")
_CONTEXT_CHARS = 40  # characters searched before a number for its sentence, and behind it for its unit


def join_decimals(text: str) -> str:
    """Remove the blanks inside decimals."""
    return _replace_decimals(text, lambda number, size: number)


def pad_decimals(text: str) -> str:
    """Move the blanks inside decimals to their front as zeros, so that offsets stay."""
    return _replace_decimals(text, lambda number, size: number.rjust(size, "0"))


def _replace_decimals(text: str, format_decimal: Callable[[str, int], str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        if not _is_decimal(match):
            return match[0]
        return format_decimal(f"{match['whole']}.{match['part']}", len(match[0]))

    return _SPACED_DECIMAL_PATTERN.sub(replacement, text)


def _is_decimal(match: re.Match[str]) -> bool:
    """Decide by the context whether two numbers with a point between them are a decimal.

    A 0 with a blank before the point is one, since no sentence ends so. Any other number needs a
    unit behind it and, unless it has thousands separators, words before it on its line, lest it be
    the number of a list item; a price with two decimals needs neither. A point right behind a
    number ends an English sentence, unless the number is 0 and has a unit; in Chinese it does not.
    """
    if not match["left"] and not match["right"]:
        return False
    text, is_zero = match.string, match["whole"] == "0"
    if is_zero and match["left"]:
        return True
    unit, kind = _following_unit(text, match.end())
    context = text[max(0, match.start() - _CONTEXT_CHARS) : match.start()]
    before = context.rpartition("\n")[2].rstrip()
    if match["left"] and len(match["part"]) == 2 and re.search(r"[$€£¥￥]$", before):
        return True
    has_thousands = "," in match["whole"]
    if not unit or (match["right"] and not before and not is_zero and not has_thousands):
        return False
    is_chinese = has_han(before[-1:]) or has_han(unit)
    return bool(match["left"]) or is_chinese or (is_zero and kind != "duration")


def _following_unit(text: str, position: int) -> tuple[str, str]:
    """Return the unit or scale behind a number and its kind; ("", "") if it counts whole things."""
    rest = fold_text(text[position : position + _CONTEXT_CHARS]).removeprefix("\\")
    if scale := _SCALE_PATTERN.match(rest):
        return scale[0], "scale"
    spelling, _ = match_unit(rest, 0)
    kind = UNITS[spelling][0].kind if spelling else ""
    return ("", "") if kind in _INTEGER_KINDS else (spelling, kind)
