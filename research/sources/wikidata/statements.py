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
from research.core.i18n import message, translator
from research.core.records import Language
from research.core.text.hanzi import to_simplified
from research.core.text.lexicon import lexicon_entries
from research.core.text.tokenizer import has_han
from research.core.urls import canonical_url
from research.http.sanitize import keep_objects, tidy_text

Labels = Mapping[str, str]  # what things are called, by their ids

MAX_VALUES = 3  # told of one property at most
_EARTH_URI = "http://www.wikidata.org/entity/Q2"
_JULIAN_URI = "http://www.wikidata.org/entity/Q1985786"
_DAY_PRECISION, _MONTH_PRECISION, _YEAR_PRECISION = 11, 10, 9  # precisions of a time; what is vaguer is not told
_POINT_IN_TIME, _START_TIME, _END_TIME = "P585", "P580", "P582"  # qualifiers: at a time, from, until
_REFERENCE_URL, _STATED_IN = "P854", "P248"  # of references


class Property(NamedTuple):
    """A property and what it is called."""

    id: str
    zh: str
    en: str

    def label(self, language: Language) -> str:
        """Its name in a language."""
        return self.zh if language == "zh" else self.en


PROPERTIES = tuple(Property(*row) for row in data.rows("wikidata.tsv"))


def requested_properties(query: str) -> Callable[[Property], bool]:
    """Whether a query asks for a property: a row of the lexicon has a word of the query, and one of the
    property's name."""
    text = to_simplified(query).casefold()
    rows_ = [(e.zh, e.en) for e in lexicon_entries("ask") if any(occurs_in(w, text) for w in (*e.zh, *e.en))]

    def asked(property_: Property) -> bool:
        if any(occurs_in(name, text) for name in (property_.zh, property_.en)):
            return True
        return any(
            any(occurs_in(w, property_.zh) for w in zh) or any(occurs_in(w, property_.en) for w in en)
            for zh, en in rows_
        )

    return asked


def occurs_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, in a language with spaces as a whole word."""
    if has_han(name):
        return name in text
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def entity_label(entity: Mapping[str, Any], language: Language) -> str:
    """A thing's label in a language, else in English; "" if it has none."""
    labels = entity.get("labels")
    labels = labels if isinstance(labels, dict) else {}
    codes = ("zh-hans", "zh-cn", "zh", "en") if language == "zh" else ("en",)
    found = (labels.get(code) for code in codes)
    return next((tidy_text(one.get("value")) for one in found if isinstance(one, dict)), "")


