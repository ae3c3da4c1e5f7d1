"""Rows of a database: the table, its files, its statement, its chart, and how it came to be.

The table and the map of a run select each other. What a cell says is text, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.run import chart, steps
from pages.shared import layout, run_navigation, temporary_files
from pages.shared import place_map as maps
from pages.shared.background import run_with_progress
from pages.shared.escaping import escape_markdown, web_url
from pages.shared.localization import browser_language, current_language, format_duration, format_number, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import (
    Finding,
    QueryResult,
    QuestionError,
    RateLimitError,
    Report,
    RowExport,
    application,
    database_description,
    export_file_name,
    export_rows,
    localise_rows,
    read_database_page,
    rows_arrow_table,
    rows_csv,
    rows_excel,
    rows_parquet,
)

SQL_TOOL = "sql"  # the way of searching whose query is a statement
EDITED_STATEMENT_KEY = "database_edit"  # the statement that the database page opens with
CHOSEN_DATABASE_KEY, KEPT_DATABASE_KEY = (
    "database_chosen",
    "database_kept",
)  # the name of the one that is asked; a widget's
LAST_RUN_KEY = "last_database"  # the run that it showed last
NULL_TEXT = "–"
MAX_EXPORT_ROWS = 1_000_000  # rows of an export
MAX_UNSCROLLED_ROWS, HEIGHT_PIXELS = 12, 420  # rows that a table shows all, and else its height in pixels
MAX_ROW_CHARS = 400  # characters of a selected row
OFFERED = 5  # confirmed questions beside one that needs a model
FILE_FORMATS: tuple[tuple[str, str, str, str, Callable[[QueryResult], bytes]], ...] = (
    ("rows.csv", ".csv", "text/csv", ":material/table:", rows_csv),
    ("rows.excel", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
     ":material/table_view:", rows_excel),
    ("rows.parquet", ".parquet", "application/vnd.apache.parquet", ":material/view_column:",
     rows_parquet),
)  # fmt: skip


def draw(report: Report) -> None:
    """Whatever a run has found in a database; nothing if it has asked none."""
    database = report.run.options.database
    if any(finding.reason == "no model" for finding in report.findings):
        _alternatives(report.run.id[:8], database)
    found = [one for one in report.findings if one.rows or one.steps or one.task.tool == SQL_TOOL]
    for n, finding in enumerate(found):
        key = f"{report.run.id[:8]}_{n}"
        if len(found) > 1 or finding.task.query != report.run.question:
            layout.draw_section_title(f":material/database: {escape_markdown(finding.task.query, 200)}")
        if finding.rows and finding.rows.rows:
            name = f"{export_file_name(report, '')[:-1]}-rows{n + 1 if n else ''}"
            if not (finding.rows.truncated and _draw_further_page(finding.rows, key, database)):
                _draw_table(finding, finding.rows, key, report.run.id[:8])
            _draw_row_downloads(finding.rows, name, key)
            if finding.rows.truncated:
                _draw_full_export(finding.rows, name, key, database)
            chart.draw(finding.rows, localise_rows(finding.rows, current_language()), key)
        elif finding.rows:
            st.info(t("rows.none"))
        if finding.rows and finding.rows.coverage:
            st.caption(f":material/data_check: {coverage_text(finding.rows)}")
        if finding.rows and finding.rows.missed:
            st.warning(t("rows.missed", what=escape_markdown("; ".join(finding.rows.missed), 600)))
        _draw_statement(finding, key, database)
        _draw_steps(finding, key)


def ask(text: str, database: str, *, typed: bool) -> None:
    """Start a run that puts a question, or a statement if it is `typed`, to a database, and show it."""
    try:
        made = application.start_database_run(text, is_statement=typed, database=database, owner=current_owner())
    except (QuestionError, RateLimitError) as error:
        run_navigation.draw_start_error(error)
        return
    run_navigation.show_run(made)
    st.rerun()


def _alternatives(key: str, database: str) -> None:
    """Offer what needs no model: the questions with a confirmed statement, the examples of the
    description, and writing SQL."""
    known = [question for question, _ in application.confirmed_statements(database=database, owner=current_owner())]
    described = database_description(database, owner=current_owner()).model
    known += [example.question for example in described.examples]
    with st.container(gap=None, key=f"alternatives_{key}"):
        for n, question in enumerate(known[:OFFERED]):
            if st.button(
                escape_markdown(question, 300), key=f"saved_{n}_{key}", type="tertiary",
                icon=":material/replay:",
            ):  # fmt: skip
                ask(question, database, typed=False)
    if st.button(t("rows.write"), key=f"write_sql_{key}", icon=":material/edit:"):
        open_editor("", database)


# The table


def _draw_table(finding: Finding, query_result: QueryResult, key: str, map_key: str) -> None:
    places = row_place_ids(finding)
    table_key = f"rows_{key}"
    _select_row_of_map(places, table_key, map_key)
    shown = localise_rows(query_result, current_language())
    table = rows_arrow_table(shown.model_copy(update={"names": query_result.names}))
    order = table.column_names
    if places and finding.task.tool != SQL_TOOL:  # the map shows them: what was asked for comes first
        order = sorted(order, key=chart.is_coordinate)
    chosen = st.dataframe(
        table,
        column_order=order,
        hide_index=True,
        key=table_key,
        alt=t("rows.table"),
        placeholder=NULL_TEXT,
        height=HEIGHT_PIXELS if len(query_result.rows) > MAX_UNSCROLLED_ROWS else "content",
        column_config=_column_configs(query_result, shown.names),
        on_select=lambda: _select_place_of_row(places, table_key, map_key),
        selection_mode=["single-row", "single-cell"],
    )
    if chosen.selection.rows:
        _draw_selected_row(shown, chosen.selection.rows[0])
    st.caption(table_caption(query_result))
    if places:
        st.caption(t("rows.pick"))


def _draw_further_page(query_result: QueryResult, key: str, database: str) -> bool:
    """A page of further rows, if one is looked at: read now, and no part of the run."""
    at = st.number_input(
        t("rows.page"), 1, MAX_EXPORT_ROWS // len(query_result.rows), key=f"page_{key}", width=160,
        help=t("rows.page_help"),
    )  # fmt: skip
    if at == 1:
        return False
    kept = f"page_kept_{key}"
    if st.session_state.get(kept, (0, None))[0] != at:
        with st.spinner(t("rows.reading")):
            found = read_database_page(query_result, int(at), database=database, owner=current_owner())
        st.session_state[kept] = at, found
    page = st.session_state[kept][1]
    if page.rows is None:
        st.error(escape_markdown(page.error, 400))
        return True
    if not page.rows.rows:
        st.info(t("rows.no_page"))
        return True
    shown = localise_rows(page.rows, current_language())
    st.dataframe(
        rows_arrow_table(shown.model_copy(update={"names": page.rows.names})), hide_index=True,
        key=f"further_{key}_{at}", alt=t("rows.table"), placeholder=NULL_TEXT, height=HEIGHT_PIXELS,
        column_config=_column_configs(page.rows, shown.names),
    )  # fmt: skip
    first = (int(at) - 1) * len(query_result.rows) + 1
    told = t("rows.span", first=format_number(first), last=format_number(first + len(page.rows.rows) - 1))
    st.caption(told if page.is_ordered else f"{told} · {t('rows.unordered')}")
    return True


def _draw_full_export(query_result: QueryResult, name: str, key: str, database: str) -> None:
    """All rows as a file: read anew, and written as they come."""
    whose, kept = current_owner(), f"all_kept_{key}"
    with st.popover(t("rows.all"), icon=":material/download_for_offline:", key=f"all_{key}"):
        st.caption(t("rows.all_help", n=format_number(MAX_EXPORT_ROWS)))
        with st.container(horizontal=True):
            for words, suffix, _, icon, _ in FILE_FORMATS:
                if st.button(t(words), key=f"all_{suffix[1:]}_{key}", icon=icon):
                    st.session_state[kept] = _export_all(query_result, f"{name}-all{suffix}", database, whose)
        if made := st.session_state.get(kept):
            address, count, more = made
            told = t("rows.all_more" if more else "rows.all_made", n=format_number(count))
            st.link_button(told, address, icon=":material/download:", key=f"all_link_{key}")


def _export_all(query_result: QueryResult, name: str, database: str, owner: str) -> tuple[str, int, bool] | None:
    """Where a file with all rows can be fetched, how many it has and whether there are more."""

    def act(say: Callable[[int], None]) -> tuple[str, RowExport]:
        return temporary_files.TEMPORARY_FILES.create(
            lambda path: export_rows(query_result, path, say, database=database, owner=owner), name, owner
        )

    address, made = run_with_progress(act, 0, lambda n: (n / MAX_EXPORT_ROWS, t("rows.exporting", n=format_number(n))))
    if made.error:
        st.error(escape_markdown(made.error, 400))
        return None
    return address, made.row_count, made.has_more


def _draw_selected_row(query_result: QueryResult, row_index: int) -> None:
    """The selected row in words: a table cannot be scrolled to it, nor shows all of a wide one."""
    if row_index < len(query_result.rows):
        cells = zip(query_result.names, query_result.rows[row_index], strict=True)
        told = " · ".join(f"{name}: {value}" for name, value in cells if value is not None)
        row = t("rows.place", n=format_number(row_index + 1))
        st.caption(f":material/check_box: **{row}** — {escape_markdown(told, MAX_ROW_CHARS)}")


def row_place_ids(finding: Finding) -> dict[int, str]:
    """The id of the place of each row that has one, by the row's number, from 0."""
    count = len(finding.rows.rows) if finding.rows else 0
    out: dict[int, str] = {}
    for item in finding.evidence:
        heading = item.passages[0].heading if item.place and item.passages else ""
        at = heading.removeprefix("row ")
        if item.place and at != heading and at.isascii() and at.isdigit() and 0 < int(at) <= count:
            out[int(at) - 1] = item.place.id
    return out


