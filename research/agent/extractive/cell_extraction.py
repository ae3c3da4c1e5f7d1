"""Rules that fill in a table: each cell is read from a quoted sentence by the column's type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.agent.extractive.quote_selection import extract_terms, select_quotes, text_units
from research.citations.registry import cite_passage
from research.core.display_names import column_heading
from research.core.records import (
    Cell,
    CellReading,
    CellValue,
    Column,
    Evidence,
    Finding,
    PassageReference,
    QueryResult,
    Row,
)
from research.core.text.quantities import find_measures
from research.core.text.quotes import normalise_quote
from research.sources import registry
from research.sources.base import ResultType
from research.tables.column_values import merge_readings
from research.tables.subjects import is_about, is_about_other
from research.tables.values import date_value, extract_value

MIN_RELATIVE_PROBABILITY = 0.8  # share of the best probability that a further reading needs
MAX_CHOICES = 6  # things with one name that the user may choose from
_QUALIFIED_TITLE = re.compile(r"(.+?)\s*[(（]([^()（）]{1,60})[)）]\s*")
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_WIKIDATA_ID = re.compile(r"Q[1-9][0-9]*")  # in a title


class _CandidateSentence(NamedTuple):
    """A sentence that may fill a cell, and the probability that it is the right one.

    `is_about_row` marks a sentence from a source's own entry on the thing.
    """

    text: str
    cite: PassageReference
    probability: float
    is_about_row: bool = False


def fill_cells(
    row: Row,
    columns: Sequence[Column],
    names: Sequence[str],
    findings: Sequence[Finding],
    author: str,
) -> Iterator[Cell]:
    """Yield the cells of a row. A sentence may contain any of the `names` of the row's subject."""
    choices = find_distinctions(row, findings)
    findings = remove_namesakes(row, findings)
    for column in columns:
        cell = Cell(row=row.id, column=column.id, author=author)
        if choices:
            yield cell.model_copy(update={"missing_reason": "which one", "choices": choices})
            continue
        readings = merge_readings(_find_readings(column, names, findings), column)
        missing_reason = "" if len(readings) == 1 else "differs" if readings else "not found"
        yield cell.model_copy(update={"readings": readings, "missing_reason": missing_reason})


def _find_readings(column: Column, names: Sequence[str], findings: Sequence[Finding]) -> list[CellReading]:
    """Return the readings of a cell, the best first.

    A text column has only the best one; for comparable values there are also those of sentences
    about as probable.
    """
    readings: list[CellReading] = [*_field_readings(column, findings), *_date_readings(column, findings)]
    best_probability = 1.0 if readings else 0.0
    question = f"{column.name} {column.question}"
    titles = {item.id: item.title for finding in findings for item in finding.evidence}
    for candidate in _candidate_sentences(column, names, findings):
        if best_probability and (
            column.type == "text" or candidate.probability < best_probability * MIN_RELATIVE_PROBABILITY
        ):
            break
        value = extract_value(candidate.text, column, context_words=names)
        title = titles.get(candidate.cite.evidence, "")
        if not candidate.is_about_row and is_about_other(candidate.text, names, title):
            continue
        if value is not None and column.type == "yes or no" and not candidate.is_about_row:
            value = value if is_about(candidate.text, value.text, names, title, question) else None
        if value is not None and _has_column_word(column, candidate.text):
            best_probability = best_probability or candidate.probability
            readings.append(CellReading(value=value, quote=candidate.text, references=(candidate.cite,)))
    return readings


def _field_readings(column: Column, findings: Sequence[Finding]) -> Iterator[CellReading]:
    """Yield the value below the column's heading, if a database has one row on the thing."""
    for finding in findings:
        rows = finding.rows
        if rows is None or len(rows.rows) != 1 or rows.truncated:
            continue
        passages = [
            (item, passage)
            for item in finding.evidence
            for passage in item.passages
            if passage.heading.startswith("row ") or item.place
        ]
        for name, cell_value in zip(rows.names, rows.rows[0], strict=True):
            if cell_value in (None, "") or not passages or not _is_same_heading(column, name, rows):
                continue
            text = str(cell_value)
            value = CellValue(type="text", text=text) if column.type == "text" else extract_value(text, column)
            if value is not None:
                item, passage = passages[0]
                cite = cite_passage(item.id, passage)
                yield CellReading(value=value, quote=passage.text, references=(cite,))


def _date_readings(column: Column, findings: Sequence[Finding]) -> Iterator[CellReading]:
    """Yield the only date in a database's answer about a date column, however worded."""
    for finding in findings:
        is_single_row = finding.rows is not None and len(finding.rows.rows) == 1
        if (
            column.type != "date"
            or not is_single_row
            or normalise_quote(column.name) not in normalise_quote(finding.task.query)
        ):
            continue
        for span in finding.summary:
            dates = [m for m in find_measures(span.text) if m.is_date and m.date_parts[0]]
            if len(dates) == 1 and (value := date_value(dates[0], span.text)):
                yield CellReading(value=value, quote=span.text, references=span.references)


