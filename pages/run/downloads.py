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
from pages.shared.localization import current_language, t
from pages.shared.login import current_owner
from research import (
    CitedAnswer,
    Place,
    QueryResult,
    Report,
    StoreError,
    application,
    export_file_name,
    has_line_on_globe,
    is_on_globe,
    localise_rows,
    places_csv,
    places_geojson,
    places_kml,
    provenance_lines,
    report_json,
    report_markdown,
    rows_csv,
    rows_excel,
)

_log = logging.getLogger(__name__)
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_MARKDOWN_KEY, _FAILED_KEY = "markdown", "downloads_failed"  # in the session
FORMAT_GROUPS = (
    "report",
    "sources",
    "places",
    "tables",
    "all",
)  # of what is offered beside the usual format
DEFAULT_GROUPS = (
    "report",
    "all",
)  # the groups whose formats every run has: one of them can be the usual one
DEFAULT_PREFERENCE = "download"  # the name under which a person's usual format is remembered
DEFAULT_FORMAT = "md"  # what it is for those who have downloaded nothing yet

BuildFile = Callable[[], str | bytes]


class DownloadFormat(NamedTuple):
    """A kind of file: `kind` is of its key, `words` of its button, `n` of which table it is."""

    kind: str
    group: str
    label: str
    suffix: str
    mime: str
    icon: str
    build: BuildFile
    table_number: int = 0


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """One button for the format that this person has used last, and beside it all others."""
    offered = {one.kind: one for one in list_formats(report, cited)}
    chosen = str(application.preferences(owner=current_owner()).get(DEFAULT_PREFERENCE))
    usual = offered.get("grid_xlsx") or offered.get(chosen, offered[DEFAULT_FORMAT])
    with st.container(horizontal=True):
        draw_button(report, usual, is_default=True)
        with st.popover(t("download.more"), icon=":material/more_horiz:"):
            for group in FORMAT_GROUPS:
                members = [one for one in offered.values() if one.group == group and one != usual]
                if members:
                    st.caption(t(f"download_group.{group}"))
                    with st.container(horizontal=True):
                        for one in members:
                            draw_button(report, one)
    for words, found in st.session_state.get(_FAILED_KEY, {}).pop(report.run.id, ()):
        st.error(t("download.failed", what=words, id=found))


def list_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    """What can be made of a run, in the order in which it is offered."""
    yield DownloadFormat("md", "report", t("download.md"), ".md", "text/markdown",
                 ":material/download:",
                 lambda: report_markdown(report, cited, citation_format="links"))  # fmt: skip
    for kind, ending, mime, icon in (
        ("pdf", "pdf", "application/pdf", ":material/picture_as_pdf:"),
        ("docx", "docx", _DOCX, ":material/description:"),
        ("page", "html", "text/html", ":material/html:"),
    ):
        yield DownloadFormat(kind, "report", t(f"download.{kind}"), f".{ending}", mime, icon,
                     lambda ending=ending: research.export_report(report, cited, ending))  # fmt: skip
    yield DownloadFormat("notes", "report", t("download.notes"), ".footnotes.md", "text/markdown",
                 ":material/superscript:",
                 lambda: report_markdown(report, cited, citation_format="footnotes"))  # fmt: skip
    yield DownloadFormat("json", "report", t("download.json"), ".json", "application/json",
                 ":material/data_object:", lambda: report_json(report, cited))  # fmt: skip
    if cited is not None and cited.sources:
        yield from _source_formats(report, cited)
    yield from _place_formats(report, cited)
    if research.has_cited_table(report):
        yield from _grid_formats(report, cited)
    else:
        yield from _answer_table_formats(report, cited)
    yield from _row_formats(report, cited)
    yield DownloadFormat("zip", "all", t("download.zip"), ".zip", "application/zip",
                 ":material/folder_zip:", lambda: research.report_zip(report, cited))  # fmt: skip


def _source_formats(report: Report, cited: CitedAnswer) -> Iterator[DownloadFormat]:
    for kind, ending, mime in (
        ("csl", "csl.json", "application/vnd.citationstyles.csl+json"),
        ("bib", "bib", "application/x-bibtex"),
        ("ris", "ris", "application/x-research-info-systems"),
    ):
        yield DownloadFormat(kind, "sources", t(f"download.{kind}"), f".{ending}", mime,
                     ":material/format_quote:",
                     lambda ending=ending: research.export_report(report, cited, ending))  # fmt: skip
    yield DownloadFormat("sources_csv", "sources", t("download.sources_csv"), ".sources.csv", "text/csv",
                 ":material/format_quote:", lambda: research.sources_csv(cited.sources))  # fmt: skip


def _grid_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    """A table whose cells have evidence of their own."""
    for kind, ending, mime in (
        ("xlsx", "xlsx", _XLSX),
        ("csv", "csv", "text/csv"),
        ("parquet", "parquet", "application/vnd.apache.parquet"),
        ("md", "table.md", "text/markdown"),
        ("json", "table.json", "application/json"),
    ):
        yield DownloadFormat(f"grid_{kind}", "tables", t(f"download.grid_{kind}"), f".{ending}", mime,
                     ":material/table:",
                     lambda ending=ending: research.export_report(report, cited, ending))  # fmt: skip


