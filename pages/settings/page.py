"""What a person wants otherwise than the server has it: effort, models, search, keys, language.

Whatever is chosen is checked and kept by `research.application`; a key goes there and never comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import failed, layout, login
from pages.shared.forms import NAMES
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import lang, seconds, source_name, t
from research import (
    Check,
    Choice,
    KeyState,
    SettingError,
    application,
    explain_failure,
    has_message,
)

EFFORT = ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS", "SIGHTLINE_SOURCES", "SIGHTLINE_APPROVE_PLAN", "SIGHTLINE_CLARIFY",
          "SIGHTLINE_REPORT_SECTIONS", "MAX_REFLECTIONS", "SIGHTLINE_REPORT_SOURCES")  # fmt: skip
NUMBERS = {  # the words, the least, the most, and what a step is
    "NUMBER_OF_INITIAL_QUERIES": ("settings.queries", 1, 10, 1),
    "MAX_RESEARCH_LOOPS": ("settings.loops", 0, 10, 1),
    "SIGHTLINE_REPORT_SECTIONS": ("settings.sections", 1, 12, 1),
    "MAX_REFLECTIONS": ("settings.reflections", 0, 10, 1),
    "SIGHTLINE_MAX_SEARCHES": ("ask.searches", 0, 10_000, 1),
    "SIGHTLINE_MAX_TOKENS": ("ask.tokens", 0, 1_000_000_000, 1_000),
    "SIGHTLINE_MAX_COST": ("ask.cost", 0.0, 10_000.0, 0.1),
    "SIGHTLINE_MAX_SECONDS": ("ask.seconds", 0, 86_400, 10),
}
LIMITS = ("SIGHTLINE_MAX_SEARCHES", "SIGHTLINE_MAX_TOKENS", "SIGHTLINE_MAX_COST", "SIGHTLINE_MAX_SECONDS")  # fmt: skip
SWITCHES = {"SIGHTLINE_APPROVE_PLAN": "ask.approve", "SIGHTLINE_CLARIFY": "settings.clarify"}
MODELS = {
    "QUERY_GENERATOR_MODEL": "settings.plan_model",
    "REFLECTION_MODEL": "settings.reflect_model",
    "ANSWER_MODEL": "settings.write_model",
    "WEB_SEARCH_MODEL": "settings.search_model",
    "CHECK_MODEL": "settings.check_model",
}
PICKS = {
    "SIGHTLINE_CHECK": ("settings.check", {"rules": "settings.check_rules", "model": "settings.check_llm"}),
    "SIGHTLINE_REPAIR": ("settings.repair", {
        "off": "settings.repair_off", "drop": "settings.repair_drop", "rewrite": "settings.repair_rewrite",
    }),
}  # fmt: skip
ADVANCED = {*LIMITS, *MODELS, *PICKS, "WEB_SEARCH", "SIGHTLINE_DOMAINS"}  # open if one is wrong
MODES = {"auto": "settings.search_auto", "own": "settings.search_own", "off": "settings.search_off"}
PROVIDERS = application.web_providers()
TESTING = "settings_testing"  # in the session: the key that is to be tested
OUTCOMES = {  # the words, the colour and the sign of what a test of a key has come to
    "works": ("settings.test_works", "green", ":material/check_circle:"),
    "refused": ("settings.test_refused", "red", ":material/block:"),
    "lacking": ("settings.test_none", "gray", ":material/key:"),
    "quota": ("settings.test_quota", "orange", ":material/hourglass_empty:"),
    "unreached": ("settings.test_unreached", "orange", ":material/cloud_off:"),
    "unlisted": ("settings.test_unlisted", "orange", ":material/help:"),
}
PLACES = {"session": "green", "machine": "green", "environment": "blue", "none": "gray"}


# What all sections have in common


def key(name: str) -> str:
    """The key of a field. With every change that is kept the fields are new ones."""
    return f"set_{name}_{st.session_state.get('settings_round', 0)}"


def chosen(name: str) -> Any:
    return st.session_state.get(key(name))


def keep(values: dict[str, str]) -> None:
    """Keeps what is chosen, or says beside the fields what is wrong."""
    wrong = application.choose(values, owner=owner())
    st.session_state.settings_wrong = {name: _why(name) for name in wrong}
    if not wrong:
        told("settings.saved")


def keep_all(names: Sequence[str]) -> None:
    """Keeps all that the form has: the keys of some names, and every choice. What is right is kept, and
    what is not is told beside its field."""
    wrong = keep_keys(names)
    values = effort_chosen() | models_chosen() | search_chosen()
    if chosen("mode") == "own" and not chosen("order"):
        wrong["WEB_SEARCH"] = "settings.search_empty"
    else:
        wrong |= {name: _why(name) for name in application.choose(values, owner=owner())}
    if not wrong:
        told("settings.saved")
        return
    if set(wrong) & {*names, "remember"}:  # the fields of keys are new ones
        st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.settings_wrong = wrong


def told(word: str) -> None:
    """Says quietly that it is done, and fills the fields anew."""
    st.session_state.settings_round = st.session_state.get("settings_round", 0) + 1
    st.session_state.pop(
        "limits", None
    )  # of the last question; the next begins with the usual ones
    st.session_state.settings_wrong = {}
    st.toast(t(word), icon=":material/check:")


def _why(name: str) -> str:
    return "settings.wrong_model" if name in MODELS else "settings.wrong_value"


def note(name: str, choice: Choice | None = None) -> None:
    """What is to be said under a field."""
    if word := st.session_state.get("settings_wrong", {}).get(name):
        st.error(t(word))
    elif choice and not choice.usable:
        st.warning(t("settings.unusable"))
    elif choice and choice.chosen:
        st.caption(t("settings.server", value=shown(name, choice.usual)))


def shown(name: str, value: str) -> str:
    """A value of a setting in words."""
    if name in LIMITS:
        return t("settings.unlimited") if float(value) == 0 else plain(value)
    if name.endswith("_SOURCES"):
        return ", ".join(plain(source_name(one)) for one in value.split(",") if one) or t(
            "settings.everything"
        )
    if name in PICKS:
        return t(PICKS[name][1][value])
    if name in SWITCHES:
        return t("settings.yes") if value == "on" else t("settings.no")
    if name == "WEB_SEARCH":
        return (
            t(MODES[value])
            if value in MODES
            else ", ".join(plain(source_name(one)) for one in value.split(","))
        )
    return plain(value) or t("settings.nothing")


def field(name: str) -> None:
    """A number."""
    choice, (words, low, high, step) = CHOICES[name], NUMBERS[name]
    value = type(step)(float(choice.value))
    st.number_input(
        t(words), low, high, value, step=step, key=key(name),
        format="%.2f" if isinstance(step, float) else None,
    )  # fmt: skip
    note(name, choice)


def sources(name: str) -> None:
    choice = CHOICES[name]
    st.pills(
        t("settings.sources"), list(application.services(owner=owner()).sources), selection_mode="multi",
        default=[one for one in choice.value.split(",") if one], key=key(name),
        format_func=lambda one: plain(source_name(one)),
    )  # fmt: skip
    note(name, choice)


def in_columns(draw: Callable[[str], None], names: Sequence[str]) -> None:
    """Fields side by side, two in a row, so that each row is level."""
    for n in range(0, len(names), 2):
        for column, name in zip(st.columns(2), names[n : n + 2], strict=False):
            with column:
                draw(name)


# The sections


def effort_chosen() -> dict[str, str]:
    values = {}
    for name in (*EFFORT, *LIMITS):
        value = chosen(name)
        if name in NUMBERS:
            values[name] = f"{value:.12g}"
        elif name.endswith("_SOURCES"):
            values[name] = ",".join(value or ())
        else:
            values[name] = "on" if value else "off"
    return values


def effort() -> None:
    layout.section(t("settings.effort"))
    st.caption(t("settings.effort_lead"))
    st.markdown(f"**{t('settings.of_question')}**")
    in_columns(field, ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS"))
    sources("SIGHTLINE_SOURCES")
    for name, words in SWITCHES.items():
        choice = CHOICES[name]
        st.toggle(t(words), choice.value == "on", key=key(name))
        note(name, choice)
    st.markdown(f"**{t('settings.of_report')}**")
    in_columns(field, ("SIGHTLINE_REPORT_SECTIONS", "MAX_REFLECTIONS"))
    sources("SIGHTLINE_REPORT_SOURCES")


def limits() -> None:
    st.markdown(f"**{t('settings.limits')}**")
    in_columns(field, LIMITS)


def models_chosen() -> dict[str, str]:
    return {name: str(chosen(name) or "") for name in (*MODELS, *PICKS)}


def model(name: str) -> None:
    """The field of a role's model. Empty, it tells which one is used."""
    choice = CHOICES[name]
    spec, _ = USED.get(name, (choice.usual or t("settings.same_as_reflect"), ""))
    st.text_input(
        t(MODELS[name]), choice.value if choice.chosen else "", max_chars=120, key=key(name),
        placeholder=spec, autocomplete="off",
    )  # fmt: skip
    note(name, choice if choice.usual or not choice.usable else None)


