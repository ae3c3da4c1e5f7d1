"""The SQL for what a question asks for, with what it looks for in words."""

from __future__ import annotations

from collections.abc import Sequence

from research.core.readable import english_region
from research.sources.database.asking import Asked, Interpretation, NotUnderstood, Shape, Vocabulary

MOST = 500  # rows of a list


def built(asked: Asked, words: Vocabulary) -> Interpretation:
    where = _where(asked)
    if asked.wants & {"average", "distance"} and asked.wants & {"count", "list"} - (
        {"count"} if asked.group else set()
    ):
        raise asked.lost(asked.whole)
    if "distance" in asked.wants:
        return _apart(asked, words)
    if asked.centre:
        return _around(asked, where, words)
    if asked.areas:
        return _of_areas(asked, where, words)
    if "average" in asked.wants:
        return _average(asked, where)
    if asked.group:
        return _grouped(asked, where)
    if asked.order and not asked.limit and not asked.sorted and "list" not in asked.wants:
        # the one that is most so, or all that are equally so
        best = "MAX" if asked.order[0].endswith("DESC") else "MIN"
        value = f"SELECT {best}({asked.order[1]}) FROM {_tables(asked)}{_filter(where)}"
        where.append((f"{asked.order[1]} = ({value})", ""))
    if "count" in asked.wants and _counts(asked):
        sql = f"SELECT COUNT(*) AS n FROM {_tables(asked)}{_filter(where)}"
        things = _things(asked) + (
            asked.say("中", " ") + asked.order[2] + asked.say("的", "") if asked.order else ""
        )
        return _reading(asked, sql, "count", things, f"{things}数量", f"number of {things}")
    if not where and not asked.order and "list" not in asked.wants and not asked.columns:
        raise asked.lost(asked.text.strip() or "?")
    return _listed(asked, where)


def _counts(asked: Asked) -> bool:
    """Whether a count is all that is asked for; beside a list it says nothing more.

    Raises:
        NotUnderstood: it is asked for beside something else.
    """
    listed = "list" in asked.wants
    if "columns" in asked.wants or asked.limit or (asked.sorted and not listed):
        raise asked.lost(asked.whole)
    return not listed


def _listed(asked: Asked, where: list[tuple[str, str]]) -> Interpretation:
    columns = [
        "s.gid",
        "s.name",
        "s.province",
        "s.city",
        "s.year_rated",
        "s.lng_wgs84",
        "s.lat_wgs84",
    ]
    order = f"{asked.order[0]}, s.gid" if asked.order else "s.province, s.city, s.gid"
    sql = (
        f"SELECT {_selected(asked, columns)} FROM {_tables(asked)}{_filter(where)} "
        f"ORDER BY {order} LIMIT {asked.limit or MOST}"
    )
    things = _things(asked)
    if not asked.order or asked.sorted:
        return _reading(asked, sql, "list", things, things, things)
    number = f" {asked.limit} 个" if asked.limit else ""
    first = f" (first {asked.limit})" if asked.limit else ""
    told = asked.order[2]
    return _reading(
        asked, sql, "best", things, f"{things}中{told}的{number}", f"{things} {told}{first}"
    )


def _where(asked: Asked) -> list[tuple[str, str]]:
    """The conditions, of places too; several provinces or cities are alternatives."""
    found = list(asked.conditions)
    places = []
    if asked.provinces:
        places.append(_among("s.province", asked.provinces))
    if asked.cities:
        places.append(_among("s.city", asked.cities))
    found[:0] = [(test, "") for test in places]
    for column, value, _ in asked.without:
        test = f"s.gid <> {int(value)}" if column == "s.gid" else f"{column} <> {_text(value)}"
        found.append((f"({column} IS NULL OR {test})" if column == "s.city" else test, ""))
    return found


def _among(column: str, values: Sequence[str]) -> str:
    listed = ", ".join(_text(value) for value in values)
    return f"{column} IN ({listed})" if len(values) > 1 else f"{column} = {listed}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _tables(asked: Asked) -> str:
    joined = " LEFT JOIN tourist_spot AS t ON t.gid = s.gid" if asked.details else ""
    return f"a_sight AS s{joined}"


def _filter(where: Sequence[tuple[str, str]]) -> str:
    return f" WHERE {' AND '.join(sql for sql, _ in where)}" if where else ""


def _selected(asked: Asked, columns: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys([*columns, *asked.columns]))


