"""What an outcome says in a sentence or two, in the language of the question. No model writes it.

Where the rules have read the question, the sentence has its shape: a number, a list, the nearest with
their distances. Of any other statement only its columns are known, and as much is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from research.database.agent import Outcome
from research.i18n import has_message, message, speaker
from research.language.text import language
from research.readable import english
from research.records import Known, Language, Rows

NAMES = 10  # things that are named
LONGEST = 160  # characters of a cell in a sentence
NAME = 60  # of one of several names
_BASE = (
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
_UNTOLD = (*_BASE, "ticket_year", "ticket_text")  # told with others, or by the name alone
Row = Mapping[str, Any]


def told(outcome: Outcome) -> str:
    """The outcome in words. It states nothing that is not in the rows."""
    said, known = sentences(outcome)
    return ("" if language(outcome.question) == "zh" else " ").join([*said, *known])


def sentences(outcome: Outcome) -> tuple[list[str], list[str]]:
    """What the rows say, and for how many rows that is known of which they are."""
    tongue = language(outcome.question)
    say = speaker(tongue, "outcome.")
    rows = outcome.rows
    if outcome.status == "no model":
        return _without_model(outcome, tongue), []
    if outcome.status == "unclear":
        by_rules = not any(step.kind == "understand" for step in outcome.steps)
        if not by_rules:
            return [say("asks", problem=outcome.problem)], []
        areas, provinces = outcome.holds
        if outcome.absent:
            return [say("absent", problem=outcome.problem, n=areas, provinces=provinces)], []
        lost = say("lost", problem=outcome.problem or outcome.question)
        holds = [say("holds", n=areas, provinces=provinces)] if areas else []
        return [lost, *holds, say("idle" if outcome.idle else "no model")], []
    if rows is None:
        key = "failed" if outcome.status == "failed" else "refused"
        return [say(key, problem=outcome.problem)], []
    meant = outcome.meant.rstrip("。. ") or outcome.question.rstrip("？? ")
    if rows.rows:
        parts = _shaped(outcome, rows, meant, tongue)
        if rows.truncated and outcome.shape != "group":
            parts.append(say("truncated", n=len(rows.rows)))
    elif outcome.things and outcome.shape in ("list", "within"):
        parts = [say("none", things=_apart(outcome.things, tongue))]
    else:
        parts = [say("no rows", meant=meant)]
    if lacking := _lacking(outcome, rows, tongue):
        parts.append(lacking)
    return parts, [_known(each, outcome, tongue) for each in rows.coverage]


def _without_model(outcome: Outcome, tongue: Language) -> list[str]:
    """Say that only a model can answer the question, and list what can be done without one."""
    say = speaker(tongue, "outcome.")
    said = [say("needs model"), say("idle" if outcome.idle else "unset")]
    if outcome.saved:
        quoted = [message("mark.quoted", tongue, text=_short(text)) for text in outcome.saved]
        said.append(say("saved", questions=message("mark.list", tongue).join(quoted)))
    return [*said, say("write sql")]


def label(column: str, tongue: Language) -> str:
    """What a column is called in a sentence: by its own name, if it is none of ours."""
    return message(f"column.{column.lower()}", tongue) if _ours(column) else column


def _ours(column: str) -> bool:
    return column.isidentifier() and has_message(f"column.{column.lower()}")


def _shaped(outcome: Outcome, rows: Rows, meant: str, tongue: Language) -> list[str]:
    """The sentences of a shape, if the rows are those of its statement."""
    say = speaker(tongue, "outcome.")
    names = set(rows.names)
    cells = [dict(zip(rows.names, row, strict=True)) for row in rows.rows]
    shape = outcome.shape
    if shape == "count" and rows.names == ("n",):
        return [_counted(outcome.things, int(cells[0]["n"]), tongue)]
    if shape in ("most", "group") and len(names) > 1:
        return [_groups(rows, meant, tongue)]
    if shape == "distance" and "km" in names:
        if (km := cells[0]["km"]) is None:
            return [say("unknown value", meant=_first(meant))]
        return [say("apart", meant=meant, km=_figure(km))]
    if shape == "average" and "average_ticket_cny" in names:
        value = cells[0]["average_ticket_cny"]
        if value is None:
            return [say("unknown value", meant=_first(meant))]
        return [say("average", meant=meant, value=_figure(value))]
    if shape == "detail" and "name" in names:
        told = [_detail(row, rows.names, tongue) for row in cells]
        return [message("mark.semicolon", tongue).join(told) + message("mark.stop", tongue)]
    if shape in ("list", "within", "best", "nearest") and "name" in names:
        return _listed(outcome, rows, cells, meant, tongue)
    return [_found(rows, meant, tongue)]


def _counted(things: str, number: int, tongue: Language, more: bool = False) -> str:
    say = speaker(tongue, "outcome.")
    if number == 0:
        return say("none", things=_apart(things, tongue))
    if (
        tongue == "zh"
        and not more
        and (place := re.fullmatch(r"([\u4e00-\u9fff、]+[省市区州盟])的 5A 级景区", things))
    ):
        return say("place has", place=place[1], n=number)
    if number == 1 and not more:
        things = things.replace("5A areas", "5A area", 1)
    return say("many" if more else "count", things=things, n=number)


def _listed(
    outcome: Outcome, rows: Rows, cells: Sequence[Row], meant: str, tongue: Language
) -> list[str]:
    say = speaker(tongue, "outcome.")
    shown = list(cells)
    if outcome.shape in ("list", "within") and (wanted := _wanted(rows.names)):
        shown.sort(key=lambda row: all(row[name] in (None, "") for name in wanted))
    free = all(row.get("ticket_cny") == 0 for row in cells)
    few = [_with_value(row, rows.names, tongue, free) for row in shown[:NAMES]]
    joined = message("mark.list", tongue).join(few)
    if outcome.shape in ("best", "nearest") and len(cells) <= NAMES:
        return [say("is", meant=_first(meant), what=joined)]
    if outcome.shape in ("best", "nearest"):
        head = say("rows", meant=_first(meant), n=len(cells))
    else:
        head = _counted(outcome.things, len(cells), tongue, rows.truncated)
    key = "named some" if len(cells) > NAMES else "named" if len(cells) > 1 else "named one"
    return [head, say(key, names=joined, n=len(few))]


def _wanted(names: Sequence[str]) -> list[str]:
    """The columns of a list that were asked for in words."""
    return [name for name in names if name not in (*_UNTOLD, "year_rated", "km", "ticket_cny")]


def _with_value(row: Row, names: Sequence[str], tongue: Language, free: bool) -> str:
    """A name with what it was looked for by: how far it is, what it costs, when it opens. With
    `free`, that something costs nothing has been said."""
    name, values = str(row["name"]), []
    if row.get("km") is not None:
        values.append(_unit("km", row["km"], tongue))
    if row.get("ticket_cny") is not None and not free:
        values.append(_price(row, tongue))
    values += [_short(row[key]) for key in _wanted(names) if row[key] not in (None, "")]
    if not values:
        return name
    told = message("mark.list", tongue).join(values)
    return message("mark.aside", tongue, text=name, more=told)


def _price(row: Row, tongue: Language) -> str:
    value = row["ticket_cny"]
    if value == 0:
        return message("outcome.free", tongue)
    return message("outcome.yuan", tongue, n=_figure(value))


def _detail(row: Row, names: Sequence[str], tongue: Language) -> str:
    """What was asked of one area."""
    say, said = speaker(tongue, "outcome."), []
    places = [str(row[key]) for key in ("province", "city", "district", "address") if row.get(key)]
    if "address" in names or "district" in names:
        there = [english(place) for place in reversed(places)] if tongue == "en" else places
        where = (", " if tongue == "en" else "").join(dict.fromkeys(there))
        said.append(say("where", where=where))
    asked = [n for n in names if n not in _UNTOLD and n != "year_rated"]
    if "year_rated" in names and names.index("year_rated") > names.index("lat_wgs84"):
        asked.append("year_rated")
    for name in asked:
        value = row[name]
        if value is None or value == "":
            continue
        if name == "ticket_cny":
            said.append(say("ticket", price=_price_of(row, tongue)))
        elif name == "year_rated":
            said.append(say("rated", year=value))
        else:
            said.append(f"{label(name, tongue)} {_unit(name, value, tongue)}".rstrip("。. "))
    told = message("mark.comma", tongue).join(said)
    return message("mark.colon", tongue).join(filter(None, (str(row["name"]), told)))


def _price_of(row: Row, tongue: Language) -> str:
    """A price with the year that it is of, and what is said of it in Chinese."""
    price, year = _price(row, tongue), row.get("ticket_year")
    words = row.get("ticket_text") if tongue == "zh" and row["ticket_cny"] != 0 else None
    told = [message("outcome.year", tongue, year=year)] if year else []
    told += [_short(words)] if words else []
    if not told:
        return price
    return message("mark.aside", tongue, text=price, more=message("mark.colon", tongue).join(told))


def _groups(rows: Rows, meant: str, tongue: Language) -> str:
    say = speaker(tongue, "outcome.")
    at = next((rows.names.index(n) for n in ("average_ticket_cny", "n") if n in rows.names), -1)
    units = {"n": "things", "average_ticket_cny": "yuan"}
    told = []
    for row in rows.rows[:NAMES]:
        name = english(str(row[0])) if tongue == "en" else str(row[0])
        name = say("year", year=name) if rows.names[0] == "year_rated" else name
        figure = _figure(row[at])
        unit = units.get(rows.names[at])
        told.append(f"{name} {say(unit, n=figure) if unit else figure}")
    joined = message("mark.comma", tongue).join(told)
    if len(rows.rows) <= NAMES:
        return say("is", meant=_first(meant), what=joined)
    return say("some groups", meant=_first(meant), n=len(rows.rows), few=len(told), names=joined)


def _found(rows: Rows, meant: str, tongue: Language) -> str:
    """Of a statement that rules have not written: a value, or how many rows and their names."""
    say = speaker(tongue, "outcome.")
    if len(rows.rows) == 1 and len(rows.names) == 1:
        value = rows.rows[0][0]
        if value is None or value == "":
            return say("unknown value", meant=meant)
        return say("is", meant=meant, what=_unit(rows.names[0], value, tongue))
    number = len(rows.rows)
    head = say("rows", meant=meant, n=number)
    at = next(
        (n for n, name in enumerate(rows.names) if name in ("name", "province", "city")), None
    )
    if at is None:
        return head
    names = [_short(row[at], NAME) for row in rows.rows[:NAMES] if row[at]]
    if not names:
        return head
    key = "named" if number <= NAMES else "named some"
    text = say(key, names=message("mark.list", tongue).join(names), n=len(names))
    return head + ("" if tongue == "zh" else " ") + text


def _lacking(outcome: Outcome, rows: Rows, tongue: Language) -> str:
    """Which columns are NULL in how many rows."""
    say = speaker(tongue, "outcome.")
    told = {"ticket_year", "ticket_text", "lng_gcj02", "lat_gcj02", "lat_wgs84"}
    if not any(name == "ticket_cny" for name, _ in outcome.missing):
        told -= {"ticket_year", "ticket_text"}
    if not any(name == "lng_wgs84" for name, _ in outcome.missing):
        told -= {"lat_wgs84"}
    parts = []
    for name, number in outcome.missing:
        if name in told or (number == 1 == len(rows.rows) == len(rows.names)):
            continue
        said = say("coordinates") if name == "lng_wgs84" else label(name, tongue)
        here = len(rows.rows) == 1
        parts.append(
            say("unknown here", name=said) if here else say("unknown", name=said, n=number)
        )
    if not parts:
        return ""
    joined = message("mark.semicolon", tongue).join(parts)
    return _first(joined) + message("mark.stop", tongue)


def _known(each: Known, outcome: Outcome, tongue: Language) -> str:
    """For how many of what was looked at the columns are known."""
    say = speaker(tongue, "outcome.")
    headings = outcome.rows.headings if outcome.rows else {}
    names = [headings.get(c, {}).get(tongue) or label(c, tongue) for c in each.columns]
    if any(column.startswith("lng_") for column in each.columns):
        names = [say("coordinates")]
    name = say("and").join(names)
    if tongue == "zh":
        name = re.sub(r"^(?=[!-~])|(?<=[!-~])$", " ", name)
    elif any(map(_ours, each.columns)):
        name = f"the {name}"
    columns = 2 if name.endswith(say("coordinates")) else len(names)
    if each.known is None:
        return say("uncounted", name=name, columns=columns)
    kind = "areas" if outcome.things else "part" if each.part else "all rows"
    of = {"all": say(kind, n=each.rows), "name": name, "columns": columns}
    if each.known:
        said = say("known areas" if outcome.things else "known rows", known=each.known, **of)
    else:
        said = say("none known", **of)
    return _first(said) if said.startswith("the ") else said


def _unit(column: str, value: object, tongue: Language) -> str:
    """A value with the unit that its column tells."""
    text = _figure(value) if isinstance(value, (int, float)) else _short(value)
    if column.lower() == "km" or column.lower().endswith("_km"):
        return message("outcome.km", tongue, n=text)
    if column.lower().endswith("_cny"):
        return message("outcome.yuan", tongue, n=text)
    return text


def _figure(value: object) -> str:
    """A number without zeros that say nothing, and without what binary fractions leave: 523.06."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(float(f"{value:.12g}") if isinstance(value, float) else value)


def _short(value: object, most: int = LONGEST) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _apart(things: str, tongue: Language) -> str:
    """With a space before a number, as Chinese is set."""
    return f" {things}" if tongue == "zh" and things[:1].isdigit() else things
