"""What the news of a report come to: when, how they sound, who told them, where they disagree.

Charts speak the language of the report, tables and labels that of the visitor. Headlines and the like
come from outside: in a chart they are values of fields whose names are fixed, elsewhere plain text.
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
from pages.shared.safe import link, plain, web
from pages.shared.words import CODES, Lang, day_form, day_text, lang, number, speaker, t
from research import CitedAnswer, Evidence, Report, message

TONES = ("positive", "neutral", "negative")
# Neither red nor green, which mean the opposite in another culture; readable on light and on dark.
COLOURS = ("#3b8fd4", "#8b95a1", "#dd7a1f")
SHAPES = ("triangle-up", "circle", "triangle-down")
LANE = 20  # pixels
HEIGHT = (140, 460)  # of the timeline, at least and at most
TICKS = 8  # of its axis, about
LONG = 300  # days from which on months are enough for its axis
HEADLINE = 160  # characters of a headline in a tooltip
PIECES = 40  # of a story that are listed
UNDATED = 30  # stories without a day that are listed
PICTURES = 24
STRIP = 275  # pixels
ROWS = 10  # of a table, until it scrolls


# Above the text


def head(report: Report) -> None:
    """What the news come to in one line, and a warning if all of it is old; of a report without any
    news, that it is so."""
    found = report.answer and report.answer.coverage
    if not found:
        if report.run.options.sections and report.answer:
            st.caption(t(_lacking(report)))
        return
    facts = [t("coverage.as_of", day=day_text(found.as_of, lang()))]
    if found.newest:
        facts.append(t("coverage.newest", day=day_text(found.newest, lang())))
    facts.append(t("coverage.stories", n=number(len(found.stories))))
    named = [outlet for outlet in found.outlets if outlet.name]
    if named:
        facts.append(t("coverage.outlets", n=number(len(named))))
    if found.undated:
        facts.append(t("coverage.undated", n=number(found.undated)))
    st.markdown(f":material/newspaper: {plain(' · '.join(facts))}")
    if found.stale and found.newest:
        day = day_text(found.newest, lang())
        st.warning(t("coverage.stale", day=plain(day)), icon=":material/history:")


def _lacking(report: Report) -> str:
    """Why a report has no news: the key of the words for it."""
    reasons = {finding.reason for finding in report.findings if finding.task.source == "news"}
    if reasons & {None, "empty"}:
        return "coverage.unfound"
    return "coverage.unreached" if reasons - {"no key", "left out"} else "coverage.unsearched"


# Below the text


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """The stories of a report, its pictures and what the search service says itself."""
    found = report.answer and report.answer.coverage
    key = report.run.id[:8]
    if found:
        layout.section(t("coverage.title"))
        days, tones = st.columns([3, 1], gap="medium")
        with days:
            _draw_days(report)
        with tones:
            _draw_tones(report)
        if found.conflicts:
            _draw_conflicts(report, cited)
        _draw_stories(report, cited)
        if not found.conflicts:
            st.caption(t("coverage.no_conflicts"))
        _draw_outlets(report)
    pictures(report, key)
    leads(report, key)


def _language(report: Report) -> Lang:
    return report.answer.language if report.answer else lang()


# The timeline


def _draw_days(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    stories = report.answer.coverage.stories
    key = report.run.id[:8]
    layout.part(t("coverage.timeline"))
    table = points(report)
    if table.empty:
        st.caption(t("coverage.no_days"))
    else:
        chart = timeline(table, _language(report))
        st.altair_chart(chart, key=f"timeline_{key}", alt=t("coverage.timeline_alt"))
        st.caption(t("coverage.timeline_help"))
    undated = [story for story in stories if story.day is None]
    if undated:
        label = t("coverage.no_day", n=number(len(undated)))
        with st.expander(label, icon=":material/event_busy:", key=f"undated_{key}"):
            lines = [f"- {plain(story.headline, HEADLINE)}" for story in undated[:UNDATED]]
            if len(undated) > UNDATED:
                lines.append(f"- {t('coverage.more', n=number(len(undated) - UNDATED))}")
            st.markdown("\n".join(lines))


def points(report: Report) -> pd.DataFrame:
    """A row for each story that has a day: where it stands on the timeline, and what it says."""
    found = report.answer and report.answer.coverage
    language = _language(report)
    say = speaker(language)
    stories = sorted(
        (story for story in (found.stories if found else ()) if story.day),
        key=lambda story: (story.day, story.id),
    )
    spans = [(story.day, max(story.latest or story.day, story.day)) for story in stories]
    rows = [
        {
            "day": _noon(first),
            "latest": _noon(last),
            "lane": lane,
            "tone": say(f"tone.{story.tone}"),
            "size": story.independent,
            "headline": _cut(story.headline, HEADLINE),
            "outlets": _cut(_names(story.outlets, language), HEADLINE),
            "when": day_text(first, language)
            if first == last
            else f"{day_text(first, language)} – {day_text(last, language)}",
        }
        for story, lane, (first, last) in zip(stories, lanes(spans), spans, strict=True)
    ]
    return pd.DataFrame(rows)


def lanes(spans: Sequence[tuple[date, date]]) -> list[int]:
    """For each stretch of days, in order of their beginnings, the lowest lane that is free then."""
    ends: list[date] = []
    found = []
    for first, last in spans:
        at = next((n for n, end in enumerate(ends) if end < first), len(ends))
        ends[at : at + 1] = [last]
        found.append(at)
    return found


def timeline(table: pd.DataFrame, language: Lang) -> alt.LayerChart:
    """The stories by day, each in a lane of its own while it lasts."""
    say = speaker(language)
    first, last = table["day"].min(), table["latest"].max()
    every = alt.Axis(
        title=None, format=_form(language, last - first), values=ticks(first, last), grid=True,
        labelOverlap="greedy", labelFlush=False,
    )  # fmt: skip
    edge = timedelta(days=max(1.0, (last - first).days / 40))
    scale = alt.Scale(type="utc", domain=[_moment(first - edge), _moment(last + edge)], nice=False)
    tones = [say(f"tone.{tone}") for tone in TONES]
    deep = int(table["lane"].max()) + 1
    across = alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.8, max(deep, 3) - 0.2]))
    colour = alt.Color(
        "tone:N", title=None, scale=alt.Scale(domain=tones, range=list(COLOURS)),
        legend=alt.Legend(orient="top", title=None, symbolOpacity=1, symbolSize=110),
    )  # fmt: skip
    told = [
        alt.Tooltip("headline:N", title=say("coverage.headline")),
        alt.Tooltip("when:N", title=say("coverage.day")),
        alt.Tooltip("outlets:N", title=say("coverage.outlet")),
        alt.Tooltip("tone:N", title=say("coverage.tone")),
    ]
    base = alt.Chart(table).encode(y=across, color=colour, tooltip=told)
    lasting = base.mark_rule(strokeWidth=3, opacity=0.45, strokeCap="round").encode(
        x=alt.X("day:T", scale=scale, axis=every), x2="latest:T"
    )
    shape = alt.Shape("tone:N", title=None, scale=alt.Scale(domain=tones, range=list(SHAPES)))
    room = [110, 420] if deep * LANE + 70 <= HEIGHT[1] else [60, 200]
    size = alt.Size("size:Q", legend=None, scale=alt.Scale(domain=[1, 8], range=room, clamp=True))
    point = base.mark_point(filled=True, opacity=0.95).encode(
        x=alt.X("day:T", scale=scale, axis=every), shape=shape, size=size
    )
    least, most = HEIGHT
    return alt.layer(lasting, point).properties(
        height=min(most, max(least, deep * LANE + 70)), width="container"
    )


def ticks(first: datetime, last: datetime) -> list[dict[str, Any]]:
    """Noons that the axis names: about as many as it has room for, at equal distances."""
    days = (last - first).days
    step = max(1, -(-days // TICKS))
    return [_moment(first + timedelta(days=n)) for n in range(0, days + 1, step)]


def _form(language: Lang, length: timedelta) -> str:
    if language == "zh":
        return "%Y年%-m月" if length.days > LONG else "%-m月%-d日"
    return "%b %Y" if length.days > LONG else "%-d %b"


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def _moment(when: datetime) -> dict[str, Any]:
    """A time as a chart's specification has it, whatever time zone the browser is in."""
    return {
        "year": when.year, "month": when.month, "date": when.day, "hours": when.hour, "utc": True,
    }  # fmt: skip


