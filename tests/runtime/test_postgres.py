"""The store on a PostgreSQL server: opening, migrating, sharing, and every way to fail."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import create_engine, inspect

from research.core.errors import register_secrets
from research.core.events import parse_event
from research.core.records import Finding
from research.storage import tables
from research.storage.postgres import PostgresDatabase
from research.storage.sqlite_files import StoreError
from research.storage.store import Store
from tests.fakes import ScriptedSource
from tests.runtime.conftest import QUESTION, ROOT, WEB, Bench, get, over
from tests.runtime.test_store import EVIDENCE, FINDING, NOW, TASK, run
from tests.servers.postgres import ESCAPED, PASSWORD, USER, Cluster, lacking

on_server = pytest.mark.postgres


@pytest.fixture
def address(cluster: Cluster) -> Iterator[str]:
    with cluster.database() as made:
        yield made


def named(address: str) -> str:
    return urlsplit(address).path[1:]


def refused(address: str) -> StoreError:
    with pytest.raises(StoreError) as caught:
        Store(address).close()
    told = f"{caught.value} {caught.value.args} {caught.value.path} {caught.value.detail}"
    for secret in (PASSWORD, ESCAPED, "wrong-sentinel"):
        assert secret not in told
    return caught.value


# Tables


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=on_server)])
def test_the_tables_are_those_that_the_statements_are_written_for(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place: Path | str = tmp_path / "runs.db" if kind == "sqlite" else request.getfixturevalue("address")
    Store(place).close()
    engine = create_engine(f"sqlite:///{place}" if isinstance(place, Path) else place)
    found = inspect(engine)
    assert set(found.get_table_names()) - {"sightline_version"} == set(tables.metadata.tables)
    for name, table in tables.metadata.tables.items():
        columns = {c["name"]: c for c in found.get_columns(name)}
        assert set(columns) == {column.name for column in table.c}
        assert found.get_pk_constraint(name)["constrained_columns"] == [c.name for c in table.primary_key]
        for column in table.c:
            if not column.primary_key:
                assert columns[column.name]["nullable"] == column.nullable, column
    engine.dispose()


@pytest.mark.slow
@on_server
def test_text_is_compared_byte_by_byte_whatever_the_language_of_the_database(cluster: Cluster, address: str) -> None:
    store = Store(address)
    with cluster.connect(named(address)) as owner:
        plain = owner.execute("select 'a' < 'B'").fetchone()[0]
        loose = owner.execute(
            "select table_name, column_name from information_schema.columns where "
            "table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'"
        ).fetchall()
    assert plain  # the server itself sorts as a dictionary does
    assert loose == []
    for n, name in enumerate(["a", "B", "塔", "Z"]):
        store.add_run(run(name, created=NOW), None, f"e{n}")
    assert [r.id for r in store.runs("ann")] == ["B", "Z", "a", "塔"]
    store.close()


@pytest.mark.slow
@on_server
def test_tables_that_are_there_are_used_and_newer_ones_are_left_alone(cluster: Cluster, address: str) -> None:
    with closing(Store(address)) as store:
        store.add_run(run(), None, "engine")
    with closing(Store(address)) as store:
        assert store.get_run("one") == run()
    with cluster.connect(named(address)) as owner:
        owner.execute("update sightline_version set version = 99")
    error = refused(address)
    assert (error.problem, error.path) == (
        "newer",
        f"postgresql://127.0.0.1:{cluster.port}/{named(address)}",
    )
    assert "newer version of Sightline" in str(error)


@pytest.mark.slow
@on_server
def test_a_script_that_fails_leaves_nothing_behind(address: str) -> None:
    with pytest.raises(StoreError, match="already exists") as caught:
        PostgresDatabase(address, ("create table a(n integer);", "create table a(n integer);"))
    assert caught.value.problem == "server"
    made = PostgresDatabase(address, ("create table a(n integer);", "create table b(n integer);"))
    made.close()


@pytest.mark.slow
@on_server
def test_a_table_of_somebody_else_is_not_touched(cluster: Cluster, address: str) -> None:
    with cluster.connect(named(address)) as owner:
        owner.execute("create table run(theirs text); insert into run values('kept')")
        assert "already exists" in str(refused(address))
        assert owner.execute("select theirs from run").fetchall() == [("kept",)]


OPEN = """
import sys
from research.runtime.local_run_manager import LocalRunManager
from research.core.settings import load_settings
from tests.fakes import ScriptedReasoner, ScriptedSource, resources
LocalRunManager(resources(load_settings(), ScriptedReasoner(), {"web": ScriptedSource()})).close()
print("opened")
"""


@pytest.mark.slow
@on_server
def test_processes_that_start_together_make_the_tables_once(address: str, tmp_path: Path) -> None:
    env = {"STORE_URL": address, "SIGHTLINE_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN], env=env, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for _ in range(3)
    ]  # fmt: skip
    assert [child.communicate(timeout=120)[0].strip() for child in children] == ["opened"] * 3


# Several at once


APPEND = """
import sys
from datetime import UTC, datetime
from research.core.events import parse_event
from research.storage.store import Store
store = Store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(50):
    store.append_events("one", [(datetime.now(UTC), parse_event("x", {})), (datetime.now(UTC), parse_event("y", {}))])
