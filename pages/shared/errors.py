"""Messages for unexpected errors: one sentence and the id of the entry in the server's log.

No traceback and no name from the code reaches the browser.
"""

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
    """Return the id of an error, a hash of its traceback.

    The same error at the same place keeps its id, so that a polled part of a page does not change.
    """
    trace = "".join(traceback.format_exception(error))
    return hashlib.sha256(trace.encode("utf-8", "replace")).hexdigest()[:8]


def log_error(error: BaseException) -> str:
    """Log an error, with secrets concealed by the log, and return its id."""
    error_id = compute_error_id(error)
    log.error("error %s", error_id, exc_info=error)
    return error_id


def handle_script_error(error: Exception) -> bool:
    """Draw an error that a page, fragment or callback did not catch. Called by `st.App`.

    Return True, so that Streamlit draws nothing of its own.
    """
    if isinstance(error, StoreError | SettingError):
        storage_errors.draw(error)
    elif isinstance(error, RateLimitError):
        draw_rate_limit_error(error)
    else:
        draw_error(log_error(error))
    return True


@contextmanager
def catch_row_errors() -> Iterator[None]:
    """Draw a note instead of a list entry that cannot be drawn, so that the others are drawn.

    Errors of the store, of a setting or of the rate limit concern more than the entry and are
    raised.
    """
    try:
        yield
    except (StoreError, SettingError, RateLimitError):
        raise
    except Exception as error:  # noqa: BLE001 - stored data of any kind; the log has the details
        st.caption(f":material/error: {t('error.row', id=log_error(error))}")


def build_rows(
    make_row: Callable[[_T], dict[str, Any]], items: Iterable[_T], error_column: str
) -> list[dict[str, Any]]:
    """Build the rows of a table. A row that cannot be built has a note in its `error_column`."""
    rows = []
    for item in items:
        try:
            rows.append(make_row(item))
        except Exception as error:  # noqa: BLE001 - as in `catch_row_errors`
            rows.append({error_column: t("error.row", id=log_error(error))})
    return rows


def draw_error(error_id: str) -> None:
    """Draw a message about an unexpected error with the id of its log entry, and a retry button."""
    with st.container(key=f"error_{error_id}"):
        st.error(t("error.page", id=error_id), icon=":material/error:")
        try:
            st.button(t("trouble.retry"), key=f"retry_{error_id}", icon=":material/refresh:")
        except StreamlitAPIException:  # forms allow no such button and have one of their own
            log.debug("no button for %s", error_id)


def draw_rate_limit_error(error: RateLimitError) -> None:
    """Draw a message that too many runs were started, with the time until the next may start."""
    st.warning(
        t("error.pace", limit=format_number(error.limit), seconds=format_number(error.wait_seconds)),
        icon=":material/hourglass_top:",
    )
