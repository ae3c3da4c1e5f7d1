"""Reports on the news when something goes wrong: what is still written, what is said, what is asked
again. Real clients talk to a fake model and a fake Tavily of this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from research import number_report_answer
from research.core.errors import ServiceError
from research.core.records import Report
from research.core.settings import load_settings
from tests.fakes import until
from tests.runtime.newsroom import (
    SECTION,
    TOPIC,
    Newsroom,
    distinct,
    failures,
    markdown,
    of,
    over,
    room,
    text,
)
from tests.servers import Server
from tests.servers.news import FakeTavilyNews, rows_about
from tests.servers.openai import FakeOpenAI

AT_ONCE = {"headers": {"Retry-After": "0"}}  # lets itself be asked again without a pause


@pytest.fixture(scope="module")
def serving() -> Iterator[Server]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def news() -> Iterator[FakeTavilyNews]:
    with FakeTavilyNews(results=rows_about) as server:
        yield server


@pytest.fixture
def newsroom(tmp_path: Path, serving: Server, news: FakeTavilyNews) -> Iterator[Newsroom]:
    for made in room(tmp_path, serving, news):
        outline(made, "A", "B")
        yield made


def outline(newsroom: Newsroom, *names: str, **search: str) -> None:
    """Has the model plan a section for each name."""
    newsroom.brain.values["outline"] = {
        "sections": [
            {"title": f"Part {name}", "content": f"On {name}", "query": f"tower {name}", **search} for name in names
        ]
    }


def follow(newsroom: Newsroom, *queries: str) -> None:
    """Has the model look up the same for each section that it judges."""
    newsroom.brain.values["reconsider"] = {
        "is_sufficient": False,
        "knowledge_gap": "More is to be found.",
        "follow_ups": [{"query": query} for query in queries],
    }


def says(newsroom: Newsroom, stage: str, said: object) -> None:
    """Has the model say exactly this, whatever it was asked for."""
    message = {"role": "assistant", "content": said if isinstance(said, str) else json.dumps(said)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    newsroom.model.replay(
        stage, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )  # fmt: skip


def prompts(newsroom: Newsroom, words: str = "") -> list[str]:
    return [call.prompt for call in newsroom.model.log if words in call.prompt]


DETAILS = "What the services answered:"


def listed(report: Report) -> list[str]:
    """The lines of the report that say what failed, without what the services said themselves."""
    return [line for line in told(report)[0].splitlines() if line.startswith("- ")]


def told(report: Report) -> tuple[str, str]:
    """The part of the report on what failed: in words for people, and as the services said it."""
    section = markdown(report).partition("## Failed steps\n")[2].partition("\n## ")[0]
    words, _, details = section.partition(DETAILS)
    return words, details


def queries(newsroom: Newsroom) -> list[str]:
    """The queries in the order in which they came over the wire."""
    return [body["query"] for body in newsroom.tavily.bodies]


def handles(prompt: str) -> list[str]:
    return re.findall(r"^\[@([0-9a-f]{4,8})\]", prompt, re.M)


# One search fails

# How Tavily fails; how often it is asked; the reason, the hint, and what the report says.
FAULTS: dict[str, tuple[dict[str, Any], int, str, str, tuple[str, ...]]] = {
    "wrong key": (
        {"status": 401, "error": {"detail": {"error": "Unauthorized"}}}, 1,
        "refused", "key", ("News refused the key.", "HTTP 401"),
    ),
    "forbidden": (
        {"status": 403, "error": {"detail": {"error": "closed to you"}}}, 1,
        "refused", "", ("News refused the request.", "HTTP 403: closed to you"),
    ),
    "rate": (
        {"status": 429, "error": {"detail": {"error": "Too many requests."}}, **AT_ONCE}, 2,
        "quota", "", ("The quota of News is used up.", "HTTP 429: Too many requests."),
    ),
    "plan limit": (
        {"status": 432, "error": {"detail": {"error": "Upgrade."}}}, 1,
        "quota", "", ("The quota of News is used up.", "HTTP 432: the plan's limit is reached"),
    ),
    "pay as you go": (
        {"status": 433, "error": {"detail": {"error": "Raise it."}}}, 1,
        "quota", "", ("The quota of News is used up.", "HTTP 433: the pay-as-you-go limit is reached"),
    ),
    "error": (
        {"status": 500, "error": {"detail": {"error": "Oops."}}, **AT_ONCE}, 2,
        "unavailable", "", ("News is out of service at the moment.", "HTTP 500: Oops."),
    ),
    "overloaded": (
        {"status": 503, **AT_ONCE}, 2,
        "unavailable", "", ("News is out of service at the moment.", "HTTP 503"),
    ),
    "page": (
        {"fault": "html"}, 1,
        "malformed", "endpoint", ("Tavily sent something other than the reply", "text/html"),
    ),
    "half": ({"fault": "broken"}, 1, "malformed", "endpoint", ("Tavily sent something other than the reply",)),
    "nothing": ({"fault": "empty"}, 1, "malformed", "endpoint", ("Tavily sent something other than the reply",)),
    "broken off": ({"fault": "drops"}, 2, "unreachable", "", ("Tavily could not be reached.",)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_search_that_fails_costs_its_section_only_and_the_report_says_why(name: str, newsroom: Newsroom) -> None:
    fault, requests, reason, hint, words = FAULTS[name]
    newsroom.tavily.odd["tower B"] = fault
    report = newsroom.write(reflections=0)
    assert len(newsroom.tavily.asked("tower B")) == requests
    (failure,) = failures(report)
    assert (failure.query, failure.reason, failure.hint) == ("tower B", reason, hint)
    assert len(listed(report)) == 1
    said = "".join(told(report))
    assert all(word in said for word in ("“tower B”", *words)), said
    assert len(of(report, "tower A")[0].evidence) == 7
    assert any(span.references for span in report.answer.spans if span.part == "s1")  # type: ignore[union-attr]
    assert text(report, "s2").startswith("The searches for this section failed")
    assert not any(span.references for span in report.answer.spans if span.part == "s2")  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_server_that_hangs_costs_its_section_only_and_the_report_says_so(
    newsroom: Newsroom,
) -> None:
    newsroom.tavily.odd["tower B"] = {"fault": "hangs"}
    report = newsroom.write(desk=newsroom.open(search_timeout=4.0), reflections=0)
    assert [(f.query, f.reason) for f in failures(report)] == [("tower B", "timeout")]
    (line,) = listed(report)
    assert "did not answer in time" in line
    assert text(report, "s2").startswith("The searches for this section failed")
    assert any(span.references for span in report.answer.spans if span.part == "s1")  # type: ignore[union-attr]


def test_nothing_found_is_said_and_is_no_failure(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower B"] = {"results": []}
    report = newsroom.write(reflections=0)
    assert failures(report) == ()
    assert text(report, "s2") == "The searches for this section found nothing, so it was not written."
    assert "“tower B” — news (Tavily); nothing found" in markdown(report)
    assert len(prompts(newsroom, SECTION)) == 1  # nobody was asked to write about nothing


def test_each_kind_of_failure_reads_differently(newsroom: Newsroom) -> None:
    names = ["wrong key", "plan limit", "pay as you go", "rate", "error", "page", "broken off"]
    outline(newsroom, *"ABCDEFGHI")
    for letter, name in zip("ABCDEFG", names, strict=True):
        newsroom.tavily.odd[f"tower {letter}"] = FAULTS[name][0]
    newsroom.tavily.odd["tower H"] = {"results": []}
    report = newsroom.write(sections=9, reflections=0)
    details = [line for line in told(report)[1].splitlines() if line.startswith("- ")]
    assert len(details) == len(set(details)) == 7
    kinds = {"refused the key", "quota", "out of service", "other than the reply", "not be reached"}
    assert len(listed(report)) == len(kinds)
    assert all(any(kind in line for line in listed(report)) for kind in kinds)
    fates = [text(report, f"s{n}") for n in range(1, 10)]
    assert len(set(fates[:7])) == 1 and fates[7] not in fates[:7]
    assert len(of(report, "tower I")[0].evidence) == 7


def test_a_failure_of_a_shared_search_is_listed_once(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["what all lack"] = {"status": 432}
    follow(newsroom, "what all lack")
    report = newsroom.write(reflections=1)
    assert len(newsroom.tavily.asked("what all lack")) == 1
    assert [f.query for f in failures(report)] == ["what all lack"]
    assert all(any(s.references for s in report.answer.spans if s.part == p) for p in ("s1", "s2"))  # type: ignore[union-attr]


def test_a_long_pause_is_not_waited_for(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower B"] = {"status": 429, "headers": {"Retry-After": "600"}}
    desk, run = newsroom.begin(reflections=0)
    report = over(desk, run.id)
    assert len(newsroom.tavily.asked("tower B")) == 1
    assert "possible again in 600 s" in "".join(told(report))
    assert not [event for event in desk.runs.events(run.id) if event.kind == "retry_scheduled"]


def test_a_short_pause_is_waited_for_and_told(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower B"] = FAULTS["overloaded"][0]
    desk, run = newsroom.begin(reflections=0)
    over(desk, run.id)
    (told,) = [event.data for event in desk.runs.events(run.id) if event.kind == "retry_scheduled"]
    assert (told.stage, told.reason, told.service) == ("search", "unavailable", "tavily")


# Odd results


def test_a_relative_date_counts_from_the_retrieval(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower B"] = {
        "results": [row | {"published_date": "3 hours ago"} for row in rows_about({"query": "tower B"})]
    }
    (finding,) = of(newsroom.write(reflections=0), "tower B")
    assert len(finding.evidence) == 5
    for item in finding.evidence:
        assert item.published == (item.retrieved - timedelta(hours=3)).date()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("date", "day"),
    [
        (None, None),
        ("", None),
        ("20 Nov", None),
        ("2026-13-45", None),
        (1763000000, None),
        ("Wed, 18 Nov 2026 23:30:00 GMT", "2026-11-18"),
        ("2026-11-18", "2026-11-18"),
        ("2026-11-18T23:30:00Z", "2026-11-18"),
        ("2026-11-19T01:30:00+08:00", "2026-11-18"),
        ("2026/11/18", "2026-11-18"),
        ("2026年11月18日", "2026-11-18"),
    ],
)
def test_a_date_is_a_date_or_nothing_and_what_has_none_is_counted(
    date: object, day: str | None, newsroom: Newsroom
) -> None:
    newsroom.tavily.odd["tower B"] = {
        "results": [row | {"published_date": date} for row in rows_about({"query": "tower B"})]
    }
    report = newsroom.write(reflections=0)
    (finding,) = of(report, "tower B")
    assert [item.published.isoformat() if item.published else None for item in finding.evidence] == [day] * 5
    counted = "without a date: 5 of 5"
    assert (counted in finding.message) == (counted in markdown(report)) == (day is None)
    assert failures(report) == ()


def test_results_without_titles_texts_or_addresses_are_used_as_far_as_they_go(
    newsroom: Newsroom,
) -> None:
    whole = rows_about({"query": "tower B"})[0]
    newsroom.tavily.odd["tower B"] = {
        "results": [
            {"url": "https://a.example/1", "title": None, "content": "It opens."},
            {"url": "https://a.example/2", "title": "It opens", "content": None},
            whole,
            {"url": None, "title": "lost", "content": "lost"},
            {"title": "lost", "content": "lost"},
            {"url": "javascript:alert(1)", "title": "lost", "content": "lost"},
            dict.fromkeys(whole),
            None,
        ]
    }
    report = newsroom.write(reflections=0)
    (finding,) = of(report, "tower B")
    assert [item.title for item in finding.evidence] == ["a.example", "It opens", whole["title"]]
    assert "without a usable address: 4 of 7" in markdown(report)
    assert "javascript:" not in markdown(report)


def test_one_address_that_two_sections_find_is_one_source_with_one_number(
    newsroom: Newsroom,
) -> None:
    row = rows_about({"query": "tower"})[0]
    for letter in "AB":
        url = f"{row['url']}?utm_source={letter}"
        newsroom.tavily.odd[f"tower {letter}"] = {"results": [row | {"url": url}]}
    report = newsroom.write(reflections=0)
    assert len({item.id for item in report.evidence}) == 1
    answer = number_report_answer(report)
    assert answer and [source.number for source in answer.sources] == [1]


# All fail


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wrong key", "plan limit", "overloaded", "page", "broken off"])
def test_where_all_searches_fail_the_report_says_so_and_nothing_is_invented(name: str, newsroom: Newsroom) -> None:
    fault, requests, reason, _, words = FAULTS[name]
    newsroom.tavily.odd["tower"] = fault
    report = newsroom.write(reflections=2)
    assert len(newsroom.tavily.log) == 2 * requests
    assert [(f.query, f.reason) for f in failures(report)] == [
        ("tower A", reason), ("tower B", reason),
    ]  # fmt: skip
    assert all(word in "".join(told(report)) for word in words)
    assert report.answer and report.evidence == () and report.answer.cited_span_count == 0
    assert {span.kind for span in report.answer.spans if "## " not in span.text} == {"missing"}
    assert text(report, "s1") == text(report, "s2")
    assert "That does not mean there is nothing." in text(report)
    assert [call.stage for call in newsroom.model.log] == ["outline"]  # nobody wrote anything
    assert "not written by a model" in report.answer.author


def test_where_nothing_is_found_at_all_the_report_says_so_and_nothing_is_invented(
    newsroom: Newsroom,
) -> None:
    newsroom.tavily.odd["tower"] = {"results": []}
    newsroom.brain.sufficient_after = 1
    report = newsroom.write(reflections=1)
    assert report.answer and report.answer.cited_span_count == 0 and failures(report) == ()
    assert set(text(report).split(".")) == {
        "The searches for this section found nothing, so it was not written", ""
    }  # fmt: skip
    assert not prompts(newsroom, SECTION)


def test_a_chinese_report_says_it_in_chinese(newsroom: Newsroom) -> None:
    newsroom.tavily.odd["tower A"] = FAULTS["plan limit"][0]
    newsroom.tavily.odd["tower B"] = {"results": []}
    report = newsroom.write("雷峰塔重新开放", reflections=0)
    assert text(report, "s1").startswith("这一节的搜索失败")
    assert text(report, "s2").startswith("这一节没有搜索到任何内容")
    assert "额度已用完" in markdown(report)


def test_without_a_key_a_report_looks_in_the_library_and_news_says_which_setting_is_missing(
    newsroom: Newsroom,
) -> None:
    desk = newsroom.open(tavily_key=SecretStr(""))
    assert desk.services.report_options().sources == ("library",)
    report = newsroom.write(desk=desk, sources=("news",), reflections=1)
    assert {(f.reason, f.hint) for f in failures(report)} == {("no key", "key")}
    line = listed(report)[0].replace("\\_", "_")
    assert "a setting is missing (TAVILY_API_KEY" in line
    assert text(report, "s1").startswith("The searches for this section failed")
    assert newsroom.tavily.log == []  # the keyless allowance is not touched


# Again


def test_a_report_that_goes_on_repeats_only_the_searches_that_failed(newsroom: Newsroom) -> None:
    follow(newsroom, "first more", "second more", "third more")
    newsroom.tavily.odd |= {
        "second more": {"status": 503, **AT_ONCE}, "third more": {"fault": "hangs"},
    }  # fmt: skip
    desk, run = newsroom.begin(reflections=1)
    until(lambda: len([e for e in desk.runs.events(run.id) if e.kind == "task_finished"]) == 4)
    until(lambda: newsroom.tavily.asked("third more"))
    desk.runs.stop(run.id)
    over(desk, run.id, "stopped")
    before, asked = len(queries(newsroom)), newsroom.model.calls()
    newsroom.tavily.odd = {}
    assert desk.runs.resume(run.id)
    report = over(desk, run.id)
    assert sorted(queries(newsroom)[before:]) == ["second more", "third more"]
    assert failures(report) == ()
    later = newsroom.model.log[asked:]
    assert sum(SECTION in call.prompt for call in later) == 2  # each section once more, no more
    assert not [call for call in later if call.stage in ("outline", "reconsider")]
    assert {len(f.evidence) for f in report.findings} == {7}


def test_a_report_made_again_repeats_only_the_searches_that_failed_and_writes_their_sections(
    newsroom: Newsroom,
) -> None:
    newsroom.tavily.odd["tower B"] = FAULTS["overloaded"][0]
    desk = newsroom.open(cache_hours=0)
    first = newsroom.write(desk=desk, reflections=0)
    assert len(failures(first)) == 1
    before, newsroom.tavily.odd = len(queries(newsroom)), {}
    asked = len(prompts(newsroom, SECTION))
    run = desk.runs.start(TOPIC, options=first.run.options, plan=first.plan, based_on=first.run.id)
    second = over(desk, run.id)
    assert queries(newsroom)[before:] == ["tower B"]
    assert len(prompts(newsroom, SECTION)) == asked + 1  # the other section's text is known
    assert failures(second) == () and text(second, "s1") == text(first, "s1")
    assert any(span.references for span in second.answer.spans if span.part == "s2")  # type: ignore[union-attr]


def test_a_section_that_is_to_tell_something_else_is_written_anew(newsroom: Newsroom) -> None:
    desk = newsroom.open(cache_hours=0)
    first = newsroom.write(desk=desk, reflections=0)
    assert first.plan
    changed = first.plan.parts[0].model_copy(update={"text": "Who paid for it"})
    plan = first.plan.model_copy(update={"parts": (changed, *first.plan.parts[1:])})
    before = len(newsroom.tavily.log)
    run = desk.runs.start(TOPIC, options=first.run.options, plan=plan, based_on=first.run.id)
    over(desk, run.id)
    assert len(newsroom.tavily.log) == before
    assert len([p for p in prompts(newsroom, SECTION) if "Who paid for it" in p]) == 1


def test_a_report_that_is_done_is_not_gone_through_again(newsroom: Newsroom) -> None:
    desk = newsroom.open("kept")
    report = newsroom.write(desk=desk, reflections=1)
    asked, searched = newsroom.model.calls(), len(newsroom.tavily.log)
    desk.close()
    later = newsroom.open("kept")
    again = later.runs.resume(report.run.id)
    assert again and again.status == "done"
    loaded = later.runs.report(report.run.id)
    assert loaded and markdown(loaded) == markdown(report)
    assert [item.published for item in loaded.evidence] == [e.published for e in report.evidence]
    assert (newsroom.model.calls(), len(newsroom.tavily.log)) == (asked, searched)


# What the model gets wrong


def test_prose_before_the_first_bracket_is_in_the_report(newsroom: Newsroom) -> None:
    def section(prompt: str) -> str:
        own = handles(prompt)[0]
        return "### How it came about\n\nThe doors opened at nine. {They} closed at five [@" + own + "].\n"

    newsroom.brain.section = section
    newsroom.brain.answer = lambda prompt: "Before all [it says so](https://elsewhere.example/1)."
    report = newsroom.write(reflections=0)
    made = markdown(report)
    for words in ("How it came about", "The doors opened at nine.", "{They} closed", "Before all"):
        assert words in made
    assert "elsewhere.example" not in made  # nobody found that address


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["truncated", "maxtokens", "prose", "wrongjson", "wrongtypes"])
def test_an_outline_that_cannot_be_read_is_asked_for_again_and_then_the_topic_itself_is_searched(
    fault: str, newsroom: Newsroom
) -> None:
    newsroom.model.fail("outline", fault)
    report = newsroom.write(reflections=0)
    assert newsroom.model.calls("outline") == 2
    assert queries(newsroom) == [TOPIC]
    (failure,) = failures(report)
    assert (failure.stage, failure.reason in ("malformed", "cut off")) == ("plan", True)
    assert report.plan and [part.subject for part in report.plan.parts] == [TOPIC]
    assert len(listed(report)) == 1
    assert '{"' not in text(report)


@pytest.mark.parametrize("fault", ["truncated", "maxtokens"])
def test_an_outline_that_can_be_read_the_second_time_is_used(fault: str, newsroom: Newsroom) -> None:
    newsroom.model.fail("outline", fault, times=1)
    report = newsroom.write(reflections=0)
    assert sorted(queries(newsroom)) == ["tower A", "tower B"]
    assert failures(report) == ()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["truncated", "maxtokens", "wrongjson"])
def test_a_judgement_that_cannot_be_read_makes_up_no_query(fault: str, newsroom: Newsroom) -> None:
    newsroom.model.fail("reconsider", fault)
    report = newsroom.write(reflections=2)
    assert sorted(queries(newsroom)) == ["tower A", "tower B"]
    assert {f.stage for f in failures(report)} == {"reflect"}
    assert '{"' not in text(report)


def test_a_fence_around_json_is_taken_off(newsroom: Newsroom) -> None:
    newsroom.model.fail("outline", "fenced")
    newsroom.model.fail("reconsider", "fenced")
    report = newsroom.write(reflections=1)
    assert {"tower A", "tower B"} < set(queries(newsroom))
    assert failures(report) == ()


def test_a_section_that_is_cut_off_says_so_and_has_no_json_in_it(newsroom: Newsroom) -> None:
    newsroom.model.fail("summarise", "maxtokens", matching=SECTION)
    report = newsroom.write(reflections=0)
    assert "stopped at its length limit" in listed(report)[0]
    assert text(report, "s1").endswith("The answer is incomplete: the model reached its output limit.")
    assert '{"' not in markdown(report)


@pytest.mark.parametrize("said", ['{"paragraph_latest_state": "a very long summ', '```json\n{"text": "said"}\n```'])
def test_a_section_that_comes_as_json_is_asked_for_again_and_never_shown(said: str, newsroom: Newsroom) -> None:
    newsroom.brain.section = said
    report = newsroom.write(reflections=0)
    assert len(prompts(newsroom, SECTION)) == 4
    assert [(f.stage, f.reason) for f in failures(report)] == [("write", "malformed")] * 2
    assert "paragraph_latest_state" not in markdown(report)
    assert text(report, "s1").startswith("The model could not write this section.")
    assert any(s.kind == "quote" for s in report.answer.spans if s.part == "s1")  # type: ignore[union-attr]


def test_a_section_that_comes_as_json_once_is_a_text_the_second_time(newsroom: Newsroom) -> None:
    newsroom.brain.section = lambda prompt: "It opened." if "Your last answer was JSON" in prompt else '{"text": "It op'
    report = newsroom.write(reflections=0)
    assert "It opened." in text(report, "s1")
    assert failures(report) == ()


def test_code_between_fences_within_a_section_is_in_the_report(newsroom: Newsroom) -> None:
    newsroom.brain.section = lambda prompt: (
        f"The notice reads [@{handles(prompt)[0]}]:\n\n```text\nopen: 09:00\nshut: 17:00\n```\n\nSo far.\n"
    )
    report = newsroom.write(reflections=0)
    assert "```text\nopen: 09:00\nshut: 17:00\n```" in markdown(report)
    assert "So far." in markdown(report)


def test_a_section_that_cites_nothing_says_so(newsroom: Newsroom) -> None:
    newsroom.brain.section = "It opened, I am sure."
    report = newsroom.write(reflections=0)
    assert text(report, "s1").startswith("The model cited no source in this section")


def test_a_source_that_the_model_made_up_is_no_link(newsroom: Newsroom) -> None:
    newsroom.brain.section = (
        "It opened [@abcd1234]. See [the paper](https://made-up.example/1) and https://made-up.example/2."
    )
    report = newsroom.write(reflections=0)
    assert "(https://made-up.example" not in markdown(report)
    assert report.answer and report.answer.cited_span_count == 0


# One run is not another


def test_two_reports_in_one_process_have_nothing_in_common(newsroom: Newsroom) -> None:
    desk = newsroom.open()
    outline(newsroom, *"ABCDE")
    newsroom.write("The harbour and its ferries", desk, reflections=1)
    calls = len(newsroom.model.log)
    outline(newsroom, "X", "Y")
    report = newsroom.write("The tower and its bells", desk, reflections=1)
    assert report.plan and [part.subject for part in report.plan.parts] == ["Part X", "Part Y"]
    titles = re.findall(r"^## (Part .*)$", text_with_headings(report), re.M)
    assert titles == ["Part X", "Part Y"]
    later = [call.prompt for call in newsroom.model.log[calls:]]
    assert later and not [p for p in later if "harbour" in p or "tower A" in p or "Part A" in p]
    assert report.answer and report.answer.title == "The tower and its bells"
    assert {f.task.query for f in report.findings}.isdisjoint(f"tower {n}" for n in "ABCDE")


def text_with_headings(report: Report) -> str:
    assert report.answer is not None
    return "".join(span.text for span in report.answer.spans)


@pytest.mark.slow
def test_two_reports_at_once_keep_apart(newsroom: Newsroom) -> None:
    desk = newsroom.open(cache_hours=0)
    topics = ("The tower and its bells", "The harbour and its ferries")
    del newsroom.brain.values["outline"]
    runs = [newsroom.begin(topic, desk, reflections=0)[1] for topic in topics]
    for run, topic in zip(runs, topics, strict=True):
        report = over(desk, run.id)
        assert report.plan and len(report.plan.parts) == 3
        assert all(topic in finding.task.query for finding in report.findings)
        other = topics[topic == topics[0]]
        assert other not in markdown(report)


# Limits and settings


def test_sections_beyond_the_limit_are_cut_and_that_is_said(newsroom: Newsroom) -> None:
    sections = [
        {"title": f"Part {n}", "content": "", "query": f"tower {n}", "search_tool": "",
         "start_date": "", "end_date": ""}
        for n in range(1, 8)
    ]  # fmt: skip
    says(newsroom, "outline", {"sections": sections})
    report = newsroom.write(sections=5, reflections=0)
    assert report.plan and len(report.plan.parts) == 5
    assert len(newsroom.tavily.log) == len(distinct(newsroom.tavily)) == 5
    assert "2 sections beyond the limit were left out" in markdown(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "searches"),
    [
        ("SIGHTLINE_REPORT_SECTIONS", "2", 2 + 2 * 2),
        ("SIGHTLINE_REPORT_SECTIONS", "3", 3 + 3 * 2),
        ("MAX_REFLECTIONS", "0", 3),
        ("MAX_REFLECTIONS", "1", 3 + 3),
        ("SIGHTLINE_MAX_SEARCHES", "4", 4),
        ("NUMBER_OF_INITIAL_QUERIES", "1", 3 + 3 * 2),
        ("NUMBER_OF_INITIAL_QUERIES", "2", 3 + 3 * 4),
    ],
)
def test_each_setting_changes_the_report(
    name: str, value: str, searches: int, newsroom: Newsroom, tmp_path: Path
) -> None:
    env = {
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": newsroom.model.base_url,
        "ANSWER_MODEL": "openai:gpt-fake",
        "TAVILY_API_KEY": "tvly-settings",
        "TAVILY_BASE_URL": newsroom.tavily.base_url,
        name: value,
    }
    settings = load_settings(env, data_dir=tmp_path / "set")
    desk = newsroom.open(**dict(settings))
    del newsroom.brain.values["outline"]
    newsroom.brain.sufficient_after = 9
    newsroom.brain.follow_ups = 2 if name == "NUMBER_OF_INITIAL_QUERIES" else 1
    newsroom.write(desk=desk)
    assert len(newsroom.tavily.log) == len(distinct(newsroom.tavily)) == searches


def test_the_searches_of_all_sections_are_made_side_by_side(serving: Server, tmp_path: Path) -> None:
    with FakeTavilyNews(results=rows_about, waits=0.5) as tavily:
        for newsroom in room(tmp_path, serving, tavily):
            outline(newsroom, *"ABCDE")
            newsroom.write(reflections=0)
        assert tavily.together == 5


def test_no_prompt_wants_a_text_of_some_length(newsroom: Newsroom) -> None:
    newsroom.write(reflections=1)
    said = prompts(newsroom, SECTION)
    assert said and all("The length follows the material." in prompt for prompt in said)
    length = r"(?i)\b\d[\d,]*\s*(?:words|characters|pages|paragraphs)\b|\d+\s*字"
    rules = [str(call.body["messages"][0]["content"]) for call in newsroom.model.log]
    assert rules and not [rule for rule in rules if re.search(length, rule)]


def test_a_search_that_crashes_costs_its_section_only(newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = newsroom.open()
    usual = desk.services.sources["news"].search

    async def search(task: Any, say: Any) -> Any:
        if task.query == "tower B":
            raise ServiceError("blocked", "barred")
        return await usual(task, say)

    monkeypatch.setattr(desk.services.sources["news"], "search", search)
    report = newsroom.write(desk=desk, reflections=0)
    assert [(f.query, f.reason) for f in failures(report)] == [("tower B", "blocked")]
