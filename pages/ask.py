"""Ask a question, watch the run, read the answer."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import answer, downloads, map, plan, progress, sources, trouble, usage
from pages.parts.login import owner
from pages.parts.safe import plain
from pages.parts.words import WORDS, lang, local_time, number, t
from research import (
    MAX_QUESTION,
    CitedAnswer,
    Options,
    Plan,
    QuestionError,
    Report,
    Run,
    StoreError,
    cited,
    drafted,
    runs,
)

PAGES = Path(__file__).resolve().parent
POLL = 0.5  # seconds between looks at a run under way
POLL_TEXT = 0.2  # the same while its answer is being written
EXAMPLES = {
    "zh": (
        "故宫博物院的门票多少钱，周几闭馆？",
        "王府井附近适合遛娃的好去处",
        "西湖和颐和园是哪一年列入世界遗产的？",
        "带孩子坐火车怎么买票，可以带多少行李？",
    ),
    "en": (
        "What does a ticket to the Palace Museum cost, and when is it closed?",
        "Where can I take kids near Wangfujing?",
        "When were the Summer Palace and West Lake put on the World Heritage list?",
        "How do train tickets for children work in China, and how much luggage can they take?",
    ),
}
LIMITS = {  # the words for each, and what a step is
    "searches": ("ask.searches", 1),
    "tokens": ("ask.tokens", 1_000),
    "cost": ("ask.cost", 0.01),
    "seconds": ("ask.seconds", 10.0),
}
COLORS = {"running": "blue", "queued": "blue", "done": "green", "failed": "red"}


def current() -> Run | None:
    """The run of the URL, else the last one that this visitor looked at."""
    asked = st.query_params.get("run", "")
    run_id = asked or st.session_state.get("last_run", "")
    if not run_id:
        return None
    run = runs.get(run_id, owner=owner())
    if run is None:
        if asked:
            st.warning(t("ask.no_run"))
        return None
    show(run)
    return run


def show(run: Run) -> None:
    st.query_params["run"] = run.id
    st.session_state.last_run = run.id


def leave() -> None:
    st.query_params.pop("run", None)
    for key in ("last_run", "draft", "draft_question"):
        st.session_state.pop(key, None)


# Asking


def form() -> None:
    offer("", st.session_state.get("limits", runs.desk().usual()))
    with st.form("ask", border=False, enter_to_submit=True):
        question = st.text_area(
            t("ask.question"),
            key="question",
            placeholder=t("ask.placeholder"),
            label_visibility="collapsed",
            height=84,
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            go = st.form_submit_button(
                t("ask.start"), type="primary", key="start", icon=":material/search:",
                shortcut="Ctrl+Enter",
            )  # fmt: skip
            first = st.form_submit_button(t("ask.plan_first"), key="plan_first")
    with st.container(horizontal=True, vertical_alignment="center"):
        effort()  # outside the form: the estimate follows what is chosen
        if chosen := options():
            estimate(chosen)
    if (go or first) and chosen is not None:
        st.session_state.limits = chosen
        if go:
            start(question, chosen)
        else:
            preview(question, chosen)
    elif go or first:
        st.error(t("ask.no_sources"))


def estimate(chosen: Options, plan_: Plan | None = None) -> None:
    likely = usage.likely(runs.estimate(chosen, plan=plan_, owner=owner()))
    st.caption(t("ask.estimate", facts=likely), width="content")


def offer(what: str, usual: Options) -> None:
    """Fills the widgets of the effort, unless they hold already what is chosen for this."""
    if "queries" in st.session_state and st.session_state.get("offered") == what:
        return  # the values of widgets go as soon as others are drawn
    st.session_state.offered = what
    st.session_state.queries, st.session_state.loops = usual.queries, usual.loops
    st.session_state.sources, st.session_state.model = list(usual.sources), usual.model
    st.session_state.approve = usual.approve
    for name in LIMITS:
        st.session_state[f"max_{name}"] = getattr(usual, name)


def effort() -> None:
    label = t("ask.effort", queries=st.session_state.queries, loops=st.session_state.loops)
    with st.popover(label, icon=":material/tune:", key="effort"):
        st.caption(t("ask.effort_help"))
        st.slider(t("ask.queries"), 1, 10, key="queries")
        st.slider(t("ask.loops"), 0, 10, key="loops")
        st.pills(
            t("ask.sources"),
            list(runs.desk().sources),
            selection_mode="multi",
            format_func=lambda name: t(f"source.{name}"),
            key="sources",
        )
        if runs.desk().models:
            st.text_input(t("ask.model"), key="model", help=t("ask.model_help"), max_chars=120)
        st.toggle(t("ask.approve"), key="approve")
        limits()
        web = runs.readiness()["web"]
        if web.state == "missing":
            st.caption(t("ask.no_web", names=web.detail))


def limits() -> None:
    """What the run may use in all; 0 is no limit."""
    with st.expander(t("ask.limits"), key="limits_box", expanded=bool(_limited())):
        st.caption(t("ask.limits_help"))
        columns = st.columns(2)
        for n, (name, (words, step)) in enumerate(LIMITS.items()):
            form = {"cost": "%.2f", "seconds": "%.0f"}.get(name)
            columns[n % 2].number_input(
                t(words), 0 * step, step=step, format=form, key=f"max_{name}"
            )


def _limited() -> dict[str, float]:
    """The limits that are set."""
    chosen = {name: st.session_state.get(f"max_{name}") or 0 for name in LIMITS}
    return {name: value for name, value in chosen.items() if value}


def options() -> Options | None:
    """What is chosen; None without a source."""
    chosen = tuple(st.session_state.sources or ())
    if not chosen:
        return None
    return Options(
        queries=st.session_state.queries,
        loops=st.session_state.loops,
        sources=chosen,
        model=(st.session_state.get("model") or "").strip(),
        approve=bool(st.session_state.get("approve")),
        **_limited(),
    )


def start(
    question: str,
    limits: Options,
    plan_: Plan | None = None,
    based_on: str = "",
    follows: str = "",
) -> None:
    try:
        run = runs.start(
            question,
            options=limits,
            owner=owner(),
            plan=plan_,
            based_on=based_on,
            follows=follows,
        )
    except QuestionError as error:
        refuse(error)
        return
    st.session_state.pop("draft", None)
    show(run)
    st.rerun()


def preview(question: str, limits: Options) -> None:
    try:
        with st.spinner(t("step.planning")):
            st.session_state.draft = runs.plan(question, options=limits)
    except QuestionError as error:
        refuse(error)
        return
    st.session_state.draft_question = question
    st.session_state.draft_round = st.session_state.get("draft_round", 0) + 1
    st.query_params.pop("run", None)
    st.session_state.pop("last_run", None)
    st.rerun()


def refuse(error: QuestionError) -> None:
    st.error(t(f"problem.{error.problem}", length=number(error.length), limit=number(MAX_QUESTION)))


def draft() -> None:
    """The plan before the run, as the analyst edits it."""
    st.subheader(t("plan.title"), anchor=False)
    st.markdown(plain(st.session_state.draft_question))
    if st.session_state.draft.failures:
        failures(st.session_state.draft.failures)
    key = f"draft_{st.session_state.draft_round}"
    edited = plan.editor(st.session_state.draft, tuple(runs.desk().sources), key)
    with st.container(horizontal=True):
        if st.button(t("plan.start"), type="primary", key="start_draft"):
            if edited.tasks:
                start(st.session_state.draft_question, st.session_state.limits, edited)
            else:
                st.error(t("plan.none"))
        st.button(t("ask.new"), key="leave_draft", on_click=leave)


def examples() -> None:
    def ask(question: str) -> None:
        st.session_state.question = question

    st.caption(t("ask.examples"))
    for n, question in enumerate(EXAMPLES[lang()]):
        st.button(question, key=f"example_{n}", on_click=ask, args=(question,), type="tertiary",
                  icon=":material/arrow_outward:")  # fmt: skip


# The run


def head(run: Run, view: progress.View) -> None:
    st.subheader(plain(run.question, 400), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(t(f"run.{run.status}"), color=COLORS.get(run.status, "orange"))
        st.caption(f"{progress.summary(view, run)} · {local_time(run.created)}", width="content")
        if run.active:
            stopping(run, view)
        else:
            st.session_state.pop(f"stopping_{run.id}", None)
            if run.resumable:
                going_on(run)
            elif run.status == "done":
                more(run)
            st.button(t("ask.new"), key="new", on_click=leave, icon=":material/add:")
    progress.meters(view, run)
    if run.resumable:
        note = t(f"run.{run.status}_help", error=plain(run.error))
        (st.error if run.status == "failed" else st.info)(note)


def stopping(run: Run, view: progress.View) -> None:
    """The ways to end a run under way; what is asked for is done within a call."""
    key = f"stopping_{run.id}"
    if st.button(t("run.stop"), key=f"stop_{run.id[:8]}", icon=":material/stop_circle:"):
        runs.stop(run.id, owner=owner())
        st.session_state[key] = "run.stopping"
    if run.status != "queued" and not view.writing and st.button(
        t("run.write"), key=f"write_{run.id[:8]}", icon=":material/edit_note:",
        help=t("run.write_help"),
    ):  # fmt: skip
        runs.stop(run.id, write=True, owner=owner())
        st.session_state[key] = "run.ending"
    if words := st.session_state.get(key):
        st.caption(t(words), width="content")


def going_on(run: Run) -> None:
    """The ways to go on with a run that is not done."""
    if st.button(
        t("run.resume"), key=f"resume_{run.id[:8]}", type="primary", icon=":material/play_arrow:"
    ):
        runs.resume(run.id, owner=owner())
        st.rerun()
    if run.status != "failed" and st.button(
        t("run.write_now"), key=f"write_{run.id[:8]}", icon=":material/edit_note:",
        help=t("run.write_help"),
    ):  # fmt: skip
        runs.resume(run.id, write=True, owner=owner())
        st.rerun()


def more(run: Run) -> None:
    if st.button(
        t("run.more"), key=f"more_{run.id[:8]}", icon=":material/travel_explore:",
        help=t("run.more_help"),
    ) and (further := runs.more(run.id, owner=owner())):  # fmt: skip
        show(further)
        st.rerun()


def approval(run: Run) -> None:
    """The plan of a run that waits for it, to be edited and approved, with sources and limits."""
    head(run, view_of(run))
    report = runs.report(run.id, owner=owner())
    if report is None or report.plan is None:
        return
    st.info(t("run.waiting_help"))
    if report.plan.failures:
        failures(report.plan.failures)
    offer(run.id, run.options)
    edited = plan.editor(report.plan, tuple(runs.desk().sources), f"approve_plan_{run.id[:8]}")
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(t("run.approve"), type="primary", key=f"approve_{run.id[:8]}")
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            runs.stop(run.id, owner=owner())
            st.rerun()
        effort()
        if chosen := options():
            estimate(chosen, edited)
    if go and chosen is None:
        st.error(t("ask.no_sources"))
    elif go and not edited.tasks:
        st.error(t("plan.none"))
    elif go:
        runs.approve(run.id, plan=edited, options=chosen, owner=owner())
        st.rerun()


def view_of(run: Run) -> progress.View:
    """The run's view, kept between looks so that each reads only what is new."""
    views = st.session_state.setdefault("views", {})
    if run.id not in views:
        views.clear()
        views[run.id] = progress.View()
    view: progress.View = views[run.id]
    return view.add(runs.events(run.id, view.seq, owner=owner()))


