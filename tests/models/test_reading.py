"""What of a model's writing is its answer."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from research.models.output_parsing import OutputFormatError, clean_output, parse_object, repair_unicode
from tests.tables import each_row


class Colour(BaseModel):
    colour: str
    shade: str = ""


@each_row(
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
    assert repair_unicode(text) == clean
    repair_unicode(text).encode("utf-8")


@each_row(
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
        ("Old<think>Wait, is it so? Yes.</think> it is.", "Old it is."),
        ("Old.\n<think>\nWait.\nYes.\n</think>\nIt is.", "Old.\n\nIt is."),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant", ""),
        ("<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>Old.", "Old."),
        ("<|channel|>final <|constrain|>json<|message|>{}<|return|>", "{}"),
        ("<answer>\nOld.\n</answer>\n", "Old."),
        ("<answer>Old.", "Old."),
        ("Old.</s>", "Old."),
        # none of these are thoughts
        ("它用<think>和</think>包住思考。", "它用<think>和</think>包住思考。"),
        ("Write `<think>some thoughts</think>` so.", "Write `<think>some thoughts</think>` so."),
        ("`<|channel|>final<|message|>` begins it.", "`<|channel|>final<|message|>` begins it."),
        ("<answer> is a tag.", "<answer> is a tag."),
        ("<output>a</output> and more", "<output>a</output> and more"),
        ("The tag `</think>` ends the thoughts.", "The tag `</think>` ends the thoughts."),
        ("It writes <think> and </think> around.", "It writes <think> and </think> around."),
        ("hm</think>The tag </think> ends it.", "The tag </think> ends it."),
        ("[@3fa9] says so.", "[@3fa9] says so."),
        ("<b>Old.</b>", "<b>Old.</b>"),
        ("", ""),
    ],
)
def test_thoughts_are_no_part_of_an_answer(written: str, answer: str) -> None:
    assert clean_output(written) == answer


def test_a_thousand_tags_are_read_in_no_time() -> None:
    assert clean_output("<|end|> " * 50_000 + "Old.").endswith("Old.")
    assert clean_output("Old. <think>a " * 50_000).startswith("Old.")
    assert clean_output("<|channel|>final<|message|>" * 50_000 + "Old.") == "Old."
    assert clean_output("</think>" * 1_000 + "Old.") == "Old."
    assert clean_output("<think>a</think>" * 1_000 + "Old.") == "Old."


GREEN = '{"colour": "green"}'


@each_row(
    "text",
    [
        GREEN,
        f"```json\n{GREEN}\n```",
        f"```JSON\n{GREEN}```",
        f"```\n{GREEN}\n",
        f"~~~json\n{GREEN}\n~~~",
        f"Sure! Here it is:\n\n```json\n{GREEN}\n```\n\nTell me if you need more.",
        f"当然可以，结果如下：\n```json\n{GREEN}\n```\n如需调整请告诉我。",
        f"Sure! {GREEN} I hope it helps.",
        f"An object {{in braces}}, as {{asked}}: {GREEN}",
        f'The schema {{"type": "object"}} gives {GREEN}',
        f"{GREEN}\nOnce more:\n```json\n{GREEN}\n```",
        f'He said "an open {{brace}} and more": {GREEN}',
        '{\n  "colour": "green"\n}\n\nNote: {"colour": 1} would be wrong.',
    ],
)
def test_an_object_is_found_among_prose_and_fences(text: str) -> None:
    assert parse_object(text, Colour) == Colour(colour="green")


@each_row("colour", ["} and {", '"}', "```", "\\", "绿{"])
def test_an_object_may_hold_what_looks_like_its_end(colour: str) -> None:
    found = Colour(colour=colour)
    assert parse_object(f"Sure! {found.model_dump_json()} Well?", Colour) == found


@each_row(
    ("text", "why"),
    [
        ("I cannot say.", "Invalid JSON"),
        ("", "Invalid JSON"),
        ('{"colour": "green"', "Invalid JSON"),
        ('Sure! {"parts": [{"colour": "green"}, {"colour"', "Invalid JSON"),
        ('```json\n{"parts": [{"colour": "green"},\n```', "Invalid JSON"),
        ('{"parts": [{"colour": "green"},]}', "colour: Field required"),
        ('[{"colour": "green"}]', "should be an object"),
        ('Sure! {"colour": 7}', "colour: Input should be a valid string"),
        ('Either {"colour": "green"} or {"colour": "red"}.', "several JSON objects"),
        ("{" * 100_000, "Invalid JSON"),
        ("{}" * 10_000, "colour: Field required"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "Invalid JSON"),
    ],
)
def test_what_is_no_object_of_the_shape_is_told_as_such(text: str, why: str) -> None:
    with pytest.raises(OutputFormatError, match=why):
        parse_object(text, Colour)
