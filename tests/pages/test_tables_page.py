"""The Tables page: proposing, editing, approving, setting up by hand, what a cell rests on, another table."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from research import Column, Grid, Plan, Row, RunOptions, close_application, get_application
from research.core.records import Cell, CellReading, CellValue, PassageReference
from research.storage.store import Store
from tests.catalogue import WORDS
from tests.fakes import until
from tests.pages.filled_table import IDS, keep, large, museums, put, source
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
COMPARED = "Compare the Palace Museum and the Shaanxi History Museum: ticket price, closing day"
OWN = RunOptions(sources=("library",))


def english(key: str, **values: object) -> str:
    return WORDS[key][1].format(**values)


def only_library(visitor: Visitor) -> Visitor:
    visitor.at.button_group(key="table_sources").set_value(["library"])
    return visitor.look()


def columns(visitor: Visitor, *lines: dict[str, str]) -> Visitor:
    """Types columns into the table of columns of one's own."""
    visitor.at.session_state["table_columns"] = {
        "edited_rows": {}, "added_rows": [{"type": "text"} | line for line in lines], "deleted_rows": [],
    }  # fmt: skip
    return visitor.look()


def grid_of(run_id: str) -> Grid:
    report = get_application().runs.report(run_id)
    assert report and report.plan and report.plan.grid
    return report.plan.grid


def done(run_id: str, status: str = "done") -> None:
    until(lambda: (run := get_application().runs.get_run(run_id)) is not None and run.status == status)


def select(visitor: Visitor, run_id: str, row: int, column: int | str) -> Visitor:
    visitor.at.session_state[f"grid_{run_id[:8]}"] = {
        "selection": {"rows": [], "columns": [], "cells": [(row, str(column))]}
    }
    return visitor.look()


@pytest.fixture
def filled(folder: Path) -> str:
    """The run of the small English table."""
    close_application()
    store = Store(folder / "runs.db")
    made = put(store, "en")
    store.close()
    return made


# Asking


def test_a_sentence_becomes_a_proposal_that_is_edited_and_approved(visit: Visit) -> None:
    visitor = only_library(visit("tables"))
    visitor.at.text_area(key="table_sentence").set_value(COMPARED)
    visitor.press("propose")
    run_id = visitor.run_id
    done(run_id, "waiting")
    visitor.look()
    proposed = grid_of(run_id)
    assert [row.name for row in proposed.rows] == ["Palace Museum", "Shaanxi History Museum"]
    assert len(proposed.columns) == 2 and english("tables.waiting") in visitor.words
    assert list(visitor.table("about")["name"]) == [row.name for row in proposed.rows]
    assert list(visitor.table("question")["name"]) == [c.name for c in proposed.columns]
    key = run_id[:8]
    visitor.at.session_state[f"approve_columns_{key}"] = {
        "edited_rows": {0: {"name": "Price"}}, "added_rows": [], "deleted_rows": [1],
    }  # fmt: skip
    visitor.at.session_state[f"approve_rows_{key}"] = {
        "edited_rows": {}, "added_rows": [{"name": "Summer Palace", "about": "Beijing"}], "deleted_rows": [],
    }  # fmt: skip
    visitor.look().press(f"fill_{key}").wait()
    edited = grid_of(run_id)
    assert [column.name for column in edited.columns] == ["Price"]
    assert [row.full_name for row in edited.rows][2:] == ["Summer Palace Beijing"]
    report = get_application().runs.report(run_id)
    assert report and report.run.status == "done" and report.answer
    assert len(report.answer.cells) == 3
    assert {finding.task.source for finding in report.findings} == {"library"}


def test_a_proposal_is_discarded_before_anything_is_searched(visit: Visit) -> None:
    visitor = only_library(visit("tables"))
    visitor.at.text_area(key="table_sentence").set_value(COMPARED)
    visitor.press("propose")
    done(visitor.run_id, "waiting")
    visitor.look().press(f"discard_{visitor.run_id[:8]}")
    done(visitor.run_id, "stopped")
    report = get_application().runs.report(visitor.run_id)
    assert report and report.findings == ()


