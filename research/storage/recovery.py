"""Recovery from a damaged file: it is renamed with a date, so that a new one can be created.

It is never deleted. Intact files and files of other programs stay in place.
"""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from research.storage.sqlite_files import JOURNAL_SUFFIXES, restrict_access


def is_damaged(path: Path) -> bool:
    """Return whether a file is a damaged database or none at all. It is only read."""
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return bool(connection.execute("pragma quick_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        return name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))


def set_aside_damaged_file(path: Path) -> Path:
    """Rename a damaged file and its journals with the current time, and return the new path.

    Raises:
        ValueError: the file is not damaged.
        OSError: it cannot be renamed.
    """
    if not path.is_file() or not is_damaged(path):
        raise ValueError(f"{path} is not damaged; it was left as it is.")
    day = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    for n in itertools.count(1):
        name = f"{path.stem}.damaged-{day}{f'-{n}' if n > 1 else ''}{path.suffix}"
        target = path.with_name(name)
        if not target.exists():
            break
    restrict_access(path)
    path.rename(target)
    for ending in JOURNAL_SUFFIXES:  # journals belong to this file and would corrupt a new one of the same name
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(target.with_name(target.name + ending))
    return target
