"""Table of the six news search tools, and validation of a model's choice among them.

A tool is a set of Tavily search parameters; other providers use only the number of results, the
time and the images.
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
    """A news search tool.

    `tavily_parameters` are sent with its searches by Tavily. `lookback` limits it to the time before
    the search; `needs_dates` requires a first and a last day. With `has_pictures` it returns images.
    """

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
    """A tool and, if the search is limited to days, the first and the last one."""

    tool: NewsTool = NEWS_TOOLS[BASIC_TOOL]
    start_date: date | None = None
    end_date: date | None = None

    @property
    def tavily_parameters(self) -> dict[str, Any]:
        """All parameters of a Tavily search except the query."""
        parameters = {"topic": "news", "max_results": self.tool.max_results, **self.tool.tavily_parameters}
        if self.start_date and self.end_date:
            parameters |= {"start_date": self.start_date.isoformat(), "end_date": self.end_date.isoformat()}
        return parameters

    def time_window(self, now: datetime) -> TimeWindow | None:
        """Return the time to which the search is limited, or None."""
        if self.start_date and self.end_date:
            return window_of_days(self.start_date, self.end_date)
        if self.tool.lookback:
            # Some outlets date articles slightly ahead.
            return TimeWindow(now - self.tool.lookback, now + timedelta(hours=1))
        return None


@dataclass(frozen=True)
class ToolChoice:
    """A valid request, notes on corrections, and a note if another tool had to be used."""

    request: NewsRequest
    notes: tuple[Note, ...] = ()
    error_note: Note | None = None


def choose_tool(tool: str, start: date | None, end: date | None, today: date) -> ToolChoice:
    """Return the request for a tool's name and two days; "" is the basic tool.

    Days in the wrong order are swapped, and the last day is limited to today. An invalid choice
    falls back to the basic tool with an error note.
    """
    name = tool.strip()
    selected = NEWS_TOOLS.get(name or BASIC_TOOL)
    if selected is None:
        return _fall_back("no tool", tool=repr(name[:60]))
    if not selected.needs_dates:
        unused_dates = make_note("no dates", tool=selected.name)
        return ToolChoice(NewsRequest(selected), (unused_dates,) if start or end else ())
    if start is None or end is None:
        return _fall_back("no days", tool=selected.name)
    notes: list[Note] = []
    if start > end:
        start, end = end, start
        notes.append(make_note("swapped", start=start, end=end))
    if start > today:
        return _fall_back("days to come", tool=selected.name, start=start)
    if end > today:
        notes.append(make_note("to come", end=end, today=today))
        end = today
    return ToolChoice(NewsRequest(selected, start, end), tuple(notes))


def _fall_back(message_key: str, **values: object) -> ToolChoice:
    return ToolChoice(NewsRequest(), error_note=make_note(message_key, **values, basic=BASIC_TOOL))
