"""Places leave the house as they are: each file reads back, and outside text is only ever text."""

from __future__ import annotations

import csv as table
import json
import re
from collections.abc import Callable
from html import unescape
from io import BytesIO, StringIO
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from research.core.coordinates import Point, distance_metres, to_wgs84
from research.core.records import Place, Route
from research.export.geo import CSV_COLUMNS, has_line_on_globe, is_on_globe, places_csv, places_geojson, places_kml
from research.export.spreadsheet_text import MAX_CELL_CHARS
from tests.tables import each_row

BOM = "\ufeff"
NS = {"k": "http://www.opengis.net/kml/2.2"}
NUMBERS = {"distance_m": "distance", "rating": "rating", "cost_cny": "cost"}
TEXTS = [
    "id", "name", "provider", "category", "type", "address", "district", "city", "hours", "phone",
]  # fmt: skip

HOSTILE = [
    "${alert(1)}",
    "$[name] $[Data/value] #{x} {{x}}",
    "`code` ``` `id`",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</script><script>alert(1)//",
    "]]>",
    "<![CDATA[x]]>",
    "<!-- hidden",
    "--><b>x</b>",
    "</name></Placemark></Document></kml>",
    '<!DOCTYPE kml [<!ENTITY x SYSTEM "file:///etc/passwd">]>&x;',
    "&lt;b&gt; &amp; &#60; &copy &nbsp;",
    "<?xml version='1.0'?>",
    "left\u202eright\u2066\u200f\u061c",
    "\0\x01\x08\x0b\x0c\x1b[31m",
    "a\ud83d",
    "\udc00\ud800",
    "\ufffe\uffff\U0001ffff",
    "🏯👨\u200d👩\u200d👧 emoji",
    '=HYPERLINK("https://evil.example/","x")',
    "=cmd|'/c calc'!A0",
    "+86 10",
    "-5 度",
    "@SUM(1+1)",
    "＝1+1",
    " \u3000=1+1",
    "\0=1+1",
    "'=1+1",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "two\nlines\r\nof\rthree",
    "\u2028\u2029\x85",
    "a,b;c\td",
    '"quoted" \'quotes\' “引” 「引」""',
    '","=1+1","',
    "\\ \\u003c \\n \\",
    "javascript:alert(1)",
    '"},"crs":{"type":"name"},"x":{"',
    "NaN",
    "  spaces  ",
    "故宫" * 50_000,
]

PALACE = Place(
    id="B000A8UIN8",
    name="故宫博物院",
    lng=116.397029,
    lat=39.917839,
    provider="amap",
    category="sight",
    type="风景名胜;世界遗产",
    address="景山前街4号",
    district="东城区",
    city="北京市",
    distance=450,
    rating=4.9,
    cost=60.0,
    hours="08:30-17:00（周一闭馆）",
    phone="010-85007421",
    photos=("https://example.org/1.jpg", "https://example.org/2.jpg"),
    sample=True,
)
BARE = Place(id="1", name="x", lng=0, lat=0, provider="offline")


def hostile(words: str) -> Place:
    """A place that has these words wherever text comes from outside."""
    return PALACE.model_copy(update=dict.fromkeys(TEXTS, words) | {"photos": (words, words)})


# --- Reading back


def as_written(place: Place, clean: Callable[[str], str], **lost: Any) -> Place:
    """What a file has of a place: 6 decimals, and text that went through `clean`."""
    texts = {key: clean(getattr(place, key)) for key in TEXTS}
    photos = tuple(clean(photo) for photo in place.photos)
    rounded = {"lng": round(place.lng, 6), "lat": round(place.lat, 6)}
    return place.model_copy(update={**texts, "photos": photos, **rounded, **lost})


