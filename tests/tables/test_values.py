"""What a column takes from a sentence: eighty sentences of both languages, half of which the rules were
tuned on. The other half was counted once, before anything was changed because of it (see COUNTED)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from research.language.quantities import measures
from research.records import Column, ColumnType, Value
from research.tables.values import date_value, number_value, read


class Case(NamedTuple):
    half: str
    language: str
    column: Column
    near: tuple[str, ...]
    text: str
    expected: str


def cases() -> list[Case]:
    found = []
    table = Path(__file__).with_name("values.tsv").read_text(encoding="utf-8").splitlines()
    for line in table[1:]:
        half, language, kind, name, question, unit, near, choices, text, expected = line.split("\t")
        column = Column(
            id="c", name=name, question=question, unit=unit, type=kind,  # type: ignore[arg-type]
            choices=tuple(filter(None, choices.split(";"))),
        )  # fmt: skip
        found.append(Case(half, language, column, tuple(filter(None, [near])), text, expected))
    return found


def shown(value: Value | None) -> str:
    """A value as the table has it."""
    if value is None:
        return "-"
    if value.type == "number":
        high = "" if value.high is None else f"..{value.high:.6g}"
        unit = value.unit if value.number else ""
        return " ".join(filter(None, (value.bound, f"{value.number:.6g}{high}", unit)))
    if value.type == "date" and value.day:
        return value.day.isoformat()[: {"day": 10, "month": 7, "year": 4}[value.precision]]
    if value.type == "yes or no":
        return "yes" if value.yes else "no"
    return value.choice if value.type == "choice" else value.text


def right(case: Case, value: Value | None) -> bool:
    if value is not None and case.column.type == "text":
        needs = re.findall(r"([~!])([^~!]+)", case.expected)
        return bool(needs) and all((part.strip() in value.text) == (sign == "~") for sign, part in needs)
    if case.column.type == "number" and case.expected != "-":
        bound, low, high, unit = re.fullmatch(
            r"(about|least|most)? ?([\d.e]+?)(?:\.\.([\d.e]+))?(?: ([^\d].*))?", case.expected
        ).groups()  # type: ignore[union-attr]
        parts = [bound, f"{float(low):.6g}" + (f"..{float(high):.6g}" if high else ""), unit]
        return shown(value) == " ".join(filter(None, parts))
    return shown(value) == case.expected


def first(case: Case) -> Value | None:
    """The baseline: the first figure or date of the sentence; of the other types the plainest guess."""
    kind: ColumnType = case.column.type
    found = [m for m in measures(case.text) if m.dated == (kind == "date")]
    if kind == "number":
        return number_value(found[0], case.text) if found else None
    if kind == "date":
        dated = [m for m in found if m.parts[0]]
        return date_value(dated[0], case.text) if dated else None
    if kind == "yes or no":
        return Value(type=kind, text=case.text, yes=True)
    if kind == "choice":
        folded = case.text.lower()
        choice = next((c for c in case.column.choices if c.lower() in folded), "")
        return Value(type=kind, text=case.text, choice=choice) if choice else None
    return Value(type=kind, text=case.text)


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_count(half: str) -> None:
    own = [case for case in cases() if case.half == half]
    good = 0
    for case in own:
        value = read(case.text, case.column, case.near)
        ok = right(case, value)
        good += ok
        if half == "tuned" and not ok:
            print(case.column.name, "|", case.text, "|", case.expected, "->", shown(value))
    base = sum(right(case, first(case)) for case in own)
    print(half, good, len(own), "baseline", base)
