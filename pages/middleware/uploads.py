"""How much a browser may leave on the server.

Streamlit holds the size of one file to `server.maxUploadSize` and keeps what is uploaded in memory
until its page is closed; it has no limit for all of them together.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import streamlit as st

from pages.middleware.gate import refuse
from pages.middleware.pace import UPLOAD, clients

FILES, BYTES = 5_000, 400_000_000  # of one page
EACH_FILES, EACH_BYTES = 10_000, 800_000_000  # of one browser or person
SESSIONS = 5_000  # that are remembered


class Load(NamedTuple):
    files: int = 0
    size: int = 0

    def plus(self, other: Load) -> Load:
        return Load(self.files + other.files, self.size + other.size)

    def exceeds(self, files: int, size: int) -> bool:
        return self.files > files or self.size > size


def held(session: str) -> Load:
    """What a page has left on the server so far."""
    from streamlit.runtime import Runtime, exists

    if not exists():
        return Load()
    storage: Any = Runtime.instance().uploaded_file_mgr
    kept = list(storage.file_storage.get(session, {}).values())
    return Load(len(kept), sum(len(file.data) for file in kept))


class Uploads:
    """Answers 413 to a file that would be too much of all that a page or a browser has left."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._pages: OrderedDict[str, str] = OrderedDict()  # whose each page is
        self._coming: dict[str, Load] = {}  # on its way to a page

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "PUT"
        if not wanted or UPLOAD not in scope["path"]:
            await self.app(scope, receive, send)
            return
        page, client = scope["path"].partition(UPLOAD)[2].partition("/")[0], clients(scope)[0][0]
        new = Load(1, announced(scope))
        self._pages[page] = client
        self._pages.move_to_end(page)
        while len(self._pages) > SESSIONS:
            self._pages.popitem(last=False)
        if self._too_much(page, client, new):
            await refuse(send, 413, b"Too many files")
            return
        self._coming[page] = self._coming.get(page, Load()).plus(new)
        try:
            await self.app(scope, receive, send)
        finally:
            left = self._coming.pop(page).plus(Load(-1, -new.size))
            if left.files:
                self._coming[page] = left

    def _too_much(self, page: str, client: str, new: Load) -> bool:
        if self._load(page).plus(new).exceeds(FILES, BYTES):
            return True
        total = new
        for other, whose in self._pages.items():
            if whose == client:
                total = total.plus(self._load(other))
        return total.exceeds(EACH_FILES, EACH_BYTES)

    def _load(self, page: str) -> Load:
        return held(page).plus(self._coming.get(page, Load()))


def announced(scope: Any) -> int:
    """How many bytes a request says that it brings; the most that are possible if it does not say."""
    most = int(st.get_option("server.maxUploadSize")) * 1024 * 1024
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return min(int(value), most)
    return most
