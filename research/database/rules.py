"""Questions on scenic areas to SQL by rules, in Chinese and English: the common shapes and no others.

A question is read piece by piece, and every piece that was understood is taken out of it. What is left
must be words that mean nothing here (的, please); if anything else is left, the rules say what they did
not understand and answer nothing. So they can be at a loss, but not wrong in silence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from research.records import Language

MOST = 500  # rows of a list
NEAREST = 10  # if nobody says how many
MILE = 1.609344  # km

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_NUMBER = r"(?:\d+(?:\.\d+)?|[一二两三四五六七八九十百千]+)"
_COUNT_EN = {
    w: n
    for n, w in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
    )
}
_N_EN = rf"(?:\d+|{'|'.join(_COUNT_EN)})"

PROVINCES_EN = {
    "北京市": "Beijing", "天津市": "Tianjin", "河北省": "Hebei", "山西省": "Shanxi",
    "内蒙古自治区": "Inner Mongolia", "辽宁省": "Liaoning", "吉林省": "Jilin", "黑龙江省": "Heilongjiang",
    "上海市": "Shanghai", "江苏省": "Jiangsu", "浙江省": "Zhejiang", "安徽省": "Anhui", "福建省": "Fujian",
    "江西省": "Jiangxi", "山东省": "Shandong", "河南省": "Henan", "湖北省": "Hubei", "湖南省": "Hunan",
    "广东省": "Guangdong", "广西壮族自治区": "Guangxi", "海南省": "Hainan", "重庆市": "Chongqing",
    "四川省": "Sichuan", "贵州省": "Guizhou", "云南省": "Yunnan", "西藏自治区": "Tibet", "陕西省": "Shaanxi",
    "甘肃省": "Gansu", "青海省": "Qinghai", "宁夏回族自治区": "Ningxia", "新疆维吾尔自治区": "Xinjiang",
    "香港特别行政区": "Hong Kong", "澳门特别行政区": "Macau", "台湾省": "Taiwan",
}  # fmt: skip
CITIES_EN = {
    "杭州市": "Hangzhou", "宁波市": "Ningbo", "温州市": "Wenzhou", "嘉兴市": "Jiaxing", "湖州市": "Huzhou",
    "绍兴市": "Shaoxing", "金华市": "Jinhua", "舟山市": "Zhoushan", "台州市": "Taizhou", "南京市": "Nanjing",
    "苏州市": "Suzhou", "无锡市": "Wuxi", "常州市": "Changzhou", "扬州市": "Yangzhou", "镇江市": "Zhenjiang",
    "徐州市": "Xuzhou", "南通市": "Nantong", "西安市": "Xi'an", "宝鸡市": "Baoji", "延安市": "Yan'an",
    "渭南市": "Weinan", "成都市": "Chengdu", "乐山市": "Leshan", "绵阳市": "Mianyang", "桂林市": "Guilin",
    "广州市": "Guangzhou", "深圳市": "Shenzhen", "韶关市": "Shaoguan", "昆明市": "Kunming", "丽江市": "Lijiang",
    "黄山市": "Huangshan", "合肥市": "Hefei", "洛阳市": "Luoyang", "郑州市": "Zhengzhou", "开封市": "Kaifeng",
    "武汉市": "Wuhan", "宜昌市": "Yichang", "十堰市": "Shiyan", "长沙市": "Changsha", "张家界市": "Zhangjiajie",
    "南昌市": "Nanchang", "九江市": "Jiujiang", "上饶市": "Shangrao", "景德镇市": "Jingdezhen", "厦门市": "Xiamen",
    "福州市": "Fuzhou", "泉州市": "Quanzhou", "南平市": "Nanping", "三亚市": "Sanya", "济南市": "Jinan",
    "青岛市": "Qingdao", "泰安市": "Tai'an", "烟台市": "Yantai", "威海市": "Weihai", "济宁市": "Jining",
    "承德市": "Chengde", "保定市": "Baoding", "秦皇岛市": "Qinhuangdao", "石家庄市": "Shijiazhuang",
    "大同市": "Datong", "晋中市": "Jinzhong", "忻州市": "Xinzhou", "沈阳市": "Shenyang", "大连市": "Dalian",
    "长春市": "Changchun", "吉林市": "Jilin City", "哈尔滨市": "Harbin", "贵阳市": "Guiyang",
    "安顺市": "Anshun", "拉萨市": "Lhasa", "兰州市": "Lanzhou", "敦煌市": "Dunhuang", "西宁市": "Xining",
    "银川市": "Yinchuan", "乌鲁木齐市": "Urumqi",
}  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """What the rows of the database are called: areas by their ids, provinces and cities."""

    areas: Mapping[str, int]  # names in both languages to gid; those that several have are left out
    provinces: Sequence[str]
    cities: Sequence[str]


@dataclass(frozen=True)
class Reading:
    """A question as the rules have understood it. `sql` has named columns; `meant` says in the
    question's language what is looked for."""

    sql: str
    meant: str
    language: Language


