"""Refuses every request that calls the server by a name which is none of its own.

Streamlit asks that of websockets only. A page of somebody else's whose name is made to lead to this
machine would otherwise be answered like one of ours (DNS rebinding).
"""

from __future__ import annotations

from typing import Any

from pages.parts.gate import refuse

WORDS = b"This server is not known by that name. Its names are set in server.allowedHosts."


def known(scope: Any) -> bool:
    """Whether a request names one of `server.allowedHosts`, by the rule that Streamlit has for
    websockets: any port, no matter the case or a dot at the end; without a list every name will do.
    """
    from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

    named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    return len(named) < 2 and is_host_allowed(named[0] if named else None)


class Hosts:
    """Answers requests to another name with plain words, and closes their websockets."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not known(scope):
            await refuse(send, 421, WORDS)
        elif scope["type"] == "websocket" and not known(scope):
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self.app(scope, receive, send)
