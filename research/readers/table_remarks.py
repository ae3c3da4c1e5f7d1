"""Remarks on how a table was read, where that is not a matter of course."""

from __future__ import annotations

from research.core.records import LayoutRemarkKind, Record


class TableRemark(Record):
    """A remark: its kind, with the columns or rows it is about as text, and their number."""

    kind: LayoutRemarkKind
    text: str = ""
    count: int = 0
