"""Sentences that state the outcome of a question in its language. No model writes them.

If the rules have read the question, the sentence has its shape: a number, a list, the nearest areas
with their distances. Of any other statement only the columns are known, and the sentence is
generic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from research.core.display_names import english_region
from research.core.i18n import has_message, message, translator
from research.core.reading_notes import describe_reading_note
from research.core.records import ColumnCoverage, Language, QueryResult
from research.core.text.tokenizer import detect_language
from research.sources.database.agent import Outcome
from research.sources.database.statement_builder import to_singular

MAX_NAMES = 10  # names in a sentence
MAX_CELL_CHARS = 160  # characters of a cell in a sentence
MAX_NAME_CHARS = 60  # characters of one of several names
_BASE_COLUMNS = ("gid", "name", "name_en", "province", "city", "district", "address", "lng_wgs84", "lat_wgs84")
# Columns that are stated together with others, or implied by the name.
_UNMENTIONED_COLUMNS = (*_BASE_COLUMNS, "ticket_year", "ticket_text")
Row = Mapping[str, Any]


def describe_outcome(outcome: Outcome) -> str:
    """State the outcome in words. It contains nothing that is not in the rows."""
    sentences, coverage_sentences = outcome_sentences(outcome)
    return ("" if detect_language(outcome.question) == "zh" else " ").join([*sentences, *coverage_sentences])


def outcome_sentences(outcome: Outcome) -> tuple[list[str], list[str]]:
    """Return the sentences on the rows, and those on what the rows cover: for how many the values are known,
    and what was left out when files were read."""
    language = detect_language(outcome.question)
    translate = translator(language, "outcome.")
    rows = outcome.rows
    if outcome.status == "no model":
        return _without_model(outcome, language), []
    if outcome.status == "unclear":
        by_rules = not any(step.kind == "understand" for step in outcome.steps)
        if not by_rules:
            return [translate("asks", problem=outcome.problem)], []
        areas, provinces = outcome.area_counts
        if outcome.is_not_covered:
            return [translate("absent", problem=outcome.problem, n=areas, provinces=provinces)], []
        not_understood = translate("lost", problem=outcome.problem or outcome.question)
        covered = [translate("holds", n=areas, provinces=provinces)] if areas else []
        return [not_understood, *covered, translate("idle" if outcome.has_idle_model else "no model")], []
    if rows is None:
        key = "failed" if outcome.status == "failed" else "refused"
        return [translate(key, problem=outcome.problem)], []
    restatement = outcome.restatement.rstrip("。. ") or outcome.question.rstrip("？? ")
    if rows.rows:
        parts = _shape_sentences(outcome, rows, restatement, language)
        if rows.truncated and outcome.shape != "group":
            parts.append(translate("truncated", n=len(rows.rows)))
    elif outcome.subject and outcome.shape in ("list", "within"):
        parts = [translate("none", things=_pad_number(outcome.subject, language))]
    else:
        parts = [translate("no rows", meant=restatement)]
    if null_sentence := _null_sentence(outcome, rows, language):
        parts.append(null_sentence)
    coverage_sentences = [_coverage_sentence(each, outcome, language) for each in rows.coverage]
    return parts, [*coverage_sentences, *(describe_reading_note(note, language) for note in rows.reading_notes)]


def _without_model(outcome: Outcome, language: Language) -> list[str]:
    """State that only a model can answer the question, and list what can be done without one."""
    translate = translator(language, "outcome.")
    sentences = [translate("needs model"), translate("idle" if outcome.has_idle_model else "unset")]
    if outcome.saved:
        quoted = [message("mark.quoted", language, text=shorten(text)) for text in outcome.saved]
        sentences.append(translate("saved", questions=message("mark.list", language).join(quoted)))
    return [*sentences, translate("write sql")]


def column_label(column: str, language: Language) -> str:
    """Return the label of a column in a sentence; its own name if it is no shipped column."""
    return message(f"column.{column.lower()}", language) if _has_label(column) else column


def _has_label(column: str) -> bool:
    return column.isidentifier() and has_message(f"column.{column.lower()}")


def _shape_sentences(outcome: Outcome, rows: QueryResult, restatement: str, language: Language) -> list[str]:
    """Return the sentences for the shape of the question, if the rows fit it."""
    translate = translator(language, "outcome.")
    names = set(rows.names)
    cells = [dict(zip(rows.names, row, strict=True)) for row in rows.rows]
    shape = outcome.shape
    if shape == "count" and rows.names == ("n",):
        return [_count_sentence(outcome.subject, int(cells[0]["n"]), language)]
    if shape in ("most", "group") and len(names) > 1:
        return [_group_sentence(rows, restatement, language)]
    if shape == "distance" and "km" in names:
        if (km := cells[0]["km"]) is None:
            return [translate("unknown value", meant=_capitalize(restatement))]
        return [translate("apart", meant=restatement, km=_format_number(km))]
    if shape == "average" and "average_ticket_cny" in names:
        value = cells[0]["average_ticket_cny"]
        if value is None:
            return [translate("unknown value", meant=_capitalize(restatement))]
        return [translate("average", meant=restatement, value=_format_number(value))]
    if shape == "detail" and "name" in names:
        details = [_detail_text(row, rows.names, language) for row in cells]
        return [message("mark.semicolon", language).join(details) + message("mark.stop", language)]
    if shape in ("list", "within", "best", "nearest") and "name" in names:
        return _list_sentences(outcome, rows, cells, restatement, language)
    return [_generic_sentence(rows, restatement, language)]


def _count_sentence(subject: str, count: int, language: Language, is_truncated: bool = False) -> str:
    """State how many areas there are; with `is_truncated`, only the first of many are counted."""
    translate = translator(language, "outcome.")
    if count == 0:
        return translate("none", things=_pad_number(subject, language))
    if (
        language == "zh"
        and not is_truncated
        and (place := re.fullmatch(r"([\u4e00-\u9fff、]+[省市区州盟])的 5A 级景区", subject))
    ):
        return translate("place has", place=place[1], n=count)
    if count == 1 and not is_truncated:
        subject = to_singular(subject)
    return translate("many" if is_truncated else "count", things=subject, n=count)


def _list_sentences(
    outcome: Outcome, rows: QueryResult, cells: Sequence[Row], restatement: str, language: Language
) -> list[str]:
    """State the number of areas in a list, and the names of the first ones with their requested values."""
    translate = translator(language, "outcome.")
    shown = list(cells)
    if outcome.shape in ("list", "within") and (requested := _requested_columns(rows.names)):
        shown.sort(key=lambda row: all(row[name] in (None, "") for name in requested))
    free = all(row.get("ticket_cny") == 0 for row in cells)
    entries = [_name_with_values(row, rows.names, language, free) for row in shown[:MAX_NAMES]]
    joined = message("mark.list", language).join(entries)
    if outcome.shape in ("best", "nearest") and len(cells) <= MAX_NAMES:
        return [translate("is", meant=_capitalize(restatement), what=joined)]
    if outcome.shape in ("best", "nearest"):
        head = translate("rows", meant=_capitalize(restatement), n=len(cells))
    else:
        head = _count_sentence(outcome.subject, len(cells), language, rows.truncated)
    key = "named some" if len(cells) > MAX_NAMES else "named" if len(cells) > 1 else "named one"
    return [head, translate(key, names=joined, n=len(entries))]


def _requested_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of a list that the question requested."""
    return [name for name in names if name not in (*_UNMENTIONED_COLUMNS, "year_rated", "km", "ticket_cny")]


