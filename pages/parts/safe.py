"""Outside text on the page: shown as it is, never as markup."""

from __future__ import annotations

import re

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~&:@=^\"'/])")


def plain(text: str, limit: int = 0) -> str:
    """Text for places that read Markdown (labels, captions): every mark of it is escaped.

    With `limit`, longer text is cut at that many characters.
    """
    text = " ".join(text.split())
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"
    return _ACTIVE.sub(r"\\\1", text)
