"""The rows and columns of a table, as somebody types, pastes or brings them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pandas as pd
import streamlit as st

from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import t
from research import Column, ColumnType, Grid, Row, application, csv_rows, line_rows, report_rows

TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
RUNS = 30  # whose places, rows or papers may be the rows of a table
SHOWN = 60  # characters of a question
LARGEST = 10  # MB of a file of rows
FIELDS = ("name", "question", "type", "unit", "choices")


def by_hand() -> Grid | None:
    """The table that is typed; None while it has no rows or no columns."""
    title = st.text_input(t("tables.name"), key="table_title", max_chars=200, autocomplete="off")
    st.text_area(
        t("tables.rows"), key="table_rows", height=140, placeholder=t("tables.rows_example"),
        help=t("tables.rows_help"),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _from_file()
        _from_run()
    st.markdown(t("tables.columns"))
    columns = edited_columns((), "table_columns")
    rows = line_rows(st.session_state.get("table_rows", ""))
    known = st.session_state.get("table_places", {})
    rows = tuple(
        row.model_copy(update={"place": known[row.named]}) if row.named in known else row
        for row in rows
    )
    if not rows or not columns:
        return None
    return Grid(title=" ".join(title.split()), rows=rows, columns=columns)


def _from_file() -> None:
    with st.popover(t("tables.from_file"), icon=":material/upload_file:", key="rows_file"):
        file = st.file_uploader(
            t("tables.file"), type=["csv", "tsv", "txt"], max_upload_size=LARGEST, key="rows_csv"
        )
        if file is not None and file.size <= LARGEST * 1024 * 1024:  # the browser says so otherwise
            st.button(t("tables.take"), key="take_file", on_click=_take_file, args=(file,))


def _take_file(file: Any) -> None:
    try:
        _take(csv_rows(file.getvalue()))
    except ValueError:
        st.toast(t("tables.no_text"))


def _from_run() -> None:
    """The places, rows or papers that an earlier run has found."""
    recent = {
        run.id: run
        for run in application.recent(owner=owner(), limit=RUNS)
        if not run.options.table
    }
    if not recent:
        return
    with st.popover(t("tables.from_run"), icon=":material/history:", key="rows_run"):
        chosen = st.selectbox(
            t("tables.run"), list(recent), key="rows_of",
            format_func=lambda id_: plain(recent[id_].question, SHOWN),
        )  # fmt: skip
        st.caption(t("tables.run_help"))
        st.button(t("tables.take"), key="take_run", on_click=_take_run, args=(chosen,))


def _take_run(run_id: str) -> None:
    report = application.report(run_id, owner=owner())
    rows = report_rows(report) if report else ()
    if rows:
        _take(rows)
    else:
        st.toast(t("tables.no_rows"))


def _take(rows: Sequence[Row]) -> None:
    """Puts rows behind those that are typed already."""
    lines = [f"{row.name} | {row.about}" if row.about else row.name for row in rows]
    typed = st.session_state.get("table_rows", "").rstrip()
    st.session_state.table_rows = "\n".join(filter(None, [typed, *lines]))
    places = {row.named: row.place for row in rows if row.place}
    st.session_state.table_places = st.session_state.get("table_places", {}) | places


def edited_rows(rows: Sequence[Row], key: str) -> tuple[Row, ...]:
    """Rows in a table that can be edited."""
    column = st.column_config
    edited = st.data_editor(
        pd.DataFrame([(row.name, row.about) for row in rows], columns=["name", "about"], dtype="object"),
        num_rows="dynamic", hide_index=True, key=key, alt=t("tables.rows"), placeholder="",
        column_config={
            "name": column.TextColumn(t("tables.row"), width="medium", max_chars=200, required=True),
            "about": column.TextColumn(t("tables.about"), max_chars=200, help=t("tables.about_help")),
        },
    )  # fmt: skip
    told = [(_text(line["name"]), _text(line["about"])) for _, line in edited.iterrows()]
    places = {row.named: row.place for row in rows if row.place}
    made = line_rows("\n".join(f"{name}\t{about}" for name, about in told if name.strip()))
    return tuple(
        row.model_copy(update={"place": places[row.named]}) if row.named in places else row
        for row in made
    )


def edited_columns(columns: Sequence[Column], key: str) -> tuple[Column, ...]:
    """Columns in a table that can be edited; what is not usable is said below."""
    column = st.column_config
    lines = [(c.name, c.question, c.type, c.unit, "; ".join(c.choices)) for c in columns]
    edited = st.data_editor(
        pd.DataFrame(lines, columns=list(FIELDS), dtype="object"),
        num_rows="dynamic", hide_index=True, key=key, alt=t("tables.columns"), placeholder="",
        column_config={
            "name": column.TextColumn(t("tables.column"), max_chars=120, required=True),
            "question": column.TextColumn(
                t("tables.question"), width="large", max_chars=500, help=t("tables.question_help")
            ),
            "type": column.SelectboxColumn(
                t("tables.type"), options=list(TYPES), default="text", required=True,
                format_func=lambda kind: t(f"tables.type_{kind}"),
            ),
            "unit": column.TextColumn(t("tables.unit"), max_chars=40, help=t("tables.unit_help")),
            "choices": column.TextColumn(t("tables.choices"), help=t("tables.choices_help")),
        },
    )  # fmt: skip
    return tuple(read_columns([dict(line) for _, line in edited.iterrows()]))


def read_columns(lines: Sequence[dict[str, Any]]) -> list[Column]:
    """Columns of the lines of a table. One whose type needs choices and has none is text."""
    out: list[Column] = []
    for line in lines:
        name, question, kind, unit, listed = (_text(line.get(field)) for field in FIELDS)
        if not name:
            continue
        choices = tuple(
            dict.fromkeys(c.strip() for c in listed.replace("；", ";").split(";") if c.strip())
        )
        usual = next((known for known in TYPES if known == kind), "text")
        chosen: ColumnType = "text" if usual == "choice" and len(choices) < 2 else usual
        out.append(
            Column(
                id=f"c{len(out) + 1}", name=name, question=question, type=chosen,
                unit=unit if chosen == "number" else "",
                choices=choices if chosen == "choice" else (),
            )
        )  # fmt: skip
    return out


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else " ".join(str(value).split())
