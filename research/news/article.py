"""One piece of news as a provider has told of it. Any field but its address may be missing."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urljoin, urlsplit

from research.news.when import When, Window

HEADLINE = 300  # characters that a title keeps
ADDRESS = 2_000  # characters that an address may have


@dataclass(frozen=True)
class Article:
    """A piece of news. Texts are plain; `published_text` is the date in the provider's words.

    `seen` is when a crawler came by, which is no date of publication; `outside` says that it was
    published on other days than those that were asked for.
    """

    url: str
    title: str
    provider: str
    outlet: str = ""
    text: str = ""
    published: datetime | None = None  # UTC
    day_only: bool = False
    published_text: str = ""
    seen: datetime | None = None
    score: float | None = None
    image: str = ""
    outside: bool = False

    @property
    def when(self) -> When:
        return When(self.published, self.day_only)

    def judged(self, window: Window | None) -> Article:
        """Marked as outside if it is."""
        return replace(self, outside=bool(window and window.misses(self.when)))


def web_address(value: object, base: str = "") -> str:
    """An http(s) address that a stranger wrote, made whole; "" if it is none."""
    if not isinstance(value, str) or not value.strip() or len(value) > ADDRESS:
        return ""
    value = value.strip()
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zs", "Zl", "Zp") for char in value):
        return ""
    try:
        if urlsplit(value).scheme and not urlsplit(value).netloc:
            return ""  # which joined to another address would become that
        address = urljoin(base, value)
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        usable = usable and parts.port != 0
    except ValueError:
        return ""
    return address if usable and len(address) <= ADDRESS else ""


def host(url: str) -> str:
    """The host of an address, as an outlet is called by."""
    return (urlsplit(url).hostname or "").removeprefix("www.")