@st.fragment(run_every=POLL)
def live(run_id: str) -> None:
    follow(run_id, fast=False)


@st.fragment(run_every=POLL_TEXT)
def live_text(run_id: str) -> None:
    follow(run_id, fast=True)


def follow(run_id: str, *, fast: bool) -> None:
    """One look at a run under way; a text that is being written is looked at more often."""
    try:
        run = runs.get(run_id, owner=owner())
        if run is None:
            st.rerun()
        view = view_of(run)
    except StoreError as error:  # a fragment runs without the router
        trouble.draw(error)
        return
    head(run, view)
    if run.active and view.text:
        draft_answer(run, view)
    if run.status == "queued" and not view.planned:
        ahead, own = runs.queue(run.id, owner=owner())
        why = t("run.turn_own" if own else "run.turn")
        when = t("run.turn_after", n=ahead) if ahead else t("run.turn_next")
        st.info(f"{why} {when}", icon=":material/hourglass_top:")
    else:
        progress.draw(view, run)
    if not run.active or fast != bool(view.text):
        st.rerun()  # the whole page, which takes longer: the last steps are on the screen by then


def draft_answer(run: Run, view: progress.View) -> None:
    """The answer as it is being written, with the citations that it has so far."""
    key, known = (run.id, *view.handles), st.session_state.get("drafting")
    if known is None or known[0] != key:  # nothing is found any more while it is written
        st.session_state.drafting = known = (key, runs.report(run.id, owner=owner()))
    if known[1] is not None:
        answer.draw_draft(known[1], drafted(known[1], view.text, view.handles))


