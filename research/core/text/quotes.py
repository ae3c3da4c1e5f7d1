"""Search for quotes in a text, regardless of how either is set: width, script, spaces and hyphens."""

from __future__ import annotations

import re
import unicodedata

from research.core.text.hanzi import to_simplified

_UNMATCHED_CHARS = re.compile("[\\s\u00ad\u200b\u2060\ufeff]+")
_HYPHENATED_BREAK_PATTERN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\n\s*(?=[^\W\d_])")
_INNER_HYPHEN_PATTERN = re.compile(r"(?<=[^\W\d_])[-\u2010](?=\s*[^\W\d_])")
_GRAPHEME_PATTERN = re.compile(
    "[^\\s\u0300-\u036f\u3099\u309a][\u0300-\u036f\u3099\u309a]*|[\u0300-\u036f\u3099\u309a]"
)


def normalise_quote(text: str) -> str:
    """Normalise a quote for comparison: NFKC, simplified, only visible characters."""
    return _UNMATCHED_CHARS.sub("", to_simplified(unicodedata.normalize("NFKC", text)))


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return start and end of a quote in a text, compared by `normalise_quote`; None if absent.

    If the text has words hyphenated at line breaks (inter-⏎national), hyphens within words are
    ignored, since the original word may or may not have one.
    """
    ignore_hyphens = _HYPHENATED_BREAK_PATTERN.search(text) is not None
    if not ignore_hyphens and normalise_quote(quote) not in normalise_quote(text):
        return None
    normalised, spans = _normalise_with_offsets(text, ignore_hyphens)
    normalised_quote, _ = _normalise_with_offsets(quote, ignore_hyphens)
    position = normalised.find(normalised_quote) if normalised_quote else -1
    return (spans[position][0], spans[position + len(normalised_quote) - 1][1]) if position >= 0 else None


def _normalise_with_offsets(text: str, ignore_hyphens: bool) -> tuple[str, list[tuple[int, int]]]:
    """Return the normalised text, and the span in the original of each of its characters."""
    hyphens = {match.start() for match in _INNER_HYPHEN_PATTERN.finditer(text)} if ignore_hyphens else ()
    out: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _GRAPHEME_PATTERN.finditer(text):
        if match.start() not in hyphens:
            normalised = normalise_quote(match[0])
            out.append(normalised)
            spans += [match.span()] * len(normalised)
    return "".join(out), spans
