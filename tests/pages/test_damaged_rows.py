"""Rows of the store that somebody has changed by hand: no page breaks over them, and nothing acts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

from research import get_application
from research.citations.numbering import number_report_answer
from research.core.records import Report
from research.export.markdown import report_markdown
from research.export.report_json import report_json
from tests.pages.visitor import Visitor
from tests.runtime.tampered import BAD, GOOD, TEXT, asked, hostile, put, tamper

Visit = Callable[..., Visitor]
READER = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable("table")


FEW = (
    "options of no sense",
    "events that are no JSON",
    "events that tell something else",
    "a finding without a task",
    "evidence that is no JSON",
    "an answer that cites beyond the text",
    "reflections of something else",
)


@pytest.mark.slow
@pytest.mark.parametrize("what", FEW)
def test_no_page_breaks_over_a_row_that_cannot_be_read(what: str, visit: Visit, folder: Path) -> None:
    """A visitor fails of itself at a page that shows a traceback."""
    for run_id in (GOOD, BAD):
        put(get_application().runs.store, run_id)
    tamper(folder / "runs.db", what)
    visitor = visit("history")
    assert asked(GOOD) in visitor.words
    assert visitor.errors == []
    for page in ("places", "status", "ask"):
        assert visitor.go(page).errors == []
    assert "start" in visitor.buttons
    assert [block["text"] for block in visit(run=GOOD).blocks("quote")] == [TEXT]
    visit(run=BAD)


@pytest.fixture
def drawn(what: str, folder: Path) -> Iterator[Report]:
    """The report of a run with evidence that would act if it were drawn as it is."""
    put(get_application().runs.store, BAD, hostile()[what])
    report = get_application().runs.report(BAD)
    assert report is not None
    yield report


def links(value: Any) -> Iterator[str]:
    """The values of all that is an address, by its name, in what a component is given."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and name in ("url", "href", "src", "link"):
                yield item
            yield from links(item)
    elif isinstance(value, list):
        for item in value:
            yield from links(item)


def acts(url: str) -> bool:
    return urlsplit(url.strip()).scheme.casefold() not in ("", "http", "https")


@pytest.mark.slow
@pytest.mark.parametrize("what", [*hostile()][:1] + [*hostile()][-3:])
def test_addresses_and_scripts_of_tampered_evidence_are_inert_on_every_page(drawn: Report, visit: Visit) -> None:
    visitor = visit(run=BAD)
    assert [url for url in links(visitor.answer) if acts(url)] == []
    assert visitor.go("places").errors == []
    for item in (*visitor.at.markdown, *visitor.at.caption):
        assert not item.allow_html or "<script" not in item.value


@pytest.mark.parametrize("what", hostile())
def test_addresses_and_scripts_of_tampered_evidence_are_inert_in_exports(drawn: Report) -> None:
    tokens = READER.parse(report_markdown(drawn, number_report_answer(drawn)))
    inner = [child for token in tokens for child in token.children or [token]]
    assert [token.content for token in inner if token.type in ("html_inline", "html_block")] == []
    targets = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in inner]
    assert [url for url in targets if acts(url)] == []
    json.loads(report_json(drawn, number_report_answer(drawn)))
