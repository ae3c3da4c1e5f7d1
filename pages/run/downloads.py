"""Downloads of a run: the report, its sources, places and tables.

Each format is a DownloadFormat; its file is built when somebody clicks its button.
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
    export_file_name,
    get_application,
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
)  # in the order of the popover
DEFAULT_GROUPS = (
    "report",
    "all",
)  # formats of these groups exist for every run, so one can be the usual format
DEFAULT_PREFERENCE = "download"  # name of the preference that holds the usual format
DEFAULT_FORMAT = "md"  # usual format before the first download

BuildFile = Callable[[], str | bytes]


class DownloadFormat(NamedTuple):
    """A file that a run can be downloaded as."""

    kind: str  # part of its widget key
    group: str
    label: str  # on its button
    suffix: str
    mime: str
    icon: str
    build: BuildFile
    table_number: int = 0  # 0 unless there are several tables


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """Draw a button for the visitor's usual format and a popover with all others.

    For a table the workbook is always the usual format.
    """
    offered = {download.kind: download for download in list_formats(report, cited)}
    preferred_kind = str(get_application().store.preferences(current_owner()).get(DEFAULT_PREFERENCE))
    usual = offered.get("grid_xlsx") or offered.get(preferred_kind, offered[DEFAULT_FORMAT])
    with st.container(horizontal=True):
        draw_button(report, usual, is_default=True)
        with st.popover(t("download.more"), icon=":material/more_horiz:"):
            for group in FORMAT_GROUPS:
                members = [download for download in offered.values() if download.group == group and download != usual]
                if members:
                    st.caption(t(f"download_group.{group}"))
                    with st.container(horizontal=True):
                        for download in members:
                            draw_button(report, download)
    for label, error_id in st.session_state.get(_FAILED_KEY, {}).pop(report.run.id, ()):
        st.error(t("download.failed", what=label, id=error_id))


def list_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    """Yield the formats of a run in the order in which they are offered."""
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
    """Yield the formats of a table whose cells have their own evidence."""
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
    """Yield the formats of the tables that a model wrote into the answer."""
    tables = research.answer_tables(cited) if cited else ()
    if tables:
        provenance = provenance_lines(report, cited)
        files: tuple[tuple[str, str, str, BuildFile], ...] = (
            ("csv", ".csv", "text/csv", lambda: research.answer_tables_csv(tables)),
            ("excel", ".xlsx", _XLSX, lambda: research.answer_tables_excel(tables, provenance)),
        )
        for kind, suffix, mime, make in files:
            yield DownloadFormat(f"answer_{kind}", "tables", t(f"download.answer_{kind}"), f".tables{suffix}",
                         mime, ":material/table:", make)  # fmt: skip


def _place_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    places_by_id: dict[str, Place] = {}
    for item in report.evidence:
        if item.place and is_on_globe(item.place):
            places_by_id.setdefault(item.place.id, item.place)
    places, title = tuple(places_by_id.values()), report.run.question
    if not places:
        return
    provenance = provenance_lines(report, cited)
    routes = [item.way for item in report.evidence if item.way and has_line_on_globe(item.way)]
    files: tuple[tuple[str, str, str, BuildFile], ...] = (
        ("geojson", ".geojson", "application/geo+json", lambda: places_geojson(places, provenance, routes)),
        (
            "kml",
            ".kml",
            "application/vnd.google-earth.kml+xml",
            lambda: places_kml(places, title, provenance, routes),
        ),
        ("csv", ".places.csv", "text/csv", lambda: places_csv(places)),
    )
    for kind, suffix, mime, make in files:
        yield DownloadFormat(f"places_{kind}", "places", t(f"map.{kind}"), suffix, mime, ":material/place:", make)


def _row_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    provenance, language = provenance_lines(report, cited), current_language()
    tables = [finding.rows for finding in report.findings if finding.rows and finding.rows.rows]
    for n, rows in enumerate(tables, 1):
        table_number = n if len(tables) > 1 else 0
        files: tuple[tuple[str, str, str, Callable[[QueryResult], bytes]], ...] = (
            ("csv", ".csv", "text/csv", rows_csv),
            ("excel", ".xlsx", _XLSX, lambda rows: rows_excel(localise_rows(rows, language), provenance)),
        )
        for kind, suffix, mime, write in files:
            yield DownloadFormat(f"table{n}_{kind}", "tables", t(f"rows.{kind}"), f".rows{n}{suffix}", mime,
                         ":material/table:", lambda write=write, rows=rows: write(rows),
                         table_number)  # fmt: skip


def draw_button(report: Report, download: DownloadFormat, *, is_default: bool = False) -> None:
    """Draw the download button of a format; the default button has a label with a verb."""
    label = f"{download.label} {download.table_number}" if download.table_number else download.label
    build_file = create_builder(report, download, label, should_remember=not is_default)
    st.download_button(
        t(f"download_now.{download.kind}") if is_default else label,
        _cache_file(report, build_file) if is_default and download.kind == DEFAULT_FORMAT else build_file,
        # The name is generated, never taken from outside.
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
    """Return a function that builds the file of a format.

    With `should_remember`, a format of DEFAULT_GROUPS then becomes the visitor's usual one. A
    failure raises RuntimeError, which the button reports, and is kept in the session for the next
    drawing of the page.
    """
    failures: dict[str, list[tuple[str, str]]] = st.session_state.setdefault(_FAILED_KEY, {})
    owner = current_owner()

    def build_file() -> bytes:
        try:
            data = download.build()
        except Exception as error:  # noqa: BLE001 - any failure leaves no file
            error_id = errors.log_error(error)
            _log.error("error %s: the %s file of run %s", error_id, download.kind, report.run.id)
            failures.setdefault(report.run.id, []).append((label, error_id))
            raise RuntimeError("the file could not be made") from None
        if should_remember and download.group in DEFAULT_GROUPS:
            remember_format(download.kind, owner)
        return data.encode("utf-8", "replace") if isinstance(data, str) else data

    return build_file


def remember_format(kind: str, owner: str) -> None:
    """Save the usual format of an owner.

    A store that cannot be written does not stop the download.
    """
    try:
        if get_application().store.preferences(owner).get(DEFAULT_PREFERENCE) != kind:
            get_application().store.set_preference(owner, DEFAULT_PREFERENCE, kind)
    except StoreError as error:
        _log.warning("the usual format could not be noted: %s", error.problem)


def _cache_file(report: Report, build: Callable[[], bytes]) -> bytes | Callable[[], bytes]:
    """Return the file of a finished answer, built once per session; else the builder itself."""
    if report.answer is None or report.run.status != "done":
        return build
    key = (report.run.id, report.answer.made)
    cached = st.session_state.get(_MARKDOWN_KEY)
    if cached is None or cached[0] != key:
        try:
            st.session_state[_MARKDOWN_KEY] = cached = (key, build())
        except RuntimeError:
            return build
    data: bytes = cached[1]
    return data
