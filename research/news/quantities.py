"""Numbers with their units in headlines and sentences, in both languages.

Knows nothing of stories. 1.2万人, 12,000 people and "twelve thousand people" are one quantity; a number
written as a word counts only where a unit follows, so that 三明市 and "one" stay words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

# Units as they are compared, each with its spellings. What is no unit here is compared by its own word.
_UNITS = {
    "%": "% percent pct per-cent 个百分点 百分点 percentage-point percentage-points",
    "bp": "个基点 基点 basis-point basis-points bps",
    "people": "人 名 人次 位 例 死 伤 people persons person passengers passenger visitors tourists residents"
    " workers employees staff migrants patients miners children students travellers cases",
    "yuan": "元 元人民币 人民币 块 yuan renminbi rmb",
    "usd": "美元 dollars dollar usd",
    "eur": "欧元 euros euro",
    "hkd": "港元 港币",
    "jpy": "日元 yen",
    "gbp": "英镑 pounds sterling",
    "year": "年 years year",
    "calendar year": "年度",
    "day": "天 days day",
    "hour": "小时 个小时 hours hour",
    "minute": "分钟 minutes minute",
    "week": "周 weeks week",
    "span of months": "个月 months",
    "month": "月 月份",
    "date": "日 号",
    "quarter": "季度 季",
    "magnitude": "级 magnitude -magnitude",
    "line": "号线",
    "edition": "届",
    "age": "岁",
    "degree": "度 ℃ °c °f degrees",
    "km": "公里 千米 km kilometres kilometers",
    "mile": "miles mile",
    "m": "米 metres meters",
    "mm": "毫米 mm",
    "hectare": "公顷 hectares",
    "tonne": "吨 tonnes tons",
    "kg": "公斤 千克 kg",
    "barrel": "桶 barrels bpd",
    "vehicle": "辆 辆车 cars vehicles",
    "flight": "架次 班 flights",
    "home": "户 homes households",
    "job": "个岗位 岗位 jobs posts",
    "point": "点 points",
    "goal": "球 goals goal",
    "seat": "席 seats",
    "site": "处 个 家 座 所 条 项 款 件 只 枚 台 部 艘 场 次 起 轮 批 期 分 集 班次",
}  # fmt: skip
_KIND = {word.replace("-", " ") if word[0] != "-" else word: unit for unit, words in _UNITS.items() for word in words.split()}  # fmt: skip
_OWN = frozenset(_UNITS["site"].split())  # measure words: each is a unit of its own
_SCALE = {"万亿": 10**12, "千亿": 10**11, "百亿": 10**10, "十亿": 10**9, "亿": 10**8, "千万": 10**7}
_SCALE |= {"百万": 10**6, "十万": 10**5, "万": 10**4, "千": 10**3, "百": 10**2}
_SCALE |= {"trillion": 10**12, "tn": 10**12, "billion": 10**9, "bn": 10**9, "b": 10**9}
_SCALE |= {"million": 10**6, "mn": 10**6, "m": 10**6, "thousand": 10**3, "k": 10**3, "hundred": 100}
_MONEY = {
    "$": "usd",
    "us$": "usd",
    "¥": "yuan",
    "rmb": "yuan",
    "€": "eur",
    "£": "gbp",
    "hk$": "hkd",
}
_DIGIT = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_TENS = {"十": 10, "百": 100, "千": 1000}
_NUMBER_WORDS = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
_WORDS = _NUMBER_WORDS.split()
_SPOKEN = {word: value for value, word in enumerate(_WORDS, 2)} | {"one": 1, "dozen": 12}
_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4, "一": 1, "二": 2, "三": 3, "四": 4}
_MONTHS = """
january february march april may june july august september october november december
"""
_CALENDAR = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_SHORT = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9}
_SHORT |= {"oct": 10, "nov": 11, "dec": 12}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_ABOUT = r"(?:about|around|nearly|almost|over|above|at least|more than|up to|some|roughly|约|近|超过|超|逾|至少|将近|突破|破|大约|最多|累计)"  # fmt: skip
_AFTER = r"(?:多|余|以上|左右|plus\b|\+)"
_UNIT_ZH = "|".join(sorted((re.escape(u) for u in _KIND if not u.isascii()), key=len, reverse=True))
_UNIT_EN = "|".join(sorted((re.escape(u) for u in _KIND if u.isascii() and u[0].isalpha()), key=len, reverse=True))  # fmt: skip
_NUMBER = re.compile(
    rf"(?P<about>{_ABOUT}\s*)?"
    r"(?:(?P<money>us\$|hk\$|rmb|[$¥€£])\s?|(?<![a-z\d.])(?<![a-z]-))"
    r"(?P<figure>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<some>{_AFTER})?\s?"
    r"(?P<scale>万亿|千亿|百亿|十亿|亿|千万|百万|十万|万|千|百|trillion\b|billion\b|million\b|thousand\b|(?:tn|bn|mn|[mkb])\b)?"
    rf"(?P<more>{_AFTER})?"
    rf"(?P<unit>\s?%|\s?°[cf]|-magnitude|[\s-]?(?:{_UNIT_EN})\b|\s?(?:{_UNIT_ZH}))?"
    r"(?:份)?",
    re.IGNORECASE,
)
_HAN_NUMBER = re.compile(
    rf"(?P<about>{_ABOUT})?(?P<figure>[一二三四五六七八九两十百千零〇]+)(?P<scale>万亿|亿|万)?"
    rf"(?P<some>{_AFTER})?(?P<unit>{_UNIT_ZH})(?=[^市县]|$)"
)
_SAID = re.compile(
    rf"\b(?P<about>{_ABOUT} )?(?P<figure>{'|'.join(_SPOKEN)})(?P<scale> (?:hundred|thousand|million|billion))?"
    rf"(?: (?P<unit>{_UNIT_EN})\b| (?=killed|dead|die|died|injured|hurt|missing|wounded|rescued|arrested))",
    re.IGNORECASE,
)
_SCORE = re.compile(
    r"(?<![\d.:-])(\d{1,3})\s?([-–—:：比])\s?(\d{1,3})(?![\d.:-]|\s?(?:月|日|年|岁|%))"
)
_QUARTER = re.compile(r"第?([一二三四1-4])季度|\bq([1-4])\b|\b(first|second|third|fourth)[ -]quarter\b", re.I)  # fmt: skip
_HALF = re.compile(r"(上|下)半年|\bh([12])\b|\b(first|second) half\b", re.IGNORECASE)
_UNTIL = re.compile(r"前(\d{1,2}|[一二三四五六七八九十两]+)(?:个)?(月|季度)")
_MONTH = re.compile(rf"\b({'|'.join(_CALENDAR)}|{'|'.join(_SHORT)})\b\.?(?:\s(\d{{1,2}})(?!\d|[,.]\d|\s?%))?", re.I)  # fmt: skip
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|\b(mon|tues|wednes|thurs|fri|satur|sun)day\b", re.I)  # fmt: skip
_YEAR = re.compile(r"(?<![\d.,$¥€£])((?:19|20)\d{2})(?:年(?!前|后|来|间)|(?![\d.,%]|\s?[\w%]))|\b(?:in|of|since|by|for|until) ((?:19|20)\d{2})\b")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it stands in a text, `start` to `end` in characters.

    `value` counts `unit`s. `step` is the value of the last digit that is written: 12 for 1.2万 has a
    step of 1,000. `about` says that the text calls it a bound or an estimate.
    """

    value: Decimal
    unit: str
    step: Decimal
    about: bool
    start: int
    end: int
    spelling: str


