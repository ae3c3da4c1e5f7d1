"""Markdown as GitHub's reader and pandoc read it: citations lead to their sources, formulas are formulas."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
from lxml import html

from research.core.records import Report
from research.export.markdown import report_markdown
from research.export.options import ExportOptions
from tests.export.test_formulas_export import FOUND, PROSE
from tests.export.test_formulas_export import written as prose
from tests.export.test_markdown import HOSTILE, numbered, report
from tests.tables import each_row

READERS = {
    "cmark-gfm": ["cmark-gfm", "-e", "table", "-e", "strikethrough", "-e", "footnotes", "--unsafe"],
    "pandoc of GitHub's": ["pandoc", "-f", "gfm", "-t", "html"],
    "pandoc": ["pandoc", "-f", "markdown", "-t", "html", "--mathml"],
}


def read(reader: str, markdown: str) -> Any:
    command = READERS[reader]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, input=markdown, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return html.document_fromstring(done.stdout)


def marks(written: Report) -> list[int]:
    """The numbers of the citations, in order."""
    told = report_markdown(written, numbered(written))
    return [int(n) for n in re.findall(r"(?<!\\)\[(\d+)\](?!\()", told)]


@pytest.mark.slow
@each_row("reader", READERS)
@each_row("words", ["Some words", *HOSTILE[:12]])
def test_a_citation_leads_to_its_source(reader: str, words: str) -> None:
    made = report(words)
    page = read(reader, report_markdown(made, numbered(made), ExportOptions(citation_format="links")))
    inner = [a for a in page.iter("a") if a.get("href", "").startswith("#s")]
    assert [int(a.get("href")[2:]) for a in inner] == marks(made) != []
    assert all(a.text_content() == f"[{a.get('href')[2:]}]" for a in inner)
    goals = {a.get("id"): a.getparent() for a in page.iter("a") if a.get("id")}
    assert {a.get("href")[1:] for a in inner} <= {*goals}
    for name, item in goals.items():
        while item.tag != "li":
            item = item.getparent()
        assert f"s{item.getparent().index(item) + 1}" == name


@pytest.mark.parametrize("reader", READERS)
def test_a_citation_can_be_a_footnote(reader: str) -> None:
    made = report("Some words")
    page = read(reader, report_markdown(made, numbered(made), ExportOptions(citation_format="footnotes")))
    notes = [a for a in page.iter("a") if a.text_content().isdigit() and a.get("href", "").startswith("#fn")]
    if reader == "cmark-gfm":  # pandoc numbers each mark anew
        assert [int(a.text_content()) for a in notes] == marks(made)
    assert len(notes) == len(marks(made)) > 0
    ids = {node.get("id") for node in page.iter() if node.get("id")}
    assert {a.get("href")[1:] for a in notes} <= ids


def test_pandoc_finds_each_formula() -> None:
    made = prose(PROSE)
    page = read("pandoc", report_markdown(made, numbered(made)))
    found = [node.findtext(".//annotation").strip() for node in page.iter("math")]
    assert [" ".join(tex.split()) for tex in found] == [" ".join(tex.split()) for tex, _ in FOUND]


def test_what_is_not_asked_for_cites_by_number() -> None:
    made = report("Some words")
    assert "](#s" not in report_markdown(made, numbered(made))
    assert "<a id" not in report_markdown(made, numbered(made), ExportOptions(citation_format="footnotes"))