class NotUnderstood(ValueError):
    """The rules do not know this shape; `rest` are the words that they could not place."""

    def __init__(self, rest: str) -> None:
        self.rest = rest
        super().__init__(rest)


@dataclass
class _Asked:
    """What was found in a question so far."""

    text: str
    language: Language
    provinces: list[str] = field(default_factory=list)
    cities: list[str] = field(default_factory=list)
    areas: list[tuple[str, int]] = field(default_factory=list)
    conditions: list[tuple[str, str]] = field(default_factory=list)  # SQL, and in words
    wants: set[str] = field(default_factory=set)  # count, list, columns
    columns: list[str] = field(default_factory=list)
    group: str = ""
    order: tuple[str, str] | None = None
    limit: int = 0
    centre: str = ""  # how the area that was named is meant: nearest, within
    radius: float = 0.0
    details: bool = False  # a condition or a column is of tourist_spot

    def take(self, pattern: str, flags: int = re.I) -> re.Match[str] | None:
        """Takes the first match out of what is left."""
        match = re.search(pattern, self.text, flags)
        if match:
            self.text = f"{self.text[: match.start()]} {self.text[match.end() :]}"
        return match


def read(question: str, words: Vocabulary) -> Reading:
    """A question as SQL over `a_sight` and `tourist_spot`.

    Raises:
        NotUnderstood: it is none of the known shapes, or has more in it than these.
    """
    text = " ".join(unicodedata.normalize("NFKC", question).split()).strip(" ?？。.!！")
    chinese = bool(re.search(r"[\u4e00-\u9fff]", text))
    asked = _Asked(f" {text} ", "zh" if chinese else "en")
    _names(asked, words)
    for rule in (_distance, _years, _tickets, _groups, _orders, _limits, _intents, _columns):
        rule(asked)
    if (
        asked.provinces
        and asked.cities
        and re.search(r"[和与及、]|(?<![a-z])and(?![a-z])", text, re.I)
    ):
        raise NotUnderstood(
            "、".join([*asked.provinces, *asked.cities])
        )  # both, or one in the other?
    rest = _rest(asked)
    if rest:
        raise NotUnderstood(rest)
    return _built(asked)


# What is named


def _names(asked: _Asked, words: Vocabulary) -> None:
    """Areas, cities and provinces, the longest names before the others: 黄山市 is no 黄山."""
    forms: list[tuple[str, int, str]] = [(name, 0, name) for name in words.areas]
    short = {_short_province(name) for name in words.provinces}
    for name in words.provinces:
        spelt = (name, _short_province(name), PROVINCES_EN.get(name, ""))
        forms += [(form, 1, name) for form in spelt if form]
    for name in words.cities:
        if name in words.provinces:
            continue  # 北京市 is both; as a province it has all of it
        spelt = (name, _short_city(name), CITIES_EN.get(name, ""))
        forms += [(form, 2, name) for form in spelt if form and form not in short]
    bare = "".join(asked.text.split()).lower()
    there = [item for item in forms if "".join(item[0].split()).lower() in bare]
    for form, kind, name in sorted(there, key=lambda item: (-len(item[0]), item[1])):
        if not asked.take(_exactly(form) + (r"(?:\s*province|\s*city)?" if kind else "")):
            continue
        if kind == 0:
            asked.areas.append((name, words.areas[name]))
        else:
            found = asked.provinces if kind == 1 else asked.cities
            if name not in found:
                found.append(name)