def referenced_ids(entity: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the things and units that its statements and their references name."""
    for property_ in PROPERTIES:
        for statement in _current_statements(entity, property_.id):
            yield from _value_ids(_snak_value(statement.get("mainsnak")))
            for reference in keep_objects(statement.get("references")):
                for snak in _get_snaks(reference, _STATED_IN):
                    yield from _value_ids(_snak_value(snak))


def describe_property(
    entity: Mapping[str, Any], property_: Property, name: str, labels: Labels, language: Language
) -> str:
    """What is stated, in a line, and in a second one where it is from; "" if nothing can be told."""
    told: dict[str, None] = {}
    sources: dict[str, None] = {}
    for statement in _current_statements(entity, property_.id):
        if value := _format_value(_snak_value(statement.get("mainsnak")), labels, language):
            when = _format_period(statement, language)
            told[message("mark.aside", language, text=value, more=when) if when else value] = None
            sources |= dict.fromkeys(_reference_names(statement, labels))
    if not told:
        return ""
    say = translator(language, "fact.")
    values = message("mark.list", language).join(told)
    line = say("wikidata_stated", name=name, property=property_.label(language), values=values)
    if not sources:
        return f"{line}\n{say('wikidata_without')}"
    return f"{line}\n{say('wikidata_reference', sources='; '.join([*sources][:MAX_VALUES]))}"


def _current_statements(entity: Mapping[str, Any], property_id: str) -> list[dict[str, Any]]:
    """The statements that hold: preferred ones if there are any, nothing that is over, the latest of
    figures first."""
    claims = entity.get("claims")
    found = keep_objects(claims.get(property_id) if isinstance(claims, dict) else None)
    found = [one for one in found if one.get("rank") != "deprecated" and not _has_ended(one)]
    found = [one for one in found if one.get("rank") == "preferred"] or found
    dated = [one for one in found if _qualifier_time(one, _POINT_IN_TIME)]
    if dated:  # a figure of each year: the latest is the one that is meant
        return [max(dated, key=lambda one: _qualifier_time(one, _POINT_IN_TIME))]
    return found[:MAX_VALUES]


def _has_ended(statement: Mapping[str, Any]) -> bool:
    return any(True for _ in _get_snaks(statement, _END_TIME, "qualifiers"))


def _qualifier_time(statement: Mapping[str, Any], property_id: str) -> str:
    """When a statement holds, so that it can be ordered; "" if that is not said."""
    for snak in _get_snaks(statement, property_id, "qualifiers"):
        value = _snak_value(snak)
        if value and isinstance(value[1], dict):
            return str(value[1].get("time", ""))
    return ""


def _get_snaks(holder: Mapping[str, Any], property_id: str, field: str = "snaks") -> list[dict[str, Any]]:
    snaks = holder.get(field)
    return keep_objects(snaks.get(property_id) if isinstance(snaks, dict) else None)


def _snak_value(snak: object) -> tuple[str, Any] | None:
    """The type of a value and the value; None where it is unknown or there is none."""
    if not isinstance(snak, dict) or snak.get("snaktype") != "value":
        return None
    found = snak.get("datavalue")
    return (str(found.get("type")), found.get("value")) if isinstance(found, dict) else None


def _value_ids(value: tuple[str, Any] | None) -> Iterator[str]:
    if value and isinstance(value[1], dict):
        unit = str(value[1].get("unit", "")).rpartition("/")[2]
        yield from (one for one in (str(value[1].get("id", "")), unit) if re.fullmatch(r"Q\d+", one))


def _format_value(value: tuple[str, Any] | None, labels: Labels, language: Language) -> str:
    """A value in words; "" for one that cannot be told."""
    if value is None:
        return ""
    kind, found = value
    if kind == "string":
        return tidy_text(found)[:200]
    if not isinstance(found, dict):
        return ""
    if kind == "monolingualtext":
        return tidy_text(found.get("text"))[:200]
    if kind == "wikibase-entityid":
        return labels.get(str(found.get("id")), "")
    if kind == "quantity":
        return _format_quantity(found, labels)
    if kind == "globecoordinate":
        return _format_coordinates(found)
    return _format_date(found, language) if kind == "time" else ""


def _format_quantity(quantity: Mapping[str, Any], labels: Labels) -> str:
    """A figure with its unit; none without the name of its unit."""
    try:
        amount = Decimal(str(quantity.get("amount")))
    except InvalidOperation:
        return ""
    if not amount.is_finite() or abs(amount.adjusted()) > 30:
        return ""
    shown = f"{amount:,f}" if abs(amount) >= 10_000 else f"{amount:f}"
    unit = str(quantity.get("unit", "1"))
    if unit == "1":
        return shown
    name = labels.get(unit.rpartition("/")[2], "")
    if amount != 1 and re.search(r"(?:metre|gram|hectare|mile|litre|tonne|year|day|hour)$", name):
        name += "s"
    return f"{shown} {name}" if name else ""


def _format_coordinates(coordinates: Mapping[str, Any]) -> str:
    """Latitude and longitude on Earth, in degrees."""
    try:
        lat, lng = float(coordinates.get("latitude", "")), float(coordinates.get("longitude", ""))
    except (TypeError, ValueError):
        return ""
    if coordinates.get("globe", _EARTH_URI) != _EARTH_URI or not (abs(lat) <= 90 and abs(lng) <= 180):
        return ""
    return f"{abs(lat):.4f}° {'N' if lat >= 0 else 'S'}, {abs(lng):.4f}° {'E' if lng >= 0 else 'W'}"


def _format_date(time_value: Mapping[str, Any], language: Language) -> str:
    """A date as exact as it is known; "" where not even the year is."""
    parts = re.match(r"([+-])0*(\d+)-(\d\d)-(\d\d)T", str(time_value.get("time")))
    precision = time_value.get("precision")
    if not parts or not isinstance(precision, int) or precision < _YEAR_PRECISION:
        return ""
    say = translator(language, "fact.")
    year = say("wikidata_bc", year=parts[2]) if parts[1] == "-" else say("wikidata_year", year=parts[2])
    month, day = int(parts[3]), int(parts[4])
    if precision == _YEAR_PRECISION or not 1 <= month <= 12 or time_value.get("calendarmodel") == _JULIAN_URI:
        return year
    if precision == _MONTH_PRECISION or not 1 <= day <= 31:
        return say("wikidata_month", year=year, month=_format_month(month, language))
    return say("wikidata_day", year=year, month=_format_month(month, language), day=str(day))


def _format_month(month: int, language: Language) -> str:
    return str(month) if language == "zh" else month_name[month]


def _format_period(statement: Mapping[str, Any], language: Language) -> str:
    """The time that a statement holds for, or since when it does."""
    for property_, key in ((_POINT_IN_TIME, ""), (_START_TIME, "fact.wikidata_since")):
        for snak in _get_snaks(statement, property_, "qualifiers"):
            value = _snak_value(snak)
            if value and isinstance(value[1], dict) and (date := _format_date(value[1], language)):
                return message(key, language, date=date) if key else date
    return ""


def _reference_names(statement: Mapping[str, Any], labels: Labels) -> Iterator[str]:
    """Where a statement is from: addresses, else the names of works."""
    for reference in keep_objects(statement.get("references")):
        for snak in _get_snaks(reference, _REFERENCE_URL):
            if (value := _snak_value(snak)) and (url := canonical_url(tidy_text(value[1]))):
                yield url
        for snak in _get_snaks(reference, _STATED_IN):
            value = _snak_value(snak)
            if value and isinstance(value[1], dict) and (name := labels.get(str(value[1].get("id")))):
                yield name
