"""The Ask page: questions good and bad, the plan, the run, the answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.parts.words import WORDS
from research import MAX_QUESTION, Options, Run, runs
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
EN = "What does a ticket to the Palace Museum cost, and when is it closed?"
ZH = "故宫博物院的门票多少钱，周几闭馆？"
HOSTILE = {
    "dollars": "Does a ticket to the Palace Museum cost $5 and y$ or $$6$$?",
    "backticks": "What does `a ticket` to the ```Palace Museum``` cost?",
    "html": "Palace Museum <script>alert(1)</script><img src=x onerror=alert(2)> ticket?",
    "image": "Palace Museum ![x](http://127.0.0.1:9/q.png) ticket price?",
    "link": "Palace Museum [ticket](javascript:alert(1)) <https://example.org>?",
    "directives": "Palace Museum :red[ticket] :material/search: price # * _ ~ | ^?",
    "lines": "# Palace Museum\n\n- ticket\n\n> price",
}


def english(key: str) -> str:
    return WORDS[key][1]


# Refusals


def test_an_empty_question_is_refused_and_nothing_starts(visit: Visit) -> None:
    visitor = visit().ask("   \n ")
    assert visitor.errors == [english("problem.empty")]
    assert runs.list() == []


@pytest.mark.parametrize("button", ["start", "plan_first"])
def test_a_question_of_20000_characters_is_refused_and_stays_in_the_box(
    visit: Visit, button: str
) -> None:
    question = "票价 " * (20_000 // 3) + "how"
    visitor = visit().ask(question, button)
    (error,) = visitor.errors
    assert f"{len(question):,}" in error
    assert f"{MAX_QUESTION:,}" in error
    assert visitor.question == question
    assert visitor.look().question == question
    assert runs.list() == []


@pytest.mark.parametrize("question", ["🎉🎉🎉", "👩‍👩‍👧 ?!", "$$$", "` ` `", "…"])
def test_a_question_without_a_word_is_refused_and_stays_in_the_box(
    visit: Visit, question: str
) -> None:
    visitor = visit().ask(question)
    assert visitor.errors == [english("problem.no words")]
    assert visitor.question == question
    assert runs.list() == []


def test_a_question_without_a_source_is_refused_and_stays_in_the_box(visit: Visit) -> None:
    visitor = visit()
    visitor.at.button_group(key="sources").set_value([])
    visitor.ask(EN)
    assert visitor.errors == [english("ask.no_sources")]
    assert visitor.question == EN
    assert runs.list() == []


def test_a_refused_question_can_be_corrected(visit: Visit) -> None:
    visitor = visit().ask("?!")
    assert visitor.ask(EN).wait().blocks("quote")


# Questions with marks in them


@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_a_question_with_marks_is_asked_and_shown_as_it_is(visit: Visit, question: str) -> None:
    visitor = visit().ask(question).wait()
    (run,) = runs.list()
    assert run.question == question
    assert run.status == "done"
    assert visitor.words.splitlines()[0] == " ".join(question.split())
    assert " ".join(question.split()) in visitor.go("history").words


@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_the_plan_of_a_question_with_marks_shows_it_as_it_is(visit: Visit, question: str) -> None:
    visitor = visit().ask(question, "plan_first")
    assert " ".join(question.split()) in visitor.words
    assert len(visitor.table("query")) > 0


# Examples, effort


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_example_fills_the_box_and_has_an_answer(visit: Visit, lang: str, number: int) -> None:
    visitor = visit(lang=lang)
    example = visitor.at.button(key=f"example_{number}").label
    visitor.press(f"example_{number}")
    assert visitor.question == example
    assert runs.list() == []
    assert visitor.press("start").wait().blocks("quote")


def test_the_effort_chosen_holds_for_the_run_and_for_the_next_question(visit: Visit) -> None:
    visitor = visit()
    visitor.at.slider(key="queries").set_value(5)
    visitor.at.slider(key="loops").set_value(1)
    visitor.ask(EN).wait()
    assert runs.list()[0].options == Options(queries=5, loops=1)
    visitor.press("new")
    assert visitor.at.slider(key="queries").value == 5
    assert visitor.at.slider(key="loops").value == 1


def test_the_settings_are_the_effort_unless_it_is_chosen(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBER_OF_INITIAL_QUERIES", "7")
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "4")
    visit().ask(EN).wait()
    assert runs.list()[0].options == Options(queries=7, loops=4)


# The plan first


def test_the_plan_can_be_seen_before_anything_is_searched(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first")
    table = visitor.table("query")
    assert list(table["source"]) == ["library"] * len(table)
    assert all("Palace Museum" in query for query in table["query"])
    assert runs.list() == []


def test_a_plan_that_was_seen_first_starts_as_it_stands(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first")
    planned = list(visitor.table("query")["query"])
    assert visitor.press("start_draft").wait().blocks("quote")
    (run,) = runs.list()
    assert [search["query"] for search in runs.desk().runs.store.searches(run.id)] == planned


def test_a_plan_that_was_seen_first_starts_with_the_effort_of_the_form(visit: Visit) -> None:
    visitor = visit()
    visitor.at.slider(key="loops").set_value(6)
    visitor.ask(EN, "plan_first").look().press("start_draft").wait()
    assert runs.list()[0].options.loops == 6


def test_a_plan_can_be_left_for_a_new_question(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first").press("leave_draft")
    assert "example_0" in visitor.buttons
    assert runs.list() == []


def test_a_plan_is_still_there_after_a_look_at_another_page(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first").go("library").go("ask")
    assert len(visitor.table("query")) == 2


# The answer


def test_an_answer_has_a_passage_behind_every_quote(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    quotes = visitor.blocks("quote")
    assert quotes
    for quote in quotes:
        assert quote["cites"]
        for cite in quote["cites"]:
            assert cite["quote"] == quote["text"]
            assert urlsplit(cite["url"]).hostname == cite["host"]


def test_the_sources_are_numbered_from_one_and_each_is_cited(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    cited = [cite["n"] for block in visitor.blocks("quote") for cite in block["cites"]]
    table = visitor.table("times")
    assert list(table["number"]) == list(range(1, len(table) + 1))
    assert list(dict.fromkeys(cited)) == list(table["number"])
    assert [cited.count(number) for number in table["number"]] == list(table["times"])


def test_an_answer_can_be_taken_away_as_markdown_and_as_json(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    labels = [button.label for button in visitor.at.get("download_button")]
    assert labels == [english("download.markdown"), english("download.json")]


def test_an_answer_from_the_sample_library_says_so(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    (notice,) = visitor.blocks("notice")
    assert "sample library" in notice["text"]
    assert all(cite["sample"] for block in visitor.blocks("quote") for cite in block["cites"])
    assert set(visitor.table("times")["kind"]) == {english("kind.sample")}


def test_a_question_in_chinese_has_an_answer_in_chinese_on_an_english_page(visit: Visit) -> None:
    visitor = visit().ask(ZH).wait()
    assert visitor.answer is not None
    assert visitor.answer["lang"] == "zh-CN"
    assert visitor.answer["words"]["visit"] == english("answer.visit")
    assert any("闭馆" in quote["text"] for quote in visitor.blocks("quote"))


def test_the_steps_of_a_finished_run_stay_on_the_page(visit: Visit) -> None:
    words = visit().ask(EN).wait().words
    assert "Plan: 2 parts, 2 queries" in words
    assert "Round 1: 2/2 queries" in words
    assert "Reflection" in words


# Again


def test_an_unchanged_plan_run_again_searches_nothing_again(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    first = visitor.run_id
    visitor.press(f"again_start_{first[:8]}").wait()
    assert visitor.run_id != first
    assert visitor.blocks("quote")
    report = runs.report(visitor.run_id)
    assert report is not None
    assert report.findings
    assert all(finding.reused for finding in report.findings)
    assert report.run.based_on == first


def test_a_run_that_was_opened_by_its_address_can_be_run_again(visit: Visit) -> None:
    first = visit().ask(EN).wait().run_id
    other = visit(run=first)
    other.press(f"again_start_{first[:8]}").wait()
    assert other.run_id != first
    assert other.blocks("quote")


# Addresses


def test_a_run_is_in_the_address_and_opens_by_it(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    assert visitor.run_id == runs.list()[0].id
    assert visit(run=visitor.run_id).answer == visitor.answer


def test_an_unknown_run_id_is_told_and_a_question_can_be_asked(visit: Visit) -> None:
    visitor = visit(run="no-such-run")
    assert english("ask.no_run") in visitor.words
    assert visitor.ask(EN).wait().blocks("quote")


def test_a_run_of_another_owner_is_not_shown(visit: Visit) -> None:
    runs.desk().runs.store.add(ended("theirs", owner="somebody"), None, "")
    visitor = visit(run="theirs")
    assert english("ask.no_run") in visitor.words
    assert "theirs" not in visitor.buttons


def test_the_last_run_is_there_after_a_look_at_another_page(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    run_id = visitor.run_id
    visitor.at.query_params.clear()
    visitor.go("library").go("ask")
    assert visitor.run_id == run_id
    assert visitor.blocks("quote")


def test_a_new_question_leaves_the_last_run(visit: Visit) -> None:
    visitor = visit().ask(EN).wait().press("new")
    assert visitor.run_id == ""
    assert "start" in visitor.look().buttons


# Runs under way, stopped and cut off


def test_a_run_under_way_is_the_same_for_every_visitor(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "20")
    visitor = visit().ask(EN).until("searching…")
    stop = f"stop_{visitor.run_id[:8]}"
    assert stop in visitor.buttons
    other = visit(run=visitor.run_id)
    assert stop in other.buttons
    elsewhere = visit("library")
    assert english("nav.active") in elsewhere.words
    assert EN[:20] in elsewhere.words
    assert len(runs.list()) == 1


def test_a_stopped_run_says_so_and_goes_on_when_asked_to(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "0.3")
    visitor = visit().ask(EN).until("searching…")
    visitor.press(f"stop_{visitor.run_id[:8]}").wait()
    assert runs.list()[0].status == "stopped"
    assert english("run.stopped_help") in visitor.words
    visitor.press(f"resume_{visitor.run_id[:8]}").wait()
    assert visitor.blocks("quote")
    assert runs.list()[0].status == "done"


def ended(run_id: str, owner: str = "local") -> Run:
    return Run(
        id=run_id, conversation=run_id, owner=owner, question=EN, options=Options(),
        status="running", created=datetime.now(UTC),
    )  # fmt: skip


def test_a_run_whose_program_is_gone_is_interrupted_and_resumes(visit: Visit) -> None:
    runs.desk().runs.store.add(ended("cutoff"), None, "0" * 32)
    visitor = visit(run="cutoff")
    assert english("run.interrupted") in visitor.words
    assert english("run.interrupted_help") in visitor.words
    assert visitor.press("resume_cutoff").wait().blocks("quote")


def test_a_run_that_fails_says_why_and_can_be_resumed(visit: Visit, folder: Path) -> None:
    store = runs.desk().runs.store
    store.add(ended("broken"), None, "0" * 32)
    store.append("broken", [], "failed", "Trouble with <b>$x$</b>")
    visitor = visit(run="broken")
    assert visitor.errors == ["The run failed: Trouble with <b>$x$</b>"]
    assert "resume_broken" in visitor.buttons


# Languages


def test_the_page_speaks_the_language_of_the_browser(visit: Visit) -> None:
    assert WORDS["ask.title"][0] in visit(locale="zh-CN").words
    assert WORDS["ask.title"][1] in visit(locale="de-DE").words


def test_the_page_speaks_the_language_of_its_address(visit: Visit) -> None:
    assert WORDS["ask.title"][0] in visit(lang="zh").words
    assert WORDS["ask.title"][1] in visit(locale="zh-CN", lang="en").words
    assert WORDS["ask.title"][1] in visit(lang="tlh").words


def test_the_language_switch_changes_the_page(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    visitor.at.button_group(key="lang").set_value("zh")
    visitor.look()
    assert WORDS["sources.title"][0] in visitor.words
    assert visitor.answer is not None
    assert visitor.answer["words"]["visit"] == WORDS["answer.visit"][0]
    visitor.at.button_group(key="lang").set_value("en")
    assert WORDS["sources.title"][1] in visitor.look().words
