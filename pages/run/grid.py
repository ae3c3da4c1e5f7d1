"""A table that is filled in: its cells as they come, and the evidence of the one that is selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from pages.run import fragments
from pages.shared import asking
from pages.shared.login import owner
from pages.shared.safe import line, link, plain, web
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
    application,
    cell_heading,
    cell_in_column,
    cell_quotes,
    cell_text,
    cited,
    column_aligned,
    column_unit,
)
from research import Row as Line

Cells = Mapping[tuple[str, str], Cell]
HEIGHT, ROWS = 520, 14  # pixels of a table with more rows than so many
NONE = "–"  # in a cell in which nothing was found
DOUBT = "background-color: rgba(234, 179, 8, .22)"
CHECKED = ("quoted", "supported")
FOUND = 90  # characters of a cell
NARROW, WIDE, LETTER = 90, 190, 8  # pixels of the names of the rows, and of one of their letters


def cells_of(report: Report) -> Cells:
    found = report.answer.cells if report.answer else ()
    return {(cell.row, cell.column): cell for cell in found}


def draw(run: Run, grid: Grid, cells: Cells, report: Report | None = None) -> None:
    """The table; with the `report` of a run that is over, what the selected cell rests on."""
    st.caption(told(grid, cells))
    names = [f"{n}" for n in range(len(grid.columns))]
    filled = tuple(cells.values())
    units = {c.id: column_unit(c, filled) for c in grid.columns if c.type == "number"}
    chosen = st.dataframe(
        _styled(grid, cells, names, units),
        hide_index=True,
        key=f"grid_{run.id[:8]}",
        alt=plain(grid.title or t("tables.title")),
        placeholder="" if run.active else NONE,
        height=HEIGHT if len(grid.rows) > ROWS else "content",
        on_select="rerun",
        selection_mode="single-cell",
        column_config={
            "row": st.column_config.TextColumn(t("tables.row"), pinned=True, width=_width(grid))
        }
        | {
            at: _column(column, units.get(column.id, ""))
            for at, column in zip(names, grid.columns, strict=True)
        },
    )
    if mixed := [c.name for c in grid.columns if c.id in units and _mixed(c, filled)]:
        st.caption(t("tables.mixed", columns=plain(", ".join(mixed), 200)))
    picked = chosen.selection.cells
    at, name = picked[0] if picked else (-1, "")
    if name in names and at < len(grid.rows):
        row, column = grid.rows[at], grid.columns[int(name)]
        found = report or application.report(run.id, owner=owner())
        evidence(run, row, column, cells.get((row.id, column.id)), found)
    else:
        st.caption(t("tables.pick"))


def _styled(grid: Grid, cells: Cells, names: list[str], units: Mapping[str, str]) -> Any:
    """What is sorted, numbers in the unit of their column, and over it what is read: `≥ 30`, `30–50`."""
    rows: dict[str, Any] = {"row": [line(row.named) for row in grid.rows]}
    texts, marks = {}, {"row": [""] * len(grid.rows)}
    for at, column in zip(names, grid.columns, strict=True):
        own = [cells.get((row.id, column.id)) for row in grid.rows]
        texts[at] = [_text(cell, column, units.get(column.id, "")) for cell in own]
        marks[at] = [_mark(cell) for cell in own]
        rows[at] = [text or None for text in texts[at]]
        if column.id in units:
            lows = {row: p.low for row, p in column_aligned(column, tuple(cells.values())).items()}
            rows[at] = pd.array([_figure(cell, lows) for cell in own], dtype="Float64")
    styled = pd.DataFrame(rows).style
    for at, column in zip(names, grid.columns, strict=True):
        if column.id in units:
            told_ = iter(texts[at])
            styled.format(lambda _, told_=told_: next(told_), subset=[at])
    return styled.apply(lambda _: pd.DataFrame(marks), axis=None)


def _figure(cell: Cell | None, lows: Mapping[str, float | None]) -> float | None:
    """What a number is sorted by. One that cannot be brought to the unit of its column stands for itself."""
    if cell is None or cell.value is None:
        return None
    low = lows.get(cell.row)
    return cell.value.number if low is None else low


def _mixed(column: Column, cells: Sequence[Cell]) -> bool:
    """Whether some of a column's numbers cannot be compared with the others."""
    return any(
        point.why in ("currency", "unit") for point in column_aligned(column, cells).values()
    )


def _text(cell: Cell | None, column: Column, unit: str) -> str:
    """What is read in a cell, "" in one that is empty."""
    if cell is None or cell.value is None:
        return ""
    return line(cell_in_column(cell.value, column, unit, lang()), FOUND)