def _exactly(name: str) -> str:
    """A name as it stands in a text: one in Latin letters only as whole words."""
    form = re.escape(name).replace(r"\ ", r"\s+")
    return rf"(?<![A-Za-z]){form}(?![A-Za-z])" if name.isascii() else form


def _short_city(name: str) -> str:
    short = re.sub(r"(?:市|地区|盟)$", "", name)
    return short if len(short) > 1 else ""


def _short_province(name: str) -> str:
    return re.sub(r"(?:省|市|壮族自治区|回族自治区|维吾尔自治区|自治区|特别行政区)$", "", name)


# Conditions


def _distance(asked: _Asked) -> None:
    """Within a distance of an area, or the nearest to one. The area itself is out of the text."""
    if not asked.areas:
        return
    far = asked.take(
        rf"(?:within|less than|under)\s+({_NUMBER})\s*(km|kilomet(?:er|re)s?|miles?)\s*(?:of|from|around)?"
    ) or asked.take(
        rf"(?:周边|附近|周围|方圆)?\s*({_NUMBER})\s*(公里|千米|km)\s*(?:以内|之内|范围内|范围|内)"
    )
    if far:
        asked.centre = "within"
        asked.radius = _value(far[1]) * (MILE if far[2].lower().startswith("mile") else 1)
        asked.take(r"(?:距离|离|距)")
        asked.take(r"周边|附近|周围|方圆")
        return
    near = asked.take(rf"(?:the\s+)?({_N_EN})?\s*(?:nearest|closest)\s*({_N_EN})?") or asked.take(
        rf"最近的?\s*({_NUMBER})?\s*(?:个|家|处|座)?()"
    )
    if near:
        asked.take(r"(?:距离|离|距)|(?<![a-z])(?:to|from)(?![a-z])")
        asked.centre, number = "nearest", near[1] or near[2]
        asked.limit = int(_value(number)) if number else NEAREST


def _years(asked: _Asked) -> None:
    year = r"((?:19|20)\d\d)"
    said = r"(?:\s*(?:被)?(?:评定|评为|评上|评选|获评|列为|成为|晋级|批准|入选)(?:为|成)?)?"
    rules: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
        (rf"{year}\s*年?\s*(?:到|至|-|~|—)\s*{year}\s*年?(?:之?间|期间)?{said}", _between),
        (rf"(?:rated\s+)?between\s+{year}\s+and\s+{year}", _between),
        (rf"(?:rated\s+)?from\s+{year}\s+to\s+{year}", _between),
        (rf"{year}\s*年?\s*(?:及|或)(?:以后|之后){said}", lambda m: f">= {m[1]}"),
        (rf"{year}\s*年?\s*(?:及|或)(?:以前|之前){said}", lambda m: f"<= {m[1]}"),
        (rf"{year}\s*年?\s*(?:以后|之后|后){said}", lambda m: f"> {m[1]}"),
        (rf"{year}\s*年?\s*(?:以前|之前|前){said}", lambda m: f"< {m[1]}"),
        (rf"自?{year}\s*年?以来{said}", lambda m: f">= {m[1]}"),
        (rf"(?:rated\s+)?since\s+{year}", lambda m: f">= {m[1]}"),
        (rf"(?:rated\s+)?after\s+{year}", lambda m: f"> {m[1]}"),
        (rf"(?:rated\s+)?before\s+{year}", lambda m: f"< {m[1]}"),
        (rf"(?:rated\s+)?(?:5A\s+)?in\s+{year}", lambda m: f"= {m[1]}"),
        (rf"{year}\s*年{said}", lambda m: f"= {m[1]}"),
    )
    for pattern, sense in rules:
        if match := asked.take(pattern):
            test = sense(match)
            words = {"zh": f"评定年份 {test}", "en": f"year of rating {test}"}[asked.language]
            asked.conditions.append(
                (f"s.year_rated {test}", words.replace("BETWEEN ", "").replace(" AND ", " - "))
            )
            return


