"""API keys of owners, in the memory of the process.

Keys to be remembered on this machine are also in a file that only the user of the process can read.
Keys are never displayed, and every one is registered as a secret, so that messages and logs mask
it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from research.core.errors import register_secrets
from research.core.json_values import as_object
from research.core.records import fingerprint
from research.core.settings import ADDRESS_SETTINGS, CONNECTION_SETTINGS
from research.storage.sqlite_files import write_private_file

log = logging.getLogger(__name__)

FILE_NAME = "keys.json"
LOCAL_OWNER = "local"  # the owner without a login


def may_set_key(name: str, owner: str) -> bool:
    """Return whether an owner may set this key or address.

    The server itself sends requests to an address, so with logins only its operator sets addresses.
    """
    return name in CONNECTION_SETTINGS and (name not in ADDRESS_SETTINGS or owner == LOCAL_OWNER)


class KeyStore:
    """The keys of all owners."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._session_keys: dict[str, dict[str, str]] = {}
        self._saved_keys: dict[str, dict[str, str]] = {}
        self._file_version: tuple[int, int] | None = None
        self._refused: dict[str, set[tuple[str, str]]] = {}
        self._lock = threading.Lock()
        self.on_change: Callable[[str], None] = lambda owner: None  # called with the owner whose keys have changed

    def session_keys(self, owner: str) -> dict[str, str]:
        """Return the keys of an owner that are only in memory."""
        with self._lock:
            return dict(self._session_keys.get(owner, {}))

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Replace all session keys of an owner by those of another process."""
        register_secrets(keys.values())
        with self._lock:
            self._session_keys[owner] = dict(keys)

    def get_keys(self, owner: str) -> dict[str, str]:
        """Return the keys of an owner, by name."""
        with self._lock:
            self._read_file()
            keys = {**self._saved_keys.get(owner, {}), **self._session_keys.get(owner, {})}
        return {name: value for name, value in keys.items() if may_set_key(name, owner)}

    def key_locations(self, owner: str) -> dict[str, str]:
        """Return the location of each key of an owner: `session` or `machine`."""
        with self._lock:
            self._read_file()
            saved = dict.fromkeys(self._saved_keys.get(owner, {}), "machine")
            return saved | dict.fromkeys(self._session_keys.get(owner, {}), "session")

    def record_test(self, owner: str, name: str, value: str, *, is_refused: bool) -> None:
        """Remember, until the process ends, whether a service refused this key in a test."""
        digest = (name, fingerprint(value, digits=32))
        with self._lock:
            refused = self._refused.setdefault(owner, set())
            refused.add(digest) if is_refused else refused.discard(digest)

    def is_refused(self, owner: str, name: str, value: str) -> bool:
        """Return whether the last test of this key was refused."""
        with self._lock:
            return (name, fingerprint(value, digits=32)) in self._refused.get(owner, set())

    def add_keys(self, owner: str, keys: Mapping[str, str], *, remember: bool) -> None:
        """Add keys, replacing those of the same names.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        register_secrets(keys.values())
        with self._lock:
            self._read_file()
            saved = self._saved_keys.get(owner, {})
            other_keys = {name: value for name, value in saved.items() if name not in keys}
            self._save_to_file(owner, {**other_keys, **keys} if remember else other_keys)
            session = self._session_keys.setdefault(owner, {})
            for name, value in keys.items():
                session.pop(name, None)
                if not remember:
                    session[name] = value
        self.on_change(owner)

    def delete_key(self, owner: str, name: str) -> None:
        """Delete a key from memory and from the file.

        Raises:
            OSError: the file cannot be written and still holds the key.
        """
        with self._lock:
            removed = self._session_keys.get(owner, {}).pop(name, None)
        if removed is not None:
            self.on_change(owner)
        with self._lock:
            self._read_file()
            saved = self._saved_keys.get(owner, {})
            self._save_to_file(owner, {other_name: value for other_name, value in saved.items() if other_name != name})

    # File

    def _read_file(self) -> None:
        """Read the file again if another process has changed it."""
        try:
            file_status = self._path.stat()
        except OSError:
            self._saved_keys, self._file_version = {}, None
            return
        if (file_status.st_mtime_ns, file_status.st_ino) == self._file_version:
            return
        try:
            self._path.chmod(0o600)
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            log.warning("the remembered keys cannot be read: %s", type(error).__name__)
            content = {}
        self._saved_keys = {owner: _only_texts(keys) for owner, keys in as_object(content).items()}
        self._file_version = file_status.st_mtime_ns, file_status.st_ino
        for keys in self._saved_keys.values():
            register_secrets(keys.values())

    def _save_to_file(self, owner: str, keys: dict[str, str]) -> None:
        """Replace the keys of an owner in the file atomically."""
        if keys == self._saved_keys.get(owner, {}):
            return
        all_keys = {
            other_owner: other_keys for other_owner, other_keys in self._saved_keys.items() if other_owner != owner
        }
        if keys:
            all_keys[owner] = keys
        if all_keys:
            write_private_file(self._path, json.dumps(all_keys, indent=1))
        else:
            self._path.unlink(missing_ok=True)
        self._saved_keys, self._file_version = all_keys, None


def _only_texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in as_object(value).items() if isinstance(text, str)}
