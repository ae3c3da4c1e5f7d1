"""The data folder, the database or a setting is unusable: what is wrong, and a way to try again."""

from __future__ import annotations

import logging
from pathlib import PurePath

import streamlit as st

from pages.parts import login
from pages.parts.safe import plain
from pages.parts.words import t
from research import SettingError, StoreError

log = logging.getLogger(__name__)


def draw(error: StoreError | SettingError) -> None:
    """Says it in the visitor's language; the log gets it as well."""
    log.error("%s", error)
    if isinstance(error, StoreError):
        st.header(t("trouble.store" if isinstance(error.path, str) else "trouble.title"))
        place = str(
            error.path
        )  # of which others than the one who runs the server see the last part
        path = PurePath(place).name if login.setup().on else place
        st.error(t(f"trouble.{error.trouble}", path=plain(path)))
    else:
        st.header(t("trouble.setting"))
        st.error(plain(str(error)))
    st.button(t("trouble.retry"), key="retry")