def _between(match: re.Match[str]) -> str:
    first, last = sorted((match[1], match[2]))
    return f"BETWEEN {first} AND {last}"


def _tickets(asked: _Asked) -> None:
    money = rf"({_NUMBER})\s*(?:元|块钱?|人民币|yuan|cny|rmb)"
    ticket = (
        r"(?:门票|票价|ticket(?:s| price)?)?(?:价格|费用)?\s*(?:is|are|cost(?:s|ing)?|在|为|是)?\s*"
    )
    rules = (
        (rf"{ticket}{money}\s*(?:以下|以内|之内|及以下|or less|or under)", "<="),
        (rf"{ticket}{money}\s*(?:以上|及以上|or more)", ">="),
        (rf"{ticket}(?:不超过|不高于|最多|at most|no more than|up to)\s*{money}", "<="),
        (rf"{ticket}(?:低于|少于|小于|不到|under|below|less than|cheaper than)\s*{money}", "<"),
        (rf"{ticket}(?:高于|超过|大于|多于|over|above|more than)\s*{money}", ">"),
        (rf"{ticket}(?:不低于|不少于|至少|at least)\s*{money}", ">="),
    )
    for pattern, sign in rules:
        if match := asked.take(pattern):
            _spent(asked, f"{sign} {_value(match[1]):g}")
            return
    if asked.take(r"(?:门票)?(?:免费|免票|不要门票|不收门票)(?:开放|入园|参观)?") or asked.take(
        r"(?<![a-z])(?:that are |with )?free(?: of charge| admission| entry| to enter| to visit)?(?![a-z])"
    ):
        _spent(asked, "= 0")


def _spent(asked: _Asked, test: str) -> None:
    words = {"zh": f"门票 {test} 元", "en": f"ticket {test} yuan"}[asked.language]
    asked.conditions.append((f"t.ticket_cny {test}", words))
    asked.details = True
    asked.columns += ["t.ticket_cny", "t.ticket_year"]


# What is wanted

_GROUPS = {
    "s.province": r"(?:每个?|各个?|按|分)省(?:份|市|区)*|哪个省(?:份)?|(?:by|per|each|every|which)\s+province",
    "s.city": r"(?:每个?|各个?|按)(?:城)?市|哪(?:个|座)(?:城)?市|(?:by|per|each|every|which)\s+city",
    "s.year_rated": r"(?:每一?年|各年|按年份?|逐年)|哪(?:一)?年|(?:by|per|each|every|which)\s+year",
}


def _groups(asked: _Asked) -> None:
    if asked.areas and not asked.centre:
        return  # 故宫是哪一年评的: a column of one area
    for column, pattern in _GROUPS.items():
        if match := asked.take(pattern):
            asked.group = column
            asked.wants.add("count")
            if re.match(r"哪|which", match[0], re.I):
                if not asked.take(r"(?:has|have|had)?\s*(?:the\s+)?most|最多"):
                    raise NotUnderstood(match[0].strip())
                asked.order = ("n DESC", "")
                asked.take(r"has|have|有")
            return


def _orders(asked: _Asked) -> None:
    rules = (
        (r"(?:门票)?最贵的?|(?:the\s+)?(?:most expensive|dearest)", "t.ticket_cny DESC", "t.ticket_cny"),
        (r"(?:门票)?最便宜的?|(?:the\s+)?(?:cheapest|least expensive)", "t.ticket_cny", "t.ticket_cny"),
        (r"最(?:新|晚)(?:评定|评为|评上|获评)?的?|最近(?:评定|评为|评上|获评)的?|(?:the\s+)?(?:newest|latest|most recently rated)",
         "s.year_rated DESC", "s.year_rated"),
        (r"最早(?:评定|评为|评上|获评)?的?|(?:the\s+)?(?:earliest|first rated|oldest)",
         "s.year_rated", "s.year_rated"),
    )  # fmt: skip
    if asked.centre == "nearest":
        return
    for pattern, order, column in rules:
        if match := asked.take(pattern):
            if asked.order or asked.group:
                raise NotUnderstood(match[0].strip())  # 每个省最贵的: one of each is another shape
            asked.order = (order, column)
            asked.conditions.append((f"{column} IS NOT NULL", match[0].strip()))
            asked.details = asked.details or column.startswith("t.")
            if column.startswith("t.") and column not in asked.columns:
                asked.columns += ["t.ticket_cny", "t.ticket_year"]