def test_an_empty_sentence_and_a_choice_without_a_source_are_refused(visit: Visit) -> None:
    visitor = visit("tables").press("propose")
    assert visitor.errors == [english("problem.empty")]
    visitor.at.button_group(key="table_sources").set_value([])
    visitor.at.text_area(key="table_sentence").set_value(COMPARED)
    visitor.press("propose")
    assert visitor.errors == [english("ask.no_sources")]
    assert get_application().runs.recent_runs() == []


def test_a_table_set_up_by_hand_tells_its_costs_and_is_filled(visit: Visit) -> None:
    visitor = only_library(visit("tables"))
    assert visitor.at.button(key="fill").disabled
    visitor.at.text_area(key="table_rows").set_value("Palace Museum | Beijing\nSummer Palace\n")
    columns(visitor, {"name": "Ticket", "type": "number", "unit": "CNY"}, {"name": "Closed on"})
    cells, searches = told_costs(visitor)
    assert cells == 4 and searches > 0
    visitor.at.text_input(key="table_title").set_value("Sights of Beijing")
    visitor.look().press("fill").wait()
    grid = grid_of(visitor.run_id)
    assert [row.full_name for row in grid.rows] == ["Palace Museum Beijing", "Summer Palace"]
    assert [(c.name, c.type, c.unit) for c in grid.columns] == [
        ("Ticket", "number", "CNY"), ("Closed on", "text", ""),
    ]  # fmt: skip
    report = get_application().runs.report(visitor.run_id)
    assert report and report.run.question == "Sights of Beijing"
    made = [finding for finding in report.findings if finding.task.source == "library"]
    assert 0 < len(made) <= searches


@pytest.mark.parametrize(("locale", "language"), [("zh-CN", 0), ("en-US", 1)])
def test_columns_that_cannot_be_used_as_they_are_have_a_warning_beside_the_editor(
    visit: Visit, locale: str, language: int
) -> None:
    visitor = only_library(visit("tables", locale=locale))
    columns(visitor, {"name": "Ticket"})
    assert not visitor.at.warning
    columns(
        visitor,
        {"name": "Kind *x*", "type": "choice", "choices": "park"},
        {"name": " ", "question": "Is it *open*?"},
        {"name": "Size", "type": "choice", "choices": "small; large"},
        {"name": ""},
    )
    (warning,) = visitor.at.warning
    assert warning.value.replace("\\", "").splitlines() == [
        f"- {WORDS['tables.column_choices'][language].format(name='Kind *x*')}",
        f"- {WORDS['tables.column_unnamed'][language].format(text='Is it *open*?')}",
    ]


def told_costs(visitor: Visitor) -> tuple[int, int]:
    """Cells and searches as the page tells them before anything is started."""
    (line,) = [one.value for one in visitor.at.caption if "at most" in one.value]
    cells, searches = (int(word) for word in line.split() if word.isdigit())
    return cells, searches


def test_fewer_sources_cost_fewer_searches(visit: Visit) -> None:
    visitor = only_library(visit("tables"))
    visitor.at.text_area(key="table_rows").set_value("Palace Museum\nSummer Palace\n")
    columns(visitor, {"name": "Ticket"})
    before = told_costs(visitor)
    visitor.at.button_group(key="table_sources").set_value(["library", "places"])
    after = told_costs(visitor.look())
    assert before[0] == after[0] and before[1] < after[1]


def test_rows_come_from_a_csv_file(visit: Visit) -> None:
    visitor = visit("tables")
    visitor.at.text_area(key="table_rows").set_value("Forbidden City")
    given = "id,name,city\n1,City Museum,St. Louis\n2,Lake Museum,\n".encode("utf-8-sig")
    visitor.at.file_uploader(key="rows_csv").set_value([("rows.csv", given, "text/csv")])
    visitor.look().press("take_file")
    typed = visitor.at.text_area(key="table_rows").value
    assert typed == "Forbidden City\nCity Museum | St. Louis\nLake Museum"
    assert "Commas, UTF-8, headings in row 1" in visitor.words


