"""Which sentences are quoted, and that they are quoted as they stand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from research.agent.extractive.quote_selection import (
    MAX_LIST_ITEMS,
    MAX_QUOTES,
    MAX_SENTENCE_CHARS,
    Quote,
    answer_pattern,
    is_answered,
    select_quotes,
)
from research.core.records import Evidence, Finding, Passage, Task
from research.sources.library.index import Library
from tests.tables import each_row

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def finding(*texts: str, title: str = "颐和园", heading: str = "") -> Finding:
    passages = tuple(
        Passage(id=f"q{n}", text=text, end=len(text), heading=heading, title=title) for n, text in enumerate(texts)
    )
    evidence = Evidence(id="e1", kind="library", title=title, retrieved=NOW, passages=passages)
    return Finding(task=Task(id="1.1", source="library", query="x"), evidence=(evidence,), started=NOW)


def chosen(library: Library, part: str, *findings: Finding, names: tuple[str, ...] = ("颐和园",)) -> tuple[Quote, ...]:
    return select_quotes(part, names or ("",), bool(names), findings)


def texts(quotes: tuple[Quote, ...]) -> list[str]:
    return [quote.text for quote in quotes]


def test_a_quote_is_a_slice_of_its_passage(library: Library) -> None:
    text = "  颐和园在北京。\n颐和园旺季门票30元，淡季门票20元。请从东宫门入园。"
    quotes = chosen(library, "门票多少钱", finding(text))
    assert texts(quotes)[0] == "颐和园旺季门票30元，淡季门票20元。"
    for quote in quotes:
        assert text[quote.start : quote.end] == quote.text


def test_a_sentence_over_broken_lines_is_quoted_whole_and_in_one_line(library: Library) -> None:
    text = "颐和园位于北京市西北郊的海淀区，距离城区十五公里。颐和园旺季门\n票30元，淡季门票20元，园中园另行收费，请在东宫门的售票处购票\n后从东宫门或者北如意门入园。"
    quote = chosen(library, "门票多少钱", finding(text))[0]
    assert quote.text.startswith("颐和园旺季门票30元，") and quote.text.endswith("入园。")
    assert text[quote.start : quote.end].replace("\n", "") == quote.text


def test_of_two_sentences_the_one_that_looks_like_an_answer_comes_first(library: Library) -> None:
    quotes = chosen(library, "门票多少钱", finding("颐和园门票在东宫门出售。颐和园旺季门票30元。"))
    assert texts(quotes)[0] == "颐和园旺季门票30元。"


def test_a_sentence_on_another_thing_is_not_quoted_for_a_name(library: Library) -> None:
    other = finding("西湖环湖景区免费开放，沿湖散步不需要门票。", title="杭州西湖")
    assert chosen(library, "门票", other) == ()


def test_a_name_in_the_title_or_heading_counts_for_the_sentences_below_it(library: Library) -> None:
    assert chosen(library, "门票", finding("旺季门票30元，淡季门票20元。"))
    assert chosen(library, "门票", finding("旺季门票30元，淡季门票20元。", title="北京", heading="颐和园"))


def test_a_word_that_all_but_names_the_subject_is_not_the_subject(library: Library) -> None:
    wine = finding("Wine production builds run on Windows every day.", title="Windows Wine")
    assert chosen(library, "wine production", wine, names=("Andorra",)) == ()


def test_a_sentence_that_speaks_to_nothing_asked_is_not_quoted(library: Library) -> None:
    assert chosen(library, "停车", finding("颐和园旺季门票30元，淡季门票20元。")) == ()


def test_the_same_sentence_is_quoted_once_however_often_it_was_found(library: Library) -> None:
    one = finding("颐和园旺季门票30元，淡季门票20元。")
    again = finding("颐和园在北京。颐和园旺季门票30元，淡季门票20元。")
    assert texts(chosen(library, "门票", one, again, one)).count("颐和园旺季门票30元，淡季门票20元。") == 1


def test_at_most_three_quotes_are_chosen_and_the_best_comes_first(library: Library) -> None:
    prices = [f"颐和园{place}门票{n}0元，凭票入园。" for n, place in enumerate(["东门", "西门", "南门", "北门", "中门"], 1)]  # fmt: skip
    quotes = chosen(library, "门票多少钱", finding("".join(prices)))
    assert 1 <= len(quotes) <= MAX_QUOTES
    assert [q.probability for q in quotes] == sorted((q.probability for q in quotes), reverse=True)


@each_row("text", ["门票。", "颐和园门票" + "很贵" * MAX_SENTENCE_CHARS + "。", "———", ""])
def test_what_is_too_short_too_long_or_no_sentence_is_not_quoted(text: str, library: Library) -> None:
    assert chosen(library, "门票", finding(text)) == ()


def test_nothing_found_gives_no_quotes(library: Library) -> None:
    assert chosen(library, "门票") == ()
    assert chosen(library, "门票", finding()) == ()


def test_a_question_for_a_name_alone_is_answered_with_sentences_about_it(library: Library) -> None:
    assert "Kenya is a country in East Africa." in texts(
        chosen(
            library,
            "",
            finding("Kenya is a country in East Africa.", title="Kenya"),
            names=("Kenya",),
        )
    )


@pytest.mark.parametrize("text", ["![x](http://e.org/x.png) 门票30元 <script>", "颐和园门票 `30` 元 $5 **免费**。"])
def test_markup_in_a_document_is_quoted_as_it_stands(text: str, library: Library) -> None:
    for quote in chosen(library, "门票", finding(text)):
        assert quote.text in text


@each_row(
    ("question", "yes", "no"),
    [
        ("门票多少钱", "成人票40元", "成人票在南门出售"),
        ("How much is a ticket?", "Admission is free.", "Admission is at the gate."),
        ("几点开门", "6:00至20:00", "全天"),
        ("What time does it close?", "open until 5 pm", "open until dusk"),
        ("周几闭馆", "周一闭馆", "今日闭馆"),
        ("哪一年建成", "建于1750年", "建于山上"),
        ("When was it built?", "It dates from 1750.", "It is old."),
        ("面积有多大", "约6.4平方公里", "很大"),
        ("为什么关闭", "因维修关闭", "周一关闭"),
    ],
)
def test_an_answer_looks_like_what_was_asked_for(question: str, yes: str, no: str) -> None:
    wanted = answer_pattern(question)
    assert wanted is not None
    assert wanted.search(yes.lower())
    assert not wanted.search(no.lower())


def test_a_question_whose_answer_may_look_like_anything_asks_for_no_look() -> None:
    assert answer_pattern("颐和园里有什么？") is None
    assert answer_pattern("What is the Long Corridor?") is None


def test_a_name_alone_answers_nothing_that_was_asked_of_it(library: Library) -> None:
    assert chosen(library, "颐和园停车", finding("颐和园始建于清代。园内有一座石桥。")) == ()


def test_a_sentence_that_leads_to_a_list_is_quoted_with_its_items(library: Library) -> None:
    text = "颐和园的游览分为以下步骤：\n在东宫门检票。\n  沿长廊向西走。\n\n园内禁止吸烟。"
    quotes = chosen(library, "游览分哪些步骤", finding(text))
    assert texts(quotes) == ["颐和园的游览分为以下步骤：", "在东宫门检票。", "沿长廊向西走。"]
    assert all(text[quote.start : quote.end] == quote.text for quote in quotes)
    flat = finding("颐和园的游览分为以下步骤：先在东宫门检票。\n园内禁止吸烟。")
    assert "园内禁止吸烟。" not in texts(chosen(library, "游览分哪些步骤", flat))


def test_of_a_long_list_the_first_items_are_quoted(library: Library) -> None:
    text = "颐和园的景点如下：\n" + "\n".join(f"第{n}处景点。" for n in range(30))
    assert len(chosen(library, "有哪些景点", finding(text))) == 1 + MAX_LIST_ITEMS


@each_row(
    ("part", "names", "text", "answered"),
    [
        ("有几个4A景区", ("北京",), "乘坐北京地铁1号线到天安门东站。", False),
        ("有几个4A景区", ("北京",), "北京有 72 个4A景区。", True),
        ("有几个4A景区", ("北京",), "北京有 9 个5A景区。", False),
        ("埃菲尔铁塔多高", ("北京",), "京沪高铁从北京南站到上海虹桥站约需四个半小时。", False),
        ("门票多少钱", ("故宫",), "故宫门票旺季为60元。", True),
        ("How many 4A areas does it have", ("Zhejiang",), "Watching the bore from outside the marked areas is dangerous.", False),
        ("When does line S1 open", ("Beijing",), "Line S12 of Beijing opens at five.", False),
        ("When does line S1 open", ("Beijing",), "Beijing's line s1 opens at five.", True),
        ("When was it restored", ("West Lake",), "西湖环湖景区从2002年起陆续免费开放。", True),
        ("", ("故宫",), "故宫实行网上预约购票。", True),
    ],
)  # fmt: skip
def test_quotes_have_to_have_what_a_part_asks_for(part: str, names: tuple[str, ...], text: str, answered: bool) -> None:
    """Its subject alone is not enough; what could not stand in their script is not missed."""
    quote = Quote("e", "p", text, 0, len(text), 0.9)
    assert is_answered(part, names, True, [quote]) is answered
