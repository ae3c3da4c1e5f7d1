"""SQLite files that several threads and processes share: opening, numbered migrations, clear errors.

Knows nothing of what is stored. Every file is in WAL mode with a busy time-out; each thread has a
connection of its own for as long as it lives. Folders and files are for the user of the process
alone, whatever its umask says.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import stat
import tempfile
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Literal, TypeVar

log = logging.getLogger(__name__)
_Day = TypeVar("_Day", bound=date)

BUSY_SECONDS = 30.0
PATIENCE = 1.0  # seconds that giving space back waits for those who write
MAGIC = b"SQLite format 3\0"
PIECE = 1_000  # pages that are given back at once: others may write in between
CHEAP = 64 * 2**20  # bytes that may be written anew so that a file from before can shrink
APPLICATION = 0x53474854  # "SGHT", in the header of every file of ours
FOREIGN = "the file belongs to another program"
JOURNALS = ("-wal", "-shm", "-journal")
OTHERS = stat.S_IRWXG | stat.S_IRWXO
FULL = (errno.ENOSPC, errno.EDQUOT)
ROOM = 2**16  # bytes that a file needs when it is opened: its index for all processes, and some
Trouble = Literal[
    "corrupt",
    "read-only",
    "full",
    "locked",
    "newer",
    "unusable",
    "driver",
    "unreachable",
    "refused",
    "standby",
    "server",
]  # the second line: of a database server

_WORDS: dict[Trouble, str] = {
    "corrupt": "is damaged or is not a Sightline file. It was left as it is. "
    "Restore a backup or move the file away, then start again",
    "read-only": "cannot be written. Make it writable or set SIGHTLINE_DATA_DIR to a folder that is",
    "full": "cannot grow because the disk is full. Free some space; nothing stored was lost",
    "locked": "is held by another program. Close that program or try again",
    "newer": "was written by a newer version of Sightline. Update Sightline",
    "unusable": "cannot be opened. Check SIGHTLINE_DATA_DIR",
    "driver": "needs drivers that are not installed. Install them: pip install "
    "'psycopg[binary]>=3.2' 'psycopg-pool>=3.2' 'langgraph-checkpoint-postgres>=3.2'",
    "unreachable": "cannot be reached. Start the server or correct STORE_URL",
    "refused": "does not accept the user, the password or the database. Correct STORE_URL",
    "standby": "can only be read. Set STORE_URL to a database that can be written",
    "server": "cannot be used. Check the server and STORE_URL",
}


def stored_time(kind: type[_Day], text: object) -> _Day | None:
    """Read a stored date or time. Return None where it is missing or spoilt."""
    try:
        return kind.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


class StoreError(RuntimeError):
    """A file of the data folder, or the database that is named instead of one, cannot be used.
    `trouble` says how, the message what to do."""

    def __init__(self, trouble: Trouble, path: Path | str, detail: str = "") -> None:
        self.trouble: Trouble = trouble
        self.path = path
        self.detail = detail
        super().__init__(f"{path} {_WORDS[trouble]}." + (f" ({detail})" if detail else ""))

    @property
    def damaged(self) -> Path | None:
        """The file of ours that is damaged, if that is the trouble; none of another program's."""
        broken = self.trouble == "corrupt" and self.detail != FOREIGN
        return self.path if broken and isinstance(self.path, Path) else None


def explained(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """The error of SQLite or of the file system as one of the known troubles."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if isinstance(error, OSError):
        if error.errno in FULL:
            return StoreError("full", path)
        refused = isinstance(error, PermissionError) or error.errno == errno.EROFS
        return StoreError("read-only" if refused else "unusable", path, error.strerror or "")
    if name.startswith("SQLITE_FULL") or "disk is full" in text:
        return StoreError("full", path)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreError("corrupt", path, text)
    if name.startswith("SQLITE_READONLY") or "readonly" in text:
        return StoreError("read-only", path)
    if name.startswith("SQLITE_CANTOPEN") and not os.access(path.parent, os.W_OK):
        return StoreError("read-only", path)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError("locked", path)
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")) and not _room(path.parent):
        return StoreError("full", path)
    return StoreError("unusable", path, text)


def _room(folder: Path) -> bool:
    """Whether a file can grow in a folder. SQLite says so of its own files only; where a journal or
    the index of one cannot be made for lack of room, it speaks of an error of the disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno not in FULL
    return True


def private_folder(folder: Path) -> None:
    """Makes a folder that nobody else can look into, or makes one that is there so.

    Raises:
        OSError: there can be none.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _shut(folder)


def private_file(path: Path) -> None:
    """Makes an empty file that nobody else can read, if there is none.

    Raises:
        OSError: there can be none.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def written(path: Path, text: str) -> None:
    """Puts a file in place that nobody else can read, not even while it is being written.

    Raises:
        OSError: it cannot be written; what was there still is.
    """
    passing = path.with_name(f".{uuid.uuid4().hex}.tmp")
    handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(path)
    except OSError:
        with suppress(OSError):
            passing.unlink()
        raise


def shut(path: Path) -> None:
    """Takes away what others may do with a file and with the journals beside it. SQLite gives those
    that it makes from now on the rights of the file."""
    for file in (path, *(path.with_name(path.name + ending) for ending in JOURNALS)):
        _shut(file)


def _shut(path: Path) -> None:
    """Not every file system knows who may do what: where it cannot be set, the log says so. A folder
    that is meant for everybody, such as /tmp, stays as it is."""
    try:
        now = path.stat().st_mode
        if now & OTHERS and not now & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(now) & ~OTHERS)
    except FileNotFoundError:
        pass  # a journal that is not there, or not any more
    except OSError as error:
        log.warning("others may be able to read %s: %s", path, error.strerror)


