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
from pages.shared.safe import plain, web
from pages.shared.words import number, t
from research import Rows

TOP = 30  # bars
SERIES = 6  # lines in one chart
LABEL = 40  # characters of a label
BAR = 24  # pixels of a bar with its gap
_IDS = re.compile(r"(?:.*[_\s])?(?:id|gid|oid|uid|pk|code|page|rank|no|zip|phone|tel)|.*(?:编号|序号|编码|代码|页码|电话|邮编)", re.I)  # fmt: skip
_YEARS = re.compile(r"(?:.*[_\s])?(?:year|yr)(?:[_\s].*)?|.*(?:年份|年度)|年", re.I)
_POINTS = re.compile(r"(?:.*_)?(?:lng|lon|long|longitude|lat|latitude|经度|纬度)(?:_?(?:wgs_?84|gcj_?02|bd_?09))?", re.I)  # fmt: skip
_NAMES = re.compile(r"name|title|province|city|名称|景区|省份|城市", re.I)
_MARKS = {"title", "image"}  # names of fields that a tooltip draws as a heading and as a picture
Kind = Literal["bar", "line", "points"]


@dataclass(frozen=True)
class Choice:
    """A chart: what stands along the label axis, what is measured, and what tells lines apart. All
    are places of columns; `series` is -1 for none."""

    kind: Kind
    label: int
    measures: tuple[int, ...]
    series: int = -1


# Columns


def is_id(name: str) -> bool:
    return bool(_IDS.fullmatch(name.strip()))


def is_coordinate(name: str) -> bool:
    return bool(_POINTS.fullmatch(name.strip()))


def is_year(name: str, values: Sequence[Any]) -> bool:
    """Whether whole numbers are years: by their name, and because they could be."""
    return bool(_YEARS.fullmatch(name.strip())) and all(
        1000 <= value < 3000 for value in values if value is not None
    )


def choose(rows: Rows) -> Choice | None:
    """The chart that fits the rows, or None: fewer than two rows, or nothing that is measured.

    Where each row names a thing of its own, numbers are bars. Else numbers by a date or a year of
    which each row has its own are a line, or one line for each of a few texts; numbers by a text are
    bars; two numbers alone are points. Ids, coordinates, years and
    columns of one value are no measures.
    """
    if len(rows.rows) < 2 or not rows.types:
        return None
    columns = list(zip(*rows.rows, strict=True))
    kinds = list(zip(rows.names, rows.types, columns, strict=True))
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
        and len(_known(values)) > 1
        and not (is_id(name) or is_coordinate(name) or is_year(name, values))
    )
    texts = [n for n, (_, kind, values) in enumerate(kinds) if kind == "text" and _labels(values)]
    if not measures:
        return None
    things = any(len(set(columns[n])) == len(rows.rows) for n in texts)  # each row names its own
    for at in () if things else times:
        if len(set(columns[at])) == len(rows.rows):
            return Choice("line", at, measures)
        for text in texts:
            pairs = set(zip(columns[at], columns[text], strict=True))
            if len(pairs) == len(rows.rows) and len(set(columns[text])) <= SERIES:
                return Choice("line", at, measures, text)
    if texts:
        own = max(
            texts, key=lambda n: (len(set(columns[n])), bool(_NAMES.search(rows.names[n])), -n)
        )
        return Choice("bar", own, measures)
    if len(measures) > 1:
        return Choice("points", measures[0], measures[1:])
    return None


def _known(values: Sequence[Any]) -> set[Any]:
    return {value for value in values if value is not None}


