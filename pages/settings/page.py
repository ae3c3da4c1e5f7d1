"""Settings page: a person's own effort, limits, models, search, keys and language.

The fields follow from the declarations of the settings (`fields.py`). The application's preferences validate
and store every choice. A stored key is never shown again.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.settings import keys
from pages.settings.fields import (
    SectionFields,
    field_value,
    finish_change,
    problem_message_key,
    read_field,
    section_settings,
    widget_key,
)
from pages.shared import connection_checks, layout, login
from pages.shared.escaping import escape_markdown
from pages.shared.locale_format import LANGUAGE_NAMES
from pages.shared.localization import (
    current_language,
    setting_help,
    setting_label,
    source_name,
    t,
)
from pages.shared.login import current_owner
from research import FORM_SECTIONS, get_application

ADVANCED_SECTIONS = ("limits", "search", "models")  # opened if a value in them is wrong
SAVED_SECTIONS = ("open", "question", "report", "exports", *ADVANCED_SECTIONS)


# Saving


def save_settings(values: dict[str, str]) -> None:
    """Save settings, or note the invalid ones for display at their fields."""
    wrong = get_application().preferences.save_choices(values, owner=current_owner())
    st.session_state.settings_wrong = {name: problem_message_key(name) for name in wrong}
    if not wrong:
        finish_change("settings.saved")


def save_form(key_names: Sequence[str]) -> None:
    """Save the named keys and all choices of the form.

    Valid values are saved; the others are noted for display at their fields.
    """
    wrong = keys.save_keys(key_names)
    values = {name: read_field(name) for name in section_settings(*SAVED_SECTIONS)}
    if field_value("mode") == "own" and not field_value("order"):
        wrong["WEB_SEARCH"] = "settings.search_empty"
    else:
        wrong |= {
            name: problem_message_key(name)
            for name in get_application().preferences.save_choices(values, owner=current_owner())
        }
    if not wrong:
        finish_change("settings.saved")
        return
    if set(wrong) & {*key_names, "remember"}:  # new key fields, as the typed keys are discarded
        st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.settings_wrong = wrong


# The form


def section_title(section: str) -> str:
    """Return the title of a section in the visitor's language."""
    return FORM_SECTIONS[section].in_language(current_language())


def draw_subtitle(section: str) -> None:
    """Draw the title of a section within a larger one."""
    st.markdown(f"**{section_title(section)}**")


def draw_effort(fields: SectionFields) -> None:
    """Draw the default effort for a question and for a report."""
    layout.draw_section_title(t("settings.effort"))
    st.caption(t("settings.effort_lead"))
    draw_subtitle("question")
    fields.draw("question")
    draw_subtitle("report")
    fields.draw("report")


def draw_search(fields: SectionFields) -> None:
    """Draw the settings of the web search, and who searches now or what is missing."""
    draw_subtitle("search")
    st.caption(t("settings.search_lead"))
    fields.draw("search")
    ready = get_application().readiness(owner=current_owner())["web"]
    if ready.state == "live":
        names = ", ".join(escape_markdown(source_name(provider)) for provider in ready.detail.split(", "))
        st.caption(t("settings.search_now", names=names))
    elif fields.choices["WEB_SEARCH"].value != "off":
        st.caption(t("settings.search_lacks", names=escape_markdown(ready.detail)))


def draw_models(fields: SectionFields) -> None:
    """Draw the settings of the models, and what a chosen model still needs."""
    draw_subtitle("models")
    st.caption(t("settings.models_lead", names=", ".join(SETTINGS.providers)))
    fields.draw("models")
    role_table = get_application().services_for(current_owner()).role_table()
    if missing := dict.fromkeys(setting for *_, setting in role_table if setting):
        st.caption(t("settings.needs", setting=", ".join(missing)))


