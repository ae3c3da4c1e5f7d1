"""Opening hours as OpenStreetMap writes them, in plain words.

Only the simple and frequent forms are put in words: days, hours, and what is closed when. Any other is
shown as it was written (https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification).
"""

from __future__ import annotations

import re

from research.core.i18n import message, speaker
from research.core.records import Language

_HOLIDAYS = ("PH", "SH")
_DAY = f"(?:{'|'.join(('Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su', *_HOLIDAYS))})"
_DAYS = rf"{_DAY}(?:-{_DAY})?(?:,\s*{_DAY}(?:-{_DAY})?)*"
_TIME = r"(?:[01]?\d|2[0-4]|2[5-6]):[0-5]\d"
_TIMES = rf"{_TIME}-{_TIME}(?:,\s*{_TIME}-{_TIME})*"
_RULE = re.compile(rf"(?:(?P<days>{_DAYS})\s*)?(?:(?P<times>{_TIMES})|(?P<off>off|closed))?")


def plainly(hours: str, language: Language) -> str:
    """Hours in words, or as they were written where they are not of a simple form."""
    if hours.strip() == "24/7":
        return message("hours.always", language)
    told = [_told(rule.strip(), language) for rule in hours.strip().strip(";").split(";")]
    if not all(told):
        return hours
    return message("mark.semicolon", language).join(told)


def _told(rule: str, language: Language) -> str:
    """A rule in words; "" of one that is not simple."""
    found = _RULE.fullmatch(rule)
    if not found or not (found["times"] or found["off"]):
        return ""
    say = speaker(language, "hours.")
    spans = [span.strip() for span in (found["days"] or "").split(",") if span.strip()]
    if any("-" in span and _holiday(span) for span in spans):
        return ""
    days = message("mark.list", language).join(_span(span, language) for span in spans)
    when = (
        say("closed") if found["off"] else re.sub(r",\s*", ", ", found["times"]).replace("-", "–")
    )
    return f"{days or say('daily')} {when}"


def _holiday(span: str) -> bool:
    return any(day in _HOLIDAYS for day in span.split("-"))


def _span(span: str, language: Language) -> str:
    say = speaker(language, "hours.")
    first, _, last = span.partition("-")
    return say("to", first=say(first), last=say(last)) if last else say(first)