def _name_with_values(row: Row, names: Sequence[str], language: Language, is_free: bool) -> str:
    """Return a name with its distance, price and requested values.

    A price is left out if `is_free`, because the sentence then states that all are free.
    """
    name, values = str(row["name"]), []
    if row.get("km") is not None:
        values.append(_value_with_unit("km", row["km"], language))
    if row.get("ticket_cny") is not None and not is_free:
        values.append(_price_text(row, language))
    values += [shorten(row[key]) for key in _requested_columns(names) if row[key] not in (None, "")]
    if not values:
        return name
    details = message("mark.list", language).join(values)
    return message("mark.aside", language, text=name, more=details)


def _price_text(row: Row, language: Language) -> str:
    value = row["ticket_cny"]
    if value == 0:
        return message("outcome.free", language)
    return message("outcome.yuan", language, n=_format_number(value))


def _detail_text(row: Row, names: Sequence[str], language: Language) -> str:
    """Return the requested facts about one area."""
    translate, facts = translator(language, "outcome."), []
    places = [str(row[key]) for key in ("province", "city", "district", "address") if row.get(key)]
    if "address" in names or "district" in names:
        names_of_places = [english_region(place) for place in reversed(places)] if language == "en" else places
        where = (", " if language == "en" else "").join(dict.fromkeys(names_of_places))
        facts.append(translate("where", where=where))
    columns = [n for n in names if n not in _UNMENTIONED_COLUMNS and n != "year_rated"]
    if "year_rated" in names and names.index("year_rated") > names.index("lat_wgs84"):
        columns.append("year_rated")
    for name in columns:
        value = row[name]
        if value is None or value == "":
            continue
        if name == "ticket_cny":
            facts.append(translate("ticket", price=_price_with_year(row, language)))
        elif name == "year_rated":
            facts.append(translate("rated", year=value))
        else:
            facts.append(f"{column_label(name, language)} {_value_with_unit(name, value, language)}".rstrip("。. "))
    details = message("mark.comma", language).join(facts)
    return message("mark.colon", language).join(filter(None, (str(row["name"]), details)))


