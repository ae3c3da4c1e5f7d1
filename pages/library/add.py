"""Adding to the library: what is dropped is read in the background, and what it came to is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from pages.library.display import file_name, format_page_list
from pages.shared import login, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import (
    FILE_LIMITS,
    OCR_INSTALL,
    PICTURE_SUFFIXES,
    SUFFIXES,
    IngestionJob,
    Library,
    application,
)

POLL_SECONDS = 0.5  # seconds between looks at files that are being read
QUICK_READ_SECONDS = 0.4  # seconds in which a few small files are read: no progress is shown for them
MAX_NAMES_PER_REASON = 12  # names of files that were not read, for each reason
LIMIT_MESSAGES = {
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
REMEDY_MESSAGES = {
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


def draw(library: Library, *, is_shared: bool) -> None:
    """Files and folders from the visitor's machine; paths of the server's own only if that is it."""
    lot = st.session_state.setdefault("uploads", 0)
    st.file_uploader(
        t("library.upload"),
        accept_multiple_files=True,
        max_upload_size=FILE_LIMITS["size"],
        key=f"files_{lot}",
        on_change=_create_intake_callback(f"files_{lot}"),
    )
    st.caption(t("library.types", types=escape_markdown(" ".join(SUFFIXES)), limit=limit_text()))
    label = "library.more_ways" if is_shared else "library.more_ways_local"
    with st.expander(t(label), key="more_ways", icon=":material/folder_open:"):
        st.file_uploader(
            t("library.upload_folder"),
            type=[
                suffix.lstrip(".")
                for suffix in SUFFIXES
                if suffix not in PICTURE_SUFFIXES or library.scan_reader.is_available
            ],
            accept_multiple_files="directory",
            max_upload_size=FILE_LIMITS["size"],
            key=f"folder_{lot}",
            on_change=_create_intake_callback(f"folder_{lot}"),
        )
        st.caption(t("library.folder_note"))
        if not is_shared:
            _draw_path_form(library)
    with st.container(key="intake"):
        _draw_intakes(library)
    _draw_unread(library)


def limit_text() -> str:
    """What a file may have, in the words of its page and of what is refused."""
    size, characters = (format_number(FILE_LIMITS[name]) for name in ("size", "characters"))
    return t("library.limit", size=size, characters=characters)


def _create_intake_callback(widget_key: str) -> Callable[[], None]:
    """What is called when files have come; the box is a new one then, so nothing is added twice."""

    def take() -> None:
        owner = login.current_owner()  # what a widget calls comes before the router
        files: list[Any] = st.session_state.get(widget_key) or []
        if files:
            st.session_state.uploads += 1
            given = [(file.name, file.size, file.getvalue) for file in files]
            application.get_application().library.start_ingestion(given, owner).wait(QUICK_READ_SECONDS)

    return take


def _draw_path_form(library: Library) -> None:
    with st.form("folder", border=False):
        path = st.text_input(t("library.folder"), key="folder")
        if st.form_submit_button(t("library.folder_add"), key="add_folder") and path.strip():
            found = find_path(path.strip())
            if found:
                library.start_path_ingestion([found], login.current_owner()).wait(QUICK_READ_SECONDS)
            else:
                st.error(t("library.folder_missing", path=escape_markdown(path, 400)))


def find_path(path: str) -> Path | None:
    """What is at a path, if it can be one and there is something."""
    try:
        place = Path(path).expanduser()
        return place if place.exists() else None
    except (OSError, RuntimeError):  # too long, not permitted; no such user
        return None


# What is being read, and what it came to


def _draw_intakes(library: Library) -> None:
    found = library.ingestion_jobs(login.current_owner())
    if any(intake.is_active for intake in found):
        _draw_active_intakes()
    for n, intake in enumerate(found):
        if not intake.is_active:
            _draw_outcome(intake, n)


@st.fragment(run_every=POLL_SECONDS)
def _draw_active_intakes() -> None:
    found = [i for i in application.get_application().library.ingestion_jobs(login.current_owner()) if i.is_active]
    if not found:
        st.rerun()
    for n, intake in enumerate(found):
        left, right = st.columns([5, 1], vertical_alignment="center")
        if intake.state == "waiting" or not intake.started_files:
            left.progress(0.0, text=t("intake.waiting"))
        else:
            told = {"n": format_number(intake.started_files), "total": format_number(intake.total_files)}
            words = t("intake.reading", name=escape_markdown(intake.current_name, 60), **told)
            left.progress(min(1.0, intake.started_files / max(1, intake.total_files)), text=words)
        if intake.is_stopping:
            right.caption(t("intake.stopping"))
        else:
            right.button(
                t("intake.stop"), key=f"stop_intake_{n}", on_click=_stop_intake, args=(intake,),
                width="stretch",
            )  # fmt: skip


def _stop_intake(intake: IngestionJob) -> None:
    login.current_owner()
    intake.cancel()


def _draw_outcome(intake: IngestionJob, index: int) -> None:
    """What became of files, in one line."""
    parts = [
        t(f"added.{outcome}", n=format_number(intake.outcomes[outcome]))
        for outcome in ("added", "replaced", "unchanged")
        if intake.outcomes[outcome]
    ]
    if intake.failed_files:
        parts.append(t("added.unread", n=format_number(intake.failed_files)))
    if intake.skipped_files:
        parts.append(t("intake.left_out", n=format_number(intake.skipped_files)))
    left = format_number(max(0, intake.total_files - intake.finished_files))
    if intake.state in ("stopped", "failed"):
        words = "intake.stopped" if intake.state == "stopped" else "intake.failed"
        parts.append(t(words, n=left))
    if intake.error:
        storage_errors.draw(intake.error)
    with st.container(horizontal=True, vertical_alignment="center", key=f"outcome_{index}"):
        good = intake.state == "done" and not intake.failed_files and intake.total_files
        icon = ":material/check_circle:" if good else ":material/info:"
        st.markdown(f"{icon} {' · '.join(parts) or t('intake.nothing')}", width="content")
        st.button(t("intake.dismiss"), key=f"dismiss_{index}", on_click=intake.dismiss, type="tertiary")


# What could not be read


def _draw_unread(library: Library) -> None:
    """The files that could not be read, by reason, with what to do; until they are put away."""
    owner = login.current_owner()
    found, total = library.list_rejected(owner, limit=2_000)
    if not found:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for item in found:
        name = escape_markdown(file_name(item.name), 80)
        if item.pages:
            one = item.pages.isdigit()
            pages = t("answer.page", n=item.pages) if one else t("unread.pages", pages=format_page_list(item.pages))
            name = t("mark.aside", text=name, more=pages)
        groups.setdefault((item.outcome, item.limit), []).append(name)
    title = t("unread.title", n=format_number(total))
    with st.expander(title, key="unread", icon=":material/error_outline:", expanded=True):
        for (outcome, over), names in groups.items():
            st.markdown(f"{_reason_text(outcome, over, len(names))}  \n{_remedy_text(outcome, over)}")
            shown = names[:MAX_NAMES_PER_REASON]
            if len(names) > MAX_NAMES_PER_REASON:
                shown.append(t("unread.more", n=format_number(len(names) - MAX_NAMES_PER_REASON)))
            st.caption(" · ".join(shown))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(t("unread.dismiss"), key="dismiss_unread", on_click=_dismiss_unread)
            st.caption(t("unread.kept"), width="content")


def _reason_text(outcome: str, limit_name: str, count: int) -> str:
    """Why files could not be read, with the limit that they are over."""
    words = [f"**{t(f'unread.{outcome}')}**"]
    if limit_name in LIMIT_MESSAGES:
        words.append(t(LIMIT_MESSAGES[limit_name], n=format_number(FILE_LIMITS.get(limit_name, 0))))
    return f"{' — '.join(words)} ({format_number(count)})"


def _remedy_text(outcome: str, limit_name: str) -> str:
    words = {"limit": limit_text(), "line": f"`{OCR_INSTALL}`"}
    return t(REMEDY_MESSAGES.get(limit_name, f"remedy.{outcome}"), **words)


def _dismiss_unread() -> None:
    application.get_application().library.dismiss_rejected(login.current_owner())


def draw_introduction(library: Library) -> None:
    """What a library is for, as long as there is nothing in it."""
    with st.container(border=True, key="teach"):
        st.markdown(f"**{t('library.empty')}**")
        scans = "library.teach_scans" if library.scan_reader.is_available else "library.teach_no_scans"
        for key in ("library.teach_kinds", scans, "library.teach_not", "library.teach_kept"):
            st.markdown(t(key))
