"""The news page and the reports that it starts: the outline, what the news come to, what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest

from pages.run import coverage, coverage_charts, plan
from research import (
    Finding,
    Part,
    Plan,
    Report,
    Run,
    RunOptions,
    Task,
    close_application,
    get_application,
    sources_by_name,
)
from research.core.records import Answer, NewsCoverage, Picture, Story
from research.sources.news.search_tools import NEWS_TOOLS
from tests.catalogue import WORDS
from tests.pages.visitor import ROUTER, Visitor
from tests.servers.news import FakeNewsroom, FakeTavilyNews
from tests.servers.openai import FakeOpenAI
from tests.tables import each_row

Visit = Callable[..., Visitor]
TOPIC = {"en": "Tourism in China over the holiday", "zh": "国庆假期的旅游市场"}
ROOT = ROUTER.parents[1]
TODAY = datetime.now(UTC).date()
MADE = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOSTILE = "<img src=x onerror=alert(1)> ![x](http://127.0.0.1:9/x) $a$ {{datum.a}} :red[x] \"'; //"


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


@pytest.fixture
def newsroom(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNewsroom]:
    with FakeNewsroom() as fake:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
        monkeypatch.setenv("TAVILY_BASE_URL", fake.base_url)
        yield fake
        close_application()


@pytest.fixture
def reported(newsroom: FakeNewsroom) -> Callable[..., Run]:
    """Makes a report whose sections search in different ways."""

    def make(lang: str = "en") -> Run:
        ways: list[dict[str, Any]] = [
            {"tool": "search_images_for_news"},
            {"tool": "deep_search_news"},
            {"tool": "search_news_by_date", "start": TODAY - timedelta(days=12), "end": TODAY},
        ]
        parts = tuple(Part(id=f"s{n}", subject=f"Part {n}", text="All of it") for n in (1, 2, 3))
        tasks = tuple(
            Task(id=f"1.{n}", source="news", query=f"{TOPIC[lang]} {n}", part=f"s{n}", **way)
            for n, way in enumerate(ways, 1)
        )
        options = RunOptions(sources=("news",), sections=3, reflections=0)
        outline = Plan(parts=parts, tasks=tasks, outline=True)
        run = get_application().runs.start(TOPIC[lang], options=options, plan=outline)
        for _ in get_application().runs.follow(run.id):
            pass
        return run

    return make


# The outline


@pytest.mark.slow
def test_an_outline_waits_with_titles_queries_ways_and_days(
    visit: Visit, newsroom: FakeNewsroom, server: FakeOpenAI
) -> None:
    server.brain.tools = [{"search_tool": "search_news_by_date", "start_date": "2026-11-01", "end_date": "2026-11-03"}]
    visitor = begun(visit("news"))
    table = visitor.table("tool")
    assert list(table.columns) == [*plan.COLUMNS, *plan.NEWS_COLUMNS]
    assert list(table["subject"]) == [part.subject for part in outline().parts]
    assert set(table["tool"]) == {"search_news_by_date"}
    assert {day.date() for day in table["start"]} == {date(2026, 11, 1)}
    assert english("plan.outline_help") in visitor.words
    assert newsroom.log == []
    run = get_application().runs.recent_runs()[0]
    visitor.press(f"approve_{run.id[:8]}").wait()
    (run,) = get_application().runs.recent_runs()
    assert (run.status, run.options.sections > 0, run.options.reflections) == ("done", True, 2)
    assert {asked.body["start_date"] for asked in newsroom.log if "start_date" in asked.body} == {"2026-11-01"}
    assert english("coverage.title") in visitor.words
    assert f"again_start_{run.id[:8]}" in visitor.buttons


def begun(visitor: Visitor, lang: str = "en") -> Visitor:
    """A report is asked for on the news page; its outline waits on the page of the run."""
    visitor.at.text_area(key="topic").set_value(TOPIC[lang])
    visitor.at.button(key="outline_first").click()
    visitor.at.run()
    visitor.turn("news")
    visitor.at.query_params["run"] = get_application().runs.recent_runs()[0].id
    return visitor.look().wait()


def outline() -> Plan:
    report = get_application().runs.report(get_application().runs.recent_runs()[0].id)
    assert report is not None
    assert report.plan is not None
    return report.plan


def frame(*rows: tuple[Any, ...]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=[*plan.COLUMNS, *plan.NEWS_COLUMNS], dtype="object")
    for name in ("start", "end"):
        table[name] = pd.to_datetime(table[name])
    return table


def test_the_tools_of_the_editor_are_those_of_the_engine() -> None:
    assert [*sources_by_name()["news"].tool_descriptions] == [*NEWS_TOOLS]
    assert [tool.name for tool in NEWS_TOOLS.values() if tool.needs_dates] == [plan.DATED_TOOL]


def test_only_news_has_a_tool_and_only_the_search_by_dates_has_days() -> None:
    first, last = date(2026, 11, 1), date(2026, 11, 2)
    table = frame(
        ("a", "b", "c", "news", plan.DATED_TOOL, first, last),
        ("a", "b", "c", "web", plan.DATED_TOOL, first, last),
        ("a", "b", "c", "news", "deep_search_news", first, None),
        ("a", None, "c", None, None, None, last),
    )
    assert plan.read_rows(table, ("web", "news")) == [
        ("a", "b", "c", "news", plan.DATED_TOOL, first, last),
        ("a", "b", "c", "web", "", None, None),
        ("a", "b", "c", "news", "deep_search_news", None, None),
        ("a", "", "c", "web", "", None, None),
    ]
    assert plan.has_unused_dates(table)
    assert not plan.has_unused_dates(table.iloc[:1])


@each_row(
    ("start", "end", "fault"),
    [
        (None, None, "dates_missing"),
        (date(2026, 11, 1), None, "dates_missing"),
        (None, date(2026, 11, 1), "dates_missing"),
        (date(2026, 11, 2), date(2026, 11, 1), "dates_order"),
        (TODAY + timedelta(days=9), TODAY + timedelta(days=10), "dates_future"),
        (date(2026, 11, 1), date(2026, 11, 1), ""),
        (date(2026, 11, 1), TODAY + timedelta(days=1), ""),  # it is searched to today
    ],
)
def test_wrong_dates_are_told(start: date | None, end: date | None, fault: str) -> None:
    task = Task(id="1.1", source="news", query="q*", tool=plan.DATED_TOOL, start=start, end=end)
    told = plan.find_faults(Plan(tasks=(task,), outline=True))
    wanted = [f"q\\* — {english(f'plan.{fault}', start=start, end=end)}"] if fault else []
    assert told == wanted


def test_wrong_dates_are_told_at_once_and_nothing_can_be_started(
    visit: Visit, newsroom: FakeNewsroom, server: FakeOpenAI
) -> None:
    run = get_application().runs.start(
        TOPIC["en"],
        options=RunOptions(sources=("news",), sections=1, reflections=0),
        plan=Plan(
            parts=(Part(id="s1", subject="A", text="B"),),
            tasks=(Task(id="1.1", source="news", query="c", part="s1", tool=plan.DATED_TOOL),),
            outline=True,
        ),
    )
    visitor = visit(run=run.id).wait()
    assert any(english("plan.dates_missing") in error for error in visitor.errors)
    assert visitor.at.button(key=f"again_start_{run.id[:8]}").disabled


def test_a_table_of_an_outline_gives_its_plan_back() -> None:
    tasks = (
        Task(id="1.1", source="news", query="a", part="s1", tool="deep_search_news"),
        Task(id="1.2", source="library", query="b", part="s1"),
        Task(id="1.3", source="news", query="c", part="s2", tool=plan.DATED_TOOL, start=TODAY, end=TODAY),
    )
    parts = (Part(id="s1", subject="A", text="x"), Part(id="s2", subject="B", text="y"))
    old = Plan(parts=parts, tasks=tasks, outline=True)
    rows = plan.read_rows(plan._outline_table(old), ("news", "library"))
    assert plan.build_edited_plan(rows, old) is old


# The news overview


def test_a_report_shows_what_its_news_come_to(visit: Visit, reported: Callable[..., Run]) -> None:
    run = reported()
    visitor = visit(run=run.id)
    report = get_application().runs.report(run.id)
    assert report is not None
    assert report.answer is not None
    found = report.answer.coverage
    assert found is not None
    assert english("coverage.stories", n=len(found.stories)) in visitor.words
    assert english("coverage.undated", n=1) in visitor.words
    assert english("coverage.judged", name="openai:gpt-fake") in visitor.words
    assert len(visitor.at.get("vega_lite_chart")) == 2
    stories = visitor.table("headline")
    assert list(stories["headline"]) == [" ".join(s.headline.split()) for s in found.stories]
    assert stories["day"].isna().tolist() == [s.day is None for s in found.stories]
    assert visitor.table("outlet")["items"].sum() == sum(o.items for o in found.outlets)
    assert english("coverage.conflicts", n=len(found.conflicts)) in visitor.words
    for figure in found.conflicts[0].figures:
        assert figure.text in visitor.words
        assert " ".join(figure.clause.split()) in visitor.words
    assert "None" not in visitor.words
    assert english("coverage.leads_help") in visitor.words
    assert "The search service wrote this itself." in visitor.words
    assert f"more_{run.id[:8]}" in visitor.buttons


def test_a_chinese_report_is_shown_in_chinese(visit: Visit, reported: Callable[..., Run]) -> None:
    visitor = visit(run=reported("zh").id, lang="zh")
    assert WORDS["coverage.title"][0] in visitor.words
    assert f"{TODAY.year}年{TODAY.month}月{TODAY.day}日" in visitor.words
    assert "None" not in visitor.words
    assert set(visitor.table("headline")["tone"]) <= {WORDS[f"tone.{n}"][0] for n in coverage_charts.TONES}


@pytest.mark.slow
def test_pictures_are_loaded_only_when_they_are_asked_for(
    visit: Visit, reported: Callable[..., Run], newsroom: FakeNewsroom
) -> None:
    run = reported()
    visitor = visit(run=run.id)
    assert visitor.at.get("iframe") == []
    assert english("coverage.pictures_help") in visitor.words
    visitor.at.toggle(key=f"pictures_{run.id[:8]}").set_value(True)
    (shown,) = visitor.look().at.get("iframe")
    address, _, told = shown.proto.src.partition("#")
    assert address == "/assets/pictures/frame.html"
    pictures = json.loads(unquote(told))["pictures"]
    assert len(pictures) == 3
    assert all(one["url"].startswith(newsroom.base_url) for one in pictures)
    assert newsroom.shown == []


def story(n: int, day: date | None, latest: date | None = None, **more: Any) -> Story:
    told = {"headline": f"Story {n}", "evidence": (f"e{n}",), "day": day, "latest": latest or day}
    return Story(id=f"s{n}", **(told | more))


def report_of(*stories: Story, language: str = "en", **more: Any) -> Report:
    run = Run(
        id="0" * 32, conversation="c", owner="local", question="?", options=RunOptions(),
        status="done", created=MADE,
    )  # fmt: skip
    found = NewsCoverage(as_of=MADE.date(), stories=stories, **more)
    answer = Answer(title="?", language=language, author="a", coverage=found, created=MADE)
    return Report(run=run, answer=answer)


def test_stories_have_lanes_in_which_none_lies_on_another() -> None:
    day = date(2026, 11, 1)
    spans = [(0, 3), (0, 0), (1, 1), (2, 5), (4, 4), (9, 9)]
    found = coverage_charts.assign_lanes([(day + timedelta(a), day + timedelta(b)) for a, b in spans])
    assert found == [0, 1, 1, 1, 0, 0]


def points(report: Report) -> pd.DataFrame:
    assert report.answer
    assert report.answer.coverage
    return coverage_charts.timeline_points(report.answer.coverage.stories, report.answer.language)


def chart(report: Report) -> dict[str, Any]:
    table = points(report)
    assert report.answer
    told = coverage_charts.build_timeline(table, report.answer.language).to_dict()
    assert isinstance(told, dict)
    return told


def test_a_timeline_speaks_the_language_of_its_report() -> None:
    stories = [story(1, date(2026, 11, 1), date(2026, 11, 4)), story(2, None)]
    table = points(report_of(*stories))
    assert list(table["when"]) == ["1 Nov 2026 – 4 Nov 2026"]
    assert list(table["tone"]) == ["neutral"]
    chinese = report_of(*stories, language="zh")
    assert list(points(chinese)["when"]) == ["2026年11月1日 – 2026年11月4日"]
    text = json.dumps(chart(chinese), ensure_ascii=False)
    assert all(word in text for word in ("正面", "中性", "负面", "%-m月%-d日", "标题"))
    assert "positive" not in text


@each_row("days", [0, 1, 30, 500])
def test_a_timeline_can_be_drawn_of_any_length(days: int) -> None:
    first = date(2025, 1, 1)
    stories = [story(n, first + timedelta(n * days // 59)) for n in range(60)]
    told = chart(report_of(*stories))
    assert told["height"] <= coverage_charts.HEIGHT_RANGE_PIXELS[1]
    axis = told["layer"][0]["encoding"]["x"]["axis"]
    assert 1 <= len(axis["values"]) <= coverage_charts.MAX_TICKS + 2


def test_a_hostile_headline_is_a_value_and_nothing_else() -> None:
    bad = report_of(story(1, date(2026, 11, 1), headline=HOSTILE, outlets=(HOSTILE,)))
    good = report_of(story(1, date(2026, 11, 1), headline="A", outlets=("B",)))

    def bare(told: dict[str, Any]) -> str:
        return json.dumps({name: part for name, part in told.items() if name != "datasets"})

    hostile, plain_ = chart(bad), chart(good)
    for told in (hostile, plain_):  # the name of the data is made of what is in them
        for at, name in enumerate([*told["datasets"]]):
            told["data"] = {"name": str(at)} if told.get("data", {}).get("name") == name else None
    assert bare(hostile) == bare(plain_)
    assert "expr" not in bare(hostile)
    assert {key for rows in hostile["datasets"].values() for row in rows for key in row} == {
        "day", "latest", "lane", "tone", "size", "headline", "outlets", "when",
    }  # fmt: skip


def test_tones_are_counted() -> None:
    told = coverage_charts.build_tone_chart(Counter({"negative": 2}), "zh").to_dict()
    (rows,) = told["datasets"].values()
    assert rows == [
        {"tone": "正面", "count": 0}, {"tone": "中性", "count": 0}, {"tone": "负面", "count": 2},
    ]  # fmt: skip


def test_pictures_of_no_web_address_are_left_out() -> None:
    task = Task(id="1.1", source="news", query="q")
    bad = [Picture(url=url) for url in ("javascript:alert(1)", "data:text/html,x", "", "/x.png")]
    finding = Finding(task=task, started=MADE, pictures=tuple(bad))
    report = report_of().model_copy(update={"findings": (finding,)})
    assert coverage.draw_pictures(report, "k") is None  # nothing is drawn, so no page is needed


OLD = """
from tests.pages import test_news_page as here
from pages.run import coverage
coverage.draw_summary(here.report_of(*here.OLD_STORIES, **here.OLD_MORE))
coverage.draw(here.report_of(*here.OLD_STORIES, **here.OLD_MORE), None)
"""
OLD_STORIES = (
    story(1, date(2026, 1, 1), stale=True, headline=HOSTILE),
    *(story(n, None) for n in range(2, 40)),
)
OLD_MORE = {"days": ((date(2026, 1, 1), 1),), "undated": 38}


def test_news_that_are_all_old_have_a_warning_and_rough_tones_say_so() -> None:
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_string(OLD).run()
    assert not at.exception
    assert english("coverage.stale", day="1 Jan 2026") in at.warning[0].value.replace("\\", "")
    captions = [item.value for item in at.caption]
    assert english("coverage.rough") in captions
    assert english("coverage.no_conflicts") in captions
    labels = [block.label for block in at.expander]
    assert labels == [english("coverage.no_day", n=38)]
    listed = next(item.value for item in at.markdown if "Story 2" in item.value)
    assert listed.count("\n") == coverage.MAX_UNDATED_STORIES
    assert english("coverage.more", n=8) in listed


# Without news


def test_without_a_source_of_news_the_page_says_how_to_get_one(visit: Visit, folder: Path) -> None:
    visitor = visit("news")
    for name in ("TAVILY_API_KEY", "NEWS_FEEDS", "NEWS_GDELT=on"):
        assert name in visitor.words
    assert english("nav.settings") in visitor.words
    assert visitor.at.button_group(key="news_sources").value == ["library"]
    assert len(visitor.at.dataframe) == 0


def test_with_a_source_of_news_the_page_asks_for_none(visit: Visit, newsroom: FakeNewsroom) -> None:
    visitor = visit("news")
    assert "NEWS_FEEDS" not in visitor.words
    assert visitor.at.button_group(key="news_sources").value == ["news"]


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_a_report_without_news_has_no_charts_and_says_so(visit: Visit, folder: Path, locale: str) -> None:
    """Though the notes that it cites have a day of publication, as an analyst's own do."""
    text = b"# Snow closes the wall\n\n2026-11-20\n\nPart of the Great Wall is closed after snow."
    assert all(added.is_ok for added in get_application().library.add_files([("snow.md", text)]))
    run = get_application().start_report("Great Wall closed after snow")
    for _ in get_application().runs.follow(run.id):
        pass
    report = get_application().runs.report(run.id)
    assert report and report.answer and report.answer.coverage is None
    assert any(item.published for item in report.evidence)
    visitor = visit("news", locale=locale, run=run.id)
    chinese = locale == "zh-CN"
    assert WORDS["coverage.unsearched"][not chinese] in visitor.words
    assert WORDS["coverage.title"][not chinese] not in visitor.words
    assert not visitor.at.get("vega_lite_chart")