def _select_row_of_map(places: dict[int, str], key: str, map_key: str) -> None:
    """Selects the row of the place that was picked on the map since the table was drawn last."""
    picked = maps.selected_place_id(map_key)
    if not places or picked == st.session_state.get(f"{key}_place", ""):
        return
    st.session_state[f"{key}_place"] = picked
    at = next((row for row, place in places.items() if place == picked), None)
    rows = [] if at is None else [at]
    st.session_state[f"{key}_cells"] = []
    st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}


def _select_place_of_row(places: dict[int, str], key: str, map_key: str) -> None:
    """Picks the place of the row that was selected, by its box or by one of its cells."""
    chosen = st.session_state[key]["selection"]
    rows, cells = list(chosen["rows"]), list(chosen["cells"])
    if cells and cells != st.session_state.get(f"{key}_cells", []):
        rows = [cells[0][0]]
    cells = [cell for cell in cells if [cell[0]] == rows]
    st.session_state[f"{key}_cells"] = cells
    if (rows, cells) != (list(chosen["rows"]), list(chosen["cells"])):
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    place = places.get(rows[0], "") if rows else ""
    if places and place != maps.selected_place_id(map_key):
        st.session_state[f"{key}_place"] = place
        maps.select_place(map_key, place)


def _column_configs(query_result: QueryResult, headings: Sequence[str]) -> dict[int, Any]:
    """How each column is drawn, by its place: names may be anything."""
    types = query_result.types or ("text",) * len(query_result.names)
    columns = list(zip(*query_result.rows, strict=True))
    told = zip(query_result.names, headings, types, columns, strict=True)
    return {at: _column_config(*each) for at, each in enumerate(told)}


