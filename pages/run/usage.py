"""Usage of a run by stage and model, and its estimate."""

from __future__ import annotations

import streamlit as st

from pages.shared.localization import cost_column_format, format_day, format_duration, format_money, format_number, t
from research import RunEstimate, Usage, prices_as_of


def draw(usage: tuple[Usage, ...], key: str) -> None:
    """Draw the table of the paid calls of a run; nothing if there were none."""
    if not usage:
        return
    import pandas as pd

    calls = pd.DataFrame([record.model_dump() for record in usage])
    # A missing price makes the cost of its row unknown rather than too low.
    rows = calls.groupby(["stage", "model"], sort=False, as_index=False).agg(
        calls=("calls", "sum"),
        input=("input", "sum"),
        output=("output", "sum"),
        searches=("searches", "sum"),
        cost=("cost", lambda costs: costs.sum(skipna=False)),
    )
    rows["stage"] = [t(f"stage.{stage}") for stage in rows["stage"]]
    with st.expander(t("usage.title"), icon=":material/receipt_long:", key=f"usage_{key}"):
        st.dataframe(
            rows,
            hide_index=True,
            alt=t("usage.alt"),
            placeholder=t("status.unknown"),  # for a missing price
            column_config={
                "stage": st.column_config.TextColumn(t("usage.stage")),
                "model": st.column_config.TextColumn(t("usage.model"), width="medium"),
                "calls": st.column_config.NumberColumn(t("usage.calls"), width="small"),
                "input": st.column_config.NumberColumn(t("usage.input"), format="localized"),
                "output": st.column_config.NumberColumn(t("usage.output"), format="localized"),
                "searches": st.column_config.NumberColumn(t("usage.searches"), width="small"),
                "cost": st.column_config.NumberColumn(t("usage.cost"), format=cost_column_format()),
            },
        )
        if estimated := sum(record.calls for record in usage if record.estimated):
            st.caption(t("usage.estimated", n=format_number(estimated)))
        st.caption(t("status.prices", date=format_day(prices_as_of())))


def estimate_text(estimate: RunEstimate) -> str:
    """Return one line of estimated searches, tokens, cost and duration. Tokens are rounded."""
    facts = [t("run.searches", n=format_number(estimate.searches))]
    if estimate.tokens:
        tokens = round(estimate.tokens, 1 - len(str(estimate.tokens)) + 1)
        facts.append(t("run.tokens", n=format_number(tokens)))
        unknown = estimate.cost is None
        cost = format_money(estimate.cost or 0)
        facts.append(t("run.cost_unknown") if unknown else t("ask.estimate_cost", cost=cost))
    return " · ".join([*facts, format_duration(estimate.seconds)])
