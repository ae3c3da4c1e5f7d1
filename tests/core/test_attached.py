"""Several databases in one file: read, chosen, and never told with a password."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from research.application import Application
from research.core.database_config import (
    SHIPPED_DATABASE,
    DatabaseConfig,
    DatabaseConfigs,
    database_name,
    load_databases,
)
from research.core.records import Finding, Part, Plan, RunOptions, Task
from research.core.settings import SettingError, Settings, load_settings
from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError

SECRET = "hunter2-of-the-desk"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            """
            create table goods(id integer primary key, name text);
            create table audit_2025(id integer primary key, who text, good integer references goods(id));
            create table sale(id integer primary key, audit integer references audit_2025(id), price real);
            insert into goods values (1, 'tea'), (2, 'silk');
            insert into audit_2025 values (1, 'ann', 1);
            insert into sale values (1, 1, 2.5);
            """
        )
    return path


@pytest.fixture
def crates(tmp_path: Path) -> Path:
    path = tmp_path / "crates.duckdb"
    with duckdb.connect(str(path)) as raw:
        raw.execute("create table crate as select 7 as weight")
        raw.execute("create table audit_log as select 'ann' as who")
        raw.execute("create schema hidden")
        raw.execute("create table hidden.crate as select 8 as weight")
    return path


def written(folder: Path, text: str, env: Mapping[str, str] | None = None) -> DatabaseConfigs:
    (folder / "databases.toml").write_text(text, encoding="utf-8")
    return load_databases("", folder, env or {})


def test_an_entry_has_its_words_its_bounds_and_the_file_that_describes_it(
    tmp_path: Path,
) -> None:
    found = written(
        tmp_path,
        """
        default = "仓库"
        [sales]
        url = "env:SALES_URL"
        description = {zh = "销售", en = "What was sold"}
        schemas = ["public", "sales"]
        leave_out = ["audit_*", "sales.secret"]
        semantic = "sales.yaml"
        ["仓库"]
        url = "duckdb:////data/crates.duckdb"
        description = "Crates"
        """,
        {"SALES_URL": f"postgresql://reader:{SECRET}@host/sales"},
    )
    sales, crates = found.entries
    assert found.invalid == () and found.default == crates.name == "仓库"
    assert sales.description == {"zh": "销售", "en": "What was sold"}
    assert crates.description["zh"] == "Crates"
    assert sales.semantic == tmp_path / "sales.yaml" and crates.semantic is None
    assert sales.url.get_secret_value() == f"postgresql+psycopg://reader:{SECRET}@host/sales"
    readable = [("public", "orders"), ("sales", "orders"), ("public", "secret")]
    closed = [("other", "orders"), ("public", "Audit_2025"), ("sales", "SECRET")]
    assert all(sales.can_read(*one) for one in readable)
    assert not any(sales.can_read(*one) for one in closed)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("[a]\ndescription = 'x'", "it needs url"),
        ("[a]\nurl = 'env:NOWHERE'", "the variable NOWHERE is not set"),
        ("[a]\nurl = 'env:a b'", "after env: stands the name"),
        (f"[a]\nurl = 'postgresql://me:{SECRET}@@host/x'", "url must be an address"),
        (f"[a]\nurl = 'mysql://me:{SECRET}@host/x'", "url must be an address"),
        ("[a]\nurl = 'sqlite:////a.db'\nschema = ['x']", "schema: Extra inputs"),
        ("[a]\nurl = 'sqlite:////a.db'\nleave_out = 'x'", "leave_out:"),
        ("[a]\nurl = 'sqlite:////a.db'\ndescription = {fr = 'x'}", "description"),
        ("a = 1", "it stands outside of any entry"),
        (f"[{SHIPPED_DATABASE}]\nurl = 'sqlite:////a.db'", "the database that ships is called so"),
        ("['a/b']\nurl = 'sqlite:////a.db'", "a name has letters"),
        ("default = 'c'", "it names none of the databases"),
    ],
)
def test_a_broken_entry_costs_a_line_and_not_the_others(tmp_path: Path, entry: str, why: str) -> None:
    good = "[good]\nurl = 'sqlite:////good.db'\n"
    found = written(tmp_path, f"{entry}\n{good}" if "=" in entry.split("\n")[0] else good + entry)
    assert [one.name for one in found.entries] == ["good"]
    (wrong,) = found.invalid
    assert why in wrong.reason and SECRET not in wrong.reason


def test_a_file_that_cannot_be_read_is_told_and_can_be_turned_off(tmp_path: Path) -> None:
    (tmp_path / "databases.toml").write_text("[a", encoding="utf-8")
    with pytest.raises(SettingError, match=r"databases\.toml.*SIGHTLINE_DATABASES=off"):
        load_settings({}, data_dir=tmp_path)
    assert load_settings({"SIGHTLINE_DATABASES": "off"}, data_dir=tmp_path).databases == ()
    with pytest.raises(SettingError, match="is not there"):
        load_settings({"SIGHTLINE_DATABASES": str(tmp_path / "none.toml")}, data_dir=tmp_path)


@pytest.mark.parametrize(
    ("env", "default", "names", "usual"),
    [
        ({}, "", ["a", "b"], "a"),
        ({}, "default = 'b'", ["a", "b"], "b"),
        ({}, f"default = '{SHIPPED_DATABASE}'", ["a", "b"], SHIPPED_DATABASE),
        ({"DATABASE_URL": "sqlite:////x/own.db"}, "default = 'b'", ["own", "a", "b"], "own"),
        ({"DATABASE_URL": "sqlite:////x/a.db"}, "", ["DATABASE_URL", "a", "b"], "DATABASE_URL"),
    ],
)
def test_the_address_of_the_environment_is_an_entry_and_the_usual_one(
    tmp_path: Path, env: dict[str, str], default: str, names: list[str], usual: str
) -> None:
    text = f"{default}\n[a]\nurl='sqlite:////a.db'\n[b]\nurl='sqlite:////b.db'"
    (tmp_path / "databases.toml").write_text(text, encoding="utf-8")
    settings = load_settings(env, data_dir=tmp_path)
    assert [one.name for one in settings.databases] == names
    assert settings.default_database == usual


def test_without_a_file_there_is_the_database_that_ships(tmp_path: Path) -> None:
    settings = load_settings({}, data_dir=tmp_path)
    assert (settings.databases, settings.default_database) == ((), SHIPPED_DATABASE)


def test_a_password_is_among_the_secrets_and_in_no_text(tmp_path: Path) -> None:
    (tmp_path / "databases.toml").write_text("[a]\nurl = 'env:A'", encoding="utf-8")
    settings = load_settings({"A": f"postgresql://me:{SECRET}@host/x"}, data_dir=tmp_path)
    assert SECRET in settings.secrets
    assert SECRET not in repr(settings) + str(settings.display_values()) + settings.model_dump_json()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("", ""),
        ("sqlite:////data/orders of ann.db", "orders of ann"),
        ("postgresql://reader:secret@db.example:5432/shop?sslmode=require", "shop"),
    ],
)
def test_what_it_is_called_has_no_password_and_no_folder(address: str, name: str) -> None:
    assert database_name(address) == name


# What may be read


def entry(path: Path, **more: object) -> DatabaseConfig:
    kind = "duckdb" if path.suffix == ".duckdb" else "sqlite"
    return DatabaseConfig.model_validate({"name": "a", "url": f"{kind}:///{path}", **more})


def opened(listed: DatabaseConfig) -> Database:
    return open_database(listed.url.get_secret_value(), table_filter=listed.can_read)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM audit_2025",
        'SELECT * FROM main."AUDIT_2025"',
        "SELECT id FROM goods WHERE id IN (SELECT good FROM audit_2025)",
        "WITH audit_2025 AS (SELECT 1 AS x) SELECT a.who FROM main.audit_2025 AS a",
    ],
)
def test_a_table_that_is_left_out_is_read_by_no_statement(shop: Path, sql: str) -> None:
    database = opened(entry(shop, leave_out=["Audit_*"]))
    assert [table.name for table in database.schema.tables] == ["goods", "sale"]
    assert "audit_2025" not in database.schema.describe()  # a foreign key leads there
    with pytest.raises(RefusedError):
        database.check(sql)
    whole = open_database(shop)
    with pytest.raises(Exception, match="prohibited"):  # the engine refuses it too
        database.run(whole.check("SELECT who FROM audit_2025"))


def test_schemas_and_tables_of_a_duckdb_file_are_kept_to(crates: Path) -> None:
    database = opened(entry(crates, schemas=["main"], leave_out=["main.audit_log"]))
    assert database.run(database.check("SELECT weight FROM crate")).rows == ((7,),)
    whole = open_database(crates)
    for sql in ("SELECT weight FROM hidden.crate", "SELECT who FROM audit_log"):
        with pytest.raises(RefusedError):
            database.check(sql)
        with pytest.raises(Exception, match="no table"):
            database.run(whole.check(sql))


# Runs


def asked(desk: Application, question: str, database: str, owner: str = "local") -> Finding:
    task = Task(id="1.1", source="database", query=question, part="p1", tool="sql")
    plan = Plan(parts=(Part(id="p1", subject="", text=question),), tasks=(task,))
    options = RunOptions(sources=("database",), queries=1, loops=1, database=database)
    run = desk.runs.start(question, options=options, plan=plan, owner=owner)
    for _ in desk.runs.follow(run.id, owner=owner):
        pass
    report = desk.runs.report(run.id, owner=owner)
    assert report is not None
    (finding,) = report.findings
    return finding


@pytest.fixture
def several(tmp_path: Path, shop: Path, crates: Path) -> Settings:
    text = f"[shop]\nurl='sqlite:///{shop}'\n[crates]\nurl='duckdb:///{crates}'"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "databases.toml").write_text(text, encoding="utf-8")
    return load_settings({}, data_dir=tmp_path / "data")


def test_a_run_says_which_database_it_asks(several: Settings) -> None:
    desk = Application(several)
    try:
        by = {
            name: asked(desk, sql, name)
            for name, sql in {
                "": "SELECT name FROM goods ORDER BY id",
                "crates": "SELECT weight FROM crate",
                SHIPPED_DATABASE: "SELECT count(*) AS n FROM a_sight",
            }.items()
        }
        rows = {name: finding.rows.rows for name, finding in by.items() if finding.rows}
        assert rows[""] == (("tea",), ("silk",)) and rows["crates"] == ((7,),)
        assert rows[SHIPPED_DATABASE][0][0] > 300
        told = [finding.evidence[0].publisher for finding in by.values()]
        assert told == ["shop", "crates", "scenic areas"]
        gone = asked(desk, "SELECT 1 AS n", "none")
        assert gone.reason == "not found" and "shop, crates" in gone.message
    finally:
        desk.close()


def test_what_was_found_in_one_database_is_not_reused_for_another(several: Settings) -> None:
    desk = Application(several)
    try:
        sql = "SELECT count(*) AS n FROM sqlite_master"  # refused; the next one has rows
        assert asked(desk, sql, "shop").reason == "refused"
        question = "SELECT 1 AS n"
        task = Task(id="1.1", source="database", query=question, part="p1", tool="sql")
        plan = Plan(parts=(Part(id="p1", subject="", text=question),), tasks=(task,))
        limits = {"sources": ("database",), "queries": 1, "loops": 1}
        seen, before = [], ""
        for database in ("shop", "shop", "crates"):
            options = RunOptions.model_validate({**limits, "database": database})
            run = desk.runs.start(question, options=options, plan=plan, based_on=before)
            for _ in desk.runs.follow(run.id):
                pass
            report = desk.runs.report(run.id)
            assert report is not None
            seen.append((report.findings[0].reused, report.findings[0].evidence[0].publisher))
            before = run.id
        assert seen == [(False, "shop"), (True, "shop"), (False, "crates")]
    finally:
        desk.close()


def test_confirmed_statements_belong_to_their_database(several: Settings) -> None:
    desk = Application(several)
    try:
        bases = {name: desk.services.database(name).database_id for name in ("shop", "crates", SHIPPED_DATABASE)}
        assert len(set(bases.values())) == 3
        assert asyncio.run(desk.services.database("crates").read_schema()).dialect == "duckdb"
    finally:
        desk.close()
