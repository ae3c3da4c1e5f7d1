"""A PostgreSQL server of the tests' own, from the system's package, in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

USER, PASSWORD = "sightline", "sentinel p@ss:word/1"
ESCAPED = "sentinel%20p%40ss%3Aword%2F1"
DRIVERS = ("psycopg", "psycopg_pool", "langgraph.checkpoint.postgres")


def _programs() -> Path | None:
    """The folder with the newest server's programs; Debian keeps them off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found and (other := shutil.which("initdb")):
        return Path(other).parent
    return found[-1].parent if found else None


def lacking() -> str:
    """Why no server can be started here; "" if one can."""
    if os.environ.get("SIGHTLINE_POSTGRES_TESTS") != "1":
        return "set SIGHTLINE_POSTGRES_TESTS=1 to start a PostgreSQL server"
    return absent()


def absent() -> str:
    """What is not installed here that a server takes; "" if all is."""
    if missing := [name for name in DRIVERS if not _installed(name)]:
        return f"not installed: {', '.join(missing)}"
    return "" if _programs() else "PostgreSQL is not installed"


def lacks_postgis() -> str:
    """Why the newest server here cannot have `create extension postgis`; "" if it can."""
    programs = _programs()
    if not programs:
        return "PostgreSQL is not installed"
    if programs.is_relative_to("/usr/lib/postgresql"):  # Debian's layout
        shared = Path("/usr/share/postgresql") / programs.parent.name
    else:
        asked = [str(programs / "pg_config"), "--sharedir"]
        shared = Path(subprocess.run(asked, capture_output=True, text=True).stdout.strip())
    control = shared / "extension" / "postgis.control"
    return "" if control.is_file() else f"PostGIS is not installed: there is no {control}"


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Cluster:
    """The server. Its texts are sorted as English has it, unless a column says otherwise."""

    def __init__(self) -> None:
        programs = _programs()
        assert programs
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="sightline-postgres-"))
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:  # the server refuses to run as root
            owner = pwd.getpwnam("postgres")
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        secret = self._folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        self._run(
            "initdb", "--username", USER, "--pwfile", str(secret), "--auth", "scram-sha-256",
            "--encoding", "UTF8", "--locale", "C", "--locale-provider", "icu",
            "--icu-locale", "en-US", "--no-sync",
        )  # fmt: skip
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [
                *self._as,
                str(self._programs / program),
                "-D",
                str(self._folder / "data"),
                *arguments,
            ],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        options = (
            f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
            f"{self._folder} -c fsync=off -c lc_messages=C -c max_connections=200"
        )
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "--wait", "--log", log, "--options", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode", "fast")

    def close(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode", "immediate")
        shutil.rmtree(self._folder)

    def address(self, database: str, password: str = ESCAPED) -> str:
        return f"postgresql+psycopg://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> Any:
        """A connection of the server's owner, past the store."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database,
            autocommit=True,
        )  # fmt: skip

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of an empty database, which is gone afterwards."""
        name = f"test_{uuid.uuid4().hex}"
        with self.connect() as owner:
            owner.execute(f"create database {name}")
        try:
            yield self.address(name)
        finally:
            with self.connect() as owner:
                owner.execute(f"drop database {name} with (force)")
