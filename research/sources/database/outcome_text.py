"""What an outcome says in a sentence or two, in the language of the question. No model writes it.

Where the rules have read the question, the sentence has its shape: a number, a list, the nearest with
their distances. Of any other statement only its columns are known, and as much is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from research.core.display_names import english_region
from research.core.i18n import has_message, message, translator
from research.core.records import ColumnCoverage, Language, QueryResult
from research.core.text.tokenizer import detect_language
from research.sources.database.agent import Outcome

MAX_NAMES = 10  # things that are named
MAX_CELL_CHARS = 160  # characters of a cell in a sentence
MAX_NAME_CHARS = 60  # of one of several names
_BASE_COLUMNS = (
    "gid",
    "name",
    "name_en",
    "province",
    "city",
    "district",
    "address",
    "lng_wgs84",
    "lat_wgs84",
)
_UNMENTIONED_COLUMNS = (*_BASE_COLUMNS, "ticket_year", "ticket_text")  # told with others, or by the name alone
Row = Mapping[str, Any]


def describe_outcome(outcome: Outcome) -> str:
    """The outcome in words. It states nothing that is not in the rows."""
    said, known = outcome_sentences(outcome)
    return ("" if detect_language(outcome.question) == "zh" else " ").join([*said, *known])


def outcome_sentences(outcome: Outcome) -> tuple[list[str], list[str]]:
    """What the rows say, and for how many rows that is known of which they are."""
    tongue = detect_language(outcome.question)
    say = translator(tongue, "outcome.")
    rows = outcome.rows
    if outcome.status == "no model":
        return _without_model(outcome, tongue), []
    if outcome.status == "unclear":
        by_rules = not any(step.kind == "understand" for step in outcome.steps)
        if not by_rules:
            return [say("asks", problem=outcome.problem)], []
        areas, provinces = outcome.area_counts
        if outcome.is_not_covered:
            return [say("absent", problem=outcome.problem, n=areas, provinces=provinces)], []
        lost = say("lost", problem=outcome.problem or outcome.question)
        holds = [say("holds", n=areas, provinces=provinces)] if areas else []
        return [lost, *holds, say("idle" if outcome.has_idle_model else "no model")], []
    if rows is None:
        key = "failed" if outcome.status == "failed" else "refused"
        return [say(key, problem=outcome.problem)], []
    meant = outcome.restatement.rstrip("。. ") or outcome.question.rstrip("？? ")
    if rows.rows:
        parts = _shape_sentences(outcome, rows, meant, tongue)
        if rows.truncated and outcome.shape != "group":
            parts.append(say("truncated", n=len(rows.rows)))
    elif outcome.subject and outcome.shape in ("list", "within"):
        parts = [say("none", things=_pad_number(outcome.subject, tongue))]
    else:
        parts = [say("no rows", meant=meant)]
    if lacking := _null_sentence(outcome, rows, tongue):
        parts.append(lacking)
    return parts, [_coverage_sentence(each, outcome, tongue) for each in rows.coverage]


def _without_model(outcome: Outcome, tongue: Language) -> list[str]:
    """Say that only a model can answer the question, and list what can be done without one."""
    say = translator(tongue, "outcome.")
    said = [say("needs model"), say("idle" if outcome.has_idle_model else "unset")]
    if outcome.saved:
        quoted = [message("mark.quoted", tongue, text=_shorten(text)) for text in outcome.saved]
        said.append(say("saved", questions=message("mark.list", tongue).join(quoted)))
    return [*said, say("write sql")]


def column_label(column: str, language: Language) -> str:
    """What a column is called in a sentence: by its own name, if it is none of ours."""
    return message(f"column.{column.lower()}", language) if _has_label(column) else column


def _has_label(column: str) -> bool:
    return column.isidentifier() and has_message(f"column.{column.lower()}")


def _shape_sentences(outcome: Outcome, rows: QueryResult, restatement: str, language: Language) -> list[str]:
    """The sentences of a shape, if the rows are those of its statement."""
    say = translator(language, "outcome.")
    names = set(rows.names)
    cells = [dict(zip(rows.names, row, strict=True)) for row in rows.rows]
    shape = outcome.shape
    if shape == "count" and rows.names == ("n",):
        return [_count_sentence(outcome.subject, int(cells[0]["n"]), language)]
    if shape in ("most", "group") and len(names) > 1:
        return [_group_sentence(rows, restatement, language)]
    if shape == "distance" and "km" in names:
        if (km := cells[0]["km"]) is None:
            return [say("unknown value", meant=_capitalize(restatement))]
        return [say("apart", meant=restatement, km=_format_number(km))]
    if shape == "average" and "average_ticket_cny" in names:
        value = cells[0]["average_ticket_cny"]
        if value is None:
            return [say("unknown value", meant=_capitalize(restatement))]
        return [say("average", meant=restatement, value=_format_number(value))]
    if shape == "detail" and "name" in names:
        told = [_detail_text(row, rows.names, language) for row in cells]
        return [message("mark.semicolon", language).join(told) + message("mark.stop", language)]
    if shape in ("list", "within", "best", "nearest") and "name" in names:
        return _list_sentences(outcome, rows, cells, restatement, language)
    return [_generic_sentence(rows, restatement, language)]


def _count_sentence(subject: str, count: int, language: Language, is_truncated: bool = False) -> str:
    say = translator(language, "outcome.")
    if count == 0:
        return say("none", things=_pad_number(subject, language))
    if (
        language == "zh"
        and not is_truncated
        and (place := re.fullmatch(r"([\u4e00-\u9fff、]+[省市区州盟])的 5A 级景区", subject))
    ):
        return say("place has", place=place[1], n=count)
    if count == 1 and not is_truncated:
        subject = subject.replace("5A areas", "5A area", 1)
    return say("many" if is_truncated else "count", things=subject, n=count)


def _list_sentences(
    outcome: Outcome, rows: QueryResult, cells: Sequence[Row], restatement: str, language: Language
) -> list[str]:
    say = translator(language, "outcome.")
    shown = list(cells)
    if outcome.shape in ("list", "within") and (wanted := _requested_columns(rows.names)):
        shown.sort(key=lambda row: all(row[name] in (None, "") for name in wanted))
    free = all(row.get("ticket_cny") == 0 for row in cells)
    few = [_name_with_values(row, rows.names, language, free) for row in shown[:MAX_NAMES]]
    joined = message("mark.list", language).join(few)
    if outcome.shape in ("best", "nearest") and len(cells) <= MAX_NAMES:
        return [say("is", meant=_capitalize(restatement), what=joined)]
    if outcome.shape in ("best", "nearest"):
        head = say("rows", meant=_capitalize(restatement), n=len(cells))
    else:
        head = _count_sentence(outcome.subject, len(cells), language, rows.truncated)
    key = "named some" if len(cells) > MAX_NAMES else "named" if len(cells) > 1 else "named one"
    return [head, say(key, names=joined, n=len(few))]


def _requested_columns(names: Sequence[str]) -> list[str]:
    """The columns of a list that were asked for in words."""
    return [name for name in names if name not in (*_UNMENTIONED_COLUMNS, "year_rated", "km", "ticket_cny")]


def _name_with_values(row: Row, names: Sequence[str], language: Language, is_free: bool) -> str:
    """A name with what it was looked for by: how far it is, what it costs, when it opens. With
    `free`, that something costs nothing has been said."""
    name, values = str(row["name"]), []
    if row.get("km") is not None:
        values.append(_value_with_unit("km", row["km"], language))
    if row.get("ticket_cny") is not None and not is_free:
        values.append(_price_text(row, language))
    values += [_shorten(row[key]) for key in _requested_columns(names) if row[key] not in (None, "")]
    if not values:
        return name
    told = message("mark.list", language).join(values)
    return message("mark.aside", language, text=name, more=told)


def _price_text(row: Row, language: Language) -> str:
    value = row["ticket_cny"]
    if value == 0:
        return message("outcome.free", language)
    return message("outcome.yuan", language, n=_format_number(value))


def _detail_text(row: Row, names: Sequence[str], language: Language) -> str:
    """What was asked of one area."""
    say, said = translator(language, "outcome."), []
    places = [str(row[key]) for key in ("province", "city", "district", "address") if row.get(key)]
    if "address" in names or "district" in names:
        there = [english_region(place) for place in reversed(places)] if language == "en" else places
        where = (", " if language == "en" else "").join(dict.fromkeys(there))
        said.append(say("where", where=where))
    asked = [n for n in names if n not in _UNMENTIONED_COLUMNS and n != "year_rated"]
    if "year_rated" in names and names.index("year_rated") > names.index("lat_wgs84"):
        asked.append("year_rated")
    for name in asked:
        value = row[name]
        if value is None or value == "":
            continue
        if name == "ticket_cny":
            said.append(say("ticket", price=_price_with_year(row, language)))
        elif name == "year_rated":
            said.append(say("rated", year=value))
        else:
            said.append(f"{column_label(name, language)} {_value_with_unit(name, value, language)}".rstrip("。. "))
    told = message("mark.comma", language).join(said)
    return message("mark.colon", language).join(filter(None, (str(row["name"]), told)))


def _price_with_year(row: Row, language: Language) -> str:
    """A price with the year that it is of, and what is said of it in Chinese."""
    price, year = _price_text(row, language), row.get("ticket_year")
    words = row.get("ticket_text") if language == "zh" and row["ticket_cny"] != 0 else None
    told = [message("outcome.year", language, year=year)] if year else []
    told += [_shorten(words)] if words else []
    if not told:
        return price
    return message("mark.aside", language, text=price, more=message("mark.colon", language).join(told))


def _group_sentence(rows: QueryResult, restatement: str, language: Language) -> str:
    say = translator(language, "outcome.")
    at = next((rows.names.index(n) for n in ("average_ticket_cny", "n") if n in rows.names), -1)
    units = {"n": "things", "average_ticket_cny": "yuan"}
    told = []
    for row in rows.rows[:MAX_NAMES]:
        name = english_region(str(row[0])) if language == "en" else str(row[0])
        name = say("year", year=name) if rows.names[0] == "year_rated" else name
        figure = _format_number(row[at])
        unit = units.get(rows.names[at])
        told.append(f"{name} {say(unit, n=figure) if unit else figure}")
    joined = message("mark.comma", language).join(told)
    if len(rows.rows) <= MAX_NAMES:
        return say("is", meant=_capitalize(restatement), what=joined)
    return say("some groups", meant=_capitalize(restatement), n=len(rows.rows), few=len(told), names=joined)


def _generic_sentence(rows: QueryResult, restatement: str, language: Language) -> str:
    """Of a statement that rules have not written: a value, or how many rows and their names."""
    say = translator(language, "outcome.")
    if len(rows.rows) == 1 and len(rows.names) == 1:
        value = rows.rows[0][0]
        if value is None or value == "":
            return say("unknown value", meant=restatement)
        return say("is", meant=restatement, what=_value_with_unit(rows.names[0], value, language))
    number = len(rows.rows)
    head = say("rows", meant=restatement, n=number)
    at = next((n for n, name in enumerate(rows.names) if name in ("name", "province", "city")), None)
    if at is None:
        return head
    names = [_shorten(row[at], MAX_NAME_CHARS) for row in rows.rows[:MAX_NAMES] if row[at]]
    if not names:
        return head
    key = "named" if number <= MAX_NAMES else "named some"
    text = say(key, names=message("mark.list", language).join(names), n=len(names))
    return head + ("" if language == "zh" else " ") + text


def _null_sentence(outcome: Outcome, rows: QueryResult, language: Language) -> str:
    """Which columns are NULL in how many rows."""
    say = translator(language, "outcome.")
    told = {"ticket_year", "ticket_text", "lng_gcj02", "lat_gcj02", "lat_wgs84"}
    if not any(name == "ticket_cny" for name, _ in outcome.null_counts):
        told -= {"ticket_year", "ticket_text"}
    if not any(name == "lng_wgs84" for name, _ in outcome.null_counts):
        told -= {"lat_wgs84"}
    parts = []
    for name, number in outcome.null_counts:
        if name in told or (number == 1 == len(rows.rows) == len(rows.names)):
            continue
        said = say("coordinates") if name == "lng_wgs84" else column_label(name, language)
        here = len(rows.rows) == 1
        parts.append(say("unknown here", name=said) if here else say("unknown", name=said, n=number))
    if not parts:
        return ""
    joined = message("mark.semicolon", language).join(parts)
    return _capitalize(joined) + message("mark.stop", language)


def _coverage_sentence(coverage: ColumnCoverage, outcome: Outcome, language: Language) -> str:
    """For how many of what was looked at the columns are known."""
    say = translator(language, "outcome.")
    headings = outcome.rows.headings if outcome.rows else {}
    names = [headings.get(c, {}).get(language) or column_label(c, language) for c in coverage.columns]
    if any(column.startswith("lng_") for column in coverage.columns):
        names = [say("coordinates")]
    name = say("and").join(names)
    if language == "zh":
        name = re.sub(r"^(?=[!-~])|(?<=[!-~])$", " ", name)
    elif any(map(_has_label, coverage.columns)):
        name = f"the {name}"
    columns = 2 if name.endswith(say("coordinates")) else len(names)
    if coverage.known is None:
        return say("uncounted", name=name, columns=columns)
    kind = "areas" if outcome.subject else "part" if coverage.part else "all rows"
    of = {"all": say(kind, n=coverage.rows), "name": name, "columns": columns}
    if coverage.known:
        said = say("known areas" if outcome.subject else "known rows", known=coverage.known, **of)
    else:
        said = say("none known", **of)
    return _capitalize(said) if said.startswith("the ") else said


def _value_with_unit(column: str, value: object, language: Language) -> str:
    """A value with the unit that its column tells."""
    text = _format_number(value) if isinstance(value, (int, float)) else _shorten(value)
    if column.lower() == "km" or column.lower().endswith("_km"):
        return message("outcome.km", language, n=text)
    if column.lower().endswith("_cny"):
        return message("outcome.yuan", language, n=text)
    return text


def _format_number(value: object) -> str:
    """A number without zeros that say nothing, and without what binary fractions leave: 523.06."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(float(f"{value:.12g}") if isinstance(value, float) else value)


def _shorten(value: object, max_characters: int = MAX_CELL_CHARS) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _pad_number(subject: str, language: Language) -> str:
    """With a space before a number, as Chinese is set."""
    return f" {subject}" if language == "zh" and subject[:1].isdigit() else subject
