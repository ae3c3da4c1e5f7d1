"""Questions that rules turn into SQL: the common shapes, and being at a loss with all others."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from research.database.build import shipped
from research.database.rules import NotUnderstood, Vocabulary, read

GOLD: list[dict[str, str]] = json.loads(
    (Path(__file__).parent / "gold.json").read_text(encoding="utf-8")
)
# Each has something in it that changes the meaning and that no rule knows.
LOST = """
评分最高的景区
适合带孩子的景区有哪些
除了浙江还有哪些省
不在浙江的景区
浙江的景区有山的吗
浙江和杭州有多少景区
浙江有多少个省
离杭州最近的景区
西湖附近的景区
北京有多少个公园
有多少个4A景区
北京和上海哪个景区多
北京的景区比上海多吗
过去五年评定的景区
门票100到200元的景区
没有门票的景区
最大的景区
前10个景区
每个省最早评定的景区
How many areas are not in Zhejiang?
Which areas are near 颐和园?
How many museums in Beijing
How many provinces have 5A areas?
half of the areas in Zhejiang
top 10 areas in Zhejiang
show me everything
DROP TABLE a_sight
'; SELECT 1 --
"""


def km(lng: float, lat: float, other_lng: float, other_lat: float) -> float | None:
    """Kilometres between two points on a sphere."""
    if None in (lng, lat, other_lng, other_lat):
        return None
    a, b = math.radians(lat), math.radians(other_lat)
    half = math.sin((b - a) / 2) ** 2
    half += math.cos(a) * math.cos(b) * math.sin(math.radians(other_lng - lng) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(half))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(shipped(tmp_path_factory.mktemp("sights")))) as made:
        made.create_function("distance_km", 4, km, deterministic=True)
        yield made


@pytest.fixture(scope="module")
def words(db: sqlite3.Connection) -> Vocabulary:
    areas = {
        name: gid
        for gid, *names in db.execute("select gid, name, name_en from a_sight")
        for name in names
        if name
    }
    cities = [row[0] for row in db.execute("select distinct city from a_sight where city <> ''")]
    provinces = [row[0] for row in db.execute("select distinct province from a_sight")]
    return Vocabulary(areas, provinces, cities)


def found(db: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]]:
    return db.execute(sql).fetchall()


def within(wanted: tuple[Any, ...], row: tuple[Any, ...]) -> bool:
    """Whether a row has all that is wanted; the rules tell more of a thing than was asked."""
    return set(map(str, wanted)) <= set(map(str, row))


def answered(words: Vocabulary) -> dict[str, str]:
    """The gold questions that the rules understand, with their SQL."""
    out = {}
    for gold in GOLD:
        try:
            out[gold["id"]] = read(gold["question"], words).sql
        except NotUnderstood:
            continue
    return out


def test_every_gold_statement_finds_something(db: sqlite3.Connection) -> None:
    assert len(GOLD) >= 60
    assert [gold["id"] for gold in GOLD if not found(db, gold["sql"])] == []


def test_the_rules_answer_at_least_half_and_are_never_wrong(
    db: sqlite3.Connection, words: Vocabulary
) -> None:
    sql = answered(words)
    assert len(sql) * 2 >= len(GOLD)
    wrong = []
    for gold in GOLD:
        if gold["id"] not in sql:
            continue
        wanted, rows = found(db, gold["sql"]), found(db, sql[gold["id"]])
        if len(rows) != len(wanted) or not all(any(within(w, r) for r in rows) for w in wanted):
            wrong.append((gold["id"], gold["question"]))
    assert wrong == []


def test_each_shape_that_is_not_left_to_a_model_is_understood(words: Vocabulary) -> None:
    lost = [g["question"] for g in GOLD if g["shape"] != "model" and g["id"] not in answered(words)]
    assert lost == []


def test_the_order_of_a_gold_question_is_kept(db: sqlite3.Connection, words: Vocabulary) -> None:
    for gold in GOLD:
        if gold["shape"] in ("order", "nearest") and "ORDER BY" in gold["sql"]:
            names = [row[0] for row in found(db, gold["sql"])]
            rows = db.execute(read(gold["question"], words).sql)
            at = [column[0] for column in rows.description].index("name")
            assert [row[at] for row in rows] == names, gold["id"]


@pytest.mark.parametrize("question", LOST.strip().splitlines())
def test_what_has_more_in_it_is_not_answered(words: Vocabulary, question: str) -> None:
    with pytest.raises(NotUnderstood):
        read(question, words)


def test_what_is_meant_is_said_in_the_language_of_the_question(words: Vocabulary) -> None:
    assert (
        read("2015年以后评定的江苏景区有哪些？", words).meant == "景区列表：江苏省，评定年份 > 2015"
    )
    assert read("Areas in Zhejiang with tickets under 100 yuan", words).meant == (
        "list of areas: 浙江省, ticket < 100 yuan"
    )


@pytest.mark.parametrize(
    ("said", "number"), [("十", 10), ("十二", 12), ("二十", 20), ("一百二十", 120), ("两", 2)]
)
def test_numbers_may_be_written_in_chinese(words: Vocabulary, said: str, number: int) -> None:
    assert read(f"离颐和园最近的{said}个景区", words).sql.endswith(f"LIMIT {number}")


def test_a_name_cannot_end_the_text_that_it_stands_in(words: Vocabulary) -> None:
    odd = Vocabulary({}, ["O'Neill' OR 1=1 --省"], [])
    assert "'O''Neill'' OR 1=1 --省'" in read("O'Neill' OR 1=1 --省有哪些景区", odd).sql
