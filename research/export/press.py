"""Text set on pages by Typst, from templates of ours that read their data as JSON.

Nothing of the data is evaluated, no file but the fonts is read, and nothing is fetched. The same data
gives the same bytes on machines with the same fonts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import typst

from research.export.fonts import shelf

_FOLDER = Path(__file__).parent


def printed(
    template: str,
    data: Mapping[str, Any],
    *,
    made: datetime | None = None,
    kind: Literal["pdf", "png"] = "pdf",
) -> bytes:
    """A template of this folder with its data: a PDF made at a time, or its first page as a PNG with
    two pixels for a point. A template that cannot be set raises `typst.TypstError`."""
    press = typst.Compiler(
        (_FOLDER / template).read_bytes(),
        root=str(_FOLDER),
        font_paths=shelf(),
        sys_inputs={"data": json.dumps(data)},
    )
    pages, _ = press.compile_with_warnings(
        format=kind, ppi=144, timestamp=int(made.timestamp()) if made else 0
    )
    first = pages[0] if isinstance(pages, list) else pages
    assert first is not None
    return first
