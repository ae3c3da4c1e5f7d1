"""Wikidata statements as sentences in one language: a property, its values and their references.

The JSON is described in docs/topics/json.md of mediawiki-extensions-Wikibase. The properties and
their order are in `data/wikidata.tsv`.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from research import data
from research.core.i18n import message, translator
from research.core.json_values import as_object, keep_objects
from research.core.records import Language
from research.core.text.hanzi import to_simplified
from research.core.text.lexicon import lexicon_entries
from research.core.text.tokenizer import has_han
from research.core.urls import canonical_url
from research.http.sanitize import tidy_text

Labels = Mapping[str, str]  # by entity id

MAX_VALUES = 3  # of one property, and of its references
_EARTH_URI = "http://www.wikidata.org/entity/Q2"
_JULIAN_URI = "http://www.wikidata.org/entity/Q1985786"
_DAY_PRECISION, _MONTH_PRECISION, _YEAR_PRECISION = 11, 10, 9  # times with a lower precision are skipped
_POINT_IN_TIME, _START_TIME, _END_TIME = "P585", "P580", "P582"  # qualifiers
_REFERENCE_URL, _STATED_IN = "P854", "P248"  # properties of references


class Property(NamedTuple):
    """A property with its names."""

    id: str
    zh: str
    en: str

    def label(self, language: Language) -> str:
        """Return the name in a language."""
        return self.zh if language == "zh" else self.en


PROPERTIES = tuple(Property(*row) for row in data.rows("wikidata.tsv"))


def requested_properties(query: str) -> Callable[[Property], bool]:
    """Return a predicate that tests whether a query requests a property.

    It does if it contains the property's name, or a word of a lexicon row that also contains a word
    of that name.
    """
    text = to_simplified(query).casefold()
    matching_rows = [(e.zh, e.en) for e in lexicon_entries("ask") if any(occurs_in(w, text) for w in (*e.zh, *e.en))]

    def is_requested(property_: Property) -> bool:
        if any(occurs_in(name, text) for name in (property_.zh, property_.en)):
            return True
        return any(
            any(occurs_in(w, property_.zh) for w in zh) or any(occurs_in(w, property_.en) for w in en)
            for zh, en in matching_rows
        )

    return is_requested


def occurs_in(name: str, text: str) -> bool:
    """Return whether a text contains a name; outside Chinese only as a whole word."""
    if has_han(name):
        return name in text
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def entity_label(entity: Mapping[str, Any], language: Language) -> str:
    """Return an entity's label in a language, else in English, else ""."""
    labels = as_object(entity.get("labels"))
    codes = ("zh-hans", "zh-cn", "zh", "en") if language == "zh" else ("en",)
    candidates = (labels.get(code) for code in codes)
    return next((tidy_text(label.get("value")) for label in candidates if isinstance(label, dict)), "")


