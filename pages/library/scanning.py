"""Scanned pages: how far they are read, which could not be, and what is needed to read them."""

from __future__ import annotations

import streamlit as st

from pages.library.shown import file_name, listed
from pages.shared import login, trouble
from pages.shared.safe import plain
from pages.shared.words import number, t
from research import OCR_INSTALL, Library, Scan, application, page_ranges

POLL = 1.0  # seconds between looks at pages that are being read
LISTED = 12  # documents
REASONS = {
    "pixels": "scan.pixels",
    "memory": "scan.memory",
    "damaged": "scan.damaged",
    "slow": "scan.slow",
    "ended": "scan.ended",
    "characters": "scan.characters",
}


def draw(library: Library, document: int | None = None) -> None:
    """How it stands with all documents, or one; nothing where every page was read."""
    if library.reading.trouble:
        trouble.draw(library.reading.trouble)
    found = [scan for scan in library.scans() if document in (None, scan.document)]
    if not found:
        return
    with st.container(key="scans"):
        if library.reading.active:
            _live()
        elif stopped := [scan for scan in found if _can(library, scan)]:
            _stopped(stopped)
        resting = [scan for scan in found if scan.failed or not _can(library, scan)]
        for scan in resting[:LISTED]:
            _one(library, scan)
        if len(resting) > LISTED:
            st.caption(t("unread.more", n=number(len(resting) - LISTED)))


def _can(library: Library, scan: Scan) -> bool:
    """Whether pages of it wait that can be read here."""
    return bool(scan.waiting) and scan.kept and library.reading.able


@st.fragment(run_every=POLL)
def _live() -> None:
    library = application.desk().library
    reading, found = library.reading, library.scans()
    if not reading.active:
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    here = next((scan for scan in found if scan.document == reading.document), None)
    if reading.state == "elsewhere":
        left.caption(t("scan.elsewhere"))
    elif here:
        done = here.total - len(here.waiting)
        told = {"n": number(min(done + 1, here.total)), "total": number(here.total)}
        words = [t("scan.reading", name=plain(file_name(here.name), 60), **told)]
        if more := sum(_can(library, scan) for scan in found) - 1:
            words.append(t("scan.others", n=number(more)))
        left.progress(done / here.total, text=" · ".join(words))
    else:
        left.progress(0.0, text=t("scan.starting"))
    if reading.stopping:
        right.caption(t("scan.stopping"))
    else:
        right.button(t("intake.stop"), key="stop_scans", on_click=_stop, width="stretch")


def _stopped(found: list[Scan]) -> None:
    """Pages that wait and could be read, and the button for it."""
    read, total = found[0].read, found[0].total
    name = plain(file_name(found[0].name), 80)
    told = t("scan.rest", n=number(read), total=number(total), name=name)
    if len(found) > 1:
        told += " · " + t("scan.others", n=number(len(found) - 1))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/pause_circle: {told}", width="content")
        st.button(
            t("scan.go_on"), key="go_on", type="tertiary", icon=":material/play_arrow:",
            on_click=_go_on,
        )  # fmt: skip


def _one(library: Library, scan: Scan) -> None:
    """A document with pages that wait or failed, and what can be done."""
    name = f"**{plain(file_name(scan.name), 80)}**"
    able = library.reading.able
    with st.container(key=f"scan_{scan.document}"):
        if scan.waiting and not _can(library, scan):
            pages = listed(page_ranges(scan.waiting))
            told = t("scan.pictures", name=name, pages=pages, n=len(scan.waiting))
            remedy = t("scan.add_again") if able else t("scan.install", line=f"`{OCR_INSTALL}`")
            st.markdown(f":material/image: {told}  \n{remedy}")
        if scan.failed:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/error_outline: {_failures(scan, name)}", width="content")
                if able and scan.kept:
                    st.button(
                        t("scan.again"), key=f"again_{scan.document}", type="tertiary",
                        icon=":material/refresh:", on_click=_again, args=(scan.document,),
                    )  # fmt: skip


def _failures(scan: Scan, name: str) -> str:
    """The pages that could not be read, by reason."""
    pages: dict[str, list[int]] = {}
    for page, reason in scan.failed:
        pages.setdefault(reason, []).append(page)
    return "  \n".join(
        t(
            "scan.failed",
            name=name,
            pages=listed(page_ranges(found)),
            n=len(found),
            why=t(REASONS[reason]),
        )
        for reason, found in pages.items()
    )


def _stop() -> None:
    login.owner()  # what a widget calls comes before the router
    application.desk().library.reading.stop()


def _go_on() -> None:
    login.owner()
    application.desk().library.reading.begin()


def _again(document: int) -> None:
    login.owner()
    application.desk().library.read_again(document)
