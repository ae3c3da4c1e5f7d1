"""Adding to the library: what is dropped is read in the background, and what it came to is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from pages.library.shown import file_name, listed
from pages.shared import login, trouble
from pages.shared.safe import plain
from pages.shared.words import number, t
from research import (
    FILE_LIMITS,
    OCR_INSTALL,
    PICTURE_SUFFIXES,
    SUFFIXES,
    Intake,
    Library,
    application,
)

POLL = 0.5  # seconds between looks at files that are being read
AT_ONCE = 0.4  # seconds in which a few small files are read: no progress is shown for them
LISTED = 12  # names of files that were not read, for each reason
OVER = {
    "size": "over.size",
    "characters": "over.characters",
    "pages": "over.pages",
    "rows": "over.rows",
    "cells": "over.cells",
    "unpacked": "over.unpacked",
    "page": "over.page",
    "depth": "over.depth",
    "pixels": "over.pixels",
    "attributes": "over.attributes",
    "elements": "over.elements",
    "time": "over.time",
    "memory": "over.memory",
    "busy": "over.busy",
    "start": "over.start",
}
REMEDIES = {
    "page": "remedy.page",
    "depth": "remedy.depth",
    "pixels": "remedy.pixels",
    "attributes": "remedy.shape",
    "elements": "remedy.shape",
    "time": "remedy.time",
    "memory": "remedy.memory",
    "busy": "remedy.busy",
    "start": "remedy.start",
}  # where to split the file is none


def draw(library: Library, *, shared: bool) -> None:
    """Files and folders from the visitor's machine; paths of the server's own only if that is it."""
    lot = st.session_state.setdefault("uploads", 0)
    st.file_uploader(
        t("library.upload"),
        accept_multiple_files=True,
        max_upload_size=FILE_LIMITS["size"],
        key=f"files_{lot}",
        on_change=_taken(f"files_{lot}"),
    )
    st.caption(t("library.types", types=plain(" ".join(SUFFIXES)), limit=limit()))
    label = "library.more_ways" if shared else "library.more_ways_local"
    with st.expander(t(label), key="more_ways", icon=":material/folder_open:"):
        st.file_uploader(
            t("library.upload_folder"),
            type=[
                suffix.lstrip(".")
                for suffix in SUFFIXES
                if suffix not in PICTURE_SUFFIXES or library.reading.able
            ],
            accept_multiple_files="directory",
            max_upload_size=FILE_LIMITS["size"],
            key=f"folder_{lot}",
            on_change=_taken(f"folder_{lot}"),
        )
        st.caption(t("library.folder_note"))
        if not shared:
            _path(library)
    with st.container(key="intake"):
        _intakes(library)
    _unread(library)


def limit() -> str:
    """What a file may have, in the words of its page and of what is refused."""
    size, characters = (number(FILE_LIMITS[name]) for name in ("size", "characters"))
    return t("library.limit", size=size, characters=characters)


def _taken(key: str) -> Callable[[], None]:
    """What is called when files have come; the box is a new one then, so nothing is added twice."""

    def take() -> None:
        owner = login.owner()  # what a widget calls comes before the router
        files: list[Any] = st.session_state.get(key) or []
        if files:
            st.session_state.uploads += 1
            given = [(file.name, file.size, file.getvalue) for file in files]
            application.desk().library.take(given, owner).wait(AT_ONCE)

    return take


def _path(library: Library) -> None:
    with st.form("folder", border=False):
        path = st.text_input(t("library.folder"), key="folder")
        if st.form_submit_button(t("library.folder_add"), key="add_folder") and path.strip():
            found = located(path.strip())
            if found:
                library.take_paths([found], login.owner()).wait(AT_ONCE)
            else:
                st.error(t("library.folder_missing", path=plain(path, 400)))


def located(path: str) -> Path | None:
    """What is at a path, if it can be one and there is something."""
    try:
        place = Path(path).expanduser()
        return place if place.exists() else None
    except (OSError, RuntimeError):  # too long, not permitted; no such user
        return None


# What is being read, and what it came to


def _intakes(library: Library) -> None:
    found = library.intakes(login.owner())
    if any(intake.active for intake in found):
        _live()
    for n, intake in enumerate(found):
        if not intake.active:
            _outcome(intake, n)


@st.fragment(run_every=POLL)
def _live() -> None:
    found = [i for i in application.desk().library.intakes(login.owner()) if i.active]
    if not found:
        st.rerun()
    for n, intake in enumerate(found):
        left, right = st.columns([5, 1], vertical_alignment="center")
        if intake.state == "waiting" or not intake.begun:
            left.progress(0.0, text=t("intake.waiting"))
        else:
            told = {"n": number(intake.begun), "total": number(intake.total)}
            words = t("intake.reading", name=plain(intake.name, 60), **told)
            left.progress(min(1.0, intake.begun / max(1, intake.total)), text=words)
        if intake.stopping:
            right.caption(t("intake.stopping"))
        else:
            right.button(
                t("intake.stop"), key=f"stop_intake_{n}", on_click=_stop, args=(intake,),
                width="stretch",
            )  # fmt: skip


def _stop(intake: Intake) -> None:
    login.owner()
    intake.cancel()


def _outcome(intake: Intake, n: int) -> None:
    """What became of files, in one line."""
    parts = [
        t(f"added.{outcome}", n=number(intake.outcomes[outcome]))
        for outcome in ("added", "replaced", "unchanged")
        if intake.outcomes[outcome]
    ]
    if intake.unread:
        parts.append(t("added.unread", n=number(intake.unread)))
    if intake.left_out:
        parts.append(t("intake.left_out", n=number(intake.left_out)))
    left = number(max(0, intake.total - intake.done))
    if intake.state in ("stopped", "failed"):
        words = "intake.stopped" if intake.state == "stopped" else "intake.failed"
        parts.append(t(words, n=left))
    if intake.trouble:
        trouble.draw(intake.trouble)
    with st.container(horizontal=True, vertical_alignment="center", key=f"outcome_{n}"):
        good = intake.state == "done" and not intake.unread and intake.total
        icon = ":material/check_circle:" if good else ":material/info:"
        st.markdown(f"{icon} {' · '.join(parts) or t('intake.nothing')}", width="content")
        st.button(t("intake.dismiss"), key=f"dismiss_{n}", on_click=intake.dismiss, type="tertiary")


# What could not be read


def _unread(library: Library) -> None:
    """The files that could not be read, by reason, with what to do; until they are put away."""
    owner = login.owner()
    found, total = library.unread(owner, limit=2_000)
    if not found:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for item in found:
        name = plain(file_name(item.name), 80)
        if item.pages:
            one = item.pages.isdigit()
            pages = (
                t("answer.page", n=item.pages)
                if one
                else t("unread.pages", pages=listed(item.pages))
            )
            name = t("mark.aside", text=name, more=pages)
        groups.setdefault((item.outcome, item.limit), []).append(name)
    title = t("unread.title", n=number(total))
    with st.expander(title, key="unread", icon=":material/error_outline:", expanded=True):
        for (outcome, over), names in groups.items():
            st.markdown(f"{_reason(outcome, over, len(names))}  \n{_remedy(outcome, over)}")
            shown = names[:LISTED]
            if len(names) > LISTED:
                shown.append(t("unread.more", n=number(len(names) - LISTED)))
            st.caption(" · ".join(shown))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(t("unread.dismiss"), key="dismiss_unread", on_click=_dismiss)
            st.caption(t("unread.kept"), width="content")


def _reason(outcome: str, over: str, count: int) -> str:
    """Why files could not be read, with the limit that they are over."""
    words = [f"**{t(f'unread.{outcome}')}**"]
    if over in OVER:
        words.append(t(OVER[over], n=number(FILE_LIMITS.get(over, 0))))
    return f"{' — '.join(words)} ({number(count)})"


def _remedy(outcome: str, over: str) -> str:
    words = {"limit": limit(), "line": f"`{OCR_INSTALL}`"}
    return t(REMEDIES.get(over, f"remedy.{outcome}"), **words)


def _dismiss() -> None:
    application.desk().library.dismiss(login.owner())


def teach(library: Library) -> None:
    """What a library is for, as long as there is nothing in it."""
    with st.container(border=True, key="teach"):
        st.markdown(f"**{t('library.empty')}**")
        scans = "library.teach_scans" if library.reading.able else "library.teach_no_scans"
        for key in ("library.teach_kinds", scans, "library.teach_not", "library.teach_kept"):
            st.markdown(t(key))
