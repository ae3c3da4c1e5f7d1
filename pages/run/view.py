"""The view of a run on any page: active, waiting for approval or clarification, or finished."""

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
from pages.shared.localization import current_language, format_local_time, source_name, t
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

POLL_SECONDS = 0.25  # between polls of an active run
TEXT_POLL_SECONDS = 0.2  # between polls while its answer is being written


def draw(run: Run) -> None:
    """Draw a run in its current state; an active one is polled."""
    if run.is_active:
        (poll_text if load_progress(run).draft_text else poll_run)(run.id)
        draw_instruction_form(run, load_progress(run))
    elif run.status == "waiting":
        draw_waiting(run)
    else:
        draw_finished(run)


def draw_header(run: Run, run_progress: progress.RunProgress) -> None:
    """Draw the question and state of a run, with its buttons, limits and error."""
    with st.container(key="asked", gap="small"):
        if run_progress.is_sql:
            st.title(t("database.typed"), anchor=False)
            if run.is_active:
                st.code(run.question, language="sql", wrap_lines=True)
        else:
            st.title(escape_markdown(run.question, 400), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):
            if run.status != "done":
                is_asking_back = (
                    run.status == "waiting"
                    and run_progress.clarification_question
                    and run_progress.clarification_answer is None
                )
                state = t("run.asks_back" if is_asking_back else f"run.{run.status}")
                st.badge(state, color=run_navigation.STATUS_COLORS.get(run.status, "orange"))
            st.caption(format_local_time(run.created), width="content")
            if run.options.notebook:
                notebook_text = t("run.notebook", name=escape_markdown(run.options.notebook))
                st.caption(f":material/book_2: {notebook_text}", width="content")
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
        reason = escape_markdown(explain_failure(failure, current_language()) if failure else run.error)
        note = t(f"run.{run.status}_help", error=reason or t("run.no_reason"))
        (st.error if run.status == "failed" else st.info)(note)
        if failure:
            failure_display.draw_details([failure.message])