def _answer_table_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    """The tables that a model has written into the answer."""
    tables = research.answer_tables(cited) if cited else ()
    if tables:
        told = provenance_lines(report, cited)
        files: tuple[tuple[str, str, str, BuildFile], ...] = (
            ("csv", ".csv", "text/csv", lambda: research.answer_tables_csv(tables)),
            ("excel", ".xlsx", _XLSX, lambda: research.answer_tables_excel(tables, told)),
        )
        for kind, suffix, mime, make in files:
            yield DownloadFormat(f"answer_{kind}", "tables", t(f"download.answer_{kind}"), f".tables{suffix}",
                         mime, ":material/table:", make)  # fmt: skip


def _place_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    found: dict[str, Place] = {}
    for item in report.evidence:
        if item.place and is_on_globe(item.place):
            found.setdefault(item.place.id, item.place)
    places, title = tuple(found.values()), report.run.question
    if not places:
        return
    told = provenance_lines(report, cited)
    ways = [item.way for item in report.evidence if item.way and has_line_on_globe(item.way)]
    files: tuple[tuple[str, str, str, BuildFile], ...] = (
        ("geojson", ".geojson", "application/geo+json", lambda: places_geojson(places, told, ways)),
        (
            "kml",
            ".kml",
            "application/vnd.google-earth.kml+xml",
            lambda: places_kml(places, title, told, ways),
        ),
        ("csv", ".places.csv", "text/csv", lambda: places_csv(places)),
    )
    for kind, suffix, mime, make in files:
        yield DownloadFormat(f"places_{kind}", "places", t(f"map.{kind}"), suffix, mime,
                     ":material/place:", make)  # fmt: skip


def _row_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    told, tongue = provenance_lines(report, cited), current_language()
    tables = [one.rows for one in report.findings if one.rows and one.rows.rows]
    for n, rows in enumerate(tables, 1):
        which = n if len(tables) > 1 else 0
        files: tuple[tuple[str, str, str, Callable[[QueryResult], bytes]], ...] = (
            ("csv", ".csv", "text/csv", rows_csv),
            ("excel", ".xlsx", _XLSX, lambda rows: rows_excel(localise_rows(rows, tongue), told)),
        )
        for kind, suffix, mime, write in files:
            yield DownloadFormat(f"table{n}_{kind}", "tables", t(f"rows.{kind}"), f".rows{n}{suffix}", mime,
                         ":material/table:", lambda write=write, rows=rows: write(rows),
                         which)  # fmt: skip


def draw_button(report: Report, download: DownloadFormat, *, is_default: bool = False) -> None:
    """The button of a file, which is made when it is asked for; the `main` one says what it does."""
    words = f"{download.label} {download.table_number}" if download.table_number else download.label
    make = create_builder(report, download, words, should_remember=not is_default)
    st.download_button(
        t(f"download_now.{download.kind}") if is_default else words,
        _cache_file(report, make) if is_default and download.kind == DEFAULT_FORMAT else make,
        # Names are made, never taken from outside.
        file_name=export_file_name(report, download.suffix),
        mime=download.mime,
        key=f"download_{download.kind}_{report.run.id[:8]}",
        on_click="ignore",
        icon=":material/download:" if is_default else download.icon,
        type="secondary" if is_default else "tertiary",
    )


def create_builder(
    report: Report, download: DownloadFormat, label: str, *, should_remember: bool = False
) -> Callable[[], bytes]:
    """Makes the file; if it is `noted`, its format is the usual one from then on. That it failed is told at once by the
    button, and by the page from then on."""
    failed: dict[str, list[tuple[str, str]]] = st.session_state.setdefault(_FAILED_KEY, {})
    whose = current_owner()

    def make() -> bytes:
        try:
            data = download.build()
        except Exception as error:  # noqa: BLE001 - whatever it is, there is no file
            found = errors.log_error(error)
            _log.error("error %s: the %s file of run %s", found, download.kind, report.run.id)
            failed.setdefault(report.run.id, []).append((label, found))
            raise RuntimeError("the file could not be made") from None
        if should_remember and download.group in DEFAULT_GROUPS:
            remember_format(download.kind, whose)
        return data.encode("utf-8", "replace") if isinstance(data, str) else data

    return make


def remember_format(kind: str, owner: str) -> None:
    """Notes the format that somebody has used last. A store that cannot take it keeps no file back."""
    try:
        if application.preferences(owner=owner).get(DEFAULT_PREFERENCE) != kind:
            application.set_preference(DEFAULT_PREFERENCE, kind, owner=owner)
    except StoreError as error:
        _log.warning("the usual format could not be noted: %s", error.problem)


def _cache_file(report: Report, build: Callable[[], bytes]) -> bytes | Callable[[], bytes]:
    """The file of an answer that is done, made once; before that it is made when it is asked for."""
    if report.answer is None or report.run.status != "done":
        return build
    key = (report.run.id, report.answer.made)
    known = st.session_state.get(_MARKDOWN_KEY)
    if known is None or known[0] != key:
        try:
            st.session_state[_MARKDOWN_KEY] = known = (key, build())
        except RuntimeError:
            return build
    data: bytes = known[1]
    return data
