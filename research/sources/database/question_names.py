"""Names of scenic areas, cities and provinces in a question, and their roles in it."""

from __future__ import annotations

import re

from research.core.display_names import CITIES_EN, PROVINCES_EN
from research.sources.database.gazetteer import MUNICIPALITIES, REGIONS, short_city, short_province
from research.sources.database.question_shape import COLUMN_PATTERNS
from research.sources.database.sights_question import (
    FIRST_PLACEHOLDER,
    PLACEHOLDER_PATTERN,
    NameKind,
    NotUnderstoodError,
    SightsQuestion,
    Vocabulary,
)


def read_names(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Read the names in a question, and replace each by a placeholder.

    Raises:
        NotUnderstoodError: a name or its role is ambiguous.
    """
    _read_name_filter(parsed)
    _replace_names(parsed, vocabulary)
    if re.search(rf"{PLACEHOLDER_PATTERN}.*\?.*{PLACEHOLDER_PATTERN}|\?.*呢", parsed.remaining):
        raise NotUnderstoodError(parsed.original)  # there are two questions
    _assign_names(parsed)
    _resolve_prefixes(parsed, vocabulary)
    _check_places(parsed, vocabulary)


def _read_name_filter(parsed: SightsQuestion) -> None:
    """Read a word that the names of the areas must contain. This runs before names are replaced,
    because the word may itself be a name."""
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


def _replace_names(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Replace the names of areas, cities and provinces by placeholders, the longest names first: 黄山市
    is not 黄山.

    Raises:
        NotUnderstoodError: two cities have a name in the question.
    """
    area_ids = {**vocabulary.short_names, **vocabulary.areas}
    forms: list[tuple[str, NameKind, tuple[str, ...]]] = []
    forms += [(name, NameKind.AREA, (str(gid),)) for name, gid in area_ids.items()]
    short = {short_province(name) for name in vocabulary.provinces}
    for name in vocabulary.provinces:
        spellings = (name, short_province(name), PROVINCES_EN.get(name, ""))
        forms += [(form, NameKind.PROVINCE, (name,)) for form in spellings if form]
    known_provinces = set(vocabulary.provinces)
    forms += [(name, NameKind.PROVINCE, values) for name, values in REGIONS.items() if set(values) <= known_provinces]
    city_names: dict[str, set[str]] = {}
    for name in vocabulary.cities:
        if name in vocabulary.provinces:
            continue  # 北京市 is both; the province covers all of it
        spellings = (name, short_city(name), CITIES_EN.get(name, ""))
        for form in filter(None, spellings):
            if form not in short:
                city_names.setdefault(form, set()).add(name)
    forms += [(form, NameKind.CITY, tuple(sorted(values))) for form, values in city_names.items()]
    compact = "".join(parsed.remaining.split()).lower()
    present = [item for item in forms if "".join(item[0].split()).lower() in compact]
    for form, kind, values in sorted(present, key=lambda item: (-len(item[0]), item[1])):
        suffix = ("", r"(?:\s+province)?", r"(?:\s+city)?")[kind]
        if kind is NameKind.PROVINCE and values[0] in MUNICIPALITIES:
            suffix = r"(?:\s+city|市)?"
        while match := re.search(_name_pattern(form) + suffix, parsed.remaining, re.I):
            if kind is NameKind.CITY and len(values) > 1:
                raise NotUnderstoodError(form)  # the name of two cities
            parsed.remaining = (
                f"{parsed.remaining[: match.start()]}{chr(FIRST_PLACEHOLDER + len(parsed.matched_names))}"
                f"{parsed.remaining[match.end() :]}"
            )
            parsed.matched_names.append(match[0])
            parsed.name_kinds.append((kind, values))
    _prefer_mountains(parsed, vocabulary)


def _prefer_mountains(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Read the name of a city that is also a mountain, such as 黄山, as the mountain where a distance
    or a fact about one area is requested."""
    for number, (kind, _) in enumerate(parsed.name_kinds):
        area = vocabulary.areas.get(f"{parsed.matched_names[number]}风景区")
        if kind is not NameKind.CITY or area is None:
            continue
        placeholder = chr(FIRST_PLACEHOLDER + number)
        near_name = rf"(?:离|距离?|到)\s*{placeholder}|{placeholder}\s*(?:附近|周边|周围|方圆)"
        column_wordings = (rf"{placeholder}\s*的?(?:{pattern})" for pattern, _ in COLUMN_PATTERNS)
        if any(re.search(wording, parsed.remaining, re.I) for wording in (near_name, *column_wordings)):
            parsed.name_kinds[number] = (NameKind.AREA, (str(area),))


def _name_pattern(name: str) -> str:
    """Return a pattern that finds a name in a text; one in Latin letters only as whole words."""
    form = re.escape(name).replace(r"\ ", r"\s+").replace("'", "['’]")
    return rf"(?<![A-Za-z]){form}(?![A-Za-z])" if not re.search(r"[\u4e00-\u9fff]", name) else form


def _assign_names(parsed: SightsQuestion) -> None:
    """Assign the names to their purposes: places to search in, exclusions, and areas."""
    name_list = rf"({PLACEHOLDER_PATTERN}(?:\s*(?:和|与|及|以及|、|,|and|or)?\s*{PLACEHOLDER_PATTERN})*)"
    exclusion = parsed.consume(
        rf"除(?:了|去)?\s*{name_list}\s*(?:市|省)?\s*(?:以外|之外|外)|(?:不在|不是|不属于|不包括|不含|非)\s*{name_list}\s*(?:的|境内)?",
        rf"{name_list}\s*(?:以外|之外)|(?<![a-z])(?:(?:but |that are |which are )*not (?:in|from)|except(?: for| in)?|excluding|outside(?: of)?|other than)\s+{name_list}",
    )
    excluded = next((text for text in exclusion.groups() if text), "") if exclusion else ""
    placeholders = [chr(FIRST_PLACEHOLDER + number) for number in range(len(parsed.name_kinds))]
    for placeholder in sorted(placeholders, key=f"{parsed.remaining}{excluded}".find):
        number = ord(placeholder) - FIRST_PLACEHOLDER
        kind, values = parsed.name_kinds[number]
        if placeholder in excluded:
            column = ("s.gid", "s.province", "s.city")[kind]
            parsed.exclusions += [(column, name, parsed.matched_names[number]) for name in values]
        elif kind is NameKind.AREA:
            parsed.areas.append((parsed.matched_names[number], int(values[0])))
        else:
            found = parsed.provinces if kind is NameKind.PROVINCE else parsed.cities
            found += [name for name in values if name not in found]
    route = rf"(?:从|(?<![a-z])from)\s*{PLACEHOLDER_PATTERN}\s*(?:到|至|to(?![a-z]))\s*{PLACEHOLDER_PATTERN}"
    if len(parsed.areas) != 2 and re.search(route, parsed.remaining, re.I):
        raise parsed.not_understood(parsed.remaining)  # a route, not two places
    parsed.remaining = re.sub(
        rf"({PLACEHOLDER_PATTERN})\s*(?:or|或者?)\s*(?={PLACEHOLDER_PATTERN})", r"\1、", parsed.remaining
    )


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
    province_of_city = {city: province for province, city in vocabulary.locations.values()}
    is_inside = all(province_of_city.get(city, parsed.provinces[0]) == parsed.provinces[0] for city in parsed.cities)
    joined_names = rf"{PLACEHOLDER_PATTERN}\s*(?:和|与|及|以及|、|,|(?<![a-z])and(?![a-z]))\s*{PLACEHOLDER_PATTERN}"
    is_list = re.search(joined_names, parsed.remaining, re.I) and not re.search(
        rf"{PLACEHOLDER_PATTERN}\s*,\s*{PLACEHOLDER_PATTERN}\s*$", parsed.remaining
    )
    if len(parsed.provinces) > 1 or not is_inside or (is_list and len(parsed.cities) == 1):
        raise NotUnderstoodError(names)  # both places, or one within the other?
    if len(parsed.cities) > 1 and is_list and not re.match(PLACEHOLDER_PATTERN, parsed.remaining.strip()):
        raise NotUnderstoodError(names)


def _resolve_prefixes(parsed: SightsQuestion, vocabulary: Vocabulary) -> None:
    """Drop a place in front of an area that lies in it: 杭州西湖 is 西湖.

    Raises:
        NotUnderstoodError: the area lies elsewhere, as in 沈阳故宫, or the place may be meant by
            itself.
    """
    for place_index, (place_kind, place_names) in enumerate(parsed.name_kinds):
        place = chr(FIRST_PLACEHOLDER + place_index)
        for area_index, (area_kind, area_ids) in enumerate(parsed.name_kinds):
            if place_kind is NameKind.AREA or area_kind is not NameKind.AREA:
                continue
            area_placeholder = chr(FIRST_PLACEHOLDER + area_index)
            if re.search(rf"{area_placeholder}\s*(?:,|in|of)?\s*{place}", parsed.remaining):
                raise parsed.not_understood(parsed.remaining)  # areas near it in the city, or the area in the city?
            if not re.search(rf"{place}\s*(?:市|省|的)?\s*{area_placeholder}", parsed.remaining):
                continue
            if place_names[0] not in vocabulary.locations.get(int(area_ids[0]), ()):
                raise NotUnderstoodError(f"{parsed.matched_names[place_index]}{parsed.matched_names[area_index]}")
            places = parsed.provinces if place_kind is NameKind.PROVINCE else parsed.cities
            if place_names[0] in places:
                places.remove(place_names[0])
