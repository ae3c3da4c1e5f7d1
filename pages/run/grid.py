"""A table that a run fills in: its cells as they arrive, and the evidence of the selected cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from pages.run import text_fragments
from pages.shared import layout, run_navigation
from pages.shared.escaping import escape_markdown, markdown_link, to_single_line, web_url
from pages.shared.localization import current_language, format_day, format_number, t
from pages.shared.login import current_owner
from pages.tables import form
from research import (
    Cell,
    CellReading,
    Column,
    Evidence,
    Grid,
    Report,
    Row,
    Run,
    convert_column_numbers,
    find_column_unit,
    format_cell,
    format_cell_in_column,
    format_column_heading,
    get_application,
    number_report_answer,
    reading_quotes,
)

CellsByPosition = Mapping[tuple[str, str], Cell]
MAX_UNSCROLLED_ROWS = 14
EMPTY_TEXT = "–"  # shown in an empty cell of a finished run
DOUBTFUL_STYLE = "background-color: rgba(234, 179, 8, .22)"
CHECKED_STATUSES = ("quoted", "supported")
MAX_CELL_CHARS = 90
MIN_WIDTH_PIXELS, MAX_WIDTH_PIXELS = 90, 190  # of the column of row names
LETTER_WIDTH_PIXELS = 8


def index_cells(report: Report) -> CellsByPosition:
    """Return the cells of the answer of a report, by row and column."""
    cells = report.answer.cells if report.answer else ()
    return {(cell.row, cell.column): cell for cell in cells}


def draw(run: Run, grid: Grid, cells: CellsByPosition, report: Report | None = None) -> None:
    """Draw the table and the evidence of the selected cell.

    `report` is that of a finished run; without it the report is loaded once a cell is selected.
    """
    st.caption(describe_filling(grid, cells))
    names = [f"{n}" for n in range(len(grid.columns))]
    filled = tuple(cells.values())
    units = {c.id: find_column_unit(c, filled) for c in grid.columns if c.type == "number"}
    table = st.dataframe(
        _build_styler(grid, cells, names, units),
        hide_index=True,
        key=f"grid_{run.id[:8]}",
        alt=escape_markdown(grid.title or t("tables.title")),
        placeholder="" if run.is_active else EMPTY_TEXT,
        height=layout.table_height(len(grid.rows), MAX_UNSCROLLED_ROWS),
        on_select="rerun",
        selection_mode="single-cell",
        column_config={"row": st.column_config.TextColumn(t("tables.row"), pinned=True, width=_row_name_width(grid))}
        | {
            at: _column_config(column, units.get(column.id, "")) for at, column in zip(names, grid.columns, strict=True)
        },
    )
    if mixed_columns := [c.name for c in grid.columns if c.id in units and _has_mixed_units(c, filled)]:
        st.caption(t("tables.mixed", columns=escape_markdown(", ".join(mixed_columns), 200)))
    selected_cells = table.selection.cells
    at, name = selected_cells[0] if selected_cells else (-1, "")
    if name in names and at < len(grid.rows):
        row, column = grid.rows[at], grid.columns[int(name)]
        loaded_report = report or get_application().runs.report(run.id, owner=current_owner())
        draw_evidence(run, row, column, cells.get((row.id, column.id)), loaded_report)
    else:
        st.caption(t("tables.pick"))


def _build_styler(grid: Grid, cells: CellsByPosition, names: list[str], units: Mapping[str, str]) -> Any:
    """Build the styled data frame of a table.

    Numbers sort in the unit of their column and display as formatted text such as `≥ 30` or
    `30–50`.
    """
    rows: dict[str, Any] = {"row": [to_single_line(row.full_name) for row in grid.rows]}
    texts, marks = {}, {"row": [""] * len(grid.rows)}
    for at, column in zip(names, grid.columns, strict=True):
        column_cells = [cells.get((row.id, column.id)) for row in grid.rows]
        texts[at] = [_display_text(cell, column, units.get(column.id, "")) for cell in column_cells]
        marks[at] = [_cell_style(cell) for cell in column_cells]
        rows[at] = [text or None for text in texts[at]]
        if column.id in units:
            lows = {row: p.low for row, p in convert_column_numbers(column, tuple(cells.values())).items()}
            rows[at] = pd.array([_sort_value(cell, lows) for cell in column_cells], dtype="Float64")
    styler = pd.DataFrame(rows).style
    for at, column in zip(names, grid.columns, strict=True):
        if column.id in units:
            display_texts = iter(texts[at])
            styler.format(lambda _, display_texts=display_texts: next(display_texts), subset=[at])
    return styler.apply(lambda _: pd.DataFrame(marks), axis=None)


def _sort_value(cell: Cell | None, lows: Mapping[str, float | None]) -> float | None:
    """Return the number to sort a cell by.

    A number that cannot be converted to the unit of its column counts as it is.
    """
    if cell is None or cell.value is None:
        return None
    low = lows.get(cell.row)
    return cell.value.number if low is None else low


def _has_mixed_units(column: Column, cells: Sequence[Cell]) -> bool:
    """Return True if some numbers of a column have a unit or currency that cannot be converted."""
    return any(point.missing_reason in ("currency", "unit") for point in convert_column_numbers(column, cells).values())


def _display_text(cell: Cell | None, column: Column, unit: str) -> str:
    """Return the text of a cell in one line, empty for an empty cell."""
    if cell is None or cell.value is None:
        return ""
    return to_single_line(format_cell_in_column(cell.value, column, unit, current_language()), MAX_CELL_CHARS)


def _row_name_width(grid: Grid) -> int:
    """Return the width in pixels of the column of row names.

    It is limited so that a phone has space for another column beside it.
    """
    longest = max(sum(2 if letter > "\u2e80" else 1 for letter in row.full_name[:40]) for row in grid.rows)
    return min(MAX_WIDTH_PIXELS, max(MIN_WIDTH_PIXELS, longest * LETTER_WIDTH_PIXELS + 16))


def describe_filling(grid: Grid, cells: CellsByPosition) -> str:
    """Return one line with the counts of filled, conflicting, doubtful and ambiguous cells."""
    filled = sum(bool(cell.readings) for cell in cells.values())
    facts = [t("tables.filled", filled=format_number(filled), cells=format_number(len(grid.rows) * len(grid.columns)))]
    differing = sum(len(cell.readings) > 1 for cell in cells.values())
    unsure = sum(len(cell.readings) == 1 and _is_doubtful(cell) for cell in cells.values())
    unnamed = len({cell.row for cell in cells.values() if cell.missing_reason == "which one"})
    facts += [t("tables.differing", n=differing)] if differing else []
    facts += [t("tables.unsure", n=unsure)] if unsure else []
    facts += [t("tables.unnamed", n=unnamed)] if unnamed else []
    return " · ".join(facts)


def _cell_style(cell: Cell | None) -> str:
    return DOUBTFUL_STYLE if cell and (cell.missing_reason == "which one" or _is_doubtful(cell)) else ""


def _is_doubtful(cell: Cell) -> bool:
    return len(cell.readings) > 1 or any(reading.status not in CHECKED_STATUSES for reading in cell.readings)


def _column_config(column: Column, unit: str) -> Any:
    title = to_single_line(format_column_heading(column, unit, current_language()))
    help_text = escape_markdown(column.question) or None
    if column.type == "number":
        return st.column_config.NumberColumn(title, help=help_text)
    return st.column_config.TextColumn(title, help=help_text)


def draw_evidence(run: Run, row: Row, column: Column, cell: Cell | None, report: Report | None) -> None:
    """Draw the readings of a cell with their sources, or the reason why it is empty."""
    with st.container(border=True, key="cell"):
        st.markdown(f"**{escape_markdown(row.full_name)}** · {escape_markdown(column.name)}")
        if cell is None:
            st.caption(t("tables.not_yet"))
            return
        numbered = number_report_answer(report) if report else None
        evidence_by_id = {s.evidence.id: s.evidence for s in numbered.sources} if numbered else {}
        numbered_cells = (entry.cell for entry in numbered.cells) if numbered else ()
        numbered_cell = {(entry.row, entry.column): entry for entry in numbered_cells}.get((row.id, column.id), cell)
        for reading in numbered_cell.readings:
            _draw_reading(reading, column, evidence_by_id)
        if cell.missing_reason:
            lines = [t(f"tables.lack_{cell.missing_reason}"), escape_markdown(cell.message)]
            st.caption(" ".join(filter(None, lines)))
        for n, choice in enumerate(() if run.is_active else cell.choices):
            key = f"which_{n}_{row.id}"
            if st.button(escape_markdown(choice), key=key) and report and report.plan and report.plan.grid:
                start_with_meaning(run, report.plan.grid, row, choice)


def _draw_reading(reading: CellReading, column: Column, evidence_by_id: Mapping[str, Evidence]) -> None:
    """Draw one value on which sources agree: each quoted sentence with its sources below."""
    st.markdown(
        f"{escape_markdown(format_cell(reading.value, current_language()))} · {t(f'standing.{reading.status}')}"
    )
    if not reading.references:
        st.markdown(f"> {escape_markdown(reading.quote, 600)}")
    sources_by_quote: dict[str, list[str]] = {}
    for cite, quote in zip(reading.references, reading_quotes(reading, evidence_by_id), strict=True):
        sources_by_quote.setdefault(quote, [])
        if item := evidence_by_id.get(cite.evidence):
            sources_by_quote[quote].append(_source_line(item, cite.passage, cite.start, cite.end))
    for quote, sources in sources_by_quote.items():
        if quote:
            st.markdown(f"> {escape_markdown(quote, 600)}")
        for source in dict.fromkeys(sources):
            st.caption(source)


def _source_line(item: Evidence, passage_id: str, start: int, end: int) -> str:
    """Return the line of a source, linked to the cited range of one of its passages."""
    passage = next((p for p in item.passages if p.id == passage_id), None)
    address = web_url(text_fragments.passage_url(item, passage, start, end))
    name = escape_markdown(item.title, 120)
    facts = [markdown_link(name, address) if address else name, escape_markdown(item.publisher)]
    facts += [format_day(item.published)] if item.published else []
    return " · ".join(filter(None, dict.fromkeys(facts)))


def start_with_meaning(run: Run, grid: Grid, row: Row, about: str) -> None:
    """Start the table again with a description that makes an ambiguous row clear."""
    rows = tuple(entry.model_copy(update={"qualifier": about}) if entry.id == row.id else entry for entry in grid.rows)
    start_table(run, grid.model_copy(update={"rows": rows}))


def start_table(run: Run, grid: Grid) -> None:
    """Start a run of an edited table. Unchanged cells of the earlier run are reused."""
    with run_navigation.catch_start_errors():
        started = get_application().start_table(
            run.question, grid=grid, options=run.options, owner=current_owner(), based_on=run.id
        )
        run_navigation.open_run(started)


def draw_editor(run: Run, grid: Grid) -> None:
    """Draw an editor that starts the table again with other rows, columns or an earliest date.

    Results from before that date are searched again.
    """
    with st.expander(t("tables.change"), key=f"change_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("tables.change_help"))
        rows = form.edit_rows(grid.rows, f"rows_{run.id[:8]}")
        columns = form.edit_columns(grid.columns, f"columns_{run.id[:8]}")
        since = st.date_input(
            t("tables.since"), value=None, max_value="today", key=f"since_{run.id[:8]}", help=t("tables.since_help")
        )
        if st.button(t("tables.again"), key=f"again_{run.id[:8]}", type="primary"):
            if rows and columns:
                since_time = datetime(since.year, since.month, since.day, tzinfo=UTC) if since else None
                update = {"rows": rows, "columns": columns, "fresh_after": since_time}
                start_table(run, grid.model_copy(update=update))
            else:
                st.error(t("tables.nothing"))
