"""The same run in a terminal: what it prints where, and what it exits with."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research import MAX_QUESTION_CHARS
from research.citations.numbering import is_verbatim
from research.cli import COMMANDS, exit_codes, main, options, parse_arguments, serve
from research.cli.event_lines import format_event
from research.core.events import Event, ThinkingUnsupported, parse_event
from tests.servers.gemini import MODELS as GEMINI_MODELS
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI
from tests.sources.library.test_documents import make_pdf
from tests.terminal import ROOT, command, environment, process, terminal

ENGLISH = "When was the Summer Palace built?"
CHINESE = "故宫的门票多少钱，周几闭馆？"
ANSWERED, FAILED, UNUSABLE, NOTHING, STOPPED = 0, 1, 2, 3, 130


def asked(folder: Path, *args: str) -> tuple[int, dict]:
    done = terminal(folder, *args, "--json")
    return done.returncode, json.loads(done.stdout)


def quotes(report: dict) -> list[tuple[str, str]]:
    """Each quote of a document with the title of its first source."""
    own = [source for source in report["sources"] if source["kind"] == "library"]
    titles = {source["number"]: source["title"] for source in own}
    return [
        (block["text"], titles[block["citations"][0]["number"]])
        for block in report["blocks"]
        if block["kind"] == "quote" and block["citations"][0]["number"] in titles
    ]


def documents(folder: Path) -> dict[str, str]:
    """The library's texts by title."""
    with closing(sqlite3.connect(folder / "library.db")) as db:
        return dict(db.execute("select title, text from document"))


