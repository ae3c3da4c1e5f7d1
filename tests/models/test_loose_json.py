"""JSON that a model writes otherwise than it was asked to: whatever has one meaning is read from the first
answer, what has none is named, and nothing that broke off is taken for the whole."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel

from research.models.output_parsing import OutputFormatError, parse_object
from research.models.prompting import object_schema
from tests.models.conftest import PROMPT, Wire
from tests.tables import each_row


class Plan(BaseModel):
    route: str
    gap: str = ""
    enough: bool = False
    queries: list[str] = []
    rows: list[dict[str, Any]] = []


TEXTS = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 3}
ROW = object_schema(
    number={"type": "integer"},
    kind={"type": "string", "enum": ["old", "new"]},
    quote={"type": "string"},
)
SCHEMA = object_schema(
    route={"type": "string", "enum": ["search", "direct"]},
    gap={"type": "string"},
    enough={"type": "boolean"},
    queries=TEXTS,
    rows={"type": "array", "items": ROW},
)
WHOLE: dict[str, Any] = {
    "route": "search", "gap": "票价?", "enough": False, "queries": ["tower age", "塔的高度"],
    "rows": [{"number": 1, "kind": "old", "quote": "it's \"old\""}],
}  # fmt: skip


def read(text: str) -> tuple[dict[str, Any], list[str]]:
    left_out: list[str] = []
    return parse_object(text, Plan, SCHEMA, left_out.append).model_dump(), left_out


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


TEXT = dumped(WHOLE)


@each_row(
    "text",
    [
        TEXT,
        repr(WHOLE),
        f"Sure!\n```python\n{WHOLE!r}\n```\nDone.",
        TEXT.replace("]", ",]").replace("}", ", }"),
        TEXT.replace("{", "{ // the plan\n", 1),
        TEXT.replace("{", "{ /* the } plan */", 1),
        TEXT.replace("{", "{ # the {plan\n", 1),
        TEXT.replace("false", "False"),
        TEXT.replace('"route"', "route").replace('"queries"', "queries"),
        TEXT.replace('"route": "search"', "“route”: “search”"),
        TEXT.replace('"route": "search",', "‘route’：‘search’，"),
        dumped([WHOLE]),
        dumped([WHOLE, WHOLE]),
        dumped({"result": WHOLE}),
        dumped({"response": {"plan": WHOLE}}),
        dumped({"name": "answer", "arguments": TEXT}),
        dumped({"type": "object", "properties": WHOLE}),
        dumped(TEXT),
        dumped({"Route": WHOLE["route"], **{n.upper(): v for n, v in WHOLE.items() if n != "route"}}),
        f"The schema {dumped(SCHEMA)} gives:\n{TEXT}",
        f'Not {{"route": 7}} but {TEXT}',
        f"Draft: {{'route': 'nope'}}. Final:\n{TEXT}",
    ],
)
def test_an_object_is_read_however_it_is_written(text: str) -> None:
    assert read(text) == (WHOLE, [])


@each_row(
    ("part", "meant"),
    [
        ({"gap": None}, {"gap": ""}),
        ({"gap": ["a", "b"]}, {"gap": "a; b"}),
        ({"gap": ["票价", "年份"]}, {"gap": "票价；年份"}),
        ({"gap": {"text": "a"}}, {"gap": "a"}),
        ({"gap": [{"gap": "a"}, {"gap": "b"}]}, {"gap": "a; b"}),
        ({"gap": 186}, {"gap": "186"}),
        ({"gap": {"type": "string", "value": "a"}}, {"gap": "a"}),
        ({"route": "Search"}, {"route": "search"}),
        ({"route": ["direct"]}, {"route": "direct"}),
        ({"enough": "true"}, {"enough": True}),
        ({"enough": "Yes."}, {"enough": True}),
        ({"enough": "否"}, {"enough": False}),
        ({"enough": 1}, {"enough": True}),
        ({"queries": None}, {"queries": []}),
        ({"queries": "a, b"}, {"queries": ["a, b"]}),
        ({"queries": "a; b"}, {"queries": ["a", "b"]}),
        ({"queries": "a；b"}, {"queries": ["a", "b"]}),
        ({"queries": "1. a\n2. b\n\n"}, {"queries": ["a", "b"]}),
        ({"queries": "- 2026 games\n- b"}, {"queries": ["2026 games", "b"]}),
        ({"queries": '["a", "b"]'}, {"queries": ["a", "b"]}),
        ({"queries": "none"}, {"queries": []}),
        ({"queries": {"query": "a"}}, {"queries": ["a"]}),
        ({"queries": {"1": "a", "2": "b"}}, {"queries": ["a", "b"]}),
        ({"queries": [{"query": "a"}, "b"]}, {"queries": ["a", "b"]}),
        ({"queries": [{"query": "a", "reason": "b"}]}, {"queries": ["a"]}),
        ({"queries": [["a"], ["b"], None]}, {"queries": ["a", "b"]}),
        ({"rows": {"number": "2", "kind": "NEW", "quote": None}}, None),
        ({"rows": [{"Number": 2.0, "kind": "new", "quote": ""}]}, None),
        ({"rows": dumped([{"number": "Sentence 2", "kind": "new", "quote": ""}])}, None),
        ({"rows": {"row 1": {"number": 2, "kind": "new", "quote": ""}}}, None),
    ],
)
def test_a_part_of_another_type_is_read_as_what_it_can_only_mean(
    part: dict[str, Any], meant: dict[str, Any] | None
) -> None:
    meant = {"rows": [{"number": 2, "kind": "new", "quote": ""}]} if meant is None else meant
    assert read(dumped(WHOLE | part)) == (WHOLE | meant, [])


@each_row(
    ("part", "left_out"),
    [
        ({"gap": {"service": "a", "why": "b"}}, ["gap"]),
        ({"gap": [[1], {}]}, ["gap"]),
        ({"gap": {"type": "string", "maxLength": 600}}, ["gap"]),
        ({"queries": 7}, ["queries"]),
        ({"queries": {"type": "array", "items": {"type": "string"}}}, ["queries"]),
        ({"rows": "none of them"}, ["rows"]),
    ],
)
def test_a_part_without_one_meaning_is_left_out_and_named(part: dict[str, Any], left_out: list[str]) -> None:
    found, named = read(dumped(WHOLE | part))
    bare = Plan(route="search").model_dump()
    assert found == WHOLE | {name: bare[name] for name in part}
    assert named == left_out


def test_items_that_cannot_be_read_cost_themselves_alone() -> None:
    found, named = read(dumped(WHOLE | {"queries": ["a", {"x": "a", "y": "b"}, None, "b"]}))
    assert (found["queries"], named) == (["a", "b"], ["queries 2"])


def test_rows_that_do_not_fit_cost_themselves_alone() -> None:
    class Row(BaseModel):
        number: int
        kind: Literal["old", "new"]

    class Table(Plan):
        rows: list[Row]  # type: ignore[assignment]

    rows: list[Any] = [
        {"number": 1, "kind": "old"},
        {"number": 2, "kind": "odd"},
        {"kind": "new"},
        7,
    ]
    left_out: list[str] = []
    found = parse_object(dumped(WHOLE | {"rows": rows}), Table, SCHEMA, left_out.append)
    assert [row.number for row in found.rows] == [1]
    assert left_out == ["rows 4", "rows 2", "rows 3"]
    with pytest.raises(OutputFormatError, match="rows"):
        parse_object(dumped(WHOLE | {"rows": rows[1:]}), Table, SCHEMA)


@each_row(
    "part",
    [
        {"route": "perhaps?"} | {"gap": 1},
        {"enough": "perhaps"},
        {"enough": None},
    ],
)
def test_a_choice_is_never_guessed(part: dict[str, Any]) -> None:
    class Strict(Plan):
        enough: bool
        route: Any

    try:
        found = parse_object(dumped(WHOLE | part), Strict, SCHEMA)
    except OutputFormatError:
        return
    assert found.route == part["route"]


@pytest.mark.parametrize(
    "whole",
    [TEXT, repr(WHOLE), f"```json\n{TEXT}\n```", dumped([WHOLE]), dumped({"result": WHOLE}),
     TEXT.replace("{", "{ // a plan }\n", 1), dumped({"rows": WHOLE["rows"]} | WHOLE)],
)  # fmt: skip
def test_nothing_that_broke_off_is_taken_for_the_whole(whole: str) -> None:
    last = whole.rindex("}")
    for end in range(last):
        for tail in ("", "\n```", "…", "\n\nDone."):
            with pytest.raises(OutputFormatError):
                read(whole[:end] + tail)


@pytest.mark.slow
@each_row(
    "text",
    [
        "{" * 100_000,
        "{'" * 50_000,
        "[{" * 50_000,
        '{"a": [' * 20_000,
        "{a:" * 50_000 + "1" + "}" * 50_000,
        "{/*" * 50_000,
        "{“" * 50_000,
        "{'a': 1}" * 5_000,
        "{" + '\\"' * 50_000,
        "{" + '\\"' * 50_000 + "\\",
        dumped({"queries": [{"a": 1, "b": "c"}] * 20_000}),
        dumped({"queries": "; " * 100_000}),
        dumped([[]] * 50_000),
    ],
)
def test_hostile_text_is_refused_in_good_time(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(OutputFormatError):
        read(text)
    assert time.monotonic() - start < 20


_json: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*WHOLE, "type", "value", "items", "number", "Queries"]) | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_json)
def test_nothing_that_can_come_breaks_the_reading(value: Any) -> None:
    for text in (json.dumps(value), repr(value)):
        try:
            found, _ = read(text)
        except OutputFormatError:
            continue
        assert all(isinstance(query, str) for query in found["queries"])


@pytest.mark.slow
@given(st.text(alphabet="{}[]\"'“”:,，/*#\\ \nabTrue1", max_size=40))
def test_no_text_breaks_the_reading(text: str) -> None:
    with suppress(OutputFormatError):
        read(text)


# Over the wire


@pytest.mark.asyncio(loop_scope="module")
async def test_what_could_not_be_read_is_told_and_asked_for_no_second_time(wire: Wire) -> None:
    odd = WHOLE | {"gap": {"service": "a", "why": "b"}, "queries": "a; b"}
    wire.server.brain.values["other"] = {}
    wire.server.brain.reply = lambda ask, fault="": repr(odd)
    found = await wire.chat().ask_json(PROMPT, SCHEMA, Plan, "plan", wire.heard)
    assert (found.gap, found.queries) == ("", ["a", "b"])
    assert wire.server.calls() == 1
    assert wire.heard.of("parts_unreadable") == [
        {"stage": "plan", "service": f"{wire.name}:some-model", "parts": ["gap"]}
    ]


LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ("{'city': '北京', 'near': None,}", {"city": "北京", "near": None}),
        ('{"city": "北京" // the capital\n}', {"city": "北京"}),
        ("", {}),
        ('{"city": "北', None),
        ("北京", None),
    ],
)
async def test_a_call_of_a_tool_is_read_in_loose_json_as_well(
    openai: Wire, arguments: str, args: dict[str, Any] | None
) -> None:
    function = {"name": "look", "arguments": arguments}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    openai.server.replay("any", {"id": "1", "object": "chat.completion", "choices": [choice]})
    said = await openai.chat().next_message([HumanMessage("Where?")], [LOOK], "search", openai.heard)
    assert [call["args"] for call in said.tool_calls] == ([] if args is None else [args])
    assert [call["id"] for call in said.invalid_tool_calls] == (["c1"] if args is None else [])
    openai.server.reset()
    answers = [ToolMessage("here", tool_call_id="c1", name="look")]
    await openai.chat().next_message([HumanMessage("Where?"), said, *answers], [LOOK], "search", openai.heard)
    assert [call["id"] for call in openai.server.log[0].body["messages"][1]["tool_calls"]] == ["c1"]
