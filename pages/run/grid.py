"""A table that is filled in: its cells as they come, and the evidence of the one that is selected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from pages.run import fragments
from pages.shared import asking
from pages.shared.login import owner
from pages.shared.safe import link, plain, web
from pages.shared.words import day, lang, number, t
from pages.tables import form
from research import (
    Cell,
    Column,
    Evidence,
    Grid,
    PaceError,
    QuestionError,
    Reading,
    Report,
    Run,
    cell_text,
    column_aligned,
    column_unit,
    runs,
)
from research import Row as Line

Cells = Mapping[tuple[str, str], Cell]
HEIGHT, ROWS = 520, 14  # pixels of a table with more rows than so many
EMPTY = "color: gray"
DOUBT = "background-color: rgba(234, 179, 8, .22)"
FOUND = 90  # characters of a cell


def cells_of(report: Report) -> Cells:
    found = report.answer.cells if report.answer else ()
    return {(cell.row, cell.column): cell for cell in found}


def draw(run: Run, grid: Grid, cells: Cells, report: Report | None = None) -> None:
    """The table; with the `report` of a run that is over, what the selected cell rests on."""
    st.caption(told(grid, cells))
    names = [f"{n}" for n in range(len(grid.columns))]
    filled = tuple(cells.values())
    numbers = {c.id: column_aligned(c, filled) for c in grid.columns if c.type == "number"}
    table = pd.DataFrame(
        [
            [
                plain(row.named),
                *(_shown(cells.get((row.id, c.id)), c, numbers) for c in grid.columns),
            ]
            for row in grid.rows
        ],
        columns=["row", *names],
    )
    for at, column in zip(names, grid.columns, strict=True):
        if column.type == "number":
            table[at] = pd.to_numeric(table[at], errors="coerce")
    marks = [["", *(_mark(cells.get((row.id, c.id))) for c in grid.columns)] for row in grid.rows]
    style = pd.DataFrame(marks, index=table.index, columns=table.columns)
    chosen = st.dataframe(
        table.style.apply(lambda _: style, axis=None),
        hide_index=True,
        key=f"grid_{run.id[:8]}",
        alt=plain(grid.title or t("tables.title")),
        placeholder="",
        height=HEIGHT if len(grid.rows) > ROWS else "content",
        on_select="rerun",
        selection_mode="single-cell",
        column_config={
            "row": st.column_config.TextColumn(t("tables.row"), pinned=True, width="medium")
        }
        | {
            at: _column(column, column_unit(column, filled))
            for at, column in zip(names, grid.columns, strict=True)
        },
    )
    picked = chosen.selection.cells
    if not picked:
        st.caption(t("tables.pick"))
        return
    at, name = picked[0]
    if name in names and at < len(grid.rows):
        row, column = grid.rows[at], grid.columns[int(name)]
        evidence(run, row, column, cells.get((row.id, column.id)), report)


def told(grid: Grid, cells: Cells) -> str:
    """How far the table is filled in a line."""
    filled = sum(bool(cell.readings) for cell in cells.values())
    facts = [
        t("tables.filled", filled=number(filled), cells=number(len(grid.rows) * len(grid.columns)))
    ]
    differs = sum(len(cell.readings) > 1 for cell in cells.values())
    facts += [t("tables.differing", n=differs)] if differs else []
    unsure = sum(any(r.status == "unclear" for r in cell.readings) for cell in cells.values())
    facts += [t("tables.unsure", n=unsure)] if unsure else []
    return " · ".join(facts)


def _shown(cell: Cell | None, column: Column, numbers: Mapping[str, Mapping[str, Any]]) -> Any:
    if cell is None or cell.value is None:
        return None
    if column.type == "number":
        return numbers[column.id][cell.row].low
    return plain(cell_text(cell.value, column, lang()), FOUND)


def _mark(cell: Cell | None) -> str:
    if cell is None or not cell.readings:
        return EMPTY
    unsure = len(cell.readings) > 1 or cell.readings[0].status == "unclear"
    return DOUBT if unsure else ""


def _column(column: Column, unit: str) -> Any:
    title = plain(f"{column.name} ({unit})" if column.type == "number" and unit else column.name)
    about = plain(column.question) or None
    if column.type == "number":
        return st.column_config.NumberColumn(title, help=about, format="localized")
    return st.column_config.TextColumn(title, help=about)


def evidence(run: Run, row: Line, column: Column, cell: Cell | None, report: Report | None) -> None:
    """What a cell rests on, or why it is empty."""
    with st.container(border=True, key="cell"):
        st.markdown(f"**{plain(row.named)}** · {plain(column.name)}")
        if cell is None:
            st.caption(t("tables.not_yet"))
            return
        known = {item.id: item for item in report.evidence} if report else {}
        for reading in cell.readings:
            _reading(reading, column, known)
        if cell.lack:
            lines = [t(f"tables.lack_{cell.lack}"), plain(cell.message)]
            st.caption(" ".join(filter(None, lines)))
        for choice in cell.choices if report else ():
            key = f"which_{row.id}_{abs(hash(choice)):x}"
            if st.button(plain(choice), key=key) and report and report.plan and report.plan.grid:
                meant(run, report.plan.grid, row, choice)


def _reading(reading: Reading, column: Column, known: Mapping[str, Evidence]) -> None:
    st.markdown(
        f"{plain(cell_text(reading.value, column, lang()))} · {t(f'support.{reading.status}')}"
    )
    st.markdown(f"> {plain(reading.quote, 600)}")
    for cite in reading.cites:
        item = known.get(cite.evidence)
        if item is None:
            continue
        passage = next((p for p in item.passages if p.id == cite.passage), None)
        address = web(fragments.address(item, passage, cite.start, cite.end))
        name = plain(item.title, 120)
        facts = [link(name, address) if address else name, plain(item.publisher)]
        facts += [day(item.published)] if item.published else []
        st.caption(" · ".join(filter(None, dict.fromkeys(facts))))


def meant(run: Run, grid: Grid, row: Line, about: str) -> None:
    """The table once more, with what tells a row from others of its name."""
    rows = tuple(
        one.model_copy(update={"about": about}) if one.id == row.id else one for one in grid.rows
    )
    begin(run, grid.model_copy(update={"rows": rows}))


def begin(run: Run, grid: Grid) -> None:
    """Another table that keeps the cells of this one which it asks again."""
    try:
        made = runs.tabulate(
            run.question, grid=grid, options=run.options, owner=owner(), based_on=run.id
        )
    except (QuestionError, PaceError) as error:
        asking.refuse(error)
        return
    asking.show(made)
    st.rerun()


def change(run: Run, grid: Grid) -> None:
    """Rows and columns to edit, and what to look up anew."""
    with st.expander(t("tables.change"), key=f"change_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("tables.change_help"))
        rows = form.edited_rows(grid.rows, f"rows_{run.id[:8]}")
        columns = form.edited_columns(grid.columns, f"columns_{run.id[:8]}")
        since = st.date_input(
            t("tables.since"), value=None, max_value="today", key=f"since_{run.id[:8]}",
            help=t("tables.since_help"),
        )  # fmt: skip
        if st.button(t("tables.again"), key=f"again_{run.id[:8]}", type="primary"):
            if rows and columns:
                moment = datetime(since.year, since.month, since.day, tzinfo=UTC) if since else None
                update = {"rows": rows, "columns": columns, "since": moment}
                begin(run, grid.model_copy(update=update))
            else:
                st.error(t("tables.nothing"))


def approve(grid: Grid, key: str) -> Grid:
    """A table that is proposed, to be edited before anything is searched."""
    rows = form.edited_rows(grid.rows, f"approve_rows_{key}")
    columns = form.edited_columns(grid.columns, f"approve_columns_{key}")
    return grid.model_copy(update={"rows": rows, "columns": columns})
