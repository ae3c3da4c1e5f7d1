"""The six ways of searching for news, from a model's JSON to the wire: real clients all the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.core.records import Report
from tests.runtime.newsroom import (
    KEY,
    SECTION,
    Newsroom,
    distinct,
    failures,
    markdown,
    of,
    over,
    room,
)
from tests.servers import Server
from tests.servers.gemini import FakeGemini
from tests.servers.news import FakeTavilyNews, rows_about
from tests.servers.openai import FakeOpenAI

DATES = {"start_date": "2026-11-01", "end_date": "2026-11-18"}
# What Tavily is to be sent for each tool, beside the query and the topic, and nothing else.
WIRE: dict[str, dict[str, Any]] = {
    "basic_search_news": {"search_depth": "basic", "max_results": 7, "include_answer": False},
    "deep_search_news": {
        "search_depth": "advanced", "max_results": 20, "include_answer": "advanced",
        "chunks_per_source": 3,
    },
    "search_news_last_24_hours": {"time_range": "day", "max_results": 10},
    "search_news_last_week": {"time_range": "week", "max_results": 10},
    "search_images_for_news": {
        "include_images": True, "include_image_descriptions": True, "max_results": 5,
    },
    "search_news_by_date": {"max_results": 15, **DATES},
}  # fmt: skip
BASIC = {"topic": "news", **WIRE["basic_search_news"]}
ALL = [{"search_tool": name} | (DATES if name == "search_news_by_date" else {}) for name in WIRE]


@pytest.fixture(scope="module", params=[FakeOpenAI, FakeGemini])
def models(request: pytest.FixtureRequest) -> Iterator[Server]:
    with request.param() as server:
        yield server


@pytest.fixture(scope="module")
def serving() -> Iterator[Server]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def news() -> Iterator[FakeTavilyNews]:
    with FakeTavilyNews(results=rows_about, lead="Tavily's own words.") as server:
        yield server


@pytest.fixture
def each(tmp_path: Path, models: Server, news: FakeTavilyNews) -> Iterator[Newsroom]:
    """A newsroom on each kind of model server."""
    yield from room(tmp_path, models, news)


@pytest.fixture
def newsroom(tmp_path: Path, serving: Server, news: FakeTavilyNews) -> Iterator[Newsroom]:
    yield from room(tmp_path, serving, news)


def outline(newsroom: Newsroom, searches: Sequence[dict[str, str]]) -> None:
    """Has the model plan one section for each search, named by the letters of the alphabet."""
    newsroom.brain.values["outline"] = {
        "sections": [
            {"title": f"Part {name}", "content": f"On {name}", "query": f"tower {name}", **search}
            for name, search in zip("ABCDEFGHIJ", searches, strict=False)
        ]
    }


def follow(newsroom: Newsroom, searches: Sequence[dict[str, str]]) -> None:
    """Has the model look up the same for each section that it judges."""
    newsroom.brain.values["reconsider"] = {
        "is_sufficient": False,
        "knowledge_gap": "More is to be found.",
        "follow_ups": [
            {"query": f"more {n}", **search} for n, search in enumerate(searches, 1)
        ],
    }  # fmt: skip


def received(newsroom: Newsroom) -> dict[str, dict[str, Any]]:
    """What came over the wire, by query; no query comes twice."""
    bodies = {body["query"]: {**body} for body in newsroom.tavily.bodies}
    assert len(bodies) == len(newsroom.tavily.bodies)
    for body in bodies.values():
        del body["query"]
    return bodies


def paid(newsroom: Newsroom) -> set[str]:
    """The addresses of all that the wire has brought."""
    return {row["url"] for body in newsroom.tavily.bodies for row in rows_about(body)}


def found(report: Report) -> set[str]:
    return {item.url for item in report.evidence}


def message_of(newsroom: Newsroom, report: Report, words: str) -> str:
    (finding,) = of(report, words)
    return finding.message


# All six


def test_an_outline_reaches_all_six_tools_with_exactly_their_parameters(each: Newsroom) -> None:
    outline(each, ALL)
    each.write(sections=6, reflections=0)
    assert received(each) == {
        f"tower {letter}": {"topic": "news", **WIRE[name]} for letter, name in zip("ABCDEF", WIRE, strict=True)
    }


@pytest.mark.slow
def test_follow_ups_reach_all_six_tools_with_exactly_their_parameters(each: Newsroom) -> None:
    outline(each, ALL[:1])
    follow(each, ALL)
    each.write(sections=6, reflections=1, queries=6)
    bodies = received(each)
    assert bodies.pop("tower A") == BASIC
    assert bodies == {f"more {n}": {"topic": "news", **parameters} for n, parameters in enumerate(WIRE.values(), 1)}


def test_every_request_has_the_key_and_none_is_written_down(newsroom: Newsroom) -> None:
    outline(newsroom, ALL)
    report = newsroom.write(sections=6, reflections=0)
    sent = {asked.headers["authorization"] for asked in newsroom.tavily.log}
    assert sent == {f"Bearer {KEY}"}
    assert KEY not in report.model_dump_json() + markdown(report)


@pytest.mark.slow
def test_all_that_was_paid_for_is_in_the_evidence_of_the_report(newsroom: Newsroom) -> None:
    outline(newsroom, ALL)
    follow(newsroom, ALL[1:4])
    report = newsroom.write(sections=6, reflections=1)
    assert found(report) == paid(newsroom)
    counts = {f.task.tool: len(f.evidence) for f in report.findings if f.task.round == 1}
    assert counts == {name: WIRE[name]["max_results"] for name in WIRE}
    assert all(item.published and item.publisher for item in report.evidence)


def test_the_advanced_answer_is_kept_as_tavily_s_and_cited_by_nobody(newsroom: Newsroom) -> None:
    outline(newsroom, [{"search_tool": "deep_search_news"}])
    report = newsroom.write(reflections=0)
    assert [finding.provider_summary for finding in report.findings] == ["Tavily's own words."]
    assert all("Tavily's own words." not in p.text for e in report.evidence for p in e.passages)


def test_pictures_are_kept_with_their_captions(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower A"] = {"images": [{"url": "https://a.example/1.jpg", "description": "The tower"}]}
    outline(newsroom, [{"search_tool": "search_images_for_news"}])
    report = newsroom.write(reflections=0)
    assert [(p.url, p.caption) for f in report.findings for p in f.pictures] == [
        ("https://a.example/1.jpg", "The tower")
    ]


# Dates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dates", "said"),
    [
        (
            {"start_date": "2026-13-45", "end_date": "2026-11-18"},
            "needs a start date and an end date",
        ),
        ({"start_date": "2026-11-01"}, "needs a start date and an end date"),
        ({"start_date": "", "end_date": ""}, "needs a start date and an end date"),
        ({"start_date": "2999-01-01", "end_date": "2999-01-02"}, "is in the future"),
    ],
)
def test_dates_that_make_no_request_fall_back_to_the_basic_search_and_that_is_said(
    dates: dict[str, str], said: str, newsroom: Newsroom
) -> None:
    outline(newsroom, [{"search_tool": "search_news_by_date", **dates}, {}])
    desk, run = newsroom.begin(reflections=0)
    report = over(desk, run.id)
    assert received(newsroom) == {"tower A": BASIC, "tower B": BASIC}
    (finding,) = of(report, "tower A")
    assert [(f.reason, said in f.message) for f in finding.failures] == [("malformed", True)]
    told = [e.data.other_failures for e in desk.runs.events(run.id) if e.kind == "task_finished"]
    assert sorted(len(beside) for beside in told) == [0, 1]
    assert [f.query for f in failures(report)] == ["tower A"]
    assert said in markdown(report).partition("## Failed steps")[2].partition("## Plan")[0]


def test_a_text_that_is_no_date_is_named_as_the_model_wrote_it(newsroom: Newsroom) -> None:
    fields = {"search_tool": "search_news_by_date", "start_date": "2026-13-45"}
    outline(newsroom, [{**fields, "end_date": "2026-11-18"}])
    report = newsroom.write(reflections=0)
    assert "no date: 2026-13-45" in of(report, "tower A")[0].task.purpose
    assert "no date: 2026-13-45" in markdown(report)


def test_days_in_the_wrong_order_are_swapped_and_that_is_said(newsroom: Newsroom) -> None:
    fields = {"start_date": "2026-11-18", "end_date": "2026-11-01"}
    outline(newsroom, [{"search_tool": "search_news_by_date", **fields}])
    desk, run = newsroom.begin(reflections=0)
    report = over(desk, run.id)
    assert received(newsroom) == {"tower A": {"topic": "news", **WIRE["search_news_by_date"]}}
    said = "in the wrong order: 2026-11-01 to 2026-11-18 was searched"
    (told,) = [e.data.message for e in desk.runs.events(run.id) if e.kind == "task_finished"]
    assert said in told
    assert said in markdown(report)
    assert failures(report) == ()


def test_a_last_day_that_is_still_to_come_is_today_and_that_is_said(newsroom: Newsroom) -> None:
    fields = {"start_date": "2026-11-01", "end_date": "2999-01-01"}
    outline(newsroom, [{"search_tool": "search_news_by_date", **fields}])
    days = [datetime.now(UTC).date().isoformat()]
    desk, run = newsroom.begin(reflections=0)
    report = over(desk, run.id)
    days.append(datetime.now(UTC).date().isoformat())
    body = received(newsroom)["tower A"]
    assert body["start_date"] == "2026-11-01" and body["end_date"] in days
    said = f"2999-01-01 is in the future: searched up to {body['end_date']}"
    (told,) = [e.data.message for e in desk.runs.events(run.id) if e.kind == "task_finished"]
    assert said in told
    assert said in markdown(report)


def test_a_tool_that_does_not_exist_is_the_basic_one(newsroom: Newsroom) -> None:
    newsroom.model.fail("outline", "ok")
    outline(newsroom, [{"search_tool": "search_everything", **DATES}])
    newsroom.write(reflections=0)
    assert received(newsroom) == {"tower A": BASIC}


# Nothing twice


@pytest.mark.slow
def test_no_search_is_made_twice_in_a_report(newsroom: Newsroom) -> None:
    newsroom.brain.sufficient_after = 9
    newsroom.brain.follow_ups = 2
    newsroom.brain.tools = ALL
    newsroom.brain.chapters = [f"Part {name}" for name in "ABCDE"]
    report = newsroom.write(reflections=2)
    keys = {finding.task.key for finding in report.findings}
    assert len(newsroom.tavily.log) == len(distinct(newsroom.tavily)) == len(keys) == 5 + 5 * 4


def test_sections_that_begin_with_the_same_search_share_one_call(newsroom: Newsroom) -> None:
    same = {"query": "the same", "search_tool": "search_news_last_week"}
    outline(newsroom, [same, {**same, "query": "The  SAME!"}, {}])
    report = newsroom.write(reflections=0)
    assert [body["query"] for body in newsroom.tavily.asked("ame")] == ["the same"]
    assert len(newsroom.tavily.log) == len(distinct(newsroom.tavily)) == 3
    parts = {finding.task.part for finding in report.findings if finding.evidence}
    assert parts == {"s1", "s2", "s3"}


def test_sections_that_lack_the_same_share_one_call(newsroom: Newsroom) -> None:
    outline(newsroom, [{}, {}, {}])
    follow(newsroom, [{"query": "what all lack", "search_tool": "deep_search_news"}])
    report = newsroom.write(reflections=2)
    assert len(newsroom.tavily.asked("what all lack")) == 1
    assert [len(finding.evidence) for finding in of(report, "what all lack")] == [20]
    prompts = [call.prompt for call in newsroom.model.log if SECTION in call.prompt]
    assert sum("### what all lack" in prompt for prompt in prompts) == 3  # each was given it
    assert len(newsroom.tavily.log) == len(distinct(newsroom.tavily)) == 4


def test_one_query_by_two_tools_is_two_searches(newsroom: Newsroom) -> None:
    same = {"query": "the same"}
    week = {**same, "search_tool": "search_news_last_week"}
    outline(newsroom, [same, week])
    newsroom.write(reflections=0)
    assert sorted(str(body.get("time_range")) for body in newsroom.tavily.bodies) == [
        "None",
        "week",
    ]


# Long queries


def test_a_query_beyond_400_characters_is_shortened_on_the_wire_and_kept_in_the_record(
    newsroom: Newsroom,
) -> None:
    newsroom.model.fail("outline", "400key")
    topic = "reopening of the tower " * 30
    report = newsroom.write(topic, reflections=0)
    (finding,), (body,) = report.findings, newsroom.tavily.bodies
    assert finding.task.query == topic.strip()
    assert 300 < len(body["query"]) <= 400
    assert topic.startswith(body["query"] + " ")
    assert finding.provider_queries == (body["query"],)
    assert "query shortened to" in message_of(newsroom, report, "tower")
    assert "query shortened to" in markdown(report)


def test_a_query_of_400_characters_is_sent_as_it_is(newsroom: Newsroom) -> None:
    newsroom.model.fail("outline", "400key")
    topic = ("reopening of the tower " * 30)[:399] + "x"
    newsroom.write(topic, reflections=0)
    assert [body["query"] for body in newsroom.tavily.bodies] == [topic]


def test_a_long_query_in_chinese_keeps_its_whole_beginning(newsroom: Newsroom) -> None:
    newsroom.model.fail("outline", "400key")
    topic = "雷峰塔重新开放" * 80
    report = newsroom.write(topic, reflections=0)
    assert [body["query"] for body in newsroom.tavily.bodies] == [topic[:400]]
    assert report.findings[0].task.query == topic
