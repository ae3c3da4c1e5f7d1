"""Where the scripts of the pages and their assets lie."""

from __future__ import annotations

from pathlib import Path

PAGES = Path(__file__).resolve().parents[1]
ASSETS = PAGES / "assets"


def script(page: str) -> Path:
    """The script of a page by its name, which is also its path in addresses: `history`."""
    return PAGES / page / "page.py"
