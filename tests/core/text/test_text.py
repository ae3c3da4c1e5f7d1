"""Words and sentences, in Chinese and in English."""

import textwrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from research.core.text.quotes import find_quote, normalise_quote
from research.core.text.sentences import join_lines, split_sentences
from research.core.text.tokenizer import STOP_WORDS, detect_language, has_han, split_words, stem, tokenize
from tests.tables import each_row


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


# Words


@each_row(
    ("query", "text"),
    [
        ("雷峰塔", "雷峰塔成人票40元"),
        ("遛娃", "周末去哪里遛娃最好"),
        ("博物", "故宫博物院旺季门票60元"),
        ("故宫博物院", "故宫博物院旺季门票60元"),
        ("门票", "西湖环湖景区不需要门票。"),
        ("40", "成人票４０元"),
        ("４０", "成人票40元"),
        ("tickets", "One ticket for each visitor."),
        ("opening", "It opens at nine."),
        ("ＵＮＥＳＣＯ", "listed by UNESCO"),
        ("Kenya", "Kenya's exports"),
        ("Kenya", "Kenya’s exports"),
        ("iPad", "馆内提供iPad导览"),
        ("Café", "a CAFÉ by the lake"),
        ("門票", "西湖环湖景区不需要门票。"),
        ("门票", "西湖環湖景區不需要門票。"),
        ("遊覽車", "观光游览车每站都停"),
    ],
)
def test_a_word_is_found_in_a_text_that_has_it(query: str, text: str) -> None:
    assert tokenize(query)
    assert set(tokenize(query)) <= set(tokenize(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [("门票", "门前有一张船票"), ("price", "a prize for the best"), ("4", "成人票40元")],
)
def test_a_word_is_not_found_in_a_text_without_it(query: str, text: str) -> None:
    assert not set(tokenize(query)) <= set(tokenize(text))


def test_a_long_chinese_word_gives_the_words_inside_it_only_when_asked_for() -> None:
    assert {"博物", "博物院"} <= set(tokenize("博物院"))
    assert split_words("博物院") == ["博物院"]


def test_each_stretch_of_a_text_counts_once_among_its_words() -> None:
    assert split_words("故宫博物院的门票") == ["故宫博物院", "门票"]


def test_single_letters_and_punctuation_are_no_words_but_digits_are() -> None:
    assert tokenize("a b, c! 7 — (x) 。") == ["7"]


@each_row("text", ["", " \n\t", "。，！", "$$ ``` <>", "的", "\U0001f600"])
def test_a_text_without_words_gives_none(text: str) -> None:
    assert tokenize(text) == []
    assert split_words(text) == []


def test_english_words_are_stemmed_and_lower_case() -> None:
    assert tokenize("Reservations Reserving RESERVED") == ["reserv", "reserv", "reserv"]


def test_stop_words_are_known_as_they_are_written_and_as_they_are_stemmed() -> None:
    assert {"the", "的", "什么", stem("does")} <= STOP_WORDS
    assert not STOP_WORDS & set(tokenize("ticket price Beijing 门票 西湖"))


@given(st.text(max_size=80))
def test_cutting_any_text_gives_words_that_cut_to_themselves_in_lower_case(text: str) -> None:
    for word in tokenize(text):
        assert word == word.lower()
        assert word.strip()
        assert not any(char.isspace() for char in word)


@given(st.text(alphabet="西湖雷峰塔门票遛娃abc 1４，。", max_size=40))
def test_the_words_of_a_text_are_always_among_its_search_terms(text: str) -> None:
    assert set(split_words(text)) <= set(tokenize(text))


# Languages


@each_row(
    ("text", "expected"),
    [
        ("西湖门票多少钱", "zh"),
        ("What does West Lake cost?", "en"),
        ("去 Disney 要多久", "zh"),
        ("Is the 故宫 open on Monday?", "en"),
        ("", "en"),
        ("2024", "en"),
        ("\U0001f600", "en"),
        ("MCP是什么", "zh"),
    ],
)
def test_the_language_is_that_which_carries_the_text(text: str, expected: str) -> None:
    assert detect_language(text) == expected


def test_han_characters_are_recognised_outside_the_basic_block_too() -> None:
    assert has_han("㐀")
    assert has_han("豈")
    assert not has_han("かな한글 latin")


# Folding


@each_row(
    ("one", "other"),
    [
        ("成人票 ４０ 元", "成人票40元"),
        ("ＡＢＣ", "ABC"),
        ("a\n b\tc\u3000d\u00a0e", "abcde"),
        ("ﬁve", "five"),
        ("e\u0301", "é"),
    ],
)
def test_folded_texts_are_equal_whatever_their_widths_and_white_space(one: str, other: str) -> None:
    assert normalise_quote(one) == normalise_quote(other)


@given(st.text(max_size=60))
def test_a_folded_text_has_no_white_space(text: str) -> None:
    assert not any(char.isspace() for char in normalise_quote(text))


def test_folding_keeps_case_and_punctuation() -> None:
    assert normalise_quote("Not. The same!") == "Not.Thesame!"


# Sentences


@each_row(
    ("text", "expected"),
    [
        ("西湖在杭州。门票免费！是吗？", ["西湖在杭州。", "门票免费！", "是吗？"]),
        ("（周一闭馆。）请提前预约。", ["（周一闭馆。）", "请提前预约。"]),
        ("It opens at 9. It closes at 5.", ["It opens at 9.", "It closes at 5."]),
        (
            "Dr. Smith lives in the U.S. today. He left.",
            ["Dr. Smith lives in the U.S. today.", "He left."],
        ),
        ("It costs 3.50 yuan. Cheap.", ["It costs 3.50 yuan.", "Cheap."]),
        ("e.g. the tower, i.e. the old one. Yes.", ["e.g. the tower, i.e. the old one.", "Yes."]),
        ("One line\nanother line", ["One line", "another line"]),
        ("西湖\n门票免费。", ["西湖", "门票免费。"]),
        ("  padded.  \n\n  too.  ", ["padded.", "too."]),
        ("", []),
        ("\n \n", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@each_row(
    "text",
    [
        "“你好。”他说。",
        "他问：“开门了吗？”答：没有。",
        "“好。”“不好。”（是。）「嗯。」",
        "（免费！）是的。",
    ],
)
def test_a_closing_mark_stays_with_the_sentence_it_closes(text: str) -> None:
    assert "".join(pieces(text)) == text
    assert not any(piece.startswith(("”", "」", "）")) for piece in pieces(text))


PROSE = st.lists(
    st.one_of(
        st.sampled_from(
            ["西湖", "门票40元", "他说", "Dr. ", "U.S. ", "No. 5 ", "e.g. ", "word ", "A", "3.14", "。", "！",
             "？", ". ", "! ", "? ", "”", "“", "\"", "'", "）", "(", ")", "\n", "\n\n", " ", "\u3000", "…", ";"]
        ),
        st.text(max_size=6),
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(PROSE)
@settings(max_examples=200, deadline=None)
def test_sentences_are_exact_slices_in_order_without_overlap_and_trimmed(text: str) -> None:
    last = 0
    for start, end in split_sentences(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end


@given(PROSE)
@example("西湖\n）")
@settings(max_examples=200, deadline=None)
def test_a_blank_line_always_ends_a_sentence(text: str) -> None:
    assert not any("\n" in piece for piece in pieces(text.replace("\n", "\n\n")))


@given(PROSE)
@settings(max_examples=200, deadline=None)
def test_no_word_of_a_text_is_lost_between_its_sentences(text: str) -> None:
    spans = split_sentences(text)
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    between = [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    assert not any(char.isalnum() for gap in between for char in gap)


# Lines that a layout broke

WRAPPED = [
    "The old bridge was opened to traffic in 1934,\nafter three years of work. Its deck was widened\nin 1967 and again in 1998, when the tram went.",
    "The ferry to the island of Moorea leaves the harbour of\nPapeete six times a day. The crossing takes half an hour\nand costs 1,500 francs.",
    "故宫博物院建立于1925年，是在明清两代皇宫及其收藏\n的基础上建立起来的综合性博物馆。院内收藏文物超过一\n百八十六万件，其中珍贵文物占九成。",
    "旺季门票为每人六十元，\n淡季四十元。",
]  # fmt: skip


@each_row("text", WRAPPED)
def test_a_line_that_a_layout_broke_ends_no_sentence(text: str) -> None:
    joined = join_lines(text)
    assert [join_lines(piece) for piece in pieces(text)] == pieces(joined)
    assert len(pieces(joined)) < text.count("\n") + 2


LISTED = [
    "Adult ticket per person in the high season\nChild ticket per person in the high season\nSenior ticket per person in the high season",
    "Opening hours of the Palace Museum in winter\nThe museum opens at 8:30 and closes at 16:30.",
    "Name: Palace Museum; Price: 60 yuan a day\nName: Summer Palace; Price: 30 yuan a day\nName: Temple; Price: 15 yuan. It is shut.",
    "故宫博物院开放时间与门票价格说明\n旺季门票60元，淡季40元。",
    "- It opens at eight in the morning, every day of the\n- week but Monday. It closes at five in the after\n- noon, or at four in winter.",
    "成人票六十元\n学生票三十元\n老人票三十元。",
    "# The history of the museum in five chapters\nit opened in 1925.\n\nit closed never.",
]  # fmt: skip


@each_row("text", LISTED)
def test_a_line_that_is_as_long_as_it_is_meant_to_be_ends_one(text: str) -> None:
    assert not any("\n" in piece for piece in pieces(text))


def test_a_text_in_one_line_has_spaces_between_words_and_none_between_han_characters() -> None:
    assert join_lines("one \n  two\n三\n四，\n“五”") == "one two 三四，“五”"


@each_row(
    ("quote", "text", "place"),
    [
        ("60元", "门票６０ 元。", (2, 6)),
        ("门票60元", "门票６０ 元。", (0, 6)),
        ("a b c d", "x abcd", (2, 6)),
        ("café", "a cafe\u0301.", (2, 7)),
        ("international trade", "of inter-\nnational trade", (3, 24)),
        ("well-known trade", "a well-\nknown trade", (2, 19)),
        ("well-known international", "well-\nknown inter-\nnational", (0, 27)),
        ("新建的综合性博物馆", "新建的综\n合性\n  博物馆。", (0, 13)),
        ("2019-2021", "in 2019-\n2021", (3, 13)),
        ("20192021", "in 2019-\n2021", None),
        ("inter-national", "international", None),
        ("", "x", None),
        ("zzzz", "x", None),
    ],
)
def test_a_quote_is_found_whatever_its_width_spaces_and_line_breaks(
    quote: str, text: str, place: tuple[int, int] | None
) -> None:
    assert find_quote(quote, text) == place


ENGLISH = "The well-known bridge was opened in 1934, after three years of work. It is still in use."
CHINESE = "故宫博物院建立于1925年，是在明清两代皇宫及其收藏的基础上建立起来的综合性博物馆。周一闭馆。"


@given(st.integers(8, 80))
def test_a_sentence_is_found_at_whatever_width_its_text_is_set(width: int) -> None:
    wrapped = "\n".join(textwrap.wrap(ENGLISH, width))
    chinese = "\n".join(CHINESE[at : at + width] for at in range(0, len(CHINESE), width))
    for text, whole in ((wrapped, ENGLISH), (chinese, CHINESE)):
        for piece in pieces(whole):
            place = find_quote(piece, text)
            assert place and normalise_quote(text[slice(*place)]) == normalise_quote(piece)


@each_row("text", [" " * 40_000 + "a", "c " * 20_000, "x" * 40_000, "甲" * 40_000])
def test_what_goes_on_without_an_end_is_cut_and_nothing_of_it_is_lost(text: str) -> None:
    found = pieces(text)
    assert all(len(part) <= 12_000 for part in found)
    assert "".join("".join(found).split()) == "".join(text.split())
