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

from research.core.errors import conceal
from research.core.records import fingerprint
from research.core.settings import ADDRESSES, KEYS
from research.storage.files import written

log = logging.getLogger(__name__)

FILE = "keys.json"
LOCAL = "local"  # who there is without a login


def allowed(name: str, owner: str) -> bool:
    """Whether somebody may bring this along. An address is where the server itself sends requests:
    where people sign in, whoever runs it decides on that."""
    return name in KEYS and (name not in ADDRESSES or owner == LOCAL)


class Keys:
    """Who has brought which keys."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._session: dict[str, dict[str, str]] = {}
        self._kept: dict[str, dict[str, str]] = {}
        self._seen: tuple[int, int] | None = None
        self._refused: dict[str, set[tuple[str, str]]] = {}
        self._lock = threading.Lock()
        self.changed: Callable[[str], None] = lambda owner: None  # called with whose have changed

    def session(self, owner: str) -> dict[str, str]:
        """The keys of an owner that are in memory alone."""
        with self._lock:
            return dict(self._session.get(owner, {}))

    def hold(self, owner: str, keys: Mapping[str, str]) -> None:
        """Takes these for all that an owner has in memory: they are those of another process."""
        conceal(keys.values())
        with self._lock:
            self._session[owner] = dict(keys)

    def of(self, owner: str) -> dict[str, str]:
        """The keys of an owner, by name."""
        with self._lock:
            self._read()
            found = {**self._kept.get(owner, {}), **self._session.get(owner, {})}
        return {name: value for name, value in found.items() if allowed(name, owner)}

    def places(self, owner: str) -> dict[str, str]:
        """Where each key of an owner is: `session` or `machine`."""
        with self._lock:
            self._read()
            kept = dict.fromkeys(self._kept.get(owner, {}), "machine")
            return kept | dict.fromkeys(self._session.get(owner, {}), "session")

    def note_test(self, owner: str, name: str, value: str, *, refused: bool) -> None:
        """Remember, as long as the process lives, whether a service refused this key in a test."""
        mark = (name, fingerprint(value, size=32))
        with self._lock:
            marks = self._refused.setdefault(owner, set())
            marks.add(mark) if refused else marks.discard(mark)

    def is_refused(self, owner: str, name: str, value: str) -> bool:
        """Tell whether the last test of this key of an owner ended in a refusal."""
        with self._lock:
            return (name, fingerprint(value, size=32)) in self._refused.get(owner, set())

    def put(self, owner: str, keys: Mapping[str, str], *, remember: bool) -> None:
        """Takes keys in, in the place of those of the same names.

        Raises:
            OSError: the file cannot be written; nothing has changed.
        """
        conceal(keys.values())
        with self._lock:
            self._read()
            mine = self._kept.get(owner, {})
            rest = {name: value for name, value in mine.items() if name not in keys}
            self._keep(owner, {**rest, **keys} if remember else rest)
            session = self._session.setdefault(owner, {})
            for name, value in keys.items():
                session.pop(name, None)
                if not remember:
                    session[name] = value
        self.changed(owner)

    def forget(self, owner: str, name: str) -> None:
        """Forgets a key, here and in the file.

        Raises:
            OSError: the file cannot be written; there the key still is.
        """
        with self._lock:
            gone = self._session.get(owner, {}).pop(name, None)
        if gone is not None:
            self.changed(owner)
        with self._lock:
            self._read()
            mine = self._kept.get(owner, {})
            self._keep(owner, {known: value for known, value in mine.items() if known != name})

    # The file

    def _read(self) -> None:
        """What the file holds now; another process may have changed it."""
        try:
            told = self._path.stat()
        except OSError:
            self._kept, self._seen = {}, None
            return
        if (told.st_mtime_ns, told.st_ino) == self._seen:
            return
        try:
            self._path.chmod(0o600)
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            log.warning("the remembered keys cannot be read: %s", type(error).__name__)
            found = {}
        self._kept = {owner: _texts(keys) for owner, keys in _mapping(found).items()}
        self._seen = told.st_mtime_ns, told.st_ino
        for keys in self._kept.values():
            conceal(keys.values())

    def _keep(self, owner: str, keys: dict[str, str]) -> None:
        """Puts the keys of an owner into the file: the whole of it, or nothing."""
        if keys == self._kept.get(owner, {}):
            return
        kept = {known: values for known, values in self._kept.items() if known != owner}
        if keys:
            kept[owner] = keys
        if kept:
            written(self._path, json.dumps(kept, indent=1))
        else:
            self._path.unlink(missing_ok=True)
        self._kept, self._seen = kept, None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in _mapping(value).items() if isinstance(text, str)}
