"""What comparable programs get wrong, on whole runs of ours: each test is a sentence of what is right."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pydantic import SecretStr

from research import Report, number_report_answer, report_json, report_markdown
from research.application import Application
from research.citations.numbering import CitedAnswer, check_numbering
from research.core.records import RunOptions, RunStatus, Span
from research.core.settings import Settings, load_settings
from research.core.text.tokenizer import has_han
from research.models.lifecycle import shut_down_models
from research.models.roles import DEFAULT_MODELS, role_models
from tests.fakes import until
from tests.servers import Call
from tests.servers.gemini import FakeGemini
from tests.servers.ollama import FakeOllama
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeSearXNG

ZH = "雷峰塔是什么时候建成的？"
EN = "When was the tower built?"
Json = dict[str, Any]
_MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


class Desks:
    """Desks whose models are on the fake server, each on a folder of its own unless it is named."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self._open: list[Application] = []

    def open(self, name: str = "", **settings: Any) -> Application:
        given = {
            "data_dir": self._folder / (name or f"desk{len(self._open)}"),
            "gemini_key": SecretStr("k"),
            "gemini_url": self._url,
            "model_attempts": 1,
            "starts_per_minute": 0,
            **settings,
        }
        self._open.append(Application(Settings.model_validate(given)))
        return self._open[-1]

    def close(self) -> None:
        for desk in self._open:
            desk.close()


@pytest.fixture
def desks(tmp_path: Path, gemini: FakeGemini) -> Iterator[Desks]:
    made = Desks(tmp_path, gemini.base_url)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, serving: FakeGemini) -> Iterator[Application]:
    """One desk for all tests that need no settings of their own."""
    made = Desks(tmp_path_factory.mktemp("shared"), serving.base_url)
    yield made.open()
    made.close()


def asked(
    desk: Application,
    question: str = ZH,
    *,
    status: RunStatus = "done",
    follows: str = "",
    **options: Any,
) -> Report:
    """The report of a run once it is over."""
    limits = RunOptions.model_validate({"sources": ("web",), "queries": 3, "loops": 1} | options)
    run = desk.runs.start(question, options=limits, follows=follows)
    return over(desk, run.id, status)


def over(desk: Application, run_id: str, status: RunStatus = "done") -> Report:
    for _ in desk.runs.follow(run_id):
        pass
    report = desk.runs.report(run_id)
    assert report is not None
    assert report.run.status == status, report.run.error
    return report


def numbered(report: Report) -> CitedAnswer:
    """The answer with its numbers, which are always sound."""
    answer = number_report_answer(report)
    assert answer is not None
    assert check_numbering(answer) == []
    return answer


def prompts(gemini: FakeGemini, *stages: str) -> list[str]:
    return [call.prompt for call in gemini.log if call.stage in stages]


def queries(report: Report) -> list[str]:
    return [finding.task.query for finding in report.findings]


def failures(report: Report) -> list[tuple[str, str]]:
    assert report.answer is not None
    return [(failure.stage, failure.reason) for failure in report.answer.failures]


def words(spans: Sequence[Span], kind: str = "text") -> str:
    return "".join(span.text for span in spans if span.kind == kind)


def says(gemini: FakeGemini, stage: str, said: Any, finish: str = "STOP") -> None:
    """Has the model say exactly this, whatever it was asked for."""
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    content = {"role": "model", "parts": [{"text": text}]}
    gemini.replay(stage, {"candidates": [{"content": content, "finishReason": finish}]})


def told(*sentences: tuple[str, Sequence[int]], chunks: int = 3) -> Callable[[str], Any]:
    """What every search finds: sentences, each with the numbers of the chunks that support it."""
    supports, at = [], 0
    for text, supporting in sentences:
        end = at + len(text.encode())
        segment = {"startIndex": at, "endIndex": end, "text": text}
        supports.append({"segment": segment, "groundingChunkIndices": list(supporting)})
        at = end
    found = [{"web": {"uri": f"https://site{n}.example.org/", "title": f"site{n}.example.org"}} for n in range(chunks)]
    metadata = {"groundingChunks": found, "groundingSupports": supports}
    return lambda query: ([text for text, _ in sentences], metadata)


def copying(prompt: str) -> str:
    """A model that copies each supported sentence of the material with its handles."""
    material = prompt.split("<<<material", 1)[1]
    return "\n\n".join(re.findall(r"[^\n\]]+(?:\[@[0-9a-f]{4,8}\])+", material.split("\n[@")[0]))


# Loop and state


@pytest.mark.slow
@pytest.mark.parametrize("loops", [0, 1, 2, 3, 5, 10])
@pytest.mark.parametrize("question", [ZH, EN])
def test_as_many_rounds_are_searched_as_were_asked_for(
    shared: Application, gemini: FakeGemini, loops: int, question: str
) -> None:
    gemini.brain.sufficient_after = 99
    report = asked(shared, question, loops=loops, queries=2)
    rounds = [finding.task.round for finding in report.findings]
    assert sorted(set(rounds)) == list(range(1, loops + 1))
    assert gemini.calls("search") == len(rounds) == (2 + loops - 1 if loops else 0)
    assert gemini.calls("reflect") == len(report.reflections) == max(0, loops - 1)
    assert gemini.calls("write") == 1


