"""What somebody's research has used over time: a chart, and the same as a table."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import altair as alt
import pandas as pd
import streamlit as st

from pages.shared import trouble
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import cost_form, day, day_form, day_text, lang, money, number, t
from research import StoreError, prices_as_of, runs

RANGES = (30, 90)  # days
MEASURES = ("cost", "tokens", "searches")
GROUPS = ("model", "stage")
MOST = 5  # that have a colour of their own
FRESH = 30  # seconds that what was read serves further drawings
_KEPT = "spending"  # in the session


@st.fragment
def draw() -> None:
    """The choice of what is shown, the chart and its table; a sentence where nothing was used."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="spending_choice"):
        days = st.segmented_control(
            t("spending.range"), RANGES, default=RANGES[0], required=True, key="spending_days",
            format_func=lambda n: t("spending.days", n=n),
        )  # fmt: skip
        measure = st.segmented_control(
            t("spending.measure"), MEASURES, default="cost", required=True, key="spending_measure",
            format_func=lambda name: t(f"spending.{name}"),
        )  # fmt: skip
        group = st.segmented_control(
            t("spending.by"), GROUPS, default="model", required=True, key="spending_by",
            format_func=lambda name: t(f"spending.{name}"),
        )  # fmt: skip
    try:
        used = read(days)
    except StoreError as error:  # a fragment runs without the router
        st.error(trouble.told(error))
        return
    if used.empty:
        st.info(t("spending.empty", days=days), icon=":material/bar_chart:")
        return
    totals(used)
    weekly = days > RANGES[0]
    table = series(used, measure, group, weekly=weekly)
    if table["value"].sum() > 0:
        words = t(
            "spending.alt", what=t(f"spending.{measure}"), by=t(f"spending.{group}"), days=days
        )
        st.altair_chart(chart(table, measure, weekly=weekly, days=days), alt=words)
    else:
        st.caption(t("spending.nothing_of", what=t(f"spending.{measure}")))
    unpriced = int(used["unpriced"].sum())
    if unpriced:
        names = sorted({plain(name, 60) for name in used[used["unpriced"] > 0]["model"]})
        st.caption(
            t("spending.unpriced", n=number(unpriced), models=t("mark.list").join(names[:6]))
        )
    if estimated := int(used["estimated"].sum()):
        st.caption(t("usage.estimated", n=number(estimated)))
    st.caption(t("status.prices", date=day_text(prices_as_of(), lang())))
    listed(used, group, weekly=weekly)


