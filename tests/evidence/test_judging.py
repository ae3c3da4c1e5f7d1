"""One claim against its passages: what is there is supported, what is not is weak, and a figure that
stands there as another differs."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from research.evidence.judging import judge
from research.records import Ruling

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
    ("Kibo is 5,895 metres high.", [KILIMANJARO]),
    ("The highest cone of Kilimanjaro, Kibo, is about 5,900 metres high.", [KILIMANJARO]),
    ("Kibo rises to 19,341 feet above sea level.", [KILIMANJARO]),
    ("Hans Meyer and Ludwig Purtscheller reached the summit in 1889.", [KILIMANJARO]),
    ("Kilimanjaro has three volcanic cones.", [KILIMANJARO]),
    ("Without a special permit, camping in the crater is prohibited.", [KILIMANJARO]),
    ("故宫的旺季门票是60元，淡季是40元。", [PALACE]),
    ("故宫博物院1925年成立，收藏了超过186万件文物。", [PALACE]),
    ("故宫占地约0.72平方公里。", [PALACE]),
    ("故宫周一不开放，法定节假日除外。", [PALACE]),
    ("旺季时故宫早上8点半开门，下午4点停止入场。", [PALACE]),
    ("18岁以下的未成年人可以免费参观故宫。", [PALACE]),
    ("The council approved the tram line in March 2021.", [TRAM]),
    ("The tram line is to cost 480 million euros and have 23 stops.", [TRAM]),
    ("About 60 thousand passengers a day are to use the 14.5 km line.", [TRAM]),
    ("The line was approved by 31 votes to 18.", [TRAM]),
    ("Critics called the project too expensive.", [TRAM]),
    ("江南钢铁2023年的净利润是6.1亿元，增长了11.2%。", [STEEL]),
    ("2023年江南钢铁营收约83亿元，同比降低4.3%。", [STEEL]),
    ("江南钢铁现有员工12,400人。", [STEEL]),
    ("江南钢铁打算2025年到越南建厂。", [STEEL]),
    ("The vaccine was 94.1% effective in the trial.", [VACCINE]),
    ("Fewer than 1 percent of the vaccinated volunteers had a fever.", [VACCINE]),
    ("There were 185 cases of the disease in the placebo group and eleven in the vaccine group.", [VACCINE]),
    ("The vaccine has to be kept at -20 °C.", [VACCINE]),
    ("港珠澳大桥于2018年10月通车，总长55公里。", [BRIDGE]),
    ("港珠澳大桥的海底隧道长约6.7千米。", [BRIDGE]),
    ("私家车过一次港珠澳大桥要付150元。", [BRIDGE]),
    ("Adults pay 24 euros and children 12 euros.", [PRICES]),
    ("In winter the castle closes at 4 pm.", [PRICES]),
    ("The castle had 310,000 visitors last year.", [PRICES]),
    ("2024年上半年全省发电1280亿千瓦时，增长6.5%。", [POWER]),
    ("火电占比超过60%。", [POWER]),
    # one language against the other
    ("故宫 was founded in 1925.", [PALACE]),
    ("The Palace Museum in Beijing holds more than 1.86 million objects.", [PALACE]),
    ("Tickets to the Palace Museum cost 60 yuan in the high season.", [PALACE]),
    ("乞力马扎罗山的最高峰Kibo海拔5895米。", [KILIMANJARO]),
    ("该疫苗的有效率为94.1%，试验中安慰剂组有185例。", [VACCINE]),
    ("The bridge is 55 km long and opened on 24 October 2018.", [BRIDGE]),
    ("有轨电车线路将长14.5公里，造价预计为4.8亿欧元。", [TRAM]),
    ("城堡成人票价24欧元，儿童12欧元。", [PRICES]),
    # several passages together
    ("Kibo is 5,895 metres high, and the tram line will have 23 stops.", [KILIMANJARO, TRAM]),
    ("港珠澳大桥全长55公里，故宫占地72万平方米。", [BRIDGE, PALACE]),
    # what follows from the figures by arithmetic
    ("成人和儿童各一张票加起来36欧元。", ["城堡成人票价24欧元，儿童票价12欧元。"]),
    ("The journey takes 90 minutes.", ["The journey by bus takes 1 hour 30 minutes."]),
]  # fmt: skip

DIFFERS = [
    ("Kibo is 5,985 metres high.", [KILIMANJARO]),
    ("Hans Meyer reached the summit in October 1898.", [KILIMANJARO]),
    ("Shira reaches 5,895 metres.", [KILIMANJARO]),
    ("故宫旺季门票为80元。", [PALACE]),
    ("故宫博物院成立于1935年10月10日。", [PALACE]),
    ("故宫占地面积约27万平方米。", [PALACE]),
    ("故宫收藏文物186万亿余件。", [PALACE]),
    ("故宫每周二闭馆。", [PALACE]),
    ("故宫旺季开放时间为9:30至17:00。", [PALACE]),
    ("The council approved the tram line on 12 March 2022.", [TRAM]),
    ("Construction of the tram line is expected to cost 840 million euros.", [TRAM]),
    ("Construction is expected to cost 480 billion euros.", [TRAM]),
    ("The line will have 32 stops.", [TRAM]),
    ("The line will be 14.5 miles long.", [TRAM]),
    ("江南钢铁2023年净利润为6.7亿元。", [STEEL]),
    ("江南钢铁2023年营业收入同比下降11.2%。", [STEEL]),
    ("江南钢铁员工总数为1.42万人。", [STEEL]),
    ("江南钢铁计划2025年在越南建设新工厂，投资额约51亿元。", [STEEL]),
    ("The vaccine's efficacy was 91.4 percent.", [VACCINE]),
    ("There were 158 cases in the placebo group.", [VACCINE]),
    ("The vaccine must be stored at minus 70 degrees Celsius.", [VACCINE]),
    ("港珠澳大桥于2017年10月24日正式通车。", [BRIDGE]),
    ("港珠澳大桥全长65公里。", [BRIDGE]),
    ("港珠澳大桥设计使用寿命100年。", [BRIDGE]),
    ("跨境巴士的单次通行费为150元。", [BRIDGE]),
    ("Adult tickets cost 12 euros.", [PRICES]),
    ("The castle is open daily from 9 am to 6 pm.", [PRICES]),
    ("Last year 350,000 people visited the castle.", [PRICES]),
    ("上半年全省发电量同比增长5.6%。", [POWER]),
    ("风电占全省发电量的28%。", [POWER]),
    ("The Palace Museum was founded in 1952.", [PALACE]),
    ("The Hong Kong-Zhuhai-Macao bridge is 50 km long.", [BRIDGE]),
    ("该疫苗的有效率为84.1%。", [VACCINE]),
    ("农业用地占41%。", ["工业用地占41%；农业用地占27%。"]),
    ("该车的电池容量为21.4兆瓦时。", ["该车已于2023年下线，电池容量21.4千瓦时，售价5.88万元起。"]),
]  # fmt: skip

WEAK = [
    # a figure, a name or a thing that the passage does not have
    ("The tram line was designed by Zaha Hadid Architects.", [TRAM]),
    ("Reinhold Messner reached the summit in October 1889.", [KILIMANJARO]),
    ("Mawenzi was first climbed by a team from Cambridge University.", [KILIMANJARO]),
    ("江南钢铁董事长王志强表示，公司没有裁员计划。", [STEEL]),
    ("华东钢铁2023年净利润6.1亿元，同比增长11.2%。", [STEEL]),
    ("港珠澳大桥由中国交通建设集团承建。", [BRIDGE]),
    ("大桥连接香港、深圳和澳门。", [BRIDGE]),
    ("The castle was built for King Ludwig in the style of Versailles.", [PRICES]),
    ("The vaccine was developed with researchers at Oxford University.", [VACCINE]),
    # the contrary
    ("Camping is allowed inside the crater.", [KILIMANJARO]),
    ("故宫除法定节假日外每周一开放。", [PALACE]),
    ("未满18周岁的未成年人不能免费参观。", [PALACE]),
    ("The council rejected the new tram line.", [TRAM]),
    ("2023年江南钢铁营业收入同比增长4.3%。", [STEEL]),
    ("江南钢铁董事长陈立新表示公司有裁员计划，员工比上年末增加320人。", [STEEL]),
    ("Dogs are permitted in the gardens.", [PRICES]),
    ("The vaccine has been tested in children under 12.", [VACCINE]),
    ("同期居民电价上调。", [POWER]),
    ("Severe side effects were common.", [VACCINE]),
    # a plan is no fact
    ("Construction of the tram line started in 2023.", [TRAM]),
    ("江南钢铁已在越南建成新工厂。", [STEEL]),
    ("This year 350,000 people visited the castle.", [PRICES]),
    # one thing more than the passage says
    ("The tram line will be 14.5 kilometres long and run underground through the old town centre.", [TRAM]),
    ("故宫博物院占地面积约72万平方米，是世界上最大的宫殿建筑群。", [PALACE]),
    ("The castle is open daily from 10 am to 6 pm and offers guided tours in Japanese and Korean.", [PRICES]),
    ("港珠澳大桥全长55公里，是全球最长的跨海大桥。", [BRIDGE]),
    # another subject altogether
    ("Regular exercise lowers blood pressure in older adults.", [TRAM]),
    ("这款手机采用了新的影像传感器，夜景效果更好。", [STEEL]),
    ("The museum's new wing shows paintings by Turner.", [BRIDGE]),
    ("人工智能正在改变教育行业的格局。", [VACCINE]),
    ("The company's share price doubled after the merger.", [POWER]),
    ("The ferry sails from Rotterdam to Hull.", ["The ferry sails from Hull to Rotterdam every night."]),
    ("Prairie Terminals had been sued by Colin Webb.", ["Colin Webb had been sued by Prairie Terminals."]),
]  # fmt: skip

CASES = [
    *((claim, passages, "supported") for claim, passages in SUPPORTED),
    *((claim, passages, "differs") for claim, passages in DIFFERS),
    *((claim, passages, "weak") for claim, passages in WEAK),
]


@pytest.mark.parametrize(("claim", "passages", "status"), CASES, ids=[c[0] for c in CASES])
def test_a_claim_is_judged_by_what_its_passages_say(claim: str, passages: list[str], status: str) -> None:  # fmt: skip
    ruling = judge(claim, passages)
    assert ruling.status == status, ruling


@pytest.mark.parametrize("text", [KILIMANJARO, PALACE, TRAM, STEEL, VACCINE, BRIDGE, PRICES, POWER])
def test_a_passage_bears_itself_out(text: str) -> None:
    ruling = judge(text, [TRAM, text])
    assert (ruling.status, ruling.lacks, ruling.score) == ("supported", (), 1.0)


def test_what_is_missing_is_named_as_the_claim_has_it_and_what_stands_there_as_the_passage_does() -> (
    None
):
    ruling = judge("故宫旺季门票为８０元。", [TRAM, PALACE])
    (lack,) = ruling.lacks
    assert (lack.kind, lack.text, lack.found) == ("figure", "８０元", "60元")
    assert ruling.passage == 1
    assert "旺季" in PALACE[ruling.start : ruling.end]


def test_the_nearest_sentence_of_the_nearest_passage_is_pointed_at() -> None:
    ruling = judge("The line will have 23 stops.", [PALACE, KILIMANJARO, TRAM])
    assert ruling.passage == 2
    assert TRAM[ruling.start : ruling.end].startswith("The line will be 14.5")
    assert TRAM[ruling.start : ruling.end].endswith("a day.")


def test_without_passages_or_words_nothing_is_supported() -> None:
    assert judge("The line has 23 stops.", []).status == "weak"
    assert judge("The line has 23 stops.", ["", " "]).status == "weak"
    assert judge("", [TRAM]).status == "weak"
    assert judge("……", [TRAM]).status == "weak"


ANY_TEXT = st.text(max_size=120) | st.text("0123456789.,:-–~年月日时点%万亿千百十一二三半成倍元约近超 aehmnoty$€'\n", max_size=60)  # fmt: skip


def check(ruling: Ruling, claim: str, passages: list[str]) -> None:
    assert ruling.status in ("supported", "weak", "differs")
    assert 0 <= ruling.score <= 1
    assert (ruling.status == "supported") == (not ruling.lacks)
    if passages:
        assert 0 <= ruling.start <= ruling.end <= len(passages[ruling.passage])
    assert all(lack.text in claim for lack in ruling.lacks)
    assert all(not lack.found or any(lack.found in p for p in passages) for lack in ruling.lacks)


def test_a_sweeping_word_is_told_as_the_claim_writes_it() -> None:
    for claim in ("ALL", "Every tower", "all"):
        (first, *_) = judge(claim, ["0"]).lacks
        assert first.text == claim.split()[0]


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
def test_no_text_is_an_error(claim: str, passages: list[str]) -> None:
    check(judge(claim, passages), claim, passages)


SIGNS = "×÷ÀØÞßñ·'’&-—“”()[]<>:;,.!?%°²½Ⅻ①㎡〇零一二两十百千万亿年月日元米个第约近不没 0123456789aTheIs\n\u00a0\u3000\u0660"


@settings(deadline=None, max_examples=400)
@given(st.text(alphabet=SIGNS, max_size=60), st.text(alphabet=SIGNS, max_size=80))
def test_no_run_of_signs_and_figures_is_an_error(claim: str, passage: str) -> None:
    check(judge(claim, [passage, claim]), claim, [passage, claim])


def test_a_sign_among_the_letters_is_no_letter() -> None:
    assert judge("×<x>", ["The tower opened in 1925."]).status == "weak"
    assert judge("÷ 3 is no name.", ["The tower opened in 1925."]).status == "weak"


HOSTILE = ("1", "一", "1,", "1,111", "A b ", "1-2-3-", "one hundred and ", "今年1月", "《", "1 to ", "不", "no ", "from 1 and ", "二分之", "A of ", "than ", "3.")  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * 4_000
    start = time.process_time()
    judge(text, [text + "x", text[::-1], "x" + text[:900]])
    assert time.process_time() - start < 5


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT, ANY_TEXT)
def test_whatever_a_passage_says_word_for_word_it_supports(claim: str, rest: str) -> None:
    assume(any(char.isalnum() for char in claim))
    assert judge(claim, [rest, claim]).status == "supported"


@pytest.mark.parametrize(
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
def test_a_claim_inside_a_sentence_that_takes_it_back_is_not_supported(
    claim: str, passage: str
) -> None:
    assert judge(claim, [passage]).status in ("weak", "differs")


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
def test_a_sentence_with_one_digit_changed_is_not_supported(
    place: tuple[str, int], more: int
) -> None:
    sentence, at = place
    digit = str((int(sentence[at]) + more) % 10)
    changed = sentence[:at] + digit + sentence[at + 1 :]
    assume(digit != "0")  # which may be a rounding, or no figure at all
    assert judge(changed, [sentence]).status != "supported", changed
