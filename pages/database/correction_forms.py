"""Forms that change how a table is read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared.localization import t
from research import (
    TEXT_ENCODINGS,
    Correction,
    FileTable,
    encoding_label,
)

MAX_HEADING_ROW = 1_000
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_TYPED_SUFFIXES = (".parquet", ".json", ".jsonl", ".ndjson")  # files whose columns have types of their own
_DELIMITER_KEYS = {",": "files.comma", ";": "files.semicolon", "\t": "files.tab", "|": "files.bar"}
_CHOICE_KEYS = {
    "text": "type.text",
    "integer": "type.integer",
    "number-point": "type.number_point",
    "number-comma": "type.number_comma",
    "date": "type.date",
    "date-dmy": "type.date_dmy",
    "date-mdy": "type.date_mdy",
    "datetime": "type.datetime",
    "boolean": "type.boolean",
}
_OWN_TYPE_KEYS = {
    "text": "type.text",
    "integer": "type.integer",
    "number": "type.number",
    "date": "type.date",
    "datetime": "type.datetime",
    "boolean": "type.boolean",
}


def draw_text_correction(file_name: str, correction: Correction, key: str) -> Correction | None:
    """Draw a form for the encoding and the delimiter of a text file that cannot be read without them.

    Return the correction that was just given, None if there was none.
    """
    if Path(file_name).suffix.lower() not in _TEXT_SUFFIXES:
        return None
    with st.form(f"text_{key}", border=False):
        update = _draw_text_fields(correction, "", "", key)
        submitted = st.form_submit_button(t("files.read_again"), key=f"read_again_{key}", icon=":material/refresh:")
    return correction.model_copy(update=update) if submitted else None


def draw_change(table: FileTable, key: str) -> Correction | None:
    """Draw the form that changes how a table is read.

    Return the correction that was just given, None if there was none.
    """
    suffix = Path(table.file).suffix.lower()
    update: dict[str, Any] = {}
    with (
        st.expander(t("files.change"), icon=":material/tune:", key=f"change_{key}"),
        st.form(f"change_form_{key}", border=False),
    ):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if suffix in _TEXT_SUFFIXES:
                update |= _draw_text_fields(table.correction, table.encoding, table.delimiter, key)
            if suffix not in _TYPED_SUFFIXES:
                header = st.number_input(
                    t("files.header"),
                    0,
                    MAX_HEADING_ROW,
                    value=table.header,
                    key=f"header_{key}",
                    help=t("files.header_help"),
                    width=180,
                )
                if header != table.header:
                    update["header"] = int(header)
        if suffix not in _TYPED_SUFFIXES:
            update["keep_totals"] = st.checkbox(
                t("files.keep_totals"), value=table.correction.keep_totals, key=f"totals_{key}"
            )
        update["columns"] = table.correction.columns | _draw_columns(
            table, key, has_own_types=suffix in _TYPED_SUFFIXES
        )
        with st.container(horizontal=True):
            submitted = st.form_submit_button(
                t("files.read_again"), key=f"read_again_{key}", type="primary", icon=":material/refresh:"
            )
            reset = st.form_submit_button(
                t("files.read_as_detected"), key=f"as_detected_{key}", disabled=table.correction == Correction()
            )
    if reset:
        return Correction()
    return table.correction.model_copy(update=update) if submitted else None


def _draw_text_fields(correction: Correction, encoding: str, delimiter: str, key: str) -> dict[str, Any]:
    """Draw fields for the encoding and the delimiter, of which those in use are given, "" if there are none."""
    detected = t("files.detected")
    encodings = {name: encoding_label(name) for name in TEXT_ENCODINGS}
    delimiters = {mark: t(label_key) for mark, label_key in _DELIMITER_KEYS.items()}

    def label_detected(labels: dict[str, str], chosen: str, current: str) -> dict[str, str]:
        aside = "" if chosen or not current else labels.get(current, current)
        return {"": t("mark.aside", text=detected, more=aside) if aside else detected} | labels

    encoding_labels = label_detected(encodings, correction.encoding, encoding)
    delimiter_labels = label_detected(delimiters, correction.delimiter, delimiter)
    return {
        "encoding": st.selectbox(
            t("files.encoding"),
            list(encoding_labels),
            index=list(encoding_labels).index(correction.encoding),
            format_func=encoding_labels.__getitem__,
            key=f"encoding_{key}",
            width=240,
        ),
        "delimiter": st.selectbox(
            t("files.delimiter"),
            list(delimiter_labels),
            index=list(delimiter_labels).index(correction.delimiter),
            format_func=delimiter_labels.__getitem__,
            key=f"mark_{key}",
            width=240,
        ),
    }


def _draw_columns(table: FileTable, key: str, *, has_own_types: bool) -> dict[str, tuple[str, str]]:
    """Draw an editor for the names and types of columns. Return the changed ones by heading."""
    labels = {choice: t(label_key) for choice, label_key in (_OWN_TYPE_KEYS if has_own_types else _CHOICE_KEYS).items()}
    first_row = table.sample[0] if table.sample else ()
    choices = [_current_choice(column, labels) for column in table.columns]
    rows = pd.DataFrame(
        [
            {
                "heading": column.heading,
                "name": column.name,
                "type": labels[choice],
                "first": first_row[n] if n < len(first_row) else "",
            }
            for n, (column, choice) in enumerate(zip(table.columns, choices, strict=True))
        ]
    )
    text = st.column_config.TextColumn
    edited = st.data_editor(
        rows,
        hide_index=True,
        key=f"columns_{key}",
        disabled=["heading", "first"],
        column_config={
            "heading": text(t("files.heading")),
            "name": text(t("database.column"), max_chars=60),
            "type": st.column_config.SelectboxColumn(t("database.type"), options=list(labels.values()), required=True),
            "first": text(t("files.first")),
        },
    )
    return changed_columns(table, choices, labels, edited.to_dict("records"))


def _current_choice(column: Any, labels: dict[str, str]) -> str:
    """Return the choice that stands for the type of a column as it was read."""
    form = column.format
    if column.type == "number" and "number" not in labels:
        return "number-comma" if form.decimal_mark == "," else "number-point"
    if column.type == "date" and form.date_order and f"date-{form.date_order}" in labels:
        return f"date-{form.date_order}"
    return str(column.type)


def changed_columns(
    table: FileTable, choices: list[str], labels: dict[str, str], edited: list[dict[str, Any]]
) -> dict[str, tuple[str, str]]:
    """Return the name and the type, by heading, of the columns that the editor has changed."""
    choice_by_label = {label: choice for choice, label in labels.items()}
    changed = {}
    for column, choice, row in zip(table.columns, choices, edited, strict=True):
        name, edited_choice = str(row["name"] or ""), choice_by_label[str(row["type"])]
        if name != column.name or edited_choice != choice:
            earlier_name, earlier_choice = table.correction.columns.get(column.heading, ("", ""))
            changed[column.heading] = (
                name if name != column.name else earlier_name,
                edited_choice if edited_choice != choice else earlier_choice,
            )
    return changed
