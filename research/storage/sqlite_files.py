"""SQLite files shared by threads and processes: opening, numbered migrations, clear errors.

Files are in WAL mode with a busy time-out, and each thread has a connection for as long as it
lives. Folders and files are accessible to the user of the process only, whatever the umask. This
module is independent of what is stored.
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
from typing import Any, Literal, TypeVar

log = logging.getLogger(__name__)
_Date = TypeVar("_Date", bound=date)

BUSY_TIMEOUT_SECONDS = 30.0
RECLAIM_TIMEOUT_SECONDS = 1.0  # seconds to wait for writers when returning free space
SQLITE_HEADER = b"SQLite format 3\0"
RECLAIM_PAGES = 1_000  # pages that are returned at once, so that others can write in between
MAX_REWRITE_BYTES = 64 * 2**20  # size in bytes up to which an old file is rewritten so that it can shrink
APPLICATION_ID = 0x53474854  # "SGHT", in the header of every file of this program
FOREIGN_FILE_DETAIL = "the file belongs to another program"
JOURNAL_SUFFIXES = ("-wal", "-shm", "-journal")
OTHER_USERS_MODE = stat.S_IRWXG | stat.S_IRWXO
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
MIN_FREE_BYTES = 2**16  # bytes that opening a file needs, mostly for its shared index
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
]  # the second half: of a database server

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
    """Parse a stored date or time. Return None if it is missing or invalid."""
    try:
        return date_type.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


class StoreError(RuntimeError):
    """A file of the data folder or the database server cannot be used.

    `problem` is the kind of problem; the message says what to do.
    """

    def __init__(self, problem: StoreProblem, path: Path | str, detail: str = "") -> None:
        self.problem: StoreProblem = problem
        self.path = path
        self.detail = detail
        super().__init__(f"{path} {_MESSAGES[problem]}." + (f" ({detail})" if detail else ""))

    @property
    def damaged_file(self) -> Path | None:
        """The damaged file, if that is the problem and it is not another program's; else None."""
        is_damaged = self.problem == "corrupt" and self.detail != FOREIGN_FILE_DETAIL
        return self.path if is_damaged and isinstance(self.path, Path) else None


def to_store_error(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """Convert an error of SQLite or of the file system to a store error."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if isinstance(error, OSError):
        if error.errno in DISK_FULL_ERRNOS:
            return StoreError("full", path)
        is_read_only = isinstance(error, PermissionError) or error.errno == errno.EROFS
        return StoreError("read-only" if is_read_only else "unusable", path, error.strerror or "")
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
    """Return whether a file in a folder can grow.

    SQLite reports a full disk for the database itself only; for a journal or index that cannot be
    created, it reports an I/O error.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(MIN_FREE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno not in DISK_FULL_ERRNOS
    return True


def make_private_folder(folder: Path) -> None:
    """Create a folder that only the user can access, or restrict an existing one.

    Raises:
        OSError: the folder cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _restrict_mode(folder)


def make_private_file(path: Path) -> None:
    """Create an empty file that only the user can read, if there is none.

    Raises:
        OSError: the file cannot be created.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_private_file(path: Path, text: str) -> None:
    """Replace a file atomically by one that only the user can ever read.

    Raises:
        OSError: the file cannot be written and is unchanged.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def restrict_access(path: Path) -> None:
    """Remove the access of other users to a file and its journals.

    SQLite creates further journals with the permissions of the file.
    """
    for file in (path, *(path.with_name(path.name + ending) for ending in JOURNAL_SUFFIXES)):
        _restrict_mode(file)


def _restrict_mode(path: Path) -> None:
    """Remove the access of other users, logging a failure: not every file system has permissions.

    A shared folder with the sticky bit, such as /tmp, is left unchanged.
    """
    try:
        mode = path.stat().st_mode
        if mode & OTHER_USERS_MODE and not mode & stat.S_ISVTX:
            path.chmod(stat.S_IMODE(mode) & ~OTHER_USERS_MODE)
    except FileNotFoundError:
        pass  # a journal that does not exist
    except OSError as error:
        log.warning("others may be able to read %s: %s", path, error.strerror)


def reclaim_space(path: Path) -> None:
    """Return the space of deleted rows to the disk.

    If other processes write, or the file cannot be used, the rest waits for the next call. A file
    created without incremental vacuum is rewritten once, if it is small.
    """
    with suppress(sqlite3.Error), closing(connect_existing(path, RECLAIM_TIMEOUT_SECONDS)) as connection:
        if _read_pragma(connection, "auto_vacuum") == 0:
            pages = _read_pragma(connection, "page_count") - _read_pragma(connection, "freelist_count")
            if pages * _read_pragma(connection, "page_size") <= MAX_REWRITE_BYTES:
                connection.execute("pragma auto_vacuum=incremental")
                connection.execute("vacuum")
        else:
            free_pages = _read_pragma(connection, "freelist_count")
            while free_pages:
                # A script, because a single statement would stop after the first page.
                connection.executescript(f"pragma incremental_vacuum({RECLAIM_PAGES})")
                free_pages, pages_before = _read_pragma(connection, "freelist_count"), free_pages
                if free_pages >= pages_before:  # another process deletes rows
                    break
        connection.execute("pragma wal_checkpoint(truncate)")


def connect_existing(path: Path, timeout_seconds: float) -> sqlite3.Connection:
    """Connect to a file, which is not created if it is missing. Waiting for writers is limited."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=timeout_seconds, isolation_level=None)


def _read_pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"pragma {name}").fetchone()[0])