def test_how_the_file_of_rows_was_read_is_said_beside_them(visit: Visit) -> None:
    visitor = visit("tables")
    given = "Museen 2024;;\nname;Besucher;\nKöln;1.200,5;\nBonn;800,5;\nSumme;2.001,0;\n".encode("cp1252")
    visitor.at.file_uploader(key="rows_csv").set_value([("rows.csv", given, "text/csv")])
    visitor.look().press("take_file")
    assert visitor.at.text_area(key="table_rows").value == "Köln\nBonn"
    assert "Semicolons, Windows-1252, headings in row 2" in visitor.words and "Row 5, total: Summe" in visitor.words


def test_a_file_that_is_no_text_is_refused_in_words(visit: Visit) -> None:
    visitor = visit("tables")
    visitor.at.file_uploader(key="rows_csv").set_value([("rows.csv", b"\xff\xfe\x80\x81\xff", "text/csv")])
    visitor.look().press("take_file")
    assert ["damaged or incomplete" in toast.value for toast in visitor.at.toast] == [True]
    assert visitor.at.text_area(key="table_rows").value == ""


def test_rows_come_from_an_earlier_answer_with_its_places(visit: Visit) -> None:
    run = get_application().runs.start(
        "Where can I take kids near Wangfujing?", options=RunOptions(sources=("places",))
    )
    done(run.id)
    visitor = visit("tables")
    visitor.press("take_run")
    typed = (visitor.at.text_area(key="table_rows").value or "").splitlines()
    assert len(typed) > 1
    only_library(visitor)
    columns(visitor, {"name": "Ticket"})
    visitor.press("fill").wait()
    rows = grid_of(visitor.run_id).rows
    assert len(rows) == len(typed) and all(row.place for row in rows)
    shown = [json.loads(item.proto.json) for item in visitor.at.get("bidi_component")]
    assert len(shown[0]["rows"]) == len(typed)  # beside the map


# A table that is filled in


def test_a_selected_cell_shows_what_it_rests_on(visit: Visit, filled: str) -> None:
    visitor = visit("tables", run=filled)
    assert "12 of 25 cells filled" in visitor.words
    assert "sources differ in 1 cell" in visitor.words and "1 value needs checking" in visitor.words
    assert english("tables.pick") in visitor.words
    select(visitor, filled, 0, 0)
    assert english("tables.pick") not in visitor.words
    for words in ("60", "40", "A ticket costs 60 yuan in the high season.",
                  "A ticket costs 40 yuan in the low season.", "museum0.example.org",
                  english("tables.lack_differs")):  # fmt: skip
        assert words in visitor.words
    links = [m.value for m in visitor.at.caption if "https://museum0.example.org/visit" in m.value]
    assert links and "#:~:text=" in links[0]
    select(visitor, filled, 1, 2)
    assert english("standing.unclear") in visitor.words


def test_each_source_of_a_selected_cell_stands_under_its_own_sentence(visit: Visit, folder: Path) -> None:
    told = "The bridge opened to traffic in 1934.", "In May 1934 the mayor opened the bridge."
    found = [source(n, f"Page {n}", f"Steel was short. {text}") for n, text in enumerate(told)]
    cites = tuple(PassageReference(evidence=item.id, passage="p", start=17, end=item.passages[0].end) for item in found)
    opened = CellValue(type="date", text="1934", day=date(1934, 1, 1), precision="year")
    reading = CellReading(value=opened, quote=told[0], references=cites)
    column = Column(id="c", name="Opened", type="date")
    grid = Grid(rows=(Row(id="r", name="Bridge"),), columns=(column,))
    cell = Cell(row="r", column="c", readings=(reading,))
    close_application()
    store = Store(folder / "runs.db")
    made = keep(store, "bridge00-run", "Bridges", grid, [cell], found)
    store.close()
    visitor = select(visit("tables", run=made), made, 0, 0)
    quotes = [m.value.replace("\\", "") for m in visitor.at.markdown if m.value[:2] == "> "]
    assert quotes == [f"> {text}" for text in told]
    sources = [m.value for m in visitor.at.caption if "Page " in m.value]
    assert ["Page 0" in sources[0], "Page 1" in sources[1]] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "at, lack",
    [((4, 2), "not_found"), ((2, 2), "limit"), ((2, 3), "failed"), ((3, 0), "which_one")],
)
def test_an_empty_cell_says_why(visit: Visit, filled: str, at: tuple[int, int], lack: str) -> None:
    visitor = select(visit("tables", run=filled), filled, *at)
    assert english(f"tables.lack_{lack}") in visitor.words