def _limits(asked: _Asked) -> None:
    match = (
        asked.take(rf"前\s*({_NUMBER})\s*(?:个|名|家|处|座)?")
        or asked.take(rf"(?<![a-z])(?:top|first)\s+({_N_EN})(?![a-z])")
        or (asked.order and asked.take(rf"({_NUMBER})\s*(?:个|家|处|座)"))
        or (asked.order and asked.take(rf"(?<![a-z\d])({_N_EN})(?![a-z\d])"))
    )
    if match:
        asked.limit = int(_value(match[1]))
        if asked.order is None and not asked.group and not asked.centre:
            raise NotUnderstood(match[0].strip())  # the first by what?


def _intents(asked: _Asked) -> None:
    if asked.take(
        r"(?:一共|总共|共)?有?(?:多少|几)\s*(?:个|家|处|座)|(?:一共|总共)?有多少|数量|总数"
    ) or asked.take(r"how many|(?:the\s+)?(?:total\s+)?number of|count(?: of| the)?"):
        asked.wants.add("count")
    if asked.take(
        r"(?:都|分别|具体)?(?:有|是)?哪些|(?:有什么|什么)|列出|列举|列一下"
    ) or asked.take(r"(?<![a-z])(?:which|list|show(?: me)?|what|give me|find)(?![a-z])"):
        asked.wants.add("list")


_COLUMNS = (
    (r"门票(?:价格)?(?:是)?(?:多少钱?)?|票价|多少钱|ticket prices?|tickets?|price|how much(?: does| is| do)?|cost",
     ["t.ticket_cny", "t.ticket_year", "t.ticket_text"]),
    (r"开放时间|营业时间|几点(?:开门|关门|开放)|opening (?:hours|times?)|when is|open(?:ing)?(?![a-z])",
     ["t.opening_hours"]),
    (r"(?:建议)?(?:游玩|游览)(?:时间|时长|多久)|要玩多久|how long", ["t.suggested_visit"]),
    (r"最佳(?:季节|时间)|什么(?:季节|时候)去|best (?:season|time)(?: to (?:visit|go))?", ["t.season"]),
    (r"官网|官方网站|网址|(?:official\s+)?(?:web ?site|site)", ["t.official_site"]),
    (r"简介|介绍|introduction|about", ["t.introduction"]),
    (r"坐标|经纬度|coordinates", ["s.lng_wgs84", "s.lat_wgs84"]),
    (r"在哪(?:里|儿|个省|个市)?|哪里|地址|位于|位置|where(?: is)?|address|located",
     ["s.province", "s.city", "s.district", "s.address"]),
    (r"(?:是)?(?:哪|什么|何)(?:一)?(?:年|时候?)(?:被)?(?:评定|评为|评上|获评|成为)?|评定(?:时间|年份)|"
     r"(?:(?:in\s+)?(?:which|what)\s+year|when)(?:\s+(?:was|were))?(?:\s+rated)?", ["s.year_rated"]),
)  # fmt: skip


def _columns(asked: _Asked) -> None:
    for pattern, columns in _COLUMNS:
        while asked.take(pattern):
            asked.columns += [column for column in columns if column not in asked.columns]
            asked.details = asked.details or any(column.startswith("t.") for column in columns)
            asked.wants.add("columns")


# What may be left

