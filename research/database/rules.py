"""Questions on scenic areas to SQL by rules, in Chinese and English: the common shapes and no others.

A question is read piece by piece, and every piece that was understood is taken out of it. What is left
must be words that mean nothing here (的, please); if anything else is left, the rules say what they did
not understand and answer nothing. So they can be at a loss, but not wrong in silence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from research import data
from research.database.asking import (
    FIRST,
    SIGN,
    Asked,
    Interpretation,
    NotHeld,
    NotUnderstood,
    Vocabulary,
)
from research.database.gazetteer import (
    MUNICIPALITIES,
    REGIONS,
    is_elsewhere,
    short_city,
    short_province,
)
from research.database.statements import built
from research.language import numbers
from research.language.hanzi import simplified
from research.language.text import language
from research.language.units import either, factor, spelled
from research.readable import CITIES_EN, PROVINCES_EN

NEAREST = 10  # if nobody says how many
_LENGTH = rf"({spelled('length')})(?![a-z])"
_N_EN = rf"(?:\d+|{either(numbers.SPOKEN)})"
_AREA_NOUN = r"(?:5A级?|AAAAA级?|旅游|风景|的|名胜|景区|景点)"


def read(question: str, words: Vocabulary) -> Interpretation:
    """A question as SQL over `a_sight` and `tourist_spot`.

    Raises:
        NotUnderstood: it is none of the known shapes, or has more in it than these.
        NotHeld: it is about areas of another level, or in places that have none.
    """
    try:
        return _read(question, words)
    except NotUnderstood as lost:
        lost.holds = (len(words.called), len(words.provinces))
        raise


def _read(question: str, words: Vocabulary) -> Interpretation:
    text = simplified(unicodedata.normalize("NFKC", question))
    if re.search(SIGN, text):
        raise NotUnderstood(question)
    text = " ".join(text.split()).strip(" ?？。.!！")
    text = re.sub(rf"[{numbers.DIGIT}]{{4}}(?=\s*年)", lambda year: f"{_value(year[0]):g}", text)
    asked = Asked(text, f" {text} ", language(text))
    _never(asked)
    _named(asked)
    _names(asked, words)
    if re.search(rf"{SIGN}.*\?.*{SIGN}|\?.*呢", asked.text):
        raise NotUnderstood(asked.whole)  # two questions
    _places(asked)
    _prefixes(asked, words)
    _joined(asked, words)
    for rule in (
        _distance, _years, _tickets, _groups, _orders, _limits, _intents, _columns,
    ):  # fmt: skip
        rule(asked)
    if rest := _rest(asked):
        raise NotHeld(rest) if is_elsewhere(rest) else asked.lost(rest)
    return built(asked, words)


_OTHER_LEVEL = re.compile(
    r"(?<![A-Za-z0-9.])(?:[0-46-9]|[1-9]\d)\s?-?A级?(?![A-Za-z0-9])|"
    r"[一二三四六七八九两]\s?个?A级?(?![A-Za-z0-9])|"
    r"(?<![A-Za-z])(?:A{2,4}|A{6,})级?(?![A-Za-z])|(?<![A-Za-z\d一二三四五六七八九])A(?:级|[ -](?:level|grade|rated)\b)"
)


def _never(asked: Asked) -> None:
    """What the tables cannot tell, though its words mean nothing by themselves."""
    if level := _OTHER_LEVEL.search(asked.text):
        raise NotHeld(level[0].strip())
    other = (
        r"为什么|为何|怎么|怎样|如何|(?<![a-z])why(?![a-z])|什么是|是什么|(?<![a-z])what(?:'s| is| are) an? |"
        r"国家(?:级|重点)+风景名胜区"
    )
    if match := re.search(other, asked.text, re.I):
        raise NotUnderstood(match[0].strip())
    if re.search(r"(?<![a-z])national(?!\s+5A)", asked.text, re.I):
        raise NotUnderstood("national")
    union = rf"(?:和|以及|与|及|或者?|(?<![a-z])(?:and|or|plus)(?![a-z]))\s*(?:the |all |those )?{_AREA_NOUN}*(?:scenic |5A )*(?:景区|景点|areas|sights|sites|attractions|spots)"
    if match := re.search(union, asked.text, re.I):
        raise NotUnderstood(match[0].strip())  # these and those: not what is both


# What is named


def _named(asked: Asked) -> None:
    """Areas with a word in their names. Before names are looked for, which the word may be one of."""
    word = r"[“\"「『'‘]?([\u4e00-\u9fff]{1,6}?)[”\"」』'’]?"
    match = re.search(rf"(?:景区)?名(?:字|称)?(?:里面|里|中)?(?:带有?|含有?|包含|包括|有)\s*{word}\s*字?(?=的|\s|$)", asked.text)  # fmt: skip
    match = match or re.search(
        rf"(?:whose|with)?\s*(?:chinese )?names? (?:contains?|containing|includes?|including)\s+(?:the character )?{word}(?=\s|$)",
        asked.text,
        re.I,
    )
    if match:
        if re.search(r"[个多少数或和与及没不无又几]", match[1]):
            raise NotUnderstood(match[0].strip())
        test = f"s.name LIKE '%{match[1]}%'"
        asked.conditions.append(
            (test, asked.say(f"名称含“{match[1]}”", f"with {match[1]} in their names"))
        )
    else:
        match = re.search(
            r"with (?:the word )?[\"'“‘]?([a-z]{3,20})[\"'”’]? in (?:the|their|its) (?:english )?names?(?![a-z])",
            asked.text,
            re.I,
        )
        if not match:
            return
        test = f"s.name_en LIKE '%{match[1]}%'"
        asked.conditions.append((test, f"with “{match[1]}” in their English names"))
    asked.text = f"{asked.text[: match.start()]} {asked.text[match.end() :]}"


def _names(asked: Asked, words: Vocabulary) -> None:
    """Areas, cities and provinces, the longest names before the others: 黄山市 is no 黄山. Each
    becomes a sign in the text."""
    forms: list[tuple[str, int, tuple[str, ...]]] = []
    forms += [(name, 0, (str(gid),)) for name, gid in {**words.shorter, **words.areas}.items()]
    short = {short_province(name) for name in words.provinces}
    for name in words.provinces:
        spelt = (name, short_province(name), PROVINCES_EN.get(name, ""))
        forms += [(form, 1, (name,)) for form in spelt if form]
    forms += [(name, 1, of) for name, of in REGIONS.items() if set(of) <= set(words.provinces)]
    several: dict[str, set[str]] = {}
    for name in words.cities:
        if name in words.provinces:
            continue  # 北京市 is both; as a province it has all of it
        spelt = (name, short_city(name), CITIES_EN.get(name, ""))
        for form in filter(None, spelt):
            if form not in short:
                several.setdefault(form, set()).add(name)
    forms += [(form, 2, tuple(sorted(of))) for form, of in several.items()]
    bare = "".join(asked.text.split()).lower()
    there = [item for item in forms if "".join(item[0].split()).lower() in bare]
    for form, kind, of in sorted(there, key=lambda item: (-len(item[0]), item[1])):
        after = {0: "", 1: r"(?:\s+province)?", 2: r"(?:\s+city)?"}[kind]
        if kind == 1 and of[0] in MUNICIPALITIES:
            after = r"(?:\s+city|市)?"
        while match := re.search(_exactly(form) + after, asked.text, re.I):
            if kind == 2 and len(of) > 1:
                raise NotUnderstood(form)  # two cities are written so
            asked.text = (
                f"{asked.text[: match.start()]}{chr(FIRST + len(asked.names))}"
                f"{asked.text[match.end() :]}"
            )
            asked.names.append(match[0])
            asked.kinds.append((kind, of))
    _mountains(asked, words)


def _mountains(asked: Asked, words: Vocabulary) -> None:
    """黄山 is a city and a mountain: the mountain, where distances or what is known of one area is asked
    for."""
    for number, (kind, _of) in enumerate(asked.kinds):
        area = words.areas.get(f"{asked.names[number]}风景区")
        if kind != 2 or area is None:
            continue
        sign = chr(FIRST + number)
        near = rf"(?:离|距离?|到)\s*{sign}|{sign}\s*(?:附近|周边|周围|方圆)"
        told = (rf"{sign}\s*的?(?:{pattern})" for pattern, _ in _COLUMNS)
        if any(re.search(wording, asked.text, re.I) for wording in (near, *told)):
            asked.kinds[number] = (0, (str(area),))


def _exactly(name: str) -> str:
    """A name as it stands in a text: one in Latin letters only as whole words."""
    form = re.escape(name).replace(r"\ ", r"\s+").replace("'", "['’]")
    return rf"(?<![A-Za-z]){form}(?![A-Za-z])" if not re.search(r"[\u4e00-\u9fff]", name) else form


def _places(asked: Asked) -> None:
    """What the names are for: places to look in, those to leave out, and areas."""
    some = rf"({SIGN}(?:\s*(?:和|与|及|以及|、|,|and|or)?\s*{SIGN})*)"
    out = asked.take(
        rf"除(?:了|去)?\s*{some}\s*(?:市|省)?\s*(?:以外|之外|外)|(?:不在|不是|不属于|不包括|不含|非)\s*{some}\s*(?:的|境内)?"
    ) or asked.take(
        rf"{some}\s*(?:以外|之外)|(?<![a-z])(?:(?:but |that are |which are )*not (?:in|from)|except(?: for| in)?|excluding|outside(?: of)?|other than)\s+{some}"
    )
    left = next((text for text in out.groups() if text), "") if out else ""
    told = [chr(FIRST + number) for number in range(len(asked.kinds))]
    for sign in sorted(told, key=f"{asked.text}{left}".find):
        number = ord(sign) - FIRST
        kind, of = asked.kinds[number]
        if sign in left:
            column = ("s.gid", "s.province", "s.city")[kind]
            asked.without += [(column, name, asked.names[number]) for name in of]
        elif kind == 0:
            asked.areas.append((asked.names[number], int(of[0])))
        else:
            found = asked.provinces if kind == 1 else asked.cities
            found += [name for name in of if name not in found]
    way = rf"(?:从|(?<![a-z])from)\s*{SIGN}\s*(?:到|至|to(?![a-z]))\s*{SIGN}"
    if len(asked.areas) != 2 and re.search(way, asked.text, re.I):
        raise asked.lost(asked.text)  # a way, not two places
    asked.text = re.sub(rf"({SIGN})\s*(?:or|或者?)\s*(?={SIGN})", r"\1、", asked.text)


def _joined(asked: Asked, words: Vocabulary) -> None:
    """Several places: alternatives, or one in the other. What could be both is not understood."""
    if not (asked.provinces and asked.cities):
        return
    names = "、".join([*asked.provinces, *asked.cities])
    if set(asked.provinces) <= MUNICIPALITIES:
        asked.cities = [*asked.provinces, *asked.cities]
        asked.provinces = []
        return
    of = {city: province for province, city in words.where.values()}
    inside = all(of.get(city, asked.provinces[0]) == asked.provinces[0] for city in asked.cities)
    between = rf"{SIGN}\s*(?:和|与|及|以及|、|,|(?<![a-z])and(?![a-z]))\s*{SIGN}"
    many = re.search(between, asked.text, re.I) and not re.search(
        rf"{SIGN}\s*,\s*{SIGN}\s*$", asked.text
    )
    if len(asked.provinces) > 1 or not inside or (many and len(asked.cities) == 1):
        raise NotUnderstood(names)  # both, or one in the other?
    if len(asked.cities) > 1 and many and not re.match(SIGN, asked.text.strip()):
        raise NotUnderstood(names)


def _prefixes(asked: Asked, words: Vocabulary) -> None:
    """杭州西湖 is 西湖, and 沈阳故宫 is not the one in Beijing."""
    for number, (kind, of) in enumerate(asked.kinds):
        before = chr(FIRST + number)
        for other, (also, gids) in enumerate(asked.kinds):
            if not kind or also:
                continue
            area = chr(FIRST + other)
            if re.search(rf"{area}\s*(?:,|in|of)?\s*{before}", asked.text):
                raise asked.lost(asked.text)  # near it, in the city? or it, which is in the city?
            if not re.search(rf"{before}\s*(?:市|省|的)?\s*{area}", asked.text):
                continue
            if of[0] not in words.where.get(int(gids[0]), ()):
                raise NotUnderstood(f"{asked.names[number]}{asked.names[other]}")
            found = asked.provinces if kind == 1 else asked.cities
            if of[0] in found:
                found.remove(of[0])


# Conditions


def _distance(asked: Asked) -> None:
    """Within a distance of an area, the nearest to one, or how far two are from each other."""
    if not asked.areas:
        return
    if len(asked.areas) == 2 and asked.take(
        r"(?:有|相距|之间的?|的)*\s*(?:多远|距离(?:是)?(?:多少(?:公里|千米)?|多远)?|相距(?:多少)?(?:公里|千米)?|多少(?:公里|千米))|"
        r"how far(?: apart)?(?: away)?|(?<![a-z])distance(?![a-z])"
    ):
        asked.take(r"离|距离?|相距|到|至|从")
        asked.take(
            r"(?:多少)?(?:公里|千米)|之间|相距|距离|(?<![a-z])(?:between|apart|away)(?![a-z])"
        )
        asked.take(r"(?<![a-z])to(?![a-z])|到|至|从|离")
        asked.wants.add("distance")
        return
    of = r"(?:away\s+)?(?:of|from|around)?"
    far = (
        asked.take(
            rf"(?:within|less than|under|at most|no more than|up to)\s+(?:a radius of\s+)?({numbers.WRITTEN})\s*{_LENGTH}\s*{of}"
        )
        or asked.take(
            rf"(?:周边|附近|周围|方圆|不超过|小于|少于)?\s*({numbers.WRITTEN})\s*{_LENGTH}\s*(?:以内|之内|范围之?内|范围|内)"
        )
        or asked.take(rf"(?:周边|附近|周围|方圆)\s*({numbers.WRITTEN})\s*{_LENGTH}")
    )
    if far:
        asked.centre = "within"
        asked.radius = _value(far[1]) * factor(far[2], "length") / 1000
        asked.take(r"(?:距离|离|距)")
        asked.take(r"周边|附近|周围|方圆")
    near = asked.take(
        rf"(?:the\s+)?({_N_EN})?\s*(?:nearest|closest)\s*({_N_EN})?(?![a-z\d])"
    ) or asked.take(rf"最近的?\s*({numbers.WRITTEN})?\s*(?:个|家|处|座)?()(?!年)")
    if near:
        asked.take(r"(?:距离|离|距)|(?<![a-z])(?:to|from)(?![a-z])")
        number = near[1] or near[2]
        asked.centre = asked.centre or "nearest"
        asked.limit = int(_value(number)) if number else 0 if far else NEAREST
        if number and not asked.limit:
            raise asked.lost(near[0])
        single = re.search(
            r"(?:nearest|closest)\s+(?:5A\s+)?(?:scenic\s+|tourist\s+)?(?:area|sight|site|attraction|spot|place|one)(?![a-z])",
            asked.whole,
            re.I,
        )
        if not number and (
            asked.take(r"(?:是)?哪(?:一)?(?:个|家|处|座)|(?:what|which) is") or single
        ):
            asked.limit = 1
    if asked.centre:
        asked.take(r"(?:还)?有?(?:别的|其他|其它|另外的?)|(?<![a-z])other(?![a-z])")
        joined = rf"{SIGN}\s*(?:和|与|及|、|,|(?<![a-z])and(?![a-z]))\s*{SIGN}"
        if (asked.provinces or asked.cities) and re.search(joined, asked.text):
            raise asked.lost(asked.text)


def _years(asked: Asked) -> None:
    year = r"((?:19|20)\d\d)"
    verb = r"(?:被)?(?:评定|评为|评上|评选|获评|列为|成为|晋级|晋升|批准|入选|新增|新评|评)(?:为|成|了|上)?的?"
    said = rf"(?:\s*{verb})?"
    rated = r"(?:(?:were |was |been )?(?:rated|added|awarded|listed|new)\s+)?"
    rules: tuple[tuple[str, Callable[[re.Match[str]], tuple[str, str, str]]], ...] = (
        (rf"{year}\s*年?\s*(?:到|至|-|~|—|–)\s*{year}\s*年?(?:之?间|期间)?{said}", _between),
        (rf"{rated}(?:between|from)\s+{year}\s+(?:and|to|until)\s+{year}", _between),
        (rf"{rated}(?:from\s+)?{year}\s*(?:-|~|—|–|to)\s*{year}", _between),
        (rf"{rated}in the {year[:-1]})s", _decade),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以后|之后|以来){said}", _at_least),
        (rf"{rated}in\s+(?:or\s+(?:after|since)\s+{year}|{year}\s+or\s+(?:later|after))", _at_least),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以前|之前){said}", _at_most),
        (rf"{rated}(?:in\s+or\s+before|until|by)\s+{year}", _at_most),
        (rf"{year}\s*年?\s*(?:以后|之后|后(?!半)){said}", _after),
        (rf"{year}\s*年?\s*(?:以前|之前|前(?![后\d])){said}", _before),
        (rf"自?从?{year}\s*年?(?:以|至今|起)来?{said}", _at_least),
        (rf"{rated}since\s+{year}", _at_least),
        (rf"{rated}after\s+{year}", _after),
        (rf"{rated}before\s+{year}", _before),
        (rf"{rated}(?:5A\s+)?(?:in|during)\s+{year}", _in),
        (rf"{year}\s*年(?:度)?{said}", _in),
    )  # fmt: skip
    for pattern, sense in rules:
        if match := asked.take(pattern):
            test, zh, en = sense(match)
            spoken = rf"{verb}|rated|rating|added|awarded|listed|(?<![a-z])new(?![a-z])"
            if sense is _in and not re.search(spoken, asked.whole, re.I):
                asked.year = match[0].strip()
            asked.conditions.append((f"s.year_rated {test}", asked.say(zh, en)))
            asked.take(rf"{verb}(?![a-z])|(?<![a-z])(?:rated|added|awarded|new)(?![a-z])")
            return


def _year(match: re.Match[str]) -> str:
    return next(text for text in match.groups() if text)


def _between(match: re.Match[str]) -> tuple[str, str, str]:
    first, last = sorted((match[1], match[2]))
    told = (f"{first} 至 {last} 年评定", f"rated from {first} to {last}")
    return f"BETWEEN {first} AND {last}", *told


def _decade(match: re.Match[str]) -> tuple[str, str, str]:
    first = int(match[1]) // 10 * 10
    return f"BETWEEN {first} AND {first + 9}", f"{first} 年代评定", f"rated in the {first}s"


def _at_least(match: re.Match[str]) -> tuple[str, str, str]:
    year = _year(match)
    return f">= {year}", f"{year} 年及以后评定", f"rated in or after {year}"


def _at_most(match: re.Match[str]) -> tuple[str, str, str]:
    year = _year(match)
    return f"<= {year}", f"{year} 年及以前评定", f"rated in or before {year}"


def _after(match: re.Match[str]) -> tuple[str, str, str]:
    return f"> {match[1]}", f"{match[1]} 年之后评定", f"rated after {match[1]}"


def _before(match: re.Match[str]) -> tuple[str, str, str]:
    return f"< {match[1]}", f"{match[1]} 年之前评定", f"rated before {match[1]}"


def _in(match: re.Match[str]) -> tuple[str, str, str]:
    return f"= {match[1]}", f"{match[1]} 年评定", f"rated in {match[1]}"


def _tickets(asked: Asked) -> None:
    unit = rf"(?:{spelled('yuan')})钱?"
    ticket = r"(?:with\s+(?:a\s+)?)?(?:门票|票价|tickets?(?: prices?)?)?(?:价格|费用)?\s*(?:is|are|cost(?:s|ing)?|在|为|是)?\s*"
    rules = (
        (rf"{ticket}({numbers.WRITTEN})\s*{unit}\s*(?:以下|以内|之内|及以下|or less|or under)", "<="),
        (rf"{ticket}({numbers.WRITTEN})\s*{unit}\s*(?:以上|及以上|or more)", ">="),
        (rf"{ticket}(?:不超过|不高于|最多|at most|no more than|up to)\s*({numbers.WRITTEN})\s*{unit}", "<="),
        (rf"{ticket}(?:低于|少于|小于|不到|under|below|less than|cheaper than)\s*({numbers.WRITTEN})\s*{unit}", "<"),
        (rf"{ticket}(?:高于|超过|大于|多于|over|above|more than|more expensive than)\s*({numbers.WRITTEN})\s*{unit}", ">"),
        (rf"{ticket}(?:不低于|不少于|至少|at least)\s*({numbers.WRITTEN})\s*{unit}", ">="),
    )  # fmt: skip
    words = {
        "<=": ("不超过", "of at most"),
        ">=": ("不低于", "of at least"),
        "<": ("低于", "under"),
        ">": ("高于", "over"),
    }
    range_ = asked.take(
        rf"{ticket}(?:between\s+|from\s+)?({numbers.WRITTEN})\s*(?:{unit})?\s*(?:到|至|-|~|—|–|and|to)\s*({numbers.WRITTEN})\s*{unit}(?:之间|的)?"
    )
    if range_:
        least, most = sorted((_value(range_[1]), _value(range_[2])))
        zh, en = f"门票 {least:g} 至 {most:g} 元", f"with tickets from {least:g} to {most:g} yuan"
        _spent(asked, f"BETWEEN {least:g} AND {most:g}", zh, en)
        return
    for pattern, sign in rules:
        if match := asked.take(pattern):
            number, (zh, en) = f"{_value(match[1]):g}", words[sign]
            _spent(asked, f"{sign} {number}", f"门票{zh} {number} 元", f"with tickets {en} {number} yuan")  # fmt: skip
            return
    if asked.take(
        r"(?:门票)?(?:免费|免票|不要门票|不收门票|不收费)(?:开放|入园|参观)?"
    ) or asked.take(
        r"(?<![a-z])(?:that are |with (?:a )?)?free(?: of charge| admission| entry| tickets?| to enter| to visit)?(?![a-z-])"
    ):
        _spent(asked, "= 0", "免费", "that are free")
        return
    if asked.take(r"(?:需)?要(?:买)?门票|(?:要|需要?)?收费|收门票") or asked.take(
        r"(?<![a-z])(?:paid(?: entry| admission)?|that (?:charge|are not free)|charging)(?![a-z])"
    ):
        _spent(asked, "> 0", "收费", "that charge for entry")


def _spent(asked: Asked, test: str, zh: str, en: str) -> None:
    if not (test == "= 0" and asked.areas and not asked.centre):  # 故宫免费吗: the price tells
        asked.conditions.append((f"t.ticket_cny {test}", asked.say(zh, en)))
    asked.details = True
    asked.columns += ["t.ticket_cny", "t.ticket_year"]


# What is wanted

_KINDS = {
    "s.province": (r"省(?:份|市|区)*", r"provinces?"),
    "s.city": (r"(?:城市|地级市|市)", r"cit(?:y|ies)"),
    "s.year_rated": (r"年(?:份)?", r"years?"),
}
_MOST = {"最多": "MAX", "最少": "MIN", "most": "MAX", "fewest": "MIN", "least": "MIN", "top": "MAX", "bottom": "MIN"}  # fmt: skip
_SIGNS = {
    "超过": ">", "多于": ">", "大于": ">", "高于": ">", "more than": ">", "over": ">",
    "不少于": ">=", "至少": ">=", "不低于": ">=", "at least": ">=", "no fewer than": ">=",
    "少于": "<", "不到": "<", "低于": "<", "小于": "<", "fewer than": "<", "less than": "<", "under": "<",
    "不超过": "<=", "至多": "<=", "at most": "<=", "no more than": "<=",
}  # fmt: skip


def _groups(asked: Asked) -> None:
    if asked.areas and not asked.centre:
        return  # 故宫是哪一年评的: a column of one area
    if _having(asked) or _most(asked) or _each(asked):
        return
    single = {
        "s.province": r"(?:每个?|各个?|按|分)省(?:份|市|区)*(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+province",
        "s.city": r"(?:每个?|各个?|按)(?:城)?市(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+city",
        "s.year_rated": r"(?:每一?年|各年|按年份?(?:统计|分组)?|逐年)|(?:by|per|each|every|in each|for each)\s+year",
    }
    for column, pattern in single.items():
        if asked.take(pattern):
            listed = re.search(
                r"名单|清单|列表|列出来?|列举|有?哪些|(?<![a-z])(?:list|show|which)(?![a-z])",
                asked.text,
                re.I,
            )
            counted = re.search(r"数量|多少|几|总数|统计|how many|number|count", asked.whole, re.I)
            if listed and not counted and column != "s.year_rated":
                return  # which is how a list is ordered anyhow
            asked.group = column
            asked.wants.add("count")
            asked.take(r"(?:数量|个数)?的?(?:排名|排行榜?|排序)|(?<![a-z])ranked(?![a-z])")
            if column == "s.year_rated":
                asked.take(r"新增(?:了)?|新评|(?<![a-z])(?:added|new)(?![a-z])")
            return


def _having(asked: Asked) -> bool:
    """哪些省超过 15 个: the groups that have so many."""
    zh, en = [f"(?:{'|'.join(kinds)})" for kinds in zip(*list(_KINDS.values())[:2], strict=True)]
    signs = sorted(_SIGNS, key=len, reverse=True)
    match = asked.take(
        rf"(?:which\s+)?({en})\s+(?:with|have|having|that have|has)\s+({'|'.join(s for s in signs if s.isascii())})\s+({_N_EN})(?![a-z\d]|\s*(?:yuan|km|元))"
    )
    if match:
        kind, sign, number = match.groups()
    else:
        said = rf"({'|'.join(s for s in signs if not s.isascii())})\s*({numbers.WRITTEN})\s*(?:个|家|处|座)(?:以上)?"
        found = re.search(said, asked.text)
        where = found and re.search(
            rf"(?:哪些|哪几个|(?<=的)|有)({zh})(?![a-z])|(?<=\s)({zh})(?=\s*$)", asked.text
        )
        if not found or not where:
            return False
        asked.take(said)
        asked.take(rf"(?:哪些|哪几个|(?<=的)|有)({zh})|(?<=\s)({zh})(?=\s*$)")
        asked.take(r"数量|个数|数")
        kind, (sign, number) = where[1] or where[2], (found[1], found[2])
    asked.group = _kind(kind)
    asked.having = (_SIGNS[sign.lower()], f"{_value(number):g}")
    asked.wants.add("count")
    return True


def _most(asked: Asked) -> bool:
    """The groups with the most or the fewest areas, and so many of them."""
    for column, (zh, en) in _KINDS.items():
        found = (
            asked.take(rf"(?<![a-z])rank(?:ing of)?\s+()()(?:the\s+|all\s+|chinese\s+)*{en}\s+by\s+(?:their\s+|the\s+)?(?:number|count)(?:\s+of)?(?![a-z])")
            or asked.take(rf"(?<![a-z])(top|bottom)\s+({_N_EN})\s+{en}(?:\s+(?:by|with|in)\s+(?:the\s+)?(?:most\s+)?(?:5A\s+)?(?:number|count|numbers)?)?(?![a-z])")
            or asked.take(rf"(?:which\s+|the\s+)?()({_N_EN})?\s*{en}\s+(?:that\s+)?(?:has|have|had|with)\s+(?:the\s+)?(most|fewest|least)(?:\s+number of)?(?![a-z]|\s+expensive)")
        )  # fmt: skip
        if named := asked.take(rf"(最[多少])的?\s*前?\s*({numbers.WRITTEN})\s*(?:个|名)?\s*{zh}"):
            word, asked.limit = named[1], int(_value(named[2]))
        elif found:
            word = next((text for text in found.groups() if text and text.lower() in _MOST), "most")
            asked.limit = int(_value(found[2])) if found[2] else 0
        else:
            which = rf"哪(?:一)?(?:个|座)?{zh}|(?<!每个)(?<!各){zh}(?:是)?哪(?:一|里|些)?个?|(?<=最多的){zh}|(?<=最少的){zh}"
            said = re.search(r"最[多少](?!\s*\d)", asked.text)
            if not said or not re.search(which, asked.text):
                continue
            asked.take(which)
            word = said[0]
            asked.take(rf"{word}的?\s*(?:前\s*)?({numbers.WRITTEN})?\s*(?:个|名)?")
        asked.group = column
        asked.wants.add("count")
        order = _MOST[word.lower()]
        asked.order = (order, "n", "")
        asked.take(r"数量|个数")
        return True
    if match := re.search(rf"(?<![a-z])which\s+(?:{'|'.join(en for _, en in _KINDS.values())})|哪(?:一)?(?:个|座)(?:城?市|省)", asked.text, re.I):  # fmt: skip
        raise asked.lost(match[0])
    return False


def _each(asked: Asked) -> bool:
    """杭州和苏州各有多少: one count for each of the places that were named."""
    places = asked.provinces or asked.cities
    if len(places) < 2 or asked.without or asked.areas:
        return False
    said = asked.take(
        r"分别有?|各自?(?=有)|对比|比较|(?<![a-z])(?:compare(?:d)?|vs\.?|versus|respectively)(?![a-z])"
    ) or asked.take(r"(?<=how many)\s+each|(?<![a-z])(?:in\s+)?each(?:\s+of)?(?![a-z])")
    if not said:
        return False
    counted = re.search(r"多少|几|数量|个数|how many|number|count", asked.whole, re.I)
    if not counted:
        raise asked.lost(said[0])
    asked.group = "s.province" if asked.provinces else "s.city"
    asked.wants.add("count")
    return True


def _kind(said: str) -> str:
    return next(
        column
        for column, (zh, en) in _KINDS.items()
        if re.fullmatch(zh, said) or re.fullmatch(en, said, re.I)
    )


def _orders(asked: Asked) -> None:
    if asked.centre == "nearest":
        return
    _sorted(asked)
    ticket = "t.ticket_cny"
    for zh, en, order, said_zh, said_en in data.rows("sight_orders.tsv"):
        column = order.partition(" ")[0]
        if match := asked.take(rf"{zh}|(?<![a-z]){en}(?![a-z])"):
            if asked.order or asked.group or asked.centre:
                raise asked.lost(match[0])  # 每个省最贵的: one of each is another shape
            asked.order = (order, column, asked.say(said_zh, said_en))
            asked.conditions.append((f"{column} IS NOT NULL", ""))
            asked.details = asked.details or column == ticket
            if column == ticket:
                asked.columns += ["t.ticket_cny", "t.ticket_year"]
            asked.take(r"(?<![a-z])lies?(?![a-z])|lying")


def _sorted(asked: Asked) -> None:
    """All of them, in an order; what has no value goes last."""
    down = r"(?:从|由)?(?:高到低|大到小|晚到早|新到旧|贵到便宜)|降序|倒序"
    up = r"(?:从|由)?(?:低到高|小到大|早到晚|旧到新|便宜到贵)|升序"
    match = asked.take(
        rf"按(?:照)?(门票|票价|价格)?(?:价格)?((?:评定)?(?:年份|时间))?的?\s*(?:({down})|{up})?\s*(?:排序|排列|排)?(?=的|列|\s|$|,)"
    )
    if match and (match[1] or match[2]) and re.search("排|到|序", match[0]):
        column, way = "t.ticket_cny" if match[1] else "s.year_rated", " DESC" if match[3] else ""
    elif match:
        raise asked.lost(match[0])
    else:
        english_ways = {
            r"newest first|latest first|most recent first": ("s.year_rated", " DESC"),
            r"oldest first|earliest first": ("s.year_rated", ""),
            r"cheapest first": ("t.ticket_cny", ""),
            r"(?:most expensive|dearest) first": ("t.ticket_cny", " DESC"),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:ticket )?price": ("t.ticket_cny", ""),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:year (?:they|it) (?:got|received|were given|was given) (?:their|its|the) rating|year|rating year|year of rating)": ("s.year_rated", ""),
        }  # fmt: skip
        for pattern, (by, way) in english_ways.items():
            column = by
            if asked.take(rf"(?<![a-z])(?:the )?(?:{pattern})(?![a-z])"):
                if asked.take(r"(?<![a-z])(?:desc|descending)(?![a-z])"):
                    way = " DESC"
                asked.take(r"(?<![a-z])(?:asc|ascending)(?![a-z])")
                break
        else:
            return
    if asked.group or asked.centre:
        raise asked.lost(asked.text)
    asked.order, asked.sorted = (f"{column} IS NULL, {column}{way}", column, ""), True
    asked.details = asked.details or column.startswith("t.")
    if column.startswith("t."):
        asked.columns += ["t.ticket_cny", "t.ticket_year"]


def _limits(asked: Asked) -> None:
    match = (
        asked.take(rf"(?:排名)?前\s*({numbers.WRITTEN})\s*(?:个|名|家|处|座|位)?(?:的)?")
        or asked.take(rf"(?<![a-z])(?:top|first)\s+({_N_EN})(?![a-z\d])")
        or (asked.order and asked.take(rf"({numbers.WRITTEN})\s*(?:个|家|处|座)"))
        or (asked.order and asked.take(rf"(?<![a-z\d.])({_N_EN})(?![a-z\d.])"))
    )
    if match:
        asked.limit = int(_value(match[1]))
        if not asked.limit or (asked.order is None and not asked.group and not asked.centre):
            raise asked.lost(match[0])  # the first by what?


def _intents(asked: Asked) -> None:
    if asked.areas and not asked.centre:  # 门票多少 asks for a price
        asked.take(r"分别|各自")
        asked.text = re.sub(r"(门票|票价)(?:价格)?\s*(?:是|为)?多少钱?", r"\1", asked.text)
    if asked.take(
        r"平均(?:的)?(?:门票|票价)(?:价格?)?|(?:门票|票价)(?:价格?)?的?平均(?:价格?|值|数)?|平均价格?"
    ) or asked.take(
        r"(?:average|mean) (?:ticket )?(?:prices?|tickets?|cost)(?: of (?:a )?tickets?)?"
    ):
        asked.wants.add("average")
        asked.details = True
        asked.take(r"(?:是)?多少钱?|(?<![a-z])what(?:'s| is| are)?(?![a-z])")
        return
    if asked.take(
        r"(?:一共|总共|共)?有?(?:多少|几)\s*(?:个|家|处|座)(?:以上)?|(?:一共|总共)?有?多少(?!钱)|数量(?:是多少)?|总数|个数"
    ) or asked.take(r"how many|(?:the\s+)?(?:total\s+)?number of|counts?(?: of| the)?(?![a-z])"):
        asked.wants.add("count")
        asked.take(r"数量|多少")
    nouns = r"areas|sights|sites|attractions|spots|places|ones"
    if (
        asked.take(r"(?:都|具体)?(?:有|是)?(?:哪些|谁)|有些?什么|什么(?=\s*(?:5A|景|免费))|列出来?|列举|列一下|名单|清单|列表|给(?:我)?个?")
        or asked.take(r"(?<![a-z])(?:list(?: all)?|show(?: me)?|give me|find|name)(?![a-z])(?!\s+(?:of|contain|one))")
        or asked.take(rf"(?<![a-z])(?:which|what)(?=[^?]*(?<![a-z])(?:{nouns})(?![a-z]))")
    ):  # fmt: skip
        asked.wants.add("list")
        asked.take(r"名单|清单|列表|(?<![a-z])list(?![a-z])")
    asked.take(r"(?:是)?哪(?:一)?(?:个|家|处|座)(?!\s*(?:省|市|城|县|区))")


_COLUMNS = tuple((said, columns.split("|")) for columns, said in data.rows("sight_columns.tsv"))


def _columns(asked: Asked) -> None:
    for pattern, columns in _COLUMNS:
        while asked.take(pattern):
            asked.columns += [column for column in columns if column not in asked.columns]
            asked.details = asked.details or any(column.startswith("t.") for column in columns)
            asked.wants.add("columns")
    if "s.year_rated" in asked.columns:
        asked.take(r"(?<![a-z])(?:get|got|receive|awarded|become|5A rating|rating)(?![a-z])")
        asked.take(r"(?<![a-z])(?:5A rating|rating)(?![a-z])")
    if len(asked.areas) > 1:
        asked.take(r"分别|各自?|respectively")
    if asked.year and ("count" in asked.wants or asked.details or asked.areas or asked.columns):
        raise NotUnderstood(asked.year)  # how many there were then, or how many were rated then?


# What may be left

_NOISE_ZH = re.compile(data.words("sights")["means nothing"])
_NOISE_EN = frozenset(data.words("sights")["means nothing en"].split("|"))


def _rest(asked: Asked) -> str:
    """What of the question means something and was not understood."""
    text = re.sub(
        rf"(?:(?<![a-z])(?:to|for|of|in|at|on)\s+)(?=(?:the\s+)?{SIGN})",
        " ",
        asked.text,
        flags=re.I,
    )
    text = re.sub(rf"(?<={SIGN})['’]s(?![a-z])|{SIGN}\s*(?:境内)?", " ", text, flags=re.I)
    text = _NOISE_ZH.sub(" ", text)
    kept = []
    for word in re.findall(r"[A-Za-z0-9'’-]+|[^\sA-Za-z0-9'’-]+", text):
        bare = word.strip("'’-\"“”()（）《》「」,.;:、?!。").lower()
        if bare and bare not in _NOISE_EN:
            kept.append(word)
    joined = (
        re.search(r"(?:和|与|以及|(?<![a-z])and(?![a-z]))", asked.text)
        if len(asked.conditions) > 1
        else None
    )
    if joined and len(asked.names) < 2 and asked.language == "zh":
        kept.append(joined[0])  # both conditions, or either?
    return " ".join(kept)


def _value(text: str) -> float:
    """A number in figures or words of either language.

    Raises:
        NotUnderstood: it is none, or is not one but several (三五).
    """
    value = numbers.number(text.lower())
    if value is None:
        raise NotUnderstood(text)
    return value
