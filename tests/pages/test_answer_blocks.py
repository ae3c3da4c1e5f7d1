"""What the page is given of an answer: the same citations and sources as every other form of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from pages.run.answer import build_blocks, collect_row_cells
from research import CitedAnswer, Report
from research.export.report_json import report_json
from tests.citations.test_rendered_properties import BIDI, cites_of, reports

pytestmark = pytest.mark.slow


def cited_in(block: dict[str, Any]) -> list[dict[str, Any]]:
    """The citations of a block in the order in which they are drawn."""
    if block["kind"] == "rows":
        return [cite for item in block["items"] for cite in cited_in(item)]
    if block["kind"] != "text":
        return [*block["cites"]]
    places = cites_of([block["node"]])
    return [cite for at in places for cite in block["spans"][block["first"] + at]["cites"]]


@given(reports())
@settings(max_examples=200, deadline=None)
def test_the_page_cites_what_the_files_cite(made: tuple[Report, CitedAnswer]) -> None:
    report, cited = made
    drawn = build_blocks(cited, collect_row_cells(report))
    told = [cite for block in drawn for cite in cited_in(block)]
    used = [n for item in cited.spans for n in item.numbers]
    assert [cite["n"] for cite in told] == used
    listed = json.loads(report_json(report, cited))["sources"]
    assert {cite["n"]: cite["url"].split("#:~:")[0] for cite in told} == {s["number"]: s["url"] for s in listed}
    assert not BIDI.search(json.dumps([b["node"] for b in drawn if b["kind"] == "text"], ensure_ascii=False))
