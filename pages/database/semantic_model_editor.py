"""Editor for the semantic model of a database, table by table or as a YAML file."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import streamlit as st

import research
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from pages.shared.login import current_owner
from research import DatabaseDescription, SemanticModel

ORIGIN_MESSAGES = {"owner": "meaning.owner", "desk": "meaning.desk", "draft": "meaning.draft"}
SYNONYM_SEPARATORS = re.compile(r"[,，、;；|]")


def draw(database: str) -> None:
    """Draw the editor for an attached database, with a warning if its model is unusable."""
    description = research.get_application().databases.description(database, owner=current_owner())
    if description.failure or not description.model.tables:
        return
    if description.problem:
        st.warning(t("meaning.problem", why=escape_markdown(description.problem, 400)), icon=":material/report:")
    section = st.expander(t("meaning.title"), icon=":material/dictionary:", key="meaning", on_change="rerun")
    if not section.open:  # the model of hundreds of tables is a long file
        return
    with section:
        st.caption(f"{t('meaning.help')} {t(ORIGIN_MESSAGES[description.origin])}")
        by_table, metrics, file = st.tabs([t("meaning.tables"), t("meaning.metrics"), t("meaning.file")])
        with by_table:
            _draw_table(description, database)
        with metrics:
            _draw_metrics(description, database)
        with file:
            _draw_file(description, database)


def _save(text: str | SemanticModel, database: str) -> None:
    reason = research.get_application().databases.save_description(text, database, owner=current_owner())
    if reason:
        st.error(t("meaning.refused", why=escape_markdown(reason, 400)))
        return
    st.rerun()


def _draw_table(description: DatabaseDescription, database: str) -> None:
    """Draw the editor for labels, units and descriptions of a table and its columns."""
    model = description.model
    name = st.selectbox(t("database.table"), list(model.tables), key="meaning_table")
    table = model.tables[name]
    rows = [{"name": "", "unit": "", **_label_cells(table)}]
    rows += [{"name": column, "unit": entry.unit, **_label_cells(entry)} for column, entry in table.columns.items()]
    text = st.column_config.TextColumn
    edited = st.data_editor(
        pd.DataFrame(rows, columns=["name", "zh", "en", "synonyms", "unit", "description"]),
        hide_index=True,
        key=f"meaning_{database}_{name}",
        disabled=["name"],
        placeholder="",
        column_config={
            "name": text(t("database.column"), help=t("meaning.first"), width=140),
            "zh": text(t("meaning.zh"), max_chars=60, width=110),
            "en": text(t("meaning.en"), max_chars=60, width=130),
            "synonyms": text(t("meaning.synonyms"), max_chars=400, help=t("meaning.synonyms_help")),
            "unit": text(t("meaning.unit"), max_chars=20, width=70),
            "description": text(t("database.comment"), max_chars=400),
        },
    )
    if _draw_save_button("table"):
        first, *others = edited.to_dict("records")
        columns = {
            str(row["name"]): table.columns[str(row["name"])].model_copy(
                update={**_parse_label_row(row), "unit": str(row["unit"] or "").strip()}
            )
            for row in others
        }
        update = {**_parse_label_row(first), "columns": columns}
        tables = {**model.tables, name: table.model_copy(update=update)}
        _save(model.model_copy(update={"tables": tables}), database)


def _label_cells(entry: Any) -> dict[str, str]:
    """Return label, synonyms and description of a table, column or metric as cells of an editor."""
    synonyms = ", ".join(entry.synonyms)
    return {"zh": entry.label.zh, "en": entry.label.en, "synonyms": synonyms, "description": entry.description}


def _parse_label_row(row: dict[Any, Any]) -> dict[str, Any]:
    """Parse label, synonyms and description from an editor row, where empty cells are None."""
    synonyms = SYNONYM_SEPARATORS.split(str(row["synonyms"] or ""))
    return {
        "label": research.Label(en=str(row["en"] or "").strip(), zh=str(row["zh"] or "").strip()),
        "synonyms": tuple(synonym.strip() for synonym in synonyms if synonym.strip()),
        "description": str(row["description"] or "").strip(),
    }


def _draw_metrics(description: DatabaseDescription, database: str) -> None:
    """Draw the editor for metrics, which questions can refer to by name."""
    model = description.model
    names = ["name", "zh", "en", "synonyms", "table", "expression", "unit", "description"]
    rows = [
        {
            "name": name,
            "table": metric.table,
            "expression": metric.expression,
            "unit": metric.unit,
            **_label_cells(metric),
        }
        for name, metric in model.metrics.items()
    ]
    text = st.column_config.TextColumn
    st.caption(t("meaning.metrics_help"))
    edited = st.data_editor(
        pd.DataFrame(rows, columns=names, dtype="object"),
        hide_index=True,
        num_rows="dynamic",
        key=f"metrics_{database}",
        column_config={
            "name": text(t("meaning.name"), max_chars=40, validate=r"^\w+$"),
            "zh": text(t("meaning.zh"), max_chars=60),
            "en": text(t("meaning.en"), max_chars=60),
            "synonyms": text(t("meaning.synonyms"), max_chars=400, help=t("meaning.synonyms_help")),
            "table": st.column_config.SelectboxColumn(t("database.table"), options=list(model.tables)),
            "expression": text(t("meaning.expression"), max_chars=200),
            "unit": text(t("meaning.unit"), max_chars=20),
            "description": text(t("database.comment"), max_chars=400),
        },
    )
    if _draw_save_button("metrics"):
        filled_rows = [row for row in edited.fillna("").to_dict("records") if row["name"]]
        metrics = {
            str(row["name"]): research.Metric(
                **_parse_label_row(row),
                table=str(row["table"]),
                expression=str(row["expression"]),
                unit=str(row["unit"]).strip(),
            )
            for row in filled_rows
        }
        _save(model.model_copy(update={"metrics": metrics}), database)


def _draw_file(description: DatabaseDescription, database: str) -> None:
    """Draw the YAML text with buttons to save, download and reset it."""
    text = st.text_area(
        t("meaning.yaml"),
        description.text,
        height=420,
        key=f"yaml_{database}_{hash(description.text)}",
        label_visibility="collapsed",
    )
    with st.container(horizontal=True):
        if _draw_save_button("file"):
            _save(text, database)
        st.download_button(
            t("meaning.download"),
            description.text,
            file_name="semantic-model.yaml",
            mime="application/yaml",
            icon=":material/download:",
            key="meaning_download",
            on_click="ignore",
        )
        if description.origin == "owner" and st.button(
            t("meaning.back"), key="meaning_back", icon=":material/undo:", type="tertiary"
        ):
            research.get_application().databases.delete_description(database, owner=current_owner())
            st.rerun()


def _draw_save_button(part: str) -> bool:
    return st.button(t("meaning.save"), key=f"save_{part}", type="primary", icon=":material/save:")
