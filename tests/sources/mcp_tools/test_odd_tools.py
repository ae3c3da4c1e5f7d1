"""Servers of tools that name and answer as they like: what can be read is read, and each tool is called."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.core.records import Finding
from research.sources.mcp_tools.result_rows import read_text
from tests.servers.brain import ToolCall
from tests.sources.mcp_tools.test_mcp_tools_source import SERVERS, opened, says, searched
from tests.tables import each_row

FACT = "The Copper Tower was finished in 1924 by Ida Rowe."
TEXT = {"type": "text", "text": FACT}
QUERY = "When was the Copper Tower finished, and how high is it?"
READS = {"readOnlyHint": True}
LOOK = {"name": "look", "inputSchema": {"type": "object"}, "annotations": READS}


async def answered(
    folder: Path,
    said: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] = (LOOK,),
    call: ToolCall | None = None,
) -> tuple[Finding, list[dict[str, Any]], Any]:
    """Search with one tool call; return the finding, the calls that the server received, and the
    scripted model."""
    file = folder / "said.json"
    file.write_text(json.dumps({"tools": tools, **said}), "utf-8")
    entry = {
        "command": sys.executable,
        "args": [str(SERVERS / "odd.py"), str(file)],
        "title": "Odd",
    }
    explore = says([call or ToolCall("look", {})])
    async with opened(folder, entry, explore) as (source, _):
        found = await searched(source, QUERY)
        explore.ready = source.readiness()  # type: ignore[attr-defined]
    return found, received(Path(f"{file}.calls")), explore


def received(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def texts(found: Finding) -> list[str]:
    return [passage.text for item in found.evidence for passage in item.passages]


# Forms of answers


@pytest.mark.slow
@each_row(
    ("result", "kept"),
    [
        ({"content": [TEXT], "isError": None}, FACT),
        ({"content": [TEXT], "isError": "false", "_meta": []}, FACT),
        ({"content": [TEXT], "structuredContent": None, "isError": None}, FACT),
        ({"content": [{**TEXT, "annotations": None, "_meta": None}]}, FACT),
        ({"content": [{**TEXT, "annotations": {"priority": 7, "audience": "all"}}]}, FACT),
        ({"content": None, "structuredContent": {"note": FACT}}, f"note: {FACT}"),
        ({"structuredContent": {"note": FACT}}, f"note: {FACT}"),
        ({"content": FACT}, FACT),
        ({"content": TEXT}, FACT),
        ({"content": [FACT, None, 3]}, FACT),
        ({"content": [TEXT], "structuredContent": ["a", "b"]}, f"{FACT}\na, b"),
        ({"content": [], "structuredContent": [FACT, "It leans."]}, f"{FACT}\nIt leans."),
        ({"content": [], "structuredContent": FACT}, FACT),
        ({"content": [{"type": "video", "data": "AAA"}, TEXT]}, FACT),
        ({"content": [{"type": "table", "text": FACT}]}, FACT),
        ({"content": [{"text": FACT}]}, FACT),
        ({"content": [{"type": "resource", "resource": {"uri": "notes/tower", "text": FACT}}]}, f"{FACT}\nnotes/tower"),
        ({"content": [{"type": "resource_link", "uri": "https://a.example/t", "name": "Tower", "size": "big",
                       "description": FACT}]}, f"Tower\n{FACT}"),
    ],
)  # fmt: skip
async def test_what_can_be_read_of_an_answer_is_kept(result: Any, kept: str, tmp_path: Path) -> None:
    found, _, _ = await answered(tmp_path, {"result": result})
    assert texts(found) == [kept]
    assert (found.reason, found.failures) == (None, ())


@each_row(
    ("content", "message"),
    [
        ([TEXT, {"type": "video", "data": "A"}], "Left out: a block of the kind “video”, which is not known"),
        ([TEXT, {"type": "image"}, {"type": "audio", "data": 3}], "Left out: a recording, a picture"),
        ([TEXT, {"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}], "Left out: a recording"),
        ([TEXT, {"type": "chart"}, {"type": "chart"}], "Left out: 2 blocks of the kind “chart”, which is not known"),
        ([TEXT, 7], "Left out: a block of the kind “int”, which is not known"),
    ],
)  # fmt: skip
async def test_what_was_not_read_is_named(content: Any, message: str, tmp_path: Path) -> None:
    found, _, _ = await answered(tmp_path, {"result": {"content": content}})
    assert (texts(found), found.message) == ([FACT], message)


# Rows

TOWER, GATE = "name: Copper Tower; finished: 1924; height_m: 40", "name: Iron Gate; finished: 1931; height_m: 12"  # fmt: skip
ROWS = [
    {"name": "Copper Tower", "finished": 1924, "height_m": 40},
    {"name": "Iron Gate", "finished": 1931, "height_m": 12},
]
LISTS = [["Copper Tower", 1924, 40], ["Iron Gate", 1931, 12]]
HEAD = ["name", "finished", "height_m"]


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


@pytest.mark.slow
@each_row(
    "result",
    [
        {"content": [], "structuredContent": {"rows": ROWS}},
        {"content": [], "structuredContent": ROWS},
        {"content": [], "structuredContent": {"result": json.dumps(ROWS)}},
        {"content": [], "structuredContent": {"columns": HEAD, "rows": LISTS}},
        {"content": [], "structuredContent": {"data": [HEAD, *LISTS]}},
        {"content": [], "structuredContent": dict(zip(HEAD, zip(*LISTS, strict=True), strict=True))},
        {"content": [{"type": "text", "text": json.dumps(row)} for row in ROWS], "structuredContent": {"result": ROWS}},
        text(json.dumps({"rows": ROWS}, indent=2)),
        text(json.dumps(ROWS)),
        text("\n".join(map(json.dumps, ROWS))),
        text(f"```json\n{json.dumps(ROWS, indent=1)}\n```"),
        text("| name | finished | height_m |\n|---|--:|--:|\n| Copper Tower | 1924 | 40 |\n| Iron Gate | 1931 | 12 |"),
        text("name,finished,height_m\nCopper Tower,1924,40\nIron Gate,1931,12"),
        text("name\tfinished\theight_m\nCopper Tower\t1924\t40\nIron Gate\t1931\t12"),
        {"content": [{"type": "resource", "resource": {"uri": "file:///t.json", "text": json.dumps(ROWS)}}]},
        text(repr(ROWS)),
        text(json.dumps(json.dumps(ROWS))),
        text("name | finished | height_m\n:-|:-:|-:\nCopper Tower | 1924 | 40\nIron Gate | 1931 | 12"),
        text(" name | finished | height_m \n------+----------+----------\n Copper Tower | 1924 | 40\n Iron Gate | 1931 | 12"),
        text("+---+---+---+\n| name | finished | height_m |\n+---+---+---+\n| Copper Tower | 1924 | 40 |\n| Iron Gate | 1931 | 12 |\n+---+---+---+"),
        text("┌──┬──┬──┐\n│ name │ finished │ height_m │\n│ text │ int │ int │\n├──┼──┼──┤\n│ Copper Tower │ 1924 │ 40 │\n│ Iron Gate │ 1931 │ 12 │\n└──┴──┴──┘"),
        text("name          finished  height_m\nCopper Tower  1924      40\nIron Gate     1931      12"),
        text("name: Copper Tower\nfinished: 1924\nheight_m: 40\n\nname: Iron Gate\nfinished: 1931\nheight_m: 12"),
        text("- name: Copper Tower\n  finished: 1924\n  height_m: 40\n- name: Iron Gate\n  finished: 1931\n  height_m: 12"),
        text("**name:** Copper Tower\n**finished:** 1924\n**height_m:** 40\n---\n**name:** Iron Gate\n**finished:** 1931\n**height_m:** 12"),
    ],
)  # fmt: skip
async def test_each_row_is_a_passage_with_its_own_figures(result: Any, tmp_path: Path) -> None:
    found, _, explore = await answered(tmp_path, {"result": result})
    assert sorted(texts(found)) == [TOWER, GATE]
    assert explore.told[0].split("\n") == [TOWER, GATE]


@each_row(
    ("said", "rows"),
    [
        ("name,architect\nCopper Tower,Ida Rowe\nIron Gate,Tom Ash",
         ["name: Copper Tower; architect: Ida Rowe", "name: Iron Gate; architect: Tom Ash"]),
        ('id,text\n1,"The Copper Tower\nis 40 m high."\n2,"The Iron Gate, 12 m."',
         ["id: 1; text: The Copper Tower is 40 m high.", "id: 2; text: The Iron Gate, 12 m."]),
        ("Copper Tower:\nWind: 5 mph\nSnow: 40 cm\n---\nIron Gate:\nWind: 31 mph\nSnow: 12 cm",
         ["Copper Tower — Wind: 5 mph; Snow: 40 cm", "Iron Gate — Wind: 31 mph; Snow: 12 cm"]),
        ("名称：铜塔\n建成：1924年\n\n名称：铁门\n建成：1931年", ["名称: 铜塔; 建成: 1924年", "名称: 铁门; 建成: 1931年"]),
        ("[{'name': \"Ida's\", 'built': datetime.date(1924, 5, 1), 'cost': Decimal('40.5'), 'by': None}]",
         ["name: Ida's; built: 1924-05-01; cost: 40.5"]),
        ("[('Copper Tower', 1924), ('Iron Gate', 1931)]", ["Copper Tower; 1924", "Iron Gate; 1931"]),
        (json.dumps([
            {"id": str(n), "fields": {
                "Name": {"id": "a", "type": "title", "title": [{"type": "text", "text": {"content": name}, "plain_text": name}]},
                "Height": {"id": "b", "type": "number", "number": height},
                "Built": {"id": "c", "type": "date", "date": {"start": built, "end": None}}}}
            for n, name, height, built in [(1, "Copper Tower", 40, "1924"), (2, "Iron Gate", 12, "1931")]]),
         ["id: 1; fields.Name: Copper Tower; fields.Height: 40; fields.Built.start: 1924",
          "id: 2; fields.Name: Iron Gate; fields.Height: 12; fields.Built.start: 1931"]),
    ],
)  # fmt: skip
async def test_what_belongs_to_one_row_stands_on_one_line(said: str, rows: list[str], tmp_path: Path) -> None:
    _, _, explore = await answered(tmp_path, {"result": text(said)})
    assert explore.told[0].split("\n") == rows


@each_row("said", ["[]", "{}", "null", " [] \n"])
async def test_no_rows_are_no_evidence(said: str, tmp_path: Path) -> None:
    found, _, _ = await answered(tmp_path, {"result": text(said)})
    assert (found.evidence, found.reason) == ((), "empty")


async def test_prose_around_records_and_records_within_records_keep_apart(tmp_path: Path) -> None:
    towns = [
        {"name": "Millbrook", "people": 5000, "towers": [{"what": "Old", "height": 45}, {"what": "New", "height": 9}]},
        {"name": "Fenwick", "people": 900, "towers": []},
    ]  # fmt: skip
    said = f"Found these:\n{json.dumps({'towns': towns})}\nThat is all."
    _, _, explore = await answered(tmp_path, {"result": text(said)})
    assert explore.told[0].split("\n") == [
        "Found these:",
        "towns — name: Millbrook; people: 5000",
        "towns, Millbrook, towers — what: Old; height: 45",
        "towns, Millbrook, towers — what: New; height: 9",
        "towns — name: Fenwick; people: 900",
        "That is all.",
    ]


@each_row(
    "said",
    [
        "Paris, France, Europe\nBerlin, Germany, Europe\nRome, Italy, Europe",
        "[1] Smith et al., 2020\n[2] Doe, 2021",
        "Dear reader, hello\nYours, the editor",
        "[\n" * 200,
        "{ never closed\n" * 50,
        "Note: see below.\nNote: and above.\nBest: never",
        "['x' is a list\nof one",
    ],
)
async def test_prose_stays_as_it_is(said: str, tmp_path: Path) -> None:
    _, _, explore = await answered(tmp_path, {"result": text(said)})
    assert explore.told[0] == said.strip()


@each_row(
    "said",
    [
        "[{'" + "\\'" * 90_000,
        "[{'d': date(1" + ",1" * 90_000,
        "[{'a'" * 30_000,
        "Name: x\n" + "  y\n" * 40_000,
        "\n".join(f"k{n}: v" for n in range(20_000)),
        "a,b\n" + '"x,1\n' * 30_000,
    ],
)
def test_what_looks_like_records_without_end_is_read_in_a_moment(said: str) -> None:
    started = time.monotonic()
    read_text(said)
    assert time.monotonic() - started < 10


# Names


@pytest.mark.slow
@each_row(
    ("name", "alias"),
    [
        ("search.papers", "search_papers"),
        ("中文工具", "zhong_wen_gong_ju"),
        ("abcdefgh" * 10, None),
        ("检索/论文 v2", "jian_suo_lun_wen_v2"),
        ("2nd look", "tool_2nd_look"),
        ("поиск", None),
        ("recherche-é", "recherche_e"),
        ("…", None),
    ],
)
async def test_a_tool_is_offered_under_a_safe_name_and_called_by_its_own(
    name: str, alias: str | None, tmp_path: Path
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "user.name": {"type": "string"},
            "$top": {"type": "integer"},
            "查询": {"type": "object", "properties": {"年 份": {"type": "integer"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a b": {"type": "string"}}}},
        },
        "required": ["user.name", "查询"],
    }  # fmt: skip
    tool = {"name": name, "inputSchema": schema, "annotations": READS}
    _, _, explore = await answered(tmp_path, {"result": text(FACT)}, [tool, LOOK])
    offered = explore.tools[0]["function"]
    form = offered["parameters"]
    assert offered["name"].isascii() and len(offered["name"]) <= 64
    assert alias in (None, offered["name"])
    assert [*form["properties"]] == ["user_name", "cha_xun", "top", "list"]
    assert form["required"] == ["user_name", "cha_xun"]
    given = {"user_name": "Ida", "top": 3, "cha_xun": {"nian_fen": 1924}, "list": [{"a_b": "x"}]}
    made = ToolCall(offered["name"], given)
    found, calls, _ = await answered(tmp_path, {"result": text(FACT)}, [tool, LOOK], made)
    own = {"user.name": "Ida", "$top": 3, "查询": {"年 份": 1924}, "list": [{"a b": "x"}]}
    assert (calls[-1]["name"], calls[-1]["arguments"]) == (name, own)
    assert found.evidence[0].title == f"Odd: {name}"[:200]


@pytest.mark.slow
async def test_a_call_may_have_arguments_whose_names_a_library_keeps_to_itself(
    tmp_path: Path,
) -> None:
    names = ("config", "runtime", "run_manager", "callbacks", "self", "arguments", "tool_call_id")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    made = ToolCall("look", {name: name.upper() for name in names})
    tools = [{**LOOK, "inputSchema": schema}]
    found, calls, _ = await answered(tmp_path, {"result": text(FACT)}, tools, made)
    assert calls[-1]["arguments"] == dict(made.args)
    assert texts(found) == [FACT]


async def test_names_that_would_be_one_stay_two_whatever_their_order(tmp_path: Path) -> None:
    tools = [{**LOOK, "name": name} for name in ("a.b", "a b", "a_b", "x/y")]
    _, _, one = await answered(tmp_path, {"result": text(FACT)}, tools)
    _, _, other = await answered(tmp_path, {"result": text(FACT)}, tools[::-1])
    names = [tool["function"]["name"] for tool in one.tools]
    assert len({*names}) == 4 and names[2:] == ["a_b", "x_y"]
    assert [tool["function"]["name"] for tool in other.tools] == names[::-1]


async def test_a_tool_that_no_model_can_be_offered_is_named_on_its_card(tmp_path: Path) -> None:
    wide = {f"a{n}": {"type": "string"} for n in range(70)}
    tools = [
        {**LOOK, "name": "wide", "inputSchema": {"properties": wide, "required": [*wide]}},
        {**LOOK, "name": "many", "inputSchema": {"properties": wide, "required": ["a69"]}},
        {**LOOK, "name": "vague", "inputSchema": {"required": ["q", 7]}},
        {"name": "bare", "inputSchema": None, "description": 3, "annotations": READS},
        {"inputSchema": {}},
        *({**LOOK, "name": f"t{n}"} for n in range(130)),
    ]
    _, _, explore = await answered(tmp_path, {"result": text(FACT)}, tools)
    forms = {t["function"]["name"]: t["function"]["parameters"] for t in explore.tools}
    assert len(forms) == 128 and "wide" not in forms
    assert len(forms["many"]["properties"]) == 64 and "a69" in forms["many"]["properties"]
    assert forms["vague"]["properties"] == {"q": {"type": "string"}}
    assert "bare" in forms
    assert explore.ready.withheld == "wide, t125, t126, t127, t128 +1"


# Errors


@pytest.mark.slow
@each_row(
    ("said", "reason", "after"),
    [
        ("HTTP 429: rate limited, try in 10 s", "quota", 10.0),
        ("Please try again in 2 minutes.", "quota", 120.0),
        ('{"error": "slow down", "retry_after": 2.5}', "quota", 2.5),
        ("Retry-After: 7", "quota", 7.0),
        ("Too many requests, retry after 500ms", "quota", 0.5),
        ("请求过于频繁，请在10秒后重试", "quota", 10.0),
        ("超出每日配额", "quota", None),
        ("the archive is shut since 429 days", "refused", None),
        ("No tower of 12 m was found", "refused", None),
    ],
)
@each_row("kind", ["result", "error"])
async def test_an_error_that_tells_of_a_limit_is_one_with_its_time(
    kind: str, said: str, reason: str, after: float | None, tmp_path: Path
) -> None:
    answer = {"isError": True, **text(said)}
    given = {"result": answer} if kind == "result" else {"error": {"code": -32000, "message": said}}
    with pytest.raises(ServiceError) as caught:
        await answered(tmp_path, given)
    assert (caught.value.reason, caught.value.retry_after_seconds) == (reason, after)
