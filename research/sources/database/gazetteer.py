"""What people call places and scenic areas: short names, English names, regions.

Only names that mean one thing are taken in. A name that several areas or cities share is none of either,
so that whoever reads a question is at a loss with it rather than wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from research import data

# Each name is that of all its provinces.
REGIONS = {
    "江浙沪": ("江苏省", "浙江省", "上海市"), "京津冀": ("北京市", "天津市", "河北省"),
    "东北三省": ("辽宁省", "吉林省", "黑龙江省"), "东三省": ("辽宁省", "吉林省", "黑龙江省"),
    "川渝": ("四川省", "重庆市"), "两广": ("广东省", "广西壮族自治区"), "两湖": ("湖南省", "湖北省"),
}  # fmt: skip
MUNICIPALITIES = frozenset(["北京市", "天津市", "上海市", "重庆市"])
# What cannot be told from a name by its form.
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
_STANDALONE_SUFFIX = re.compile(r"[山湖江岛河沟林墟]$")  # a name of two characters that is one by its last
_PART_SUFFIX = re.compile(r"(?:[山湖寺塔阁楼堰峡岛洞关]|故里|古镇)$")  # a part of a name that stands alone
_AMBIGUOUS_NAMES = frozenset(["天台山", "桃花源"])  # which another area has too, after the name of its place


def short_city(name: str) -> str:
    """杭州 of 杭州市, 大理 of 大理白族自治州; "" if too little would be left."""
    short = re.sub(rf"(?:市|地区|盟|(?:{_ETHNIC_GROUPS})+自治[州县])$", "", name)
    return short if len(short) > 1 else ""


def short_province(name: str) -> str:
    """浙江 of 浙江省, 广西 of 广西壮族自治区."""
    return re.sub(r"(?:省|市|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区)$", "", name)


def area_aliases(areas: Mapping[str, int], place_names: Iterable[str]) -> dict[str, int]:
    """Shorter names of areas, each of one area alone: 泰山 of 泰山景区, 都江堰 of 青城山—都江堰旅游景区.

    `places` are the names of provinces and cities in any form: what is one of them is no alias.
    """
    taken = set(place_names)
    found: dict[str, set[int]] = defaultdict(set)
    for name, gid in areas.items():
        for form in _short_forms(name):
            found[form].add(gid)
    alone = {form: min(gids) for form, gids in found.items() if len(gids) == 1}
    out = {form: gid for form, gid in alone.items() if form not in taken | _AMBIGUOUS_NAMES and form not in areas}
    return out | {form: areas[name] for form, name in _COMMON_NAMES.items() if name in areas}


def is_outside(text: str) -> bool:
    """Return whether a text consists only of names of places outside the provinces of the known
    areas."""
    rest, found = f" {text.casefold()} ", False
    words = re.sub(r"[^\w'’.-]+", " ", rest).split()
    for size in (4, 3, 2, 1):  # the longest names first: New South Wales
        for at in range(len(words) - size + 1):
            name = " ".join(words[at : at + size])
            if name in _outside_places() and f" {name} " in rest:
                rest, found = rest.replace(f" {name} ", "  "), True
    for name in sorted((n for n in _outside_places() if n > "\u2fff" and n in rest), key=len, reverse=True):  # fmt: skip
        if name in rest:
            rest, found = rest.replace(name, " "), True
    return found and not _PLACE_WORDS.sub(" ", rest).strip()


@cache
def _outside_places() -> frozenset[str]:
    """Countries, regions and cities abroad, and what China's table of areas does not have."""
    named = (name for row in data.rows("uncovered.tsv") for name in "|".join(row[2:]).split("|"))
    return frozenset(name.casefold() for name in (*named, *_NOT_LISTED) if len(name) > 1)


_NOT_LISTED = ("香港", "澳门", "台湾", "Hong Kong", "Macau", "Macao", "Taiwan")
_PLACE_WORDS = re.compile(
    r"附近|周边|周围|境内|特别行政区|[省市州县郡区国的]|[^\w\s]|\b(?:the|in|near|around|of|city|state|province|prefecture)\b"
)


def _short_forms(name: str) -> Iterator[str]:
    plain = re.sub(r"\s*[（(][^）)]*[）)]", "", name).strip()
    if not re.search(r"[\u4e00-\u9fff]", name):
        yield plain
        yield plain.removeprefix("The ")
        return
    whole = _AREA_SUFFIX.sub("", plain)
    if _STANDALONE_SUFFIX.search(whole) or len(whole) > 2:
        yield whole
    for part in re.split(r"[—·]", plain):
        short = _AREA_SUFFIX.sub("", part)
        if len(short) > 2 and _PART_SUFFIX.search(short):
            yield short
