"""Ask a database: which one, a question or SQL, what can be asked, and what was found right before."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.database import files, semantic_model_editor
from pages.run import query_rows
from pages.run import view as run
from pages.shared import errors, layout, login, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, t
from pages.shared.login import current_owner
from pages.shared.schema_warnings import draw_schema_warnings
from research import (
    DatabaseEntry,
    DatabaseSchema,
    DatabaseTable,
    application,
    column_heading,
    database_schema,
    databases,
    english_region,
)

INPUT_MODES = {"question": "database.question", "sql": "database.sql"}
MAX_LISTED_VALUES = 12  # of a column that are listed
MAX_LISTED_TABLES = 20  # tables, above which one is looked at at a time


# Which one


def choose_database(entries: Sequence[DatabaseEntry]) -> DatabaseEntry:
    """The database that is asked: the one that was chosen, else the usual one."""
    known = {one.name: one for one in entries if not one.wrong}
    usual = next(name for name, one in known.items() if one.default)
    if st.session_state.get(query_rows.CHOSEN_DATABASE_KEY) not in known:
        st.session_state[query_rows.CHOSEN_DATABASE_KEY] = st.session_state.get(query_rows.KEPT_DATABASE_KEY, "")
    if st.session_state[query_rows.CHOSEN_DATABASE_KEY] not in known:
        st.session_state[query_rows.CHOSEN_DATABASE_KEY] = usual
    if len(known) > 1:
        st.selectbox(
            t("database.choice"), list(known), key=query_rows.CHOSEN_DATABASE_KEY,
            format_func=lambda name: choice_label(known[name]),
        )  # fmt: skip
    chosen = st.session_state[query_rows.KEPT_DATABASE_KEY] = st.session_state[query_rows.CHOSEN_DATABASE_KEY]
    if len(known) == 1:
        st.caption(t("database.which", name=escape_markdown(database_label(known[chosen]))))
    elif about := known[chosen].description.get(current_language(), ""):
        st.caption(escape_markdown(about, 400))
    for one in entries:
        if one.wrong:  # what is wrong is for who runs the server
            why = t("reason.unavailable") if login.read_config().is_required else one.wrong
            st.warning(t("database.wrong", name=escape_markdown(one.name), why=escape_markdown(why, 400)), icon=":material/database_off:")  # fmt: skip
    return known[chosen]


def choice_label(entry: DatabaseEntry) -> str:
    """What a database is called where others can be chosen."""
    if not entry.default:
        return database_label(entry)
    return t("mark.aside", text=database_label(entry), more=t("database.usual"))


def database_label(entry: DatabaseEntry) -> str:
    """What a database is called among others; a choice is no Markdown."""
    if entry.kind == "shipped":
        return t("database.shipped")
    return t("files.choice", names=entry.title[:120]) if entry.kind == "files" else entry.name


# Asking


def draw_form(entry: DatabaseEntry) -> None:
    """The box for a question or for SQL. Of any database but the one that ships, nobody knows the
    tables."""
    own = entry.kind != "shipped"
    st.session_state.setdefault("database_mode", st.session_state.get("database_kept_mode", "question"))
    mode = st.segmented_control(
        t("database.mode"),
        list(INPUT_MODES),
        format_func={name: t(words) for name, words in INPUT_MODES.items()}.__getitem__,
        key="database_mode",
        required=True,
        label_visibility="collapsed",
    )
    st.session_state.database_kept_mode = mode
    typed = mode == "sql"
    key = "database_sql" if typed else "database_question"
    if typed:  # a question that was asked is over, a statement is worked on
        st.session_state.setdefault(key, st.session_state.get("database_kept_sql", ""))
    if typed:
        hint = t("database.sql_own") if own else t("database.sql_placeholder")
    else:
        hint = "" if own else t("database.placeholder")
    with st.form("database", border=False, enter_to_submit=True):
        text = st.text_area(
            t(INPUT_MODES[mode]), key=key, placeholder=hint, label_visibility="collapsed",
            height=150 if typed else 84,
        )  # fmt: skip
        go = st.form_submit_button(
            t("database.run") if typed else t("database.ask"),
            type="primary",
            key="database_go",
            icon=":material/play_arrow:" if typed else ":material/search:",
            shortcut="Ctrl+Enter",
        )
    if typed:
        st.caption(
            t(
                "database.sql_help",
                n=format_number(application.get_services(owner=current_owner()).settings.database_rows),
            )
        )
    if go:
        if typed:
            st.session_state.database_kept_sql = text
        query_rows.ask(text, entry.name, typed=typed)


def draw_examples() -> None:
    def take(question: str) -> None:
        st.session_state.database_question = question

    with st.container(gap=None, key="database_examples"):
        st.caption(t("ask.examples"))
        for n, question in enumerate(t("database.examples").splitlines()):
            st.button(
                question, key=f"database_example_{n}", on_click=take, args=(question,),
                type="tertiary", icon=":material/arrow_outward:",
            )  # fmt: skip


def draw_writer(*, is_own: bool) -> None:
    """Who writes the SQL."""
    services = application.get_services(owner=current_owner())
    if services.models:
        key = "database.model_own" if is_own else "database.model"
        st.caption(t(key, write=escape_markdown(services.models.model_name("plan"))))
        return
    st.caption(t("database.rules_own") if is_own else t("database.rules"))
    if is_own or services.has_idle_model:
        st.caption(t("nothing.idle") if services.has_idle_model else t("nothing.model"))


# What was found right


def draw_confirmed(database: str) -> None:
    """The questions whose statements are remembered, each with a way to ask again and to take back."""
    pairs = application.confirmed_statements(database=database, owner=current_owner())
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
                        query_rows.ask(question, database, typed=False)
                    if st.button(t("rows.edit"), key=f"edit_pair_{n}", icon=":material/edit:"):
                        query_rows.open_editor(sql, database)
                    st.button(
                        t("rows.back"), key=f"take_back_{n}", type="tertiary", icon=":material/undo:",
                        on_click=lambda asked=question: application.remove_confirmed_statement(asked, database=database, owner=current_owner()),
                    )  # fmt: skip


# What can be asked


def draw_tables(schema: DatabaseSchema) -> None:
    if schema.failure:
        st.error(t("database.schema_failed", why=failure_text(schema)))
        return
    draw_schema_warnings(schema)
    label = t("database.schema", n=format_number(len(schema.tables)))
    with st.expander(label, icon=":material/schema:", key="schema"):
        shown = schema.tables
        if len(shown) > MAX_LISTED_TABLES:
            names = {escape_markdown(table.name): table for table in shown}
            name = st.selectbox(t("database.table"), list(names), key="database_table")
            shown = (names[name],)
        for n, table in enumerate(shown):
            view = f" · {t('database.view')}" if table.is_view else ""
            comment = f" — {escape_markdown(localize_comment(table.comment), 300)}" if table.comment else ""
            st.markdown(f"**{escape_markdown(table.name)}**{view}{comment}")
            draw_columns(table, n, is_shipped=not schema.title)


def failure_text(schema: DatabaseSchema) -> str:
    """Why a database cannot be used, in words; where it lies is for who runs the server."""
    assert schema.failure
    failure = schema.failure
    message = "" if login.read_config().is_required else escape_markdown(failure.message, 400)
    return " — ".join(filter(None, [t(f"reason.{failure.reason}"), message]))


def _value_text(value: str) -> str:
    """A value as statements have it, with what an English reader calls the region that it names."""
    told = english_region(value)
    return value if current_language() == "zh" or told == value else f"{value} ({told})"


def draw_columns(table: DatabaseTable, index: int, *, is_shipped: bool) -> None:
    """The columns of a table, with what they are called above answers if the database is `ours`."""
    found = [
        {
            "heading": column_heading(column.name, current_language()) if is_shipped else column.name,
            "name": column.name,
            "type": column.type,
            "meaning": " · ".join(
                filter(
                    None,
                    [
                        t("database.key") if column.is_key else "",
                        t("database.refers", column=column.references) if column.references else "",
                        localize_comment(column.comment),
                    ],
                )
            ),
            "values": ", ".join(_value_text(value) for value in column.values[:MAX_LISTED_VALUES])
            + ("…" if len(column.values) > MAX_LISTED_VALUES else ""),
        }
        for column in table.columns
    ]
    text = st.column_config.TextColumn
    st.dataframe(
        pd.DataFrame(found),
        hide_index=True,
        key=f"columns_{index}",
        alt=t("database.columns", table=table.name),
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


def localize_comment(comment: str) -> str:
    """A comment in the visitor's language, where it is given in both."""
    both = comment.split(" / ")
    return both[0 if current_language() == "zh" else 1] if len(both) == 2 else comment


def main() -> None:
    run_navigation.set_last_run_key(query_rows.LAST_RUN_KEY)
    edited = st.session_state.pop(query_rows.EDITED_STATEMENT_KEY, None)
    if edited is not None:
        st.session_state.database_mode = "sql"
        st.session_state.database_sql, st.session_state[query_rows.CHOSEN_DATABASE_KEY] = edited
    shown = run_navigation.current_run()
    if shown is not None:
        run.draw(shown)
        return
    layout.draw_header(t("database.title"), t("database.lead"))
    files.draw()
    entry = choose_database(databases(owner=current_owner()))
    draw_form(entry)
    own = entry.kind != "shipped"
    if not own and st.session_state.database_mode == "question":
        draw_examples()
    draw_writer(is_own=own)
    draw_confirmed(entry.name)
    if own:
        semantic_model_editor.draw(entry.name)
    draw_tables(database_schema(entry.name, owner=current_owner()))


main()