@pytest.mark.parametrize("count", range(1, 11))
def test_as_many_queries_are_searched_as_were_asked_for(shared: Application, gemini: FakeGemini, count: int) -> None:
    report = asked(shared, queries=count)
    assert gemini.calls("search") == len(set(queries(report))) == count


@pytest.mark.parametrize(("loops", "searches"), [(3, 3), (5, 5)])
def test_a_round_searches_only_its_own_new_queries(
    shared: Application, gemini: FakeGemini, loops: int, searches: int
) -> None:
    gemini.brain.sufficient_after = 99
    report = asked(shared, queries=1, loops=loops)
    assert gemini.calls("search") == searches
    assert len(set(queries(report))) == searches


def test_every_question_of_a_conversation_costs_the_same(shared: Application, gemini: FakeGemini) -> None:
    turns, last = [], ""
    for _ in range(6):
        before = len(gemini.log)
        last = asked(shared, queries=2, loops=2, follows=last).run.id
        turns.append(gemini.log[before:])
    assert [[call.stage for call in turn].count("search") for turn in turns] == [3] * 6
    assert [[call.stage for call in turn].count("reflect") for turn in turns] == [1] * 6
    lengths = [sum(len(call.prompt) for call in turn) for turn in turns]
    assert max(lengths[3:]) < 1.1 * lengths[2]


def test_no_evidence_of_an_earlier_question_is_in_the_prompts_of_the_next(
    shared: Application, gemini: FakeGemini
) -> None:
    gemini.brain.grounded = told(("The first finding.", (0,)))
    asked(shared, "What came first?")
    before = len(gemini.log)
    gemini.brain.grounded = told(("The second finding.", (1,)))
    asked(shared, "What came second?")
    later = "".join(call.prompt for call in gemini.log[before:])
    assert "The second finding." in later
    assert "The first finding." not in later and "What came first" not in later


def test_what_an_earlier_answer_cites_is_once_in_the_prompt_of_a_follow_up(
    shared: Application, gemini: FakeGemini
) -> None:
    gemini.brain.grounded = told(("The first finding.", (0,)), ("Nobody cites this.", (1,)))
    gemini.brain.answer = lambda prompt: "Said " + copying(prompt).split("\n")[0]
    first = asked(shared, "What came first?").run.id
    before = len(gemini.log)
    gemini.brain.grounded = told(("The second finding.", (1,)))
    asked(shared, "What came second?", follows=first)
    (written,) = [call.prompt for call in gemini.log[before:] if call.stage == "write"]
    material = written.split("Material:")[1]
    assert material.count("The first finding.") == 1
    assert "What came first?" in written.split("Material:")[0]


def test_a_source_has_one_id_for_the_whole_of_a_conversation(shared: Application, gemini: FakeGemini) -> None:
    reports: list[Report] = []
    for question in (ZH, EN, ZH):
        reports.append(asked(shared, question, follows=reports[-1].run.id if reports else ""))
    known: dict[str, str] = {}
    for report in reports:
        for item in report.evidence:
            assert known.setdefault(item.id, item.url) == item.url
        for source in numbered(report).sources:
            assert known[source.evidence.id] == source.evidence.url
            assert source.evidence.id in {item.id for item in report.evidence}
    assert len(known) == len(set(known.values())) == 3 * 3 * 2


def test_the_list_of_sources_is_what_is_cited_each_once(shared: Application, gemini: FakeGemini) -> None:
    gemini.brain.grounded = told(("One.", (0,)), ("Two.", (0, 1)), chunks=5)
    gemini.brain.answer = copying
    report = asked(shared, loops=2)
    sources = [source.evidence.url for source in numbered(report).sources]
    assert sources == ["https://site0.example.org/", "https://site1.example.org/"]


def test_not_sufficient_without_a_query_goes_to_the_answer_with_the_gap_named(
    shared: Application, gemini: FakeGemini
) -> None:
    says(
        gemini,
        "reflect",
        {"is_sufficient": False, "knowledge_gap": "还缺高度", "follow_up_queries": []},
    )
    report = asked(shared, loops=5)
    assert gemini.calls("reflect") == gemini.calls("write") == 1
    assert words(numbered(report).answer.spans, "missing") == "仍然缺少：还缺高度"
    assert "还缺高度" in report_markdown(report, number_report_answer(report))


def test_without_a_query_the_question_itself_is_searched_and_that_is_recorded(
    shared: Application, gemini: FakeGemini
) -> None:
    says(gemini, "plan", {"route": "search", "queries": []})
    report = asked(shared)
    assert queries(report) == [ZH]
    assert report.plan is not None
    assert "直接搜索问题本身" in report.plan.notes[0]
    assert report.plan.notes[0] in report_markdown(report, number_report_answer(report))