def pick(name: str) -> None:
    choice, (words, options) = CHOICES[name], PICKS[name]
    st.segmented_control(
        t(words), list(options), default=choice.value, key=key(name), required=True,
        format_func=lambda one: t(options[one]),
    )  # fmt: skip
    note(name, choice)


def models() -> None:
    st.markdown(f"**{t('settings.models')}**")
    st.caption(t("settings.models_lead", names=", ".join(PROVIDERS_OF_MODELS)))
    in_columns(model, tuple(MODELS))
    in_columns(pick, tuple(PICKS))
    if lacks := dict.fromkeys(needed for _, needed in USED.values() if needed):
        st.caption(t("settings.needs", setting=", ".join(lacks)))


def providers_of_models() -> None:
    """Who can be asked for a model, and whether this person has what that takes."""
    rows = [
        (f"{name}:…", one.title, one.needs, bool(one.keyless or SETTINGS.given(one.key)))
        for name, one in PROVIDERS_OF_MODELS.items()
    ]
    columns = ("prefix", "service", "setting", "set")
    heads = {name: t(f"settings.provider_{name}") for name in columns}
    with st.expander(t("settings.providers"), key="providers"):
        st.dataframe(
            pd.DataFrame(rows, columns=list(columns)), hide_index=True, height="content",
            column_config={
                **heads, "set": st.column_config.CheckboxColumn(heads["set"], disabled=True),
            },
        )  # fmt: skip


