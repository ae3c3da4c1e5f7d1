"""Where sources disagree about a figure: what is a conflict, and above all what is none."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.citations.disagreements import find_disagreements
from research.citations.numbering import number_citations, number_report_answer
from research.citations.registry import EvidenceRegistry
from research.core.records import (
    Answer,
    Evidence,
    EvidenceKind,
    Figure,
    FigureDisagreement,
    NewsCoverage,
    Passage,
    PassageReference,
    Report,
    Run,
    RunOptions,
    Span,
    StoryConflict,
)
from tests.growth import assert_linear
from tests.tables import each_row

NOW = datetime(2026, 11, 1, tzinfo=UTC)
RUN = Run(
    id="r", conversation="c", owner="o", question="门票多少钱？", options=RunOptions(), status="done",
    created=NOW,
)  # fmt: skip


def source(
    n: int,
    text: str,
    title: str = "",
    published: date | None = None,
    kind: EvidenceKind = "web",
    url: str | None = None,
) -> Evidence:
    passage = Passage(id=f"p{n}", text=text, end=len(text))
    return Evidence(
        id=f"e{n}", kind=kind, title=title, url=f"https://s{n}.example/" if url is None else url,
        locator=f"l{n}", retrieved=NOW, published=published, passages=(passage,),
    )  # fmt: skip


def found(*sources: Evidence | str, answer: Answer | None = None) -> tuple[FigureDisagreement, ...]:
    evidence = tuple(s if isinstance(s, Evidence) else source(n, s) for n, s in enumerate(sources))
    report = Report(run=RUN, evidence=evidence, answer=answer)
    return find_disagreements(report, number_report_answer(report))


def told(*sources: Evidence | str) -> list[list[str]]:
    return [[figure.text for figure in one.figures] for one in found(*sources)]


DIFFER: list[tuple[str, str, list[str]]] = [
    ("故宫门票60元。", "故宫门票为40元。", ["40元", "60元"]),
    ("故宫博物院旺季门票60元", "故宫旺季票价80元", ["60元", "80元"]),
    ("颐和园旺季门票30元，淡季门票20元。", "颐和园旺季门票35元。", ["30元", "35元"]),
    ("慕田峪长城成人票45元", "慕田峪长城成人票40元", ["40元", "45元"]),
    ("慕田峪长城共有23座敌楼", "慕田峪长城有22座敌楼", ["22座", "23座"]),
    ("珠穆朗玛峰海拔8848.86米。", "珠穆朗玛峰海拔8844.43米。", ["8844.43米", "8848.86米"]),
    ("西湖湖面面积约6.4平方公里。", "西湖湖面面积8.9平方公里。", ["6.4平方公里", "8.9平方公里"]),
    ("过境免签停留时间为144小时。", "过境免签停留时间为240小时。", ["144小时", "240小时"]),
    ("上海中心大厦高632米。", "上海中心大厦高602米。", ["602米", "632米"]),
    ("2023年苏州常住人口1291万人。", "2023年苏州常住人口1275万人。", ["1275万人", "1291万人"]),
    ("2024年五一黄山接待游客18.2万人次。", "2024年五一黄山接待游客25.7万人次。", ["18.2万人次", "25.7万人次"]),
    ("港珠澳大桥全长55公里", "港珠澳大桥全长49.9公里", ["49.9公里", "55公里"]),
    ("港珠澳大桥总投资1269亿元", "港珠澳大桥总投资1200.5亿元", ["1200.5亿元", "1269亿元"]),
    ("莫高窟开放的洞窟有8个洞窟", "莫高窟开放的洞窟有12个洞窟", ["8个", "12个"]),
    ("玉龙雪山地震造成12人死亡。", "玉龙雪山地震造成15人遇难。", ["12人", "15人"]),
    ("The Shanghai Tower is 632 m tall.", "The Shanghai Tower stands 602 metres tall.", ["602 metres", "632 m"]),
    ("The Shanghai Tower is 632 m (2,073 ft) tall.", "The Shanghai Tower is 2,173 feet tall.", ["632 m", "2,173 feet"]),
    ("Admission to the Summer Palace is 30 yuan.", "A ticket for the Summer Palace costs 45 yuan.", ["30 yuan", "45 yuan"]),
    ("The Louvre received 8.9 million visitors in 2023.", "In 2023 the Louvre had 7.7 million visitors.", ["7.7 million visitors", "8.9 million visitors"]),
    ("Acme's revenue was $5.2 billion in 2023.", "Acme reported revenue of $4.8 billion in 2023.", ["$4.8 billion", "$5.2 billion"]),
    ("The Mutianyu wall has 23 watchtowers.", "The Mutianyu wall has 22 watchtowers.", ["22", "23"]),
    ("The Kenya flood left 38 people dead.", "The Kenya flood left 45 people dead.", ["38 people", "45 people"]),
    ("Unemployment in Kenya was 5.6% in 2023.", "In 2023 unemployment in Kenya was 6.1%.", ["5.6%", "6.1%"]),
    ("The visa-free stay in Georgia is 90 days.", "The visa-free stay in Georgia is 365 days.", ["90 days", "365 days"]),
    ("The film opened in Norway on May 4, 2018.", "The film opened in Norway on May 14, 2018.", ["May 4, 2018", "May 14, 2018"]),
    ("Mar 2, 2019 ... The Vasa Museum opened its doors on June 15, 1990.", "Jan 7, 2021 ... The Vasa Museum opened on 15 June 1993.", ["June 15, 1990", "15 June 1993"]),
    ("It opened in Oslo on May 4, 2018 and in Bergen on May 14, 2018.", "It opened in Oslo on May 4, 2018 and in Bergen on May 15, 2018.", ["May 14, 2018", "May 15, 2018"]),
    ("嫦娥五号于2020年11月24日在文昌发射。", "嫦娥五号于2020年12月24日在文昌发射。", ["2020年11月24日", "2020年12月24日"]),
    ("鼓浪屿轮渡公司成立于1937年。", "鼓浪屿轮渡公司成立于1973年。", ["1937年", "1973年"]),
    ("青城山门票价格为80元。", "青城山的门票为90元一张。", ["80元", "90元"]),
    ("The Orlov Tunnel is 12.4 km long.", "At 15.1 km, the Orlov Tunnel is the longest of Norway.", ["12.4 km", "15.1 km"]),
    ("The vaccine was 91% effective in the phase three trial.", "In the phase three trial, the vaccine was 78% effective.", ["78%", "91%"]),
    ("Vexa Air carried 1.6 million people in the second quarter.", "In the second quarter, Vexa Air carried 1.2 million people.", ["1.2 million people", "1.6 million people"]),
]  # fmt: skip


@each_row(("one", "other", "figures"), DIFFER)
def test_figures_of_one_thing_that_do_not_agree_are_told(one: str, other: str, figures: list[str]) -> None:
    assert told(one, other) == [figures]


AGREE: list[tuple[str, str]] = [
    ("故宫门票60元。", "故宫门票60元人民币。"),
    ("故宫旺季门票60元。", "故宫淡季门票40元。"),
    ("故宫旺季门票60元。", "故宫门票40元。"),
    ("故宫成人票60元。", "故宫学生票20元。"),
    ("故宫门票60元。", "故宫门票40元，学生半价。故宫门票60元。"),
    ("故宫门票60元，颐和园门票30元。", "颐和园门票30元，故宫门票60元。"),
    ("慕田峪长城门票45元", "八达岭长城门票40元"),
    ("故宫门票60元", "故宫讲解器租金20元"),
    ("故宫门票60元", "故宫门票此前为40元"),
    ("故宫门票60元", "网传故宫门票并非80元"),
    ("故宫门票超过50元", "故宫门票60元"),
    ("故宫门票50-70元", "故宫门票60元"),
    ("珠穆朗玛峰海拔8848.86米。", "珠穆朗玛峰海拔约8850米。"),
    ("珠穆朗玛峰海拔8848.86米。", "珠穆朗玛峰海拔8849米。"),
    ("珠穆朗玛峰海拔8848.86米。", "乔戈里峰海拔8611米。"),
    ("2023年苏州常住人口1291万人。", "2022年苏州常住人口1275万人。"),
    ("2023年苏州常住人口1291万人。", "2023年苏州户籍人口775万人。"),
    ("苏州常住人口1291万人。", "苏州2023年常住人口1275万人。"),
    ("2024年5月黄山接待游客18.2万人次。", "2024年10月黄山接待游客25.7万人次。"),
    ("黄山今年接待游客18.2万人次。", "黄山去年接待游客25.7万人次。"),
    ("北京地铁计划投资100亿元", "北京地铁实际投资120亿元"),
    ("玉龙雪山地震造成12人死亡。", "玉龙雪山地震造成15人受伤。"),
    ("上海中心大厦高632米。", "广州塔高600米。"),
    ("西湖面积6.4平方公里", "西湖面积640公顷"),
    ("公园占地12公顷，门票免费", "博物馆占地5公顷"),
    ("第3届博览会接待游客10万人", "第4届博览会接待游客20万人"),
    ("The Shanghai Tower is 632 m tall.", "The Shanghai Tower is 2,073 feet tall."),
    ("The Shanghai Tower is 632 m tall.", "The Canton Tower is 604 m tall."),
    ("The Louvre received 8.9 million visitors in 2023.", "The Louvre received 7.7 million visitors in 2022."),
    ("The Louvre received 8.9 million visitors in 2023.", "The Louvre received almost 9 million visitors in 2023."),
    ("Admission to the Summer Palace is 30 yuan.", "Admission to the Summer Palace is 15 yuan for children."),
    ("Admission to the Summer Palace is 30 yuan in peak season.", "Admission to the Summer Palace is 20 yuan off-peak."),
    ("Acme's revenue was $5.2 billion in 2023.", "Acme's profit was $0.8 billion in 2023."),
    ("Acme expects revenue of $6 billion in 2023.", "Acme's revenue was $5.2 billion in 2023."),
    ("Acme's revenue was $5.2 billion in 2023.", "Acme's revenue was 4.8 billion euros in 2023."),
    ("Acme's revenue rose 5% in 2023.", "Acme's revenue fell 3% in 2023."),
    ("A ticket costs 30 yuan.", "A ticket costs 45 yuan."),
    ("Room 12 has 30 seats", "Room 14 has 45 seats"),
    ("Call 010 6288 1144 for the Summer Palace ticket line.", "Call 010 9999 1144 for the Summer Palace ticket line."),
    ("If admission to the Louvre were 30 euros, few would come.", "Admission to the Louvre is 22 euros."),
    ("The Louvre ticket is not 30 euros.", "Admission to the Louvre is 22 euros."),
    ("Daily visitors of the Louvre: 30,000.", "Annual visitors of the Louvre: 8,900,000."),
    ("The film opened in Norway on May 4, 2018.", "The film opened in Norway in May 2018."),
    ("The film opened in Norway on May 4, 2018 and took $3 million.", "The film opened in Norway on May 14, 2018 and took $5 million."),
    ("Mar 2, 2019 ... The Vasa Museum drew a crowd.", "Jan 7, 2021 ... The Vasa Museum drew a crowd."),
    ("The Nimbus 14 phone costs $799 in Canada.", "The Nimbus 15 phone costs $899 in Canada."),
    ("《流浪星球》在中国上映首日票房2.1亿元。", "《流浪星球2》在中国上映首日票房3.4亿元。"),
    ("2022年女排世锦赛于9月23日在荷兰举办。", "2018年女排世锦赛于9月29日在日本举办。"),
    ("2018年女排世锦赛由日本举办。", "2022年女排世锦赛由荷兰和波兰举办。"),
    ("2019年亚洲杯有24支球队参赛。", "2015年亚洲杯有16支球队参赛。"),
    ("一期工程投资12亿元。", "二期工程投资20亿元。"),
    ("The town had 12,400 people at the 2001 census.", "At the 2021 census the town had 15,900 people."),
    ("Few were left in the town at the 2001 census.", "Few were left in the town at the 2021 census."),
    ("A 2018 survey of the reserve counted 43 pairs of cranes.", "A 2021 survey of the reserve counted 57 pairs of cranes."),
    ("In the pilot phase, 200 homes in Orna were connected.", "In the final phase, 3,100 homes in Orna were connected."),
    ("The tallest tower of Marle is 212 metres high.", "The second tallest tower of Marle is 198 metres high."),
    ("", "。。。;;;|||"),
    ("<script>alert(60)</script>门票60元", "](javascript:alert(1)) 40元 \x00\ud800"),
]  # fmt: skip


@each_row(("one", "other"), AGREE)
def test_other_figures_are_no_conflict(one: str, other: str) -> None:
    assert told(one, other) == []


@each_row(("one", "other", "_"), DIFFER)
def test_the_order_of_the_sources_does_not_matter(one: str, other: str, _: list[str]) -> None:
    first, second = source(1, one), source(2, other)
    assert found(first, second) == found(second, first)


def test_a_figure_without_a_name_is_of_what_its_page_is_about() -> None:
    one = source(1, "开放时间：全年。成人票60元。", "故宫博物院 - 某网")
    other = source(2, "成人票40元，网上预约。", "故宫博物院参观指南")
    third = source(3, "成人票30元。", "颐和园")
    assert told(one, third) == told(other, third) == []
    assert told(one, other, third) == [["40元", "60元"]]
    assert found(one, other)[0].subject.startswith("故宫博物院")


def test_a_page_on_a_whole_city_names_nothing() -> None:
    assert told(source(1, "门票60元。", "北京旅游攻略"), source(2, "门票40元。", "北京旅游指南")) == []


def test_a_sentence_that_names_nothing_is_of_the_thing_of_its_title() -> None:
    texts = (
        "It is 632 m tall and opened to the public in 2015.",
        "It is 602 m tall and opened to the public in 2015.",
    )
    shanghai, canton, guide = "Shanghai Tower", "Canton Tower | Facts", "Shanghai Tower - A guide"
    assert told(source(1, texts[0], shanghai), source(2, texts[1], canton)) == []
    assert told(source(1, texts[0], shanghai), source(2, texts[1], guide)) == [["602 m", "632 m"]]


def test_an_agreeing_source_is_told_with_those_that_differ() -> None:
    one = source(1, "The Kenya flood left 38 people dead.")
    other = source(2, "The Kenya flood left 45 people dead.")
    third = source(3, "In Kenya, the flood left 45 people dead.")
    assert told(one, other, third) == [["38 people", "45 people", "45 people"]]


def test_a_source_with_several_figures_of_one_thing_counts_with_none() -> None:
    torn = source(1, "故宫门票60元。也有人说，故宫门票80元。")
    assert told(torn, source(2, "故宫门票40元。")) == []
    assert told(torn, source(2, "故宫门票40元。"), source(3, "故宫门票45元。")) == [["40元", "45元"]]


def test_copies_count_once() -> None:
    text = (
        "记者从景区了解到，故宫门票60元。观众须提前七日在网上预约，凭本人身份证件入院参观，周一闭馆，法定节假日除外。"
    )
    (one,) = found(
        source(1, text), source(2, text + "（来源：某网）"), source(3, "故宫门票40元。"),
        source(4, "票务中心公告，故宫门票60元，周一闭馆。"),
    )  # fmt: skip
    assert sorted((f.text, f.copies) for f in one.figures) == [
        ("40元", 0),
        ("60元", 0),
        ("60元", 1),
    ]


def test_one_address_is_one_source() -> None:
    one = source(1, "故宫门票60元。", url="https://a.example/x?utm_source=1")
    other = source(2, "故宫门票40元。", url="https://a.example/x")
    assert told(one, other) == []


def test_what_a_figure_is_told_with() -> None:
    one = source(1, "故宫门票60元。", published=date(2024, 5, 1))
    other = source(2, "故宫门票40元。")
    span = Span(kind="text", text="故宫门票60元。", references=(PassageReference(evidence="e1", passage="p1"),))
    answer = Answer(title="t", language="zh", author="a", spans=(span,), created=NOW)
    (conflict,) = found(one, other, answer=answer)
    low, high = conflict.figures
    assert (conflict.unit, conflict.subject) == ("yuan", "故宫门票")
    assert (low.text, low.number, low.date) == ("40元", None, None)
    assert (high.text, high.number, high.date) == ("60元", 1, date(2024, 5, 1))
    assert high.clause == "故宫门票60元。"


def test_the_subject_is_the_sentence_around_its_figure_in_whole_words() -> None:
    one = source(1, "The Kenya flood left 38 people dead.")
    assert found(one, source(2, "The Kenya flood left 45 people dead."))[0].subject == "The Kenya flood left … dead"
    text = "After years of waiting for its restoration, the older Vasa Museum opened its doors on {} to the public."
    long = found(source(1, text.format("June 15, 1990")), source(2, text.format("June 15, 1993")))
    assert long[0].subject == "older Vasa Museum opened its doors on … to the public"


def test_a_count_of_other_years_publications_is_no_conflict_but_a_price_is() -> None:
    then, now = date(2019, 5, 1), date(2024, 5, 1)
    assert told(source(1, "黄山年接待游客338万人次", published=then),
                source(2, "黄山年接待游客457万人次", published=now)) == []  # fmt: skip
    assert told(source(1, "黄山门票230元", published=then),
                source(2, "黄山门票190元", published=now)) == [["190元", "230元"]]  # fmt: skip


def test_a_conflict_within_a_story_is_not_told_twice() -> None:
    one = source(1, "玉龙雪山地震造成12人死亡。", kind="news")
    other = source(2, "玉龙雪山地震造成15人遇难。", kind="news")
    registry = EvidenceRegistry()
    ids = [registry.add(item).id for item in (one, other)]
    figures = tuple(Figure(text="x", clause="c", outlet="o", evidence=key) for key in ids)
    known = NewsCoverage(
        as_of=NOW.date(),
        conflicts=(StoryConflict(story="s", subject="die", unit="people", figures=figures),),
    )
    answer = Answer(title="t", language="zh", author="a", coverage=known, created=NOW)
    report = Report(run=RUN, evidence=(one, other), answer=answer)
    assert find_disagreements(report, number_citations(answer, registry)) == ()
    assert len(found(one, other)) == 1


TEXTS = [text for row in DIFFER for text in row[:2]] + [text for row in AGREE for text in row]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_changes_what_is_found(texts: Sequence[str], chance: random.Random) -> None:
    sources = [source(n, text) for n, text in enumerate(texts)]
    mixed = list(sources)
    chance.shuffle(mixed)
    assert found(*sources) == found(*mixed)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=300), st.sampled_from(TEXTS)), st.integers(2, 4))
def test_the_same_text_is_never_a_conflict_with_itself(text: str, times: int) -> None:
    assert found(*(source(n, text) for n in range(times))) == ()


@pytest.mark.slow
def test_time_grows_with_the_number_of_sources_and_hardly_faster() -> None:
    """Four times the sources may take four times as long, and some; a square would take 16."""
    dice = random.Random(1)
    sources = [
        Evidence(
            id=f"e{n}", kind="web", title=f"Guide {n}", url=f"https://s{n}.example/", retrieved=NOW,
            passages=tuple(
                Passage(
                    id=f"p{n}.{k}",
                    text=" ".join(
                        f"The {name} Tower {n % 7} is {dice.randint(100, 900)} m tall. {name}塔门票{dice.randint(20, 90)}元，"
                        f"2024年接待游客{dice.randint(10, 99)}万人次。Nothing else is known of its long history and its builders."
                        for name in dice.sample(["Alpha", "Beta", "Gamma", "Delta", "Omega"], 1)
                    ),
                )
                for k in range(3)
            ),
        )
        for n in range(320)
    ]  # fmt: skip

    def work(count: int) -> Callable[[], object]:
        return partial(find_disagreements, Report(run=RUN, evidence=tuple(sources[:count])), None)

    assert_linear(work, 20)
