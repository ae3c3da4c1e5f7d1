"""Downloads of a run: the files of the registry of export formats.

A file is built when somebody clicks its button.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import streamlit as st

from pages.shared import errors
from pages.shared.localization import current_language, t
from pages.shared.login import current_owner
from research import (
    CitedAnswer,
    ExportFile,
    ExportOptions,
    Report,
    StoreError,
    export_file_name,
    get_application,
    has_cited_table,
    list_exports,
)

_log = logging.getLogger(__name__)
_MARKDOWN_KEY, _FAILED_KEY = "markdown", "downloads_failed"  # in the session
PREFERABLE_GROUPS = ("report", "all")  # formats of these groups exist for every run, so one can be preferred
FORMAT_PREFERENCE = "download"  # name of the preference that holds the preferred format
DEFAULT_FORMAT = "md"  # preferred before the first download

_GROUP_BY_CONTENT = {"table": "tables", "answer tables": "tables", "rows": "tables", "everything": "all"}
GROUP_ICONS = {  # in the order of the popover
    "report": "description",
    "sources": "format_quote",
    "places": "place",
    "tables": "table",
    "all": "folder_zip",
}


class DownloadFormat(NamedTuple):
    """A file that a run can be downloaded as."""

    kind: str  # part of its widget key
    group: str
    label: str  # on its button
    label_as_preferred: str  # on the button of the preferred format
    suffix: str
    mime: str
    icon: str  # a Material symbol
    build: Callable[[], bytes]
    options: ExportOptions


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """Draw a button for the visitor's preferred format and a popover with all others.

    For a table the workbook is always the preferred format.
    """
    offered = {download.kind: download for download in list_formats(report, cited)}
    preferred_kind = str(get_application().store.preferences(current_owner()).get(FORMAT_PREFERENCE))
    preferred = offered.get("grid_xlsx") or offered.get(preferred_kind, offered[DEFAULT_FORMAT])
    with st.container(horizontal=True):
        draw_button(report, preferred, is_preferred=True)
        with st.popover(t("download.more"), icon=":material/more_horiz:"):
            for group in GROUP_ICONS:
                members = [
                    download for download in offered.values() if download.group == group and download != preferred
                ]
                if members:
                    st.caption(t(f"download_group.{group}"))
                    with st.container(horizontal=True):
                        for download in members:
                            draw_button(report, download)
    for label, error_id in st.session_state.get(_FAILED_KEY, {}).pop(report.run.id, ()):
        st.error(t("download.failed", what=label, id=error_id))


def list_formats(report: Report, cited: CitedAnswer | None) -> Iterator[DownloadFormat]:
    """Yield the formats of a run in the order in which they are offered."""
    language, settings = current_language(), get_application().services_for(current_owner()).settings
    files = [file for file in list_exports(report, cited) if _is_offered(file, report, cited)]
    file_counts = Counter(file.format.key for file in files)
    for file in files:
        export_format = file.format
        options = ExportOptions.from_settings(
            settings,
            language=language,
            table_number=file.table_number,
            page_viewer=get_application().cited_page,
        )
        label = export_format.label.in_language(language)
        short_label = (export_format.short_label or export_format.label).in_language(language)
        group = _GROUP_BY_CONTENT.get(export_format.content, export_format.content)
        yield DownloadFormat(
            f"{export_format.key}_{file.table_number}" if file.table_number else export_format.key,
            group,
            f"{label} {file.table_number}" if file_counts[export_format.key] > 1 else label,
            t("download.now", format=short_label),
            f".{file.suffix}",
            export_format.mime,
            export_format.icon or GROUP_ICONS[group],
            partial(export_format.write, report, cited, options),
            options,
        )


def _is_offered(file: ExportFile, report: Report, cited: CitedAnswer | None) -> bool:
    """Return False for an empty list of sources, and for a table that the answer only repeats."""
    if file.format.content == "answer tables":
        return not has_cited_table(report)
    return file.format.content != "sources" or bool(cited and cited.sources)


def draw_button(report: Report, download: DownloadFormat, *, is_preferred: bool = False) -> None:
    """Draw the download button of a format; that of the preferred format has a verb in its label."""
    build_file = create_builder(report, download, should_remember=not is_preferred)
    st.download_button(
        download.label_as_preferred if is_preferred else download.label,
        _cache_file(report, build_file, download.options)
        if is_preferred and download.kind == DEFAULT_FORMAT
        else build_file,
        # The name is generated, never taken from outside.
        file_name=export_file_name(report, download.suffix),
        mime=download.mime,
        key=f"download_{download.kind}_{report.run.id[:8]}",
        on_click="ignore",
        icon=f":material/{'download' if is_preferred else download.icon}:",
        type="secondary" if is_preferred else "tertiary",
    )


def create_builder(report: Report, download: DownloadFormat, *, should_remember: bool = False) -> Callable[[], bytes]:
    """Return a function that builds the file of a format.

    With `should_remember`, a format of PREFERABLE_GROUPS then becomes the visitor's preferred one. A
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
            failures.setdefault(report.run.id, []).append((download.label, error_id))
            raise RuntimeError("the file could not be made") from None
        if should_remember and download.group in PREFERABLE_GROUPS:
            remember_format(download.kind, owner)
        return data

    return build_file


def remember_format(kind: str, owner: str) -> None:
    """Save the preferred format of an owner.

    A store that cannot be written does not stop the download.
    """
    try:
        if get_application().store.preferences(owner).get(FORMAT_PREFERENCE) != kind:
            get_application().store.set_preference(owner, FORMAT_PREFERENCE, kind)
    except StoreError as error:
        _log.warning("the usual format could not be noted: %s", error.problem)


def _cache_file(report: Report, build: Callable[[], bytes], options: ExportOptions) -> bytes | Callable[[], bytes]:
    """Return the file of a finished answer, built once per session and options; else the builder itself."""
    if report.answer is None or report.run.status != "done":
        return build
    key = (report.run.id, report.answer.created, options)
    cached = st.session_state.get(_MARKDOWN_KEY)
    if cached is None or cached[0] != key:
        try:
            st.session_state[_MARKDOWN_KEY] = cached = (key, build())
        except RuntimeError:
            return build
    data: bytes = cached[1]
    return data
