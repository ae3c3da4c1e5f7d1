"""Layout elements shared by all pages: titles, sections and a centred column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

READING_WIDTH_PIXELS = 760  # maximum width of a column of text


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
