"""A run on a page, whatever it looks for: under way, waiting for its plan, or over."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.run import (
    answer,
    columns,
    conflicts,
    coverage,
    downloads,
    grid,
    plan,
    progress,
    review,
    rows,
    sources,
    support,
    usage,
    watch,
)
from pages.shared import asking, effort, failed, layout, map, trouble
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, lang, local_time, source_name, t
from research import (
    MAX_QUESTION,
    CitedAnswer,
    Clarification,
    Failure,
    Grid,
    Plan,
    Report,
    Run,
    StoreError,
    answer_tables,
    cited,
    drafted,
    explain_failure,
    group_failures,
    parse_failure,
    related_questions,
    runs,
)

POLL = 0.25  # seconds between looks at a run under way
POLL_TEXT = 0.2  # the same while its answer is being written


def draw(run: Run) -> None:
    """The run as it is now; one under way is looked at again and again."""
    if run.active:
        (live_text if view_of(run).text else live)(run.id)
        instructing(run, view_of(run))
    elif run.status == "waiting":
        waiting(run)
    else:
        finished(run)


def head(run: Run, view: progress.View) -> None:
    """What was asked, how it stands, and what can be done about it."""
    with st.container(key="asked", gap="small"):
        if view.typed:
            st.title(t("database.typed"), anchor=False)
            if run.active:
                st.code(run.question, language="sql", wrap_lines=True)
        else:
            st.title(plain(run.question, 400), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            if run.status != "done":
                asks = run.status == "waiting" and view.asked_back and view.answered is None
                state = t("run.asks_back" if asks else f"run.{run.status}")
                st.badge(state, color=asking.COLORS.get(run.status, "orange"))
            st.caption(local_time(run.created), width="content")
            if run.options.notebook:
                told = t("run.notebook", name=plain(run.options.notebook))
                st.caption(f":material/book_2: {told}", width="content")
            if run.active:
                stopping(run, view)
            else:
                st.session_state.pop(f"stopping_{run.id}", None)
                if run.resumable:
                    going_on(run)
                st.button(
                    t(
                        "tables.new"
                        if run.options.table
                        else "news.new"
                        if run.options.sections
                        else "ask.new"
                    ),
                    key="new",
                    on_click=asking.leave,
                    icon=":material/add:",
                    type="tertiary",
                )
    progress.meters(view, run)
    if run.resumable:
        failure = parse_failure(run.error)
        why = plain(explain_failure(failure, lang()) if failure else run.error)
        note = t(f"run.{run.status}_help", error=why or t("run.no_reason"))
        (st.error if run.status == "failed" else st.info)(note)
        if failure:
            failed.details([failure.message])


def activity(run: Run, view: progress.View, report: Report | None = None) -> None:
    """What the run is at or has done, behind one line: open while it searches, folded from then on.

    With the `report` of a run that is over, what it has used and its plan stand there, too.
    """
    searching = run.active and not view.writing
    with st.expander(
        progress.headline(view, run),
        expanded=searching,
        key=f"activity_{'open' if searching else 'folded'}_{run.id[:8]}",
        icon="spinner" if run.active else ":material/checklist:",
    ):
        progress.draw(view, run)
        if report is not None:
            usage.draw(report.usage, run.id[:8])
            if report.plan is not None and not (view.typed or report.plan.grid):
                again(run, report.plan)


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
        asking.show(further)
        st.rerun()


def watching(run: Run) -> None:
    """The button that watches the topic of a report."""
    if run.options.sections:
        known = runs.watches(owner=owner())
        watched = any(run.id in (one.id, one.latest) or one.topic == run.question for one in known)
        watch.button(run.id[:8], lambda: runs.watch(run.id, owner=owner()), watched=watched)


def changed(report: Report) -> None:
    """What the report of a watched topic has found that the one before had not."""
    found = report.answer and report.answer.coverage
    if found and found.compared:
        watch.changes(found.changes, found.compared)


def instructing(run: Run, view: progress.View) -> None:
    """A line that is said to a run under way, as long as it has a model that has not begun to write."""
    if view.writing or runs.services(owner=owner()).thinking(run.options) is None:
        return
    with (
        st.form(f"instruct_{run.id[:8]}", clear_on_submit=True, border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        said = st.text_input(
            t("run.instruct"), placeholder=t("run.instruct_example"), max_chars=500,
            key=f"instruction_{run.id[:8]}", autocomplete="off",
        )  # fmt: skip
        sent = st.form_submit_button(t("run.instruct_send"), key=f"instruct_send_{run.id[:8]}")
    if sent and said.strip() and not runs.instruct(run.id, said, owner=owner()):
        st.toast(t("run.instruct_late"))


def waiting(run: Run) -> None:
    """A run that waits: for its person to say what is meant, or for its plan to be approved."""
    report = runs.report(run.id, owner=owner())
    if report and report.asks_back and report.clarification:
        asked_back(run, report.clarification)
    elif report:
        approval(run, report)


def asked_back(run: Run, asked: Clarification) -> None:
    """What is asked back, answered by a click, in one's own words, or skipped."""
    head(run, view_of(run))

    def answer(said: str) -> None:
        runs.clarify(run.id, said, owner=owner())

    with st.container(border=True, key="asked_back"):
        st.markdown(f"**{plain(asked.question)}**")
        with st.container(horizontal=True):
            for n, choice in enumerate(asked.choices):
                st.button(
                    plain(choice), key=f"choice_{n}_{run.id[:8]}", on_click=answer, args=(choice,)
                )
        with (
            st.form(f"clarify_{run.id[:8]}", border=False),
            st.container(horizontal=True, vertical_alignment="bottom"),
        ):
            said = st.text_input(
                t("run.clarify_own"), max_chars=500, key=f"clarified_{run.id[:8]}",
                autocomplete="off",
            )  # fmt: skip
            sent = st.form_submit_button(t("run.clarify_send"), key=f"clarify_send_{run.id[:8]}")
        st.button(
            t("run.clarify_skip"), key=f"clarify_skip_{run.id[:8]}", type="tertiary",
            help=t("run.clarify_help"), on_click=answer, args=("",),
        )  # fmt: skip
    if sent and said.strip():
        answer(said)
        st.rerun()


