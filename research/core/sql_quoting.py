"""Quoting of names and texts in SQL, the same in SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """Quote the name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"
