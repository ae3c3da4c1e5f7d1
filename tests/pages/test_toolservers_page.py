"""Servers of tools on the pages: offered, on Status with their tools and faults, and drawn as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research import RunOptions, close_application, get_application, number_report_answer, report_json, report_markdown
from research.sources import registry
from tests.fakes import until
from tests.pages.visitor import Visitor, shown
from tests.servers.tools import FACTS, HOSTILE

Visit = Callable[..., Visitor]
TOWERS = str(Path(__file__).resolve().parents[1] / "servers" / "tools.py")
ACT = "<img src=x onerror=pwned()>"


@pytest.fixture
def file(folder: Path) -> Iterator[Path]:
    """The file of a desk: a server that finds, one that says what is hostile, and two that are wrong."""
    own = {"command": sys.executable, "args": [TOWERS]}
    servers = {
        "towers": {
            **own,
            "title": "Towers",
            "search": {"tool": "find_towers", "argument": "query"},
        },
        "bad words": {**own, "title": f"B {ACT}", "search": {"tool": "hostile", "argument": "q"}},
        "quiet": own,
        "gone": {"command": str(folder / "nobody"), "search": {"tool": "x", "argument": "y"}},
        f"wrong {ACT[:9]}": {},
        "both": {"command": "x", "url": "https://a.example"},
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    yield path
    close_application()
    registry.configure(())


def started(name: str, state: str) -> None:
    until(lambda: (one := get_application().readiness()[name]).state == state and bool(one.detail))


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_status_lists_the_servers_their_tools_and_what_is_wrong(locale: str, file: Path, visit: Visit) -> None:
    get_application().warm()
    started("mcp_towers", "live")
    started("mcp_gone", "missing")
    visitor = visit("status", locale=locale)
    words = visitor.words
    assert "Towers" in words and "find_towers, measure, records" in words.replace("\\_", "_")
    assert "both" in words and "it needs command or url, and not both" in words
    assert "a name has letters" in words
    said = {"en-US": "without a model", "zh-CN": "没有模型时"}[locale]
    assert said in words  # of the one that no query can be put to
    assert words.count(ACT) == 2  # the sentence and its card, as text
    assert ACT not in " ".join(str(item.value) for item in visitor.at.markdown)


@pytest.mark.slow
def test_a_question_is_answered_from_it_and_its_answer_is_drawn_as_text(file: Path, visit: Visit) -> None:
    visitor = visit()
    options = [shown(o.content) for o in visitor.at.button_group(key="sources").proto.options]
    assert "Towers" in options
    chosen = RunOptions(loops=1, sources=("mcp_towers", "mcp_bad_words"))
    run = get_application().runs.start("How high is the Old Tower?", options=chosen)
    until(lambda: (found := get_application().runs.get_run(run.id)) is not None and not found.is_active, 60)
    report = get_application().runs.report(run.id)
    assert report is not None
    numbered = number_report_answer(report)
    assert numbered is not None
    titles = {source.evidence.title for source in numbered.sources}
    assert "Towers: find_towers" in titles
    quoted = " ".join(span.span.text for span in numbered.spans if span.numbers)
    assert "45 metres high" in quoted
    for text in (report_markdown(report, numbered), report_json(report, numbered)):
        assert "45 metres high" in text and "find_towers" in text
    assert FACTS in "".join(p.text for f in report.findings for e in f.evidence for p in e.passages)
    assert HOSTILE in "".join(p.text for f in report.findings for e in f.evidence for p in e.passages)  # fmt: skip
    drawn = visit(run=run.id)
    assert not drawn.at.exception
    assert ACT not in " ".join(str(m.value) for m in drawn.at.markdown)


def test_a_file_that_cannot_be_used_is_told_on_the_page(file: Path, visit: Visit) -> None:
    file.write_text("{", encoding="utf-8")
    words = visit().words
    assert "mcp.json" in words and "line 1" in words
