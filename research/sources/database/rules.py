"""Rules that write SQL for questions on scenic areas, for the common shapes in Chinese and English.

A question is read piece by piece, and every recognised piece is removed from it. The rest must be
words without meaning here (的, please); if anything else is left, the rules report it and answer
nothing. So they can fail to understand a question, but cannot misread it silently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from research import data
from research.core.display_names import CITIES_EN, PROVINCES_EN
from research.core.text import numbers
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import detect_language
from research.core.text.units import alternation_pattern, unit_factor, unit_pattern
from research.sources.database.gazetteer import (
    MUNICIPALITIES,
    REGIONS,
    is_outside,
    short_city,
    short_province,
)
from research.sources.database.sights_question import (
    FIRST_SIGN,
    SIGN_PATTERN,
    Interpretation,
    NotCoveredError,
    NotUnderstoodError,
    SightsQuestion,
    Vocabulary,
)
from research.sources.database.statement_builder import build_statement

DEFAULT_NEAREST_COUNT = 10  # if the question has no number
_LENGTH_UNIT = rf"({unit_pattern('length')})(?![a-z])"
_ENGLISH_NUMBER = rf"(?:\d+|{alternation_pattern(numbers.NUMBER_WORDS)})"
_AREA_NOUN = r"(?:5A级?|AAAAA级?|旅游|风景|的|名胜|景区|景点)"


def interpret(question: str, vocabulary: Vocabulary) -> Interpretation:
    """Write the SQL over `a_sight` and `tourist_spot` for a question.

    Raises:
        NotUnderstoodError: it has none of the known shapes, or contains more than these.
        NotCoveredError: it is about areas of another level, or about places that have none.
    """
    try:
        return _interpret(question, vocabulary)
    except NotUnderstoodError as error:
        error.area_counts = (len(vocabulary.full_names), len(vocabulary.provinces))
        raise


def _interpret(question: str, vocabulary: Vocabulary) -> Interpretation:
    text = to_simplified(unicodedata.normalize("NFKC", question))
    if re.search(SIGN_PATTERN, text):
        raise NotUnderstoodError(question)
    text = " ".join(text.split()).strip(" ?？。.!！")
    text = re.sub(rf"[{numbers.HAN_DIGITS}]{{4}}(?=\s*年)", lambda year: f"{_parse_number(year[0]):g}", text)
    parsed = SightsQuestion(text, f" {text} ", detect_language(text))
    _reject_unanswerable(parsed)
    _read_name_words(parsed)
    _read_names(parsed, vocabulary)
    if re.search(rf"{SIGN_PATTERN}.*\?.*{SIGN_PATTERN}|\?.*呢", parsed.remaining):
        raise NotUnderstoodError(parsed.original)  # there are two questions
    _assign_names(parsed)
    _resolve_prefixes(parsed, vocabulary)
    _check_places(parsed, vocabulary)
    for rule in (
        _read_distance, _read_years, _read_tickets, _read_groups, _read_order, _read_limit, _read_intents, _read_columns,
    ):  # fmt: skip
        rule(parsed)
    if unrecognized := _unrecognized(parsed):
        raise NotCoveredError(unrecognized) if is_outside(unrecognized) else parsed.not_understood(unrecognized)
    return build_statement(parsed, vocabulary)


_OTHER_LEVEL = re.compile(
    r"(?<![A-Za-z0-9.])(?:[0-46-9]|[1-9]\d)\s?-?A级?(?![A-Za-z0-9])|"
    r"[一二三四六七八九两]\s?个?A级?(?![A-Za-z0-9])|"
    r"(?<![A-Za-z])(?:A{2,4}|A{6,})级?(?![A-Za-z])|(?<![A-Za-z\d一二三四五六七八九])A(?:级|[ -](?:level|grade|rated)\b)"
)


def _reject_unanswerable(parsed: SightsQuestion) -> None:
    """Refuse questions that the tables cannot answer, although their words mean nothing by
    themselves."""
    if level := _OTHER_LEVEL.search(parsed.remaining):
        raise NotCoveredError(level[0].strip())
    other = (
        r"为什么|为何|怎么|怎样|如何|(?<![a-z])why(?![a-z])|什么是|是什么|(?<![a-z])what(?:'s| is| are) an? |"
        r"国家(?:级|重点)+风景名胜区"
    )
    if match := re.search(other, parsed.remaining, re.I):
        raise NotUnderstoodError(match[0].strip())
    if re.search(r"(?<![a-z])national(?!\s+5A)", parsed.remaining, re.I):
        raise NotUnderstoodError("national")
    union = rf"(?:和|以及|与|及|或者?|(?<![a-z])(?:and|or|plus)(?![a-z]))\s*(?:the |all |those )?{_AREA_NOUN}*(?:scenic |5A )*(?:景区|景点|areas|sights|sites|attractions|spots)"
    if match := re.search(union, parsed.remaining, re.I):
        raise NotUnderstoodError(match[0].strip())  # a union, not an intersection of conditions


# Names


def _read_name_words(parsed: SightsQuestion) -> None:
    """Read a word that the names of areas must contain. This runs before names are looked for,
    because the word may be one of them."""
    word = r"[“\"「『'‘]?([\u4e00-\u9fff]{1,6}?)[”\"」』'’]?"
    match = re.search(
        rf"(?:景区)?名(?:字|称)?(?:里面|里|中)?(?:带有?|含有?|包含|包括|有)\s*{word}\s*字?(?=的|\s|$)", parsed.remaining
    )
    match = match or re.search(
        rf"(?:whose|with)?\s*(?:chinese )?names? (?:contains?|containing|includes?|including)\s+(?:the character )?{word}(?=\s|$)",
        parsed.remaining,
        re.I,
    )
    if match:
        if re.search(r"[个多少数或和与及没不无又几]", match[1]):
            raise NotUnderstoodError(match[0].strip())
        test = f"s.name LIKE '%{match[1]}%'"
        parsed.conditions.append((test, parsed.choose_text(f"名称含“{match[1]}”", f"with {match[1]} in their names")))
    else:
        match = re.search(
            r"with (?:the word )?[\"'“‘]?([a-z]{3,20})[\"'”’]? in (?:the|their|its) (?:english )?names?(?![a-z])",
            parsed.remaining,
            re.I,
        )
        if not match:
            return
        test = f"s.name_en LIKE '%{match[1]}%'"
        parsed.conditions.append((test, f"with “{match[1]}” in their English names"))
    parsed.remaining = f"{parsed.remaining[: match.start()]} {parsed.remaining[match.end() :]}"


def _read_names(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Replace the names of areas, cities and provinces by signs, the longest names first: 黄山市 is
    not 黄山."""
    forms: list[tuple[str, int, tuple[str, ...]]] = []
    forms += [(name, 0, (str(gid),)) for name, gid in {**vocabulary.short_names, **vocabulary.areas}.items()]
    short = {short_province(name) for name in vocabulary.provinces}
    for name in vocabulary.provinces:
        spellings = (name, short_province(name), PROVINCES_EN.get(name, ""))
        forms += [(form, 1, (name,)) for form in spellings if form]
    forms += [(name, 1, of) for name, of in REGIONS.items() if set(of) <= set(vocabulary.provinces)]
    city_names: dict[str, set[str]] = {}
    for name in vocabulary.cities:
        if name in vocabulary.provinces:
            continue  # 北京市 is both; the province covers all of it
        spellings = (name, short_city(name), CITIES_EN.get(name, ""))
        for form in filter(None, spellings):
            if form not in short:
                city_names.setdefault(form, set()).add(name)
    forms += [(form, 2, tuple(sorted(of))) for form, of in city_names.items()]
    compact = "".join(parsed.remaining.split()).lower()
    present = [item for item in forms if "".join(item[0].split()).lower() in compact]
    for form, kind, of in sorted(present, key=lambda item: (-len(item[0]), item[1])):
        suffix = {0: "", 1: r"(?:\s+province)?", 2: r"(?:\s+city)?"}[kind]
        if kind == 1 and of[0] in MUNICIPALITIES:
            suffix = r"(?:\s+city|市)?"
        while match := re.search(_name_pattern(form) + suffix, parsed.remaining, re.I):
            if kind == 2 and len(of) > 1:
                raise NotUnderstoodError(form)  # the name of two cities
            parsed.remaining = (
                f"{parsed.remaining[: match.start()]}{chr(FIRST_SIGN + len(parsed.matched_names))}"
                f"{parsed.remaining[match.end() :]}"
            )
            parsed.matched_names.append(match[0])
            parsed.name_kinds.append((kind, of))
    _prefer_mountains(parsed, vocabulary)


