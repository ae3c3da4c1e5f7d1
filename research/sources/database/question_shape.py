"""The answer that a question on scenic areas requests: groups, order, number of rows, and columns."""

from __future__ import annotations

import re

from research import data
from research.core.text import numbers
from research.sources.database.sights_question import ENGLISH_NUMBER, NotUnderstoodError, SightsQuestion, parse_number

_GROUP_WORDS = {
    "s.province": (r"省(?:份|市|区)*", r"provinces?"),
    "s.city": (r"(?:城市|地级市|市)", r"cit(?:y|ies)"),
    "s.year_rated": (r"年(?:份)?", r"years?"),
}
_EXTREME_WORDS = {"最多": "MAX", "最少": "MIN", "most": "MAX", "fewest": "MIN", "least": "MIN", "top": "MAX", "bottom": "MIN"}  # fmt: skip
_COMPARISON_WORDS = {
    "超过": ">", "多于": ">", "大于": ">", "高于": ">", "more than": ">", "over": ">",
    "不少于": ">=", "至少": ">=", "不低于": ">=", "at least": ">=", "no fewer than": ">=",
    "少于": "<", "不到": "<", "低于": "<", "小于": "<", "fewer than": "<", "less than": "<", "under": "<",
    "不超过": "<=", "至多": "<=", "at most": "<=", "no more than": "<=",
}  # fmt: skip


def read_shape(parsed: SightsQuestion) -> None:
    """Read the shape of the requested answer."""
    for rule in (_read_groups, _read_order, _read_limit, _read_intents, _read_columns):
        rule(parsed)


def _read_groups(parsed: SightsQuestion) -> None:
    """Read by which column areas are to be counted."""
    if parsed.areas and not parsed.centre_mode:
        return  # 故宫是哪一年评的 asks for a column of one area
    if _read_group_condition(parsed) or _read_extreme_groups(parsed) or _read_each_place(parsed):
        return
    single = {
        "s.province": r"(?:每个?|各个?|按|分)省(?:份|市|区)*(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+province",
        "s.city": r"(?:每个?|各个?|按)(?:城)?市(?:统计|分组)?|(?:by|per|each|every|in each|for each)\s+city",
        "s.year_rated": r"(?:每一?年|各年|按年份?(?:统计|分组)?|逐年)|(?:by|per|each|every|in each|for each)\s+year",
    }
    for column, pattern in single.items():
        if parsed.consume(pattern):
            asks_list = re.search(
                r"名单|清单|列表|列出来?|列举|有?哪些|(?<![a-z])(?:list|show|which)(?![a-z])",
                parsed.remaining,
                re.I,
            )
            asks_count = re.search(r"数量|多少|几|总数|统计|how many|number|count", parsed.original, re.I)
            if asks_list and not asks_count and column != "s.year_rated":
                return  # lists have this order anyway
            parsed.group_column = column
            parsed.intents.add("count")
            parsed.consume(r"(?:数量|个数)?的?(?:排名|排行榜?|排序)|(?<![a-z])ranked(?![a-z])")
            if column == "s.year_rated":
                parsed.consume(r"新增(?:了)?|新评|(?<![a-z])(?:added|new)(?![a-z])")
            return


def _read_group_condition(parsed: SightsQuestion) -> bool:
    """Read a condition on the counts of groups: 哪些省超过 15 个."""
    zh, en = [f"(?:{'|'.join(kinds)})" for kinds in zip(*list(_GROUP_WORDS.values())[:2], strict=True)]
    signs = sorted(_COMPARISON_WORDS, key=len, reverse=True)
    match = parsed.consume(
        rf"(?:which\s+)?({en})\s+(?:with|have|having|that have|has)\s+({'|'.join(s for s in signs if s.isascii())})\s+({ENGLISH_NUMBER})(?![a-z\d]|\s*(?:yuan|km|元))"
    )
    if match:
        kind, sign, number = match.groups()
    else:
        pattern = rf"({'|'.join(s for s in signs if not s.isascii())})\s*({numbers.NUMBER_PATTERN})\s*(?:个|家|处|座)(?:以上)?"
        comparison = re.search(pattern, parsed.remaining)
        where = comparison and re.search(
            rf"(?:哪些|哪几个|(?<=的)|有)({zh})(?![a-z])|(?<=\s)({zh})(?=\s*$)", parsed.remaining
        )
        if not comparison or not where:
            return False
        parsed.consume(pattern)
        parsed.consume(rf"(?:哪些|哪几个|(?<=的)|有)({zh})|(?<=\s)({zh})(?=\s*$)")
        parsed.consume(r"数量|个数|数")
        kind, (sign, number) = where[1] or where[2], (comparison[1], comparison[2])
    parsed.group_column = _group_column(kind)
    parsed.group_condition = (_COMPARISON_WORDS[sign.lower()], f"{parse_number(number):g}")
    parsed.intents.add("count")
    return True


