"""The table of units: well formed, and every spelling in it is read."""

from __future__ import annotations

from importlib import resources

import pytest

from research.core.text.quantities import find_measures
from research.core.text.units import PREFIX_UNITS, UNITS, Unit
from tests.tables import each_row

ROWS = [
    line.split("\t")
    for line in (resources.files("research") / "data" / "units.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
# Spellings that need more than a number before them: 3点 is a time of day, 5个年 nothing.
ELSEWHERE = {"月", "年", "世纪"}


def test_every_row_has_a_kind_a_unit_a_factor_and_spellings_of_its_own() -> None:
    assert [row for row in ROWS if len(row) not in (4, 5) or not all(row)] == []
    assert [row for row in ROWS if float(row[2]) <= 0] == []
    for row in ROWS:
        for field in row[3:]:
            words = field.split("|")
            assert len(words) == len(set(words)), row
            assert field == field.lower(), row
    assert len({(kind, name) for kind, name, *_ in ROWS if name != "="}) == sum(row[1] != "=" for row in ROWS)  # fmt: skip


def misread(text: str, unit: Unit) -> bool:
    """Whether 26 of a unit are read as anything else."""
    found = [(m.kind, m.low) for m in find_measures(text)]
    return found != [(unit.kind, pytest.approx(26 * unit.factor))]


def test_every_spelling_behind_a_number_is_read_as_its_unit() -> None:
    def written(word: str) -> str:
        gap = "" if not word[0].isascii() else "-" if f"{word}s" in UNITS else " "
        return f"26{gap}{word}"

    words = sorted(UNITS.keys() - ELSEWHERE)
    assert [word for word in words if misread(written(word), UNITS[word][0])] == []


def test_every_sign_before_a_number_is_read_as_its_unit() -> None:
    signs = [f"{word}{gap}26" for word in PREFIX_UNITS for gap in ("", " ")]
    assert [text for text in signs if misread(text, PREFIX_UNITS[text[:-2].strip()][0])] == []


@each_row(
    ("text", "kind"),
    [
        ("a 57-millisecond pulse", "duration"),
        ("57 milliseconds", "duration"),
        ("57 millisecond pulsars", ""),
        ("1 hour", "duration"),
        ("a 100 km run", "length"),
    ],
)
def test_one_of_a_unit_behind_several_counts_what_follows(text: str, kind: str) -> None:
    (found,) = find_measures(text)
    assert found.kind == kind


def test_a_spelling_that_several_units_share_may_stand_for_each_and_for_no_other() -> None:
    (pesos,) = find_measures("26 pesos")
    kinds = {reading.kind for reading in pesos.interpretations()}
    assert {"money mxn", "money php"} <= kinds
    assert "money usd" not in kinds