def draw_activity(run: Run, run_progress: progress.RunProgress, report: Report | None = None) -> None:
    """Draw the steps of a run in an expander, open until the run writes its answer.

    With the `report` of a finished run it also contains usage and plan.
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
    """Draw the buttons that stop a run or have it write its answer now.

    A caption shows that a request is pending.
    """
    key = f"stopping_{run.id}"
    if st.button(t("run.stop"), key=f"stop_{run.id[:8]}", icon=":material/stop_circle:"):
        application.stop_run(run.id, owner=current_owner())
        st.session_state[key] = "run.stopping"
    if (
        run.status != "queued"
        and not run_progress.is_writing
        and st.button(t("run.write"), key=f"write_{run.id[:8]}", icon=":material/edit_note:", help=t("run.write_help"))
    ):
        application.stop_run(run.id, write_only=True, owner=current_owner())
        st.session_state[key] = "run.ending"
    if message_key := st.session_state.get(key):
        st.caption(t(message_key), width="content")


def draw_resume_buttons(run: Run) -> None:
    """Draw the buttons that resume a run or write an answer from its findings so far."""
    if st.button(t("run.resume"), key=f"resume_{run.id[:8]}", type="primary", icon=":material/play_arrow:"):
        application.resume_run(run.id, owner=current_owner())
        st.rerun()
    if run.status != "failed" and st.button(
        t("run.write_now"), key=f"write_{run.id[:8]}", icon=":material/edit_note:", help=t("run.write_help")
    ):
        application.resume_run(run.id, write_only=True, owner=current_owner())
        st.rerun()


def draw_more_button(run: Run) -> None:
    """Draw the button that extends a run by a further run."""
    if st.button(
        t("run.more"),
        key=f"more_{run.id[:8]}",
        icon=":material/travel_explore:",
        help=t("run.more_help"),
    ) and (further := application.extend_run(run.id, owner=current_owner())):
        run_navigation.open_run(further)


def draw_watch_button(run: Run) -> None:
    """Draw the button that watches the topic of a report; nothing for other runs."""
    if run.options.sections:
        topics = application.watches(owner=current_owner())
        is_watched = any(run.id in (topic.id, topic.latest) or topic.topic == run.question for topic in topics)
        watch.draw_watch_button(
            run.id[:8], lambda: application.watch_topic(run.id, owner=current_owner()), is_watched=is_watched
        )


def draw_changes(report: Report) -> None:
    """Draw the changes of a watched topic since its previous report."""
    news = report.answer and report.answer.coverage
    if news and news.compared:
        watch.draw_changes(news.changes, news.compared)


def draw_instruction_form(run: Run, run_progress: progress.RunProgress) -> None:
    """Draw a text field for instructions to an active run.

    Only a run with a model that has not begun to write takes instructions.
    """
    if run_progress.is_writing or application.get_services(owner=current_owner()).models_for(run.options) is None:
        return
    with (
        st.form(f"instruct_{run.id[:8]}", clear_on_submit=True, border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        instruction = st.text_input(
            t("run.instruct"),
            placeholder=t("run.instruct_example"),
            max_chars=500,
            key=f"instruction_{run.id[:8]}",
            autocomplete="off",
        )
        is_sent = st.form_submit_button(t("run.instruct_send"), key=f"instruct_send_{run.id[:8]}")
    if is_sent and instruction.strip() and not application.add_instruction(run.id, instruction, owner=current_owner()):
        st.toast(t("run.instruct_late"))


def draw_waiting(run: Run) -> None:
    """Draw the question or the plan that a waiting run needs an answer to."""
    report = application.report(run.id, owner=current_owner())
    if report and report.is_awaiting_clarification and report.clarification:
        draw_clarification(run, report.clarification)
    elif report:
        draw_approval(run, report)


def draw_clarification(run: Run, clarification: Clarification) -> None:
    """Draw a clarification question, to be answered by a choice, in free text, or skipped."""
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
            reply = st.text_input(
                t("run.clarify_own"), max_chars=500, key=f"clarified_{run.id[:8]}", autocomplete="off"
            )
            is_sent = st.form_submit_button(t("run.clarify_send"), key=f"clarify_send_{run.id[:8]}")
        st.button(
            t("run.clarify_skip"),
            key=f"clarify_skip_{run.id[:8]}",
            type="tertiary",
            help=t("run.clarify_help"),
            on_click=answer,
            args=("",),
        )
    if is_sent and reply.strip():
        answer(reply)
        st.rerun()


def draw_approval(run: Run, report: Report) -> None:
    """Draw the plan of a waiting run to edit and approve, with its sources and limits."""
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
        is_approved = st.button(
            t("run.approve"), type="primary", key=f"approve_{run.id[:8]}", disabled=bool(plan.find_faults(edited))
        )
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            application.stop_run(run.id, owner=current_owner())
            st.rerun()
        run_options.draw_options()
        if chosen := run_options.chosen_options():
            run_options.draw_estimate(chosen, edited)
    if is_approved and chosen is None:
        st.error(t("ask.no_sources"))
    elif is_approved and not edited.tasks:
        st.error(t("plan.none"))
    elif is_approved:
        application.approve_run(run.id, plan=edited, options=chosen, owner=current_owner())
        st.rerun()


def draw_table_approval(run: Run, proposed: Plan, table: Grid) -> None:
    """Draw a proposed table to edit and approve."""
    edited = grid.edit_proposal(table, run.id[:8])
    ready = proposed.model_copy(update={"grid": edited, "edited": edited != table})
    with st.container(horizontal=True, vertical_alignment="center"):
        is_approved = st.button(
            t("tables.fill"), type="primary", key=f"fill_{run.id[:8]}", disabled=not (edited.rows and edited.columns)
        )
        if st.button(t("run.discard"), key=f"discard_{run.id[:8]}", help=t("run.discard_help")):
            application.stop_run(run.id, owner=current_owner())
            st.rerun()
        run_options.draw_estimate(run.options, ready)
    if is_approved:
        application.approve_run(run.id, plan=ready, owner=current_owner())
        st.rerun()


def load_progress(run: Run, owner: str = "") -> progress.RunProgress:
    """Return the progress of a run, cached in the session so that only new events are read."""
    views = st.session_state.setdefault("views", {})
    if run.id not in views:
        views.clear()
        views[run.id] = progress.RunProgress()
    view: progress.RunProgress = views[run.id]
    return view.apply(application.events(run.id, view.seq, owner=owner or current_owner()))


@st.fragment(run_every=POLL_SECONDS)
def poll_run(run_id: str) -> None:
    """Draw an active run, polled while it searches."""
    draw_active_run(run_id, is_fast=False)


@st.fragment(run_every=TEXT_POLL_SECONDS)
def poll_text(run_id: str) -> None:
    """Draw an active run, polled while its answer is being written."""
    draw_active_run(run_id, is_fast=True)


def draw_active_run(run_id: str, *, is_fast: bool) -> None:
    """Draw an active run once; with `is_fast`, from the fragment that polls while text is written.

    Requests for a run without news are mostly dropped before they get here
    (`pages.middleware.polling`).
    """
    owner = current_owner()
    try:
        run = application.get_run(run_id, owner=owner)
        if run is None:
            st.rerun()
        view = load_progress(run, owner)
    except StoreError as error:  # the router, which catches this, does not run for a fragment
        storage_errors.draw(error)
        return
    draw_header(run, view)
    if run.status == "queued" and not view.is_planned:
        runs_ahead, is_own = application.queue_position(run.id, owner=current_owner())
        reason = t("run.turn_own" if is_own else "run.turn")
        position_text = t("run.turn_after", n=runs_ahead) if runs_ahead else t("run.turn_next")
        st.info(f"{reason} {position_text}", icon=":material/hourglass_top:")
    else:
        draw_activity(run, view)
    if view.grid:
        grid.draw(run, view.grid, view.cells)
    if run.is_active and view.draft_text:
        draw_draft_answer(run, view)
    if not run.is_active or is_fast != bool(view.draft_text):
        st.rerun()  # last, since the whole page takes longer to draw than these steps


def draw_draft_answer(run: Run, run_progress: progress.RunProgress) -> None:
    """Draw the answer as written so far, with its citations."""
    key, cached = (run.id, *run_progress.handles), st.session_state.get("drafting")
    if cached is None or cached[0] != key:  # findings do not change while the answer is written
        st.session_state.drafting = cached = (key, application.report(run.id, owner=current_owner()))
    if cached[1] is not None:
        answer.draw_draft(cached[1], number_draft(cached[1], run_progress.draft_text, run_progress.handles))


def draw_thread(run: Run) -> None:
    """Draw links to the earlier runs that a run follows up, oldest first."""
    turns = {turn.id: turn for turn in application.turns(run.conversation, owner=current_owner())}
    ancestors: list[Run] = []
    while (parent := turns.get((ancestors or [run])[-1].follows)) and parent not in ancestors:
        ancestors.append(parent)
    for turn in reversed(ancestors):
        question = escape_markdown(turn.question, 80)
        run_navigation.draw_run_link(turn.id, question, ":material/subdirectory_arrow_right:")


def draw_follow_up(run: Run, suggestions: Sequence[str]) -> None:
    """Draw links to follow-up runs, suggested questions and an input for the next question."""
    key = f"follow_up_{run.id[:8]}"
    for turn in application.turns(run.conversation, owner=current_owner()):
        if turn.follows == run.id:
            run_navigation.draw_run_link(turn.id, escape_markdown(turn.question, 80), ":material/arrow_forward:")

    def take(question: str) -> None:
        st.session_state[key] = question

    if suggestions:
        with st.container(key="next", gap="small"):
            st.caption(t("ask.next"))
            for n, question in enumerate(suggestions):
                st.button(
                    escape_markdown(question),
                    key=f"next_{n}_{run.id[:8]}",
                    on_click=take,
                    args=(question,),
                    type="tertiary",
                    icon=":material/subdirectory_arrow_right:",
                )
    if submitted_question := str(st.session_state.pop(f"{key}_asked", "")).strip():
        # A follow-up is a plain question, whatever kind of run it follows.
        plain_options = {"sections": 0, "table": False, "updates": "", "approve": False}
        run_navigation.start_run(
            submitted_question, run.options.model_copy(update=plain_options), follows_run_id=run.id
        )
        st.session_state[key] = submitted_question  # not started: keep the text in the input

    def submitted() -> None:
        st.session_state[f"{key}_asked"] = st.session_state[key]

    # In a container, because a chat input at the foot of the page makes the page scroll down.
    with st.container(key="follow"):
        st.chat_input(t("ask.follow_placeholder"), key=key, max_chars=MAX_QUESTION_CHARS, on_submit=submitted)


def draw_finished(run: Run) -> None:
    """Draw a finished run: answer, map, rows, downloads, coverage, sources and follow-up."""
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
    has_places = any(finding.places for finding in report.findings)
    if has_places and is_comparison(numbered):  # its table needs the full width of the page
        draw_outcome(report, numbered)
        place_map.draw_report(report)
        query_rows.draw(report)
    elif has_places:
        has_rows = any(finding.rows for finding in report.findings)
        answer_column, map_column = st.columns([3, 2] if has_rows else [5, 4], gap="medium")
        with map_column:
            place_map.draw_report(report)
        with answer_column:
            draw_outcome(report, numbered)
            query_rows.draw(report)
    else:
        draw_outcome(report, numbered)
        query_rows.draw(report)
    if is_empty_answer(report, numbered):
        if any(finding.reason in (None, "empty") for finding in report.findings):
            draw_help()  # if every search failed, other words or documents do not help
    else:
        draw_toolbar(run, report, numbered)
    coverage.draw(report, numbered)
    if numbered is not None and not is_empty_answer(report, numbered):
        layout.draw_section_title(t("sources.title"))
        sources.draw(report, numbered)
    if run.status == "done":
        draw_follow_up(run, suggest_questions(report, numbered))


def draw_finished_table(run: Run, report: Report, table: Grid, numbered: CitedAnswer | None) -> None:
    """Draw a filled table with its quality, downloads, editor, map and sources."""
    cells = grid.index_cells(report) or load_progress(run).cells  # without an answer, from events
    grid.draw(run, table, cells, report)
    column_quality.draw(report, table, tuple(cells.values()))
    if numbered is not None and numbered.answer.failures:
        draw_failures(numbered.answer.failures)
    draw_toolbar(run, report, numbered)
    grid.draw_editor(run, table)
    place_map.draw_report(report)
    if numbered is not None:
        layout.draw_section_title(t("sources.title"))
        sources.draw(report, numbered)


def is_comparison(numbered: CitedAnswer | None) -> bool:
    """Return True if the answer contains a table."""
    return numbered is not None and bool(answer_tables(numbered))


def is_empty_answer(report: Report, numbered: CitedAnswer | None) -> bool:
    """Return True if the answer states for every part that nothing was found.

    Such an answer is not offered for download.
    """
    if numbered is None or numbered.sources or not report.findings:
        return False
    kinds = {span.kind for span in numbered.answer.spans}
    return "missing" in kinds and "text" not in kinds and not any(finding.rows for finding in report.findings)


def draw_help() -> None:
    """Draw hints for a run that found nothing."""
    services = application.get_services(owner=current_owner())
    hints = [t("nothing.help")]
    if not services.web.live_providers:
        hints.append(t("nothing.web"))
    if services.has_idle_model:
        hints.append(t("nothing.idle"))
    elif services.models is None:
        hints.append(t("nothing.model"))
    with st.container(border=True, key="helping"):
        st.markdown("\n".join(f"- {hint}" for hint in hints) if len(hints) > 1 else hints[0])
        with st.container(horizontal=True):
            for page, label_key, icon in (
                ("library", "nothing.library", ":material/upload_file:"),
                ("settings", "nothing.settings", ":material/tune:"),
            ):
                st.page_link(page_script(page), label=t(label_key), icon=icon)


def draw_toolbar(run: Run, report: Report, numbered: CitedAnswer | None) -> None:
    """Draw the downloads of a run and the buttons to extend and watch it."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="tools"):
        with st.container(width="content"):
            downloads.draw(report, numbered)
        if run.status == "done":
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                if run.options.sources != ("database",) and not run.options.table:
                    draw_more_button(run)
                draw_watch_button(run)


