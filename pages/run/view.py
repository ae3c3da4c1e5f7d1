"""A run on a page, whatever it looks for: under way, waiting for its plan, or over."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.run import (
    answer,
    column_quality,
    conflicts,
    coverage,
    downloads,
    grid,
    plan,
    progress,
    query_rows,
    review,
    sources,
    support,
    usage,
    watch,
)
from pages.shared import failure_display, layout, place_map, run_navigation, run_options, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, run_query_params, source_name, t
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import (
    MAX_QUESTION_CHARS,
    CitedAnswer,
    Clarification,
    Failure,
    Grid,
    Plan,
    Report,
    Run,
    StoreError,
    answer_tables,
    application,
    explain_failure,
    group_failures,
    number_draft,
    number_report_answer,
    parse_failure,
    related_questions,
)

POLL_SECONDS = 0.25  # seconds between looks at a run under way
TEXT_POLL_SECONDS = 0.2  # the same while its answer is being written


def draw(run: Run) -> None:
    """The run as it is now; one under way is looked at again and again."""
    if run.is_active:
        (poll_text if load_progress(run).draft_text else poll_run)(run.id)
        draw_instruction_form(run, load_progress(run))
    elif run.status == "waiting":
        draw_waiting(run)
    else:
        draw_finished(run)


def draw_header(run: Run, run_progress: progress.RunProgress) -> None:
    """What was asked, how it stands, and what can be done about it."""
    with st.container(key="asked", gap="small"):
        if run_progress.is_sql:
            st.title(t("database.typed"), anchor=False)
            if run.is_active:
                st.code(run.question, language="sql", wrap_lines=True)
        else:
            st.title(escape_markdown(run.question, 400), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            if run.status != "done":
                asks = (
                    run.status == "waiting"
                    and run_progress.clarification_question
                    and run_progress.clarification_answer is None
                )
                state = t("run.asks_back" if asks else f"run.{run.status}")
                st.badge(state, color=run_navigation.STATUS_COLORS.get(run.status, "orange"))
            st.caption(format_local_time(run.created), width="content")
            if run.options.notebook:
                told = t("run.notebook", name=escape_markdown(run.options.notebook))
                st.caption(f":material/book_2: {told}", width="content")
            if run.is_active:
                draw_stop_buttons(run, run_progress)
            else:
                st.session_state.pop(f"stopping_{run.id}", None)
                if run.is_resumable:
                    draw_resume_buttons(run)
                st.button(
                    t("tables.new" if run.options.table else "news.new" if run.options.sections else "ask.new"),
                    key="new",
                    on_click=run_navigation.leave_run,
                    icon=":material/add:",
                    type="tertiary",
                )
    progress.draw_limit_meters(run_progress, run)
    if run.is_resumable:
        failure = parse_failure(run.error)
        why = escape_markdown(explain_failure(failure, current_language()) if failure else run.error)
        note = t(f"run.{run.status}_help", error=why or t("run.no_reason"))
        (st.error if run.status == "failed" else st.info)(note)
        if failure:
            failure_display.draw_details([failure.message])


def draw_activity(run: Run, run_progress: progress.RunProgress, report: Report | None = None) -> None:
    """What the run is at or has done, behind one line: open while it searches, folded from then on.

    With the `report` of a run that is over, what it has used and its plan stand there, too.
    """
    searching = run.is_active and not run_progress.is_writing
    with st.expander(
        progress.headline(run_progress, run),
        expanded=searching,
        key=f"activity_{'open' if searching else 'folded'}_{run.id[:8]}",
        icon="spinner" if run.is_active else ":material/checklist:",
    ):
        progress.draw(run_progress, run)
        if report is not None:
            usage.draw(report.usage, run.id[:8])
            if report.plan is not None and not (run_progress.is_sql or report.plan.grid):
                draw_rerun(run, report.plan)


def draw_stop_buttons(run: Run, run_progress: progress.RunProgress) -> None:
    """The ways to end a run under way; what is asked for is done within a call."""
    key = f"stopping_{run.id}"
    if st.button(t("run.stop"), key=f"stop_{run.id[:8]}", icon=":material/stop_circle:"):
        application.stop_run(run.id, owner=current_owner())
        st.session_state[key] = "run.stopping"
    if run.status != "queued" and not run_progress.is_writing and st.button(
        t("run.write"), key=f"write_{run.id[:8]}", icon=":material/edit_note:",
        help=t("run.write_help"),
    ):  # fmt: skip
        application.stop_run(run.id, write_only=True, owner=current_owner())
        st.session_state[key] = "run.ending"
    if words := st.session_state.get(key):
        st.caption(t(words), width="content")


def draw_resume_buttons(run: Run) -> None:
    """The ways to go on with a run that is not done."""
    if st.button(t("run.resume"), key=f"resume_{run.id[:8]}", type="primary", icon=":material/play_arrow:"):
        application.resume_run(run.id, owner=current_owner())
        st.rerun()
    if run.status != "failed" and st.button(
        t("run.write_now"), key=f"write_{run.id[:8]}", icon=":material/edit_note:",
        help=t("run.write_help"),
    ):  # fmt: skip
        application.resume_run(run.id, write_only=True, owner=current_owner())
        st.rerun()


def draw_more_button(run: Run) -> None:
    if st.button(
        t("run.more"), key=f"more_{run.id[:8]}", icon=":material/travel_explore:",
        help=t("run.more_help"),
    ) and (further := application.extend_run(run.id, owner=current_owner())):  # fmt: skip
        run_navigation.show_run(further)
        st.rerun()


def draw_watch_button(run: Run) -> None:
    """The button that watches the topic of a report."""
    if run.options.sections:
        known = application.watches(owner=current_owner())
        watched = any(run.id in (one.id, one.latest) or one.topic == run.question for one in known)
        watch.draw_watch_button(
            run.id[:8], lambda: application.watch_topic(run.id, owner=current_owner()), is_watched=watched
        )


def draw_changes(report: Report) -> None:
    """What the report of a watched topic has found that the one before had not."""
    found = report.answer and report.answer.coverage
    if found and found.compared:
        watch.draw_changes(found.changes, found.compared)


def draw_instruction_form(run: Run, run_progress: progress.RunProgress) -> None:
    """A line that is said to a run under way, as long as it has a model that has not begun to write."""
    if run_progress.is_writing or application.get_services(owner=current_owner()).models_for(run.options) is None:
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
    if sent and said.strip() and not application.add_instruction(run.id, said, owner=current_owner()):
        st.toast(t("run.instruct_late"))


def draw_waiting(run: Run) -> None:
    """A run that waits: for its person to say what is meant, or for its plan to be approved."""
    report = application.report(run.id, owner=current_owner())
    if report and report.is_awaiting_clarification and report.clarification:
        draw_clarification(run, report.clarification)
    elif report:
        draw_approval(run, report)


def draw_clarification(run: Run, clarification: Clarification) -> None:
    """What is asked back, answered by a click, in one's own words, or skipped."""
    draw_header(run, load_progress(run))

    def answer(said: str) -> None:
        application.answer_clarification(run.id, said, owner=current_owner())

    with st.container(border=True, key="asked_back"):
        st.markdown(f"**{escape_markdown(clarification.question)}**")
        with st.container(horizontal=True):
            for n, choice in enumerate(clarification.choices):
                st.button(escape_markdown(choice), key=f"choice_{n}_{run.id[:8]}", on_click=answer, args=(choice,))
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


