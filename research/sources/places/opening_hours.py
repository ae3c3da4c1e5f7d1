"""Description of OpenStreetMap's opening hours in words.

Only simple and frequent forms are described: days, times, and closures. Any other form is returned
unchanged. Format: https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification.
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
    """Return opening hours in words, or unchanged if their form is not supported."""
    if hours.strip() == "24/7":
        return message("hours.always", language)
    rules = [_describe_rule(rule.strip(), language) for rule in hours.strip().strip(";").split(";")]
    if not all(rules):
        return hours
    return message("mark.semicolon", language).join(rules)


def _describe_rule(rule: str, language: Language) -> str:
    """Return a rule in words, or "" if its form is not supported."""
    match = _RULE.fullmatch(rule)
    if not match or not (match["times"] or match["off"]):
        return ""
    translate = translator(language, "hours.")
    spans = [span.strip() for span in (match["days"] or "").split(",") if span.strip()]
    if any("-" in span and _is_holiday(span) for span in spans):
        return ""
    days = message("mark.list", language).join(_describe_days(span, language) for span in spans)
    times = translate("closed") if match["off"] else re.sub(r",\s*", ", ", match["times"]).replace("-", "–")
    return f"{days or translate('daily')} {times}"


def _is_holiday(span: str) -> bool:
    return any(day in _HOLIDAYS for day in span.split("-"))


def _describe_days(span: str, language: Language) -> str:
    translate = translator(language, "hours.")
    first, _, last = span.partition("-")
    return translate("to", first=translate(first), last=translate(last)) if last else translate(first)