def _things(asked: Asked) -> str:
    """The areas that a question is about, as a sentence has them."""
    said = [words for _, words in asked.conditions if words]
    without = [words for _, _, words in asked.without]
    places = asked.cities if asked.cities and len(asked.provinces) < 2 else asked.provinces
    if asked.language == "zh":
        place = "、".join(places)
        told = "、".join([*([f"不含{'、'.join(without)}"] if without else []), *said])
        gap = " " if place and told[:1].isdigit() else ""
        return f"{place}{gap}{told}{'的' if place or told else ''} 5A 级景区".strip()
    names = [english_region(name) for name in places]
    place = f" in {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}" if names else ""
    apart = f" outside {' and '.join(without)}" if without else ""
    return " ".join([f"5A areas{place}{apart}", *said])


def _grouped(asked: Asked, where: Sequence[tuple[str, str]]) -> Interpretation:
    if asked.columns and "columns" in asked.wants:
        raise asked.lost(asked.whole)
    known = [*where, (f"{asked.group} IS NOT NULL", "")]
    counts = f"FROM {_tables(asked)}{_filter(known)} GROUP BY {asked.group}"
    by_zh, by_en = _BY[asked.group]
    things = _things(asked)
    if asked.order and asked.order[1] == "n":
        most = asked.order[0]
        zh, en = ("最多", "most") if most == "MAX" else ("最少", "fewest")
        if not asked.limit:  # all that have as many, should there be several
            sql = (
                f"SELECT {asked.group}, COUNT(*) AS n {counts} HAVING COUNT(*) = (SELECT {most}(m.n) FROM "
                f"(SELECT COUNT(*) AS n {counts}) AS m) ORDER BY {asked.group} LIMIT {MOST}"
            )
            return _reading(asked, sql, "most", things, f"{things}{zh}的{by_zh}", f"{by_en} with the {en} {things}")  # fmt: skip
        sql = f"SELECT {asked.group}, COUNT(*) AS n {counts} ORDER BY n{' DESC' if most == 'MAX' else ''}, {asked.group} LIMIT {asked.limit}"
        plural = {"province": "provinces", "city": "cities"}.get(by_en, "years of rating")
        return _reading(asked, sql, "group", things, f"{things}{zh}的 {asked.limit} 个{by_zh}", f"the {asked.limit} {plural} with the {en} {things}")  # fmt: skip
    if asked.order:
        raise asked.lost(asked.whole)
    if asked.having:
        sign, number = asked.having
        counts += f" HAVING COUNT(*) {sign} {number}"
    order = "n DESC, " if asked.group != "s.year_rated" or asked.limit else ""
    sql = (
        f"SELECT {asked.group}, COUNT(*) AS n {counts} "
        f"ORDER BY {order}{asked.group} LIMIT {asked.limit or MOST}"
    )
    if asked.having:
        told = f"{asked.having[0]} {asked.having[1]}"
        return _reading(asked, sql, "group", things, f"{things}数量 {told} 的{by_zh}", f"number of {things} by {by_en}, {told}")  # fmt: skip
    return _reading(asked, sql, "group", things, f"{things}数量（按{by_zh}）", f"number of {things} by {by_en}")  # fmt: skip


_BY = {
    "s.province": ("省份", "province"),
    "s.city": ("城市", "city"),
    "s.year_rated": ("评定年份", "year of rating"),
}


def _average(asked: Asked, where: Sequence[tuple[str, str]]) -> Interpretation:
    """The mean price of the tickets that are known, with how many they are."""
    if asked.order or asked.limit or asked.having:
        raise asked.lost(asked.whole)
    known = [*where, ("t.ticket_cny IS NOT NULL", "")]
    value = "ROUND(CAST(AVG(t.ticket_cny) AS NUMERIC), 1) AS average_ticket_cny, COUNT(*) AS n"
    things = _things(asked)
    zh, en = f"{things}的平均门票", f"average ticket of {things}"
    if not asked.group:
        sql = f"SELECT {value} FROM {_tables(asked)}{_filter(known)}"
        return _reading(asked, sql, "average", things, zh, en)
    by_zh, by_en = _BY[asked.group]
    known.append((f"{asked.group} IS NOT NULL", ""))
    sql = (
        f"SELECT {asked.group}, {value} FROM {_tables(asked)}{_filter(known)} "
        f"GROUP BY {asked.group} ORDER BY average_ticket_cny DESC, {asked.group} LIMIT {MOST}"
    )
    return _reading(asked, sql, "group", things, f"{zh}（按{by_zh}）", f"{en} by {by_en}")


def _called(asked: Asked, words: Vocabulary) -> str:
    """The areas that were named by their full names, so that it can be seen which are meant."""
    names = [
        words.called[gid][asked.language == "en"] if gid in words.called else name
        for name, gid in asked.areas
    ]
    return asked.say("、", ", ").join(dict.fromkeys(names))


