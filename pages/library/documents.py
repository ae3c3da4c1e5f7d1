"""Table of the library's documents: filter, open, remove and restore."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.library import display, notebooks
from pages.shared import errors, layout, login
from pages.shared.escaping import escape_markdown, web_url
from pages.shared.localization import day_column_format, format_local_time, format_number, t
from research import DocumentEntry, DocumentQuery, Library

PAGE_SIZE = 50
MAX_UNSCROLLED_ROWS = 15
SORT_ORDERS = ("added", "title", "name", "kind", "language", "published", "passages")
FILTER_KEYS = ("list_text", "list_kind", "list_language", "list_year")


def draw(
    library: Library,
    *,
    own_count: int,
    sample_count: int,
    notebook: str = "",
    document_names: tuple[str, ...] | None = None,
) -> None:
    """Draw one page of the filtered documents, with actions for the selected ones.

    With a `notebook`, only the documents in `document_names` are listed.
    """
    is_sample = _draw_origin_choice(own_count, sample_count) if document_names is None else None
    with st.container(key="filters"):
        query = replace(_draw_filters(library, is_sample), names=document_names)
    first = st.session_state.get("list_first", 0)
    if st.session_state.get("list_wanted") != query:
        st.session_state.list_wanted, first = query, 0
    entries, total = library.list_page(query, first, PAGE_SIZE)
    if total and not entries:  # all entries of the last page were removed
        first = (total - 1) // PAGE_SIZE * PAGE_SIZE
        entries, total = library.list_page(query, first, PAGE_SIZE)
    st.session_state.list_first = first
    if not entries:
        st.caption(t("library.no_match"))
        st.button(t("library.clear"), key="clear_filters", on_click=_clear_filters)
    else:
        selected = _draw_table(entries, first)
        _draw_actions(library, selected, first, len(entries), total, notebook)


def _draw_origin_choice(own_count: int, sample_count: int) -> bool | None:
    """Draw the choice of own or sample documents if both exist. Return True for the sample."""
    if not (own_count and sample_count):
        return None
    names = {
        "own": t("library.own", n=format_number(own_count)),
        "sample": t("library.samples", n=format_number(sample_count)),
    }
    chosen = st.segmented_control(
        t("library.where"),
        list(names),
        default="own",
        format_func=names.__getitem__,
        key="list_which",
        label_visibility="collapsed",
        required=True,
    )
    return chosen == "sample"


def _draw_filters(library: Library, is_sample: bool | None) -> DocumentQuery:
    """Draw a text filter, and a popover with the other filters and the sort order.

    The label of the popover shows how many of its filters are set.
    """
    totals = library.count_documents(is_sample)
    kinds = {name: display.file_kind_name(name) for name in totals.by_kind}
    languages = {name: display.language_name(name) for name in totals.by_language}
    years = {
        name: t("library.undated") if name == DocumentQuery.UNDATED else name
        for name in sorted(totals.by_year, reverse=True)
    }
    filter_count = sum(bool(st.session_state.get(key)) for key in FILTER_KEYS[1:])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(t("library.filter"), key="list_text", max_chars=200, width=320)
        label = " · ".join([t("library.narrow"), *([format_number(filter_count)] if filter_count else [])])
        with st.popover(label, icon=":material/tune:", key="narrow"):
            kind = _draw_choice("kind", kinds, totals.by_kind)
            language = _draw_choice("language", languages, totals.by_language)
            year = _draw_choice("year", years, totals.by_year)
            orders = {name: t(f"order.{name}") for name in SORT_ORDERS}
            order = st.selectbox(t("library.order"), list(orders), format_func=orders.__getitem__, key="list_order")
            if "list_down" not in st.session_state:
                st.session_state.list_down = True
            down = st.toggle(t("library.descending"), key="list_down")
    return DocumentQuery(
        text=text.strip(),
        kind=kind,
        language=language,
        year=year,
        is_sample=is_sample,
        sort_field=order or "added",
        is_descending=down,
    )


def _draw_choice(name: str, labels: dict[str, str], counts: dict[str, int]) -> str:
    """Draw the choice of one value, each with its number of documents. Return "" for any."""
    options = {"": t("library.any")}
    options |= {value: f"{text} · {format_number(counts.get(value, 0))}" for value, text in labels.items()}
    key = f"list_{name}"
    if st.session_state.get(key, "") not in ("", *labels):
        st.session_state[key] = ""
    return st.selectbox(t(f"library.{name}"), list(options), format_func=options.__getitem__, key=key) or ""


def _clear_filters() -> None:
    for key in FILTER_KEYS:
        st.session_state[key] = ""


def _draw_table(entries: list[DocumentEntry], first_index: int) -> list[DocumentEntry]:
    """Draw the table of documents. Return the selected ones."""
    rows = errors.build_rows(
        lambda entry: {
            "title": display.replace_invisible(entry.title),
            "name": display.file_name(entry.name),
            "kind": display.file_kind_name(entry.kind),
            "language": display.language_name(entry.language),
            "date": entry.published,
            "passages": entry.passage_count,
            "added": format_local_time(entry.added_at) if entry.added_at else "–",
            "link": web_url(entry.url) or None,
        },
        entries,
        "title",
    )
    # A new key per set of rows: a selection must never move to another document.
    digest = hash((first_index, *(entry.id for entry in entries)))
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"documents_{digest}",
        alt=t("library.alt"),
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        height=layout.table_height(len(rows), MAX_UNSCROLLED_ROWS),
        column_config={
            "title": st.column_config.TextColumn(t("library.col.title"), width=290),
            "name": st.column_config.TextColumn(t("library.col.name"), width=170),
            "kind": st.column_config.TextColumn(t("library.col.kind"), width="small"),
            "language": st.column_config.TextColumn(t("library.col.language"), width="small"),
            "date": st.column_config.DateColumn(t("library.col.date"), format=day_column_format()),
            "passages": st.column_config.NumberColumn(t("library.col.passages"), width="small"),
            "added": st.column_config.TextColumn(t("library.col.added"), width=140),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=60),
        },
    )
    return [entries[row] for row in chosen.selection.rows if row < len(entries)]


def _draw_actions(
    library: Library, selected: list[DocumentEntry], first_index: int, count: int, total: int, notebook: str
) -> None:
    """Draw the actions for the selected documents, and the buttons to other pages."""
    with st.container(horizontal=True, vertical_alignment="center", key="list_actions"):
        removable_ids = [entry.id for entry in selected if not entry.is_sample]
        if len(selected) == 1:
            st.button(
                t("library.open"),
                key="open_picked",
                icon=":material/menu_book:",
                on_click=display.open_document,
                args=(selected[0].id,),
            )
        if selected:
            notebooks.draw_add_button(selected)
            if notebook:
                notebooks.draw_remove_button(notebook, selected)
        if removable_ids:
            st.button(
                t("library.remove", n=format_number(len(removable_ids))),
                key="remove",
                icon=":material/delete:",
                on_click=_remove_selected,
                args=(library, removable_ids),
            )
        if not selected:
            st.caption(t("library.pick"), width="content")
        span = {
            "first": format_number(first_index + 1),
            "last": format_number(first_index + count),
            "n": format_number(total),
        }
        st.caption(t("library.span", **span), width="content")
        if total > PAGE_SIZE:
            display.draw_page_buttons("list", first_index, PAGE_SIZE, total)


# Removal and restoration


def _remove_selected(library: Library, document_ids: list[int]) -> None:
    login.current_owner()
    remove(library, document_ids)


def remove(library: Library, document_ids: list[int]) -> None:
    st.session_state.removed = library.remove(document_ids)
    st.session_state.pop("restored", None)


def draw_removed(library: Library) -> None:
    """Draw a notice of the last removal with an undo button, or the result of a restoration."""
    if ids := st.session_state.get("removed"):
        with st.container(horizontal=True, vertical_alignment="center", key="undo"):
            st.markdown(f":material/delete: {t('library.removed', n=format_number(len(ids)))}", width="content")
            st.button(
                t("library.undo"),
                key="undo_remove",
                type="tertiary",
                icon=":material/undo:",
                on_click=_restore,
                args=(library, ids),
            )
    if restored := st.session_state.pop("restored", None):
        restored_count, missing_count = restored
        messages = [t("library.restored", n=format_number(restored_count))] if restored_count else []
        messages += [t("library.restored_not", n=format_number(missing_count))] if missing_count else []
        st.markdown(f":material/undo: {' '.join(messages)}")


def draw_bin(library: Library) -> None:
    trashed, total = library.list_trashed(limit=100)
    if not total:
        return
    with st.expander(t("library.bin", n=format_number(total)), key="bin", icon=":material/delete:"):
        st.caption(t("library.bin_note"))
        names = [escape_markdown(display.replace_invisible(item.title), 80) for item in trashed[:12]]
        more = [t("unread.more", n=format_number(total - 12))] if total > 12 else []
        st.markdown(" · ".join([*names, *more]))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                t("library.put_back"),
                key="put_back",
                icon=":material/undo:",
                on_click=_restore_all,
                args=(library, total),
            )
            with st.popover(t("library.empty_bin"), key="empty_bin"):
                st.markdown(t("library.empty_bin_sure", n=format_number(total)))
                st.button(
                    t("library.empty_bin"), key="empty_bin_now", type="primary", on_click=_empty_bin, args=(library,)
                )


def _restore(library: Library, document_ids: list[int]) -> None:
    login.current_owner()
    restored_count = library.restore(document_ids)
    st.session_state.pop("removed", None)
    st.session_state.restored = (restored_count, len(document_ids) - restored_count)


def _restore_all(library: Library, total: int) -> None:
    _restore(library, [item.id for item in library.list_trashed(limit=total)[0]])


def _empty_bin(library: Library) -> None:
    login.current_owner()
    library.empty_trash()
    st.session_state.pop("removed", None)