def suggest_questions(report: Report, numbered: CitedAnswer | None) -> tuple[str, ...]:
    """Return suggestions for the next question."""
    if numbered is None:
        return ()
    return related_questions(report, numbered, support.answer_support(report, numbered))


def draw_outcome(report: Report, numbered: CitedAnswer | None) -> None:
    """Draw the answer, if any, with failures, repairs and conflicts."""
    if numbered is not None:
        answer.draw(report, numbered)
        missing_texts = {span.text for span in numbered.answer.spans if span.kind == "missing"}
        if failures := [failure for failure in numbered.answer.failures if failure.message not in missing_texts]:
            draw_failures(failures)
        review.draw(report)
        conflicts.draw(report, numbered)


def draw_failures(failures: Sequence[Failure]) -> None:
    """Draw one line for each group of similar failures, and an expander with every message."""
    groups = group_failures(failures, current_language())
    lines = [
        f"- {failure_display.add_count(failure_display.escape_failure(group.text), group.failure_count)}"
        for group in groups
    ]
    st.warning(t("answer.failures", n=len(failures)) + "\n" + "\n".join(lines))
    failure_display.draw_details(
        [" — ".join(filter(None, [f.query, source_name(f.source), t(f"stage.{f.stage}"), f.message])) for f in failures]
    )


def draw_rerun(run: Run, old_plan: Plan) -> None:
    """Draw the plan of a finished run, to edit and start as a new run."""
    with st.expander(t("plan.rerun"), key=f"again_{run.id[:8]}", icon=":material/edit_note:"):
        st.caption(t("plan.rerun_help"))
        edited = plan.edit_plan(old_plan, tuple(application.get_application().sources), f"again_plan_{run.id[:8]}")
        if st.button(
            t("plan.rerun_start"),
            key=f"again_start_{run.id[:8]}",
            type="primary",
            disabled=bool(plan.find_faults(edited)),
        ):
            if edited.tasks:
                run_navigation.start_run(run.question, run.options, edited, based_on_run_id=run.id)
            else:
                st.error(t("plan.none"))
