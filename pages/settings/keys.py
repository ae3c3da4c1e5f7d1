"""Keys and addresses on the Settings page: entering, testing and forgetting them.

A stored key is never shown again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.settings.fields import FIELDS, draw_field_note, field_value, finish_change, widget_key
from pages.shared import failure_display, login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_duration, setting_help, setting_label, t
from pages.shared.login import current_owner
from research import (
    ConnectionCheck,
    KeyStatus,
    SettingError,
    Settings,
    explain_failure,
    get_application,
)

PENDING_TEST_KEY = "settings_testing"  # in the session: name of the setting whose test was requested
TEST_OUTCOMES = {  # message, colour and icon by outcome of a key test
    "works": ("settings.test_works", "green", ":material/check_circle:"),
    "refused": ("settings.test_refused", "red", ":material/block:"),
    "lacking": ("settings.test_none", "gray", ":material/key:"),
    "quota": ("settings.test_quota", "orange", ":material/hourglass_empty:"),
    "unreached": ("settings.test_unreached", "orange", ":material/cloud_off:"),
    "unlisted": ("settings.test_unlisted", "orange", ":material/help:"),
}
KEY_LOCATION_COLORS = {"session": "green", "machine": "green", "environment": "blue", "none": "gray"}


def _settings() -> Settings:
    return get_application().services_for(current_owner()).settings


def _providers() -> Sequence[Any]:
    """Return the providers of models and searches that have a key or an address."""
    return _settings().services_with_keys


def save_keys(names: Sequence[str]) -> dict[str, str]:
    """Save the typed keys. Return the message key of the problem by invalid name.

    The typed values are removed from the session in any case.
    """
    values = {name: str(field_value(name) or "") for name in names}
    remember = bool(field_value("remember"))
    for name in names:
        st.session_state.pop(widget_key(name), None)
    if not any(value.strip() for value in values.values()):
        return {}
    try:
        wrong = get_application().preferences.add_keys(values, remember=remember, owner=current_owner())
    except OSError:
        wrong = {"remember": ""}
    return {name: "settings.keys_unsaved" if name == "remember" else _problem_message_key(name) for name in wrong}


def _problem_message_key(name: str) -> str:
    """Return the message key for an invalid key or address."""
    return "settings.wrong_address" if _is_address(name) else "settings.wrong_key"


def _is_address(name: str) -> bool:
    return any(name == provider.url_setting for provider in _providers())


def forget_key(name: str) -> None:
    """Delete a key, or note that the file of keys cannot be written."""
    try:
        get_application().preferences.delete_key(name, owner=current_owner())
    except OSError:
        st.session_state.settings_wrong = {"remember": "settings.keys_unsaved"}
    else:
        finish_change("settings.key_forgotten")


def find_provider(setting: str) -> Any:
    """Return the provider of models or searches that a key or address setting belongs to."""
    return next(provider for provider in _providers() if setting in (provider.key_setting, provider.url_setting))


def key_title(name: str) -> str:
    """Return the title of a key: that of its setting, or of its provider."""
    if name in FIELDS:
        return setting_label(name)
    provider = find_provider(name)
    return t(
        "settings.provider_url" if name == provider.url_setting else "settings.provider_key",
        title=escape_markdown(provider.title),
    )


def key_purpose(name: str) -> str:
    """Return what a key is for and where to get one."""
    if name in FIELDS:
        return setting_help(name) or ""
    provider = find_provider(name)
    if name == provider.url_setting:
        return t(
            "settings.provider_url_for",
            setting=name,
            example=provider.url or f"https://….example{provider.path}",
        )
    hint = f" {t('settings.provider_keys_at', address=provider.key_page)}" if provider.key_page else ""
    if provider.name not in _settings().providers:
        return t("settings.search_key_for", setting=name) + hint
    return t("settings.provider_key_for", prefix=provider.name, setting=name) + hint


def choose_keys(statuses: Sequence[KeyStatus]) -> list[KeyStatus]:
    """Draw a choice of further providers. Return the keys to list.

    These are the keys with a field of their own, the keys that are set, and those of the chosen provider.
    """
    listed = [status for status in statuses if status.name in FIELDS or status.location != "none"]
    rest = {find_provider(status.name).name for status in statuses if status not in listed}
    if not rest:
        return listed
    titles = {provider.name: provider.title for provider in _providers() if provider.name in rest}
    picked = st.selectbox(
        t("settings.provider_more"),
        list(titles),
        index=None,
        key="more_providers",
        placeholder=t("settings.provider_pick"),
        format_func=titles.__getitem__,
    )
    more = [status for status in statuses if status not in listed and find_provider(status.name).name == picked]
    return [*listed, *more]


def request_key_test(name: str) -> None:
    """Request a test of a key for the next drawing of the page."""
    st.session_state[PENDING_TEST_KEY] = name


def draw_key_test(status: KeyStatus, names: Sequence[str]) -> None:
    """Run a requested test of the typed key, or else of the stored one, and draw the outcome.

    The typed key stays in its field and is not saved.
    """
    if st.session_state.get(PENDING_TEST_KEY) != status.name:
        return
    del st.session_state[PENDING_TEST_KEY]
    typed = {name: text for name in names if (text := str(field_value(name) or "").strip())}
    # A key of the server belongs to its operator, who pays for tests: nobody else may test it.
    is_testable = status.location != "none" and not (
        status.location == "environment" and login.read_config().is_required
    )
    if status.name not in typed and not is_testable:
        st.caption(t("settings.test_none"))
        return
    try:
        with st.spinner(t("settings.testing")):
            check = get_application().check_key(status.name, entered_values=typed, owner=current_owner())
    except SettingError:
        st.error(t(_problem_message_key(status.name)))
        return
    message_key, colour, icon = TEST_OUTCOMES[classify_check(check)]
    message_key = "settings.test_answers" if _is_address(status.name) and not check.failure else message_key
    st.markdown(f":{colour}[{icon}] {t(message_key, seconds=format_duration(check.seconds))}")
    if status.name in typed:
        st.caption(t("settings.test_unsaved"))
    if failure := check.failure:
        if failure.reason != "no key":  # reported by the line above
            st.caption(escape_markdown(explain_failure(failure, current_language())))
        failure_display.draw_details([failure.message])


def classify_check(check: ConnectionCheck) -> str:
    """Return the key of `TEST_OUTCOMES` for a connection check."""
    if check.failure is None:
        return "works"
    if check.failure.reason == "no key":
        return "lacking"
    if check.failure.reason == "refused":
        return "unlisted" if check.failure.hint in ("endpoint", "model") else "refused"
    return "quota" if check.failure.reason == "quota" else "unreached"


def draw_key(status: KeyStatus, names: Sequence[str]) -> None:
    """Draw one key: location, purpose, field for a new value, buttons to test and forget it."""
    is_own = status.location in ("session", "machine")
    with st.container(key=f"a_key_{status.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{key_title(status.name)}**", width="content")
            st.badge(t(f"settings.key_{status.location}"), color=KEY_LOCATION_COLORS[status.location])
        st.caption(key_purpose(status.name))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                t("settings.key_new", name=status.name),
                type="password",
                autocomplete="off",
                key=widget_key(status.name),
                max_chars=400,
                label_visibility="collapsed",
                placeholder=t("settings.key_replace") if is_own else None,
            )
            st.form_submit_button(
                t("settings.test"),
                key=f"test_{status.name}",
                icon=":material/network_check:",
                help=t("settings.test_help" if is_free_test(status.name) else "settings.test_help_paid"),
                on_click=request_key_test,
                args=(status.name,),
            )
            if is_own:
                st.form_submit_button(
                    t("settings.key_forget"),
                    key=f"forget_{status.name}",
                    icon=":material/delete:",
                    on_click=forget_key,
                    args=(status.name,),
                )
        draw_field_note(status.name)
        if status.is_refused:
            st.warning(t("settings.key_refused"), icon=":material/block:")
        draw_key_test(status, names)


def is_free_test(name: str) -> bool:
    """Return True if the key is tested by listing models, which is free."""
    return any(name in (provider.key_setting, provider.url_setting) for provider in _settings().providers.values())


def draw_keys(statuses: Sequence[KeyStatus]) -> None:
    """Draw the keys and the choice to remember new ones."""
    if not statuses:
        st.info(t("settings.keys_elsewhere"))
        return
    st.caption(t("settings.keys_lead"))
    for status in statuses:
        draw_key(status, [other.name for other in statuses])
    if login.read_config().is_required:
        st.caption(t("settings.keys_addresses"))
    st.checkbox(t("settings.remember"), key=widget_key("remember"), help=t("settings.remember_help"))
    draw_field_note("remember")