def _names(names: Iterable[str], language: Lang) -> str:
    return message("mark.list", language).join(filter(None, names))


def _cut(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# Tones


def _draw_tones(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    found = report.answer.coverage
    layout.part(t("coverage.tones"))
    counts = Counter(story.tone for story in found.stories)
    chart = tones(counts, _language(report))
    st.altair_chart(chart, key=f"tones_{report.run.id[:8]}", alt=t("coverage.tones_alt"))
    st.caption(_judged(report))


def tones(counts: Counter[str], language: Lang) -> alt.LayerChart:
    """How many stories sound how."""
    say = speaker(language)
    names = [say(f"tone.{tone}") for tone in TONES]
    table = pd.DataFrame({"tone": names, "count": [counts[tone] for tone in TONES]})
    most = max(1, *table["count"])
    base = alt.Chart(table).encode(
        x=alt.X("count:Q", axis=None, scale=alt.Scale(domain=[0, most * 1.2])),
        y=alt.Y(
            "tone:N",
            title=None,
            sort=names,
            axis=alt.Axis(ticks=False, domain=False, labelFontSize=13),
        ),
    )
    colour = alt.Color("tone:N", legend=None, scale=alt.Scale(domain=names, range=list(COLOURS)))
    bars = base.mark_bar(cornerRadiusEnd=3, height=18).encode(color=colour)
    # Grey is read on light and on dark; a layer of text has no colour of the theme.
    marks = base.mark_text(align="left", dx=5, fontSize=13, color="#8b95a1").encode(text="count:Q")
    return alt.layer(bars, marks).properties(height=110, width="container")


def _judged(report: Report) -> str:
    assert report.answer
    assert report.answer.coverage
    found = report.answer.coverage
    rough = sum(story.rough for story in found.stories)
    if not found.author:
        return t("coverage.rough")
    if rough:
        return t("coverage.partly", name=plain(found.author), n=number(rough))
    return t("coverage.judged", name=plain(found.author))


# Stories and their pieces


def _draw_stories(report: Report, cited: CitedAnswer | None) -> None:
    assert report.answer
    assert report.answer.coverage
    stories = report.answer.coverage.stories
    layout.part(t("coverage.table"))
    st.caption(t("coverage.table_help"))
    rows = [
        {
            "day": story.day,
            "headline": _cut(story.headline, 300),
            "told": f"{story.independent}/{len(story.evidence)} · "
            f"{_names(story.outlets, lang()) or t('coverage.unnamed')}",
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
        height=_height(len(rows)),
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "day": st.column_config.DateColumn(t("coverage.day"), format=day_form(), width=115),
            "headline": column(t("coverage.headline"), width="large"),
            "told": column(t("coverage.told"), width="medium"),
            "tone": column(t("coverage.tone"), width=110),
            "old": column(t("coverage.old"), width=120),
        },
    )
    picked = [*chosen.selection.rows, *(cell[0] for cell in chosen.selection.cells)]
    for at in picked[:1]:
        if at < len(stories):
            pieces(stories[at].headline, stories[at].evidence, report, cited)


def pieces(headline: str, ids: Sequence[str], report: Report, cited: CitedAnswer | None) -> None:
    """The pieces of a story, each a link to where it was published."""
    known = {item.id: item for item in report.evidence}
    found = [known[id_] for id_ in ids if id_ in known]
    numbers = _numbers(cited)
    with st.container(border=True):
        count = t("coverage.pieces", n=number(len(found)))
        st.markdown(f"**{plain(headline, 300)}** · {count}")
        lines = [
            " · ".join(
                [
                    link(_cut(item.title, 200), item.url),
                    plain(item.publisher or answer.host(item)) or t("coverage.unnamed"),
                    day_text(item.published, lang()) if item.published else t("coverage.nodate"),
                    _cited(item, numbers),
                ]
            )
            for item in found[:PIECES]
        ]
        if len(found) > PIECES:
            lines.append(t("coverage.more", n=number(len(found) - PIECES)))
        st.markdown("\n".join(f"- {line}" for line in lines))


def _numbers(cited: CitedAnswer | None) -> dict[str, int]:
    return {source.evidence.id: source.number for source in cited.sources} if cited else {}


def _cited(item: Evidence, numbers: dict[str, int]) -> str:
    at = numbers.get(item.id)
    return f"\\[{at}\\]" if at else f":gray[{t('coverage.uncited')}]"


def _height(rows: int) -> int | str:
    return "auto" if rows <= ROWS else 35 * (ROWS + 1) + 3


# Outlets


def _draw_outlets(report: Report) -> None:
    assert report.answer
    assert report.answer.coverage
    outlets = report.answer.coverage.outlets
    if not outlets:
        return
    layout.part(t("coverage.outlets_title"))
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
        height=_height(len(rows)),
        column_config={
            "outlet": st.column_config.TextColumn(t("coverage.outlet"), width=150),
            "items": st.column_config.NumberColumn(t("coverage.items"), width=65),
            "stories": st.column_config.NumberColumn(t("coverage.of_stories"), width=70),
            "first": st.column_config.DateColumn(t("coverage.first"), format=day_form(), width=115),
        },
    )


# Conflicts


def _draw_conflicts(report: Report, cited: CitedAnswer | None) -> None:
    assert report.answer
    assert report.answer.coverage
    conflicts = report.answer.coverage.conflicts
    known = {item.id: item for item in report.evidence}
    numbers = _numbers(cited)
    layout.part(t("coverage.conflicts", n=number(len(conflicts))))
    columns = st.columns(2) if len(conflicts) > 1 else [st.container()]
    for at, conflict in enumerate(conflicts):
        with columns[at % len(columns)], st.container(border=True):
            st.markdown(f"**{plain(conflict.subject, 120)}**")
            lines = []
            for figure in conflict.figures:
                item = known.get(figure.evidence)
                where = plain(figure.outlet) or t("coverage.unnamed")
                if item:
                    where = f"{link(figure.outlet or answer.host(item), item.url)} {_cited(item, numbers)}"
                lines.append(f"- **{plain(figure.text)}** — {where}  \n  “{plain(figure.clause)}”")
            st.markdown("\n".join(lines))


# Pictures and leads


def pictures(report: Report, key: str) -> None:
    """The pictures that were found, once the visitor asks for them: they lie on other sites.

    They are drawn by a document of its own, the only one that may load pictures from elsewhere.
    """
    found = {
        one.url: one for finding in report.findings for one in finding.pictures if web(one.url)
    }
    shown = list(found.values())[:PICTURES]
    if not shown:
        return
    st.toggle(t("coverage.pictures", n=number(len(shown))), key=f"pictures_{key}")
    st.caption(t("coverage.pictures_help"))
    if not st.session_state.get(f"pictures_{key}"):
        return
    told = {
        "lang": CODES[lang()],
        "dark": st.context.theme.type == "dark",
        "words": {
            "title": t("coverage.pictures_title"),
            "lost": t("coverage.picture_lost"),
            "page": t("coverage.picture_page"),
            "open": t("coverage.picture_open"),
        },
        "pictures": [
            {
                "url": one.url,
                "caption": _cut(one.caption, 300),
                "page": web(one.page),
                "host": urlsplit(web(one.page)).hostname or "",
            }
            for one in shown
        ],
    }
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    address = "/".join(["", *filter(None, [base]), "assets/pictures/frame.html"])
    st.iframe(f"{address}#{quote(json.dumps(told, ensure_ascii=False))}", height=STRIP)


def leads(report: Report, key: str) -> None:
    """What the search service has written itself, set apart from what can be cited."""
    found = [finding for finding in report.findings if finding.lead.strip()]
    if not found:
        return
    label = t("coverage.leads", n=number(len(found)))
    with st.expander(label, icon=":material/smart_toy:", key=f"leads_{key}"):
        st.caption(t("coverage.leads_help"))
        for finding in found:
            provider = f"{plain(finding.provider)} · " if finding.provider else ""
            st.markdown(f":gray[{provider}{plain(finding.task.query, 160)}]")
            for line in filter(str.strip, finding.lead.splitlines()):
                st.markdown(plain(line))
