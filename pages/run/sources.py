"""The sources of a run as a table: those cited in the answer and those only found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from pages.run import support_texts, text_fragments
from pages.run.answer import component_key, notice_text, source_host
from pages.shared import layout
from pages.shared.escaping import escape_markdown
from pages.shared.localization import day_column_format, format_number, t
from research import AnswerSupport, CitedAnswer, Evidence, Report

MAX_UNFILTERED_SOURCES = 6  # filters are drawn only for more sources
MAX_PASSAGES, MAX_PASSAGE_CHARS = 3, 400  # shown of an uncited source
STATUS_SYMBOLS = {
    "quoted": "●",
    "supported": "●",
    "unclear": "◐",
    "unsupported": "×",
    "differs": "≠",
    "none": "○",
}


class SourceRow(NamedTuple):
    """A source in the table. One that the answer does not cite has no number."""

    number: int | None
    evidence: Evidence
    citation_count: int = 0

    @property
    def kind(self) -> str:
        """Localised kind of the source."""
        return t("kind.sample") if self.evidence.sample else t(f"kind.{self.evidence.kind}")


class SourceFilter(NamedTuple):
    """Filter of sources; an empty field excludes nothing."""

    kinds: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    date_range: tuple[date, ...] = ()  # first and last day, inclusive

    def matches(self, row: SourceRow) -> bool:
        """Return True if a source passes the filter."""
        day = row.evidence.published
        return (
            (not self.kinds or row.kind in self.kinds)
            and (not self.domains or source_host(row.evidence) in self.domains)
            and (len(self.date_range) < 2 or bool(day and self.date_range[0] <= day <= self.date_range[1]))
        )


def draw(report: Report, cited: CitedAnswer) -> None:
    """Draw the deduplicated sources by number, and the uses of the selected one."""
    layout.draw_section_title(t("sources.title"))
    key = report.run.id[:8]
    support = support_texts.answer_support(report, cited)
    rows = list_sources(report, cited)
    if not rows:
        st.caption(t("sources.none"))
        return
    shown, source_filter = _filter_sources(rows, key)
    if not shown:
        st.caption(t("sources.no_match"))
        return
    chosen = st.dataframe(
        pd.DataFrame([_table_row(row, support) for row in shown]),
        hide_index=True,
        # A selection is by row index, so another set of rows needs another key.
        key=f"sources_{key}_{abs(hash((source_filter, len(shown)))):x}",
        alt=t("sources.alt"),
        placeholder="",
        height=layout.table_height(len(shown)),
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "number": st.column_config.NumberColumn(t("sources.number"), width=55),
            "name": st.column_config.TextColumn(t("sources.name"), width=380),
            "kind": st.column_config.TextColumn(t("sources.kind"), width=80),
            "domain": st.column_config.TextColumn(t("sources.domain"), width=150, help=t("sources.domain_help")),
            "date": st.column_config.DateColumn(t("sources.date"), format=day_column_format(), width=115),
            "times": st.column_config.NumberColumn(t("sources.times"), width=85),
            "doubtful": st.column_config.NumberColumn(t("sources.doubtful"), width=85, help=t("sources.doubtful_help")),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=50),
        },
    )
    index = layout.selected_row(chosen, len(shown))
    if index is None:
        st.caption(t("sources.pick"))
    else:
        _draw_source(shown[index], support, report, cited)


def list_sources(report: Report, cited: CitedAnswer) -> list[SourceRow]:
    """Return the cited sources, followed by those that were found but not cited."""
    numbered = [SourceRow(s.number, s.evidence, s.times) for s in cited.sources]
    cited_ids = {row.evidence.id for row in numbered}
    return numbered + [SourceRow(None, item) for item in report.evidence if item.id not in cited_ids]


def _filter_sources(rows: Sequence[SourceRow], key: str) -> tuple[list[SourceRow], SourceFilter]:
    """Draw the filters and return the sources that pass, with the filter; few need none."""
    cited_rows = [row for row in rows if row.number is not None]
    needs_filters = len(rows) > MAX_UNFILTERED_SOURCES
    if not needs_filters and len(cited_rows) in (0, len(rows)):
        return list(rows), SourceFilter()
    with st.container(horizontal=True, vertical_alignment="center", key=f"filters_{key}"):
        shown = list(rows)
        if 0 < len(cited_rows) < len(rows):
            only = st.segmented_control(
                t("sources.which"),
                ["cited", "all"],
                default="cited",
                required=True,
                format_func=lambda which: t(
                    "sources.cited" if which == "cited" else "sources.all",
                    n=format_number(len(cited_rows) if which == "cited" else len(rows)),
                ),
                key=f"sources_which_{key}",
                label_visibility="collapsed",
            )
            shown = cited_rows if only != "all" else shown
        source_filter = _draw_filters(rows, key) if needs_filters else SourceFilter()
    return [row for row in shown if source_filter.matches(row)], source_filter


def _draw_filters(rows: Sequence[SourceRow], key: str) -> SourceFilter:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    domains = sorted({name for row in rows if (name := source_host(row.evidence))})
    days = sorted({row.evidence.published for row in rows if row.evidence.published})
    chosen: dict[str, Any] = {
        "kinds": _draw_multiselect(t("sources.kind"), kinds, 190, f"sources_kinds_{key}"),
        "domains": _draw_multiselect(t("sources.domain"), domains, 250, f"sources_domains_{key}"),
    }
    if len(days) > 1:
        chosen["date_range"] = tuple(
            st.date_input(
                t("sources.days"),
                value=(),
                min_value=days[0],
                max_value=days[-1],
                format="YYYY-MM-DD",
                width=260,
                key=f"sources_days_{key}",
                label_visibility="collapsed",
            )
        )
    return SourceFilter(**chosen)


def _draw_multiselect(label: str, values: Sequence[str], width_pixels: int, key: str) -> tuple[str, ...]:
    """Draw a choice of some values and return those chosen; nothing for fewer than two."""
    if len(values) < 2:
        return ()
    return tuple(
        st.multiselect(label, values, placeholder=label, width=width_pixels, key=key, label_visibility="collapsed")
    )


def _table_row(row: SourceRow, support: AnswerSupport) -> dict[str, Any]:
    citing_sentences = support.sentences_citing(row.number) if row.number is not None else ()
    return {
        "number": row.number,
        "name": " · ".join(filter(None, [notice_text(row.evidence), row.evidence.title])),
        "kind": row.kind,
        "domain": _domain_text(row.evidence),
        "date": row.evidence.published,
        "times": row.citation_count or None,
        "doubtful": sum(sentence.is_doubtful for sentence in citing_sentences) or None,
        "link": _source_url(row, support) or None,
    }


def _domain_text(item: Evidence) -> str:
    """Return the domain of a source, marked if a domain list prefers or warns of it."""
    marks = {"preferred": " ★", "warned": " ⚠"}
    return source_host(item) + marks.get(item.domain_status, "")


def _source_url(row: SourceRow, support: AnswerSupport) -> str:
    """Return the URL of a source, opening at the passage that its first sentence uses."""
    passages = {passage.id: passage for passage in row.evidence.passages}
    for sentence in support.sentences_citing(row.number) if row.number is not None else ():
        if sentence.evidence == row.evidence.id and sentence.passage in passages:
            passage = passages[sentence.passage]
            return text_fragments.passage_url(row.evidence, passage, sentence.start, sentence.end)
    return text_fragments.passage_url(row.evidence, next(iter(passages.values()), None))


def _draw_source(row: SourceRow, support: AnswerSupport, report: Report, cited: CitedAnswer) -> None:
    """Draw the selected source with every sentence that uses it, or else its first passages."""
    title = escape_markdown(row.evidence.title or source_host(row.evidence), 300)
    if notice := notice_text(row.evidence):
        title = f":red[{notice}] · {title}"
    with st.container(border=True):
        if row.number is None:
            st.markdown(f"**{title}** · {t('sources.unused')}")
            for passage in row.evidence.passages[:MAX_PASSAGES]:
                st.markdown(f"> {escape_markdown(passage.text, MAX_PASSAGE_CHARS)}")
            return
        citing_sentences = support.sentences_citing(row.number)
        count = t("sources.sentences", n=format_number(len(citing_sentences)))
        st.markdown(f"**\\[{row.number}\\] {title}** · {count}")
        lines = []
        for sentence in citing_sentences:
            span_index = support_texts.citing_span(sentence, row.number, cited)
            text = escape_markdown(sentence.text, support_texts.MAX_SENTENCE_CHARS)
            status = support_texts.status_text(sentence, cited)
            lines.append(
                f"{STATUS_SYMBOLS[sentence.status]} [{text}](#{component_key(report)}-{span_index}-{row.number}-open)"
                f"  \n:gray[:small[{escape_markdown(status)}]]"
            )
        st.markdown("\n\n".join(lines))
