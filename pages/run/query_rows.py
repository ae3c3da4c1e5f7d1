"""Database rows of a run: the table, its files, its chart, its SQL statement and the steps to it.

Selecting a row selects its place on the map of the run, and vice versa. Cells are always drawn as
text, whatever they look like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.run import chart, steps
from pages.shared import layout, run_navigation, temporary_files
from pages.shared import place_map as maps
from pages.shared.background import run_with_progress
from pages.shared.escaping import escape_markdown, web_url
from pages.shared.localization import current_language, format_duration, format_number, language_params, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from pages.shared.table_reading import draw_doubts
from research import (
    CERTAIN_NOTES,
    EXPORT_FORMATS,
    ExportFormat,
    ExportOptions,
    Finding,
    QueryResult,
    Report,
    RowExport,
    describe_reading_note,
    export_file_name,
    get_application,
    localise_rows,
    number_report_answer,
    rows_arrow_table,
)

SQL_TOOL = "sql"  # search tool whose query is an SQL statement
EDITED_STATEMENT_KEY = "database_edit"  # statement and database to open the database page with
DATABASE_WIDGET_KEY = "database_chosen"  # of the select box with the name of the database
LAST_DATABASE_KEY = "database_kept"  # copy of that name; Streamlit deletes values of widgets that are not drawn
LAST_RUN_KEY = "last_database"  # run that the database page showed last
NULL_TEXT = "–"
MAX_EXPORT_ROWS = 1_000_000
MAX_UNSCROLLED_ROWS = 12
MAX_ROW_CHARS = 400  # of the text of a selected row
MAX_OFFERED_QUESTIONS = 5  # when no model is set up
FILE_ICONS = {"csv": ":material/table:", "xlsx": ":material/table_view:", "parquet": ":material/view_column:"}


def draw(report: Report) -> None:
    """Draw everything that a run found in a database; nothing if it queried none."""
    database = report.run.options.database
    if any(finding.reason == "no model" for finding in report.findings):
        _draw_alternatives(report.run.id[:8], database)
    findings = [item for item in report.findings if item.rows or item.steps or item.task.tool == SQL_TOOL]
    part = 0  # number of the result among those with rows, as in the names of export files
    for n, finding in enumerate(findings):
        key = f"{report.run.id[:8]}_{n}"
        if len(findings) > 1 or finding.task.query != report.run.question:
            layout.draw_section_title(f":material/database: {escape_markdown(finding.task.query, 200)}")
        if finding.rows and finding.rows.reading_notes:
            _draw_reading_notes(finding.rows)
        if finding.rows and finding.rows.rows:
            name = f"{export_file_name(report, '')[:-1]}-rows{n + 1 if n else ''}"
            if not (finding.rows.truncated and _draw_later_page(finding.rows, key, database)):
                _draw_table(finding, finding.rows, key, report.run.id[:8])
            part += 1
            _draw_row_downloads(report, part, name, key)
            if finding.rows.truncated:
                _draw_full_export(finding.rows, name, key, database)
            chart.draw(finding.rows, localise_rows(finding.rows, current_language()), key)
        elif finding.rows:
            st.info(t("rows.none"))
        if finding.rows and finding.rows.coverage:
            st.caption(f":material/data_check: {coverage_text(finding.rows)}")
        if finding.rows and finding.rows.unmatched_filters:
            st.warning(t("rows.missed", what=escape_markdown("; ".join(finding.rows.unmatched_filters), 600)))
        _draw_statement(finding, key, database)
        _draw_steps(finding, key)


def start_database_run(text: str, database: str, *, is_statement: bool) -> None:
    """Start a run with a question to a database or with an SQL statement, and show the run."""
    with run_navigation.catch_start_errors():
        run = get_application().start_database_run(
            text, is_statement=is_statement, database=database, owner=current_owner()
        )
        run_navigation.open_run(run)


def _draw_alternatives(key: str, database: str) -> None:
    """Draw what can be asked without a model: confirmed questions, examples and an SQL editor."""
    questions = [
        question
        for question, _ in get_application().databases.confirmed_statements(database=database, owner=current_owner())
    ]
    described = get_application().databases.description(database, owner=current_owner()).model
    questions += [example.question for example in described.examples]
    with st.container(gap=None, key=f"alternatives_{key}"):
        for n, question in enumerate(questions[:MAX_OFFERED_QUESTIONS]):
            if st.button(
                escape_markdown(question, 300), key=f"saved_{n}_{key}", type="tertiary", icon=":material/replay:"
            ):
                start_database_run(question, database, is_statement=False)
    if st.button(t("rows.write"), key=f"write_sql_{key}", icon=":material/edit:"):
        open_editor("", database)


# The table


def _draw_table(finding: Finding, query_result: QueryResult, key: str, map_key: str) -> None:
    place_ids = row_place_ids(finding)
    table_key = f"rows_{key}"
    _select_row_of_map(place_ids, table_key, map_key)
    chosen = _draw_rows(
        query_result,
        table_key,
        # The map shows the coordinates, so they come last.
        puts_coordinates_last=bool(place_ids) and finding.task.tool != SQL_TOOL,
        on_select=lambda: _select_place_of_row(place_ids, table_key, map_key),
        selection_mode=["single-row", "single-cell"],
    )
    if chosen.selection.rows:
        _draw_selected_row(localise_rows(query_result, current_language()), chosen.selection.rows[0])
    st.caption(table_caption(query_result))
    if place_ids:
        st.caption(t("rows.pick"))


def _draw_rows(query_result: QueryResult, key: str, *, puts_coordinates_last: bool = False, **options: Any) -> Any:
    """Draw rows as a table with localised headings; `options` are those of `st.dataframe`."""
    localised = localise_rows(query_result, current_language())
    table = rows_arrow_table(localised.model_copy(update={"names": query_result.names}))
    order = sorted(table.column_names, key=chart.is_coordinate) if puts_coordinates_last else table.column_names
    return st.dataframe(
        table,
        column_order=order,
        hide_index=True,
        key=key,
        alt=t("rows.table"),
        placeholder=NULL_TEXT,
        height=layout.table_height(len(query_result.rows), MAX_UNSCROLLED_ROWS),
        column_config=_column_configs(query_result, localised.names),
        **options,
    )


def _draw_later_page(query_result: QueryResult, key: str, database: str) -> bool:
    """Draw the choice of a page of rows, and any page but the first. Return False on the first page.

    The first page is the stored result of the run. Later pages are read from the database now and are not
    stored.
    """
    page_number = st.number_input(
        t("rows.page"),
        1,
        MAX_EXPORT_ROWS // len(query_result.rows),
        key=f"page_{key}",
        width=160,
        help=t("rows.page_help"),
    )
    if page_number == 1:
        return False
    cache_key = f"page_kept_{key}"
    if st.session_state.get(cache_key, (0, None))[0] != page_number:
        with st.spinner(t("rows.reading")):
            result = get_application().databases.read_page(
                query_result, int(page_number), database=database, owner=current_owner()
            )
        st.session_state[cache_key] = page_number, result
    page = st.session_state[cache_key][1]
    if page.rows is None:
        st.error(escape_markdown(page.error, 400))
        return True
    if not page.rows.rows:
        st.info(t("rows.no_page"))
        return True
    _draw_rows(page.rows, f"further_{key}_{page_number}")
    first = (int(page_number) - 1) * len(query_result.rows) + 1
    range_text = t("rows.span", first=format_number(first), last=format_number(first + len(page.rows.rows) - 1))
    st.caption(range_text if page.is_ordered else f"{range_text} · {t('rows.unordered')}")
    return True


def _draw_full_export(query_result: QueryResult, name: str, key: str, database: str) -> None:
    """Draw buttons that export all rows to a file, read anew and written in a stream."""
    owner, cache_key = current_owner(), f"all_kept_{key}"
    with st.popover(t("rows.all"), icon=":material/download_for_offline:", key=f"all_{key}"):
        st.caption(t("rows.all_help", n=format_number(MAX_EXPORT_ROWS)))
        with st.container(horizontal=True):
            for ending, export_format in _row_formats().items():
                label = export_format.label.in_language(current_language())
                if st.button(label, key=f"all_{ending}_{key}", icon=FILE_ICONS.get(ending)):
                    st.session_state[cache_key] = _export_all(query_result, f"{name}-all.{ending}", database, owner)
        if export := st.session_state.get(cache_key):
            address, count, has_more = export
            label = t("rows.all_more" if has_more else "rows.all_made", n=format_number(count))
            st.link_button(label, address, icon=":material/download:", key=f"all_link_{key}")


def _export_all(query_result: QueryResult, name: str, database: str, owner: str) -> tuple[str, int, bool] | None:
    """Export all rows; return the URL of the file, its row count and whether more rows exist.

    A failed export is drawn as an error and returns None.
    """

    def write_file(report_progress: Callable[[int], None]) -> tuple[str, RowExport]:
        return temporary_files.TEMPORARY_FILES.create(
            lambda path: get_application().databases.export_rows(
                query_result, path, report_progress, database=database, owner=owner
            ),
            name,
            owner,
        )

    address, export = run_with_progress(
        write_file, 0, lambda n: (n / MAX_EXPORT_ROWS, t("rows.exporting", n=format_number(n)))
    )
    if export.error:
        st.error(escape_markdown(export.error, 400))
        return None
    return address, export.row_count, export.has_more


def _draw_selected_row(query_result: QueryResult, row_index: int) -> None:
    """Draw the selected row as text.

    The table cannot be scrolled to a row from here, and does not show all columns of a wide one.
    """
    if row_index < len(query_result.rows):
        cells = zip(query_result.names, query_result.rows[row_index], strict=True)
        text = " · ".join(f"{name}: {value}" for name, value in cells if value is not None)
        row = t("rows.place", n=format_number(row_index + 1))
        st.caption(f":material/check_box: **{row}** — {escape_markdown(text, MAX_ROW_CHARS)}")


def row_place_ids(finding: Finding) -> dict[int, str]:
    """Return the ids of the places of rows, by row index from 0."""
    count = len(finding.rows.rows) if finding.rows else 0
    place_ids: dict[int, str] = {}
    for item in finding.evidence:
        heading = item.passages[0].heading if item.place and item.passages else ""
        number = heading.removeprefix("row ")
        if item.place and number != heading and number.isascii() and number.isdigit() and 0 < int(number) <= count:
            place_ids[int(number) - 1] = item.place.id
    return place_ids


def _select_row_of_map(place_ids: dict[int, str], key: str, map_key: str) -> None:
    """Select the row of the place picked on the map since the table was last drawn."""
    place_id = maps.selected_place_id(map_key)
    if not place_ids or place_id == st.session_state.get(f"{key}_place", ""):
        return
    st.session_state[f"{key}_place"] = place_id
    row_index = next((row for row, id_ in place_ids.items() if id_ == place_id), None)
    rows = [] if row_index is None else [row_index]
    st.session_state[f"{key}_cells"] = []
    st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}


def _select_place_of_row(place_ids: dict[int, str], key: str, map_key: str) -> None:
    """Select on the map the place of the row that was selected by its box or one of its cells."""
    selection = st.session_state[key]["selection"]
    rows, cells = list(selection["rows"]), list(selection["cells"])
    if cells and cells != st.session_state.get(f"{key}_cells", []):
        rows = [cells[0][0]]
    cells = [cell for cell in cells if [cell[0]] == rows]
    st.session_state[f"{key}_cells"] = cells
    if (rows, cells) != (list(selection["rows"]), list(selection["cells"])):
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    place_id = place_ids.get(rows[0], "") if rows else ""
    if place_ids and place_id != maps.selected_place_id(map_key):
        st.session_state[f"{key}_place"] = place_id
        maps.select_place(map_key, place_id)


def _column_configs(query_result: QueryResult, headings: Sequence[str]) -> dict[int, Any]:
    """Return the configuration of each column by index, since names may be anything."""
    types = query_result.types or ("text",) * len(query_result.names)
    columns = list(zip(*query_result.rows, strict=True))
    configs = map(_column_config, query_result.names, headings, types, columns)
    return dict(enumerate(configs))


def _column_config(name: str, heading: str, kind: str, values: Sequence[Any]) -> Any:
    """Configure a column by its type; its own name becomes the help if the heading differs."""
    column = st.column_config
    label_options = {"label": heading, "help": name} if heading != name else {}
    present_values = [value for value in values if value is not None]
    if kind == "integer" and all(-(2**53) < value < 2**53 for value in present_values):
        is_plain = chart.is_id(name) or chart.is_year(name, values)
        return column.NumberColumn(**label_options, format="%d" if is_plain else "localized")
    if kind == "number":
        number_format = "%.5f" if chart.is_coordinate(name) else None
        return column.NumberColumn(**label_options, format=number_format)
    if kind == "boolean":
        return column.CheckboxColumn(**label_options)
    if kind == "text" and present_values and all(map(web_url, present_values)):
        return column.LinkColumn(**label_options)
    if kind in ("date", "datetime"):
        return column.Column(**label_options)  # automatic; values that are no dates are drawn as text
    wide = "large" if any(len(str(v)) > 60 for v in present_values) else None
    return column.TextColumn(**label_options, width=wide)


def table_caption(query_result: QueryResult) -> str:
    """Return one line with the counts of rows, shortened cells and nulls, and the duration."""
    query_result = localise_rows(query_result, current_language())
    facts = [t("rows.rows", n=format_number(len(query_result.rows)))]
    if query_result.truncated:
        facts.append(t("rows.truncated", n=format_number(len(query_result.rows))))
    if query_result.shortened_cells:
        facts.append(t("rows.cut", n=format_number(query_result.shortened_cells)))
    facts.append(format_duration(query_result.seconds))
    null_counts = [
        t("rows.null_in", name=escape_markdown(name, 40), n=format_number(n))
        for name, values in zip(query_result.names, zip(*query_result.rows, strict=True), strict=False)
        if (n := sum(value is None for value in values))
    ]
    if null_counts:
        facts.append(t("rows.null", what=t("mark.list").join(null_counts)))
    return " · ".join(facts)


def coverage_text(query_result: QueryResult) -> str:
    """Return one line with the number of rows in which the compared columns have a value."""
    facts = []
    for coverage in localise_rows(query_result, current_language()).coverage:
        name = t("mark.list").join(escape_markdown(column, 40) for column in coverage.columns)
        if coverage.known is None:
            facts.append(t("rows.uncounted", name=name))
        else:
            key = "rows.known_part" if coverage.subquery else "rows.known"
            facts.append(t(key, name=name, known=format_number(coverage.known), n=coverage.rows))
    return " · ".join(facts)


def _draw_reading_notes(query_result: QueryResult) -> None:
    """Draw the doubts with which the files of a statement were read, and quietly which totals they leave out."""
    draw_doubts(query_result.reading_notes)
    for note in query_result.reading_notes:
        if note.kind in CERTAIN_NOTES:
            line = escape_markdown(describe_reading_note(note, current_language()), 400)
            st.caption(f":material/splitscreen_bottom: {line}")


def _row_formats() -> dict[str, ExportFormat]:
    """Return the formats of database rows by the ending of their files."""
    return {item.suffix.rpartition(".")[2]: item for item in EXPORT_FORMATS if item.content == "rows"}


def _draw_row_downloads(report: Report, table_number: int, file_stem: str, key: str) -> None:
    """Draw a download button for each file format of a result.

    Only the workbook has localised headings; the other formats, meant for programs, keep the names
    of the database.
    """
    language, settings = current_language(), get_application().services_for(current_owner()).settings
    options = ExportOptions.from_settings(settings, language=language, table_number=table_number)
    cited = number_report_answer(report)
    with st.container(horizontal=True, vertical_alignment="center"):
        for suffix, export_format in _row_formats().items():
            st.download_button(
                export_format.label.in_language(language),
                partial(export_format.write, report, cited, options),
                file_name=f"{file_stem}.{suffix}",
                mime=export_format.mime,
                key=f"rows_{suffix}_{key}",
                on_click="ignore",
                icon=FILE_ICONS.get(suffix),
            )


# The statement


def _draw_statement(finding: Finding, key: str, database: str) -> None:
    """Draw the statement that was run, with buttons to confirm and edit it."""
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
    """Return the last statement of a finding without rows."""
    typed = finding.task.query if finding.task.tool == SQL_TOOL else ""
    return next((step.sql for step in reversed(finding.steps) if step.sql), typed)


def open_editor(sql: str, database: str) -> None:
    """Open the database page with a statement in its editor."""
    st.session_state[EDITED_STATEMENT_KEY] = sql, database
    st.session_state.pop(LAST_RUN_KEY, None)
    st.switch_page(page_script("database"), query_params=language_params())


def _draw_confirmation(finding: Finding, sql: str, key: str, database: str) -> None:
    """Draw a badge if the statement is confirmed for its question, and a button to confirm it or not."""
    question, owner = finding.task.query, current_owner()
    statements_by_question = dict(get_application().databases.confirmed_statements(database=database, owner=owner))
    was_reused = any(step.kind == "write" and step.text == steps.CONFIRMED for step in finding.steps)
    if statements_by_question.get(question) == sql:
        confirmed_question = question
    else:  # a statement confirmed for another question may have been reused for this one
        others = (other for other, statement in statements_by_question.items() if statement == sql)
        confirmed_question = next(others, "") if was_reused else ""
    if confirmed_question:
        st.badge(t("rows.remembered"), icon=":material/check:", color="green")
        st.button(
            t("rows.back"),
            key=f"back_{key}",
            type="tertiary",
            icon=":material/undo:",
            on_click=lambda: get_application().databases.remove_confirmed_statement(
                confirmed_question, database=database, owner=owner
            ),
        )
        return
    if question in statements_by_question:
        st.caption(t("rows.other"), width="content")
    st.button(
        t("rows.right"),
        key=f"right_{key}",
        icon=":material/thumb_up:",
        help=t("rows.right_help"),
        on_click=lambda: get_application().databases.confirm_statement(question, sql, database=database, owner=owner),
    )


# Steps


def _draw_steps(finding: Finding, key: str) -> None:
    """Draw every step of a database search, with its statement unless it repeats the one before."""
    if not finding.steps:
        return
    label = t("rows.steps", n=format_number(len(finding.steps)))
    with st.expander(label, expanded=not finding.rows, icon=":material/psychology:", key=f"thoughts_{key}"):
        previous_sql = ""
        for step in finding.steps:
            st.markdown(f"{steps.STEP_ICONS.get(step.kind, '')} {steps.describe_step(step)}")
            shown_sql = finding.rows.sql if finding.rows else ""  # drawn above already
            if step.sql and step.sql not in (previous_sql, shown_sql if step.kind == "run" else ""):
                st.code(step.sql, language="sql", wrap_lines=True)
            previous_sql = step.sql or previous_sql
