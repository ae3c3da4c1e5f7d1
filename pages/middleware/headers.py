"""Security and cache headers of every HTTP response."""

from __future__ import annotations

from typing import Any

from research import SettingError, StoreError, get_application

# Nothing may be loaded from or sent to another host, whatever a document or a model writes.
# Streamlit's document and components contain inline scripts and styles.
# 'self' in connect-src covers the websocket as well (wss for https): the browser compares with the
# address of the page, so the host name need not be known here and no proxy can change it.
CSP = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; frame-src 'self' blob: data:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"SAMEORIGIN",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"x-permitted-cross-domain-policies": b"none",
}

# The frame of a map evaluates a script that its component sends as text, and loads tiles from
# services that require a referrer.
MAP_PATH = "/component/streamlit_folium.st_folium/"
TILE_HOSTS = (
    "https://tile.openstreetmap.org",
    *(f"https://webrd0{n}.is.autonavi.com" for n in range(1, 5)),
)
MAP_CSP = CSP.replace("'unsafe-inline' blob:", "'unsafe-inline' 'unsafe-eval' blob:")
MAP_HEADERS_WITHOUT_TILES = HEADERS | {b"content-security-policy": MAP_CSP.encode()}
MAP_HEADERS = HEADERS | {
    b"content-security-policy": MAP_CSP.replace("img-src", " ".join(["img-src", *TILE_HOSTS])).encode(),
    b"referrer-policy": b"strict-origin",
}

# The frame for the pictures of a report, opened on request, may load pictures from any site and
# nothing else. The sites receive no referrer.
PICTURES_PATH = "/assets/pictures/"
PICTURE_HEADERS = HEADERS | {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; "
    b"img-src https: http:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
}

ASSETS_PATH = "/assets/"
CACHE_FOREVER = b"public, max-age=31536000, immutable"  # for addresses with a version


def security_headers(path: str) -> dict[bytes, bytes]:
    """Return the security headers for a path, with map tiles allowed unless they are off."""
    if PICTURES_PATH in path:
        return PICTURE_HEADERS
    if MAP_PATH not in path:  # the server's base path may precede it
        return HEADERS
    try:
        return MAP_HEADERS_WITHOUT_TILES if get_application().settings.map_tiles == "off" else MAP_HEADERS
    except (StoreError, SettingError):
        return MAP_HEADERS_WITHOUT_TILES


def cache_headers(scope: Any, status: int, response_headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the cache headers of a response: none for downloads, forever for versioned assets."""
    if response_headers.get(b"content-disposition", b"").startswith(b"attachment"):
        return {b"cache-control": b"no-store"}
    if ASSETS_PATH in scope["path"] and b"cache-control" not in response_headers:
        versioned = status == 200 and scope.get("query_string", b"").startswith(b"v=")
        return {b"cache-control": CACHE_FOREVER if versioned else b"no-cache"}
    return {}


class SecurityHeadersMiddleware:
    """Adds security and cache headers to every HTTP response."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {key.lower(): value for key, value in message["headers"]}
                cache = cache_headers(scope, message["status"], present)
                retained = [(k, v) for k, v in message["headers"] if k.lower() not in cache]
                extra = [(k, v) for k, v in security_headers(scope["path"]).items() if k not in present]
                message["headers"] = [*retained, *extra, *cache.items()]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)
