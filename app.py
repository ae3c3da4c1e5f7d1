"""Launches Sightline: `streamlit run app.py`, `python app.py` or `uvicorn app:app`.

The pages are started through `pages/router.py`, never from here: a script beside the folder `pages`
would turn on Streamlit's legacy page discovery, and a deep link would then run a page without the
router. Everything that one process needs once is here: what every request passes on its way to the
pages and back, warm-up, static files.
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
from pages.shared import errors, login, temporary_files  # noqa: E402 - the root has to be found first
from research import SettingError, StoreError, application, limit_connections  # noqa: E402

log = logging.getLogger(__name__)

# Not streamlit_folium: its component is registered only where a script of the page imports it.
WARM_UP_MODULES = ("pages.run.view", "pages.shared.place_map", "folium")
WARM_UP_DELAY_SECONDS = 3.0  # seconds; until then the first page has the processor to itself


def open_application() -> bool:
    """Open the data folder. Return False if that fails: the pages show why, and try again."""
    try:
        application.get_application()
    except (StoreError, SettingError) as error:
        log.error("%s", error)
    except Exception:
        log.exception("the data folder cannot be opened")
    else:
        return True
    return False


async def warm_up() -> None:
    """Prepare what the first page, the first question and the first answer would have to wait for.

    The server listens meanwhile, so that the browser loads the scripts of the page at the same time.
    """
    if not await asyncio.to_thread(open_application):
        return
    await asyncio.sleep(WARM_UP_DELAY_SECONDS)
    try:
        for name in WARM_UP_MODULES:
            await asyncio.to_thread(importlib.import_module, name)
        await asyncio.to_thread(application.warm)
    except Exception as error:  # noqa: BLE001 - raised again, and shown, when it is first used
        log.warning("not everything is loaded ahead: %s", error)
    application.tune_garbage_collector()  # the page server collects after every script run: keep what never dies out of it


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Open the data folder while the server begins to listen, and interrupt the runs at the end."""
    login.lock_login()
    limit_connections()
    loading = asyncio.create_task(warm_up())
    yield
    loading.cancel()
    with suppress(asyncio.CancelledError):
        await loading
    application.close()


app = st.App(
    ROOT / "pages" / "router.py",
    lifespan=lifespan,
    middleware=[
        Middleware(SecurityHeadersMiddleware),  # first: what the others refuse has headers as well
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
    ],
    on_script_error=errors.handle_script_error,
)

if __name__ == "__main__":
    app.run()
