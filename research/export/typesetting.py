"""Typst compilation of our templates, which read their data as JSON.

Data is never evaluated, no file but the fonts is read, and nothing is fetched. The same data gives
the same bytes on machines with the same fonts.
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
_LARGE_DATA_CHARS = 50_000  # characters of JSON
_TYPST_CACHE_DOCUMENTS = 11  # documents to compile until Typst drops the one before them from its cache


def compile_template(
    template: str,
    data: Mapping[str, Any],
    *,
    timestamp: datetime | None = None,
    output_format: Literal["pdf", "png"] = "pdf",
) -> bytes:
    """Compile a template of this folder with data.

    Return a PDF with the given time, or its first page as a PNG with two pixels per point.

    Raises:
        typst.TypstError: the template cannot set the data.
        RuntimeError: Typst itself failed.
    """
    json_data = json.dumps(data)
    compiler = typst.Compiler(
        (_TEMPLATE_FOLDER / template).read_bytes(),
        root=str(_TEMPLATE_FOLDER),
        font_paths=load_fonts(),
        sys_inputs={"data": json_data},
    )
    try:
        pages, _ = compiler.compile_with_warnings(
            format=output_format, ppi=144, timestamp=int(timestamp.timestamp()) if timestamp else 0
        )
    except BaseException as error:  # a panic in Rust derives from BaseException
        if isinstance(error, Exception) or type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("Typst has failed") from error
    finally:
        if len(json_data) > _LARGE_DATA_CHARS:
            _clear_typst_cache()
    first = pages[0] if isinstance(pages, list) else pages
    assert first is not None
    return first


def _clear_typst_cache() -> None:
    """Make Typst drop its cache of a large report: 60 MB for each of the last ten."""
    empty = typst.Compiler(b" ", font_paths=load_fonts())
    for _ in range(_TYPST_CACHE_DOCUMENTS):
        empty.compile(b" ", format="pdf")