_NOISE_ZH = re.compile(
    r"国家|全国|中国|我国|5A级?|AAAAA级?|A级|级|旅游区|旅游景区|风景名胜区|风景区|名胜|景区|景点|景点?名?称?|"
    r"请问|请|帮我|帮忙|告诉我|查询|查一下|查找|查|一下|看看|想知道|我|想|知道|"
    r"评定|评为|评上|被|的|地|得|了|吗|呢|啊|呀|吧|有|在|是|为|个|家|处|座|里|内|境内|中|所有|全部|一共|总共|共|"
    r"分别|统计|汇总|分布|各|都|和|与|及|以及|、|,|，|:|：|;|；|"
    r"其|它们?|这些?|那些?|名单|情况|信息"
)
_NOISE_EN = frozenset(
    ["a", "an", "the", "of", "in", "on", "at", "to", "for", "from", "is", "are", "was", "were", "be", "been", "there", "that", "which", "who", "with", "and", "all", "any", "5a", "aaaaa", "a-level", "level", "rated", "rating", "national", "scenic", "area", "areas", "spot", "spots", "attraction", "attractions", "sight", "sights", "site", "sites", "place", "places", "china", "chinese", "please", "me", "does", "do", "did", "has", "have", "had", "it", "its", "their", "they's", "i", "want", "know", "tell", "city", "province", "located", "by", "entry", "fee", "name", "names"]
)  # fmt: skip


def _rest(asked: _Asked) -> str:
    """What of the question means something and was not understood."""
    text = _NOISE_ZH.sub(" ", asked.text) if asked.language == "zh" else asked.text
    kept = []
    for word in re.findall(r"[A-Za-z0-9'’-]+|[^\sA-Za-z0-9'’-]+", text):
        bare = word.strip("'’-\"“”()（）《》「」,.;:、?").lower().removesuffix("'s")
        if bare and bare not in _NOISE_EN:
            kept.append(word)
    return " ".join(kept)


# The statement


def _built(asked: _Asked) -> Reading:
    where = [*_where(asked)]
    if asked.centre:
        return _around(asked, where)
    if asked.areas:
        return _of_areas(asked, where)
    if asked.group:
        return _grouped(asked, where)
    if "count" in asked.wants:
        if asked.columns and "columns" in asked.wants:
            raise NotUnderstood("count")
        sql = f"SELECT COUNT(*) AS n FROM {_tables(asked)}{_filter(where)}"
        return _reading(asked, sql, {"zh": "景区数量", "en": "number of areas"})
    if not where and not asked.order and "list" not in asked.wants and not asked.columns:
        raise NotUnderstood(asked.text.strip() or "?")
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
    if asked.order and not asked.limit and "list" not in asked.wants:
        # the one that is most so, or all that are equally so
        best = "MAX" if asked.order[0].endswith("DESC") else "MIN"
        value = f"SELECT {best}({asked.order[1]}) FROM {_tables(asked)}{_filter(where)}"
        where.append((f"{asked.order[1]} = ({value})", ""))
    limit = asked.limit or MOST
    sql = (
        f"SELECT {_selected(asked, columns)} FROM {_tables(asked)}{_filter(where)} "
        f"ORDER BY {order} LIMIT {limit}"
    )
    return _reading(asked, sql, {"zh": "景区列表", "en": "list of areas"})


def _where(asked: _Asked) -> list[tuple[str, str]]:
    """The conditions, of places too; several provinces or cities are alternatives."""
    found = list(asked.conditions)
    places = []
    if asked.provinces:
        places.append(_among("s.province", asked.provinces))
    if asked.cities:
        places.append(_among("s.city", asked.cities))
    if places:
        # 浙江杭州 is one place, 浙江和南京 are two: both are asked for as they are
        joint = " AND " if len(asked.provinces) == 1 and len(asked.cities) == 1 else " OR "
        names = "、".join([*asked.provinces, *asked.cities])
        found.insert(0, (f"({joint.join(places)})" if len(places) > 1 else places[0], names))
    return found


def _among(column: str, values: Sequence[str]) -> str:
    listed = ", ".join(_text(value) for value in values)
    return f"{column} IN ({listed})" if len(values) > 1 else f"{column} = {listed}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _tables(asked: _Asked) -> str:
    joined = " LEFT JOIN tourist_spot AS t ON t.gid = s.gid" if asked.details else ""
    return f"a_sight AS s{joined}"


def _filter(where: Sequence[tuple[str, str]]) -> str:
    return f" WHERE {' AND '.join(sql for sql, _ in where)}" if where else ""


def _selected(asked: _Asked, columns: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys([*columns, *asked.columns]))


