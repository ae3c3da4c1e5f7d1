"""News coverage of a report: timeline, tones, stories, outlets, conflicts, pictures and leads.

Charts use the language of the report; tables and labels use that of the visitor.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

import pandas as pd
import streamlit as st

from pages.run import answer, coverage_charts
from pages.shared import layout
from pages.shared.escaping import escape_markdown, markdown_link, to_single_line, web_url
from pages.shared.localization import (
    LANGUAGE_TAGS,
    Language,
    current_language,
    day_column_format,
    format_day,
    format_number,
    t,
)
from pages.shared.paths import base_path
from research import CitedAnswer, Evidence, NewsCoverage, Report, Story

MAX_ARTICLES = 40  # listed of a story
MAX_UNDATED_STORIES = 30  # listed stories without a day
MAX_PICTURES = 24
PICTURES_HEIGHT_PIXELS = 275
MAX_HEADLINE_CHARS = 160  # of a story without a day


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
    facts = [t("coverage.as_of", day=format_day(news.as_of))]
    if news.latest_day:
        facts.append(t("coverage.newest", day=format_day(news.latest_day)))
    facts.append(t("coverage.stories", n=format_number(len(news.stories))))
    if named_count := sum(bool(outlet.name) for outlet in news.outlets):
        facts.append(t("coverage.outlets", n=format_number(named_count)))
    if news.undated:
        facts.append(t("coverage.undated", n=format_number(news.undated)))
    st.markdown(f":material/newspaper: {escape_markdown(' · '.join(facts))}")
    if news.is_stale and news.latest_day:
        day = escape_markdown(format_day(news.latest_day))
        st.warning(t("coverage.stale", day=day), icon=":material/history:")


def _missing_news_message(report: Report) -> str:
    """Return the message key of the reason why a report has no news."""
    reasons = {finding.reason for finding in report.findings if finding.task.source == "news"}
    if reasons & {None, "empty"}:
        return "coverage.unfound"
    return "coverage.unreached" if reasons - {"no key", "left out"} else "coverage.unsearched"


# Below the answer


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """Draw the stories, pictures and search service answers of a report."""
    key = report.run.id[:8]
    if report.answer and (news := report.answer.coverage):
        language = report.answer.language
        layout.draw_section_title(t("coverage.title"))
        days, tones = st.columns([3, 1], gap="medium")
        with days:
            _draw_timeline(news, language, key)
        with tones:
            _draw_tones(news, language, key)
        if news.conflicts:
            _draw_conflicts(news, report, cited)
        _draw_stories(news, report, cited)
        if not news.conflicts:
            st.caption(t("coverage.no_conflicts"))
        _draw_outlets(news, key)
    draw_pictures(report, key)
    draw_service_answers(report, key)


# The charts


def _draw_timeline(news: NewsCoverage, language: Language, key: str) -> None:
    layout.draw_subsection_title(t("coverage.timeline"))
    table = coverage_charts.timeline_points(news.stories, language)
    if table.empty:
        st.caption(t("coverage.no_days"))
    else:
        chart = coverage_charts.build_timeline(table, language)
        st.altair_chart(chart, key=f"timeline_{key}", alt=t("coverage.timeline_alt"))
        st.caption(t("coverage.timeline_help"))
    if undated := [escape_markdown(story.headline, MAX_HEADLINE_CHARS) for story in news.stories if story.day is None]:
        label = t("coverage.no_day", n=format_number(len(undated)))
        with st.expander(label, icon=":material/event_busy:", key=f"undated_{key}"):
            _draw_list(undated, MAX_UNDATED_STORIES)


def _draw_list(lines: Sequence[str], max_lines: int) -> None:
    """Draw a list of lines, which are safe Markdown, and the number of those beyond `max_lines`."""
    shown = [f"- {line}" for line in lines[:max_lines]]
    if len(lines) > max_lines:
        shown.append(f"- {t('coverage.more', n=format_number(len(lines) - max_lines))}")
    st.markdown("\n".join(shown))


def _draw_tones(news: NewsCoverage, language: Language, key: str) -> None:
    layout.draw_subsection_title(t("coverage.tones"))
    chart = coverage_charts.build_tone_chart(Counter(story.tone for story in news.stories), language)
    st.altair_chart(chart, key=f"tones_{key}", alt=t("coverage.tones_alt"))
    st.caption(_tone_origin_text(news))


def _tone_origin_text(news: NewsCoverage) -> str:
    if not news.author:
        return t("coverage.rough")
    if rough := sum(story.tone_from_words for story in news.stories):
        return t("coverage.partly", name=escape_markdown(news.author), n=format_number(rough))
    return t("coverage.judged", name=escape_markdown(news.author))


# Stories and their articles


def _draw_stories(news: NewsCoverage, report: Report, cited: CitedAnswer | None) -> None:
    layout.draw_subsection_title(t("coverage.table"))
    st.caption(t("coverage.table_help"))
    rows = [
        {
            "day": story.day,
            "headline": to_single_line(story.headline, 300),
            "told": f"{story.independent}/{len(story.evidence)} · "
            f"{t('mark.list').join(filter(None, story.outlets)) or t('coverage.unnamed')}",
            "tone": t(f"tone.{story.tone}") + (t("coverage.rough_mark") if story.tone_from_words else ""),
            "old": t("coverage.old_mark") if story.stale else "",
        }
        for story in news.stories
    ]
    column = st.column_config.TextColumn
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"stories_{report.run.id[:8]}",
        alt=t("coverage.table"),
        placeholder=t("coverage.nodate"),
        height=layout.table_height(len(rows)),
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
    index = layout.selected_row(chosen, len(news.stories))
    if index is not None:
        _draw_articles(news.stories[index], report, cited)


def _draw_articles(story: Story, report: Report, cited: CitedAnswer | None) -> None:
    """Draw the articles of a story, each a link to its publication."""
    evidence_by_id = {item.id: item for item in report.evidence}
    articles = [evidence_by_id[id_] for id_ in story.evidence if id_ in evidence_by_id]
    numbers = _citation_numbers(cited)
    with st.container(border=True):
        count = t("coverage.pieces", n=format_number(len(articles)))
        st.markdown(f"**{escape_markdown(story.headline, 300)}** · {count}")
        lines = [
            " · ".join(
                [
                    markdown_link(to_single_line(item.title, 200), item.url),
                    escape_markdown(item.publisher or answer.source_host(item)) or t("coverage.unnamed"),
                    format_day(item.published) if item.published else t("coverage.nodate"),
                    _citation_text(item, numbers),
                ]
            )
            for item in articles
        ]
        _draw_list(lines, MAX_ARTICLES)


def _citation_numbers(cited: CitedAnswer | None) -> dict[str, int]:
    return {source.evidence.id: source.number for source in cited.sources} if cited else {}


def _citation_text(item: Evidence, numbers: dict[str, int]) -> str:
    number = numbers.get(item.id)
    return f"\\[{number}\\]" if number else f":gray[{t('coverage.uncited')}]"


# Outlets


def _draw_outlets(news: NewsCoverage, key: str) -> None:
    if not news.outlets:
        return
    layout.draw_subsection_title(t("coverage.outlets_title"))
    rows = [
        {
            "outlet": outlet.name or t("coverage.unnamed"),
            "items": outlet.items,
            "stories": outlet.stories,
            "first": outlet.first,
        }
        for outlet in news.outlets
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"outlets_{key}",
        alt=t("coverage.outlets_title"),
        placeholder=t("coverage.nodate"),
        height=layout.table_height(len(rows)),
        column_config={
            "outlet": st.column_config.TextColumn(t("coverage.outlet"), width=150),
            "items": st.column_config.NumberColumn(t("coverage.items"), width=65),
            "stories": st.column_config.NumberColumn(t("coverage.of_stories"), width=70),
            "first": st.column_config.DateColumn(t("coverage.first"), format=day_column_format(), width=115),
        },
    )


# Conflicts


def _draw_conflicts(news: NewsCoverage, report: Report, cited: CitedAnswer | None) -> None:
    evidence_by_id = {item.id: item for item in report.evidence}
    numbers = _citation_numbers(cited)
    layout.draw_subsection_title(t("coverage.conflicts", n=format_number(len(news.conflicts))))
    columns = st.columns(2) if len(news.conflicts) > 1 else [st.container()]
    for index, conflict in enumerate(news.conflicts):
        with columns[index % len(columns)], st.container(border=True):
            st.markdown(f"**{escape_markdown(conflict.subject, 120)}**")
            lines = []
            for figure in conflict.figures:
                item = evidence_by_id.get(figure.evidence)
                outlet_text = escape_markdown(figure.outlet) or t("coverage.unnamed")
                if item:
                    link = markdown_link(figure.outlet or answer.source_host(item), item.url)
                    outlet_text = f"{link} {_citation_text(item, numbers)}"
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
                "caption": to_single_line(picture.caption, 300),
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
    answered = [finding for finding in report.findings if finding.provider_summary.strip()]
    if not answered:
        return
    label = t("coverage.leads", n=format_number(len(answered)))
    with st.expander(label, icon=":material/smart_toy:", key=f"leads_{key}"):
        st.caption(t("coverage.leads_help"))
        for finding in answered:
            provider = f"{escape_markdown(finding.provider)} · " if finding.provider else ""
            st.markdown(f":gray[{provider}{escape_markdown(finding.task.query, 160)}]")
            for line in filter(str.strip, finding.provider_summary.splitlines()):
                st.markdown(escape_markdown(line))
