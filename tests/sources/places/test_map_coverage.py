"""Which places lie beyond Amap's reach, by their names and by what a geocoder says."""

from __future__ import annotations

import csv
import re

import pytest

from research import data
from research.core.coordinates import Point
from research.sources.places import amap_coverage, kinds
from research.sources.places.questions import list_purposes


@pytest.mark.parametrize(
    "name",
    [
        "京都",
        "京都市",
        "东京",
        "東京",
        "首尔",
        "巴黎",
        "伦敦",
        "日本",
        "台北",
        "新加坡",
        "河内",
        "Kyoto",
        "Paris",
        "New|York",
        "きよみず",
        "Αθήνα",
    ],
)
def test_countries_large_cities_and_foreign_scripts_are_surely_beyond(name: str) -> None:
    assert amap_coverage.outside_likelihood(name.replace("|", " ")) == "surely"


@pytest.mark.parametrize("name", ["京都清水寺", "日本大阪城", "台北101", "东京塔", "Kyoto Station", "柏林寺"])
def test_what_begins_with_such_a_name_is_only_likely(name: str) -> None:
    assert amap_coverage.outside_likelihood(name) == "likely"


@pytest.mark.parametrize(
    "name",
    [
        "京",
        "北京",
        "南京东路",
        "王府井",
        "西安",
        "香港中环",
        "澳门",
        "上海巴黎春天",
        "东京城镇北京",
        "阿拉善",
        "巴里坤",
        "也门勒乡北京",
    ],
)
def test_what_is_in_china_is_not_beyond(name: str) -> None:
    assert amap_coverage.outside_likelihood(name) == ""


def test_letters_alone_do_not_tell() -> None:
    assert {amap_coverage.outside_likelihood(name) for name in ("Wangfujing", "Montmartre")} == {"perhaps"}


def test_the_sights_of_china_are_hardly_ever_taken_for_foreign() -> None:
    """A list that the table was not made from."""
    rows = csv.DictReader(data.text("sights/a_sight.csv").splitlines())
    names = [row["name"] for row in rows]
    taken = [name for name in names if amap_coverage.outside_likelihood(name)]
    assert len(names) > 300
    assert len(taken) <= 1, taken


@pytest.mark.parametrize(
    ("country", "adcode", "said"),
    [("CN", "", True), ("HK", "", True), ("mo", "", True), ("中国", "110101", True), ("", "", True),
     ("JP", "", False), ("日本", "", False), ("中国", "710000", False), ("TW", "", False)],
)  # fmt: skip
def test_a_geocoder_s_country_decides(country: str, adcode: str, said: bool) -> None:
    assert amap_coverage.is_covered(country, adcode) is said


def test_a_point_is_only_surely_outside_far_away() -> None:
    assert amap_coverage.is_outside_china_box(Point(2.35, 48.85))
    assert amap_coverage.is_outside_china_box(Point(139.7, 35.7))
    assert not amap_coverage.is_outside_china_box(Point(126.98, 37.57))  # Seoul: who knows
    assert not amap_coverage.is_outside_china_box(Point(116.4, 39.9))


def test_nearly_every_keyword_of_a_search_asks_for_a_kind_of_openstreetmap() -> None:
    asked = {word for purpose in list_purposes() for word in purpose.keywords}
    unknown = {word for word in asked if kinds.find_kinds([word])[1]}
    assert unknown <= {"农家乐", "农庄", "猫咖", "采摘园"}  # these are looked for by name


def test_every_kind_has_names_and_tags_that_end_no_string() -> None:
    for kind in kinds.all_kinds():
        assert kind.zh and kind.en and kind.tags
        assert not re.search(r'[\\"\]\[;]', "".join(map("".join, kind.tags)))


def test_a_kind_that_another_holds_is_not_asked_for_twice() -> None:
    found, rest = kinds.find_kinds(["博物馆", "科技馆", "农家乐"])
    assert [kind.en for kind in found] == ["planetarium", "museum"]
    assert rest == ("农家乐",)


def test_the_more_exact_kind_is_told() -> None:
    shrine = {"amenity": "place_of_worship", "religion": "shinto"}
    assert kinds.find_kind(shrine).en == "Shinto shrine"  # type: ignore[union-attr]
    assert kinds.find_kind(shrine | {"religion": "x"}).en == "place of worship"  # type: ignore[union-attr]
    assert kinds.find_kind({"amenity": "x"}) is None