def draw_approval(run: Run, report: Report) -> None:
    """The plan of a run that waits for it, to be edited and approved, with sources and limits."""
    draw_header(run, load_progress(run))
    if report.plan is None:
        return
    st.info(t("tables.waiting" if report.plan.grid else "run.waiting_help"))
    if report.plan.failures:
        draw_failures(report.plan.failures)
    if report.plan.grid:
        draw_table_approval(run, report.plan, report.plan.grid)
        return
    run_options.fill_widgets(run.id, run.options)
    edited = plan.edit_plan(report.plan, tuple(application.get_application().sources), f"approve_plan_{run.id[:8]}")
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(
            t("run.approve"), type="primary", key=f"approve_{run.id[:8]}",
            disabled=bool(plan.find_faults(edited)),
        )  # fmt: skip
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            application.stop_run(run.id, owner=current_owner())
            st.rerun()
        run_options.draw_options()
        if chosen := run_options.chosen_options():
            run_options.draw_estimate(chosen, edited)
    if go and chosen is None:
        st.error(t("ask.no_sources"))
    elif go and not edited.tasks:
        st.error(t("plan.none"))
    elif go:
        application.approve_run(run.id, plan=edited, options=chosen, owner=current_owner())
        st.rerun()


def draw_table_approval(run: Run, proposed: Plan, table: Grid) -> None:
    """A proposed table, to be edited and approved."""
    edited = grid.edit_proposal(table, run.id[:8])
    ready = proposed.model_copy(update={"grid": edited, "edited": edited != table})
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(
            t("tables.fill"), type="primary", key=f"fill_{run.id[:8]}",
            disabled=not (edited.rows and edited.columns),
        )  # fmt: skip
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            application.stop_run(run.id, owner=current_owner())
            st.rerun()
        run_options.draw_estimate(run.options, ready)
    if go:
        application.approve_run(run.id, plan=ready, owner=current_owner())
        st.rerun()