def _price_with_year(row: Row, language: Language) -> str:
    """Return a price with its year and, in Chinese, its description."""
    price, year = _price_text(row, language), row.get("ticket_year")
    words = row.get("ticket_text") if language == "zh" and row["ticket_cny"] != 0 else None
    notes = [message("outcome.year", language, year=year)] if year else []
    notes += [shorten(words)] if words else []
    if not notes:
        return price
    return message("mark.aside", language, text=price, more=message("mark.colon", language).join(notes))


def _group_sentence(rows: QueryResult, restatement: str, language: Language) -> str:
    """State the number or the average price of each group, of the first groups if there are many."""
    translate = translator(language, "outcome.")
    figure_index = next((rows.names.index(n) for n in ("average_ticket_cny", "n") if n in rows.names), -1)
    units = {"n": "things", "average_ticket_cny": "yuan"}
    groups = []
    for row in rows.rows[:MAX_NAMES]:
        name = english_region(str(row[0])) if language == "en" else str(row[0])
        name = translate("year", year=name) if rows.names[0] == "year_rated" else name
        figure = _format_number(row[figure_index])
        unit = units.get(rows.names[figure_index])
        groups.append(f"{name} {translate(unit, n=figure) if unit else figure}")
    joined = message("mark.comma", language).join(groups)
    if len(rows.rows) <= MAX_NAMES:
        return translate("is", meant=_capitalize(restatement), what=joined)
    return translate("some groups", meant=_capitalize(restatement), n=len(rows.rows), few=len(groups), names=joined)


