"""What a visitor sees of a mistake in the program: one calm sentence and the number of its entry in
the server's log. No traceback and no name of the code leaves the server."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.shared import storage_errors
from pages.shared.localization import format_number, t
from research import RateLimitError, SettingError, StoreError

log = logging.getLogger(__name__)
_T = TypeVar("_T")


def compute_error_id(error: BaseException) -> str:
    """The number of an error: the same for the same mistake at the same place, so that a part of a
    page that is drawn again and again does not change."""
    told = "".join(traceback.format_exception(error))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:8]


def log_error(error: BaseException) -> str:
    """Writes an error into the log, where keys are concealed; returns its number."""
    found = compute_error_id(error)
    log.error("error %s", found, exc_info=error)
    return found


def handle_script_error(error: Exception) -> bool:
    """What `st.App` calls with whatever a page, a fragment or a callback did not catch. It is drawn
    where the drawing had come to; true, so that Streamlit adds nothing of its own."""
    if isinstance(error, StoreError | SettingError):
        storage_errors.draw(error)
    elif isinstance(error, RateLimitError):
        draw_rate_limit_error(error)
    else:
        draw_error(log_error(error))
    return True


@contextmanager
def catch_row_errors() -> Iterator[None]:
    """Draw one entry of a list. One that cannot be drawn says so and the others are drawn; what
    concerns the whole store, a setting or the pace of starts is raised."""
    try:
        yield
    except (StoreError, SettingError, RateLimitError):
        raise
    except Exception as error:  # noqa: BLE001 - stored data of any kind; the log has the details
        st.caption(f":material/error: {t('error.row', id=log_error(error))}")


def build_rows(
    make_row: Callable[[_T], dict[str, Any]], items: Iterable[_T], error_column: str
) -> list[dict[str, Any]]:
    """Make the rows of a table. One that cannot be made says so in its `first` column."""
    rows = []
    for item in items:
        try:
            rows.append(make_row(item))
        except Exception as error:  # noqa: BLE001 - as in `row`
            rows.append({error_column: t("error.row", id=log_error(error))})
    return rows


def draw_error(error_id: str) -> None:
    """That something went wrong, where to look it up, and a way to try again."""
    with st.container(key=f"error_{error_id}"):
        st.error(t("error.page", id=error_id), icon=":material/error:")
        try:
            st.button(t("trouble.retry"), key=f"retry_{error_id}", icon=":material/refresh:")
        except StreamlitAPIException:  # within a form, which has a button of its own
            log.debug("no button for %s", error_id)


def draw_rate_limit_error(error: RateLimitError) -> None:
    """That too much was started, and when it goes on."""
    st.warning(
        t("error.pace", limit=format_number(error.limit), seconds=format_number(error.wait_seconds)),
        icon=":material/hourglass_top:",
    )
