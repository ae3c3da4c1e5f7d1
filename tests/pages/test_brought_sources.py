"""A source that a package brings, from the choice on the page to the file of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research import (
    Report,
    RunOptions,
    close_application,
    get_application,
    message,
    number_report_answer,
    report_json,
    report_markdown,
)
from research.sources.registry import BUILT_IN_SOURCES
from tests.fakes import until
from tests.pages.visitor import Visitor, shown
from tests.sources.brought import PLAIN, example, on_the_path, package

Visit = Callable[..., Visitor]
QUESTION = "How high is Mount Erebus?"
QUOTE = "Mount Erebus is 3,794 metres high."
ACT = "<img src=x onerror=pwned()>"


@pytest.fixture
def place(tmp_path: Path, folder: Path) -> Iterator[Path]:
    """Where packages are installed; the desk of a test opens after that and closes before."""
    made = tmp_path / "site"
    made.mkdir()
    yield made


@pytest.fixture
def tables(place: Path) -> Iterator[None]:
    """The example of the documents, installed."""
    example(place)
    with on_the_path(place):
        yield
        close_application()


def offered(visitor: Visitor, key: str) -> list[str]:
    """The sources that a page offers, as they are shown."""
    return [shown(option.content) for option in visitor.at.button_group(key=key).proto.options]


def researched(options: RunOptions | None = None) -> Report:
    """The example's question, asked of a run as any program asks it."""
    run = get_application().runs.start(QUESTION, options=options)
    until(lambda: (found := get_application().runs.get_run(run.id)) is not None and not found.is_active, 60)
    report = get_application().runs.report(run.id)
    assert report is not None
    return report


@pytest.mark.slow
@pytest.mark.parametrize(("locale", "name", "at"), [("en-US", "Tables", 1), ("zh-CN", "表格", 0)])
def test_every_choice_of_sources_offers_it_and_the_status_has_its_card(
    locale: str, name: str, at: int, tables: None, visit: Visit
) -> None:
    visitor = visit(locale=locale)
    names = [message(f"source.{one}", "en" if at else "zh") for one in BUILT_IN_SOURCES]
    assert offered(visitor, "sources") == [*names, name]
    assert "tables" in visitor.at.button_group(key="sources").value
    assert offered(visitor.go("news"), "news_sources") == [*names, name]
    words = visitor.go("status").words
    assert name in words and "mountains.csv" in words
    assert visitor.table("value").set_index("name")["value"]["TABLES_FOLDER"]


@pytest.mark.slow
def test_its_connection_is_tested_with_the_query_that_it_names(tables: None, visit: Visit) -> None:
    words = visit("status").press("check").words
    assert "Tables  · mountains.csv" in words
    assert [check.failure for check in get_application().check_connections() if check.name == "tables"] == [None]


def test_a_question_without_a_key_is_answered_from_it_with_its_quotes_cited(tables: None, visit: Visit) -> None:
    report = researched()
    assert {"tables", "library"} <= {*report.run.options.sources}
    (finding,) = (f for f in report.findings if f.task.source == "tables" and f.task.round == 1)
    assert [item.title for item in finding.evidence] == ["Mount Erebus"]
    numbered = number_report_answer(report)
    assert numbered is not None
    quotes = {item.span.text for item in numbered.spans if item.span.kind == "quote" and item.numbers}
    assert QUOTE in quotes
    assert [s.evidence.title for s in numbered.sources if s.evidence.publisher == "mountains.csv"]
    for text in (report_markdown(report, numbered), report_json(report, numbered)):
        assert QUOTE in text and "https://example.org/erebus" in text
    assert "Tables" in report_markdown(report, numbered)
    visitor = visit(run=report.run.id)
    assert QUOTE in str(visitor.answer)
    assert "Tables" in visitor.words


def test_it_alone_may_be_asked_and_what_it_lacks_is_not_found(tables: None) -> None:
    report = researched(RunOptions(sources=("tables",), loops=1))
    assert {finding.task.source for finding in report.findings} == {"tables"}
    assert report.answer is not None and report.answer.quote_count == 2
    run = get_application().runs.start("How deep is Lake Vostok?", options=RunOptions(sources=("tables",), loops=1))
    until(lambda: (found := get_application().runs.get_run(run.id)) is not None and not found.is_active, 60)
    unknown = get_application().runs.report(run.id)
    assert unknown is not None and unknown.answer is not None
    assert unknown.answer.quote_count == 0
    assert {finding.reason for finding in unknown.findings} == {"empty"}


def test_what_a_package_calls_its_source_is_drawn_as_text(place: Path, visit: Visit) -> None:
    texts = f"label={{'zh': {ACT!r}, 'en': {ACT!r}}}, description={{'zh': {ACT!r}, 'en': {ACT!r}}}"
    fails = "build=fails, test_query='x', settings=(Setting('EXTRA_KEY', '', True),)"
    package(place, "one-more", PLAIN.format(more=f"{texts}, {fails}"))
    with on_the_path(place):
        visitor = visit()
        assert offered(visitor, "sources")[-1] == ACT
        words = visitor.go("status").words
        assert words.count(ACT) == 3  # the sentence, its card, and what it brings
        assert "export EXTRA_KEY=VALUE" in [code.value for code in visitor.at.code]
        assert offered(visitor.go("settings"), "set_SIGHTLINE_SOURCES_0")[-1] == ACT
        assert get_application().check_connections() == []
        report = researched(RunOptions(sources=("extra", "library"), loops=1))
        (failure,) = (f for f in report.findings if f.task.source == "extra")
        assert failure.reason == "internal"
        told = report_markdown(report, number_report_answer(report))
        assert told.count(ACT) == told.count(f"\\{ACT}") > 0
        close_application()


def test_one_that_is_refused_costs_a_line_of_the_status(place: Path, visit: Visit) -> None:
    package(place, "bad-one", f"raise ValueError({ACT!r})")
    package(place, "one-more", PLAIN.format(more=""))
    with on_the_path(place):
        visitor = visit("status")
        (line,) = (shown(item.value) for item in visitor.at.warning)
        assert line.startswith("A source of the package bad-one is not used: it cannot be loaded")
        assert ACT in line
        assert offered(visitor.go(""), "sources")[-1] == "Extra"
        close_application()
