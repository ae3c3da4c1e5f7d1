"""The Ask page: questions good and bad, the plan, the run, the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from research import MAX_QUESTION_CHARS, Run, RunOptions, close_application, get_application
from tests.catalogue import WORDS
from tests.fakes import until
from tests.pages.conftest import KEY
from tests.pages.visitor import Visitor, shown
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeSearXNG, FakeWikipedia, nowhere

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


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


# Refusals


def test_an_empty_question_is_refused_and_nothing_starts(visit: Visit) -> None:
    visitor = visit().ask("   \n ")
    assert visitor.errors == [english("problem.empty")]
    assert get_application().runs.recent_runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("button", ["start", "plan_first"])
def test_a_question_of_20000_characters_is_refused_and_stays_in_the_box(visit: Visit, button: str) -> None:
    question = "票价 " * (20_000 // 3) + "how"
    visitor = visit().ask(question, button)
    (error,) = visitor.errors
    assert f"{len(question):,}" in error
    assert f"{MAX_QUESTION_CHARS:,}" in error
    assert visitor.question == question
    assert visitor.look().question == question
    assert get_application().runs.recent_runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("question", ["🎉🎉🎉", "👩‍👩‍👧 ?!", "$$$", "` ` `", "…"])
def test_a_question_without_a_word_is_refused_and_stays_in_the_box(visit: Visit, question: str) -> None:
    visitor = visit().ask(question)
    assert visitor.errors == [english("problem.no words")]
    assert visitor.question == question
    assert get_application().runs.recent_runs() == []


def test_a_question_without_a_source_is_refused_and_stays_in_the_box(visit: Visit) -> None:
    visitor = visit()
    visitor.at.button_group(key="sources").set_value([])
    visitor.ask(EN)
    assert visitor.errors == [english("ask.no_sources")]
    assert visitor.question == EN
    assert get_application().runs.recent_runs() == []


@pytest.mark.slow
def test_a_refused_question_can_be_corrected(visit: Visit) -> None:
    visitor = visit().ask("?!")
    assert visitor.ask(EN).wait().blocks("quote")


USUAL = ("places", "database", "library")  # without a key

# Questions with marks in them


@pytest.mark.slow
@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_a_question_with_marks_is_asked_and_shown_as_it_is(visit: Visit, question: str) -> None:
    visitor = visit().ask(question).wait()
    (run,) = get_application().runs.recent_runs()
    assert run.question == question
    assert run.status == "done"
    assert visitor.words.splitlines()[0] == " ".join(question.split())
    assert " ".join(question.split()) in visitor.go("history").words


@pytest.mark.slow
@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_the_plan_of_a_question_with_marks_shows_it_as_it_is(visit: Visit, question: str) -> None:
    visitor = visit().ask(question, "plan_first")
    assert " ".join(question.split()) in visitor.words
    assert len(visitor.table("query")) > 0


@pytest.fixture
def documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but documents is asked."""
    monkeypatch.setenv("SIGHTLINE_SOURCES", "library")


# Examples, effort


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("number", range(4))
def test_an_example_fills_the_box_and_has_an_answer(visit: Visit, lang: str, number: int) -> None:
    visitor = visit(lang=lang)
    example = visitor.at.button(key=f"example_{number}").label
    visitor.press(f"example_{number}")
    assert visitor.question == example
    assert get_application().runs.recent_runs() == []
    visitor.press("start").wait()
    tables = [block for block in visitor.blocks("text") if block["node"]["t"] == "table"]
    assert visitor.blocks("quote") or tables


@pytest.mark.slow
def test_the_effort_chosen_holds_for_the_run_and_for_the_next_question(visit: Visit) -> None:
    visitor = visit()
    visitor.at.slider(key="queries").set_value(5)
    visitor.at.slider(key="loops").set_value(1)
    visitor.ask(EN).wait()
    assert get_application().runs.recent_runs()[0].options == RunOptions(queries=5, loops=1, sources=USUAL)
    visitor.press("new")
    assert visitor.at.slider(key="queries").value == 5
    assert visitor.at.slider(key="loops").value == 1