def in_json(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def in_xml(text: str) -> str:
    """Text without what XML 1.0 forbids, worked out from its production `Char`."""
    return "".join(c for c in text if c in "\t\n\r" or _is_char(ord(c)))


def _is_char(code: int) -> bool:
    return 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


def in_cell(text: str) -> str:
    text = in_xml(text)
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"


def place_of(fields: dict[str, Any]) -> Place:
    """A place from what a file calls its fields."""
    return Place(**{"id": "", "name": "", "provider": ""} | {
        NUMBERS.get(key, key): value for key, value in fields.items() if value != ""
    })  # fmt: skip


def from_geojson(text: str) -> list[Place]:
    return [
        place_of(
            feature["properties"]
            | {"id": feature["id"]}
            | dict(zip(("lng", "lat"), feature["geometry"]["coordinates"], strict=True))
        )
        for feature in strict_geojson(text)["features"]
    ]


def strict_kml(text: str) -> Any:
    """The root of a KML file; fails on any structure but a document of placemarks with points."""
    parser = etree.XMLParser(resolve_entities=False, huge_tree=True)
    root = etree.fromstring(text.encode("utf-8"), parser)
    assert root.getroottree().docinfo.doctype == ""
    assert {element.tag.partition("}")[0] for element in root.iter()} == {"{" + NS["k"]}
    assert tags(root) == ["Document"]
    (document,) = root
    assert set(tags(document)[1:]) <= {"Placemark"}
    assert tags(document)[0] == "name"
    for placemark in document[1:]:
        assert tags(placemark) == ["name", "description", "ExtendedData", "Point"]
        assert tags(placemark[3]) == ["coordinates"]
        assert all(tags(data) == ["value"] for data in placemark[2])
        names = [data.get("name") for data in placemark[2]]
        assert len(set(names)) == len(names)
    return root


def tags(element: Any) -> list[str]:
    return [etree.QName(child).localname for child in element]


def from_kml(text: str) -> list[Place]:
    return [_from_placemark(item) for item in strict_kml(text).iterfind(".//k:Placemark", NS)]


def _from_placemark(placemark: Any) -> Place:
    fields: dict[str, Any] = {}
    photos = []
    for data in placemark.iterfind("k:ExtendedData/k:Data", NS):
        value = data.findtext("k:value", namespaces=NS)
        if data.get("name").startswith("photo_"):
            photos.append(value)
        else:
            fields[data.get("name")] = value
    position = placemark.findtext("k:Point/k:coordinates", namespaces=NS)
    assert re.fullmatch(r"-?\d+\.\d{6},-?\d+\.\d{6}", position)
    fields |= dict(zip(("lng", "lat"), position.split(","), strict=True))
    return place_of(fields | {"name": placemark.findtext("k:name", namespaces=NS), "photos": tuple(photos)})


def rows(text: str) -> list[dict[str, str]]:
    assert text.startswith(BOM)
    reader = table.DictReader(StringIO(text.removeprefix(BOM), newline=""), strict=True)
    found = list(reader)
    assert tuple(reader.fieldnames or ()) == CSV_COLUMNS
    return found


def meant(cell: str) -> str:
    """What a cell says without the apostrophe that keeps it from being a formula."""
    return cell[1:] if re.match(r"''*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])", cell) else cell


def from_csv(text: str) -> list[Place]:
    return [place_of({key: meant(cell) for key, cell in row.items()}) for row in rows(text)]


# --- RFC 7946


def strict_geojson(text: str) -> Any:
    """The FeatureCollection of a text; fails wherever it departs from RFC 7946."""
    assert not text.startswith(BOM)
    text.encode("utf-8")
    data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    check(data)
    assert data["type"] == "FeatureCollection"
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), "a name twice in an object"
    return dict(pairs)


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def check(data: Any) -> None:
    """The rules of RFC 7946 for what this house writes: collections of features that are points."""
    assert isinstance(data, dict)
    assert "crs" not in data, "removed by section 4"
    barred = {  # section 7.1
        "FeatureCollection": {"coordinates", "geometries", "geometry", "properties"},
        "Feature": {"coordinates", "geometries", "features"},
        "Point": {"geometries", "geometry", "properties", "features"},
    }[data["type"]]
    assert not barred & set(data)
    if "bbox" in data:
        assert len(data["bbox"]) == 4
        assert all(map(_is_number, data["bbox"]))
    if data["type"] == "FeatureCollection":
        assert isinstance(data["features"], list)
        assert all(feature["type"] == "Feature" for feature in data["features"])
        for feature in data["features"]:
            check(feature)
    elif data["type"] == "Feature":
        assert {"geometry", "properties"} <= set(data)
        assert data["properties"] is None or isinstance(data["properties"], dict)
        assert isinstance(data.get("id", ""), str) or _is_number(data["id"])
        if data["geometry"] is not None:
            check(data["geometry"])
    else:
        lng, lat = data["coordinates"]
        assert _is_number(lng)
        assert _is_number(lat)
        assert -180 <= lng <= 180
        assert -90 <= lat <= 90


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def broken(**changes: Any) -> str:
    feature = {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [116.4, 39.9]},
        "properties": {},
    }
    return json.dumps({"type": "FeatureCollection", "features": [feature | changes]})


