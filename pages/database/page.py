"""Ask a database: which one, a question or SQL, what can be asked, and what was found right before."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.database import files, meaning
from pages.run import rows
from pages.run import view as run
from pages.shared import asking, errors, layout, login
from pages.shared.login import owner
from pages.shared.notices import draw_schema_notices
from pages.shared.safe import plain
from pages.shared.words import lang, number, t
from research import (
    DatabaseEntry,
    DatabaseSchema,
    DatabaseTable,
    column_heading,
    database_schema,
    databases,
    english_region,
    runs,
)

MODES = {"question": "database.question", "sql": "database.sql"}
VALUES = 12  # of a column that are listed
MANY = 20  # tables, above which one is looked at at a time


# Which one


def choice(found: Sequence[DatabaseEntry]) -> DatabaseEntry:
    """The database that is asked: the one that was chosen, else the usual one."""
    known = {one.name: one for one in found if not one.wrong}
    usual = next(name for name, one in known.items() if one.default)
    if st.session_state.get(rows.CHOSEN) not in known:
        st.session_state[rows.CHOSEN] = st.session_state.get(rows.KEPT, "")
    if st.session_state[rows.CHOSEN] not in known:
        st.session_state[rows.CHOSEN] = usual
    if len(known) > 1:
        st.selectbox(
            t("database.choice"), list(known), key=rows.CHOSEN,
            format_func=lambda name: among(known[name]),
        )  # fmt: skip
    chosen = st.session_state[rows.KEPT] = st.session_state[rows.CHOSEN]
    if len(known) == 1:
        st.caption(t("database.which", name=plain(called(known[chosen]))))
    elif about := known[chosen].description.get(lang(), ""):
        st.caption(plain(about, 400))
    for one in found:
        if one.wrong:  # what is wrong is for who runs the server
            why = t("reason.unavailable") if login.setup().on else one.wrong
            st.warning(t("database.wrong", name=plain(one.name), why=plain(why, 400)), icon=":material/database_off:")  # fmt: skip
    return known[chosen]


def among(entry: DatabaseEntry) -> str:
    """What a database is called where others can be chosen."""
    if not entry.default:
        return called(entry)
    return t("mark.aside", text=called(entry), more=t("database.usual"))


def called(entry: DatabaseEntry) -> str:
    """What a database is called among others; a choice is no Markdown."""
    if entry.kind == "shipped":
        return t("database.shipped")
    return t("files.choice", names=entry.title[:120]) if entry.kind == "files" else entry.name


# Asking


def form(entry: DatabaseEntry) -> None:
    """The box for a question or for SQL. Of any database but the one that ships, nobody knows the
    tables."""
    own = entry.kind != "shipped"
    st.session_state.setdefault(
        "database_mode", st.session_state.get("database_kept_mode", "question")
    )
    mode = st.segmented_control(
        t("database.mode"),
        list(MODES),
        format_func={name: t(words) for name, words in MODES.items()}.__getitem__,
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
            t(MODES[mode]), key=key, placeholder=hint, label_visibility="collapsed",
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
            t("database.sql_help", n=number(runs.services(owner=owner()).settings.database_rows))
        )
    if go:
        if typed:
            st.session_state.database_kept_sql = text
        rows.ask(text, entry.name, typed=typed)


def examples() -> None:
    def take(question: str) -> None:
        st.session_state.database_question = question

    with st.container(gap=None, key="database_examples"):
        st.caption(t("ask.examples"))
        for n, question in enumerate(t("database.examples").splitlines()):
            st.button(
                question, key=f"database_example_{n}", on_click=take, args=(question,),
                type="tertiary", icon=":material/arrow_outward:",
            )  # fmt: skip


def writer(*, own: bool) -> None:
    """Who writes the SQL."""
    services = runs.services(owner=owner())
    if services.models:
        key = "database.model_own" if own else "database.model"
        st.caption(t(key, write=plain(services.models.name("plan"))))
        return
    st.caption(t("database.rules_own") if own else t("database.rules"))
    if own or services.idle:
        st.caption(t("nothing.idle") if services.idle else t("nothing.model"))


# What was found right


def confirmed(database: str) -> None:
    """The questions whose statements are remembered, each with a way to ask again and to take back."""
    pairs = runs.confirmed(database=database, owner=owner())
    if not pairs:
        return
    label = t("database.confirmed", n=len(pairs))
    with st.expander(label, icon=":material/thumb_up:", key="confirmed"):
        st.caption(t("database.confirmed_help"))
        for n, (question, sql) in enumerate(pairs):
            with errors.row(), st.container(border=True, key=f"pair_{n}"):
                st.markdown(f"**{plain(question, 300)}**")
                st.code(sql, language="sql", wrap_lines=True)
                with st.container(horizontal=True):
                    if st.button(t("database.again"), key=f"ask_{n}", icon=":material/replay:"):
                        rows.ask(question, database, typed=False)
                    if st.button(t("rows.edit"), key=f"edit_pair_{n}", icon=":material/edit:"):
                        rows.edit(sql, database)
                    st.button(
                        t("rows.back"), key=f"take_back_{n}", type="tertiary", icon=":material/undo:",
                        on_click=lambda asked=question: runs.unconfirm(asked, database=database, owner=owner()),
                    )  # fmt: skip


# What can be asked


def tables(schema: DatabaseSchema) -> None:
    if schema.failure:
        st.error(t("database.schema_failed", why=failed(schema)))
        return
    draw_schema_notices(schema)
    label = t("database.schema", n=number(len(schema.tables)))
    with st.expander(label, icon=":material/schema:", key="schema"):
        shown = schema.tables
        if len(shown) > MANY:
            names = {plain(table.name): table for table in shown}
            name = st.selectbox(t("database.table"), list(names), key="database_table")
            shown = (names[name],)
        for n, table in enumerate(shown):
            view = f" · {t('database.view')}" if table.view else ""
            comment = f" — {plain(told(table.comment), 300)}" if table.comment else ""
            st.markdown(f"**{plain(table.name)}**{view}{comment}")
            columns(table, n, ours=not schema.title)


def failed(schema: DatabaseSchema) -> str:
    """Why a database cannot be used, in words; where it lies is for who runs the server."""
    assert schema.failure
    failure = schema.failure
    message = "" if login.setup().on else plain(failure.message, 400)
    return " — ".join(filter(None, [t(f"reason.{failure.reason}"), message]))


def _value(value: str) -> str:
    """A value as statements have it, with what an English reader calls the region that it names."""
    told = english_region(value)
    return value if lang() == "zh" or told == value else f"{value} ({told})"


def columns(table: DatabaseTable, n: int, *, ours: bool) -> None:
    """The columns of a table, with what they are called above answers if the database is `ours`."""
    found = [
        {
            "heading": column_heading(column.name, lang()) if ours else column.name,
            "name": column.name,
            "type": column.type,
            "meaning": " · ".join(
                filter(
                    None,
                    [
                        t("database.key") if column.key else "",
                        t("database.refers", column=column.refers) if column.refers else "",
                        told(column.comment),
                    ],
                )
            ),
            "values": ", ".join(_value(value) for value in column.values[:VALUES])
            + ("…" if len(column.values) > VALUES else ""),
        }
        for column in table.columns
    ]
    text = st.column_config.TextColumn
    st.dataframe(
        pd.DataFrame(found),
        hide_index=True,
        key=f"columns_{n}",
        alt=t("database.columns", table=table.name),
        placeholder="",
        height="content",
        column_config={
            "heading": text(t("database.heading"), width=140) if ours else None,
            "name": text(t("database.column"), width=130),
            "type": text(t("database.type"), width=85),
            "meaning": text(t("database.comment"), width=320),
            "values": text(t("database.values"), width="medium"),
        },
    )


def told(comment: str) -> str:
    """A comment in the visitor's language, where it is given in both."""
    both = comment.split(" / ")
    return both[0 if lang() == "zh" else 1] if len(both) == 2 else comment


def main() -> None:
    asking.home(rows.LAST)
    edited = st.session_state.pop(rows.EDIT, None)
    if edited is not None:
        st.session_state.database_mode = "sql"
        st.session_state.database_sql, st.session_state[rows.CHOSEN] = edited
    shown = asking.current()
    if shown is not None:
        run.draw(shown)
        return
    layout.header(t("database.title"), t("database.lead"))
    files.draw()
    entry = choice(databases(owner=owner()))
    form(entry)
    own = entry.kind != "shipped"
    if not own and st.session_state.database_mode == "question":
        examples()
    writer(own=own)
    confirmed(entry.name)
    if own:
        meaning.draw(entry.name)
    tables(database_schema(entry.name, owner=owner()))


main()
