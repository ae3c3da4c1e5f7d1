"""Tests of the sentences that a cell may rest on: no date that only says when something was valid,
no count, no sentence about another thing or another question. Sources that agree are each shown
with their own sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from openpyxl import load_workbook

from research.application import Application
from research.citations.numbering import number_report_answer
from research.core.records import (
    Answer,
    Cell,
    CellReading,
    Column,
    Evidence,
    Grid,
    Passage,
    PassageReference,
    Plan,
    Report,
    Row,
    Run,
    RunOptions,
)
from research.core.settings import load_settings
from research.export.formats import export_report
from research.tables.column_values import merge_readings
from research.tables.formatting import reading_quotes
from research.tables.values import extract_value
from tests.tables import each_row

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def dated(text: str, name: str, question: str = "") -> str:
    value = extract_value(text, Column(id="c", name=name, question=question, type="date"))
    if value is None or value.day is None:
        return "-"
    return value.day.isoformat()[: {"day": 10, "month": 7, "year": 4}[value.precision]]


INSCRIBED = ("列入世界遗产的年份", "Inscribed on the World Heritage List")


@each_row(
    ("text", "said"),
    [
        ("截至2025年，北京共有8处世界遗产。", "-"),
        ("截至2025年底，北京共有8处世界遗产。", "-"),
        ("截止2025年12月31日，北京有世界遗产8处。", "-"),
        ("到2025年为止，北京有8处世界遗产。", "-"),
        ("在2025年的统计中，北京有8处世界遗产。", "-"),
        ("2025年普查显示，北京有世界遗产8处。", "-"),
        ("2025年，北京共有8处世界遗产。", "-"),
        ("自1987年以来，故宫是世界遗产。", "-"),
        ("2000年以前，北京有6处世界遗产。", "-"),
        ("北京共有1987处世界遗产。", "-"),
        ("As of 2025, Beijing has 8 World Heritage Sites.", "-"),
        ("As of January 2025 the palace is on the World Heritage List.", "-"),
        ("By 2025 Beijing had 8 World Heritage Sites.", "-"),
        ("By the end of 2025 Beijing had 8 World Heritage Sites.", "-"),
        ("In 2025 there were 8 World Heritage Sites in Beijing.", "-"),
        ("The palace has been a World Heritage Site since 1987.", "-"),
        ("Until 2012 the palace was on the World Heritage List.", "-"),
        ("According to 2024 figures China has 57 World Heritage Sites.", "-"),
        ("Beijing has 1987 World Heritage Sites.", "-"),
        ("1987年，故宫被列入《世界遗产名录》。", "1987"),
        ("1990年，黄山作为文化与自然双重遗产被列入《世界遗产名录》。", "1990"),
        ("1987年列入世界遗产，截至2025年北京共有8处。", "1987"),
        ("The palace was inscribed on the World Heritage List in 1987.", "1987"),
        ("Inscribed on the World Heritage List in 1987, it had 9 million visitors by 2025.", "1987"),
        ("It was one of 6 sites inscribed on the World Heritage List in 1987.", "1987"),
        ("On the World Heritage List (inscribed 1987; updated 2024).", "1987"),
    ],
)  # fmt: skip
def test_a_date_by_which_something_was_so_is_not_when_it_happened(text: str, said: str) -> None:
    assert dated(text, INSCRIBED[text.isascii()]) == said


@each_row(
    ("name", "text", "said"),
    [
        ("World Heritage since", "The palace has been a World Heritage Site since 1987.", "1987"),
        ("World Heritage since", "As of 2025 the palace is a World Heritage Site.", "-"),
        ("Figures as of", "As of March 2025 the museum has 40 rooms.", "2025-03"),
        ("数据截至", "截至2024年末，全市有地铁站97座。", "2024"),
        ("Licence valid until", "The licence is valid until 3 May 2027.", "2027-05-03"),
    ],
)
def test_a_column_that_asks_for_such_a_date_takes_its_own_kind_alone(name: str, text: str, said: str) -> None:
    assert dated(text, name) == said


@each_row(
    ("name", "text", "said"),
    [
        ("Suitable for children", "Tickets sell out early, so families should reserve in time.", "-"),
        ("Families", "Families should reserve early.", "-"),
        ("Family friendly", "Families should reserve early.", "-"),
        ("Family friendly", "The zoo is family-friendly.", "yes"),
        ("Suitable for children", "The park suits small children.", "yes"),
        ("Suitable for children", "The climb is unsuitable for small children.", "no"),
        ("适合带孩子", "带孩子的家庭宜尽早预约。", "-"),
        ("适合带孩子", "出发前给孩子讲白娘子的传说，游览会更有趣。", "-"),
        ("适合带孩子", "园内步道平缓，适合带孩子游览。", "yes"),
        ("适合带孩子", "山路陡峭，不适合儿童。", "no"),
        ("门票免费", "门票 60 元。", "-"),
        ("门票免费", "国庆假期游客极多，门票应尽早预约。", "-"),
        ("门票免费", "门票免费。", "yes"),
        ("Free admission", "Admission costs 5 euros.", "-"),
        ("Free admission", "Admission is free for children.", "-"),
        ("需要预约", "团体须预约。", "-"),
        ("需要预约", "附近的国家博物馆需要预约。", "-"),
        ("需要预约", "观众须提前实名预约。", "yes"),
        ("Reservation required", "Groups of more than 10 must book in advance.", "-"),
        ("有停车场", "景区附近有停车场。", "-"),
        ("有停车场", "景区设有停车场。", "yes"),
        ("Has parking", "There is parking next door.", "-"),
        ("Parking nearby", "There is parking nearby.", "yes"),
    ],
)  # fmt: skip
def test_yes_and_no_are_said_of_what_is_asked_and_not_of_something_like_it(name: str, text: str, said: str) -> None:
    value = extract_value(text, Column(id="c", name=name, type="yes or no"))
    assert (value and ("yes" if value.yes else "no")) == (None if said == "-" else said)


# A table of documents of one's own


def filled(
    folder: Path, documents: Mapping[str, str], rows: Sequence[str], column: Column
) -> tuple[Report, list[Cell]]:
    plan = Plan(grid=Grid(rows=tuple(Row(id=f"r{n}", name=name) for n, name in enumerate(rows)), columns=(column,)))
    with closing(Application(load_settings({}, data_dir=folder))) as desk:
        desk.library.set_sample_enabled(False)
        files = ((f"{n}.md", text.encode()) for n, text in documents.items())
        assert all(item.is_ok for item in desk.library.add_files(files))
        options = RunOptions(table=True, sources=("library",))
        run = desk.runs.start(rows[0], options=options, plan=plan)
        for _ in desk.runs.follow(run.id):
            pass
        report = desk.runs.report(run.id)
    assert report and report.answer
    return report, list(report.answer.cells)


@pytest.mark.slow
@each_row(
    ("name", "text", "said"),
    [
        ("镜湖", "# 镜湖\n\n市科技馆位于镜湖公园附近，有恐龙展览，适合带孩子参观。", None),
        ("镜湖", "# 镜湖\n\n珍珠岛需要乘船前往，适合带孩子游玩。", None),
        ("镜湖", "# 镜湖\n\n镜湖公园适合带孩子游览。", True),
        ("镜湖", "# 镜湖\n\n园内适合带孩子游览。", True),
        ("Mirror Lake", "# Mirror Lake\n\nPearl Island is quiet and suitable for children.", None),
        ("Mirror Lake", "# Mirror Lake\n\nMirror Lake is quiet and suitable for children.", True),
        ("Mirror Lake", "# Mirror Lake\n\nIt is quiet and suitable for children.", True),
        ("Mirror Lake", "# Mirror Lake\n\nThe ropeway near Mirror Lake is suitable for children.", None),
        ("Mirror Lake", "# Oakham\n\nOakham has a lake, Mirror Lake. Its zoo is suitable for children.", None),
    ],
)  # fmt: skip
def test_yes_needs_a_sentence_about_the_thing_of_the_row(
    name: str, text: str, said: bool | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = "适合带孩子" if name == "镜湖" else "Suitable for children"
    column = Column(id="c", name=asked, type="yes or no")
    _, (cell,) = filled(tmp_path_factory.mktemp("desk"), {"one": text}, [name], column)
    assert (cell.value.yes if cell.value else None) == said


ALDER = (
    "# Alder Museum\n\nThe Alder Museum holds 4,200 objects. The neighbouring Brook Gallery is closed on Mondays. "
    "It stands by the river."
)
BROOK = "# Brook Gallery\n\nThe Brook Gallery owns 800 paintings. It is closed on Tuesdays."


@pytest.mark.slow
@each_row(
    ("documents", "name", "column", "said"),
    [
        ([ALDER], "Alder Museum", Column(id="c", name="Closing day", type="text"), None),
        ([BROOK], "Brook Gallery", Column(id="c", name="Closing day", type="text"), "It is closed on Tuesdays."),
        ([ALDER, BROOK], "Brook Gallery", Column(id="c", name="Objects", type="number"), None),
        ([ALDER, BROOK], "Alder Museum", Column(id="c", name="Objects", type="number"), "4,200"),
        (["# 云溪博物馆\n\n附近的青岚博物馆周一闭馆。云溪博物馆建成于2011年。"], "云溪博物馆",
         Column(id="c", name="闭馆日", type="text"), None),
        (["# 云溪博物馆\n\n云溪博物馆建成于2011年，全年无休。"], "云溪博物馆",
         Column(id="c", name="列入世界遗产的年份", type="date"), None),
    ],
)  # fmt: skip
def test_a_sentence_that_begins_with_another_thing_fills_no_cell(
    documents: Sequence[str],
    name: str,
    column: Column,
    said: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    texts = {str(n): text for n, text in enumerate(documents)}
    _, (cell,) = filled(tmp_path_factory.mktemp("desk"), texts, [name], column)
    assert (cell.value.text.rstrip(".") if cell.value else None) == (said and said.rstrip("."))


@each_row(
    ("text", "said"),
    [
        ("Until 2019, admission was free; tickets now cost 9 euros.", 9.0),
        ("Admission used to be 5 euros and is now 9 euros.", 9.0),
        ("Until 2019, admission was 5 euros.", None),
        ("原价80元，现门票60元。", 60.0),
        ("门票以前为30元。", None),
    ],
)
def test_what_is_so_no_more_is_no_value(text: str, said: float | None) -> None:
    name, unit = ("Admission", "euros") if text.isascii() else ("门票", "元")
    value = extract_value(text, Column(id="c", name=name, type="number", unit=unit))
    assert (value.number if value else None) == said


def test_each_source_that_says_the_same_is_shown_with_its_own_sentence() -> None:
    texts = (
        "It was raised in nine years. The bridge opened to traffic in 1934. It is 210 m long.",
        "Steel was short. Only in May 1934 did the mayor open the bridge.",
        "1934年大桥通车。全长210米。",
    )
    spans = ((29, 66), (17, 64), (0, 10))
    column = Column(id="c", name="Opened", type="date")
    sources = tuple(
        Evidence(
            id=f"e{n}", kind="web", title=f"Page {n}", url=f"https://example.org/{n}", retrieved=NOW,
            passages=(Passage(id=f"p{n}", text=text, end=len(text)),),
        )
        for n, text in enumerate(texts)
    )  # fmt: skip
    sentences = [text[start:end] for text, (start, end) in zip(texts, spans, strict=True)]
    told = [
        CellReading(
            value=value, quote=text, references=(PassageReference(evidence=f"e{n}", passage=f"p{n}", start=start, end=end),),
        )
        for n, (text, (start, end)) in enumerate(zip(sentences, spans, strict=True))
        if (value := extract_value(text, column) or extract_value(text, Column(id="c", name="通车时间", type="date")))
    ]  # fmt: skip
    cell = Cell(row="r", column="c", readings=merge_readings(told, column))
    grid = Grid(rows=(Row(id="r", name="Bridge"),), columns=(column,))
    run = Run(
        id="t", conversation="t", owner="o", question="?", options=RunOptions(table=True), status="done",
        created=NOW,
    )  # fmt: skip
    answer = Answer(title="t", language="en", author="a", created=NOW, cells=(cell,))
    report = Report(run=run, plan=Plan(grid=grid), answer=answer, evidence=sources)
    numbered = number_report_answer(report)
    assert numbered and len(told) == 3
    (reading,) = numbered.cells[0].cell.readings
    known = {source.evidence.id: source.evidence for source in numbered.sources}
    assert sorted(reading_quotes(reading, known)) == sorted(sentences)

    book = load_workbook(BytesIO(export_report(report, numbered, "xlsx")))["Evidence"]
    shown = {book.cell(n, 7).value: (book.cell(n, 5).value, book.cell(n, 4).value) for n in (2, 3, 4)}
    assert shown == {
        "Page 0": (sentences[0], "1934"),
        "Page 1": (sentences[1], "May 1934"),
        "Page 2": (sentences[2], "1934年"),
    }
    (one,) = json.loads(export_report(report, numbered, "table.json"))["cells"]
    assert sorted(c["quote"] for c in one["readings"][0]["cites"]) == sorted(sentences)