store.close()
"""


@pytest.mark.slow
def test_writers_in_several_processes_leave_no_gap_in_the_events(place: Path | str) -> None:
    store = Store(place)
    store.add_run(run(), None, "engine")
    script = APPEND.replace("Store(sys.argv[1])", "Store(__import__('pathlib').Path(sys.argv[1]))")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script if isinstance(place, Path) else APPEND, str(place)],
            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    for child in children:
        assert child.stdout and child.stdout.readline() == "ready\n"
    for child in children:
        child.communicate("go\n", timeout=60)
    events = store.events("one")
    assert [event.seq for event in events] == list(range(1, 201))
    assert [event.kind for event in events] == ["x", "y"] * 100
    store.close()


@pytest.mark.slow
def test_evidence_that_is_found_by_several_at_once_is_merged(place: Path | str) -> None:
    store, other = Store(place), Store(place)
    passages = [EVIDENCE.passages[0].model_copy(update={"id": f"p{n}"}) for n in range(24)]
    barrier = threading.Barrier(6)

    def find(on: Store, mine: int) -> None:
        barrier.wait()
        for passage in passages[mine::6]:
            on.add_evidence("talk", [EVIDENCE.model_copy(update={"passages": (passage,)})])

    threads = [threading.Thread(target=find, args=(on, n)) for n, on in enumerate((store, other) * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (found,) = store.evidence("talk")
    assert {passage.id for passage in found.passages} == {f"p{n}" for n in range(24)}
    store.close()
    other.close()


@pytest.mark.slow
def test_one_of_many_gets_a_run_and_one_id_is_given_once(place: Path | str) -> None:
    stores = [Store(place), Store(place)]
    barrier = threading.Barrier(8)
    added: list[bool] = []
    claimed: list[bool] = []

    def race(n: int) -> None:
        store = stores[n % 2]
        barrier.wait()
        added.append(store.add_run(run(status="stopped"), None, "dead"))
        barrier.wait()
        claimed.append(store.claim_run("one", f"engine {n}"))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(added), sum(claimed)) == (1, 1)
    for store in stores:
        store.close()


@pytest.mark.slow
@on_server
def test_many_threads_share_a_bounded_number_of_connections(cluster: Cluster, address: str) -> None:
    store = Store(address)
    store.add_run(run(), None, "engine")
    threads = [threading.Thread(target=lambda: [store.get_run("one") for _ in range(5)]) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with cluster.connect() as owner:
        counted = "select count(*) from pg_stat_activity where datname = %s"
        assert owner.execute(counted, (named(address),)).fetchone()[0] <= 8
    store.close()


@pytest.mark.slow
@on_server
def test_what_the_server_cannot_hold_becomes_a_sign_that_it_was_there(address: str) -> None:
    store = Store(address)
    store.add_run(run(question="a\0塔"), None, "engine")
    odd = TASK.model_copy(update={"query": "q\0"})
    search = store.start_search("one", odd)
    store.finish_search(search, "talk", Finding.model_validate({**FINDING.model_dump(), "task": odd}))
    store.append_events("one", [(NOW, parse_event("x", {"text": "a\0b"}))])
    found = store.get_run("one")
    assert found is not None
    assert found.question == "a\ufffd塔"
    assert store.find_finding(["one"], odd.key) is not None
    assert store.events("one")[0].data == parse_event("x", {"text": "a\0b"})
    store.close()


# Troubles


def test_a_server_that_is_not_there_is_named(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        error = refused(f"postgresql+psycopg://ann:{ESCAPED}@127.0.0.1:{port}/runs")
    assert (error.problem, error.path) == ("unreachable", f"postgresql://127.0.0.1:{port}/runs")
    assert "STORE_URL" in str(error)
    assert "refused" in error.detail
    assert PASSWORD not in caplog.text


@pytest.mark.slow
@on_server
@pytest.mark.parametrize(
    "wrong",
    [
        {"password": "wrong-sentinel"},
        {"user": "nobody"},
        {"database": "nowhere"},
        {"password": ""},
    ],
    ids=str,
)
def test_a_server_that_refuses_is_named_without_the_password(wrong: dict[str, str], cluster: Cluster) -> None:
    parts = {"user": USER, "password": ESCAPED, "database": "postgres", **wrong}
    user = ":".join(filter(None, (parts["user"], parts["password"])))
    error = refused(f"postgresql+psycopg://{user}@127.0.0.1:{cluster.port}/{parts['database']}")
    assert error.problem == "refused"
    assert "Correct STORE_URL" in str(error)


@pytest.mark.slow
@on_server
def test_a_user_without_rights_is_told_so(cluster: Cluster, address: str) -> None:
    role = named(address).replace("test_", "role_")
    with cluster.connect(named(address)) as owner:
        owner.execute(f"create role {role} login password 'secret-sentinel'")
        try:
            poor = f"postgresql+psycopg://{role}:secret-sentinel@127.0.0.1:{cluster.port}/{named(address)}"
            error = refused(poor)
            assert error.problem == "refused"
            assert "permission denied" in error.detail
        finally:
            owner.execute(f"drop role {role}")


@pytest.mark.slow
@on_server
def test_a_database_that_can_only_be_read_is_named(cluster: Cluster, address: str) -> None:
    store = Store(address)
    store.add_run(run(), None, "engine")
    with cluster.connect() as owner:
        owner.execute(f"alter database {named(address)} set default_transaction_read_only = on")
    error = refused(address)
    assert error.problem == "standby"
    assert "can only be read" in str(error)
    assert store.get_run("one") == run()
    store.close()


@pytest.mark.slow
@on_server
def test_a_database_without_room_says_so_and_keeps_what_it_has(cluster: Cluster, address: str) -> None:
    """The server's own code for a full disk, raised where a row would be written."""
    store = Store(address)
    store.add_run(run(), None, "engine")
    with cluster.connect(named(address)) as owner:
        owner.execute(
            "create function full_() returns trigger language plpgsql as "
            "$$ begin raise exception using errcode = '53100', message = 'could not extend file'; end $$;"
            "create trigger full_ before insert on event execute function full_()"
        )
        with pytest.raises(StoreError) as caught:
            store.append_events("one", [(NOW, parse_event("x", {}))], "running")
        assert caught.value.problem == "full"
        owner.execute("drop trigger full_ on event")
    assert store.get_run("one") == run()
    assert store.append_events("one", [(NOW, parse_event("x", {}))], "running") == 1
    store.close()


