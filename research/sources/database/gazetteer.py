"""Names of places and scenic areas: short names, English names, regions.

Only unambiguous names are included. A name shared by several areas or cities is left out, so that a
question with it is not understood rather than misread.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from research import data

# Names of regions, each with its provinces.
REGIONS = {
    "江浙沪": ("江苏省", "浙江省", "上海市"),
    "京津冀": ("北京市", "天津市", "河北省"),
    "东北三省": ("辽宁省", "吉林省", "黑龙江省"),
    "东三省": ("辽宁省", "吉林省", "黑龙江省"),
    "川渝": ("四川省", "重庆市"),
    "两广": ("广东省", "广西壮族自治区"),
    "两湖": ("湖南省", "湖北省"),
}
MUNICIPALITIES = frozenset(["北京市", "天津市", "上海市", "重庆市"])
# Common names that cannot be derived from the official ones.
_COMMON_NAMES = {
    "故宫": "故宫博物院", "紫禁城": "故宫博物院", "Forbidden City": "故宫博物院",
    "天坛": "天坛公园", "西湖": "杭州西湖风景名胜区", "兵马俑": "秦始皇兵马俑博物馆",
    "秦始皇兵马俑": "秦始皇兵马俑博物馆", "Terracotta Army": "秦始皇兵马俑博物馆",
    "Terracotta Warriors": "秦始皇兵马俑博物馆", "乌镇": "桐乡乌镇古镇旅游区", "Wuzhen": "桐乡乌镇古镇旅游区",
    "Huangshan Mountain": "黄山风景区", "Yellow Mountain": "黄山风景区", "Mount Taishan": "泰山景区",
    "Kanas": "喀纳斯景区", "少林寺": "嵩山少林景区", "黄鹤楼": "黄鹤楼公园", "普陀山": "普陀山风景名胜区",
    "千岛湖": "千岛湖风景名胜区", "Thousand Island Lake": "千岛湖风景名胜区",
}  # fmt: skip
_ETHNIC_GROUPS = "白族|土家族|苗族|藏族|羌族|侗族|布依族|傣族|壮族|朝鲜族|哈萨克|蒙古族?|回族|彝族|黎族"
_AREA_SUFFIX = re.compile(
    r"(?:风景名胜区|风景旅游区|旅游风景区|生态旅游区|文化旅游景区|文化旅游区|休闲旅游区|旅游度假区|"
    r"旅游景区|旅游区|风景区|景区|游览区)$"
)
_STANDALONE_SUFFIX = re.compile(r"[山湖江岛河沟林墟]$")  # last characters that make a name of two a full name
_PART_SUFFIX = re.compile(r"(?:[山湖寺塔阁楼堰峡岛洞关]|故里|古镇)$")  # endings of a part that is a name by itself
_AMBIGUOUS_NAMES = frozenset(["天台山", "桃花源"])  # also names of other areas, after a place name


def short_city(name: str) -> str:
    """Shorten the name of a city: 杭州市 to 杭州, 大理白族自治州 to 大理; "" if too little is left."""
    short = re.sub(rf"(?:市|地区|盟|(?:{_ETHNIC_GROUPS})+自治[州县])$", "", name)
    return short if len(short) > 1 else ""


def short_province(name: str) -> str:
    """Shorten the name of a province: 浙江省 to 浙江, 广西壮族自治区 to 广西."""
    return re.sub(r"(?:省|市|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区)$", "", name)


def area_aliases(areas: Mapping[str, int], place_names: Iterable[str]) -> dict[str, int]:
    """Map shorter names that belong to one area only to its id: 泰山 for 泰山景区, 都江堰 for
    青城山—都江堰旅游景区.

    `place_names` are the names of provinces and cities in any form; none of them is an alias.
    """
    taken = set(place_names)
    ids_by_form: dict[str, set[int]] = defaultdict(set)
    for name, gid in areas.items():
        for form in _short_forms(name):
            ids_by_form[form].add(gid)
    unique = {form: min(gids) for form, gids in ids_by_form.items() if len(gids) == 1}
    aliases = {form: gid for form, gid in unique.items() if form not in taken | _AMBIGUOUS_NAMES and form not in areas}
    return aliases | {form: areas[name] for form, name in _COMMON_NAMES.items() if name in areas}


def names_only_uncovered_places(text: str) -> bool:
    """Return whether a text consists only of names of places of which the tables have no areas, such as
    Paris or 台湾."""
    rest, has_match = f" {text.casefold()} ", False
    words = re.sub(r"[^\w'’.-]+", " ", rest).split()
    for size in (4, 3, 2, 1):  # the longest names first: New South Wales
        for start in range(len(words) - size + 1):
            name = " ".join(words[start : start + size])
            if name in _outside_places() and f" {name} " in rest:
                rest, has_match = rest.replace(f" {name} ", "  "), True
    for name in sorted((n for n in _outside_places() if n > "\u2fff" and n in rest), key=len, reverse=True):
        if name in rest:
            rest, has_match = rest.replace(name, " "), True
    return has_match and not _PLACE_WORDS.sub(" ", rest).strip()


@cache
def _outside_places() -> frozenset[str]:
    """Return the names, in lower case, of foreign countries, regions and cities, and of Chinese places
    that are not in the tables."""
    names = (name for row in data.rows("uncovered.tsv") for name in "|".join(row[2:]).split("|"))
    return frozenset(name.casefold() for name in (*names, *_UNLISTED_PLACES) if len(name) > 1)


_UNLISTED_PLACES = ("香港", "澳门", "台湾", "Hong Kong", "Macau", "Macao", "Taiwan")
_PLACE_WORDS = re.compile(
    r"附近|周边|周围|境内|特别行政区|[省市州县郡区国的]|[^\w\s]|\b(?:the|in|near|around|of|city|state|province|prefecture)\b"
)


def _short_forms(name: str) -> Iterator[str]:
    """Yield the shorter forms of an area's name."""
    plain = re.sub(r"\s*[（(][^）)]*[）)]", "", name).strip()
    if not re.search(r"[\u4e00-\u9fff]", name):
        yield plain
        yield plain.removeprefix("The ")
        return
    stem = _AREA_SUFFIX.sub("", plain)
    if _STANDALONE_SUFFIX.search(stem) or len(stem) > 2:
        yield stem
    for part in re.split(r"[—·]", plain):
        short = _AREA_SUFFIX.sub("", part)
        if len(short) > 2 and _PART_SUFFIX.search(short):
            yield short
