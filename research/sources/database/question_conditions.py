"""Conditions in a question on scenic areas: distances, years of rating and ticket prices."""

from __future__ import annotations

import re

from research.core.text import numbers
from research.core.text.units import unit_factor, unit_pattern
from research.sources.database.sights_question import ENGLISH_NUMBER, PLACEHOLDER_PATTERN, SightsQuestion, parse_number

DEFAULT_NEAREST_COUNT = 10  # if the question has no number
_LENGTH_UNIT = rf"({unit_pattern('length')})(?![a-z])"


def read_conditions(parsed: SightsQuestion) -> None:
    """Read the conditions on the areas."""
    _read_distance(parsed)
    _read_years(parsed)
    _read_tickets(parsed)


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
    preposition = r"(?:away\s+)?(?:of|from|around)?"
    within = parsed.consume(
        rf"(?:within|less than|under|at most|no more than|up to)\s+(?:a radius of\s+)?({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}\s*{preposition}",
        rf"(?:周边|附近|周围|方圆|不超过|小于|少于)?\s*({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}\s*(?:以内|之内|范围之?内|范围|内)",
        rf"(?:周边|附近|周围|方圆)\s*({numbers.NUMBER_PATTERN})\s*{_LENGTH_UNIT}",
    )
    if within:
        parsed.centre_mode = "within"
        parsed.radius_km = parse_number(within[1]) * unit_factor(within[2], "length") / 1000
        parsed.consume(r"(?:距离|离|距)")
        parsed.consume(r"周边|附近|周围|方圆")
    nearest = parsed.consume(
        rf"(?:the\s+)?({ENGLISH_NUMBER})?\s*(?:nearest|closest)\s*({ENGLISH_NUMBER})?(?![a-z\d])",
        rf"最近的?\s*({numbers.NUMBER_PATTERN})?\s*(?:个|家|处|座)?()(?!年)",
    )
    if nearest:
        parsed.consume(r"(?:距离|离|距)|(?<![a-z])(?:to|from)(?![a-z])")
        number = nearest[1] or nearest[2]
        parsed.centre_mode = parsed.centre_mode or "nearest"
        parsed.max_rows = int(parse_number(number)) if number else 0 if within else DEFAULT_NEAREST_COUNT
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
        joined = rf"{PLACEHOLDER_PATTERN}\s*(?:和|与|及|、|,|(?<![a-z])and(?![a-z]))\s*{PLACEHOLDER_PATTERN}"
        if (parsed.provinces or parsed.cities) and re.search(joined, parsed.remaining):
            raise parsed.not_understood(parsed.remaining)


