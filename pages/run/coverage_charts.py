"""Charts of the news coverage of a report: its stories by day and their tones.

Charts use the language of the report. Headlines and other outside text enter them only as values of
fixed fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import altair as alt
import pandas as pd

from pages.shared.escaping import to_single_line
from pages.shared.locale_format import format_day
from pages.shared.localization import Language, create_translator
from research import Story

TONES = ("positive", "neutral", "negative")
# Neither red nor green, whose meanings differ between cultures; readable on light and dark.
TONE_COLORS = ("#3b8fd4", "#8b95a1", "#dd7a1f")
TONE_SHAPES = ("triangle-up", "circle", "triangle-down")
LANE_PIXELS = 20  # height of a lane
HEIGHT_RANGE_PIXELS = (140, 460)  # minimum and maximum height of the timeline
MAX_TICKS = 8  # approximate number of ticks on the time axis
MONTH_AXIS_DAYS = 300  # a longer time axis shows months instead of days
MAX_HEADLINE_CHARS = 160  # of a headline in a tooltip


def timeline_points(stories: Sequence[Story], language: Language) -> pd.DataFrame:
    """Return a row for each dated story, with its lane on the timeline and its tooltip texts."""
    translate = create_translator(language)
    dated = sorted((story for story in stories if story.day), key=lambda story: (story.day, story.id))
    spans = [(story.day, max(story.latest or story.day, story.day)) for story in dated]
    rows = [
        {
            "day": _noon(first),
            "latest": _noon(last),
            "lane": lane,
            "tone": translate(f"tone.{story.tone}"),
            "size": story.independent,
            "headline": to_single_line(story.headline, MAX_HEADLINE_CHARS),
            "outlets": to_single_line(translate("mark.list").join(filter(None, story.outlets)), MAX_HEADLINE_CHARS),
            "when": " – ".join(dict.fromkeys(format_day(day, language) for day in (first, last))),
        }
        for story, lane, (first, last) in zip(dated, assign_lanes(spans), spans, strict=True)
    ]
    return pd.DataFrame(rows)


def assign_lanes(spans: Sequence[tuple[date, date]]) -> list[int]:
    """Return for each span of days the lowest lane that is free on its first day.

    `spans` are sorted by their first days; first and last day are inclusive.
    """
    ends: list[date] = []
    lanes = []
    for first, last in spans:
        lane = next((n for n, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes.append(lane)
    return lanes


def build_timeline(table: pd.DataFrame, language: Language) -> alt.LayerChart:
    """Build the chart of stories by day, each in a lane of its own while it lasts."""
    translate = create_translator(language)
    first, last = table["day"].min(), table["latest"].max()
    margin = timedelta(days=max(1.0, (last - first).days / 40))
    day_axis = alt.X(
        "day:T",
        scale=alt.Scale(type="utc", domain=[_vega_datetime(first - margin), _vega_datetime(last + margin)], nice=False),
        axis=alt.Axis(
            title=None,
            format=_date_format(language, last - first),
            values=axis_ticks(first, last),
            grid=True,
            labelOverlap="greedy",
            labelFlush=False,
        ),
    )
    tones = [translate(f"tone.{tone}") for tone in TONES]
    lane_count = int(table["lane"].max()) + 1
    min_height, max_height = HEIGHT_RANGE_PIXELS
    height = lane_count * LANE_PIXELS + 70
    colour = alt.Color(
        "tone:N",
        title=None,
        scale=alt.Scale(domain=tones, range=list(TONE_COLORS)),
        legend=alt.Legend(orient="top", title=None, symbolOpacity=1, symbolSize=110),
    )
    base = alt.Chart(table).encode(
        x=day_axis,
        y=alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.8, max(lane_count, 3) - 0.2])),
        color=colour,
        tooltip=[
            alt.Tooltip("headline:N", title=translate("coverage.headline")),
            alt.Tooltip("when:N", title=translate("coverage.day")),
            alt.Tooltip("outlets:N", title=translate("coverage.outlet")),
            alt.Tooltip("tone:N", title=translate("coverage.tone")),
        ],
    )
    size_range = [110, 420] if height <= max_height else [60, 200]
    duration_rules = base.mark_rule(strokeWidth=3, opacity=0.45, strokeCap="round").encode(x2="latest:T")
    points = base.mark_point(filled=True, opacity=0.95).encode(
        shape=alt.Shape("tone:N", title=None, scale=alt.Scale(domain=tones, range=list(TONE_SHAPES))),
        size=alt.Size("size:Q", legend=None, scale=alt.Scale(domain=[1, 8], range=size_range, clamp=True)),
    )
    return alt.layer(duration_rules, points).properties(
        height=min(max_height, max(min_height, height)), width="container"
    )


def axis_ticks(first: datetime, last: datetime) -> list[dict[str, Any]]:
    """Return about MAX_TICKS equidistant noons to label on the time axis."""
    days = (last - first).days
    step = max(1, -(-days // MAX_TICKS))
    return [_vega_datetime(first + timedelta(days=n)) for n in range(0, days + 1, step)]


def _date_format(language: Language, length: timedelta) -> str:
    if language == "zh":
        return "%Y年%-m月" if length.days > MONTH_AXIS_DAYS else "%-m月%-d日"
    return "%b %Y" if length.days > MONTH_AXIS_DAYS else "%-d %b"


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def _vega_datetime(moment: datetime) -> dict[str, Any]:
    """Return a time as a Vega-Lite DateTime in UTC, independent of the browser's time zone."""
    return {"year": moment.year, "month": moment.month, "date": moment.day, "hours": moment.hour, "utc": True}


def build_tone_chart(counts: Counter[str], language: Language) -> alt.LayerChart:
    """Build a bar chart of the number of stories of each tone."""
    translate = create_translator(language)
    names = [translate(f"tone.{tone}") for tone in TONES]
    table = pd.DataFrame({"tone": names, "count": [counts[tone] for tone in TONES]})
    max_count = max(1, *table["count"])
    base = alt.Chart(table).encode(
        x=alt.X("count:Q", axis=None, scale=alt.Scale(domain=[0, max_count * 1.2])),
        y=alt.Y(
            "tone:N",
            title=None,
            sort=names,
            axis=alt.Axis(ticks=False, domain=False, labelFontSize=13),
        ),
    )
    colour = alt.Color("tone:N", legend=None, scale=alt.Scale(domain=names, range=list(TONE_COLORS)))
    bars = base.mark_bar(cornerRadiusEnd=3, height=18).encode(color=colour)
    # Grey is readable on light and dark; a text layer does not take the colour of the theme.
    marks = base.mark_text(align="left", dx=5, fontSize=13, color="#8b95a1").encode(text="count:Q")
    return alt.layer(bars, marks).properties(height=110, width="container")