def thread(run: Run) -> None:
    """The turns that a run follows, and the way back to each."""
    turns = {turn.id: turn for turn in runs.turns(run.conversation, owner=owner())}
    line: list[Run] = []
    while (parent := turns.get((line or [run])[-1].follows)) and parent not in line:
        line.append(parent)
    for turn in reversed(line):
        st.page_link(
            PAGES / "ask.py", label=plain(turn.question, 80), icon=":material/subdirectory_arrow_right:",
            query_params={"run": turn.id},
        )  # fmt: skip


def follow_up(run: Run) -> None:
    """The box in which the conversation goes on, and where it went on before."""
    key = run.id[:8]
    with (
        st.form(f"follow_{key}", border=False),
        st.container(horizontal=True, vertical_alignment="center"),
    ):
        question = st.text_input(
            t("ask.follow"), key=f"follow_up_{key}", placeholder=t("ask.follow_placeholder"),
            max_chars=MAX_QUESTION, label_visibility="collapsed",
        )  # fmt: skip
        go = st.form_submit_button(
            t("ask.follow"), key=f"follow_go_{key}", icon=":material/reply:", type="primary"
        )
    if go:
        start(question, run.options, follows=run.id)
    later = [turn for turn in runs.turns(run.conversation, owner=owner()) if turn.follows == run.id]
    for turn in later:
        st.page_link(
            PAGES / "ask.py", label=plain(turn.question, 80), icon=":material/arrow_forward:",
            query_params={"run": turn.id},
        )  # fmt: skip