def _labels(values: Sequence[Any]) -> bool:
    """Whether texts can stand beside bars: they differ, are short, and are no addresses."""
    known = _known(values)
    return (
        len(known) > 1
        and sorted(map(len, known))[len(known) // 2] <= LABEL
        and not any(web(text) for text in known)
    )


# Drawing


def draw(rows: Rows, shown: Rows, key: str) -> None:
    """The chart that fits, with a choice of what is measured; nothing if none fits. `shown` are the
    same rows with headings for their names."""
    choice = choose(rows)
    if choice is None:
        return
    layout.section(t("rows.chart"))
    names = dict(enumerate(shown.names))
    measure = choice.measures[0]
    if len(choice.measures) > 1:
        measure = st.pills(
            t("rows.measure"),
            list(choice.measures),
            format_func=lambda n: plain(_cut(names[n])),
            default=measure,
            key=f"measure_{key}",
            required=True,
        )
    words = {"measure": _cut(names[measure]), "label": _cut(names[choice.label])}
    title = {
        "bar": t("rows.chart_bar", **words),
        "line": t("rows.chart_line", **words),
        "points": t("rows.chart_points", **words),
    }[choice.kind]
    st.altair_chart(made(shown, choice, measure), key=f"chart_{key}", alt=title)
    if choice.kind == "bar" and sum(row[measure] is not None for row in rows.rows) > TOP:
        st.caption(t("rows.chart_top", n=number(TOP)))


def made(rows: Rows, choice: Choice, measure: int) -> alt.Chart:
    """The specification of a chart of one measure."""
    names = {"label": rows.names[choice.label], "value": rows.names[measure]}
    lines = [
        {
            "label": row[choice.label],
            "value": row[measure],
            **({"series": _cut(str(row[choice.series]))} if choice.series >= 0 else {}),
        }
        for row in rows.rows
        if row[measure] is not None and row[choice.label] is not None
    ]
    if choice.kind == "bar":
        return bars(lines, names)
    draw_ = {"line": _lines, "points": _points}[choice.kind]
    return draw_(lines, names, timed=rows.types[choice.label] == "date")


def bars(lines: list[dict[str, Any]], names: dict[str, str]) -> alt.Chart:
    """The first lines as bars: each has a `label`, which need not be its own, and a `value`."""
    lines = lines[:TOP]
    seen: Counter[str] = Counter()
    for line in lines:
        text = _cut(line["label"])
        seen[text] += 1
        line["label"] = text if seen[text] == 1 else f"{text} ({seen[text]})"
    return (
        alt.Chart(pd.DataFrame(lines))
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
            x=alt.X("value:Q", title=_cut(names["value"])),
            tooltip=_told(names),
        )
        .properties(height=max(120, len(lines) * BAR + 40))
    )


def _lines(lines: list[dict[str, Any]], names: dict[str, str], *, timed: bool) -> alt.Chart:
    series = bool(lines) and "series" in lines[0]
    if timed:
        for line in lines:
            day = date.fromisoformat(line["label"])
            line["label"] = datetime(day.year, day.month, day.day)
        across = alt.X("label:T", title=_cut(names["label"]))
        told = alt.Tooltip("label:T", title=_title(names["label"]), format="%Y-%m-%d")
    else:  # years: as they are, without a thousands separator
        across = alt.X(
            "label:Q",
            title=_cut(names["label"]),
            axis=alt.Axis(format="d", tickMinStep=1),
            scale=alt.Scale(zero=False, nice=False),
        )
        told = alt.Tooltip("label:Q", title=_title(names["label"]), format="d")
    encoding = {
        "x": across,
        "y": alt.Y("value:Q", title=_cut(names["value"])),
        "tooltip": [told, _told(names)[1]],
    }
    if series:
        encoding["color"] = alt.Color("series:N", title=None, legend=alt.Legend(orient="top"))
    return alt.Chart(pd.DataFrame(lines)).mark_line(point=True).encode(**encoding)


def _points(lines: list[dict[str, Any]], names: dict[str, str], *, timed: bool) -> alt.Chart:
    return (
        alt.Chart(pd.DataFrame(lines))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("label:Q", title=_cut(names["label"]), scale=alt.Scale(zero=False)),
            y=alt.Y("value:Q", title=_cut(names["value"]), scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip("label:Q", title=_title(names["label"])),
                alt.Tooltip("value:Q", title=_title(names["value"])),
            ],
        )
    )


def _told(names: dict[str, str]) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title=_title(names["label"])),
        alt.Tooltip("value:Q", title=_title(names["value"])),
    ]


def _title(name: str) -> str:
    """A name as a tooltip has it: one that it would draw as a picture or a heading is none any more."""
    text = _cut(name) or "–"
    return f"{text} " if text in _MARKS else text


def _cut(text: str) -> str:
    text = " ".join(text.split()).encode("utf-8", "replace").decode()
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