def _column_config(name: str, heading: str, kind: str, values: Sequence[Any]) -> Any:
    """A column under its heading, with its own name as help if that is another."""
    column = st.column_config
    named = {"label": heading, "help": name} if heading != name else {}
    known = [value for value in values if value is not None]
    if kind == "integer" and all(-(2**53) < value < 2**53 for value in known):
        plain_ = chart.is_id(name) or chart.is_year(name, values)
        return column.NumberColumn(**named, format="%d" if plain_ else "localized")
    if kind == "number":
        form = "%.5f" if chart.is_coordinate(name) else None
        return column.NumberColumn(**named, format=form)
    if kind == "boolean":
        return column.CheckboxColumn(**named)
    if kind == "text" and known and all(map(web_url, known)):
        return column.LinkColumn(**named)
    if kind in ("date", "datetime"):
        return None  # a column whose texts are none of the calendar is one of text
    wide = "large" if any(len(str(v)) > 60 for v in known) else None
    return column.TextColumn(**named, width=wide)


def table_caption(query_result: QueryResult) -> str:
    """How many rows, what is cut and what is missing in them, and how long they took."""
    query_result = localise_rows(query_result, current_language())
    facts = [t("rows.rows", n=format_number(len(query_result.rows)))]
    if query_result.truncated:
        facts.append(t("rows.truncated", n=format_number(len(query_result.rows))))
    if query_result.cut:
        facts.append(t("rows.cut", n=format_number(query_result.cut)))
    facts.append(format_duration(query_result.seconds))
    lacking = [
        t("rows.null_in", name=escape_markdown(name, 40), n=format_number(n))
        for name, values in zip(query_result.names, zip(*query_result.rows, strict=True), strict=False)
        if (n := sum(value is None for value in values))
    ]
    if lacking:
        facts.append(t("rows.null", what=t("mark.list").join(lacking)))
    return " · ".join(facts)


