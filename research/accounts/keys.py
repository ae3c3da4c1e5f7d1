"""Keys that people have brought along: in the memory of the process, each for its owner alone.

One that somebody wants to be remembered on this machine is also in a file that only the owner of the
process can read. Nothing here is ever shown, and every key that arrives is kept out of messages and logs.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from research.core.errors import register_secrets
from research.core.records import fingerprint
from research.core.settings import ADDRESSES, KEYS
from research.storage.sqlite_files import write_private_file

log = logging.getLogger(__name__)

FILE_NAME = "keys.json"
LOCAL_OWNER = "local"  # who there is without a login


def may_set_key(name: str, owner: str) -> bool:
    """Whether somebody may bring this along. An address is where the server itself sends requests:
    where people sign in, whoever runs it decides on that."""
    return name in KEYS and (name not in ADDRESSES or owner == LOCAL_OWNER)


class KeyStore:
    """Who has brought which keys."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._session_keys: dict[str, dict[str, str]] = {}
        self._saved_keys: dict[str, dict[str, str]] = {}
        self._file_version: tuple[int, int] | None = None
        self._refused: dict[str, set[tuple[str, str]]] = {}
        self._lock = threading.Lock()
        self.on_change: Callable[[str], None] = lambda owner: None  # called with whose have changed

    def session_keys(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in memory alone."""
        with self._lock:
            return dict(self._session_keys.get(owner, {}))

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes these for all that an owner has in memory: they are those of another process."""
        register_secrets(keys.values())
        with self._lock:
            self._session_keys[owner] = dict(keys)

    def get_keys(self, owner: str) -> dict[str, str]:
        """The keys of an owner, by name."""
        with self._lock:
            self._read_file()
            found = {**self._saved_keys.get(owner, {}), **self._session_keys.get(owner, {})}
        return {name: value for name, value in found.items() if may_set_key(name, owner)}

    def key_locations(self, owner: str) -> dict[str, str]:
        """Where each key of an owner is: `session` or `machine`."""
        with self._lock:
            self._read_file()
            kept = dict.fromkeys(self._saved_keys.get(owner, {}), "machine")
            return kept | dict.fromkeys(self._session_keys.get(owner, {}), "session")

    def record_test(self, owner: str, name: str, value: str, *, is_refused: bool) -> None:
        """Remember, as long as the process lives, whether a service refused this key in a test."""
        mark = (name, fingerprint(value, digits=32))
        with self._lock:
            marks = self._refused.setdefault(owner, set())
            marks.add(mark) if is_refused else marks.discard(mark)

    def is_refused(self, owner: str, name: str, value: str) -> bool:
        """Tell whether the last test of this key of an owner ended in a refusal."""
        with self._lock:
            return (name, fingerprint(value, digits=32)) in self._refused.get(owner, set())

    def add_keys(self, owner: str, keys: Mapping[str, str], *, remember: bool) -> None:
        """Takes keys in, in the place of those of the same names.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        register_secrets(keys.values())
        with self._lock:
            self._read_file()
            mine = self._saved_keys.get(owner, {})
            rest = {name: value for name, value in mine.items() if name not in keys}
            self._save_to_file(owner, {**rest, **keys} if remember else rest)
            session = self._session_keys.setdefault(owner, {})
            for name, value in keys.items():
                session.pop(name, None)
                if not remember:
                    session[name] = value
        self.on_change(owner)

    def delete_key(self, owner: str, name: str) -> None:
        """Forgets a key, here and in the file.

        Raises:
            OSError: the file cannot be written; there the key still is.
        """
        with self._lock:
            gone = self._session_keys.get(owner, {}).pop(name, None)
        if gone is not None:
            self.on_change(owner)
        with self._lock:
            self._read_file()
            mine = self._saved_keys.get(owner, {})
            self._save_to_file(owner, {known: value for known, value in mine.items() if known != name})

    # The file

    def _read_file(self) -> None:
        """What the file holds now; another process may have changed it."""
        try:
            told = self._path.stat()
        except OSError:
            self._saved_keys, self._file_version = {}, None
            return
        if (told.st_mtime_ns, told.st_ino) == self._file_version:
            return
        try:
            self._path.chmod(0o600)
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            log.warning("the remembered keys cannot be read: %s", type(error).__name__)
            found = {}
        self._saved_keys = {owner: _only_texts(keys) for owner, keys in _as_dict(found).items()}
        self._file_version = told.st_mtime_ns, told.st_ino
        for keys in self._saved_keys.values():
            register_secrets(keys.values())

    def _save_to_file(self, owner: str, keys: dict[str, str]) -> None:
        """Puts the keys of an owner into the file: the whole of it, or nothing."""
        if keys == self._saved_keys.get(owner, {}):
            return
        kept = {known: values for known, values in self._saved_keys.items() if known != owner}
        if keys:
            kept[owner] = keys
        if kept:
            write_private_file(self._path, json.dumps(kept, indent=1))
        else:
            self._path.unlink(missing_ok=True)
        self._saved_keys, self._file_version = kept, None


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _only_texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in _as_dict(value).items() if isinstance(text, str)}
