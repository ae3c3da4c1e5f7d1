"""Paths of the page scripts and their assets, and the base path of the server."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PAGES_FOLDER = Path(__file__).resolve().parents[1]
ASSETS_FOLDER = PAGES_FOLDER / "assets"


def page_script(page_name: str) -> Path:
    """Return the script of a page. Its name is also its path in URLs, such as `history`."""
    return PAGES_FOLDER / page_name / "page.py"


def base_path() -> str:
    """Return the path under which the server is reached, such as `/desk`; empty for the root."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""
