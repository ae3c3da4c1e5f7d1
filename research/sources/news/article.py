"""One piece of news: an address with a headline, as some service or feed told of it.

Knows nothing of who asked for it. Every field may be missing: services leave out titles, dates,
texts and addresses.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from pydantic import field_validator

from research.core.records import Record
from research.core.text.publication_dates import MAX_DATE_CHARS, Timestamp, parse_publication_date
from research.core.urls import encode_invisible, strip_www
from research.http.sanitize import tidy_text, truncate_text
from research.sources.news.time_window import TimeWindow

MAX_TITLE_CHARS = 300  # characters that a title keeps
MAX_URL_CHARS = 2_000  # characters that an address may have


class Article(Record):
    """What is known of one published piece. Texts are plain.

    `published` is the time of publication or None where it is not known; with `day_only` it is the
    midnight of a day of which the time is not known. `published_text` is the date in the provider's
    words. `seen` is when a crawler came by, which is no date of publication. `outside` says that it
    was published on other days than those that were asked for. `score` is the provider's own
    relevance, on whatever scale the provider has.
    """

    url: str = ""
    title: str = ""
    provider: str = ""  # tavily, gdelt, feeds
    outlet: str = ""
    text: str = ""  # a snippet or the whole of it
    published: datetime | None = None  # UTC
    is_day_only: bool = False
    published_text: str = ""
    seen_at: datetime | None = None  # UTC
    score: float | None = None
    image: str = ""
    is_outside_window: bool = False
    evidence_ids: tuple[str, ...] = ()  # the caller's own names for it

    @field_validator("published", "seen_at")
    @classmethod
    def _to_utc(cls, value: datetime | None) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("has no time zone; give it as UTC")
        return value.astimezone(UTC) if value else None

    @property
    def moment(self) -> Timestamp | None:
        """When it was published, as one value."""
        return Timestamp(self.published, self.is_day_only) if self.published else None

    def with_published_date(self, text: object, retrieved: datetime) -> Article:
        """With the date of publication that its provider tells, as it was `retrieved`."""
        moment = parse_publication_date(text, retrieved=retrieved).timestamp
        update = {
            "published": moment.utc if moment else None,
            "is_day_only": bool(moment and moment.is_day_only),
            "published_text": truncate_text(tidy_text(text), MAX_DATE_CHARS),
        }
        return self.model_copy(update=update)

    def with_window_check(self, window: TimeWindow | None) -> Article:
        """Marked as outside if it is."""
        outside = window is not None and window.is_outside(self.moment)
        return self.model_copy(update={"is_outside_window": outside})


def parse_web_address(value: object, base_url: str = "") -> str:
    """An http(s) address that a stranger wrote, made whole; "" if it is none."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_URL_CHARS:
        return ""
    value = encode_invisible(value.strip())
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in value):
        return ""
    try:
        if urlsplit(value).scheme and not urlsplit(value).netloc:
            return ""  # which joined to another address would become that
        address = urljoin(base_url, value)
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and not set("@%") & set(parts.netloc)  # a password, or what is no host
    except ValueError:
        return ""
    return address if usable and len(address) <= MAX_URL_CHARS else ""


def url_host(url: str) -> str:
    """The host of an address, as an outlet is called by."""
    return strip_www(urlsplit(url).hostname or "")
