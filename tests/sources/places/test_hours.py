"""Opening hours in words: the simple forms, and whatever is not simple as it was written."""

from __future__ import annotations

import pytest

from research.sources.places.opening_hours import describe_hours


@pytest.mark.parametrize(
    ("written", "zh", "en"),
    [
        ("24/7", "全天开放", "open 24 hours a day"),
        ("Mo-Fr 09:00-17:00", "周一至周五 09:00–17:00", "Mon to Fri 09:00–17:00"),
        ("Mo-Fr 09:00-17:00; PH off", "周一至周五 09:00–17:00；公众假期 休息", "Mon to Fri 09:00–17:00; public holidays closed"),
        ("Mo,We-Su 09:00-12:00,13:00-18:00;", "周一、周三至周日 09:00–12:00, 13:00–18:00", "Mon, Wed to Sun 09:00–12:00, 13:00–18:00"),
        ("10:00-26:00", "每天 10:00–26:00", "daily 10:00–26:00"),
        ("Su closed", "周日 休息", "Sun closed"),
    ],
)  # fmt: skip
def test_the_frequent_forms_are_put_in_words(written: str, zh: str, en: str) -> None:
    assert (describe_hours(written, "zh"), describe_hours(written, "en")) == (zh, en)


@pytest.mark.parametrize(
    "written",
    [
        "sunrise-sunset", "Mo-Fr 09:00+", "Apr-Oct: Mo-Su 09:00-18:00", "Mo[1] 10:00-12:00", "Mo-Fr",
        "week 1-52/2 We 09:00-12:00", "PH-Su 09:00-10:00", "=cmd|' /C calc'!A0", "<b>24/7</b>", "",
        "Mo-Fr 09:00-17:00 \"by appointment\"", "Mo-Fr 09:00-17:00 || off",
    ],
)  # fmt: skip
def test_any_other_form_is_left_as_it_was_written(written: str) -> None:
    assert describe_hours(written, "zh") == written
