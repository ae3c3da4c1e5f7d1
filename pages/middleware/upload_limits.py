"""Limits for the total of uploaded files per session and per client.

Streamlit limits only the size of a single file (`server.maxUploadSize`), and keeps uploads in
memory until their session ends.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import streamlit as st
from starlette.datastructures import Headers

from pages.middleware.access import refusal
from pages.middleware.rate_limits import UPLOAD_PATH, request_clients

MAX_SESSION_FILES, MAX_SESSION_BYTES = 5_000, 400_000_000  # per session, that is, per browser tab
MAX_CLIENT_FILES, MAX_CLIENT_BYTES = 10_000, 800_000_000  # per browser or signed-in owner
MAX_SESSIONS = 5_000  # remembered


class UploadTotal(NamedTuple):
    file_count: int = 0
    size_bytes: int = 0

    def add(self, other: UploadTotal) -> UploadTotal:
        return UploadTotal(self.file_count + other.file_count, self.size_bytes + other.size_bytes)

    def exceeds(self, max_files: int, max_bytes: int) -> bool:
        return self.file_count > max_files or self.size_bytes > max_bytes


def stored_uploads(session_id: str) -> UploadTotal:
    """Return the total of the files that a session has uploaded so far."""
    from streamlit.runtime import Runtime, exists

    if not exists():
        return UploadTotal()
    storage: Any = Runtime.instance().uploaded_file_mgr
    files = list(storage.file_storage.get(session_id, {}).values())
    return UploadTotal(len(files), sum(len(file.data) for file in files))


class UploadLimitMiddleware:
    """Answers 413 to an upload that would exceed the totals of its session or client."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._session_clients: OrderedDict[str, str] = OrderedDict()  # session id to client id
        self._pending: dict[str, UploadTotal] = {}  # uploads in progress, by session id

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_put = scope["type"] == "http" and scope["method"] == "PUT"
        if not is_put or UPLOAD_PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session, client = scope["path"].partition(UPLOAD_PATH)[2].partition("/")[0], request_clients(scope)[0][0]
        new = UploadTotal(1, declared_size(scope))
        self._session_clients[session] = client
        self._session_clients.move_to_end(session)
        while len(self._session_clients) > MAX_SESSIONS:
            self._session_clients.popitem(last=False)
        if self._exceeds_limits(session, client, new):
            await refusal(413, "Too many files")(scope, receive, send)
            return
        self._pending[session] = self._pending.get(session, UploadTotal()).add(new)
        try:
            await self.app(scope, receive, send)
        finally:
            remaining = self._pending.pop(session).add(UploadTotal(-1, -new.size_bytes))
            if remaining.file_count:
                self._pending[session] = remaining

    def _exceeds_limits(self, session_id: str, client: str, new: UploadTotal) -> bool:
        if self._session_total(session_id).add(new).exceeds(MAX_SESSION_FILES, MAX_SESSION_BYTES):
            return True
        total = new
        for other_session, session_client in self._session_clients.items():
            if session_client == client:
                total = total.add(self._session_total(other_session))
        return total.exceeds(MAX_CLIENT_FILES, MAX_CLIENT_BYTES)

    def _session_total(self, session_id: str) -> UploadTotal:
        return stored_uploads(session_id).add(self._pending.get(session_id, UploadTotal()))


def declared_size(scope: Any) -> int:
    """Return the Content-Length of an upload in bytes, capped at the allowed maximum.

    Without the header, return the maximum.
    """
    limit = int(st.get_option("server.maxUploadSize")) * 1024 * 1024
    size = Headers(scope=scope).get("content-length", "")
    return min(int(size), limit) if size.isascii() and size.isdigit() else limit
