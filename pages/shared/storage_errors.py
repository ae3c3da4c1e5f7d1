"""Errors of the data folder, the database or a setting, each drawn with a retry button."""

from __future__ import annotations

import logging
from pathlib import Path, PurePath

import streamlit as st

from pages.shared import layout, login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from research import SettingError, StoreError, close_application, set_aside_damaged_file

log = logging.getLogger(__name__)
_CONFIRMING_KEY = "rescue_asking"  # session key of the damaged file to confirm


def describe_store_error(error: StoreError) -> str:
    """Describe a store error as safe Markdown.

    With a login only the last part of a path is named, to hide the folders of the server.
    """
    location = str(error.path)
    path = PurePath(location).name if login.read_config().is_required else location
    return t(f"trouble.{error.problem}", path=escape_markdown(path))


def draw(error: StoreError | SettingError) -> None:
    """Log an error and draw it in the visitor's language.

    Without a login, a button offers to set a damaged file aside.
    """
    log.error("%s", error)
    if isinstance(error, StoreError):
        if isinstance(error.path, str):
            st.header(t("trouble.store"))
        else:
            st.header(t("trouble.file" if error.damaged_file else "trouble.title"))
        st.error(describe_store_error(error))
    else:
        st.header(t("trouble.setting"))
        st.error(escape_markdown(str(error)))
    damaged_file = error.damaged_file if isinstance(error, StoreError) and not login.read_config().is_required else None
    is_confirming = damaged_file is not None and st.session_state.get(_CONFIRMING_KEY) == str(damaged_file)
    with st.container(horizontal=True):
        st.button(t("trouble.retry"), key="retry", icon=":material/refresh:")
        if damaged_file:
            st.button(
                t("rescue.open"),
                key="rescue",
                icon=":material/drive_file_move:",
                disabled=is_confirming,
                on_click=_set_confirming,
                args=(str(damaged_file),),
            )
    if damaged_file and is_confirming:
        with st.container(border=True, width=layout.READING_WIDTH_PIXELS, key="rescue_asked"):
            _draw_confirmation(damaged_file)


def _set_confirming(path: str) -> None:
    st.session_state[_CONFIRMING_KEY] = path


def _draw_confirmation(path: Path) -> None:
    """Ask for confirmation, and then set a damaged file aside."""
    st.markdown(t("rescue.text", name=escape_markdown(path.name)))
    warning_keys = {"runs.db": "rescue.runs", "library.db": "rescue.library"}
    st.warning(t(warning_keys.get(path.name, "rescue.other")), icon=":material/warning:")
    with st.container(horizontal=True):
        is_confirmed = st.button(t("rescue.go"), key="rescue_go", type="primary")
        st.button(t("wipe.cancel"), key="rescue_cancel", on_click=_set_confirming, args=("",))
    if is_confirmed:
        try:
            close_application()
            new_path = set_aside_damaged_file(path)
        except ValueError:
            st.error(t("rescue.whole"))
            return
        except OSError as error:
            st.error(t("rescue.failed", why=escape_markdown(error.strerror or type(error).__name__)))
            return
        log.warning("%s was set aside as %s", path, new_path)
        st.toast(t("rescue.done", name=escape_markdown(new_path.name)), icon=":material/check_circle:")
        st.rerun()
