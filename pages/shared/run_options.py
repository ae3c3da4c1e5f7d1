"""Options of a run: the widgets for its sources and limits, and the resulting RunOptions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.run import usage
from pages.shared.escaping import escape_markdown
from pages.shared.localization import setting_label, source_name, t
from pages.shared.login import current_owner
from research import Plan, RunOptions, get_application

LIMIT_FIELDS = {  # setting and step of each limit
    "searches": ("SIGHTLINE_MAX_SEARCHES", 1),
    "tokens": ("SIGHTLINE_MAX_TOKENS", 1_000),
    "cost": ("SIGHTLINE_MAX_COST", 0.01),
    "seconds": ("SIGHTLINE_MAX_SECONDS", 10.0),
}


def draw_estimate(options: RunOptions, plan: Plan | None = None) -> None:
    """Draw the estimated usage of a run."""
    facts = usage.estimate_text(get_application().estimate_usage(options, plan=plan, owner=current_owner()))
    st.caption(t("ask.estimate", facts=facts), width="content")


def fill_widgets(form_id: str, defaults: RunOptions) -> None:
    """Fill the option widgets with defaults, unless they hold choices made in the same form."""
    if "queries" in st.session_state and st.session_state.get("offered") == form_id:
        return  # Streamlit deletes values of widgets that are not drawn
    st.session_state.offered = form_id
    st.session_state.queries, st.session_state.loops = defaults.queries, defaults.loops
    st.session_state.sources, st.session_state.model = list(defaults.sources), defaults.model
    st.session_state.approve, st.session_state.notebook = defaults.approve, defaults.notebook
    st.session_state.of_sections = defaults.sections  # a report has reflections instead of loops
    st.session_state.of_reflections = defaults.reflections
    for name in LIMIT_FIELDS:
        st.session_state[f"max_{name}"] = getattr(defaults, name)


def draw_options() -> None:
    """Draw the option widgets in a popover."""
    is_report = bool(st.session_state.get("of_sections"))
    if is_report:
        label = t("news.effort", n=st.session_state.of_reflections)
    else:
        label = t("ask.effort", queries=st.session_state.queries, loops=st.session_state.loops)
    if notebook := st.session_state.get("notebook"):
        label = f"{label} · {escape_markdown(notebook)}"
    with st.popover(label, icon=":material/tune:", key="effort"):
        st.caption(t("ask.effort_help"))
        st.slider(t("ask.queries"), 1, 10, key="queries")
        if is_report:
            st.slider(t("news.reflections"), 0, 10, key="of_reflections")
        else:
            st.slider(t("ask.loops"), 0, 10, key="loops")
        draw_sources("sources")
        _draw_notebook_choice()
        if get_application().services_for(current_owner()).models:
            st.text_input(t("ask.model"), key="model", help=t("ask.model_help"), max_chars=120)
        st.toggle(setting_label("SIGHTLINE_APPROVE_PLAN"), key="approve")
        draw_limits()
        web = get_application().readiness(owner=current_owner())["web"]
        if web.state == "missing":
            st.caption(t("ask.no_web", names=web.detail))


def draw_sources(key: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
    """Draw the choice of sources and return the chosen ones; without `default` the session has them."""
    chosen: Sequence[str] = st.pills(
        t("ask.sources"),
        list(get_application().sources),
        selection_mode="multi",
        default=default,
        format_func=lambda name: escape_markdown(source_name(name)),
        key=key,
    )
    return tuple(chosen)


def _draw_notebook_choice() -> None:
    """Draw a choice of the notebook that the library quotes from, if the visitor has any."""
    chosen = st.session_state.get("notebook") or ""
    names = list(dict.fromkeys(["", *get_application().store.notebooks(current_owner()), chosen]))
    if len(names) > 1:
        st.selectbox(
            t("ask.notebook"),
            names,
            format_func=lambda name: name or t("ask.notebook_none"),
            key="notebook",
            help=t("ask.notebook_help"),
            disabled="library" not in (st.session_state.get("sources") or ()),
        )


def draw_limits() -> None:
    """Draw the limits of a run; 0 means no limit."""
    with st.expander(t("ask.limits"), key="limits_box", expanded=bool(_chosen_limits())):
        st.caption(t("ask.limits_help"))
        columns = st.columns(2)
        for n, (name, (setting, step)) in enumerate(LIMIT_FIELDS.items()):
            number_format = {"cost": "%.2f", "seconds": "%.0f"}.get(name)
            columns[n % 2].number_input(
                setting_label(setting), 0 * step, step=step, format=number_format, key=f"max_{name}"
            )


def _chosen_limits() -> dict[str, float]:
    """Return the limits that are set, by field name."""
    chosen = {name: st.session_state.get(f"max_{name}") or 0 for name in LIMIT_FIELDS}
    return {name: value for name, value in chosen.items() if value}


def chosen_options() -> RunOptions | None:
    """Return the chosen options; None without a source."""
    chosen_sources = tuple(st.session_state.sources or ())
    if not chosen_sources:
        return None
    sections = st.session_state.get("of_sections", 0)
    services = get_application().services_for(current_owner())
    report_options = {"sections": sections, "reflections": st.session_state.of_reflections} if sections else {}
    return RunOptions(
        queries=st.session_state.queries,
        loops=st.session_state.loops,
        **report_options,
        sources=chosen_sources,
        notebook=(st.session_state.get("notebook") or "") if "library" in chosen_sources else "",
        model=(st.session_state.get("model") or "").strip(),
        approve=bool(st.session_state.get("approve")),
        clarify=not sections and bool(services.models) and services.settings.clarify,
        **_chosen_limits(),
    )