def test_the_grid_shows_ranges_units_and_nothing_that_is_escaped(visit: Visit, filled: str) -> None:
    visitor = visit("tables", run=filled)
    (frame,) = [f for f in visitor.at.dataframe if f.key == f"grid_{filled[:8]}"]
    for said in ("30–50", "12 USD", "1925-10-10", "1991-06", "Ticket (CNY)"):
        assert said in sent(frame), said
    assert "\\" not in "".join(map(str, frame.value.to_numpy().ravel()))
    numbers = frame.value["0"]
    assert list(numbers.dropna()) == [60, 30, 0, 12] and numbers.isna().sum() == 1
    assert english("tables.mixed", columns="Ticket") in visitor.words


def sent(frame: object) -> str:
    """All that the browser is told of a table."""
    proto = frame.proto  # type: ignore[attr-defined]
    return proto.columns + proto.arrow_data.styler.display_values.decode("utf-8", "replace")


def test_which_one_is_chosen_and_only_that_row_is_looked_up_anew(visit: Visit, folder: Path) -> None:
    grid = Grid(
        rows=(Row(id="r1", name="Palace Museum"), Row(id="r2", name="City Museum")),
        columns=(Column(id="c1", name="ticket"),),
    )
    first = get_application().start_table("Museums", grid=grid, options=OWN)
    done(first.id)
    report = get_application().runs.report(first.id)
    assert report and report.answer
    cells = [
        cell.model_copy(
            update={"readings": (), "missing_reason": "which one", "choices": ("St. Louis", "New York")}
        )
        if cell.row == "r2" else cell
        for cell in report.answer.cells
    ]  # fmt: skip
    answer = report.answer.model_copy(update={"cells": tuple(cells)})
    get_application().runs.store.save_outcome(first.id, report.plan, (), answer)
    visitor = select(visit("tables", run=first.id), first.id, 1, 0)
    visitor.press("which_1_r2").wait()
    assert visitor.run_id != first.id
    again = get_application().runs.report(visitor.run_id)
    assert again and again.plan and again.plan.grid and again.run.based_on == first.id
    assert [row.full_name for row in again.plan.grid.rows] == ["Palace Museum", "City Museum New York"]
    searched = {f.task.part for f in again.findings if not f.reused}
    assert searched == {"r2.c1"}


def test_a_changed_column_has_only_its_own_searches(visit: Visit) -> None:
    grid = Grid(
        rows=(Row(id="r1", name="Palace Museum"),),
        columns=(Column(id="c1", name="ticket"), Column(id="c2", name="closed on")),
    )
    first = get_application().start_table("Museums", grid=grid, options=OWN)
    done(first.id)
    visitor = visit("tables", run=first.id)
    key = first.id[:8]
    visitor.at.session_state[f"columns_{key}"] = {
        "edited_rows": {1: {"name": "booking", "question": "Is booking needed?"}},
        "added_rows": [], "deleted_rows": [],
    }  # fmt: skip
    visitor.look().press(f"again_{key}").wait()
    assert visitor.run_id != first.id
    again = get_application().runs.report(visitor.run_id)
    assert again and again.answer and len(again.answer.cells) == 2
    assert {f.task.part for f in again.findings if not f.reused} == {"r1.c2"}


