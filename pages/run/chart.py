"""The chart that fits the types of rows: bars, a line or points. No model has a say in it.

Fields are named by us and titles are texts, so that a name with dots, brackets or quotes in it is
nothing but a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

import altair as alt
import pandas as pd
import streamlit as st

from pages.shared import layout
from pages.shared.escaping import escape_markdown, web_url
from pages.shared.localization import format_number, t
from research import QueryResult

MAX_BARS = 30  # bars
MAX_SERIES = 6  # lines in one chart
MAX_LABEL_CHARS = 40  # characters of a label
BAR_PIXELS = 24  # pixels of a bar with its gap
_ID_NAME = re.compile(r"(?:.*[_\s])?(?:id|gid|oid|uid|pk|code|page|rank|no|zip|phone|tel)|.*(?:编号|序号|编码|代码|页码|电话|邮编)", re.I)  # fmt: skip
_YEAR_NAME = re.compile(r"(?:.*[_\s])?(?:year|yr)(?:[_\s].*)?|.*(?:年份|年度)|年", re.I)
_COORDINATE_NAME = re.compile(r"(?:.*_)?(?:lng|lon|long|longitude|lat|latitude|经度|纬度)(?:_?(?:wgs_?84|gcj_?02|bd_?09))?", re.I)  # fmt: skip
_LABEL_NAME = re.compile(r"name|title|province|city|名称|景区|省份|城市", re.I)
_RESERVED_TITLES = {"title", "image"}  # names of fields that a tooltip draws as a heading and as a picture
ChartKind = Literal["bar", "line", "points"]


@dataclass(frozen=True)
class ChartChoice:
    """A chart: what stands along the label axis, what is measured, and what tells lines apart. All
    are places of columns; `series` is -1 for none."""

    kind: ChartKind
    label_column: int
    measure_columns: tuple[int, ...]
    series_column: int = -1


# Columns


def is_id(name: str) -> bool:
    return bool(_ID_NAME.fullmatch(name.strip()))


def is_coordinate(name: str) -> bool:
    return bool(_COORDINATE_NAME.fullmatch(name.strip()))


def is_year(name: str, values: Sequence[Any]) -> bool:
    """Whether whole numbers are years: by their name, and because they could be."""
    return bool(_YEAR_NAME.fullmatch(name.strip())) and all(
        1000 <= value < 3000 for value in values if value is not None
    )


def choose_chart(query_result: QueryResult) -> ChartChoice | None:
    """The chart that fits the rows, or None: fewer than two rows, or nothing that is measured.

    Where each row names a thing of its own, numbers are bars. Else numbers by a date or a year of
    which each row has its own are a line, or one line for each of a few texts; numbers by a text are
    bars; two numbers alone are points. Ids, coordinates, years and
    columns of one value are no measures.
    """
    if len(query_result.rows) < 2 or not query_result.types:
        return None
    columns = list(zip(*query_result.rows, strict=True))
    kinds = list(zip(query_result.names, query_result.types, columns, strict=True))
    times = [
        n
        for n, (name, kind, values) in enumerate(kinds)
        if len(set(values)) > 1
        and None not in values
        and (kind == "date" or (kind == "integer" and is_year(name, values)))
    ]
    measures = tuple(
        n
        for n, (name, kind, values) in enumerate(kinds)
        if kind in ("integer", "number")
        and len(_present_values(values)) > 1
        and not (is_id(name) or is_coordinate(name) or is_year(name, values))
    )
    texts = [n for n, (_, kind, values) in enumerate(kinds) if kind == "text" and _are_labels(values)]
    if not measures:
        return None
    things = any(len(set(columns[n])) == len(query_result.rows) for n in texts)  # each row names its own
    for at in () if things else times:
        if len(set(columns[at])) == len(query_result.rows):
            return ChartChoice("line", at, measures)
        for text in texts:
            pairs = set(zip(columns[at], columns[text], strict=True))
            if len(pairs) == len(query_result.rows) and len(set(columns[text])) <= MAX_SERIES:
                return ChartChoice("line", at, measures, text)
    if texts:
        own = max(texts, key=lambda n: (len(set(columns[n])), bool(_LABEL_NAME.search(query_result.names[n])), -n))
        return ChartChoice("bar", own, measures)
    if len(measures) > 1:
        return ChartChoice("points", measures[0], measures[1:])
    return None


def _present_values(values: Sequence[Any]) -> set[Any]:
    return {value for value in values if value is not None}


def _are_labels(values: Sequence[Any]) -> bool:
    """Whether texts can stand beside bars: they differ, are short, and are no addresses."""
    known = _present_values(values)
    return (
        len(known) > 1
        and sorted(map(len, known))[len(known) // 2] <= MAX_LABEL_CHARS
        and not any(web_url(text) for text in known)
    )


# Drawing


def draw(query_result: QueryResult, display_result: QueryResult, key: str) -> None:
    """The chart that fits, with a choice of what is measured; nothing if none fits. `shown` are the
    same rows with headings for their names."""
    choice = choose_chart(query_result)
    if choice is None:
        return
    layout.draw_section_title(t("rows.chart"))
    names = dict(enumerate(display_result.names))
    measure = choice.measure_columns[0]
    if len(choice.measure_columns) > 1:
        measure = st.pills(
            t("rows.measure"),
            list(choice.measure_columns),
            format_func=lambda n: escape_markdown(_shorten(names[n])),
            default=measure,
            key=f"measure_{key}",
            required=True,
        )
    words = {"measure": _shorten(names[measure]), "label": _shorten(names[choice.label_column])}
    title = {
        "bar": t("rows.chart_bar", **words),
        "line": t("rows.chart_line", **words),
        "points": t("rows.chart_points", **words),
    }[choice.kind]
    st.altair_chart(build_chart(display_result, choice, measure), key=f"chart_{key}", alt=title)
    if choice.kind == "bar" and sum(row[measure] is not None for row in query_result.rows) > MAX_BARS:
        st.caption(t("rows.chart_top", n=format_number(MAX_BARS)))


def build_chart(query_result: QueryResult, choice: ChartChoice, measure_column: int) -> alt.Chart:
    """The specification of a chart of one measure."""
    names = {"label": query_result.names[choice.label_column], "value": query_result.names[measure_column]}
    lines = [
        {
            "label": row[choice.label_column],
            "value": row[measure_column],
            **({"series": _shorten(str(row[choice.series_column]))} if choice.series_column >= 0 else {}),
        }
        for row in query_result.rows
        if row[measure_column] is not None and row[choice.label_column] is not None
    ]
    if choice.kind == "bar":
        return build_bar_chart(lines, names)
    draw_ = {"line": _build_line_chart, "points": _build_point_chart}[choice.kind]
    return draw_(lines, names, is_dated=query_result.types[choice.label_column] == "date")


def build_bar_chart(records: list[dict[str, Any]], titles: dict[str, str]) -> alt.Chart:
    """The first lines as bars: each has a `label`, which need not be its own, and a `value`."""
    records = records[:MAX_BARS]
    seen: Counter[str] = Counter()
    for line in records:
        text = _shorten(line["label"])
        seen[text] += 1
        line["label"] = text if seen[text] == 1 else f"{text} ({seen[text]})"
    return (
        alt.Chart(pd.DataFrame(records))
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y(
                "label:N",
                title=None,
                sort=None,
                axis=alt.Axis(
                    labelLimit=220,
                    labelOverlap=False,
                    labelFlush=False,
                    labelFontSize=12,
                    ticks=False,
                ),
            ),
            x=alt.X("value:Q", title=_shorten(titles["value"])),
            tooltip=_build_tooltips(titles),
        )
        .properties(height=max(120, len(records) * BAR_PIXELS + 40))
    )


def _build_line_chart(records: list[dict[str, Any]], titles: dict[str, str], *, is_dated: bool) -> alt.Chart:
    series = bool(records) and "series" in records[0]
    if is_dated:
        for line in records:
            day = date.fromisoformat(line["label"])
            line["label"] = datetime(day.year, day.month, day.day)
        across = alt.X("label:T", title=_shorten(titles["label"]))
        told = alt.Tooltip("label:T", title=_tooltip_title(titles["label"]), format="%Y-%m-%d")
    else:  # years: as they are, without a thousands separator
        across = alt.X(
            "label:Q",
            title=_shorten(titles["label"]),
            axis=alt.Axis(format="d", tickMinStep=1),
            scale=alt.Scale(zero=False, nice=False),
        )
        told = alt.Tooltip("label:Q", title=_tooltip_title(titles["label"]), format="d")
    encoding = {
        "x": across,
        "y": alt.Y("value:Q", title=_shorten(titles["value"])),
        "tooltip": [told, _build_tooltips(titles)[1]],
    }
    if series:
        encoding["color"] = alt.Color("series:N", title=None, legend=alt.Legend(orient="top"))
    return alt.Chart(pd.DataFrame(records)).mark_line(point=True).encode(**encoding)


def _build_point_chart(records: list[dict[str, Any]], titles: dict[str, str], *, is_dated: bool) -> alt.Chart:
    return (
        alt.Chart(pd.DataFrame(records))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("label:Q", title=_shorten(titles["label"]), scale=alt.Scale(zero=False)),
            y=alt.Y("value:Q", title=_shorten(titles["value"]), scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip("label:Q", title=_tooltip_title(titles["label"])),
                alt.Tooltip("value:Q", title=_tooltip_title(titles["value"])),
            ],
        )
    )


def _build_tooltips(titles: dict[str, str]) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title=_tooltip_title(titles["label"])),
        alt.Tooltip("value:Q", title=_tooltip_title(titles["value"])),
    ]


def _tooltip_title(name: str) -> str:
    """A name as a tooltip has it: one that it would draw as a picture or a heading is none any more."""
    text = _shorten(name) or "–"
    return f"{text} " if text in _RESERVED_TITLES else text


def _shorten(text: str) -> str:
    text = " ".join(text.split()).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"