def load_progress(run: Run, owner: str = "") -> progress.RunProgress:
    """The run's view, kept between looks so that each reads only what is new."""
    views = st.session_state.setdefault("views", {})
    if run.id not in views:
        views.clear()
        views[run.id] = progress.RunProgress()
    view: progress.RunProgress = views[run.id]
    return view.apply(application.events(run.id, view.seq, owner=owner or current_owner()))


@st.fragment(run_every=POLL_SECONDS)
def poll_run(run_id: str) -> None:
    draw_active_run(run_id, is_fast=False)


@st.fragment(run_every=TEXT_POLL_SECONDS)
def poll_text(run_id: str) -> None:
    draw_active_run(run_id, is_fast=True)


def draw_active_run(run_id: str, *, is_fast: bool) -> None:
    """One look at a run under way; a text that is being written is looked at more often. Where there is
    nothing new, most of them are left out on their way here (`pages.middleware.polling`)."""
    whose = current_owner()
    try:
        run = application.get_run(run_id, owner=whose)
        if run is None:
            st.rerun()
        view = load_progress(run, whose)
    except StoreError as error:  # a fragment runs without the router
        storage_errors.draw(error)
        return
    draw_header(run, view)
    if run.status == "queued" and not view.is_planned:
        ahead, own = application.queue_position(run.id, owner=current_owner())
        why = t("run.turn_own" if own else "run.turn")
        when = t("run.turn_after", n=ahead) if ahead else t("run.turn_next")
        st.info(f"{why} {when}", icon=":material/hourglass_top:")
    else:
        draw_activity(run, view)
    if view.grid:
        grid.draw(run, view.grid, view.cells)
    if run.is_active and view.draft_text:
        draw_draft_answer(run, view)
    if not run.is_active or is_fast != bool(view.draft_text):
        st.rerun()  # the whole page, which takes longer: the last steps are on the screen by then


def draw_draft_answer(run: Run, run_progress: progress.RunProgress) -> None:
    """The answer as it is being written, with the citations that it has so far."""
    key, known = (run.id, *run_progress.handles), st.session_state.get("drafting")
    if known is None or known[0] != key:  # nothing is found any more while it is written
        st.session_state.drafting = known = (key, application.report(run.id, owner=current_owner()))
    if known[1] is not None:
        answer.draw_draft(known[1], number_draft(known[1], run_progress.draft_text, run_progress.handles))


