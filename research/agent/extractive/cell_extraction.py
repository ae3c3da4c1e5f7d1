"""Fills in a table by rules: each cell is what a quoted sentence says, read by the type of its column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.agent.extractive.quote_selection import Quote, extract_terms, select_quotes, text_units
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
from research.core.text.tokenizer import normalise_quote
from research.sources import registry
from research.sources.base import ResultType
from research.tables.column_values import merge_readings
from research.tables.subjects import is_about, is_about_other
from research.tables.values import date_value, extract_value

MIN_RELATIVE_PROBABILITY = 0.8  # of the best sentence's chance: what a further one must have to contradict it
MAX_CHOICES = 6
_QUALIFIED_TITLE = re.compile(r"(.+?)\s*[(（]([^()（）]{1,60})[)）]\s*")
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_WIKIDATA_ID = re.compile(r"Q[1-9][0-9]*")  # of Wikidata, as a title names it


class _CandidateSentence(NamedTuple):
    """A sentence that may fill a cell, how likely it is the right one, and whether it is what a source has on the very
    thing."""

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
    """The cells of a row, of which any of the `names` may stand in a sentence."""
    which = namesakes(row, findings)
    findings = remove_namesakes(row, findings)
    for column in columns:
        cell = Cell(row=row.id, column=column.id, author=author)
        if which:
            yield cell.model_copy(update={"lack": "which one", "choices": which})
            continue
        readings = merge_readings(_find_readings(column, names, findings), column)
        lack = "" if len(readings) == 1 else "differs" if readings else "not found"
        yield cell.model_copy(update={"readings": readings, "lack": lack})


def _find_readings(column: Column, names: Sequence[str], findings: Sequence[Finding]) -> list[CellReading]:
    """What sentences say in a cell, the best first: of a text the best alone, of a value that can be
    compared also what others say that are about as good."""
    out: list[CellReading] = [*_field_readings(column, findings), *_date_readings(column, findings)]
    best = 1.0 if out else 0.0
    asked = f"{column.name} {column.question}"
    titles = {item.id: item.title for finding in findings for item in finding.evidence}
    for said in _candidate_sentences(column, names, findings):
        if best and (column.type == "text" or said.probability < best * MIN_RELATIVE_PROBABILITY):
            break
        value = extract_value(said.text, column, context_words=names)
        title = titles.get(said.cite.evidence, "")
        if not said.is_about_row and is_about_other(said.text, names, title):
            continue
        if value is not None and column.type == "yes or no" and not said.is_about_row:
            value = value if is_about(said.text, value.text, names, title, asked) else None
        if value is not None and _has_column_word(column, said.text):
            best = best or said.probability
            out.append(CellReading(value=value, quote=said.text, cites=(said.cite,)))
    return out


def _field_readings(column: Column, findings: Sequence[Finding]) -> Iterator[CellReading]:
    """What the only row that a database has on the thing holds under the heading of a column."""
    for finding in findings:
        rows = finding.rows
        if rows is None or len(rows.rows) != 1 or rows.truncated:
            continue
        found = [
            (item, passage)
            for item in finding.evidence
            for passage in item.passages
            if passage.heading.startswith("row ") or item.place
        ]
        for name, held in zip(rows.names, rows.rows[0], strict=True):
            if held in (None, "") or not found or not _is_same_heading(column, name, rows):
                continue
            text = str(held)
            value = CellValue(type="text", text=text) if column.type == "text" else extract_value(text, column)
            if value is not None:
                item, passage = found[0]
                cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
                yield CellReading(value=value, quote=passage.text, cites=(cite,))


def _date_readings(column: Column, findings: Sequence[Finding]) -> Iterator[CellReading]:
    """The one date in what a database says of a thing when it is asked for just that, in whatever words."""
    for finding in findings:
        single = finding.rows is not None and len(finding.rows.rows) == 1
        if (
            column.type != "date"
            or not single
            or normalise_quote(column.name) not in normalise_quote(finding.task.query)
        ):
            continue
        for span in finding.summary:
            dates = [m for m in find_measures(span.text) if m.is_date and m.date_parts[0]]
            if len(dates) == 1 and (value := date_value(dates[0], span.text)):
                yield CellReading(value=value, quote=span.text, cites=span.cites)


def _is_same_heading(column: Column, heading: str, rows: QueryResult) -> bool:
    """Whether a column of a database is called as one of the table is, in the same words or in others
    that mean the same. What stands in brackets is a unit."""
    own = (
        heading,
        *rows.headings.get(heading, {}).values(),
        column_heading(heading, "zh"),
        column_heading(heading, "en"),
    )
    wanted = _word_forms(column.name)
    return any(
        normalise_quote(one) == normalise_quote(column.name)
        or (wanted and _word_forms(_BRACKETS.sub("", one)) == wanted)
        for one in own
    )


def _word_forms(text: str) -> frozenset[frozenset[frozenset[str]]]:
    return frozenset(term.forms for term in extract_terms(text) if term.kind == "word")


def _has_column_word(column: Column, text: str) -> bool:
    """Whether a sentence has a word of what a column asks, or one that means the same; half of them where
    only a heading is known and no unit says what is looked for. What merely looks right is not what is asked
    for."""
    if column.type in ("yes or no", "choice"):
        return True  # the words that say it are looked for themselves
    asked = column.name if column.type == "number" else f"{column.name} {column.question}"
    words, found = [term for term in extract_terms(asked) if term.kind == "word"], text_units(text)
    spoken = sum(any(form <= found for form in term.forms) for term in words)
    bare = column.type != "number" and not column.question
    return spoken >= (len(words) / 2 if bare else min(1, len(words)))


def _candidate_sentences(
    column: Column, names: Sequence[str], findings: Sequence[Finding]
) -> Iterator[_CandidateSentence]:
    """What rows of a database and places of a map say, then sentences, the best first."""
    told: dict[ResultType, list[Finding]] = {"rows": [], "places": [], "quotes": []}
    for finding in findings:
        told[registry.get_source(finding.task.source).result_type].append(finding)
    for finding in told["rows"]:
        for span in finding.summary:
            for cite in span.cites[:1] if _has_column_word(column, span.text) else ():
                yield _CandidateSentence(span.text, cite, 1.0, is_about_row=True)
    wanted = {normalise_quote(name) for name in names}
    for finding in told["places"]:
        for item in finding.evidence:
            if item.place and normalise_quote(item.place.name) in wanted:
                for passage in item.passages:
                    cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
                    yield _CandidateSentence(passage.text, cite, 1.0, is_about_row=True)
    for quote in select_quotes(column.full_question, names, True, told["quotes"]):
        yield _CandidateSentence(quote.text, _to_cite(quote), quote.score)


def _to_cite(quote: Quote) -> PassageReference:
    return PassageReference(evidence=quote.evidence_id, passage=quote.passage_id, start=quote.start, end=quote.end)


def namesakes(row: Row, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What tells apart the things of a row's name that were found, where there are several, none of them has the
    bare name, and the row does not say which is meant."""
    if row.about:
        return ()
    told: dict[str, None] = {}
    for item in {e.id: e for f in findings for e in f.evidence}.values():
        name, about = _split_title(item)
        if normalise_quote(name) != normalise_quote(row.name):
            continue
        if not about and not item.place:  # what an encyclopedia has under the name alone
            return ()
        if about:
            told[about] = None
    return tuple(told)[:MAX_CHOICES] if len(told) > 1 else ()


