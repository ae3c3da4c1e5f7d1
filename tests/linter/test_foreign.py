"""Reports after the looks of other programs (`foreign/*.txt`), sound ones and ones with a planted defect.

A report begins with `%%% NAME | clean` or `%%% NAME | KIND/KIND @ WORDS`: one of these kinds has to be
found in a line that holds the words, and no error anywhere else. Written before the linter was read, and
split by a hash of the name: one half was looked at while it was mended, the other measured afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from research import lint_markdown
from research.linter.flaw_kinds import SEVERITY_BY_KIND
from tests.tables import each_row

HERE = Path(__file__).parent / "foreign"


def _reports() -> Iterator[tuple[str, str, str]]:
    for path in sorted(HERE.glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("%%% ")[1:]:
            head, text = block.split("\n", 1)
            name, label = head.split(" | ", 1)
            yield name, label, text


REPORTS = list(_reports())
CLEAN = [(name, text) for name, label, text in REPORTS if label == "clean"]
PLANTED = [report for report in REPORTS if report[1] != "clean"]


def test_there_are_enough_of_both() -> None:
    assert len({name for name, _, _ in REPORTS}) == len(REPORTS)
    assert len(CLEAN) >= 50 and len(PLANTED) >= 60


@each_row(("name", "text"), CLEAN)
def test_a_sound_report_has_citations_and_no_defect(name: str, text: str) -> None:
    lint = lint_markdown(text)
    assert [flaw for flaw in lint.flaws if flaw.severity != "info"] == []
    assert lint.citations or name in (
        "mla-rivers",
        "deerflow-grid",
    )  # which cite nothing that is known


@each_row(("name", "label", "text"), PLANTED)
def test_a_planted_defect_is_found_where_it_stands(name: str, label: str, text: str) -> None:
    named, words = label.split(" @ ")
    lines = text.split("\n")
    assert any(words in line for line in lines)
    kinds = set(named.split("/"))
    assert kinds <= set(SEVERITY_BY_KIND)
    flaws = lint_markdown(text).flaws
    hits = [flaw for flaw in flaws if flaw.kind in kinds and words in lines[flaw.line - 1]]
    assert hits
    assert [flaw for flaw in flaws if flaw.severity == "error" and flaw not in hits] == []
