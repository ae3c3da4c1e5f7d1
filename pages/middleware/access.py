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

MEDIA_PATH = "/media/"
SCANS_PATH = "/page-pictures/"  # of the library, which everybody who has signed in may see
PROTECTED_PATHS = (MEDIA_PATH, SCANS_PATH, "/_stcore/upload_file/", "/_stcore/metrics")
SIGN_OUT_PATH = "/auth/logout"  # of Streamlit
VISITOR_SCOPE_KEY = "sightline.person"  # in the scope of a request: who sent it
MAX_OFFERED_FILES = 50_000  # files offered, of all users; the oldest are forgotten, and a redraw offers anew


def read_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
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


def request_visitor(scope: Mapping[str, Any]) -> login.Visitor:
    """Return the person who sends a request, or a `Person` without a name if the record of ended
    sign-ins cannot be read."""
    if VISITOR_SCOPE_KEY in scope:
        return scope[VISITOR_SCOPE_KEY]  # type: ignore[no-any-return]
    lines = [value for name, value in scope["headers"] if name == b"cookie"]
    cookies = cookie_parser("; ".join(line.decode("latin-1") for line in lines))
    try:
        return login.admit_visitor(read_claims(cookies), datetime.now(UTC))
    except (SettingError, StoreError) as error:
        log.error("nobody can be let in: %s", error)
        return login.Visitor()


def request_owner(scope: Mapping[str, Any]) -> str:
    """The owner that a request comes from; "" if it is nobody's."""
    return request_visitor(scope).owner


class VisitorMiddleware:
    """Finds out once for each request who sends it, in a thread, as the record is in a database."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket") and login.read_config().is_required:
            scope[VISITOR_SCOPE_KEY] = await asyncio.to_thread(request_visitor, scope)
        await self.app(scope, receive, send)


def offered_file_url(message: bytes) -> str:
    """The address of the file that a message to a page offers for download, if it does.

    Only the fields that hold such addresses count: a page also repeats what its visitor typed.
    """
    if MEDIA_PATH.encode() not in message:
        return ""
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    told = ForwardMsg.FromString(message)
    return str(told.delta.new_element.download_button.url or told.backend_operation_response.deferred_file.url)


def file_id(path: str) -> str:
    """The file that an address means; the names of files have no dot."""
    return path.partition(MEDIA_PATH)[2].partition(".")[0]


class AccessMiddleware:
    """Refuses, while there is a login, what does not belong to whoever asks for it."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._offered_files: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _is_protected(scope["path"]) and login.read_config().is_required:
            owner = "" if login.read_config().problem else request_owner(scope)
            if not owner:
                await send_refusal(send, 403, b"Sign in first")
                return
            if MEDIA_PATH in scope["path"] and (owner, file_id(scope["path"])) not in self._offered_files:
                await send_refusal(send, 404, b"File not found")  # as of a file that there is not
                return
        elif scope["type"] == "http" and _is_path(scope["path"], SIGN_OUT_PATH) and login.read_config().is_required:
            if not await asyncio.to_thread(_end_sign_in, scope):
                await send_refusal(send, 403, b"Sign out on a page of Sightline")
                return
        elif scope["type"] == "websocket" and login.read_config().is_required:
            send = self._record_offers(request_owner(scope), send)
        await self.app(scope, receive, send)

    def _record_offers(self, owner: str, send: Any) -> Any:
        """Remembers for a page's owner what the page offers."""

        async def listening(message: Any) -> None:
            data = message.get("bytes")
            if owner and data and (address := offered_file_url(data)):
                self._remember(owner, file_id(address))
            await send(message)

        return listening

    def _remember(self, owner: str, file: str) -> None:
        self._offered_files[owner, file] = None
        self._offered_files.move_to_end((owner, file))
        while len(self._offered_files) > MAX_OFFERED_FILES:
            self._offered_files.popitem(last=False)


def _end_sign_in(scope: Mapping[str, Any]) -> bool:
    """End the sign-in of a request that a page of this server has sent. Return whether the sign-in
    is over; that of a request from elsewhere stays as it is."""
    found = request_visitor(scope)
    if found.owner and _is_same_origin(scope):
        try:
            login.end_sign_in(found)
        except (SettingError, StoreError) as error:
            log.error("a sign-out could not be recorded: %s", error)
        return True
    return not found.owner


def _is_same_origin(scope: Mapping[str, Any]) -> bool:
    """Return whether the browser says that a page of this server has sent a request.

    https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
    """
    sites = [value for name, value in scope["headers"] if name == b"sec-fetch-site"]
    return sites == [b"same-origin"]


def _is_protected(path: str) -> bool:
    return any(path.startswith(_mount_path(part)) for part in PROTECTED_PATHS)


def _is_path(path: str, server_path: str) -> bool:
    return path.rstrip("/") == _mount_path(server_path)


def _mount_path(server_path: str) -> str:
    """A path of the server below the one that it is mounted at."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}{server_path}" if base else server_path


async def send_refusal(
    send: Any, status: int, body: bytes, *extra_headers: tuple[bytes, bytes], message_type: str = "http.response"
) -> None:
    """Answers with plain words, and tells nothing else."""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": f"{message_type}.start", "status": status, "headers": [*headers, *extra_headers]})
    await send({"type": f"{message_type}.body", "body": body})
