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

from pages.shared import trouble
from pages.shared.words import number, t
from research import PaceError, SettingError, StoreError

log = logging.getLogger(__name__)
_T = TypeVar("_T")


def mark(error: BaseException) -> str:
    """The number of an error: the same for the same mistake at the same place, so that a part of a
    page that is drawn again and again does not change."""
    told = "".join(traceback.format_exception(error))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:8]


def note(error: BaseException) -> str:
    """Writes an error into the log, where keys are concealed; returns its number."""
    found = mark(error)
    log.error("error %s", found, exc_info=error)
    return found


def caught(error: Exception) -> bool:
    """What `st.App` calls with whatever a page, a fragment or a callback did not catch. It is drawn
    where the drawing had come to; true, so that Streamlit adds nothing of its own."""
    if isinstance(error, StoreError | SettingError):
        trouble.draw(error)
    elif isinstance(error, PaceError):
        hurried(error)
    else:
        draw(note(error))
    return True


@contextmanager
def row() -> Iterator[None]:
    """Draw one entry of a list. One that cannot be drawn says so and the others are drawn; what
    concerns the whole store, a setting or the pace of starts is raised."""
    try:
        yield
    except (StoreError, SettingError, PaceError):
        raise
    except Exception as error:  # noqa: BLE001 - stored data of any kind; the log has the details
        st.caption(f":material/error: {t('error.row', id=note(error))}")


def cells(
    make: Callable[[_T], dict[str, Any]], items: Iterable[_T], first: str
) -> list[dict[str, Any]]:
    """Make the rows of a table. One that cannot be made says so in its `first` column."""
    rows = []
    for item in items:
        try:
            rows.append(make(item))
        except Exception as error:  # noqa: BLE001 - as in `row`
            rows.append({first: t("error.row", id=note(error))})
    return rows


def draw(found: str) -> None:
    """That something went wrong, where to look it up, and a way to try again."""
    with st.container(key=f"error_{found}"):
        st.error(t("error.page", id=found), icon=":material/error:")
        try:
            st.button(t("trouble.retry"), key=f"retry_{found}", icon=":material/refresh:")
        except StreamlitAPIException:  # within a form, which has a button of its own
            log.debug("no button for %s", found)


def hurried(error: PaceError) -> None:
    """That too much was started, and when it goes on."""
    st.warning(
        t("error.pace", limit=number(error.limit), seconds=number(error.wait)),
        icon=":material/hourglass_top:",
    )
