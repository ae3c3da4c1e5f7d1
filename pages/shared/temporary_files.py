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

from pages.middleware.access import request_owner
from pages.shared import login

URL_PREFIX = "/rows/"
LIFETIME_SECONDS = 3_600.0  # seconds
MAX_FILES = 20  # files, of all users; the oldest are deleted first
Result = TypeVar("Result")


class TemporaryFile(NamedTuple):
    """A file that can be fetched under a name."""

    path: Path
    name: str
    owner: str
    expires_at: float


class TemporaryFiles:
    """The files of this process."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, TemporaryFile] = OrderedDict()
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def create(self, write: Callable[[Path], Result], file_name: str, owner: str) -> tuple[str, Result]:
        """Has a file written; returns where it can be fetched, "" if there is none, and what the writing
        came to."""
        key = secrets.token_urlsafe(24)
        path = self._ensure_folder() / f"{key}{Path(file_name).suffix}"
        made = write(path)
        if not path.is_file():
            return "", made
        with self._lock:
            self._files[key] = TemporaryFile(path, file_name, owner, time.monotonic() + LIFETIME_SECONDS)
        self._delete_expired()
        return f"{URL_PREFIX}{key}", made

    def get(self, key: str) -> TemporaryFile | None:
        """A file that is still there."""
        self._delete_expired()
        return self._files.get(key)

    def delete_owned(self, owner: str) -> None:
        """Deletes an owner's files."""
        self._delete([key for key, file in list(self._files.items()) if file.owner == owner])

    def _ensure_folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="sightline-rows-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder

    def _delete_expired(self) -> None:
        now = time.monotonic()
        known = list(self._files.items())
        old = [key for key, file in known if file.expires_at < now]
        self._delete([*old, *(key for key, _ in known[: max(0, len(known) - MAX_FILES)])])

    def _delete(self, keys: list[str]) -> None:
        for key in keys:
            with self._lock:
                file = self._files.pop(key, None)
            if file:
                file.path.unlink(missing_ok=True)


TEMPORARY_FILES = TemporaryFiles()


async def send_file(request: Request) -> Response:
    """Answers the request for a file."""
    file = TEMPORARY_FILES.get(request.path_params["key"])
    if file is None or (login.read_config().is_required and request_owner(request.scope) != file.owner):
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(file.path, filename=file.name)
