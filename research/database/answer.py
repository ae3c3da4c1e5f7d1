"""What an outcome says in a sentence or two, in the language of the question. No model writes it.

Where the rules have read the question, the sentence has its shape: a number, a list, the nearest with
their distances. Of any other statement only its columns are known, and as much is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from research.database.agent import Outcome
from research.database.columns import LABELS
from research.language.text import language
from research.readable import english
from research.records import Known, Language, Rows

NAMES = 10  # things that are named
LONGEST = 160  # characters of a cell in a sentence
NAME = 60  # of one of several names
_WORDS: dict[str, tuple[str, str]] = {
    "value": ("{meant}：{value}。", "{meant}: {value}."),
    "rows": ("{meant}：找到 {n} 行。", "{meant}: {n} rows."),
    "row": ("{meant}：找到 1 行。", "{meant}: 1 row."),
    "truncated": (
        "只取了前 {n} 行，还有更多。",
        "Only the first {n} rows were retrieved; there are more.",
    ),
    "named": ("依次为：{names}。", "In order: {names}."),
    "named one": ("即{names}。", "It is {names}."),
    "named some": ("前 {n} 个：{names}。", "The first {n}: {names}."),
    "no rows": ("{meant}：没有符合条件的行。", "{meant}: no rows match."),
    "none": ("没有{things}。", "There are no {things}."),
    "one": ("{things}共有 1 个。", "There is 1 {thing}."),
    "count": ("{things}共有 {n} 个。", "There are {n} {things}."),
    "place has": ("{place}有 {n} 个 5A 级景区。", ""),
    "many": ("{things}超过 {n} 个。", "There are more than {n} {things}."),
    "are": ("{meant}：{names}。", "{meant}: {names}."),
    "groups": ("{meant}：{names}。", "{meant}: {names}."),
    "some groups": (
        "{meant}共 {n} 组，前 {few} 组：{names}。",
        "{meant}: {n} groups, of which the first {few} are {names}.",
    ),
    "apart": ("{meant}约 {km} 公里。", "The {meant} is about {km} km."),
    "average": ("{meant}为 {value} 元。", "The {meant} is {value} yuan."),
    "unknown value": ("{meant}未知。", "{meant}: not known."),
    "unknown": ("{name}未知：{n} 行", "{name} unknown: {n} rows"),
    "unknown one": ("{name}未知：1 行", "{name} unknown: 1 row"),
    "unknown here": ("{name}未知", "{name} unknown"),
    "unclear": (
        "不用模型无法回答：没有读懂“{problem}”。可以换一种说法，或设置模型。",
        "This needs a model: “{problem}” was not understood. Rephrase it, or set up a model.",
    ),
    "known": (
        "{all}中有 {known} {unit}的{name}已知。",
        "{name} {are} known for {known} of {all}.",
    ),
    "none known": ("{all}的{name}均未知。", "{name} {are} not known for any of {all}."),
    "uncounted": (
        "未能统计有多少行的{name}未知。",
        "Could not count the rows in which {name} {are} unknown.",
    ),
    "areas": ("{n} 个景区", "{n} areas"),
    "all rows": ("{n} 行", "{n} rows"),
    "part": ("子查询的 {n} 行", "{n} rows of a subquery"),
    "no rules": (
        "规则不认识这个数据库的表：请设置模型，或直接写 SQL。",
        "The rules do not know this database's tables: set up a model, or write SQL.",
    ),
    "asks": ("无法回答：{problem}", "It cannot be answered: {problem}"),
    "refused": ("没有写出可以执行的查询：{problem}", "No statement could be run: {problem}"),
    "failed": ("查询失败：{problem}", "The query failed: {problem}"),
}
_SEPARATOR = {"zh": "、", "en": ", "}
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
    say = _sayer(tongue)
    rows = outcome.rows
    if outcome.status == "unclear":
        by_rules = not any(step.kind == "understand" for step in outcome.steps)
        if by_rules and not outcome.problem:
            return [say("no rules")], []
        return [say("unclear" if by_rules else "asks", problem=outcome.problem)], []
    if rows is None:
        key = "failed" if outcome.status == "failed" else "refused"
        return [say(key, problem=outcome.problem)], []
    meant = outcome.meant.rstrip("。. ") or outcome.question.rstrip("？? ")
    if rows.rows:
        parts = [_shaped(outcome, rows, meant, tongue)]
        if rows.truncated and outcome.shape != "group":
            parts.append(say("truncated", n=len(rows.rows)))
    elif outcome.things and outcome.shape in ("list", "within"):
        parts = [say("none", things=_apart(outcome.things, tongue))]
    else:
        parts = [say("no rows", meant=meant)]
    if lacking := _lacking(outcome, rows, tongue):
        parts.append(lacking)
    return parts, [_known(each, outcome, tongue) for each in rows.coverage]


Say = Callable[..., str]


def _sayer(tongue: Language) -> Say:
    def say(key: str, /, **values: object) -> str:
        return _WORDS[key][tongue == "en"].format(**values)

    return say


def label(column: str, tongue: Language) -> str:
    """What a column is called in a sentence: by its own name, if it is none of ours."""
    return LABELS[column.lower()][tongue == "en"] if column.lower() in LABELS else column


def _shaped(outcome: Outcome, rows: Rows, meant: str, tongue: Language) -> str:
    """The sentence of a shape, if the rows are those of its statement."""
    say = _sayer(tongue)
    names = set(rows.names)
    cells = [dict(zip(rows.names, row, strict=True)) for row in rows.rows]
    shape = outcome.shape
    if shape == "count" and rows.names == ("n",):
        return _counted(outcome.things, int(cells[0]["n"]), tongue)
    if shape in ("most", "group") and "n" in names | {"average_ticket_cny"}:
        return _groups(rows, meant, tongue)
    if shape == "distance" and "km" in names:
        km = cells[0]["km"]
        return say("apart", meant=meant, km=_figure(km)) if km is not None else say("unknown value", meant=_first(meant))  # fmt: skip
    if shape == "average" and "average_ticket_cny" in names:
        value = cells[0]["average_ticket_cny"]
        if value is None:
            return say("unknown value", meant=_first(meant))
        return say("average", meant=meant, value=_figure(value))
    if shape == "detail" and "name" in names:
        stop, semicolon = ("。", "；") if tongue == "zh" else (".", "; ")
        return semicolon.join(_detail(row, rows.names, tongue) for row in cells) + stop
    if shape in ("list", "within", "best", "nearest") and "name" in names:
        return _listed(outcome, rows, cells, meant, tongue)
    return _found(rows, meant, tongue)


def _counted(things: str, number: int, tongue: Language, more: bool = False) -> str:
    say = _sayer(tongue)
    if number == 0:
        return say("none", things=_apart(things, tongue))
    if (
        tongue == "zh"
        and not more
        and (place := re.fullmatch(r"([\u4e00-\u9fff、]+[省市区州盟])的 5A 级景区", things))
    ):
        return say("place has", place=place[1], n=number)
    single = things.replace("5A areas", "5A area", 1)
    key = "many" if more else "one" if number == 1 else "count"
    return say(key, things=things, thing=single, n=number)


def _listed(
    outcome: Outcome, rows: Rows, cells: Sequence[Row], meant: str, tongue: Language
) -> str:
    say = _sayer(tongue)
    shown = list(cells)
    if outcome.shape in ("list", "within") and (wanted := _wanted(rows.names)):
        shown.sort(key=lambda row: all(row[name] in (None, "") for name in wanted))
    free = all(row.get("ticket_cny") == 0 for row in cells)
    few = [_with_value(row, rows.names, tongue, free) for row in shown[:NAMES]]
    joined = _SEPARATOR[tongue].join(few)
    if outcome.shape in ("best", "nearest") and len(cells) <= NAMES:
        return say("are", meant=_first(meant), names=joined)
    if outcome.shape in ("best", "nearest"):
        head = say("rows", meant=_first(meant), n=len(cells))
    else:
        head = _counted(outcome.things, len(cells), tongue, rows.truncated)
    key = "named some" if len(cells) > NAMES else "named" if len(cells) > 1 else "named one"
    return head + ("" if tongue == "zh" else " ") + say(key, names=joined, n=len(few))


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
    told = _SEPARATOR[tongue].join(values)
    return f"{name}（{told}）" if tongue == "zh" else f"{name} ({told})"


def _price(row: Row, tongue: Language) -> str:
    value = row["ticket_cny"]
    if value == 0:
        return "免费" if tongue == "zh" else "free"
    return f"{_figure(value)} {'元' if tongue == 'zh' else 'yuan'}"


def _detail(row: Row, names: Sequence[str], tongue: Language) -> str:
    """What was asked of one area."""
    zh = tongue == "zh"
    said = []
    places = [str(row[key]) for key in ("province", "city", "district", "address") if row.get(key)]
    if "address" in names or "district" in names:
        where = dict.fromkeys(places if zh else [english(place) for place in reversed(places)])
        said.append(("位于" if zh else "in ") + ("" if zh else ", ").join(where))
    asked = [n for n in names if n not in _UNTOLD and n != "year_rated"]
    if "year_rated" in names and names.index("year_rated") > names.index("lat_wgs84"):
        asked.append("year_rated")
    for name in asked:
        value = row[name]
        if value is None or value == "":
            continue
        if name == "ticket_cny":
            said.append(
                f"{'门票' if zh else 'ticket'} {_price(row, tongue)}{_price_of(row, tongue)}"
            )
        elif name == "year_rated":
            said.append(f"{value} 年评定为 5A" if zh else f"rated 5A in {value}")
        else:
            said.append(f"{label(name, tongue)} {_unit(name, value, tongue)}".rstrip("。. "))
    head = str(row["name"])
    if not said:
        return head
    return f"{head}：{'，'.join(said)}" if zh else f"{head}: {', '.join(said)}"


def _price_of(row: Row, tongue: Language) -> str:
    """Of which year a price is, and what is said of it in Chinese."""
    zh = tongue == "zh"
    year = row.get("ticket_year")
    words = row.get("ticket_text") if zh and row["ticket_cny"] != 0 else None
    told = [f"{year} 年" if zh else str(year)] if year else []
    told += [_short(words)] if words else []
    if not told:
        return ""
    return f"（{'：'.join(told)}）" if zh else f" ({told[0]})"


def _groups(rows: Rows, meant: str, tongue: Language) -> str:
    say = _sayer(tongue)
    at = rows.names.index("average_ticket_cny" if "average_ticket_cny" in rows.names else "n")
    unit = (
        ("元" if tongue == "zh" else "yuan") if rows.names[at] != "n" else "个" * (tongue == "zh")
    )
    told = []
    for row in rows.rows[:NAMES]:
        name = english(str(row[0])) if tongue == "en" else str(row[0])
        name = f"{name} 年" if rows.names[0] == "year_rated" and tongue == "zh" else name
        told.append(f"{name} {_figure(row[at])} {unit}".strip())
    joined = ("，" if tongue == "zh" else ", ").join(told)
    if len(rows.rows) <= NAMES:
        return say("groups", meant=_first(meant), names=joined)
    return say("some groups", meant=_first(meant), n=len(rows.rows), few=len(told), names=joined)


def _found(rows: Rows, meant: str, tongue: Language) -> str:
    """Of a statement that rules have not written: a value, or how many rows and their names."""
    say = _sayer(tongue)
    if len(rows.rows) == 1 and len(rows.names) == 1:
        value = rows.rows[0][0]
        if value is None or value == "":
            return say("unknown value", meant=meant)
        return say("value", meant=meant, value=_unit(rows.names[0], value, tongue))
    number = len(rows.rows)
    head = say("row" if number == 1 else "rows", meant=meant, n=number)
    at = next(
        (n for n, name in enumerate(rows.names) if name in ("name", "province", "city")), None
    )
    if at is None:
        return head
    names = [_short(row[at], NAME) for row in rows.rows[:NAMES] if row[at]]
    if not names:
        return head
    key = "named" if number <= NAMES else "named some"
    text = say(key, names=_SEPARATOR[tongue].join(names), n=len(names))
    return head + ("" if tongue == "zh" else " ") + text


def _lacking(outcome: Outcome, rows: Rows, tongue: Language) -> str:
    """Which columns are NULL in how many rows."""
    say = _sayer(tongue)
    told = {"ticket_year", "ticket_text", "lng_gcj02", "lat_gcj02", "lat_wgs84"}
    if not any(name == "ticket_cny" for name, _ in outcome.missing):
        told -= {"ticket_year", "ticket_text"}
    if not any(name == "lng_wgs84" for name, _ in outcome.missing):
        told -= {"lat_wgs84"}
    parts = []
    for name, number in outcome.missing:
        if name in told or (number == 1 == len(rows.rows) == len(rows.names)):
            continue
        key = "unknown here" if len(rows.rows) == 1 else "unknown" if number > 1 else "unknown one"
        words = "坐标" if tongue == "zh" else "coordinates"
        said = words if name == "lng_wgs84" else label(name, tongue)
        parts.append(say(key, name=said, n=number))
    if not parts:
        return ""
    return _first(("；" if tongue == "zh" else "; ").join(parts)) + (
        "。" if tongue == "zh" else "."
    )


def _known(each: Known, outcome: Outcome, tongue: Language) -> str:
    """For how many of what was looked at the columns are known."""
    say = _sayer(tongue)
    names = [label(column, tongue) for column in each.columns]
    if any(column.startswith("lng_") for column in each.columns):
        names = ["坐标" if tongue == "zh" else "coordinates"]
    name = ("、" if tongue == "zh" else " and ").join(names)
    if tongue == "zh":
        name = re.sub(r"^(?=[!-~])|(?<=[!-~])$", " ", name)
    elif any(column.lower() in LABELS for column in each.columns):
        name = f"the {name}"
    are = "are" if len(names) > 1 or name.endswith("coordinates") else "is"
    if each.known is None:
        return say("uncounted", name=name, are=are)
    kind = "areas" if outcome.things else "part" if each.part else "all rows"
    unit = "个" if outcome.things else "行"
    key = "known" if each.known else "none known"
    said = say(key, all=say(kind, n=each.rows), known=each.known, unit=unit, name=name, are=are)
    return _first(said) if said.startswith("the ") else said


def _unit(column: str, value: object, tongue: Language) -> str:
    """A value with the unit that its column tells."""
    text = _figure(value) if isinstance(value, (int, float)) else _short(value)
    if column.lower() == "km" or column.lower().endswith("_km"):
        return f"{text} {'公里' if tongue == 'zh' else 'km'}"
    if column.lower().endswith("_cny"):
        return f"{text} {'元' if tongue == 'zh' else 'yuan'}"
    return text


def _figure(value: object) -> str:
    """A number without zeros that say nothing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _short(value: object, most: int = LONGEST) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _apart(things: str, tongue: Language) -> str:
    """With a space before a number, as Chinese is set."""
    return f" {things}" if tongue == "zh" and things[:1].isdigit() else things