def coverage_text(query_result: QueryResult) -> str:
    """For how many rows the columns are known that the statement compares."""
    told = []
    for each in localise_rows(query_result, current_language()).coverage:
        names = [escape_markdown(name, 40) for name in each.columns]
        name = t("mark.list").join(names)
        if each.known is None:
            told.append(t("rows.uncounted", name=name))
        else:
            key = "rows.known_part" if each.part else "rows.known"
            told.append(t(key, name=name, known=format_number(each.known), n=each.rows))
    return " · ".join(told)


def _draw_row_downloads(query_result: QueryResult, file_stem: str, key: str) -> None:
    """The rows as files, made when they are asked for. Programs read all but the workbook, and find
    the names of the database in them."""
    shown = localise_rows(query_result, current_language())
    with st.container(horizontal=True, vertical_alignment="center"):
        for words, suffix, mime, icon, make in FILE_FORMATS:
            st.download_button(
                t(words),
                lambda make=make: make(shown if make is rows_excel else query_result),
                file_name=f"{file_stem}{suffix}",
                mime=mime,
                key=f"rows_{suffix[1:]}_{key}",
                on_click="ignore",
                icon=icon,
            )


# The statement


def _draw_statement(finding: Finding, key: str, database: str) -> None:
    """The statement that was run, and what can be done with it."""
    text = finding.rows.sql if finding.rows else _last_statement(finding)
    if not text:
        return
    if finding.rows:
        layout.draw_section_title(t("rows.statement"))
        st.code(text, language="sql", wrap_lines=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        if finding.rows and finding.task.tool != SQL_TOOL:
            _draw_confirmation(finding, finding.rows.sql, key, database)
        if st.button(t("rows.edit"), key=f"edit_{key}", icon=":material/edit:"):
            open_editor(text, database)


def _last_statement(finding: Finding) -> str:
    """The last statement of a finding without rows."""
    typed = finding.task.query if finding.task.tool == SQL_TOOL else ""
    return next((step.sql for step in reversed(finding.steps) if step.sql), typed)


def open_editor(sql: str, database: str) -> None:
    """Opens the database page with a statement for a database in its box."""
    st.session_state[EDITED_STATEMENT_KEY] = sql, database
    st.session_state.pop(LAST_RUN_KEY, None)
    language = {"lang": current_language()} if current_language() != browser_language() else {}
    st.switch_page(page_script("database"), query_params=language)


def _draw_confirmation(finding: Finding, sql: str, key: str, database: str) -> None:
    """Whether the statement is remembered as right for its question, and the way to change that."""
    question, who = finding.task.query, current_owner()
    pairs = dict(application.confirmed_statements(database=database, owner=who))
    known = [asked for asked, right in pairs.items() if right == sql]
    used = any(step.kind == "write" and step.text == steps.CONFIRMED for step in finding.steps)
    asked = question if question in known else (known[0] if used and known else "")
    if asked:
        st.badge(t("rows.remembered"), icon=":material/check:", color="green")
        st.button(
            t("rows.back"), key=f"back_{key}", type="tertiary", icon=":material/undo:",
            on_click=lambda: application.remove_confirmed_statement(asked, database=database, owner=who),
        )  # fmt: skip
        return
    if question in pairs:
        st.caption(t("rows.other"), width="content")
    st.button(
        t("rows.right"), key=f"right_{key}", icon=":material/thumb_up:", help=t("rows.right_help"),
        on_click=lambda: application.confirm_statement(question, sql, database=database, owner=who),
    )  # fmt: skip


# The way to it


def _draw_steps(finding: Finding, key: str) -> None:
    """Every step, with the statement that it wrote or ran where it is another than before."""
    if not finding.steps:
        return
    label = t("rows.steps", n=format_number(len(finding.steps)))
    with st.expander(label, expanded=not finding.rows, icon=":material/psychology:", key=f"thoughts_{key}"):
        before = ""
        for step in finding.steps:
            st.markdown(f"{steps.STEP_ICONS.get(step.kind, '')} {steps.describe_step(step)}")
            shown = finding.rows.sql if finding.rows else ""  # above
            if step.sql and step.sql not in (before, shown if step.kind == "run" else ""):
                st.code(step.sql, language="sql", wrap_lines=True)
            before = step.sql or before
