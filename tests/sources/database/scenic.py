"""A small made-up database of scenic areas, the same on SQLite, DuckDB and PostgreSQL, beside a table that is secret."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

HERE = Path(__file__).parent
SECRET = "sentinel-secret"
TABLES = ("a_sight", "visit", "tourist_spot", "best")


def known(_: str, table: str) -> bool:
    """Whether a table may be read: there are others that may not."""
    return table in TABLES


SCHEMA = """
create table a_sight(gid integer primary key, name text not null, level text, province text,
    city text, lng double precision, lat double precision, rated date, score double precision);
create table visit(id integer primary key, gid integer references a_sight(gid), year integer,
    visitors integer, n integer);
create table tourist_spot(id integer primary key, gid integer references a_sight(gid), 名称 text,
    城市 text, 评分 double precision, 门票 text, 开放时间 text, 建议季节 text, ticket_cny integer);
create table secret(k text, sentinel_secret text);
create view best as select name, score from a_sight where score > 4.6;
"""
CITIES = (
    ("浙江省", "杭州市", 120.15, 30.25), ("浙江省", "绍兴市", 120.58, 30.0),
    ("江苏省", "苏州市", 120.62, 31.3), ("江苏省", "南京市", 118.78, 32.04),
    ("安徽省", "黄山市", 118.33, 29.71),
)  # fmt: skip
NAMES = (
    "西湖",
    "乌镇",
    "拙政园",
    "鲁迅故里",
    "中山陵",
    "黄山",
    "灵隐寺",
    "虎丘",
    "东湖公园",
    "古城",
)
SEASONS = ("春", "夏", "秋", "冬")


def rows() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(table, values) of every row."""
    for gid in range(1, 61):
        province, city, lng, lat = CITIES[gid % 5]
        name = NAMES[gid % 10] + ("景区" if gid <= 10 else f"景区{gid}")
        if gid == 60:
            name = "100% '%:x%' \\ (a)"
        score = None if gid % 7 == 0 else 3.5 + gid * 13 % 16 / 10
        here = (None, None) if gid % 11 == 0 else (lng + gid % 6 / 20, lat - gid % 4 / 20)
        level = ("5A", "4A", "4A", "3A")[gid % 4]
        day = f"{2007 + gid % 13}-{gid % 12 + 1:02d}-{gid % 28 + 1:02d}"
        yield "a_sight", (gid, name, level, province, city, *here, day, score)
    for number in range(150):
        yield "visit", (number, number % 50 + 1, 2021 + number // 50, number * 37 % 1000, number)
    for number in range(40):
        ticket = None if number % 5 == 0 else number * 10 % 130
        yield "tourist_spot", (
            number, number + 1, f"{NAMES[number % 10]} Spot", CITIES[number % 5][1][:2],
            3 + number % 20 / 10, "免费" if ticket is None else f"{ticket}元", "全天",
            SEASONS[number % 4], ticket,
        )  # fmt: skip
    yield "secret", (SECRET, SECRET)


def make(path: Path) -> None:
    """The database as a SQLite file."""
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    for table, values in rows():
        connection.execute(f"insert into {table} values ({','.join('?' * len(values))})", values)
    connection.commit()
    connection.close()


def make_duckdb(path: Path) -> None:
    """The database as a DuckDB file."""
    with duckdb.connect(path) as connection:
        connection.execute(SCHEMA)
        for table, values in rows():
            marks = ",".join("?" * len(values))
            connection.execute(f"insert into {table} values ({marks})", values)


def fill(connection: Any) -> None:
    """The database on PostgreSQL, through a connection of psycopg."""
    connection.execute(SCHEMA)
    for table, values in rows():
        connection.execute(f"insert into {table} values ({','.join(['%s'] * len(values))})", values)


def cases(name: str, dialect: str, tables: str = "scenic") -> list[dict[str, str]]:
    """The statements of a file that are for a dialect, and for these tables or those that ship."""
    found = json.loads((HERE / name).read_text(encoding="utf-8"))
    return [case for case in found if case["dialect"] in (dialect, "both") and case.get("tables", "scenic") == tables]
