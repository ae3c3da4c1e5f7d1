"""Fields of the Settings page, drawn from the declarations of the settings.

A setting whose declaration names a section appears in it without further code; only its kind of value
selects the widget.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import streamlit as st

from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, setting_help, setting_label, source_name, t
from research import WEB_PROVIDERS, SettingChoice, Settings, get_application

FIELDS = {name: field for name, field in Settings.declarations().items() if field.variable.form}
SEARCH_MODES = {"auto": "settings.search_auto", "own": "settings.search_own", "off": "settings.search_off"}
NARROW_KINDS = {"whole": "number", "number": "number", "model": "model", "choice": "choice"}  # drawn two in a row


def section_settings(*sections: str) -> list[str]:
    """Return the names of the settings in the given sections of the page."""
    return [name for name, field in FIELDS.items() if field.variable.form and field.variable.form.section in sections]


def widget_key(name: str) -> str:
    """Return the widget key of a field. Every saved change alters it and so resets the field."""
    return f"set_{name}_{st.session_state.get('settings_round', 0)}"


def field_value(name: str) -> Any:
    """Return the value in a field; None if it is not drawn."""
    return st.session_state.get(widget_key(name))


def read_field(name: str) -> str:
    """Return the value in a setting's field in the text form of environment variables."""
    kind, value = FIELDS[name].kind, field_value(name)
    if kind in ("whole", "number"):
        return f"{value:.12g}"
    if kind == "switch":
        return "on" if value else "off"
    if kind in ("sources", "outlets"):
        return ",".join(value or ())
    if kind == "providers":
        mode, order = field_value("mode"), field_value("order") or []
        return ",".join(order) if mode == "own" and order else str(mode)
    return str(value or "")


def finish_change(message_key: str) -> None:
    """Reset all fields to the saved values and show a toast. `message_key` is its text."""
    st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.pop("limits", None)  # the next question starts with the new defaults
    st.session_state.settings_wrong = {}
    st.toast(t(message_key), icon=":material/check:")


def problem_message_key(name: str) -> str:
    """Return the message key for an invalid value of a setting."""
    return "settings.wrong_model" if FIELDS[name].kind == "model" else "settings.wrong_value"


def draw_field_note(name: str, choice: SettingChoice | None = None) -> None:
    """Draw the error, warning or server default under a field."""
    if message_key := st.session_state.get("settings_wrong", {}).get(name):
        st.error(t(message_key))
    elif choice and not choice.is_usable:
        st.warning(t("settings.unusable"))
    elif choice and choice.is_chosen and (choice.default or FIELDS[name].kind != "model"):
        st.caption(t("settings.server", value=describe_value(name, choice.default)))


def describe_value(name: str, value: str) -> str:
    """Return the value of a setting as safe Markdown in the visitor's language."""
    field, form = FIELDS[name], FIELDS[name].variable.form
    if form and form.section == "limits":
        return t("settings.unlimited") if float(value) == 0 else escape_markdown(value)
    if form and value in form.options:
        return form.options[value].in_language(current_language())
    if field.kind == "switch":
        return t("settings.yes") if value == "on" else t("settings.no")
    if field.kind == "providers" and value in SEARCH_MODES:
        return t(SEARCH_MODES[value])
    if field.kind in ("sources", "providers"):
        names = [escape_markdown(source_name(source)) for source in value.split(",") if source]
        return ", ".join(names) or t("settings.everything")
    return escape_markdown(value) or t("settings.nothing")


