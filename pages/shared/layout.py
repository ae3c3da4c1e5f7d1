"""Layout shared by all pages: titles, sections, a centred column, and the rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

READING_WIDTH_PIXELS = 760  # maximum width of a column of text
ROW_PIXELS = 35  # height of a table row, or of its header


def draw_header(title: str, introduction: str = "") -> None:
    """Draw the title of a page and one sentence on its purpose."""
    with st.container(key="header", gap=None):
        st.title(title, anchor=False)
        if introduction:
            st.caption(introduction)


def draw_section_title(title: str, help_text: str | None = None) -> None:
    """Draw the title of a section."""
    st.header(title, anchor=False, help=help_text)


def draw_subsection_title(title: str) -> None:
    """Draw the title of a subsection."""
    st.subheader(title, anchor=False)


@contextmanager
def centered_column(key: str, width_pixels: int = READING_WIDTH_PIXELS) -> Iterator[DeltaGenerator]:
    """Open a centred column, at most `width_pixels` wide for easy reading."""
    with (
        st.container(horizontal_alignment="center", key=f"{key}_middle"),
        st.container(width=width_pixels, key=key) as column,
    ):
        yield column


def table_height(row_count: int, max_rows: int = 10) -> int | Literal["content"]:
    """Return the height of a table that scrolls if it has more than `max_rows` rows."""
    return "content" if row_count <= max_rows else ROW_PIXELS * (max_rows + 1) + 3


def selected_row(table: Any, row_count: int) -> int | None:
    """Return the index of the row selected in a drawn table, by its box or one of its cells."""
    rows = [*table.selection.rows, *(cell[0] for cell in table.selection.cells)]
    return rows[0] if rows and rows[0] < row_count else None
