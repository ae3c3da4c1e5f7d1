"""Cleans text from outside for display and storage.

Nothing that a service sends is trusted: a text may be missing, of another type, or full of mark-up.
"""

from __future__ import annotations

import html
import re

from research.core.text.decimals import join_decimals
from research.core.text.tokenizer import has_han

MAX_SNIPPET_CHARS = 4_000  # characters of a result's text that are used

# Tags that may occur inside a word; any other tag separates words.
_INLINE_TAG_PATTERN = re.compile(
    r"</?(?:a|b|em|i|mark|r(?:bc?|p|tc?|uby)|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]*)?/?>", re.I
)
_HIDDEN_ELEMENT_PATTERN = re.compile(r"<(script|style)\b[^<>]*>.*?</\1\s*>|<!--.*?-->", re.I | re.S)
_RUBY_READING_PATTERN = re.compile(r"<(rt|rp|rtc)\b[^<>]*>.*?(?:</\1\s*>|(?=<(?:/?ruby|rb|rt|rp)\b))", re.I | re.S)
_TAG_PATTERN = re.compile(r"</?[a-z][^<>]*>", re.I)
_CONTROL_CHARS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def remove_control_characters(text: object) -> str:
    """Remove control characters, lone surrogates and marks that change the text direction. Line
    breaks and tabs stay."""
    return _CONTROL_CHARS.sub("", text) if isinstance(text, str) else ""


def tidy_text(text: object) -> str:
    """Return readable text: no superfluous white space, decimals joined, one paragraph per line."""
    lines = (" ".join(line.split()) for line in join_decimals(remove_control_characters(text)).split("\n"))
    return "\n".join(line for line in lines if line)


def strip_html(text: object) -> str:
    """Return the plain text of an HTML snippet: no tags, entities decoded."""
    source = text[:MAX_SNIPPET_CHARS] if isinstance(text, str) else ""
    without_tags = _TAG_PATTERN.sub(
        " ", _INLINE_TAG_PATTERN.sub("", _RUBY_READING_PATTERN.sub("", _HIDDEN_ELEMENT_PATTERN.sub(" ", source)))
    )
    return " ".join(remove_control_characters(html.unescape(without_tags)).split())


def truncate_text(text: str, limit: int) -> str:
    """Cut a text to `limit` characters, at the end of a word where the script separates words. A
    word longer than half of the limit is cut itself."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    if _is_word_character(cut[-1]) and _is_word_character(text[limit]):
        boundary = max((n for n, char in enumerate(cut, 1) if not _is_word_character(char)), default=0)
        cut = cut[:boundary] if boundary * 2 > limit else cut
    return cut.rstrip()


def _is_word_character(char: str) -> bool:
    return not char.isspace() and not has_han(char)
