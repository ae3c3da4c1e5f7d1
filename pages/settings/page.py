"""Settings page: a person's own effort, limits, models, search, keys and language.

`research.application` validates and stores every choice. A stored key is never shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import connection_checks, failure_display, layout, login
from pages.shared.escaping import escape_markdown
from pages.shared.locale_format import LANGUAGE_NAMES
from pages.shared.localization import current_language, format_duration, source_name, t
from pages.shared.login import current_owner
from research import (
    ConnectionCheck,
    KeyStatus,
    SettingChoice,
    SettingError,
    application,
    explain_failure,
    has_message,
)

EFFORT_SETTINGS = ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS", "SIGHTLINE_SOURCES", "SIGHTLINE_APPROVE_PLAN", "SIGHTLINE_CLARIFY",
          "SIGHTLINE_REPORT_SECTIONS", "MAX_REFLECTIONS", "SIGHTLINE_REPORT_SOURCES")  # fmt: skip
NUMBER_FIELDS = {  # label, minimum, maximum, step
    "NUMBER_OF_INITIAL_QUERIES": ("settings.queries", 1, 10, 1),
    "MAX_RESEARCH_LOOPS": ("settings.loops", 0, 10, 1),
    "SIGHTLINE_REPORT_SECTIONS": ("settings.sections", 1, 12, 1),
    "MAX_REFLECTIONS": ("settings.reflections", 0, 10, 1),
    "SIGHTLINE_MAX_SEARCHES": ("ask.searches", 0, 10_000, 1),
    "SIGHTLINE_MAX_TOKENS": ("ask.tokens", 0, 1_000_000_000, 1_000),
    "SIGHTLINE_MAX_COST": ("ask.cost", 0.0, 10_000.0, 0.1),
    "SIGHTLINE_MAX_SECONDS": ("ask.seconds", 0, 86_400, 10),
}
LIMIT_SETTINGS = ("SIGHTLINE_MAX_SEARCHES", "SIGHTLINE_MAX_TOKENS", "SIGHTLINE_MAX_COST", "SIGHTLINE_MAX_SECONDS")
SWITCH_FIELDS = {"SIGHTLINE_APPROVE_PLAN": "ask.approve", "SIGHTLINE_CLARIFY": "settings.clarify"}
MODEL_FIELDS = {
    "QUERY_GENERATOR_MODEL": "settings.plan_model",
    "REFLECTION_MODEL": "settings.reflect_model",
    "ANSWER_MODEL": "settings.write_model",
    "WEB_SEARCH_MODEL": "settings.search_model",
    "CHECK_MODEL": "settings.check_model",
}
CHOICE_FIELDS = {
    "SIGHTLINE_CHECK": ("settings.check", {"rules": "settings.check_rules", "model": "settings.check_llm"}),
    "SIGHTLINE_REPAIR": (
        "settings.repair",
        {
            "off": "settings.repair_off",
            "drop": "settings.repair_drop",
            "rewrite": "settings.repair_rewrite",
        },
    ),
}
ADVANCED_SETTINGS = {
    *LIMIT_SETTINGS,
    *MODEL_FIELDS,
    *CHOICE_FIELDS,
    "WEB_SEARCH",
    "SIGHTLINE_DOMAINS",
}  # the section is opened if one is wrong
SEARCH_MODES = {"auto": "settings.search_auto", "own": "settings.search_own", "off": "settings.search_off"}
WEB_PROVIDERS = application.web_providers()
TESTED_KEY_NAME = "settings_testing"  # in the session: name of the key to be tested
TEST_OUTCOMES = {  # message, colour and icon by outcome of a key test
    "works": ("settings.test_works", "green", ":material/check_circle:"),
    "refused": ("settings.test_refused", "red", ":material/block:"),
    "lacking": ("settings.test_none", "gray", ":material/key:"),
    "quota": ("settings.test_quota", "orange", ":material/hourglass_empty:"),
    "unreached": ("settings.test_unreached", "orange", ":material/cloud_off:"),
    "unlisted": ("settings.test_unlisted", "orange", ":material/help:"),
}
KEY_PLACE_COLORS = {"session": "green", "machine": "green", "environment": "blue", "none": "gray"}


# Helpers of all sections


def widget_key(name: str) -> str:
    """Return the widget key of a field. Every saved change alters it and so resets the field."""
    return f"set_{name}_{st.session_state.get('settings_round', 0)}"


def field_value(name: str) -> Any:
    return st.session_state.get(widget_key(name))


def save_settings(values: dict[str, str]) -> None:
    """Save settings, or note the invalid ones for display at their fields."""
    wrong = application.save_choices(values, owner=current_owner())
    st.session_state.settings_wrong = {name: _problem_message(name) for name in wrong}
    if not wrong:
        confirm_change("settings.saved")


def save_form(key_names: Sequence[str]) -> None:
    """Save the named keys and all choices of the form.

    Valid values are saved; the others are noted for display at their fields.
    """
    wrong = save_keys(key_names)
    values = effort_values() | model_values() | search_values()
    if field_value("mode") == "own" and not field_value("order"):
        wrong["WEB_SEARCH"] = "settings.search_empty"
    else:
        wrong |= {name: _problem_message(name) for name in application.save_choices(values, owner=current_owner())}
    if not wrong:
        confirm_change("settings.saved")
        return
    if set(wrong) & {*key_names, "remember"}:  # new key fields, as the typed keys are discarded
        st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.settings_wrong = wrong


def confirm_change(message_key: str) -> None:
    """Show a toast, and reset the fields to the saved values."""
    st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.pop("limits", None)  # the next question starts with the new defaults
    st.session_state.settings_wrong = {}
    st.toast(t(message_key), icon=":material/check:")


def _problem_message(name: str) -> str:
    return "settings.wrong_model" if name in MODEL_FIELDS else "settings.wrong_value"


def draw_field_note(name: str, choice: SettingChoice | None = None) -> None:
    """Draw the error, warning or server default under a field."""
    if message_key := st.session_state.get("settings_wrong", {}).get(name):
        st.error(t(message_key))
    elif choice and not choice.is_usable:
        st.warning(t("settings.unusable"))
    elif choice and choice.is_chosen:
        st.caption(t("settings.server", value=describe_value(name, choice.default)))


def describe_value(name: str, value: str) -> str:
    """Describe the value of a setting."""
    if name in LIMIT_SETTINGS:
        return t("settings.unlimited") if float(value) == 0 else escape_markdown(value)
    if name.endswith("_SOURCES"):
        return ", ".join(escape_markdown(source_name(source)) for source in value.split(",") if source) or t(
            "settings.everything"
        )
    if name in CHOICE_FIELDS:
        return t(CHOICE_FIELDS[name][1][value])
    if name in SWITCH_FIELDS:
        return t("settings.yes") if value == "on" else t("settings.no")
    if name == "WEB_SEARCH":
        return (
            t(SEARCH_MODES[value])
            if value in SEARCH_MODES
            else ", ".join(escape_markdown(source_name(source)) for source in value.split(","))
        )
    return escape_markdown(value) or t("settings.nothing")


def draw_number_field(name: str) -> None:
    """Draw the field of a numeric setting."""
    choice, (label_key, low, high, step) = CHOICES_BY_NAME[name], NUMBER_FIELDS[name]
    value = type(step)(float(choice.value))
    st.number_input(
        t(label_key),
        low,
        high,
        value,
        step=step,
        key=widget_key(name),
        format="%.2f" if isinstance(step, float) else None,
    )
    draw_field_note(name, choice)


def draw_sources_field(name: str) -> None:
    choice = CHOICES_BY_NAME[name]
    st.pills(
        t("settings.sources"),
        list(application.get_services(owner=current_owner()).sources),
        selection_mode="multi",
        default=[source for source in choice.value.split(",") if source],
        key=widget_key(name),
        format_func=lambda one: escape_markdown(source_name(one)),
    )
    draw_field_note(name, choice)


def draw_in_columns(draw_field: Callable[[str], None], names: Sequence[str]) -> None:
    """Draw fields in rows of two, so that the fields of a row are aligned."""
    for n in range(0, len(names), 2):
        for column, name in zip(st.columns(2), names[n : n + 2], strict=False):
            with column:
                draw_field(name)


# The sections


def effort_values() -> dict[str, str]:
    values = {}
    for name in (*EFFORT_SETTINGS, *LIMIT_SETTINGS):
        value = field_value(name)
        if name in NUMBER_FIELDS:
            values[name] = f"{value:.12g}"
        elif name.endswith("_SOURCES"):
            values[name] = ",".join(value or ())
        else:
            values[name] = "on" if value else "off"
    return values


def draw_effort() -> None:
    layout.draw_section_title(t("settings.effort"))
    st.caption(t("settings.effort_lead"))
    st.markdown(f"**{t('settings.of_question')}**")
    draw_in_columns(draw_number_field, ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS"))
    draw_sources_field("SIGHTLINE_SOURCES")
    for name, label_key in SWITCH_FIELDS.items():
        choice = CHOICES_BY_NAME[name]
        st.toggle(t(label_key), choice.value == "on", key=widget_key(name))
        draw_field_note(name, choice)
    st.markdown(f"**{t('settings.of_report')}**")
    draw_in_columns(draw_number_field, ("SIGHTLINE_REPORT_SECTIONS", "MAX_REFLECTIONS"))
    draw_sources_field("SIGHTLINE_REPORT_SOURCES")


def draw_limits() -> None:
    st.markdown(f"**{t('settings.limits')}**")
    draw_in_columns(draw_number_field, LIMIT_SETTINGS)


def model_values() -> dict[str, str]:
    return {name: str(field_value(name) or "") for name in (*MODEL_FIELDS, *CHOICE_FIELDS)}


def draw_model_field(name: str) -> None:
    """Draw the model field of a role, with the model in use as placeholder."""
    choice = CHOICES_BY_NAME[name]
    spec, _ = MODELS_BY_SETTING.get(name, (choice.default or t("settings.same_as_reflect"), ""))
    st.text_input(
        t(MODEL_FIELDS[name]),
        choice.value if choice.is_chosen else "",
        max_chars=120,
        key=widget_key(name),
        placeholder=spec,
        autocomplete="off",
    )
    draw_field_note(name, choice if choice.default or not choice.is_usable else None)


def draw_choice_field(name: str) -> None:
    choice, (label_key, options) = CHOICES_BY_NAME[name], CHOICE_FIELDS[name]
    st.segmented_control(
        t(label_key),
        list(options),
        default=choice.value,
        key=widget_key(name),
        required=True,
        format_func=lambda one: t(options[one]),
    )
    draw_field_note(name, choice)


def draw_models() -> None:
    st.markdown(f"**{t('settings.models')}**")
    st.caption(t("settings.models_lead", names=", ".join(MODEL_PROVIDERS)))
    draw_in_columns(draw_model_field, tuple(MODEL_FIELDS))
    draw_in_columns(draw_choice_field, tuple(CHOICE_FIELDS))
    if missing := dict.fromkeys(setting for _, setting in MODELS_BY_SETTING.values() if setting):
        st.caption(t("settings.needs", setting=", ".join(missing)))


def draw_model_providers() -> None:
    """Draw a table of the model providers, with the required setting and whether it is set."""
    rows = [
        (
            f"{name}:…",
            provider.title,
            provider.required_setting,
            bool(provider.keyless or SETTINGS.provider_value(provider.key)),
        )
        for name, provider in MODEL_PROVIDERS.items()
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


def search_values() -> dict[str, str]:
    mode, order = field_value("mode"), field_value("order") or []
    return {
        "WEB_SEARCH": ",".join(order) if mode == "own" and order else str(mode),
        "SIGHTLINE_OPEN_SOURCES": "on" if field_value("open") else "off",
        "SIGHTLINE_DOMAINS": str(field_value("domains") or ""),
        "SIGHTLINE_OUTLETS": ",".join(field_value("outlets") or []),
    }


def draw_open_sources() -> None:
    """Draw the choice of sources that need no key."""
    layout.draw_section_title(t("settings.open"))
    st.toggle(
        t("settings.open_sources"),
        CHOICES_BY_NAME["SIGHTLINE_OPEN_SOURCES"].value == "on",
        key=widget_key("open"),
        help=t("settings.open_sources_help"),
    )
    st.multiselect(
        t("settings.outlets"),
        list(SETTINGS.known_outlets),
        [name for name in CHOICES_BY_NAME["SIGHTLINE_OUTLETS"].value.split(",") if name],
        format_func=lambda name: SETTINGS.known_outlets[name].title,
        key=widget_key("outlets"),
        help=t("settings.outlets_help"),
        placeholder=t("settings.nothing"),
    )
    draw_field_note("SIGHTLINE_OUTLETS", CHOICES_BY_NAME["SIGHTLINE_OUTLETS"])


def draw_search() -> None:
    choice = CHOICES_BY_NAME["WEB_SEARCH"]
    st.markdown(f"**{t('settings.search')}**")
    st.caption(t("settings.search_lead"))
    has_own_order = choice.value not in SEARCH_MODES
    st.segmented_control(
        t("settings.search_mode"),
        list(SEARCH_MODES),
        default="own" if has_own_order else choice.value,
        format_func=lambda one: t(SEARCH_MODES[one]),
        key=widget_key("mode"),
        required=True,
    )
    st.multiselect(
        t("settings.search_order"),
        WEB_PROVIDERS,
        choice.value.split(",") if has_own_order else [],
        format_func=lambda one: escape_markdown(source_name(one)),
        key=widget_key("order"),
        placeholder=t("settings.nothing"),
    )
    draw_field_note("WEB_SEARCH", choice)
    st.text_area(
        t("settings.domains"),
        CHOICES_BY_NAME["SIGHTLINE_DOMAINS"].value,
        key=widget_key("domains"),
        max_chars=4_000,
        height=115,
        help=t("settings.domains_help"),
        placeholder=t("settings.domains_example"),
    )
    draw_field_note("SIGHTLINE_DOMAINS", CHOICES_BY_NAME["SIGHTLINE_DOMAINS"])
    ready = application.readiness(owner=current_owner())["web"]
    if ready.state == "live":
        names = ", ".join(escape_markdown(source_name(provider)) for provider in ready.detail.split(", "))
        st.caption(t("settings.search_now", names=names))
    elif choice.value != "off":
        st.caption(t("settings.search_lacks", names=escape_markdown(ready.detail)))


# Keys


def save_keys(names: Sequence[str]) -> dict[str, str]:
    """Save the typed keys. Return a message key per invalid name.

    The typed values are removed from the session in any case.
    """
    values = {name: str(field_value(name) or "") for name in names}
    remember = bool(field_value("remember"))
    for name in names:
        st.session_state.pop(widget_key(name), None)
    if not any(value.strip() for value in values.values()):
        return {}
    try:
        wrong = application.add_keys(values, remember=remember, owner=current_owner())
    except OSError:
        wrong = {"remember": ""}
    return {name: "settings.keys_unsaved" if name == "remember" else _key_problem_message(name) for name in wrong}


def _key_problem_message(name: str) -> str:
    """Return the message key for an invalid key or address."""
    is_address = any(name == provider.address for provider in PROVIDERS_BY_NAME.values())
    return "settings.wrong_address" if is_address else "settings.wrong_key"


def forget_key(name: str) -> None:
    try:
        application.delete_key(name, owner=current_owner())
    except OSError:
        st.session_state.settings_wrong = {"remember": "settings.keys_unsaved"}
    else:
        confirm_change("settings.key_forgotten")


def find_provider(setting: str) -> Any:
    """Return the provider of models or searches that a key or address setting belongs to."""
    return next(provider for provider in PROVIDERS_BY_NAME.values() if setting in (provider.key, provider.address))


def key_title(name: str) -> str:
    message_key = f"settings.key_name.{name}"
    if has_message(message_key):
        return t(message_key)
    provider = find_provider(name)
    return t(
        "settings.provider_url" if name == provider.address else "settings.provider_key",
        title=escape_markdown(provider.title),
    )


def key_purpose(name: str) -> str:
    message_key = f"settings.key_for.{name}"
    if has_message(message_key):
        return t(message_key)
    provider = find_provider(name)
    if name == provider.address:
        return t(
            "settings.provider_url_for",
            setting=name,
            example=provider.url or f"https://….example{provider.path}",
        )
    hint = f" {t('settings.provider_keys_at', address=provider.keys_at)}" if provider.keys_at else ""
    if provider.name not in MODEL_PROVIDERS:
        return t("settings.search_key_for", setting=name) + hint
    return t("settings.provider_key_for", prefix=provider.name, setting=name) + hint


def choose_keys(states: Sequence[KeyStatus]) -> list[KeyStatus]:
    """Return the usual and the set keys, and those of the provider selected in the drawn list."""
    usual = [state for state in states if has_message(f"settings.key_name.{state.name}") or state.location != "none"]
    rest = {find_provider(state.name).name for state in states if state not in usual}
    if not rest:
        return usual
    picked = st.selectbox(
        t("settings.provider_more"),
        [name for name in PROVIDERS_BY_NAME if name in rest],
        index=None,
        key="more_providers",
        placeholder=t("settings.provider_pick"),
        format_func=lambda name: PROVIDERS_BY_NAME[name].title,
    )
    more = [state for state in states if state not in usual and find_provider(state.name).name == picked]
    return [*usual, *more]


def request_key_test(name: str) -> None:
    """Request a test of a key for the next drawing of the page."""
    st.session_state[TESTED_KEY_NAME] = name


def draw_key_test(state: KeyStatus, names: Sequence[str]) -> None:
    """Run a requested test of the typed key, or else of the stored one, and draw the outcome.

    The typed key stays in its field and is not saved.
    """
    if st.session_state.get(TESTED_KEY_NAME) != state.name:
        return
    del st.session_state[TESTED_KEY_NAME]
    typed = {name: text for name in names if (text := str(field_value(name) or "").strip())}
    # A key of the server belongs to its operator, who pays for tests: nobody else may test it.
    is_testable = state.location != "none" and not (state.location == "environment" and login.read_config().is_required)
    if state.name not in typed and not is_testable:
        st.caption(t("settings.test_none"))
        return
    try:
        with st.spinner(t("settings.testing")):
            check = application.check_key(state.name, typed_values=typed, owner=current_owner())
    except SettingError:
        st.error(t(_key_problem_message(state.name)))
        return
    message_key, colour, icon = TEST_OUTCOMES[test_outcome(check)]
    is_address = state.name in {provider.address for provider in PROVIDERS_BY_NAME.values()}
    message_key = "settings.test_answers" if is_address and not check.failure else message_key
    st.markdown(f":{colour}[{icon}] {t(message_key, seconds=format_duration(check.seconds))}")
    if state.name in typed:
        st.caption(t("settings.test_unsaved"))
    if failure := check.failure:
        if failure.reason != "no key":  # reported by the line above
            st.caption(escape_markdown(explain_failure(failure, current_language())))
        failure_display.draw_details([failure.message])


def test_outcome(check: ConnectionCheck) -> str:
    """Return the key of `TEST_OUTCOMES` for a connection check."""
    if check.failure is None:
        return "works"
    if check.failure.reason == "no key":
        return "lacking"
    if check.failure.reason == "refused":
        return "unlisted" if check.failure.hint in ("endpoint", "model") else "refused"
    return "quota" if check.failure.reason == "quota" else "unreached"


def draw_key(state: KeyStatus, names: Sequence[str]) -> None:
    """Draw one key: location, purpose, field for a new value, buttons to test and forget it."""
    is_own = state.location in ("session", "machine")
    with st.container(key=f"a_key_{state.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{key_title(state.name)}**", width="content")
            st.badge(t(f"settings.key_{state.location}"), color=KEY_PLACE_COLORS[state.location])
        st.caption(key_purpose(state.name))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                t("settings.key_new", name=state.name),
                type="password",
                autocomplete="off",
                key=widget_key(state.name),
                max_chars=400,
                label_visibility="collapsed",
                placeholder=t("settings.key_replace") if is_own else None,
            )
            st.form_submit_button(
                t("settings.test"),
                key=f"test_{state.name}",
                icon=":material/network_check:",
                help=t("settings.test_help" if is_free_test(state.name) else "settings.test_help_paid"),
                on_click=request_key_test,
                args=(state.name,),
            )
            if is_own:
                st.form_submit_button(
                    t("settings.key_forget"),
                    key=f"forget_{state.name}",
                    icon=":material/delete:",
                    on_click=forget_key,
                    args=(state.name,),
                )
        draw_field_note(state.name)
        if state.is_refused:
            st.warning(t("settings.key_refused"), icon=":material/block:")
        draw_key_test(state, names)


def is_free_test(name: str) -> bool:
    """Return True if the key is tested by listing models, which is free."""
    return any(name in (provider.key, provider.address) for provider in MODEL_PROVIDERS.values())


def draw_keys(states: Sequence[KeyStatus]) -> None:
    if not states:
        st.info(t("settings.keys_elsewhere"))
        return
    st.caption(t("settings.keys_lead"))
    for state in states:
        draw_key(state, [other.name for other in states])
    if login.read_config().is_required:
        st.caption(t("settings.keys_addresses"))
    st.checkbox(t("settings.remember"), key=widget_key("remember"), help=t("settings.remember_help"))
    draw_field_note("remember")


def draw_form() -> None:
    """Draw keys, sources, effort and advanced settings in one form with one save button."""
    layout.draw_section_title(t("settings.keys"))
    statuses = application.key_statuses(owner=current_owner())
    states = choose_keys(statuses) if statuses else []
    with st.form("settings", border=False, enter_to_submit=False):
        draw_keys(states)
        draw_open_sources()
        draw_effort()
        wrong = bool(ADVANCED_SETTINGS & set(st.session_state.get("settings_wrong", {})))
        with st.expander(t("settings.advanced"), wrong, icon=":material/tune:"):
            draw_limits()
            draw_search()
            draw_models()
        st.form_submit_button(
            t("settings.save"),
            type="primary",
            key="save",
            icon=":material/save:",
            on_click=lambda: save_form([state.name for state in states]),
        )
    # A test with the server's keys is paid by its operator: others need a key of their own.
    if statuses and (not login.read_config().is_required or any(s.location in ("session", "machine") for s in states)):
        draw_connection_test()
    draw_model_providers()


def draw_connection_test() -> None:
    """Draw the test of all models and services that the owner's runs would use."""
    with st.container(horizontal=True, vertical_alignment="center"):
        test = st.button(t("status.check"), key="check_keys", icon=":material/network_check:")
        st.caption(t("status.check_help"), width="content")
    if not test:
        return
    with st.spinner(t("status.checking")):
        checks = application.check_connections(owner=current_owner())
    if not checks:
        st.info(t("status.nothing_to_check"))
    for check in checks:
        connection_checks.draw_check(check)


