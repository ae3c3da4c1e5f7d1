"""Why a PostgreSQL database cannot be used, where no server is needed to find out."""

from __future__ import annotations

import sys

import pytest

from research.sources.database.engines import open_database
from research.sources.database.results import ExecutionError

ADDRESS = "postgresql://reader:sentinel%20p%40ss@127.0.0.1:1/sights"


def failed(address: str) -> ExecutionError:
    with pytest.raises(ExecutionError) as caught:
        open_database(address)
    told = f"{caught.value} {caught.value.__cause__!r} {caught.value.args}"
    assert "sentinel" not in told and "p@ss" not in told
    return caught.value


def test_a_missing_driver_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    found = failed(ADDRESS)
    assert found.cause == "address"
    assert "driver" in found.message and "pip install 'psycopg[binary]" in found.message


def test_a_server_that_is_down_is_named_with_its_host() -> None:
    pytest.importorskip("psycopg")
    found = failed(ADDRESS)
    assert found.cause == "unreachable"
    assert "127.0.0.1/sights" in found.message and "refused" in found.message


@pytest.mark.parametrize("address", ["mysql://a:sentinel%20p%40ss@h/x", "oracle://a:sentinel@h/x"])
def test_another_kind_of_server_is_said_to_be_one(address: str) -> None:
    found = failed(address)
    assert found.cause == "address" and address.partition(":")[0] in found.message
