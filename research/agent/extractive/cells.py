"""Fills in a table by rules: each cell is what a quoted sentence says, read by the type of its column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.agent.extractive.quotes import Quote, select, terms, units
from research.core.readable import column_heading
from research.core.records import Cell, Cite, Column, Evidence, Finding, Reading, Row, Rows, Value
from research.core.text.quantities import measures
from research.core.text.words import fold
from research.sources import registry
from research.sources.base import Told
from research.tables.columns import settle
from research.tables.subjects import is_about, is_of_another
from research.tables.values import date_value, read

BESIDE = 0.8  # of the best sentence's chance: what a further one must have to contradict it
CHOICES = 6
_QUALIFIED = re.compile(r"(.+?)\s*[(（]([^()（）]{1,60})[)）]\s*")
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_ITEM = re.compile(r"Q[1-9][0-9]*")  # of Wikidata, as a title names it


class _Said(NamedTuple):
    """A sentence that may fill a cell, how likely it is the right one, and whether it is what a source has on the very
    thing."""

    text: str
    cite: Cite
    chance: float
    own: bool = False


def filled(
    row: Row,
    columns: Sequence[Column],
    names: Sequence[str],
    findings: Sequence[Finding],
    author: str,
) -> Iterator[Cell]:
    """The cells of a row, of which any of the `names` may stand in a sentence."""
    which = namesakes(row, findings)
    findings = meant(row, findings)
    for column in columns:
        cell = Cell(row=row.id, column=column.id, author=author)
        if which:
            yield cell.model_copy(update={"lack": "which one", "choices": which})
            continue
        readings = settle(_readings(column, names, findings), column)
        lack = "" if len(readings) == 1 else "differs" if readings else "not found"
        yield cell.model_copy(update={"readings": readings, "lack": lack})


def _readings(column: Column, names: Sequence[str], findings: Sequence[Finding]) -> list[Reading]:
    """What sentences say in a cell, the best first: of a text the best alone, of a value that can be
    compared also what others say that are about as good."""
    out: list[Reading] = [*_fields(column, findings), *_dates(column, findings)]
    best = 1.0 if out else 0.0
    asked = f"{column.name} {column.question}"
    titles = {item.id: item.title for finding in findings for item in finding.evidence}
    for said in _said(column, names, findings):
        if best and (column.type == "text" or said.chance < best * BESIDE):
            break
        value = read(said.text, column, near=names)
        title = titles.get(said.cite.evidence, "")
        if not said.own and is_of_another(said.text, names, title):
            continue
        if value is not None and column.type == "yes or no" and not said.own:
            value = value if is_about(said.text, value.text, names, title, asked) else None
        if value is not None and _speaks(column, said.text):
            best = best or said.chance
            out.append(Reading(value=value, quote=said.text, cites=(said.cite,)))
    return out


def _fields(column: Column, findings: Sequence[Finding]) -> Iterator[Reading]:
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
            if held in (None, "") or not found or not _heads(column, name, rows):
                continue
            text = str(held)
            value = Value(type="text", text=text) if column.type == "text" else read(text, column)
            if value is not None:
                item, passage = found[0]
                cite = Cite(evidence=item.id, passage=passage.id, end=len(passage.text))
                yield Reading(value=value, quote=passage.text, cites=(cite,))


def _dates(column: Column, findings: Sequence[Finding]) -> Iterator[Reading]:
    """The one date in what a database says of a thing when it is asked for just that, in whatever words."""
    for finding in findings:
        single = finding.rows is not None and len(finding.rows.rows) == 1
        if column.type != "date" or not single or fold(column.name) not in fold(finding.task.query):
            continue
        for span in finding.summary:
            dates = [m for m in measures(span.text) if m.dated and m.parts[0]]
            if len(dates) == 1 and (value := date_value(dates[0], span.text)):
                yield Reading(value=value, quote=span.text, cites=span.cites)


def _heads(column: Column, name: str, rows: Rows) -> bool:
    """Whether a column of a database is called as one of the table is, in the same words or in others
    that mean the same. What stands in brackets is a unit."""
    own = (
        name,
        *rows.headings.get(name, {}).values(),
        column_heading(name, "zh"),
        column_heading(name, "en"),
    )
    wanted = _words(column.name)
    return any(
        fold(one) == fold(column.name) or (wanted and _words(_BRACKETS.sub("", one)) == wanted)
        for one in own
    )


def _words(text: str) -> frozenset[frozenset[frozenset[str]]]:
    return frozenset(term.forms for term in terms(text) if term.kind == "word")


def _speaks(column: Column, text: str) -> bool:
    """Whether a sentence has a word of what a column asks, or one that means the same; half of them where
    only a heading is known and no unit says what is looked for. What merely looks right is not what is asked
    for."""
    if column.type in ("yes or no", "choice"):
        return True  # the words that say it are looked for themselves
    asked = column.name if column.type == "number" else f"{column.name} {column.question}"
    words, found = [term for term in terms(asked) if term.kind == "word"], units(text)
    spoken = sum(any(form <= found for form in term.forms) for term in words)
    bare = column.type != "number" and not column.question
    return spoken >= (len(words) / 2 if bare else min(1, len(words)))


def _said(column: Column, names: Sequence[str], findings: Sequence[Finding]) -> Iterator[_Said]:
    """What rows of a database and places of a map say, then sentences, the best first."""
    told: dict[Told, list[Finding]] = {"rows": [], "places": [], "quotes": []}
    for finding in findings:
        told[registry.of(finding.task.source).told].append(finding)
    for finding in told["rows"]:
        for span in finding.summary:
            for cite in span.cites[:1] if _speaks(column, span.text) else ():
                yield _Said(span.text, cite, 1.0, own=True)
    wanted = {fold(name) for name in names}
    for finding in told["places"]:
        for item in finding.evidence:
            if item.place and fold(item.place.name) in wanted:
                for passage in item.passages:
                    cite = Cite(evidence=item.id, passage=passage.id, end=len(passage.text))
                    yield _Said(passage.text, cite, 1.0, own=True)
    for quote in select(column.asked, names, True, told["quotes"]):
        yield _Said(quote.text, _cite(quote), quote.score)


def _cite(quote: Quote) -> Cite:
    return Cite(evidence=quote.evidence, passage=quote.passage, start=quote.start, end=quote.end)


def namesakes(row: Row, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What tells apart the things of a row's name that were found, where there are several, none of them has the
    bare name, and the row does not say which is meant."""
    if row.about:
        return ()
    told: dict[str, None] = {}
    for item in {e.id: e for f in findings for e in f.evidence}.values():
        name, about = _named(item)
        if fold(name) != fold(row.name):
            continue
        if not about and not item.place:  # what an encyclopedia has under the name alone
            return ()
        if about:
            told[about] = None
    return tuple(told)[:CHOICES] if len(told) > 1 else ()


