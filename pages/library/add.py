"""Adding files to the library: upload, background ingestion, progress and results."""

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
    get_application,
    has_message,
)

POLL_SECONDS = 0.5  # interval of progress updates
QUICK_READ_SECONDS = 0.4  # small files are read within this time, without a progress bar
MAX_NAMES_PER_REASON = 12  # file names listed per reason
STRUCTURE_LIMITS = ("attributes", "elements")  # of markup; the remedy is the same for both


def draw(library: Library, *, is_shared: bool) -> None:
    """Draw the upload form, active ingestions and rejected files.

    Paths of the server are offered only if the library is not shared.
    """
    generation = st.session_state.setdefault("uploads", 0)
    st.file_uploader(
        t("library.upload"),
        accept_multiple_files=True,
        max_upload_size=FILE_LIMITS["size"],
        key=f"files_{generation}",
        on_change=_create_upload_callback(f"files_{generation}"),
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
            key=f"folder_{generation}",
            on_change=_create_upload_callback(f"folder_{generation}"),
        )
        st.caption(t("library.folder_note"))
        if not is_shared:
            _draw_path_form(library)
    with st.container(key="intake"):
        _draw_ingestions(library)
    _draw_rejected(library)


def limit_text() -> str:
    """Describe the limits of a file: size and characters."""
    size, characters = (format_number(FILE_LIMITS[name]) for name in ("size", "characters"))
    return t("library.limit", size=size, characters=characters)


def _create_upload_callback(widget_key: str) -> Callable[[], None]:
    """Return a callback that ingests the uploaded files.

    It replaces the uploader by an empty one, so that no file is added twice.
    """

    def ingest() -> None:
        owner = login.current_owner()  # callbacks run before the router
        files: list[Any] = st.session_state.get(widget_key) or []
        if files:
            st.session_state.uploads += 1
            uploads = [(file.name, file.size, file.getvalue) for file in files]
            get_application().library.start_ingestion(uploads, owner).wait(QUICK_READ_SECONDS)

    return ingest


def _draw_path_form(library: Library) -> None:
    with st.form("folder", border=False):
        path = st.text_input(t("library.folder"), key="folder")
        if st.form_submit_button(t("library.folder_add"), key="add_folder") and path.strip():
            existing = find_path(path.strip())
            if existing:
                library.start_path_ingestion([existing], login.current_owner()).wait(QUICK_READ_SECONDS)
            else:
                st.error(t("library.folder_missing", path=escape_markdown(path, 400)))


def find_path(path: str) -> Path | None:
    """Return an existing path, or None if it is invalid or missing."""
    try:
        candidate = Path(path).expanduser()
        return candidate if candidate.exists() else None
    except (OSError, RuntimeError):  # path too long, no permission; unknown user
        return None


# Ingestions and their results


def _draw_ingestions(library: Library) -> None:
    jobs = library.ingestion_jobs(login.current_owner())
    if any(job.is_active for job in jobs):
        _draw_active_ingestions()
    for n, job in enumerate(jobs):
        if not job.is_active:
            _draw_outcome(job, n)


@st.fragment(run_every=POLL_SECONDS)
def _draw_active_ingestions() -> None:
    jobs = [job for job in get_application().library.ingestion_jobs(login.current_owner()) if job.is_active]
    if not jobs:
        st.rerun()
    for n, job in enumerate(jobs):
        left, right = st.columns([5, 1], vertical_alignment="center")
        if job.state == "waiting" or not job.started_files:
            left.progress(0.0, text=t("intake.waiting"))
        else:
            counts = {"n": format_number(job.started_files), "total": format_number(job.total_files)}
            label = t("intake.reading", name=escape_markdown(job.current_name, 60), **counts)
            left.progress(min(1.0, job.started_files / max(1, job.total_files)), text=label)
        if job.is_stopping:
            right.caption(t("intake.stopping"))
        else:
            right.button(
                t("intake.stop"), key=f"stop_intake_{n}", on_click=_stop_ingestion, args=(job,), width="stretch"
            )


def _stop_ingestion(job: IngestionJob) -> None:
    login.current_owner()
    job.cancel()


