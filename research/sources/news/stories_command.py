"""Clustering of a JSON list of articles, printed by `python -m research stories FILE`.

Works on text; the terminal command reads the file and prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from research.core.text.publication_dates import parse_publication_date
from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster, cluster_articles
from research.sources.news.story_figures import find_conflicts

MAX_ITEMS = 20_000
ITEM_FIELDS = ("title", "outlet", "published", "text", "url")


class UnreadableItemsError(ValueError):
    """The input is no list of items; the message says where and what was expected."""


def stories_json(text: str, now: datetime | None = None) -> str:
    """Cluster a JSON list of items into stories and return them as JSON.

    The input is a list or `{"items": [...]}`. An item has a title and optionally an outlet, a text,
    an address and a publication date in any form that `research.core.text.publication_dates` reads.
    Dates that are unreadable or later than `now` are treated as unknown and listed under `unread`.

    Raises:
        UnreadableItemsError: the text is no JSON, or no such list.
    """
    rows = _parse_rows(text)
    items, unread = [], []
    for index, row in enumerate(rows):
        item, problem = _parse_article(row, index, now)
        items.append(item)
        if problem not in ("", "missing"):
            unread.append({"item": index, "published": row["published"], "why": problem})
    stories = cluster_articles(items)
    document = {
        "items": len(items),
        "stories": [_story_json(story) for story in stories],
        "unread": unread,
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _parse_rows(text: str) -> list[Any]:
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise UnreadableItemsError(f"This is no JSON: {error.msg} ({where}).") from None
    except RecursionError:
        raise UnreadableItemsError("This JSON is nested too deeply.") from None
    if isinstance(data, Mapping):
        if "items" not in data:
            raise UnreadableItemsError('The object has no "items"; expected a list or {"items": [...]}.')
        data = data["items"]
    if not isinstance(data, list):
        raise UnreadableItemsError(f"Expected a list of items, not {_describe_type(data)}.")
    if len(data) > MAX_ITEMS:
        raise UnreadableItemsError(f"{len(data)} items are too many; the limit is {MAX_ITEMS}.")
    return data


def _parse_article(row: Any, index: int, now: datetime | None) -> tuple[Article, str]:
    if not isinstance(row, Mapping):
        raise UnreadableItemsError(f"Item {index} is {_describe_type(row)}; expected an object with a title.")
    values: dict[str, str] = {}
    for name in ITEM_FIELDS:
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise UnreadableItemsError(f"Item {index}: {name} is {_describe_type(value)}; expected a text.")
        values[name] = value or ""
    if row.get("title") is None:
        raise UnreadableItemsError(f"Item {index} has no title.")
    parsed_date = parse_publication_date(values["published"], now=now)
    moment = parsed_date.timestamp
    return Article(
        url=values["url"],
        title=values["title"],
        outlet=values["outlet"],
        text=values["text"],
        published=moment.utc if moment else None,
        is_day_only=bool(moment and moment.is_day_only),
    ), parsed_date.problem


def _describe_type(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "nothing (null)" if value is None else kinds.get(type(value), "a number")


def _story_json(story: StoryCluster) -> dict[str, Any]:
    return {
        "id": story.id,
        "headline": story.headline,
        "items": list(story.source_indexes),
        "outlets": list(story.outlets),
        "independent": story.independent_count,
        "earliest": story.earliest.iso_text if story.earliest else None,
        "latest": story.latest.iso_text if story.latest else None,
        "conflicts": [
            {
                "unit": conflict.unit,
                "subject": conflict.subject,
                "figures": [{"outlet": figure.outlet, "figure": figure.text} for figure in conflict.figures],
            }
            for conflict in find_conflicts(story)
        ],
    }