@each_row(
    "text",
    [
        broken(geometry={"type": "Point", "coordinates": [39.9, 116.4]}),
        broken(geometry={"type": "Point", "coordinates": ["116.4", "39.9"]}),
        broken(geometry={"type": "Point", "coordinates": [116.4]}),
        broken(geometry={"type": "point", "coordinates": [116.4, 39.9]}),
        broken(properties=[]),
        broken(properties={"rating": float("nan")}),
        broken(id=None),
        broken(id=True),
        broken(crs={"type": "name"}),
        broken(coordinates=[116.4, 39.9]),
        broken(bbox=[1, 2]),
        broken(type="Point"),
        '{"type": "FeatureCollection"}',
        '{"type": "FeatureCollection", "type": "FeatureCollection", "features": []}',
        BOM + broken(),
        "[]",
    ],
)
def test_the_checker_of_geojson_turns_down_what_the_rules_forbid(text: str) -> None:
    strict_geojson(broken())
    strict_geojson(broken(properties=None, geometry=None, id=7, bbox=[116, 39, 117, 40]))
    with pytest.raises((AssertionError, KeyError, ValueError)):
        strict_geojson(text)


# --- What the files look like


def test_geojson_reads_like_this() -> None:
    assert json.loads(places_geojson([PALACE])) == {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "id": "B000A8UIN8",
                "geometry": {"type": "Point", "coordinates": [116.397029, 39.917839]},
                "properties": {
                    "name": "故宫博物院",
                    "provider": "amap",
                    "category": "sight",
                    "type": "风景名胜;世界遗产",
                    "address": "景山前街4号",
                    "district": "东城区",
                    "city": "北京市",
                    "distance_m": 450,
                    "rating": 4.9,
                    "cost_cny": 60,
                    "hours": "08:30-17:00（周一闭馆）",
                    "phone": "010-85007421",
                    "photos": ["https://example.org/1.jpg", "https://example.org/2.jpg"],
                    "sample": True,
                },
            }
        ],
    }
    assert "故宫博物院" in places_geojson([PALACE])


def test_kml_reads_like_this() -> None:
    assert places_kml([PALACE, BARE], "北京 & 周边") == PLACEMARKS