def _is_same_heading(column: Column, heading: str, rows: QueryResult) -> bool:
    """Return whether a database column and a table column have the same or a synonymous name.

    Text in brackets is a unit and does not count.
    """
    headings = (
        heading,
        *rows.headings.get(heading, {}).values(),
        column_heading(heading, "zh"),
        column_heading(heading, "en"),
    )
    column_forms = _word_forms(column.name)
    return any(
        normalise_quote(candidate) == normalise_quote(column.name)
        or (column_forms and _word_forms(_BRACKETS.sub("", candidate)) == column_forms)
        for candidate in headings
    )


def _word_forms(text: str) -> frozenset[frozenset[frozenset[str]]]:
    return frozenset(term.forms for term in extract_terms(text) if term.kind == "word")


def _has_column_word(column: Column, text: str) -> bool:
    """Return whether a sentence has a word that a column asks for, or a synonym of one.

    If the column has only a heading, and no unit restricts its values, half of the words must
    occur.
    """
    if column.type in ("yes or no", "choice"):
        return True  # extract_value looks for the words itself
    question = column.name if column.type == "number" else f"{column.name} {column.question}"
    words, units = [term for term in extract_terms(question) if term.kind == "word"], text_units(text)
    matched = sum(any(form <= units for form in term.forms) for term in words)
    is_heading_only = column.type != "number" and not column.question
    return matched >= (len(words) / 2 if is_heading_only else min(1, len(words)))


def _candidate_sentences(
    column: Column, names: Sequence[str], findings: Sequence[Finding]
) -> Iterator[_CandidateSentence]:
    """Yield sentences of databases and maps about the thing, then quotes, the best first."""
    by_type: dict[ResultType, list[Finding]] = {"rows": [], "places": [], "quotes": []}
    for finding in findings:
        by_type[registry.get_source(finding.task.source).result_type].append(finding)
    for finding in by_type["rows"]:
        for span in finding.summary:
            for cite in span.references[:1] if _has_column_word(column, span.text) else ():
                yield _CandidateSentence(span.text, cite, 1.0, is_about_row=True)
    row_names = {normalise_quote(name) for name in names}
    for finding in by_type["places"]:
        for item in finding.evidence:
            if item.place and normalise_quote(item.place.name) in row_names:
                for passage in item.passages:
                    cite = cite_passage(item.id, passage)
                    yield _CandidateSentence(passage.text, cite, 1.0, is_about_row=True)
    for quote in select_quotes(column.full_question, names, True, by_type["quotes"]):
        yield _CandidateSentence(quote.text, quote.cite, quote.probability)


def find_distinctions(row: Row, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the qualifiers that distinguish the found things with the row's name, such as their cities.

    Return nothing if there is only one such thing, if the row states which is meant, or if one of
    the things has the name without a qualifier.
    """
    if row.qualifier:
        return ()
    distinctions: dict[str, None] = {}
    for item in {e.id: e for f in findings for e in f.evidence}.values():
        name, about = _split_title(item)
        if normalise_quote(name) != normalise_quote(row.name):
            continue
        if not about and not item.place:  # the main article of an encyclopedia
            return ()
        if about:
            distinctions[about] = None
    return tuple(distinctions)[:MAX_CHOICES] if len(distinctions) > 1 else ()


def _split_title(item: Evidence) -> tuple[str, str]:
    """Return the name of a thing and its qualifier, which distinguishes it from namesakes."""
    if item.place:
        return item.place.name, item.place.city or item.place.district
    match = _QUALIFIED_TITLE.fullmatch(item.title)
    return (match[1], "" if _WIKIDATA_ID.fullmatch(match[2]) else match[2]) if match else (item.title, "")


def remove_namesakes(row: Row, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without other things that share the row's name.

    These are things with a different qualifier, and of several Wikidata items all but the one that
    most searches ranked first.
    """
    qualifier = normalise_quote(row.qualifier)
    first_items = Counter(
        next((e.id for e in finding.evidence if _is_wikidata_item(e, row)), "") for finding in findings
    )
    del first_items[""]
    main_id = first_items.most_common(1)[0][0] if first_items else ""

    def is_namesake(item: Evidence) -> bool:
        name, about = _split_title(item)
        if normalise_quote(name) != normalise_quote(row.name) or item.place:
            return False
        if not about:
            return _is_wikidata_item(item, row) and item.id != main_id
        return not (qualifier and (normalise_quote(about) in qualifier or qualifier in normalise_quote(about)))

    return [f.model_copy(update={"evidence": tuple(e for e in f.evidence if not is_namesake(e))}) for f in findings]


def _is_wikidata_item(item: Evidence, row: Row) -> bool:
    """Return whether a source is a Wikidata item with the row's name: its title ends in its id."""
    match = _QUALIFIED_TITLE.fullmatch(item.title)
    return bool(match and _WIKIDATA_ID.fullmatch(match[2]) and normalise_quote(match[1]) == normalise_quote(row.name))
