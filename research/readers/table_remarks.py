"""Remarks on how a table was read, where that is not a matter of course."""

from __future__ import annotations

from typing import Literal

from research.core.records import Record

RemarkKind = Literal[
    "area", "above", "words", "row_names", "repeated", "unnamed", "blank_rows", "blank_labels", "unsummed", "unlabelled",
    "total_columns", "of_which", "indented", "parts", "label_rows", "hidden_sheet", "hidden_rows", "hidden_columns",
    "filtered", "uncalculated", "errors", "percent", "sentinel", "one_column", "skipped_sheets", "merged_numbers",
    "unknown_details", "serial_days", "parentheses", "read_as", "cut",
]  # fmt: skip


class TableRemark(Record):
    """A remark: its kind, with the columns or rows it is about as text, and their number."""

    kind: RemarkKind
    text: str = ""
    count: int = 0
