"""What is somebody's: where it lies, taking all of it away, and deleting all of it."""

from __future__ import annotations

import logging

import pandas as pd
import streamlit as st

from pages.shared import errors, layout, login, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, format_number, format_size, t, value_label
from pages.shared.login import current_owner
from pages.shared.temporary_files import TEMPORARY_FILES
from research import DataExport, DeletionSummary, RunNotStoppedError, StorageUsage, StoreError, application

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0  # seconds between two looks at an export that is being made
_DELETED_KEY = "wiped"  # in the session: what was deleted
_CONFIRMING_KEY = "wipe_asking"  # in the session: whether the word is asked for
_KEPT_KEYS = ("lang", _DELETED_KEY)  # what a session keeps when everything else is gone
DELETED_PARTS = {  # the field of each, and its words
    "runs": "runs", "conversations": "conversations", "evidence": "evidence", "watches": "watches",
    "statements": "statements", "notes": "notes", "notebooks": "notebooks", "preferences": "preferences",
    "cached_answers": "lookups", "documents": "documents", "uploads": "files", "reports": "reports",
}  # fmt: skip


COUNT_UNITS = {"runs": "run", "lookups": "answer", "library": "document", "tables": "file", "reports": "file"}  # fmt: skip


# Where it lies


def draw_storage() -> None:
    """A table of what is stored, where and how large it is."""
    held = application.storage_usage()
    rows = errors.build_rows(
        lambda item: {
            "part": value_label("holding", item.name),
            "size": format_size(item.size_bytes) if item.size_bytes is not None else t("holding.unknown"),
            "count": _count_text(item),
            "place": t("holding.within") if item.part_of else item.location or t("holding.none"),
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
    whole = sum(item.size_bytes or 0 for item in held if not item.part_of)
    st.caption(t("status.data_text", size=format_size(whole)))
    if any(item.location.startswith("postgresql") for item in held):
        st.caption(t("holding.server"))


def _count_text(item: StorageUsage) -> str:
    if item.count is None:
        return ""
    kind = COUNT_UNITS.get(item.name)
    return t(f"holding.count_{kind}", n=format_number(item.count)) if kind else format_number(item.count)


# Taking it away


def draw_export(*, is_local: bool) -> None:
    """The export: a button, its progress, its file."""
    st.markdown(t("export.text") if is_local else t("export.text_own"))
    made = application.get_data_export(owner=current_owner())
    if made and made.status == "making":
        _draw_export_progress()
        return
    if made and made.status == "ready":
        _draw_ready_export(made)
        return
    if made and made.status == "failed":
        why = escape_markdown(made.error, 200)
        st.error(t("export.failed", why=why), icon=":material/error:")
    st.button(
        t("export.begin"), key="export", icon=":material/archive:",
        on_click=_start_export, args=(is_local,),
    )  # fmt: skip


def _start_export(includes_library: bool) -> None:
    application.start_data_export(language=current_language(), include_library=includes_library, owner=current_owner())


@st.fragment(run_every=POLL_SECONDS)
def _draw_export_progress() -> None:
    made = application.get_data_export(owner=current_owner())
    if made is None or made.status != "making":
        st.rerun()
        return
    part = made.done_count / made.total_count if made.total_count else 0.0
    words = t("export.making", done=format_number(made.done_count), total=format_number(made.total_count))
    st.progress(min(part, 1.0), text=words)
    if st.button(t("export.cancel"), key="export_cancel", icon=":material/close:"):
        application.discard_data_export(owner=current_owner())
        st.rerun()


def _draw_ready_export(export: DataExport) -> None:
    st.success(
        t("export.ready", size=format_size(export.size_bytes), when=format_local_time(export.started_at)),
        icon=":material/check_circle:",
    )
    if export.failed_count:
        st.warning(t("export.lost", n=format_number(export.failed_count)))
    with st.container(horizontal=True):
        st.download_button(
            t("export.download"),
            lambda: _read_export(export.id),
            file_name=f"sightline-{export.started_at:%Y%m%d-%H%M}.zip",
            mime="application/zip",
            key="export_file",
            icon=":material/download:",
            type="primary",
            on_click="ignore",
        )
        st.button(
            t("export.discard"), key="export_discard", icon=":material/delete:",
            on_click=lambda: application.discard_data_export(owner=current_owner()),
        )  # fmt: skip
    st.caption(t("export.ready_text"))


def _read_export(export_id: str) -> bytes:
    """The file, for its owner alone: it is asked anew whose it is."""
    made = application.get_data_export(owner=current_owner())
    if made is None or made.path is None or made.id != export_id:
        raise RuntimeError("there is no such file any more")
    return made.path.read_bytes()


# Deleting it


def draw_deletion_result() -> None:
    """What was deleted a moment ago."""
    done: DeletionSummary | None = st.session_state.pop(_DELETED_KEY, None)
    if done is None:
        return
    st.success(_deletion_text(done), icon=":material/delete_forever:")
    if not done.is_erased:
        st.warning(t("wiped.not_erased"), icon=":material/warning:")


def _deletion_text(deletion: DeletionSummary) -> str:
    told = [
        f"{t(f'wiped.{words}')} {format_number(n)}"
        for name, words in DELETED_PARTS.items()
        if (n := getattr(deletion, name))
    ]
    return t("wiped.done", what=t("mark.list").join(told) or t("wiped.nothing"))


def draw_deletion(*, is_local: bool) -> None:
    """Deleting everything: behind a button, and a word that has to be typed."""
    st.markdown(t("wipe.text") if is_local else t("wipe.text_own"))
    asking = st.session_state.get(_CONFIRMING_KEY, False)
    st.button(
        t("wipe.open"), key="wipe", icon=":material/delete_forever:", disabled=asking,
        on_click=_set_confirming, args=(True,),
    )  # fmt: skip
    if asking:
        with st.container(border=True, width=layout.READING_WIDTH_PIXELS, key="wipe_asked"):
            _draw_confirmation(is_local)


def _set_confirming(is_confirming: bool) -> None:
    st.session_state[_CONFIRMING_KEY] = is_confirming


def _draw_confirmation(is_local: bool) -> None:
    word = t("wipe.word")
    st.warning(t("wipe.warning"), icon=":material/warning:")
    library = is_local and st.checkbox(t("wipe.library"), key="wipe_library")
    st.caption(t("wipe.stays"))
    typed = st.text_input(t("wipe.type", word=word), key="wipe_word", autocomplete="off")
    with st.container(horizontal=True):
        go = st.button(
            t("wipe.go"), key="wipe_go", type="primary", icon=":material/delete_forever:",
            disabled=typed.strip().casefold() != word.casefold(),
        )  # fmt: skip
        st.button(t("wipe.cancel"), key="wipe_cancel", on_click=_set_confirming, args=(False,))
    if go:
        _delete_everything(is_local=is_local, includes_library=bool(library))


def _delete_everything(*, is_local: bool, includes_library: bool) -> None:
    try:
        with st.spinner(t("wipe.going")):
            TEMPORARY_FILES.delete_owned(current_owner())
            done = application.delete_owner_data(
                include_caches=is_local, include_library=includes_library, owner=current_owner()
            )
            if not is_local:
                login.end_sign_in(login.current_visitor(), everywhere=True)
    except RunNotStoppedError:
        st.error(t("wipe.running"))
        return
    except StoreError as error:
        log.error("%s", error)
        st.error(storage_errors.describe_store_error(error))
        return
    except OSError as error:
        log.error("%s", error)
        st.error(t("wipe.keys_left"))
        return
    for name in [name for name in st.session_state if name not in _KEPT_KEYS]:
        if name != "owner":
            del st.session_state[name]
    if is_local:
        st.session_state[_DELETED_KEY] = done
    else:
        left = "" if done.is_erased else f"\n\n{t('wiped.not_erased')}"
        st.session_state[login.FAREWELL_KEY] = _deletion_text(done) + left
    st.rerun()
