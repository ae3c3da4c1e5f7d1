"""The six ways to look for news, as one table.

Each is a set of parameters of Tavily's search; other providers keep to the number of results, the
time and the pictures. What a model chose is checked here before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from research.sources.news.notes import Note, noted
from research.sources.news.windows import Window, days

BASIC = "basic_search_news"


@dataclass(frozen=True)
class Tool:
    """One way. `parameters` are Tavily's; `span` is how far back it looks; `dated` wants two days."""

    name: str
    results: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    span: timedelta | None = None
    dated: bool = False
    pictures: bool = False


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(BASIC, 7, {"search_depth": "basic", "include_answer": False}),
        Tool(
            "deep_search_news",
            20,
            {"search_depth": "advanced", "include_answer": "advanced", "chunks_per_source": 3},
        ),
        Tool("search_news_last_24_hours", 10, {"time_range": "day"}, span=timedelta(days=1)),
        Tool("search_news_last_week", 10, {"time_range": "week"}, span=timedelta(days=7)),
        Tool(
            "search_images_for_news",
            5,
            {"include_images": True, "include_image_descriptions": True},
            pictures=True,
        ),
        Tool("search_news_by_date", 15, dated=True),
    )
}


@dataclass(frozen=True)
class Request:
    """What is asked for: a tool and, if it is limited to some, the first and the last day."""

    tool: Tool = TOOLS[BASIC]
    start: date | None = None
    end: date | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that Tavily is told beside the query."""
        found = {"topic": "news", "max_results": self.tool.results, **self.tool.parameters}
        if self.start and self.end:
            found |= {"start_date": self.start.isoformat(), "end_date": self.end.isoformat()}
        return found

    def window(self, now: datetime) -> Window | None:
        """The time that it is limited to; None if it is not."""
        if self.start and self.end:
            return days(self.start, self.end)
        if self.tool.span:
            # Some outlets date what they publish a little ahead.
            return Window(now - self.tool.span, now + timedelta(hours=1))
        return None


@dataclass(frozen=True)
class Choice:
    """The request that a choice comes to, what was put right, and why it is another tool, if it is."""

    request: Request
    notes: tuple[Note, ...] = ()
    fault: Note | None = None


def chosen(tool: str, start: date | None, end: date | None, today: date) -> Choice:
    """The request that is meant by a tool's name and two days; "" is the basic tool.

    Days in the wrong order are swapped, and the last one is today at the latest. What makes no
    request falls back to the basic tool, and says why.
    """
    name = tool.strip()
    found = TOOLS.get(name or BASIC)
    if found is None:
        return _basic("no tool", tool=repr(name[:60]))
    if not found.dated:
        idle = noted("no dates", tool=found.name)
        return Choice(Request(found), (idle,) if start or end else ())
    if start is None or end is None:
        return _basic("no days", tool=found.name)
    notes: list[Note] = []
    if start > end:
        start, end = end, start
        notes.append(noted("swapped", start=start, end=end))
    if start > today:
        return _basic("days to come", tool=found.name, start=start)
    if end > today:
        notes.append(noted("to come", end=end, today=today))
        end = today
    return Choice(Request(found, start, end), tuple(notes))


def _basic(fault: str, **values: object) -> Choice:
    return Choice(Request(), fault=noted(fault, **values, basic=BASIC))
