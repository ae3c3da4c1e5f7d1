"""Personal data of an owner: storage, export and deletion."""

from __future__ import annotations

import logging

import pandas as pd
import streamlit as st

from pages.shared import errors, layout, login, storage_errors
from pages.shared.escaping import escape_markdown
from pages.shared.localization import current_language, format_local_time, format_number, format_size, t, value_label
from pages.shared.login import current_owner
from pages.shared.temporary_files import TEMPORARY_FILES
from research import DataExport, DeletionSummary, RunNotStoppedError, StorageUsage, StoreError, get_application

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0  # interval of progress updates
_DELETED_KEY = "wiped"  # in the session: summary of the deletion
_CONFIRMING_KEY = "wipe_asking"  # in the session: True while confirmation is pending
_KEPT_KEYS = ("lang", "owner", _DELETED_KEY)  # keys of the session that survive the deletion
DELETED_PARTS = (  # fields of DeletionSummary
    "runs",
    "conversations",
    "evidence",
    "watches",
    "statements",
    "notes",
    "notebooks",
    "preferences",
    "cached_answers",
    "documents",
    "uploads",
    "reports",
)
COUNT_UNITS = {"runs": "run", "lookups": "answer", "library": "document", "tables": "file", "reports": "file"}


# Storage


def draw_storage() -> None:
    """Draw a table of the stored data with location, size and count."""
    usage = get_application().storage_usage()
    rows = errors.build_rows(
        lambda item: {
            "part": value_label("holding", item.name),
            "size": format_size(item.size_bytes) if item.size_bytes is not None else t("holding.unknown"),
            "count": _count_text(item),
            "place": t("holding.within") if item.part_of else item.location or t("holding.none"),
        },
        usage,
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
    total = sum(item.size_bytes or 0 for item in usage if not item.part_of)
    st.caption(t("status.data_text", size=format_size(total)))
    if any(item.location.startswith("postgresql") for item in usage):
        st.caption(t("holding.server"))


def _count_text(item: StorageUsage) -> str:
    if item.count is None:
        return ""
    kind = COUNT_UNITS.get(item.name)
    return t(f"holding.count_{kind}", n=format_number(item.count)) if kind else format_number(item.count)


# Export


def draw_export(*, is_local: bool) -> None:
    """Draw the export: a start button, its progress or the finished file."""
    st.markdown(t("export.text") if is_local else t("export.text_own"))
    export = get_application().data_exports.get(current_owner())
    if export and export.status == "making":
        _draw_export_progress()
        return
    if export and export.status == "ready":
        _draw_ready_export(export)
        return
    if export and export.status == "failed":
        reason = escape_markdown(export.error, 200)
        st.error(t("export.failed", why=reason), icon=":material/error:")
    st.button(t("export.begin"), key="export", icon=":material/archive:", on_click=_start_export, args=(is_local,))


def _start_export(includes_library: bool) -> None:
    get_application().data_exports.start(current_owner(), language=current_language(), include_library=includes_library)


@st.fragment(run_every=POLL_SECONDS)
def _draw_export_progress() -> None:
    export = get_application().data_exports.get(current_owner())
    if export is None or export.status != "making":
        st.rerun()
        return
    fraction = export.done_count / export.total_count if export.total_count else 0.0
    label = t("export.making", done=format_number(export.done_count), total=format_number(export.total_count))
    st.progress(min(fraction, 1.0), text=label)
    if st.button(t("export.cancel"), key="export_cancel", icon=":material/close:"):
        get_application().data_exports.discard(current_owner())
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
            t("export.discard"),
            key="export_discard",
            icon=":material/delete:",
            on_click=lambda: get_application().data_exports.discard(current_owner()),
        )
    st.caption(t("export.ready_text"))


def _read_export(export_id: str) -> bytes:
    """Read an export of the current owner; the owner is checked again at the download."""
    export = get_application().data_exports.get(current_owner())
    if export is None or export.path is None or export.id != export_id:
        raise RuntimeError("there is no such file any more")
    return export.path.read_bytes()


# Deletion


def draw_deletion_result() -> None:
    """Draw the summary of a deletion once, right after it."""
    summary: DeletionSummary | None = st.session_state.pop(_DELETED_KEY, None)
    if summary is None:
        return
    st.success(_deletion_text(summary), icon=":material/delete_forever:")
    if not summary.is_erased:
        st.warning(t("wiped.not_erased"), icon=":material/warning:")


def _deletion_text(deletion: DeletionSummary) -> str:
    parts = [
        f"{t(f'wiped.{name}')} {format_number(count)}" for name in DELETED_PARTS if (count := getattr(deletion, name))
    ]
    return t("wiped.done", what=t("mark.list").join(parts) or t("wiped.nothing"))


def draw_deletion(*, is_local: bool) -> None:
    """Draw the deletion of all data, confirmed by a button and a typed word."""
    st.markdown(t("wipe.text") if is_local else t("wipe.text_own"))
    is_confirming = st.session_state.get(_CONFIRMING_KEY, False)
    st.button(
        t("wipe.open"),
        key="wipe",
        icon=":material/delete_forever:",
        disabled=is_confirming,
        on_click=_set_confirming,
        args=(True,),
    )
    if is_confirming:
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
        confirmed = st.button(
            t("wipe.go"),
            key="wipe_go",
            type="primary",
            icon=":material/delete_forever:",
            disabled=typed.strip().casefold() != word.casefold(),
        )
        st.button(t("wipe.cancel"), key="wipe_cancel", on_click=_set_confirming, args=(False,))
    if confirmed:
        _delete_everything(is_local=is_local, includes_library=bool(library))


def _delete_everything(*, is_local: bool, includes_library: bool) -> None:
    try:
        with st.spinner(t("wipe.going")):
            TEMPORARY_FILES.delete_owned(current_owner())
            summary = get_application().delete_owner_data(
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
        del st.session_state[name]
    if is_local:
        st.session_state[_DELETED_KEY] = summary
    else:
        note = "" if summary.is_erased else f"\n\n{t('wiped.not_erased')}"
        st.session_state[login.FAREWELL_KEY] = _deletion_text(summary) + note
    st.rerun()