class SectionFields:
    """The fields of the settings for one drawing of an owner's page."""

    def __init__(self, owner: str) -> None:
        services = get_application().services_for(owner)
        self.choices = {choice.name: choice for choice in get_application().preferences.choices(owner=owner)}
        self._sources, self._outlets = list(services.sources), services.settings.known_outlets
        self._model_names = {setting: spec for _, setting, spec, _ in services.role_table()}
        self._draw_by_kind: dict[str, Callable[[str], object]] = {
            "whole": self._draw_number,
            "number": self._draw_number,
            "switch": self._draw_switch,
            "choice": self._draw_choice,
            "sources": self._draw_sources,
            "outlets": self._draw_outlets,
            "providers": self._draw_providers,
            "domains": self._draw_text_area,
        }

    def draw(self, section: str) -> None:
        """Draw the fields of a section, narrow ones in rows of two."""
        for kind, group in groupby(section_settings(section), lambda name: NARROW_KINDS.get(FIELDS[name].kind)):
            names = list(group)
            size = 2 if kind else 1
            for start in range(0, len(names), size):
                columns = st.columns(2) if kind else [st.container()]
                for column, name in zip(columns, names[start : start + size], strict=False):
                    with column:
                        self.draw_field(name)

    def draw_field(self, name: str) -> None:
        """Draw the field of a setting and the note under it."""
        self._draw_by_kind.get(FIELDS[name].kind, self._draw_text)(name)
        draw_field_note(name, self.choices[name])

    def _draw_number(self, name: str) -> None:
        field, form = FIELDS[name], FIELDS[name].variable.form
        step = form.step if form else 1
        number = type(step)
        st.number_input(
            setting_label(name),
            number(field.low or 0),
            number(field.high or 0),
            number(float(self.choices[name].value)),
            step=step,
            key=widget_key(name),
            format="%.2f" if isinstance(step, float) else None,
            help=setting_help(name),
        )

    def _draw_switch(self, name: str) -> None:
        st.toggle(setting_label(name), self.choices[name].value == "on", key=widget_key(name), help=setting_help(name))

    def _draw_choice(self, name: str) -> None:
        form = FIELDS[name].variable.form
        labels = {value: text.in_language(current_language()) for value, text in form.options.items()} if form else {}
        st.segmented_control(
            setting_label(name),
            FIELDS[name].choices,
            default=self.choices[name].value,
            key=widget_key(name),
            required=True,
            format_func=lambda value: labels.get(value, value),
            help=setting_help(name),
        )

    def _draw_sources(self, name: str) -> None:
        st.pills(
            setting_label(name),
            self._sources,
            selection_mode="multi",
            default=[source for source in self.choices[name].value.split(",") if source],
            key=widget_key(name),
            format_func=lambda source: escape_markdown(source_name(source)),
        )

    def _draw_outlets(self, name: str) -> None:
        st.multiselect(
            setting_label(name),
            list(self._outlets),
            [outlet for outlet in self.choices[name].value.split(",") if outlet],
            format_func=lambda outlet: self._outlets[outlet].title,
            key=widget_key(name),
            help=setting_help(name),
            placeholder=t("settings.nothing"),
        )

    def _draw_providers(self, name: str) -> None:
        value = self.choices[name].value
        has_own_order = value not in SEARCH_MODES
        st.segmented_control(
            setting_label(name),
            list(SEARCH_MODES),
            default="own" if has_own_order else value,
            format_func=lambda mode: t(SEARCH_MODES[mode]),
            key=widget_key("mode"),
            required=True,
        )
        st.multiselect(
            t("settings.search_order"),
            WEB_PROVIDERS,
            value.split(",") if has_own_order else [],
            format_func=lambda provider: escape_markdown(source_name(provider)),
            key=widget_key("order"),
            placeholder=t("settings.nothing"),
        )

    def _draw_text_area(self, name: str) -> None:
        st.text_area(
            setting_label(name),
            self.choices[name].value,
            key=widget_key(name),
            max_chars=4_000,
            height=115,
            help=setting_help(name),
            placeholder=t("settings.domains_example"),
        )

    def _draw_text(self, name: str) -> None:
        """Draw a text field. A model's shows the model in use as placeholder."""
        choice = self.choices[name]
        is_model = FIELDS[name].kind == "model"
        placeholder = self._model_names.get(name, choice.default or t("settings.same_as_reflect")) if is_model else None
        st.text_input(
            setting_label(name),
            choice.value if choice.is_chosen or not is_model else "",
            max_chars=120,
            key=widget_key(name),
            placeholder=placeholder,
            autocomplete="off",
            help=setting_help(name),
        )
