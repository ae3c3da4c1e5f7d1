"""What works now and what to add, what it costs, and where everything is.

With a login, what is the server's own business stays there: paths, settings, and tests that cost.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from pages.shared import failed, layout, login
from pages.shared.notices import draw_schema_notices
from pages.shared.safe import plain
from pages.shared.words import day, lang, local_time, number, seconds, source_name, t
from pages.status import belongings, cards, spending
from research import (
    DatabaseSchema,
    ModelRole,
    Settings,
    application,
    database_schema,
    explain_failure,
    has_message,
    prices_as_of,
)

_CHECKED = "checked"  # in the session: when the connections were tested, and what came of it


def connections() -> None:
    """The test of every model and search service, and what it brought."""
    with st.container(horizontal=True, vertical_alignment="center"):
        test = st.button(t("status.check"), key="check", icon=":material/network_check:")
        st.caption(t("status.check_help"), width="content")
    if test:
        with st.spinner(t("status.checking")):
            st.session_state[_CHECKED] = (
                datetime.now(UTC),
                application.check(owner=login.owner()),
            )
    if _CHECKED not in st.session_state:
        return
    when, checks = st.session_state[_CHECKED]
    if not checks:
        st.info(t("status.nothing_to_check"))
        return
    st.caption(t("status.checked", when=local_time(when)))
    for check in checks:
        key = f"role.{check.name}"
        name = t(key) if has_message(key) else plain(source_name(check.name))
        failure = check.failure
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{name}** · {plain(check.model)}", width="content")
            if failure is None:
                words = t("status.ok", seconds=seconds(check.seconds))
                st.badge(words, color="green", icon=":material/check:")
            else:
                st.badge(t(f"reason.{failure.reason}"), color="red", icon=":material/close:")
                st.caption(seconds(check.seconds), width="content")
        words = [explain_failure(failure, lang())] if failure else []
        if words := [plain(text) for text in (*words, check.warning) if text]:
            st.caption(" · ".join(words))
        if failure:
            failed.details([failure.message])


def models(found: list[ModelRole]) -> None:
    """Which model does what, and what it costs."""
    if not found:
        st.markdown(t("status.reasoner_text"))
        return
    st.markdown(t("status.models_text"))
    rows = [
        {
            "role": t(f"role.{one.role}"),
            "model": one.model,
            "input": one.price.input if one.price else None,
            "output": one.price.output if one.price else None,
            "search": one.price.search if one.price and one.role == "search" else None,
            "state": t("status.needs", setting=one.lacks) if one.lacks else t("status.set"),
            "setting": one.setting,
        }
        for one in found
    ]
    table = pd.DataFrame(rows)
    for name in ("input", "output", "search"):  # a column of a kind, even where nothing is known
        table[name] = table[name].map(
            lambda value: t("status.unknown") if pd.isna(value) else f"${value:g}"
        )
    table.loc[[one.role != "search" for one in found], "search"] = "–"
    st.dataframe(
        table,
        hide_index=True,
        alt=t("status.models_alt"),
        column_config={
            "role": st.column_config.TextColumn(t("status.role")),
            "setting": st.column_config.TextColumn(t("status.setting")),
            "model": st.column_config.TextColumn(t("status.model"), width="medium"),
            "input": st.column_config.TextColumn(t("status.price_in")),
            "output": st.column_config.TextColumn(t("status.price_out")),
            "search": st.column_config.TextColumn(t("status.price_search")),
            "state": st.column_config.TextColumn(t("status.state")),
        },
    )
    st.caption(t("status.prices", date=day(prices_as_of())))
    ending = {one.price.until for one in found if one.price and one.price.until}
    if ending:
        st.caption(t("status.prices_until", date=day(min(ending))))


def limits(settings: Settings) -> None:
    """What a run and a person may use, and what is left of the map's allowance."""
    some = t("status.no_limit")

    def most(value: float, words: str) -> str:
        return words if value else some

    each = {
        "queries": number(settings.queries),
        "loops": number(settings.loops),
        "searches": most(settings.max_searches, number(settings.max_searches)),
        "tokens": most(settings.max_tokens, number(settings.max_tokens)),
        "money": most(settings.max_cost, f"${settings.max_cost:,.2f}"),
        "time": most(settings.max_seconds, seconds(settings.max_seconds)),
    }
    person = {
        "runs_each": most(settings.runs_each, number(settings.runs_each)),
        "runs_at_once": most(settings.runs_at_once, number(settings.runs_at_once)),
    }
    left, right = st.columns(2, gap="large")
    for place, title, rows in (
        (left, t("status.limits_run"), each),
        (right, t("status.limits_person"), person),
    ):
        with place:
            st.markdown(f"**{title}**")
            for name, value in rows.items():
                with st.container(horizontal=True, gap="small", key=f"limit_{name}"):
                    st.markdown(t(f"limit.{name}"), width="stretch")
                    st.markdown(f"**{plain(value)}**", width="content")
    with right:
        st.markdown(f"**{t('status.allowance')}**")
        if quota := application.quota(owner=login.owner()):
            words = t("status.places_left", left=number(quota[0]), limit=number(quota[1]))
            st.progress(quota[0] / quota[1] if quota[1] else 0.0, text=words)
        else:
            st.caption(t("status.allowance_none"))


def everything(settings: Settings) -> None:
    """Every setting with its value; of a key only whether it is there."""
    rows = [
        (name, {"set": t("status.set"), "": t("status.unset")}.get(value, value))
        for name, value in settings.shown()
    ]
    with st.expander(t("status.settings"), icon=":material/tune:", key="settings_table"):
        st.dataframe(
            pd.DataFrame([(name, str(value)) for name, value in rows], columns=["name", "value"]),
            hide_index=True,
            alt=t("status.settings_alt"),
            column_config={
                "name": st.column_config.TextColumn(t("status.setting")),
                "value": st.column_config.TextColumn(t("status.value"), width="large"),
            },
        )


def database(schema: DatabaseSchema) -> None:
    """What is wrong with the database of questions, or what its account may do too much."""
    if schema.failure:
        message = plain(schema.failure.message, 400) if alone else ""
        words = [t(f"reason.{schema.failure.reason}"), message]
        st.error(t("database.schema_failed", why=" — ".join(filter(None, words))))
    draw_schema_notices(schema)


desk = application.desk()
alone = not login.setup().on
layout.header(t("status.title"), t("status.lead"))
belongings.gone()

person = login.owner()
roles = list(application.model_roles(owner=person))
schema = database_schema()
counts = desk.library.counts()
ready = application.readiness(owner=person)
found = cards.gathered(ready, schema, roles, (counts.own, counts.sample))
st.markdown(cards.sentence(found))
cards.draw(found, alone=alone)
for one in application.refused_sources() if alone else ():
    why = t(f"refused.{one.why}", name=plain(one.package), detail=plain(one.detail))
    if one.why != "server":
        why = t("status.refused", package=plain(one.package), why=why)
    st.warning(why, icon=":material/extension_off:")
database(schema)
if alone:
    st.caption(t("status.how"))
    layout.section(t("status.tests"))
    connections()

layout.section(t("status.models_title"))
models(roles)

layout.section(t("status.limits"))
limits(application.services(owner=person).settings)

layout.section(t("spending.title"), help=t("spending.help"))
spending.draw()

if alone:
    layout.section(t("status.data"))
    belongings.where()
    everything(desk.settings)
else:
    st.caption(t("status.private"))

layout.section(t("export.title"))
belongings.away(alone=alone)

layout.section(t("wipe.title"))
belongings.end(alone=alone)
