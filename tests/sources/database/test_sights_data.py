"""The shipped sheets, and the database that is made from them."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from research.core.coordinates import Point, distance_metres, to_gcj02
from research.sources.database.shipped_database import SheetError, build_database, ensure_shipped_database, read_sheets
from research.sources.database.shipped_tables import PROVINCES, TABLES, column_comments
from research.storage.sqlite_files import StoreError

SHEETS = Path(__file__).resolve().parents[3] / "research" / "data" / "sights"
MUNICIPALITIES = {"北京市", "天津市", "上海市", "重庆市"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("sights") / "sights.db"
    build_database(path, read_sheets())
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


@pytest.fixture
def sheets(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHEETS, tmp_path / "sheets"))


def rows(database: sqlite3.Connection, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in database.execute(sql)]


def test_all_areas_are_there_and_many_have_details(database: sqlite3.Connection) -> None:
    assert rows(database, "select count(*) from a_sight") == [(358,)]
    assert rows(database, "select count(*) >= 120, count(distinct gid) = count(*) from tourist_spot") == [(1, 1)]  # fmt: skip


def test_only_the_two_tables_can_be_queried(database: sqlite3.Connection) -> None:
    assert rows(database, "select name from sqlite_schema where type = 'table' order by 1") == [
        ("a_sight",),
        ("tourist_spot",),
    ]


def test_the_columns_of_the_database_are_those_that_have_comments(
    database: sqlite3.Connection,
) -> None:
    for table, columns in column_comments().items():
        made = rows(database, f"select name from pragma_table_info('{table}')")
        assert made == [(name,) for name in columns]
        assert all(zh and en for zh, en in columns.values())


def test_cells_have_the_types_of_their_columns(database: sqlite3.Connection) -> None:
    stored = {"TEXT": {"text"}, "INTEGER": {"integer"}, "REAL": {"real"}, "NUMERIC": {"integer", "real"}}  # fmt: skip
    for table in TABLES.values():
        for column in table.columns:
            found = {t for (t,) in rows(database, f"select distinct typeof({column.name}) from {table.name}")}  # fmt: skip
            assert found <= stored[column.sql_type] | (set() if column.is_required else {"null"}), column


def test_what_is_unknown_is_null_and_never_an_empty_text(database: sqlite3.Connection) -> None:
    for table in TABLES.values():
        for name in (column.name for column in table.columns if column.sql_type == "TEXT"):
            where = f"{name} in ('', '--', '-', '未知', '暂无') or {name} <> trim({name})"
            assert rows(database, f"select {name} from {table.name} where {where}") == []
    assert rows(database, "select count(*) > 0 from tourist_spot where ticket_cny is null") == [(1,)]  # fmt: skip


def test_free_and_unknown_prices_are_told_apart(database: sqlite3.Connection) -> None:
    price = "select ticket_cny from tourist_spot join a_sight using (gid) where name = "
    assert rows(database, f"{price} '杭州西湖风景名胜区'") == [(0,)]
    assert rows(database, f"{price} '故宫博物院'") == [(60,)]
    assert rows(database, f"{price} '清东陵景区'") == [(None,)]


def test_a_price_has_a_year_and_words(database: sqlite3.Connection) -> None:
    lacking = "ticket_cny is not null and (ticket_year is null or ticket_text is null)"
    assert rows(database, f"select gid from tourist_spot where {lacking}") == []
    assert rows(database, "select gid from tourist_spot where ticket_cny is null and ticket_year is not null") == []  # fmt: skip


def test_the_price_stands_in_its_words(database: sqlite3.Connection) -> None:
    for price, words in rows(database, "select ticket_cny, ticket_text from tourist_spot where ticket_cny is not null"):  # fmt: skip
        assert (f"{price}元" in str(words)) if price else ("免费" in str(words)), words


def test_provinces_cities_and_ids_agree(database: sqlite3.Connection) -> None:
    codes: dict[int, set[str]] = {}
    for row in database.execute("select * from a_sight"):
        assert row["province"] in PROVINCES
        assert row["city"] is None or row["city"].endswith(("市", "州", "盟", "地区", "自治县", "林区")), row["name"]  # fmt: skip
        assert (row["city"] == row["province"]) == (row["province"] in MUNICIPALITIES), row["name"]
        assert row["district"] is None or row["district"].endswith(("区", "县", "市", "旗"))
        codes.setdefault(row["gid"] // 100, set()).add(row["province"])
    assert all(len(provinces) == 1 for provinces in codes.values())
    assert set().union(*codes.values()) == set(PROVINCES)
    assert len(PROVINCES) == len(codes) == 31


def test_the_years_add_up_to_the_official_totals(database: sqlite3.Connection) -> None:
    years = Counter(year for (year,) in rows(database, "select year_rated from a_sight"))
    assert years[2007] == 66
    assert [years[year] for year in (2020, 2021, 2022, 2024)] == [22 + 1 + 21, 2 + 2, 12, 21 + 19]


def test_no_two_areas_stand_at_the_same_point(database: sqlite3.Connection) -> None:
    at = sorted(
        (row["lng_wgs84"], row["lat_wgs84"], row["name"])
        for row in database.execute("select * from a_sight where lng_wgs84 is not null")
    )
    near = [
        (a[2], b[2])
        for n, a in enumerate(at)
        for b in at[n + 1 :]
        if b[0] - a[0] < 0.01 and distance_metres(Point(*a[:2]), Point(*b[:2])) < 300
    ]
    assert near == []


def test_areas_of_a_city_lie_near_each_other(database: sqlite3.Connection) -> None:
    """Swapped or mistyped degrees put a point far from everything else in its city."""
    points: dict[str, list[Point]] = {}
    for row in database.execute("select * from a_sight where lng_wgs84 is not null"):
        points.setdefault(row["city"], []).append(Point(row["lng_wgs84"], row["lat_wgs84"]))
    for city, own in points.items():
        assert max(distance_metres(a, b) for a in own for b in own) < 450_000, city  # Chongqing is the widest


def test_the_coordinates_of_chinese_maps_are_the_converted_ones(
    database: sqlite3.Connection,
) -> None:
    for row in database.execute("select * from a_sight where lng_wgs84 is not null"):
        shown = to_gcj02(Point(row["lng_wgs84"], row["lat_wgs84"]))
        assert (row["lng_gcj02"], row["lat_gcj02"]) == pytest.approx(shown, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "lng", "lat"),
    [
        ("殷墟景区", 114.314, 36.127),
        ("三清山风景名胜区", 118.064, 28.916),
        ("布达拉宫景区", 91.117, 29.658),
        ("黄河壶口瀑布旅游区", 110.442, 36.138),
        ("尧山·中原大佛景区", 112.451, 33.775),
        ("阿斯哈图石阵旅游区", 117.55, 43.95),
    ],
)
def test_a_point_is_the_area_and_not_the_city_that_it_belongs_to(
    database: sqlite3.Connection, name: str, lng: float, lat: float
) -> None:
    (found,) = database.execute("select * from a_sight where name = ?", [name])
    assert distance_metres(Point(found["lng_wgs84"], found["lat_wgs84"]), Point(lng, lat)) < 8_000


def test_an_area_without_a_point_has_none_in_any_system(database: sqlite3.Connection) -> None:
    points = "select lng_wgs84, lat_wgs84, lng_gcj02, lat_gcj02 from a_sight"
    assert rows(database, f"{points} where name = '白沙湖景区'") == [(None,) * 4]
    assert rows(database, "select count(*) from a_sight where lng_wgs84 is null") == [(1,)]


def test_official_sites_are_addresses(database: sqlite3.Connection) -> None:
    sites = rows(database, "select official_site from tourist_spot where official_site is not null")
    assert sites
    assert all(str(site).startswith("https://") and " " not in str(site) for (site,) in sites)


def test_indexes_serve_the_usual_filters(database: sqlite3.Connection) -> None:
    for where, index in (
        ("province = '浙江省'", "a_sight_province"),
        ("city = '杭州市'", "a_sight_city"),
        ("lng_wgs84 between 119 and 121", "a_sight_lng_wgs84_lat_wgs84"),
    ):
        (plan,) = rows(database, f"explain query plan select name from a_sight where {where}")
        assert index in str(plan)


def test_the_same_sheets_make_the_same_file(tmp_path: Path) -> None:
    build_database(tmp_path / "one.db", read_sheets())
    build_database(tmp_path / "deeper" / "two.db", read_sheets(SHEETS))
    assert (tmp_path / "one.db").read_bytes() == (tmp_path / "deeper" / "two.db").read_bytes()


def test_the_shipped_file_is_made_once(tmp_path: Path) -> None:
    path = ensure_shipped_database(tmp_path)
    made = path.stat()
    assert ensure_shipped_database(tmp_path) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_used_is_a_trouble_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError):
        ensure_shipped_database(tmp_path / "file")


Change = Callable[[list[dict[str, str]]], object]


def change(sheets: Path, table: str, how: Change) -> None:
    """Rewrites a sheet after `how` has changed its rows in place."""
    path = sheets / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    how(found)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)


@pytest.mark.parametrize(
    ("table", "how", "said"),
    [
        ("a_sight", lambda r: [x.update(rating="5") for x in r], "unknown column 'rating'"),
        ("a_sight", lambda r: [x.pop("city") for x in r], "lacks the column city"),
        ("a_sight", lambda r: r[4].update(name="--"), "line 6, column name: is empty"),
        ("a_sight", lambda r: r[0].update(gid="１１０１"), "line 2, column gid: '１１０１' is not a whole number"),
        ("a_sight", lambda r: r[0].update(lng_wgs84="116°"), "column lng_wgs84: '116°' is not a number"),
        ("a_sight", lambda r: r[0].update(lng_wgs84="39.9", lat_wgs84="116.4"), "'39.9' is not from 73 to 136"),
        ("a_sight", lambda r: r[0].update(lat_wgs84="nan"), "'nan' is not a number"),
        ("a_sight", lambda r: r[0].update(lat_wgs84=""), "column lat_wgs84: is empty while the other"),
        ("a_sight", lambda r: r[0].update(province="北京"), "'北京' is none of 北京市, 天津市"),
        ("a_sight", lambda r: r[0].update(level="4A"), "'4A' is none of 5A"),
        ("a_sight", lambda r: r[0].update(year_rated="1999"), "'1999' is not from 2007 to 2100"),
        ("a_sight", lambda r: r[1].update(gid=r[0]["gid"]), "line 3, column gid: 1101 stands in line 2 already"),
        ("a_sight", lambda r: r[1].update(name=r[0]["name"]), "'故宫博物院' stands in line 2 already"),
        ("tourist_spot", lambda r: r[1].update(gid=r[0]["gid"]), "column gid: 1101 stands in line 2"),
        ("tourist_spot", lambda r: r[0].update(gid="9999"), "column gid: 9999 is no gid of a_sight.csv"),
        ("tourist_spot", lambda r: r[0].update(ticket_cny="60元"), "'60元' is not a number"),
        ("tourist_spot", lambda r: r[0].update(ticket_cny="-1"), "'-1' is not from 0 to 10000"),
    ],
)  # fmt: skip
def test_a_damaged_sheet_is_named_with_its_cell(
    sheets: Path, tmp_path: Path, table: str, how: Change, said: str
) -> None:
    change(sheets, table, how)
    with pytest.raises(SheetError) as error:
        build_database(tmp_path / "out" / "sights.db", read_sheets(sheets))
    assert str(error.value).startswith(f"{table}.csv")
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("名称".encode("gb18030"), "is not UTF-8"),
        (b"", "lacks the column gid"),
        (b"gid,gid\n", "repeated column 'gid'"),
    ],
)
def test_a_file_that_is_no_sheet_is_said_so(sheets: Path, tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is None:
        (sheets / "a_sight.csv").unlink()
    else:
        (sheets / "a_sight.csv").write_bytes(content)
    with pytest.raises(SheetError, match=said):
        build_database(tmp_path / "sights.db", read_sheets(sheets))


def test_a_row_with_a_comma_too_many_is_said_so(sheets: Path, tmp_path: Path) -> None:
    text = (sheets / "a_sight.csv").read_text(encoding="utf-8")
    (sheets / "a_sight.csv").write_text(text.rstrip("\n") + ",\n", encoding="utf-8")
    with pytest.raises(SheetError, match=r"line 359 has 12 cells; the header has 11"):
        build_database(tmp_path / "sights.db", read_sheets(sheets))


def test_a_failed_build_leaves_the_file_from_before(sheets: Path, tmp_path: Path) -> None:
    build_database(tmp_path / "sights.db", read_sheets(sheets))
    before = (tmp_path / "sights.db").read_bytes()
    change(sheets, "tourist_spot", lambda r: r[0].update(gid="9999"))
    with pytest.raises(SheetError):
        build_database(tmp_path / "sights.db", read_sheets(sheets))
    assert (tmp_path / "sights.db").read_bytes() == before


def test_dashes_become_null_and_prices_keep_their_fractions(sheets: Path, tmp_path: Path) -> None:
    change(sheets, "tourist_spot", lambda r: (r[0].update(season="--", ticket_cny="62.5"),))
    build_database(tmp_path / "sights.db", read_sheets(sheets))
    with closing(sqlite3.connect(tmp_path / "sights.db")) as connection:
        assert rows(connection, "select season, ticket_cny from tourist_spot where id = 1") == [(None, 62.5)]  # fmt: skip