def _read_years(parsed: SightsQuestion) -> None:
    """Read a condition on the year of rating."""
    year = r"((?:19|20)\d\d)"
    verb = r"(?:被)?(?:评定|评为|评上|评选|获评|列为|成为|晋级|晋升|批准|入选|新增|新评|评)(?:为|成|了|上)?的?"
    suffix = rf"(?:\s*{verb})?"
    rated = r"(?:(?:were |was |been )?(?:rated|added|awarded|listed|new)\s+)?"
    rules = (
        (rf"{year}\s*年?\s*(?:到|至|-|~|—|–)\s*{year}\s*年?(?:之?间|期间)?{suffix}", "span"),
        (rf"{rated}(?:between|from)\s+{year}\s+(?:and|to|until)\s+{year}", "span"),
        (rf"{rated}(?:from\s+)?{year}\s*(?:-|~|—|–|to)\s*{year}", "span"),
        (rf"{rated}in the {year[:-1]})s", "decade"),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以后|之后|以来){suffix}", "since"),
        (rf"{rated}in\s+(?:or\s+(?:after|since)\s+{year}|{year}\s+or\s+(?:later|after))", "since"),
        (rf"{year}\s*年?\s*(?:及|或)(?:其)?(?:以前|之前){suffix}", "until"),
        (rf"{rated}(?:in\s+or\s+before|until|by)\s+{year}", "until"),
        (rf"{year}\s*年?\s*(?:以后|之后|后(?!半)){suffix}", "after"),
        (rf"{year}\s*年?\s*(?:以前|之前|前(?![后\d])){suffix}", "before"),
        (rf"自?从?{year}\s*年?(?:以|至今|起)来?{suffix}", "since"),
        (rf"{rated}since\s+{year}", "since"),
        (rf"{rated}after\s+{year}", "after"),
        (rf"{rated}before\s+{year}", "before"),
        (rf"{rated}(?:5A\s+)?(?:in|during)\s+{year}", "in"),
        (rf"{year}\s*年(?:度)?{suffix}", "in"),
    )
    for pattern, condition in rules:
        if match := parsed.consume(pattern):
            years = sorted(int(number) for number in match.groups() if number)
            if condition == "decade":
                years = [years[0] // 10 * 10, years[0] // 10 * 10 + 9]
            test, zh, en = (text.format(*years) for text in _YEAR_CONDITIONS[condition])
            rating_words = rf"{verb}|rated|rating|added|awarded|listed|(?<![a-z])new(?![a-z])"
            if condition == "in" and not re.search(rating_words, parsed.original, re.I):
                parsed.bare_year = match[0].strip()
            parsed.conditions.append((f"s.year_rated {test}", parsed.choose_text(zh, en)))
            parsed.consume(rf"{verb}(?![a-z])|(?<![a-z])(?:rated|added|awarded|new)(?![a-z])")
            return


# Conditions on the year of rating, in SQL, Chinese and English.
_YEAR_CONDITIONS = {
    "span": ("BETWEEN {0} AND {1}", "{0} 至 {1} 年评定", "rated from {0} to {1}"),
    "decade": ("BETWEEN {0} AND {1}", "{0} 年代评定", "rated in the {0}s"),
    "since": (">= {0}", "{0} 年及以后评定", "rated in or after {0}"),
    "until": ("<= {0}", "{0} 年及以前评定", "rated in or before {0}"),
    "after": ("> {0}", "{0} 年之后评定", "rated after {0}"),
    "before": ("< {0}", "{0} 年之前评定", "rated before {0}"),
    "in": ("= {0}", "{0} 年评定", "rated in {0}"),
}


def _read_tickets(parsed: SightsQuestion) -> None:
    """Read a condition on the ticket price."""
    unit = rf"(?:{unit_pattern('yuan')})钱?"
    ticket = r"(?:with\s+(?:a\s+)?)?(?:门票|票价|tickets?(?: prices?)?)?(?:价格|费用)?\s*(?:is|are|cost(?:s|ing)?|在|为|是)?\s*"
    price = rf"({numbers.NUMBER_PATTERN})\s*{unit}"
    rules = (
        (rf"{ticket}{price}\s*(?:以下|以内|之内|及以下|or less|or under)", "<="),
        (rf"{ticket}{price}\s*(?:以上|及以上|or more)", ">="),
        (rf"{ticket}(?:不超过|不高于|最多|at most|no more than|up to)\s*{price}", "<="),
        (rf"{ticket}(?:低于|少于|小于|不到|under|below|less than|cheaper than)\s*{price}", "<"),
        (rf"{ticket}(?:高于|超过|大于|多于|over|above|more than|more expensive than)\s*{price}", ">"),
        (rf"{ticket}(?:不低于|不少于|至少|at least)\s*{price}", ">="),
    )
    words = {
        "<=": ("不超过", "of at most"),
        ">=": ("不低于", "of at least"),
        "<": ("低于", "under"),
        ">": ("高于", "over"),
    }
    range_ = parsed.consume(
        rf"{ticket}(?:between\s+|from\s+)?({numbers.NUMBER_PATTERN})\s*(?:{unit})?\s*(?:到|至|-|~|—|–|and|to)\s*{price}(?:之间|的)?"
    )
    if range_:
        minimum, maximum = sorted((parse_number(range_[1]), parse_number(range_[2])))
        zh, en = f"门票 {minimum:g} 至 {maximum:g} 元", f"with tickets from {minimum:g} to {maximum:g} yuan"
        _add_price_condition(parsed, f"BETWEEN {minimum:g} AND {maximum:g}", zh, en)
        return
    for pattern, sign in rules:
        if match := parsed.consume(pattern):
            number, (zh, en) = f"{parse_number(match[1]):g}", words[sign]
            _add_price_condition(
                parsed, f"{sign} {number}", f"门票{zh} {number} 元", f"with tickets {en} {number} yuan"
            )
            return
    if parsed.consume(
        r"(?:门票)?(?:免费|免票|不要门票|不收门票|不收费)(?:开放|入园|参观)?",
        r"(?<![a-z])(?:that are |with (?:a )?)?free(?: of charge| admission| entry| tickets?| to enter| to visit)?(?![a-z-])",
    ):
        _add_price_condition(parsed, "= 0", "免费", "that are free")
        return
    if parsed.consume(
        r"(?:需)?要(?:买)?门票|(?:要|需要?)?收费|收门票",
        r"(?<![a-z])(?:paid(?: entry| admission)?|that (?:charge|are not free)|charging)(?![a-z])",
    ):
        _add_price_condition(parsed, "> 0", "收费", "that charge for entry")


def _add_price_condition(parsed: SightsQuestion, test: str, zh: str, en: str) -> None:
    """Add a condition on the ticket price: `test` in SQL, and its wording in Chinese and English."""
    if not (test == "= 0" and parsed.areas and not parsed.centre_mode):  # 故宫免费吗 is answered by the price
        parsed.conditions.append((f"t.ticket_cny {test}", parsed.choose_text(zh, en)))
    parsed.add_price_columns()
