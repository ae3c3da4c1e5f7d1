"""One conversation in the history: title line, search hits and management controls."""

from __future__ import annotations

import streamlit as st

from pages.history import recycle_bin
from pages.run import downloads
from pages.shared import errors, run_navigation
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_local_time, format_money, format_number, run_query_params, t, value_label
from pages.shared.login import current_owner
from pages.shared.paths import page_script
from research import HistoryEntry, HistoryHit, HistoryTurn, get_application, number_report_answer

# Parts of addresses that Markdown would turn into a link, and the same with a zero-width space.
LINK_BREAKS = (("://", ":\u200b//"), ("www.", "www\u200b."), ("@", "\u200b@"))
MAX_MATCHING_TURNS = 12  # listed per conversation if they match a search
MAX_LATEST_TURNS = 4  # listed otherwise
COMPARED_RUNS_KEY = "history_ticked"  # in the session: ids of the runs selected for comparison


def draw(entry: HistoryEntry, tags: list[str], *, is_comparing: bool) -> None:
    """Draw a conversation: one line for a single run, else its title and a line per matching run.

    A conversation whose runs cannot be read gets a note instead. `tags` are all tags of the owner; with
    `is_comparing`, each run gets a box that selects it for comparison.
    """
    with errors.catch_row_errors():
        if entry.matching_turns:
            _draw_conversation(entry, entry.matching_turns[-1], tags, is_comparing=is_comparing)
        else:
            _draw_unreadable_conversation(entry)