def test_forty_queries_are_cut_to_those_that_were_asked_for(shared: Application, gemini: FakeGemini) -> None:
    says(gemini, "plan", {"route": "search", "queries": [f"塔 {n}" for n in range(40)]})
    says(
        gemini,
        "reflect",
        {"is_sufficient": False, "follow_up_queries": [f"钟 {n}" for n in range(40)]},
    )
    report = asked(shared, loops=2)
    assert queries(report) == [f"塔 {n}" for n in range(3)] + [f"钟 {n}" for n in range(3)]
    assert gemini.calls("search") == 6


def test_a_follow_up_that_was_searched_before_is_not_searched_again(shared: Application, gemini: FakeGemini) -> None:
    says(gemini, "plan", {"route": "search", "queries": ["雷峰塔 高度", "雷峰塔 历史"]})
    again = ["雷峰塔，高度？", "雷峰塔　历史"]
    says(
        gemini,
        "reflect",
        {"is_sufficient": False, "knowledge_gap": "高度", "follow_up_queries": again},
    )
    report = asked(shared, loops=5)
    assert gemini.calls("search") == 2
    assert "高度" in words(numbered(report).answer.spans, "missing")


def test_searches_are_counted_once(shared: Application, gemini: FakeGemini) -> None:
    for loops, count in ((1, 3), (2, 4)):
        report = asked(shared, loops=loops)
        events = [event.kind for event in shared.runs.events(report.run.id)]
        calls = [usage for usage in report.usage if usage.stage == "search"]
        assert events.count("task_started") == events.count("task_finished") == len(calls) == count
        assert [usage.searches for usage in calls] == [2] * count  # what Google ran for each


def test_nothing_is_reflected_on_in_the_last_round(shared: Application, gemini: FakeGemini) -> None:
    gemini.brain.sufficient_after = 99
    asked(shared, loops=1)
    assert gemini.calls("reflect") == 0
    asked(shared, loops=3)
    assert gemini.calls("reflect") == 2


@pytest.mark.parametrize("model", ["", "  "])
def test_a_blank_model_of_a_run_is_none(shared: Application, gemini: FakeGemini, model: str) -> None:
    report = asked(shared, model=model)
    assert numbered(report).answer.author == f"gemini:{DEFAULT_MODELS['write']}"


def test_what_is_asked_for_beats_the_environment_which_beats_the_default(desks: Desks, gemini: FakeGemini) -> None:
    env = {"GEMINI_API_KEY": "k", "ANSWER_MODEL": "from-the-environment", "REFLECTION_MODEL": " "}
    settings = load_settings(env, data_dir=Path("unused"))
    assert settings.model("reflect") == ""
    desk = desks.open(write_model=settings.write_model, reflect_model=settings.reflect_model)
    asked(desk, loops=2)
    asked(desk, model="asked-for", loops=2)
    used = [(call.stage, named(call)) for call in gemini.log if call.stage in ("reflect", "write")]
    assert used == [
        ("reflect", DEFAULT_MODELS["reflect"]), ("write", "from-the-environment"),
        ("reflect", "asked-for"), ("write", "asked-for"),
    ]  # fmt: skip


def named(call: Call) -> str:
    """The model that a request is for."""
    return call.path.rpartition("/")[2].partition(":")[0]


def test_without_a_key_there_is_a_desk_that_answers(desks: Desks, gemini: FakeGemini) -> None:
    desk = desks.open(gemini_key=SecretStr(""))
    assert desk.services.models is None
    assert desk.sources["web"].readiness().state == "missing"
    report = asked(desk, "When was the Summer Palace built?", sources=("library",), loops=2)
    assert numbered(report).answer.quote_count > 0
    assert gemini.log == []


# Grounding and citations

SCRIPTS = {
    "Chinese": ("故宫博物院建立于1925年。", "藏品超过186万件。", "旺季门票60元。"),
    "accents": ("Café Zürich opened in 1925. ", "It serves crème brûlée. ", "It is closed on Mondays."),
    "emoji": ("🏛️👩‍👩‍👧 始建于1925年。", "🇨🇳 每天开放。", "门票💰60元。"),
}  # fmt: skip


@pytest.mark.parametrize("sentences", SCRIPTS.values(), ids=SCRIPTS)
def test_citations_stand_at_the_ends_of_their_sentences_in_any_script(
    shared: Application, gemini: FakeGemini, sentences: tuple[str, ...]
) -> None:
    gemini.brain.grounded = told(*((text, (n,)) for n, text in enumerate(sentences)))
    gemini.brain.answer = copying
    report = asked(shared, ZH if has_han("".join(sentences)) else "When is the Café Zürich open?")
    for finding in report.findings:
        assert [span.text for span in finding.summary] == list(sentences)
        assert [len(span.references) for span in finding.summary] == [1, 1, 1]
    answer = numbered(report)
    assert [span.numbers for span in answer.spans] == [(1,), (2,), (3,)]
    for span, sentence in zip(answer.spans, sentences, strict=True):
        assert span.span.text.strip() == sentence.strip()


