"""What can be taken away from a run says how it cites, and the format that was used last comes first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pages.run.downloads import create_builder, list_formats
from research import EXPORT_FORMATS, Report, get_application, number_report_answer
from tests.export.test_markdown import numbered, report
from tests.pages.visitor import Visitor


def test_markdown_is_offered_with_links_and_with_footnotes() -> None:
    made = report("Some words")
    offered = {one.kind: one for one in list_formats(made, numbered(made))}
    links, notes = offered["md"], offered["notes"]
    assert links.group == notes.group == "report"
    assert r"[\[1\]](#s1)" in links.build().decode() and '<a id="s1">' in links.build().decode()
    assert "[^1]: " in notes.build().decode()
    assert links.label != notes.label and links.suffix != notes.suffix


EN = "What does a ticket to the Palace Museum cost, and when is it closed?"


@pytest.fixture(autouse=True)
def documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but documents is asked."""
    monkeypatch.setenv("SIGHTLINE_SOURCES", "library")


def labels(visitor: Visitor) -> list[str]:
    return [button.label for button in visitor.at.get("download_button")]


def take(report: Report, kind: str) -> None:
    """Asks for the file of a button that is not the main one."""
    offered = {one.kind: one for one in list_formats(report, number_report_answer(report))}
    assert create_builder(report, offered[kind], should_remember=True)()


def test_the_format_that_was_used_last_is_behind_the_one_button(
    visit: Callable[..., Visitor],
) -> None:
    visitor = visit().ask(EN).wait()
    report = get_application().runs.report(visitor.run_id)
    assert report is not None
    first = labels(visitor)
    assert first[0] == "Download Markdown" and "Download" not in " ".join(first[1:])
    assert {"PDF", "Word"} <= set(first[1:])
    assert get_application().store.preferences("local") == {}  # to be shown is not to be used
    take(report, "pdf")
    assert (then := labels(visitor.look()))[0] == "Download PDF"
    assert "Markdown" in then and "PDF" not in then and len(then) == len(first)
    take(report, "csl")  # not every answer has sources
    assert labels(visitor.look())[0] == "Download PDF"


def test_a_format_that_is_remembered_and_gone_is_none(visit: Callable[..., Visitor]) -> None:
    get_application().store.set_preference("local", "download", "odt")
    visitor = visit().ask(EN).wait()
    assert labels(visitor)[0] == "Download Markdown"


def test_every_format_that_can_be_the_usual_one_has_words_for_the_button() -> None:
    one = report("Some words")
    usual = [each.label_as_preferred for each in list_formats(one, numbered(one)) if each.group in ("report", "all")]
    expected = [item for item in EXPORT_FORMATS if item.content in ("report", "everything")]
    assert len(usual) == len(expected) and all(label.startswith("Download ") for label in usual)