def test_a_table_without_rows_is_not_started(visit: Visit, filled: str) -> None:
    visitor = visit("tables", run=filled)
    key = filled[:8]
    visitor.at.session_state[f"rows_{key}"] = {
        "edited_rows": {}, "added_rows": [], "deleted_rows": [0, 1, 2, 3, 4],
    }  # fmt: skip
    visitor.look().press(f"again_{key}")
    assert visitor.errors == [english("tables.nothing")]
    assert len(get_application().runs.recent_runs()) == 1


def test_columns_tell_how_sure_they_are_and_numbers_have_a_chart(visit: Visit, filled: str) -> None:
    visitor = visit("tables", run=filled)
    sure = visitor.table("checked").set_index("column")
    assert list(sure.loc["Ticket"][["filled", "checked", "differ"]]) == ["4/5", 4, 1]
    assert sure.loc["Booking", "checked"] == 1  # of two, one is unclear
    assert str(sure.loc["Ticket", "oldest"]) == "2026-01-01"
    (chart,) = visitor.at.get("vega_lite_chart")
    assert "Ticket (CNY)" in chart.proto.spec
    assert "Smithsonian Museum Washington" in visitor.words  # left out, in another currency


def test_a_table_with_nothing_in_it_draws_neither(visit: Visit, folder: Path) -> None:
    close_application()
    store = Store(folder / "runs.db")
    grid, cells, _ = museums("en")
    none = [c.model_copy(update={"readings": (), "missing_reason": "not found"}) for c in cells]
    keep(store, "nothing0-run", "Nothing", grid, none, ())
    store.close()
    visitor = visit("tables", run="nothing0-run")
    assert "0 of 25 cells filled" in visitor.words
    assert english("tables.columns_sure") not in visitor.words


def test_excel_is_offered_first_and_the_others_behind_it(visit: Visit, filled: str) -> None:
    visitor = visit("tables", run=filled)
    offered = [button.proto.label for button in visitor.at.get("download_button")]
    assert "Excel" in offered[0]
    for kind in ("CSV", "Markdown", "JSON", "Parquet"):
        assert any(kind in label for label in offered), kind


def test_a_table_that_was_stopped_shows_what_had_come_and_the_rest_as_not_looked_up(visit: Visit, folder: Path) -> None:
    close_application()
    store = Store(folder / "runs.db")
    grid, cells, found = large(3, 2)
    keep(store, "halfway0-run", "Half", grid, cells[:3], found, status="stopped")
    store.close()
    visitor = visit("tables", run="halfway0-run")
    assert "3 of 6 cells filled" in visitor.words
    select(visitor, "halfway0-run", 2, 1)
    assert english("tables.not_yet") in visitor.words


# Whose it is


def test_the_tables_of_others_are_neither_listed_nor_drawn(visit: Visit, folder: Path) -> None:
    grid = Grid(rows=(Row(id="r1", name="Palace Museum"),), columns=(Column(id="c1", name="ticket"),))
    other = get_application().runs.start("Their table", options=OWN.model_copy(update={"table": True}), owner="other", plan=Plan(grid=grid))  # fmt: skip
    until(lambda: (run := get_application().runs.get_run(other.id, owner="other")) is not None and not run.is_active)
    visitor = visit("tables", run=other.id)
    assert english("ask.no_run") in visitor.words
    assert "Their table" not in visitor.words
    assert "Their table" not in visit("tables").words


@pytest.mark.slow
def test_earlier_tables_are_listed_and_a_table_is_reached_from_the_page_of_questions(visit: Visit, filled: str) -> None:
    assert "Compare five museums" in visit("tables").words
    visitor = visit("", run=filled)
    visitor.look()
    assert "12 of 25 cells filled" in visitor.words
    visitor.press("new")
    assert english("tables.lead") in visitor.words


def test_the_other_language_says_the_same(visit: Visit, folder: Path) -> None:
    close_application()
    store = Store(folder / "runs.db")
    put(store, "zh")
    store.close()
    visitor = visit("tables", locale="zh-CN", run=IDS["zh"])
    assert "共 25 格，已填 12 格" in visitor.words
    select(visitor, IDS["zh"], 3, 0)
    assert WORDS["tables.lack_which_one"][0] in visitor.words