def test_offsets_of_a_part_count_within_that_part(shared: Application, gemini: FakeGemini) -> None:
    texts, metadata = ["前言。", "事实如此。"], told(("x", (0,)))("")[1]
    segment = {"partIndex": 1, "endIndex": len("事实如此".encode()), "text": "事实如此"}
    metadata["groundingSupports"] = [{"segment": segment, "groundingChunkIndices": [0]}]
    gemini.brain.grounded = lambda query: (texts, metadata)
    finding = asked(shared).findings[0]
    assert [(span.text, len(span.references)) for span in finding.summary] == [
        ("前言。事实如此", 1),
        ("。", 0),
    ]


@pytest.mark.parametrize("fault", ["gm_none", "gm_empty", "gm_queries_only", "gm_nulls", "gm_emptychunks"])
def test_a_search_without_sources_keeps_its_text_and_says_so(
    shared: Application, gemini: FakeGemini, fault: str
) -> None:
    gemini.fail("search", fault)
    report = asked(shared)
    for finding in report.findings:
        assert (finding.reason, finding.evidence) == ("empty", ())
        assert "no sources returned" in finding.message
    answer = numbered(report).answer
    assert "1925年" in words(answer.spans)
    assert all(span.unsourced for span in answer.spans if span.kind == "text")
    assert "没有标明哪句话出自哪个来源" in words(answer.spans, "notice")


def test_one_search_without_sources_costs_the_others_nothing(shared: Application, gemini: FakeGemini) -> None:
    gemini.fail("search", "gm_none", matching="数据")
    report = asked(shared)
    assert [finding.reason for finding in report.findings].count("empty") == 1
    assert numbered(report).sources


def test_sources_without_supports_are_named_and_no_marker_is_set(shared: Application, gemini: FakeGemini) -> None:
    gemini.fail("search", "gm_chunks_only")
    report = asked(shared)
    answer = numbered(report)
    assert answer.sources == ()
    assert "museum.example.org" in words(answer.answer.spans, "notice")
    assert "museum.example.org" in report_markdown(report, answer)
    assert len(json.loads(report_json(report, answer))["evidence"]) == 9


@pytest.mark.parametrize(
    ("fault", "reason", "why"),
    [("safety", "blocked", "SAFETY"), ("recitation", "blocked", "RECITATION"),
     ("maxtokensempty", "cut off", "limit of output"), ("promptblock", "blocked", "SAFETY"),
     ("noparts", "malformed", "STOP"), ("empty", "malformed", "no candidate"),
     ("emptylist", "malformed", "no candidate")],
)  # fmt: skip
def test_a_search_without_a_text_failed_and_says_why(
    shared: Application, gemini: FakeGemini, fault: str, reason: str, why: str
) -> None:
    gemini.fail("search", fault, matching="数据")
    report = asked(shared)
    (lost,) = [finding for finding in report.findings if finding.reason]
    assert lost.reason == reason
    assert why in lost.message
    assert failures(report) == [("search", reason)]
    assert numbered(report).sources


def test_chunks_of_other_kinds_and_empty_ones_leave_the_rest_in_place(shared: Application, gemini: FakeGemini) -> None:
    texts, metadata = told(*((f"{n}号。", (n,)) for n in range(5)), chunks=5)("")
    metadata["groundingChunks"][1:4] = [
        {}, {"maps": {"uri": "https://maps.example.org/", "title": "The gate"}},
        {"retrievedContext": {"uri": "gs://files/a.pdf", "title": "A file"}},
    ]  # fmt: skip
    gemini.brain.grounded = lambda query: (texts, metadata)
    gemini.brain.answer = copying
    answer = numbered(asked(shared))
    by_text = {span.span.text.strip(): span.numbers for span in answer.spans}
    titles = {source.number: source.evidence.title for source in answer.sources}
    assert {text: titles[numbers[0]] for text, numbers in by_text.items() if numbers} == {
        "0号。": "site0.example.org", "1号。2号。": "The gate", "3号。": "A file", "4号。": "site4.example.org",
    }  # fmt: skip


TITLES = [
    "en.wikipedia.org", "www.gov.cn", "3.5 million… cnn.com", "故宫博物院官网", "localhost", None, "",
    "a] b.com", "[x](https://evil.example/)", "a\x1b[31m\x00b.com", "长" * 2_000,
]  # fmt: skip


def test_no_citation_is_lost_for_its_title_and_no_title_breaks_a_link(shared: Application, gemini: FakeGemini) -> None:
    count = len(TITLES)
    texts, metadata = told(*((f"第{n}句。", (n,)) for n in range(count)), chunks=count)("")
    for chunk, title in zip(metadata["groundingChunks"], TITLES, strict=True):
        chunk["web"]["title"] = title
    gemini.brain.grounded = lambda query: (texts, metadata)
    gemini.brain.answer = copying
    report = asked(shared)
    answer = numbered(report)
    assert [span.numbers for span in answer.spans] == [(n,) for n in range(1, count + 1)]
    text = report_markdown(report, answer)
    for n in range(count):
        assert text.count(f"](https://site{n}.example.org/)") == 1
    assert hrefs(text) == {f"https://site{n}.example.org/" for n in range(count)}


