"""Statements of Wikidata in words of one language: a property, its values, and where they are from.

The JSON is described in docs/topics/json.md of mediawiki-extensions-Wikibase. Which properties are told,
and in which order, `data/wikidata.tsv` says.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from research import data
from research.core.i18n import message, speaker
from research.core.records import Language
from research.core.text.hanzi import simplified
from research.core.text.lexicon import entries
from research.core.text.words import has_han
from research.core.urls import canonical_url
from research.http.plain import rows, tidy

Labels = Mapping[str, str]  # what things are called, by their ids

VALUES = 3  # told of one property at most
_EARTH = "http://www.wikidata.org/entity/Q2"
_JULIAN = "http://www.wikidata.org/entity/Q1985786"
_DAY, _MONTH, _YEAR = 11, 10, 9  # precisions of a time; what is vaguer is not told
_AT, _FROM, _UNTIL = "P585", "P580", "P582"  # qualifiers: at a time, from, until
_URL, _STATED_IN = "P854", "P248"  # of references


class Property(NamedTuple):
    """A property and what it is called."""

    id: str
    zh: str
    en: str

    def called(self, tongue: Language) -> str:
        """Its name in a language."""
        return self.zh if tongue == "zh" else self.en


PROPERTIES = tuple(Property(*row) for row in data.rows("wikidata.tsv"))


def asked_for(query: str) -> Callable[[Property], bool]:
    """Whether a query asks for a property: a row of the lexicon has a word of the query, and one of the
    property's name."""
    text = simplified(query).casefold()
    rows_ = [(e.zh, e.en) for e in entries("ask") if any(stands(w, text) for w in (*e.zh, *e.en))]

    def asked(property_: Property) -> bool:
        if any(stands(name, text) for name in (property_.zh, property_.en)):
            return True
        return any(
            any(stands(w, property_.zh) for w in zh) or any(stands(w, property_.en) for w in en)
            for zh, en in rows_
        )

    return asked


def stands(name: str, text: str) -> bool:
    """Whether a name stands in a text, in a language with spaces as a whole word."""
    if has_han(name):
        return name in text
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def named(thing: Mapping[str, Any], tongue: Language) -> str:
    """A thing's label in a language, else in English; "" if it has none."""
    labels = thing.get("labels")
    labels = labels if isinstance(labels, dict) else {}
    codes = ("zh-hans", "zh-cn", "zh", "en") if tongue == "zh" else ("en",)
    found = (labels.get(code) for code in codes)
    return next((tidy(one.get("value")) for one in found if isinstance(one, dict)), "")


