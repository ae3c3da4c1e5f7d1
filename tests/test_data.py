"""The one reader of the tables that ship."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("name", sorted(file.stem for file in (FOLDER / "words").iterdir()))
def test_every_list_of_words_is_a_pattern_without_an_empty_alternative(name: str) -> None:
    assert data.words(name)
    for heading, words in data.words(name).items():
        assert heading == heading.strip()
        assert not re.compile(words).fullmatch(""), heading


def test_a_list_of_words_goes_on_over_lines() -> None:
    assert data.words("places")["zh nowhere"].startswith("我家|家|家里|")
    assert "\n" not in data.words("places")["zh nowhere"]
    assert "#" not in data.words("addresses")["tracking"]