def draw_thread(run: Run) -> None:
    """The turns that a run follows, and the way back to each."""
    turns = {turn.id: turn for turn in application.turns(run.conversation, owner=current_owner())}
    line: list[Run] = []
    while (parent := turns.get((line or [run])[-1].follows)) and parent not in line:
        line.append(parent)
    for turn in reversed(line):
        st.page_link(
            page_script("ask"), label=escape_markdown(turn.question, 80), icon=":material/subdirectory_arrow_right:",
            query_params=run_query_params(turn.id),
        )  # fmt: skip


def draw_follow_up(run: Run, suggestions: Sequence[str]) -> None:
    """Where the conversation went on, what could be asked next, and the box to ask it in."""
    key = f"follow_up_{run.id[:8]}"
    for turn in application.turns(run.conversation, owner=current_owner()):
        if turn.follows == run.id:
            st.page_link(
                page_script("ask"), label=escape_markdown(turn.question, 80), icon=":material/arrow_forward:",
                query_params=run_query_params(turn.id),
            )  # fmt: skip

    def take(question: str) -> None:
        st.session_state[key] = question

    if suggestions:
        with st.container(key="next", gap="small"):
            st.caption(t("ask.next"))
            for n, question in enumerate(suggestions):
                st.button(
                    escape_markdown(question), key=f"next_{n}_{run.id[:8]}", on_click=take, args=(question,),
                    type="tertiary", icon=":material/subdirectory_arrow_right:",
                )  # fmt: skip
    if asked := str(st.session_state.pop(f"{key}_asked", "")).strip():
        # A question, not a further report.
        plain_ = {"sections": 0, "table": False, "updates": "", "approve": False}
        run_navigation.start_run(asked, run.options.model_copy(update=plain_), follows_run_id=run.id)
        st.session_state[key] = asked  # it was refused: it is in the box again

    def submitted() -> None:
        st.session_state[f"{key}_asked"] = st.session_state[key]

    # In a container: a box at the page's own foot would have the page scroll to its end.
    with st.container(key="follow"):
        st.chat_input(t("ask.follow_placeholder"), key=key, max_chars=MAX_QUESTION_CHARS, on_submit=submitted)


def draw_finished(run: Run) -> None:
    view = load_progress(run)
    draw_thread(run)
    draw_header(run, view)
    report = application.report(run.id, owner=current_owner())
    if report is None:
        return
    draw_activity(run, view, report)
    numbered = number_report_answer(report)
    coverage.draw_summary(report)
    draw_changes(report)
    if report.plan and report.plan.grid:
        draw_finished_table(run, report, report.plan.grid, numbered)
        return
    located = any(finding.places for finding in report.findings)
    if located and is_comparison(numbered):  # a table needs the width of the page
        draw_outcome(report, numbered)
        place_map.draw_report(report, run.id[:8])
        query_rows.draw(report)
    elif located:
        tabled = any(finding.rows for finding in report.findings)
        written, found = st.columns([3, 2] if tabled else [5, 4], gap="medium")
        with found:
            place_map.draw_report(report, run.id[:8])
        with written:
            draw_outcome(report, numbered)
            query_rows.draw(report)
    else:
        draw_outcome(report, numbered)
        query_rows.draw(report)
    if is_empty_answer(report, numbered):
        if any(finding.reason in (None, "empty") for finding in report.findings):
            draw_help()  # where every search failed, other words or documents are no help
    else:
        draw_toolbar(run, report, numbered)
    coverage.draw(report, numbered)
    if numbered is not None and not is_empty_answer(report, numbered):
        layout.draw_section_title(t("sources.title"))
        sources.draw(report, numbered)
    if run.status == "done":
        draw_follow_up(run, suggest_questions(report, numbered))