def test_of_thirty_sources_none_is_taken_for_another(shared: Application, gemini: FakeGemini) -> None:
    gemini.brain.grounded = told(*((f"第{n}件事。", (n,)) for n in range(30)), chunks=30)
    gemini.brain.answer = copying
    answer = numbered(asked(shared))
    sources = {source.number: source.evidence for source in answer.sources}
    assert len(sources) == 30
    for n, span in enumerate(answer.spans):
        assert span.span.text.strip() == f"第{n}件事。"
        assert [sources[number].url for number in span.numbers] == [f"https://site{n}.example.org/"]


@pytest.mark.parametrize("mark", ["[@beef]", "[id/9-9]", "[1]", "https://made.up.example/a"])
def test_what_the_model_invents_is_shown_as_no_source(shared: Application, gemini: FakeGemini, mark: str) -> None:
    gemini.brain.answer = lambda prompt: f"{copying(prompt)}\n\nAnd it is red {mark}."
    report = asked(shared, EN)
    answer = numbered(report)
    assert answer.sources and any(span.unsourced for span in answer.spans)
    text = report_markdown(report, answer)
    assert "And it is red. (no source)" in text
    assert not any(trace in text for trace in ("made.up", "id/9", "beef"))


def test_a_redirect_is_shown_with_its_domain_and_day_and_said_to_expire(
    shared: Application, gemini: FakeGemini
) -> None:
    report = asked(shared, EN)
    answer = numbered(report)
    assert all(source.evidence.url_expires for source in answer.sources)
    line = next(x for x in report_markdown(report, answer).splitlines() if x.startswith("1. ["))
    assert "museum.example.org" in line and "expires" in line
    assert answer.sources[0].evidence.retrieved.date().isoformat() in line


def test_search_suggestions_come_with_the_answer(shared: Application, gemini: FakeGemini) -> None:
    report = asked(shared)
    answer = numbered(report).answer
    assert [finding.suggestions for finding in report.findings] == list(answer.suggestions)
    assert all("chip" in html for html in answer.suggestions)


@pytest.mark.parametrize(
    ("question", "language", "asked_for", "heading"),
    [(ZH, "zh", "in Chinese", "## 来源"), (EN, "en", "in English", "## Sources")],
)
def test_question_prompts_answer_and_report_speak_one_language(
    shared: Application, gemini: FakeGemini, question: str, language: str, asked_for: str, heading: str
) -> None:
    report = asked(shared, question, loops=2)
    answer = numbered(report)
    assert answer.answer.language == language
    asking = prompts(gemini, "plan", "reflect", "write")
    assert len(asking) == 3
    assert [prompt.count(asked_for) for prompt in asking] == [1, 1, 1]
    assert all("in the language of the query" in prompt for prompt in prompts(gemini, "search"))
    text = report_markdown(report, answer)
    assert heading in text
    assert ("1925年建立" in text) == (language == "zh")


def hrefs(markdown: str) -> set[str]:
    """The addresses that a Markdown text links to."""
    tokens = [token for block in _MARKDOWN.parse(markdown) for token in block.children or ()]
    return {str(token.attrGet("href")) for token in tokens if token.type == "link_open"}


# Models and errors


def test_no_default_model_is_gone_and_a_missing_one_is_named_with_its_setting(
    shared: Application, gemini: FakeGemini
) -> None:
    assert not set(DEFAULT_MODELS.values()) & set(shut_down_models())
    specs = role_models(load_settings({"GEMINI_API_KEY": "k"}, data_dir=Path("unused")))
    assert {role: spec.name for role, spec in specs.items()} == DEFAULT_MODELS
    gemini.fail("any", "404")
    messages = " ".join(f.message for f in numbered(asked(shared)).answer.failures)
    assert "QUERY_GENERATOR_MODEL" in messages and "WEB_SEARCH_MODEL" in messages
    gemini.fail("any", "ok")
    gemini.fail("write", "404")
    report = asked(shared, status="failed")
    assert "ANSWER_MODEL" in report.run.error
    assert report.answer is not None
    assert [failure.hint for failure in report.answer.failures] == ["model"]


def test_thoughts_and_several_parts_are_no_part_of_the_answer_nor_in_its_way(
    shared: Application, gemini: FakeGemini
) -> None:
    parts = [
        {"text": "**Thinking about it**", "thought": True},
        {"text": "It was built in 1925. ", "thoughtSignature": "c2ln"},
        {"text": "It is old."},
    ]
    content = {"role": "model", "parts": parts}
    gemini.replay("write", {"candidates": [{"content": content, "finishReason": "STOP"}]})
    report = asked(shared, EN)
    assert words(numbered(report).answer.spans) == "It was built in 1925. It is old."