def agrees(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities of one unit may be one figure: equal, the one rounded to the other's
    last digit, or within a tenth of each other where one is called a bound or an estimate."""
    gap = abs(one.value - other.value)
    if not gap:
        return True
    if one.about or other.about:
        return gap * 10 <= max(abs(one.value), abs(other.value))
    if one.step == other.step:
        return False
    return gap * 2 <= max(one.step, other.step)


@lru_cache(20_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of a text in the order in which they stand; each character counts once.

    Offsets are those of the text after NFKC and in lower case where that keeps its length.
    """
    folded = plain(text)
    found: list[Quantity] = []
    taken = [False] * (len(folded) + 1)

    def keep(start: int, end: int, *quantity: Quantity) -> None:
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            found.extend(quantity)

    for match in _YEAR.finditer(folded):
        start, end = match.span(1 if match[1] else 2)
        keep(start, match.end(), _plain_number(match[1] or match[2], "calendar year", start, end, folded))  # fmt: skip
    for match in _UNTIL.finditer(folded):
        unit = "until month" if match[2] == "月" else "until quarter"
        keep(*match.span(), _of(match, _han(match[1]), unit))
    for match in _QUARTER.finditer(folded):
        said = (match[1] or match[2] or match[3]).lower()
        keep(*match.span(), _of(match, int(_ORDINAL.get(said, 0) or said), "quarter"))
    for match in _HALF.finditer(folded):
        late = (match[1] or match[2] or match[3]) in ("下", "2", "second")
        keep(*match.span(), _of(match, 1 + late, "half"))
    for match in _MONTH.finditer(folded):
        if match[1] in ("may", "mar") and not match[2]:  # also words of other meaning
            continue
        month = _of(match, _CALENDAR.get(match[1]) or _SHORT[match[1]], "month")
        days = [_of(match, int(match[2]), "date")] if match[2] else []
        keep(*match.span(), month, *days)
    for match in _WEEKDAY.finditer(folded):
        said = match[1] or match[2]
        index = "一二三四五六日".find(said) if match[1] else _WEEKDAYS.index(said[:3])
        keep(*match.span(), _of(match, 6 if index < 0 else index, "weekday"))
    for match in _SCORE.finditer(folded):
        if _is_score(match):
            high, low = sorted((int(match[1]), int(match[3])), reverse=True)
            keep(*match.span(), _of(match, high * 1000 + low, "score"))
    for match in _NUMBER.finditer(folded):
        keep(match.start("figure"), match.end(), _numbered(match, folded))
    for match in _HAN_NUMBER.finditer(folded):
        if _certain(match, folded):
            keep(*match.span(), _measured(match, Decimal(_han(match["figure"]))))
    for match in _SAID.finditer(folded):
        keep(*match.span(), _measured(match, Decimal(_SPOKEN[match["figure"]])))
    return tuple(sorted(found, key=lambda q: (q.start, q.unit)))


def plain(text: str) -> str:
    """NFKC and lower case: the text that offsets of quantities count in."""
    return unicodedata.normalize("NFKC", text).lower()


def _of(match: re.Match[str], value: int, unit: str) -> Quantity:
    return Quantity(Decimal(value), unit, Decimal(1), False, *match.span(), match[0])


def _plain_number(said: str, unit: str, start: int, end: int, text: str) -> Quantity:
    return Quantity(Decimal(said), unit, Decimal(1), False, start, end, text[start:end])


def _is_score(match: re.Match[str]) -> bool:
    """3-1 and 3比1 are scores; 10-12 may be a range, 08:30 is a time of day."""
    low = min(int(match[1]), int(match[3]))
    if match[2] == "比":
        return True
    return low < 10 and not match[1].startswith("0") and not (match[2] in ":：" and len(match[3]) == 2 and low > 5)  # fmt: skip


def _han(said: str) -> int:
    """一百二十 is 120; 二〇二六 is 2026."""
    if said.isdecimal():
        return int(said)
    if not set(said) & set(_TENS):
        return int("".join(str(_DIGIT[char]) for char in said))
    total, digit = 0, 0
    for char in said:
        if char in _TENS:
            total += (digit or 1) * _TENS[char]
            digit = 0
        else:
            digit = _DIGIT[char]
    return total + digit


def _certain(match: re.Match[str], text: str) -> bool:
    """Whether Chinese numerals are a number: 三十五人 is, 一次 and 三季 may be anything."""
    strong = match["unit"] in ("人", "名", "岁", "届", "级", "例", "天", "个月", "号线", "家", "辆", "元", "年", "场", "小时")  # fmt: skip
    before = (
        text[match.start("figure") - 1 : match.start("figure")] if match.start("figure") else ""
    )
    vague = match["figure"] in ("一", "千", "百", "十") and not match["scale"]
    return (len(match["figure"]) > 1 or strong) and not vague and before not in ("第", "几", "数", "周", "初", "不", "星", "其", "之")  # fmt: skip


def _measured(match: re.Match[str], value: Decimal) -> Quantity:
    groups = match.groupdict()
    scale = Decimal(_SCALE.get((groups.get("scale") or "").strip(), 1))
    unit = _unit((groups.get("unit") or "").strip()) or "people"
    about = bool(groups.get("about") or groups.get("some"))
    return Quantity(value * scale, unit, scale, about, *match.span(), match[0].strip())


def _numbered(match: re.Match[str], text: str) -> Quantity:
    figure = match["figure"].replace(",", "")
    scale = Decimal(_SCALE.get((match["scale"] or "").strip().lower(), 1))
    places = len(figure.partition(".")[2])
    unit = _unit((match["unit"] or "").strip())
    if match["money"]:
        unit = _MONEY[match["money"].lower()]
    if unit == "magnitude" and not re.search("震|quake|magnitude", text):
        unit = "level"  # of wind, of an alert
    about = bool(match["about"] or match["some"] or match["more"])
    return Quantity(
        Decimal(figure) * scale,
        unit or _neighbour(text, match),
        scale.scaleb(-places),
        about,
        match.start(),
        match.start() + len(match[0].rstrip()),
        match[0].strip(),
    )


def _unit(said: str) -> str:
    said = re.sub(r"^-(?!magnitude)", "", said.lower())
    return said if said in _OWN else _KIND.get(said, "")


def _neighbour(text: str, match: re.Match[str]) -> str:
    """What a number without a known unit counts or numbers: the word after it, or before it."""
    before = text[: match.start("figure")]
    if _HARMED.match(" " + text[match.end() :].lstrip()) or _HARMS.search(before):
        return "people"
    named = re.search(r"([a-z]+)[ -]?$", before)
    if re.search(r"magnitude[ -](?:of )?$|里氏$", before):
        return "magnitude"
    after = re.match(r"[ -]?([a-z]{3,}|[\u4e00-\u9fff])", text[match.end() :])
    if named and named[1] not in _NO_NAMES:
        return f"of {named[1]}"
    return f"as {after[1].rstrip('s')}" if after else ""


_HARMED = re.compile(
    r" (?:killed|dead|die[sd]?|injured|hurt|missing|wounded|rescued|evacuated|arrested)\b"
)
_HARMS = re.compile(
    r"\b(?:kill|injure|wound|claim|rescue|arrest)(?:s|ed|ing|d)? (?:at least |about )?$"
)
_NO_NAME_WORDS = """
to by at of in on for from the a an and or with after as than over under about least up down
is was are kill kills killed injure injures injured hurt hit hits rise rises rose fall falls
fell gain gains top tops raise raises raised cut cuts lose loses some near nearly reach
reaches reached cancel cancels cancelled
"""
_NO_NAMES = frozenset(_NO_NAME_WORDS.split())


def clash(one: Iterable[Quantity], other: Iterable[Quantity]) -> frozenset[str]:
    """The units in which two texts both have figures, none of which agrees with any of the other's."""
    mine: dict[str, list[Quantity]] = {}
    theirs: dict[str, list[Quantity]] = {}
    for side, found in ((mine, one), (theirs, other)):
        for quantity in found:
            side.setdefault(quantity.unit, []).append(quantity)
    return frozenset(
        unit
        for unit in mine.keys() & theirs.keys()
        if not any(agrees(a, b) for a in mine[unit] for b in theirs[unit])
    )
