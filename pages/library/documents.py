"""The documents of the library: found by what they are, opened, removed and put back."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.library import notebooks, shown
from pages.shared import errors, login
from pages.shared.safe import plain, web
from pages.shared.words import day_form, local_time, number, t
from research import Entry, Library, Wanted

PAGE = 50
ORDERS = ("added", "title", "name", "kind", "language", "published", "passages")
WIDGETS = ("list_text", "list_kind", "list_language", "list_year")


def draw(
    library: Library,
    *,
    own: int,
    sample: int,
    notebook: str = "",
    names: tuple[str, ...] | None = None,
) -> None:
    """A page of the documents, by what was asked for, and what can be done with them; with a
    `notebook`, only those that have the `names` in it."""
    only = _which(own, sample) if names is None else None
    with st.container(key="filters"):
        wanted = replace(_wanted(library, only), names=names)
    first = st.session_state.get("list_first", 0)
    if st.session_state.get("list_wanted") != wanted:
        st.session_state.list_wanted, first = wanted, 0
    entries, total = library.listed(wanted, first, PAGE)
    if total and not entries:  # the last of a page were removed
        first = (total - 1) // PAGE * PAGE
        entries, total = library.listed(wanted, first, PAGE)
    st.session_state.list_first = first
    if not entries:
        st.caption(t("library.no_match"))
        st.button(t("library.clear"), key="clear_filters", on_click=_clear)
    else:
        picked = _table(entries, first)
        _below(library, picked, first, len(entries), total, notebook)


def _which(own: int, sample: int) -> bool | None:
    """Own documents or the sample's, where there are both."""
    if not (own and sample):
        return None
    names = {
        "own": t("library.own", n=number(own)),
        "sample": t("library.samples", n=number(sample)),
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


def _wanted(library: Library, only: bool | None) -> Wanted:
    """A box for names in sight; what else narrows or sorts the list is behind a button that says how
    much of it is set."""
    found = library.counts(only)
    kinds = {name: shown.kind(name) for name in found.kinds}
    languages = {name: shown.language(name) for name in found.languages}
    years = {
        name: t("library.undated") if name == Wanted.UNDATED else name
        for name in sorted(found.years, reverse=True)
    }
    narrowed = sum(bool(st.session_state.get(key)) for key in WIDGETS[1:])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(t("library.filter"), key="list_text", max_chars=200, width=320)
        told = " · ".join([t("library.narrow"), *([number(narrowed)] if narrowed else [])])
        with st.popover(told, icon=":material/tune:", key="narrow"):
            chosen = [
                _choice(name, labels, counts)
                for name, labels, counts in (
                    ("kind", kinds, found.kinds),
                    ("language", languages, found.languages),
                    ("year", years, found.years),
                )
            ]
            orders = {name: t(f"order.{name}") for name in ORDERS}
            order = st.selectbox(
                t("library.order"), list(orders), format_func=orders.__getitem__, key="list_order"
            )
            if "list_down" not in st.session_state:
                st.session_state.list_down = True
            down = st.toggle(t("library.descending"), key="list_down")
    return Wanted(
        text=text.strip(), kind=chosen[0], language=chosen[1], year=chosen[2], sample=only,
        order=order or "added", descending=down,
    )  # fmt: skip


def _choice(name: str, labels: dict[str, str], counts: dict[str, int]) -> str:
    """One of the values that there are, each with its number of documents; "" is any."""
    label = {"kind": "library.kind", "language": "library.language", "year": "library.year"}[name]
    told = {"": t("library.any")}
    told |= {value: f"{text} · {number(counts.get(value, 0))}" for value, text in labels.items()}
    key = f"list_{name}"
    if st.session_state.get(key, "") not in ("", *labels):
        st.session_state[key] = ""
    return st.selectbox(t(label), list(told), format_func=told.__getitem__, key=key) or ""


def _clear() -> None:
    for key in WIDGETS:
        st.session_state[key] = ""


def _table(entries: list[Entry], first: int) -> list[Entry]:
    """The documents; returns those that are ticked."""
    rows = errors.cells(
        lambda entry: {
            "title": shown.seen(entry.title),
            "name": shown.file_name(entry.name),
            "kind": shown.kind(entry.kind),
            "language": shown.language(entry.language),
            "date": entry.published,
            "passages": entry.passages,
            "added": local_time(entry.added) if entry.added else "–",
            "link": web(entry.url) or None,
        },
        entries,
        "title",
    )
    # Another page, order or stock is another table: a tick never moves to another document.
    mark = hash((first, *(entry.id for entry in entries)))
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key=f"documents_{mark}",
        alt=t("library.alt"),
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        height=min(35 * (len(rows) + 1) + 3, 560),
        column_config={
            "title": st.column_config.TextColumn(t("library.col.title"), width=290),
            "name": st.column_config.TextColumn(t("library.col.name"), width=170),
            "kind": st.column_config.TextColumn(t("library.col.kind"), width="small"),
            "language": st.column_config.TextColumn(t("library.col.language"), width="small"),
            "date": st.column_config.DateColumn(t("library.col.date"), format=day_form()),
            "passages": st.column_config.NumberColumn(t("library.col.passages"), width="small"),
            "added": st.column_config.TextColumn(t("library.col.added"), width=140),
            "link": st.column_config.LinkColumn(t("sources.link"), display_text="↗", width=60),
        },
    )
    return [entries[row] for row in chosen.selection.rows if row < len(entries)]


