"""Tests of databases with unreadable parts: these are left out and named, and the rest can be
queried."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb
import pytest

from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError
from tests.servers.postgres import Cluster

GOOD = "create table good(a integer, b text); insert into good values (1, 'x');"


def make(path: Path, script: str, edits: Sequence[str] = ()) -> Path:
    """A SQLite file with a good table and what a script makes; `edits` change its schema by hand."""
    with closing(sqlite3.connect(path)) as made:
        made.create_function("of_the_app", 1, lambda value: value, deterministic=True)
        made.executescript(GOOD + script)
        if edits:
            made.execute("pragma writable_schema = on")
        for edit in edits:
            made.execute(edit)
        made.commit()
    return path


def opened(path: Path, *leave_out: str) -> Database:
    def reads(schema: str, table: str) -> bool:
        return not any(fnmatchcase(table.lower(), one.lower()) for one in leave_out)

    return open_database(path, table_filter=reads)


def names(database: Database) -> set[str]:
    return {table.qualified_name for table in database.schema.tables}


def left_out(database: Database) -> dict[str, str]:
    return {each.name: each.reason for each in database.schema.unreadable}


def rows(database: Database, sql: str) -> tuple[tuple[object, ...], ...]:
    return database.run(database.check(sql)).rows


DROPPED = "create table t(x); create view odd as select x from t; drop table t;"


@pytest.mark.parametrize(
    ("script", "edits", "reason"),
    [
        (DROPPED, (), "no such table"),
        ("create view odd as select of_the_app(a) from good;", (), "of_the_app"),
        ("create view odd as select absent from good;", (), "absent"),
        ("create view odd(x, y, z) as select a, b from good;", (), "3 columns"),
        ("create view odd as select randomblob(a) as r from good;", (), "randomblob"),
        ("create view odd as select 1 as a; create view other as select a from odd;",
         ("update sqlite_master set sql = 'create view odd as select a from other' where name = 'odd'",),
         "circular"),
        ("create view odd as select 1 as a;",
         ("update sqlite_master set sql = 'create view odd as select * from far.t' where name = 'odd'",), "definition"),
        ("create view odd as select 1 as a;",
         ("update sqlite_master set sql = 'create table odd((' where name = 'odd'",), "definition"),
        ("create table odd(a);",
         ("update sqlite_master set rootpage = 9999 where name = 'odd'",), "malformed"),
        ("",
         ("insert into sqlite_master values ('table', 'odd', 'odd', 0, 'CREATE VIRTUAL TABLE odd USING absent(a)')",),
         "absent"),
        ("create virtual table odd using fts5(a);",
         ("update sqlite_master set sql = 'CREATE VIRTUAL TABLE odd USING fts5(a, tokenize=''absent'')' where name = 'odd'",),
         "absent"),
    ],
)  # fmt: skip
def test_what_sqlite_cannot_read_is_left_out_with_the_reason(
    tmp_path: Path, script: str, edits: tuple[str, ...], reason: str
) -> None:
    path = make(tmp_path / "some.db", script, edits)
    database = opened(path)
    assert reason in left_out(database)["odd"]
    assert names(database) == {"good"}
    assert rows(database, "SELECT a, b FROM good") == ((1, "x"),)
    with pytest.raises(RefusedError, match="cannot be read"):
        database.check("SELECT * FROM odd")
    hidden = opened(path, "odd", "other")
    assert (names(hidden), left_out(hidden)) == ({"good"}, {})


@pytest.mark.parametrize(
    "edit",
    [
        "update sqlite_master set sql = 'create index i on good(nothing)' where name = 'i'",
        "update sqlite_master set sql = 'create trigger i nonsense' where name = 'i'",
        "update sqlite_master set name = cast(x'ff69' as text) where name = 'i'",
    ],
)  # fmt: skip
def test_a_damaged_entry_that_is_no_table_costs_nothing(tmp_path: Path, edit: str) -> None:
    database = opened(make(tmp_path / "some.db", "create index i on good(a);", (edit,)))
    assert rows(database, "SELECT b FROM good WHERE a = 1") == (("x",),)


def test_of_a_table_only_the_column_that_cannot_be_computed_is_left_out(tmp_path: Path) -> None:
    script = "create table t(a, c as (of_the_app(a)), d); insert into t(a, d) values (1, 'k');"
    script += "create index i on t(of_the_app(d));"
    database = opened(make(tmp_path / "some.db", script))
    assert list(left_out(database)) == ["t.c"]
    assert rows(database, "SELECT a, d FROM t") == ((1, "k"),)
    with pytest.raises(RefusedError):
        database.check("SELECT c FROM t")


def test_a_reference_to_what_is_left_out_is_dropped(tmp_path: Path) -> None:
    script = "create table child(x references odd, y references good(a));" + DROPPED
    database = opened(make(tmp_path / "some.db", script))
    child = next(table for table in database.schema.tables if table.name == "child")
    assert [column.reference for column in child.columns] == ["", "good.a"]


def test_a_database_with_nothing_that_can_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(DROPPED)
    with pytest.raises(ExecutionError, match="odd: no such table"):
        open_database(path)


# Shadow tables

VIRTUAL = {
    "fts3": "notes using fts3(body)",
    "fts4": "notes using fts4(title, body)",
    "fts5": "notes using fts5(body)",
    "rtree": "notes using rtree(id, low, high)",
}


@pytest.mark.parametrize("kind", VIRTUAL)
@pytest.mark.parametrize("vacuum", [False, True])
def test_shadow_tables_follow_their_virtual_table(tmp_path: Path, kind: str, vacuum: bool) -> None:
    filled = "1, 2, 3" if kind == "rtree" else "'a secret', 'a secret'"
    filled = "'a secret'" if kind in ("fts3", "fts5") else filled
    script = f"create virtual table {VIRTUAL[kind]}; insert into notes values ({filled});"
    path = make(tmp_path / "some.db", script + "create table notes_kept(a);")
    if vacuum:
        with closing(sqlite3.connect(path)) as made:
            made.execute("vacuum")
    database = opened(path)
    assert names(database) == {"good", "notes", "notes_kept"}
    assert len(rows(database, "SELECT * FROM notes")) == 1
    hidden = opened(path, "Notes")
    assert names(hidden) == {"good", "notes_kept"}
    with closing(sqlite3.connect(path)) as made:
        made_of = made.execute("select name from sqlite_master where name glob 'notes_*'").fetchall()
    for (name,) in (*made_of, ("notes",)):
        if name != "notes_kept":
            with pytest.raises(RefusedError):
                hidden.check(f"SELECT * FROM {name}")
            with pytest.raises(ExecutionError):  # the engine refuses it too
                hidden._backend.run(f"select * from {name}")


def test_shadow_tables_of_an_unknown_module_follow_it_by_their_names(tmp_path: Path) -> None:
    entry = "'CREATE VIRTUAL TABLE \"Vec\" USING absent(a)'"
    path = make(
        tmp_path / "some.db",
        "create table vec_chunks(a); create table vec_vector_chunks00(a); create table vectors(a);",
        (f"insert into sqlite_master values ('table', 'Vec', 'Vec', 0, {entry})",),
    )
    database = opened(path)
    assert names(database) == {"good", "vectors"}
    assert "vec_chunks" in left_out(database)["Vec"]
    assert names(opened(path, "vec")) == {"good", "vectors"}


def test_the_words_of_a_table_that_is_left_out_are_not_read_by_a_list_of_them(
    tmp_path: Path,
) -> None:
    script = "create virtual table notes using fts5(body); insert into notes values ('secret');"
    script += "create virtual table words using fts5vocab(notes, row);"
    path = make(tmp_path / "some.db", script)
    assert "words" not in names(opened(path, "notes"))
    articles = "create table articles(id integer primary key, body);"
    articles += "create virtual table found using fts5(body, content=articles, content_rowid=id);"
    articles += "insert into articles values (1, 'hi'); insert into found(found) values ('rebuild');"
    other = make(tmp_path / "other.db", articles)
    assert rows(opened(other), "SELECT body FROM found") == (("hi",),)
    assert "found" not in names(opened(other, "articles"))


# DuckDB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("create table t(x int); create view odd as select x from t; drop table t", "does not exist"),
        ("create table t(x int, y int); create view odd as select y from t; alter table t drop y", "y"),
        ("create macro m(a) as a + 1; create view odd as select m(a) as a from good; drop macro m", "m"),
        ("create view odd as select * from read_csv('{file}')", "file"),
        ("create view odd as select 1 as a; create view other as select a from odd; "
         "create or replace view odd as select a from other", "recurs"),
    ],
)  # fmt: skip
def test_a_view_that_duckdb_cannot_read_is_left_out_with_the_reason(tmp_path: Path, script: str, reason: str) -> None:
    path, file = tmp_path / "some.duckdb", tmp_path / "far.csv"
    file.write_text("a\n1\n", encoding="utf-8")
    with duckdb.connect(path) as made:
        made.execute(GOOD)
        made.execute(script.replace("{file}", str(file)))
    file.unlink()
    database = opened(path)
    assert reason in left_out(database)["odd"]
    assert "odd" not in names(database) and "good" in names(database)
    assert rows(database, "SELECT a, b FROM good") == ((1, "x"),)
    assert left_out(opened(path, "odd", "other")) == {}


def test_the_tables_of_a_full_text_index_of_duckdb_follow_its_table(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    with duckdb.connect(path) as made:
        made.execute(GOOD)
        made.execute("create table notes(body text); create schema fts_main_notes")
        made.execute("create table fts_main_notes.dict(term text); create schema fts_other")
        made.execute("create table fts_other.dict(term text)")
    for left in ((), ("notes",)):
        assert names(opened(path, *left)) == {"good", "notes", "fts_other.dict"} - set(left)


# PostgreSQL


def test_a_view_that_a_role_may_not_read_through_is_left_out(database_server: Cluster) -> None:
    with database_server.database() as address:
        with database_server.connect(address.rpartition("/")[2]) as owner:
            owner.execute(
                "create table good(a integer, b text); insert into good values (1, 'x');"
                "create table hidden(k text); create role maker; create role reader login password 'x';"
                "create view odd as select k from hidden; alter view odd owner to maker;"
                "create view fine as select a from good;"
                "create materialized view unfilled as select a from good with no data;"
                "grant usage on schema public to reader;"
                "grant select on good, odd, fine, unfilled to reader"
            )
        server, _, rest = address.partition("//")
        for who in (address, f"{server}//reader:x@{rest.rpartition('@')[2]}"):
            database = open_database(who)
            assert "permission denied" in left_out(database)["odd"]
            assert "populated" in left_out(database)["unfilled"]
            assert {"good", "fine"} <= names(database)
            assert rows(database, "SELECT a FROM fine") == ((1,),)
