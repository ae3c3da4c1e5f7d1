"""What can be taken away from a run."""

from __future__ import annotations

import streamlit as st

from pages.parts.words import t
from research import CitedAnswer, Report, file_name, report_json, report_markdown


def draw(report: Report, cited: CitedAnswer | None) -> None:
    """The report as Markdown and as JSON, under names that are made, never taken from outside."""
    key = report.run.id[:8]
    with st.container(horizontal=True):
        st.download_button(
            t("download.markdown"),
            report_markdown(report, cited),
            file_name=file_name(report, ".md"),
            mime="text/markdown",
            key=f"download_md_{key}",
            on_click="ignore",
            icon=":material/download:",
        )
        st.download_button(
            t("download.json"),
            report_json(report, cited),
            file_name=file_name(report, ".json"),
            mime="application/json",
            key=f"download_json_{key}",
            on_click="ignore",
            icon=":material/data_object:",
        )