# Language and appearance


def save_language() -> None:
    language = field_value("language")
    application.set_preference("language", None if language == "browser" else language, owner=current_owner())
    if language in ("zh", "en"):
        st.session_state.lang = language
    else:
        st.session_state.pop("lang", None)
        st.query_params.pop("lang", None)
    confirm_change("settings.saved")


def draw_appearance() -> None:
    layout.draw_section_title(t("settings.appearance"))
    preference = application.preferences(owner=current_owner()).get("language")
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
    is_off = application.get_application().settings.map_tiles == "off"
    st.toggle(
        t("settings.map"),
        CHOICES_BY_NAME["MAP_TILES"].value == "osm",
        key=widget_key("map"),
        disabled=is_off,
        help=t("settings.map_help"),
        on_change=lambda: save_settings({"MAP_TILES": "osm" if field_value("map") else "off"}),
    )
    if is_off:
        st.caption(t("settings.map_off"))


def reset_settings() -> None:
    application.reset_choices(owner=current_owner())
    confirm_change("settings.reset_done")


def draw_reset() -> None:
    with st.popover(t("settings.reset"), icon=":material/restart_alt:", key="reset"):
        st.markdown(t("settings.reset_sure"))
        st.button(t("settings.reset_do"), key="reset_sure", type="primary", on_click=reset_settings)


SETTINGS = application.get_services(owner=current_owner()).settings
MODEL_PROVIDERS = SETTINGS.providers
PROVIDERS_BY_NAME = {provider.name: provider for provider in SETTINGS.services}
CHOICES_BY_NAME = {choice.name: choice for choice in application.choices(owner=current_owner())}
MODELS_BY_SETTING = {
    setting: (spec, missing)
    for _, setting, spec, missing in application.get_services(owner=current_owner()).model_table()
}  # by setting of the role

with layout.centered_column("settings"):
    layout.draw_header(t("settings.title"), t("settings.lead"))
    draw_form()
    draw_appearance()
    draw_reset()
