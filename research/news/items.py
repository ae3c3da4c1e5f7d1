"""An item of news: one address with a headline, as some service or feed told of it.

Knows nothing of who asked for it. Every field may be missing: services leave out titles, dates,
texts and addresses.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import field_validator

from research.news.dates import Moment
from research.records import Record


class Item(Record):
    """What is known of one published piece.

    `published` is the time of publication in UTC or None where it is not known; never the time at
    which somebody found or crawled it. With `published_day_only` only its day is known, and the time
    of day says nothing. `published_text` is the date as the provider wrote it. `score` is the
    provider's own relevance, on whatever scale the provider has.
    """

    url: str = ""
    title: str = ""
    outlet: str = ""
    published: datetime | None = None
    published_day_only: bool = False
    published_text: str = ""
    text: str = ""  # a snippet or the whole of it
    provider: str = ""  # tavily, gdelt, rss, ...
    score: float | None = None
    image: str = ""
    refs: tuple[str, ...] = ()  # the caller's own names for it

    @field_validator("published")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("has no time zone; give it as UTC")
        return value.astimezone(UTC) if value else None

    @property
    def moment(self) -> Moment | None:
        """When it was published, as one value."""
        return Moment(self.published, self.published_day_only) if self.published else None
