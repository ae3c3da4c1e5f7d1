"""Units in which the places of a document are counted."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

PageUnit = Literal["page", "slide", "cell"]

_UNIT_BY_SUFFIX: dict[str, PageUnit] = {".pptx": "slide", ".ipynb": "cell"}


def page_unit(document_name: str) -> PageUnit:
    """Return what the page numbers of a document's passages count, by the suffix of its name."""
    return _UNIT_BY_SUFFIX.get(PurePosixPath(document_name.replace("\\", "/")).suffix.lower(), "page")
