"""Each setting of the database changes what a question to it comes to."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Finding, Task
from research.core.settings import load_settings
from research.runtime.services import Services

T = TypeVar("T")
BUSY = "SELECT count(*) AS n FROM goods AS a, goods AS b, goods AS c, goods AS d"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table goods(id integer primary key, kind text, price real)")
        rows = [(n, ("tea", "silk")[n % 2], n / 2) for n in range(1_000)]
        db.executemany("insert into goods values(?, ?, ?)", rows)
        db.commit()
    return path


def with_kit(tmp_path: Path, use: Callable[[Services], Coroutine[Any, Any, T]], **env: str) -> T:
    async def used() -> T:
        services = Services(load_settings(env, data_dir=tmp_path / "data"))
        try:
            return await use(services)
        finally:
            await services.close()

    return asyncio.run(used())


def looked_up(tmp_path: Path, sql: str, **env: str) -> Finding:
    task = Task(id="1", source="database", query=sql, tool="sql")
    return with_kit(tmp_path, lambda services: services.sources["database"].search(task, ignore_event), **env)


def test_the_database_that_ships_is_asked_if_none_is_set(tmp_path: Path) -> None:
    finding = looked_up(tmp_path, "SELECT count(*) AS n FROM a_sight")
    assert finding.rows is not None and finding.rows.rows[0][0] >= 300
    assert finding.evidence[0].publisher == "scenic areas"
    assert looked_up(tmp_path, "SELECT 1 AS n FROM goods").reason == "refused"


def test_the_database_of_the_address_is_asked_instead(tmp_path: Path, shop: Path) -> None:
    env = {"DATABASE_URL": f"sqlite:///{shop}"}
    finding = looked_up(tmp_path, "SELECT count(*) AS n FROM goods", **env)
    assert finding.rows is not None and finding.rows.rows == ((1_000,),)
    assert finding.evidence[0].publisher == "shop"
    assert looked_up(tmp_path, "SELECT 1 AS n FROM a_sight", **env).reason == "refused"


def test_an_address_where_nothing_is_says_so_and_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    with pytest.raises(ServiceError) as caught:
        looked_up(tmp_path, "SELECT 1", DATABASE_URL=f"sqlite:///{path}")
    assert caught.value.reason in ("unreachable", "refused", "unavailable")
    assert not path.exists()


@pytest.mark.parametrize(("switch", "shown"), [("on", True), ("off", False)])
def test_values_of_an_attached_database_are_read_beforehand_or_not(
    tmp_path: Path, shop: Path, switch: str, shown: bool
) -> None:
    schema = with_kit(
        tmp_path,
        lambda services: services.database().read_schema(),
        DATABASE_URL=f"sqlite:///{shop}",
        DATABASE_SAMPLES=switch,
    )
    described = schema.describe()
    assert ("silk" in described) is shown
    assert "kind" in described


def test_a_statement_ends_when_its_time_is_up(tmp_path: Path, shop: Path) -> None:
    env = {"DATABASE_URL": f"sqlite:///{shop}", "DATABASE_TIMEOUT": "0.3"}
    with pytest.raises(ServiceError) as caught:
        looked_up(tmp_path, BUSY, **env)
    assert caught.value.reason == "timeout"
    short = "SELECT count(*) AS n FROM goods"
    assert looked_up(tmp_path, short, **env).reason is None