PLACEMARKS = """\
<?xml version='1.0' encoding='UTF-8'?>
<kml xmlns="http://www.opengis.net/kml/2.2">
  <Document>
    <name>北京 &amp; 周边</name>
    <Placemark>
      <name>故宫博物院</name>
      <description>风景名胜;世界遗产
北京市 东城区 景山前街4号
★ 4.9 / 5 · ¥60 · 450 m
08:30-17:00（周一闭馆）
010-85007421
39.917839, 116.397029 (WGS-84)
示例数据 / sample data</description>
      <ExtendedData>
        <Data name="id">
          <value>B000A8UIN8</value>
        </Data>
        <Data name="provider">
          <value>amap</value>
        </Data>
        <Data name="category">
          <value>sight</value>
        </Data>
        <Data name="type">
          <value>风景名胜;世界遗产</value>
        </Data>
        <Data name="address">
          <value>景山前街4号</value>
        </Data>
        <Data name="district">
          <value>东城区</value>
        </Data>
        <Data name="city">
          <value>北京市</value>
        </Data>
        <Data name="distance_m">
          <value>450</value>
        </Data>
        <Data name="rating">
          <value>4.9</value>
        </Data>
        <Data name="cost_cny">
          <value>60</value>
        </Data>
        <Data name="hours">
          <value>08:30-17:00（周一闭馆）</value>
        </Data>
        <Data name="phone">
          <value>010-85007421</value>
        </Data>
        <Data name="photo_1">
          <value>https://example.org/1.jpg</value>
        </Data>
        <Data name="photo_2">
          <value>https://example.org/2.jpg</value>
        </Data>
        <Data name="sample">
          <value>true</value>
        </Data>
      </ExtendedData>
      <Point>
        <coordinates>116.397029,39.917839</coordinates>
      </Point>
    </Placemark>
    <Placemark>
      <name>x</name>
      <description>0.000000, 0.000000 (WGS-84)</description>
      <ExtendedData>
        <Data name="id">
          <value>1</value>
        </Data>
        <Data name="provider">
          <value>offline</value>
        </Data>
        <Data name="sample">
          <value>false</value>
        </Data>
      </ExtendedData>
      <Point>
        <coordinates>0.000000,0.000000</coordinates>
      </Point>
    </Placemark>
  </Document>
</kml>
"""


def test_csv_reads_like_this() -> None:
    west = BARE.model_copy(update={"lng": -0.1, "lat": -51.5, "rating": -1.0})
    assert places_csv([PALACE, west]).split("\r\n") == [
        "\ufeffname,lng,lat,category,address,city,district,distance_m,rating,cost_cny,hours,phone,"
        "provider,id,attribution",
        "故宫博物院,116.397029,39.917839,sight,景山前街4号,北京市,东城区,450,4.9,60,"
        "08:30-17:00（周一闭馆）,010-85007421,amap,B000A8UIN8,",
        "x,-0.100000,-51.500000,,,,,,-1,,,,offline,1,",
        "",
    ]
    assert places_csv([PALACE]).encode().startswith(b"\xef\xbb\xbf")


def test_pandas_reads_the_table_with_numbers_as_numbers() -> None:
    frame = pd.read_csv(BytesIO(places_csv([PALACE, BARE]).encode()))
    assert list(frame.columns) == list(CSV_COLUMNS)
    assert frame.name.tolist() == ["故宫博物院", "x"]
    assert all(frame[column].dtype.kind == "f" for column in ("lng", "lat", "rating", "distance_m"))
    assert frame.rating.isna().tolist() == [False, True]


def test_no_places_are_files_without_places() -> None:
    assert strict_geojson(places_geojson([])) == {"type": "FeatureCollection", "features": []}
    assert from_kml(places_kml([], "")) == []
    assert rows(places_csv([])) == []


# --- Coordinates

WRITERS: list[Callable[[list[Place]], str]] = [places_geojson, lambda places: places_kml(places, ""), places_csv]
READERS = [from_geojson, from_kml, from_csv]
PAIRS = list(zip(WRITERS, READERS, strict=True))
FORMATS = pytest.mark.parametrize(("write", "read"), PAIRS, ids=["geojson", "kml", "csv"])

# GCJ-02 and WGS-84 of the same points, as the tests of eviltransform (MIT) publish them.
PUBLISHED = [
    (Point(121.531541859215, 31.17530398364597), Point(121.5272106, 31.1774276)),
    (Point(113.9171764808363, 22.540796131694766), Point(113.912316, 22.543847)),
    (Point(116.38404722455657, 39.91334545536069), Point(116.377817, 39.911954)),
]


def at(lng: float, lat: float) -> Place:
    return BARE.model_copy(update={"lng": lng, "lat": lat})


@FORMATS
@pytest.mark.parametrize(("shown", "true"), PUBLISHED)
def test_a_point_of_a_chinese_map_lands_where_it_is_in_the_world(
    write: Callable[[list[Place]], str],
    read: Callable[[str], list[Place]],
    shown: Point,
    true: Point,
) -> None:
    (back,) = read(write([at(*to_wgs84(shown, "gcj02"))]))
    assert distance_metres(Point(back.lng, back.lat), true) < 0.2
    assert distance_metres(Point(back.lng, back.lat), shown) > 400


