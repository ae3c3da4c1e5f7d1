"""A news article as reported by a search service or a feed.

Every field may be missing: services leave out titles, dates, texts and addresses.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from pydantic import field_validator

from research.core.records import Record
from research.core.text.publication_dates import Timestamp, parse_publication_date
from research.core.urls import encode_invisible, strip_www
from research.sources.news.time_window import TimeWindow

MAX_TITLE_CHARS = 300  # characters kept of a title
MAX_URL_CHARS = 2_000  # characters of an address


class Article(Record):
    """A published piece of news. Texts are plain.

    `published` is the time of publication, or None if unknown; with `is_day_only` it is midnight of
    the day of publication. `is_outside_window` marks an article published outside the requested
    time.
    """

    url: str = ""
    title: str = ""
    outlet: str = ""
    text: str = ""  # a snippet or the full text
    published: datetime | None = None  # UTC
    is_day_only: bool = False
    image: str = ""
    is_outside_window: bool = False
    evidence_ids: tuple[str, ...] = ()  # ids of the evidence it was made from

    @field_validator("published")
    @classmethod
    def _to_utc(cls, value: datetime | None) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("has no time zone; give it as UTC")
        return value.astimezone(UTC) if value else None

    @property
    def moment(self) -> Timestamp | None:
        """The time of publication with its precision."""
        return Timestamp(self.published, self.is_day_only) if self.published else None

    def with_published_date(self, text: object, retrieved: datetime) -> Article:
        """Return a copy with the publication date parsed from the provider's text."""
        moment = parse_publication_date(text, retrieved=retrieved).timestamp
        return self.model_copy(
            update={
                "published": moment.utc if moment else None,
                "is_day_only": bool(moment and moment.is_day_only),
            }
        )

    def with_window(self, window: TimeWindow | None) -> Article:
        """Return a copy whose `is_outside_window` is set for the window."""
        outside = window is not None and window.is_outside(self.moment)
        return self.model_copy(update={"is_outside_window": outside})


def parse_web_address(value: object, base_url: str = "") -> str:
    """Return an untrusted http(s) address made absolute, or "" if it is not usable."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_URL_CHARS:
        return ""
    value = encode_invisible(value.strip())
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in value):
        return ""
    try:
        if urlsplit(value).scheme and not urlsplit(value).netloc:
            return ""  # `urljoin` would turn it into the base address
        address = urljoin(base_url, value)
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and not set("@%") & set(parts.netloc)  # no credentials or escapes
    except ValueError:
        return ""
    return address if usable and len(address) <= MAX_URL_CHARS else ""


def url_host(url: str) -> str:
    """Return the host of an address without "www.", used as an outlet's name."""
    return strip_www(urlsplit(url).hostname or "")
