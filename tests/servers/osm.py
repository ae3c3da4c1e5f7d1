"""Nominatim and Overpass on this machine, as their documentation has their answers.

One server is both: each knows its own paths. Names and points are real ones, numbers of objects mostly
invented. Formats: https://nominatim.org/release-docs/latest/api/Output/ and
https://wiki.openstreetmap.org/wiki/OSM_JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import asin, cos, radians, sin, sqrt
from typing import Any

from tests.servers.search import Asked, Service

LICENCE = "Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright"


def named(
    number: int, name: str, lat: float, lon: float, *, kind: str = "relation", category: str = "boundary",
    type: str = "administrative", rank: int = 16, addresstype: str = "city", importance: float = 0.7,
    size: float = 0.1, names: dict[str, str] | None = None, tags: dict[str, str] | None = None,
    **address: str,
) -> dict[str, Any]:  # fmt: skip
    """A place of Nominatim's, as jsonv2 with all details has it."""
    box = [lat - size, lat + size, lon - size, lon + size]
    return {
        "place_id": number * 7, "licence": LICENCE, "osm_type": kind, "osm_id": number,
        "lat": f"{lat:.7f}", "lon": f"{lon:.7f}", "category": category, "type": type,
        "place_rank": rank, "importance": importance, "addresstype": addresstype, "name": name,
        "display_name": ", ".join([name, *address.values()]), "address": address,
        "extratags": tags, "namedetails": {"name": name, **(names or {})},
        "boundingbox": [f"{side:.7f}" for side in box],
    }  # fmt: skip


def node(number: int, lat: float, lon: float, **tags: str) -> dict[str, Any]:
    """A node of Overpass's. Keys are written with __ for their colon."""
    keys = {key.replace("__", ":"): value for key, value in tags.items()}
    return {"type": "node", "id": number, "lat": lat, "lon": lon, "tags": keys}


def way(number: int, lat: float, lon: float, kind: str = "way", **tags: str) -> dict[str, Any]:
    """A way or a relation, with its middle."""
    found = node(number, lat, lon, **tags)
    del found["lat"], found["lon"]
    return found | {"type": kind, "center": {"lat": lat, "lon": lon}, "nodes": [1, 2, 3, 1]}


_JAPAN = {"province": "京都府", "country": "日本", "country_code": "jp"}
_FRANCE = {"city": "Paris", "state": "Île-de-France", "country": "France", "country_code": "fr"}
_CHINA = {"city": "西安市", "state": "陕西省", "country": "中国", "country_code": "cn"}
NAMED: dict[str, list[dict[str, Any]]] = {
    "京都": [
        named(2137478, "京都府", 35.25, 135.43, rank=8, addresstype="province", importance=0.66, size=0.9, **_JAPAN),
        named(357794, "京都市", 35.0115754, 135.7681441, importance=0.69, size=0.25, city="京都市", **_JAPAN),
    ],
    "清水寺": [
        named(27262094, "清水寺", 34.9947, 135.7850, kind="way", category="amenity", type="place_of_worship",
              rank=30, addresstype="amenity", importance=0.5, size=0.001, city="京都市", **_JAPAN),
    ],
    "巴黎": [named(7444, "巴黎", 48.8534951, 2.3483915, importance=0.88, **_FRANCE)],
    "Paris": [
        named(7444, "Paris", 48.8534951, 2.3483915, importance=0.88, **_FRANCE),
        named(115357, "Paris", 33.66, -95.55, importance=0.5, city="Paris", state="Texas", country="United States", country_code="us"),
    ],
    "西安": [named(3226004, "西安市", 34.2610, 108.9423, importance=0.6, size=0.5, **_CHINA)],
    "法国": [
        named(2202162, "法国", 46.6, 1.9, rank=4, addresstype="country", importance=0.9, size=5.0,
              country="法国", country_code="fr"),
    ],
    "柏林寺": [
        named(5123, "柏林寺", 39.9452, 116.4090, kind="way", category="amenity", type="place_of_worship", rank=30,
              importance=0.3, size=0.001, city="北京市", country="中国", country_code="cn"),
    ],
}  # fmt: skip
KIYOMIZU = way(
    27262094, 34.9947, 135.7850, amenity="place_of_worship", religion="buddhist", name="清水寺",
    name__en="Kiyomizu-dera", name__zh="清水寺", wikidata="Q221716", opening_hours="Mo-Su 06:00-18:00",
    addr__city="京都市", addr__street="清水",
)  # fmt: skip
ELEMENTS: list[dict[str, Any]] = [
    KIYOMIZU,
    way(25, 35.0394, 135.7292, "relation", amenity="place_of_worship", religion="buddhist",
        name="鹿苑寺", name__en="Kinkaku-ji", name__zh="金阁寺", wikidata="Q181624"),
    node(31, 35.0120, 135.7690, amenity="place_of_worship", religion="buddhist", name="誓願寺"),
    node(41, 48.8606, 2.3376, tourism="museum", name="Musée du Louvre", name__zh="卢浮宫", name__en="Louvre Museum",
         wikidata="Q19675", opening_hours="Mo,We-Su 09:00-18:00; Tu off", phone="+33 1 40 20 53 17",
         addr__street="Rue de Rivoli", addr__housenumber="99", addr__city="Paris"),
    node(42, 48.8599, 2.3266, tourism="museum", name="Musée d'Orsay", name__zh="奥赛博物馆", wikidata="Q23402",
         opening_hours="sunrise-sunset"),
    node(51, 34.2247, 108.9555, tourism="museum", name="陕西历史博物馆", name__en="Shaanxi History Museum",
         wikidata="Q1335154"),
    node(61, 48.8530, 2.3499, amenity="toilets"),
]  # fmt: skip


