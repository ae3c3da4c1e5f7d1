"""Files that are too large for the memory of the server: written once, sent as they lie, for an hour.

Streamlit keeps what it offers for download in memory. These lie in a folder of this process alone, and
are sent to whoever knows their address; while there is a login, only to the person they were made for.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from pages.middleware.gate import sender
from pages.shared import login

PATH = "/rows/"
LASTS = 3_600.0  # seconds
MOST = 20  # files, of all users; the oldest are deleted first
Made = TypeVar("Made")


class File(NamedTuple):
    """A file that can be fetched under a name."""

    path: Path
    name: str
    owner: str
    until: float


class Exports:
    """The files of this process."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, File] = OrderedDict()
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def make(self, write: Callable[[Path], Made], name: str, owner: str) -> tuple[str, Made]:
        """Has a file written; returns where it can be fetched, "" if there is none, and what the writing
        came to."""
        key = secrets.token_urlsafe(24)
        path = self._home() / f"{key}{Path(name).suffix}"
        made = write(path)
        if not path.is_file():
            return "", made
        with self._lock:
            self._files[key] = File(path, name, owner, time.monotonic() + LASTS)
        self._tidy()
        return f"{PATH}{key}", made

    def get(self, key: str) -> File | None:
        """A file that is still there."""
        self._tidy()
        return self._files.get(key)

    def forget(self, owner: str) -> None:
        """Deletes an owner's files."""
        self._drop([key for key, file in list(self._files.items()) if file.owner == owner])

    def _home(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="sightline-rows-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder

    def _tidy(self) -> None:
        now = time.monotonic()
        known = list(self._files.items())
        old = [key for key, file in known if file.until < now]
        self._drop([*old, *(key for key, _ in known[: max(0, len(known) - MOST)])])

    def _drop(self, keys: list[str]) -> None:
        for key in keys:
            with self._lock:
                file = self._files.pop(key, None)
            if file:
                file.path.unlink(missing_ok=True)


EXPORTS = Exports()


async def send(request: Request) -> Response:
    """Answers the request for a file."""
    file = EXPORTS.get(request.path_params["key"])
    if file is None or (login.setup().on and sender(request.scope) != file.owner):
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(file.path, filename=file.name)
