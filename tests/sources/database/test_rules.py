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

from research.sources.database.rules import interpret
from research.sources.database.shipped_database import ensure_shipped_database
from research.sources.database.sights_question import NotUnderstoodError, Vocabulary
from tests.tables import each_row

GOLD: list[dict[str, str]] = json.loads((Path(__file__).parent / "gold.json").read_text(encoding="utf-8"))
# Each has something in it that changes the meaning and that no rule knows.
LOST = """
评分最高的景区
适合带孩子的景区有哪些
除了浙江还有哪些省
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
没有门票的景区
最大的景区
前10个景区
每个省最早评定的景区
Which areas are near 颐和园?
How many museums in Beijing
How many provinces have 5A areas?
half of the areas in Zhejiang
top 10 areas in Zhejiang
show me everything
什么是5A级景区
what is a 5A scenic area?
浙江A级景区有多少个
A-level scenic areas in Zhejiang
浙江2015年有多少个5A景区
2024年门票低于50元的景区
2024年故宫门票多少钱
How many 5A areas were there in 2015?
沈阳故宫周边50公里的景区
5A areas in Taizhou
5A areas in Fuzhou, Jiangxi
浙江，南京的5A景区
nearest city to West Lake
5A areas in Jilin City
how long is the Li River
oldest 5A area in China
北京景区最晚几点关门
各省门票价格
门票最贵的10个景区中有几个在浙江
within 100 km of West Lake and Hangzhou
国家级风景名胜区有多少个
list areas in Beijing by ticket price
areas from Hangzhou to Suzhou
免费的景区和2015年以后评的景区
5A areas in Beijing and areas rated after 2020
故宫是2007年评上的吗
2015年前后评定的景区
top 5 areas in Beijing
areas in Beijing not free
不免费的北京景区
北京不是免费的景区
学生票低于50元的景区
西湖周边50公里外的景区
离西湖第二近的景区
门票不是最贵的景区
天台山在哪
哪个省最贵的景区最多
哪个省5A景区第二多
每个城市最多的景区
浙江省前5名的城市
门票超过100元的景区有几个省
名字里有四个字的景区
名字里带山或湖的景区
名字不带山的景区
without a known ticket price
areas with no ticket
从西湖到千岛湖开车多远
北京到上海多远
故宫到上海多远
Which areas in Zhejiang are more than 100 km from West Lake
areas within 1000 litres of West Lake
5A景区总数的平均数
浙江5A景区平均评定年份
平均每个省有多少个5A
平均每省有几个5A景区
average number of 5A areas per province
average opening hours
Is Mount Hua in Shaanxi?
Is West Lake rated before 2010?
areas rated before or in 2010
areas not rated in 2007
门票1千元以下
门票1,000元以下的景区
more than half of areas in Beijing
five areas in Beijing
5 areas in Beijing
give me 3 free areas in Zhejiang
推荐3个浙江的5A景区
随便列出5个5A景区
浙江第3个5A景区
上海市内的5A景区之外还有哪些
长城门票
八达岭长城门票多少钱
华山论剑
泰山北斗
千山万水
大西湖有哪些景区
湖北省和湖南省哪个5A更多
哪些城市有5A景区
哪些省没有5A景区
全国有多少个城市有5A景区
有多少景区是2020年评的，有多少是2021年评的
2020年和2021年评定的景区
2020、2021年评的5A
北京2007年评的和上海2007年评的
评定时间最长的景区
海南州有哪些5A
中山陵门票
5A areas near the sea in Shandong
how many areas charge nothing in Beijing
Zhejiang areas open all year
cheapest area to fly to
where can I find free wifi in Beijing
show the 2nd most expensive area
什么时候去西湖最好
西湖什么时候最美
西湖最早几点开门
浙江5A景区数量全国第几
浙江5A景区数量增长了多少
how much has ticket price increased at West Lake
ticket price of West Lake in 2019
不在北京也不在上海的景区有多少
江苏省苏州市不免费的景区
0元门票的景区
门票为0元的景区有多少
门票100元的景区
门票正好100元的景区
吉林市有哪些5A
最高的景区
北京5A景区几个？上海呢？
浙江免费的有几个？江苏的呢
最低的5A景区
海拔最高的景区
Mount Lu rating
为什么江苏有5A景区
最高的5A景区
浙江面积最大的景区
上海最古老的景区
西湖对面的景区
距离西湖最远的景区
杭州的免费景区有几个，分别是哪些
浙江哪些城市有5A景区
中国哪里5A最多
哪里的5A景区最多
北京哪些景区门票超过50
北京门票在60元左右的景区
浙江最贵的门票是多少
浙江门票最高价
世界遗产有多少个
5A景区分布图
请列出黄河沿岸的5A景区
山东的山
山东带山的景区
江西有哪些山是5A
北京5A景区几个？上海呢？
Does Hainan have more than 5 5A areas?
Tickets for the Summer Palace in winter
price of the Summer Palace for students
When was the Summer Palace built?
Where can I see pandas
Where is the nearest airport to West Lake
nearest 5A area to Hangzhou
list 5 areas near Mount Tai
areas within 2 hours of West Lake
how many areas are within 100 km of West Lake and how far is each
5A areas between Hangzhou and Suzhou
5A areas between 50 and 100 km from West Lake
Which areas were rated in 2015 and 2016?
areas rated in 2015 or 2016
which year saw the most new 5A areas
how many years ago was West Lake rated
population of Hangzhou
GDP of Zhejiang
number of cities with 5A areas
number of provinces
list of cities in Zhejiang
how many counties in Zhejiang have a 5A area
top ten
first three areas rated in Beijing
most recently rated area in each province
浙江5A景区的平均门票和数量
浙江门票总和
门票加起来多少钱
西湖加故宫门票多少
西湖和故宫哪个贵
黄山和华山哪个先评上5A
泰山的英文名
武当山在湖北哪里
武当山是湖北的吗
湖南武当山门票
湖北的5A景区里有武当山吗
5A级旅游度假区有哪些
5A酒店有哪些
5a写字楼
AAAAA景区
AAAA景区数量
5A+4A景区数量
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
    with closing(sqlite3.connect(ensure_shipped_database(tmp_path_factory.mktemp("sights")))) as made:
        made.create_function("distance_km", 4, km, deterministic=True)
        yield made


@pytest.fixture(scope="module")
def words(db: sqlite3.Connection) -> Vocabulary:
    return Vocabulary.from_rows(db.execute("select gid, name, name_en, province, city from a_sight"))


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
            out[gold["id"]] = interpret(gold["question"], words).sql
        except NotUnderstoodError:
            continue
    return out


def test_every_gold_statement_finds_something(db: sqlite3.Connection) -> None:
    assert len(GOLD) >= 60
    assert [gold["id"] for gold in GOLD if not found(db, gold["sql"])] == []


def test_the_rules_answer_at_least_half_and_are_never_wrong(db: sqlite3.Connection, words: Vocabulary) -> None:
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


@pytest.mark.slow
def test_each_shape_that_is_not_left_to_a_model_is_understood(words: Vocabulary) -> None:
    lost = [g["question"] for g in GOLD if g["shape"] != "model" and g["id"] not in answered(words)]
    assert lost == []


def test_the_order_of_a_gold_question_is_kept(db: sqlite3.Connection, words: Vocabulary) -> None:
    for gold in GOLD:
        if gold["shape"] in ("order", "nearest") and "ORDER BY" in gold["sql"]:
            names = [row[0] for row in found(db, gold["sql"])]
            rows = db.execute(interpret(gold["question"], words).sql)
            at = [column[0] for column in rows.description].index("name")
            assert [row[at] for row in rows] == names, gold["id"]


@each_row("question", LOST.strip().splitlines())
def test_what_has_more_in_it_is_not_answered(words: Vocabulary, question: str) -> None:
    with pytest.raises(NotUnderstoodError):
        interpret(question, words)


# Questions as people type them, with a statement that has the same names or numbers.
_SPOT = "a_sight s LEFT JOIN tourist_spot t ON t.gid = s.gid"
SAME = (
    ("上海市門票高於50元的5A級景區有幾個", f"SELECT COUNT(*) FROM {_SPOT} WHERE s.province = '上海市' AND t.ticket_cny > 50"),
    ("乾陵景區在哪個省", "SELECT province FROM a_sight WHERE name = '乾陵景区'"),
    ("江蘇省有多少個5A景區？", "SELECT COUNT(*) FROM a_sight WHERE province = '江苏省'"),
    ("列出江苏所有５Ａ景区", "SELECT name FROM a_sight WHERE province = '江苏省'"),
    ("二〇一五年评定的5A景区", "SELECT name FROM a_sight WHERE year_rated = 2015"),
    ("江浙沪有多少5A景区", "SELECT COUNT(*) FROM a_sight WHERE province IN ('江苏省','浙江省','上海市')"),
    ("重庆和成都分别有多少个5A景区", "SELECT city, COUNT(*) FROM a_sight WHERE city IN ('重庆市','成都市') GROUP BY 1"),
    ("杭州和苏州各有几个5A", "SELECT city, COUNT(*) FROM a_sight WHERE city IN ('杭州市','苏州市') GROUP BY 1"),
    ("compare Zhejiang and Jiangsu: number of 5A areas", "SELECT province, COUNT(*) FROM a_sight WHERE province IN ('江苏省','浙江省') GROUP BY 1"),
    ("哪个城市5A景区最多？", "SELECT '重庆市'"),
    ("哪个城市5A景区最多？前10名", "SELECT city, COUNT(*) FROM a_sight GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"),
    ("5A最多的5个省份", "SELECT province, COUNT(*) FROM a_sight GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5"),
    ("bottom 5 provinces by 5A count", "SELECT province, COUNT(*) FROM a_sight GROUP BY 1 ORDER BY 2, 1 LIMIT 5"),
    ("哪些省的5A景区超过15个", "SELECT province FROM a_sight GROUP BY 1 HAVING COUNT(*) > 15"),
    ("provinces with fewer than 5 5A areas", "SELECT province FROM a_sight GROUP BY 1 HAVING COUNT(*) < 5"),
    ("江苏除了苏州以外的5A景区", "SELECT name FROM a_sight WHERE province = '江苏省' AND city <> '苏州市'"),
    ("areas in Jiangsu but not in Suzhou", "SELECT name FROM a_sight WHERE province = '江苏省' AND city <> '苏州市'"),
    ("新疆和西藏以外的5A有多少个", "SELECT COUNT(*) FROM a_sight WHERE province NOT IN ('新疆维吾尔自治区','西藏自治区')"),
    ("scenic areas in Hangzhou except West Lake", "SELECT name FROM a_sight WHERE city = '杭州市' AND gid <> 3301"),
    ("名称包含古镇的景区数量", "SELECT COUNT(*) FROM a_sight WHERE name LIKE '%古镇%'"),
    ("故宫方圆100里内还有别的5A吗", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 1101 AND o.gid <> 1101 AND distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) <= 50"),
    ("areas less than 5000 metres from the Palace Museum", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 1101 AND o.gid <> 1101 AND distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) <= 5"),
    ("areas within 100000 feet of the Summer Palace", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 1103 AND o.gid <> 1103 AND distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) <= 30.48"),
    ("sights within 60 miles of the Summer Palace", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 1103 AND o.gid <> 1103 AND distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) <= 96.56064"),
    ("黄山附近200千米以内的5A级景区？", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 3401 AND o.gid <> 3401 AND distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) <= 200"),
    ("離故宮最近的3個景區", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 1101 AND o.gid <> 1101 AND o.lng_wgs84 IS NOT NULL ORDER BY distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) LIMIT 3"),
    ("nearest 5A area to Mount Hua", "SELECT o.name FROM a_sight s, a_sight o WHERE s.gid = 6105 AND o.gid <> 6105 AND o.lng_wgs84 IS NOT NULL ORDER BY distance_km(s.lng_wgs84, s.lat_wgs84, o.lng_wgs84, o.lat_wgs84) LIMIT 1"),
    ("故宫门票多少钱", "SELECT ticket_cny FROM tourist_spot WHERE gid = 1101"),
    ("黄山门票多少钱", "SELECT ticket_cny FROM tourist_spot WHERE gid = 3401"),
    ("黄山哪年评为5A", "SELECT year_rated FROM a_sight WHERE gid = 3401"),
    ("黄山有哪些5A级景区", "SELECT name FROM a_sight WHERE city = '黄山市'"),
    ("西湖免费吗", "SELECT ticket_cny FROM tourist_spot WHERE gid = 3301"),
    ("Which city is Mount Emei in?", "SELECT city FROM a_sight WHERE gid = 5102"),
    ("When did Jiuzhaigou get its 5A rating?", "SELECT year_rated FROM a_sight WHERE name = '九寨沟景区'"),
    ("门票在50到100元之间的北京景区", f"SELECT s.name FROM {_SPOT} WHERE s.province = '北京市' AND t.ticket_cny BETWEEN 50 AND 100"),
    ("cheapest 3 paid attractions in Yunnan", f"SELECT s.name FROM {_SPOT} WHERE s.province = '云南省' AND t.ticket_cny > 0 ORDER BY t.ticket_cny, s.gid LIMIT 3"),
    ("How many of Sichuan's 5A areas are free?", f"SELECT COUNT(*) FROM {_SPOT} WHERE s.province = '四川省' AND t.ticket_cny = 0"),
    ("最新评上的5A有多少个", "SELECT COUNT(*) FROM a_sight WHERE year_rated = (SELECT MAX(year_rated) FROM a_sight)"),
    ("5A areas rated in the 2010s", "SELECT name FROM a_sight WHERE year_rated BETWEEN 2010 AND 2019"),
    ("total number of 5A areas rated 2007-2009", "SELECT COUNT(*) FROM a_sight WHERE year_rated BETWEEN 2007 AND 2009"),
    ("list the 5A areas by province", "SELECT name FROM a_sight"),
)  # fmt: skip


@each_row(("question", "sql"), SAME)
def test_what_people_type_has_the_rows_that_it_should(
    db: sqlite3.Connection, words: Vocabulary, question: str, sql: str
) -> None:
    wanted, rows = found(db, sql), found(db, interpret(question, words).sql)
    assert len(rows) == len(wanted) > 0
    assert all(any(within(one, row) for row in rows) for one in wanted)


@pytest.mark.parametrize(("question", "order"), [("newest first", "DESC"), ("earliest first", "ASC")])
def test_a_list_can_be_put_in_order(db: sqlite3.Connection, words: Vocabulary, question: str, order: str) -> None:
    rows = db.execute(interpret(f"scenic areas in Tibet, {question}", words).sql)
    at = [column[0] for column in rows.description].index("year_rated")
    years = [row[at] for row in rows]
    assert years == sorted(years, reverse=order == "DESC") and len(set(years)) > 1


def test_short_names_are_those_of_one_area(words: Vocabulary) -> None:
    assert words.full_names[words.short_names["都江堰"]][0] == "青城山—都江堰旅游景区"
    assert "天台山" not in words.short_names and "桃花源" not in words.short_names
    assert not {"古城", "大峡谷", "植物园", "黄山", "泰安"} & words.short_names.keys()


def test_it_is_said_which_area_is_meant(words: Vocabulary) -> None:
    assert "杭州西湖风景名胜区" in interpret("离西湖最近的3个景区", words).restatement


def test_what_is_meant_is_said_in_the_language_of_the_question(words: Vocabulary) -> None:
    zh = interpret("2015年以后评定的江苏景区有哪些？", words)
    assert zh.restatement == "江苏省 2015 年之后评定的 5A 级景区"
    en = interpret("Areas in Zhejiang with tickets under 100 yuan", words)
    assert en.restatement == "5A areas in Zhejiang with tickets under 100 yuan"


@each_row(
    ("said", "number"),
    [("十", 10), ("十二", 12), ("二十", 20), ("一百二", 120), ("一百二十", 120), ("两", 2)],
)
def test_numbers_may_be_written_in_chinese(words: Vocabulary, said: str, number: int) -> None:
    assert interpret(f"离颐和园最近的{said}个景区", words).sql.endswith(f"LIMIT {number}")


def test_numbers_may_be_english_words(words: Vocabulary) -> None:
    assert interpret("Top twelve cities in Zhejiang", words).sql.endswith("LIMIT 12")


@pytest.mark.parametrize("said", ["三五", "十十", "二十千百"])
def test_what_is_no_one_number_is_not_guessed(words: Vocabulary, said: str) -> None:
    with pytest.raises(NotUnderstoodError):
        interpret(f"离颐和园最近的{said}个景区", words)


def test_a_name_cannot_end_the_text_that_it_stands_in(words: Vocabulary) -> None:
    odd = Vocabulary({}, ["O'Neill' OR 1=1 --省"], [])
    assert "'O''Neill'' OR 1=1 --省'" in interpret("O'Neill' OR 1=1 --省有哪些景区", odd).sql