@FORMATS
@pytest.mark.parametrize(
    ("lng", "lat"),
    [
        (float("nan"), 0),
        (0, float("nan")),
        (float("inf"), 0),
        (0, -float("inf")),
        (180.000001, 0),
        (0, -90.000001),
        (39.9, 116.4),
    ],
)
def test_a_place_that_is_nowhere_on_the_globe_is_refused(
    write: Callable[[list[Place]], str], read: Callable[[str], list[Place]], lng: float, lat: float
) -> None:
    lost = at(lng, lat)
    assert not is_on_globe(lost)
    with pytest.raises(ValueError, match="'1' is not on the globe"):
        write([BARE, lost])
    assert len(read(write([place for place in (BARE, lost) if is_on_globe(place)]))) == 1


@FORMATS
def test_the_edges_of_the_globe_and_tiny_numbers_are_written_in_full(
    write: Callable[[list[Place]], str], read: Callable[[str], list[Place]]
) -> None:
    points = [(180, 90), (-180, -90), (-1e-9, 1e-9), (1e-6, -1e-6), (100, 20)]
    found = read(write([at(*point) for point in points]))
    assert [(place.lng, place.lat) for place in found] == [
        (180, 90), (-180, -90), (0, 0), (1e-6, -1e-6), (100, 20),
    ]  # fmt: skip
    assert "-0.0" not in write([at(-1e-9, -0.0)])


@FORMATS
def test_a_number_that_is_none_is_not_known(
    write: Callable[[list[Place]], str], read: Callable[[str], list[Place]]
) -> None:
    odd = BARE.model_copy(update={"rating": float("nan"), "cost": float("inf")})
    assert read(write([odd])) == [BARE]
    assert not re.search("nan|inf", write([odd]), re.I)


# --- Hostile text


@each_row("words", HOSTILE)
def test_hostile_words_read_back_from_geojson_as_themselves(words: str) -> None:
    place = hostile(words)
    assert from_geojson(places_geojson([place, BARE])) == [as_written(place, in_json), BARE]


@each_row("words", HOSTILE)
def test_hostile_words_read_back_from_kml_as_themselves(words: str) -> None:
    place, written = hostile(words), places_kml([hostile(words), BARE], words)
    if in_xml(words):
        assert from_kml(written) == [as_written(place, in_xml), BARE]
    root = strict_kml(written)
    assert root.findtext("k:Document/k:name", namespaces=NS) == in_xml(words)
    description = root.findtext(".//k:description", namespaces=NS)
    assert "<" not in description  # a viewer reads it as HTML
    assert "$[" not in description
    assert " ".join(in_xml(words).split()) in unescape(description)


@each_row("words", HOSTILE)
def test_hostile_words_are_cells_that_no_spreadsheet_works_out(words: str) -> None:
    written = places_csv([hostile(words), BARE])
    first, second = rows(written)
    assert second["id"] == "1"
    for column in set(CSV_COLUMNS) & set(TEXTS):
        assert meant(first[column]) == in_cell(words)
        assert not re.match(r"[\t\r\n]|\s*[=+\-@＝＋－＠]", first[column])
        assert len(first[column]) <= MAX_CELL_CHARS + 1
    frame = pd.read_csv(BytesIO(written.encode()), encoding="utf-8-sig", dtype=str, keep_default_na=False)
    assert [dict(row) for row in frame.to_dict("records")] == [first, second]


