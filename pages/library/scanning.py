"""Scanned pages: how far they are read, which could not be, and what is needed to read them."""

from __future__ import annotations

import streamlit as st

from pages.library.display import file_name, format_page_list
from pages.shared import login, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import OCR_INSTALL, Library, Scan, application, page_ranges

POLL_SECONDS = 1.0  # seconds between looks at pages that are being read
MAX_DOCUMENTS = 12  # documents
REASON_MESSAGES = {
    "pixels": "scan.pixels",
    "memory": "scan.memory",
    "damaged": "scan.damaged",
    "slow": "scan.slow",
    "ended": "scan.ended",
    "characters": "scan.characters",
}


def draw(library: Library, document_id: int | None = None) -> None:
    """How it stands with all documents, or one; nothing where every page was read."""
    if library.scan_reader.error:
        storage_errors.draw(library.scan_reader.error)
    found = [scan for scan in library.list_scans() if document_id in (None, scan.document_id)]
    if not found:
        return
    with st.container(key="scans"):
        if library.scan_reader.is_active:
            _draw_active_scans()
        elif stopped := [scan for scan in found if _is_readable(library, scan)]:
            _draw_paused_scans(stopped)
        resting = [scan for scan in found if scan.failed_pages or not _is_readable(library, scan)]
        for scan in resting[:MAX_DOCUMENTS]:
            _draw_scan(library, scan)
        if len(resting) > MAX_DOCUMENTS:
            st.caption(t("unread.more", n=format_number(len(resting) - MAX_DOCUMENTS)))


def _is_readable(library: Library, scan: Scan) -> bool:
    """Whether pages of it wait that can be read here."""
    return bool(scan.waiting_pages) and scan.has_file and library.scan_reader.is_available


@st.fragment(run_every=POLL_SECONDS)
def _draw_active_scans() -> None:
    library = application.get_application().library
    reading, found = library.scan_reader, library.list_scans()
    if not reading.is_active:
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    here = next((scan for scan in found if scan.document_id == reading.document_id), None)
    if reading.state == "elsewhere":
        left.caption(t("scan.elsewhere"))
    elif here:
        done = here.page_count - len(here.waiting_pages)
        told = {"n": format_number(min(done + 1, here.page_count)), "total": format_number(here.page_count)}
        words = [t("scan.reading", name=escape_markdown(file_name(here.name), 60), **told)]
        if more := sum(_is_readable(library, scan) for scan in found) - 1:
            words.append(t("scan.others", n=format_number(more)))
        left.progress(done / here.page_count, text=" · ".join(words))
    else:
        left.progress(0.0, text=t("scan.starting"))
    if reading.is_stopping:
        right.caption(t("scan.stopping"))
    else:
        right.button(t("intake.stop"), key="stop_scans", on_click=_stop_reading, width="stretch")


def _draw_paused_scans(scans: list[Scan]) -> None:
    """Pages that wait and could be read, and the button for it."""
    read, total = scans[0].read_count, scans[0].page_count
    name = escape_markdown(file_name(scans[0].name), 80)
    told = t("scan.rest", n=format_number(read), total=format_number(total), name=name)
    if len(scans) > 1:
        told += " · " + t("scan.others", n=format_number(len(scans) - 1))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/pause_circle: {told}", width="content")
        st.button(
            t("scan.go_on"), key="go_on", type="tertiary", icon=":material/play_arrow:",
            on_click=_resume_reading,
        )  # fmt: skip


def _draw_scan(library: Library, scan: Scan) -> None:
    """A document with pages that wait or failed, and what can be done."""
    name = f"**{escape_markdown(file_name(scan.name), 80)}**"
    able = library.scan_reader.is_available
    with st.container(key=f"scan_{scan.document_id}"):
        if scan.waiting_pages and not _is_readable(library, scan):
            pages = format_page_list(page_ranges(scan.waiting_pages))
            told = t("scan.pictures", name=name, pages=pages, n=len(scan.waiting_pages))
            remedy = t("scan.add_again") if able else t("scan.install", line=f"`{OCR_INSTALL}`")
            st.markdown(f":material/image: {told}  \n{remedy}")
        if scan.failed_pages:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/error_outline: {_failure_text(scan, name)}", width="content")
                if able and scan.has_file:
                    st.button(
                        t("scan.again"), key=f"again_{scan.document_id}", type="tertiary",
                        icon=":material/refresh:", on_click=_retry_document, args=(scan.document_id,),
                    )  # fmt: skip


def _failure_text(scan: Scan, name: str) -> str:
    """The pages that could not be read, by reason."""
    pages: dict[str, list[int]] = {}
    for page, reason in scan.failed_pages:
        pages.setdefault(reason, []).append(page)
    return "  \n".join(
        t(
            "scan.failed",
            name=name,
            pages=format_page_list(page_ranges(found)),
            n=len(found),
            why=t(REASON_MESSAGES[reason]),
        )
        for reason, found in pages.items()
    )


def _stop_reading() -> None:
    login.current_owner()  # what a widget calls comes before the router
    application.get_application().library.scan_reader.stop()


def _resume_reading() -> None:
    login.current_owner()
    application.get_application().library.scan_reader.start()


def _retry_document(document_id: int) -> None:
    login.current_owner()
    application.get_application().library.retry_failed_pages(document_id)