@pytest.mark.parametrize("fault", ["429bare", "503", "reset", "html502", "badjson"])
def test_of_three_searches_two_are_used_and_the_third_is_listed_with_its_reason(
    shared: Application, gemini: FakeGemini, fault: str
) -> None:
    gemini.fail("search", fault, matching="数据")
    report = asked(shared)
    assert [bool(finding.evidence) for finding in report.findings].count(True) == 2
    (failure,) = numbered(report).answer.failures
    assert "数据" in failure.query and failure.reason and failure.message
    assert numbered(report).sources
    assert "数据" in report_markdown(report, number_report_answer(report)).split("## 计划")[0]


def test_a_moment_of_trouble_is_got_over_by_asking_again(desks: Desks, gemini: FakeGemini) -> None:
    for stage in ("plan", "search", "write"):
        gemini.fail(stage, "503", times=1)
    report = asked(desks.open(model_attempts=2))
    assert failures(report) == []
    assert (gemini.calls("plan"), gemini.calls("search"), gemini.calls("write")) == (2, 4, 2)


@pytest.mark.parametrize("fault", ["429bare", "500", "midreset"])
def test_an_answer_that_failed_costs_no_evidence_and_trying_again_only_writes(
    shared: Application, gemini: FakeGemini, fault: str
) -> None:
    gemini.fail("write", fault, times=1)
    report = asked(shared, status="failed")
    assert report.answer is not None and report.answer.placeholder
    assert len(report.findings) == 3 and all(finding.evidence for finding in report.findings)
    assert "quote" in {span.kind for span in report.answer.spans} or words(report.answer.spans)
    before = [call.stage for call in gemini.log]
    shared.runs.resume(report.run.id)
    done = over(shared, report.run.id)
    assert [call.stage for call in gemini.log][len(before) :] == ["write"]
    assert done.answer is not None and not done.answer.placeholder
    assert numbered(done).sources and done.findings == report.findings


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["prose", "wrongjson", "wrongtypes", "truncated"])
@pytest.mark.parametrize("stage", ["plan", "reflect"])
def test_json_that_is_none_is_asked_for_again_and_then_done_without_on_record(
    shared: Application, gemini: FakeGemini, fault: str, stage: str
) -> None:
    gemini.fail(stage, fault, times=1)
    assert failures(asked(shared, loops=2)) == []
    gemini.fail(stage, fault)
    report = asked(shared, loops=2)
    assert failures(report) == [(stage, "malformed")]
    assert gemini.calls(stage) == 4
    assert numbered(report).sources
    assert (queries(report) == [ZH]) == (stage == "plan") or stage == "reflect"


def test_a_truncated_answer_is_marked_as_cut(shared: Application, gemini: FakeGemini) -> None:
    gemini.fail("write", "maxtokens")
    report = asked(shared)
    assert "答案未写完" in words(numbered(report).answer.spans, "notice")
    assert failures(report) == [("write", "cut off")]
    assert "答案未写完" in report_markdown(report, number_report_answer(report))


def test_a_truncated_plan_is_not_repaired_into_another(shared: Application, gemini: FakeGemini) -> None:
    says(gemini, "plan", '{"route": "search", "queries": ["西湖"]}', finish="MAX_TOKENS")
    report = asked(shared)
    assert queries(report) == [ZH]
    assert failures(report) == [("plan", "cut off")]


# Other research agents


def test_an_error_in_any_round_is_named_and_the_rest_goes_on(shared: Application, gemini: FakeGemini) -> None:
    gemini.brain.sufficient_after = 99
    gemini.fail("search", "500", matching="补充资料 1.1")
    report = asked(shared, loops=4)
    assert [finding.reason for finding in report.findings if finding.task.round == 2] == ["unavailable"]
    assert {finding.task.round for finding in report.findings} == {1, 2, 3, 4}
    assert failures(report) == [("search", "unavailable")]


def test_a_page_that_two_searches_found_serves_both_and_is_one_source(shared: Application, gemini: FakeGemini) -> None:
    def one_page(query: str) -> tuple[list[str], Json]:
        texts, metadata = told((f"{query}：如此。", (0,)), chunks=1)(query)
        return texts, metadata

    gemini.brain.grounded = one_page
    gemini.brain.answer = lambda prompt: " ".join(
        f"So {handle}." for handle in dict.fromkeys(re.findall(r"\[@[0-9a-f]{4,8}\]", prompt))
    )
    report = asked(shared)
    assert all(len(finding.evidence) == 1 for finding in report.findings)
    (source,) = numbered(report).sources
    assert len(source.evidence.passages) == 3


_watched: list[str] | None = None


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _watched is not None and event in ("socket.connect", "socket.getaddrinfo"):
        _watched.append(str(args[1][0] if event == "socket.connect" else args[0]))


sys.addaudithook(_watch)


def test_a_run_speaks_to_nobody_but_the_services_that_are_set(desks: Desks, gemini: FakeGemini) -> None:
    global _watched
    desk = desks.open()
    _watched = []
    try:
        asked(desk, loops=2)
        reached = set(_watched)
    finally:
        _watched = None
    assert reached == {"127.0.0.1"}


