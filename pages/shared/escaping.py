"""Escaping of outside text, so that it is drawn literally and never as markup."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_MARKDOWN_CHARS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~&:@=^\"'/])")


def escape_markdown(text: str, max_characters: int = 0) -> str:
    """Escape text for places that interpret Markdown, such as labels and captions.

    Text is joined into one line and cut at `max_characters`; 0 means no limit.
    """
    return _MARKDOWN_CHARS.sub(r"\\\1", to_single_line(text, max_characters))


def to_single_line(text: str, max_characters: int = 0) -> str:
    """Join text into one line for places without Markdown, such as table cells and headings.

    Text is cut at `max_characters`; 0 means no limit.
    """
    text = " ".join(text.split())
    return text if not max_characters or len(text) <= max_characters else text[: max_characters - 1] + "…"


def web_url(url: str) -> str:
    """Return the URL if its scheme is http or https and it has a host, else an empty string."""
    try:
        parts = urlsplit(url.strip())
        is_web = parts.scheme.lower() in ("http", "https") and parts.hostname
    except ValueError:
        return ""
    return url.strip() if is_web else ""


def markdown_link(text: str, url: str) -> str:
    """Build a Markdown link with literal text; without a web URL return the text only."""
    label = escape_markdown(text) or escape_markdown(url)
    target = quote(web_url(url), safe="/?#:@&'+,;=%.-~")
    # Markdown decodes entities in link destinations, too.
    target = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", target)
    return f"[{label}]({target})" if target else label
