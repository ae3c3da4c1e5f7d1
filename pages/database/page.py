"""Database page: choose a database, ask a question or run SQL, and look at its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.database import files, semantic_model_editor
from pages.run import query_rows
from pages.shared import errors, layout, login, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, t
from pages.shared.login import current_owner
from pages.shared.schema_warnings import draw_schema_warnings
from research import (
    DatabaseEntry,
    DatabaseSchema,
    SchemaTable,
    column_heading,
    english_region,
    get_application,
)

INPUT_MODES = {"question": "database.question", "sql": "database.sql"}
MAX_LISTED_VALUES = 12  # per column
MAX_LISTED_TABLES = 20  # a database with more shows one table at a time


# Choice of a database


def choose_database(entries: Sequence[DatabaseEntry]) -> DatabaseEntry:
    """Draw the choice of a database and warnings about unusable ones. Return the selected or else the default one."""
    usable = {entry.name: entry for entry in entries if not entry.wrong}
    default = next(name for name, entry in usable.items() if entry.default)
    if st.session_state.get(query_rows.DATABASE_WIDGET_KEY) not in usable:
        st.session_state[query_rows.DATABASE_WIDGET_KEY] = st.session_state.get(query_rows.LAST_DATABASE_KEY, "")
    if st.session_state[query_rows.DATABASE_WIDGET_KEY] not in usable:
        st.session_state[query_rows.DATABASE_WIDGET_KEY] = default
    if len(usable) > 1:
        st.selectbox(
            t("database.choice"),
            list(usable),
            key=query_rows.DATABASE_WIDGET_KEY,
            format_func=lambda name: choice_label(usable[name]),
        )
    chosen = st.session_state[query_rows.LAST_DATABASE_KEY] = st.session_state[query_rows.DATABASE_WIDGET_KEY]
    if len(usable) == 1:
        st.caption(t("database.which", name=escape_markdown(database_label(usable[chosen]))))
    elif description := usable[chosen].description.get(current_language(), ""):
        st.caption(escape_markdown(description, 400))
    for entry in entries:
        if entry.wrong:  # details are for the operator of the server
            reason = t("reason.unavailable") if login.read_config().is_required else entry.wrong
            st.warning(
                t("database.wrong", name=escape_markdown(entry.name), why=escape_markdown(reason, 400)),
                icon=":material/database_off:",
            )
    return usable[chosen]


def choice_label(entry: DatabaseEntry) -> str:
    """Return the label of a database in the choice, with the default marked."""
    if not entry.default:
        return database_label(entry)
    return t("mark.aside", text=database_label(entry), more=t("database.usual"))


def database_label(entry: DatabaseEntry) -> str:
    """Return the label of a database as plain text; a select box renders no Markdown."""
    if entry.kind == "shipped":
        return t("database.shipped")
    return t("files.choice", names=entry.title[:120]) if entry.kind == "files" else entry.name


# Asking


def draw_form(entry: DatabaseEntry) -> None:
    """Draw the input for a question or for SQL.

    Only the shipped database gets example placeholders, because its tables are known.
    """
    is_shipped = entry.kind == "shipped"
    st.session_state.setdefault("database_mode", st.session_state.get("database_kept_mode", "question"))
    mode = st.segmented_control(
        t("database.mode"),
        list(INPUT_MODES),
        format_func={name: t(message_key) for name, message_key in INPUT_MODES.items()}.__getitem__,
        key="database_mode",
        required=True,
        label_visibility="collapsed",
    )
    st.session_state.database_kept_mode = mode
    is_sql = mode == "sql"
    key = "database_sql" if is_sql else "database_question"
    if is_sql:  # keep a statement for further editing, but no question
        st.session_state.setdefault(key, st.session_state.get("database_kept_sql", ""))
        hint = t("database.sql_placeholder" if is_shipped else "database.sql_own")
    else:
        hint = t("database.placeholder") if is_shipped else ""
    with st.form("database", border=False, enter_to_submit=True):
        text = st.text_area(
            t(INPUT_MODES[mode]), key=key, placeholder=hint, label_visibility="collapsed", height=150 if is_sql else 84
        )
        submitted = st.form_submit_button(
            t("database.run") if is_sql else t("database.ask"),
            type="primary",
            key="database_go",
            icon=":material/play_arrow:" if is_sql else ":material/search:",
            shortcut="Ctrl+Enter",
        )
    if is_sql:
        max_rows = get_application().services_for(current_owner()).settings.database_rows
        st.caption(t("database.sql_help", n=format_number(max_rows)))
    if submitted:
        if is_sql:
            st.session_state.database_kept_sql = text
        query_rows.start_database_run(text, entry.name, is_statement=is_sql)


def draw_examples() -> None:
    def fill_in(question: str) -> None:
        st.session_state.database_question = question

    with st.container(gap=None, key="database_examples"):
        st.caption(t("ask.examples"))
        for n, question in enumerate(t("database.examples").splitlines()):
            st.button(
                question,
                key=f"database_example_{n}",
                on_click=fill_in,
                args=(question,),
                type="tertiary",
                icon=":material/arrow_outward:",
            )


def draw_model_note(*, is_shipped: bool) -> None:
    """Draw a note that names the model that writes the SQL, or says what is possible without one."""
    services = get_application().services_for(current_owner())
    if services.models:
        key = "database.model" if is_shipped else "database.model_own"
        st.caption(t(key, write=escape_markdown(services.models.model_name("plan"))))
        return
    st.caption(t("database.rules" if is_shipped else "database.rules_own"))
    if services.has_idle_model:
        st.caption(t("nothing.idle"))
    elif not is_shipped:
        st.caption(t("nothing.model"))


# Confirmed statements


def draw_confirmed_statements(database: str) -> None:
    """Draw the confirmed questions and statements, with buttons to ask again, edit or remove."""
    pairs = get_application().databases.confirmed_statements(database=database, owner=current_owner())
    if not pairs:
        return
    label = t("database.confirmed", n=len(pairs))
    with st.expander(label, icon=":material/thumb_up:", key="confirmed"):
        st.caption(t("database.confirmed_help"))
        for n, (question, sql) in enumerate(pairs):
            with errors.catch_row_errors(), st.container(border=True, key=f"pair_{n}"):
                st.markdown(f"**{escape_markdown(question, 300)}**")
                st.code(sql, language="sql", wrap_lines=True)
                with st.container(horizontal=True):
                    if st.button(t("database.again"), key=f"ask_{n}", icon=":material/replay:"):
                        query_rows.start_database_run(question, database, is_statement=False)
                    if st.button(t("rows.edit"), key=f"edit_pair_{n}", icon=":material/edit:"):
                        query_rows.open_editor(sql, database)
                    st.button(
                        t("rows.back"),
                        key=f"take_back_{n}",
                        type="tertiary",
                        icon=":material/undo:",
                        on_click=lambda question=question: get_application().databases.remove_confirmed_statement(
                            question, database=database, owner=current_owner()
                        ),
                    )


# Schema


def draw_schema(schema: DatabaseSchema) -> None:
    """Draw the tables of a database with their columns, and warnings about it."""
    draw_schema_warnings(schema)
    if schema.failure:
        return
    label = t("database.schema", n=format_number(len(schema.tables)))
    with st.expander(label, icon=":material/schema:", key="schema"):
        shown = schema.tables
        if len(shown) > MAX_LISTED_TABLES:
            tables = {escape_markdown(table.qualified_name): table for table in shown}
            shown = (tables[st.selectbox(t("database.table"), list(tables), key="database_table")],)
        for n, table in enumerate(shown):
            kind = f" · {t('database.view')}" if table.is_view else ""
            comment = f" — {escape_markdown(localize_comment(table.comment), 300)}" if table.comment else ""
            st.markdown(f"**{escape_markdown(table.qualified_name)}**{kind}{comment}")
            draw_columns(table, n, is_shipped=not schema.title)


def _value_text(value: str) -> str:
    """Return a column value, with the English name of a region added for English readers."""
    english = english_region(value)
    return value if current_language() == "zh" or english == value else f"{value} ({english})"


def draw_columns(table: SchemaTable, index: int, *, is_shipped: bool) -> None:
    """Draw the columns of a table, with the headings used in answers if it is shipped."""
    rows = [
        {
            "heading": column_heading(column.name, current_language()) if is_shipped else column.name,
            "name": column.name,
            "type": column.type,
            "meaning": column_meaning(column),
            "values": ", ".join(_value_text(value) for value in column.values[:MAX_LISTED_VALUES])
            + ("…" if len(column.values) > MAX_LISTED_VALUES else ""),
        }
        for column in table.columns
    ]
    text = st.column_config.TextColumn
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"columns_{index}",
        alt=t("database.columns", table=table.qualified_name),
        placeholder="",
        height="content",
        column_config={
            "heading": text(t("database.heading"), width=140) if is_shipped else None,
            "name": text(t("database.column"), width=130),
            "type": text(t("database.type"), width=85),
            "meaning": text(t("database.comment"), width=320),
            "values": text(t("database.values"), width="medium"),
        },
    )


def column_meaning(column: Any) -> str:
    """Describe a column: whether it is a key, what it refers to, and its comment."""
    facts = [
        t("database.key") if column.is_key else "",
        t("database.refers", column=column.reference) if column.reference else "",
        localize_comment(column.comment),
    ]
    return " · ".join(filter(None, facts))


def localize_comment(comment: str) -> str:
    """Return the part of a "zh / en" comment in the visitor's language, or the whole comment."""
    parts = comment.split(" / ")
    return parts[0 if current_language() == "zh" else 1] if len(parts) == 2 else comment


def main() -> None:
    statement = st.session_state.pop(query_rows.EDITED_STATEMENT_KEY, None)
    if statement is not None:
        st.session_state.database_mode = "sql"
        st.session_state.database_sql, st.session_state[query_rows.DATABASE_WIDGET_KEY] = statement
    if run_navigation.draw_current_run(query_rows.LAST_RUN_KEY):
        return
    layout.draw_header(t("database.title"), t("database.lead"))
    files.draw()
    entry = choose_database(get_application().databases.all(owner=current_owner()))
    draw_form(entry)
    is_shipped = entry.kind == "shipped"
    if is_shipped and st.session_state.database_mode == "question":
        draw_examples()
    draw_model_note(is_shipped=is_shipped)
    draw_confirmed_statements(entry.name)
    if not is_shipped:
        semantic_model_editor.draw(entry.name)
    draw_schema(get_application().databases.schema(entry.name, owner=current_owner()))


main()
