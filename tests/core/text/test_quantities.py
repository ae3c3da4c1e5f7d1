"""Figures with their units, in both languages, and whether two of them are the same."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from research.core.text.folding import fold_text
from research.core.text.quantities import Measure, are_compatible, find_measures, measures_agree
from tests.growth import assert_linear
from tests.tables import each_row


def only(text: str) -> Measure:
    (found,) = find_measures(text)
    return found


def told(text: str) -> list[tuple[str, float]]:
    return [(m.kind, round(m.low, 6)) for m in find_measures(text)]


@each_row(
    ("text", "kind", "value"),
    [
        ("A$5 million", "money aud", 5e6),
        ("AU$5m", "money aud", 5e6),
        ("C$20", "money cad", 20),
        ("CA$20", "money cad", 20),
        ("NZ$3.5bn", "money nzd", 3.5e9),
        ("S$12", "money sgd", 12),
        ("NT$500", "money twd", 500),
        ("R$ 40", "money brl", 40),
        ("HK$100", "money hkd", 100),
        ("MX$100", "money mxn", 100),
        ("US$5", "money usd", 5),
        ("$5", "money usd", 5),
        ("₩5,000", "money krw", 5_000),
        ("₹500 crore", "money inr", 5e9),
        ("Rs. 500", "money inr", 500),
        ("AUD 5m", "money aud", 5e6),
        ("CAD5 million", "money cad", 5e6),
        ("5 million Australian dollars", "money aud", 5e6),
        ("20 Canadian dollars", "money cad", 20),
        ("30 Singapore dollars", "money sgd", 30),
        ("7 Hong Kong dollars", "money hkd", 7),
        ("500万加元", "money cad", 5e6),
        ("300澳元", "money aud", 300),
        ("200新加坡元", "money sgd", 200),
        ("100新台币", "money twd", 100),
        ("新台幣3億元", "money twd", 3e8),
        ("90纽元", "money nzd", 90),
        ("12雷亚尔", "money brl", 12),
        ("4000泰铢", "money thb", 4_000),
        ("3兆韩元", "money krw", 3e12),
        ("人民币1.5亿元", "money yuan", 1.5e8),
        ("壹仟贰佰叁拾肆元", "money yuan", 1_234),
        ("三块五", "money yuan", 3.5),
        ("2元5角", "money yuan", 2.5),
        ("5 million pounds", "money gbp", 5e6),
        ("12磅", "mass", 5.443108),
        ("一成半", "ratio", 15),
        ("三成五", "ratio", 35),
        ("两成", "ratio", 20),
        ("百分之三点九.", "ratio", 3.9),
        ("百分之一点点", "ratio", 1),
        ("百分之三.5", "ratio", 3.5),
        ("百分之一百二十", "ratio", 120),
        ("万分之五", "ratio", 0.05),
        ("千分之三点五", "ratio", 0.35),
        ("五分之三", "ratio", 60),
        ("3/4 of voters", "ratio", 75),
        ("two-thirds of them", "ratio", 66.666667),
        ("one in five", "ratio", 20),
        ("八五折", "discount", 85),
        ("打八折", "discount", 80),
        ("8.5折", "discount", 85),
        ("0.25个百分点", "points", 0.25),
        ("25 basis points", "points", 0.25),
        ("half a percentage point", "points", 0.5),
        ("−5°C", "temperature", -5),
        ("–5 °C", "temperature", -5),
        ("-5℃", "temperature", -5),
        ("minus 5 degrees Celsius", "temperature", -5),
        ("零下5度", "temperature", -5),
        ("零下十二摄氏度", "temperature", -12),
        ("华氏90度", "fahrenheit", 90),
        ("1½ hours", "duration", 5_400),
        ("half an hour", "duration", 1_800),
        ("three quarters of an hour", "duration", 2_700),
        ("一个半小时", "duration", 5_400),
        ("一年半", "duration", 1.5 * 31_557_600),
        ("半个月", "duration", 1_314_900),
        ("1小时30分", "duration", 5_400),
        ("5 ft 11", "length", 1.8034),
        ("5 feet 11 inches", "length", 1.8034),
        ("5'11\"", "length", 1.8034),
        ("一米八", "length", 1.8),
        ("1米75", "length", 1.75),
        ("a quarter of a mile", "length", 402.336),
        ("632 m tall", "length", 632),
        ("a 5m wide road", "length", 5),
        ("高632m的塔", "length", 632),
        ("时速120公里", "speed", 120),
        ("3.5 million sq ft", "area", 325_160.5),
        ("5亿千瓦时", "energy", 5e8),
        ("Thirty-two people", "people", 32),
        ("two hundred thousand and five people", "people", 200_005),
        ("兩千人", "people", 2_000),
        ("$5 m", "money usd", 5e6),
        ("5m people", "people", 5e6),
        ("1.2 lakh crore rupees", "money inr", 1.2e12),
        ("a dozen eggs", "", 12),
        ("half a million voters", "", 500_000),
    ],
)  # fmt: skip
def test_a_figure_is_read_with_its_unit(text: str, kind: str, value: float) -> None:
    found = only(text)
    assert (found.kind, found.low, found.high) == (kind, pytest.approx(value), found.low)


@each_row(
    ("text", "kind", "low", "high"),
    [
        ("10-15%", "ratio", 10, 15),
        ("10% to 15%", "ratio", 10, 15),
        ("between 5 and 7 million", "", 5e6, 7e6),
        ("between five and seven million people", "people", 5e6, 7e6),
        ("5–7 million people", "people", 5e6, 7e6),
        ("$5-7 million", "money usd", 5e6, 7e6),
        ("$5 million to $7 million", "money usd", 5e6, 7e6),
        ("120至300万人", "people", 1.2e6, 3e6),
        ("三到五百人", "people", 300, 500),
        ("3-5万人", "people", 3e4, 5e4),
        ("三至五天", "duration", 3 * 86_400, 5 * 86_400),
        ("海拔300－800米", "length", 300, 800),
        ("-5 to -2 °C", "temperature", -5, -2),
        ("three to five hours", "duration", 10_800, 18_000),
        ("十几人", "people", 11, 19),
        ("伤者有十几", "", 11, 19),
        ("十几，据说更多", "", 11, 19),
        ("二十几", "", 21, 29),
        ("约有几十", "", 20, 100),
        ("数十万人", "people", 2e5, 1e6),
        ("一两百人", "people", 100, 200),
        ("三四个", "count", 3, 4),
        ("三五个", "count", 3, 5),
        ("several hundred people", "people", 200, 1_000),
    ],
)
def test_a_range_is_one_figure_from_end_to_end(text: str, kind: str, low: float, high: float) -> None:
    found = only(text)
    assert (found.kind, found.low, found.high) == (kind, pytest.approx(low), pytest.approx(high))


@each_row(
    ("text", "figures"),
    [
        ("rose from 5 to 7 percent", [("", 5), ("ratio", 7)]),
        ("increased from £15 million to £67 million", [("money gbp", 1.5e7), ("money gbp", 6.7e7)]),
        ("从5%升至7%", [("ratio", 5), ("ratio", 7)]),
        ("3-1 win", [("score", 3_001)]),
        ("5 km, 10 km", [("length", 5_000), ("length", 10_000)]),
        ("1.5 million in 2024", [("", 1.5e6), ("date", 0)]),
    ],
)
def test_figures_beside_each_other_are_no_range(text: str, figures: list[tuple[str, float]]) -> None:
    assert told(text) == figures


@each_row(
    ("text", "bound"),
    [
        ("三十来个", "about"),
        ("30多万人", "some"),
        ("100余家", "some"),
        ("上百家", "least"),
        ("近百人", "about"),
        ("over 100 people", "least"),
        ("100 people or more", "least"),
        ("不到100人", "most"),
        ("up to 100 people", "most"),
        ("100人左右", "about"),
        ("100-plus people", "some"),
        ("百余人", "some"),
        ("三十好几人", "some"),
        ("30-odd people", "some"),
        ("100 people", ""),
    ],
)
def test_a_figure_knows_what_bounds_it(text: str, bound: str) -> None:
    assert only(text).bound == bound


NAMES = """COVID-19 C919 5G 3D T3航站楼 三明市 万一 千万别 十分重要 一些 一带一路 三里屯 百度 第一 其一
十四五规划 三角形 Windows-11 v1.2.3 192.168.0.1 one 一波三折 数以百计"""


@each_row("text", NAMES.split())
def test_what_is_part_of_a_name_is_no_figure(text: str) -> None:
    assert find_measures(text) == ()


@each_row(
    "text",
    [
        "骁龙845处理器",
        "天玑9300处理器的手机",
        "运20部署到位",
        "双11成交额",
        "75球季",
        "15首次亮相",
        "2部分",
    ],
)
def test_a_word_that_begins_like_a_unit_is_none(text: str) -> None:
    assert [figure.unit for figure in find_measures(text)] == [""]


@each_row("text", ["845处遗址", "845处", "20部电影", "12个省", "4座位于北京", "50台风扇", "11成以上"])
def test_a_unit_is_one_before_any_other_word(text: str) -> None:
    assert only(text).unit


@each_row("text", ["2022届毕业生", "2024款车型", "2023台北", "2021首次", "2008北京奥运会", "2019人均"])
def test_a_year_may_stand_before_a_chinese_word(text: str) -> None:
    assert only(text).date_parts == (int(text[:4]), None, None)


@each_row(
    ("claim", "found"),
    [
        ("33 %", "a third of voters"),
        ("a third of voters", "33 %"),
        ("33.3%", "三分之一"),
        ("67 %", "two-thirds of them"),
        ("15%", "一成半"),
        ("八五折", "15%"),
        ("85%", "八五折"),
        ("打了七折", "70%"),
        ("66 %", "two-thirds of them"),
        ("a quarter of a million people", "250,000 people"),
        ("5’11”", "180 cm"),
        ("5'11 tall", "180 cm"),
        ("6ft 2in", "188 cm"),
        ("six foot two", "188 cm"),
        ("2000点", "两千点"),
        ("1800户", "1.8 thousand homes"),
        ("12 million", "1200万"),
        ("12亿元", "12.3亿元"),
        ("62 miles", "100公里"),
        ("5 ft 11", "180 cm"),
        ("32 people", "Thirty-two people"),
        ("more than 100 people", "104人"),
        ("90 degrees", "90°F"),
        ("32°F", "0℃"),
        ("100 pesos", "100 Philippine pesos"),
        ("500 kroner", "500丹麦克朗"),
        ("¥500", "500 yen"),
        ("¥500", "500元"),
        ("£20 million", "20 million pounds"),
        ("12 pounds", "5.44 kg"),
        ("用电100度", "100 kWh"),
        ("25 basis points", "0.25个百分点"),
        ("5 points", "5 percentage points"),
        ("十几人", "15人"),
        ("several hundred people", "400人"),
        ("1 million people", "100万人"),
        ("twice", "200%"),
    ],
)
def test_a_figure_bears_out_another_in_other_words(claim: str, found: str) -> None:
    assert measures_agree(only(claim), only(found))


@each_row(
    ("claim", "found"),
    [
        ("A$5", "US$5"),
        ("$5", "A$5"),
        ("C$20", "20 dollars"),
        ("100 Mexican pesos", "100 Philippine pesos"),
        ("500港元", "500元"),
        ("5 percent", "5 percentage points"),
        ("31 %", "a third of voters"),
        ("65 %", "two-thirds of them"),
        ("打了七折", "75%"),
        ("five million", "500,000"),
        ("half a million", "a million people"),
        ("一成半", "10%"),
        ("−5°C", "5°C"),
        ("32 people", "2 people"),
        ("1.2 lakh crore", "1.2 lakh"),
        ("20人", "十几人"),
        ("5 km", "5 miles"),
        ("100度电", "100公里"),
    ],
)
def test_other_figures_do_not_agree(claim: str, found: str) -> None:
    assert not measures_agree(only(claim), only(found))


def test_two_figures_are_compatible_if_both_may_be_true() -> None:
    def both(one: str, other: str) -> bool:
        a, b = only(one), only(other)
        assert are_compatible(a, b) == are_compatible(b, a)
        return are_compatible(a, b)

    assert both("15人", "十几人")
    assert both("about 100 people", "95 people")
    assert both("12亿元", "12.3亿元")
    assert both("10-15%", "12-20%")
    assert not both("100 people", "95 people")
    assert not both("10-15%", "16-20%")
    assert not both("5 km", "5 kg")


FIGURES = "0123456789.,-–−%$€£¥ 一二三四五六七八九十百千万亿兆零〇两几数半点分之成折年月日时多余来上 年代世纪"
ALPHABET = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=FIGURES, max_size=40),
    st.lists(
        st.sampled_from(
            ["one", "two", "half", "a", "an", "and", "hundred", "thousand", "million", "point", "third", "quarter", "of", "dozen", "between", "to", "in", "may", "3", "1,000", "2.5", "%", "百分之", "分之", "点", "三", "半", "成", "折", "年", "月", "日", "pm", "民国", "C$", "rs", "5", "ft", "11", "e6", "×", "10^", "½", "1/2", "several"]
        ),
        max_size=12,
    ).flatmap(lambda words: st.sampled_from(["", " ", "-"]).map(lambda gap: gap.join(words))),
)  # fmt: skip


@given(ALPHABET)
@example("9" * 500 + "%")
@example("三" * 300 + "人")
@example("百分之" * 40)
@example("前１月 前١月 ٣٠ people killed q٣")
@example("1e99 × 10^99 million billion trillion")
@example("十年代 〇世纪 民国〇年 0月0日 99/99/9999")
def test_no_text_is_an_error_and_every_figure_stands_in_its_text(text: str) -> None:
    assert len(fold_text(text)) == len(text)
    assert find_measures(text) == find_measures(fold_text(text))
    found = find_measures(text)
    for at, measure in enumerate(found):
        assert 0 <= measure.start < measure.end <= len(text)
        assert measure.low <= measure.high
        measures_agree(measure, found[at - 1])
        are_compatible(measure, found[at - 1])


@pytest.mark.slow
@each_row("part", ["1 ", "三", "a ", "百分之", "one hundred and ", "1,", "- ", "年"])
def test_a_long_text_is_read_in_time_that_grows_with_its_length(part: str) -> None:
    fresh = count(1)  # what was read before is remembered
    assert_linear(lambda size: partial(find_measures, part * (size + next(fresh))), 1_000)
