"""The frame of a page: its title, its sections, its width. Every page is built from these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

READING = 760  # pixels, at most, of a column that is read or written in


def header(title: str, lead: str = "") -> None:
    """The title of a page and one sentence that says what it is for."""
    with st.container(key="header", gap=None):
        st.title(title, anchor=False)
        if lead:
            st.caption(lead)


def section(title: str, help: str | None = None) -> None:
    """The title of a part of a page."""
    st.header(title, anchor=False, help=help)


def part(title: str) -> None:
    """The title of a part of a section."""
    st.subheader(title, anchor=False)


@contextmanager
def column(key: str, width: int = READING) -> Iterator[DeltaGenerator]:
    """A column in the middle of the page, no wider than what is easily read."""
    with (
        st.container(horizontal_alignment="center", key=f"{key}_middle"),
        st.container(width=width, key=key) as place,
    ):
        yield place