class _ThreadConnection:
    """The connection of a thread, which is closed after the thread has ended."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        weakref.finalize(self, _close_connection, connection, os.getpid())


_inherited_connections: list[sqlite3.Connection] = []


def _close_connection(connection: sqlite3.Connection, process_id: int) -> None:
    """Close a connection, unless in a forked copy of the process that opened it.

    In such a copy only one thread is left. SQLite must not be called there: it may wait forever for
    a lock that was held at the time of the fork.
    """
    if os.getpid() == process_id:
        connection.close()
    else:
        _inherited_connections.append(connection)


def enable_incremental_vacuum(connection: sqlite3.Connection) -> None:
    """Enable a new, empty file to return free space later; other files stay unchanged."""
    if _read_pragma(connection, "page_count") == 0:
        connection.execute("pragma auto_vacuum=incremental")


def _is_sqlite_file(path: Path) -> bool:
    """Return whether a file has the SQLite header, is empty, or cannot be read.

    In the last case, SQLite reports the reason itself. Format:
    https://www.sqlite.org/fileformat.html
    """
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEADER)) in (b"", SQLITE_HEADER)
    except OSError:
        return True


class SQLiteFile:
    """A SQLite file with a connection per thread and one write transaction at a time."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Open or create the file and apply pending migrations.

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
        if not _is_sqlite_file(path):  # opening and closing another file as SQLite would delete the journals beside it
            raise StoreError("corrupt", path, "file is not a database")
        try:
            self._migrate(migrations)
        except BaseException:
            self.close()
            raise
        restrict_access(path)  # only now, because before the check it might have been another program's

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
        """The connection of the calling thread."""
        holder: _ThreadConnection | None = getattr(self._thread_state, "holder", None)
        if holder is None:
            holder = self._thread_state.holder = _ThreadConnection(self._connect())
            with self._lock:
                self._open_connections.add(holder)
        return holder.connection

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
        """Open a durable write transaction; within one of the same thread, join it.

        Raises:
            StoreError: the file is damaged, read-only or locked, or the disk is full.
        """
        with self._lock:
            try:
                connection = self.connection
                is_nested = connection.in_transaction
                if not is_nested:
                    connection.execute("begin immediate")
            except sqlite3.Error as error:
                raise to_store_error(error, self.path) from error
            if is_nested:
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
        """Return all rows of a query on the connection of the calling thread.

        Raises:
            StoreError: the file is damaged or locked.
        """
        try:
            return self.connection.execute(query, values).fetchall()
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
            raise
        except sqlite3.Error as error:
            raise to_store_error(error, self.path) from error

    def read_value(self, query: str, values: Sequence[object] = (), default: Any = None) -> Any:
        """Return the first column of the first row of a query, or `default` without a row.

        Raises:
            StoreError: The query cannot be executed.
        """
        rows = self.read(query, values)
        return rows[0][0] if rows else default

    def reclaim(self) -> None:
        """Return the space of deleted rows to the disk."""
        reclaim_space(self.path)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for holder in tuple(self._open_connections):
                holder.connection.close()
            self._open_connections.clear()
        self._thread_state = threading.local()


def _split_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, keeping trigger bodies whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
