"""Finder of citations by superscripts and circled numbers, and by numbers that were superscripts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from research.citations.styles.citation_mark import CitationMark, parse_numbers
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import CIRCLED_NUMBERS, SUPERSCRIPT_DIGITS, SourceLists
from research.core.text.tokenizer import HAN_RANGES

_CARET_NUMBER = re.compile(r"\^\s*[\[(]?\s*(\d{1,3}(?:\s*[,，–-]\s*\d{1,3}){0,20})\s*[\])]?\s*\^")
# Superscripts that became plain digits: "in 2021.4 By then", or the last cell of a row.
_FLATTENED_SUPERSCRIPT = re.compile(
    rf"(?<=[^\W\d][.,;!?”\"’)。，；！？）])(\d{{1,2}}(?:,\d{{1,2}}){{0,9}})(?=\s|$)|(?<=\d{{4}}[.,;])(\d{{1,2}})(?=\s[A-Z])|(?<=[\s.。，,{HAN_RANGES}])[(（](\d{{1,2}}(?:[,，、–-] ?\d{{1,2}}){{0,9}})[)）](?=[\s.,;。，；]|$)|\|[ \t]*(\d{{1,2}}(?:, ?\d{{1,2}}){{0,9}})[ \t]*\|?[ \t]*$",
    re.MULTILINE,
)
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[⁻˒,，·.][⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}){0,20}")
_UNIT_POWER_STOP = re.compile(r"[²³]\.(?=[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?:$|[,，]))")
_CIRCLED_NUMBER = re.compile(f"[{CIRCLED_NUMBERS}]")
# A circled number behind a word and before a stop; elsewhere it may count the items of a sentence.
_CIRCLED_BEFORE_STOP = re.compile(rf"[\w”’」』》)）%][{CIRCLED_NUMBERS}]+(?:[，。；！？、,.;!?]|\s*$)", re.MULTILINE)
# Text that may have an exponent: a unit, a symbol, a function, a number.
_BEFORE_EXPONENT = re.compile(
    r"(?:^|[^A-Za-z])(?:[a-zA-Zµμ]m?|ft|in|yd|mi|ha|dam|kg|lb|k?Wh?|kPa|Pa|Hz|mol|eV|CO|min|sec|sinh?|cosh?|tanh?|cot|log|exp)$"
    r"|[\d₀-₉|‖}米里方尺℃°\u0370-\u03ff]$"
)
# A unit or a product behind a figure or a sign: 5 mW², E=mc².
_UNIT_SYMBOL = re.compile(r"(?:\d ?|[=+*/·×] ?|\()[A-Za-zµμ]{2,3}$")


class SuperscriptFinder:
    """Finder of the superscripts in the text of one report.

    `entry_numbers` are the numbers of the report's lists of sources.
    """

    def __init__(self, report: ParsedReport, lists: SourceLists, entry_numbers: Collection[str]) -> None:
        self._report, self._lists, self._entry_numbers = report, lists, entry_numbers
        self._text = report.prose

    def find(self, *, has_bracketed_numbers: bool) -> Iterator[CitationMark]:
        """Yield the superscripts that cite a source.

        Plain digits count as former superscripts only if the text has no numbers in brackets.
        """
        yield from self._find_carets()
        if self._entry_numbers and not has_bracketed_numbers:
            yield from self._find_flattened()
        yield from self._find_raised_digits()
        if any(entry.number_form == "circled" for source_list in self._lists.lists for entry in source_list.entries):
            yield from self._find_circled()

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern outside lists of sources."""
        return (match for match in pattern.finditer(self._text) if not self._lists.contains(match.start()))

    def _find_carets(self) -> Iterator[CitationMark]:
        """Yield numbers raised by carets or tags."""
        for match in self._matches(_CARET_NUMBER):
            is_tag = self._report.source[match.end() - 1] == "<"
            end = match.end() + (len("</sup>") - 1 if is_tag else 0)
            has_bracket = "[" in match[0]
            for number in parse_numbers(match[1]):
                if has_bracket or not self._is_exponent(number, match.start(), end):
                    yield _mark(number, *match.span(), needs_entry=not self._entry_numbers and not has_bracket)

    def _find_flattened(self) -> Iterator[CitationMark]:
        """Yield numbers that were superscripts before the formatting was lost."""
        for match in self._matches(_FLATTENED_SUPERSCRIPT):
            group = match.lastindex or 0
            for number in parse_numbers(match[group]):
                yield _mark(number, *match.span(group), needs_entry=True)

    def _find_raised_digits(self) -> Iterator[CitationMark]:
        """Yield superscript digits that are no exponents."""
        for match in _SUPERSCRIPT.finditer(self._text):
            if unit := _UNIT_POWER_STOP.match(match[0]):
                if self._ends_sentence(match.start(), match.end()):
                    begin = match.start() + unit.end()
                    for number in parse_numbers(match[0][unit.end() :].translate(SUPERSCRIPT_DIGITS)):
                        yield _mark(number, begin, match.end(), needs_entry=True)
                continue
            is_blank_before = not self._text[max(0, match.start() - 12) : match.start()].strip()
            if self._lists.contains(match.start()) or "." in match[0] or is_blank_before:
                continue
            for number in parse_numbers(match[0].translate(SUPERSCRIPT_DIGITS)):
                if not self._is_exponent(number, *match.span()):
                    yield _mark(number, *match.span(), needs_entry=not self._entry_numbers)

    def _find_circled(self) -> Iterator[CitationMark]:
        for match in self._matches(_CIRCLED_NUMBER):
            number = str(CIRCLED_NUMBERS.index(match[0]) + 1)
            needs_entry = not _CIRCLED_BEFORE_STOP.match(self._text, max(0, match.start() - 1))
            yield _mark(number, *match.span(), needs_entry=needs_entry)

    def _ends_sentence(self, start: int, end: int) -> bool:
        """Return whether a unit's power precedes the full stop of a sentence: 393 m³.¹ The."""
        unit = _BEFORE_EXPONENT.search(self._text[max(0, start - 12) : start])
        return unit is not None and re.match(rf"\s*$|\s+[A-Z{HAN_RANGES}]", self._text[end : end + 3]) is not None

    def _is_exponent(self, number: str, start: int, end: int) -> bool:
        """Return whether a superscript is a power, a charge or an isotope: m², (a+b)⁹, Ca²⁺, ¹³C."""
        text = self._text
        before = text[max(0, start - 12) : start].rstrip(" ")
        behind = text[end : end + 1]
        known = number in self._entry_numbers
        # ¹ is never an exponent.
        first = number == "1" and (re.search(f"[{HAN_RANGES}]$", before) or (known and not before[-1:].isdecimal()))
        if (_BEFORE_EXPONENT.search(before) and not first) or before.endswith(("⁻", "⁺", "^")):
            return True
        if re.match(r"[⁻⁺ᵃ-ᵿⁿ]", behind) or (number != "1" and _UNIT_SYMBOL.search(before)):
            return True
        if re.match(r"[A-Za-z\u0370-\u03ff]", behind):
            return not (known and re.search(r"[.,;:!?)”\"’]$", before))
        return not known and (not before or before.endswith((")", "]")))


def _mark(number: str, start: int, end: int, *, needs_entry: bool) -> CitationMark:
    return CitationMark("number", number, start, end, "superscripts", needs_entry=needs_entry)
