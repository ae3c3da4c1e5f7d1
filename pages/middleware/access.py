"""Access control for the server's files and for sign-out, active only with a login.

Streamlit serves a file to everybody who knows its address. Here a signed-in user gets only the
files that their own pages have offered for download; without a sign-in, files can be neither read
nor uploaded. Without a login everything stays open, because the server then listens on this machine
only.

Streamlit has no public interface for the sender of a request; its private reader of the signed
cookie is used. If a later version drops that reader, requests fail.

Streamlit signs out by a GET, which any site can make a browser send. Here it passes only if the
sign-in is over already, or if the browser reports that a page of this server sends it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse

from pages.shared import login
from pages.shared.paths import base_path
from research import SettingError, StoreError

log = logging.getLogger(__name__)

MEDIA_PATH = "/media/"
PAGE_PICTURES_PATH = "/page-pictures/"  # of the library, which every signed-in user may see
PROTECTED_PATHS = (MEDIA_PATH, PAGE_PICTURES_PATH, "/_stcore/upload_file/", "/_stcore/metrics")
SIGN_OUT_PATH = "/auth/logout"  # of Streamlit
VISITOR_SCOPE_KEY = "sightline.person"  # in the scope of a request: its Visitor
MAX_OFFERED_FILES = 50_000  # of all users; the oldest are dropped, and a redraw offers them again


def read_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the identity provider's claims from signed cookies, or {} without valid ones."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    def read_cookie(name: str) -> bytes | None:
        value = cookies.get(name)
        secret = get_cookie_secret()
        return decode_signed_value(secret, name, value) if value and secret else None

    try:
        claims = json.loads(get_cookie_with_chunks(read_cookie, USER_COOKIE_NAME) or b"{}")
    except (ValueError, UnicodeError):  # incomplete chunks
        return {}
    return claims if isinstance(claims, dict) else {}


def request_visitor(scope: Mapping[str, Any]) -> login.Visitor:
    """Return the visitor who sent a request; an empty one if the record of ended sign-ins cannot be read."""
    if VISITOR_SCOPE_KEY in scope:
        return scope[VISITOR_SCOPE_KEY]  # type: ignore[no-any-return]
    try:
        return login.admit_visitor(read_claims(HTTPConnection(scope).cookies), datetime.now(UTC))
    except (SettingError, StoreError) as error:
        log.error("nobody can be let in: %s", error)
        return login.Visitor()


def request_owner(scope: Mapping[str, Any]) -> str:
    """Return the owner id of the visitor who sent a request, or "" without a valid sign-in."""
    return request_visitor(scope).owner


class VisitorMiddleware:
    """Identifies the visitor once per request. A thread does so, because it reads a database."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket") and login.read_config().is_required:
            scope[VISITOR_SCOPE_KEY] = await asyncio.to_thread(request_visitor, scope)
        await self.app(scope, receive, send)


def offered_file_url(message: bytes) -> str:
    """Return the address of the file that a message to a page offers for download, or "".

    Only the two address fields are read: other fields may repeat text that the visitor typed.
    """
    if MEDIA_PATH.encode() not in message:
        return ""
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    forward = ForwardMsg.FromString(message)
    return str(forward.delta.new_element.download_button.url or forward.backend_operation_response.deferred_file.url)


def file_id(path: str) -> str:
    """Return the file id within a media address. An id contains no dot."""
    return path.partition(MEDIA_PATH)[2].partition(".")[0]


class AccessMiddleware:
    """With a login, refuses files and sign-outs that do not belong to the sender."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._offered_files: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _is_protected(scope["path"]) and login.read_config().is_required:
            owner = "" if login.read_config().problem else request_owner(scope)
            if not owner:
                await refusal(403, "Sign in first")(scope, receive, send)
                return
            if MEDIA_PATH in scope["path"] and (owner, file_id(scope["path"])) not in self._offered_files:
                await refusal(404, "File not found")(scope, receive, send)  # as for a missing file
                return
        elif (
            scope["type"] == "http"
            and scope["path"].rstrip("/") == f"{base_path()}{SIGN_OUT_PATH}"
            and login.read_config().is_required
        ):
            if not await asyncio.to_thread(_end_sign_in, scope):
                await refusal(403, "Sign out on a page of Sightline")(scope, receive, send)
                return
        elif scope["type"] == "websocket" and login.read_config().is_required:
            send = self._record_offers(request_owner(scope), send)
        await self.app(scope, receive, send)

    def _record_offers(self, owner: str, send: Any) -> Any:
        """Wrap `send` so that downloads offered to a page are recorded for its owner."""

        async def send_and_record(message: Any) -> None:
            data = message.get("bytes")
            if owner and data and (url := offered_file_url(data)):
                self._add_offer(owner, file_id(url))
            await send(message)

        return send_and_record

    def _add_offer(self, owner: str, file: str) -> None:
        self._offered_files[owner, file] = None
        self._offered_files.move_to_end((owner, file))
        while len(self._offered_files) > MAX_OFFERED_FILES:
            self._offered_files.popitem(last=False)


def _end_sign_in(scope: Mapping[str, Any]) -> bool:
    """End the sign-in of a request if a page of this server has sent it.

    Return True if the sign-in is over, False if the request comes from elsewhere.
    """
    visitor = request_visitor(scope)
    if visitor.owner and _is_same_origin(scope):
        try:
            login.end_sign_in(visitor)
        except (SettingError, StoreError) as error:
            log.error("a sign-out could not be recorded: %s", error)
        return True
    return not visitor.owner


def _is_same_origin(scope: Mapping[str, Any]) -> bool:
    """Return True if the browser reports that a page of this server has sent the request.

    https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
    """
    return Headers(scope=scope).getlist("sec-fetch-site") == ["same-origin"]


def _is_protected(path: str) -> bool:
    return any(path.startswith(f"{base_path()}{part}") for part in PROTECTED_PATHS)


def refusal(status: int, reason: str, **headers: str) -> PlainTextResponse:
    """Return the response to a refused request: a status and one sentence, which nobody may store."""
    return PlainTextResponse(reason, status, {"cache-control": "no-store", **headers})
