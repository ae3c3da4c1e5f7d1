"""Launches Sightline: `streamlit run app.py`, `python app.py` or `uvicorn app:app`.

The pages are started through `pages/router.py`, never from here: a script beside the folder `pages`
would turn on Streamlit's legacy page discovery, and a deep link would then run a page without the
router. Everything that one process needs once is here: headers, the gate of a login, warm-up, static
files.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pages.parts import login  # noqa: E402 - the root has to be found first
from pages.parts.gate import Gate  # noqa: E402
from research import SettingError, StoreError, runs  # noqa: E402

# Nothing may be loaded from or sent to another host, whatever a document or a model writes.
CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' ws: wss:; frame-src 'self' blob: data:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"SAMEORIGIN",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}


# But the frame of a map shows the tiles of others, who want to know which site asks for them.
MAP = "/component/streamlit_folium.st_folium/"
TILES = (
    "https://tile.openstreetmap.org",
    *(f"https://webrd0{n}.is.autonavi.com" for n in range(1, 5)),
)
MAP_HEADERS = HEADERS | {
    b"content-security-policy": CSP.replace("img-src", " ".join(["img-src", *TILES])).encode(),
    b"referrer-policy": b"strict-origin",
}

# And the frame of the pictures of a report, which opens when they are asked for, shows pictures of
# whatever site. It can do nothing else, and the sites do not learn who asks.
PICTURES = "/assets/pictures/"
PICTURE_HEADERS = HEADERS | {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src https: http:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}


def headers(path: str) -> dict[bytes, bytes]:
    """The headers of an answer; those of a map only if there may be tiles."""
    if PICTURES in path:
        return PICTURE_HEADERS
    if MAP not in path:  # a path of the server's own may stand before it
        return HEADERS
    try:
        return HEADERS if runs.desk().settings.map_tiles == "off" else MAP_HEADERS
    except (StoreError, SettingError):
        return HEADERS


class SecurityHeaders:
    """Adds the headers to every HTTP answer; websockets pass untouched."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = str(scope.get("path", ""))

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                have = {key.lower() for key, _ in message["headers"]}
                extra = [(k, v) for k, v in headers(path).items() if k not in have]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Opens the data folder before the first visitor comes, and interrupts the runs at the end."""
    import pandas  # noqa: F401 - heavy: loaded before the objects of the imports are frozen

    login.hold()
    try:
        runs.desk()
        runs.warm()
    except (StoreError, SettingError) as error:
        logging.getLogger(__name__).error("%s", error)  # the pages show it, and try again
    runs.settle()  # the page server collects after every script run: keep what never dies out of it
    yield
    runs.close()


app = st.App(
    ROOT / "pages" / "router.py",
    lifespan=lifespan,
    middleware=[Middleware(SecurityHeaders), Middleware(Gate)],
    routes=[Mount("/assets", StaticFiles(directory=ROOT / "pages" / "assets"))],
)

if __name__ == "__main__":
    app.run()
