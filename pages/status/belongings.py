"""What is somebody's: where it lies, taking all of it away, and deleting all of it."""

from __future__ import annotations

import logging

import pandas as pd
import streamlit as st

from pages.shared import errors, layout, login, trouble
from pages.shared.exports import EXPORTS
from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import lang, local_time, named, number, size, t
from research import Export, Holding, StillRunning, StoreError, Wiped, application

log = logging.getLogger(__name__)
POLL = 1.0  # seconds between two looks at an export that is being made
_DONE = "wiped"  # in the session: what was deleted
_ASKING = "wipe_asking"  # in the session: whether the word is asked for
_KEPT = ("lang", _DONE)  # what a session keeps when everything else is gone
PARTS = ("runs", "conversations", "evidence", "watches", "statements", "notes", "notebooks", "preferences", "lookups", "documents", "files", "reports")  # fmt: skip


COUNTED = {"runs": "run", "lookups": "answer", "library": "document", "tables": "file", "reports": "file"}  # fmt: skip


# Where it lies


def where() -> None:
    """A table of what is stored, where and how large it is."""
    held = application.stored()
    rows = errors.cells(
        lambda item: {
            "part": named("holding", item.name),
            "size": size(item.size) if item.size is not None else t("holding.unknown"),
            "count": _count(item),
            "place": t("holding.within") if item.within else item.place or t("holding.none"),
        },
        held,
        "part",
    )
    st.dataframe(
        pd.DataFrame(rows, columns=["part", "size", "count", "place"]),
        hide_index=True,
        alt=t("holding.alt"),
        column_config={
            "part": st.column_config.TextColumn(t("holding.part")),
            "size": st.column_config.TextColumn(t("holding.size"), width="small"),
            "count": st.column_config.TextColumn(t("holding.count"), width="small"),
            "place": st.column_config.TextColumn(t("holding.place"), width="large"),
        },
    )
    whole = sum(item.size or 0 for item in held if not item.within)
    st.caption(t("status.data_text", size=size(whole)))
    if any(item.place.startswith("postgresql") for item in held):
        st.caption(t("holding.server"))


def _count(item: Holding) -> str:
    if item.count is None:
        return ""
    kind = COUNTED.get(item.name)
    return t(f"holding.count_{kind}", n=number(item.count)) if kind else number(item.count)


# Taking it away


def away(*, alone: bool) -> None:
    """The export: a button, its progress, its file."""
    st.markdown(t("export.text") if alone else t("export.text_own"))
    made = application.exported(owner=owner())
    if made and made.status == "making":
        _making()
        return
    if made and made.status == "ready":
        _ready(made)
        return
    if made and made.status == "failed":
        why = plain(made.problem, 200)
        st.error(t("export.failed", why=why), icon=":material/error:")
    st.button(
        t("export.begin"), key="export", icon=":material/archive:",
        on_click=_export, args=(alone,),
    )  # fmt: skip


def _export(alone: bool) -> None:
    application.export(language=lang(), library=alone, owner=owner())


@st.fragment(run_every=POLL)
def _making() -> None:
    made = application.exported(owner=owner())
    if made is None or made.status != "making":
        st.rerun()
        return
    part = made.done / made.total if made.total else 0.0
    words = t("export.making", done=number(made.done), total=number(made.total))
    st.progress(min(part, 1.0), text=words)
    if st.button(t("export.cancel"), key="export_cancel", icon=":material/close:"):
        application.discard_export(owner=owner())
        st.rerun()


def _ready(made: Export) -> None:
    st.success(
        t("export.ready", size=size(made.size), when=local_time(made.made)),
        icon=":material/check_circle:",
    )
    if made.lost:
        st.warning(t("export.lost", n=number(made.lost)))
    with st.container(horizontal=True):
        st.download_button(
            t("export.download"),
            lambda: _bytes(made.id),
            file_name=f"sightline-{made.made:%Y%m%d-%H%M}.zip",
            mime="application/zip",
            key="export_file",
            icon=":material/download:",
            type="primary",
            on_click="ignore",
        )
        st.button(
            t("export.discard"), key="export_discard", icon=":material/delete:",
            on_click=lambda: application.discard_export(owner=owner()),
        )  # fmt: skip
    st.caption(t("export.ready_text"))


def _bytes(export: str) -> bytes:
    """The file, for its owner alone: it is asked anew whose it is."""
    made = application.exported(owner=owner())
    if made is None or made.file is None or made.id != export:
        raise RuntimeError("there is no such file any more")
    return made.file.read_bytes()


# Deleting it


def gone() -> None:
    """What was deleted a moment ago."""
    done: Wiped | None = st.session_state.pop(_DONE, None)
    if done is None:
        return
    st.success(_deleted(done), icon=":material/delete_forever:")
    if not done.erased:
        st.warning(t("wiped.not_erased"), icon=":material/warning:")


def _deleted(done: Wiped) -> str:
    told = [f"{t(f'wiped.{name}')} {number(n)}" for name in PARTS if (n := getattr(done, name))]
    return t("wiped.done", what=t("mark.list").join(told) or t("wiped.nothing"))


def end(*, alone: bool) -> None:
    """Deleting everything: behind a button, and a word that has to be typed."""
    st.markdown(t("wipe.text") if alone else t("wipe.text_own"))
    asking = st.session_state.get(_ASKING, False)
    st.button(
        t("wipe.open"), key="wipe", icon=":material/delete_forever:", disabled=asking,
        on_click=_ask, args=(True,),
    )  # fmt: skip
    if asking:
        with st.container(border=True, width=layout.READING, key="wipe_asked"):
            _asked(alone)


def _ask(wanted: bool) -> None:
    st.session_state[_ASKING] = wanted


def _asked(alone: bool) -> None:
    word = t("wipe.word")
    st.warning(t("wipe.warning"), icon=":material/warning:")
    library = alone and st.checkbox(t("wipe.library"), key="wipe_library")
    st.caption(t("wipe.stays"))
    typed = st.text_input(t("wipe.type", word=word), key="wipe_word", autocomplete="off")
    with st.container(horizontal=True):
        go = st.button(
            t("wipe.go"), key="wipe_go", type="primary", icon=":material/delete_forever:",
            disabled=typed.strip().casefold() != word.casefold(),
        )  # fmt: skip
        st.button(t("wipe.cancel"), key="wipe_cancel", on_click=_ask, args=(False,))
    if go:
        _wipe(alone=alone, library=bool(library))


def _wipe(*, alone: bool, library: bool) -> None:
    try:
        with st.spinner(t("wipe.going")):
            EXPORTS.forget(owner())
            done = application.wipe(caches=alone, library=library, owner=owner())
            if not alone:
                login.end(login.visitor(), everywhere=True)
    except StillRunning:
        st.error(t("wipe.running"))
        return
    except StoreError as error:
        log.error("%s", error)
        st.error(trouble.told(error))
        return
    except OSError as error:
        log.error("%s", error)
        st.error(t("wipe.keys_left"))
        return
    for name in [name for name in st.session_state if name not in _KEPT]:
        if name != "owner":
            del st.session_state[name]
    if alone:
        st.session_state[_DONE] = done
    else:
        left = "" if done.erased else f"\n\n{t('wiped.not_erased')}"
        st.session_state[login.FAREWELL] = _deleted(done) + left
    st.rerun()
