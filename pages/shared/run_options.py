"""What a run may spend: the widgets of its limits, and the options that they come to."""

from __future__ import annotations

import streamlit as st

from pages.run import usage
from pages.shared.escaping import escape_markdown
from pages.shared.localization import source_name, t
from pages.shared.login import current_owner
from research import Plan, RunOptions, application

LIMIT_FIELDS = {  # the words for each, and what a step is
    "searches": ("ask.searches", 1),
    "tokens": ("ask.tokens", 1_000),
    "cost": ("ask.cost", 0.01),
    "seconds": ("ask.seconds", 10.0),
}


def draw_estimate(options: RunOptions, plan: Plan | None = None) -> None:
    likely = usage.estimate_text(application.estimate_usage(options, plan=plan, owner=current_owner()))
    st.caption(t("ask.estimate", facts=likely), width="content")


def fill_widgets(form_id: str, defaults: RunOptions) -> None:
    """Fills the widgets of the effort, unless they hold already what is chosen for this."""
    if "queries" in st.session_state and st.session_state.get("offered") == form_id:
        return  # the values of widgets go as soon as others are drawn
    st.session_state.offered = form_id
    st.session_state.queries, st.session_state.loops = defaults.queries, defaults.loops
    st.session_state.sources, st.session_state.model = list(defaults.sources), defaults.model
    st.session_state.approve, st.session_state.notebook = defaults.approve, defaults.notebook
    st.session_state.of_sections = defaults.sections  # of a report, which has its own kind of rounds
    st.session_state.of_reflections = defaults.reflections
    for name in LIMIT_FIELDS:
        st.session_state[f"max_{name}"] = getattr(defaults, name)


def draw_options() -> None:
    reporting = bool(st.session_state.get("of_sections"))
    if reporting:
        label = t("news.effort", n=st.session_state.of_reflections)
    else:
        label = t("ask.effort", queries=st.session_state.queries, loops=st.session_state.loops)
    if notebook := st.session_state.get("notebook"):
        label = f"{label} · {escape_markdown(notebook)}"
    with st.popover(label, icon=":material/tune:", key="effort"):
        st.caption(t("ask.effort_help"))
        st.slider(t("ask.queries"), 1, 10, key="queries")
        if reporting:
            st.slider(t("news.reflections"), 0, 10, key="of_reflections")
        else:
            st.slider(t("ask.loops"), 0, 10, key="loops")
        st.pills(
            t("ask.sources"),
            list(application.get_application().sources),
            selection_mode="multi",
            format_func=lambda name: escape_markdown(source_name(name)),
            key="sources",
        )
        _draw_notebook_choice()
        if application.get_services(owner=current_owner()).models:
            st.text_input(t("ask.model"), key="model", help=t("ask.model_help"), max_chars=120)
        st.toggle(t("ask.approve"), key="approve")
        draw_limits()
        web = application.readiness(owner=current_owner())["web"]
        if web.state == "missing":
            st.caption(t("ask.no_web", names=web.detail))


def _draw_notebook_choice() -> None:
    """Which of the person's notebooks the library quotes from, if there are any."""
    chosen = st.session_state.get("notebook") or ""
    names = list(dict.fromkeys(["", *application.notebooks(owner=current_owner()), chosen]))
    if len(names) > 1:
        st.selectbox(
            t("ask.notebook"), names, format_func=lambda name: name or t("ask.notebook_none"),
            key="notebook", help=t("ask.notebook_help"),
            disabled="library" not in (st.session_state.get("sources") or ()),
        )  # fmt: skip


def draw_limits() -> None:
    """What the run may use in all; 0 is no limit."""
    with st.expander(t("ask.limits"), key="limits_box", expanded=bool(_chosen_limits())):
        st.caption(t("ask.limits_help"))
        columns = st.columns(2)
        for n, (name, (words, step)) in enumerate(LIMIT_FIELDS.items()):
            form = {"cost": "%.2f", "seconds": "%.0f"}.get(name)
            columns[n % 2].number_input(t(words), 0 * step, step=step, format=form, key=f"max_{name}")


def _chosen_limits() -> dict[str, float]:
    """The limits that are set."""
    chosen = {name: st.session_state.get(f"max_{name}") or 0 for name in LIMIT_FIELDS}
    return {name: value for name, value in chosen.items() if value}


def chosen_options() -> RunOptions | None:
    """What is chosen; None without a source."""
    chosen = tuple(st.session_state.sources or ())
    if not chosen:
        return None
    sections, services = (
        st.session_state.get("of_sections", 0),
        application.get_services(owner=current_owner()),
    )
    own = {"sections": sections, "reflections": st.session_state.of_reflections} if sections else {}
    return RunOptions(
        queries=st.session_state.queries,
        loops=st.session_state.loops,
        **own,
        sources=chosen,
        notebook=(st.session_state.get("notebook") or "") if "library" in chosen else "",
        model=(st.session_state.get("model") or "").strip(),
        approve=bool(st.session_state.get("approve")),
        clarify=not sections and bool(services.models) and services.settings.clarify == "on",
        **_chosen_limits(),
    )
