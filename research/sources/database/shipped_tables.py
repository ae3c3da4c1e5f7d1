"""Tables of the shipped database, with comments on their columns in Chinese and English.

This module depends neither on the sheets nor on the file built from them. The comments are for the
person or model that writes SQL; they are no table of the database, so that only facts can be
queried there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

SQLType = Literal["INTEGER", "REAL", "NUMERIC", "TEXT"]

# Full names of the provinces, autonomous regions and municipalities that have rated areas.
PROVINCES = (
    "北京市", "天津市", "河北省", "山西省", "内蒙古自治区", "辽宁省", "吉林省", "黑龙江省",
    "上海市", "江苏省", "浙江省", "安徽省", "福建省", "江西省", "山东省", "河南省",
    "湖北省", "湖南省", "广东省", "广西壮族自治区", "海南省", "重庆市", "四川省", "贵州省",
    "云南省", "西藏自治区", "陕西省", "甘肃省", "青海省", "宁夏回族自治区", "新疆维吾尔自治区",
)  # fmt: skip


@dataclass(frozen=True)
class SheetColumn:
    """A column of a sheet.

    Cells of `is_required` columns are never empty; `constraint` is SQL beyond the type; an
    `is_computed` column has no cells in the sheet. Texts are one of `choices`, unless it is empty;
    numbers lie between `minimum` and `maximum`, both included.
    """

    name: str
    sql_type: SQLType
    comment_zh: str
    comment_en: str
    is_required: bool = False
    constraint: str = ""
    is_computed: bool = False
    choices: tuple[str, ...] = ()
    minimum: float = 0
    maximum: float = 1e9

    @property
    def sql(self) -> str:
        """Definition of the column for `create table`."""
        return " ".join(filter(None, (self.name, self.sql_type, "not null" * self.is_required, self.constraint)))


@dataclass(frozen=True)
class SheetTable:
    """A table, with the columns that have an index."""

    name: str
    columns: tuple[SheetColumn, ...]
    indexes: tuple[tuple[str, ...], ...] = ()

    def create_statements(self) -> Iterator[str]:
        """Yield the SQL that creates the empty table and its indexes."""
        yield f"create table {self.name} ({', '.join(column.sql for column in self.columns)})"
        for names in self.indexes:
            yield f"create index {self.name}_{'_'.join(names)} on {self.name} ({', '.join(names)})"


def _longitude(name: str, comment_zh: str, comment_en: str, is_computed: bool = False) -> SheetColumn:
    return SheetColumn(name, "REAL", comment_zh, comment_en, is_computed=is_computed, minimum=73, maximum=136)


def _latitude(name: str, comment_zh: str, comment_en: str, is_computed: bool = False) -> SheetColumn:
    return SheetColumn(name, "REAL", comment_zh, comment_en, is_computed=is_computed, minimum=3, maximum=54)


SIGHTS = SheetTable(
    "a_sight",
    (
        SheetColumn("gid", "INTEGER", "景区编号，主键；前两位是省级行政区代码", "id of the area, primary key; begins with the code of its province", True, "primary key", minimum=1101),
        SheetColumn("name", "TEXT", "景区中文名称，如“故宫博物院”；查找时用 LIKE '%关键词%'", "Chinese name, such as 故宫博物院; search it with LIKE '%word%'", True, "unique"),
        SheetColumn("name_en", "TEXT", "景区英文名称", "English name", True),
        SheetColumn("level", "TEXT", "质量等级，本表均为 '5A'", "rating; '5A' in every row", True, choices=("5A",)),
        SheetColumn("province", "TEXT", "省级行政区全称，如“浙江省”“北京市”“新疆维吾尔自治区”", "full name of the province, such as 浙江省, 北京市, 新疆维吾尔自治区", True, choices=PROVINCES),
        SheetColumn("city", "TEXT", "地级市（自治州、盟、地区）全称，如“杭州市”；直辖市与 province 相同，省直辖县为该县；省级名称不在此列", "full name of the prefecture-level city, such as 杭州市; equals province in the four municipalities; the county itself where no city stands above it"),
        SheetColumn("district", "TEXT", "区、县或县级市，如“西湖区”；跨区的景区取主要部分所在地", "district, county or county-level city, such as 西湖区; that of the main part where an area lies in several"),
        SheetColumn("year_rated", "INTEGER", "公告评定为5A级的年份", "year of the announcement that rated it 5A", minimum=2007, maximum=2100),
        SheetColumn("address", "TEXT", "街道门牌地址；多数未知", "street address; unknown for most"),
        _longitude("lng_wgs84", "经度，WGS-84（GPS、OpenStreetMap），单位度，约为主入口或中心", "longitude in WGS-84 (GPS, OpenStreetMap), degrees, about the main entrance or the middle"),
        _latitude("lat_wgs84", "纬度，WGS-84，单位度", "latitude in WGS-84, degrees"),
        _longitude("lng_gcj02", "经度，GCJ-02（高德、腾讯地图），由 WGS-84 换算", "longitude in GCJ-02 (Amap), computed from WGS-84", is_computed=True),
        _latitude("lat_gcj02", "纬度，GCJ-02，由 WGS-84 换算", "latitude in GCJ-02, computed from WGS-84", is_computed=True),
    ),
    (("province",), ("city",), ("lng_wgs84", "lat_wgs84")),
)  # fmt: skip

SPOTS = SheetTable(
    "tourist_spot",
    (
        SheetColumn("id", "INTEGER", "编号，主键", "id, primary key", True, "primary key", minimum=1),
        SheetColumn("gid", "INTEGER", "对应 a_sight.gid；并非每个景区都有本表的行", "the area, a_sight.gid; not every area has a row here", True, "unique references a_sight(gid)"),
        SheetColumn("ticket_cny", "NUMERIC", "成人旺季门票价，人民币元；0 表示免费，NULL 表示未知", "price of the usual adult ticket in the high season, in CNY; 0 is free, NULL is unknown", maximum=10_000),
        SheetColumn("ticket_year", "INTEGER", "该票价所依据的年份；价格可能已变", "the year for which this price is known; it may have changed", minimum=2000, maximum=2100),
        SheetColumn("ticket_text", "TEXT", "票价说明，如“旺季60元，淡季40元”", "the price in words, in Chinese"),
        SheetColumn("opening_hours", "TEXT", "开放时间；多数未知", "opening hours, in Chinese; unknown for most"),
        SheetColumn("suggested_visit", "TEXT", "建议游玩时间，如“半天”“1天”“2至3小时”", "how long a visit takes, in Chinese: 半天 is half a day, 1天 a day"),
        SheetColumn("season", "TEXT", "适宜季节，如“春秋”“5月至10月”", "best season, in Chinese"),
        SheetColumn("introduction", "TEXT", "中文简介", "introduction in Chinese"),
        SheetColumn("introduction_en", "TEXT", "英文简介；部分为空", "introduction in English; empty for some"),
        SheetColumn("official_site", "TEXT", "官方网站；多数未知", "official site; unknown for most"),
    ),
)  # fmt: skip

TABLES: Mapping[str, SheetTable] = {table.name: table for table in (SIGHTS, SPOTS)}


def column_comments() -> dict[str, dict[str, tuple[str, str]]]:
    """Return the Chinese and the English comment of each column, by table and column."""
    return {t.name: {c.name: (c.comment_zh, c.comment_en) for c in t.columns} for t in TABLES.values()}