def _generic_sentence(rows: QueryResult, restatement: str, language: Language) -> str:
    """State the rows of any other statement: a value, or the number of rows and their names."""
    translate = translator(language, "outcome.")
    if len(rows.rows) == 1 and len(rows.names) == 1:
        value = rows.rows[0][0]
        if value is None or value == "":
            return translate("unknown value", meant=restatement)
        return translate("is", meant=restatement, what=_value_with_unit(rows.names[0], value, language))
    number = len(rows.rows)
    head = translate("rows", meant=restatement, n=number)
    name_index = next((n for n, name in enumerate(rows.names) if name in ("name", "province", "city")), None)
    if name_index is None:
        return head
    names = [shorten(row[name_index], MAX_NAME_CHARS) for row in rows.rows[:MAX_NAMES] if row[name_index]]
    if not names:
        return head
    key = "named" if number <= MAX_NAMES else "named some"
    text = translate(key, names=message("mark.list", language).join(names), n=len(names))
    return head + ("" if language == "zh" else " ") + text


def _null_sentence(outcome: Outcome, rows: QueryResult, language: Language) -> str:
    """State which columns are NULL in how many rows."""
    translate = translator(language, "outcome.")
    unmentioned = {"ticket_year", "ticket_text", "lng_gcj02", "lat_gcj02", "lat_wgs84"}
    if not any(name == "ticket_cny" for name, _ in outcome.null_counts):
        unmentioned -= {"ticket_year", "ticket_text"}
    if not any(name == "lng_wgs84" for name, _ in outcome.null_counts):
        unmentioned -= {"lat_wgs84"}
    parts = []
    for name, number in outcome.null_counts:
        if name in unmentioned or (number == 1 == len(rows.rows) == len(rows.names)):
            continue
        label = translate("coordinates") if name == "lng_wgs84" else column_label(name, language)
        is_single = len(rows.rows) == 1
        parts.append(translate("unknown here", name=label) if is_single else translate("unknown", name=label, n=number))
    if not parts:
        return ""
    joined = message("mark.semicolon", language).join(parts)
    return _capitalize(joined) + message("mark.stop", language)


def _coverage_sentence(coverage: ColumnCoverage, outcome: Outcome, language: Language) -> str:
    """State for how many rows the columns are known."""
    translate = translator(language, "outcome.")
    headings = outcome.rows.headings if outcome.rows else {}
    names = [headings.get(c, {}).get(language) or column_label(c, language) for c in coverage.columns]
    if any(column.startswith("lng_") for column in coverage.columns):
        names = [translate("coordinates")]
    name = translate("and").join(names)
    if language == "zh":
        name = re.sub(r"^(?=[!-~])|(?<=[!-~])$", " ", name)
    elif any(map(_has_label, coverage.columns)):
        name = f"the {name}"
    columns = 2 if name.endswith(translate("coordinates")) else len(names)
    if coverage.known is None:
        return translate("uncounted", name=name, columns=columns)
    kind = "areas" if outcome.subject else "part" if coverage.subquery else "all rows"
    arguments = {"all": translate(kind, n=coverage.rows), "name": name, "columns": columns}
    if coverage.known:
        sentence = translate("known areas" if outcome.subject else "known rows", known=coverage.known, **arguments)
    else:
        sentence = translate("none known", **arguments)
    return _capitalize(sentence) if sentence.startswith("the ") else sentence


def _value_with_unit(column: str, value: object, language: Language) -> str:
    """Return a value with the unit given by its column name."""
    text = _format_number(value) if isinstance(value, (int, float)) else shorten(value)
    if column.lower() == "km" or column.lower().endswith("_km"):
        return message("outcome.km", language, n=text)
    if column.lower().endswith("_cny"):
        return message("outcome.yuan", language, n=text)
    return text


def _format_number(value: object) -> str:
    """Format a number without trailing zeros and without binary rounding errors: 523.06."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(float(f"{value:.12g}") if isinstance(value, float) else value)


def shorten(value: object, max_characters: int = MAX_CELL_CHARS) -> str:
    """Put a value on one line and shorten it."""
    text = " ".join(str(value).split())
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pad_number(subject: str, language: Language) -> str:
    """Put a space in front of a leading number, as Chinese typography does."""
    return f" {subject}" if language == "zh" and subject[:1].isdigit() else subject
