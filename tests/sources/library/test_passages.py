"""Passages: short enough to read, whole enough to quote, and nothing of a section is lost."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.sources.library.passages import PASSAGE_CHARS, split_passages
from tests.tables import each_row

TEXT = st.text(st.sampled_from("ab cd. E9\n，。！？；字节符”）\"' \t\u3000😀𠮷é%"), max_size=1_500)
CHINESE = "颐和园的长廊全长728米，共273间，梁枋上绘有山水、花鸟和人物故事。" * 40
ENGLISH = "The Long Corridor is 728 metres long and has 273 sections with painted beams. " * 40


@given(TEXT, st.integers(0, 400), st.integers(0, 400), st.integers(20, 400))
def test_passages_tile_a_section_without_overlap_and_lose_only_white_space(
    text: str, before: int, after: int, size: int
) -> None:
    whole = "x" * before + text + "y" * after
    start, end = before, before + len(text)
    at = start
    for a, b in split_passages(whole, start, end, size):
        assert at <= a < b <= end
        assert whole[at:a].strip() == ""
        assert whole[a:b] == whole[a:b].strip()
        at = b
    assert whole[at:end].strip() == ""


@given(TEXT, st.integers(20, 400))
def test_no_passage_is_longer_than_twice_the_size(text: str, size: int) -> None:
    assert all(b - a <= 2 * size for a, b in split_passages(text, 0, len(text), size))


WRAPPED = ["\n".join(CHINESE[at : at + 37] for at in range(0, len(CHINESE), 37)), textwrap.fill(ENGLISH, 72)]  # fmt: skip


@each_row("text", [CHINESE, ENGLISH, *WRAPPED])
def test_passages_of_plain_prose_are_whole_sentences_and_not_much_too_short(text: str) -> None:
    passages = [text[a:b] for a, b in split_passages(text, 0, len(text))]
    assert all(passage[-1] in "。." for passage in passages)
    assert all(len(passage) <= PASSAGE_CHARS for passage in passages)
    assert all(len(passage) > PASSAGE_CHARS / 2 for passage in passages[:-1])


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Prof. Wu at 9 a.m. in the U.S. Embassy, i.e. near No. 3 Gate",
        "版本 3.14 与 2.71 之间",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_a_passage(text: str) -> None:
    assert split_passages(text, 0, len(text), 10 * len(text)) == [(0, len(text))]
    halves = split_passages(text + "。 " + text + "。", 0, 2 * len(text) + 3, len(text) + 1)
    assert halves == [(0, len(text) + 1), (len(text) + 2, 2 * len(text) + 3)]


def test_a_stretch_without_any_sentence_end_is_cut_at_a_space() -> None:
    text = "word " * 400
    assert all(text[a:b].split() == ["word"] * len(text[a:b].split()) for a, b in split_passages(text, 0, len(text)))  # fmt: skip


@pytest.mark.parametrize("text", ["", " \n\t\u3000 "])
def test_white_space_has_no_passages(text: str) -> None:
    assert split_passages(text, 0, len(text)) == []
