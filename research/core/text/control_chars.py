"""Removal and replacement of characters that change or break the text around them."""

from __future__ import annotations

import re

_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str, replacement: str = "\ufffd") -> str:
    """Replace lone surrogates, which JSON may contain, so that the text can be encoded as UTF-8."""
    return _SURROGATES.sub(replacement, text)


def strip_direction_controls(text: str) -> str:
    """Remove embeddings, overrides and isolates, which change the direction of other text.

    An unclosed one would reorder the text behind it: a citation, a price, the next sentence.
    Letters keep their direction without them. The direction marks U+200E and U+200F stay.
    """
    return _DIRECTION_CONTROLS.sub("", text)
