"""What of a model's writing is its answer."""

from __future__ import annotations

import pytest

from research.models.reading import sound, spoken


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("颐和园", "颐和园"),
        ("\ud83c\udfdb", "🏛"),
        ("a\udc00b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("wait \ud83c", "wait "),
    ],
)
def test_halves_of_surrogate_pairs_never_leave_a_model_s_text(text: str, clean: str) -> None:
    assert sound(text) == clean
    sound(text).encode("utf-8")


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("<think>hm</think>Old.", "Old."),
        ("\n<think>\nhm\n</think>\n\nOld.", "Old."),
        ("hm</think>Old.", "Old."),
        ("好的，想一想。\n</think>\n\n塔很古老。", "塔很古老。"),
        ("</think>\n\nOld.", "Old."),
        ("hm</think>\n</think>\nOld.", "Old."),
        ("<think>a</think>\n<think>b</think>\nOld.", "Old."),
        ("<thinking>hm</thinking>Old.", "Old."),
        ("[THINK]hm[/THINK]Old.", "Old."),
        ("hm[/THINK]Old.", "Old."),
        ("◁think▷hm◁/think▷Old.", "Old."),
        ("<THINK>hm</THINK>Old.", "Old."),
        ("<think>hm", ""),
        ("<think>the tag `</think>` ends it", ""),
        ("hm</think>", ""),
        # none of these are thoughts
        ("The tag `</think>` ends the thoughts.", "The tag `</think>` ends the thoughts."),
        ("It writes <think> and </think> around.", "It writes <think> and </think> around."),
        ("hm</think>The tag </think> ends it.", "The tag </think> ends it."),
        ("[@3fa9] says so.", "[@3fa9] says so."),
        ("<b>Old.</b>", "<b>Old.</b>"),
        ("", ""),
    ],
)
def test_thoughts_are_no_part_of_an_answer(written: str, answer: str) -> None:
    assert spoken(written) == answer


def test_thousands_of_tags_are_read_in_no_time() -> None:
    assert spoken("</think>" * 20_000 + "Old.") == "Old."
    assert spoken("<think>a</think>" * 20_000 + "Old.") == "Old."
