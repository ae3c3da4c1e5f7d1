"""What the tests of databases share: the scenic database as a file, and on a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from research.sources.database.engines import Database, open_database
from research.sources.database.results import ResultLimits
from tests.servers.postgres import Cluster, lacking
from tests.sources.database.scenic import fill, known, make

MANY = ResultLimits(max_rows=2_000)


@pytest.fixture(scope="session")
def scenic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file. No test may change it, and none can through the engine."""
    path = tmp_path_factory.mktemp("scenic") / "scenic.db"
    make(path)
    return path


@pytest.fixture(scope="session")
def database(scenic: Path) -> Database:
    return open_database(scenic, table_filter=known, limits=MANY)


@pytest.fixture(scope="session")
def database_server() -> Iterator[Cluster]:
    if reason := lacking():
        pytest.skip(reason)
    made = Cluster()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def scenic_address(database_server: Cluster) -> Iterator[str]:
    """The address of the database on the server, for a role that can do anything."""
    with database_server.database() as address:
        with database_server.connect(address.rpartition("/")[2]) as owner:
            fill(owner)
        yield address


@pytest.fixture(scope="session")
def server_database(scenic_address: str) -> Database:
    return open_database(scenic_address, table_filter=known, limits=MANY)