def search_chosen() -> dict[str, str]:
    mode, order = chosen("mode"), chosen("order") or []
    return {
        "WEB_SEARCH": ",".join(order) if mode == "own" and order else str(mode),
        "SIGHTLINE_OPEN_SOURCES": "on" if chosen("open") else "off",
        "SIGHTLINE_DOMAINS": str(chosen("domains") or ""),
        "SIGHTLINE_OUTLETS": ",".join(chosen("outlets") or []),
    }


def open_world() -> None:
    """What is searched without a key."""
    layout.section(t("settings.open"))
    st.toggle(
        t("settings.open_sources"), CHOICES["SIGHTLINE_OPEN_SOURCES"].value == "on",
        key=key("open"), help=t("settings.open_sources_help"),
    )  # fmt: skip
    st.multiselect(
        t("settings.outlets"), list(SETTINGS.known_outlets),
        [name for name in CHOICES["SIGHTLINE_OUTLETS"].value.split(",") if name],
        format_func=lambda name: SETTINGS.known_outlets[name].title, key=key("outlets"),
        help=t("settings.outlets_help"), placeholder=t("settings.nothing"),
    )  # fmt: skip
    note("SIGHTLINE_OUTLETS", CHOICES["SIGHTLINE_OUTLETS"])


def search() -> None:
    choice = CHOICES["WEB_SEARCH"]
    st.markdown(f"**{t('settings.search')}**")
    st.caption(t("settings.search_lead"))
    own = choice.value not in MODES
    st.segmented_control(
        t("settings.search_mode"), list(MODES), default="own" if own else choice.value,
        format_func=lambda one: t(MODES[one]), key=key("mode"), required=True,
    )  # fmt: skip
    st.multiselect(
        t("settings.search_order"), PROVIDERS, choice.value.split(",") if own else [],
        format_func=lambda one: plain(source_name(one)), key=key("order"),
        placeholder=t("settings.nothing"),
    )  # fmt: skip
    note("WEB_SEARCH", choice)
    st.text_area(
        t("settings.domains"), CHOICES["SIGHTLINE_DOMAINS"].value, key=key("domains"),
        max_chars=4_000, height=115, help=t("settings.domains_help"),
        placeholder=t("settings.domains_example"),
    )  # fmt: skip
    note("SIGHTLINE_DOMAINS", CHOICES["SIGHTLINE_DOMAINS"])
    ready = application.readiness(owner=owner())["web"]
    if ready.state == "live":
        names = ", ".join(plain(source_name(one)) for one in ready.detail.split(", "))
        st.caption(t("settings.search_now", names=names))
    elif choice.value != "off":
        st.caption(t("settings.search_lacks", names=plain(ready.detail)))


