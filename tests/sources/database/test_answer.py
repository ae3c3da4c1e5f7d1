"""What an outcome says in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from research.core.events import ignore_event
from research.core.records import ColumnCoverage, QueryResult
from research.sources.database.agent import Outcome, count_nulls
from research.sources.database.outcome_text import describe_outcome
from research.sources.database.service import DatabaseService


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("浙江省有多少个5A级景区？", "浙江省有 22 个 5A 级景区。"),
        ("How many 5A scenic areas are there in Zhejiang?", "There are 22 5A areas in Zhejiang."),
        ("how many areas in Beijing rated in 2024", "There is 1 5A area in Beijing rated in 2024."),
        ("1999年评定的景区有多少个", "没有 1999 年评定的 5A 级景区。"),
        ("1999年评定的景区有哪些？", "没有 1999 年评定的 5A 级景区。"),
        ("which areas were rated in 1999", "There are no 5A areas rated in 1999."),
        ("离颐和园最近的3个景区", "离颐和园最近的 3 个 5A 级景区：圆明园景区（2.5 公里）、"),
        (
            "nearest area to the Summer Palace",
            "The nearest 5A area to Summer Palace: 圆明园景区 (2.5 km).",
        ),
        (
            "5A areas within 50 km of Mount Tai",
            "There is 1 5A area within 50 km of Mount Tai. It is ",
        ),
        ("门票最贵的3个景区", "5A 级景区中门票最贵的 3 个：武陵源—天门山旅游区（225 元）、"),
        (
            "the most expensive ticket",
            "5A areas with the most expensive tickets: 武陵源—天门山旅游区 (225 yuan).",
        ),
        ("哪个省5A最多", "5A 级景区最多的省份：江苏省 26 个。"),
        ("which city has the most 5A areas", "City with the most 5A areas: Chongqing 12."),
        ("各省5A景区数量", "5A 级景区数量（按省份）共 31 组，前 10 组：江苏省 26 个，"),
        (
            "top 3 provinces by number of 5A areas",
            "The 3 provinces with the most 5A areas: Jiangsu 26, Zhejiang 22, Sichuan 18.",
        ),
        ("西湖到千岛湖有多远", "杭州西湖风景名胜区到千岛湖风景名胜区的直线距离约 128.7 公里。"),
        ("How far is Mount Tai from the Temple of Heaven?", "is about 408.4 km."),
        (
            "浙江5A平均票价",
            "浙江省的 5A 级景区的平均门票为 80.6 元。22 个景区中有 8 个的门票价格已知。",
        ),
        ("布达拉宫是哪一年评上5A的", "布达拉宫景区：2013 年评定为 5A。"),
        ("西湖免费吗", "杭州西湖风景名胜区：门票 免费（"),
        ("Where is Mount Emei?", "峨眉山景区: in 峨眉山市, Leshan, Sichuan. Address unknown."),
        ("江苏有哪些5A景区？", "江苏省有 26 个 5A 级景区。前 10 个："),
        ("评分最多的景区", "没有读懂“评分最多”"),
        ("Which area is the loveliest?", "The rules did not understand “loveliest”."),
    ],
)
async def test_it_is_said_in_the_language_of_the_question(tmp_path: Path, question: str, words: str) -> None:
    assert words in describe_outcome(await DatabaseService("", tmp_path).ask(question, ignore_event))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("浙江有哪些4A景区？", "4A"),
        ("杭州有多少3A级景区", "3A"),
        ("离西湖最近的4A景区", "4A"),
        ("全国有多少AAAA级景区", "AAAA"),
        ("四A级景区有哪些", "四A"),
        ("全国有多少A级景区", "A级"),
        ("How many 4A scenic areas are in Zhejiang?", "4A"),
        ("AAA-rated sights in Beijing", "AAA"),
        ("the nearest 3A area to the West Lake", "3A"),
        ("法国有哪些5A景区？", "法国"),
        ("日本东京有几个景区", "日本东京"),
        ("台湾有多少5A景区", "台湾"),
        ("5A areas in California", "California"),
        ("How many areas are there in New Zealand?", "New Zealand"),
    ],
)
async def test_what_the_data_does_not_hold_is_said_with_what_it_holds(
    tmp_path: Path, question: str, named: str
) -> None:
    outcome = await DatabaseService("", tmp_path).ask(question, ignore_event)
    text = describe_outcome(outcome)
    assert named in text and "358" in text and "5A" in text.replace(named, "", 1)
    assert outcome.rows is None
    assert "没有读懂" not in text and "not understood" not in text


async def test_beside_what_was_not_understood_stands_what_the_data_holds(tmp_path: Path) -> None:
    for question in ("浙江有哪些餐厅", "Which hotels are in Hangzhou?", "鹤岗市有哪些5A景区"):
        text = describe_outcome(await DatabaseService("", tmp_path).ask(question, ignore_event))
        assert "5A" in text and "358" in text and "31" in text


async def test_what_is_missing_is_named_with_how_many_rows_lack_it(tmp_path: Path) -> None:
    outcome = await DatabaseService("", tmp_path).ask("浙江景区的开放时间", ignore_event)
    assert outcome.status == "partial"
    text = describe_outcome(outcome)
    number = dict(outcome.null_counts)["opening_hours"]
    assert f"开放时间未知：{number} 行。" in text
    assert "opening_hours" not in text
    english = describe_outcome(
        await DatabaseService("", tmp_path).ask("opening hours of sights in Beijing", ignore_event)
    )
    assert re.search(r"Opening hours unknown: \d rows\.", english)


def answer(question: str, **rows: object) -> str:
    """What is said of rows that a model's statement has found."""
    found = QueryResult(sql="", **rows)  # type: ignore[arg-type]
    lacking = tuple(count_nulls(found))
    return describe_outcome(
        Outcome(status="answered", question=question, restatement="票价", rows=found, null_counts=lacking)
    )