@pytest.mark.slow
@pytest.mark.parametrize(("status", "words"), [(200, "unfound"), (432, "unreached")])
def test_a_report_that_found_no_news_says_so(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, status: int, words: str
) -> None:
    with FakeTavilyNews(results=[], status=status) as quiet:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
        monkeypatch.setenv("TAVILY_BASE_URL", quiet.base_url)
        run = nothing_found()
        assert quiet.log
        assert english(f"coverage.{words}") in visit("news", run=run.id).words
        close_application()


def nothing_found() -> Run:
    run = get_application().start_report("Anything", options=RunOptions(sources=("news",), sections=1, reflections=0))
    for _ in get_application().runs.follow(run.id):
        pass
    return run


# Watched topics


@pytest.mark.slow
def test_a_topic_is_watched_from_its_report_and_looked_at_again(visit: Visit, reported: Callable[..., Run]) -> None:
    run = reported()
    visitor = visit(run=run.id)
    visitor.press(f"watch_{run.id[:8]}")
    assert english("watch.saved") in visitor.words
    (kept,) = get_application().watches.all()
    assert (kept.id, kept.latest, kept.changed) == (run.id, run.id, None)
    page = visit("news")
    assert english("watch.title") in page.words
    assert TOPIC["en"] in page.words
    page.at.button(key=f"look_again_{run.id}").click()
    page.at.run()
    update = get_application().runs.recent_runs(limit=1)[0]
    assert update.options.updated_run == run.id
    assert [event.kind for event in get_application().runs.follow(update.id)][-1] == "status_changed"
    assert english("watch.nothing") in visit(run=update.id).words
    other = visit("news")
    assert english("watch.same") in other.words
    other.press(f"unwatch_{run.id}")
    assert not get_application().watches.all()
    assert english("watch.title") not in other.words


