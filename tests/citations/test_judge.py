"""One claim against its passages: what is exact is exact, whatever the score says, and no text is an error."""

from __future__ import annotations

import time
from math import exp

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from research.citations.judge import judge_claim, load_model, support_probability
from research.core.records import SupportAssessment
from research.core.text.quantities import find_measures, is_derivable
from tests.tables import each_row

KILIMANJARO = (
    "Mount Kilimanjaro in Tanzania is a dormant volcano with three cones: Kibo, Mawenzi and Shira. "
    "Kibo, the highest, rises to 5,895 metres above sea level; Mawenzi reaches 5,149 metres and Shira 4,005 metres. "
    "The first people known to have reached the summit were Hans Meyer and Ludwig Purtscheller, in October 1889. "
    "Camping is not allowed inside the crater without a special permit."
)
PALACE = (
    "故宫博物院成立于1925年10月10日，位于北京市中心，占地面积约72万平方米，收藏文物186万余件。"
    "旺季（4月1日至10月31日）门票60元，淡季（11月1日至次年3月31日）门票40元。"
    "除法定节假日外，每周一闭馆。旺季开放时间为8:30至17:00，16:00停止入场。未满18周岁的未成年人免费参观。"
)
TRAM = (
    "The city council approved the new tram line on 12 March 2021 by 31 votes to 18. "
    "Construction is expected to start in 2023 and to cost 480 million euros. "
    "The line will be 14.5 kilometres long with 23 stops and carry about 60,000 passengers a day. "
    "Opponents said that the project was too expensive and should not be built before the bridge is repaired."
)
STEEL = (
    "江南钢铁2023年实现营业收入82.6亿元，同比下降4.3%；净利润6.1亿元，同比增长11.2%。"
    "公司员工总数为1.24万人，比上年末减少320人。公司计划2025年在越南建设新工厂，投资额约15亿元。"
    "董事长陈立新表示，公司没有裁员计划。"
)
VACCINE = (
    "In the trial, 15,210 volunteers received the vaccine and the same number a placebo. "
    "Eleven cases of the disease occurred in the vaccine group and 185 in the placebo group, an efficacy of 94.1 percent. "
    "Severe side effects were rare: fever was reported by 0.8 percent of those vaccinated. "
    "The vaccine must be stored at minus 20 degrees Celsius. It has not been tested in children under 12."
)
BRIDGE = (
    "港珠澳大桥全长55公里，其中海底隧道长6.7公里，2018年10月24日正式通车，总投资约1200亿元。"
    "大桥连接香港、珠海和澳门，设计使用寿命120年，可抵御16级台风。"
    "私家车单次通行费为150元，跨境巴士为200元。"
)
PRICES = (
    "Adult tickets cost 24 euros and child tickets 12 euros; children under six enter free. "
    "The castle is open daily from 10 am to 6 pm, in winter until 4 pm. Dogs are not permitted in the gardens. "
    "Last year 310,000 people visited the castle; this year the operators expect 350,000."
)
POWER = (
    "2024年上半年，全省发电量为1,280亿千瓦时，同比增长6.5%，其中风电占18%，火电占六成以上。"
    "6月用电最高负荷达到5,430万千瓦，创历史新高。同期居民电价没有上调。"
)

SUPPORTED = [
    ("Kibo, the highest, rises to about 5,900 metres above sea level.", [KILIMANJARO]),
    ("故宫博物院成立于1925年，位于北京市中心，占地面积约0.72平方公里。", [PALACE]),
    ("The line will be 14.5 kilometres long with 23 stops.", [PALACE, TRAM]),
    ("The council approved the new tram line on March 12th 2021.", [TRAM]),
    ("江南钢铁2023年实现净利润6.1亿元，同比增长11.2%。", [STEEL]),
    ("The rate fell to 0.5%.", ["The rate fell to 0 . 5 % in 2020."]),
]
DIFFERS = [
    ("The line will be 14.5 kilometres long with 32 stops.", [TRAM], "23"),
    ("江南钢铁2023年实现营业收入86.2亿元。", [STEEL], "82.6亿元"),
    ("Adult tickets cost 42 euros and child tickets 12 euros.", [PRICES], "24 euros"),
    ("The city council approved the new tram line on 21 March 2021.", [TRAM], "12 march 2021"),
    ("港珠澳大桥2018年10月26日正式通车。", [BRIDGE], "2018年10月24日"),
    ("The rate fell to 5%.", ["The rate fell to 0 . 5 % in 2020."], "0 . 5 %"),
]
UNSUPPORTED = [("A fire destroyed the town hall.", [TRAM])]
UNCLEAR = [
    ("The tram line will have 23 stops and 40 shelters.", [TRAM]),  # a figure that is nowhere
    ("公司今年将发放特别股息。", [STEEL]),
]

