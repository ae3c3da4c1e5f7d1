"""What is live, offline or missing, and where the data lies.

With a login, what is the server's own business stays there: paths, settings, and tests that cost.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.parts import login
from pages.parts.safe import plain
from pages.parts.words import WORDS, number, seconds, size, t
from research import Settings, database_schema, prices_as_of, runs

COLORS = {"live": "green", "sample": "orange", "offline": "orange", "missing": "red"}


def connections() -> None:
    """The test of every model and search service, and what it brought."""
    with st.container(horizontal=True, vertical_alignment="center"):
        test = st.button(t("status.check"), key="check", icon=":material/network_check:")
        st.caption(t("status.check_help"), width="content")
    if test:
        with st.spinner(t("status.checking")):
            checks = runs.check()
        if not checks:
            st.info(t("status.nothing_to_check"))
        for check in checks:
            key = f"role.{check.name}"
            name = t(key) if key in WORDS else t(f"source.{check.name}")
            failure = check.failure
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{name}** · {plain(check.model)}", width="content")
                if failure is None:
                    st.badge(t("status.ok", seconds=seconds(check.seconds)), color="green")
                else:
                    st.badge(t(f"reason.{failure.reason}"), color="red")
            words = [t(f"hint.{failure.hint}")] if failure and failure.hint else []
            words += [
                plain(text) for text in (failure.message if failure else "", check.warning) if text
            ]
            if words:
                st.caption(" · ".join(words))


def server(settings: Settings) -> None:
    """Where the data lies, and every setting."""
    st.markdown(f"#### {t('status.data')}")
    folder = settings.data_dir
    st.code(str(folder), language=None)
    st.caption(
        t(
            "status.data_text",
            size=size(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())),
        )
    )

    st.markdown(f"#### {t('status.settings')}")
    rows = [
        (name, {"set": t("status.set"), "": t("status.unset")}.get(value, value))
        for name, value in settings.shown()
    ]
    st.dataframe(
        pd.DataFrame([(name, str(value)) for name, value in rows], columns=["name", "value"]),
        hide_index=True,
        alt=t("status.settings_alt"),
        column_config={
            "name": st.column_config.TextColumn(t("status.setting")),
            "value": st.column_config.TextColumn(t("status.value"), width="large"),
        },
    )


def database() -> None:
    """Which database questions are put to, or why it cannot be used."""
    schema = database_schema()
    name = plain(schema.title) or t("database.shipped")
    if schema.failure:
        message = plain(schema.failure.message, 400) if alone else ""
        words = [t(f"reason.{schema.failure.reason}"), message]
        st.caption(name)
        st.error(t("database.schema_failed", why=" — ".join(filter(None, words))))
        return
    dialect = plain(schema.dialect)
    st.caption(t("status.database", name=name, dialect=dialect, n=len(schema.tables)))
    if schema.privileges:
        st.warning(t(f"database.{schema.privileges}"), icon=":material/gpp_maybe:")


desk = runs.desk()
alone = not login.setup().on
st.title(t("status.title"), anchor=False)

st.markdown(f"#### {t('status.reasoner')}")
if desk.models is None:
    st.markdown(t("status.reasoner_text"))
else:
    st.markdown(t("status.models_text"))
    roles = [
        (
            t(f"role.{role}"),
            setting,
            model,
            t("status.needs", setting=needs) if needs else t("status.set"),
        )
        for role, setting, model, needs in desk.models.table()
    ]
    st.dataframe(
        pd.DataFrame(roles, columns=["role", "setting", "model", "state"]),
        hide_index=True,
        alt=t("status.models_alt"),
        column_config={
            "role": st.column_config.TextColumn(t("status.role")),
            "setting": st.column_config.TextColumn(t("status.setting")),
            "model": st.column_config.TextColumn(t("status.model")),
            "state": st.column_config.TextColumn(t("status.state")),
        },
    )
    st.caption(t("status.prices", date=prices_as_of().isoformat()))
if alone:
    connections()

st.markdown(f"#### {t('status.sources')}")
for name, ready in runs.readiness().items():
    empty = name == "library" and ready.state == "missing"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{t(f'source.{name}')}**", width="content")
        st.badge(t("status.empty" if empty else f"status.{ready.state}"), color=COLORS[ready.state])
    if name == "web":
        if ready.state == "live":
            st.caption(", ".join(t(f"source.{who}") for who in ready.detail.split(", ")))
        else:
            st.caption(t("status.web_missing", names=ready.detail))
    if name == "places":
        if ready.state != "live":
            st.caption(t("status.places_add", name=ready.detail))
        if left := runs.quota():
            st.caption(t("status.places_left", left=number(left[0]), limit=number(left[1])))
    if name == "database":
        database()
    if name == "library":
        entries = desk.library.entries()
        own = sum(not entry.sample for entry in entries)
        st.caption(t("status.library", own=number(own), sample=number(len(entries) - own)))
        if not own:
            st.caption(t("status.library_add"))

if alone:
    server(desk.settings)
else:
    st.caption(t("status.private"))
