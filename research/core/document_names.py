"""Names of documents: paths, whose suffix tells the format; an attachment is named "path of the mail/its name"."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

PageUnit = Literal["page", "slide", "cell"]

_UNIT_BY_SUFFIX: dict[str, PageUnit] = {".pptx": "slide", ".ipynb": "cell"}
_FILE_NAME = re.compile(r"(?:[^/]+\.(?:eml|msg)/)*[^/]*\Z", re.IGNORECASE)


def page_unit(document_name: str) -> PageUnit:
    """Return what the page numbers of a document's passages count."""
    return _UNIT_BY_SUFFIX.get(PurePosixPath(document_name.replace("\\", "/")).suffix.lower(), "page")


def document_file_name(document_name: str) -> str:
    """Return the last part of a document's name, of an attachment with the mail that it came with."""
    match = _FILE_NAME.search(document_name.replace("\\", "/"))
    return match[0] if match else document_name
