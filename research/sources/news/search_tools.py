"""The six ways to look for news, as one table.

Each is a set of parameters of Tavily's search; other providers keep to the number of results, the
time and the pictures. What a model chose is checked here before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from research.sources.news.notes import Note, make_note
from research.sources.news.time_window import TimeWindow, window_of_days

BASIC_TOOL = "basic_search_news"


@dataclass(frozen=True)
class NewsTool:
    """One way. `parameters` are Tavily's; `span` is how far back it looks; `dated` wants two days."""

    name: str
    max_results: int
    tavily_parameters: Mapping[str, Any] = field(default_factory=dict)
    lookback: timedelta | None = None
    needs_dates: bool = False
    has_pictures: bool = False


NEWS_TOOLS = {
    tool.name: tool
    for tool in (
        NewsTool(BASIC_TOOL, 7, {"search_depth": "basic", "include_answer": False}),
        NewsTool(
            "deep_search_news",
            20,
            {"search_depth": "advanced", "include_answer": "advanced", "chunks_per_source": 3},
        ),
        NewsTool("search_news_last_24_hours", 10, {"time_range": "day"}, lookback=timedelta(days=1)),
        NewsTool("search_news_last_week", 10, {"time_range": "week"}, lookback=timedelta(days=7)),
        NewsTool(
            "search_images_for_news",
            5,
            {"include_images": True, "include_image_descriptions": True},
            has_pictures=True,
        ),
        NewsTool("search_news_by_date", 15, needs_dates=True),
    )
}


@dataclass(frozen=True)
class NewsRequest:
    """What is asked for: a tool and, if it is limited to some, the first and the last day."""

    tool: NewsTool = NEWS_TOOLS[BASIC_TOOL]
    start_date: date | None = None
    end_date: date | None = None

    @property
    def tavily_parameters(self) -> dict[str, Any]:
        """Everything that Tavily is told beside the query."""
        found = {"topic": "news", "max_results": self.tool.max_results, **self.tool.tavily_parameters}
        if self.start_date and self.end_date:
            found |= {"start_date": self.start_date.isoformat(), "end_date": self.end_date.isoformat()}
        return found

    def time_window(self, now: datetime) -> TimeWindow | None:
        """The time that it is limited to; None if it is not."""
        if self.start_date and self.end_date:
            return window_of_days(self.start_date, self.end_date)
        if self.tool.lookback:
            # Some outlets date what they publish a little ahead.
            return TimeWindow(now - self.tool.lookback, now + timedelta(hours=1))
        return None


@dataclass(frozen=True)
class ToolChoice:
    """The request that a choice comes to, what was put right, and why it is another tool, if it is."""

    request: NewsRequest
    notes: tuple[Note, ...] = ()
    error_note: Note | None = None


def choose_tool(tool: str, start: date | None, end: date | None, today: date) -> ToolChoice:
    """The request that is meant by a tool's name and two days; "" is the basic tool.

    Days in the wrong order are swapped, and the last one is today at the latest. What makes no
    request falls back to the basic tool, and says why.
    """
    name = tool.strip()
    found = NEWS_TOOLS.get(name or BASIC_TOOL)
    if found is None:
        return _fall_back("no tool", tool=repr(name[:60]))
    if not found.needs_dates:
        idle = make_note("no dates", tool=found.name)
        return ToolChoice(NewsRequest(found), (idle,) if start or end else ())
    if start is None or end is None:
        return _fall_back("no days", tool=found.name)
    notes: list[Note] = []
    if start > end:
        start, end = end, start
        notes.append(make_note("swapped", start=start, end=end))
    if start > today:
        return _fall_back("days to come", tool=found.name, start=start)
    if end > today:
        notes.append(make_note("to come", end=end, today=today))
        end = today
    return ToolChoice(NewsRequest(found, start, end), tuple(notes))


def _fall_back(message_key: str, **values: object) -> ToolChoice:
    return ToolChoice(NewsRequest(), error_note=make_note(message_key, **values, basic=BASIC_TOOL))