def _prefer_mountains(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Read the name of a city that is also a mountain, such as 黄山, as the mountain where a distance
    or a fact about one area is requested."""
    for number, (kind, _of) in enumerate(parsed.name_kinds):
        area = vocabulary.areas.get(f"{parsed.matched_names[number]}风景区")
        if kind != 2 or area is None:
            continue
        sign = chr(FIRST_SIGN + number)
        near = rf"(?:离|距离?|到)\s*{sign}|{sign}\s*(?:附近|周边|周围|方圆)"
        column_wordings = (rf"{sign}\s*的?(?:{pattern})" for pattern, _ in _COLUMN_PATTERNS)
        if any(re.search(wording, parsed.remaining, re.I) for wording in (near, *column_wordings)):
            parsed.name_kinds[number] = (0, (str(area),))


def _name_pattern(name: str) -> str:
    """Return a pattern that finds a name in a text; one in Latin letters only as whole words."""
    form = re.escape(name).replace(r"\ ", r"\s+").replace("'", "['’]")
    return rf"(?<![A-Za-z]){form}(?![A-Za-z])" if not re.search(r"[\u4e00-\u9fff]", name) else form


def _assign_names(parsed: SightsQuestion) -> None:
    """Assign the names to their purposes: places to search in, exclusions, and areas."""
    some = rf"({SIGN_PATTERN}(?:\s*(?:和|与|及|以及|、|,|and|or)?\s*{SIGN_PATTERN})*)"
    exclusion = parsed.consume(
        rf"除(?:了|去)?\s*{some}\s*(?:市|省)?\s*(?:以外|之外|外)|(?:不在|不是|不属于|不包括|不含|非)\s*{some}\s*(?:的|境内)?"
    ) or parsed.consume(
        rf"{some}\s*(?:以外|之外)|(?<![a-z])(?:(?:but |that are |which are )*not (?:in|from)|except(?: for| in)?|excluding|outside(?: of)?|other than)\s+{some}"
    )
    excluded = next((text for text in exclusion.groups() if text), "") if exclusion else ""
    signs = [chr(FIRST_SIGN + number) for number in range(len(parsed.name_kinds))]
    for sign in sorted(signs, key=f"{parsed.remaining}{excluded}".find):
        number = ord(sign) - FIRST_SIGN
        kind, of = parsed.name_kinds[number]
        if sign in excluded:
            column = ("s.gid", "s.province", "s.city")[kind]
            parsed.exclusions += [(column, name, parsed.matched_names[number]) for name in of]
        elif kind == 0:
            parsed.areas.append((parsed.matched_names[number], int(of[0])))
        else:
            found = parsed.provinces if kind == 1 else parsed.cities
            found += [name for name in of if name not in found]
    route = rf"(?:从|(?<![a-z])from)\s*{SIGN_PATTERN}\s*(?:到|至|to(?![a-z]))\s*{SIGN_PATTERN}"
    if len(parsed.areas) != 2 and re.search(route, parsed.remaining, re.I):
        raise parsed.not_understood(parsed.remaining)  # a route, not two places
    parsed.remaining = re.sub(rf"({SIGN_PATTERN})\s*(?:or|或者?)\s*(?={SIGN_PATTERN})", r"\1、", parsed.remaining)


def _check_places(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Check that several places are alternatives, or that one lies in the other.

    Raises:
        NotUnderstoodError: both readings are possible.
    """
    if not (parsed.provinces and parsed.cities):
        return
    names = "、".join([*parsed.provinces, *parsed.cities])
    if set(parsed.provinces) <= MUNICIPALITIES:
        parsed.cities = [*parsed.provinces, *parsed.cities]
        parsed.provinces = []
        return
    of = {city: province for province, city in vocabulary.locations.values()}
    is_inside = all(of.get(city, parsed.provinces[0]) == parsed.provinces[0] for city in parsed.cities)
    between = rf"{SIGN_PATTERN}\s*(?:和|与|及|以及|、|,|(?<![a-z])and(?![a-z]))\s*{SIGN_PATTERN}"
    is_list = re.search(between, parsed.remaining, re.I) and not re.search(
        rf"{SIGN_PATTERN}\s*,\s*{SIGN_PATTERN}\s*$", parsed.remaining
    )
    if len(parsed.provinces) > 1 or not is_inside or (is_list and len(parsed.cities) == 1):
        raise NotUnderstoodError(names)  # both places, or one within the other?
    if len(parsed.cities) > 1 and is_list and not re.match(SIGN_PATTERN, parsed.remaining.strip()):
        raise NotUnderstoodError(names)


def _resolve_prefixes(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Drop a place in front of an area that lies in it: 杭州西湖 is 西湖.

    Raises:
        NotUnderstoodError: the area lies elsewhere, as in 沈阳故宫, or the place may be meant by
            itself.
    """
    for number, (kind, of) in enumerate(parsed.name_kinds):
        before = chr(FIRST_SIGN + number)
        for other, (other_kind, gids) in enumerate(parsed.name_kinds):
            if not kind or other_kind:
                continue
            area = chr(FIRST_SIGN + other)
            if re.search(rf"{area}\s*(?:,|in|of)?\s*{before}", parsed.remaining):
                raise parsed.not_understood(parsed.remaining)  # areas near it in the city, or the area in the city?
            if not re.search(rf"{before}\s*(?:市|省|的)?\s*{area}", parsed.remaining):
                continue
            if of[0] not in vocabulary.locations.get(int(gids[0]), ()):
                raise NotUnderstoodError(f"{parsed.matched_names[number]}{parsed.matched_names[other]}")
            places = parsed.provinces if kind == 1 else parsed.cities
            if of[0] in places:
                places.remove(of[0])


# Conditions


def _read_distance(parsed: SightsQuestion) -> None:
    """Read a distance from an area, the nearest areas to one, or the distance between two."""
    if not parsed.areas:
        return
    if len(parsed.areas) == 2 and parsed.consume(
        r"(?:有|相距|之间的?|的)*\s*(?:多远|距离(?:是)?(?:多少(?:公里|千米)?|多远)?|相距(?:多少)?(?:公里|千米)?|多少(?:公里|千米))|"
        r"how far(?: apart)?(?: away)?|(?<![a-z])distance(?![a-z])"
    ):
        parsed.consume(r"离|距离?|相距|到|至|从")
        parsed.consume(r"(?:多少)?(?:公里|千米)|之间|相距|距离|(?<![a-z])(?:between|apart|away)(?![a-z])")
        parsed.consume(r"(?<![a-z])to(?![a-z])|到|至|从|离")
        parsed.intents.add("distance")
        return
    of = r"(?:away\s+)?(?:of|from|around)?"
    within = (
        parsed.consume(
            rf"(?:within|less than|under|at most|no more than|up to)\s+(?:a radius of\s+)?({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}\s*{of}"
        )
        or parsed.consume(
            rf"(?:周边|附近|周围|方圆|不超过|小于|少于)?\s*({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}\s*(?:以内|之内|范围之?内|范围|内)"
        )
        or parsed.consume(rf"(?:周边|附近|周围|方圆)\s*({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}")
    )
    if within:
        parsed.centre_mode = "within"
        parsed.radius_km = _parse_number(within[1]) * unit_factor(within[2], "length") / 1000
        parsed.consume(r"(?:距离|离|距)")
        parsed.consume(r"周边|附近|周围|方圆")
    nearest = parsed.consume(
        rf"(?:the\s+)?({_ENGLISH_NUMBER})?\s*(?:nearest|closest)\s*({_ENGLISH_NUMBER})?(?![a-z\d])"
    ) or parsed.consume(rf"最近的?\s*({numbers.NUMBER_PATTERN})?\s*(?:个|家|处|座)?()(?!年)")
    if nearest:
        parsed.consume(r"(?:距离|离|距)|(?<![a-z])(?:to|from)(?![a-z])")
        number = nearest[1] or nearest[2]
        parsed.centre_mode = parsed.centre_mode or "nearest"
        parsed.max_rows = int(_parse_number(number)) if number else 0 if within else DEFAULT_NEAREST_COUNT
        if number and not parsed.max_rows:
            raise parsed.not_understood(nearest[0])
        single = re.search(
            r"(?:nearest|closest)\s+(?:5A\s+)?(?:scenic\s+|tourist\s+)?(?:area|sight|site|attraction|spot|place|one)(?![a-z])",
            parsed.original,
            re.I,
        )
        if not number and (parsed.consume(r"(?:是)?哪(?:一)?(?:个|家|处|座)|(?:what|which) is") or single):
            parsed.max_rows = 1
    if parsed.centre_mode:
        parsed.consume(r"(?:还)?有?(?:别的|其他|其它|另外的?)|(?<![a-z])other(?![a-z])")
        joined = rf"{SIGN_PATTERN}\s*(?:和|与|及|、|,|(?<![a-z])and(?![a-z]))\s*{SIGN_PATTERN}"
        if (parsed.provinces or parsed.cities) and re.search(joined, parsed.remaining):
            raise parsed.not_understood(parsed.remaining)


def _read_years(parsed: SightsQuestion) -> None:
    """Read a condition on the year of rating."""
    year = r"((?:19|20)\d\d)"
    verb = r"(?:被)?(?:评定|评为|评上|评选|获评|列为|成为|晋级|晋升|批准|入选|新增|新评|评)(?:为|成|了|上)?的?"
    suffix = rf"(?:\s*{verb})?"
    rated = r"(?:(?:were |was |been )?(?:rated|added|awarded|listed|new)\s+)?"
    rules: tuple[tuple[str, Callable[[re.Match[str]], tuple[str, str, str]]], ...] = (
        (rf"{year}\s*年?\s*(?:到|至|-|~|—|–)\s*{year}\s*年?(?:之?间|期间)?{suffix}", _rated_between),
        (rf"{rated}(?:between|from)\s+{year}\s+(?:and|to|until)\s+{year}", _rated_between),
        (rf"{rated}(?:from\s+)?{year}\s*(?:-|~|—|–|to)\s*{year}", _rated_between),
        (rf"{rated}in the {year[:-1]})s", _rated_in_decade),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以后|之后|以来){suffix}", _rated_from),
        (rf"{rated}in\s+(?:or\s+(?:after|since)\s+{year}|{year}\s+or\s+(?:later|after))", _rated_from),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以前|之前){suffix}", _rated_until),
        (rf"{rated}(?:in\s+or\s+before|until|by)\s+{year}", _rated_until),
        (rf"{year}\s*年?\s*(?:以后|之后|后(?!半)){suffix}", _rated_after),
        (rf"{year}\s*年?\s*(?:以前|之前|前(?![后\d])){suffix}", _rated_before),
        (rf"自?从?{year}\s*年?(?:以|至今|起)来?{suffix}", _rated_from),
        (rf"{rated}since\s+{year}", _rated_from),
        (rf"{rated}after\s+{year}", _rated_after),
        (rf"{rated}before\s+{year}", _rated_before),
        (rf"{rated}(?:5A\s+)?(?:in|during)\s+{year}", _rated_in),
        (rf"{year}\s*年(?:度)?{suffix}", _rated_in),
    )
    for pattern, sense in rules:
        if match := parsed.consume(pattern):
            test, zh, en = sense(match)
            rating_words = rf"{verb}|rated|rating|added|awarded|listed|(?<![a-z])new(?![a-z])"
            if sense is _rated_in and not re.search(rating_words, parsed.original, re.I):
                parsed.bare_year = match[0].strip()
            parsed.conditions.append((f"s.year_rated {test}", parsed.choose_text(zh, en)))
            parsed.consume(rf"{verb}(?![a-z])|(?<![a-z])(?:rated|added|awarded|new)(?![a-z])")
            return


def _matched_year(match: re.Match[str]) -> str:
    return next(text for text in match.groups() if text)


def _rated_between(match: re.Match[str]) -> tuple[str, str, str]:
    first, last = sorted((match[1], match[2]))
    wordings = (f"{first} 至 {last} 年评定", f"rated from {first} to {last}")
    return f"BETWEEN {first} AND {last}", *wordings


def _rated_in_decade(match: re.Match[str]) -> tuple[str, str, str]:
    first = int(match[1]) // 10 * 10
    return f"BETWEEN {first} AND {first + 9}", f"{first} 年代评定", f"rated in the {first}s"


def _rated_from(match: re.Match[str]) -> tuple[str, str, str]:
    year = _matched_year(match)
    return f">= {year}", f"{year} 年及以后评定", f"rated in or after {year}"


def _rated_until(match: re.Match[str]) -> tuple[str, str, str]:
    year = _matched_year(match)
    return f"<= {year}", f"{year} 年及以前评定", f"rated in or before {year}"


def _rated_after(match: re.Match[str]) -> tuple[str, str, str]:
    return f"> {match[1]}", f"{match[1]} 年之后评定", f"rated after {match[1]}"


def _rated_before(match: re.Match[str]) -> tuple[str, str, str]:
    return f"< {match[1]}", f"{match[1]} 年之前评定", f"rated before {match[1]}"


def _rated_in(match: re.Match[str]) -> tuple[str, str, str]:
    return f"= {match[1]}", f"{match[1]} 年评定", f"rated in {match[1]}"


def _read_tickets(parsed: SightsQuestion) -> None:
    """Read a condition on the ticket price."""
    unit = rf"(?:{unit_pattern('yuan')})钱?"
    ticket = r"(?:with\s+(?:a\s+)?)?(?:门票|票价|tickets?(?: prices?)?)?(?:价格|费用)?\s*(?:is|are|cost(?:s|ing)?|在|为|是)?\s*"
    rules = (
        (rf"{ticket}({numbers.NUMBER_PATTERN})\s*{unit}\s*(?:以下|以内|之内|及以下|or less|or under)", "<="),
        (rf"{ticket}({numbers.NUMBER_PATTERN})\s*{unit}\s*(?:以上|及以上|or more)", ">="),
        (rf"{ticket}(?:不超过|不高于|最多|at most|no more than|up to)\s*({numbers.NUMBER_PATTERN})\s*{unit}", "<="),
        (rf"{ticket}(?:低于|少于|小于|不到|under|below|less than|cheaper than)\s*({numbers.NUMBER_PATTERN})\s*{unit}", "<"),
        (rf"{ticket}(?:高于|超过|大于|多于|over|above|more than|more expensive than)\s*({numbers.NUMBER_PATTERN})\s*{unit}", ">"),
        (rf"{ticket}(?:不低于|不少于|至少|at least)\s*({numbers.NUMBER_PATTERN})\s*{unit}", ">="),
    )  # fmt: skip
    words = {
        "<=": ("不超过", "of at most"),
        ">=": ("不低于", "of at least"),
        "<": ("低于", "under"),
        ">": ("高于", "over"),
    }
    range_ = parsed.consume(
        rf"{ticket}(?:between\s+|from\s+)?({numbers.NUMBER_PATTERN})\s*(?:{unit})?\s*(?:到|至|-|~|—|–|and|to)\s*({numbers.NUMBER_PATTERN})\s*{unit}(?:之间|的)?"
    )
    if range_:
        minimum, maximum = sorted((_parse_number(range_[1]), _parse_number(range_[2])))
        zh, en = f"门票 {minimum:g} 至 {maximum:g} 元", f"with tickets from {minimum:g} to {maximum:g} yuan"
        _add_price_condition(parsed, f"BETWEEN {minimum:g} AND {maximum:g}", zh, en)
        return
    for pattern, sign in rules:
        if match := parsed.consume(pattern):
            number, (zh, en) = f"{_parse_number(match[1]):g}", words[sign]
            _add_price_condition(
                parsed, f"{sign} {number}", f"门票{zh} {number} 元", f"with tickets {en} {number} yuan"
            )
            return
    if parsed.consume(r"(?:门票)?(?:免费|免票|不要门票|不收门票|不收费)(?:开放|入园|参观)?") or parsed.consume(
        r"(?<![a-z])(?:that are |with (?:a )?)?free(?: of charge| admission| entry| tickets?| to enter| to visit)?(?![a-z-])"
    ):
        _add_price_condition(parsed, "= 0", "免费", "that are free")
        return
    if parsed.consume(r"(?:需)?要(?:买)?门票|(?:要|需要?)?收费|收门票") or parsed.consume(
        r"(?<![a-z])(?:paid(?: entry| admission)?|that (?:charge|are not free)|charging)(?![a-z])"
    ):
        _add_price_condition(parsed, "> 0", "收费", "that charge for entry")


def _add_price_condition(parsed: SightsQuestion, test: str, zh: str, en: str) -> None:
    if not (test == "= 0" and parsed.areas and not parsed.centre_mode):  # 故宫免费吗 is answered by the price
        parsed.conditions.append((f"t.ticket_cny {test}", parsed.choose_text(zh, en)))
    parsed.needs_spots = True
    parsed.columns += ["t.ticket_cny", "t.ticket_year"]


# Shape of the answer

_GROUP_WORDS = {
    "s.province": (r"省(?:份|市|区)*", r"provinces?"),
    "s.city": (r"(?:城市|地级市|市)", r"cit(?:y|ies)"),
    "s.year_rated": (r"年(?:份)?", r"years?"),
}
_EXTREME_WORDS = {"最多": "MAX", "最少": "MIN", "most": "MAX", "fewest": "MIN", "least": "MIN", "top": "MAX", "bottom": "MIN"}  # fmt: skip
_COMPARISON_WORDS = {
    "超过": ">", "多于": ">", "大于": ">", "高于": ">", "more than": ">", "over": ">",
    "不少于": ">=", "至少": ">=", "不低于": ">=", "at least": ">=", "no fewer than": ">=",
    "少于": "<", "不到": "<", "低于": "<", "小于": "<", "fewer than": "<", "less than": "<", "under": "<",
    "不超过": "<=", "至多": "<=", "at most": "<=", "no more than": "<=",
}  # fmt: skip


def _read_groups(parsed: SightsQuestion) -> None:
    """Read by which column areas are to be counted."""
    if parsed.areas and not parsed.centre_mode:
        return  # 故宫是哪一年评的 asks for a column of one area
    if _read_group_condition(parsed) or _read_extreme_groups(parsed) or _read_each_place(parsed):
        return
    single = {
        "s.province": r"(?:每个?|各个?|按|分)省(?:份|市|区)*(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+province",
        "s.city": r"(?:每个?|各个?|按)(?:城)?市(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+city",
        "s.year_rated": r"(?:每一?年|各年|按年份?(?:统计|分组)?|逐年)|(?:by|per|each|every|in each|for each)\s+year",
    }
    for column, pattern in single.items():
        if parsed.consume(pattern):
            asks_list = re.search(
                r"名单|清单|列表|列出来?|列举|有?哪些|(?<![a-z])(?:list|show|which)(?![a-z])",
                parsed.remaining,
                re.I,
            )
            asks_count = re.search(r"数量|多少|几|总数|统计|how many|number|count", parsed.original, re.I)
            if asks_list and not asks_count and column != "s.year_rated":
                return  # lists have this order anyway
            parsed.group_column = column
            parsed.intents.add("count")
            parsed.consume(r"(?:数量|个数)?的?(?:排名|排行榜?|排序)|(?<![a-z])ranked(?![a-z])")
            if column == "s.year_rated":
                parsed.consume(r"新增(?:了)?|新评|(?<![a-z])(?:added|new)(?![a-z])")
            return


def _read_group_condition(parsed: SightsQuestion) -> bool:
    """Read a condition on the counts of groups: 哪些省超过 15 个."""
    zh, en = [f"(?:{'|'.join(kinds)})" for kinds in zip(*list(_GROUP_WORDS.values())[:2], strict=True)]
    signs = sorted(_COMPARISON_WORDS, key=len, reverse=True)
    match = parsed.consume(
        rf"(?:which\s+)?({en})\s+(?:with|have|having|that have|has)\s+({'|'.join(s for s in signs if s.isascii())})\s+({_ENGLISH_NUMBER})(?![a-z\d]|\s*(?:yuan|km|元))"
    )
    if match:
        kind, sign, number = match.groups()
    else:
        pattern = rf"({'|'.join(s for s in signs if not s.isascii())})\s*({numbers.NUMBER_PATTERN})\s*(?:个|家|处|座)(?:以上)?"
        comparison = re.search(pattern, parsed.remaining)
        where = comparison and re.search(
            rf"(?:哪些|哪几个|(?<=的)|有)({zh})(?![a-z])|(?<=\s)({zh})(?=\s*$)", parsed.remaining
        )
        if not comparison or not where:
            return False
        parsed.consume(pattern)
        parsed.consume(rf"(?:哪些|哪几个|(?<=的)|有)({zh})|(?<=\s)({zh})(?=\s*$)")
        parsed.consume(r"数量|个数|数")
        kind, (sign, number) = where[1] or where[2], (comparison[1], comparison[2])
    parsed.group_column = _group_column(kind)
    parsed.group_condition = (_COMPARISON_WORDS[sign.lower()], f"{_parse_number(number):g}")
    parsed.intents.add("count")
    return True


def _read_extreme_groups(parsed: SightsQuestion) -> bool:
    """Read a request for the groups with the most or the fewest areas, and their number."""
    for column, (zh, en) in _GROUP_WORDS.items():
        english = (
            parsed.consume(rf"(?<![a-z])rank(?:ing of)?\s+()()(?:the\s+|all\s+|chinese\s+)*{en}\s+by\s+(?:their\s+|the\s+)?(?:number|count)(?:\s+of)?(?![a-z])")
            or parsed.consume(rf"(?<![a-z])(top|bottom)\s+({_ENGLISH_NUMBER})\s+{en}(?:\s+(?:by|with|in)\s+(?:the\s+)?(?:most\s+)?(?:5A\s+)?(?:number|count|numbers)?)?(?![a-z])")
            or parsed.consume(rf"(?:which\s+|the\s+)?()({_ENGLISH_NUMBER})?\s*{en}\s+(?:that\s+)?(?:has|have|had|with)\s+(?:the\s+)?(most|fewest|least)(?:\s+number of)?(?![a-z]|\s+expensive)")
        )  # fmt: skip
        if chinese := parsed.consume(rf"(最[多少])的?\s*前?\s*({numbers.NUMBER_PATTERN})\s*(?:个|名)?\s*{zh}"):
            word, parsed.max_rows = chinese[1], int(_parse_number(chinese[2]))
        elif english:
            word = next((text for text in english.groups() if text and text.lower() in _EXTREME_WORDS), "most")
            parsed.max_rows = int(_parse_number(english[2])) if english[2] else 0
        else:
            question_pattern = rf"哪(?:一)?(?:个|座)?{zh}|(?<!每个)(?<!各){zh}(?:是)?哪(?:一|里|些)?个?|(?<=最多的){zh}|(?<=最少的){zh}"
            superlative = re.search(r"最[多少](?!\s*\d)", parsed.remaining)
            if not superlative or not re.search(question_pattern, parsed.remaining):
                continue
            parsed.consume(question_pattern)
            word = superlative[0]
            parsed.consume(rf"{word}的?\s*(?:前\s*)?({numbers.NUMBER_PATTERN})?\s*(?:个|名)?")
        parsed.group_column = column
        parsed.intents.add("count")
        order = _EXTREME_WORDS[word.lower()]
        parsed.ordering = (order, "n", "")
        parsed.consume(r"数量|个数")
        return True
    if match := re.search(
        rf"(?<![a-z])which\s+(?:{'|'.join(en for _, en in _GROUP_WORDS.values())})|哪(?:一)?(?:个|座)(?:城?市|省)",
        parsed.remaining,
        re.I,
    ):
        raise parsed.not_understood(match[0])
    return False


def _read_each_place(parsed: SightsQuestion) -> bool:
    """Read a request for one count per named place: 杭州和苏州各有多少."""
    places = parsed.provinces or parsed.cities
    if len(places) < 2 or parsed.exclusions or parsed.areas:
        return False
    match = parsed.consume(
        r"分别有?|各自?(?=有)|对比|比较|(?<![a-z])(?:compare(?:d)?|vs\.?|versus|respectively)(?![a-z])"
    ) or parsed.consume(r"(?<=how many)\s+each|(?<![a-z])(?:in\s+)?each(?:\s+of)?(?![a-z])")
    if not match:
        return False
    counted = re.search(r"多少|几|数量|个数|how many|number|count", parsed.original, re.I)
    if not counted:
        raise parsed.not_understood(match[0])
    parsed.group_column = "s.province" if parsed.provinces else "s.city"
    parsed.intents.add("count")
    return True


def _group_column(text: str) -> str:
    return next(
        column for column, (zh, en) in _GROUP_WORDS.items() if re.fullmatch(zh, text) or re.fullmatch(en, text, re.I)
    )


def _read_order(parsed: SightsQuestion) -> None:
    """Read a superlative, or an order of all areas."""
    if parsed.centre_mode == "nearest":
        return
    _read_full_order(parsed)
    ticket = "t.ticket_cny"
    for zh, en, order, wording_zh, wording_en in data.rows("sight_orders.tsv"):
        column = order.partition(" ")[0]
        if match := parsed.consume(rf"{zh}|(?<![a-z]){en}(?![a-z])"):
            if parsed.ordering or parsed.group_column or parsed.centre_mode:
                raise parsed.not_understood(match[0])  # 每个省最贵的 asks for one of each, another shape
            parsed.ordering = (order, column, parsed.choose_text(wording_zh, wording_en))
            parsed.conditions.append((f"{column} IS NOT NULL", ""))
            parsed.needs_spots = parsed.needs_spots or column == ticket
            if column == ticket:
                parsed.columns += ["t.ticket_cny", "t.ticket_year"]
            parsed.consume(r"(?<![a-z])lies?(?![a-z])|lying")


def _read_full_order(parsed: SightsQuestion) -> None:
    """Read an order of all areas; unknown values go last."""
    down = r"(?:从|由)?(?:高到低|大到小|晚到早|新到旧|贵到便宜)|降序|倒序"
    up = r"(?:从|由)?(?:低到高|小到大|早到晚|旧到新|便宜到贵)|升序"
    match = parsed.consume(
        rf"按(?:照)?(门票|票价|价格)?(?:价格)?((?:评定)?(?:年份|时间))?的?\s*(?:({down})|{up})?\s*(?:排序|排列|排)?(?=的|列|\s|$|,)"
    )
    if match and (match[1] or match[2]) and re.search("排|到|序", match[0]):
        column, direction = "t.ticket_cny" if match[1] else "s.year_rated", " DESC" if match[3] else ""
    elif match:
        raise parsed.not_understood(match[0])
    else:
        english_orders = {
            r"newest first|latest first|most recent first": ("s.year_rated", " DESC"),
            r"oldest first|earliest first": ("s.year_rated", ""),
            r"cheapest first": ("t.ticket_cny", ""),
            r"(?:most expensive|dearest) first": ("t.ticket_cny", " DESC"),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:ticket )?price": ("t.ticket_cny", ""),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:year (?:they|it) (?:got|received|were given|was given) (?:their|its|the) rating|year|rating year|year of rating)": (
                "s.year_rated",
                "",
            ),
        }
        for pattern, (by, direction) in english_orders.items():
            column = by
            if parsed.consume(rf"(?<![a-z])(?:the )?(?:{pattern})(?![a-z])"):
                if parsed.consume(r"(?<![a-z])(?:desc|descending)(?![a-z])"):
                    direction = " DESC"
                parsed.consume(r"(?<![a-z])(?:asc|ascending)(?![a-z])")
                break
        else:
            return
    if parsed.group_column or parsed.centre_mode:
        raise parsed.not_understood(parsed.remaining)
    parsed.ordering, parsed.orders_all = (f"{column} IS NULL, {column}{direction}", column, ""), True
    parsed.needs_spots = parsed.needs_spots or column.startswith("t.")
    if column.startswith("t."):
        parsed.columns += ["t.ticket_cny", "t.ticket_year"]


def _read_limit(parsed: SightsQuestion) -> None:
    """Read how many rows are requested."""
    match = (
        parsed.consume(rf"(?:排名)?前\s*({numbers.NUMBER_PATTERN})\s*(?:个|名|家|处|座|位)?(?:的)?")
        or parsed.consume(rf"(?<![a-z])(?:top|first)\s+({_ENGLISH_NUMBER})(?![a-z\d])")
        or (parsed.ordering and parsed.consume(rf"({numbers.NUMBER_PATTERN})\s*(?:个|家|处|座)"))
        or (parsed.ordering and parsed.consume(rf"(?<![a-z\d.])({_ENGLISH_NUMBER})(?![a-z\d.])"))
    )
    if match:
        parsed.max_rows = int(_parse_number(match[1]))
        if not parsed.max_rows or (parsed.ordering is None and not parsed.group_column and not parsed.centre_mode):
            raise parsed.not_understood(match[0])  # the order is not given


def _read_intents(parsed: SightsQuestion) -> None:
    """Read the requested kinds of answer: an average, a count or a list."""
    if parsed.areas and not parsed.centre_mode:  # 门票多少 asks for a price
        parsed.consume(r"分别|各自")
        parsed.remaining = re.sub(r"(门票|票价)(?:价格)?\s*(?:是|为)?多少钱?", r"\1", parsed.remaining)
    if parsed.consume(
        r"平均(?:的)?(?:门票|票价)(?:价格?)?|(?:门票|票价)(?:价格?)?的?平均(?:价格?|值|数)?|平均价格?"
    ) or parsed.consume(r"(?:average|mean) (?:ticket )?(?:prices?|tickets?|cost)(?: of (?:a )?tickets?)?"):
        parsed.intents.add("average")
        parsed.needs_spots = True
        parsed.consume(r"(?:是)?多少钱?|(?<![a-z])what(?:'s| is| are)?(?![a-z])")
        return
    if parsed.consume(
        r"(?:一共|总共|共)?有?(?:多少|几)\s*(?:个|家|处|座)(?:以上)?|(?:一共|总共)?有?多少(?!钱)|数量(?:是多少)?|总数|个数"
    ) or parsed.consume(r"how many|(?:the\s+)?(?:total\s+)?number of|counts?(?: of| the)?(?![a-z])"):
        parsed.intents.add("count")
        parsed.consume(r"数量|多少")
    nouns = r"areas|sights|sites|attractions|spots|places|ones"
    if (
        parsed.consume(
            r"(?:都|具体)?(?:有|是)?(?:哪些|谁)|有些?什么|什么(?=\s*(?:5A|景|免费))|列出来?|列举|列一下|名单|清单|列表|给(?:我)?个?"
        )
        or parsed.consume(
            r"(?<![a-z])(?:list(?: all)?|show(?: me)?|give me|find|name)(?![a-z])(?!\s+(?:of|contain|one))"
        )
        or parsed.consume(rf"(?<![a-z])(?:which|what)(?=[^?]*(?<![a-z])(?:{nouns})(?![a-z]))")
    ):
        parsed.intents.add("list")
        parsed.consume(r"名单|清单|列表|(?<![a-z])list(?![a-z])")
    parsed.consume(r"(?:是)?哪(?:一)?(?:个|家|处|座)(?!\s*(?:省|市|城|县|区))")


_COLUMN_PATTERNS = tuple((said, columns.split("|")) for columns, said in data.rows("sight_columns.tsv"))


def _read_columns(parsed: SightsQuestion) -> None:
    """Read the requested columns."""
    for pattern, columns in _COLUMN_PATTERNS:
        while parsed.consume(pattern):
            parsed.columns += [column for column in columns if column not in parsed.columns]
            parsed.needs_spots = parsed.needs_spots or any(column.startswith("t.") for column in columns)
            parsed.intents.add("columns")
    if "s.year_rated" in parsed.columns:
        parsed.consume(r"(?<![a-z])(?:get|got|receive|awarded|become|5A rating|rating)(?![a-z])")
        parsed.consume(r"(?<![a-z])(?:5A rating|rating)(?![a-z])")
    if len(parsed.areas) > 1:
        parsed.consume(r"分别|各自?|respectively")
    if parsed.bare_year and ("count" in parsed.intents or parsed.needs_spots or parsed.areas or parsed.columns):
        raise NotUnderstoodError(parsed.bare_year)  # areas that existed then, or areas rated then?


# Words that may remain

_IGNORED_ZH = re.compile(data.words("sights")["means nothing"])
_IGNORED_EN = frozenset(data.words("sights")["means nothing en"].split("|"))


def _unrecognized(parsed: SightsQuestion) -> str:
    """Return the words of a question that have a meaning and were not understood."""
    text = re.sub(
        rf"(?:(?<![a-z])(?:to|for|of|in|at|on)\s+)(?=(?:the\s+)?{SIGN_PATTERN})",
        " ",
        parsed.remaining,
        flags=re.I,
    )
    text = re.sub(rf"(?<={SIGN_PATTERN})['’]s(?![a-z])|{SIGN_PATTERN}\s*(?:境内)?", " ", text, flags=re.I)
    text = _IGNORED_ZH.sub(" ", text)
    unknown = []
    for word in re.findall(r"[A-Za-z0-9'’-]+|[^\sA-Za-z0-9'’-]+", text):
        stripped = word.strip("'’-\"“”()（）《》「」,.;:、?!。").lower()
        if stripped and stripped not in _IGNORED_EN:
            unknown.append(word)
    joined = (
        re.search(r"(?:和|与|以及|(?<![a-z])and(?![a-z]))", parsed.remaining) if len(parsed.conditions) > 1 else None
    )
    if joined and len(parsed.matched_names) < 2 and parsed.language == "zh":
        unknown.append(joined[0])  # both conditions, or either?
    return " ".join(unknown)


def _parse_number(text: str) -> float:
    """Parse a number in figures or words of either language.

    Raises:
        NotUnderstoodError: it is none, or several (三五).
    """
    value = numbers.parse_number(text.lower())
    if value is None:
        raise NotUnderstoodError(text)
    return value