def finished(run: Run) -> None:
    view = view_of(run)
    thread(run)
    head(run, view)
    report = runs.report(run.id, owner=owner())
    if report is None:
        return
    numbered = cited(report)
    if any(finding.places for finding in report.findings):
        written, found = st.columns([5, 4], gap="medium")
        with found:
            map.draw_report(report, run.id[:8])
        with written:
            outcome(report, numbered)
    else:
        outcome(report, numbered)
    if run.status == "done":
        follow_up(run)
    if numbered is not None:
        st.markdown(f"#### {t('sources.title')}")
        sources.draw(numbered, run.id[:8])
    downloads.draw(report, numbered)
    st.markdown(f"#### {t('run.activity')}")
    progress.draw(view, run)
    usage.draw(report.usage, run.id[:8])
    if report.plan is not None:
        again(run, report.plan)


def outcome(report: Report, numbered: CitedAnswer | None) -> None:
    """The answer, if there is one, and what failed on the way."""
    if numbered is not None:
        answer.draw(report, numbered)
        if numbered.answer.failures:
            failures(numbered.answer.failures)


def failures(failed: tuple) -> None:  # type: ignore[type-arg]
    lines = []
    for f in failed:
        source = f"source.{f.source}"
        where = t(source) if source in WORDS else plain(f.source)
        if f.stage != "search" or not where:
            where = " · ".join(filter(None, [where, t(f"stage.{f.stage}")]))
        what = f"{plain(f.query)} — {where}" if f.query else where
        hint = f" — {t(f'hint.{f.hint}')}" if f.hint else ""
        message = f" ({plain(f.message)})" if f.message else ""
        lines.append(f"- {what}: {t(f'reason.{f.reason}')}{hint}{message}")
    st.warning(t("answer.failures", n=len(failed)) + "\n" + "\n".join(lines))


def again(run: Run, old: Plan) -> None:
    with st.expander(t("plan.rerun"), key=f"again_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("plan.rerun_help"))
        edited = plan.editor(old, tuple(runs.desk().sources), f"again_plan_{run.id[:8]}")
        if st.button(t("plan.rerun_start"), key=f"again_start_{run.id[:8]}", type="primary"):
            if edited.tasks:
                start(run.question, run.options, edited, based_on=run.id)
            else:
                st.error(t("plan.none"))


run = current()
if run is not None:
    if run.active:
        (live_text if view_of(run).text else live)(run.id)
    elif run.status == "waiting":
        approval(run)
    else:
        finished(run)
elif "draft" in st.session_state:
    draft()
else:
    st.title(t("ask.title"), anchor=False)
    st.caption(t("ask.lead"))
    form()
    examples()
    models = runs.desk().models
    st.caption(t("ask.models", write=plain(models.name("write"))) if models else t("ask.keyless"))