# Keys


def keep_keys(names: Sequence[str]) -> dict[str, str]:
    """Takes the keys in, and tells what is wrong with which; the fields that held them are gone
    afterwards, whatever comes of it."""
    values = {name: str(chosen(name) or "") for name in names}
    remember = bool(chosen("remember"))
    for name in names:
        st.session_state.pop(key(name), None)
    if not any(value.strip() for value in values.values()):
        return {}
    try:
        wrong = application.bring(values, remember=remember, owner=owner())
    except OSError:
        wrong = {"remember": ""}
    return {
        name: "settings.keys_unsaved" if name == "remember" else _unusable(name) for name in wrong
    }


def _unusable(name: str) -> str:
    """The text under a field whose value is no key, or no address."""
    address = any(name == one.address for one in SERVICES.values())
    return "settings.wrong_address" if address else "settings.wrong_key"


def forget(name: str) -> None:
    try:
        application.forget_key(name, owner=owner())
    except OSError:
        st.session_state.settings_wrong = {"remember": "settings.keys_unsaved"}
    else:
        told("settings.key_forgotten")


def provider_of(setting: str) -> Any:
    """The provider of models or of searches whose key or address this is."""
    return next(one for one in SERVICES.values() if setting in (one.key, one.address))


def key_title(name: str) -> str:
    own = f"settings.key_name.{name}"
    if has_message(own):
        return t(own)
    one = provider_of(name)
    return t("settings.provider_url" if name == one.address else "settings.provider_key", title=plain(one.title))  # fmt: skip


def key_purpose(name: str) -> str:
    own = f"settings.key_for.{name}"
    if has_message(own):
        return t(own)
    one = provider_of(name)
    if name == one.address:
        return t(
            "settings.provider_url_for",
            setting=name,
            example=one.url or f"https://….example{one.path}",
        )
    where = f" {t('settings.provider_keys_at', address=one.keys_at)}" if one.keys_at else ""
    if one.name not in PROVIDERS_OF_MODELS:
        return t("settings.search_key_for", setting=name) + where
    return t("settings.provider_key_for", prefix=one.name, setting=name) + where


def shown_keys(states: Sequence[KeyState]) -> list[KeyState]:
    """Those that are usual or set; the others are a provider's that is picked."""
    usual = [
        one for one in states if has_message(f"settings.key_name.{one.name}") or one.place != "none"
    ]
    rest = {provider_of(one.name).name for one in states if one not in usual}
    if not rest:
        return usual
    picked = st.selectbox(
        t("settings.provider_more"), [name for name in SERVICES if name in rest],
        index=None, key="more_providers", placeholder=t("settings.provider_pick"),
        format_func=lambda name: SERVICES[name].title,
    )  # fmt: skip
    more = [one for one in states if one not in usual and provider_of(one.name).name == picked]
    return [*usual, *more]