def test_rows_of_other_statements_are_told_by_their_columns() -> None:
    assert answer("价格？", names=("ticket_cny",), rows=((12.0,),)) == "票价：12 元。"
    assert answer("How far?", names=("km",), rows=((3.5,),)) == "票价: 3.5 km."
    assert answer("价格？", names=("n",), rows=((None,),)) == "票价未知。"
    assert answer("价格？", names=("a", "b"), rows=((1, 2),)) == "票价：找到 1 行。"
    assert answer("Which?", names=("a", "b"), rows=((1, 2), (3, 4))) == "票价: 2 rows."


def test_a_column_that_is_not_ours_keeps_its_name() -> None:
    text = answer("价格？", names=("name", "评分"), rows=(("甲", None), ("乙", 1)))
    assert text == "票价：找到 2 行。分别是：甲、乙。评分未知：1 行。"


def test_braces_in_a_cell_are_a_cell() -> None:
    text = answer("价格？", names=("name", "x"), rows=(("{meant}", 1), ("{0}", 2)))
    assert "分别是：{meant}、{0}。" in text


def test_a_long_cell_is_shortened() -> None:
    assert len(answer("价格？", names=("name", "x"), rows=(("长" * 5_000, 1),))) < 250


def test_more_rows_than_were_taken_are_said() -> None:
    rows = tuple((f"n{n}", n) for n in range(12))
    text = answer("Which?", names=("name", "x"), rows=rows, truncated=True)
    assert "The first 10: n0" in text and "Only the first 12 rows were retrieved" in text


def test_what_the_rules_do_not_know_names_a_remedy_that_is_one() -> None:
    """A model is recommended only where none is set."""
    tables = Outcome(status="no model", question="有多少商品？", saved=("商品总数",))
    assert describe_outcome(tables) == (
        "用自己的话查询这个数据库，需要由模型来写 SQL。目前没有设置模型。"
        "下列已保存的问题不需要模型：“商品总数”。可以自己写 SQL。"
    )
    words = Outcome(status="unclear", question="How many 4A areas are there?", problem="4A")
    assert describe_outcome(words) == "The rules did not understand “4A”. Rephrase it. You can also set up a model."
    for outcome in (tables, words):
        text = describe_outcome(outcome.model_copy(update={"has_idle_model": True}))
        assert not re.search("设置模型|set up a model", text)
        assert "“状态”页" in text or "Status page" in text


KNOWN = [
    ("上海市门票高于50元的5A级景区有几个", "共有 1 个。5 个景区中有 3 个的门票价格已知。"),
    ("上海市門票高於50元的5A級景區有幾個", "共有 1 个。5 个景区中有 3 个的门票价格已知。"),
    ("How many 5A areas in Shanghai have tickets over 50 yuan?", "The ticket price is known for 3 of 5 areas."),
    ("上海市门票高于500元的5A级景区有哪些", "没有上海市门票高于 500 元的 5A 级景区。5 个景区中有 3 个的门票价格已知。"),
    ("浙江省门票最贵的10个5A景区", "22 个景区中有 8 个的门票价格已知。"),
    ("the cheapest 5A area in Zhejiang", "The ticket price is known for 8 of 22 areas."),
    ("各省免费5A景区数量", "358 个景区中有 140 个的门票价格已知。"),
    ("average ticket by province", "The ticket price is known for 140 of 358 areas."),
    ("离颐和园最近的3个景区", "357 个景区中有 356 个的坐标已知。"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "words"), KNOWN)
async def test_what_is_filtered_counted_or_ranked_by_is_said_to_be_known_for_so_many(
    tmp_path: Path, question: str, words: str
) -> None:
    assert words in describe_outcome(await DatabaseService("", tmp_path).ask(question, ignore_event))


async def test_nothing_is_said_of_what_is_known_of_all_or_seen_to_be_unknown(
    tmp_path: Path,
) -> None:
    asked = DatabaseService("", tmp_path)
    for question in ("浙江省有多少个5A级景区？", "各省5A景区数量", "每年评定了多少个 5A 景区？"):
        assert "已知" not in describe_outcome(await asked.ask(question, ignore_event))
    listed = describe_outcome(await asked.ask("按门票从高到低列出上海的景区", ignore_event))
    assert listed.endswith("门票价格未知：2 行。") and "已知" not in listed


def test_what_is_known_is_said_of_other_statements_too() -> None:
    coverage = (
        ColumnCoverage(columns=("price", "rating"), known=3, rows=9),
        ColumnCoverage(columns=("size",), known=0, rows=4, subquery=True),
        ColumnCoverage(columns=("weight",), known=None),
    )
    found: dict[str, object] = {"names": ("n",), "rows": ((1,),), "coverage": coverage}
    assert answer("数量？", **found) == (
        "票价：1。9 行中有 3 行的 price、rating 已知。子查询的 4 行的 size 均未知。未能统计有多少行的 weight 未知。"
    )
    assert answer("How many?", **found) == (
        "票价: 1. price and rating are known for 3 of 9 rows."
        " size is not known for any of 4 rows of a subquery."
        " Could not count the rows in which weight is unknown."
    )