def draw_form(fields: SectionFields) -> None:
    """Draw keys, sources, effort and advanced settings in one form with one save button."""
    layout.draw_section_title(section_title("keys"))
    statuses = get_application().preferences.key_statuses(owner=current_owner())
    listed = keys.choose_keys(statuses) if statuses else []
    with st.form("settings", border=False, enter_to_submit=False):
        keys.draw_keys(listed)
        layout.draw_section_title(section_title("open"))
        fields.draw("open")
        draw_effort(fields)
        if section_settings("exports"):
            layout.draw_section_title(section_title("exports"))
            fields.draw("exports")
        wrong = bool(set(section_settings(*ADVANCED_SECTIONS)) & set(st.session_state.get("settings_wrong", {})))
        with st.expander(t("settings.advanced"), wrong, icon=":material/tune:"):
            draw_subtitle("limits")
            fields.draw("limits")
            draw_search(fields)
            draw_models(fields)
        st.form_submit_button(
            t("settings.save"),
            type="primary",
            key="save",
            icon=":material/save:",
            on_click=lambda: save_form([status.name for status in listed]),
        )
    # A test with the server's keys is paid by its operator: others need a key of their own.
    if statuses and (not login.read_config().is_required or any(s.location in ("session", "machine") for s in listed)):
        draw_connection_test()
    draw_model_providers()


def draw_model_providers() -> None:
    """Draw a table of the model providers, with the required setting and whether it is set."""
    rows = [
        (
            f"{name}:…",
            provider.title,
            provider.required_setting,
            bool(provider.is_key_optional or SETTINGS.provider_value(provider.key_setting)),
        )
        for name, provider in SETTINGS.providers.items()
    ]
    columns = ("prefix", "service", "setting", "set")
    headings = {name: t(f"settings.provider_{name}") for name in columns}
    with st.expander(t("settings.providers"), key="providers"):
        st.dataframe(
            pd.DataFrame(rows, columns=list(columns)),
            hide_index=True,
            height="content",
            column_config={
                **headings,
                "set": st.column_config.CheckboxColumn(headings["set"], disabled=True),
            },
        )


def draw_connection_test() -> None:
    """Draw the test of all models and services that the owner's runs would use."""
    checks = connection_checks.draw_test_button("check_keys")
    if checks is not None:
        connection_checks.draw_checks(checks)


# Language and appearance


def save_language() -> None:
    language = field_value("language")
    get_application().store.set_preference(current_owner(), "language", None if language == "browser" else language)
    if language in ("zh", "en"):
        st.session_state.lang = language
    else:
        st.session_state.pop("lang", None)
        st.query_params.pop("lang", None)
    finish_change("settings.saved")


def draw_appearance(fields: SectionFields) -> None:
    layout.draw_section_title(section_title("appearance"))
    preference = get_application().store.preferences(current_owner()).get("language")
    names = {"browser": t("settings.language_browser"), **LANGUAGE_NAMES}
    st.segmented_control(
        t("settings.language"),
        list(names),
        default=preference if preference in names else "browser",
        format_func=names.__getitem__,
        key=widget_key("language"),
        required=True,
        on_change=save_language,
    )
    is_off = get_application().settings.map_tiles == "off"
    st.toggle(
        setting_label("MAP_TILES"),
        fields.choices["MAP_TILES"].value == "osm",
        key=widget_key("map"),
        disabled=is_off,
        help=setting_help("MAP_TILES"),
        on_change=lambda: save_settings({"MAP_TILES": "osm" if field_value("map") else "off"}),
    )
    if is_off:
        st.caption(t("settings.map_off"))


def reset_settings() -> None:
    get_application().preferences.reset_choices(owner=current_owner())
    finish_change("settings.reset_done")


def draw_reset() -> None:
    with st.popover(t("settings.reset"), icon=":material/restart_alt:", key="reset"):
        st.markdown(t("settings.reset_sure"))
        st.button(t("settings.reset_do"), key="reset_sure", type="primary", on_click=reset_settings)


SETTINGS = get_application().services_for(current_owner()).settings
section_fields = SectionFields(current_owner())

with layout.centered_column("settings"):
    layout.draw_header(t("settings.title"), t("settings.lead"))
    draw_form(section_fields)
    draw_appearance(section_fields)
    draw_reset()
