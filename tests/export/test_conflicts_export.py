"""Where sources disagree, as a table: linked or cited, dated, and with nothing in it that acts."""

from __future__ import annotations

from datetime import UTC, date, datetime

from research.citations.registry import EvidenceRegistry
from research.core.records import CitedFigure, Evidence, FigureDisagreement, Passage
from research.export.disagreements_markdown import disagreement_blocks
from research.export.report_texts import report_translator

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def test_each_figure_has_its_source_its_date_and_its_sentence() -> None:
    registry = EvidenceRegistry()
    item = registry.add(
        Evidence(
            id="e2", kind="web", title="A|B](x) <b>", url="https://b.example/", retrieved=NOW,
            passages=(Passage(id="p", text="t"),),
        )
    )  # fmt: skip
    figures = (
        CitedFigure(text="40元", clause="门票|40元 <script>", evidence=item.id, copies=2),
        CitedFigure(text="60元", clause="门票60元", evidence="e1", number=3, date=date(2024, 5, 1)),
    )
    one = FigureDisagreement(subject="故宫门票", unit="yuan", figures=figures)
    heading, _, table = disagreement_blocks([one], registry, report_translator("zh"))
    assert heading == "## 来源不一致"
    rows = table.splitlines()[2:]
    assert rows[0].startswith("| 故宫门票 | 40元 | [A")
    assert "](https://b.example/)" in rows[0] and "另有 2 处转载" in rows[0]
    assert "<script" not in rows[0].replace("\\<", "")
    assert rows[1] == "|  | 60元 | [3] | 2024-05-01 | 门票60元 |"


def test_without_a_conflict_nothing_is_said() -> None:
    assert list(disagreement_blocks([], EvidenceRegistry(), report_translator("en"))) == []


def test_ten_disagreements_are_printed_and_the_rest_is_counted() -> None:
    given = CitedFigure(text="12", clause="12 ships wait", evidence="e")
    found = [FigureDisagreement(subject=f"thing {n}", unit="", figures=(given,)) for n in range(13)]
    for language, left in (("zh", "其余 3 处见导出的数据。"), ("en", "The other 3 are in the data export.")):  # fmt: skip
        *_, table, last = disagreement_blocks(found, EvidenceRegistry(), report_translator(language))
        assert table.count("thing ") == 10
        assert last == left