def test_a_support_cites_one_place_however_often_its_words_occur(shared: Application, gemini: FakeGemini) -> None:
    texts, metadata = told(("**", ()), ("是", ()), ("**", (0,)), ("是**是**", ()))("")
    gemini.brain.grounded = lambda query: (texts, metadata)
    (first, *rest) = asked(shared).findings[0].summary
    assert (first.text, len(first.references)) == ("**是**", 1)
    assert not any(span.references for span in rest)


ANSWERS: dict[str, Callable[[list[str]], str]] = {
    "in order": lambda h: " ".join(f"So {mark}." for mark in h),
    "backwards": lambda h: " ".join(f"So {mark}." for mark in reversed(h)),
    "all at once": lambda h: f"So {''.join(h)}.",
    "again and again": lambda h: " ".join(f"So {h[n % 3]}{h[0]}." for n in range(20)),
    "with others": lambda h: f"So {h[1]}[9]. Or {h[0]}[@beef]. See [600] and {h[1]}.",
    "one of many": lambda h: f"So {h[-1]}.",
    "a list of its own": lambda h: f"So {h[0]}.\n\n## Sources\n\n1. {h[0]}\n2. https://x.example/",
}


@pytest.mark.parametrize("write", ANSWERS.values(), ids=ANSWERS)
def test_the_list_of_sources_has_no_defect_whatever_is_cited_how(
    shared: Application, gemini: FakeGemini, write: Callable[[list[str]], str]
) -> None:
    gemini.brain.answer = lambda prompt: write(list(dict.fromkeys(re.findall(r"\[@[0-9a-f]{4,8}\]", prompt))))
    report = asked(shared, EN)
    answer = numbered(report)
    urls = [source.evidence.url for source in answer.sources]
    assert len(set(urls)) == len(urls) and all(urls)
    listed = {source.number for source in answer.sources}
    assert {n for span in answer.spans for n in span.numbers} == listed == set(range(1, len(urls) + 1))
    data = json.loads(report_json(report, answer))
    assert {int(n) for n in re.findall(r"\[(\d+)\]", data["answer"])} == listed


def test_a_citation_opens_the_very_sentence_that_the_search_was_supported_by(
    shared: Application, gemini: FakeGemini
) -> None:
    gemini.brain.answer = copying
    report = asked(shared)
    said = {
        passage.id: passage.text
        for finding in report.findings
        for item in finding.evidence
        for passage in item.passages
    }
    answer = numbered(report)
    assert len(answer.spans) >= 2
    for span in answer.spans:
        assert span.span.references
        for cite in span.span.references:
            assert said[cite.passage] in span.span.text


def test_no_address_appears_that_was_not_gathered(shared: Application, gemini: FakeGemini) -> None:
    gemini.brain.answer = lambda prompt: (
        f"{copying(prompt)}\n\nSee https://example.com/made-up, [this](https://made.up.example/), "
        "<https://third.example/> and ![x](https://fourth.example/x.png).\n\n[1]: https://fifth.example/"
    )
    report = asked(shared)
    answer = numbered(report)
    gathered = {item.url for item in report.evidence}
    text = report_markdown(report, answer)
    body = json.loads(report_json(report, answer))["answer"]
    assert hrefs(text) <= gathered and not hrefs(body)
    assert set(re.findall(r"https?://[^\s)>\]]+", text + body)) <= gathered


def test_a_stopped_run_stops_within_the_call_and_goes_on_where_it_was(shared: Application, gemini: FakeGemini) -> None:
    gemini.fail("search", "hang", matching="数据")
    run = shared.runs.start(ZH, options=RunOptions(sources=("web",), loops=1))
    until(lambda: len([e for e in shared.runs.events(run.id) if e.kind == "task_finished"]) == 2)
    shared.runs.stop(run.id)
    stopped = over(shared, run.id, "stopped")
    until(lambda: any(call.left for call in gemini.log))
    assert sum(bool(finding.evidence) for finding in stopped.findings) == 2
    gemini.fail("search", "ok")
    shared.runs.resume(run.id)
    done = over(shared, run.id)
    assert gemini.calls("search") == 4 and gemini.calls("plan") == 1
    assert len(done.findings) == 3 and numbered(done).sources


@pytest.mark.parametrize(("stage", "fault"), [("plan", "midhang"), ("search", "hang"), ("reflect", "midhang")])
def test_whatever_hangs_ends_at_its_deadline_and_is_named(
    desks: Desks, gemini: FakeGemini, stage: str, fault: str
) -> None:
    gemini.fail(stage, fault)
    desk = desks.open(model_timeout=1.5, search_timeout=3)
    report = asked(desk, loops=2, queries=1)
    assert (stage, "timeout") in failures(report)
    message = next(f.message for f in numbered(report).answer.failures if f.stage == stage)
    assert "1.5 s" in message


