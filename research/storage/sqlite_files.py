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
_Date = TypeVar("_Date", bound=date)

BUSY_TIMEOUT_SECONDS = 30.0
RECLAIM_TIMEOUT_SECONDS = 1.0  # seconds that giving space back waits for those who write
SQLITE_HEADER = b"SQLite format 3\0"
RECLAIM_PAGES = 1_000  # pages that are given back at once: others may write in between
MAX_REWRITE_BYTES = 64 * 2**20  # bytes that may be written anew so that a file from before can shrink
APPLICATION_ID = 0x53474854  # "SGHT", in the header of every file of ours
FOREIGN_FILE_DETAIL = "the file belongs to another program"
JOURNAL_SUFFIXES = ("-wal", "-shm", "-journal")
OTHER_USERS_MODE = stat.S_IRWXG | stat.S_IRWXO
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
MIN_FREE_BYTES = 2**16  # bytes that a file needs when it is opened: its index for all processes, and some
StoreProblem = Literal[
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

_MESSAGES: dict[StoreProblem, str] = {
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


def parse_stored_time(date_type: type[_Date], text: object) -> _Date | None:
    """Read a stored date or time. Return None where it is missing or spoilt."""
    try:
        return date_type.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


class StoreError(RuntimeError):
    """A file of the data folder, or the database that is named instead of one, cannot be used.
    `trouble` says how, the message what to do."""

    def __init__(self, problem: StoreProblem, path: Path | str, detail: str = "") -> None:
        self.problem: StoreProblem = problem
        self.path = path
        self.detail = detail
        super().__init__(f"{path} {_MESSAGES[problem]}." + (f" ({detail})" if detail else ""))

    @property
    def damaged_file(self) -> Path | None:
        """The file of ours that is damaged, if that is the trouble; none of another program's."""
        broken = self.problem == "corrupt" and self.detail != FOREIGN_FILE_DETAIL
        return self.path if broken and isinstance(self.path, Path) else None


def to_store_error(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """The error of SQLite or of the file system as one of the known troubles."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if isinstance(error, OSError):
        if error.errno in DISK_FULL_ERRNOS:
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
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")) and not _has_free_space(path.parent):
        return StoreError("full", path)
    return StoreError("unusable", path, text)


def _has_free_space(folder: Path) -> bool:
    """Whether a file can grow in a folder. SQLite says so of its own files only; where a journal or
    the index of one cannot be made for lack of room, it speaks of an error of the disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(MIN_FREE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno not in DISK_FULL_ERRNOS
    return True


def make_private_folder(folder: Path) -> None:
    """Makes a folder that nobody else can look into, or makes one that is there so.

    Raises:
        OSError: there can be none.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _restrict_mode(folder)


def make_private_file(path: Path) -> None:
    """Makes an empty file that nobody else can read, if there is none.

    Raises:
        OSError: there can be none.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_private_file(path: Path, text: str) -> None:
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


def restrict_access(path: Path) -> None:
    """Takes away what others may do with a file and with the journals beside it. SQLite gives those
    that it makes from now on the rights of the file."""
    for file in (path, *(path.with_name(path.name + ending) for ending in JOURNAL_SUFFIXES)):
        _restrict_mode(file)


def _restrict_mode(path: Path) -> None:
    """Not every file system knows who may do what: where it cannot be set, the log says so. A folder
    that is meant for everybody, such as /tmp, stays as it is."""
    try:
        now = path.stat().st_mode
        if now & OTHER_USERS_MODE and not now & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(now) & ~OTHER_USERS_MODE)
    except FileNotFoundError:
        pass  # a journal that is not there, or not any more
    except OSError as error:
        log.warning("others may be able to read %s: %s", path, error.strerror)


def reclaim_space(path: Path) -> None:
    """Gives the room of what was deleted back to the disk; what others write at the moment waits
    for the next time, as does a file that cannot be used.

    A file that was made before its room could be given back piece by piece is written anew once, if
    what it holds is little.
    """
    with suppress(sqlite3.Error), closing(_connect(path, RECLAIM_TIMEOUT_SECONDS)) as connection:
        if _read_pragma(connection, "auto_vacuum") == 0:
            pages = _read_pragma(connection, "page_count") - _read_pragma(connection, "freelist_count")
            if pages * _read_pragma(connection, "page_size") <= MAX_REWRITE_BYTES:
                connection.execute("pragma auto_vacuum=incremental")
                connection.execute("vacuum")
        else:
            free = _read_pragma(connection, "freelist_count")
            while free:
                # A script, for a statement of this module's ends after the first page.
                connection.executescript(f"pragma incremental_vacuum({RECLAIM_PAGES})")
                free, before = _read_pragma(connection, "freelist_count"), free
                if free >= before:  # another one deletes
                    break
        connection.execute("pragma wal_checkpoint(truncate)")


def _connect(path: Path, timeout_seconds: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=timeout_seconds, isolation_level=None)


def _read_pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"pragma {name}").fetchone()[0])


class _ThreadConnection:
    """A thread's hold on its connection, which is closed when the thread has ended."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        weakref.finalize(self, _close_connection, connection, os.getpid())


_inherited_connections: list[sqlite3.Connection] = []


def _close_connection(connection: sqlite3.Connection, process_id: int) -> None:
    """Closes a connection, unless this is another process than the one that made it.

    A process that is being started is a copy of this one for a moment, in which all threads but one
    have ended. There SQLite must not be touched: it may wait for ever for a lock that was held when
    the copy was made.
    """
    if os.getpid() == process_id:
        connection.close()
    else:
        _inherited_connections.append(connection)


def enable_incremental_vacuum(connection: sqlite3.Connection) -> None:
    """Lets a new file give room back later. To be called before anything is written in it; a file
    that holds something already is left as it is."""
    if _read_pragma(connection, "page_count") == 0:
        connection.execute("pragma auto_vacuum=incremental")


def _is_sqlite_file(path: Path) -> bool:
    """Whether a file begins as SQLite's do (https://www.sqlite.org/fileformat.html), or is empty or
    cannot be read, of which SQLite tells itself."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEADER)) in (b"", SQLITE_HEADER)
    except OSError:
        return True


class SQLiteFile:
    """One SQLite file. Connections are made per thread; writes go through `write()` one at a time."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Opens or creates the file and brings it up to date.

        Raises:
            StoreError: the folder or the file cannot be used.
        """
        self.path = path
        self._thread_state = threading.local()
        self._lock = threading.RLock()
        self._open_connections: weakref.WeakSet[_ThreadConnection] = weakref.WeakSet()
        try:
            make_private_folder(path.parent)
        except OSError as error:
            raise to_store_error(error, path.parent) from error
        try:
            make_private_file(path)
        except OSError as error:
            raise to_store_error(error, path) from error
        if not _is_sqlite_file(path):  # closing what is none would delete the journals beside it
            raise StoreError("corrupt", path, "file is not a database")
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()
            raise
        restrict_access(path)  # not before: it may be another program's

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            enable_incremental_vacuum(connection)
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
        held: _ThreadConnection | None = getattr(self._thread_state, "held", None)
        if held is None:
            held = self._thread_state.held = _ThreadConnection(self._connect())
            with self._lock:
                self._open_connections.add(held)
        return held.connection

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.transaction() as connection:
            version = connection.execute("pragma user_version").fetchone()[0]
            owner = connection.execute("pragma application_id").fetchone()[0]
            empty = not connection.execute("select 1 from sqlite_schema").fetchone()
            if owner != APPLICATION_ID and not empty:
                raise StoreError("corrupt", self.path, FOREIGN_FILE_DETAIL)
            if empty:
                connection.execute(f"pragma application_id={APPLICATION_ID}")
            if version > len(migrations):
                raise StoreError("newer", self.path)
            for number, script in enumerate(migrations[version:], version + 1):
                for statement in _split_statements(script):
                    connection.execute(statement)
                connection.execute(f"pragma user_version={number}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
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
                raise to_store_error(error, self.path) from error
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
                    raise to_store_error(error, self.path) from error
                raise

    def read(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[object, ...]]:
        """All rows of a query, from the calling thread's connection.

        Raises:
            StoreError: the file is damaged or locked.
        """
        try:
            return self.connection.execute(query, values).fetchall()
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.Error as error:
            raise to_store_error(error, self.path) from error

    def reclaim(self) -> None:
        """Gives the room of what was deleted back to the disk."""
        reclaim_space(self.path)

    def close(self) -> None:
        """Closes the connections of all threads."""
        with self._lock:
            for held in tuple(self._open_connections):
                held.connection.close()
            self._open_connections.clear()
        self._thread_state = threading.local()


def _split_statements(script: str) -> Iterator[str]:
    """The statements of a script, trigger bodies kept whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
