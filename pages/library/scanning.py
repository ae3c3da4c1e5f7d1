"""OCR of scanned pages: progress, failed pages and missing requirements."""

from __future__ import annotations

import streamlit as st

from pages.library.display import file_name, format_page_list
from pages.shared import login, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import format_number, t
from research import OCR_INSTALL, Library, Scan, get_application, page_ranges

POLL_SECONDS = 1.0  # interval of progress updates
MAX_DOCUMENTS = 12  # listed


def draw(library: Library, document_id: int | None = None) -> None:
    """Draw the state of OCR for all documents or one; nothing if every page was read."""
    if library.scan_reader.error:
        storage_errors.draw(library.scan_reader.error)
    scans = [scan for scan in library.list_scans() if document_id in (None, scan.document_id)]
    if not scans:
        return
    with st.container(key="scans"):
        if library.scan_reader.is_active:
            _draw_active_scans()
        elif paused := [scan for scan in scans if _is_readable(library, scan)]:
            _draw_paused_scans(paused)
        listed = [scan for scan in scans if scan.failed_pages or not _is_readable(library, scan)]
        for scan in listed[:MAX_DOCUMENTS]:
            _draw_scan(library, scan)
        if len(listed) > MAX_DOCUMENTS:
            st.caption(t("unread.more", n=format_number(len(listed) - MAX_DOCUMENTS)))


def _is_readable(library: Library, scan: Scan) -> bool:
    """Return True if the document has waiting pages that OCR can read on this machine."""
    return bool(scan.waiting_pages) and scan.has_file and library.scan_reader.is_available


@st.fragment(run_every=POLL_SECONDS)
def _draw_active_scans() -> None:
    library = get_application().library
    reader, scans = library.scan_reader, library.list_scans()
    if not reader.is_active:
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    current = next((scan for scan in scans if scan.document_id == reader.document_id), None)
    if reader.state == "elsewhere":
        left.caption(t("scan.elsewhere"))
    elif current:
        done = current.page_count - len(current.waiting_pages)
        progress = {"n": format_number(min(done + 1, current.page_count)), "total": format_number(current.page_count)}
        parts = [t("scan.reading", name=escape_markdown(file_name(current.name), 60), **progress)]
        if other_count := sum(_is_readable(library, scan) for scan in scans) - 1:
            parts.append(t("scan.others", n=format_number(other_count)))
        left.progress(done / current.page_count, text=" · ".join(parts))
    else:
        left.progress(0.0, text=t("scan.starting"))
    if reader.is_stopping:
        right.caption(t("scan.stopping"))
    else:
        right.button(t("intake.stop"), key="stop_scans", on_click=_stop_reading, width="stretch")


def _draw_paused_scans(scans: list[Scan]) -> None:
    """Draw the documents with readable waiting pages, and a button that resumes OCR."""
    read, total = scans[0].read_count, scans[0].page_count
    name = escape_markdown(file_name(scans[0].name), 80)
    label = t("scan.rest", n=format_number(read), total=format_number(total), name=name)
    if len(scans) > 1:
        label += " · " + t("scan.others", n=format_number(len(scans) - 1))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/pause_circle: {label}", width="content")
        st.button(t("scan.go_on"), key="go_on", type="tertiary", icon=":material/play_arrow:", on_click=_resume_reading)


def _draw_scan(library: Library, scan: Scan) -> None:
    """Draw a document with unreadable or failed pages, and the remedy."""
    name = f"**{escape_markdown(file_name(scan.name), 80)}**"
    is_available = library.scan_reader.is_available
    with st.container(key=f"scan_{scan.document_id}"):
        if scan.waiting_pages and not _is_readable(library, scan):
            pages = format_page_list(page_ranges(scan.waiting_pages))
            message = t("scan.pictures", name=name, pages=pages, n=len(scan.waiting_pages))
            remedy = t("scan.add_again") if is_available else t("scan.install", line=f"`{OCR_INSTALL}`")
            st.markdown(f":material/image: {message}  \n{remedy}")
        if scan.failed_pages:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/error_outline: {_failure_text(scan, name)}", width="content")
                if is_available and scan.has_file:
                    st.button(
                        t("scan.again"),
                        key=f"again_{scan.document_id}",
                        type="tertiary",
                        icon=":material/refresh:",
                        on_click=_retry_document,
                        args=(scan.document_id,),
                    )


def _failure_text(scan: Scan, name: str) -> str:
    """Describe the failed pages by reason."""
    pages: dict[str, list[int]] = {}
    for page, reason in scan.failed_pages:
        pages.setdefault(reason, []).append(page)
    return "  \n".join(
        t(
            "scan.failed",
            name=name,
            pages=format_page_list(page_ranges(numbers)),
            n=len(numbers),
            why=t(f"scan.{reason}"),
        )
        for reason, numbers in pages.items()
    )


def _stop_reading() -> None:
    login.current_owner()  # callbacks run before the router
    get_application().library.scan_reader.stop()


def _resume_reading() -> None:
    login.current_owner()
    get_application().library.scan_reader.start()


def _retry_document(document_id: int) -> None:
    login.current_owner()
    get_application().library.retry_failed_pages(document_id)
