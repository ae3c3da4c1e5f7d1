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

from research.export.fonts import load_fonts

_TEMPLATE_FOLDER = Path(__file__).parent
_LARGE_DATA_CHARS = 50_000  # characters of data
_TYPST_CACHE_DOCUMENTS = 11  # documents after which Typst drops what it has kept of one, to set it again faster


def compile_template(
    template: str,
    data: Mapping[str, Any],
    *,
    timestamp: datetime | None = None,
    output_format: Literal["pdf", "png"] = "pdf",
) -> bytes:
    """A template of this folder with its data: a PDF made at a time, or its first page as a PNG with
    two pixels for a point.

    Raises:
        typst.TypstError: the data cannot be set by the template.
        RuntimeError: Typst itself failed.
    """
    told = json.dumps(data)
    press = typst.Compiler(
        (_TEMPLATE_FOLDER / template).read_bytes(),
        root=str(_TEMPLATE_FOLDER),
        font_paths=load_fonts(),
        sys_inputs={"data": told},
    )
    try:
        pages, _ = press.compile_with_warnings(
            format=output_format, ppi=144, timestamp=int(timestamp.timestamp()) if timestamp else 0
        )
    except BaseException as error:  # a panic in Rust is no Exception
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("Typst has failed") from error
    finally:
        if len(told) > _LARGE_DATA_CHARS:
            _clear_typst_cache()
    first = pages[0] if isinstance(pages, list) else pages
    assert first is not None
    return first


def _clear_typst_cache() -> None:
    """Has Typst drop what it keeps of a large report: 60 MB for each of the last ten."""
    empty = typst.Compiler(b" ", font_paths=load_fonts())
    for _ in range(_TYPST_CACHE_DOCUMENTS):
        empty.compile(b" ", format="pdf")
