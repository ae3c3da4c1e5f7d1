"""What stands before the server's files while there is a login.

Streamlit gives a file to anybody who knows its address, whoever it was made for. Here a browser gets
the files of those downloads that its own user's pages have offered, and no others; one that has not
signed in gets none and can leave none. Without a login all of it stays open, as nothing listens
beyond this machine then.

Streamlit has no public way to ask who sent a request; its own reader of its signed cookie is used.
Should that be gone one day, the request fails.

Streamlit signs out by a GET, which any site can make a browser send. Here it passes only for a
sign-in that its page has ended already, or if the browser says that a page of this server sends it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st
from starlette.requests import cookie_parser

from pages.shared import login
from research import SettingError, StoreError

log = logging.getLogger(__name__)

MEDIA = "/media/"
SCANS = "/page-pictures/"  # of the library, which everybody who has signed in may see
CLOSED = (MEDIA, SCANS, "/_stcore/upload_file/", "/_stcore/metrics")
SIGN_OUT = "/auth/logout"  # of Streamlit
PERSON = "sightline.person"  # in the scope of a request: who sent it
REMEMBERED = (
    50_000  # files offered, of all users; the oldest are forgotten, and a redraw offers anew
)


def claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What the provider said of whoever sends these cookies; nothing if they are not signed so."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    def one(name: str) -> bytes | None:
        value = cookies.get(name)
        secret = get_cookie_secret()
        return decode_signed_value(secret, name, value) if value and secret else None

    try:
        found = json.loads(get_cookie_with_chunks(one, USER_COOKIE_NAME) or b"{}")
    except (ValueError, UnicodeError):  # chunks that do not fit together
        return {}
    return found if isinstance(found, dict) else {}


def person(scope: Mapping[str, Any]) -> login.Person:
    """Return the person who sends a request, or a `Person` without a name if the record of ended
    sign-ins cannot be read."""
    if PERSON in scope:
        return scope[PERSON]  # type: ignore[no-any-return]
    lines = [value for name, value in scope["headers"] if name == b"cookie"]
    cookies = cookie_parser("; ".join(line.decode("latin-1") for line in lines))
    try:
        return login.admitted(claims(cookies), datetime.now(UTC))
    except (SettingError, StoreError) as error:
        log.error("nobody can be let in: %s", error)
        return login.Person()


def sender(scope: Mapping[str, Any]) -> str:
    """The owner that a request comes from; "" if it is nobody's."""
    return person(scope).owner


class Senders:
    """Finds out once for each request who sends it, in a thread, as the record is in a database."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket") and login.setup().on:
            scope[PERSON] = await asyncio.to_thread(person, scope)
        await self.app(scope, receive, send)


def offered(message: bytes) -> str:
    """The address of the file that a message to a page offers for download, if it does.

    Only the fields that hold such addresses count: a page also repeats what its visitor typed.
    """
    if MEDIA.encode() not in message:
        return ""
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    told = ForwardMsg.FromString(message)
    return str(
        told.delta.new_element.download_button.url
        or told.backend_operation_response.deferred_file.url
    )


def file_id(path: str) -> str:
    """The file that an address means; the names of files have no dot."""
    return path.partition(MEDIA)[2].partition(".")[0]


class Gate:
    """Refuses, while there is a login, what does not belong to whoever asks for it."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._offered: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _closed(scope["path"]) and login.setup().on:
            owner = "" if login.setup().problem else sender(scope)
            if not owner:
                await refuse(send, 403, b"Sign in first")
                return
            if MEDIA in scope["path"] and (owner, file_id(scope["path"])) not in self._offered:
                await refuse(send, 404, b"File not found")  # as of a file that there is not
                return
        elif scope["type"] == "http" and _is(scope["path"], SIGN_OUT) and login.setup().on:
            if not await asyncio.to_thread(_end, scope):
                await refuse(send, 403, b"Sign out on a page of Sightline")
                return
        elif scope["type"] == "websocket" and login.setup().on:
            send = self._listening(sender(scope), send)
        await self.app(scope, receive, send)

    def _listening(self, owner: str, send: Any) -> Any:
        """Remembers for a page's owner what the page offers."""

        async def listening(message: Any) -> None:
            data = message.get("bytes")
            if owner and data and (address := offered(data)):
                self._remember(owner, file_id(address))
            await send(message)

        return listening

    def _remember(self, owner: str, file: str) -> None:
        self._offered[owner, file] = None
        self._offered.move_to_end((owner, file))
        while len(self._offered) > REMEMBERED:
            self._offered.popitem(last=False)


def _end(scope: Mapping[str, Any]) -> bool:
    """End the sign-in of a request that a page of this server has sent. Return whether the sign-in
    is over; that of a request from elsewhere stays as it is."""
    found = person(scope)
    if found.owner and _from_page(scope):
        try:
            login.end(found)
        except (SettingError, StoreError) as error:
            log.error("a sign-out could not be recorded: %s", error)
        return True
    return not found.owner


def _from_page(scope: Mapping[str, Any]) -> bool:
    """Return whether the browser says that a page of this server has sent a request.

    https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
    """
    sites = [value for name, value in scope["headers"] if name == b"sec-fetch-site"]
    return sites == [b"same-origin"]


def _closed(path: str) -> bool:
    return any(path.startswith(_at(part)) for part in CLOSED)


def _is(path: str, part: str) -> bool:
    return path.rstrip("/") == _at(part)


def _at(part: str) -> str:
    """A path of the server below the one that it is mounted at."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}{part}" if base else part


async def refuse(
    send: Any, status: int, words: bytes, *more: tuple[bytes, bytes], kind: str = "http.response"
) -> None:
    """Answers with plain words, and tells nothing else."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": f"{kind}.start", "status": status, "headers": [*headers, *more]})
    await send({"type": f"{kind}.body", "body": words})
