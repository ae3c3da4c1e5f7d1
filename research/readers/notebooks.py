"""Jupyter notebooks as text: Markdown cells, code and the text of outputs, each with the number of its cell.

Source: https://nbformat.readthedocs.io/en/latest/format_description.html (versions 3 and 4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from research.readers.drafts import (
    FileDraft,
    UnreadableFileError,
    decode_text,
    one_line,
    remove_invisible,
    too_deep_error,
)
from research.readers.markup import add_markdown

_TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def read_notebook(data: bytes) -> FileDraft:
    """Read the cells of a notebook; the page of a block is the position of its cell, from 1.

    Raises:
        UnreadableFileError: the file is no notebook.
    """
    try:
        notebook = json.loads(decode_text(data))
    except RecursionError:
        raise too_deep_error() from None
    cells = _cells(notebook)
    if cells is None:
        raise UnreadableFileError("unreadable", "This is no Jupyter notebook: it has no list of cells.")
    draft = FileDraft()
    for number, cell in enumerate(cells, 1):
        draft.page = number
        source = _joined(cell.get("source", cell.get("input")))
        if cell.get("cell_type") == "markdown":
            add_markdown(draft, remove_invisible(source))
        elif cell.get("cell_type") == "heading":  # version 3
            draft.add_heading(int(cell.get("level", 1)), source)
        else:
            draft.add_text(source)
            for text in _output_texts(cell.get("outputs")):
                draft.add_text(_TERMINAL_COLOURS.sub("", text))
    metadata = notebook.get("metadata")
    stated = metadata.get("title") if isinstance(metadata, dict) else None
    draft.title = one_line(stated) if isinstance(stated, str) else draft.title
    return draft


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    """Return the cells of a notebook, or None if it is none."""
    if not isinstance(notebook, dict):
        return None
    sheets = notebook.get("worksheets")  # version 3
    parts = [notebook, *(sheets if isinstance(sheets, list) else [])]
    lists = [part["cells"] for part in parts if isinstance(part, dict) and isinstance(part.get("cells"), list)]
    return [cell for cells in lists for cell in cells if isinstance(cell, dict)] if lists else None


def _joined(text: Any) -> str:
    """Return a text that is stored whole or as a list of lines."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _output_texts(outputs: Any) -> Iterator[str]:
    """Yield what the outputs of a cell say in plain text: streams, results and errors."""
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        plain = data.get("text/plain") if isinstance(data, dict) else None
        yield _joined(output.get("text") or plain)
        if output.get("output_type") in ("error", "pyerr"):
            yield f"{output.get('ename', '')}: {output.get('evalue', '')}"
