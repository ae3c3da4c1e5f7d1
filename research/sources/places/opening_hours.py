"""Opening hours as OpenStreetMap writes them, in plain words.

Only the simple and frequent forms are put in words: days, hours, and what is closed when. Any other is
shown as it was written (https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification).
"""

from __future__ import annotations

import re

from research.core.i18n import message, translator
from research.core.records import Language

_HOLIDAYS = ("PH", "SH")
_DAY = f"(?:{'|'.join(('Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su', *_HOLIDAYS))})"
_DAYS = rf"{_DAY}(?:-{_DAY})?(?:,\s*{_DAY}(?:-{_DAY})?)*"
_TIME_OF_DAY = r"(?:[01]?\d|2[0-4]|2[5-6]):[0-5]\d"
_TIME_SPANS = rf"{_TIME_OF_DAY}-{_TIME_OF_DAY}(?:,\s*{_TIME_OF_DAY}-{_TIME_OF_DAY})*"
_RULE = re.compile(rf"(?:(?P<days>{_DAYS})\s*)?(?:(?P<times>{_TIME_SPANS})|(?P<off>off|closed))?")


def describe_hours(hours: str, language: Language) -> str:
    """Hours in words, or as they were written where they are not of a simple form."""
    if hours.strip() == "24/7":
        return message("hours.always", language)
    told = [_describe_rule(rule.strip(), language) for rule in hours.strip().strip(";").split(";")]
    if not all(told):
        return hours
    return message("mark.semicolon", language).join(told)


def _describe_rule(rule: str, language: Language) -> str:
    """A rule in words; "" of one that is not simple."""
    found = _RULE.fullmatch(rule)
    if not found or not (found["times"] or found["off"]):
        return ""
    say = translator(language, "hours.")
    spans = [span.strip() for span in (found["days"] or "").split(",") if span.strip()]
    if any("-" in span and _is_holiday(span) for span in spans):
        return ""
    days = message("mark.list", language).join(_describe_days(span, language) for span in spans)
    when = say("closed") if found["off"] else re.sub(r",\s*", ", ", found["times"]).replace("-", "–")
    return f"{days or say('daily')} {when}"


def _is_holiday(span: str) -> bool:
    return any(day in _HOLIDAYS for day in span.split("-"))


def _describe_days(span: str, language: Language) -> str:
    say = translator(language, "hours.")
    first, _, last = span.partition("-")
    return say("to", first=say(first), last=say(last)) if last else say(first)
