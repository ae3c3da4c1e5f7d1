"""Text that spreadsheets and XML can hold, and cells that no spreadsheet reads as a formula."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from research.core.text.control_chars import replace_surrogates

MAX_CELL_CHARS = 16_000  # Excel holds 32,767 units of UTF-16; more spills into other rows
INVALID_XML_CHAR = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Text that a spreadsheet may read as a formula; East Asian ones accept full-width signs too.
# Leading apostrophes match as well, so that an added apostrophe can be removed again.
_FORMULA_START = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")


def csv_cell(value: Any) -> str:
    """Format a value for a CSV file: nothing for None, and no text that a spreadsheet reads as a formula.

    Such text gets a leading apostrophe. Text longer than `MAX_CELL_CHARS` is cut.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return format_plain_number(value)
    text = truncate_cell(value)
    return f"'{text}" if _FORMULA_START.match(text) else text


def format_plain_number(value: float | Decimal) -> str:
    """Format a number without a trailing ".0": 60 yuan, not 60.0. A Decimal keeps its digits."""
    return str(value) if isinstance(value, Decimal) else repr(value).removesuffix(".0")


def truncate_cell(text: str) -> str:
    """Remove characters that XML forbids and cut text at `MAX_CELL_CHARS`."""
    text = INVALID_XML_CHAR.sub("", text)
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"


def single_line(text: str) -> str:
    """Collapse text to one line, without characters that XML forbids."""
    return " ".join(INVALID_XML_CHAR.sub("", replace_surrogates(text)).split())