def test_key(name: str) -> None:
    """Have a key tested as the page is drawn."""
    st.session_state[TESTING] = name


def tested(state: KeyState, names: Sequence[str]) -> None:
    """Test the key that is typed, or else the one in use, if that was asked for, and draw the outcome.
    What is typed stays in its field and nothing is saved."""
    if st.session_state.get(TESTING) != state.name:
        return
    del st.session_state[TESTING]
    typed = {name: text for name in names if (text := str(chosen(name) or "").strip())}
    # A key of the server is its operator's: only they may spend it on a test.
    kept = state.place != "none" and not (state.place == "environment" and login.setup().on)
    if state.name not in typed and not kept:
        st.caption(t("settings.test_none"))
        return
    try:
        with st.spinner(t("settings.testing")):
            check = application.check_key(state.name, typed=typed, owner=owner())
    except SettingError:
        st.error(t(_unusable(state.name)))
        return
    words, colour, icon = OUTCOMES[test_outcome(check)]
    address = state.name in {one.address for one in SERVICES.values()}
    words = "settings.test_answers" if address and not check.failure else words
    st.markdown(f":{colour}[{icon}] {t(words, seconds=seconds(check.seconds))}")
    if state.name in typed:
        st.caption(t("settings.test_unsaved"))
    if failure := check.failure:
        if failure.reason != "no key":  # told by the line above
            st.caption(plain(explain_failure(failure, lang())))
        failed.details([failure.message])


def test_outcome(check: Check) -> str:
    """Which of `OUTCOMES` a test has had."""
    if check.failure is None:
        return "works"
    if check.failure.reason == "no key":
        return "lacking"
    if check.failure.reason == "refused":
        return "unlisted" if check.failure.hint in ("endpoint", "model") else "refused"
    return "quota" if check.failure.reason == "quota" else "unreached"


def one_key(state: KeyState, names: Sequence[str]) -> None:
    """Draw the form of one key: its storage place, its purpose, a field for a new value and a test
    button."""
    here = state.place in ("session", "machine")
    with st.container(key=f"a_key_{state.name}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{key_title(state.name)}**", width="content")
            st.badge(t(f"settings.key_{state.place}"), color=PLACES[state.place])
        st.caption(key_purpose(state.name))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                t("settings.key_new", name=state.name), type="password", autocomplete="off",
                key=key(state.name), max_chars=400, label_visibility="collapsed",
                placeholder=t("settings.key_replace") if here else None,
            )  # fmt: skip
            st.form_submit_button(
                t("settings.test"), key=f"test_{state.name}", icon=":material/network_check:",
                help=t("settings.test_help" if free(state.name) else "settings.test_help_paid"),
                on_click=test_key, args=(state.name,),
            )  # fmt: skip
            if here:
                st.form_submit_button(
                    t("settings.key_forget"), key=f"forget_{state.name}", icon=":material/delete:",
                    on_click=forget, args=(state.name,),
                )  # fmt: skip
        note(state.name)
        if state.refused:
            st.warning(t("settings.key_refused"), icon=":material/block:")
        tested(state, names)


def free(name: str) -> bool:
    """Whether a test costs nothing: the list of its models is asked for."""
    return any(name in (one.key, one.address) for one in PROVIDERS_OF_MODELS.values())


def keys(states: Sequence[KeyState]) -> None:
    if not states:
        st.info(t("settings.keys_elsewhere"))
        return
    st.caption(t("settings.keys_lead"))
    for state in states:
        one_key(state, [one.name for one in states])
    if login.setup().on:
        st.caption(t("settings.keys_addresses"))
    st.checkbox(t("settings.remember"), key=key("remember"), help=t("settings.remember_help"))
    note("remember")