@each_row("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_formula_gets_one_apostrophe_and_ordinary_text_none(sign: str) -> None:
    (row,) = rows(places_csv([hostile(f"{sign}1+1")]))
    assert {row[column] for column in set(CSV_COLUMNS) & set(TEXTS)} == {f"'{sign}1+1"}
    (plain,) = rows(places_csv([hostile(f"a{sign}1")]))
    assert plain["name"] == f"a{sign}1"
    (quoted,) = rows(places_csv([hostile("'quoted'")]))
    assert quoted["name"] == "'quoted'"


# --- Any place

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(HOSTILE[:-1]),
    st.text(st.sampled_from("=+-@＝'\"<>&;,$[]{}\t\r\n\0\ud800\ufeff 宫")),
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLACES = st.builds(
    Place,
    **dict.fromkeys(TEXTS, TEXT),
    lng=st.floats(-180, 180),
    lat=st.floats(-90, 90),
    distance=st.none() | st.integers(0, 10**9),
    rating=st.none() | FINITE,
    cost=st.none() | FINITE,
    photos=st.lists(TEXT.filter(in_xml), max_size=3).map(tuple),
    sample=st.booleans(),
)


@pytest.mark.slow
@given(st.lists(PLACES, max_size=3), TEXT)
@settings(max_examples=200, deadline=None)
@example([PALACE, BARE], "")
def test_any_places_read_back_from_each_file(places: list[Place], title: str) -> None:
    assert from_geojson(places_geojson(places)) == [as_written(place, in_json) for place in places]
    assert from_kml(places_kml(places, title)) == [as_written(place, in_xml) for place in places]
    assert from_csv(places_csv(places)) == [
        as_written(place, in_cell, type="", photos=(), sample=False) for place in places
    ]


# --- Ways, as other programs read them

WAY = Route(
    origin="王府井",
    destination="故宫 <b>& 院",
    travel_mode="walking",
    metres=1796,
    seconds=1437,
    line=((116.40465, 39.91011), (116.3909, 39.91011), (116.3909, 39.9169)),
    steps=("沿东长安街向西直行", "右转 ]]> <script>"),
)
BY_CROW = WAY.model_copy(update={"travel_mode": "straight", "seconds": None, "straight_line": True, "steps": ()})


def test_a_way_opens_in_another_reader_of_geojson() -> None:
    import geojson as reader

    text = places_geojson([PALACE], routes=[WAY, BY_CROW])
    read = reader.loads(text)
    assert read.is_valid, read.errors()
    _, way, line = read.features
    assert isinstance(way.geometry, reader.LineString)
    assert way.geometry.is_valid
    assert list(reader.utils.coords(way)) == list(WAY.line)
    assert way.properties == {
        "name": "王府井 → 故宫 <b>& 院", "from": "王府井", "to": "故宫 <b>& 院", "means": "walking",
        "distance_m": 1796, "duration_s": 1437, "straight": False, "steps": list(WAY.steps),
    }  # fmt: skip
    assert line.properties["straight"] is True
    assert "duration_s" not in line.properties


def test_a_way_opens_in_another_reader_of_kml() -> None:
    from fastkml import KML, Document, Placemark, Style

    read = KML.from_string(places_kml([PALACE], "题 & title", routes=[WAY, BY_CROW]).encode(), strict=True)
    (document,) = read.features
    assert isinstance(document, Document)
    point, way, line = document.features
    assert isinstance(point, Placemark) and isinstance(way, Placemark)
    assert point.geometry.geom_type == "Point"
    assert way.geometry.geom_type == "LineString"
    assert [tuple(at[:2]) for at in way.geometry.coords] == list(WAY.line)
    assert way.name == "王府井 → 故宫 <b>& 院"
    data = {one.name: one.value for one in way.extended_data.elements}
    assert data == {
        "from": "王府井", "to": "故宫 <b>& 院", "means": "walking", "distance_m": "1796",
        "duration_s": "1437", "straight": "false",
    }  # fmt: skip
    widths = []
    for one in (way, line):
        (style,) = one.styles
        assert isinstance(style, Style)
        widths.append([part.width for part in style.styles])
    assert widths == [[4.0], [2.0]]


@pytest.mark.parametrize("line", [(), ((1.0, 2.0),), ((1.0, 2.0), (181.0, 0.0)), ((1.0, 2.0), (0.0, float("nan")))])  # fmt: skip
def test_a_way_without_a_line_on_the_globe_is_refused(
    line: tuple[tuple[float, float], ...],
) -> None:
    way = WAY.model_copy(update={"line": line})
    assert not has_line_on_globe(way)
    for write in (lambda: places_geojson([], routes=[way]), lambda: places_kml([], "", routes=[way])):
        with pytest.raises(ValueError, match="no line"):
            write()