def run_ids(folder: Path) -> list[str]:
    return [line.split()[0] for line in terminal(folder, "runs").stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder for tests that do not mind each other."""
    return tmp_path_factory.mktemp("data")


# Asking


@pytest.mark.slow
@pytest.mark.parametrize("question", [ENGLISH, CHINESE])
def test_a_question_is_answered_with_quotes_that_stand_in_their_documents(folder: Path, question: str) -> None:
    code, report = asked(folder, question)
    assert code == ANSWERED
    assert report["question"] == question
    found = quotes(report)
    assert found
    texts = documents(folder)
    for quote, title in found:
        assert quote in texts[title]
        assert is_verbatim(quote, texts[title])


@pytest.mark.slow
def test_the_report_goes_to_standard_output_and_the_progress_to_standard_error(
    folder: Path,
) -> None:
    done = process(folder, CHINESE)
    assert done.returncode == ANSWERED
    assert done.stdout.startswith(f"# {CHINESE}\n")
    assert "[1]" in done.stdout
    assert "plan:" in done.stderr and "round 1: library ←" in done.stderr
    assert re.search(r"→ \d+ passages?, [\d.]+ s: 故宫博物院", done.stderr)
    assert "reflection:" in done.stderr
    assert re.search(r"(?m)^ +\d+\.\d s  answer: \d+ cited statements?$", done.stderr)
    assert re.search(r"(?m)^\d+ of \d+ sentences? supported\.$", done.stderr)
    assert "\x1b" not in done.stdout + done.stderr


def test_what_the_tables_know_is_asked_of_them_and_nothing_beside_it_is_quoted(
    folder: Path,
) -> None:
    question = "Which province has the most 5A scenic areas?"
    done = terminal(folder, question)
    assert done.returncode == 0
    assert "Jiangsu 26" in done.stdout
    assert "SELECT" in done.stderr  # the steps of the database are told
    _, report = asked(folder, question)
    assert {source["kind"] for source in report["sources"]} == {"database"}
    assert report["support"]["sentences"] == []  # rows in words of the program's are no quotes


def test_a_note_of_the_sample_is_its_own_source_and_names_a_site_to_see_also(folder: Path) -> None:
    _, report = asked(folder, "黄山最佳季节", "--sources", "library")
    (source,) = report["sources"]
    assert (source["url"], source["further_url"]) == ("", "https://whc.unesco.org/zh/list/547")
    told = terminal(folder, "黄山最佳季节", "--sources", "library").stdout
    assert "1. 黄山 — 文档" in told
    assert "另见 [https://whc.unesco.org/zh/list/547]" in told
    assert "黄山四季皆可游览" in told


def test_the_reflection_names_the_gap_and_the_next_queries(folder: Path) -> None:
    done = terminal(folder, "Summer Palace helicopter licence")
    assert "reflection:" in done.stderr
    assert "missing:" in done.stderr
    assert "next:" in done.stderr
    assert "round 2: library ←" in done.stderr
    once = terminal(folder, "Summer Palace helicopter licence", "--loops", "1")
    assert "round 1:" in once.stderr and "round 2:" not in once.stderr


@pytest.mark.slow
def test_on_a_terminal_a_clock_runs_and_the_report_stays_clean(folder: Path) -> None:
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command(ENGLISH),
        cwd=ROOT,
        env=environment(folder, {"TERM": "xterm"}),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    report, _ = running.communicate(timeout=60)
    os.close(ours)
    assert running.returncode == ANSWERED
    assert b"\x1b[" in shown and b"0:00:0" in shown
    assert report.startswith(b"# When") and b"\x1b" not in report


@pytest.mark.parametrize("name", ["报告.md", "report.json"])
def test_the_report_can_go_to_a_file_whose_suffix_chooses_the_format(folder: Path, tmp_path: Path, name: str) -> None:
    done = terminal(folder, ENGLISH, "-o", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (ANSWERED, "")
    text = (tmp_path / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        assert json.loads(text)["question"] == ENGLISH
    else:
        assert text.startswith(f"# {ENGLISH}\n")


def test_a_report_in_html_shows_pages_of_cited_pdf_files_as_it_is_asked_to(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "tower.pdf"
    file.write_bytes(make_pdf(["The Aldergate lighthouse is 41 metres tall."]))
    assert terminal(folder, "library", "add", str(file)).returncode == ANSWERED
    for args, count in (((), 0), (("--pages", "3"), 1), (("--pages=0",), 0)):
        done = terminal(folder, "How tall is the Aldergate lighthouse?", *args, "-o", str(tmp_path / "a.html"))
        assert done.returncode == ANSWERED
        assert (tmp_path / "a.html").read_text(encoding="utf-8").count('<img class="page"') == count
    assert "is not a whole number from 0 to 100" in terminal(folder, "x", "--pages", "many").stderr


@pytest.mark.parametrize(
    ("args", "mark"),
    [
        ((), r"[\[1\]](#s1)"),
        (("--citations", "footnotes"), "[^1]"),
        (("--citations", "numbers"), " [1]"),
    ],
)
def test_markdown_cites_as_it_is_asked_to(folder: Path, tmp_path: Path, args: Sequence[str], mark: str) -> None:
    done = terminal(folder, ENGLISH, *args, "-o", str(tmp_path / "a.md"))
    assert done.returncode == ANSWERED
    assert mark in (tmp_path / "a.md").read_text(encoding="utf-8")
    if args:
        printed = terminal(folder, ENGLISH, *args)
        assert mark in printed.stdout and "(#s1)" not in printed.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.html", b"<!DOCTYPE html>"),
        ("a.bib", b"@comment{"),
        ("a.ris", b"TY  - "),
        ("a.csl.json", b"[\n  {"),
        ("a.zip", b"PK\x03\x04"),
        ("a.txt", b"# When was"),
    ],
)
def test_a_file_is_of_the_format_that_its_suffix_names(folder: Path, tmp_path: Path, name: str, start: bytes) -> None:
    done = terminal(folder, ENGLISH, "--out", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (ANSWERED, "")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_suffix_of_no_format_ends_with_2_before_anything_is_searched(folder: Path, tmp_path: Path) -> None:
    before = run_ids(folder)
    done = terminal(folder, ENGLISH, "-o", str(tmp_path / "report.exe"))
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert "does not end in a report format; use one of .md, .pdf, .docx, .html, " in done.stderr
    assert run_ids(folder) == before


def test_a_command_word_can_be_asked(folder: Path) -> None:
    code, report = asked(folder, "ask", "library")
    assert code in (ANSWERED, NOTHING)
    assert report["question"] == "library"


def test_the_limits_can_be_set(folder: Path) -> None:
    limits = ("--max-searches", "9", "--max-tokens", "1e5", "--max-cost", "0.5", "--max-seconds", "60")  # fmt: skip
    _, report = asked(folder, CHINESE, "--queries", "1", "--loops", "1", *limits)
    assert report["run"]["options"] == {
        "queries": 1, "sections": 0, "reflections": 2, "table": False, "loops": 1, "sources": ["places", "database", "library"], "model": "",
        "searches": 9, "tokens": 100_000, "cost": 0.5, "seconds": 60.0, "approve": False, "clarify": False, "models": [],
        "updated_run": "", "database": "", "notebook": "",
    }  # fmt: skip


@pytest.mark.slow
def test_what_the_command_line_says_beats_the_environment_which_beats_the_default(
    folder: Path,
) -> None:
    def limits(*args: str, **env: str) -> tuple[int, int]:
        done = terminal(folder, CHINESE, "--json", *args, env=env)
        options = json.loads(done.stdout)["run"]["options"]
        return options["queries"], options["loops"]

    env = {"NUMBER_OF_INITIAL_QUERIES": "5", "MAX_RESEARCH_LOOPS": "4"}
    assert limits(**env) == (5, 4)
    assert limits("--loops", "1", **env) == (5, 1)
    assert limits("--queries", "2") == (2, 2)


def test_without_a_round_of_search_nothing_is_searched_and_that_is_said(tmp_path: Path) -> None:
    done = terminal(tmp_path, CHINESE, "--loops", "0", "--json")
    assert done.returncode == NOTHING
    assert "Nothing was searched." in done.stderr
    assert "round 1" not in done.stderr
    report = json.loads(done.stdout)
    assert (report["run"]["options"]["loops"], report["evidence"]) == (0, [])
    told = [block["text"] for block in report["blocks"] if block["kind"] == "missing"]
    assert told and all("没有搜索" in text and "未找到" not in text for text in told)
    assert searches(tmp_path) == []


def test_what_a_model_asks_back_is_answered_in_the_terminal(tmp_path: Path) -> None:
    with FakeOpenAI() as server:
        server.brain.values["plan"] = {"ask_back": "Which year?", "choices": ["2023", "2024"]}
        env = {"ANSWER_MODEL": "openai:m", "OPENAI_BASE_URL": server.base_url}
        done = terminal(tmp_path, ENGLISH, "--sources", "library", env=env)
        assert done.returncode == ANSWERED  # nobody is asked unless that is wanted
        done = terminal(tmp_path, ENGLISH, "--sources", "library", "--clarify", env=env)
        assert (done.returncode, done.stdout) == (STOPPED, "Which year?\n- 2023\n- 2024\n")
        run_id = run_ids(tmp_path)[0]
        assert f'resume {run_id} --answer "…"' in done.stderr
        done = terminal(tmp_path, "resume", run_id, "--answer", "2024", env=env)
        assert done.returncode == ANSWERED
        assert "Clarified: “Which year?” — 2024" in done.stdout


def test_a_plan_waits_for_approval_and_resuming_approves_it(tmp_path: Path) -> None:
    done = terminal(tmp_path, CHINESE, "--approve", "--loops", "1")
    assert done.returncode == STOPPED
    (run_id,) = run_ids(tmp_path)
    assert f"resume {run_id}" in done.stderr
    assert "[library]" in done.stdout
    assert "waiting" in terminal(tmp_path, "runs").stdout
    done = terminal(tmp_path, "resume", run_id)
    assert done.returncode == ANSWERED
    assert "门票" in done.stdout
    more = terminal(tmp_path, "resume", "--more", run_id)
    assert more.returncode == ANSWERED
    assert len(run_ids(tmp_path)) == 2


def test_the_sources_can_be_chosen(folder: Path) -> None:
    code, report = asked(folder, CHINESE, "--sources", "library")
    assert (code, report["run"]["options"]["sources"]) == (ANSWERED, ["library"])
    done = terminal(folder, CHINESE, "--sources", " web , library,web", "--json")
    report = json.loads(done.stdout)
    assert report["run"]["options"]["sources"] == ["web", "library"]
    assert done.returncode == ANSWERED  # the library has it
    assert {(f["source"], f["reason"], f["hint"]) for f in report["failures"]} == {("web", "no key", "key")}
    assert "a setting is missing (GEMINI_API_KEY" in done.stderr


def test_a_question_can_be_limited_to_a_notebook(tmp_path: Path) -> None:
    for name, price in (("old", 3), ("new", 40)):
        file = tmp_path / f"{name}.md"
        file.write_text(f"# The {name} guide\n\nThe tower costs {price} yuan.", encoding="utf-8")
        done = terminal(tmp_path, "library", "add", "--notebook", name, str(file))
        assert done.returncode == ANSWERED
    ask = ("What does the tower cost?", "--json", "--sources", "library", "--notebook")
    for name, price in (("old", 3), ("new", 40)):
        report = json.loads(terminal(tmp_path, *ask, name).stdout)
        assert report["run"]["options"]["notebook"] == name
        assert [source["locator"] for source in report["evidence"]] == [str(tmp_path / f"{name}.md")]
        assert f"{price} yuan" in report["answer"]
    done = terminal(tmp_path, *ask, "Old")
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert done.stderr == "--notebook 'Old': no such notebook; there are: new, old.\n"
    done = terminal(tmp_path, "Open?", "--sources", "web", "--notebook", "old")
    assert done.returncode == UNUSABLE and "library is not among the sources" in done.stderr
    done = terminal(tmp_path, "library", "add", "--notebook", "\u200b", str(tmp_path / "old.md"))
    assert (done.returncode, done.stderr) == (UNUSABLE, "--notebook '\\u200b': not a valid name.\n")


@pytest.mark.parametrize("names", ["web,maps", ",", "Library"])
def test_a_source_that_there_is_not_ends_with_2_and_names_those_that_there_are(folder: Path, names: str) -> None:
    done = terminal(folder, CHINESE, "--sources", names)
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert (
        done.stderr
        == f"--sources {names!r}: the available sources are web, wikidata, news, papers, places, database, library.\n"
    )


def test_the_data_folder_of_the_command_line_beats_the_environment(folder: Path, tmp_path: Path) -> None:
    done = terminal(folder, "library", "list", "--data-dir", str(tmp_path / "other"))
    assert done.returncode == ANSWERED
    assert (tmp_path / "other" / "library.db").exists()


@pytest.mark.slow
def test_the_text_is_utf8_whatever_the_locale(folder: Path) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = process(folder, CHINESE, env=env)
    assert done.returncode == ANSWERED
    assert "闭馆" in done.stdout and "闭馆" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
def test_a_reader_that_leaves_early_is_no_error(folder: Path, both: bool) -> None:
    stderr = subprocess.STDOUT if both else subprocess.PIPE
    running = subprocess.Popen(
        command(CHINESE),
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    assert running.stdout
    running.stdout.close()
    told = running.stderr.read() if running.stderr else b""
    assert running.wait(60) == ANSWERED
    assert b"Traceback" not in told and b"BrokenPipe" not in told
    if running.stderr:
        running.stderr.close()


# Exit codes


def test_searches_that_fail_end_with_1_and_are_not_called_nothing_found(tmp_path: Path) -> None:
    terminal(tmp_path, "library", "list")
    with closing(sqlite3.connect(tmp_path / "library.db")) as db:
        db.execute("alter table document rename column published to gone")
    done = terminal(tmp_path, CHINESE, "--sources", "library")
    assert done.returncode == FAILED
    assert "failed" in done.stderr
    assert "搜索失败" in done.stdout
    assert "未找到" not in done.stdout


def test_a_question_without_an_answer_ends_with_3(folder: Path) -> None:
    code, report = asked(folder, "zorblax quuxometer")
    assert code == NOTHING
    assert report["sources"] == []


@pytest.mark.parametrize("question", ["你好", "thanks"])
def test_what_needs_no_search_is_answered_at_once_and_ends_with_0(folder: Path, question: str) -> None:
    done = terminal(folder, question, "--json")
    assert done.returncode == ANSWERED
    assert "round 1" not in done.stderr
    report = json.loads(done.stdout)
    assert (report["sources"], report["plan"]) == ([], None)
    assert report["answer"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (" \n\t ", "The question is empty"),
        ("问" * 20_000, f"20,000 characters; the limit is {MAX_QUESTION_CHARS:,}"),
        ("😀😀！？", "no searchable words"),
    ],
)
def test_an_unusable_question_ends_with_2_and_says_why(folder: Path, question: str, words: str) -> None:
    done = terminal(folder, question)
    assert done.returncode == UNUSABLE
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--queries", "0", "x"),
        ("--loops", "eleven", "x"),
        ("--loops", "-1", "x"),
        ("--loops", "11", "x"),
        ("--model",),
        ("check", "x"),
        ("--unknown", "x"),
        ("library",),
        ("library", "frobnicate"),
        ("library", "remove", "one"),
        ("library", "sample", "maybe"),
        ("resume",),
        ("runs", "x"),
        ("serve", "--port", "0"),
        ("serve", "--port", "65536"),
    ],
)
def test_wrong_usage_ends_with_2(args: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(args)
    assert ended.value.code == UNUSABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: python -m research")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("library", "remove", "987654"), "No document has the id 987654"),
        (("resume", "no-such-run"), "No run id starts with 'no-such-run'"),
        (("x", "-o", "missing/folder/report.md"), "cannot be written"),
    ],
)
def test_naming_what_is_not_there_ends_with_2(folder: Path, args: Sequence[str], words: str) -> None:
    done = terminal(folder, *args)
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert words in done.stderr


def test_an_unusable_setting_ends_with_2_and_names_it(folder: Path) -> None:
    done = terminal(folder, "x", env={"MAX_RESEARCH_LOOPS": "ten"})
    assert done.returncode == UNUSABLE
    assert done.stderr.startswith("MAX_RESEARCH_LOOPS is 'ten'; it must be")


def test_a_damaged_store_ends_with_1_and_is_left_as_it_is(tmp_path: Path) -> None:
    damaged = b"this is no database" * 1000
    (tmp_path / "runs.db").write_bytes(damaged)
    done = terminal(tmp_path, "x")
    assert done.returncode == FAILED
    assert "runs.db is damaged" in done.stderr and "Restore a backup" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "runs.db").read_bytes() == damaged
    with suppress(FileNotFoundError):  # where the system does not tell
        opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
        assert [path for path in opened if path.is_relative_to(tmp_path)] == []


def test_a_format_that_cannot_be_made_leaves_the_report_as_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise KeyError("secret detail")

    monkeypatch.setattr("research.export_report", broken)
    file = tmp_path / "report.pdf"
    folder = str(tmp_path / "data")
    assert main(["颐和园门票多少钱？", "-o", str(file), "--data-dir", folder]) == FAILED
    out, err = capsys.readouterr()
    assert out.startswith("# 颐和园门票多少钱？")
    assert f"{file} could not be created (KeyError)." in err
    assert "secret" not in err
    assert not file.exists()


def test_a_data_folder_that_cannot_be_used_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    done = terminal(tmp_path / "file" / "data", "x")
    assert done.returncode == FAILED
    assert "SIGHTLINE_DATA_DIR" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="an administrator may write")
def test_a_read_only_data_folder_ends_with_1(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        done = terminal(tmp_path, "x")
    finally:
        tmp_path.chmod(0o700)
    assert done.returncode == FAILED
    assert "cannot be written" in done.stderr


# Outside text


@pytest.mark.parametrize(
    "question",
    [
        "颐和园 😀🏯 的历史？",
        "How much is $100 in the Summer Palace, `rm -rf` $(date)?",
        "[bold red]Summer Palace[/bold red] [link=https://evil.example]tickets[/]",
    ],
)
def test_marks_in_a_question_are_text(folder: Path, question: str) -> None:
    code, report = asked(folder, question)
    assert code in (ANSWERED, NOTHING)
    assert report["question"] == question


def test_markup_in_a_question_stays_dead_in_the_report(folder: Path) -> None:
    question = "- ![Summer Palace](https://evil.example/x.png)\n# <script>alert(1)</script> tickets"
    done = terminal(folder, "--", question)
    assert done.returncode in (ANSWERED, NOTHING)
    assert "\\<script" in done.stdout
    assert not re.search(r"(?<!\\)<script|!\[", done.stdout)


@pytest.mark.slow
def test_escape_sequences_never_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\u202eevil\x9b2J"
    (tmp_path / "evil.md").write_text(
        f"# Quuxwick Castle {evil}\n\nQuuxwick Castle was built in the year 1234 {evil} by nobody.\n",
        encoding="utf-8",
    )
    folder = tmp_path / "data"
    outputs = [
        terminal(folder, "library", "add", str(tmp_path / "evil.md")),
        terminal(folder, "library", "list"),
        terminal(folder, f"When was Quuxwick Castle built{evil}?"),
        terminal(folder, "plan", f"When was Quuxwick Castle built{evil}?"),
        terminal(folder, "runs"),
    ]
    assert "1234" in outputs[2].stdout
    for done in outputs:
        assert done.returncode == ANSWERED
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr)


# The plan and the library


def test_the_plan_names_each_query_with_its_source_and_searches_nothing(tmp_path: Path) -> None:
    done = terminal(tmp_path, "plan", "西湖和颐和园的门票")
    assert done.returncode == ANSWERED
    assert "西湖" in done.stdout and "颐和园" in done.stdout
    assert done.stdout.count("[library]") == 2
    plan = json.loads(terminal(tmp_path, "plan", "西湖和颐和园的门票", "--json").stdout)
    sources = [task["source"] for task in plan["tasks"]]
    assert sources == ["database", "library", "library"]
    assert "estimate: 5 searches, " in done.stdout
    assert (plan["estimate"]["searches"], plan["estimate"]["tokens"]) == (5, 0)
    assert run_ids(tmp_path) == []


def test_documents_are_added_listed_and_removed(tmp_path: Path) -> None:
    data, files = tmp_path / "data", tmp_path / "files"
    files.mkdir()
    (files / "塔.md").write_text("# 望云塔\n\n望云塔高77米。\n", encoding="utf-8")
    (files / "empty.txt").write_text("", encoding="utf-8")
    added = terminal(data, "library", "add", str(files), str(tmp_path / "gone.md"))
    assert added.returncode == FAILED  # one file is empty, one is not there
    assert re.search(r"(?m)^added .*塔\.md", added.stdout)
    assert re.search(r"(?m)^empty .*empty\.txt", added.stdout)
    assert re.search(r"(?m)^unreadable .*gone\.md", added.stdout)
    again = terminal(data, "library", "add", str(files / "塔.md"))
    assert (again.returncode, again.stdout.split()[0]) == (ANSWERED, "unchanged")

    own = [x for x in terminal(data, "library", "list").stdout.splitlines() if " own " in x]
    assert len(own) == 1 and "望云塔" in own[0]
    code, report = asked(data, "望云塔有多高？")
    assert code == ANSWERED
    assert [quote for quote, _ in quotes(report)] == ["望云塔高77米。"]

    removed = terminal(data, "library", "remove", own[0].split()[0])
    assert removed.returncode == ANSWERED
    assert "塔.md" in removed.stdout
    assert asked(data, "望云塔有多高？")[0] == NOTHING


def test_a_folder_without_any_file_that_can_be_read_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    done = terminal(tmp_path / "data", "library", "add", str(tmp_path / "nothing"))
    assert done.returncode == NOTHING
    assert "There are no files to add" in done.stderr


def test_the_sample_can_be_turned_off_and_on(tmp_path: Path) -> None:
    first = terminal(tmp_path, "library", "list").stdout.splitlines()
    assert first and all(" sample " in line for line in first)
    refused = terminal(tmp_path, "library", "remove", first[0].split()[0])
    assert refused.returncode == UNUSABLE and "sample off" in refused.stderr
    assert terminal(tmp_path, "library", "sample", "off").returncode == ANSWERED
    assert terminal(tmp_path, "library", "list").stdout == ""
    assert asked(tmp_path, ENGLISH)[0] == NOTHING
    assert terminal(tmp_path, "library", "sample", "on").returncode == ANSWERED
    assert len(terminal(tmp_path, "library", "list").stdout.splitlines()) == len(first)


# Several at once, stopping and resuming


@pytest.mark.slow
def test_two_at_once_on_one_data_folder_both_answer(tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            command(question, "--json"),
            cwd=ROOT,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for question in (ENGLISH, CHINESE)
    ]
    for running, question in zip(both, (ENGLISH, CHINESE), strict=True):
        out, err = running.communicate(timeout=120)
        assert running.returncode == ANSWERED, err
        assert json.loads(out)["question"] == question
    assert len(run_ids(tmp_path)) == 2


def searches(folder: Path) -> list[tuple[str, bool]]:
    """The searches in the store: the query and whether it was finished."""
    path = folder / "runs.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as db:
        try:
            rows = db.execute("select query, finished is not null from search order by id")
        except sqlite3.OperationalError:  # the tables are not there yet
            return []
        return [(query, bool(finished)) for query, finished in rows]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT can be sent to one process")
def test_ctrl_c_stops_the_run_and_resume_goes_on_with_it(tmp_path: Path) -> None:
    running = subprocess.Popen(
        command("Summer Palace helicopter licence"),
        cwd=ROOT,
        env=environment(tmp_path, {"SIGHTLINE_SEARCH_DELAY": "6"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        # What is started in the background of a shell is told to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # The second round waits before its search: the first round's searches are done by then.
    assert running.stderr
    told = ""
    while "round 2:" not in told:
        line = running.stderr.readline()
        assert line, told
        told += line
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == STOPPED
    assert out == ""
    assert "Traceback" not in err
    found = re.search(r"python -m research resume (\w+)", err)
    assert found
    before = searches(tmp_path)
    assert before and all(finished for _, finished in before)
    assert " stopped " in terminal(tmp_path, "runs").stdout

    resumed = terminal(tmp_path, "resume", found[1][:8], "--json")
    assert resumed.returncode in (ANSWERED, NOTHING)
    assert json.loads(resumed.stdout)["run"]["status"] == "done"
    after = searches(tmp_path)
    assert after[: len(before)] == before
    assert len({query for query, _ in after}) == len(after)
    assert run_ids(tmp_path) == [found[1]]


def test_a_finished_run_is_shown_without_another_search(folder: Path) -> None:
    _, report = asked(folder, ENGLISH)
    before = searches(folder)
    for words in (("show",), ("--show",)):
        shown = terminal(folder, *words, report["run"]["id"][:10], "--json")
        assert (shown.returncode, json.loads(shown.stdout)) == (ANSWERED, report)
    assert searches(folder) == before


@pytest.mark.slow
def test_a_run_that_waits_is_shown_with_its_plan_and_how_to_go_on(tmp_path: Path) -> None:
    terminal(tmp_path, CHINESE, "--approve", "--loops", "1")
    (run_id,) = run_ids(tmp_path)
    shown = terminal(tmp_path, "show", run_id)
    assert shown.returncode == ANSWERED
    assert "门票" in shown.stdout
    assert f"waiting. To continue: python -m research resume {run_id}" in shown.stderr
    assert searches(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT can be sent to one process")
def test_a_run_of_another_process_is_followed_and_ctrl_c_leaves_it_alone(tmp_path: Path) -> None:
    running = subprocess.Popen(
        command("Summer Palace helicopter licence"), cwd=ROOT,
        env=environment(tmp_path, {"SIGHTLINE_SEARCH_DELAY": "6"}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert running.stderr
    found = re.match(r"\W*Run (\w+)", running.stderr.readline())
    assert found
    watching = subprocess.Popen(
        command("follow", found[1]), cwd=ROOT, env=environment(tmp_path),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert watching.stderr
    while "round 1" not in watching.stderr.readline():
        assert watching.poll() is None
    watching.send_signal(signal.SIGINT)
    out, err = watching.communicate(timeout=60)
    assert (watching.returncode, out) == (STOPPED, "")
    assert f"The run continues. Follow it again with: python -m research follow {found[1]}" in err
    followed = terminal(tmp_path, "--follow", found[1], "--json")
    assert json.loads(followed.stdout)["run"]["status"] == "done"
    report, _ = running.communicate(timeout=60)
    assert running.returncode == followed.returncode
    assert report


def test_resuming_a_finished_run_shows_its_report_again(folder: Path) -> None:
    _, report = asked(folder, ENGLISH)
    again = terminal(folder, "resume", report["run"]["id"], "--json")
    assert again.returncode == ANSWERED
    assert json.loads(again.stdout) == report


# Models

KEY = "sk-sentinel-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        fake.keys = {KEY}
        yield fake


def served(server: FakeOpenAI, **more: str) -> dict[str, str]:
    """The settings that make a fake server the model of every role."""
    return {
        "ANSWER_MODEL": "openai:gpt-fake",
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": KEY,
        "SIGHTLINE_MODEL_ATTEMPTS": "1",
        **more,
    }


def test_with_a_model_the_answer_cites_what_was_found_and_its_cost_is_told(folder: Path, server: FakeOpenAI) -> None:
    done = terminal(folder, ENGLISH, "--json", env=served(server))
    assert done.returncode == ANSWERED
    report = json.loads(done.stdout)
    assert report["author"] == "openai:gpt-fake"
    assert report["sources"]
    stages = {call["stage"] for call in report["usage"]["calls"]}
    assert stages == {"plan", "reflect", "write"}
    assert report["usage"]["total"]["input"] > 0
    assert re.search(r"(?m)^ +\d+\.\d s  answer: \d+ cited statements?$", done.stderr)


def test_the_model_of_the_command_line_reflects_and_writes(folder: Path, server: FakeOpenAI) -> None:
    done = terminal(folder, ENGLISH, "--json", "--model", "openai:qwen3-8b", env=served(server))
    assert done.returncode == ANSWERED
    report = json.loads(done.stdout)
    assert report["author"] == report["run"]["options"]["model"] == "openai:qwen3-8b"
    asked_of = {(call.stage, call.body["model"]) for call in server.log}
    assert asked_of == {
        ("plan", "gpt-fake"), ("reflect", "qwen3-8b"), ("write", "qwen3-8b"),
    }  # fmt: skip


def test_a_model_where_none_can_be_asked_ends_with_2_and_says_what_to_set(folder: Path) -> None:
    done = terminal(folder, ENGLISH, "--model", "openai:gpt-fake")
    assert (done.returncode, done.stdout) == (UNUSABLE, "")
    assert done.stderr.startswith("--model 'openai:gpt-fake': no model is available. Set GEMINI_")


def test_a_report_is_printed_of_a_run_that_failed_and_resuming_only_writes(tmp_path: Path, server: FakeOpenAI) -> None:
    server.fail("write", "503")
    failed = terminal(tmp_path, ENGLISH, env=served(server))
    assert failed.returncode == FAILED
    assert failed.stdout.startswith(f"# {ENGLISH}\n")
    assert "Summer Palace" in failed.stdout.partition("\n")[2]
    assert "is out of service at the moment" in failed.stderr
    found = re.search(r"Resume with: python -m research resume (\w+)", failed.stderr)
    assert found
    before = searches(tmp_path)
    assert before and all(finished for _, finished in before)
    planned = server.calls("plan")

    shown = terminal(tmp_path, "resume", found[1], "--json", env=served(server))
    assert shown.returncode == FAILED
    report = json.loads(shown.stdout)
    assert (report["run"]["status"], report["placeholder"]) == ("failed", True)
    assert report["evidence"] and report["blocks"]
    assert [f["stage"] for f in report["failures"]] == ["write"]

    server.fail("write", "ok")
    resumed = terminal(tmp_path, "resume", found[1], "--json", env=served(server))
    assert resumed.returncode == ANSWERED
    report = json.loads(resumed.stdout)
    assert (report["run"]["status"], report["placeholder"]) == ("done", False)
    assert report["author"] == "openai:gpt-fake"
    assert searches(tmp_path) == before
    assert server.calls("plan") == planned


def test_what_a_model_answers_at_once_ends_with_0(folder: Path, server: FakeOpenAI) -> None:
    done = terminal(folder, "Hello!", "--json", env=served(server))
    assert done.returncode == ANSWERED
    report = json.loads(done.stdout)
    assert (report["plan"], report["sources"], server.calls()) == (None, [], 1)
    assert report["answer"]


def test_without_a_round_of_search_a_model_answers_and_says_that_nothing_was_searched(
    tmp_path: Path, server: FakeOpenAI
) -> None:
    done = terminal(tmp_path, ENGLISH, "--loops", "0", "--json", env=served(server))
    assert done.returncode == ANSWERED
    report = json.loads(done.stdout)
    assert report["blocks"][0]["kind"] == "notice"
    assert "Search rounds are set to 0" in report["blocks"][0]["text"]
    assert searches(tmp_path) == []


def test_the_check_asks_every_model_and_ends_with_0_if_all_answer(folder: Path, server: FakeOpenAI) -> None:
    done = terminal(folder, "check", env=served(server))
    assert (done.returncode, done.stderr) == (ANSWERED, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:3] for row in rows] == [
        [role, "openai:gpt-fake", "ok,"] for role in ("plan", "reflect", "write", "search")
    ]
    assert server.calls("check") == server.calls() == 4


def test_a_check_that_fails_ends_with_1_and_says_why_without_the_key(folder: Path, server: FakeOpenAI) -> None:
    env = served(server, REFLECTION_MODEL="openai:gone", SIGHTLINE_MODEL_ATTEMPTS="1")
    server.fail("check", "echokey")
    done = terminal(folder, "check", "--json", env=env)
    assert done.returncode == FAILED
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["reflect"]["model"] == "openai:gone"
    assert checks["reflect"]["setting"] == "REFLECTION_MODEL"
    assert {check["failure"]["reason"] for check in checks.values()} == {"refused"}
    plain = terminal(folder, "check", env=env)
    assert plain.returncode == FAILED
    assert plain.stdout.count("refused: ") == 4
    assert KEY not in done.stdout + done.stderr + plain.stdout + plain.stderr


def test_a_check_of_nothing_ends_with_3_and_says_so(folder: Path) -> None:
    done = terminal(folder, "check")
    assert (done.returncode, done.stdout) == (NOTHING, "")
    assert done.stderr == ("No model or web search is configured: answers quote the library.\n")


def test_the_known_models_are_compared_with_the_list_that_gemini_offers(folder: Path) -> None:
    with FakeGemini() as server:
        env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": server.base_url}
        done = terminal(folder, "check", "--models", env=env)
    listed = re.findall(r"^listed +(\S+)", done.stdout, re.M)
    assert done.returncode == FAILED  # the server offers three models alone
    assert set(listed) == set(GEMINI_MODELS)
    assert "NOT LISTED gemini-3.6-flash" in done.stdout
    assert re.search(r"^prices +as of \d{4}-\d\d-\d\d$", done.stdout, re.M)
    assert KEY not in done.stdout + done.stderr


def test_the_known_models_are_compared_with_a_list_in_a_file(folder: Path, tmp_path: Path) -> None:
    known = terminal(folder, "check", "--models", str(_listing(tmp_path, "gemini-3.8-flash")), "--json")
    assert known.returncode == FAILED
    names = [name["name"] for name in json.loads(known.stdout)["names"]]
    done = terminal(folder, "check", "--models", str(_listing(tmp_path, *names)))
    assert (done.returncode, done.stderr) == (ANSWERED, "")
    assert "NOT LISTED" not in done.stdout
    done = terminal(
        folder,
        *("check", "--models", str(_listing(tmp_path, *names))),
        env={"GEMINI_API_KEY": KEY, "ANSWER_MODEL": "gemini-2-own"},
    )
    assert done.returncode == FAILED
    assert re.search(r"^NOT LISTED gemini-2-own +ANSWER_MODEL$", done.stdout, re.M)


def _listing(folder: Path, *names: str) -> Path:
    file = folder / "models.txt"
    file.write_text("\n".join(names), encoding="utf-8")
    return file


def test_a_list_of_models_that_cannot_be_used_is_told(folder: Path, tmp_path: Path) -> None:
    without_key = terminal(folder, "check", "--models")
    assert without_key.returncode == FAILED
    assert without_key.stderr == "Gemini's list cannot be read: GEMINI_API_KEY is not set.\n"
    for file in (tmp_path / "none.txt", _listing(tmp_path)):
        done = terminal(folder, "check", "--models", str(file))
        assert (done.returncode, done.stdout) == (UNUSABLE, "")
        assert str(file) in done.stderr


# Serving


def test_the_pages_are_served_from_the_folder_of_the_project() -> None:
    assert [place for place in serve.LAUNCHER_PATHS if place.exists()] == [ROOT / "app.py"]


def test_where_there_are_no_pages_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(serve, "LAUNCHER_PATHS", (tmp_path / "app.py",))
    assert main(["serve"]) == FAILED
    assert "app.py" in capsys.readouterr().err


def test_the_options_of_the_server_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[list[str]] = []
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: handed.append(sys.argv))
    monkeypatch.setattr(sys, "argv", ["sightline"])
    assert main(["serve"]) == 0
    options = ["--host", "0.0.0.0", "--port", "80", "--allow-host", "desk.example.org"]
    assert main(["serve", *options]) == 0
    plain, chosen = handed
    assert plain == ["streamlit", "run", str(ROOT / "app.py")]
    assert chosen[3:] == [
        "--server.address=0.0.0.0",
        "--server.port=80",
        "--server.allowedHosts=127.0.0.1",
        "--server.allowedHosts=localhost",
        "--server.allowedHosts=desk.example.org",
    ]


# Help


def test_the_help_has_usage_commands_examples_and_exit_codes(tmp_path: Path) -> None:
    done = terminal(tmp_path / "data", "--help")
    assert done.returncode == 0
    assert not (tmp_path / "data").exists()
    for text in (
        "usage: python -m research QUESTION",
        "plan QUESTION",
        "library add PATH ...",
        "library sample on|off",
        "resume RUN",
        "--sources NAMES",
        "--model MODEL",
        "check  ",
        "ask QUESTION",
        "examples:",
        "exit codes:",
        "130  stopped with Ctrl-C",
    ):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("at", range(3))
def test_the_data_folder_is_the_one_given_wherever_it_stands_among_the_words(at: int) -> None:
    words = ["library", "list"]
    args = parse_arguments([*words[:at], "--data-dir", "elsewhere", "--log", *words[at:]])
    assert (args.subcommand, args.data_dir, args.log) == ("list", Path("elsewhere"), True)
    assert (parse_arguments(words).data_dir, parse_arguments(words).log) == (None, False)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m research {name}")


def test_the_help_names_every_exit_code_that_the_program_has() -> None:
    codes = {code for name, code in vars(exit_codes).items() if name.isupper()}
    assert len(codes) == 6
    for code in codes:
        assert re.search(rf"(?m)^  {code} ", options.EPILOG)


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("prompt_undercounted", {"tokens": 812}, ["812 tokens"]),
        ("parts_unreadable", {"parts": ["gap", "queries 2"]}, ["gap; queries 2"]),
    ],
)
def test_what_a_model_may_not_have_read_and_what_of_it_was_not_is_told_in_a_line(
    kind: str, data: dict[str, Any], words: list[str]
) -> None:
    said = {"stage": "plan", "what": "openai:m", **data}
    event = Event(run="r", seq=1, time=datetime.now(UTC), data=parse_event(kind, said))
    [(line, _)] = format_event(event)
    assert all(word in line for word in ["openai:m", *words])


def test_a_model_that_takes_no_thinking_level_is_told_of_in_a_line() -> None:
    event = ThinkingUnsupported(stage="plan", service="gemini:m", level="low")
    [(line, _)] = format_event(Event(run="r", seq=1, time=datetime.now(UTC), data=event))
    assert "gemini:m" in line and "low" in line