def _draw_outcome(job: IngestionJob, index: int) -> None:
    """Draw the result of an ingestion in one line."""
    parts = [
        t(f"added.{outcome}", n=format_number(job.outcomes[outcome]))
        for outcome in ("added", "replaced", "unchanged")
        if job.outcomes[outcome]
    ]
    if job.failed_files:
        parts.append(t("added.unread", n=format_number(job.failed_files)))
    if job.skipped_files:
        parts.append(t("intake.left_out", n=format_number(job.skipped_files)))
    unread_count = format_number(max(0, job.total_files - job.finished_files))
    if job.state in ("stopped", "failed"):
        message_key = "intake.stopped" if job.state == "stopped" else "intake.failed"
        parts.append(t(message_key, n=unread_count))
    if job.error:
        storage_errors.draw(job.error)
    for item in job.remarked:
        name = escape_markdown(file_name(item.name), 80)
        if item.content:
            st.caption(t("added.read_as", name=name, suffix=item.content))
        if item.is_cut:
            st.caption(t("added.cut", name=name))
        if item.uncalculated:
            st.caption(t("added.uncalculated", name=name, n=item.uncalculated))
    with st.container(horizontal=True, vertical_alignment="center", key=f"outcome_{index}"):
        is_complete = job.state == "done" and not job.failed_files and job.total_files
        icon = ":material/check_circle:" if is_complete else ":material/info:"
        st.markdown(f"{icon} {' · '.join(parts) or t('intake.nothing')}", width="content")
        st.button(t("intake.dismiss"), key=f"dismiss_{index}", on_click=job.dismiss, type="tertiary")


# Rejected files


def _draw_rejected(library: Library) -> None:
    """Draw the rejected files by reason, each with a remedy, until they are dismissed."""
    owner = login.current_owner()
    rejected, total = library.list_rejected(owner, limit=2_000)
    if not rejected:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for item in rejected:
        name = escape_markdown(file_name(item.name), 80)
        if item.pages.isdigit():
            name = t("mark.aside", text=name, more=t("answer.page", n=item.pages, unit="page"))
        elif item.pages:
            name = t("mark.aside", text=name, more=t("unread.pages", pages=format_page_list(item.pages)))
        elif item.content:
            name = t("mark.aside", text=name, more=t("unread.content", suffix=item.content))
        groups.setdefault((item.outcome, item.limit), []).append(name)
    title = t("unread.title", n=format_number(total))
    with st.expander(title, key="unread", icon=":material/error_outline:", expanded=True):
        for (outcome, limit_name), names in groups.items():
            st.markdown(f"{_reason_text(outcome, limit_name, len(names))}  \n{_remedy_text(outcome, limit_name)}")
            shown = names[:MAX_NAMES_PER_REASON]
            if len(names) > MAX_NAMES_PER_REASON:
                shown.append(t("unread.more", n=format_number(len(names) - MAX_NAMES_PER_REASON)))
            st.caption(" · ".join(shown))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(t("unread.dismiss"), key="dismiss_unread", on_click=_dismiss_rejected)
            st.caption(t("unread.kept"), width="content")


def _reason_text(outcome: str, limit_name: str, count: int) -> str:
    """Describe why files were rejected, with the exceeded limit and their number."""
    parts = [f"**{t(f'unread.{outcome}')}**"]
    if has_message(key := f"over.{limit_name}"):
        parts.append(t(key, n=format_number(FILE_LIMITS.get(limit_name, 0))))
    return f"{' — '.join(parts)} ({format_number(count)})"


def _remedy_text(outcome: str, limit_name: str) -> str:
    """Return the remedy for an exceeded limit, or else for the outcome."""
    key = "remedy.shape" if limit_name in STRUCTURE_LIMITS else f"remedy.{limit_name}"
    values = {"limit": limit_text(), "line": f"`{OCR_INSTALL}`"}
    return t(key if has_message(key) else f"remedy.{outcome}", **values)


def _dismiss_rejected() -> None:
    get_application().library.dismiss_rejected(login.current_owner())


def draw_introduction(library: Library) -> None:
    """Draw the explanation shown while the library has no documents of its own."""
    with st.container(border=True, key="teach"):
        st.markdown(f"**{t('library.empty')}**")
        scans = "library.teach_scans" if library.scan_reader.is_available else "library.teach_no_scans"
        for key in ("library.teach_kinds", scans, "library.teach_not", "library.teach_kept"):
            st.markdown(t(key))