def _named(item: Evidence) -> tuple[str, str]:
    """What a thing is called, and what tells it from others of that name."""
    if item.place:
        return item.place.name, item.place.city or item.place.district
    match = _QUALIFIED.fullmatch(item.title)
    return (match[1], "" if _ITEM.fullmatch(match[2]) else match[2]) if match else (item.title, "")


def meant(row: Row, findings: Sequence[Finding]) -> list[Finding]:
    """What was found without the things that share a row's name and are others: those of another qualifier,
    and of several items of Wikidata all but the one that most searches found first."""
    wanted = fold(row.about)
    first = Counter(
        next((e.id for e in finding.evidence if _is_item(e, row)), "") for finding in findings
    )
    del first[""]
    item = first.most_common(1)[0][0] if first else ""

    def other(one: Evidence) -> bool:
        name, about = _named(one)
        if fold(name) != fold(row.name) or one.place:
            return False
        if not about:
            return _is_item(one, row) and one.id != item
        return not (wanted and (fold(about) in wanted or wanted in fold(about)))

    return [
        f.model_copy(update={"evidence": tuple(e for e in f.evidence if not other(e))})
        for f in findings
    ]


def _is_item(item: Evidence, row: Row) -> bool:
    """Whether a source is an item of Wikidata that has the name of a row."""
    match = _QUALIFIED.fullmatch(item.title)
    return bool(match and _ITEM.fullmatch(match[2]) and fold(match[1]) == fold(row.name))
