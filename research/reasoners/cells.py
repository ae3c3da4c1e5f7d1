"""Fills in a table by rules: each cell is what a quoted sentence says, read by the type of its column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from research.language.text import fold
from research.reasoners.quotes import Quote, select
from research.records import Cell, Cite, Column, Evidence, Finding, Reading, Row
from research.sources import registry
from research.tables.columns import settle
from research.tables.values import read

BESIDE = 0.8  # of the best sentence's chance: what a further one must have to contradict it
CHOICES = 6
_QUALIFIED = re.compile(r"(.+?)\s*[(（]([^()（）]{1,60})[)）]\s*")


class _Said(NamedTuple):
    """A sentence that may fill a cell, and how likely it is the right one."""

    text: str
    cite: Cite
    chance: float


def filled(
    row: Row,
    columns: Sequence[Column],
    names: Sequence[str],
    findings: Sequence[Finding],
    author: str,
) -> Iterator[Cell]:
    """The cells of a row, of which any of the `names` may stand in a sentence."""
    which = namesakes(row, findings)
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
    out: list[Reading] = []
    best = 0.0
    for said in _said(column, names, findings):
        if best and (column.type == "text" or said.chance < best * BESIDE):
            break
        value = read(said.text, column, near=names)
        if value is not None:
            best = best or said.chance
            out.append(Reading(value=value, quote=said.text, cites=(said.cite,)))
    return out


def _said(column: Column, names: Sequence[str], findings: Sequence[Finding]) -> Iterator[_Said]:
    """What rows of a database and places of a map say, then sentences, the best first."""
    told = {"rows": [], "places": [], "quotes": []}  # type: dict[str, list[Finding]]
    for finding in findings:
        told[registry.of(finding.task.source).told].append(finding)
    for finding in told["rows"]:
        for span in finding.summary:
            for cite in span.cites[:1]:
                yield _Said(span.text, cite, 1.0)
    wanted = {fold(name) for name in names}
    for finding in told["places"]:
        for item in finding.evidence:
            if item.place and fold(item.place.name) in wanted:
                for passage in item.passages:
                    cite = Cite(evidence=item.id, passage=passage.id, end=len(passage.text))
                    yield _Said(passage.text, cite, 1.0)
    for quote in select(column.asked, names, True, told["quotes"]):
        yield _Said(quote.text, _cite(quote), quote.score)


def _cite(quote: Quote) -> Cite:
    return Cite(evidence=quote.evidence, passage=quote.passage, start=quote.start, end=quote.end)


def namesakes(row: Row, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What tells apart the things of a row's name that were found, where there are several and the row
    does not say which is meant."""
    if row.about:
        return ()
    found: Mapping[str, Evidence] = {e.id: e for f in findings for e in f.evidence}
    told: dict[str, None] = {}
    for item in found.values():
        if item.place:
            name, about = item.place.name, item.place.city or item.place.district
        elif match := _QUALIFIED.fullmatch(item.title):
            name, about = match.groups()
        else:
            name, about = item.title, ""
        if fold(name) == fold(row.name) and about:
            told[about] = None
    return tuple(told)[:CHOICES] if len(told) > 1 else ()
