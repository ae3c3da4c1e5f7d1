"""Host and origin checks: refuse requests for a foreign host name and websockets of foreign pages.

Streamlit checks the host of websockets only. Without a check of HTTP requests, a foreign page whose
name resolves to this machine would be served like one of ours (DNS rebinding). For an origin,
Streamlit compares only the host name, and accepts pages from every port of this machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers

from pages.middleware.access import refusal

REFUSAL = "This server is not known by that name. Its names are set in server.allowedHosts."
DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Origin of a page, with the default port of its scheme where none is given."""

    scheme: str
    host: str
    port: int


def parse_origin(text: str) -> Origin | None:
    """Parse an Origin header. Return None for "null" and other values that are no HTTP origin."""
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return None
    if scheme not in DEFAULT_PORTS or not host:
        return None
    return Origin(scheme, host.rstrip("."), DEFAULT_PORTS[scheme] if port is None else port)


def is_allowed_host(scope: Any) -> bool:
    """Return True if the Host header matches `server.allowedHosts`.

    The rule is Streamlit's for websockets: port, case and a final dot are ignored, and without a
    list every name is allowed.
    """
    from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

    hosts = Headers(scope=scope).getlist("host")
    return len(hosts) < 2 and is_host_allowed(hosts[0] if hosts else None)


def is_allowed_origin(scope: Any) -> bool:
    """Return True if a websocket comes from a page of this server, from one of
    `server.corsAllowedOrigins`, or from a program, which sends no origin.

    The origin of a page of this server has the host and port of the websocket's Host header. The
    scheme is compared only for wss: behind a proxy, an https page may arrive here as plain ws.
    """
    headers = Headers(scope=scope)
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    if not origins or not st.get_option("server.enableCORS"):
        return True
    origin = parse_origin(origins[0])
    if len(origins) > 1 or origin is None or not hosts:
        return False
    if origin in map(parse_origin, st.get_option("server.corsAllowedOrigins")):
        return True
    schemes_agree = scope["scheme"] != "wss" or origin.scheme == "https"
    return schemes_agree and origin == parse_origin(f"{origin.scheme}://{hosts[0]}")


def normalize_host(scope: Any) -> Any:
    """Return the scope with the default port removed from its Host header.

    Streamlit compares Host and Origin literally, and some proxies add the default port.
    """
    scheme = "".join(Headers(scope=scope).getlist("origin")).partition(":")[0]
    port = f":{DEFAULT_PORTS.get(scheme, '')}".encode()
    return scope | {
        "headers": [(name, value.removesuffix(port) if name == b"host" else value) for name, value in scope["headers"]]
    }


class HostMiddleware:
    """Answers 421 to requests for a foreign host name and closes websockets of foreign pages."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not is_allowed_host(scope):
            await refusal(421, REFUSAL)(scope, receive, send)
        elif scope["type"] != "websocket":
            await self.app(scope, receive, send)
        elif is_allowed_host(scope) and is_allowed_origin(scope):
            await self.app(normalize_host(scope), receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})