def _read_extreme_groups(parsed: SightsQuestion) -> bool:
    """Read a request for the groups with the most or the fewest areas, and their number."""
    for column, (zh, en) in _GROUP_WORDS.items():
        english = parsed.consume(
            rf"(?<![a-z])rank(?:ing of)?\s+()()(?:the\s+|all\s+|chinese\s+)*{en}\s+by\s+(?:their\s+|the\s+)?(?:number|count)(?:\s+of)?(?![a-z])",
            rf"(?<![a-z])(top|bottom)\s+({ENGLISH_NUMBER})\s+{en}(?:\s+(?:by|with|in)\s+(?:the\s+)?(?:most\s+)?(?:5A\s+)?(?:number|count|numbers)?)?(?![a-z])",
            rf"(?:which\s+|the\s+)?()({ENGLISH_NUMBER})?\s*{en}\s+(?:that\s+)?(?:has|have|had|with)\s+(?:the\s+)?(most|fewest|least)(?:\s+number of)?(?![a-z]|\s+expensive)",
        )
        if chinese := parsed.consume(rf"(最[多少])的?\s*前?\s*({numbers.NUMBER_PATTERN})\s*(?:个|名)?\s*{zh}"):
            word, parsed.max_rows = chinese[1], int(parse_number(chinese[2]))
        elif english:
            word = next((text for text in english.groups() if text and text.lower() in _EXTREME_WORDS), "most")
            parsed.max_rows = int(parse_number(english[2])) if english[2] else 0
        else:
            question_pattern = rf"哪(?:一)?(?:个|座)?{zh}|(?<!每个)(?<!各){zh}(?:是)?哪(?:一|里|些)?个?|(?<=最多的){zh}|(?<=最少的){zh}"
            superlative = re.search(r"最[多少](?!\s*\d)", parsed.remaining)
            if not superlative or not re.search(question_pattern, parsed.remaining):
                continue
            parsed.consume(question_pattern)
            word = superlative[0]
            parsed.consume(rf"{word}的?\s*(?:前\s*)?({numbers.NUMBER_PATTERN})?\s*(?:个|名)?")
        parsed.group_column = column
        parsed.intents.add("count")
        order = _EXTREME_WORDS[word.lower()]
        parsed.ordering = (order, "n", "")
        parsed.consume(r"数量|个数")
        return True
    if match := re.search(
        rf"(?<![a-z])which\s+(?:{'|'.join(en for _, en in _GROUP_WORDS.values())})|哪(?:一)?(?:个|座)(?:城?市|省)",
        parsed.remaining,
        re.I,
    ):
        raise parsed.not_understood(match[0])
    return False


def _read_each_place(parsed: SightsQuestion) -> bool:
    """Read a request for one count per named place: 杭州和苏州各有多少."""
    places = parsed.provinces or parsed.cities
    if len(places) < 2 or parsed.exclusions or parsed.areas:
        return False
    match = parsed.consume(
        r"分别有?|各自?(?=有)|对比|比较|(?<![a-z])(?:compare(?:d)?|vs\.?|versus|respectively)(?![a-z])",
        r"(?<=how many)\s+each|(?<![a-z])(?:in\s+)?each(?:\s+of)?(?![a-z])",
    )
    if not match:
        return False
    counted = re.search(r"多少|几|数量|个数|how many|number|count", parsed.original, re.I)
    if not counted:
        raise parsed.not_understood(match[0])
    parsed.group_column = "s.province" if parsed.provinces else "s.city"
    parsed.intents.add("count")
    return True