def test_the_settings_are_the_effort_unless_it_is_chosen(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBER_OF_INITIAL_QUERIES", "7")
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "4")
    visit().ask(EN).wait()
    assert get_application().runs.recent_runs()[0].options == RunOptions(queries=7, loops=4, sources=USUAL)


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("web", [False, True])
def test_the_sources_are_those_where_there_is_something_unless_they_are_chosen(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, web: bool, own: bool
) -> None:
    if web:
        monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:9")
    if own:
        list(get_application().library.add_files([("a.md", b"# Tower\n\nThe tower is open all day.")]))
    expected = {
        (False, False): ["places", "database", "library"],  # the samples
        (False, True): ["places", "database", "library"],
        (True, False): ["web", "places", "database"],
        (True, True): ["web", "places", "database", "library"],
    }[web, own]
    visitor = visit()
    assert get_application().default_options().sources == tuple(expected)
    assert visitor.at.button_group(key="sources").value == expected
    names = "GEMINI_API_KEY, TAVILY_API_KEY, SEARXNG_URL"
    assert (english("ask.no_web", names=names) in visitor.words) == (not web)


def test_the_sources_chosen_hold_for_the_run_and_for_the_next_question(visit: Visit) -> None:
    visitor = visit()
    visitor.at.button_group(key="sources").set_value(["web", "library"])
    visitor.ask(EN).wait()
    assert get_application().runs.recent_runs()[0].options.sources == ("web", "library")
    assert visitor.press("new").at.button_group(key="sources").value == ["web", "library"]


def test_without_a_round_of_search_nothing_is_searched_and_the_page_says_so(visit: Visit) -> None:
    visitor = visit()
    visitor.at.slider(key="loops").set_value(0)
    visitor.ask(EN).wait()
    (run,) = get_application().runs.recent_runs()
    assert (run.options.loops, run.status) == (0, "done")
    assert visitor.answer is not None
    assert visitor.answer["lead"].startswith("No search was made for “")
    assert visitor.answer["lead"].endswith("which does not mean that the sources lack it.")
    assert get_application().runs.store.searches(run.id) == []
    assert "0 rounds · 0 searches" in visitor.words
    assert "Round 1" not in visitor.words


# Conversations


def test_a_follow_up_goes_on_with_the_conversation(visit: Visit) -> None:
    visitor = visit(lang="zh").ask("故宫博物院的门票多少钱？").wait()
    (first,) = get_application().runs.recent_runs()
    visitor.at.chat_input(key=f"follow_up_{first.id[:8]}").set_value("那周几闭馆呢？")
    visitor.look().wait()
    second = next(run for run in get_application().runs.recent_runs() if run.id != first.id)
    assert (second.follows, second.conversation) == (first.id, first.conversation)
    assert any("周一" in block["text"] for block in visitor.blocks("quote"))
    links = {link.proto.label: link.proto.query_string for link in visitor.at.get("page_link")}
    assert links["故宫博物院的门票多少钱？"].partition("&")[0] == f"run={first.id}"


def test_an_empty_follow_up_is_not_asked(visit: Visit) -> None:
    visitor = visit(lang="zh").ask("故宫博物院的门票多少钱？").wait()
    (first,) = get_application().runs.recent_runs()
    visitor.at.chat_input(key=f"follow_up_{first.id[:8]}").set_value(" \n ")
    visitor.look()
    assert [run.id for run in get_application().runs.recent_runs()] == [first.id]


def test_a_refused_follow_up_is_in_the_box_again(visit: Visit) -> None:
    visitor = visit(lang="zh").ask("故宫博物院的门票多少钱？").wait()
    (first,) = get_application().runs.recent_runs()
    key = f"follow_up_{first.id[:8]}"
    visitor.at.chat_input(key=key).set_value("？！")
    assert visitor.look().errors == [WORDS["problem.no words"][0]]
    box = visitor.at.chat_input(key=key).proto
    assert (box.set_value, box.value) == (True, "？！")
    assert [run.id for run in get_application().runs.recent_runs()] == [first.id]


# Models


def fields(visitor: Visitor) -> list[str]:
    return [field.key or "" for field in visitor.at.text_input]


def test_without_a_model_the_form_offers_none_and_says_that_none_is_used(visit: Visit) -> None:
    visitor = visit()
    assert fields(visitor) == []
    assert english("ask.keyless") in visitor.words
    visitor.ask(EN).wait()
    assert get_application().runs.recent_runs()[0].options.model == ""