def referenced_ids(entity: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the entities and units in the statements and their references."""
    for property_ in PROPERTIES:
        for statement in _current_statements(entity, property_.id):
            yield from _value_ids(_snak_value(statement.get("mainsnak")))
            for reference in keep_objects(statement.get("references")):
                for snak in _get_snaks(reference, _STATED_IN):
                    yield from _value_ids(_snak_value(snak))


def describe_property(
    entity: Mapping[str, Any], property_: Property, name: str, labels: Labels, language: Language
) -> str:
    """Return a line with the property's values and a line with references; "" without values."""
    described: dict[str, None] = {}
    sources: dict[str, None] = {}
    for statement in _current_statements(entity, property_.id):
        if value := _format_value(_snak_value(statement.get("mainsnak")), labels, language):
            period = _format_period(statement, language)
            described[message("mark.aside", language, text=value, more=period) if period else value] = None
            sources |= dict.fromkeys(_reference_names(statement, labels))
    if not described:
        return ""
    translate = translator(language, "fact.")
    joined = message("mark.list", language).join(described)
    line = translate("wikidata_stated", name=name, property=property_.label(language), values=joined)
    if not sources:
        return f"{line}\n{translate('wikidata_without')}"
    return f"{line}\n{translate('wikidata_reference', sources='; '.join([*sources][:MAX_VALUES]))}"


def _current_statements(entity: Mapping[str, Any], property_id: str) -> list[dict[str, Any]]:
    """Return the current statements of a property: preferred ones if any, without ended ones.

    Of dated statements only the latest is returned.
    """
    statements = keep_objects(as_object(entity.get("claims")).get(property_id))
    statements = [one for one in statements if one.get("rank") != "deprecated" and not _has_ended(one)]
    statements = [one for one in statements if one.get("rank") == "preferred"] or statements
    dated = [one for one in statements if _qualifier_time(one, _POINT_IN_TIME)]
    if dated:  # of yearly figures only the latest is current
        return [max(dated, key=lambda one: _qualifier_time(one, _POINT_IN_TIME))]
    return statements[:MAX_VALUES]


def _has_ended(statement: Mapping[str, Any]) -> bool:
    return any(True for _ in _get_snaks(statement, _END_TIME, "qualifiers"))


def _qualifier_time(statement: Mapping[str, Any], property_id: str) -> str:
    """Return the time in a qualifier as a sortable string, or ""."""
    for snak in _get_snaks(statement, property_id, "qualifiers"):
        value = _snak_value(snak)
        if value and isinstance(value[1], dict):
            return str(value[1].get("time", ""))
    return ""


def _get_snaks(holder: Mapping[str, Any], property_id: str, field: str = "snaks") -> list[dict[str, Any]]:
    return keep_objects(as_object(holder.get(field)).get(property_id))


def _snak_value(snak: object) -> tuple[str, Any] | None:
    """Return the type and the value of a snak; None if the value is unknown or absent."""
    if not isinstance(snak, dict) or snak.get("snaktype") != "value":
        return None
    value = snak.get("datavalue")
    return (str(value.get("type")), value.get("value")) if isinstance(value, dict) else None


def _value_ids(value: tuple[str, Any] | None) -> Iterator[str]:
    if value and isinstance(value[1], dict):
        unit = str(value[1].get("unit", "")).rpartition("/")[2]
        yield from (entity_id for entity_id in (str(value[1].get("id", "")), unit) if re.fullmatch(r"Q\d+", entity_id))


def _format_value(value: tuple[str, Any] | None, labels: Labels, language: Language) -> str:
    """Return a value as text; "" for an unsupported type."""
    if value is None:
        return ""
    kind, content = value
    if kind == "string":
        return tidy_text(content)[:200]
    if not isinstance(content, dict):
        return ""
    if kind == "monolingualtext":
        return tidy_text(content.get("text"))[:200]
    if kind == "wikibase-entityid":
        return labels.get(str(content.get("id")), "")
    if kind == "quantity":
        return _format_quantity(content, labels)
    if kind == "globecoordinate":
        return _format_coordinates(content)
    return _format_date(content, language) if kind == "time" else ""


def _format_quantity(quantity: Mapping[str, Any], labels: Labels) -> str:
    """Return a quantity with its unit; "" if the unit's name is unknown."""
    try:
        amount = Decimal(str(quantity.get("amount")))
    except InvalidOperation:
        return ""
    if not amount.is_finite() or abs(amount.adjusted()) > 30:
        return ""
    number = f"{amount:,f}" if abs(amount) >= 10_000 else f"{amount:f}"
    unit = str(quantity.get("unit", "1"))
    if unit == "1":
        return number
    name = labels.get(unit.rpartition("/")[2], "")
    if amount != 1 and re.search(r"(?:metre|gram|hectare|mile|litre|tonne|year|day|hour)$", name):
        name += "s"
    return f"{number} {name}" if name else ""


def _format_coordinates(coordinates: Mapping[str, Any]) -> str:
    """Return latitude and longitude in degrees; "" for places not on Earth."""
    try:
        lat, lng = float(coordinates.get("latitude", "")), float(coordinates.get("longitude", ""))
    except (TypeError, ValueError):
        return ""
    if coordinates.get("globe", _EARTH_URI) != _EARTH_URI or not (abs(lat) <= 90 and abs(lng) <= 180):
        return ""
    return f"{abs(lat):.4f}° {'N' if lat >= 0 else 'S'}, {abs(lng):.4f}° {'E' if lng >= 0 else 'W'}"


def _format_date(time_value: Mapping[str, Any], language: Language) -> str:
    """Return a date with its known precision; "" if not even the year is known."""
    parts = re.match(r"([+-])0*(\d+)-(\d\d)-(\d\d)T", str(time_value.get("time")))
    precision = time_value.get("precision")
    if not parts or not isinstance(precision, int) or precision < _YEAR_PRECISION:
        return ""
    translate = translator(language, "fact.")
    year = translate("wikidata_bc", year=parts[2]) if parts[1] == "-" else translate("wikidata_year", year=parts[2])
    month, day = int(parts[3]), int(parts[4])
    if precision == _YEAR_PRECISION or not 1 <= month <= 12 or time_value.get("calendarmodel") == _JULIAN_URI:
        return year
    if precision == _MONTH_PRECISION or not 1 <= day <= 31:
        return translate("wikidata_month", year=year, month=_format_month(month, language))
    return translate("wikidata_day", year=year, month=_format_month(month, language), day=str(day))


def _format_month(month: int, language: Language) -> str:
    return str(month) if language == "zh" else month_name[month]


def _format_period(statement: Mapping[str, Any], language: Language) -> str:
    """Return the time at which, or since which, a statement holds; else ""."""
    for property_, key in ((_POINT_IN_TIME, ""), (_START_TIME, "fact.wikidata_since")):
        for snak in _get_snaks(statement, property_, "qualifiers"):
            value = _snak_value(snak)
            if value and isinstance(value[1], dict) and (date := _format_date(value[1], language)):
                return message(key, language, date=date) if key else date
    return ""


def _reference_names(statement: Mapping[str, Any], labels: Labels) -> Iterator[str]:
    """Yield the URLs and work titles in a statement's references."""
    for reference in keep_objects(statement.get("references")):
        for snak in _get_snaks(reference, _REFERENCE_URL):
            if (value := _snak_value(snak)) and (url := canonical_url(tidy_text(value[1]))):
                yield url
        for snak in _get_snaks(reference, _STATED_IN):
            value = _snak_value(snak)
            if value and isinstance(value[1], dict) and (name := labels.get(str(value[1].get("id")))):
                yield name
