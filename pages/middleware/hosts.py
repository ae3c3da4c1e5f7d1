"""Refuses what calls the server by a name that is none of its own, and websockets of other pages.

Streamlit asks the first of websockets only. A page of somebody else's whose name is made to lead to
this machine would otherwise be answered like one of ours (DNS rebinding). Of an origin Streamlit
compares the name alone, and takes every page of this machine, whatever port it comes from.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from pages.middleware.access import send_refusal

REFUSAL = b"This server is not known by that name. Its names are set in server.allowedHosts."
DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Where a page comes from. The port is that of the scheme where none is named."""

    scheme: str
    host: str
    port: int


def parse_origin(text: str) -> Origin | None:
    """An origin as a browser writes it; None of a page that has none ("null")."""
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return None
    if scheme not in DEFAULT_PORTS or not host:
        return None
    return Origin(scheme, host.rstrip("."), DEFAULT_PORTS[scheme] if port is None else port)


def header_values(scope: Any, header: bytes) -> list[str]:
    """What a request says in a header, each time that it says it."""
    return [value.decode("latin-1") for name, value in scope["headers"] if name == header]


def is_allowed_host(scope: Any) -> bool:
    """Whether a request names one of `server.allowedHosts`, by the rule that Streamlit has for
    websockets: any port, no matter the case or a dot at the end; without a list every name will do.
    """
    from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

    hosts = header_values(scope, b"host")
    return len(hosts) < 2 and is_host_allowed(hosts[0] if hosts else None)


def is_allowed_origin(scope: Any) -> bool:
    """Whether a websocket is opened by a page of this server or of `server.corsAllowedOrigins`, or
    by a program, which names no origin.

    A page of this server has the address that the websocket is asked for by, port and all. Whether it
    was encrypted on its way to a proxy need not be known here; if it is known, the page was so too.
    """
    pages, hosts = header_values(scope, b"origin"), header_values(scope, b"host")
    if not pages or not st.get_option("server.enableCORS"):
        return True
    page = parse_origin(pages[0])
    if len(pages) > 1 or page is None or not hosts:
        return False
    if page in map(parse_origin, st.get_option("server.corsAllowedOrigins")):
        return True
    sure = scope["scheme"] != "wss" or page.scheme == "https"
    return sure and page == parse_origin(f"{page.scheme}://{hosts[0]}")


def normalize_host(scope: Any) -> Any:
    """The same websocket with its host as browsers write it: Streamlit compares it with the page's
    origin letter by letter, and some proxies add the port that goes without saying."""
    scheme = "".join(header_values(scope, b"origin")).partition(":")[0]
    port = f":{DEFAULT_PORTS.get(scheme, '')}".encode()
    return scope | {
        "headers": [(name, value.removesuffix(port) if name == b"host" else value) for name, value in scope["headers"]]
    }


class HostMiddleware:
    """Answers requests to another name with plain words, and closes websockets of other pages too."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not is_allowed_host(scope):
            await send_refusal(send, 421, REFUSAL)
        elif scope["type"] != "websocket":
            await self.app(scope, receive, send)
        elif is_allowed_host(scope) and is_allowed_origin(scope):
            await self.app(normalize_host(scope), receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})
