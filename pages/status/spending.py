"""Usage of an owner over time, as a chart and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from pages.shared import storage_errors
from pages.shared.escaping import escape_markdown, to_single_line
from pages.shared.localization import (
    browser_timezone,
    cost_column_format,
    day_column_format,
    format_day,
    format_money,
    format_number,
    t,
)
from pages.shared.login import current_owner
from research import StoreError, get_application, prices_as_of

RANGES_DAYS = (30, 90)
MEASURES = ("cost", "tokens", "searches")
GROUPINGS = ("model", "stage")
MAX_SERIES = 5  # with a colour of their own
CACHE_SECONDS = 30  # how long a query result is reused
_CACHE_KEY = "spending"  # in the session


@st.fragment
def draw() -> None:
    """Draw the choice of range, measure and grouping, the totals, the chart and the table."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="spending_choice"):
        days = _draw_choice(t("spending.range"), "days", RANGES_DAYS, lambda n: t("spending.days", n=n))
        measure = _draw_choice(t("spending.measure"), "measure", MEASURES, _value_name)
        group = _draw_choice(t("spending.by"), "by", GROUPINGS, _value_name)
    try:
        usage = read_usage(days)
    except StoreError as error:  # a fragment runs without the router, which would handle this
        st.error(storage_errors.describe_store_error(error))
        return
    if usage.empty:
        st.info(t("spending.empty", days=days), icon=":material/bar_chart:")
        return
    draw_totals(usage)
    weekly = days > RANGES_DAYS[0]
    usage = label_usage(usage, group, is_weekly=weekly)
    table = build_series(usage, measure)
    if table["value"].sum() > 0:
        alt_text = t("spending.alt", what=t(f"spending.{measure}"), by=t(f"spending.{group}"), days=days)
        st.altair_chart(build_chart(table, measure, is_weekly=weekly, days=days), alt=alt_text)
    else:
        st.caption(t("spending.nothing_of", what=t(f"spending.{measure}")))
    if unpriced := int(usage["unpriced"].sum()):
        names = sorted({escape_markdown(name, 60) for name in usage[usage["unpriced"] > 0]["model"]})
        st.caption(t("spending.unpriced", n=format_number(unpriced), models=t("mark.list").join(names[:6])))
    if estimated := int(usage["estimated"].sum()):
        st.caption(t("usage.estimated", n=format_number(estimated)))
    st.caption(t("status.prices", date=format_day(prices_as_of())))
    draw_table(usage, group, is_weekly=weekly)


def _draw_choice(label: str, name: str, options: Sequence[Any], format_func: Callable[[Any], str]) -> Any:
    return st.segmented_control(
        label, options, default=options[0], required=True, key=f"spending_{name}", format_func=format_func
    )


def _value_name(value: str) -> str:
    return t(f"spending.{value}")


def read_usage(days: int) -> pd.DataFrame:
    """Return the daily usage of the last `days` days including today, cached for CACHE_SECONDS."""
    zone = browser_timezone()
    now = datetime.now(UTC)
    cached = st.session_state.get(_CACHE_KEY)
    key = (current_owner(), days, str(zone))
    if cached and cached[0] == key and (now - cached[1]).total_seconds() < CACHE_SECONDS:
        frame: pd.DataFrame = cached[2]
        return frame
    first = now.astimezone(zone).date() - timedelta(days=days - 1)
    since = datetime.combine(first, time(), zone)
    rows = get_application().daily_usage(since=since, time_zone=zone, owner=current_owner())
    frame = pd.DataFrame([row.model_dump() for row in rows])
    if not frame.empty:
        frame["tokens"] = frame["input"] + frame["output"]
    st.session_state[_CACHE_KEY] = (key, now, frame)
    return frame


def draw_totals(usage: pd.DataFrame) -> None:
    """Draw the total cost, tokens and searches."""
    unknown = bool(usage["unpriced"].sum())
    cost = format_money(usage["cost"].sum())
    with st.container(horizontal=True, gap="large", key="spending_totals"):
        st.metric(t("spending.cost"), f"≥ {cost}" if unknown else cost, width="content")
        st.metric(t("spending.tokens"), format_number(int(usage["tokens"].sum())), width="content")
        st.metric(t("spending.searches"), format_number(int(usage["searches"].sum())), width="content")


