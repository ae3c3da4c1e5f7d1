"""Status page: state of all parts, models, limits, spending, stored data, export and deletion.

With a login, the operator's matters are hidden: paths, settings, and tests that cost money.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from pages.shared import connection_checks, layout, login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_day, format_duration, format_local_time, format_number, t
from pages.shared.schema_warnings import draw_schema_warnings
from pages.status import cards, personal_data, spending
from research import ModelRole, Settings, get_application, prices_as_of, rejected_sources

_CHECKS_KEY = "checked"  # in the session: time and results of the connection test


def draw_connection_test() -> None:
    """Draw the button that tests every model and search service, and the results."""
    new_checks = connection_checks.draw_test_button("check")
    if new_checks is not None:
        st.session_state[_CHECKS_KEY] = (datetime.now(UTC), new_checks)
    if _CHECKS_KEY not in st.session_state:
        return
    tested_at, checks = st.session_state[_CHECKS_KEY]
    if checks:
        st.caption(t("status.checked", when=format_local_time(tested_at)))
    connection_checks.draw_checks(checks)


def draw_models(roles: list[ModelRole]) -> None:
    """Draw a table of the roles with their models and prices."""
    if not roles:
        st.markdown(t("status.reasoner_text"))
        return
    st.markdown(t("status.models_text"))
    rows = [
        {
            "role": t(f"role.{role.role}"),
            "model": role.model,
            "input": role.price.input if role.price else None,
            "output": role.price.output if role.price else None,
            "search": role.price.search if role.price and role.role == "search" else None,
            "state": t("status.needs", setting=role.missing_setting) if role.missing_setting else t("status.set"),
            "setting": role.setting,
        }
        for role in roles
    ]
    table = pd.DataFrame(rows)
    for name in ("input", "output", "search"):  # text in every row, unknown prices included
        table[name] = table[name].map(lambda value: t("status.unknown") if pd.isna(value) else f"${value:g}")
    table.loc[[role.role != "search" for role in roles], "search"] = "–"
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
    st.caption(t("status.prices", date=format_day(prices_as_of())))
    if end_dates := {role.price.until for role in roles if role.price and role.price.until}:
        st.caption(t("status.prices_until", date=format_day(min(end_dates))))


def draw_limits(settings: Settings) -> None:
    """Draw the limits of a run and of a person, and the remaining quota of the map service."""

    def limit_text(value: float, format_value: Callable[[float], str] = format_number) -> str:
        return format_value(value) if value else t("status.no_limit")

    run_limits = {
        "queries": format_number(settings.queries),
        "loops": format_number(settings.loops),
        "searches": limit_text(settings.max_searches),
        "tokens": limit_text(settings.max_tokens),
        "money": limit_text(settings.max_cost, "${:,.2f}".format),
        "time": limit_text(settings.max_seconds, format_duration),
    }
    person_limits = {
        "runs_each": limit_text(settings.max_runs_per_owner),
        "runs_at_once": limit_text(settings.max_runs),
    }
    left, right = st.columns(2, gap="large")
    for column, title, rows in (
        (left, t("status.limits_run"), run_limits),
        (right, t("status.limits_person"), person_limits),
    ):
        with column:
            st.markdown(f"**{title}**")
            for name, value in rows.items():
                with st.container(horizontal=True, gap="small", key=f"limit_{name}"):
                    st.markdown(t(f"limit.{name}"), width="stretch")
                    st.markdown(f"**{escape_markdown(value)}**", width="content")
    with right:
        st.markdown(f"**{t('status.allowance')}**")
        if quota := get_application().places.searches_left(owner=login.current_owner()):
            words = t("status.places_left", left=format_number(quota[0]), limit=format_number(quota[1]))
            st.progress(quota[0] / quota[1] if quota[1] else 0.0, text=words)
        else:
            st.caption(t("status.allowance_none"))


def draw_settings(settings: Settings) -> None:
    """Draw a table of all settings. Of a key, only its presence is shown."""
    labels = {"set": t("status.set"), "": t("status.unset")}
    rows = [(name, str(labels.get(value, value))) for name, value in settings.display_values()]
    with st.expander(t("status.settings"), icon=":material/tune:", key="settings_table"):
        st.dataframe(
            pd.DataFrame(rows, columns=["name", "value"]),
            hide_index=True,
            alt=t("status.settings_alt"),
            column_config={
                "name": st.column_config.TextColumn(t("status.setting")),
                "value": st.column_config.TextColumn(t("status.value"), width="large"),
            },
        )


is_local = not login.read_config().is_required
layout.draw_header(t("status.title"), t("status.lead"))
personal_data.draw_deletion_result()

owner = login.current_owner()
model_roles = list(get_application().model_roles(owner=owner))
schema = get_application().databases.schema()
counts = get_application().library.count_documents()
readiness = get_application().readiness(owner=owner)
status_cards = cards.build_cards(readiness, schema, model_roles, (counts.own_count, counts.sample_count))
st.markdown(cards.summary_sentence(status_cards))
cards.draw(status_cards, is_local=is_local)
for refused_source in rejected_sources() if is_local else ():
    refusal_reason = t(
        f"refused.{refused_source.reason}",
        name=escape_markdown(refused_source.package),
        detail=escape_markdown(refused_source.detail),
    )
    if refused_source.reason != "server":
        refusal_reason = t("status.refused", package=escape_markdown(refused_source.package), why=refusal_reason)
    st.warning(refusal_reason, icon=":material/extension_off:")
draw_schema_warnings(schema)
if is_local:
    st.caption(t("status.how"))
    layout.draw_section_title(t("status.tests"))
    draw_connection_test()

layout.draw_section_title(t("status.models_title"))
draw_models(model_roles)

layout.draw_section_title(t("status.limits"))
draw_limits(get_application().services_for(owner).settings)

layout.draw_section_title(t("spending.title"), help_text=t("spending.help"))
spending.draw()

if is_local:
    layout.draw_section_title(t("status.data"))
    personal_data.draw_storage()
    draw_settings(get_application().settings)
else:
    st.caption(t("status.private"))

layout.draw_section_title(t("export.title"))
personal_data.draw_export(is_local=is_local)

layout.draw_section_title(t("wipe.title"))
personal_data.draw_deletion(is_local=is_local)