CASES = [
    *((claim, passages, "supported") for claim, passages in SUPPORTED),
    *((claim, passages, "differs") for claim, passages, _ in DIFFERS),
    *((claim, passages, "unclear") for claim, passages in UNCLEAR),
    *((claim, passages, "unsupported") for claim, passages in UNSUPPORTED),
]


@each_row(("claim", "passages", "status"), CASES)
def test_a_claim_is_judged_by_what_its_passages_say(claim: str, passages: list[str], status: str) -> None:  # fmt: skip
    ruling = judge_claim(claim, passages)
    assert ruling.status == status, ruling


@each_row(("claim", "passages", "found"), DIFFERS)
def test_another_figure_is_told_as_the_passage_has_it(claim: str, passages: list[str], found: str) -> None:
    assert [lack.found.lower() for lack in judge_claim(claim, passages).gaps if lack.found] == [found]


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The Palace Museum was founded in 1925.", PALACE),
        ("乞力马扎罗山的基博峰海拔5895米。", KILIMANJARO),
    ],
)
def test_between_languages_only_figures_and_dates_are_compared(claim: str, passage: str) -> None:
    ruling = judge_claim(claim, [passage])
    assert (ruling.status, ruling.score, [lack.kind for lack in ruling.gaps]) == ("unclear", 0, ["language"])  # fmt: skip
    wrong = judge_claim(claim.replace("1925", "1952").replace("5895", "5985"), [passage])
    assert {lack.kind for lack in wrong.gaps} & {"figure", "date"}


def test_the_score_is_that_of_the_weights_in_the_file() -> None:
    for language in ("zh", "en"):
        fitted = load_model(language)
        names = dict.fromkeys(fitted.weights, 0.0)
        assert support_probability(names, language) == pytest.approx(1 / (1 + exp(-fitted.bias)))
        assert support_probability({**names, "words": 1.0}, language) > support_probability(names, language)


@each_row("text", [KILIMANJARO, PALACE, TRAM, STEEL, VACCINE, BRIDGE, PRICES, POWER])
def test_a_passage_bears_itself_out(text: str) -> None:
    ruling = judge_claim(text, [TRAM, text])
    assert (ruling.status, ruling.gaps, ruling.score) == ("supported", (), 1.0)


def test_what_is_missing_is_named_as_the_claim_has_it_and_what_stands_there_as_the_passage_does() -> None:
    ruling = judge_claim("旺季（4月1日至10月31日）门票８０元。", [TRAM, PALACE])
    (lack,) = ruling.gaps
    assert (lack.kind, lack.text, lack.found) == ("figure", "８０元", "60元")
    assert ruling.passage == 1
    assert "旺季" in PALACE[ruling.start : ruling.end]


def test_the_words_that_are_missing_are_named() -> None:
    (lack,) = judge_claim("Volunteers painted the tram line yellow last week.", [TRAM]).gaps
    assert (lack.kind, lack.text) == ("words", "Volunteers painted … yellow last week")


def test_the_nearest_sentence_of_the_nearest_passage_is_pointed_at() -> None:
    ruling = judge_claim("The line will have 23 stops.", [PALACE, KILIMANJARO, TRAM])
    assert ruling.passage == 2
    assert TRAM[ruling.start : ruling.end].startswith("The line will be 14.5")
    assert TRAM[ruling.start : ruling.end].endswith("a day.")


def test_without_passages_or_words_nothing_is_supported() -> None:
    assert judge_claim("The line has 23 stops.", []).status == "unclear"
    assert judge_claim("The line has 23 stops.", ["", " "]).status == "unclear"
    assert judge_claim("", [TRAM]).status == "unclear"
    assert judge_claim("……", [TRAM]).status == "unclear"


ANY_TEXT = st.text(max_size=120) | st.text("0123456789.,:-–~年月日时点%万亿千百十一二三半成倍元约近超 aehmnoty$€'\n", max_size=60)  # fmt: skip


