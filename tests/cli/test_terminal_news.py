"""Reports on the news in a terminal: live progress, files, a state that is loaded after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.cli import main
from tests.fakes import until
from tests.servers.news import FakeFeeds, FakeTavilyNews, Given, item, rows, rss
from tests.servers.openai import FakeOpenAI
from tests.terminal import ROOT, Done, called, command

TOPIC = "央行降准 and the market"
KEY, TAVILY_KEY = "qe-sentinel-0123456789", "tvly-sentinel-0123456789"
ANSWERED, FAILED, UNUSABLE, STOPPED = 0, 1, 2, 130


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.keys = {KEY}
        yield server


@pytest.fixture
def tavily() -> Iterator[FakeTavilyNews]:
    with FakeTavilyNews(results=rows(4, datetime.now(UTC))) as server:
        yield server


@pytest.fixture
def env(tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT")}
    return inherited | {
        "SIGHTLINE_DATA_DIR": str(tmp_path / "data"),
        "QUERY_ENGINE_MODEL_NAME": "gpt-fake",
        "QUERY_ENGINE_BASE_URL": model.base_url,
        "QUERY_ENGINE_API_KEY": KEY,
        "TAVILY_API_KEY": TAVILY_KEY,
        "TAVILY_BASE_URL": tavily.base_url,
        "SIGHTLINE_CACHE_HOURS": "0",
    }


def begun(env: Mapping[str, str], *args: str, cwd: Path = ROOT) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*args),
        cwd=cwd,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def done(env: Mapping[str, str], *args: str, cwd: Path = ROOT) -> Done:
    found = called(env, *args, cwd=cwd)
    assert "Traceback" not in found.stdout + found.stderr
    return found


def test_a_report_is_printed_with_live_progress_and_saved_in_the_data_folder(
    env: dict[str, str], tmp_path: Path
) -> None:
    found = done(env, "news", TOPIC, "--sections", "2", "--reflections", "0", cwd=tmp_path)
    assert found.returncode == ANSWERED
    assert found.stdout.startswith(f"# {TOPIC}\n")
    assert "section s1: searching (1)" in found.stderr
    assert "section s2: done, citations:" in found.stderr and "section s3" not in found.stderr
    (file,) = (tmp_path / "data").glob("query_engine_streamlit_reports/deep_search_report_*.md")
    assert "reflecting" not in found.stderr and f"saved: {file}" in found.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--save", "--save=own", "OUTPUT_DIR", "both"])
def test_a_report_is_saved_when_it_is_asked_for(way: str, env: dict[str, str], tmp_path: Path) -> None:
    args = {"both": ["--save", "own"], "OUTPUT_DIR": []}.get(way, [way])
    more = {"OUTPUT_DIR": str(tmp_path / "set") if way in ("OUTPUT_DIR", "both") else ""}
    limits = ("--sections=1", "--reflections=0")
    (tmp_path / "here").mkdir()
    found = done(env | more, "news", TOPIC, *limits, *args, cwd=tmp_path / "here")
    assert found.returncode == ANSWERED
    own = tmp_path / "here" / "own"
    folder = {"--save": own.parent, "OUTPUT_DIR": tmp_path / "set"}.get(way, own)
    (file,) = folder.glob("deep_search_report_央行降准_and_the_market_*.md")
    linked = file.read_text(encoding="utf-8")
    assert "](#s1)" in linked  # a file cites by links
    bare = re.sub(r"<a id=\"s\d+\"></a>|\(#s\d+\)", "", linked)
    assert re.sub(r"\[\\\[(\d+)\\\]\]", r"[\1]", bare) == found.stdout
    assert f"saved: {file}" in found.stderr
    (state,) = folder.glob("state_央行降准_and_the_market_*.json")
    text = state.read_text(encoding="utf-8")
    assert json.loads(text)["run"]["status"] == "done"
    assert "sentinel" not in text + file.read_text(encoding="utf-8")
    assert not (tmp_path / "set").exists() or folder == tmp_path / "set"


def test_what_cannot_be_saved_is_told_and_the_report_is_printed(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "full").write_text("a file")
    found = done(env, "news", TOPIC, "--sections=1", "--reflections=0", f"--save={tmp_path / 'full'}")
    assert found.returncode == ANSWERED
    assert found.stdout.startswith(f"# {TOPIC}\n")
    assert f"Not saved: {tmp_path / 'full'} cannot be written: " in found.stderr


def test_sources_can_be_chosen_and_json_asked_for(env: dict[str, str], tavily: FakeTavilyNews) -> None:
    found = done(env, "--source", "library", "news", "Summer Palace", "--json", "--sections=1")
    assert found.returncode == ANSWERED
    told = json.loads(found.stdout)
    assert told["run"]["options"]["sources"] == ["library"]
    assert told["run"]["options"]["sections"] == 1
    assert tavily.log == []


def queries(tavily: FakeTavilyNews) -> list[str]:
    return [body["query"] for body in tavily.bodies]


def state_of(folder: Path) -> dict[str, Any]:
    for path in folder.glob("state_*.json"):
        if text := path.read_text(encoding="utf-8"):
            found: dict[str, Any] = json.loads(text)
            return found
    return {"notes": {}, "findings": []}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no process is killed like that there")
def test_a_report_that_was_killed_is_loaded_on_another_machine_and_nothing_is_repeated(
    env: dict[str, str], tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews
) -> None:
    model.fail("reconsider", "hang")
    out = tmp_path / "out"
    process = begun(env, "news", TOPIC, "--reflections=1", f"--save={out}")
    until(lambda: len(state_of(out)["notes"]) == 3 and model.calls("reconsider") == 3)
    process.kill()
    process.communicate()
    before, asked = queries(tavily), model.calls("summarise")
    assert len(before) == 3 == len(state_of(out)["findings"])
    model.fail("reconsider", "ok")
    (state,) = out.glob("state_*.json")

    elsewhere = env | {"SIGHTLINE_DATA_DIR": str(tmp_path / "elsewhere")}
    loaded = done(elsewhere, "load", str(state), "--json")
    assert loaded.returncode == ANSWERED
    after = queries(tavily)
    assert after[:3] == before and len(after) == 6
    assert not set(after[3:]) & set(before)
    assert model.calls("outline") == 1
    assert model.calls("summarise") == asked + 3  # the texts after the second search
    report = json.loads(loaded.stdout)
    assert report["run"]["status"] == "done" and len(report["sources"]) == 4


def test_the_state_of_a_finished_report_is_loaded_without_a_single_request(
    env: dict[str, str], tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews
) -> None:
    out = tmp_path / "out"
    first = done(env, "news", TOPIC, "--sections=2", "--reflections=1", f"--save={out}")
    assert first.returncode == ANSWERED
    (state,) = out.glob("state_*.json")
    requests = len(model.log), len(tavily.log)
    for folder in ("data", "elsewhere"):
        loaded = done(env | {"SIGHTLINE_DATA_DIR": str(tmp_path / folder)}, "load", str(state))
        assert loaded.returncode == ANSWERED
        assert (loaded.stdout == first.stdout) == (folder == "elsewhere")  # else it has a new id
        assert loaded.stdout.partition("## 来源")[0] == first.stdout.partition("## 来源")[0]
    assert (len(model.log), len(tavily.log)) == requests
    again = done(env, "load", str(state), "--save", str(tmp_path / "more"))
    (file,) = (tmp_path / "more").glob("deep_search_report_*.md")
    assert f"The report is saved: {file}" in again.stderr
    assert (len(model.log), len(tavily.log)) == requests


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT can be sent to one process")
def test_ctrl_c_stops_a_report_and_its_state_goes_on(
    env: dict[str, str], tmp_path: Path, model: FakeOpenAI, tavily: FakeTavilyNews
) -> None:
    model.fail("reconsider", "hang")
    env = env | {"OUTPUT_DIR": str(tmp_path / "out")}
    process = begun(env, "news", TOPIC, "--reflections=1")
    told: list[str] = []
    assert process.stderr
    reading = threading.Thread(target=lambda: told.extend(process.stderr or ()))
    reading.start()
    until(lambda: model.calls("reconsider") == 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == STOPPED
    reading.join(60)
    assert process.stdout and process.stdout.read() == ""
    process.stdout.close()
    process.stderr.close()
    assert re.search(r"Resume with: python -m research resume \w+", "".join(told))
    (state,) = (tmp_path / "out").iterdir()
    assert state_of(tmp_path / "out")["run"]["status"] == "stopped"
    model.fail("reconsider", "ok")
    before = queries(tavily)
    assert done(env, "load", str(state)).returncode == ANSWERED
    assert not set(queries(tavily)[len(before) :]) & set(before)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (None, FAILED, "cannot be read: No such file"),
        ("{", UNUSABLE, "is no saved state of a report: it is damaged, or no JSON."),
        ('{"format": "other"}', UNUSABLE, "is no saved state of a report: it is of another kind."),
    ],
)
def test_a_file_that_is_no_state_ends_with_one_clear_line(
    text: str | None,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if text is not None:
        (tmp_path / "x.json").write_text(text)
    assert main(["load", str(tmp_path / "x.json"), "--data-dir", str(tmp_path / "data")]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and said in err


def test_a_model_of_reports_that_is_set_in_part_ends_with_2_and_says_what_is_missing(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SIGHTLINE_DATA_DIR", "QUERY_ENGINE_BASE_URL", "QUERY_ENGINE_API_KEY"):
        monkeypatch.setenv(name, env[name])
    assert main(["news", TOPIC]) == UNUSABLE
    out, err = capsys.readouterr()
    assert out == "" and "cannot be used without QUERY_ENGINE_MODEL_NAME" in err
    assert KEY not in err


def test_without_a_source_of_news_it_says_what_is_missing_and_looks_in_the_library(
    env: dict[str, str],
) -> None:
    keyless = {k: v for k, v in env.items() if not k.startswith(("TAVILY", "QUERY_ENGINE"))}
    found = done(keyless, "news", "西湖")
    assert found.returncode == ANSWERED
    assert "News search needs one of" in found.stderr and "TAVILY_API_KEY" in found.stderr
    assert "NEWS_FEEDS" in found.stderr
    assert found.stdout.startswith("# 西湖\n")


def test_without_keys_a_report_has_each_heading_once_and_its_notes_in_the_language_of_its_question(
    env: dict[str, str],
) -> None:
    keyless = {k: v for k, v in env.items() if not k.startswith(("TAVILY", "QUERY_ENGINE"))}
    two, english = "故宫博物院与八达岭长城最新消息", "Badaling 怎么了"
    with FakeFeeds() as site:
        snow = item("八达岭长城因大雪关闭", "https://a.example/1", text="八达岭长城因大雪关闭南段。")
        hours = item("故宫博物院调整开放时间", "https://a.example/2", text="故宫博物院周一闭馆。")
        site.feeds = {"/rss": Given(rss(snow, hours))}
        keyless["NEWS_FEEDS"] = f"{site.base_url}/rss"
        parts, told = (done(keyless, "news", topic).stdout for topic in (two, english))
    headings = [line.lstrip("# ") for line in parts.splitlines() if line.startswith("### ")]
    assert len(headings) == len(set(headings))
    rows = [line for line in parts.splitlines() if line.startswith("| **")]
    assert [row.split("**")[1] for row in rows] == ["故宫博物院", "长城"]
    assert "“Badaling” — 新闻（新闻订阅源）" in told
    assert "自选的 1 个订阅源" in told and "可改用中文再查" in told and "your own" not in told


@pytest.mark.parametrize(
    ("topic", "title", "told", "foreign"),
    [
        ("央行降准", "央行宣布降准0.5个百分点",
         ("重定向次数过多", "该地址没有内容", "超出大小上限", "自选的 1 个订阅源"),
         ("the key", "too many redirects", "your own feeds")),
        ("Ferry timetable", "Ferry timetable changes in spring",
         ("too many redirects", "there is nothing at that address", "larger than the limit", "1 of your own feeds"),
         ("the key", "重定向", "订阅源")),
    ],
)  # fmt: skip
def test_without_keys_feeds_that_fail_are_told_as_what_they_are_in_the_language_of_the_report(
    env: dict[str, str], topic: str, title: str, told: tuple[str, ...], foreign: tuple[str, ...]
) -> None:
    keyless = {k: v for k, v in env.items() if not k.startswith(("TAVILY", "QUERY_ENGINE"))}
    with FakeFeeds() as site:
        site.feeds = {
            "/rss": Given(rss(item(title, date="Wed, 18 Nov 2026 08:00:00 GMT", text=f"{title}."))),
            "/loop": Given(status=302, headers={"Location": "/loop"}),
            "/big": Given(b" " * 10_000_001),
        }
        feeds = [f"{site.base_url}/{name}" for name in ("rss", "loop", "gone", "big")]
        found = done(keyless | {"NEWS_FEEDS": " ".join(feeds)}, "news", topic)
    assert found.returncode == ANSWERED
    assert [line for line in found.stdout.splitlines() if line == f"### {topic}"] == [f"### {topic}"]
    assert all(words in found.stdout for words in told), found.stdout
    assert not any(words in found.stdout for words in foreign), found.stdout
