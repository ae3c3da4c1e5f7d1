"""Tables of several schemas: found by the role's search path, or by their schema; and nothing besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from research.core.database_config import DatabaseConfig
from research.sources.database.engines import Database, open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError
from tests.servers.postgres import Cluster
from tests.tables import each_row

pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

SECRET = "sentinel-secret"
SCHEMA = """
create table public.orders(id integer primary key, kind text);
insert into public.orders values (1, 'public');
create schema sales;
create table sales.orders(id integer primary key, kind text, amount numeric, customer integer);
create table sales.customer(id integer primary key, name text);
alter table sales.orders add foreign key (customer) references sales.customer(id);
insert into sales.customer values (1, 'Ann'), (2, 'Bo');
insert into sales.orders values (1, 'sales', 10, 1), (2, 'sales', null, 2);
create schema "Odd Schema";
create table "Odd Schema"."Group"("Key" integer, "select" text);
insert into "Odd Schema"."Group" values (7, 'odd');
create schema hidden;
create table hidden.secret(k text);
insert into hidden.secret values ('sentinel-secret');
create table sales.payroll(k text);
insert into sales.payroll values ('sentinel-secret');
create schema trap;
create table trap.orders(id integer, kind text);
insert into trap.orders values (9, 'trap');
create role analyst login password 'sentinel-analyst' nosuperuser;
grant usage on schema public, sales, "Odd Schema", trap to analyst;
grant select on public.orders, sales.orders, sales.customer, "Odd Schema"."Group", trap.orders to analyst;
comment on table sales.orders is 'what was sold';
"""


@pytest.fixture(scope="module")
def owner(database_server: Cluster) -> Iterator[Any]:
    with (
        database_server.database() as made,
        database_server.connect(made.rpartition("/")[2]) as connection,
    ):
        connection.execute(SCHEMA)
        yield connection
        connection.execute("drop owned by analyst; drop role analyst")


@pytest.fixture(scope="module")
def address(owner: Any, database_server: Cluster) -> str:
    name = owner.execute("select current_database()").fetchone()[0]
    return f"postgresql://analyst:sentinel-analyst@127.0.0.1:{database_server.port}/{name}"


def along(address: str, path: str) -> str:
    """The address with a search path of its own, as `ALTER ROLE … SET search_path` would give it."""
    return f"{address}?options=-csearch_path%3D{path}"


@pytest.fixture(scope="module")
def schemas(address: str) -> Database:
    return open_database(address)


def rows(database: Database, sql: str) -> tuple[tuple[Any, ...], ...]:
    return database.run(database.check(sql)).rows


def test_every_schema_that_the_role_may_read_is_read(schemas: Database) -> None:
    found = {table.qualified_name for table in schemas.schema.tables}
    assert found == {"orders", "sales.orders", "sales.customer", "Odd Schema.Group", "trap.orders"}
    described = schemas.schema.describe()
    assert "sales.orders -- what was sold" in described
    assert "  customer integer -> sales.customer.id" in described
    assert next(table.qualified_name for table in schemas.schema.tables) == "orders"


@each_row(
    ("sql", "expected"),
    [
        ("SELECT kind FROM orders", "public"),
        ("SELECT kind FROM public.orders", "public"),
        ("SELECT orders.kind FROM orders", "public"),
        ("SELECT kind FROM sales.orders WHERE id = 1", "sales"),
        ("SELECT sales.orders.kind FROM sales.orders WHERE sales.orders.id = 1", "sales"),
        ("SELECT kind FROM SALES.Orders WHERE id = 1", "sales"),
        ('SELECT "select" FROM "Odd Schema"."Group" WHERE "Key" = 7', "odd"),
        ("SELECT c.name FROM sales.orders o JOIN sales.customer c ON c.id = o.customer WHERE o.id = 1", "Ann"),
        ("SELECT s.kind FROM orders p JOIN sales.orders s ON s.id = p.id", "sales"),
        ("WITH orders AS (SELECT * FROM sales.orders) SELECT kind FROM orders WHERE id = 1", "sales"),
        ("WITH orders AS (SELECT * FROM orders) SELECT kind FROM orders", "public"),
        ("SELECT kind FROM orders WHERE id IN (SELECT id FROM sales.orders)", "public"),
        ("SELECT (SELECT max(kind) FROM sales.orders s WHERE s.id = p.id) FROM public.orders p", "sales"),
        ("SELECT kind FROM (SELECT kind FROM sales.orders WHERE amount > 5) x", "sales"),
        ("SELECT kind FROM sales.orders NATURAL JOIN sales.customer WHERE id = 1", "sales"),
    ],
)  # fmt: skip
def test_a_table_is_that_of_the_schema_that_is_meant(schemas: Database, sql: str, expected: str) -> None:
    assert rows(schemas, sql) == ((expected,),)
    query = schemas.check(sql)
    assert rows(schemas, query.sql.rpartition(" LIMIT ")[0]) == ((expected,),)


@each_row(
    "sql",
    [
        "SELECT k FROM hidden.secret", "SELECT k FROM secret", "SELECT k FROM sales.payroll",
        "SELECT k FROM payroll", "SELECT sales.payroll.k FROM sales.orders",
        "SELECT hidden.secret.k FROM orders AS secret", 'SELECT k FROM "sales.payroll"',
        "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM pg_class", "TABLE pg_catalog.pg_authid",
        "SELECT * FROM pg_catalog.pg_shadow", "SELECT * FROM information_schema.tables",
        "SELECT * FROM information_schema.columns, orders", "SELECT * FROM pg_temp.orders",
        "SELECT * FROM pg_temp_3.orders", "SELECT * FROM pg_toast.pg_toast_1262",
        'SELECT * FROM "PG_CATALOG".pg_class', 'SELECT * FROM "pg_catalog"."pg_class"',
        "SELECT kind FROM other.sales.orders", "SELECT kind FROM postgres.pg_catalog.pg_class",
        "SELECT pg_catalog.pg_read_file('/etc/passwd')", "SELECT sales.evil(id) FROM orders",
        "SELECT id OPERATOR(trap.+) 1 FROM orders", "SELECT 'sales.payroll'::regclass",
        "SELECT trap.orders.kind FROM sales.orders", "SELECT sales.orders.kind FROM sales.orders o",
        "SELECT orders.kind FROM orders, sales.orders", "SELECT sales.orders FROM sales.orders",
        "WITH sales AS (SELECT 1 AS k) SELECT k FROM sales.payroll",
        "WITH secret AS (SELECT 1 AS k) SELECT k FROM hidden.secret",
        "SELECT k FROM (WITH payroll AS (SELECT 1 AS k) SELECT k FROM payroll) x, sales.payroll",
        "SELECT kind FROM orders WHERE id IN (SELECT k FROM sales.payroll)",
        "SELECT kind FROM orders WHERE EXISTS (SELECT 1 FROM hidden.secret)",
        "SELECT kind FROM sales.orders UNION SELECT k FROM sales.payroll",
        "SET search_path = trap", "SELECT set_config('search_path', 'trap', false)",
        "SELECT current_schema()", "SELECT current_schemas(true)", "SELECT kind FROM sales.orders FOR UPDATE",
        "SELECT * FROM sales.pg_ls_dir('.')", "SELECT * INTO sales.evil FROM orders",
    ],
)  # fmt: skip
def test_nothing_else_is_reached_by_a_schema(schemas: Database, sql: str) -> None:
    with pytest.raises(RefusedError):
        schemas.check(sql)


def test_what_stays_unclear_is_told_with_the_way_out(schemas: Database) -> None:
    for sql, told in (
        ("SELECT kind FROM sales.order", "Did you mean sales.orders or orders"),
            ("SELECT kind FROM hidden.orders", "no table 'hidden.orders'. Did you mean orders or"),
        ("SELECT name FROM customer", "Did you mean sales.customer?"),
        ("SELECT 1 FROM orders, sales.orders", "Two tables are called 'orders' here; give each an alias"),
        ("SELECT trap.orders.kind FROM sales.orders", "give its table an alias"),
    ):  # fmt: skip
        with pytest.raises(RefusedError) as caught:
            schemas.check(sql)
        assert told in caught.value.message, caught.value.message


def test_a_name_without_a_schema_is_looked_for_along_the_search_path_of_the_role(
    address: str,
) -> None:
    database = open_database(along(address, "sales,public"))
    assert rows(database, "SELECT kind FROM orders WHERE id = 1") == (("sales",),)
    assert rows(database, "SELECT kind FROM public.orders") == (("public",),)
    assert rows(database, "SELECT name FROM customer WHERE id = 1") == (("Ann",),)
    assert {table.qualified_name for table in database.schema.tables} >= {"orders", "public.orders"}
    second = open_database(along(address, "nosuch,hidden,public,sales"))
    assert rows(second, "SELECT kind FROM orders") == (("public",),)
    assert rows(second, "SELECT name FROM customer WHERE id = 1") == (("Ann",),)


def test_a_path_that_has_the_systems_tables_in_it_opens_none_of_them(address: str) -> None:
    database = open_database(along(address, "pg_catalog,information_schema,pg_temp,sales"))
    assert rows(database, "SELECT kind FROM orders WHERE id = 1") == (("sales",),)
    for sql in ("SELECT * FROM pg_class", "SELECT * FROM tables", "SELECT * FROM columns"):
        with pytest.raises(RefusedError):
            database.check(sql)


def test_without_a_path_every_table_is_called_with_its_schema(address: str) -> None:
    database = open_database(along(address, "nosuch"))
    assert rows(database, "SELECT kind FROM public.orders") == (("public",),)
    with pytest.raises(RefusedError, match="no table 'orders'"):
        database.check("SELECT kind FROM orders")


def test_functions_and_operators_of_a_schema_in_the_path_are_never_called(address: str, owner: Any) -> None:
    owner.execute("""
        create function trap.lower(varchar) returns text language sql as 'select ''trapped''::text';
        create function trap.count(text) returns bigint language sql as 'select 666::bigint';
        create function trap.same(text, varchar) returns boolean language sql as 'select true';
        create operator trap.= (leftarg = text, rightarg = varchar, function = trap.same);
        grant execute on all functions in schema trap to analyst;
        create table trap.words(word varchar);
        insert into trap.words values ('Word');
        grant select on trap.words to analyst;
    """)
    database = open_database(along(address, "trap,public"))
    assert rows(database, "SELECT lower(word) FROM words") == (("word",),)
    assert rows(database, "SELECT count(word) FROM trap.words") == ((1,),)
    assert rows(database, "SELECT word FROM words WHERE CAST('x' AS TEXT) = word") == ()
    assert rows(database, "SELECT kind FROM orders") == (("trap",),)
    assert '"trap".words' in database.check("SELECT word FROM words").sql


def test_a_table_that_is_called_like_one_of_the_systems_is_the_roles_own(address: str, owner: Any) -> None:
    owner.execute("create table public.pg_shadow(k text); insert into public.pg_shadow values ('own')")
    owner.execute("grant select on public.pg_shadow to analyst")
    try:
        database = open_database(address)
        assert rows(database, "SELECT k FROM pg_shadow") == (("own",),)
        assert rows(database, "SELECT k FROM public.pg_shadow") == (("own",),)
    finally:
        owner.execute("drop table public.pg_shadow")


def test_a_temporary_table_is_never_taken_for_one_of_the_database(schemas: Database) -> None:
    with schemas._backend.open_connection() as connection:
        path = connection.exec_driver_sql("show search_path").scalar_one()
    assert path == '"public", pg_temp' or path == "public, pg_temp"


def test_rights_to_write_are_told_of_any_schema(address: str, owner: Any) -> None:
    assert open_database(address).privileges == ""
    owner.execute("grant update on sales.customer to analyst")
    try:
        assert open_database(address).privileges == "write"
    finally:
        owner.execute("revoke update on sales.customer from analyst")


def test_a_role_that_reads_no_table_is_told_so(address: str, owner: Any) -> None:
    owner.execute("create role nobody_here login password 'sentinel-nobody' nosuperuser")
    try:
        other = address.replace("analyst:sentinel-analyst", "nobody_here:sentinel-nobody")
        with pytest.raises(ExecutionError, match="no table that can be read"):
            open_database(other)
    finally:
        owner.execute("drop role nobody_here")


def test_a_table_that_is_left_out_hides_none_of_another_schema_and_is_not_read(
    address: str,
) -> None:
    """The server finds the one that is left out first; the guard writes the other with its schema."""
    listed = DatabaseConfig.model_validate(
        {"name": "a", "url": address, "schemas": ["public", "sales"], "leave_out": ["public.orders", "cust*"]}
    )  # fmt: skip
    database = open_database(along(address, "public,sales"), table_filter=listed.can_read)
    assert [table.qualified_name for table in database.schema.tables] == ["sales.orders"]
    assert "customer integer ->" not in database.schema.describe()
    assert rows(database, "SELECT kind FROM orders WHERE id = 1") == (("sales",),)
    for sql in (
        "SELECT kind FROM public.orders", "SELECT name FROM sales.customer", "SELECT kind FROM trap.orders",
        "SELECT kind FROM orders WHERE id IN (SELECT id FROM public.orders)",
        "WITH customer AS (SELECT 1 AS id) SELECT c.name FROM sales.customer AS c",
    ):  # fmt: skip
        with pytest.raises(RefusedError):
            database.check(sql)