CHANGES = """
from types import SimpleNamespace as N
from pages.run import watch
def report(*changes):
    return N(answer=N(coverage=N(compared="abc", changes=changes)))
watch.draw_changes(report(
    N(kind="new", headline="A *new* story", before=None, after=None),
    N(kind="figure", headline="Fares", before=N(text="3%", outlet="post"), after=N(text="4%", outlet="")),
    N(kind="gone", headline="<b>Old</b>", before=None, after=None),
))
watch.draw_changes(report())
"""


@pytest.mark.slow
def test_what_has_changed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.testing.v1 import AppTest

    monkeypatch.setattr("pages.run.watch.st.page_link", lambda *_, **__: None)
    monkeypatch.setattr("pages.run.watch.st.container", lambda **_: __import__("contextlib").nullcontext())
    at = AppTest.from_string(CHANGES).run()
    assert not at.exception
    text = "\n".join(item.value for item in at.markdown).replace("\\", "")
    assert "**New** · A *new* story" in text
    assert "**Figure changed** · Fares: 3% (post) → 4%" in text
    assert "**Gone** · <b>Old</b>" in text
    assert [item.value for item in at.caption] == [english("watch.nothing")]


# The frame of the pictures

HEADERS = """
import json
import subprocess
import sys
from starlette.testclient import TestClient
import app

with TestClient(app.app, base_url="http://localhost") as client:
    told = {}
    for path in ("/assets/pictures/frame.html", "/assets/pictures/frame.js", "/assets/logo.svg", "/", "/news"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        told[path] = answer.headers["content-security-policy"], answer.headers["referrer-policy"]
print(json.dumps(told))
"""


@pytest.mark.slow
def test_only_the_frame_of_the_pictures_may_load_pictures_and_it_may_do_nothing_else(
    folder: Path,
) -> None:
    done = subprocess.run([sys.executable, "-c", HEADERS], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert {referrer for _, referrer in told.values()} == {"no-referrer"}
    frame = told.pop("/assets/pictures/frame.html")[0]
    assert told.pop("/assets/pictures/frame.js")[0] == frame
    rules = dict(rule.strip().split(" ", 1) for rule in frame.split(";"))
    assert rules == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'",
        "img-src": "https: http:", "base-uri": "'none'", "form-action": "'none'",
        "frame-ancestors": "'self'",
    }  # fmt: skip
    assert all("img-src 'self' data: blob:;" in policy for policy, _ in told.values())
