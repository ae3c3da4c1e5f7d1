"""Names: which a title has, which of a document's mean the same, and which a question has."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.sources.library.names import candidate_keys, extract_aliases, extract_title_names, name_key
from tests.growth import assert_linear
from tests.tables import each_row


def same(title: str, text: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in extract_aliases(title, text)}


@each_row(
    ("one", "other"),
    [
        ("The Palace Museum", "palace museum"),
        ("Palace\u3000Museum", "Palace Museum"),
        ("ＷＥＳＴ Lake", "West Lake"),
        ("西湖。", "西湖"),
    ],
)
def test_names_that_differ_only_in_writing_are_the_same(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@each_row(
    ("title", "names"),
    [
        ("故宫博物院", {"故宫博物院"}),
        ("故宫博物院（The Palace Museum）", {"故宫博物院", "Palace Museum"}),
        ("The Summer Palace (颐和园): a guide", {"Summer Palace", "颐和园"}),
        ("West Lake - Hangzhou", {"West Lake"}),
    ],
)
def test_a_title_gives_its_names(title: str, names: set[str]) -> None:
    assert names <= set(extract_title_names(title))


@each_row("title", ["", "？", "…", "（）"])
def test_a_title_without_words_gives_no_name(title: str) -> None:
    assert extract_title_names(title) == []


@each_row(
    ("title", "text", "pair"),
    [
        ("故宫博物院", "故宫博物院（The Palace Museum）位于北京。", ("故宫博物院", "Palace Museum")),
        ("Palace Museum", "The Palace Museum (故宫博物院) is in Beijing.", ("Palace Museum", "故宫博物院")),
        ("Palace Museum", "The Palace Museum is also called the Forbidden City.", ("Palace Museum", "Forbidden City")),
        ("Gulangyu", "Gulangyu, also written Kulangsu, is an island.", ("Gulangyu", "Kulangsu")),
        ("故宫", "故宫又称紫禁城。", ("故宫", "紫禁城")),
        ("中国国家博物馆", "中国国家博物馆（The National Museum of China）位于北京，也称国博。", ("中国国家博物馆", "国博")),
        ("北京", "位于北京的故宫博物院（Palace Museum）很大。", ("故宫博物院", "Palace Museum")),
    ],
)  # fmt: skip
def test_two_names_mean_the_same_where_the_document_says_so(title: str, text: str, pair: tuple[str, str]) -> None:
    assert frozenset(pair) in same(title, text)


@each_row(
    "text",
    [
        "西湖（见第3页）很美。",
        "西湖（约5公里）很美。",
        "West Lake (see page 3) is large.",
        "West Lake (about 5 km) is large.",
        "West Lake () is large（）.",
    ],
)
def test_a_bracket_that_holds_no_name_of_the_other_script_is_no_alias(text: str) -> None:
    assert same("西湖 West Lake", text) == set()


def test_a_question_gives_all_stretches_that_could_be_a_name() -> None:
    keys = set(candidate_keys("Is the Palace Museum's shop open? 故宫博物院几点关门"))
    assert {"palace museum", "palace", "故宫", "故宫博物院"} <= keys


@given(st.text(max_size=300))
def test_no_text_breaks_the_reading_of_names(text: str) -> None:
    extract_title_names(text)
    extract_aliases(text[:80], text)
    assert all(len(key) > 1 for key in candidate_keys(text))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["called Big Name (大名字) ", "（Abc）又称大名字", "("])
def test_an_endless_line_takes_time_in_proportion_to_its_length(piece: str) -> None:
    assert_linear(lambda length: partial(extract_aliases, "Big Name", piece * (length // len(piece))), 12_500)
