"""Uploaded table files: detection, correction, loading and deletion of their tables."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

import research
from pages.database import correction_forms
from pages.run.query_rows import DATABASE_WIDGET_KEY
from pages.shared import errors
from pages.shared.background import run_with_progress
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, t
from pages.shared.login import current_owner
from pages.shared.table_reading import draw_reading
from research import TABLE_SUFFIXES, Correction, FileTable, UnreadableTableError, Upload

MAX_FILE_MEGABYTES = 200  # limit of the page; the command line accepts larger files
BYTES_PER_MEGABYTE = 1_000_000


def draw() -> None:
    """Draw the uploader, the detected tables and the stored uploads."""
    uploads = research.get_application().databases.uploads(owner=current_owner())
    label = t("files.title", n=format_number(len(uploads)))
    with st.expander(label, icon=":material/table_view:", key="table_files"):
        generation = st.session_state.setdefault("table_lot", 0)
        files = st.file_uploader(
            t("files.upload"),
            type=[kind.lstrip(".") for kind in TABLE_SUFFIXES],
            accept_multiple_files=True,
            max_upload_size=MAX_FILE_MEGABYTES,
            key=f"tables_{generation}",
        )
        st.caption(t("files.limit", size=MAX_FILE_MEGABYTES))
        if files:
            with tempfile.TemporaryDirectory(prefix="sightline-") as folder:
                _draw_detected_tables(files, Path(folder))
        for upload in uploads:
            with errors.catch_row_errors():
                _draw_upload(upload)


def _draw_detected_tables(uploaded_files: list[Any], folder: Path) -> None:
    """Draw how the files will be read, and the button that loads them.

    The files are written to `folder` under generated names. Corrections are kept in the session until the
    files are loaded, then with the tables.
    """
    sources: list[tuple[Path, tuple[FileTable, ...]]] = []
    for n, file in enumerate(uploaded_files):
        path = folder / f"{n}{Path(file.name).suffix.lower()[:10]}"
        path.write_bytes(file.getbuffer())
        corrections = st.session_state.setdefault(f"corrections_{file.file_id}", {})
        given: dict[str, Correction] = {}
        try:
            detected = research.detect_tables(path, file.name, corrections)
        except UnreadableTableError as error:
            st.error(escape_markdown(error.message_in(current_language())))
            correction = corrections.get("", Correction())
            if changed := correction_forms.draw_text_correction(
                file.name, correction, f"{n}_{_correction_key(correction)}"
            ):
                given[""] = changed
        else:
            for k, table in enumerate(detected):
                sheet = f" · {escape_markdown(table.sheet, 60)}" if table.sheet else ""
                st.markdown(f"**{escape_markdown(table.file, 80)}**{sheet}")
                key = f"{n}_{k}_{_correction_key(table.correction)}"
                draw_reading(table, key)
                if changed := correction_forms.draw_change(table, key):
                    given[table.sheet] = changed
            sources.append((path, detected))
        if given:
            corrections.update(given)
            st.rerun()
    if sources and st.button(t("files.load"), key="load_tables", type="primary", icon=":material/download_done:"):
        try:
            upload = _load_files(sources)
        except UnreadableTableError as error:
            st.error(escape_markdown(error.message_in(current_language())))
            return
        st.session_state.table_lot += 1
        st.session_state[DATABASE_WIDGET_KEY] = upload.database
        st.rerun()


def _load_files(sources: Sequence[tuple[Path, tuple[FileTable, ...]]]) -> Upload:
    """Load files as tables with a progress bar. `sources` pairs each path with its tables."""
    size, owner_id = sum(path.stat().st_size for path, _ in sources) / BYTES_PER_MEGABYTE, current_owner()

    def describe_progress(part: float) -> tuple[float, str]:
        loaded, total = format_number(round(size * part)), format_number(max(1, round(size)))
        return part, t("files.loading", done=loaded, size=total)

    return run_with_progress(
        lambda report_progress: research.get_application().databases.load_files(
            sources, report_progress, owner=owner_id
        ),
        0.0,
        describe_progress,
    )


def _correction_key(correction: Correction) -> str:
    """Return a key for the widgets that change a correction, so that they are new when it has changed."""
    return f"{zlib.crc32(correction.model_dump_json().encode()):08x}"


def _draw_upload(upload: Upload) -> None:
    with st.container(border=True, gap="small", key=f"upload_{upload.id}"):
        for index, table in enumerate(upload.tables):
            columns = t("mark.list").join(f"{escape_markdown(c.name, 60)} {t(f'type.{c.type}')}" for c in table.columns)
            st.markdown(f"**{escape_markdown(table.name)}** · {t('rows.found', n=format_number(table.rows or 0))}")
            st.caption(f"{escape_markdown(table.file, 80)} — {columns}")
            key = f"{upload.id}_{index}_{_correction_key(table.correction)}"
            draw_reading(table, key)
            if upload.files and (correction := correction_forms.draw_change(table, key)):
                _read_again(upload, index, correction)
        if not upload.files:
            st.caption(t("files.not_kept"))
        if st.button(t("files.delete"), key=f"delete_{upload.id}", icon=":material/delete:"):
            research.get_application().databases.remove_upload(upload.id, owner=current_owner())
            st.rerun()


def _read_again(upload: Upload, index: int, correction: Correction) -> None:
    """Read the files of an upload again, with a correction of one table, which is stored with it."""
    owner = current_owner()
    try:
        run_with_progress(
            lambda report_progress: research.get_application().databases.read_files_again(
                upload.id, {index: correction}, report_progress, owner=owner
            ),
            0.0,
            lambda part: (part, t("files.reading_again")),
        )
    except UnreadableTableError as error:
        st.error(escape_markdown(error.message_in(current_language())))
        return
    st.rerun()
