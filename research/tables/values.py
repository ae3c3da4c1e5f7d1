"""Extraction of the value that a sentence gives for a table column, by the column's type.

Of several figures, the one of the column's kind that stands nearest to its words is chosen; if two
are equally near there is no value. Attributes that columns ask for are in `data/columns.tsv`, words
for yes, no, free and none in `data/words/cells.txt`. `research.core.text` parses figures and dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Literal

from research.citations.cues import find_cues
from research.citations.figure_check import TIME_KINDS
from research.citations.mentions import IDENTIFYING_KINDS
from research.core.records import CellValue, Column
from research.core.text.quantities import Measure, fold_text, span_with_bound
from research.core.text.scanner import MeasureScanner
from research.core.text.tokenizer import has_han
from research.tables.cell_words import find_date_bound, is_negated, shorten_value, word_pattern
from research.tables.column_query import build_column_query
from research.tables.figure_choice import FigureCandidate, SentenceMatch, best_candidate
from research.tables.units import unit_family, unit_name
from research.tables.yes_or_no import extract_yes_or_no

MAX_SENTENCE_CHARS = 2_000  # longer sentences are cut
MAX_WORDS_BESIDE_DATE = 1.0  # words beside a date that answers by itself
# Words beside the figures of a text that answers by itself; twice as many for a single figure.
MAX_WORDS_BESIDE_FIGURE = 3.0
_EXCLUDED_KINDS = TIME_KINDS | IDENTIFYING_KINDS | {"score", "discount", "points", "times"}


def extract_value(text: str, column: Column, context_words: Sequence[str] = ()) -> CellValue | None:
    """Return the value that a sentence gives for a column.

    Return None for headings and questions, and if there is no value or more than one candidate.
    `context_words`, such as the row's name, help to choose between figures.
    """
    text = text[:MAX_SENTENCE_CHARS]
    if not text.strip(" #\n") or text.lstrip().startswith("#") or "question" in find_cues(fold_text(text)):
        return None
    query = build_column_query(column, tuple(context_words))
    match column.type:
        case "number":
            return _extract_number(SentenceMatch(text, query))
        case "date":
            return _extract_date(SentenceMatch(text, query))
        case "yes or no":
            return extract_yes_or_no(text, column)
        case "choice":
            return _extract_choice(SentenceMatch(text, query), column)
        case _:
            return _extract_text(SentenceMatch(text, query))


# Numbers


def _extract_number(match: SentenceMatch) -> CellValue | None:
    candidates = [*_figure_candidates(match), *_free_candidates(match), *_zero_candidates(match)]
    best = best_candidate(match, candidates)
    if best is None:
        return None
    if best.measure is None:
        name = match.query.unit.name if match.query.unit else ""
        return CellValue(type="number", text=match.text[best.start : best.end], number=0.0, unit=name)
    return number_value(best.measure, match.text)


def number_value(measure: Measure, text: str) -> CellValue:
    """Convert a figure of a text to a value in the unit in which it is written."""
    folded = fold_text(text)
    start, end = span_with_bound(folded, measure)
    bound = measure.bound or MeasureScanner(folded).find_bound(measure.start, measure.end)
    name, factor = measure.unit, measure.unit_factor
    if name == "joint":  # such as 1小时30分钟, which is 1.5 hours
        name = unit_name(measure.kind, factor)
    if name == "part":
        name, factor = "%", 1.0
    low, high = (round(value / factor, 9) for value in (measure.low, measure.high))
    bounds: dict[str, Literal["about", "least", "most"]] = {
        "some": "least",
        "about": "about",
        "least": "least",
        "most": "most",
    }
    return CellValue(
        type="number",
        text=text[start:end].strip(),
        number=low,
        high=high if high > low else None,
        unit=name,
        bound=bounds.get(bound, ""),
    )


def _figure_candidates(match: SentenceMatch) -> Iterator[FigureCandidate]:
    """Yield the figures of the column's kind; if any has the column's own unit, only those."""
    kind, unit = match.query.kind, match.query.unit
    figures = [reading for m in match.measures if (reading := _reading_of_kind(m, kind))]
    same_unit = [m for m in figures if unit and (m.kind, m.unit_factor) == (unit.kind, unit.factor)]
    chosen = same_unit or figures
    brief = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (len(chosen) == 1)))
    for m in chosen:
        yield FigureCandidate(m.start, m.end, m, needs_no_word=brief)


def _reading_of_kind(measure: Measure, wanted_family: str | None) -> Measure | None:
    for reading in measure.interpretations():
        if reading.kind in _EXCLUDED_KINDS:
            continue
        if wanted_family is None or unit_family(reading.kind) == wanted_family:
            return reading
    return None


def _free_candidates(match: SentenceMatch) -> Iterator[FigureCandidate]:
    """Yield phrases that state free admission, for columns of type money."""
    if match.query.kind != "money":
        return
    asks_admission = match.query.attribute is not None and match.query.attribute.name in ("ticket", "money")
    implied = [m.span() for m in word_pattern("free entry").finditer(match.folded)] if asks_admission else []
    for m in word_pattern("free zh", "free en").finditer(match.folded):
        if not is_negated(match.folded[: m.start()]):
            is_certain = match.is_brief(MAX_WORDS_BESIDE_FIGURE * (1 + (not match.measures))) or any(
                a <= m.start() < b for a, b in implied
            )
            yield FigureCandidate(*m.span(), needs_no_word=is_certain)


def _zero_candidates(match: SentenceMatch) -> Iterator[FigureCandidate]:
    """Yield phrases that state that there are none: no parking spaces, 不设停车位."""
    if match.query.kind not in ("", None):
        return
    word_starts = {word_match[0] for word_match in match.word_matches if word_match[3] >= 1.0}
    for m in word_pattern("none zh", "none en").finditer(match.folded):
        after = m.end() + (match.folded[m.end() : m.end() + 1] == " ")
        if after in word_starts:
            yield FigureCandidate(*m.span(), needs_no_word=True)


# Dates


def _extract_date(match: SentenceMatch) -> CellValue | None:
    dates = [
        FigureCandidate(m.start, m.end, m, needs_no_word=match.is_brief(MAX_WORDS_BESIDE_DATE))
        for m in match.measures
        if m.is_date and m.date_parts[0] and m.date_parts[0] > 0
        if (match.query.date_bound or not match.is_date_of_count(m))
        and find_date_bound(match.folded, m) in (match.query.date_bound, "")
    ]
    has_column_word = any(word_match[2] not in match.query.context_terms for word_match in match.word_matches)
    candidates = [candidate for candidate in dates if has_column_word or candidate.needs_no_word]
    attribute = match.query.attribute if match.query.kind == "date" else None
    best = best_candidate(replace(match, query=replace(match.query, attribute=attribute)), candidates)
    return date_value(best.measure, match.text) if best and best.measure else None


def date_value(measure: Measure, text: str) -> CellValue | None:
    """Convert a date of a text to a value; an ambiguous date (3/4/2020) keeps only its year."""
    year, month, day = (measure.date_parts[0], None, None) if measure.swapped_date_parts else measure.date_parts
    try:
        first = date(year or 0, month or 1, day or 1)
    except ValueError:
        return None
    precision: Literal["day", "month", "year"] = "day" if day and month else "month" if month else "year"
    return CellValue(type="date", text=text[measure.start : measure.end].strip(), day=first, precision=precision)


# Choices and text


def _extract_choice(match: SentenceMatch, column: Column) -> CellValue | None:
    matches: list[tuple[int, int, str]] = []
    for choice in sorted(column.choices, key=len, reverse=True):
        for m in _literal_pattern(fold_text(choice)).finditer(match.folded):
            is_free = all(m.end() <= a or b <= m.start() for a, b, _ in matches)
            if is_free:
                matches.append((m.start(), m.end(), choice))
    affirmed = [f for f in matches if not is_negated(match.folded[: f[0]])]
    if len({choice for _, _, choice in affirmed}) != 1 or len(affirmed) < len(matches):
        return None
    start, end, choice = affirmed[0]
    return CellValue(type="choice", text=match.text[start:end], choice=choice)


@lru_cache(1_000)
def _literal_pattern(folded: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(folded)}(?![a-z0-9])" if not has_han(folded) else re.escape(folded))


def _extract_text(match: SentenceMatch) -> CellValue | None:
    attribute = match.query.attribute
    if attribute and attribute.kind == "clause":
        for start, end in match.clauses:
            if any(attribute.find_spans(match.folded[start:end])):
                return CellValue(type="text", text=shorten_value(match.text[start:end]))
        return None
    return CellValue(type="text", text=shorten_value(match.text))