def reclaim(path: Path) -> None:
    """Gives the room of what was deleted back to the disk; what others write at the moment waits
    for the next time, as does a file that cannot be used.

    A file that was made before its room could be given back piece by piece is written anew once, if
    what it holds is little.
    """
    with suppress(sqlite3.Error), closing(_opened(path, PATIENCE)) as connection:
        if _number(connection, "auto_vacuum") == 0:
            pages = _number(connection, "page_count") - _number(connection, "freelist_count")
            if pages * _number(connection, "page_size") <= CHEAP:
                connection.execute("pragma auto_vacuum=incremental")
                connection.execute("vacuum")
        else:
            free = _number(connection, "freelist_count")
            while free:
                # A script, for a statement of this module's ends after the first page.
                connection.executescript(f"pragma incremental_vacuum({PIECE})")
                free, before = _number(connection, "freelist_count"), free
                if free >= before:  # another one deletes
                    break
        connection.execute("pragma wal_checkpoint(truncate)")


def _opened(path: Path, patience: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"pragma {name}").fetchone()[0])


class _Held:
    """A thread's hold on its connection, which is closed when the thread has ended."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        weakref.finalize(self, _released, connection, os.getpid())


_inherited: list[sqlite3.Connection] = []


def _released(connection: sqlite3.Connection, process: int) -> None:
    """Closes a connection, unless this is another process than the one that made it.

    A process that is being started is a copy of this one for a moment, in which all threads but one
    have ended. There SQLite must not be touched: it may wait for ever for a lock that was held when
    the copy was made.
    """
    if os.getpid() == process:
        connection.close()
    else:
        _inherited.append(connection)


def reclaimable(connection: sqlite3.Connection) -> None:
    """Lets a new file give room back later. To be called before anything is written in it; a file
    that holds something already is left as it is."""
    if _number(connection, "page_count") == 0:
        connection.execute("pragma auto_vacuum=incremental")


def _is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's do (https://www.sqlite.org/fileformat.html), or is empty or
    cannot be read, of which SQLite tells itself."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) in (b"", MAGIC)
    except OSError:
        return True


class Database:
    """One SQLite file. Connections are made per thread; writes go through `write()` one at a time."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Opens or creates the file and brings it up to date.

        Raises:
            StoreError: the folder or the file cannot be used.
        """
        self.path = path
        self._local = threading.local()
        self._lock = threading.RLock()
        self._open: weakref.WeakSet[_Held] = weakref.WeakSet()
        try:
            private_folder(path.parent)
        except OSError as error:
            raise explained(error, path.parent) from error
        try:
            private_file(path)
        except OSError as error:
            raise explained(error, path) from error
        if not _is_database(path):  # closing what is none would delete the journals beside it
            raise StoreError("corrupt", path, "file is not a database")
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()
            raise
        shut(path)  # not before: it may be another program's

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            reclaimable(connection)
            connection.execute("pragma journal_mode=wal")
            connection.execute("pragma synchronous=normal")
            connection.execute("pragma foreign_keys=on")
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The calling thread's connection."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = _Held(self._connect())
            with self._lock:
                self._open.add(held)
        return held.connection

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.write() as connection:
            version = connection.execute("pragma user_version").fetchone()[0]
            owner = connection.execute("pragma application_id").fetchone()[0]
            empty = not connection.execute("select 1 from sqlite_schema").fetchone()
            if owner != APPLICATION and not empty:
                raise StoreError("corrupt", self.path, FOREIGN)
            if empty:
                connection.execute(f"pragma application_id={APPLICATION}")
            if version > len(migrations):
                raise StoreError("newer", self.path)
            for number, script in enumerate(migrations[version:], version + 1):
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(f"pragma user_version={number}")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of the block or nothing. It survives the end of the process.

        Raises:
            StoreError: the file is damaged, read-only, locked or the disk is full.
        """
        with self._lock:
            try:
                connection = self.connection
                nested = connection.in_transaction
                if not nested:
                    connection.execute("begin immediate")
            except sqlite3.Error as error:
                raise explained(error, self.path) from error
            if nested:
                yield connection
                return
            try:
                yield connection
                connection.execute("commit")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("rollback")
                if isinstance(error, sqlite3.DatabaseError) and not isinstance(
                    error, sqlite3.IntegrityError | sqlite3.ProgrammingError
                ):
                    raise explained(error, self.path) from error
                raise

    def read(
        self, query: str, args: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[object, ...]]:
        """All rows of a query, from the calling thread's connection.

        Raises:
            StoreError: the file is damaged or locked.
        """
        try:
            return self.connection.execute(query, args).fetchall()
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def reclaim(self) -> None:
        """Gives the room of what was deleted back to the disk."""
        reclaim(self.path)

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            for held in tuple(self._open):
                held.connection.close()
            self._open.clear()
        self._local = threading.local()


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, trigger bodies kept whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
