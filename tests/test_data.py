"""The one reader of the tables that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from research import data

FOLDER = Path(data.__file__).parent


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.glob("*.tsv")))
def test_every_row_of_a_table_has_the_same_columns(name: str) -> None:
    found = {len(row) for row in data.rows(name)}
    may = {"units.tsv": {4, 5}, "lexicon.tsv": {3, 4}}  # an empty last column is left out
    assert found <= may.get(name, {max(found)})


def test_what_is_about_a_table_is_no_row_of_it() -> None:
    assert data.text("answers.tsv").startswith("# ")
    assert not any(line.startswith("#") for line in data.lines("answers.tsv"))
