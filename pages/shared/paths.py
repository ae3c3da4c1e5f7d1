"""Where the scripts of the pages and their assets lie."""

from __future__ import annotations

from pathlib import Path

PAGES_FOLDER = Path(__file__).resolve().parents[1]
ASSETS_FOLDER = PAGES_FOLDER / "assets"


def page_script(page_name: str) -> Path:
    """The script of a page by its name, which is also its path in addresses: `history`."""
    return PAGES_FOLDER / page_name / "page.py"
