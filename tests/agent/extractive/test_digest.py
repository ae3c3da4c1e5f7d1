"""The reasoner without a model, from a question to a digest of a small library."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.agent.extractive.finding_spans import MAX_PLACES
from research.agent.extractive.question_parts import parse_question
from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.nodes.answer import build_answer
from research.agent.nodes.plan import make_plan
from research.agent.nodes.question import clean_question
from research.agent.nodes.reflect import reflect_on_findings
from research.agent.nodes.search import failed_finding
from research.agent.reasoner import ReasonerInput
from research.citations.numbering import CitedAnswer, check_numbering, number_citations
from research.citations.registry import collect_evidence
from research.citations.support import check_support
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Draft, Finding, Plan, Reflection, RunOptions, Span, Task
from research.core.settings import Settings
from research.core.text.tokenizer import has_han
from research.export.answer_tables import answer_tables
from research.sources.library.index import Library
from research.sources.library.retriever import LibraryRetriever
from research.sources.places.map_services import MapServices
from research.sources.places.questions import parse_place_query
from research.sources.places.retriever import PlacesRetriever
from research.sources.places.service import MapService
from research.storage.store import Store
from tests.agent.conftest import Digested, digest, planned
from tests.servers.amap import FakeAmap
from tests.tables import each_row

NOW = datetime(2026, 1, 2, tzinfo=UTC)
QUESTIONS = [
    "西湖和颐和园的门票",
    "西湖门票多少钱？怎么去？",
    "颐和园开放时间、门票和停车",
    "颐和园地铁",
    "What are Kenya's exports?",
    "When was the theatre of the Summer Palace built?",
    "wine production of Andorra",
    "做面包需要什么",
    "MCP是什么",
]


def verbatim(library: Library, digested: Digested) -> None:
    """Every quote is a slice of its passage, and the passage a slice of its document."""
    documents = {entry.name: library.document_text(entry.id) for entry in library.list_all()}
    passages = {
        (item.id, passage.id): (item.locator, passage)
        for finding in digested.findings
        for item in finding.evidence
        for passage in item.passages
    }
    for span in digested.spans:
        assert not span.references or span.kind == "quote" or span.text.startswith(" “")
        for cite in span.references:
            name, passage = passages[cite.evidence, cite.passage]
            assert passage.text[cite.start : cite.end] == html.unescape(span.text).strip(" “”")
            assert documents[name][passage.start : passage.end] == passage.text


async def test_a_question_in_traditional_characters_is_answered_from_simplified_texts(
    library: Library,
) -> None:
    found = await digest(library, "頤和園旺季門票多少錢？還有西湖怎麼去？")
    assert [(part.subject, part.text) for part in found.plan.parts] == [
        ("頤和園", "頤和園旺季門票多少錢"),
        ("西湖", "西湖怎麼去"),
    ]
    assert "颐和园旺季门票30元，淡季门票20元。" in found.quotes("p1")
    assert any("地铁1号线" in quote for quote in found.quotes("p2"))


@each_row("question", QUESTIONS)
async def test_every_quote_is_a_verbatim_slice_of_its_document(question: str, library: Library) -> None:
    verbatim(library, await digest(library, question))


@each_row("question", QUESTIONS)
async def test_every_part_has_a_heading_and_then_quotes_or_the_word_that_none_was_found(
    question: str, library: Library
) -> None:
    digested = await digest(library, question)
    assert digested.plan.parts
    if len({part.subject for part in digested.plan.parts}) > 1:
        return  # a table
    for part in digested.plan.parts:
        heading, *rest = digested.kinds(part.id)
        assert heading == "heading"
        assert rest == ["missing"] or (rest and set(rest) == {"quote"})
    noticed = {"notice"} if not digested.quotes() else set()
    assert {span.kind for span in digested.spans} <= {"heading", "quote", "missing"} | noticed


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("肯尼亚的门票", ["查找过：“肯尼亚 门票”", "资料库里最接近的文档：“"]),
        ("wine production of Andorra", ["Looked for: “Andorra wine production”", "library: “Windows Wine”"]),
    ],
)  # fmt: skip
async def test_where_nothing_is_found_it_is_told_what_was_looked_for_and_what_comes_closest(
    question: str, told: list[str], library: Library
) -> None:
    digested = await digest(library, question)
    notices = [span.text for span in digested.spans if span.kind == "notice"]
    assert len(notices) == 2
    assert all(words in notice for words, notice in zip(told, notices, strict=True))


# What is found


@each_row(
    ("question", "quote"),
    [
        ("西湖门票多少钱？", "西湖环湖景区免费开放，沿湖散步不需要门票。"),
        ("雷峰塔门票多少钱？", "雷峰塔成人票40元。"),
        ("颐和园几点开门？", "颐和园旺季开放时间为6:00至20:00。"),
        ("西湖怎么去？", "乘坐地铁1号线到龙翔桥站，步行即可到达西湖。"),
        ("What are Kenya's exports?", "Tea and cut flowers are the main exports of Kenya."),
        (
            "When was the theatre of the Summer Palace built?",
            "The theatre of the Summer Palace was built for the empress in 1895 and has three stages.",
        ),
        (
            "How to get to the Summer Palace?",
            "Take metro line 4 to Beigongmen station; the north gate of the palace is a short walk away.",
        ),
        ("做面包需要什么面粉？", "做面包需要高筋面粉、酵母和水。"),
        ("Is organic flour good for bread?", "Organic flour makes a heavier bread than white flour does."),
    ],
)  # fmt: skip
async def test_the_sentence_that_answers_is_quoted(question: str, quote: str, library: Library) -> None:
    assert quote in (await digest(library, question)).quotes()


async def test_two_names_that_are_joined_are_both_looked_up_and_answered_apart(
    library: Library,
) -> None:
    digested = await digest(library, "西湖和颐和园的门票")
    first, second = digested.plan.parts
    assert [first.subject, second.subject] == ["西湖", "颐和园"]
    head, lake, palace = table(digested)
    assert head == ["", "门票"]
    assert lake == ["西湖", "“西湖环湖景区免费开放，沿湖散步不需要门票。”"]
    assert palace == ["颐和园", "“颐和园旺季门票30元，淡季门票20元。”"]


def table(digested: Digested) -> list[list[str]]:
    """The cells of the table that an answer is."""
    cited = numbered(digested)
    (found,) = answer_tables(cited)
    rows = [[column.name for column in found.columns], *found.rows]
    return [[re.sub(r" \[\d+\]", "", cell) for cell in row] for row in rows]


def numbered(digested: Digested) -> CitedAnswer:
    draft = Draft(spans=digested.spans, author="")
    answer = build_answer(digested.question, draft, digested.findings, NOW)
    return number_citations(answer, collect_evidence(digested.findings))


@each_row(
    ("question", "subjects", "asked"),
    [
        ("比较西湖和颐和园的门票", ["西湖", "颐和园"], ["门票"]),
        ("颐和园和西湖的门票、交通对比", ["颐和园", "西湖"], ["门票", "交通"]),
        ("西湖比颐和园大多少？", ["西湖", "颐和园"], ["大多少"]),
        ("Compare the Summer Palace and West Lake: tickets and transport", ["Summer Palace", "West Lake"], ["tickets", "transport"]),
        ("Compare ticket prices of West Lake and Kenya", ["West Lake", "Kenya"], ["ticket prices"]),
        ("How big is West Lake compared with Lake Baikal?", ["West Lake", "Lake Baikal"], ["How big is"]),
        ("Kenya vs Uganda: which exports more tea?", ["Kenya", "Uganda"], ["which exports more tea"]),
        ("甲骨文与楔形文有什么区别", ["甲骨文", "楔形文"], [""]),
    ],
)  # fmt: skip
def test_what_is_compared_are_equal_subjects_and_comparing_is_not_asked_for(
    question: str, subjects: list[str], asked: list[str], library: Library
) -> None:
    pieces = parse_question(question, library).clauses
    assert list(dict.fromkeys(name for piece in pieces for name in piece.subjects)) == subjects
    assert list(dict.fromkeys(piece.text for piece in pieces)) == asked


async def test_a_comparison_is_a_table_in_which_every_cell_has_a_quote_or_says_that_none_was_found(
    library: Library,
) -> None:
    digested = await digest(library, "比较西湖和肯尼亚：门票、出口商品")
    assert table(digested) == [
        ["", "门票", "出口商品"],
        ["西湖", "“西湖环湖景区免费开放，沿湖散步不需要门票。”", "所查资料中未找到。"],
        ["肯尼亚", "所查资料中未找到。", "所查资料中未找到。"],
    ]  # fmt: skip
    found = check_support(numbered(digested))
    assert found.counts.total == found.counts.quoted == 1
    assert [s.text for s in digested.spans if s.kind == "missing"] == ["肯尼亚：所查资料中未找到。"]


async def test_what_documents_write_does_nothing_in_a_table(tmp_path: Path) -> None:
    own = Library(tmp_path / "library.db")
    own.set_sample_enabled(False)
    odd = "甲山门票为 **30** 元 | `x` | <b>粗</b> [链接](http://a.example/) _b_ $5$ # 1"
    list(own.add_files([("甲山.txt", f"{odd}\n".encode()), ("b.md", "# 乙山\n\n乙山门票为40元。".encode())]))  # fmt: skip
    head, first, second = table(await digest(own, "比较甲山和乙山的门票"))
    own.close()
    assert (len(head), len(first), len(second)) == (2, 2, 2)
    assert first[1] == f"“{odd}”"


async def test_a_part_that_is_not_in_the_library_is_reported_beside_those_that_are(
    library: Library,
) -> None:
    digested = await digest(library, "颐和园开放时间、门票和停车")
    kinds = [digested.kinds(part.id)[1] for part in digested.plan.parts]
    assert kinds == ["quote", "quote", "missing"]
    missing = next(span for span in digested.spans if span.kind == "missing")
    assert missing.text == "所查资料中未找到。"


@each_row(
    "question",
    ["wine production of Andorra", "Wine production in Andorra?", "安道尔的 wine production", "Andorra's wine production"],
)  # fmt: skip
async def test_the_name_a_question_is_about_is_never_given_up_to_find_more(question: str, library: Library) -> None:
    digested = await digest(library, question, loops=6)
    assert digested.quotes() == []
    tasks = [finding.task for finding in digested.findings]
    assert tasks
    for task in tasks:
        assert "Andorra" in task.subject or "安道尔" in task.subject
        assert "Andorra" in task.query or "安道尔" in task.query


async def test_other_names_of_the_same_thing_serve_as_well(library: Library) -> None:
    digested = await digest(library, "颐和园的剧院是哪年建成的？")
    assert "Summer Palace" in digested.plan.tasks[0].subject
    assert (await digest(library, "Summer Palace tickets")).quotes() == ["颐和园旺季门票30元，淡季门票20元。"]


# Planning


async def test_each_part_is_a_query_of_its_own_while_the_limit_allows(library: Library) -> None:
    plan = (await digest(library, "颐和园开放时间、门票和停车", queries=3)).plan
    assert len(plan.parts) == len(plan.tasks) == 3
    assert [task.part for task in plan.tasks] == [part.id for part in plan.parts]


@pytest.mark.parametrize("queries", [1, 2])
async def test_parts_of_one_subject_share_a_query_beyond_the_limit(queries: int, library: Library) -> None:
    options = RunOptions(queries=queries, sources=("library", "web"))
    plan = await planned(ExtractiveReasoner(library), "颐和园开放时间、门票和地铁", options)
    assert len(plan.parts) == 3
    queried = {source: [t.query for t in plan.tasks if t.source == source] for source in options.sources}
    assert len(queried["web"]) == queries
    assert len(queried["library"]) == 3  # which costs nothing
    asked = " ".join(queried["web"])
    assert all(word in asked for word in ("开放时间", "门票", "地铁"))


async def test_every_chosen_source_is_asked_for_every_part(library: Library) -> None:
    options = RunOptions(queries=2, sources=("library", "web"))
    plan = await planned(ExtractiveReasoner(library), "西湖和颐和园的门票", options)
    assert [task.source for task in plan.tasks] == ["library"] * 2 + ["web"] * 2
    assert len({task.id for task in plan.tasks}) == 4


async def test_the_same_question_gives_the_same_plan_and_the_same_words(library: Library) -> None:
    one, other = [await digest(library, "西湖门票多少钱？怎么去？") for _ in range(2)]
    assert (one.plan, one.spans) == (other.plan, other.spans)


# Reflecting


async def test_when_every_part_has_a_quote_it_goes_on_to_the_answer(library: Library) -> None:
    digested = await digest(library, "西湖的门票")
    (reflection,) = digested.reflections
    assert reflection.sufficient
    assert (reflection.gap, reflection.follow_ups) == ((), ())


async def test_a_part_without_a_quote_is_tried_in_the_other_language_then_with_synonyms(
    library: Library,
) -> None:
    digested = await digest(library, "颐和园停车", loops=6)
    tried = [task for reflection in digested.reflections for task in reflection.follow_ups]
    reasons = list(dict.fromkeys(task.purpose for task in tried))
    assert reasons == ["other language", "synonyms", "whole subject"]
    assert "停车场" in next(task.query for task in tried if task.purpose == "synonyms")
    foreign = next(task.query for task in tried if task.purpose == "other language")
    assert "Summer Palace" in foreign
    assert "parking" in foreign
    assert all("颐和园" in task.subject for task in tried)


async def test_a_quote_in_the_other_language_is_found_by_a_follow_up(library: Library) -> None:
    digested = await digest(library, "颐和园地铁")
    assert digested.reflections[0].follow_ups
    assert any("metro line 4" in quote for quote in digested.quotes())


async def test_without_documents_in_the_other_language_it_is_not_tried(tmp_path: Path) -> None:
    own = Library(tmp_path / "library.db")
    try:
        own.set_sample_enabled(False)
        list(own.add_files([("a.md", "# 石塔\n\n石塔很高，石塔在山上。\n".encode())]))
        digested = await digest(own, "石塔的门票", loops=6)
        whys = {task.purpose for r in digested.reflections for task in r.follow_ups}
        assert "other language" not in whys
        assert "synonyms" in whys
    finally:
        own.close()


async def test_no_query_is_tried_twice_and_at_last_there_is_none_left(library: Library) -> None:
    digested = await digest(library, "颐和园停车", loops=10)
    keys = [finding.task.key for finding in digested.findings]
    assert len(keys) == len(set(keys))
    assert digested.reflections[-1].follow_ups == ()
    assert not digested.reflections[-1].sufficient
    assert len(digested.reflections) < 9


async def test_follow_ups_name_their_round_and_what_is_missing(library: Library) -> None:
    digested = await digest(library, "颐和园门票和停车")
    first = digested.reflections[0]
    (label,) = first.gap
    assert "停车" in label
    assert label in first.note
    assert {task.round for task in first.follow_ups} == {2}
    assert {task.part for task in first.follow_ups} == {digested.plan.parts[1].id}


# Who says it


@pytest.mark.parametrize("question", ["西湖的门票", "West Lake tickets"])
async def test_the_author_is_a_digest_of_quotes_and_never_a_model(question: str, library: Library) -> None:
    author = (await digest(library, question)).author
    lower = author.lower()
    assert "no model" in lower or "未使用模型" in author
    assert not any(word in lower.split() for word in ("ai", "summary", "assistant"))
    assert not any(word in author for word in ("人工智能", "总结", "智能", "模型生成"))
    assert "answer by" not in lower
    assert "digest" in lower or "摘录" in author


@pytest.mark.parametrize(("question", "language"), [("the", "en"), ("什么", "zh")])
async def test_a_question_without_a_telling_word_is_answered_with_what_to_write(
    question: str, language: str, library: Library
) -> None:
    asked = clean_question(question)
    draft = await ExtractiveReasoner(library).plan(ReasonerInput(asked, RunOptions(), ignore_event))
    assert isinstance(draft, Draft)
    (span,) = draft.spans
    assert (span.kind, span.references, asked.language) == ("notice", (), language)
    assert has_han(span.text) == has_han(draft.author) == (language == "zh")
    assert not draft.placeholder


async def test_a_question_with_a_word_to_look_up_is_not_answered_without_looking(
    library: Library,
) -> None:
    for question in QUESTIONS:
        assert (await planned(ExtractiveReasoner(library), question)).tasks


# The sample library


@pytest.mark.parametrize("question", ["西湖的门票", "West Lake tickets"])
async def test_the_sample_is_named_where_it_is_quoted(question: str, tmp_path: Path) -> None:
    own = Library(tmp_path / "library.db")
    try:
        with_sample = await digest(own, question)
        assert with_sample.quotes()
        assert [span.kind for span in with_sample.spans].count("notice") == 1
        assert with_sample.spans[0].kind == "notice"
        own.set_sample_enabled(False)
        without = await digest(own, question)
        assert not [s for s in without.spans if "sample" in s.text or "示例" in s.text]
        assert without.quotes() == []
    finally:
        own.close()


async def test_the_sample_is_not_named_where_only_own_documents_are_quoted(tmp_path: Path) -> None:
    own = Library(tmp_path / "library.db")
    try:
        list(own.add_files([("a.md", b"# Zorbla\n\nThe Zorbla tower is 40 metres high and open to all.\n")]))
        digested = await digest(own, "How high is the Zorbla tower?")
        assert digested.quotes() == ["The Zorbla tower is 40 metres high and open to all."]
        assert "notice" not in [span.kind for span in digested.spans]
    finally:
        own.close()


# What was not looked up


async def test_a_part_whose_searches_failed_is_not_said_to_be_missing(library: Library) -> None:
    reasoner, question = ExtractiveReasoner(library), clean_question("西湖的门票和交通")
    plan = await planned(reasoner, question.text)

    async def written(findings: Sequence[Finding]) -> tuple[Span, ...]:
        draft = await reasoner.write(ReasonerInput(question, RunOptions(), ignore_event, plan, findings), ())
        return draft.spans

    lost = [failed_finding(task, ServiceError("timeout", "no answer")) for task in plan.tasks]
    told = [span.text for span in await written(lost) if span.kind == "missing"]
    assert len(told) == len(plan.parts) == 2
    assert all("搜索失败" in text and "未找到" not in text for text in told)
    found = await LibraryRetriever(library).search(plan.tasks[0], ignore_event)
    mixed = await written([found, *lost[1:]])
    assert [span.kind for span in mixed].count("missing") == 1


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("西湖的门票和交通", "没有搜索过这一部分，这不表示资料中没有。"),
        (
            "West Lake tickets and opening hours",
            "No search was made for this part; that does not mean the sources lack it.",
        ),
    ],
)
async def test_without_a_round_of_search_each_part_says_that_nothing_was_searched(
    question: str, words: str, library: Library
) -> None:
    digested = await digest(library, question, loops=0)
    assert len(digested.plan.parts) == 2
    told = [(span.kind, span.text) for span in digested.spans if span.kind != "heading"]
    assert told == [("missing", words)] * 2
    assert [digested.kinds(part.id) for part in digested.plan.parts] == [["heading", "missing"]] * 2


async def test_a_part_that_the_limits_left_no_query_for_is_not_said_to_be_missing(
    library: Library,
) -> None:
    digested = await digest(library, "西湖和肯尼亚的门票", loops=1, queries=1)
    assert [part.subject for part in digested.plan.parts] == ["西湖", "肯尼亚"]
    first, second = digested.plan.parts
    own = [found for found in digested.findings if found.task.part == first.id]
    draft = ExtractiveReasoner(library).quote_findings(digested.question, digested.plan, own)
    (text,) = (s.text for s in draft.spans if s.kind == "missing" and s.part == second.id)
    assert text.startswith("肯尼亚：没有搜索过")
    (text,) = (s.text for s in digested.spans if s.kind == "missing")
    assert text == "肯尼亚：所查资料中未找到。"


# Places


@pytest.fixture
def amap() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


class Mapped:
    """The whole way of a question over a map and a library, with two rounds at most."""

    def __init__(self, library: Library, places: PlacesRetriever) -> None:
        self._reasoner = ExtractiveReasoner(library)
        self._sources = {"places": places, "library": LibraryRetriever(library)}
        self.plan = Plan()
        self.findings: list[Finding] = []
        self.reflection: Reflection | None = None

    async def ask(self, text: str, sources: Sequence[str] = ("places", "library")) -> CitedAnswer:
        question, options = clean_question(text), RunOptions(queries=6, sources=tuple(sources))
        plan = await make_plan(question, self._reasoner, options, ignore_event)
        assert isinstance(plan, Plan)
        self.plan, self.findings = plan, await self._searched(plan.tasks)
        reasoner = self._reasoner
        self.reflection = await reflect_on_findings(question, plan, self.findings, reasoner, options, 1, ignore_event)
        self.findings += await self._searched(self.reflection.follow_ups)
        draft = await reasoner.write(ReasonerInput(question, options, ignore_event, plan, self.findings), ())
        answer = build_answer(question, draft, self.findings, datetime(2026, 11, 21, tzinfo=UTC))
        cited = number_citations(answer, collect_evidence(self.findings))
        assert check_numbering(cited) == []
        return cited

    async def _searched(self, tasks: Sequence[Task]) -> list[Finding]:
        return [await self._sources[task.source].search(task, ignore_event) for task in tasks]

    def asked(self) -> list[str]:
        """What the map was asked in all rounds."""
        return [f.task.query for f in self.findings if f.task.source == "places"]


async def opened(tmp_path: Path, library: Library, **given: object) -> AsyncIterator[Mapped]:
    store = Store(tmp_path / "runs.db")
    service = MapService(Settings.model_validate({"data_dir": tmp_path, **given}), store)
    source = PlacesRetriever(MapServices(service), timeout_seconds=30, parse_query=parse_place_query)
    yield Mapped(library, source)
    await source.close()
    store.close()


@pytest.fixture
async def mapped(tmp_path: Path, library: Library, amap: FakeAmap) -> AsyncIterator[Mapped]:
    key = SecretStr("a-key-0123456789")
    async for made in opened(tmp_path, library, amap_key=key, amap_url=amap.base_url):
        yield made


@pytest.fixture
async def offline(tmp_path: Path, library: Library) -> AsyncIterator[Mapped]:
    async for made in opened(tmp_path, library):
        yield made


def told(cited: CitedAnswer, kind: str) -> list[str]:
    return [item.span.text for item in cited.spans if item.span.kind == kind]


async def test_places_are_listed_as_the_map_describes_them_each_with_its_source(
    mapped: Mapped,
) -> None:
    cited = await mapped.ask("王府井附近适合遛娃的好去处")
    quotes = [item for item in cited.spans if item.span.kind == "quote"]
    assert len(quotes) == len(cited.sources) == 6
    assert [item.numbers for item in quotes] == [(n,) for n in range(1, 7)]
    for item, source in zip(quotes, cited.sources, strict=True):
        assert item.span.text.startswith(source.evidence.title)
        assert source.evidence.url.startswith("https://www.amap.com/place/")
    assert any("故宫博物院（博物馆）；地址：" in text for text in told(cited, "quote"))
    assert (told(cited, "notice"), told(cited, "missing")) == ([], [])


async def test_the_answer_names_some_places_and_the_finding_has_all(mapped: Mapped) -> None:
    cited = await mapped.ask("王府井3公里内的博物馆、公园、商场、书店、儿童乐园和美术馆", ["places"])
    (found,) = mapped.findings
    assert len(told(cited, "quote")) == MAX_PLACES < len(found.places)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("王府井附近适合遛娃的好去处", "地点来自随程序附带的离线示例"),
        ("museums near Wangfujing", "The places come from the offline sample"),
    ],
)
async def test_places_of_the_offline_sample_are_named_as_such(offline: Mapped, question: str, words: str) -> None:
    cited = await offline.ask(question, ["places"])
    (notice,) = told(cited, "notice")
    assert notice.startswith(words)
    assert "AMAP_MAPS_API_KEY" in notice
    assert told(cited, "quote")
    assert cited.answer.sample


async def test_a_place_that_the_offline_sample_does_not_have_is_said_to_be_unknown_to_it(
    offline: Mapped,
) -> None:
    for question in ("三里屯附近的咖啡馆", "王府井附近的滑雪场"):
        cited = await offline.ask(question, ["places"])
        (missing,) = told(cited, "missing")
        assert "离线示例" in missing and "AMAP_MAPS_API_KEY" in missing
        assert told(cited, "quote") == []


@pytest.mark.parametrize(
    ("question", "words"),
    [("鼓楼附近的公园", "有几处：北京市东城区鼓楼"), ("附近有什么好吃的", "想找哪里附近的？")],
)
async def test_what_is_unclear_is_asked_back_in_the_answer(mapped: Mapped, question: str, words: str) -> None:
    cited = await mapped.ask(question, ["places"])
    (missing,) = told(cited, "missing")
    assert words in missing


async def test_a_part_for_the_library_is_answered_beside_one_for_the_map(
    mapped: Mapped,
) -> None:
    cited = await mapped.ask("王府井附近有什么公园？雷峰塔成人票多少钱？")
    first, second = mapped.plan.parts
    by_part = {
        part.id: [i.span.text for i in cited.spans if i.span.part == part.id and i.span.kind == "quote"]
        for part in (first, second)
    }  # fmt: skip
    assert any(text.startswith("皇城根遗址公园") for text in by_part[first.id])
    assert by_part[second.id] == ["雷峰塔成人票40元。"]
    assert mapped.asked() == [first.text]


async def test_each_part_that_looks_for_places_is_asked_for_by_itself(mapped: Mapped) -> None:
    cited = await mapped.ask("王府井附近有什么博物馆？外滩附近有什么公园？", ["places"])
    assert len(mapped.asked()) == 2
    quotes = told(cited, "quote")
    assert any(text.startswith("故宫博物院") for text in quotes)
    assert any(text.startswith("黄浦公园") for text in quotes)
    assert told(cited, "missing") == []


@pytest.mark.parametrize(
    ("question", "headings", "asked"),
    [
        ("王府井附近的公园和博物馆", ["王府井附近的公园和博物馆"], ["王府井附近的公园和博物馆"]),
        ("museums and parks near Wangfujing", ["museums and parks near Wangfujing"],
         ["museums and parks near Wangfujing"]),
        ("王府井附近的公园和博物馆？雷峰塔成人票多少钱？", ["王府井附近的公园和博物馆", "雷峰塔成人票多少钱"],
         ["王府井附近的公园和博物馆"]),
        ("王府井附近有什么博物馆？有什么公园？", ["王府井附近有什么博物馆", "王府井：有什么公园"],
         ["王府井附近有什么博物馆", "王府井有什么公园"]),
    ],
)  # fmt: skip
async def test_kinds_of_places_at_one_place_are_one_search(
    mapped: Mapped, question: str, headings: list[str], asked: list[str]
) -> None:
    cited = await mapped.ask(question)
    assert mapped.asked() == asked
    assert told(cited, "heading") == headings
    assert told(cited, "missing") == []


async def test_follow_ups_never_go_to_the_map(mapped: Mapped, amap: FakeAmap) -> None:
    await mapped.ask("王府井附近的滑雪场")
    assert mapped.reflection is not None
    assert {task.source for task in mapped.reflection.follow_ups} <= {"library"}
    assert len(mapped.asked()) == 1
    assert amap.paths().count("v3/geocode/geo") == 1
    await mapped.ask("王府井附近的滑雪场", ["places"])
    assert mapped.reflection.follow_ups == ()


@pytest.mark.parametrize("question", ["市场经济的发展思路", "西湖的门票", "What are Kenya's exports?"])
async def test_the_map_is_asked_only_if_the_question_looks_for_places(
    mapped: Mapped, amap: FakeAmap, question: str
) -> None:
    await mapped.ask(question)
    assert {task.source for task in mapped.plan.tasks} == {"library"}
    assert amap.log == []


async def test_a_map_that_alone_may_be_asked_is_searched_by_the_words(mapped: Mapped, amap: FakeAmap) -> None:
    cited = await mapped.ask("雷峰塔", ["places"])
    assert amap.paths() == ["v3/place/text"]
    (quote,) = told(cited, "quote")
    assert quote.startswith("雷峰塔（旅游景点）")


async def test_a_map_that_could_not_be_asked_is_not_said_to_know_nothing(mapped: Mapped, amap: FakeAmap) -> None:
    amap.fail("any", "quota")
    cited = await mapped.ask("王府井附近的公园", ["places"])
    (missing,) = told(cited, "missing")
    assert "未能查询地图" in missing
