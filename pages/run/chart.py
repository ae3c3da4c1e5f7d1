"""A chart that fits the column types of a query result: bars, a line or points. No model is used.

Fields have fixed names and headings are titles, because Vega-Lite would interpret dots, brackets
and quotes in a field name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Literal

import altair as alt
import pandas as pd
import streamlit as st

from pages.shared import layout
from pages.shared.escaping import escape_markdown, to_single_line, web_url
from pages.shared.localization import format_number, t
from research import QueryResult

MAX_BARS = 30
MAX_SERIES = 6  # lines in one chart
MAX_LABEL_CHARS = 40  # characters of a label
BAR_PIXELS = 24  # pixels of a bar with its gap
_ID_NAME = re.compile(
    r"(?:.*[_\s])?(?:id|gid|oid|uid|pk|code|page|rank|no|zip|phone|tel)|.*(?:编号|序号|编码|代码|页码|电话|邮编)", re.I
)
_YEAR_NAME = re.compile(r"(?:.*[_\s])?(?:year|yr)(?:[_\s].*)?|.*(?:年份|年度)|年", re.I)
_COORDINATE_NAME = re.compile(
    r"(?:.*_)?(?:lng|lon|long|longitude|lat|latitude|经度|纬度)(?:_?(?:wgs_?84|gcj_?02|bd_?09))?", re.I
)
_LABEL_NAME = re.compile(r"name|title|province|city|名称|景区|省份|城市", re.I)
_RESERVED_TITLES = {"title", "image"}  # a tooltip draws these fields as heading and picture
ChartKind = Literal["bar", "line", "points"]


@dataclass(frozen=True)
class ChartChoice:
    """A kind of chart and the indices of the columns that it shows."""

    kind: ChartKind
    label_column: int
    measure_columns: tuple[int, ...]
    series_column: int = -1  # -1 for a single series


# Columns


def is_id(name: str) -> bool:
    """Return True for the name of a column of ids or codes."""
    return bool(_ID_NAME.fullmatch(name.strip()))


def is_coordinate(name: str) -> bool:
    """Return True for the name of a column of longitudes or latitudes."""
    return bool(_COORDINATE_NAME.fullmatch(name.strip()))


def is_year(name: str, values: Sequence[Any]) -> bool:
    """Return True for the name of a column of years whose values all lie between 1000 and 2999."""
    return bool(_YEAR_NAME.fullmatch(name.strip())) and all(
        1000 <= value < 3000 for value in values if value is not None
    )


def choose_chart(query_result: QueryResult) -> ChartChoice | None:
    """Choose the chart that fits the rows; None for fewer than two rows or without a measure.

    If a text column has a different value in every row, measures are bars. Otherwise measures by a
    date or year are a line, or a line for each value of a text column if there are at most
    MAX_SERIES of them; measures by a text are bars; two measures without either are points. Ids,
    coordinates, years and columns with a single value are no measures.
    """
    if len(query_result.rows) < 2 or not query_result.types:
        return None
    columns = list(zip(*query_result.rows, strict=True))
    typed_columns = list(zip(query_result.names, query_result.types, columns, strict=True))
    times = [
        n
        for n, (name, kind, values) in enumerate(typed_columns)
        if len(set(values)) > 1
        and None not in values
        and (kind == "date" or (kind == "integer" and is_year(name, values)))
    ]
    measures = tuple(
        n
        for n, (name, kind, values) in enumerate(typed_columns)
        if kind in ("integer", "number")
        and len(_present_values(values)) > 1
        and not (is_id(name) or is_coordinate(name) or is_year(name, values))
    )
    texts = [n for n, (_, kind, values) in enumerate(typed_columns) if kind == "text" and _are_labels(values)]
    if not measures:
        return None
    # A text that differs in every row names the rows.
    has_row_labels = any(len(set(columns[n])) == len(query_result.rows) for n in texts)
    for time_column in () if has_row_labels else times:
        if len(set(columns[time_column])) == len(query_result.rows):
            return ChartChoice("line", time_column, measures)
        for series_column in texts:
            pairs = set(zip(columns[time_column], columns[series_column], strict=True))
            if len(pairs) == len(query_result.rows) and len(set(columns[series_column])) <= MAX_SERIES:
                return ChartChoice("line", time_column, measures, series_column)
    if texts:
        label_column = max(
            texts, key=lambda n: (len(set(columns[n])), bool(_LABEL_NAME.search(query_result.names[n])), -n)
        )
        return ChartChoice("bar", label_column, measures)
    if len(measures) > 1:
        return ChartChoice("points", measures[0], measures[1:])
    return None


def _present_values(values: Sequence[Any]) -> set[Any]:
    return {value for value in values if value is not None}


def _are_labels(values: Sequence[Any]) -> bool:
    """Return True for texts that can label bars: not all alike, mostly short, and without URLs."""
    distinct = _present_values(values)
    return (
        len(distinct) > 1
        and sorted(map(len, distinct))[len(distinct) // 2] <= MAX_LABEL_CHARS
        and not any(web_url(text) for text in distinct)
    )


# Drawing


def draw(query_result: QueryResult, display_result: QueryResult, key: str) -> None:
    """Draw the chart that fits, with a choice of the measure; nothing if none fits.

    `display_result` holds the same rows with localised headings.
    """
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
    labels = {"measure": _shorten(names[measure]), "label": _shorten(names[choice.label_column])}
    title = t(f"rows.chart_{choice.kind}", **labels)
    st.altair_chart(build_chart(display_result, choice, measure), key=f"chart_{key}", alt=title)
    if choice.kind == "bar" and sum(row[measure] is not None for row in query_result.rows) > MAX_BARS:
        st.caption(t("rows.chart_top", n=format_number(MAX_BARS)))


def build_chart(query_result: QueryResult, choice: ChartChoice, measure_column: int) -> alt.Chart:
    """Build the specification of a chart of one measure."""
    names = {"label": query_result.names[choice.label_column], "value": query_result.names[measure_column]}
    records = [
        {
            "label": row[choice.label_column],
            "value": row[measure_column],
            **({"series": _shorten(str(row[choice.series_column]))} if choice.series_column >= 0 else {}),
        }
        for row in query_result.rows
        if row[measure_column] is not None and row[choice.label_column] is not None
    ]
    if choice.kind == "bar":
        return build_bar_chart(records, names)
    if choice.kind == "points":
        return _build_point_chart(records, names)
    return _build_line_chart(records, names, is_dated=query_result.types[choice.label_column] == "date")


def build_bar_chart(records: list[dict[str, Any]], titles: dict[str, str]) -> alt.Chart:
    """Build bars of the first MAX_BARS records, each with a `label` and a `value`.

    Repeated labels are numbered. Labels of `records` are changed in place.
    """
    records = records[:MAX_BARS]
    seen: Counter[str] = Counter()
    for record in records:
        text = _shorten(record["label"])
        seen[text] += 1
        record["label"] = text if seen[text] == 1 else f"{text} ({seen[text]})"
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
    axis: dict[str, Any] = {}
    if is_dated:
        field, label_format = "label:T", "%Y-%m-%d"
        for record in records:
            record["label"] = datetime.combine(date.fromisoformat(record["label"]), time())
    else:  # years, written without a thousands separator
        field, label_format = "label:Q", "d"
        axis = {"axis": alt.Axis(format="d", tickMinStep=1), "scale": alt.Scale(zero=False, nice=False)}
    encoding = {
        "x": alt.X(field, title=_shorten(titles["label"]), **axis),
        "y": alt.Y("value:Q", title=_shorten(titles["value"])),
        "tooltip": _build_tooltips(titles, field, label_format),
    }
    if records and "series" in records[0]:
        encoding["color"] = alt.Color("series:N", title=None, legend=alt.Legend(orient="top"))
    return alt.Chart(pd.DataFrame(records)).mark_line(point=True).encode(**encoding)


def _build_point_chart(records: list[dict[str, Any]], titles: dict[str, str]) -> alt.Chart:
    return (
        alt.Chart(pd.DataFrame(records))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("label:Q", title=_shorten(titles["label"]), scale=alt.Scale(zero=False)),
            y=alt.Y("value:Q", title=_shorten(titles["value"]), scale=alt.Scale(zero=False)),
            tooltip=_build_tooltips(titles, "label:Q"),
        )
    )


def _build_tooltips(
    titles: dict[str, str], label_field: str = "label:N", label_format: Any = alt.Undefined
) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(label_field, title=_tooltip_title(titles["label"]), format=label_format),
        alt.Tooltip("value:Q", title=_tooltip_title(titles["value"])),
    ]


def _tooltip_title(name: str) -> str:
    """Return a name as the title of a tooltip field.

    A space is added to a name that the tooltip would draw as a picture or a heading.
    """
    text = _shorten(name) or "–"
    return f"{text} " if text in _RESERVED_TITLES else text


def _shorten(text: str) -> str:
    return to_single_line(text, MAX_LABEL_CHARS).encode("utf-8", "replace").decode()