def approval(run: Run, report: Report) -> None:
    """The plan of a run that waits for it, to be edited and approved, with sources and limits."""
    head(run, view_of(run))
    if report.plan is None:
        return
    st.info(t("tables.waiting" if report.plan.grid else "run.waiting_help"))
    if report.plan.failures:
        failures(report.plan.failures)
    if report.plan.grid:
        tabled(run, report.plan, report.plan.grid)
        return
    effort.offer(run.id, run.options)
    edited = plan.editor(report.plan, tuple(runs.desk().sources), f"approve_plan_{run.id[:8]}")
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(
            t("run.approve"), type="primary", key=f"approve_{run.id[:8]}",
            disabled=bool(plan.wrong(edited)),
        )  # fmt: skip
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            runs.stop(run.id, owner=owner())
            st.rerun()
        effort.effort()
        if chosen := effort.options():
            effort.estimate(chosen, edited)
    if go and chosen is None:
        st.error(t("ask.no_sources"))
    elif go and not edited.tasks:
        st.error(t("plan.none"))
    elif go:
        runs.approve(run.id, plan=edited, options=chosen, owner=owner())
        st.rerun()


def tabled(run: Run, proposed: Plan, table: Grid) -> None:
    """A proposed table, to be edited and approved."""
    edited = grid.approve(table, run.id[:8])
    ready = proposed.model_copy(update={"grid": edited, "edited": edited != table})
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(
            t("tables.fill"), type="primary", key=f"fill_{run.id[:8]}",
            disabled=not (edited.rows and edited.columns),
        )  # fmt: skip
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            runs.stop(run.id, owner=owner())
            st.rerun()
        effort.estimate(run.options, ready)
    if go:
        runs.approve(run.id, plan=ready, owner=owner())
        st.rerun()


def view_of(run: Run, whose: str = "") -> progress.View:
    """The run's view, kept between looks so that each reads only what is new."""
    views = st.session_state.setdefault("views", {})
    if run.id not in views:
        views.clear()
        views[run.id] = progress.View()
    view: progress.View = views[run.id]
    return view.add(runs.events(run.id, view.seq, owner=whose or owner()))


