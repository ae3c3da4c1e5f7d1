"""A file of items into its stories, as JSON: what `python -m research stories FILE` prints.

Knows text alone: reading the file and printing are for the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from research.core.text.published import read
from research.sources.news.article import Article
from research.sources.news.figures import conflicts
from research.sources.news.stories import Story, stories

LARGEST = 20_000  # items
FIELDS = ("title", "outlet", "published", "text", "url")


class UnreadableItems(ValueError):
    """The text is no list of items; the message says where and what was expected."""


def stories_json(text: str, now: datetime | None = None) -> str:
    """The stories of a JSON list of items, as JSON.

    The list is that of `{"items": [...]}` or stands alone. An item has a title and may have an outlet,
    a date of publication in any form that `research.core.text.published` reads, a text and an address. A date
    that cannot be read, or that is later than `now`, is unknown and listed under `unread`.

    Raises:
        UnreadableItems: it is no JSON, or no such list.
    """
    rows = _rows(text)
    items, unread = [], []
    for at, row in enumerate(rows):
        item, note = _item(row, at, now)
        items.append(item)
        if note not in ("", "missing"):
            unread.append({"item": at, "published": item.published_text, "why": note})
    told = stories(items)
    made = {
        "items": len(items),
        "stories": [_told(story) for story in told],
        "unread": unread,
    }
    return json.dumps(made, ensure_ascii=False, indent=2) + "\n"


def _rows(text: str) -> list[Any]:
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UnreadableItems(f"This is no JSON: {error.msg} ({where}).") from None
    except RecursionError:
        raise UnreadableItems("This JSON is nested too deeply.") from None
    if isinstance(data, Mapping):
        if "items" not in data:
            raise UnreadableItems('The object has no "items"; expected a list or {"items": [...]}.')
        data = data["items"]
    if not isinstance(data, list):
        raise UnreadableItems(f"Expected a list of items, not {_kind(data)}.")
    if len(data) > LARGEST:
        raise UnreadableItems(f"{len(data)} items are too many; the limit is {LARGEST}.")
    return data


def _item(row: Any, at: int, now: datetime | None) -> tuple[Article, str]:
    if not isinstance(row, Mapping):
        raise UnreadableItems(f"Item {at} is {_kind(row)}; expected an object with a title.")
    values: dict[str, str] = {}
    for name in FIELDS:
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise UnreadableItems(f"Item {at}: {name} is {_kind(value)}; expected a text.")
        values[name] = value or ""
    if row.get("title") is None:
        raise UnreadableItems(f"Item {at} has no title.")
    reading = read(values["published"], now=now)
    moment = reading.moment
    return Article(
        url=values["url"],
        title=values["title"],
        outlet=values["outlet"],
        text=values["text"],
        published=moment.at if moment else None,
        day_only=bool(moment and moment.day_only),
        published_text=values["published"],
    ), reading.note


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "nothing (null)" if value is None else kinds.get(type(value), "a number")


def _told(story: Story) -> dict[str, Any]:
    return {
        "id": story.id,
        "headline": story.headline,
        "items": list(story.indexes),
        "outlets": list(story.outlets),
        "independent": story.independent,
        "earliest": story.earliest.text if story.earliest else None,
        "latest": story.latest.text if story.latest else None,
        "conflicts": [
            {
                "unit": conflict.unit,
                "subject": conflict.subject,
                "figures": [
                    {"outlet": figure.outlet, "figure": figure.text} for figure in conflict.figures
                ],
            }
            for conflict in conflicts(story)
        ],
    }
