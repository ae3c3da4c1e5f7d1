"""One conversation in the history: its line, where words were found in it, and what can be done."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from pages.history import bin
from pages.run import downloads
from pages.shared import asking, errors
from pages.shared.files import script
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import address, local_time, money, named, number, t
from research import HistoryEntry, HistoryHit, HistoryTurn, application, cited

# What would be made a link of half an address, with a space of no width in it.
UNLINKED = (("://", ":\u200b//"), ("www.", "www\u200b."), ("@", "\u200b@"))
TURNS = 12  # of a conversation that are listed where they are what was searched for
LATEST = 4  # that are listed otherwise
TICKED = "history_ticked"  # in the session: the runs that are chosen to be compared


def draw(entry: HistoryEntry, tags: list[str], *, comparing: bool) -> None:
    """A conversation: one line for its only run, else its name and a line for each run found. One
    whose runs cannot be read says so."""
    with errors.row():
        if entry.found:
            _draw(entry, entry.found[-1], tags, comparing=comparing)
        else:
            _unreadable(entry)


def _unreadable(entry: HistoryEntry) -> None:
    """A conversation whose runs cannot be read, and the way to be rid of it."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute",
        key=f"line_{entry.id}",
    ):  # fmt: skip
        st.markdown(f":material/error: {plain(entry.title, 160)}", width="content")
        st.button(
            t("history.delete"), key=f"delete_{entry.id}", icon=":material/delete:", type="tertiary",
            on_click=bin.discard, args=(entry,),
        )  # fmt: skip
    st.caption(t("history.unreadable"))


def _draw(entry: HistoryEntry, latest: HistoryTurn, tags: list[str], *, comparing: bool) -> None:
    with st.container(key=f"entry_{entry.id}", gap="xsmall"):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute",
            key=f"line_{entry.id}",
        ):  # fmt: skip
            if comparing and len(entry.found) == 1:
                _tick(latest)
            st.page_link(
                script("ask"), label=plain(entry.title, 160), icon=asking.icon(latest.run.options),
                query_params=address(latest.run.id),
            )  # fmt: skip
            with st.container(
                horizontal=True, vertical_alignment="center", width="content", gap="xsmall"
            ):
                if entry.pinned:
                    st.markdown(":material/keep:", width="content")
                st.caption(when(entry.updated), width="content")
                st.button(
                    "", key=f"manage_{entry.id}", icon=":material/more_horiz:", type="tertiary",
                    help=t("history.manage"), on_click=_toggle, args=(entry.id,),
                )  # fmt: skip
        if latest.finding:
            said = HistoryHit(field="answer", pieces=((latest.finding, False),))
            with st.container(key=f"outside_{entry.id}"):  # in the language of the answer
                st.caption(marked(said))
        _facts(entry, latest)
        if len(entry.found) > 1:
            for turn in entry.found[-(TURNS if any(one.hits for one in entry.found) else LATEST) :]:
                with errors.row():
                    _turn(turn, comparing=comparing)
        else:
            _hits(latest)
        if st.session_state.get("managed") == entry.id:
            _manage(entry, latest, tags)


def _turn(turn: HistoryTurn, *, comparing: bool) -> None:
    """A run among those of its conversation."""
    with st.container(gap="xsmall", key=f"turn_{turn.run.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            if comparing:
                _tick(turn)
            st.page_link(
                script("ask"), label=plain(turn.run.question, 120),
                icon=":material/subdirectory_arrow_right:", query_params=address(turn.run.id),
            )  # fmt: skip
            _status(turn)
        _hits(turn)


def when(moment: datetime | None) -> str:
    """A time, or a dash where it cannot be read."""
    return local_time(moment) if moment else "–"


def _facts(entry: HistoryEntry, latest: HistoryTurn) -> None:
    """The second line: what there is to know at a glance."""
    told = [t("history.turns", n=entry.turns)] if entry.turns > 1 else []
    if notebook := latest.run.options.notebook:
        told.append(t("run.notebook", name=plain(notebook)))
    if sources := max(turn.sources for turn in entry.found):
        told.append(t("history.sources", n=number(sources)))
    if cost := sum(turn.cost or 0 for turn in entry.found):
        told.append(t("ask.estimate_cost", cost=money(cost)).replace("$", "\\$"))
    only = latest if len(entry.found) == 1 else None
    if told or entry.tags or (only and only.run.status != "done"):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key=f"facts_{entry.id}"
        ):
            if only:
                _status(only)
            if told:
                st.caption(" · ".join(told), width="content")
            for tag in entry.tags:
                st.badge(plain(tag, 40), color="gray")