@pytest.mark.slow
@on_server
def test_a_connection_that_was_cut_while_idle_is_replaced_unnoticed(cluster: Cluster, address: str) -> None:
    store = Store(address)
    store.add_run(run(), None, "engine")
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
    with cluster.connect() as owner:
        for work in (lambda: store.get_run("one"), lambda: store.append_events("one", [(NOW, parse_event("x", {}))])):
            owner.execute(cut, (named(address),))
            assert work()
    assert [event.seq for event in store.events("one")] == [1]
    store.close()


@pytest.mark.slow
@on_server
def test_a_server_that_is_restarted_costs_no_run(tmp_path: Path) -> None:
    """What was going on meanwhile may fail; it resumes, and nothing that was found is searched again."""
    if reason := lacking():
        pytest.skip(reason)
    cluster = Cluster()
    with cluster.database() as address:
        bench = Bench(tmp_path / "data", address)
        runs = bench.open(source=(source := ScriptedSource()))
        first = runs.start(QUESTION, options=WEB)
        assert over(runs, first.id) == "done"
        cluster.stop()
        with pytest.raises(StoreError) as caught:
            runs.get_run(first.id)
        assert caught.value.problem == "unreachable"
        with pytest.raises(StoreError):
            runs.start(QUESTION, options=WEB)
        cluster.start()
        assert get(runs, first.id).status == "done"
        second = runs.start(QUESTION, options=WEB)
        if over(runs, second.id) != "done":
            runs.resume(second.id)
            assert over(runs, second.id) == "done"
        assert len(source.done) == 6
        bench.close()
    cluster.close()


@pytest.mark.slow
@on_server
def test_the_password_is_in_no_log_and_no_file(address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    register_secrets([PASSWORD, ESCAPED])
    bench = Bench(tmp_path / "data", address)
    runs = bench.open()
    assert over(runs, runs.start(QUESTION, options=WEB).id) == "done"
    bench.close()
    for secret in (PASSWORD, ESCAPED):
        assert secret not in caplog.text
        files = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert [file for file in files if secret.encode() in file.read_bytes()] == []


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
from pathlib import Path
from research.runtime.local_run_manager import LocalRunManager
from research.core.settings import load_settings
from research.storage.sqlite_files import StoreError
from tests.fakes import ScriptedReasoner, ScriptedSource, resources
try:
    LocalRunManager(resources(load_settings(), ScriptedReasoner(), {"web": ScriptedSource()}))
except StoreError as error:
    print(error.problem, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "psycopg",
        pytest.param("psycopg_pool", marks=on_server),
        pytest.param("langgraph.checkpoint.postgres.aio", marks=on_server),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_how_to_install_it(
    module: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = "postgresql://127.0.0.1:9/runs"
    if module != "psycopg":
        address = request.getfixturevalue("address")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, module],
        env={"STORE_URL": address, "SIGHTLINE_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("driver postgresql://127.0.0.1:"), done.stderr
    assert "pip install 'psycopg[binary]>=3.2' 'psycopg-pool>=3.2'" in done.stdout
