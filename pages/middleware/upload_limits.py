"""Limits for the total of uploaded files per page and per client.

Streamlit limits only the size of a single file (`server.maxUploadSize`), and keeps uploads in
memory until their page is closed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import streamlit as st
from starlette.datastructures import Headers

from pages.middleware.access import refuse
from pages.middleware.rate_limits import UPLOAD_PATH, request_clients

MAX_PAGE_FILES, MAX_PAGE_BYTES = 5_000, 400_000_000  # per page
MAX_CLIENT_FILES, MAX_CLIENT_BYTES = 10_000, 800_000_000  # per browser or signed-in owner
MAX_PAGES = 5_000  # remembered


class UploadTotal(NamedTuple):
    file_count: int = 0
    size_bytes: int = 0

    def add(self, other: UploadTotal) -> UploadTotal:
        return UploadTotal(self.file_count + other.file_count, self.size_bytes + other.size_bytes)

    def exceeds(self, max_files: int, max_bytes: int) -> bool:
        return self.file_count > max_files or self.size_bytes > max_bytes


def stored_uploads(page_id: str) -> UploadTotal:
    """Return the total of the files that a page has uploaded so far."""
    from streamlit.runtime import Runtime, exists

    if not exists():
        return UploadTotal()
    storage: Any = Runtime.instance().uploaded_file_mgr
    files = list(storage.file_storage.get(page_id, {}).values())
    return UploadTotal(len(files), sum(len(file.data) for file in files))


class UploadLimitMiddleware:
    """Answers 413 to an upload that would exceed the totals of its page or client."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._page_clients: OrderedDict[str, str] = OrderedDict()  # page id to client id
        self._pending: dict[str, UploadTotal] = {}  # uploads in progress, by page id

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_put = scope["type"] == "http" and scope["method"] == "PUT"
        if not is_put or UPLOAD_PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        page, client = scope["path"].partition(UPLOAD_PATH)[2].partition("/")[0], request_clients(scope)[0][0]
        new = UploadTotal(1, declared_size(scope))
        self._page_clients[page] = client
        self._page_clients.move_to_end(page)
        while len(self._page_clients) > MAX_PAGES:
            self._page_clients.popitem(last=False)
        if self._exceeds_limits(page, client, new):
            await refuse(413, "Too many files")(scope, receive, send)
            return
        self._pending[page] = self._pending.get(page, UploadTotal()).add(new)
        try:
            await self.app(scope, receive, send)
        finally:
            remaining = self._pending.pop(page).add(UploadTotal(-1, -new.size_bytes))
            if remaining.file_count:
                self._pending[page] = remaining

    def _exceeds_limits(self, page_id: str, client: str, new: UploadTotal) -> bool:
        if self._page_total(page_id).add(new).exceeds(MAX_PAGE_FILES, MAX_PAGE_BYTES):
            return True
        total = new
        for other_page, page_client in self._page_clients.items():
            if page_client == client:
                total = total.add(self._page_total(other_page))
        return total.exceeds(MAX_CLIENT_FILES, MAX_CLIENT_BYTES)

    def _page_total(self, page_id: str) -> UploadTotal:
        return stored_uploads(page_id).add(self._pending.get(page_id, UploadTotal()))


def declared_size(scope: Any) -> int:
    """Return the Content-Length of an upload in bytes, capped at the allowed maximum.

    Without the header, return the maximum.
    """
    limit = int(st.get_option("server.maxUploadSize")) * 1024 * 1024
    size = Headers(scope=scope).get("content-length", "")
    return min(int(size), limit) if size.isascii() and size.isdigit() else limit
