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
_LARGE = 50_000  # characters of data
_KEPT = 11  # documents after which Typst drops what it has kept of one, to set it again faster


def printed(
    template: str,
    data: Mapping[str, Any],
    *,
    made: datetime | None = None,
    kind: Literal["pdf", "png"] = "pdf",
) -> bytes:
    """A template of this folder with its data: a PDF made at a time, or its first page as a PNG with
    two pixels for a point.

    Raises:
        typst.TypstError: the data cannot be set by the template.
        RuntimeError: Typst itself failed.
    """
    told = json.dumps(data)
    press = typst.Compiler(
        (_FOLDER / template).read_bytes(),
        root=str(_FOLDER),
        font_paths=shelf(),
        sys_inputs={"data": told},
    )
    try:
        pages, _ = press.compile_with_warnings(
            format=kind, ppi=144, timestamp=int(made.timestamp()) if made else 0
        )
    except BaseException as error:  # a panic in Rust is no Exception
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("Typst has failed") from error
    finally:
        if len(told) > _LARGE:
            _forget()
    first = pages[0] if isinstance(pages, list) else pages
    assert first is not None
    return first


def _forget() -> None:
    """Has Typst drop what it keeps of a large report: 60 MB for each of the last ten."""
    empty = typst.Compiler(b" ", font_paths=shelf())
    for _ in range(_KEPT):
        empty.compile(b" ", format="pdf")
