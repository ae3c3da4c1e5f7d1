"""Addresses at the words that are meant: what a browser looks for, and what has no such address."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from pages.run.text_fragments import build_text_directive, passage_url
from research import Evidence, Passage
from tests.tables import each_row

TEXT = "Tickets, which cost 60 yuan & more, are well-known. Others are free."
TIME = datetime(2026, 11, 20, tzinfo=UTC)


def source(**update: Any) -> Evidence:
    passage = Passage(id="p", text=TEXT, end=len(TEXT))
    found = Evidence(
        id="e", kind="web", title="Tickets", url="https://example.org/a", retrieved=TIME,
        passages=(passage,),
    )  # fmt: skip
    return found.model_copy(update=update)


def test_a_short_stretch_is_looked_for_as_it_stands_with_every_mark_coded() -> None:
    found = passage_url(source(), source().passages[0], 0, TEXT.index(" Others"))
    assert found == (
        "https://example.org/a#:~:text=Tickets%2C%20which%20cost%2060%20yuan%20%26%20more%2C%20are%20well%2Dknown."
    )


def test_a_long_stretch_is_looked_for_by_its_beginning_and_its_end() -> None:
    words = [f"word{n}" for n in range(40)]
    start, end = build_text_directive(" ".join(words)).removeprefix("text=").split(",")
    assert unquote(start).split() == words[:5]
    assert unquote(end).split() == words[-5:]


def test_chinese_is_cut_where_there_is_punctuation() -> None:
    text = "旺季，故宫博物院的门票为六十元，淡季则为四十元，未成年人一律免费，同样需要预约，周一闭馆。"
    start, end = build_text_directive(text).removeprefix("text=").split(",")
    assert unquote(start) == "旺季，故宫博物院的门票为六十元"
    assert unquote(end) == "同样需要预约，周一闭馆。"


def test_without_a_stretch_the_beginning_of_the_passage_is_meant() -> None:
    assert ":~:text=Tickets" in passage_url(source(), source().passages[0])


def test_a_place_in_the_page_keeps_its_own_fragment() -> None:
    found = passage_url(source(url="https://example.org/a#prices"), source().passages[0], 0, 7)
    assert found == "https://example.org/a#prices:~:text=Tickets"


@each_row(
    "update",
    [{"url_expires": True}, {"kind": "library"}, {"kind": "place"}, {"kind": "database"},
     {"url": "https://example.org/a#:~:text=x"}],
)  # fmt: skip
def test_what_loses_the_words_keeps_its_address_as_it_is(update: dict[str, Any]) -> None:
    found = source(**update)
    assert passage_url(found, found.passages[0], 0, 7) == found.url


def test_words_of_a_search_model_are_not_looked_for() -> None:
    passage = Passage(id="p", origin="grounding", text=TEXT, end=len(TEXT))
    assert passage_url(source(), passage, 0, 7) == "https://example.org/a"


@each_row("url", ["", "javascript:alert(1)", "file:///etc/passwd", "https://"])
def test_what_is_no_address_of_the_web_has_none(url: str) -> None:
    assert passage_url(source(url=url), source().passages[0], 0, 7) == ""


@given(st.text())
def test_nothing_in_a_stretch_has_a_meaning_of_its_own(text: str) -> None:
    found = build_text_directive(text)
    if not found:
        return
    parts = found.removeprefix("text=").split(",")
    assert 1 <= len(parts) <= 2
    assert all(re.fullmatch(r"(?:[A-Za-z0-9_.~]|%[0-9A-F]{2})+", part) for part in parts)
    assert urlsplit(f"https://example.org/#:~:{found}").fragment == f":~:{found}"


@given(st.text(alphabet="ab 京宫，。\n-", min_size=1))
def test_what_is_looked_for_stands_in_the_stretch(text: str) -> None:
    said = " ".join(text.split())
    parts = [part for part in build_text_directive(text).removeprefix("text=").split(",") if part]
    assert all(unquote(part) in said for part in parts)
