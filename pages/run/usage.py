"""What a run has used, by stage and model."""

from __future__ import annotations

import streamlit as st

from pages.shared.words import cost_form, day, money, number, seconds, t
from research import Estimate, Usage, prices_as_of


def draw(usage: tuple[Usage, ...], key: str) -> None:
    """The table of a run's paid calls; nothing if there were none."""
    if not usage:
        return
    import pandas as pd

    calls = pd.DataFrame([record.model_dump() for record in usage])
    # A price that is missing makes its whole row unknown, rather than too low.
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
            placeholder=t("status.unknown"),  # a price
            column_config={
                "stage": st.column_config.TextColumn(t("usage.stage")),
                "model": st.column_config.TextColumn(t("usage.model"), width="medium"),
                "calls": st.column_config.NumberColumn(t("usage.calls"), width="small"),
                "input": st.column_config.NumberColumn(t("usage.input"), format="localized"),
                "output": st.column_config.NumberColumn(t("usage.output"), format="localized"),
                "searches": st.column_config.NumberColumn(t("usage.searches"), width="small"),
                "cost": st.column_config.NumberColumn(t("usage.cost"), format=cost_form()),
            },
        )
        if estimated := sum(record.calls for record in usage if record.estimated):
            st.caption(t("usage.estimated", n=number(estimated)))
        st.caption(t("status.prices", date=day(prices_as_of())))


def likely(estimate: Estimate) -> str:
    """One line of what a run will use, rounded: it is an estimate."""
    facts = [t("run.searches", n=number(estimate.searches))]
    if estimate.tokens:
        tokens = round(estimate.tokens, 1 - len(str(estimate.tokens)) + 1)
        facts.append(t("run.tokens", n=number(tokens)))
        unknown = estimate.cost is None
        cost = money(estimate.cost or 0)
        facts.append(t("run.cost_unknown") if unknown else t("ask.estimate_cost", cost=cost))
    return " · ".join([*facts, seconds(estimate.seconds)])