def draw() -> None:
    """Keys, the usual effort, and what few ever change, with one button for all of it."""
    layout.section(t("settings.keys"))
    known = application.key_states(owner=owner())
    states = shown_keys(known) if known else []
    with st.form("settings", border=False, enter_to_submit=False):
        keys(states)
        open_world()
        effort()
        wrong = bool(ADVANCED & set(st.session_state.get("settings_wrong", {})))
        with st.expander(t("settings.advanced"), wrong, icon=":material/tune:"):
            limits()
            search()
            models()
        st.form_submit_button(
            t("settings.save"), type="primary", key="save", icon=":material/save:",
            on_click=lambda: keep_all([state.name for state in states]),
        )  # fmt: skip
    # What it costs is paid by whose keys it asks with: those of the server are the operator's.
    if known and (not login.setup().on or any(s.place in ("session", "machine") for s in states)):
        connections()
    providers_of_models()


def connections() -> None:
    """The test of all that this person's runs would ask."""
    with st.container(horizontal=True, vertical_alignment="center"):
        test = st.button(t("status.check"), key="check_keys", icon=":material/network_check:")
        st.caption(t("status.check_help"), width="content")
    if not test:
        return
    with st.spinner(t("status.checking")):
        checks = application.check(owner=owner())
    if not checks:
        st.info(t("status.nothing_to_check"))
    for check in checks:
        outcome(check)


def outcome(check: Check) -> None:
    """What a test of one model or service has come to."""
    role, failure = f"role.{check.name}", check.failure
    name = t(role) if has_message(role) else plain(source_name(check.name))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{name}** · {plain(check.model)}", width="content")
        if failure is None:
            st.badge(t("status.ok", seconds=seconds(check.seconds)), color="green")
        else:
            st.badge(t(f"reason.{failure.reason}"), color="red")
    said = [explain_failure(failure, lang())] if failure else []
    if said := [plain(text) for text in (*said, check.warning) if text]:
        st.caption(" · ".join(said))
    if failure:
        failed.details([failure.message])


# Language and appearance


def keep_language() -> None:
    wanted = chosen("language")
    application.prefer("language", None if wanted == "browser" else wanted, owner=owner())
    if wanted in ("zh", "en"):
        st.session_state.lang = wanted
    else:
        st.session_state.pop("lang", None)
        st.query_params.pop("lang", None)
    told("settings.saved")


def appearance() -> None:
    layout.section(t("settings.appearance"))
    known = application.preferences(owner=owner()).get("language")
    names = {"browser": t("settings.language_browser"), **NAMES}
    st.segmented_control(
        t("settings.language"), list(names), default=known if known in names else "browser",
        format_func=names.__getitem__, key=key("language"), required=True, on_change=keep_language,
    )  # fmt: skip
    off = application.desk().settings.map_tiles == "off"
    st.toggle(
        t("settings.map"), CHOICES["MAP_TILES"].value == "osm", key=key("map"), disabled=off,
        help=t("settings.map_help"),
        on_change=lambda: keep({"MAP_TILES": "osm" if chosen("map") else "off"}),
    )  # fmt: skip
    if off:
        st.caption(t("settings.map_off"))


def reset() -> None:
    application.reset(owner=owner())
    told("settings.reset_done")


def start_over() -> None:
    with st.popover(t("settings.reset"), icon=":material/restart_alt:", key="reset"):
        st.markdown(t("settings.reset_sure"))
        st.button(t("settings.reset_do"), key="reset_sure", type="primary", on_click=reset)


SETTINGS = application.services(owner=owner()).settings
PROVIDERS_OF_MODELS = SETTINGS.providers
SERVICES = {one.name: one for one in SETTINGS.services}
CHOICES = {choice.name: choice for choice in application.choices(owner=owner())}
USED = {
    setting: (spec, lacks)
    for _, setting, spec, lacks in application.services(owner=owner()).table()
}  # by the setting of a role

with layout.column("settings"):
    layout.header(t("settings.title"), t("settings.lead"))
    draw()
    appearance()
    start_over()