def _grouped(asked: _Asked, where: Sequence[tuple[str, str]]) -> Reading:
    known = [*where, (f"{asked.group} IS NOT NULL", "")]
    counts = f"FROM {_tables(asked)}{_filter(known)} GROUP BY {asked.group}"
    if asked.order:  # all that have as many, should there be several
        sql = (
            f"SELECT {asked.group}, COUNT(*) AS n {counts} HAVING COUNT(*) = (SELECT MAX(m.n) FROM "
            f"(SELECT COUNT(*) AS n {counts}) AS m) ORDER BY {asked.group} LIMIT {MOST}"
        )
        return _reading(asked, sql, {"zh": "景区最多的", "en": "the most areas"})
    order = "n DESC, " if asked.group != "s.year_rated" else ""
    limit = asked.limit or MOST
    sql = (
        f"SELECT {asked.group}, COUNT(*) AS n FROM {_tables(asked)}{_filter(known)} "
        f"GROUP BY {asked.group} ORDER BY {order}{asked.group} LIMIT {limit}"
    )
    by = {
        "s.province": {"zh": "按省份", "en": "by province"}, "s.city": {"zh": "按城市", "en": "by city"},
        "s.year_rated": {"zh": "按评定年份", "en": "by year of rating"},
    }[asked.group]  # fmt: skip
    return _reading(
        asked, sql, {"zh": f"{by['zh']}统计景区数量", "en": f"number of areas {by['en']}"}
    )


def _of_areas(asked: _Asked, where: Sequence[tuple[str, str]]) -> Reading:
    """What is known of areas that were named."""
    if "count" in asked.wants or asked.group or asked.order or asked.provinces or asked.cities:
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
    names = "、".join(name for name, _ in asked.areas)
    return _reading(asked, sql, {"zh": names, "en": names.replace("、", ", ")})


def _around(asked: _Asked, where: Sequence[tuple[str, str]]) -> Reading:
    if len({gid for _, gid in asked.areas}) != 1 or asked.group:
        raise NotUnderstood("、".join(name for name, _ in asked.areas))
    name, gid = asked.areas[0]
    km = "distance_km(s.lng_wgs84, s.lat_wgs84, c.lng_wgs84, c.lat_wgs84)"
    known = [
        (f"c.gid = {gid}", ""),
        ("s.gid <> c.gid", ""),
        ("s.lng_wgs84 IS NOT NULL", ""),
        *where,
    ]
    meant: dict[Language, str]
    if asked.centre == "within":
        known.append((f"{km} <= {asked.radius:g}", ""))
        meant = {
            "zh": f"{name}周边 {asked.radius:g} 公里内",
            "en": f"within {asked.radius:g} km of {name}",
        }
    else:
        meant = {
            "zh": f"离{name}最近的 {asked.limit} 个",
            "en": f"the {asked.limit} nearest to {name}",
        }
    tables = f"a_sight AS c CROSS JOIN {_tables(asked)}"
    if "count" in asked.wants:
        if asked.centre == "nearest":
            raise NotUnderstood("count")
        return _reading(asked, f"SELECT COUNT(*) AS n FROM {tables}{_filter(known)}", meant)
    base = ["s.gid", "s.name", "s.province", "s.city", "s.lng_wgs84", "s.lat_wgs84"]
    sql = (
        f"SELECT {_selected(asked, base)}, ROUND(CAST({km} AS NUMERIC), 1) AS km "
        f"FROM {tables}{_filter(known)} ORDER BY km, s.gid LIMIT {asked.limit or MOST}"
    )
    return _reading(asked, sql, meant)


def _reading(asked: _Asked, sql: str, head: Mapping[Language, str]) -> Reading:
    """The statement, with what it looks for in words."""
    told = [words for _, words in _where(asked) if words]
    colon, comma = ("：", "，") if asked.language == "zh" else (": ", ", ")
    meant = head[asked.language] + (colon + comma.join(told) if told else "")
    return Reading(sql, meant, asked.language)


def _value(text: str) -> float:
    """A number in digits, in Chinese signs or as an English word: 100, 一百二十, ten."""
    text = text.lower()
    if text in _COUNT_EN:
        return _COUNT_EN[text]
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    total, digit = 0, 0
    for sign in text:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        else:
            total += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[sign]
            digit = 0
    return float(total + digit)