def _status(turn: HistoryTurn) -> None:
    """How a run ended, if it is not done, and the way to go on with it."""
    run = turn.run
    if run.status != "done":
        st.badge(plain(named("run", run.status)), color=asking.COLORS.get(run.status, "orange"))
    if run.resumable and st.button(
        t("run.resume"), key=f"resume_{run.id}", icon=":material/play_arrow:", type="tertiary"
    ):
        application.resume(run.id, owner=owner())
        st.session_state.last_run = run.id
        st.switch_page(script("ask"), query_params=address(run.id))


def _hits(turn: HistoryTurn) -> None:
    """Where the words stand. The text is outside's: every sign of it is escaped, the marks are ours."""
    for hit in turn.hits:
        if hit.field != "question" or len(turn.hits) == 1:
            st.caption(f"{plain(named('history_field', hit.field))}　{marked(hit)}")


def marked(hit: HistoryHit) -> str:
    """The text of a hit as Markdown, with its words on a ground of their own."""
    out = []
    for text, found in hit.pieces:
        lead = " " if text[:1].isspace() else ""
        tail = " " if text.strip() and text[-1:].isspace() else ""
        for sign, broken in UNLINKED:
            text = text.replace(sign, broken)
        safe = f"{lead}{plain(text)}{tail}"
        out.append(f":yellow-background[{safe}]" if found else safe)
    return "".join(out)


# Comparing


def _tick(turn: HistoryTurn) -> None:
    ticked = st.session_state.setdefault(TICKED, [])
    run_id = turn.run.id
    st.checkbox(
        t("history.compare_tick"), key=f"tick_{run_id}", label_visibility="collapsed",
        value=run_id in ticked, disabled=len(ticked) >= 2 and run_id not in ticked,
        on_change=_ticked, args=(run_id,),
    )  # fmt: skip


def _ticked(run_id: str) -> None:
    ticked = st.session_state.setdefault(TICKED, [])
    if run_id in ticked:
        ticked.remove(run_id)
    else:
        ticked.append(run_id)


# What can be done


def _toggle(key: str) -> None:
    managed = st.session_state.get("managed")
    st.session_state.managed = "" if managed == key else key


def _manage(entry: HistoryEntry, latest: HistoryTurn, tags: list[str]) -> None:
    """The name and the tags of a conversation, its pin, its files, and the way to be rid of it."""
    with st.container(border=True, key=f"managing_{entry.id}"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input(
                t("history.rename"), value=entry.title, max_chars=200, key="title", width=360
            )
            st.multiselect(
                t("history.tags"), list(dict.fromkeys([*entry.tags, *tags])), default=entry.tags,
                key="tags", accept_new_options=True, max_selections=10, width=300,
                placeholder=t("history.tags_hint"),
            )  # fmt: skip
            st.button(
                t("history.save"), type="primary", key="save_title", on_click=_save, args=(entry,)
            )
        with st.container(horizontal=True, vertical_alignment="center"):
            _exports(latest)
            st.button(
                t("history.unpin") if entry.pinned else t("history.pin"), key="pin",
                icon=":material/keep_off:" if entry.pinned else ":material/keep:",
                type="tertiary", on_click=_pin, args=(entry,),
            )  # fmt: skip
            st.button(
                t("history.delete"), key="delete", icon=":material/delete:", type="tertiary",
                on_click=bin.discard, args=(entry,),
            )  # fmt: skip


def _exports(turn: HistoryTurn) -> None:
    """The files of a run."""
    report = application.report(turn.run.id, owner=owner())
    if report is not None and report.answer is not None:
        downloads.draw(report, cited(report))


def _save(entry: HistoryEntry) -> None:
    title = st.session_state.title.strip()
    application.label(entry.id, title=title, owner=owner())
    application.tag(entry.id, st.session_state.tags, owner=owner())
    st.session_state.pop("managed", None)


def _pin(entry: HistoryEntry) -> None:
    application.label(entry.id, pinned=not entry.pinned, owner=owner())
    st.session_state.pop("managed", None)