@st.fragment(run_every=POLL)
def live(run_id: str) -> None:
    follow(run_id, fast=False)


@st.fragment(run_every=POLL_TEXT)
def live_text(run_id: str) -> None:
    follow(run_id, fast=True)


def follow(run_id: str, *, fast: bool) -> None:
    """One look at a run under way; a text that is being written is looked at more often. Where there is
    nothing new, most of them are left out on their way here (`pages.middleware.looks`)."""
    whose = owner()
    try:
        run = runs.get(run_id, owner=whose)
        if run is None:
            st.rerun()
        view = view_of(run, whose)
    except StoreError as error:  # a fragment runs without the router
        trouble.draw(error)
        return
    head(run, view)
    if run.status == "queued" and not view.planned:
        ahead, own = runs.queue(run.id, owner=owner())
        why = t("run.turn_own" if own else "run.turn")
        when = t("run.turn_after", n=ahead) if ahead else t("run.turn_next")
        st.info(f"{why} {when}", icon=":material/hourglass_top:")
    else:
        activity(run, view)
    if view.grid:
        grid.draw(run, view.grid, view.cells)
    if run.active and view.text:
        draft_answer(run, view)
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
            script("ask"), label=plain(turn.question, 80), icon=":material/subdirectory_arrow_right:",
            query_params=address(turn.id),
        )  # fmt: skip


def follow_up(run: Run, suggested: Sequence[str]) -> None:
    """Where the conversation went on, what could be asked next, and the box to ask it in."""
    key = f"follow_up_{run.id[:8]}"
    for turn in runs.turns(run.conversation, owner=owner()):
        if turn.follows == run.id:
            st.page_link(
                script("ask"), label=plain(turn.question, 80), icon=":material/arrow_forward:",
                query_params=address(turn.id),
            )  # fmt: skip

    def take(question: str) -> None:
        st.session_state[key] = question

    if suggested:
        with st.container(key="next", gap="small"):
            st.caption(t("ask.next"))
            for n, question in enumerate(suggested):
                st.button(
                    plain(question), key=f"next_{n}_{run.id[:8]}", on_click=take, args=(question,),
                    type="tertiary", icon=":material/subdirectory_arrow_right:",
                )  # fmt: skip
    if asked := str(st.session_state.pop(f"{key}_asked", "")).strip():
        # A question, not a further report.
        plain_ = {"sections": 0, "table": False, "updates": "", "approve": False}
        asking.start(asked, run.options.model_copy(update=plain_), follows=run.id)
        st.session_state[key] = asked  # it was refused: it is in the box again

    def submitted() -> None:
        st.session_state[f"{key}_asked"] = st.session_state[key]

    # In a container: a box at the page's own foot would have the page scroll to its end.
    with st.container(key="follow"):
        st.chat_input(
            t("ask.follow_placeholder"), key=key, max_chars=MAX_QUESTION, on_submit=submitted
        )


def finished(run: Run) -> None:
    view = view_of(run)
    thread(run)
    head(run, view)
    report = runs.report(run.id, owner=owner())
    if report is None:
        return
    activity(run, view, report)
    numbered = cited(report)
    coverage.head(report)
    changed(report)
    if report.plan and report.plan.grid:
        compared_things(run, report, report.plan.grid, numbered)
        return
    located = any(finding.places for finding in report.findings)
    if located and compared(numbered):  # a table needs the width of the page
        outcome(report, numbered)
        map.draw_report(report, run.id[:8])
        rows.draw(report)
    elif located:
        tabled = any(finding.rows for finding in report.findings)
        written, found = st.columns([3, 2] if tabled else [5, 4], gap="medium")
        with found:
            map.draw_report(report, run.id[:8])
        with written:
            outcome(report, numbered)
            rows.draw(report)
    else:
        outcome(report, numbered)
        rows.draw(report)
    if found_nothing(report, numbered):
        if any(finding.reason in (None, "empty") for finding in report.findings):
            helping()  # where every search failed, other words or documents are no help
    else:
        toolbar(run, report, numbered)
    coverage.draw(report, numbered)
    if numbered is not None and not found_nothing(report, numbered):
        layout.section(t("sources.title"))
        sources.draw(report, numbered)
    if run.status == "done":
        follow_up(run, further(report, numbered))