@dataclass
class FakeOpenStreetMap(Service):
    """`elements` are on the map, `named` are known by their names; `remark` is Overpass's."""

    elements: list[dict[str, Any]] = field(default_factory=lambda: list(ELEMENTS))
    named: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: dict(NAMED))
    remark: str = ""

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/search":
            return self.named.get(asked.query["q"], [])[: int(asked.query["limit"])]
        every = [row for rows in self.named.values() for row in rows]
        if asked.path == "/lookup":
            wanted = asked.query["osm_ids"].split(",")
            return [row for row in every if f"{row['osm_type'][0].upper()}{row['osm_id']}" in wanted][:1]
        if asked.path == "/reverse":
            here = float(asked.query["lon"]), float(asked.query["lat"])
            near = min(every, key=lambda row: _metres(here, (float(row["lon"]), float(row["lat"]))))
            far = _metres(here, (float(near["lon"]), float(near["lat"])))
            return near if far < 50_000 else {"error": "Unable to geocode"}
        assert asked.path == "/api/interpreter", asked.path
        body = {
            "version": 0.6, "generator": "Overpass API 0.7.62.7",
            "osm3s": {"timestamp_osm_base": "2026-11-24T00:00:00Z", "copyright": LICENCE},
            "elements": self._found(asked.query["data"]),
        }  # fmt: skip
        return body | ({"remark": self.remark} if self.remark else {})

    def queries(self) -> list[str]:
        """What Overpass has been asked."""
        return [asked.query["data"] for asked in self.log if "data" in asked.query]

    def _found(self, query: str) -> list[dict[str, Any]]:
        most = int(re.search(r"out center (\d+);", query)[1])  # type: ignore[index]
        found = []
        for filters, radius, lat, lon in re.findall(r"nwr(.*?)\(around:(\d+),([\d.-]+),([\d.-]+)\);", query):
            for row in self.elements:
                point = row.get("center", row)
                near = _metres((float(lon), float(lat)), (point["lon"], point["lat"])) <= int(radius)
                if near and _fits(row["tags"], filters) and row not in found:
                    found.append(row)
        order = ("node", "way", "relation")
        return sorted(found, key=lambda row: (order.index(row["type"]), row["id"]))[:most]


def _fits(tags: dict[str, str], filters: str) -> bool:
    for key, how, value in re.findall(r'\["([^"]+)"(?:(=|~|!=)"([^"]*)"(?:,i)?)?\]', filters):
        known = tags.get(key, "")
        if not how and not known:
            return False
        if (how == "=" and known != value) or (how == "!=" and known == value):
            return False
        if how == "~" and not re.search(value, known, re.I):
            return False
    return True


def _metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    half_lat, half_lng = radians(b[1] - a[1]) / 2, radians(b[0] - a[0]) / 2
    square = sin(half_lat) ** 2 + cos(radians(a[1])) * cos(radians(b[1])) * sin(half_lng) ** 2
    return 2 * 6_371_000 * asin(sqrt(square))
