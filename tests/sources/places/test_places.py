"""Which questions want places on a map, where, and what for."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from research import data
from research.sources.places.questions import (
    BESIDE_METRES,
    NEAR_METRES,
    WITHIN_METRES,
    list_purposes,
    parse_place_query,
)
from tests.benchmarks.places import TARGET, figures, questions
from tests.sources.places.fit import HALVES, Asked, asked, fitted, fitting, scores
from tests.tables import each_row

KNOWN = [q for q in asked() if q.half == "known"]


def test_the_labelled_questions_are_told_apart_and_read() -> None:
    missed = [f"{f.name} {f.measured:.3f}: {f.note}" for f in figures() if f.measured < TARGET]
    assert not missed


def test_the_labelled_set_has_traps_and_wishes_in_both_languages() -> None:
    asked = questions()
    assert len({q.question for q in asked}) == len(asked) >= 160
    for language in ("zh", "en"):
        wishes = [q.wanted for q in asked if q.language == language]
        assert 0.4 <= sum(wishes) / len(wishes) <= 0.6


@each_row(
    ("question", "place"),
    [
        ("我想在三里屯找一家日料", "三里屯"),
        ("静安寺附近，哪里喝咖啡好？", "静安寺"),
        ("离北京南站最近的酒店", "北京南站"),
        ("離北京南站最近的酒店", "北京南站"),
        ("靜安寺附近，哪裡喝咖啡好？", "静安寺"),
        ("coffee near the Bund in Shanghai", "Bund, Shanghai"),
        ("推荐外滩附近三个适合拍照的地方并说明理由", "外滩"),
        ("请推荐西湖附近两家餐厅，并说说为什么", "西湖"),
        ("Could you suggest two hotels around the Bund, and say why?", "Bund"),
        ("Recommend a quiet cafe near West Lake, and give reasons.", "West Lake"),
        ("cocktail bars in the Sanlitun area", "Sanlitun"),
        ("Does Chengdu have any good teahouses?", "Chengdu"),
    ],
)
def test_the_place_is_the_name_without_the_words_around_it(question: str, place: str) -> None:
    wish = parse_place_query(question)
    assert wish is not None
    assert wish.place == place


@each_row(
    "question",
    ["附近有什么好吃的", "这附近有厕所吗", "pharmacy near me", "Is there an ATM nearby?"],
)
def test_a_wish_without_a_named_place_is_still_a_wish(question: str) -> None:
    wish = parse_place_query(question)
    assert wish is not None
    assert wish.place == ""


@each_row(
    ("question", "radius"),
    [
        ("西湖附近两公里内有什么餐厅", 2_000),
        ("西湖附近半小时车程有什么餐厅", 15_000),
        ("西湖附近哪里有24小时药店", NEAR_METRES),
        ("王府井附近的书店", NEAR_METRES),
        ("王府井旁边的书店", BESIDE_METRES),
        ("杭州有哪些书店", WITHIN_METRES),
        ("王府井3公里内的书店", 3000),
        ("外滩步行10分钟以内的早餐店", 800),
        ("bookshops within 500 m of Wangfujing", 500),
        ("bookshops next to Wangfujing", BESIDE_METRES),
        ("三里屯900公里内的加油站", 50_000),
    ],
)
def test_the_radius_is_what_the_words_say(question: str, radius: int) -> None:
    wish = parse_place_query(question)
    assert wish is not None
    assert wish.radius == radius


def test_the_kind_of_place_goes_before_whom_it_is_for() -> None:
    museums = parse_place_query("杭州有哪些博物馆适合带孩子")
    anything = parse_place_query("王府井附近适合遛娃的好去处")
    assert museums is not None
    assert anything is not None
    assert museums.keywords[0] == "博物馆"
    assert anything.keywords[0] == "亲子乐园"
    assert anything.purpose == "适合遛娃的好去处"


def test_what_may_be_looked_for_has_keywords_of_the_map() -> None:
    assert len(list_purposes()) >= 60
    assert all(purpose.keywords and all(purpose.keywords) for purpose in list_purposes())


@each_row("question", KNOWN)
def test_what_people_asked_is_read_right(question: Asked) -> None:
    wish = parse_place_query(question.question)
    assert (wish is not None) == question.wanted
    if wish is not None:
        assert question.centred(wish), wish
        assert question.worded(wish), wish


def test_a_shop_is_of_the_kind_before_it() -> None:
    wish = parse_place_query("ramen shops in Shinjuku")
    assert wish is not None
    assert "拉面" in wish.keywords
    assert "购物中心" not in wish.keywords


@each_row("language", ["zh", "en"])
def test_the_half_that_no_rule_was_made_on_is_told_apart(language: str) -> None:
    own = [q for q in asked() if q.half == HALVES[1] and q.language == language]
    figures = scores(own, parse_place_query)
    assert len(own) == 30
    assert figures["precision"] >= 0.95
    assert figures["recall"] >= 0.9
    assert figures["both"] >= 0.8


def test_the_shipped_weights_are_those_of_the_fit() -> None:
    shipped = json.loads(data.text("wishes.json"))
    made = fitted(fitting())
    assert shipped["weights"].keys() == made["weights"].keys()
    assert abs(shipped["bias"] - made["bias"]) < 0.01
    assert all(abs(shipped["weights"][n] - w) < 0.01 for n, w in made["weights"].items())


@given(
    st.lists(
        st.sampled_from(
            ["王府井", "附近", "在", "有什么", "咖啡馆", "的", " ", "，", "?", "near ", "the Bund", "in ",
             "coffee ", "从", "到", "怎么走", "多远", "how far is ", "from ", " to ", "Best ", "where", "离", "近", "\ue000", "\ue001", "ﬀ", "İ", "3公里内", "'s "]
        ),
        max_size=10,
    ).map("".join)
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_any_question_is_read_without_trouble(question: str) -> None:
    wish = parse_place_query(question)
    if wish is not None:
        if wish.intent == "near":
            assert wish.keywords
        else:
            assert wish.place or wish.destination
        assert 100 <= wish.radius <= 50_000
