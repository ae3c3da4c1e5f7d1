"""The frame of a page: its title, its sections, its width. Every page is built from these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

READING_WIDTH_PIXELS = 760  # pixels, at most, of a column that is read or written in


def draw_header(title: str, introduction: str = "") -> None:
    """The title of a page and one sentence that says what it is for."""
    with st.container(key="header", gap=None):
        st.title(title, anchor=False)
        if introduction:
            st.caption(introduction)


def draw_section_title(title: str, help_text: str | None = None) -> None:
    """The title of a part of a page."""
    st.header(title, anchor=False, help=help_text)


def draw_subsection_title(title: str) -> None:
    """The title of a part of a section."""
    st.subheader(title, anchor=False)


@contextmanager
def centered_column(key: str, width_pixels: int = READING_WIDTH_PIXELS) -> Iterator[DeltaGenerator]:
    """A column in the middle of the page, no wider than what is easily read."""
    with (
        st.container(horizontal_alignment="center", key=f"{key}_middle"),
        st.container(width=width_pixels, key=key) as place,
    ):
        yield place
