"""What can be taken away from a run: the report, its sources, its places and its tables.

Every format is a row of a table here. Its file is made when somebody asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

import streamlit as st

import research
from pages.shared import errors
from pages.shared.login import owner
from pages.shared.words import lang, t
from research import (
    CitedAnswer,
    Place,
    Report,
    Rows,
    StoreError,
    application,
    file_name,
    geojson,
    kml,
    lined,
    located,
    places_csv,
    readable_rows,
    report_json,
    report_markdown,
    report_origin,
    rows_csv,
    rows_excel,
)

_log = logging.getLogger(__name__)
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MARKDOWN, _FAILED = "markdown", "downloads_failed"  # in the session
GROUPS = (
    "report",
    "sources",
    "places",
    "tables",
    "all",
)  # of what is offered beside the usual format
WHOLE = (
    "report",
    "all",
)  # the groups whose formats every run has: one of them can be the usual one
USUAL = "download"  # the name under which a person's usual format is remembered
FIRST = "md"  # what it is for those who have downloaded nothing yet

Made = Callable[[], str | bytes]


class Format(NamedTuple):
    """A kind of file: `kind` is of its key, `words` of its button, `n` of which table it is."""

    kind: str
    group: str
    words: str
    suffix: str
    mime: str
    icon: str
    make: Made
    n: int = 0


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """One button for the format that this person has used last, and beside it all others."""
    offered = {one.kind: one for one in formats(report, cited)}
    chosen = str(application.preferences(owner=owner()).get(USUAL))
    usual = offered.get("grid_xlsx") or offered.get(chosen, offered[FIRST])
    with st.container(horizontal=True):
        offer(report, usual, main=True)
        with st.popover(t("download.more"), icon=":material/more_horiz:"):
            for group in GROUPS:
                members = [one for one in offered.values() if one.group == group and one != usual]
                if members:
                    st.caption(t(f"download_group.{group}"))
                    with st.container(horizontal=True):
                        for one in members:
                            offer(report, one)
    for words, found in st.session_state.get(_FAILED, {}).pop(report.run.id, ()):
        st.error(t("download.failed", what=words, id=found))


def formats(report: Report, cited: CitedAnswer | None) -> Iterator[Format]:
    """What can be made of a run, in the order in which it is offered."""
    yield Format("md", "report", t("download.md"), ".md", "text/markdown",
                 ":material/download:",
                 lambda: report_markdown(report, cited, citations="links"))  # fmt: skip
    for kind, ending, mime, icon in (
        ("pdf", "pdf", "application/pdf", ":material/picture_as_pdf:"),
        ("docx", "docx", _DOCX, ":material/description:"),
        ("page", "html", "text/html", ":material/html:"),
    ):
        yield Format(kind, "report", t(f"download.{kind}"), f".{ending}", mime, icon,
                     lambda ending=ending: research.report_as(report, cited, ending))  # fmt: skip
    yield Format("notes", "report", t("download.notes"), ".footnotes.md", "text/markdown",
                 ":material/superscript:",
                 lambda: report_markdown(report, cited, citations="footnotes"))  # fmt: skip
    yield Format("json", "report", t("download.json"), ".json", "application/json",
                 ":material/data_object:", lambda: report_json(report, cited))  # fmt: skip
    if cited is not None and cited.sources:
        yield from _of_sources(report, cited)
    yield from _of_places(report, cited)
    if research.report_tabled(report):
        yield from _of_grid(report, cited)
    else:
        yield from _of_answer(report, cited)
    yield from _of_tables(report, cited)
    yield Format("zip", "all", t("download.zip"), ".zip", "application/zip",
                 ":material/folder_zip:", lambda: research.report_zip(report, cited))  # fmt: skip


def _of_sources(report: Report, cited: CitedAnswer) -> Iterator[Format]:
    for kind, ending, mime in (
        ("csl", "csl.json", "application/vnd.citationstyles.csl+json"),
        ("bib", "bib", "application/x-bibtex"),
        ("ris", "ris", "application/x-research-info-systems"),
    ):
        yield Format(kind, "sources", t(f"download.{kind}"), f".{ending}", mime,
                     ":material/format_quote:",
                     lambda ending=ending: research.report_as(report, cited, ending))  # fmt: skip
    yield Format("sources_csv", "sources", t("download.sources_csv"), ".sources.csv", "text/csv",
                 ":material/format_quote:", lambda: research.sources_csv(cited.sources))  # fmt: skip


def _of_grid(report: Report, cited: CitedAnswer | None) -> Iterator[Format]:
    """A table whose cells have evidence of their own."""
    for kind, ending, mime in (
        ("xlsx", "xlsx", _XLSX),
        ("csv", "csv", "text/csv"),
        ("parquet", "parquet", "application/vnd.apache.parquet"),
        ("md", "table.md", "text/markdown"),
        ("json", "table.json", "application/json"),
    ):
        yield Format(f"grid_{kind}", "tables", t(f"download.grid_{kind}"), f".{ending}", mime,
                     ":material/table:",
                     lambda ending=ending: research.report_as(report, cited, ending))  # fmt: skip


def _of_answer(report: Report, cited: CitedAnswer | None) -> Iterator[Format]:
    """The tables that a model has written into the answer."""
    tables = research.answer_tables(cited) if cited else ()
    if tables:
        told = report_origin(report, cited)
        files: tuple[tuple[str, str, str, Made], ...] = (
            ("csv", ".csv", "text/csv", lambda: research.answer_tables_csv(tables)),
            ("excel", ".xlsx", _XLSX, lambda: research.answer_tables_excel(tables, told)),
        )
        for kind, suffix, mime, make in files:
            yield Format(f"answer_{kind}", "tables", t(f"download.answer_{kind}"), f".tables{suffix}",
                         mime, ":material/table:", make)  # fmt: skip


def _of_places(report: Report, cited: CitedAnswer | None) -> Iterator[Format]:
    found: dict[str, Place] = {}
    for item in report.evidence:
        if item.place and located(item.place):
            found.setdefault(item.place.id, item.place)
    places, title = tuple(found.values()), report.run.question
    if not places:
        return
    told = report_origin(report, cited)
    ways = [item.way for item in report.evidence if item.way and lined(item.way)]
    files: tuple[tuple[str, str, str, Made], ...] = (
        ("geojson", ".geojson", "application/geo+json", lambda: geojson(places, told, ways)),
        (
            "kml",
            ".kml",
            "application/vnd.google-earth.kml+xml",
            lambda: kml(places, title, told, ways),
        ),
        ("csv", ".places.csv", "text/csv", lambda: places_csv(places)),
    )
    for kind, suffix, mime, make in files:
        yield Format(f"places_{kind}", "places", t(f"map.{kind}"), suffix, mime,
                     ":material/place:", make)  # fmt: skip


def _of_tables(report: Report, cited: CitedAnswer | None) -> Iterator[Format]:
    told, tongue = report_origin(report, cited), lang()
    tables = [one.rows for one in report.findings if one.rows and one.rows.rows]
    for n, rows in enumerate(tables, 1):
        which = n if len(tables) > 1 else 0
        files: tuple[tuple[str, str, str, Callable[[Rows], bytes]], ...] = (
            ("csv", ".csv", "text/csv", rows_csv),
            ("excel", ".xlsx", _XLSX, lambda rows: rows_excel(readable_rows(rows, tongue), told)),
        )
        for kind, suffix, mime, write in files:
            yield Format(f"table{n}_{kind}", "tables", t(f"rows.{kind}"), f".rows{n}{suffix}", mime,
                         ":material/table:", lambda write=write, rows=rows: write(rows),
                         which)  # fmt: skip


def offer(report: Report, one: Format, *, main: bool = False) -> None:
    """The button of a file, which is made when it is asked for; the `main` one says what it does."""
    words = f"{one.words} {one.n}" if one.n else one.words
    make = made(report, one, words, noted=not main)
    st.download_button(
        t(f"download_now.{one.kind}") if main else words,
        _kept(report, make) if main and one.kind == FIRST else make,
        # Names are made, never taken from outside.
        file_name=file_name(report, one.suffix),
        mime=one.mime,
        key=f"download_{one.kind}_{report.run.id[:8]}",
        on_click="ignore",
        icon=":material/download:" if main else one.icon,
        type="secondary" if main else "tertiary",
    )


def made(report: Report, one: Format, words: str, *, noted: bool = False) -> Callable[[], bytes]:
    """Makes the file; if it is `noted`, its format is the usual one from then on. That it failed is told at once by the
    button, and by the page from then on."""
    failed: dict[str, list[tuple[str, str]]] = st.session_state.setdefault(_FAILED, {})
    whose = owner()

    def make() -> bytes:
        try:
            data = one.make()
        except Exception as error:  # noqa: BLE001 - whatever it is, there is no file
            found = errors.note(error)
            _log.error("error %s: the %s file of run %s", found, one.kind, report.run.id)
            failed.setdefault(report.run.id, []).append((words, found))
            raise RuntimeError("the file could not be made") from None
        if noted and one.group in WHOLE:
            remember(one.kind, whose)
        return data.encode("utf-8", "replace") if isinstance(data, str) else data

    return make


def remember(kind: str, whose: str) -> None:
    """Notes the format that somebody has used last. A store that cannot take it keeps no file back."""
    try:
        if application.preferences(owner=whose).get(USUAL) != kind:
            application.prefer(USUAL, kind, owner=whose)
    except StoreError as error:
        _log.warning("the usual format could not be noted: %s", error.trouble)


def _kept(report: Report, make: Callable[[], bytes]) -> bytes | Callable[[], bytes]:
    """The file of an answer that is done, made once; before that it is made when it is asked for."""
    if report.answer is None or report.run.status != "done":
        return make
    key = (report.run.id, report.answer.made)
    known = st.session_state.get(_MARKDOWN)
    if known is None or known[0] != key:
        try:
            st.session_state[_MARKDOWN] = known = (key, make())
        except RuntimeError:
            return make
    data: bytes = known[1]
    return data
