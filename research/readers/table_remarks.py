"""Remarks on how a table was read, where that is not a matter of course."""

from __future__ import annotations

from typing import Literal

from research.core.records import Language, Record

RemarkKind = Literal[
    "area", "above", "words", "row_names", "repeated", "unnamed", "blank_rows", "blank_labels", "unsummed", "unlabelled",
    "total_columns", "of_which", "indented", "parts", "label_rows", "hidden_sheet", "hidden_rows", "hidden_columns",
    "filtered", "uncalculated", "errors", "percent", "sentinel", "one_column", "skipped_sheets", "merged_numbers",
    "unknown_details", "serial_days",
]  # fmt: skip
_MESSAGES: dict[RemarkKind, str] = {
    "area": "loaded.area",
    "above": "loaded.above",
    "words": "loaded.words",
    "row_names": "loaded.row_names",
    "repeated": "loaded.repeated",
    "unnamed": "loaded.unnamed",
    "blank_rows": "loaded.blank_rows",
    "blank_labels": "loaded.blank_labels",
    "unsummed": "loaded.unsummed",
    "unlabelled": "loaded.unlabelled",
    "total_columns": "loaded.total_columns",
    "of_which": "loaded.of_which",
    "indented": "loaded.indented",
    "parts": "loaded.parts",
    "label_rows": "loaded.label_rows",
    "hidden_sheet": "loaded.hidden_sheet",
    "hidden_rows": "loaded.hidden_rows",
    "hidden_columns": "loaded.hidden_columns",
    "filtered": "loaded.filtered",
    "uncalculated": "loaded.uncalculated",
    "errors": "loaded.errors",
    "percent": "loaded.percent",
    "sentinel": "loaded.sentinel",
    "one_column": "loaded.one_column",
    "skipped_sheets": "loaded.skipped_sheets",
    "merged_numbers": "loaded.merged_numbers",
    "unknown_details": "loaded.unknown_details",
    "serial_days": "loaded.serial_days",
}


class TableRemark(Record):
    """A remark: its kind, with the columns or rows it is about as text, and their number."""

    kind: RemarkKind
    text: str = ""
    count: int = 0

    def message_in(self, language: Language) -> str:
        """Return the remark as one line in a language."""
        from research.core.i18n import message

        return message(_MESSAGES[self.kind], language, text=self.text, n=self.count)
