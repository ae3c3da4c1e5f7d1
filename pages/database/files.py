"""Uploaded table files: detection, correction, loading and deletion of their tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

import research
from pages.run.query_rows import DATABASE_WIDGET_KEY
from pages.shared import errors
from pages.shared.background import run_with_progress
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_number, t, value_label
from pages.shared.login import current_owner
from research import COLUMN_TYPES, TABLE_SUFFIXES, TEXT_ENCODINGS, Correction, FileTable, UnreadableTableError, Upload

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
    """Draw the detected tables with correction fields, and the button that loads them.

    The files are written to `folder` under generated names.
    """
    sources: list[tuple[Path, tuple[FileTable, ...]]] = []
    for n, file in enumerate(uploaded_files):
        path = folder / f"{n}{Path(file.name).suffix.lower()[:10]}"
        path.write_bytes(file.getbuffer())
        text_correction = _draw_text_correction(file.name, n)
        try:
            detected = research.detect_tables(path, file.name, {"": text_correction})
            corrections = {
                table.sheet: _draw_header_correction(table, text_correction, f"{n}_{k}")
                for k, table in enumerate(detected)
            }
            tables = research.detect_tables(path, file.name, corrections)
        except UnreadableTableError as error:
            st.error(escape_markdown(error.message_in(current_language())))
            continue
        for k, table in enumerate(tables):
            for remark in table.remarks(current_language()):
                st.caption(escape_markdown(remark, 600))
            corrections[table.sheet] = _draw_column_correction(table, corrections[table.sheet], f"{n}_{k}")
        sources.append((path, research.detect_tables(path, file.name, corrections)))
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


def _draw_text_correction(file_name: str, number: int) -> Correction:
    """Draw fields for the encoding and the delimiter of a text file. Return them as a correction."""
    if Path(file_name).suffix.lower() not in (".csv", ".tsv", ".txt"):
        return Correction()
    marks = {"": t("files.detected"), ",": ",", ";": ";", "\t": t("files.tab"), "|": "|"}
    names = {"": t("files.detected")} | {name: name.removesuffix("-sig").upper() for name in TEXT_ENCODINGS}
    with st.popover(t("files.text_form"), icon=":material/tune:", key=f"text_{number}"):
        encoding = st.selectbox(
            t("files.encoding"), list(names), format_func=names.__getitem__, key=f"encoding_{number}"
        )
        delimiter = st.selectbox(t("files.delimiter"), list(marks), format_func=marks.__getitem__, key=f"mark_{number}")
    return Correction(encoding=encoding, delimiter=delimiter)


def _draw_header_correction(table: FileTable, text_correction: Correction, key: str) -> Correction:
    """Draw the name of a table and a field for its header row. Return the extended correction."""
    sheet = f" · {escape_markdown(table.sheet, 60)}" if table.sheet else ""
    st.markdown(f"**{escape_markdown(table.file, 80)}**{sheet}")
    header = st.number_input(
        t("files.header"),
        0,
        100,
        value=table.header,
        key=f"header_{key}",
        help=t("files.header_help"),
    )
    is_changed = int(header) != table.header
    return text_correction.model_copy(update={"header": int(header) if is_changed else None})


def _draw_column_correction(table: FileTable, correction: Correction, key: str) -> Correction:
    """Draw an editor for names and types of a table's columns. Return the extended correction."""
    first_row = table.sample[0] if table.sample else ()
    rows = pd.DataFrame(
        [
            {
                "heading": column.heading,
                "name": column.name,
                "type": value_label("type", column.type),
                "first": first_row[n] if n < len(first_row) else "",
            }
            for n, column in enumerate(table.columns)
        ]
    )
    types = {t(f"type.{kind}"): kind for kind in COLUMN_TYPES}
    text = st.column_config.TextColumn
    edited = st.data_editor(
        rows,
        hide_index=True,
        key=f"columns_{key}_{correction.header}",
        disabled=["heading", "first"],
        column_config={
            "heading": text(t("files.heading")),
            "name": text(t("database.column"), max_chars=60),
            "type": st.column_config.SelectboxColumn(t("database.type"), options=list(types), required=True),
            "first": text(t("files.first")),
        },
    )
    columns = {
        str(row["heading"]): (str(row["name"] or ""), types[str(row["type"])]) for row in edited.to_dict("records")
    }
    return correction.model_copy(update={"columns": columns})


def _draw_upload(upload: Upload) -> None:
    with st.container(border=True, key=f"upload_{upload.id}"):
        for table in upload.tables:
            columns = ", ".join(f"{escape_markdown(c.name, 60)} {t(f'type.{c.type}')}" for c in table.columns)
            st.markdown(f"**{escape_markdown(table.name)}** · {t('rows.found', n=format_number(table.rows or 0))}")
            st.caption(f"{escape_markdown(table.file, 80)} — {columns}")
            for remark in table.remarks(current_language()):
                st.caption(escape_markdown(remark, 600))
        if st.button(t("files.delete"), key=f"delete_{upload.id}", icon=":material/delete:"):
            research.get_application().databases.remove_upload(upload.id, owner=current_owner())
            st.rerun()
