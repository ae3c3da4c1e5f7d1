"""Paths of the page scripts and their assets."""

from __future__ import annotations

from pathlib import Path

PAGES_FOLDER = Path(__file__).resolve().parents[1]
ASSETS_FOLDER = PAGES_FOLDER / "assets"


def page_script(page_name: str) -> Path:
    """Return the script of a page. Its name is also its path in URLs, such as `history`."""
    return PAGES_FOLDER / page_name / "page.py"
