"""News coverage of a report: timeline, tones, stories, outlets, conflicts, pictures and leads.

Charts use the language of the report; tables and labels use that of the visitor. Headlines and
other outside text enter charts only as values of fixed fields, and elsewhere as escaped text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import altair as alt
import pandas as pd
import streamlit as st

from pages.run import answer
from pages.shared import layout
from pages.shared.escaping import escape_markdown, markdown_link, web_url
from pages.shared.localization import (
    LANGUAGE_TAGS,
    Language,
    create_translator,
    current_language,
    day_column_format,
    format_day_in,
    format_number,
    t,
)
from pages.shared.paths import base_path
from research import CitedAnswer, Evidence, Report, message

TONES = ("positive", "neutral", "negative")
# Neither red nor green, whose meanings differ between cultures; readable on light and dark.
TONE_COLORS = ("#3b8fd4", "#8b95a1", "#dd7a1f")
TONE_SHAPES = ("triangle-up", "circle", "triangle-down")
LANE_PIXELS = 20  # height of a lane
HEIGHT_RANGE_PIXELS = (140, 460)  # minimum and maximum height of the timeline
MAX_TICKS = 8  # approximate number of ticks on the time axis
MONTH_AXIS_DAYS = 300  # a longer time axis shows months instead of days
MAX_HEADLINE_CHARS = 160  # of a headline in a tooltip
MAX_ARTICLES = 40  # listed of a story
MAX_UNDATED_STORIES = 30  # listed stories without a day
MAX_PICTURES = 24
PICTURES_HEIGHT_PIXELS = 275
MAX_UNSCROLLED_ROWS = 10  # a longer table scrolls


# Above the answer


def draw_summary(report: Report) -> None:
    """Draw one line of facts on the coverage, with a warning if all news are old.

    A report that found no news gets a caption with the reason.
    """
    news = report.answer and report.answer.coverage
    if not news:
        if report.run.options.sections and report.answer:
            st.caption(t(_missing_news_message(report)))
        return
    facts = [t("coverage.as_of", day=format_day_in(news.as_of, current_language()))]
    if news.latest_day:
        facts.append(t("coverage.newest", day=format_day_in(news.latest_day, current_language())))
    facts.append(t("coverage.stories", n=format_number(len(news.stories))))
    named_outlets = [outlet for outlet in news.outlets if outlet.name]
    if named_outlets:
        facts.append(t("coverage.outlets", n=format_number(len(named_outlets))))
    if news.undated:
        facts.append(t("coverage.undated", n=format_number(news.undated)))
    st.markdown(f":material/newspaper: {escape_markdown(' · '.join(facts))}")
    if news.is_stale and news.latest_day:
        day = format_day_in(news.latest_day, current_language())
        st.warning(t("coverage.stale", day=escape_markdown(day)), icon=":material/history:")


def _missing_news_message(report: Report) -> str:
    """Return the message key of the reason why a report has no news."""
    reasons = {finding.reason for finding in report.findings if finding.task.source == "news"}
    if reasons & {None, "empty"}:
        return "coverage.unfound"
    return "coverage.unreached" if reasons - {"no key", "left out"} else "coverage.unsearched"


# Below the answer


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """Draw the stories, pictures and search service answers of a report."""
    news = report.answer and report.answer.coverage
    key = report.run.id[:8]
    if news:
        layout.draw_section_title(t("coverage.title"))
        days, tones = st.columns([3, 1], gap="medium")
        with days:
            _draw_timeline(report)
        with tones:
            _draw_tones(report)
        if news.conflicts:
            _draw_conflicts(report, cited)
        _draw_stories(report, cited)
        if not news.conflicts:
            st.caption(t("coverage.no_conflicts"))
        _draw_outlets(report)
    draw_pictures(report, key)
    draw_service_answers(report, key)


def _report_language(report: Report) -> Language:
    return report.answer.language if report.answer else current_language()


# The timeline


def _draw_timeline(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    stories = report.answer.coverage.stories
    key = report.run.id[:8]
    layout.draw_subsection_title(t("coverage.timeline"))
    table = timeline_points(report)
    if table.empty:
        st.caption(t("coverage.no_days"))
    else:
        chart = build_timeline(table, _report_language(report))
        st.altair_chart(chart, key=f"timeline_{key}", alt=t("coverage.timeline_alt"))
        st.caption(t("coverage.timeline_help"))
    undated = [story for story in stories if story.day is None]
    if undated:
        label = t("coverage.no_day", n=format_number(len(undated)))
        with st.expander(label, icon=":material/event_busy:", key=f"undated_{key}"):
            lines = [
                f"- {escape_markdown(story.headline, MAX_HEADLINE_CHARS)}" for story in undated[:MAX_UNDATED_STORIES]
            ]
            if len(undated) > MAX_UNDATED_STORIES:
                lines.append(f"- {t('coverage.more', n=format_number(len(undated) - MAX_UNDATED_STORIES))}")
            st.markdown("\n".join(lines))


def timeline_points(report: Report) -> pd.DataFrame:
    """Return a row for each dated story, with its lane on the timeline and its tooltip texts."""
    news = report.answer and report.answer.coverage
    language = _report_language(report)
    translate = create_translator(language)
    stories = sorted(
        (story for story in (news.stories if news else ()) if story.day),
        key=lambda story: (story.day, story.id),
    )
    spans = [(story.day, max(story.latest or story.day, story.day)) for story in stories]
    rows = [
        {
            "day": _noon(first),
            "latest": _noon(last),
            "lane": lane,
            "tone": translate(f"tone.{story.tone}"),
            "size": story.independent,
            "headline": _shorten(story.headline, MAX_HEADLINE_CHARS),
            "outlets": _shorten(_join_names(story.outlets, language), MAX_HEADLINE_CHARS),
            "when": format_day_in(first, language)
            if first == last
            else f"{format_day_in(first, language)} – {format_day_in(last, language)}",
        }
        for story, lane, (first, last) in zip(stories, assign_lanes(spans), spans, strict=True)
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
    day_axis = alt.Axis(
        title=None,
        format=_date_format(language, last - first),
        values=axis_ticks(first, last),
        grid=True,
        labelOverlap="greedy",
        labelFlush=False,
    )
    margin = timedelta(days=max(1.0, (last - first).days / 40))
    scale = alt.Scale(type="utc", domain=[_vega_datetime(first - margin), _vega_datetime(last + margin)], nice=False)
    tones = [translate(f"tone.{tone}") for tone in TONES]
    lane_count = int(table["lane"].max()) + 1
    y_axis = alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.8, max(lane_count, 3) - 0.2]))
    colour = alt.Color(
        "tone:N",
        title=None,
        scale=alt.Scale(domain=tones, range=list(TONE_COLORS)),
        legend=alt.Legend(orient="top", title=None, symbolOpacity=1, symbolSize=110),
    )
    tooltips = [
        alt.Tooltip("headline:N", title=translate("coverage.headline")),
        alt.Tooltip("when:N", title=translate("coverage.day")),
        alt.Tooltip("outlets:N", title=translate("coverage.outlet")),
        alt.Tooltip("tone:N", title=translate("coverage.tone")),
    ]
    base = alt.Chart(table).encode(y=y_axis, color=colour, tooltip=tooltips)
    duration_rules = base.mark_rule(strokeWidth=3, opacity=0.45, strokeCap="round").encode(
        x=alt.X("day:T", scale=scale, axis=day_axis), x2="latest:T"
    )
    shape = alt.Shape("tone:N", title=None, scale=alt.Scale(domain=tones, range=list(TONE_SHAPES)))
    size_range = [110, 420] if lane_count * LANE_PIXELS + 70 <= HEIGHT_RANGE_PIXELS[1] else [60, 200]
    size = alt.Size("size:Q", legend=None, scale=alt.Scale(domain=[1, 8], range=size_range, clamp=True))
    point = base.mark_point(filled=True, opacity=0.95).encode(
        x=alt.X("day:T", scale=scale, axis=day_axis), shape=shape, size=size
    )
    min_height, max_height = HEIGHT_RANGE_PIXELS
    return alt.layer(duration_rules, point).properties(
        height=min(max_height, max(min_height, lane_count * LANE_PIXELS + 70)), width="container"
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


def _join_names(names: Iterable[str], language: Language) -> str:
    return message("mark.list", language).join(filter(None, names))


def _shorten(text: str, max_characters: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


# Tones


def _draw_tones(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    news = report.answer.coverage
    layout.draw_subsection_title(t("coverage.tones"))
    counts = Counter(story.tone for story in news.stories)
    chart = build_tone_chart(counts, _report_language(report))
    st.altair_chart(chart, key=f"tones_{report.run.id[:8]}", alt=t("coverage.tones_alt"))
    st.caption(_tone_origin_text(report))


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


def _tone_origin_text(report: Report) -> str:
    assert report.answer
    assert report.answer.coverage
    news = report.answer.coverage
    rough = sum(story.rough for story in news.stories)
    if not news.author:
        return t("coverage.rough")
    if rough:
        return t("coverage.partly", name=escape_markdown(news.author), n=format_number(rough))
    return t("coverage.judged", name=escape_markdown(news.author))


# Stories and their articles


def _draw_stories(report: Report, cited: CitedAnswer | None) -> None:
    assert report.answer
    assert report.answer.coverage
    stories = report.answer.coverage.stories
    layout.draw_subsection_title(t("coverage.table"))
    st.caption(t("coverage.table_help"))
    rows = [
        {
            "day": story.day,
            "headline": _shorten(story.headline, 300),
            "told": f"{story.independent}/{len(story.evidence)} · "
            f"{_join_names(story.outlets, current_language()) or t('coverage.unnamed')}",
            "tone": t(f"tone.{story.tone}") + (t("coverage.rough_mark") if story.rough else ""),
            "old": t("coverage.old_mark") if story.stale else "",
        }
        for story in stories
    ]
    column = st.column_config.TextColumn
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"stories_{report.run.id[:8]}",
        alt=t("coverage.table"),
        placeholder=t("coverage.nodate"),
        height=_table_height(len(rows)),
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "day": st.column_config.DateColumn(t("coverage.day"), format=day_column_format(), width=115),
            "headline": column(t("coverage.headline"), width="large"),
            "told": column(t("coverage.told"), width="medium"),
            "tone": column(t("coverage.tone"), width=110),
            "old": column(t("coverage.old"), width=120),
        },
    )
    selected_rows = [*chosen.selection.rows, *(cell[0] for cell in chosen.selection.cells)]
    for index in selected_rows[:1]:
        if index < len(stories):
            draw_articles(stories[index].headline, stories[index].evidence, report, cited)


def draw_articles(headline: str, evidence_ids: Sequence[str], report: Report, cited: CitedAnswer | None) -> None:
    """Draw the articles of a story, each a link to its publication."""
    evidence_by_id = {item.id: item for item in report.evidence}
    articles = [evidence_by_id[id_] for id_ in evidence_ids if id_ in evidence_by_id]
    numbers = _citation_numbers(cited)
    with st.container(border=True):
        count = t("coverage.pieces", n=format_number(len(articles)))
        st.markdown(f"**{escape_markdown(headline, 300)}** · {count}")
        lines = [
            " · ".join(
                [
                    markdown_link(_shorten(item.title, 200), item.url),
                    escape_markdown(item.publisher or answer.source_host(item)) or t("coverage.unnamed"),
                    format_day_in(item.published, current_language()) if item.published else t("coverage.nodate"),
                    _citation_text(item, numbers),
                ]
            )
            for item in articles[:MAX_ARTICLES]
        ]
        if len(articles) > MAX_ARTICLES:
            lines.append(t("coverage.more", n=format_number(len(articles) - MAX_ARTICLES)))
        st.markdown("\n".join(f"- {line}" for line in lines))


def _citation_numbers(cited: CitedAnswer | None) -> dict[str, int]:
    return {source.evidence.id: source.number for source in cited.sources} if cited else {}


def _citation_text(item: Evidence, numbers: dict[str, int]) -> str:
    number = numbers.get(item.id)
    return f"\\[{number}\\]" if number else f":gray[{t('coverage.uncited')}]"


def _table_height(row_count: int) -> int | str:
    return "auto" if row_count <= MAX_UNSCROLLED_ROWS else 35 * (MAX_UNSCROLLED_ROWS + 1) + 3


# Outlets


def _draw_outlets(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    outlets = report.answer.coverage.outlets
    if not outlets:
        return
    layout.draw_subsection_title(t("coverage.outlets_title"))
    rows = [
        {
            "outlet": outlet.name or t("coverage.unnamed"),
            "items": outlet.items,
            "stories": outlet.stories,
            "first": outlet.first,
        }
        for outlet in outlets
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"outlets_{report.run.id[:8]}",
        alt=t("coverage.outlets_title"),
        placeholder=t("coverage.nodate"),
        height=_table_height(len(rows)),
        column_config={
            "outlet": st.column_config.TextColumn(t("coverage.outlet"), width=150),
            "items": st.column_config.NumberColumn(t("coverage.items"), width=65),
            "stories": st.column_config.NumberColumn(t("coverage.of_stories"), width=70),
            "first": st.column_config.DateColumn(t("coverage.first"), format=day_column_format(), width=115),
        },
    )


# Conflicts


def _draw_conflicts(report: Report, cited: CitedAnswer | None) -> None:
    assert report.answer
    assert report.answer.coverage
    conflicts = report.answer.coverage.conflicts
    evidence_by_id = {item.id: item for item in report.evidence}
    numbers = _citation_numbers(cited)
    layout.draw_subsection_title(t("coverage.conflicts", n=format_number(len(conflicts))))
    columns = st.columns(2) if len(conflicts) > 1 else [st.container()]
    for index, conflict in enumerate(conflicts):
        with columns[index % len(columns)], st.container(border=True):
            st.markdown(f"**{escape_markdown(conflict.subject, 120)}**")
            lines = []
            for figure in conflict.figures:
                item = evidence_by_id.get(figure.evidence)
                outlet_text = escape_markdown(figure.outlet) or t("coverage.unnamed")
                if item:
                    outlet_text = f"{markdown_link(figure.outlet or answer.source_host(item), item.url)} {_citation_text(item, numbers)}"
                lines.append(
                    f"- **{escape_markdown(figure.text)}** — {outlet_text}  \n  “{escape_markdown(figure.clause)}”"
                )
            st.markdown("\n".join(lines))


# Pictures and leads


def draw_pictures(report: Report, key: str) -> None:
    """Draw a toggle that loads the pictures found, which lie on other sites.

    An iframe draws them: its document is the only one allowed to load outside pictures.
    """
    pictures_by_url = {
        picture.url: picture for finding in report.findings for picture in finding.pictures if web_url(picture.url)
    }
    pictures = list(pictures_by_url.values())[:MAX_PICTURES]
    if not pictures:
        return
    st.toggle(t("coverage.pictures", n=format_number(len(pictures))), key=f"pictures_{key}")
    st.caption(t("coverage.pictures_help"))
    if not st.session_state.get(f"pictures_{key}"):
        return
    frame_data = {
        "lang": LANGUAGE_TAGS[current_language()],
        "dark": st.context.theme.type == "dark",
        "words": {
            "title": t("coverage.pictures_title"),
            "lost": t("coverage.picture_lost"),
            "page": t("coverage.picture_page"),
            "open": t("coverage.picture_open"),
        },
        "pictures": [
            {
                "url": picture.url,
                "caption": _shorten(picture.caption, 300),
                "page": web_url(picture.page),
                "host": urlsplit(web_url(picture.page)).hostname or "",
            }
            for picture in pictures
        ],
    }
    st.iframe(
        f"{base_path()}/assets/pictures/frame.html#{quote(json.dumps(frame_data, ensure_ascii=False))}",
        height=PICTURES_HEIGHT_PIXELS,
    )


def draw_service_answers(report: Report, key: str) -> None:
    """Draw the answers written by a search service, apart from what can be cited."""
    answered = [finding for finding in report.findings if finding.lead.strip()]
    if not answered:
        return
    label = t("coverage.leads", n=format_number(len(answered)))
    with st.expander(label, icon=":material/smart_toy:", key=f"leads_{key}"):
        st.caption(t("coverage.leads_help"))
        for finding in answered:
            provider = f"{escape_markdown(finding.provider)} · " if finding.provider else ""
            st.markdown(f":gray[{provider}{escape_markdown(finding.task.query, 160)}]")
            for line in filter(str.strip, finding.lead.splitlines()):
                st.markdown(escape_markdown(line))
