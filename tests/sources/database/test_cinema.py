"""Statements in the style of public benchmarks: texts in double quotes, T1 and T2, mixed case, commas without blanks."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from tests.tables import each_row

CINEMA: dict[str, Any] = json.loads((Path(__file__).parent / "cinema.json").read_text(encoding="utf-8"))  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cinema") / "cinema.db"
    with closing(sqlite3.connect(path)) as made, made:
        for statement in CINEMA["schema"]:
            made.execute(statement)
        for table, rows in CINEMA["rows"].items():
            made.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
    return path


@pytest.fixture(scope="module")
def cinema(file: Path) -> Database:
    return open_database(file)


def test_there_are_sixty_statements_each_with_rows() -> None:
    assert len({each["sql"] for each in CINEMA["statements"]}) == 60
    assert all(each["rows"] for each in CINEMA["statements"])


def test_all_are_accepted_with_the_rows_that_the_engine_alone_gives(cinema: Database, file: Path) -> None:
    refused: list[tuple[str, str]] = []
    with closing(sqlite3.connect(file)) as raw:
        for each in CINEMA["statements"]:
            expected = Counter(map(tuple, each["rows"]))
            assert Counter(raw.execute(each["sql"])) == expected, each["sql"]
            try:
                found = cinema.run(cinema.check(each["sql"])).rows
            except RefusedError as error:
                refused.append((each["sql"], str(error)))
            else:
                assert Counter(found) == expected, each["sql"]
    assert refused == []


@each_row(
    ("sql", "near"),
    [
        ('SELECT Nmae FROM cinema WHERE City = "Lyon"', ("cinema.name",)),
        ('SELECT T1.Titel FROM film AS T1 WHERE T1.Genre = "Drama"', ("t1.title",)),
    ],
)
def test_a_mistaken_name_beside_a_text_is_still_told(cinema: Database, sql: str, near: tuple[str, ...]) -> None:
    with pytest.raises(RefusedError) as caught:
        cinema.check(sql)
    assert caught.value.suggestions == near
