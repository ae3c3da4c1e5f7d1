"""SQL statements for questions that the rules have understood, each with a description in words."""

from __future__ import annotations

from collections.abc import Sequence

from research.core.display_names import english_region
from research.core.sql_quoting import quote_literal
from research.sources.database.sights_question import (
    AnswerShape,
    Interpretation,
    NotUnderstoodError,
    SightsQuestion,
    Vocabulary,
)

MAX_ROWS = 500  # rows of a list


def build_statement(parsed: SightsQuestion, vocabulary: Vocabulary) -> Interpretation:
    """Build the statement for a question.

    Raises:
        NotUnderstoodError: its parts do not fit together.
    """
    where = _collect_conditions(parsed)
    if parsed.intents & {"average", "distance"} and parsed.intents & {"count", "list"} - (
        {"count"} if parsed.group_column else set()
    ):
        raise parsed.not_understood(parsed.original)
    if "distance" in parsed.intents:
        return _build_distance(parsed, vocabulary)
    if parsed.centre_mode:
        return _build_nearby(parsed, where, vocabulary)
    if parsed.areas:
        return _build_details(parsed, where, vocabulary)
    if "average" in parsed.intents:
        return _build_average(parsed, where)
    if parsed.group_column:
        return _build_groups(parsed, where)
    if parsed.ordering and not parsed.max_rows and not parsed.orders_all and "list" not in parsed.intents:
        # A superlative without a number: the best area, or all that share the best value.
        best = "MAX" if parsed.ordering[0].endswith("DESC") else "MIN"
        value = f"SELECT {best}({parsed.ordering[1]}) FROM {_from_clause(parsed)}{_where_clause(where)}"
        where.append(f"{parsed.ordering[1]} = ({value})")
    if "count" in parsed.intents and _is_count_only(parsed):
        sql = f"SELECT COUNT(*) AS n FROM {_from_clause(parsed)}{_where_clause(where)}"
        things = _describe_areas(parsed) + (
            parsed.choose_text("中", " ") + parsed.ordering[2] + parsed.choose_text("的", "") if parsed.ordering else ""
        )
        return parsed.interpretation(sql, "count", things, f"{things}数量", f"number of {things}")
    if not where and not parsed.ordering and "list" not in parsed.intents and not parsed.columns:
        raise parsed.not_understood(parsed.remaining.strip() or "?")
    return _build_list(parsed, where)


def _is_count_only(parsed: SightsQuestion) -> bool:
    """Return whether a count is the whole answer; a list makes it redundant.

    Raises:
        NotUnderstoodError: it is combined with columns, a number or an order.
    """
    listed = "list" in parsed.intents
    if "columns" in parsed.intents or parsed.max_rows or (parsed.orders_all and not listed):
        raise parsed.not_understood(parsed.original)
    return not listed


def _build_list(parsed: SightsQuestion, conditions: list[str]) -> Interpretation:
    """Build the list of all areas that meet the conditions, or the first of them in an order."""
    columns = ["s.gid", "s.name", "s.province", "s.city", "s.year_rated", "s.lng_wgs84", "s.lat_wgs84"]
    order = f"{parsed.ordering[0]}, s.gid" if parsed.ordering else "s.province, s.city, s.gid"
    sql = (
        f"SELECT {_select_list(parsed, columns)} FROM {_from_clause(parsed)}{_where_clause(conditions)} "
        f"ORDER BY {order} LIMIT {parsed.max_rows or MAX_ROWS}"
    )
    things = _describe_areas(parsed)
    if not parsed.ordering or parsed.orders_all:
        return parsed.interpretation(sql, "list", things, things, things)
    number = f" {parsed.max_rows} 个" if parsed.max_rows else ""
    first = f" (first {parsed.max_rows})" if parsed.max_rows else ""
    wording = parsed.ordering[2]
    return parsed.interpretation(sql, "best", things, f"{things}中{wording}的{number}", f"{things} {wording}{first}")