def check(ruling: SupportAssessment, claim: str, passages: list[str]) -> None:
    assert ruling.status in ("supported", "unclear", "unsupported", "differs")
    assert 0 <= ruling.score <= 1
    assert ruling.status != "supported" or not ruling.gaps
    if passages:
        assert 0 <= ruling.start <= ruling.end <= len(passages[ruling.passage])
    assert all(part in claim for lack in ruling.gaps for part in lack.text.split(" … "))
    assert all(not lack.found or any(lack.found in p for p in passages) for lack in ruling.gaps)


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
def test_no_text_is_an_error(claim: str, passages: list[str]) -> None:
    check(judge_claim(claim, passages), claim, passages)


SIGNS = (
    "×÷ÀØÞßñ·'’&-—“”()[]<>:;,.!?%°²½Ⅻ①㎡〇零一二两十百千万亿年月日元米个第约近不没 0123456789aTheIs\n\u00a0\u3000\u0660"
)


@settings(deadline=None, max_examples=400)
@given(st.text(alphabet=SIGNS, max_size=60), st.text(alphabet=SIGNS, max_size=80))
def test_no_run_of_signs_and_figures_is_an_error(claim: str, passage: str) -> None:
    check(judge_claim(claim, [passage, claim]), claim, [passage, claim])


def test_a_sign_among_the_letters_is_no_letter() -> None:
    assert judge_claim("×<x>", ["The tower opened in 1925."]).status == "unsupported"
    assert judge_claim("÷ 3 is no name.", ["The tower opened in 1925."]).status == "unsupported"


HOSTILE = ("1", "一", "1,", "1,111", "A b ", "1-2-3-", "one hundred and ", "今年1月", "《", "1 to ", "不", "no ", "from 1 and ", "二分之", "A of ", "than ", "3.")  # fmt: skip


@pytest.mark.slow
@each_row("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * 4_000
    start = time.process_time()
    judge_claim(text, [text + "x", text[::-1], "x" + text[:900]])
    assert time.process_time() - start < 5


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT, ANY_TEXT)
@example("0", "0?")
def test_whatever_a_passage_says_word_for_word_it_supports(claim: str, rest: str) -> None:
    assume(any(char.isalnum() for char in claim))
    assert judge_claim(claim, [rest, claim]).status == "supported"


@each_row(
    ("claim", "passage"),
    [
        ("Smoking is legal.", "Smoking is legally restricted in public places."),
        ("The museum is open daily.", "Rumour has it that the museum is open daily."),
        ("Entry is free for students.", "The claim that entry is free for students is false."),
        ("The ferry runs on Sundays.", "It is unclear whether the ferry runs on Sundays."),
        ("Dogs are allowed in the garden.", "Until 2021 dogs are allowed in the garden."),
        ("Inflation rose by 5 percent.", "Inflation rose by 5 percentage points."),
        ("门票免费。", "网传门票免费的说法不实，成人票60元。"),
        ("景区对老人免费。", "景区对老人免费的政策已于2025年取消。"),
        ("地铁通宵运营。", "如果客流充足，地铁通宵运营。"),
        ("新馆对外开放。", "新馆对外开放的计划仍在征求意见。"),
        ("失业率上升了5%。", "失业率上升了5个百分点。"),
    ],
)
def test_a_claim_inside_a_sentence_that_takes_it_back_is_not_supported(claim: str, passage: str) -> None:
    assert judge_claim(claim, [passage]).status in ("unclear", "differs")


def figures() -> list[tuple[str, int]]:
    """Sentences with the place of one of their digits; years and the like are figures as well."""
    texts = [KILIMANJARO, PALACE, TRAM, STEEL, VACCINE, BRIDGE, PRICES, POWER]
    found = []
    for text in texts:
        for sentence in text.replace("。", "。\n").replace(". ", ".\n").splitlines():
            places = [at for at, char in enumerate(sentence) if char.isdigit()]
            found += [(sentence, at) for at in places]
    return found


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(figures()), st.integers(1, 9))
def test_a_sentence_with_one_digit_changed_is_not_supported(place: tuple[str, int], more: int) -> None:
    sentence, at = place
    digit = str((int(sentence[at]) + more) % 10)
    changed = sentence[:at] + digit + sentence[at + 1 :]
    assume(digit != "0")  # which may be a rounding, or no figure at all
    given = find_measures(sentence)
    assume(not any(is_derivable(figure, given) for figure in find_measures(changed)))  # as 1.24万 + 320
    assert judge_claim(changed, [sentence]).status != "supported", changed