def _period_start(day: date, *, is_weekly: bool) -> date:
    return day - timedelta(days=day.weekday()) if is_weekly else day


def label_usage(usage: pd.DataFrame, group: str, *, is_weekly: bool) -> pd.DataFrame:
    """Replace the day of each row by the start of its period, and add the name of its group."""
    return usage.assign(
        day=[_period_start(day, is_weekly=is_weekly) for day in usage["day"]],
        name=[t(f"stage.{value}") if group == "stage" else to_single_line(value)[:60] for value in usage[group]],
    )


def build_series(usage: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Sum a measure by period and name; names beyond MAX_SERIES are merged into "others"."""
    frame = usage.assign(value=usage[measure].astype(float))
    largest = frame.groupby("name")["value"].sum().sort_values(ascending=False).index[:MAX_SERIES]
    frame["name"] = frame["name"].where(frame["name"].isin(largest), t("spending.others"))
    summed = frame.groupby(["day", "name"], as_index=False)["value"].sum()
    return summed[summed["value"] > 0]


def build_chart(table: pd.DataFrame, measure: str, *, is_weekly: bool, days: int) -> alt.Chart:
    """Build a chart of stacked bars by day or week."""
    today = datetime.now(browser_timezone()).date()
    first = _period_start(today - timedelta(days=days - 1), is_weekly=is_weekly)
    step = 7 if is_weekly else 1
    order = [first + timedelta(days=n) for n in range(0, (today - first).days + 1, step)]
    axis_format = {"cost": "$,.3~f", "tokens": "~s", "searches": "d"}[measure]
    tooltip_format = {"cost": "$,.4f", "tokens": ",d", "searches": ",d"}[measure]
    lines = table.assign(day=[format_day(day) for day in table["day"]])
    labels = [format_day(day) for day in order]
    ticks = labels[:: max(1, len(labels) // 6)]
    return (
        alt.Chart(lines)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X(
                "day:O",
                title=t("spending.week") if is_weekly else None,
                scale=alt.Scale(domain=labels),
                axis=alt.Axis(
                    labelAngle=0,
                    values=ticks,
                    labelExpr=r"replace(datum.value, /^\d+年| \d+$/, '')",
                ),
            ),
            y=alt.Y(
                "value:Q",
                title=None,
                axis=alt.Axis(format=axis_format, tickMinStep=1 if measure != "cost" else alt.Undefined),
            ),
            color=alt.Color("name:N", title=None, legend=alt.Legend(orient="top", labelLimit=260, columns=1)),
            tooltip=[
                alt.Tooltip("day:O", title=t("spending.week") if is_weekly else t("spending.day")),
                alt.Tooltip("name:N", title=t("spending.name")),
                alt.Tooltip("value:Q", title=t(f"spending.{measure}"), format=tooltip_format),
            ],
        )
        .properties(height=300)
    )


def draw_table(usage: pd.DataFrame, group: str, *, is_weekly: bool) -> None:
    """Draw the usage as a table, the latest first."""
    rows = (
        usage.groupby(["day", "name"], as_index=False)
        .agg({"calls": "sum", "searches": "sum", "input": "sum", "output": "sum", "cost": "sum", "unpriced": "sum"})
        .sort_values(["day", "name"], ascending=[False, True])
    )
    rows["cost"] = rows["cost"].where(rows["unpriced"] < rows["calls"])  # unknown, not 0
    with st.expander(t("spending.table"), icon=":material/table:", key="spending_table"):
        st.dataframe(
            rows.drop(columns="unpriced"),
            hide_index=True,
            alt=t("spending.table_alt"),
            placeholder=t("status.unknown"),  # a price
            column_config={
                "day": st.column_config.DateColumn(
                    t("spending.week") if is_weekly else t("spending.day"), format=day_column_format()
                ),
                "name": st.column_config.TextColumn(t(f"spending.{group}"), width="medium"),
                "calls": st.column_config.NumberColumn(t("usage.calls"), width="small"),
                "searches": st.column_config.NumberColumn(t("usage.searches"), width="small"),
                "input": st.column_config.NumberColumn(t("usage.input"), format="localized"),
                "output": st.column_config.NumberColumn(t("usage.output"), format="localized"),
                "cost": st.column_config.NumberColumn(t("usage.cost"), format=cost_column_format()),
            },
        )