def test_with_models_the_form_offers_another_one_and_says_who_writes(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit()
    assert fields(visitor) == ["model"]
    assert english("ask.models", write="openai:gpt-fake") in visitor.words
    assert english("ask.keyless") not in visitor.words
    assert server.calls() == 0


@pytest.mark.slow
def test_a_model_answers_in_text_whose_citations_open_passages(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit().ask(EN).wait()
    cites = [cite for b in visitor.blocks("text") for s in b["spans"].values() for cite in s["cites"]]
    assert cites
    assert all(cite["before"] + cite["quote"] + cite["after"] for cite in cites)
    assert not visitor.answer or not visitor.answer["draft"]
    assert "openai:gpt-fake" in visitor.words
    assert re.search(r"[\d,]+ tokens · price unknown", visitor.words)
    assert set(visitor.table("calls")["stage"]) == {english(f"stage.{stage}") for stage in ("plan", "reflect", "write")}


@pytest.mark.slow
def test_the_model_chosen_writes_and_is_there_for_the_next_question(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit()
    visitor.at.text_input(key="model").set_value("  openai:qwen3-8b ")
    visitor.ask(EN).wait()
    assert get_application().runs.recent_runs()[0].options.model == "openai:qwen3-8b"
    assert f"{english('answer.by')}: openai:qwen3-8b" in visitor.words
    assert visitor.press("new").at.text_input(key="model").value == "openai:qwen3-8b"


@pytest.mark.slow
def test_an_answer_is_on_the_page_while_it_is_written(visit: Visit, server: FakeOpenAI) -> None:
    server.fail("write", "slow:0.5")
    visitor = visit().ask(EN).until(english("step.writing"))
    stop = f"stop_{visitor.run_id[:8]}"
    while visitor.answer is None:
        assert stop in visitor.buttons
        visitor.look()
    assert visitor.answer["draft"]
    assert visitor.blocks("text")
    visitor.press(stop).wait()
    assert english("run.stopped_help") in visitor.words


@pytest.mark.slow
def test_a_model_that_refuses_a_level_of_thinking_is_named_and_answers_all_the_same(
    visit: Visit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeGemini() as gemini:
        gemini.refuses = {"thinking"}
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        monkeypatch.setenv("ANSWER_MODEL", "gemini:without-levels")
        monkeypatch.setenv("GEMINI_THINKING", "write=low")
        visitor = visit().ask(EN).wait()
        told = "gemini:without-levels does not support thinking level low; sent without it"
        assert visitor.words.count(told) == 1
        close_application()


def test_a_wait_that_a_model_asks_for_is_told_with_its_reason(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_MODEL_ATTEMPTS", "2")
    server.fail("plan", "429:25")
    quota, wait = english("reason.quota"), "25 s"
    told = english("step.again", what="openai:gpt-fake", why=quota, wait=wait)
    visitor = visit().ask(EN).until(told)
    visitor.press(f"stop_{visitor.run_id[:8]}").wait()
    assert told not in visitor.words


@pytest.mark.slow
def test_an_answer_that_cannot_be_written_leaves_what_was_found_and_is_written_on_request(
    visit: Visit, server: FakeOpenAI
) -> None:
    server.fail("write", "503")
    visitor = visit().ask(EN).wait()
    (run,) = get_application().runs.recent_runs()
    assert run.status == "failed"
    (error,) = visitor.errors
    told = english("report.failed.unavailable", service="OpenAI (gpt-fake)")
    assert error == english("run.failed_help", error=told)
    assert english("answer.failure_details") in visitor.words  # where the server's own words are
    assert "could not write an answer" in visitor.blocks("notice")[0]["text"]
    assert visitor.blocks("quote")
    before = get_application().runs.store.searches(run.id)
    server.fail("write", "ok")
    visitor.press(f"resume_{run.id[:8]}").wait()
    assert visitor.blocks("text")
    assert visitor.errors == []
    assert get_application().runs.store.searches(run.id) == before
    assert server.calls("plan") == 1


# Failures


def test_what_fails_at_any_stage_is_listed_with_its_reason_and_what_helps(visit: Visit, server: FakeOpenAI) -> None:
    server.fail("plan", "404")
    server.fail("reflect", "400context")
    server.fail("write", "400key")
    visitor = visit()
    visitor.at.button_group(key="sources").set_value(["web", "library"])
    visitor.ask(EN).wait()
    (warning,) = (shown(item.value) for item in visitor.at.warning)
    assert english("answer.failures", n=4) in warning
    for stage, hint in (("plan", "model"), ("reflect", "context"), ("write", "key")):
        told = english(f"report.failed.refused {hint}", service="OpenAI (gpt-fake)")
        assert f"{english(f'stage.{stage}')}: {told}" in warning
    assert f"{english('source.web')}: a setting is missing (GEMINI_API_KEY" in warning
    assert "openai:" not in warning and "HTTP" not in warning
    assert KEY not in visitor.words


@pytest.mark.slow
def test_a_summary_that_fails_is_not_taken_for_a_search_that_failed(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fail("summarise", "503")
    row = {"title": "Tickets", "url": "https://example.org/a", "content": "A ticket costs 60 yuan."}
    with FakeSearXNG(results=[row]) as searxng:
        monkeypatch.setenv("SEARXNG_URL", searxng.base_url)
        visitor = visit()
        visitor.at.slider(key="queries").set_value(1)
        visitor.at.slider(key="loops").set_value(1)
        visitor.ask(EN).wait()
    (warning,) = (shown(item.value) for item in visitor.at.warning)
    told = english("report.failed.unavailable", service="OpenAI (gpt-fake)")
    assert f"{english('stage.summarise')}: {told}" in warning
    assert f"{english('source.web')} ({english('source.searxng')})" in visitor.words
    assert visitor.blocks("text")


@pytest.mark.slow
def test_failures_are_told_in_chinese_too(visit: Visit, server: FakeOpenAI) -> None:
    server.fail("write", "400key")
    visitor = visit(lang="zh").ask(ZH).wait()
    (warning,) = (shown(item.value) for item in visitor.at.warning)
    told = WORDS["report.failed.refused key"][0].format(service="OpenAI（gpt-fake）")
    assert f"{WORDS['stage.write'][0]}：{told}" in warning


# Limits


def test_the_limits_of_the_form_are_those_of_the_run_and_of_the_next_question(visit: Visit) -> None:
    visitor = visit()
    for name, value in (("searches", 1), ("tokens", 20_000), ("cost", 0.05), ("seconds", 90.0)):
        visitor.at.number_input(key=f"max_{name}").set_value(value)
    visitor.ask(EN).wait()
    (run,) = get_application().runs.recent_runs()
    assert run.options.model_dump(include={"searches", "tokens", "cost", "seconds"}) == {
        "searches": 1, "tokens": 20_000, "cost": 0.05, "seconds": 90.0,
    }  # fmt: skip
    assert len(get_application().runs.store.searches(run.id)) == 1
    assert "limit is 1 search," in visitor.blocks("notice")[0]["text"]
    (warning,) = (shown(item.value) for item in visitor.at.warning)
    assert "not run (1 search)" in warning
    assert visitor.press("new").at.number_input(key="max_searches").value == 1


def test_the_limits_that_are_set_for_all_runs_are_in_the_form(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_MAX_SEARCHES", "6")
    monkeypatch.setenv("SIGHTLINE_MAX_COST", "0.25")
    visitor = visit()
    values = {box.key: box.value for box in visitor.at.number_input}
    assert values == {"max_searches": 6, "max_tokens": 0, "max_cost": 0.25, "max_seconds": 0.0}


def test_what_a_run_will_use_is_told_beside_its_effort(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit()
    assert re.search(r"Estimate: \d+ searches · [\d,]+ tokens · price unknown · ", visitor.words)
    visitor.at.slider(key="queries").set_value(9)
    visitor.at.slider(key="loops").set_value(1)
    assert "Estimate: 9 searches · " in visitor.look().words
    visitor.at.button_group(key="sources").set_value([])
    assert "Estimate:" not in visitor.look().words


@pytest.mark.slow
@pytest.mark.usefixtures("documents")
def test_each_limit_of_a_run_has_a_meter_while_it_runs_and_after(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "20")
    visitor = visit()
    visitor.at.number_input(key="max_searches").set_value(6)
    visitor.at.number_input(key="max_tokens").set_value(50_000)
    visitor.ask(EN).until("searching…")
    meters = [bar.proto.text for bar in visitor.at.get("progress")]
    assert meters == ["Searches 2/6", "Tokens 0/50k"]
    visitor.press(f"write_{visitor.run_id[:8]}").wait()
    meters = [bar.proto.text for bar in visitor.at.get("progress")]
    assert meters == ["Searches 0/6", "Tokens 0/50k"]
    other = visit().ask(EN).until("searching…")
    assert other.at.get("progress") == []
    other.press(f"stop_{other.run_id[:8]}").wait()


# The plan first


@pytest.mark.usefixtures("documents")
def test_the_plan_can_be_seen_before_anything_is_searched(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first")
    table = visitor.table("query")
    assert list(table["source"]) == ["library"] * len(table)
    assert all("Palace Museum" in query for query in table["query"])
    assert get_application().runs.recent_runs() == []


@pytest.mark.slow
def test_a_plan_that_was_seen_first_starts_as_it_stands(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first")
    planned = list(visitor.table("query")["query"])
    assert visitor.press("start_draft").wait().blocks("quote")
    (run,) = get_application().runs.recent_runs()
    assert [search["query"] for search in get_application().runs.store.searches(run.id)] == planned


@pytest.mark.slow
def test_a_plan_that_was_seen_first_starts_with_the_effort_of_the_form(visit: Visit) -> None:
    visitor = visit()
    visitor.at.slider(key="loops").set_value(6)
    visitor.ask(EN, "plan_first").look().press("start_draft").wait()
    assert get_application().runs.recent_runs()[0].options.loops == 6


@pytest.mark.slow
def test_a_plan_can_be_left_for_a_new_question(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first").press("leave_draft")
    assert "example_0" in visitor.buttons
    assert get_application().runs.recent_runs() == []


@pytest.mark.usefixtures("documents")
def test_a_plan_is_still_there_after_a_look_at_another_page(visit: Visit) -> None:
    visitor = visit().ask(EN, "plan_first").go("library").go("ask")
    assert len(visitor.table("query")) == 2


def test_the_plan_of_a_model_shows_its_queries_and_starts(visit: Visit, server: FakeOpenAI) -> None:
    visitor = visit().ask(EN, "plan_first")
    planned = list(visitor.table("query")["query"])
    assert len(planned) == 3
    assert all(planned)
    visitor.press("start_draft").wait()
    (run,) = get_application().runs.recent_runs()
    searched = [search["query"] for search in get_application().runs.store.searches(run.id)]
    assert searched[:3] == planned
    assert server.calls("plan") == 1


# Approval


@pytest.mark.slow
@pytest.mark.usefixtures("documents")
def test_a_run_waits_for_approval_of_its_plan_and_starts_with_what_was_chosen(visit: Visit) -> None:
    visitor = visit()
    visitor.at.toggle(key="approve").set_value(True)
    visitor.ask(EN).wait()
    (run,) = get_application().runs.recent_runs()
    assert run.status == "waiting"
    assert english("run.waiting_help") in visitor.words
    assert get_application().runs.store.searches(run.id) == []
    assert EN[:20] in visitor.go("history").words
    other = visit(run=run.id)  # a second browser
    assert len(other.table("query")) == 2
    other.at.number_input(key="max_searches").set_value(1)
    other.look().press(f"approve_{run.id[:8]}").wait()
    assert other.blocks("quote")
    (run,) = get_application().runs.recent_runs()
    assert (run.status, run.options.searches) == ("done", 1)
    assert len(get_application().runs.store.searches(run.id)) == 1
    assert visit(run=run.id).answer == other.answer


# Open sources


@pytest.mark.slow
def test_open_sources_are_searched_after_one_click_and_not_before(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = {"title": "Eiffel Tower", "extract": "The Eiffel Tower was completed in 1889."}
    with FakeWikipedia(results={"en": [page]}) as wiki:
        monkeypatch.setenv("WIKIPEDIA_URL", wiki.base_url)
        for name in ("OPENALEX", "CROSSREF", "ARXIV", "PUBMED", "NOMINATIM", "OVERPASS"):
            monkeypatch.setenv(f"{name}_URL", nowhere())
        question = "When was the Eiffel Tower completed?"
        visitor = visit().ask(question).wait()
        assert wiki.log == []
        visitor.press("new").press("open_sources")
        assert "open_sources" not in visitor.buttons
        visitor.ask(question).wait()
        assert wiki.log
        assert "web" in get_application().runs.recent_runs()[0].options.sources
        assert "1889" in str(visitor.blocks("quote"))


# Asking back, and being told


UNCLEAR = {"ask_back": "Which <b>year</b>?", "choices": ["2023", "2024"]}


@pytest.mark.slow
def test_what_is_asked_back_is_answered_with_a_click(visit: Visit, server: FakeOpenAI) -> None:
    server.brain.values["plan"] = UNCLEAR
    visit().ask(EN).wait()
    (run,) = get_application().runs.recent_runs()
    assert (run.status, server.calls("search"), server.calls("write")) == ("waiting", 0, 0)
    other = visit(run=run.id)  # a second browser, or the same after a restart
    assert "Which <b>year</b>?" in other.words
    assert not any("<b>" in text.value for text in other.at.markdown)  # it is escaped
    assert {"2023", "2024"} <= {button.label for button in other.at.button}
    other.press(f"choice_1_{run.id[:8]}").wait()
    assert get_application().runs.recent_runs()[0].status == "done"
    prompt = next(call.prompt for call in server.log if call.stage == "write")
    assert "Which <b>year</b>? 2024" in prompt
    assert server.calls("plan") == 2
    assert "2024" in " ".join(caption.value for caption in other.at.caption)
    assert all("ask_back" not in call.prompt for call in server.log[1:])  # never twice


@pytest.mark.slow
def test_what_is_asked_back_is_answered_in_own_words_or_skipped(visit: Visit, server: FakeOpenAI) -> None:
    server.brain.values["plan"] = UNCLEAR
    visitor = visit().ask(EN).wait()
    run = get_application().runs.recent_runs()[0]
    visitor.at.text_input(key=f"clarified_{run.id[:8]}").set_value("both of them")
    visitor.press(f"clarify_send_{run.id[:8]}").wait()
    assert any("both of them" in call.prompt for call in server.log if call.stage == "write")
    visitor = visit().ask(EN).wait()
    run, planned = get_application().runs.recent_runs()[0], server.calls("plan")
    visitor.press(f"clarify_skip_{run.id[:8]}").wait()
    assert (get_application().runs.recent_runs()[0].status, server.calls("plan")) == ("done", planned)


@pytest.mark.slow
def test_nothing_is_asked_back_where_that_is_turned_off(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_CLARIFY", "off")
    server.brain.values["plan"] = UNCLEAR
    visit().ask(EN).wait()
    assert get_application().runs.recent_runs()[0].status == "done"
    assert all("ask_back" not in call.prompt for call in server.log)


@pytest.mark.slow
def test_a_run_under_way_is_told_something(visit: Visit, server: FakeOpenAI) -> None:
    server.latency = 1.5
    visitor = visit().ask(EN).look()
    run = get_application().runs.recent_runs()[0]
    visitor.at.text_input(key=f"instruction_{run.id[:8]}").set_value("only after 2024")
    visitor.press(f"instruct_send_{run.id[:8]}")
    server.latency = 0.0
    visitor.wait()
    report = get_application().runs.report(run.id)
    assert report and [one.text for one in report.instructions] == ["only after 2024"]
    assert report.instructions[0].applied
    prompt = next(call.prompt for call in server.log if call.stage == "write")
    assert "only after 2024" in prompt
    told = english("step.heeded", text="only after 2024")
    assert told in [caption.value for caption in visitor.at.caption]


# The answer


@pytest.mark.usefixtures("documents")
def test_an_answer_has_a_passage_behind_every_quote(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    quotes = visitor.blocks("quote")
    assert quotes
    for quote in quotes:
        assert quote["cites"]
        for cite in quote["cites"]:
            assert cite["quote"] == quote["text"]
            assert urlsplit(cite["url"]).hostname == cite["host"]
            assert cite["visit"] == english("answer.also")  # a note of the sample is its own source


@pytest.mark.usefixtures("documents")
def test_the_sources_are_numbered_from_one_and_each_is_cited(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    cited = [cite["n"] for block in visitor.blocks("quote") for cite in block["cites"]]
    table = visitor.table("times")
    assert list(table["number"]) == list(range(1, len(table) + 1))
    assert list(dict.fromkeys(cited)) == list(table["number"])
    assert [cited.count(number) for number in table["number"]] == list(table["times"])


@pytest.mark.usefixtures("documents")
def test_an_answer_can_be_taken_away_as_markdown_and_as_json(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    labels = [button.label for button in visitor.at.get("download_button")]
    assert labels[0] == "Download Markdown"
    assert "Data (JSON)" in labels


@pytest.mark.usefixtures("documents")
def test_an_answer_leads_with_what_was_found_and_what_was_not(visit: Visit) -> None:
    asked = "What are the toilets and the parking fees of the Palace Museum?"
    visitor = visit().ask(asked).wait()
    assert visitor.answer is not None
    assert visitor.answer["lead"].startswith("Evidence found on 1 of 2 parts, in 1 source; nothing")
    assert "toilets" in visitor.answer["lead"]
    assert visitor.blocks("missing") == []
    assert [block["text"] for block in visitor.blocks("heading")] == ["the parking fees of the Palace Museum"]


@pytest.mark.usefixtures("documents")
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
    assert any("闭馆" in quote["text"] for quote in visitor.blocks("quote"))


@pytest.mark.slow
@pytest.mark.usefixtures("documents")
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
    report = get_application().runs.report(visitor.run_id)
    assert report is not None
    assert report.findings
    assert all(finding.reused for finding in report.findings)
    assert report.run.based_on == first


def test_one_more_round_is_a_run_of_its_own_that_repeats_nothing(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    first = visitor.run_id
    visitor.press(f"more_{first[:8]}").wait()
    assert visitor.run_id != first
    assert visitor.blocks("quote")
    store = get_application().runs.store
    before = {row["key"] for row in store.searches(first)}
    report = get_application().runs.report(visitor.run_id)
    assert report is not None
    assert {f.task.key for f in report.findings if f.reused} == before
    assert report.run.based_on == first


@pytest.mark.slow
def test_a_run_that_was_opened_by_its_address_can_be_run_again(visit: Visit) -> None:
    first = visit().ask(EN).wait().run_id
    other = visit(run=first)
    other.press(f"again_start_{first[:8]}").wait()
    assert other.run_id != first
    assert other.blocks("quote")


# Addresses


@pytest.mark.slow
def test_a_run_is_in_the_address_and_opens_by_it(visit: Visit) -> None:
    visitor = visit().ask(EN).wait()
    assert visitor.run_id == get_application().runs.recent_runs()[0].id
    assert visit(run=visitor.run_id).answer == visitor.answer


def test_an_unknown_run_id_is_told_and_a_question_can_be_asked(visit: Visit) -> None:
    visitor = visit(run="no-such-run")
    assert english("ask.no_run") in visitor.words
    assert visitor.ask(EN).wait().blocks("quote")


def test_a_run_of_another_owner_is_not_shown(visit: Visit) -> None:
    get_application().runs.store.add_run(ended("theirs", owner="somebody"), None, "")
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


@pytest.mark.slow
def test_a_run_under_way_is_the_same_for_every_visitor(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "20")
    visitor = visit().ask(EN).until("searching…")
    stop = f"stop_{visitor.run_id[:8]}"
    assert stop in visitor.buttons
    other = visit(run=visitor.run_id)
    assert stop in other.buttons
    elsewhere = visit("library")
    assert english("nav.active") in elsewhere.words
    assert EN[:20] in elsewhere.words
    assert len(get_application().runs.recent_runs()) == 1


@pytest.mark.slow
def test_a_stopped_run_says_so_and_goes_on_when_asked_to(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "0.3")
    visitor = visit().ask(EN).until("searching…")
    visitor.press(f"stop_{visitor.run_id[:8]}").wait()
    assert get_application().runs.recent_runs()[0].status == "stopped"
    assert english("run.stopped_help") in visitor.words
    visitor.press(f"resume_{visitor.run_id[:8]}").wait()
    assert visitor.blocks("quote")
    assert get_application().runs.recent_runs()[0].status == "done"


@pytest.mark.slow
def test_a_run_can_be_ended_with_what_it_has_found(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "20")
    visitor = visit().ask(EN).until("searching…")
    visitor.press(f"write_{visitor.run_id[:8]}").wait()
    assert get_application().runs.recent_runs()[0].status == "done"
    assert "ended early, as you asked" in visitor.blocks("notice")[0]["text"]
    assert english("step.ended") in visitor.words
    assert "· 0 searches ·" in visitor.words
    assert english("reason.left out") in visitor.words


@pytest.mark.slow
def test_a_stopped_run_can_still_write(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "20")
    visitor = visit().ask(EN).until("searching…")
    visitor.press(f"stop_{visitor.run_id[:8]}").wait()
    assert get_application().runs.recent_runs()[0].status == "stopped"
    visitor.press(f"write_{visitor.run_id[:8]}").wait()
    assert get_application().runs.recent_runs()[0].status == "done"
    assert "ended early, as you asked" in visitor.blocks("notice")[0]["text"]


def ended(run_id: str, owner: str = "local") -> Run:
    return Run(
        id=run_id, conversation=run_id, owner=owner, question=EN, options=RunOptions(),
        status="running", created=datetime.now(UTC),
    )  # fmt: skip


def test_a_run_whose_program_is_gone_is_interrupted_and_resumes(visit: Visit) -> None:
    get_application().runs.store.add_run(ended("cutoff"), None, "0" * 32)
    visitor = visit(run="cutoff")
    assert english("run.interrupted") in visitor.words
    assert english("run.interrupted_help") in visitor.words
    assert visitor.press("resume_cutoff").wait().blocks("quote")


def test_a_run_that_fails_says_why_and_can_be_resumed(visit: Visit, folder: Path) -> None:
    store = get_application().runs.store
    store.add_run(ended("broken"), None, "0" * 32)
    store.append_events("broken", [], "failed", "Trouble with <b>$x$</b>")
    visitor = visit(run="broken")
    assert visitor.errors == ["The run failed: Trouble with <b>$x$</b>"]
    assert "resume_broken" in visitor.buttons


def test_a_failure_without_a_reason_says_so(visit: Visit, folder: Path) -> None:
    store = get_application().runs.store
    store.add_run(ended("broken"), None, "0" * 32)
    store.append_events("broken", [], "failed", "")
    assert visit(run="broken").errors == ["The run failed: no reason recorded"]


# Languages


def test_the_page_speaks_the_language_of_the_browser(visit: Visit) -> None:
    assert WORDS["ask.title"][0] in visit(locale="zh-CN").words
    assert WORDS["ask.title"][1] in visit(locale="de-DE").words


@pytest.mark.slow
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
    visitor.at.button_group(key="lang").set_value("en")
    assert WORDS["sources.title"][1] in visitor.look().words


@pytest.mark.slow
def test_a_run_that_waits_for_its_turn_says_how_many_are_ahead(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_SEARCH_DELAY", "60")
    monkeypatch.setenv("SIGHTLINE_MAX_RUNS_EACH", "1")
    visit().ask(EN)
    second = visit().ask(EN)
    assert f"{english('run.turn_own')} {english('run.turn_next')}" in second.words
    third = visit(locale="zh-CN").ask(EN)
    assert WORDS["run.turn_after"][0].format(n=1) in third.words
    third.press(f"stop_{get_application().runs.recent_runs()[0].id[:8]}")
    until(lambda: get_application().runs.recent_runs()[0].status == "stopped")
    for run in get_application().runs.recent_runs():
        get_application().runs.stop(run.id)


@pytest.mark.slow
def test_a_plan_that_is_discarded_searches_nothing_and_can_be_taken_up_again(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_APPROVE_PLAN", "on")
    visitor = visit().ask(EN)
    run = get_application().runs.recent_runs()[0]
    until(lambda: get_application().runs.recent_runs()[0].status == "waiting")
    visitor.look()
    visitor.press(f"discard_{run.id[:8]}")
    assert get_application().runs.recent_runs()[0].status == "stopped"
    assert english("run.resume") in [button.label for button in visitor.at.button]