def _collect_conditions(parsed: SightsQuestion) -> list[str]:
    """Return all conditions, those on places first; several provinces or cities are alternatives."""
    places = (("s.province", parsed.provinces), ("s.city", parsed.cities))
    conditions = [_match_any(column, values) for column, values in places if values]
    conditions += [test for test, _ in parsed.conditions]
    for column, value, _ in parsed.exclusions:
        test = f"s.gid <> {int(value)}" if column == "s.gid" else f"{column} <> {quote_literal(value)}"
        conditions.append(f"({column} IS NULL OR {test})" if column == "s.city" else test)
    return conditions


def _match_any(column: str, values: Sequence[str]) -> str:
    """Build the condition that a column has one of these values."""
    listed = ", ".join(quote_literal(value) for value in values)
    return f"{column} IN ({listed})" if len(values) > 1 else f"{column} = {listed}"


def _from_clause(parsed: SightsQuestion) -> str:
    joined = " LEFT JOIN tourist_spot AS t ON t.gid = s.gid" if parsed.needs_spots else ""
    return f"a_sight AS s{joined}"


def _where_clause(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _select_list(parsed: SightsQuestion, columns: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys([*columns, *parsed.columns]))


def _describe_areas(parsed: SightsQuestion) -> str:
    """Describe the areas that a question is about, for use in a sentence."""
    wordings = [words for _, words in parsed.conditions if words]
    excluded = [words for _, _, words in parsed.exclusions]
    places = parsed.cities if parsed.cities and len(parsed.provinces) < 2 else parsed.provinces
    if parsed.language == "zh":
        place = "、".join(places)
        qualifiers = "、".join([*([f"不含{'、'.join(excluded)}"] if excluded else []), *wordings])
        gap = " " if place and qualifiers[:1].isdigit() else ""
        return f"{place}{gap}{qualifiers}{'的' if place or qualifiers else ''} 5A 级景区".strip()
    names = [english_region(name) for name in places]
    place = f" in {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}" if names else ""
    exclusion = f" outside {' and '.join(excluded)}" if excluded else ""
    return " ".join([f"5A areas{place}{exclusion}", *wordings])


def _build_groups(parsed: SightsQuestion, conditions: Sequence[str]) -> Interpretation:
    """Build the numbers of areas by group, or the groups with the most or the fewest areas."""
    if parsed.columns and "columns" in parsed.intents:
        raise parsed.not_understood(parsed.original)
    known = [*conditions, f"{parsed.group_column} IS NOT NULL"]
    counts = f"FROM {_from_clause(parsed)}{_where_clause(known)} GROUP BY {parsed.group_column}"
    by_zh, by_en = _GROUP_NAMES[parsed.group_column]
    things = _describe_areas(parsed)
    if parsed.ordering and parsed.ordering[1] == "n":
        function = parsed.ordering[0]
        zh, en = ("最多", "most") if function == "MAX" else ("最少", "fewest")
        if not parsed.max_rows:  # all groups that share the extreme number
            sql = (
                f"SELECT {parsed.group_column}, COUNT(*) AS n {counts} HAVING COUNT(*) = (SELECT {function}(m.n) FROM "
                f"(SELECT COUNT(*) AS n {counts}) AS m) ORDER BY {parsed.group_column} LIMIT {MAX_ROWS}"
            )
            return parsed.interpretation(
                sql, "most", things, f"{things}{zh}的{by_zh}", f"{by_en} with the {en} {things}"
            )
        sql = f"SELECT {parsed.group_column}, COUNT(*) AS n {counts} ORDER BY n{' DESC' if function == 'MAX' else ''}, {parsed.group_column} LIMIT {parsed.max_rows}"
        plural = {"province": "provinces", "city": "cities"}.get(by_en, "years of rating")
        return parsed.interpretation(sql, "group", things, f"{things}{zh}的 {parsed.max_rows} 个{by_zh}", f"the {parsed.max_rows} {plural} with the {en} {things}")  # fmt: skip
    if parsed.ordering:
        raise parsed.not_understood(parsed.original)
    if parsed.group_condition:
        sign, number = parsed.group_condition
        counts += f" HAVING COUNT(*) {sign} {number}"
    order = "n DESC, " if parsed.group_column != "s.year_rated" or parsed.max_rows else ""
    sql = (
        f"SELECT {parsed.group_column}, COUNT(*) AS n {counts} "
        f"ORDER BY {order}{parsed.group_column} LIMIT {parsed.max_rows or MAX_ROWS}"
    )
    if parsed.group_condition:
        comparison = f"{parsed.group_condition[0]} {parsed.group_condition[1]}"
        return parsed.interpretation(sql, "group", things, f"{things}数量 {comparison} 的{by_zh}", f"number of {things} by {by_en}, {comparison}")  # fmt: skip
    return parsed.interpretation(sql, "group", things, f"{things}数量（按{by_zh}）", f"number of {things} by {by_en}")


_GROUP_NAMES = {
    "s.province": ("省份", "province"),
    "s.city": ("城市", "city"),
    "s.year_rated": ("评定年份", "year of rating"),
}


def _build_average(parsed: SightsQuestion, conditions: Sequence[str]) -> Interpretation:
    """Build the average of the known ticket prices, with their number."""
    if parsed.ordering or parsed.max_rows or parsed.group_condition:
        raise parsed.not_understood(parsed.original)
    known = [*conditions, "t.ticket_cny IS NOT NULL"]
    value = "ROUND(CAST(AVG(t.ticket_cny) AS NUMERIC), 1) AS average_ticket_cny, COUNT(*) AS n"
    things = _describe_areas(parsed)
    zh, en = f"{things}的平均门票", f"average ticket of {things}"
    if not parsed.group_column:
        sql = f"SELECT {value} FROM {_from_clause(parsed)}{_where_clause(known)}"
        return parsed.interpretation(sql, "average", things, zh, en)
    by_zh, by_en = _GROUP_NAMES[parsed.group_column]
    known.append(f"{parsed.group_column} IS NOT NULL")
    sql = (
        f"SELECT {parsed.group_column}, {value} FROM {_from_clause(parsed)}{_where_clause(known)} "
        f"GROUP BY {parsed.group_column} ORDER BY average_ticket_cny DESC, {parsed.group_column} LIMIT {MAX_ROWS}"
    )
    return parsed.interpretation(sql, "group", things, f"{zh}（按{by_zh}）", f"{en} by {by_en}")


def _area_names(parsed: SightsQuestion, vocabulary: Vocabulary) -> str:
    """List the named areas by their full names, which shows the areas that are meant."""
    names = [
        vocabulary.full_names[gid][parsed.language == "en"] if gid in vocabulary.full_names else name
        for name, gid in parsed.areas
    ]
    return parsed.choose_text("、", ", ").join(dict.fromkeys(names))


def _build_details(parsed: SightsQuestion, conditions: Sequence[str], vocabulary: Vocabulary) -> Interpretation:
    """Build the facts about named areas."""
    other = parsed.group_column or parsed.ordering or parsed.provinces or parsed.cities or parsed.conditions
    if "count" in parsed.intents or "average" in parsed.intents or other or parsed.max_rows:
        raise NotUnderstoodError("、".join(name for name, _ in parsed.areas))
    if "list" in parsed.intents and not parsed.columns:
        raise NotUnderstoodError("、".join(name for name, _ in parsed.areas))  # 黄山有哪些 may mean the city
    ids = ", ".join(str(gid) for gid in dict.fromkeys(gid for _, gid in parsed.areas))
    if not parsed.columns:
        parsed.needs_spots = True
        parsed.columns = ["s.address", "t.ticket_cny", "t.ticket_year", "t.opening_hours", "t.introduction"]
    base = ["s.gid", "s.name", "s.province", "s.city"]
    base += [] if "s.year_rated" in parsed.columns else ["s.year_rated"]
    base += ["s.lng_wgs84", "s.lat_wgs84"]
    known = [f"s.gid IN ({ids})", *conditions]
    sql = (
        f"SELECT {_select_list(parsed, base)} FROM {_from_clause(parsed)}{_where_clause(known)} "
        f"ORDER BY s.gid LIMIT {MAX_ROWS}"
    )
    names = _area_names(parsed, vocabulary)
    return parsed.interpretation(sql, "detail", names, names, names)


def _build_distance(parsed: SightsQuestion, vocabulary: Vocabulary) -> Interpretation:
    """Build the distance between two named areas."""
    (name, gid), (_, other_gid) = parsed.areas
    if gid == other_gid or parsed.conditions or parsed.columns or parsed.provinces or parsed.cities:
        raise parsed.not_understood(name)
    km = "distance_km(a.lng_wgs84, a.lat_wgs84, b.lng_wgs84, b.lat_wgs84)"
    sql = (
        f"SELECT a.name AS name_from, b.name AS name_to, ROUND(CAST({km} AS NUMERIC), 1) AS km "
        f"FROM a_sight AS a CROSS JOIN a_sight AS b WHERE a.gid = {gid} AND b.gid = {other_gid} LIMIT 1"
    )
    names = _area_names(parsed, vocabulary)
    pair = names.replace("、", "到").replace(", ", " to ")
    return parsed.interpretation(sql, "distance", names, f"{pair}的直线距离", f"straight distance from {pair}")


def _build_nearby(parsed: SightsQuestion, conditions: Sequence[str], vocabulary: Vocabulary) -> Interpretation:
    """Build the areas near a named area, within a radius or the nearest ones, or their number."""
    if len({gid for _, gid in parsed.areas}) != 1 or parsed.group_column or "average" in parsed.intents:
        raise NotUnderstoodError("、".join(name for name, _ in parsed.areas))
    if parsed.ordering:
        raise parsed.not_understood(parsed.original)
    gid, name = parsed.areas[0][1], _area_names(parsed, vocabulary)
    km = "distance_km(s.lng_wgs84, s.lat_wgs84, c.lng_wgs84, c.lat_wgs84)"
    known = [
        f"c.gid = {gid}",
        "s.gid <> c.gid",
        "s.lng_wgs84 IS NOT NULL",
        *conditions,
    ]
    things = _describe_areas(parsed)
    gap = " " if things[0].isdigit() else ""
    shape: AnswerShape = "nearest"
    if parsed.centre_mode == "within":
        shape = "within"
        known.append(f"{km} <= {parsed.radius_km:g}")
        zh = f"{name}周边 {parsed.radius_km:g} 公里内的{gap}{things}"
        en = f"{things} within {parsed.radius_km:g} km of {name}"
    else:
        zh = f"离{name}最近的 {parsed.max_rows} 个{gap}{things}"
        nearest = f"{parsed.max_rows} nearest {things}" if parsed.max_rows > 1 else f"nearest {to_singular(things)}"
        en = f"the {nearest} to {name}"
        if parsed.provinces or parsed.cities or parsed.conditions or parsed.exclusions:
            en = f"{things}, the {parsed.max_rows} nearest to {name}"
    tables = f"a_sight AS c CROSS JOIN {_from_clause(parsed)}"
    if "count" in parsed.intents and "list" not in parsed.intents:
        if parsed.centre_mode == "nearest" or parsed.max_rows:
            raise parsed.not_understood(parsed.original)
        sql = f"SELECT COUNT(*) AS n FROM {tables}{_where_clause(known)}"
        return parsed.interpretation(sql, "count", parsed.choose_text(zh, en), f"{zh}数量", f"number of {en}")
    base = ["s.gid", "s.name", "s.province", "s.city", "s.lng_wgs84", "s.lat_wgs84"]
    sql = (
        f"SELECT {_select_list(parsed, base)}, ROUND(CAST({km} AS NUMERIC), 1) AS km "
        f"FROM {tables}{_where_clause(known)} ORDER BY km, s.gid LIMIT {parsed.max_rows or MAX_ROWS}"
    )
    return parsed.interpretation(sql, shape, parsed.choose_text(zh, en), zh, en)


def to_singular(subject: str) -> str:
    """Write an English phrase about areas in the singular; a Chinese one stays as it is."""
    return subject.replace("5A areas", "5A area", 1)
