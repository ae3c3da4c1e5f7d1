"""Launch Sightline: `streamlit run app.py`, `python app.py` or `uvicorn app:app`.

The pages are started through `pages/router.py`, never from here: a script beside the folder `pages`
would turn on Streamlit's legacy page discovery, and a deep link would then run a page without the
router. This module holds the set-up of one server process: middleware, warm-up and static files.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pages.library import pictures  # noqa: E402
from pages.middleware.access import AccessMiddleware, VisitorMiddleware  # noqa: E402
from pages.middleware.document import DocumentMiddleware  # noqa: E402
from pages.middleware.headers import SecurityHeadersMiddleware  # noqa: E402
from pages.middleware.hosts import HostMiddleware  # noqa: E402
from pages.middleware.polling import PollingMiddleware  # noqa: E402
from pages.middleware.rate_limits import RateLimitMiddleware  # noqa: E402
from pages.middleware.upload_limits import UploadLimitMiddleware  # noqa: E402
from pages.shared import errors, login, temporary_files  # noqa: E402 - needs ROOT on sys.path
from research import (  # noqa: E402
    SettingError,
    StoreError,
    close_application,
    get_application,
    limit_connections,
    log_to_stderr,
    tune_garbage_collector,
)

log = logging.getLogger(__name__)

# Without streamlit_folium: its component is registered only if a page script imports it.
WARM_UP_MODULES = ("pages.run.view", "pages.shared.place_map", "folium")
WARM_UP_DELAY_SECONDS = 3.0  # leaves the processor to the first page


def open_application() -> bool:
    """Open the data folder. Return False on failure; the pages then show the reason and retry."""
    try:
        get_application()
    except (StoreError, SettingError) as error:
        log.error("%s", error)
    except Exception:
        log.exception("the data folder cannot be opened")
    else:
        return True
    return False


async def warm_up() -> None:
    """Load in the background what the first page, question and answer would otherwise wait for.

    The server already listens, so the browser loads the page's scripts at the same time.
    """
    if not await asyncio.to_thread(open_application):
        return
    await asyncio.sleep(WARM_UP_DELAY_SECONDS)
    try:
        for name in WARM_UP_MODULES:
            await asyncio.to_thread(importlib.import_module, name)
        await asyncio.to_thread(get_application().warm)
    except Exception as error:  # noqa: BLE001 - raised again, and shown, at the first use
        log.warning("not everything is loaded ahead: %s", error)
    # Streamlit collects garbage after every script run: exclude the objects that live forever.
    tune_garbage_collector()


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Warm up while the server starts to listen, and close the application at shutdown."""
    log_to_stderr()
    login.lock_login()
    limit_connections()
    loading = asyncio.create_task(warm_up())
    yield
    loading.cancel()
    with suppress(asyncio.CancelledError):
        await loading
    close_application()


app = st.App(
    ROOT / "pages" / "router.py",
    lifespan=lifespan,
    middleware=[
        Middleware(SecurityHeadersMiddleware),  # first: refusals by the others need headers too
        Middleware(HostMiddleware),
        Middleware(VisitorMiddleware),
        Middleware(RateLimitMiddleware),
        Middleware(AccessMiddleware),
        Middleware(UploadLimitMiddleware),
        Middleware(PollingMiddleware),
        Middleware(DocumentMiddleware),
    ],
    routes=[
        Mount("/assets", StaticFiles(directory=ROOT / "pages" / "assets")),
        Route(f"{temporary_files.URL_PREFIX}{{key}}", temporary_files.send_file),
        pictures.PICTURE_ENDPOINT,
        pictures.PAGE_ENDPOINT,
    ],
    on_script_error=errors.handle_script_error,
)

if __name__ == "__main__":
    app.run()