def _width(grid: Grid) -> int:
    """Pixels for the names of the rows; on a phone there has to be room for a column beside them."""
    longest = max(
        sum(2 if letter > "\u2e80" else 1 for letter in row.named[:40]) for row in grid.rows
    )
    return min(WIDE, max(NARROW, longest * LETTER + 16))


def told(grid: Grid, cells: Cells) -> str:
    """How far the table is filled in a line."""
    filled = sum(bool(cell.readings) for cell in cells.values())
    facts = [
        t("tables.filled", filled=number(filled), cells=number(len(grid.rows) * len(grid.columns)))
    ]
    differing = sum(len(cell.readings) > 1 for cell in cells.values())
    unsure = sum(len(cell.readings) == 1 and _unsure(cell) for cell in cells.values())
    unnamed = len({cell.row for cell in cells.values() if cell.lack == "which one"})
    facts += [t("tables.differing", n=differing)] if differing else []
    facts += [t("tables.unsure", n=unsure)] if unsure else []
    facts += [t("tables.unnamed", n=unnamed)] if unnamed else []
    return " · ".join(facts)


def _mark(cell: Cell | None) -> str:
    return DOUBT if cell and (cell.lack == "which one" or _unsure(cell)) else ""


def _unsure(cell: Cell) -> bool:
    return len(cell.readings) > 1 or any(one.status not in CHECKED for one in cell.readings)


def _column(column: Column, unit: str) -> Any:
    title = line(cell_heading(column, unit, lang()))
    about = plain(column.question) or None
    if column.type == "number":
        return st.column_config.NumberColumn(title, help=about)
    return st.column_config.TextColumn(title, help=about)


def evidence(run: Run, row: Line, column: Column, cell: Cell | None, report: Report | None) -> None:
    """What a cell rests on, or why it is empty."""
    with st.container(border=True, key="cell"):
        st.markdown(f"**{plain(row.named)}** · {plain(column.name)}")
        if cell is None:
            st.caption(t("tables.not_yet"))
            return
        numbered = cited(report) if report else None
        known = {s.evidence.id: s.evidence for s in numbered.sources} if numbered else {}
        registered = (one.cell for one in numbered.cells) if numbered else ()
        own = {(one.row, one.column): one for one in registered}.get((row.id, column.id), cell)
        for reading in own.readings:
            _reading(reading, column, known)
        if cell.lack:
            lines = [t(f"tables.lack_{cell.lack}"), plain(cell.message)]
            st.caption(" ".join(filter(None, lines)))
        for n, choice in enumerate(() if run.active else cell.choices):
            key = f"which_{n}_{row.id}"
            if st.button(plain(choice), key=key) and report and report.plan and report.plan.grid:
                meant(run, report.plan.grid, row, choice)


def _reading(reading: Reading, column: Column, known: Mapping[str, Evidence]) -> None:
    """Show one value on which sources agree: each quoted sentence, with the sources it stands in
    below it."""
    st.markdown(
        f"{plain(cell_text(reading.value, column, lang()))} · {t(f'standing.{reading.status}')}"
    )
    if not reading.cites:
        st.markdown(f"> {plain(reading.quote, 600)}")
    said: dict[str, list[str]] = {}
    for cite, quote in zip(reading.cites, cell_quotes(reading, known), strict=True):
        said.setdefault(quote, [])
        if item := known.get(cite.evidence):
            said[quote].append(_source(item, cite.passage, cite.start, cite.end))
    for quote, sources in said.items():
        if quote:
            st.markdown(f"> {plain(quote, 600)}")
        for source in dict.fromkeys(sources):
            st.caption(source)


def _source(item: Evidence, of: str, start: int, end: int) -> str:
    """A source, linked to a stretch of one of its passages."""
    passage = next((p for p in item.passages if p.id == of), None)
    address = web(fragments.address(item, passage, start, end))
    name = plain(item.title, 120)
    facts = [link(name, address) if address else name, plain(item.publisher)]
    facts += [day(item.published)] if item.published else []
    return " · ".join(filter(None, dict.fromkeys(facts)))


def meant(run: Run, grid: Grid, row: Line, about: str) -> None:
    """The table once more, with what tells a row from others of its name."""
    rows = tuple(
        one.model_copy(update={"about": about}) if one.id == row.id else one for one in grid.rows
    )
    begin(run, grid.model_copy(update={"rows": rows}))


def begin(run: Run, grid: Grid) -> None:
    """Another table that keeps the cells of this one which it asks again."""
    try:
        made = application.tabulate(
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