def compared_things(run: Run, report: Report, table: Grid, numbered: CitedAnswer | None) -> None:
    """A table that is filled in, what can be taken away of it, and where its places are."""
    cells = grid.cells_of(report) or view_of(run).cells  # before there is an answer, as they came
    grid.draw(run, table, cells, report)
    columns.draw(report, table, tuple(cells.values()))
    if numbered is not None and numbered.answer.failures:
        failures(numbered.answer.failures)
    toolbar(run, report, numbered)
    grid.change(run, table)
    map.draw_report(report, run.id[:8])
    if numbered is not None:
        layout.section(t("sources.title"))
        sources.draw(report, numbered)


def compared(numbered: CitedAnswer | None) -> bool:
    """Whether an answer is a table of several subjects."""
    return numbered is not None and bool(answer_tables(numbered))


def found_nothing(report: Report, numbered: CitedAnswer | None) -> bool:
    """Whether an answer says of all that was asked that nothing was found: there is nothing to take away."""
    if numbered is None or numbered.sources or not report.findings:
        return False
    kinds = {span.kind for span in numbered.answer.spans}
    return (
        "missing" in kinds
        and "text" not in kinds
        and not any(finding.rows for finding in report.findings)
    )


def helping() -> None:
    """What can be done where nothing was found."""
    services = runs.services(owner=owner())
    ways = [t("nothing.help")]
    if not services.web.providers:
        ways.append(t("nothing.web"))
    if services.idle:
        ways.append(t("nothing.idle"))
    elif services.models is None:
        ways.append(t("nothing.model"))
    with st.container(border=True, key="helping"):
        st.markdown("\n".join(f"- {way}" for way in ways) if len(ways) > 1 else ways[0])
        with st.container(horizontal=True):
            for page, words, icon in (
                ("library", "nothing.library", ":material/upload_file:"),
                ("settings", "nothing.settings", ":material/tune:"),
            ):
                st.page_link(script(page), label=t(words), icon=icon)


def toolbar(run: Run, report: Report, numbered: CitedAnswer | None) -> None:
    """What can be taken away from the run, and how it can be carried further."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="tools"
    ):
        with st.container(width="content"):
            downloads.draw(report, numbered)
        if run.status == "done":
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                if run.options.sources != ("database",) and not run.options.table:
                    more(run)
                watching(run)


def further(report: Report, numbered: CitedAnswer | None) -> tuple[str, ...]:
    """What could be asked next."""
    if numbered is None:
        return ()
    return related_questions(report, numbered, support.of(report, numbered))


def outcome(report: Report, numbered: CitedAnswer | None) -> None:
    """The answer, if there is one, and what failed on the way."""
    if numbered is not None:
        answer.draw(report, numbered)
        said = {span.text for span in numbered.answer.spans if span.kind == "missing"}
        if untold := [one for one in numbered.answer.failures if one.message not in said]:
            failures(untold)
        review.draw(report)
        conflicts.draw(report, numbered)


def failures(found: Sequence[Failure]) -> None:
    """Show one line for each group of similar failures, and an expander with the message of every
    failure."""
    groups = group_failures(found, lang())
    lines = [f"- {failed.counted(failed.sentence(one.text), one.number)}" for one in groups]
    st.warning(t("answer.failures", n=len(found)) + "\n" + "\n".join(lines))
    failed.details(
        [
            " — ".join(
                filter(None, [f.query, source_name(f.source), t(f"stage.{f.stage}"), f.message])
            )
            for f in found
        ]
    )


def again(run: Run, old: Plan) -> None:
    with st.expander(t("plan.rerun"), key=f"again_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("plan.rerun_help"))
        edited = plan.editor(old, tuple(runs.desk().sources), f"again_plan_{run.id[:8]}")
        if st.button(
            t("plan.rerun_start"), key=f"again_start_{run.id[:8]}", type="primary",
            disabled=bool(plan.wrong(edited)),
        ):  # fmt: skip
            if edited.tasks:
                asking.start(run.question, run.options, edited, based_on=run.id)
            else:
                st.error(t("plan.none"))