def _split_title(item: Evidence) -> tuple[str, str]:
    """What a thing is called, and what tells it from others of that name."""
    if item.place:
        return item.place.name, item.place.city or item.place.district
    match = _QUALIFIED_TITLE.fullmatch(item.title)
    return (match[1], "" if _WIKIDATA_ID.fullmatch(match[2]) else match[2]) if match else (item.title, "")


def remove_namesakes(row: Row, findings: Sequence[Finding]) -> list[Finding]:
    """What was found without the things that share a row's name and are others: those of another qualifier,
    and of several items of Wikidata all but the one that most searches found first."""
    wanted = normalise_quote(row.about)
    first = Counter(next((e.id for e in finding.evidence if _is_wikidata_item(e, row)), "") for finding in findings)
    del first[""]
    item = first.most_common(1)[0][0] if first else ""

    def other(one: Evidence) -> bool:
        name, about = _split_title(one)
        if normalise_quote(name) != normalise_quote(row.name) or one.place:
            return False
        if not about:
            return _is_wikidata_item(one, row) and one.id != item
        return not (wanted and (normalise_quote(about) in wanted or wanted in normalise_quote(about)))

    return [f.model_copy(update={"evidence": tuple(e for e in f.evidence if not other(e))}) for f in findings]


def _is_wikidata_item(item: Evidence, row: Row) -> bool:
    """Whether a source is an item of Wikidata that has the name of a row."""
    match = _QUALIFIED_TITLE.fullmatch(item.title)
    return bool(match and _WIKIDATA_ID.fullmatch(match[2]) and normalise_quote(match[1]) == normalise_quote(row.name))