def _draw_unreadable_conversation(entry: HistoryEntry) -> None:
    """Draw a conversation whose runs cannot be read, with a button that deletes it."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key=f"line_{entry.id}"
    ):
        st.markdown(f":material/error: {escape_markdown(entry.title, 160)}", width="content")
        _draw_delete_button(entry, f"delete_{entry.id}")
    st.caption(t("history.unreadable"))


def _draw_delete_button(entry: HistoryEntry, key: str) -> None:
    st.button(
        t("history.delete"),
        key=key,
        icon=":material/delete:",
        type="tertiary",
        on_click=recycle_bin.discard,
        args=(entry,),
    )


def _draw_conversation(entry: HistoryEntry, latest: HistoryTurn, tags: list[str], *, is_comparing: bool) -> None:
    with st.container(key=f"entry_{entry.id}", gap="xsmall"):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key=f"line_{entry.id}"
        ):
            if is_comparing and len(entry.matching_turns) == 1:
                _draw_compare_checkbox(latest)
            icon = run_navigation.run_icon(latest.run.options)
            run_navigation.draw_run_link(latest.run.id, escape_markdown(entry.title, 160), icon)
            with st.container(horizontal=True, vertical_alignment="center", width="content", gap="xsmall"):
                if entry.pinned:
                    st.markdown(":material/keep:", width="content")
                st.caption(format_local_time(entry.updated) if entry.updated else "–", width="content")
                st.button(
                    "",
                    key=f"manage_{entry.id}",
                    icon=":material/more_horiz:",
                    type="tertiary",
                    help=t("history.manage"),
                    on_click=_toggle_management,
                    args=(entry.id,),
                )
        if latest.excerpt:
            hit = HistoryHit(field="answer", pieces=((latest.excerpt, False),))
            with st.container(key=f"outside_{entry.id}"):  # in the language of the answer
                st.caption(highlight_hit(hit))
        _draw_facts(entry, latest)
        if len(entry.matching_turns) > 1:
            for turn in entry.matching_turns[
                -(MAX_MATCHING_TURNS if any(match.hits for match in entry.matching_turns) else MAX_LATEST_TURNS) :
            ]:
                with errors.catch_row_errors():
                    _draw_turn(turn, is_comparing=is_comparing)
        else:
            _draw_hits(latest)
        if st.session_state.get("managed") == entry.id:
            _draw_management(entry, latest, tags)


def _draw_turn(turn: HistoryTurn, *, is_comparing: bool) -> None:
    """Draw one of several runs of a conversation."""
    with st.container(gap="xsmall", key=f"turn_{turn.run.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            if is_comparing:
                _draw_compare_checkbox(turn)
            question = escape_markdown(turn.run.question, 120)
            run_navigation.draw_run_link(turn.run.id, question, ":material/subdirectory_arrow_right:")
            _draw_status(turn)
        _draw_hits(turn)


def _draw_facts(entry: HistoryEntry, latest: HistoryTurn) -> None:
    """Draw the second line: turns, notebook, sources, cost, status and tags."""
    facts = [t("history.turns", n=entry.turn_count)] if entry.turn_count > 1 else []
    if notebook := latest.run.options.notebook:
        facts.append(t("run.notebook", name=escape_markdown(notebook)))
    if sources := max(turn.source_count for turn in entry.matching_turns):
        facts.append(t("history.sources", n=format_number(sources)))
    if cost := sum(turn.cost or 0 for turn in entry.matching_turns):
        facts.append(t("ask.estimate_cost", cost=format_money(cost)).replace("$", "\\$"))
    single_turn = latest if len(entry.matching_turns) == 1 else None
    if facts or entry.tags or (single_turn and single_turn.run.status != "done"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"facts_{entry.id}"):
            if single_turn:
                _draw_status(single_turn)
            if facts:
                st.caption(" · ".join(facts), width="content")
            for tag in entry.tags:
                st.badge(escape_markdown(tag, 40), color="gray")


def _draw_status(turn: HistoryTurn) -> None:
    """Draw the status of a run that is not done, and a button to resume it where possible."""
    run = turn.run
    if run.status != "done":
        run_navigation.draw_status_badge(run.status)
    if run.is_resumable and st.button(
        t("run.resume"), key=f"resume_{run.id}", icon=":material/play_arrow:", type="tertiary"
    ):
        get_application().runs.resume(run.id, owner=current_owner())
        st.session_state.last_run = run.id
        st.switch_page(page_script("ask"), query_params=run_query_params(run.id))


def _draw_hits(turn: HistoryTurn) -> None:
    """Draw the search hits of a run. Their text is untrusted and escaped."""
    for hit in turn.hits:
        if hit.field != "question" or len(turn.hits) == 1:
            st.caption(f"{escape_markdown(value_label('history_field', hit.field))}　{highlight_hit(hit)}")


def highlight_hit(hit: HistoryHit) -> str:
    """Return the text of a hit as Markdown, with the matching words highlighted."""
    out = []
    for text, is_match in hit.pieces:
        lead = " " if text[:1].isspace() else ""
        tail = " " if text.strip() and text[-1:].isspace() else ""
        for sign, broken in LINK_BREAKS:
            text = text.replace(sign, broken)
        safe = f"{lead}{escape_markdown(text)}{tail}"
        out.append(f":yellow-background[{safe}]" if is_match else safe)
    return "".join(out)


# Comparing


def _draw_compare_checkbox(turn: HistoryTurn) -> None:
    compared_ids = st.session_state.setdefault(COMPARED_RUNS_KEY, [])
    run_id = turn.run.id
    st.checkbox(
        t("history.compare_tick"),
        key=f"tick_{run_id}",
        label_visibility="collapsed",
        value=run_id in compared_ids,
        disabled=len(compared_ids) >= 2 and run_id not in compared_ids,
        on_change=_toggle_compared,
        args=(run_id,),
    )


def _toggle_compared(run_id: str) -> None:
    compared_ids = st.session_state.setdefault(COMPARED_RUNS_KEY, [])
    if run_id in compared_ids:
        compared_ids.remove(run_id)
    else:
        compared_ids.append(run_id)


# Management


def _toggle_management(conversation_id: str) -> None:
    managed = st.session_state.get("managed")
    st.session_state.managed = "" if managed == conversation_id else conversation_id


def _draw_management(entry: HistoryEntry, latest: HistoryTurn, tags: list[str]) -> None:
    """Draw the controls for title, tags, downloads, pin and deletion of a conversation."""
    with st.container(border=True, key=f"managing_{entry.id}"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(t("history.rename"), value=entry.title, max_chars=200, key="title", width=360)
            st.multiselect(
                t("history.tags"),
                list(dict.fromkeys([*entry.tags, *tags])),
                default=entry.tags,
                key="tags",
                accept_new_options=True,
                max_selections=10,
                width=300,
                placeholder=t("history.tags_hint"),
            )
            st.button(t("history.save"), type="primary", key="save_title", on_click=_save_labels, args=(entry,))
        with st.container(horizontal=True, vertical_alignment="center"):
            _draw_downloads(latest)
            st.button(
                t("history.unpin") if entry.pinned else t("history.pin"),
                key="pin",
                icon=":material/keep_off:" if entry.pinned else ":material/keep:",
                type="tertiary",
                on_click=_toggle_pin,
                args=(entry,),
            )
            _draw_delete_button(entry, "delete")


def _draw_downloads(turn: HistoryTurn) -> None:
    """Draw the downloads of a run that has an answer."""
    report = get_application().runs.report(turn.run.id, owner=current_owner())
    if report is not None and report.answer is not None:
        downloads.draw(report, number_report_answer(report))


def _save_labels(entry: HistoryEntry) -> None:
    title = st.session_state.title.strip()
    get_application().store.update_conversation(entry.id, title=title, owner=current_owner())
    get_application().store.history.set_tags(current_owner(), entry.id, st.session_state.tags)
    st.session_state.pop("managed", None)


def _toggle_pin(entry: HistoryEntry) -> None:
    get_application().store.update_conversation(entry.id, pinned=not entry.pinned, owner=current_owner())
    st.session_state.pop("managed", None)