def draw_finished_table(run: Run, report: Report, table: Grid, numbered: CitedAnswer | None) -> None:
    """A table that is filled in, what can be taken away of it, and where its places are."""
    cells = grid.index_cells(report) or load_progress(run).cells  # before there is an answer, as they came
    grid.draw(run, table, cells, report)
    column_quality.draw(report, table, tuple(cells.values()))
    if numbered is not None and numbered.answer.failures:
        draw_failures(numbered.answer.failures)
    draw_toolbar(run, report, numbered)
    grid.draw_editor(run, table)
    place_map.draw_report(report, run.id[:8])
    if numbered is not None:
        layout.draw_section_title(t("sources.title"))
        sources.draw(report, numbered)


def is_comparison(numbered: CitedAnswer | None) -> bool:
    """Whether an answer is a table of several subjects."""
    return numbered is not None and bool(answer_tables(numbered))


def is_empty_answer(report: Report, numbered: CitedAnswer | None) -> bool:
    """Whether an answer says of all that was asked that nothing was found: there is nothing to take away."""
    if numbered is None or numbered.sources or not report.findings:
        return False
    kinds = {span.kind for span in numbered.answer.spans}
    return "missing" in kinds and "text" not in kinds and not any(finding.rows for finding in report.findings)


def draw_help() -> None:
    """What can be done where nothing was found."""
    services = application.get_services(owner=current_owner())
    ways = [t("nothing.help")]
    if not services.web.live_providers:
        ways.append(t("nothing.web"))
    if services.has_idle_model:
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
                st.page_link(page_script(page), label=t(words), icon=icon)


def draw_toolbar(run: Run, report: Report, numbered: CitedAnswer | None) -> None:
    """What can be taken away from the run, and how it can be carried further."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="tools"):
        with st.container(width="content"):
            downloads.draw(report, numbered)
        if run.status == "done":
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                if run.options.sources != ("database",) and not run.options.table:
                    draw_more_button(run)
                draw_watch_button(run)


def suggest_questions(report: Report, numbered: CitedAnswer | None) -> tuple[str, ...]:
    """What could be asked next."""
    if numbered is None:
        return ()
    return related_questions(report, numbered, support.answer_support(report, numbered))


def draw_outcome(report: Report, numbered: CitedAnswer | None) -> None:
    """The answer, if there is one, and what failed on the way."""
    if numbered is not None:
        answer.draw(report, numbered)
        said = {span.text for span in numbered.answer.spans if span.kind == "missing"}
        if untold := [one for one in numbered.answer.failures if one.message not in said]:
            draw_failures(untold)
        review.draw(report)
        conflicts.draw(report, numbered)


def draw_failures(failures: Sequence[Failure]) -> None:
    """Show one line for each group of similar failures, and an expander with the message of every
    failure."""
    groups = group_failures(failures, current_language())
    lines = [
        f"- {failure_display.add_count(failure_display.escape_failure(one.text), one.failure_count)}" for one in groups
    ]
    st.warning(t("answer.failures", n=len(failures)) + "\n" + "\n".join(lines))
    failure_display.draw_details(
        [" — ".join(filter(None, [f.query, source_name(f.source), t(f"stage.{f.stage}"), f.message])) for f in failures]
    )


def draw_rerun(run: Run, old_plan: Plan) -> None:
    with st.expander(t("plan.rerun"), key=f"again_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("plan.rerun_help"))
        edited = plan.edit_plan(old_plan, tuple(application.get_application().sources), f"again_plan_{run.id[:8]}")
        if st.button(
            t("plan.rerun_start"), key=f"again_start_{run.id[:8]}", type="primary",
            disabled=bool(plan.find_faults(edited)),
        ):  # fmt: skip
            if edited.tasks:
                run_navigation.start_run(run.question, run.options, edited, based_on_run_id=run.id)
            else:
                st.error(t("plan.none"))