def _of_areas(asked: Asked, where: Sequence[tuple[str, str]], words: Vocabulary) -> Interpretation:
    """What is known of areas that were named."""
    other = asked.group or asked.order or asked.provinces or asked.cities or asked.conditions
    if "count" in asked.wants or "average" in asked.wants or other or asked.limit:
        raise NotUnderstood("、".join(name for name, _ in asked.areas))
    if "list" in asked.wants and not asked.columns:
        raise NotUnderstood("、".join(name for name, _ in asked.areas))  # 黄山有哪些: the city?
    ids = ", ".join(str(gid) for gid in dict.fromkeys(gid for _, gid in asked.areas))
    if not asked.columns:
        asked.details = True
        asked.columns = [
            "s.address",
            "t.ticket_cny",
            "t.ticket_year",
            "t.opening_hours",
            "t.introduction",
        ]
    base = ["s.gid", "s.name", "s.province", "s.city"]
    base += [] if "s.year_rated" in asked.columns else ["s.year_rated"]
    base += ["s.lng_wgs84", "s.lat_wgs84"]
    known = [(f"s.gid IN ({ids})", ""), *where]
    sql = (
        f"SELECT {_selected(asked, base)} FROM {_tables(asked)}{_filter(known)} "
        f"ORDER BY s.gid LIMIT {MOST}"
    )
    names = _called(asked, words)
    return _reading(asked, sql, "detail", names, names, names)


def _apart(asked: Asked, words: Vocabulary) -> Interpretation:
    (one, gid), (_, other) = asked.areas
    if gid == other or asked.conditions or asked.columns or asked.provinces or asked.cities:
        raise asked.lost(one)
    km = "distance_km(a.lng_wgs84, a.lat_wgs84, b.lng_wgs84, b.lat_wgs84)"
    sql = (
        f"SELECT a.name AS name_from, b.name AS name_to, ROUND(CAST({km} AS NUMERIC), 1) AS km "
        f"FROM a_sight AS a CROSS JOIN a_sight AS b WHERE a.gid = {gid} AND b.gid = {other} LIMIT 1"
    )
    names = _called(asked, words)
    pair = names.replace("、", "到").replace(", ", " to ")
    return _reading(
        asked, sql, "distance", names, f"{pair}的直线距离", f"straight distance from {pair}"
    )


def _around(asked: Asked, where: Sequence[tuple[str, str]], words: Vocabulary) -> Interpretation:
    if len({gid for _, gid in asked.areas}) != 1 or asked.group or "average" in asked.wants:
        raise NotUnderstood("、".join(name for name, _ in asked.areas))
    if asked.order:
        raise asked.lost(asked.whole)
    gid, name = asked.areas[0][1], _called(asked, words)
    km = "distance_km(s.lng_wgs84, s.lat_wgs84, c.lng_wgs84, c.lat_wgs84)"
    known = [
        (f"c.gid = {gid}", ""),
        ("s.gid <> c.gid", ""),
        ("s.lng_wgs84 IS NOT NULL", ""),
        *where,
    ]
    things = _things(asked)
    gap = " " if things[0].isdigit() else ""
    shape: Shape = "nearest"
    if asked.centre == "within":
        shape = "within"
        known.append((f"{km} <= {asked.radius:g}", ""))
        zh = f"{name}周边 {asked.radius:g} 公里内的{gap}{things}"
        en = f"{things} within {asked.radius:g} km of {name}"
    else:
        zh = f"离{name}最近的 {asked.limit} 个{gap}{things}"
        nearest = (
            f"{asked.limit} nearest {things}" if asked.limit > 1 else f"nearest {_one(things)}"
        )
        en = f"the {nearest} to {name}"
        if asked.provinces or asked.cities or asked.conditions or asked.without:
            en = f"{things}, the {asked.limit} nearest to {name}"
    tables = f"a_sight AS c CROSS JOIN {_tables(asked)}"
    if "count" in asked.wants and "list" not in asked.wants:
        if asked.centre == "nearest" or asked.limit:
            raise asked.lost(asked.whole)
        sql = f"SELECT COUNT(*) AS n FROM {tables}{_filter(known)}"
        return _reading(asked, sql, "count", asked.say(zh, en), f"{zh}数量", f"number of {en}")
    base = ["s.gid", "s.name", "s.province", "s.city", "s.lng_wgs84", "s.lat_wgs84"]
    sql = (
        f"SELECT {_selected(asked, base)}, ROUND(CAST({km} AS NUMERIC), 1) AS km "
        f"FROM {tables}{_filter(known)} ORDER BY km, s.gid LIMIT {asked.limit or MOST}"
    )
    return _reading(asked, sql, shape, asked.say(zh, en), zh, en)


def _one(things: str) -> str:
    return things.replace("5A areas", "5A area", 1)


def _reading(asked: Asked, sql: str, shape: Shape, things: str, zh: str, en: str) -> Interpretation:
    """The statement, with what it looks for in words."""
    return Interpretation(sql, " ".join(asked.say(zh, en).split()), asked.language, shape, things)