def wanted(thing: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the things and units that its statements and their references name."""
    for property_ in PROPERTIES:
        for statement in _best(thing, property_.id):
            yield from _ids(_value(statement.get("mainsnak")))
            for reference in rows(statement.get("references")):
                for snak in _snaks(reference, _STATED_IN):
                    yield from _ids(_value(snak))


def stated(
    thing: Mapping[str, Any], property_: Property, name: str, labels: Labels, tongue: Language
) -> str:
    """What is stated, in a line, and in a second one where it is from; "" if nothing can be told."""
    told: dict[str, None] = {}
    sources: dict[str, None] = {}
    for statement in _best(thing, property_.id):
        if value := _said(_value(statement.get("mainsnak")), labels, tongue):
            when = _when(statement, tongue)
            told[message("mark.aside", tongue, text=value, more=when) if when else value] = None
            sources |= dict.fromkeys(_references(statement, labels))
    if not told:
        return ""
    say = speaker(tongue, "fact.")
    values = message("mark.list", tongue).join(told)
    line = say("wikidata_stated", name=name, property=property_.called(tongue), values=values)
    if not sources:
        return f"{line}\n{say('wikidata_without')}"
    return f"{line}\n{say('wikidata_reference', sources='; '.join([*sources][:VALUES]))}"


def _best(thing: Mapping[str, Any], property_: str) -> list[dict[str, Any]]:
    """The statements that hold: preferred ones if there are any, nothing that is over, the latest of
    figures first."""
    claims = thing.get("claims")
    found = rows(claims.get(property_) if isinstance(claims, dict) else None)
    found = [one for one in found if one.get("rank") != "deprecated" and not _over(one)]
    found = [one for one in found if one.get("rank") == "preferred"] or found
    dated = [one for one in found if _time(one, _AT)]
    if dated:  # a figure of each year: the latest is the one that is meant
        return [max(dated, key=lambda one: _time(one, _AT))]
    return found[:VALUES]


def _over(statement: Mapping[str, Any]) -> bool:
    return any(True for _ in _snaks(statement, _UNTIL, "qualifiers"))


def _time(statement: Mapping[str, Any], property_: str) -> str:
    """When a statement holds, so that it can be ordered; "" if that is not said."""
    for snak in _snaks(statement, property_, "qualifiers"):
        value = _value(snak)
        if value and isinstance(value[1], dict):
            return str(value[1].get("time", ""))
    return ""


def _snaks(holder: Mapping[str, Any], property_: str, field: str = "snaks") -> list[dict[str, Any]]:
    snaks = holder.get(field)
    return rows(snaks.get(property_) if isinstance(snaks, dict) else None)


def _value(snak: object) -> tuple[str, Any] | None:
    """The type of a value and the value; None where it is unknown or there is none."""
    if not isinstance(snak, dict) or snak.get("snaktype") != "value":
        return None
    found = snak.get("datavalue")
    return (str(found.get("type")), found.get("value")) if isinstance(found, dict) else None


def _ids(value: tuple[str, Any] | None) -> Iterator[str]:
    if value and isinstance(value[1], dict):
        unit = str(value[1].get("unit", "")).rpartition("/")[2]
        yield from (
            one for one in (str(value[1].get("id", "")), unit) if re.fullmatch(r"Q\d+", one)
        )


def _said(value: tuple[str, Any] | None, labels: Labels, tongue: Language) -> str:
    """A value in words; "" for one that cannot be told."""
    if value is None:
        return ""
    kind, found = value
    if kind == "string":
        return tidy(found)[:200]
    if not isinstance(found, dict):
        return ""
    if kind == "monolingualtext":
        return tidy(found.get("text"))[:200]
    if kind == "wikibase-entityid":
        return labels.get(str(found.get("id")), "")
    if kind == "quantity":
        return _quantity(found, labels)
    if kind == "globecoordinate":
        return _point(found)
    return _date(found, tongue) if kind == "time" else ""


def _quantity(found: Mapping[str, Any], labels: Labels) -> str:
    """A figure with its unit; none without the name of its unit."""
    try:
        amount = Decimal(str(found.get("amount")))
    except InvalidOperation:
        return ""
    if not amount.is_finite() or abs(amount.adjusted()) > 30:
        return ""
    shown = f"{amount:,f}" if abs(amount) >= 10_000 else f"{amount:f}"
    unit = str(found.get("unit", "1"))
    if unit == "1":
        return shown
    name = labels.get(unit.rpartition("/")[2], "")
    if amount != 1 and re.search(r"(?:metre|gram|hectare|mile|litre|tonne|year|day|hour)$", name):
        name += "s"
    return f"{shown} {name}" if name else ""


def _point(found: Mapping[str, Any]) -> str:
    """Latitude and longitude on Earth, in degrees."""
    try:
        lat, lng = float(found.get("latitude", "")), float(found.get("longitude", ""))
    except (TypeError, ValueError):
        return ""
    if found.get("globe", _EARTH) != _EARTH or not (abs(lat) <= 90 and abs(lng) <= 180):
        return ""
    return f"{abs(lat):.4f}° {'N' if lat >= 0 else 'S'}, {abs(lng):.4f}° {'E' if lng >= 0 else 'W'}"


def _date(found: Mapping[str, Any], tongue: Language) -> str:
    """A date as exact as it is known; "" where not even the year is."""
    parts = re.match(r"([+-])0*(\d+)-(\d\d)-(\d\d)T", str(found.get("time")))
    precision = found.get("precision")
    if not parts or not isinstance(precision, int) or precision < _YEAR:
        return ""
    say = speaker(tongue, "fact.")
    year = (
        say("wikidata_bc", year=parts[2])
        if parts[1] == "-"
        else say("wikidata_year", year=parts[2])
    )
    month, day = int(parts[3]), int(parts[4])
    if precision == _YEAR or not 1 <= month <= 12 or found.get("calendarmodel") == _JULIAN:
        return year
    if precision == _MONTH or not 1 <= day <= 31:
        return say("wikidata_month", year=year, month=_month(month, tongue))
    return say("wikidata_day", year=year, month=_month(month, tongue), day=str(day))


def _month(month: int, tongue: Language) -> str:
    return str(month) if tongue == "zh" else month_name[month]


def _when(statement: Mapping[str, Any], tongue: Language) -> str:
    """The time that a statement holds for, or since when it does."""
    for property_, key in ((_AT, ""), (_FROM, "fact.wikidata_since")):
        for snak in _snaks(statement, property_, "qualifiers"):
            value = _value(snak)
            if value and isinstance(value[1], dict) and (date := _date(value[1], tongue)):
                return message(key, tongue, date=date) if key else date
    return ""


def _references(statement: Mapping[str, Any], labels: Labels) -> Iterator[str]:
    """Where a statement is from: addresses, else the names of works."""
    for reference in rows(statement.get("references")):
        for snak in _snaks(reference, _URL):
            if (value := _value(snak)) and (url := canonical_url(tidy(value[1]))):
                yield url
        for snak in _snaks(reference, _STATED_IN):
            value = _value(snak)
            if (
                value
                and isinstance(value[1], dict)
                and (name := labels.get(str(value[1].get("id"))))
            ):
                yield name
