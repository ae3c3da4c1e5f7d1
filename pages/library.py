"""The desk's own documents: add, look through, search, remove. All who use the desk share them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.parts import login
from pages.parts.safe import plain
from pages.parts.words import local_time, number, t
from research import SUFFIXES, Added, Entry, Hit, Library, runs


def add(library: Library, *, shared: bool) -> None:
    """Files from the visitor's machine; from the server's own only if that is the visitor's."""
    left, right = (st.container(), None) if shared else st.columns(2)
    with left, st.form("upload", clear_on_submit=True):
        files = st.file_uploader(
            t("library.upload"),
            type=[suffix.lstrip(".") for suffix in SUFFIXES],
            accept_multiple_files=True,
            key="files",
            help=t("library.types", types=" ".join(SUFFIXES)),
        )
        if st.form_submit_button(t("library.add"), key="add_files", type="primary") and files:
            with st.spinner(t("library.reading")):
                tell(library.add((file.name, file.getvalue()) for file in files))
    if right is not None:
        with right:
            add_folder(library)


def add_folder(library: Library) -> None:
    with st.form("folder"):
        path = st.text_input(t("library.folder"), key="folder")
        if st.form_submit_button(t("library.folder_add"), key="add_folder") and path.strip():
            folder = located(path.strip())
            if folder:
                with st.spinner(t("library.reading")):
                    tell(library.add_paths([folder]))
            else:
                st.error(t("library.folder_missing", path=plain(path, 400)))


def located(path: str) -> Path | None:
    """What is at a path, if it can be one and there is something."""
    try:
        place = Path(path).expanduser()
        return place if place.exists() else None
    except (OSError, RuntimeError):  # too long, not permitted; no such user
        return None


def tell(outcomes: Iterable[Added]) -> None:
    """One clear line for each file; the problems first."""
    lines = sorted(outcomes, key=lambda item: item.ok)
    for item in lines[:100]:
        name = plain(item.name.replace("\\", "/").rsplit("/", 1)[-1], 120)
        text = t(f"added.{item.outcome}", name=name, n=number(item.passages))
        (st.success if item.ok else st.warning)(text)


def sample(library: Library) -> None:
    st.session_state.sample = library.sample
    st.toggle(
        t("library.sample"),
        key="sample",
        help=t("library.sample_help"),
        on_change=switch,
        args=(library,),
    )


def switch(library: Library) -> None:
    login.owner()  # what a widget calls comes before the router
    library.use_sample(st.session_state.sample)


def search(library: Library) -> None:
    query = st.text_input(t("library.search"), key="library_query")
    if not query.strip():
        return
    hits = library.search(query, limit=10)
    if not hits:
        st.caption(t("library.no_hits"))
    for hit in hits:
        with st.container(border=True):
            st.markdown(f"**{plain(where(hit))}**")
            st.text(hit.text)


def where(hit: Hit) -> str:
    page = t("answer.page", n=hit.page) if hit.page else ""
    return " · ".join(filter(None, [hit.title, hit.heading, page]))


def table(entries: list[Entry], key: str) -> list[int]:
    """The documents; returns the ids of the selected ones."""
    rows = [
        {
            "title": entry.title,
            "name": entry.name.replace("\\", "/").rsplit("/", 1)[-1],
            "language": {"zh": "中文", "en": "English"}.get(entry.language, entry.language),
            "date": entry.published,
            "passages": entry.passages,
            "added": local_time(entry.added),
            "link": entry.url or None,
        }
        for entry in entries
    ]
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=key,
        alt=t("library.alt"),
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "title": st.column_config.TextColumn(t("library.col.title"), width="large"),
            "name": st.column_config.TextColumn(t("library.col.name")),
            "language": st.column_config.TextColumn(t("library.col.language"), width="small"),
            "date": st.column_config.DateColumn(t("library.col.date"), format="YYYY-MM-DD"),
            "passages": st.column_config.NumberColumn(t("library.col.passages"), width="small"),
            "added": st.column_config.TextColumn(t("library.col.added")),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=60),
        },
    )
    return [entries[row].id for row in chosen.selection.rows if row < len(entries)]


desk = runs.desk()
st.title(t("library.title"), anchor=False)
shared = login.setup().on
st.caption(t("library.shared") if shared else t("library.lead"))
add(desk.library, shared=shared)
search(desk.library)
entries = desk.library.entries()
own = [entry for entry in entries if not entry.sample]
samples = [entry for entry in entries if entry.sample]
st.markdown(f"#### {t('library.own', n=number(len(own)))}")
if own:
    picked = table(own, "own")
    if picked and st.button(t("library.remove"), key="remove", icon=":material/delete:"):
        desk.library.remove(picked)
        st.rerun()
else:
    st.caption(t("library.empty"))
sample(desk.library)
if samples:
    with st.expander(t("library.samples", n=number(len(samples))), key="samples"):
        table(samples, "samples_table")