@pytest.mark.parametrize("fault", ["hang", "midhang"])
def test_an_answer_that_hangs_ends_at_its_deadline_and_the_evidence_is_shown(
    desks: Desks, gemini: FakeGemini, fault: str
) -> None:
    gemini.fail("write", fault)
    report = asked(desks.open(model_timeout=1.5), status="failed")
    assert report.answer is not None and report.answer.placeholder
    assert ("write", "timeout") in failures(report)
    assert "timeout" in report.run.error


def test_a_run_that_was_cut_off_goes_on_in_another_process_without_repeating_a_call(
    desks: Desks, gemini: FakeGemini
) -> None:
    gemini.fail("write", "hang")
    first = desks.open("same")
    run = first.runs.start(ZH, options=RunOptions(sources=("web",), loops=2))
    until(lambda: gemini.calls("write") == 1)
    first.close()
    before = [call.stage for call in gemini.log]
    gemini.fail("write", "ok")
    second = desks.open("same")
    found = second.runs.get_run(run.id)
    assert found is not None and found.status == "interrupted"
    second.runs.resume(run.id)
    report = over(second, run.id)
    assert [call.stage for call in gemini.log][len(before) :] == ["write"]
    assert numbered(report).sources and len(report.findings) == 4


@pytest.mark.parametrize("sources", [("web",), ("library",), ("web", "library")])
def test_only_the_kinds_of_sources_that_were_chosen_are_searched(
    shared: Application, gemini: FakeGemini, sources: tuple[str, ...]
) -> None:
    report = asked(shared, "What does a ticket to the Summer Palace cost?", sources=sources, queries=2)
    assert {finding.task.source for finding in report.findings} == set(sources)
    assert {item.kind for item in report.evidence} == set(sources)
    assert gemini.calls("search") == 2 * ("web" in sources)
    assert [finding.task.source for finding in report.findings].count("library") == 2 * ("library" in sources)


def test_a_table_with_citations_is_one_in_every_export(shared: Application, gemini: FakeGemini) -> None:
    def table(prompt: str) -> str:
        marks = list(dict.fromkeys(re.findall(r"\[@[0-9a-f]{4,8}\]", prompt)))
        rows = "\n".join(f"| {n} | 6{n}元{mark} |" for n, mark in enumerate(marks[:3]))
        return f"## 门票\n\n| 季节 | 价格 |\n|---|---|\n{rows}\n\n- 一{marks[0]}\n- 二{marks[1]}\n"

    gemini.brain.answer = table
    report = asked(shared)
    answer = numbered(report)
    body = json.loads(report_json(report, answer))["answer"]
    for text in (report_markdown(report, answer), body):
        assert "| 季节 | 价格 |\n| --- | --- |" in text
        mark = r"(?: （[^）]+）)?"  # what is said of its support
        rows = re.findall(rf"(?m)^\| \d \| 6\d元 \[(\d+)\]{mark} \|$", text)
        assert len(rows) == 3
        assert re.findall(rf"(?m)^\* [一二] \[(\d+)\]{mark}$", text) == rows[:2]
    assert "（依据不足）" not in body


def test_a_client_is_made_once_for_each_model(shared: Application, gemini: FakeGemini) -> None:
    async def twice() -> list[bool]:
        specs = set(role_models(shared.settings).values())
        return [
            await shared.services.clients.langchain_model(spec) is await shared.services.clients.langchain_model(spec)
            for spec in specs
        ] + [await shared.services.clients.gemini() is await shared.services.clients.gemini()]

    assert shared.runs.run_on_loop(twice()) == [True] * 5


ROWS = [{"title": "Page", "url": "https://a.example.org/", "content": "It was built in 1925."}]


@pytest.mark.parametrize("server", [FakeOpenAI, FakeOllama])
def test_other_models_and_searches_do_the_same_work(
    desks: Desks, gemini: FakeGemini, server: type[FakeOpenAI] | type[FakeOllama]
) -> None:
    provider = "openai" if server is FakeOpenAI else "ollama"
    with server() as models, FakeSearXNG(results=ROWS) as search:
        models.brain.sufficient_after = 99
        desk = desks.open(
            gemini_key=SecretStr(""),
            write_model=f"{provider}:any-model:8b",
            searxng_url=search.base_url,
            **{f"{provider}_url": models.base_url},
        )
        report = asked(desk, loops=3, queries=2)
        assert len(search.log) == 4
    answer = numbered(report)
    assert [finding.provider for finding in report.findings] == ["searxng"] * 4
    assert (len(answer.sources), answer.answer.author) == (1, f"{provider}:any-model:8b")
    assert failures(report) == [] and gemini.log == []


def test_prices_and_days_are_those_of_the_run(shared: Application, gemini: FakeGemini) -> None:
    report = asked(shared)
    assert all(usage.cost is not None for usage in report.usage)
    told_ = [re.search(r"Today is (\d{4}-\d\d-\d\d)", prompt) for prompt in prompts(gemini, "plan", "write")]
    days = {match[1] for match in told_ if match}
    assert len(days) == 1 and abs((date.fromisoformat(days.pop()) - report.run.created.date()).days) <= 1