def _group_column(text: str) -> str:
    """Return the column of a word for groups: s.city for 城市 and "cities"."""
    return next(
        column for column, (zh, en) in _GROUP_WORDS.items() if re.fullmatch(zh, text) or re.fullmatch(en, text, re.I)
    )


def _read_order(parsed: SightsQuestion) -> None:
    """Read a superlative, or an order of all areas."""
    if parsed.centre_mode == "nearest":
        return
    _read_full_order(parsed)
    for zh, en, order, wording_zh, wording_en in data.rows("sight_orders.tsv"):
        column = order.partition(" ")[0]
        if match := parsed.consume(rf"{zh}|(?<![a-z]){en}(?![a-z])"):
            if parsed.ordering or parsed.group_column or parsed.centre_mode:
                raise parsed.not_understood(match[0])  # 每个省最贵的 asks for one of each, another shape
            parsed.ordering = (order, column, parsed.choose_text(wording_zh, wording_en))
            parsed.conditions.append((f"{column} IS NOT NULL", ""))
            if column == "t.ticket_cny":
                parsed.add_price_columns()
            parsed.consume(r"(?<![a-z])lies?(?![a-z])|lying")


def _read_full_order(parsed: SightsQuestion) -> None:
    """Read an order of all areas; unknown values go last."""
    descending = r"(?:从|由)?(?:高到低|大到小|晚到早|新到旧|贵到便宜)|降序|倒序"
    ascending = r"(?:从|由)?(?:低到高|小到大|早到晚|旧到新|便宜到贵)|升序"
    match = parsed.consume(
        rf"按(?:照)?(门票|票价|价格)?(?:价格)?((?:评定)?(?:年份|时间))?的?\s*(?:({descending})|{ascending})?\s*(?:排序|排列|排)?(?=的|列|\s|$|,)"
    )
    if match and (match[1] or match[2]) and re.search("排|到|序", match[0]):
        column, direction = "t.ticket_cny" if match[1] else "s.year_rated", " DESC" if match[3] else ""
    elif match:
        raise parsed.not_understood(match[0])
    else:
        english_orders = {
            r"newest first|latest first|most recent first": ("s.year_rated", " DESC"),
            r"oldest first|earliest first": ("s.year_rated", ""),
            r"cheapest first": ("t.ticket_cny", ""),
            r"(?:most expensive|dearest) first": ("t.ticket_cny", " DESC"),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:ticket )?price": ("t.ticket_cny", ""),
            r"(?:sorted|ordered|in order) (?:by|of) (?:the )?(?:year (?:they|it) (?:got|received|were given|was given) (?:their|its|the) rating|year|rating year|year of rating)": (
                "s.year_rated",
                "",
            ),
        }
        patterns = {rf"(?<![a-z])(?:the )?(?:{pattern})(?![a-z])": order for pattern, order in english_orders.items()}
        found = next((order for pattern, order in patterns.items() if parsed.consume(pattern)), None)
        if found is None:
            return
        column, direction = found
        if parsed.consume(r"(?<![a-z])(?:desc|descending)(?![a-z])"):
            direction = " DESC"
        parsed.consume(r"(?<![a-z])(?:asc|ascending)(?![a-z])")
    if parsed.group_column or parsed.centre_mode:
        raise parsed.not_understood(parsed.remaining)
    parsed.ordering, parsed.orders_all = (f"{column} IS NULL, {column}{direction}", column, ""), True
    if column.startswith("t."):
        parsed.add_price_columns()


