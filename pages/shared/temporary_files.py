"""Downloads too large for the memory of the server: written to disk once, served for an hour.

Streamlit keeps its own downloads in memory. These files lie in a temporary folder of this process
and are sent to anybody who knows their URL; with a login, only to the owner of the file.
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
LIFETIME_SECONDS = 3_600.0
MAX_FILES = 20  # of all users together; the oldest are deleted first
Result = TypeVar("Result")


class TemporaryFile(NamedTuple):
    """A file for download under a name."""

    path: Path
    name: str
    owner: str
    expires_at: float  # by time.monotonic()


class TemporaryFiles:
    """The temporary files of this process."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, TemporaryFile] = OrderedDict()
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def create(self, write: Callable[[Path], Result], file_name: str, owner: str) -> tuple[str, Result]:
        """Create a file with `write`; return its URL and the result of `write`.

        The URL is empty if `write` created no file.
        """
        key = secrets.token_urlsafe(24)
        path = self._ensure_folder() / f"{key}{Path(file_name).suffix}"
        result = write(path)
        if not path.is_file():
            return "", result
        with self._lock:
            self._files[key] = TemporaryFile(path, file_name, owner, time.monotonic() + LIFETIME_SECONDS)
        self._delete_expired()
        return f"{URL_PREFIX}{key}", result

    def get(self, key: str) -> TemporaryFile | None:
        """Return a file that has not expired, else None."""
        self._delete_expired()
        return self._files.get(key)

    def delete_owned(self, owner: str) -> None:
        """Delete all files of an owner."""
        self._delete([key for key, file in list(self._files.items()) if file.owner == owner])

    def _ensure_folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="sightline-rows-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder

    def _delete_expired(self) -> None:
        now = time.monotonic()
        files = list(self._files.items())
        expired = [key for key, file in files if file.expires_at < now]
        self._delete([*expired, *(key for key, _ in files[: max(0, len(files) - MAX_FILES)])])

    def _delete(self, keys: list[str]) -> None:
        for key in keys:
            with self._lock:
                file = self._files.pop(key, None)
            if file:
                file.path.unlink(missing_ok=True)


TEMPORARY_FILES = TemporaryFiles()


async def send_file(request: Request) -> Response:
    """Respond to the request for a file; 404 for a missing file or another owner."""
    file = TEMPORARY_FILES.get(request.path_params["key"])
    if file is None or (login.read_config().is_required and request_owner(request.scope) != file.owner):
        return PlainTextResponse("There is no such file.", 404)
    return FileResponse(file.path, filename=file.name)