def _below(
    library: Library, picked: list[Entry], first: int, count: int, total: int, notebook: str
) -> None:
    """What can be done with the ticked ones, and the way to the other pages."""
    with st.container(horizontal=True, vertical_alignment="center", key="list_actions"):
        own = [entry.id for entry in picked if not entry.sample]
        if len(picked) == 1:
            st.button(
                t("library.open"), key="open_picked", icon=":material/menu_book:",
                on_click=shown.open_document, args=(picked[0].id,),
            )  # fmt: skip
        if picked:
            notebooks.put(picked)
            if notebook:
                notebooks.take(notebook, picked)
        if own:
            st.button(
                t("library.remove", n=number(len(own))), key="remove", icon=":material/delete:",
                on_click=_remove, args=(library, own),
            )  # fmt: skip
        if not picked:
            st.caption(t("library.pick"), width="content")
        told = {"first": number(first + 1), "last": number(first + count), "n": number(total)}
        st.caption(t("library.span", **told), width="content")
        if total > PAGE:
            st.button(
                t("library.back"), key="list_back", disabled=not first, on_click=_turn,
                args=(first - PAGE,),
            )  # fmt: skip
            st.button(
                t("library.next"), key="list_next", disabled=first + PAGE >= total,
                on_click=_turn, args=(first + PAGE,),
            )  # fmt: skip


def _turn(first: int) -> None:
    st.session_state.list_first = max(0, first)


# Removing and putting back


def _remove(library: Library, ids: list[int]) -> None:
    login.owner()
    remove(library, ids)


def remove(library: Library, ids: list[int]) -> None:
    st.session_state.removed = library.remove(ids)
    st.session_state.pop("restored", None)


def removed(library: Library) -> None:
    """What was just removed, with the way back; and all that can be put back."""
    if ids := st.session_state.get("removed"):
        with st.container(horizontal=True, vertical_alignment="center", key="undo"):
            st.markdown(
                f":material/delete: {t('library.removed', n=number(len(ids)))}", width="content"
            )
            st.button(
                t("library.undo"), key="undo_remove", type="tertiary", icon=":material/undo:",
                on_click=_restore, args=(library, ids),
            )  # fmt: skip
    if told := st.session_state.pop("restored", None):
        back, missing = told
        words = [t("library.restored", n=number(back))] if back else []
        words += [t("library.restored_not", n=number(missing))] if missing else []
        st.markdown(f":material/undo: {' '.join(words)}")


def bin_of(library: Library) -> None:
    found, total = library.removed(limit=100)
    if not total:
        return
    with st.expander(t("library.bin", n=number(total)), key="bin", icon=":material/delete:"):
        st.caption(t("library.bin_note"))
        names = [plain(shown.seen(item.title), 80) for item in found[:12]]
        more = [t("unread.more", n=number(total - 12))] if total > 12 else []
        st.markdown(" · ".join([*names, *more]))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                t("library.put_back"), key="put_back", icon=":material/undo:",
                on_click=_restore_all, args=(library, total),
            )  # fmt: skip
            with st.popover(t("library.empty_bin"), key="empty_bin"):
                st.markdown(t("library.empty_bin_sure", n=number(total)))
                st.button(
                    t("library.empty_bin"), key="empty_bin_now", type="primary", on_click=_empty,
                    args=(library,),
                )  # fmt: skip


def _restore(library: Library, ids: list[int]) -> None:
    login.owner()
    back = library.put_back(ids)
    st.session_state.pop("removed", None)
    st.session_state.restored = (back, len(ids) - back)


def _restore_all(library: Library, total: int) -> None:
    _restore(library, [item.id for item in library.removed(limit=total)[0]])


def _empty(library: Library) -> None:
    login.owner()
    library.empty_bin()
    st.session_state.pop("removed", None)