def _read_limit(parsed: SightsQuestion) -> None:
    """Read how many rows are requested."""
    match = (
        parsed.consume(
            rf"(?:排名)?前\s*({numbers.NUMBER_PATTERN})\s*(?:个|名|家|处|座|位)?(?:的)?",
            rf"(?<![a-z])(?:top|first)\s+({ENGLISH_NUMBER})(?![a-z\d])",
        )
        or (parsed.ordering and parsed.consume(rf"({numbers.NUMBER_PATTERN})\s*(?:个|家|处|座)"))
        or (parsed.ordering and parsed.consume(rf"(?<![a-z\d.])({ENGLISH_NUMBER})(?![a-z\d.])"))
    )
    if match:
        parsed.max_rows = int(parse_number(match[1]))
        if not parsed.max_rows or (parsed.ordering is None and not parsed.group_column and not parsed.centre_mode):
            raise parsed.not_understood(match[0])  # the order is not given


def _read_intents(parsed: SightsQuestion) -> None:
    """Read the requested kinds of answer: an average, a count or a list."""
    if parsed.areas and not parsed.centre_mode:  # 门票多少 asks for a price
        parsed.consume(r"分别|各自")
        parsed.remaining = re.sub(r"(门票|票价)(?:价格)?\s*(?:是|为)?多少钱?", r"\1", parsed.remaining)
    if parsed.consume(
        r"平均(?:的)?(?:门票|票价)(?:价格?)?|(?:门票|票价)(?:价格?)?的?平均(?:价格?|值|数)?|平均价格?",
        r"(?:average|mean) (?:ticket )?(?:prices?|tickets?|cost)(?: of (?:a )?tickets?)?",
    ):
        parsed.intents.add("average")
        parsed.needs_spots = True
        parsed.consume(r"(?:是)?多少钱?|(?<![a-z])what(?:'s| is| are)?(?![a-z])")
        return
    if parsed.consume(
        r"(?:一共|总共|共)?有?(?:多少|几)\s*(?:个|家|处|座)(?:以上)?|(?:一共|总共)?有?多少(?!钱)|数量(?:是多少)?|总数|个数",
        r"how many|(?:the\s+)?(?:total\s+)?number of|counts?(?: of| the)?(?![a-z])",
    ):
        parsed.intents.add("count")
        parsed.consume(r"数量|多少")
    nouns = r"areas|sights|sites|attractions|spots|places|ones"
    if parsed.consume(
        r"(?:都|具体)?(?:有|是)?(?:哪些|谁)|有些?什么|什么(?=\s*(?:5A|景|免费))|列出来?|列举|列一下|名单|清单|列表|给(?:我)?个?",
        r"(?<![a-z])(?:list(?: all)?|show(?: me)?|give me|find|name)(?![a-z])(?!\s+(?:of|contain|one))",
        rf"(?<![a-z])(?:which|what)(?=[^?]*(?<![a-z])(?:{nouns})(?![a-z]))",
    ):
        parsed.intents.add("list")
        parsed.consume(r"名单|清单|列表|(?<![a-z])list(?![a-z])")
    parsed.consume(r"(?:是)?哪(?:一)?(?:个|家|处|座)(?!\s*(?:省|市|城|县|区))")


COLUMN_PATTERNS = tuple((pattern, columns.split("|")) for columns, pattern in data.rows("sight_columns.tsv"))


def _read_columns(parsed: SightsQuestion) -> None:
    """Read the requested columns."""
    for pattern, columns in COLUMN_PATTERNS:
        while parsed.consume(pattern):
            parsed.columns += [column for column in columns if column not in parsed.columns]
            parsed.needs_spots = parsed.needs_spots or any(column.startswith("t.") for column in columns)
            parsed.intents.add("columns")
    if "s.year_rated" in parsed.columns:
        parsed.consume(r"(?<![a-z])(?:get|got|receive|awarded|become|5A rating|rating)(?![a-z])")
        parsed.consume(r"(?<![a-z])(?:5A rating|rating)(?![a-z])")
    if len(parsed.areas) > 1:
        parsed.consume(r"分别|各自?|respectively")
    if parsed.bare_year and ("count" in parsed.intents or parsed.needs_spots or parsed.areas or parsed.columns):
        raise NotUnderstoodError(parsed.bare_year)  # areas that existed then, or areas rated then?
