"""The data folder, the database or a setting is unusable: what is wrong, and a way to try again."""

from __future__ import annotations

import logging
from pathlib import Path, PurePath

import streamlit as st

from pages.shared import layout, login
from pages.shared.escaping import escape_markdown
from pages.shared.localization import t
from research import SettingError, StoreError, application

log = logging.getLogger(__name__)
_CONFIRMING_KEY = "rescue_asking"  # in the session: the file that may be set aside


def describe_store_error(error: StoreError) -> str:
    """What is wrong with the store, in words that are safe in Markdown. Others than the one who runs
    the server see the last part of a path alone."""
    place = str(error.path)
    path = PurePath(place).name if login.read_config().is_required else place
    return t(f"trouble.{error.problem}", path=escape_markdown(path))


def draw(error: StoreError | SettingError) -> None:
    """Says it in the visitor's language; the log gets it as well."""
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
    broken = error.damaged_file if isinstance(error, StoreError) and not login.read_config().is_required else None
    asking = broken is not None and st.session_state.get(_CONFIRMING_KEY) == str(broken)
    with st.container(horizontal=True):
        st.button(t("trouble.retry"), key="retry", icon=":material/refresh:")
        if broken:
            st.button(
                t("rescue.open"), key="rescue", icon=":material/drive_file_move:", disabled=asking,
                on_click=_set_confirming, args=(str(broken),),
            )  # fmt: skip
    if broken and asking:
        with st.container(border=True, width=layout.READING_WIDTH_PIXELS, key="rescue_asked"):
            _draw_confirmation(broken)


def _set_confirming(path: str) -> None:
    st.session_state[_CONFIRMING_KEY] = path


def _draw_confirmation(path: Path) -> None:
    """Asks whether a damaged file is to be set aside."""
    st.markdown(t("rescue.text", name=escape_markdown(path.name)))
    lost = {"runs.db": "rescue.runs", "library.db": "rescue.library"}
    st.warning(t(lost.get(path.name, "rescue.other")), icon=":material/warning:")
    with st.container(horizontal=True):
        go = st.button(t("rescue.go"), key="rescue_go", type="primary")
        st.button(t("wipe.cancel"), key="rescue_cancel", on_click=_set_confirming, args=("",))
    if go:
        try:
            aside = application.set_aside_damaged_file(path)
        except ValueError:
            st.error(t("rescue.whole"))
            return
        except OSError as error:
            st.error(t("rescue.failed", why=escape_markdown(error.strerror or type(error).__name__)))
            return
        log.warning("%s was set aside as %s", path, aside)
        st.toast(t("rescue.done", name=escape_markdown(aside.name)), icon=":material/check_circle:")
        st.rerun()
