"""Outside text on the page: shown as it is, never as markup."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_MARKDOWN_CHARS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~&:@=^\"'/])")


def escape_markdown(text: str, max_characters: int = 0) -> str:
    """Text for places that read Markdown (labels, captions): every mark of it is escaped.

    With `limit`, longer text is cut at that many characters.
    """
    return _MARKDOWN_CHARS.sub(r"\\\1", to_single_line(text, max_characters))


def to_single_line(text: str, max_characters: int = 0) -> str:
    """Text for places that read no Markdown (the cells and headings of a table), in one line."""
    text = " ".join(text.split())
    return text if not max_characters or len(text) <= max_characters else text[: max_characters - 1] + "…"


def web_url(url: str) -> str:
    """An address if it is one of the web (http or https, with a host), else nothing."""
    try:
        parts = urlsplit(url.strip())
        found = parts.scheme.lower() in ("http", "https") and parts.hostname
    except ValueError:
        return ""
    return url.strip() if found else ""


def markdown_link(text: str, url: str) -> str:
    """A Markdown link whose text is plain; the text alone if the address is none of the web."""
    label = escape_markdown(text) or escape_markdown(url)
    target = quote(web_url(url), safe="/?#:@&'+,;=%.-~")
    # An entity would be read in a destination as well.
    target = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", target)
    return f"[{label}]({target})" if target else label
