"""Whole runs whose model cites in its own way: the report has numbers of its own and one list, in every form."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from lxml.html import document_fromstring

from research.application import Application
from research.citations.drafts import number_draft
from research.citations.numbering import check_numbering, number_report_answer
from research.citations.support import check_support
from research.core import settings
from research.core.records import Report
from research.export.docx import report_docx
from research.export.html import report_html
from research.export.markdown import answer_markdown, report_markdown
from tests.fakes import until
from tests.runtime.newsroom import SECTION, Newsroom, markdown, room
from tests.runtime.newsroom import text as text_of
from tests.servers.news import FakeTavilyNews, rows_about
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeTavily

ROLES = ("QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL")
PAGES = [
    ("Eiffel Tower Guide", "https://tower.example.org/guide?lang=en", "The Eiffel Tower is 330 metres tall. 埃菲尔铁塔高330米。"),
    ("埃菲尔铁塔官网", "https://www.tour.example.fr/histoire/", "The Eiffel Tower opened in 1889. 埃菲尔铁塔于1889年开放。"),
]  # fmt: skip
ONE, TWO = (url for _, url, _ in PAGES)
EVIL = "https://made-up.example.net/x"
ANSWERS = {
    "numbers": f"The Eiffel Tower is 330 metres tall [1]. The Eiffel Tower opened in 1889 [2]. It is the tallest of all [3].\n\n## References\n\n[1] Eiffel Tower Guide. {ONE}\n[2] Official site. {TWO}\n[3] Fame. {EVIL}\n",
    "superscripts": f"The Eiffel Tower is 330 metres tall.¹ The Eiffel Tower opened in 1889.² It is the tallest of all.³\n\n---\n¹ {ONE}\n² {TWO}\n³ {EVIL}\n",
    "footnotes": f"The Eiffel Tower is 330 metres tall[^1]. The Eiffel Tower opened in 1889[^2]. It is the tallest of all[^3].\n\n[^1]: Guide, {ONE}\n[^2]: Site, {TWO}\n[^3]: {EVIL}\n",
    "titles": "The Eiffel Tower is 330 metres tall (Source 1). The Eiffel Tower opened in 1889 (Source 2). It is the tallest of all (Source 3).\n\nSources:\n1. Eiffel Tower Guide\n2. 埃菲尔铁塔官网\n3. Fame\n",
    "zh numbers": f"埃菲尔铁塔高330米【1】。埃菲尔铁塔于1889年开放【2】。它是世界第一高塔【3】。\n\n参考资料：\n【1】指南 {ONE}\n【2】官网 {TWO}\n【3】{EVIL}\n",
    "zh words": f"埃菲尔铁塔高330米（来源1）。埃菲尔铁塔于1889年开放（来源2）。它是世界第一高塔（来源3）。\n\n来源1：{ONE}\n来源2：{TWO}\n来源3：{EVIL}\n",
    "zh before": f"[citation:1]埃菲尔铁塔高330米。[citation:2]埃菲尔铁塔于1889年开放。[citation:3]它是世界第一高塔。\n\n[citation:1] {ONE}\n[citation:2] {TWO}\n[citation:3] {EVIL}\n",
}  # fmt: skip
MARKS = re.compile(r"[【】†¹²³]|\[\^|\(Source|（来源\d|citation|made-up|\[3\]")


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def pages() -> Iterator[FakeTavily]:
    with FakeTavily() as server:
        server.results = [{"title": title, "url": url, "content": text, "score": 0.9} for title, url, text in PAGES]
        yield server


@pytest.fixture(scope="module")
def desk(model: FakeOpenAI, pages: FakeTavily, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    env = {
        "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sentinel-key-0123",
        "TAVILY_BASE_URL": pages.base_url, "TAVILY_API_KEY": "tvly-test-0123456789",
        "SIGHTLINE_CACHE_HOURS": "0",
    } | dict.fromkeys(ROLES, "openai:gpt-fake")  # fmt: skip
    made = Application(settings.load_settings(env, data_dir=tmp_path_factory.mktemp("desk")))
    yield made
    made.close()


def ran(desk: Application, model: FakeOpenAI, answer: str, question: str) -> Report:
    model.reset()
    model.brain.answer = answer
    limits = desk.default_options().model_copy(update={"queries": 1, "loops": 1, "sources": ("web",)})
    run = desk.runs.start(question, options=limits)
    until(lambda: not desk.runs.get_run(run.id).is_active, seconds=60)
    return desk.runs.report(run.id)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_any_style_has_the_numbers_and_the_list_of_the_program(
    desk: Application, model: FakeOpenAI, name: str
) -> None:
    zh = name.startswith("zh")
    question = f"埃菲尔铁塔有多高？（{name}）" if zh else f"How tall is the tower ({name})?"
    report = ran(desk, model, ANSWERS[name], question)
    numbered = number_report_answer(report)
    assert numbered is not None and check_numbering(numbered) == []
    assert {source.evidence.title for source in numbered.sources} == {PAGES[0][0], PAGES[1][0]}
    found = check_support(numbered).sentences
    assert [(s.numbers, s.status) for s in found] == [
        ((1,), "quoted"),
        ((2,), "quoted"),
        ((), "none"),
    ]
    body = answer_markdown(numbered)
    assert re.findall(r"\[\d\]", body) == ["[1]", "[2]"]
    assert not MARKS.search(body) and not re.search("References|Sources:|参考资料", body)
    whole = report_markdown(report, numbered)
    page = document_fromstring(report_html(report, numbered))
    word = docx.Document(io.BytesIO(report_docx(report, numbered)))
    links = {link for link in page.xpath("//a/@href") if link.startswith("http")}
    targets = {rel.target_ref for rel in word.part.rels.values() if rel.is_external}
    assert not any("made-up" in link for link in links | targets) and "made-up" not in whole
    for url in (ONE, TWO):
        assert url in whole and url in links and url in targets
    words = "\n".join(paragraph.text for paragraph in word.paragraphs)
    for text in (page.text_content(), words):
        assert not re.search(r"[【】†¹]|\[\^|\(Source \d|（来源\d|citation:", text)


def test_a_draft_of_it_shows_no_mark_of_the_model(desk: Application, model: FakeOpenAI) -> None:
    report = ran(desk, model, ANSWERS["numbers"], "How tall is it while it is written?")
    text = ANSWERS["numbers"]
    for end in range(0, len(text), 3):
        shown = answer_markdown(number_draft(report, text[:end], {}))
        numbers = re.findall(r"\[(\d)\]", shown)
        assert not numbers or f"]({'http'}" not in shown
        assert "http" not in shown and "References" not in shown
        assert set(numbers) <= {"1", "2"}
    final = number_draft(report, text, {})
    assert [source.evidence.url for source in final.sources] == [ONE, TWO]


@pytest.fixture
def newsroom(tmp_path: Path) -> Iterator[Newsroom]:
    with FakeOpenAI() as model, FakeTavilyNews(results=rows_about) as tavily:
        yield from room(tmp_path, model, tavily)


def test_the_sections_of_a_report_on_the_news_are_read_in_the_same_way(newsroom: Newsroom) -> None:
    def written(prompt: str) -> str:
        assert SECTION in prompt
        title = re.findall(r"\[@\w+\] (.+?) · ", prompt)[0]
        return (
            "The tower has reopened (Source 1). It is free now (Source 2).\n\n"
            f"Sources:\n1. {title}\n2. Nobody's paper\n"
        )

    newsroom.brain.section = written
    report = newsroom.write(sections=2, reflections=0)
    assert "(Source" not in text_of(report) and "Nobody" not in markdown(report)
    numbered = number_report_answer(report)
    assert numbered is not None and len(numbered.sources) >= 2
    own = [item for item in numbered.spans if item.span.part and item.span.kind == "text"]
    told = [(item.span.text.strip(), bool(item.numbers), item.unsourced) for item in own]
    assert told.count(("The tower has reopened.", True, False)) == 2
    assert told.count(("It is free now.", False, True)) == 2
