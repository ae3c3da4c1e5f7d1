"""Outside text on the page: shown as it is, never as markup."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~&:@=^\"'/])")


def plain(text: str, limit: int = 0) -> str:
    """Text for places that read Markdown (labels, captions): every mark of it is escaped.

    With `limit`, longer text is cut at that many characters.
    """
    return _ACTIVE.sub(r"\\\1", line(text, limit))


def line(text: str, limit: int = 0) -> str:
    """Text for places that read no Markdown (the cells and headings of a table), in one line."""
    text = " ".join(text.split())
    return text if not limit or len(text) <= limit else text[: limit - 1] + "…"


def web(address: str) -> str:
    """An address if it is one of the web (http or https, with a host), else nothing."""
    try:
        parts = urlsplit(address.strip())
        found = parts.scheme.lower() in ("http", "https") and parts.hostname
    except ValueError:
        return ""
    return address.strip() if found else ""


def link(text: str, address: str) -> str:
    """A Markdown link whose text is plain; the text alone if the address is none of the web."""
    label = plain(text) or plain(address)
    target = quote(web(address), safe="/?#:@&'+,;=%.-~")
    # An entity would be read in a destination as well.
    target = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", target)
    return f"[{label}]({target})" if target else label
