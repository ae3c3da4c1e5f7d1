"""Form for the rows and columns of a table: typed, from a file or from an earlier run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, t
from pages.shared.login import current_owner
from pages.shared.table_reading import draw_reading
from research import (
    Column,
    ColumnType,
    Grid,
    Place,
    Row,
    UnreadableTableError,
    get_application,
    rows_from_file,
    rows_from_lines,
    rows_from_report,
)

GRID_COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
MAX_RUNS = 30  # offered as sources of rows
MAX_LABEL_CHARS = 60  # of a question or a column name in a label
MAX_FILE_MEGABYTES = 10
COLUMN_FIELDS = ("name", "question", "type", "unit", "choices")


def draw_table_form() -> Grid | None:
    """Draw the form. Return the table, or None while it has no rows or no columns."""
    title = st.text_input(t("tables.name"), key="table_title", max_chars=200, autocomplete="off")
    st.text_area(
        t("tables.rows"), key="table_rows", height=140, placeholder=t("tables.rows_example"), help=t("tables.rows_help")
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _draw_file_import()
        _draw_run_import()
    if table := st.session_state.get("table_file"):
        draw_reading(table, "rows")
    st.markdown(t("tables.columns"))
    columns = edit_columns((), "table_columns")
    rows = _add_places(
        rows_from_lines(st.session_state.get("table_rows", "")), st.session_state.get("table_places", {})
    )
    if not rows or not columns:
        return None
    return Grid(title=" ".join(title.split()), rows=rows, columns=columns)


def _draw_file_import() -> None:
    with st.popover(t("tables.from_file"), icon=":material/upload_file:", key="rows_file"):
        file = st.file_uploader(
            t("tables.file"), type=["csv", "tsv", "txt"], max_upload_size=MAX_FILE_MEGABYTES, key="rows_csv"
        )
        # The uploader itself reports a larger file.
        if file is not None and file.size <= MAX_FILE_MEGABYTES * 1024 * 1024:
            st.button(t("tables.take"), key="take_file", on_click=_import_file, args=(file,))


def _import_file(file: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
        path = Path(folder) / "rows"
        path.write_bytes(file.getbuffer())
        try:
            imported = rows_from_file(path, file.name)
        except UnreadableTableError as error:
            st.toast(escape_markdown(error.message_in(current_language())))
            return
    _append_rows(imported.rows)
    st.session_state.table_file = imported.table


def _draw_run_import() -> None:
    """Draw the import of places, rows or papers from an earlier run."""
    recent = {
        run.id: run
        for run in get_application().runs.recent_runs(owner=current_owner(), limit=MAX_RUNS)
        if not run.options.table
    }
    if not recent:
        return
    with st.popover(t("tables.from_run"), icon=":material/history:", key="rows_run"):
        chosen = st.selectbox(
            t("tables.run"),
            list(recent),
            key="rows_of",
            format_func=lambda id_: escape_markdown(recent[id_].question, MAX_LABEL_CHARS),
        )
        st.caption(t("tables.run_help"))
        st.button(t("tables.take"), key="take_run", on_click=_import_run, args=(chosen,))


def _import_run(run_id: str) -> None:
    report = get_application().runs.report(run_id, owner=current_owner())
    rows = rows_from_report(report) if report else ()
    if rows:
        _append_rows(rows)
    else:
        st.toast(t("tables.no_rows"))


def _append_rows(rows: Sequence[Row]) -> None:
    """Append rows to those in the text field."""
    lines = [f"{row.name} | {row.qualifier}" if row.qualifier else row.name for row in rows]
    typed = st.session_state.get("table_rows", "").rstrip()
    st.session_state.table_rows = "\n".join(filter(None, [typed, *lines]))
    places = {row.full_name: row.place for row in rows if row.place}
    st.session_state.table_places = st.session_state.get("table_places", {}) | places


def edit_rows(rows: Sequence[Row], key: str) -> tuple[Row, ...]:
    """Draw an editor for rows. Return the edited rows, which keep their places."""
    column = st.column_config
    edited = st.data_editor(
        pd.DataFrame([(row.name, row.qualifier) for row in rows], columns=["name", "about"], dtype="object"),
        num_rows="dynamic",
        hide_index=True,
        key=key,
        alt=t("tables.rows"),
        placeholder="",
        column_config={
            "name": column.TextColumn(t("tables.row"), width="medium", max_chars=200, required=True),
            "about": column.TextColumn(t("tables.about"), max_chars=200, help=t("tables.about_help")),
        },
    )
    cells = [(_cell_text(line["name"]), _cell_text(line["about"])) for line in edited.to_dict("records")]
    parsed = rows_from_lines("\n".join(f"{name}\t{about}" for name, about in cells if name))
    return _add_places(parsed, {row.full_name: row.place for row in rows if row.place})


def _add_places(rows: Sequence[Row], places: Mapping[str, Place]) -> tuple[Row, ...]:
    """Add the known places to rows, by full name."""
    return tuple(row.model_copy(update={"place": places.get(row.full_name, row.place)}) for row in rows)


def edit_columns(columns: Sequence[Column], key: str) -> tuple[Column, ...]:
    """Draw an editor for columns, and below it the problems of unusable ones. Return the usable columns."""
    column = st.column_config
    lines = [(c.name, c.question, c.type, c.unit, "; ".join(c.choices)) for c in columns]
    edited = st.data_editor(
        pd.DataFrame(lines, columns=list(COLUMN_FIELDS), dtype="object"),
        num_rows="dynamic",
        hide_index=True,
        key=key,
        alt=t("tables.columns"),
        placeholder="",
        column_config={
            "name": column.TextColumn(t("tables.column"), max_chars=120, required=True),
            "question": column.TextColumn(
                t("tables.question"), width="large", max_chars=500, help=t("tables.question_help")
            ),
            "type": column.SelectboxColumn(
                t("tables.type"),
                options=list(GRID_COLUMN_TYPES),
                default="text",
                required=True,
                format_func=lambda kind: t(f"tables.type_{kind}"),
            ),
            "unit": column.TextColumn(t("tables.unit"), max_chars=40, help=t("tables.unit_help")),
            "choices": column.TextColumn(t("tables.choices"), help=t("tables.choices_help")),
        },
    )
    rows = [{field: _cell_text(line[field]) for field in COLUMN_FIELDS} for line in edited.to_dict("records")]
    if problems := find_column_problems(rows):
        st.warning("\n".join(f"- {problem}" for problem in problems), icon=":material/view_column:")
    return tuple(parse_columns(rows))


def find_column_problems(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return one line for each column that is left out, or that is filled as text instead of a choice."""
    problems = []
    for row in rows:
        text = row["question"] or row["choices"] or row["unit"]
        if not row["name"] and text:
            problems.append(t("tables.column_unnamed", text=escape_markdown(text, MAX_LABEL_CHARS)))
        elif row["name"] and row["type"] == "choice" and len(_split_choices(row["choices"])) < 2:
            problems.append(t("tables.column_choices", name=escape_markdown(row["name"], MAX_LABEL_CHARS)))
    return problems


def parse_columns(rows: Sequence[dict[str, str]]) -> list[Column]:
    """Parse columns from editor rows. A choice column with fewer than two choices becomes text."""
    columns: list[Column] = []
    for row in (row for row in rows if row["name"]):
        choices = _split_choices(row["choices"])
        kind: ColumnType = next((kind for kind in GRID_COLUMN_TYPES if kind == row["type"]), "text")
        if kind == "choice" and len(choices) < 2:
            kind = "text"
        columns.append(
            Column(
                id=f"c{len(columns) + 1}",
                name=row["name"],
                question=row["question"],
                type=kind,
                unit=row["unit"] if kind == "number" else "",
                choices=choices if kind == "choice" else (),
            )
        )
    return columns


def _split_choices(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.strip() for c in text.replace("；", ";").split(";") if c.strip()))


def _cell_text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else " ".join(str(value).split())