def zone() -> ZoneInfo:
    """The visitor's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def read(days: int) -> pd.DataFrame:
    """What was used on the last days, today included; kept for half a minute."""
    here = zone()
    now = datetime.now(UTC)
    kept = st.session_state.get(_KEPT)
    key = (owner(), days, str(here))
    if kept and kept[0] == key and (now - kept[1]).total_seconds() < FRESH:
        frame: pd.DataFrame = kept[2]
        return frame
    first = now.astimezone(here).date() - timedelta(days=days - 1)
    since = datetime.combine(first, time(), here)
    found = runs.usage(since=since, zone=here, owner=owner())
    frame = pd.DataFrame([row.model_dump() for row in found])
    if not frame.empty:
        frame["tokens"] = frame["input"] + frame["output"]
    st.session_state[_KEPT] = (key, now, frame)
    return frame


def totals(used: pd.DataFrame) -> None:
    """The sums of the time that is looked at."""
    unknown = bool(used["unpriced"].sum())
    cost = money(used["cost"].sum())
    with st.container(horizontal=True, gap="large", key="spending_totals"):
        st.metric(t("spending.cost"), f"≥ {cost}" if unknown else cost, width="content")
        st.metric(t("spending.tokens"), number(int(used["tokens"].sum())), width="content")
        st.metric(t("spending.searches"), number(int(used["searches"].sum())), width="content")


def _begin(day: date, *, weekly: bool) -> date:
    return day - timedelta(days=day.weekday()) if weekly else day


def series(used: pd.DataFrame, measure: str, group: str, *, weekly: bool) -> pd.DataFrame:
    """Rows of a day or week, a name and a value. Names beyond the largest few are one."""
    frame = used.assign(
        day=[_begin(day, weekly=weekly) for day in used["day"]],
        name=[_named(group, value) for value in used[group]],
        value=used[measure].astype(float),
    )
    largest = frame.groupby("name")["value"].sum().sort_values(ascending=False).index[:MOST]
    frame["name"] = frame["name"].where(frame["name"].isin(largest), t("spending.others"))
    summed = frame.groupby(["day", "name"], as_index=False)["value"].sum()
    return summed[summed["value"] > 0]


def _named(group: str, value: str) -> str:
    return t(f"stage.{value}") if group == "stage" else " ".join(value.split())[:60]


def chart(table: pd.DataFrame, measure: str, *, weekly: bool, days: int) -> alt.Chart:
    """Stacked bars of days or weeks."""
    today = datetime.now(zone()).date()
    first = _begin(today - timedelta(days=days - 1), weekly=weekly)
    step = 7 if weekly else 1
    order = [first + timedelta(days=n) for n in range(0, (today - first).days + 1, step)]
    form = {"cost": "$,.3~f", "tokens": "~s", "searches": "d"}[measure]
    exact = {"cost": "$,.4f", "tokens": ",d", "searches": ",d"}[measure]
    lines = table.assign(day=[day(one) for one in table["day"]])
    shown = [day(one) for one in order]
    ticks = shown[:: max(1, len(shown) // 6)]
    return (
        alt.Chart(lines)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X(
                "day:O",
                title=t("spending.week") if weekly else None,
                scale=alt.Scale(domain=shown),
                axis=alt.Axis(
                    labelAngle=0,
                    values=ticks,
                    labelExpr=r"replace(datum.value, /^\d+年| \d+$/, '')",
                ),
            ),
            y=alt.Y(
                "value:Q",
                title=None,
                axis=alt.Axis(format=form, tickMinStep=1 if measure != "cost" else alt.Undefined),
            ),
            color=alt.Color(
                "name:N", title=None, legend=alt.Legend(orient="top", labelLimit=260, columns=1)
            ),
            tooltip=[
                alt.Tooltip("day:O", title=t("spending.week") if weekly else t("spending.day")),
                alt.Tooltip("name:N", title=t("spending.name")),
                alt.Tooltip("value:Q", title=t(f"spending.{measure}"), format=exact),
            ],
        )
        .properties(height=300)
    )


def listed(used: pd.DataFrame, group: str, *, weekly: bool) -> None:
    """The same as a table, the latest first."""
    frame = used.assign(
        day=[_begin(one, weekly=weekly) for one in used["day"]],
        name=[_named(group, value) for value in used[group]],
    )
    rows = (
        frame.groupby(["day", "name"], as_index=False)
        .agg({"calls": "sum", "searches": "sum", "input": "sum", "output": "sum",
              "cost": "sum", "unpriced": "sum"})
        .sort_values(["day", "name"], ascending=[False, True])
    )  # fmt: skip
    rows["cost"] = rows["cost"].where(rows["unpriced"] < rows["calls"])  # unknown, rather than 0
    with st.expander(t("spending.table"), icon=":material/table:", key="spending_table"):
        st.dataframe(
            rows.drop(columns="unpriced"),
            hide_index=True,
            alt=t("spending.table_alt"),
            placeholder=t("status.unknown"),  # a price
            column_config={
                "day": st.column_config.DateColumn(
                    t("spending.week") if weekly else t("spending.day"), format=day_form()
                ),
                "name": st.column_config.TextColumn(t(f"spending.{group}"), width="medium"),
                "calls": st.column_config.NumberColumn(t("usage.calls"), width="small"),
                "searches": st.column_config.NumberColumn(t("usage.searches"), width="small"),
                "input": st.column_config.NumberColumn(t("usage.input"), format="localized"),
                "output": st.column_config.NumberColumn(t("usage.output"), format="localized"),
                "cost": st.column_config.NumberColumn(t("usage.cost"), format=cost_form()),
            },
        )
