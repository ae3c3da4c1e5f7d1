"""The same quantity with different figures in different sources.

Precision before recall: two figures are compared only if they measure the same (a price of admission, a
height), of the same named subject, for the same time and with the same qualifiers, in words that say
so. It knows no truth: all figures are shown, with who gave them and when. The conflicts that the news of
a report have within a story are told with that story and not here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from research.evidence.citations import CitedAnswer
from research.evidence.registry import Registry, gather
from research.language.quantities import Measure, compatible, measures, plain
from research.records import Disagreement, Evidence, GivenFigure, Passage, Report
from research.text import LIGHT, STOP, has_han, telling, tokens, words

READ = 4_000  # characters of a passage
EACH = 60  # figures of a source
COMPARED = 400  # figures that may be of one thing
LISTED = 60
SUBJECT = 80  # characters
CLAUSE = 200  # characters of a clause that is shown
COPIED = 0.75  # of the shorter text's shingles are in the longer one: a copy
SHINGLE = 6  # characters
SHORTEST = 30  # shingles of a text, below which only the same text is a copy

_SENTENCE = re.compile(r"[。！？!?；;\n\r|]+|\.(?=\s|$)")
_CLAUSE = re.compile(
    r"[,，、](?!\d{3})|\b(?:and|while|but|whereas|with)\b|而且|以及|[:：](?=.*[:：])"
)
_DIGIT = re.compile(r"\d")
_ASIDE = re.compile(r"[(（\[【][^()（）\[\]【】]{0,80}[)）\]】]")
# What is said of another time, by somebody else's mistake, or only supposed, is no figure of the thing.
_UNSURE = re.compile(
    r"此前|之前|先前|曾|原价|原来|原定|过去|不是|并非|而非|误传|谣|如果|假设|假如|例如|比如|若|预测|预估|大概"
    r"|\b(?:not|never|if|formerly|previously|earlier|used to|originally|once|was raised|e\.g|for example|such as"
    r"|suppose|assum\w+|rumou?r\w*|myth|instead of|rather than|compared|versus|vs|except|unlike)\b"
)

# What is measured: name, kinds of measure ("" any), words. The first that fits the kind is taken.
_CONCEPTS = tuple(
    (name, frozenset(filter(None, kinds.split(","))), re.compile(form))
    for name, kinds, form in (
        ("dead", "people,", r"死亡|遇难|丧生|身亡|罹难|\b(?:killed|dead|deaths?|died|fatalit\w+)\b"),
        ("injured", "people,", r"受伤|伤者|\b(?:injur\w+|wounded|hurt)\b"),
        ("deposit", "money", r"押金|\bdeposit"),
        ("ticket", "money", r"门票|票价|[成儿童人生]票|入场[券费]|\b(?:tickets?|admission|entrance|entry)\b"),
        ("salary", "money", r"工资|薪资|月薪|年薪|薪酬|\b(?:salar\w+|wages?|pay)\b"),
        ("profit", "money", r"利润|净利|盈利|\b(?:profits?|net income|earnings)\b"),
        ("revenue", "money", r"营收|营业收入|收入|销售额|票房|\b(?:revenues?|turnover|sales|box office|income)\b"),
        ("gdp", "money", r"生产总值|\bgdp\b"),
        ("investment", "money", r"投资|造价|耗资|预算|\b(?:invest\w+|budget|construction cost|cost to build)\b"),
        ("fine", "money", r"罚款|罚金|\b(?:fines?|fined|penalt\w+)\b"),
        ("rent", "money", r"租金|房租|\brent\b"),
        ("valuation", "money", r"估值|市值|\b(?:valu\w+|market cap\w*)\b"),
        ("price", "money", r"价格|售价|单价|收费|费用|\b(?:prices?|priced|costs?|fees?|fares?|charges?)\b"),
        ("altitude", "length", r"海拔|\b(?:elevation|altitude|above sea level)\b"),
        ("height", "length", r"高度|高[达为约]|[塔楼峰山身总净主]高|高(?=\s?\d)|\b(?:height|tall|high)\b"),
        ("depth", "length", r"深度|水深|深[达为约]|\b(?:depth|deep)\b"),
        ("width", "length", r"宽度|宽[达为约]|宽(?=\s?\d)|\b(?:width|wide)\b"),
        ("diameter", "length", r"直径|\bdiameter\b"),
        ("distance", "length", r"距离|相距|\b(?:distance|away)\b"),
        ("length", "length", r"长度|全长|总长|里程|[线桥河]长|长[达为约]|长(?=\s?\d)|\b(?:length|long)\b"),
        ("area", "area", r"面积|占地|\b(?:areas?|covers?|covering|spans?|spread)\b"),
        ("volume", "volume", r"库容|容积|容量|体积|\b(?:volume|capacity|storage)\b"),
        ("output", "mass", r"产量|年产|\b(?:output|production|harvest\w*|produc\w+)\b"),
        ("emission", "mass", r"排放|\bemissions?\b"),
        ("weight", "mass", r"重量|体重|重[达为约]|重(?=\s?\d)|\b(?:weigh\w*|heavy)\b"),
        ("speed", "speed", r"时速|速度|\b(?:speeds?)\b"),
        ("capacity", "power", r"装机|功率|\b(?:capacity|power|installed)\b"),
        ("generation", "energy", r"发电|用电|耗电|\b(?:generat\w+|consum\w+|electricity)\b"),
        ("battery", "energy", r"电池|\bbattery\b"),
        ("stay", "duration", r"免签|停留|逗留|签证|\b(?:visa\w*|stay|transit)\b"),
        ("term", "duration", r"保修|质保|有效期|保质期|\b(?:warranty|valid\w*|shelf life)\b"),
        ("magnitude", "magnitude", r"地震|震级|\b(?:earthquake|quake|magnitude)\b"),
        ("population", "people", r"人口|\b(?:population|inhabitants|residents)\b"),
        ("visitors", "people", r"游客|客流|接待|参观人|访客|\b(?:visitors?|tourists?|visits|arrivals)\b"),
        ("passengers", "people", r"旅客|乘客|客运|\b(?:passengers?|ridership)\b"),
        ("staff", "people", r"员工|职工|雇员|\b(?:employees|staff|workers|workforce)\b"),
        ("seats", "people", r"容纳|座位|\b(?:seats?|accommodates?|capacity)\b"),
        ("students", "people", r"学生|在校生|\b(?:students|pupils)\b"),
        ("unemployment", "ratio", r"失业率|\bunemployment\b"),
        ("inflation", "ratio", r"通胀率|通货膨胀|\b(?:inflation|cpi)\b"),
        ("interest", "ratio", r"利率|\binterest rate"),
        ("share", "ratio", r"占比|份额|比例|比重|\b(?:shares?|proportion|accounts? for)\b"),
        ("rate", "ratio", r"[^\s\d]率|\b(?:rates?|coverage|turnout)\b"),
        ("growth", "ratio", r"增速|增长|\b(?:growth|grew)\b"),
    )
)  # fmt: skip
_TIMELESS_WORDS = """
altitude height depth width diameter distance length area volume weight
"""
_TIMELESS = frozenset(_TIMELESS_WORDS.split())
_FLOW_WORDS = """
profit revenue gdp output emission generation population visitors passengers staff students unemployment inflation interest share rate growth salary
valuation price
"""
_FLOWS = frozenset(_FLOW_WORDS.split())
_COUNTED = frozenset({"count", ""})

# What narrows a figure: both sides have to say it, or neither.
_QUALIFIERS = tuple(
    (name, re.compile(form))
    for name, form in (
        ("adult", r"成人|成年|\badults?\b"),
        ("child", r"儿童|小孩|孩子|未成年|小朋友|\b(?:child\w*|kids?|minors?|infants?|youth)\b"),
        ("student", r"学生票|大学生|\bstudents?\b"),
        ("senior", r"老人|老年|长者|\b(?:seniors?|elderly|pensioners?)\b"),
        ("reduced", r"半价|半票|优惠|折|减免|特价|团|\b(?:half|discount\w*|concession\w*|reduced|group|promotion\w*|sale)\b"),
        ("full", r"全价|全票|\bfull[ -]price\b"),
        ("peak", r"旺季|夏季|暑|(?<!off-)(?<!off )\bpeak\b|\b(?:high|summer) (?:season|months?|rates?|prices?)|\bin summer\b"),
        ("off-peak", r"淡季|冬季|\boff[- ](?:peak|season)\b|\b(?:low|winter) (?:season|months?|rates?|prices?)|\bin winter\b"),
        ("planned", r"计划|规划|拟|预计|预期|目标|将|有望|\b(?:plan\w*|expect\w*|forecast\w*|target\w*|project(?:ed|ions?)|will|aims?|to be|propos\w*|estimat\w*|by 20\d\d)\b"),
        ("actual", r"实际|实有|\bactual\w*\b"),
        ("weekend", r"周末|节假日|假日|黄金周|春节|国庆|\b(?:weekends?|holidays?|golden week)\b"),
        ("weekday", r"平日|工作日|\b(?:weekdays?|working days?)\b"),
        ("combined", r"联票|套票|通票|包含|含[^量]|\b(?:combin\w+|combo|package|includ\w+|bundle\w*|pass)\b"),
        ("cable", r"缆车|索道|\b(?:cable ?(?:car|way)s?|ropeway|chairlift)\b"),
        ("bus", r"观光车|摆渡|大巴|\b(?:shuttle|bus|coach)\b"),
        ("boat", r"游船|船票|\b(?:boat|cruise|ferry)\b"),
        ("single", r"单程|单次|\b(?:one-way|single)\b"),
        ("return", r"往返|双程|\b(?:round[- ]?trip|return)\b"),
        ("most", r"最高|最多|上限|最大|封顶|峰值|最长|最深|\b(?:max\w*|highest|peaked|record|limit|cap|largest|longest|deepest)\b"),
        ("least", r"最低|最少|最小|起(?:价|步)|起$|\b(?:min\w*|lowest|starting|starts|smallest)\b|\bfrom\b"),
        ("mean", r"平均|人均|均价|\b(?:average|mean|per capita|median|typical\w*)\b"),
        ("each day", r"日均|每天|每日|单日|当日|\b(?:daily|per day|a day|each day)\b"),
        ("each month", r"每月|月均|当月|\b(?:monthly|per month|a month)\b"),
        ("each year", r"每年|年均|\b(?:annual\w*|yearly|per year|a year)\b"),
        ("each", r"每(?!天|日|月|年|人)|/|\b(?:per (?!cent|person)|each)\b"),
        ("total", r"总(?!统|理|部|裁|面积|长|高|人口)|累计|合计|\b(?:cumulative\w*|altogether|combined)\b"),
        ("new", r"新增|新建|新(?=\w{0,3}(?:版|款))|\b(?:additional|newly|extra)\b"),
        ("rise", r"增(?!值税)|涨|上升|提高|\b(?:rose|rises?|increas\w*|grew|up|gain\w*|jump\w*)\b"),
        ("fall", r"降|减少|下滑|跌|\b(?:fell|falls?|drop\w*|declin\w*|decreas\w*|down|cut)\b"),
        ("on the year", r"同比|\b(?:year[- ]on[- ]year|yoy)\b"),
        ("on the month", r"环比|\bmonth[- ]on[- ]month\b"),
        ("first class", r"一等|商务|头等|\b(?:first|business)[- ]class\b"),
        ("second class", r"二等|经济舱|\b(?:second|economy)[- ]class\b"),
        ("abroad", r"境外|外国|外籍|入境|国际|海外|\b(?:foreign\w*|overseas|international|inbound|global\w*|worldwide)\b"),
        ("home", r"国内|境内|\bdomestic\b"),
        ("men", r"男|\b(?:men|males?)\b"),
        ("women", r"女|\b(?:women|females?)\b"),
        ("urban", r"城镇|城区|市区|\b(?:urban|metropolitan|metro)\b"),
        ("rural", r"农村|乡村|\brural\b"),
        ("registered", r"户籍|\bregistered\b"),
        ("resident", r"常住|\bpermanent\b"),
        ("built", r"建筑面积|建筑|\b(?:floor|built|building)\b"),
        ("core", r"核心区|遗产区|缓冲|保护区|水域|水面|湖面|陆地|绿化|展厅|展览|\b(?:core|buffer|water|land|exhibition|gross|usable)\b"),
        ("online", r"网上|线上|网购|官网|\b(?:online|website)\b"),
        ("on site", r"现场|窗口|线下|\b(?:on[- ]site|at the gate|offline|counter)\b"),
        ("night", r"夜|晚场|\b(?:night|evening)\b"),
        ("vip", r"贵宾|豪华|\b(?:vip|deluxe|premium|luxury)\b"),
        ("preliminary", r"初步|\bpreliminar\w*\b"),
        ("main", r"主[塔楼峰桥殿跨馆]|\bmain\b"),
        ("roof", r"屋顶|塔尖|天线|\b(?:roof|spire|antenna|tip|architectural|observation)\b"),
        ("half", r"[上下]半年|\b(?:first|second) half\b"),
        ("quarter", r"季度|\bquarter\w*\b|\bq[1-4]\b"),
    )
)  # fmt: skip
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d|\s?(?:元|米|人|m\b|yuan))")
_MONTH = re.compile(
    r"(?<!\d)(?:1[0-2]|0?[1-9])(?=月)|\b(?:jan|feb|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\bmarch\b|[初中下上]旬|去年|今年|本年|明年|上年|前年|上月|本月|昨[日天]|今[日天]|\b(?:last|this|next) (?:year|month|week)\b"
    r"|\b(?:yesterday|today)\b|(?<!\d)\d{1,2}(?=[日号])|第(?:[一二三四五六七八九十]+|\d+)[届季次期]"
)
_IDLE_WORDS = """
攻略 指南 参观 官网 旅游 介绍 百科 简介 门票 票价 价格 景区 景点 信息 信息网 公告 通知 新闻 报道 网 最新 游玩 须知
时间 开放 达到 高达 位于 需要 每人 收费 拥有 约为 大约 元 人 米 公里 目前 现在 现行 标准 执行 规定 实行 显示 数据
统计 表示 公布 宣布 记者 据悉 了解 官方 公里 人民币 平方公里 平方米 万人 亿元 万元 美元 人次 小时 分钟 公顷 吨
左右 以上 全年 购买 购票 一张 一位 名 共 其中 设有 共有 建有 长达 部分 世界 中国 我国 一座 总 面积 高度 长度 人口
全长 海拔 成为 属于 公司 方面 情况 结果 guide guid travel visit visitor tourism tourist official offici site website wiki wikipedia home news
inform information info ticket price cost yuan rmb cni dollar metr meter kilometr kilomet km mile stand measur reach charg pay sell set total cover span
stretch locat rise report say accord data figur show state publish announc claim put give list page today current person people peopl hour day ha hectar tonn
ton squar percent per cent rate standard regular normal buy purchas world china tower's compani tall high height long length wide area deep depth popul elev
altitud above sea level known roughli nearli entri entranc admiss fee receiv attract welcom host had drew record around build built measurement amount came
come stood
"""
_IDLE = frozenset(_IDLE_WORDS.split())
_REGION_WORDS = """
北京 北京市 上海 上海市 天津 天津市 重庆 重庆市 广州 深圳 杭州 苏州 南京 西安 成都 武汉 桂林 四川 浙江 江苏 广东
云南 陕西 河南 山东 湖南 湖北 福建 安徽 江西 贵州 广西 海南 西藏 新疆 甘肃 青海 香港 澳门 台湾 日本 美国 beij
shanghai tianjin chongq guangzhou shenzhen hangzhou suzhou xian chengdu wuhan guilin sichuan zhejiang jiangsu guangdong yunnan tibet hong kong japan london
pari
"""
_REGIONS = frozenset(_REGION_WORDS.split())
_LATIN = re.compile(r"[a-z/]")
_MARKS = re.compile(r"[\W_]+")


@dataclass(frozen=True, eq=False)
class _Given:
    """A figure as one passage gives it, before anything is compared. `key` is what it measures, with
    its kind, its qualifiers and its times."""

    evidence: Evidence
    passage: Passage
    measure: Measure
    text: str
    sentence: str
    clause: str
    concept: str
    key: tuple[object, ...]
    order: tuple[str, str, int, int]

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The words of the clause that name what the figure is of."""
        start, end = self.measure.start, self.measure.end
        return _naming(f"{self.clause[:start]} {self.clause[end:]}", self.concept)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """Those of the headings."""
        return _naming(self._head, self.concept)

    @cached_property
    def _head(self) -> str:
        told = (self.evidence.title, self.passage.title, self.passage.heading)
        return " ".join(dict.fromkeys(_first_part(part) for part in told if part))

    @cached_property
    def near(self) -> _Near:
        """What stands around the figure: headings, the sentence, how the source begins."""
        return _near(" \n".join((self._head, self.sentence, self.evidence.opening[:200])))

    @cached_property
    def grams(self) -> frozenset[str]:
        letters = _MARKS.sub("", plain(self.passage.text[:READ]))
        return frozenset(
            letters[i : i + SHINGLE] for i in range(max(1, len(letters) - SHINGLE + 1))
        )

    @property
    def value(self) -> float:
        return self.measure.low


@dataclass(frozen=True)
class _Near:
    text: str
    words: frozenset[str]

    def has(self, word: str) -> bool:
        return word in self.text if has_han(word) else word in self.words


def conflicts(report: Report, cited: CitedAnswer | None) -> tuple[Disagreement, ...]:
    """Where sources of a run give figures of one thing that do not agree, cited ones first.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them, and copies of one text count once.
    """
    registry = _gathered(report)
    numbers = {s.evidence.id: s.number for s in cited.sources} if cited else {}
    told = _told(cited, registry)
    found = []
    for group in _groups(list(registry)):
        kind, ids = group[0].measure.kind, {given.evidence.id for given in group}
        if any(len(ids & known) > 1 for known in told):
            continue
        figures = _figures(group, numbers)
        subject = _subject(group)
        found.append(Disagreement(subject=subject, unit=_unit(kind), figures=figures))
    found.sort(key=lambda d: (not any(f.number for f in d.figures), d.subject, d.figures[0].text))
    return tuple(found[:LISTED])


def _gathered(report: Report) -> Registry:
    registry = gather(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def _told(cited: CitedAnswer | None, registry: Registry) -> list[set[str]]:
    """The sources of each conflict that is told with its story."""
    coverage = cited.answer.coverage if cited else None
    return [
        {item.id for figure in conflict.figures if (item := registry.get(figure.evidence))}
        for conflict in (coverage.conflicts if coverage else ())
    ]


# --- Figures that a passage gives -----------------------------------------------------------------


def _groups(sources: Sequence[Evidence]) -> Iterator[list[_Given]]:
    """Figures of one thing that do not all agree; in an order that is that of nothing but themselves."""
    buckets: dict[tuple[object, ...], list[_Clause]] = defaultdict(list)
    for evidence in sources:
        for clause in _clauses(evidence):
            buckets[clause.key].append(clause)
    for bucket in buckets.values():
        if (
            len({clause.evidence.id for clause in bucket}) > 1
            and len({c.digits for c in bucket}) > 1
        ):
            yield from _compared([given for clause in bucket for given in _given(clause)])


@dataclass(frozen=True, eq=False)
class _Clause:
    """A clause with a figure and what it measures, not yet read."""

    evidence: Evidence
    passage: Passage
    sentence: str
    shown: str
    clause: str
    digits: str
    key: tuple[object, ...]
    order: tuple[str, str, int, int]


def _clauses(evidence: Evidence) -> Iterator[_Clause]:
    count = 0
    year = evidence.published.year if evidence.published else 0
    for passage in evidence.passages:
        head = f"{evidence.title} {passage.heading}"
        for n, (shown, sentence, at, clause, names, about, times) in enumerate(
            _read(passage.text[:READ])
        ):
            flows = bool(names & _FLOWS)
            scope = times or (frozenset(_YEAR.findall(head)) if flows else frozenset())
            when = str(year) if flows and not scope and year else ""
            count += 1
            if count > EACH:
                return
            yield _Clause(
                evidence, passage, sentence, shown, clause,
                "".join(_DIGIT.findall(clause)),
                (names, about, scope, when),
                (evidence.id, passage.id, n, at),
            )  # fmt: skip


_Read = tuple[str, str, int, str, frozenset[str], frozenset[str], frozenset[str]]


@lru_cache(4_000)
def _read(text: str) -> tuple[_Read, ...]:
    """The clauses of a passage that have a figure and say what it measures: the sentence as it stands,
    the sentence as it is compared, the clause's place and text, what is measured, the qualifiers and
    the times."""
    found: list[_Read] = []
    for piece in _split(_SENTENCE, text):
        shown = " ".join(piece.split())
        if not _DIGIT.search(shown) or len(shown) > 1_000:
            continue
        sentence = _ASIDE.sub(_blank, plain(shown))
        clauses = _split(_CLAUSE, sentence)
        for at, clause in enumerate(clauses):
            if not _DIGIT.search(clause) or _UNSURE.search(clause):
                continue
            before = "，".join(clauses[:at])
            names = _names(clause) or _names(before)
            timeless = bool(names & _TIMELESS) or not names
            where = clause if timeless else sentence
            times = frozenset((*_YEAR.findall(where), *_MONTH.findall(where)))
            about = _about(clause) | (
                _about(before) if at and not _DIGIT.search(before) else frozenset()
            )
            found.append((shown, sentence, at, clause, names, about, times))
    return tuple(found)


def _split(at: re.Pattern[str], text: str) -> list[str]:
    return [part for piece in at.split(text) if (part := piece.strip())]


def _blank(match: re.Match[str]) -> str:
    """What is said by the way goes if it has figures: it is mostly the same in other units."""
    return " " if _DIGIT.search(match[0]) else match[0]


def _names(clause: str) -> frozenset[str]:
    found = _said(clause, _MEASURES_BY_SCRIPT)
    return found - {"price"} if len(found) > 1 else found  # which says least


def _about(clause: str) -> frozenset[str]:
    return _said(clause, _QUALIFIERS_BY_SCRIPT)


_Forms = tuple[tuple[str, re.Pattern[str]], ...]


def _by_script(forms: Iterable[tuple[str, re.Pattern[str]]]) -> tuple[_Forms, _Forms]:
    """Forms of Chinese and of other words, each apart: a clause is mostly of one script."""
    scripts: tuple[list[tuple[str, re.Pattern[str]]], ...] = ([], [])
    for name, form in forms:
        for han in (False, True):
            parts = [part for part in _alternatives(form.pattern) if has_han(part) == han]
            if parts:
                scripts[han].append((name, re.compile("|".join(parts))))
    return tuple(scripts[0]), tuple(scripts[1])


def _alternatives(form: str) -> Iterator[str]:
    """The alternatives of a pattern that stand outside of its groups."""
    depth, start = 0, 0
    for at, char in enumerate(form):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            yield form[start:at]
            start = at + 1
    yield form[start:]


_MEASURES_BY_SCRIPT = _by_script((name, form) for name, _, form in _CONCEPTS)
_QUALIFIERS_BY_SCRIPT = _by_script(_QUALIFIERS)


def _said(clause: str, scripts: tuple[_Forms, _Forms]) -> frozenset[str]:
    found = (
        {name for name, form in scripts[0] if form.search(clause)}
        if _LATIN.search(clause)
        else set()
    )
    if has_han(clause):
        found |= {name for name, form in scripts[1] if form.search(clause)}
    return frozenset(found)


def _given(clause: _Clause) -> Iterator[_Given]:
    """The figures of a clause of whose kind it has no other."""
    found = [m for m in measures(clause.clause) if not m.dated]
    names = clause.key[0]
    assert isinstance(names, frozenset)
    for measure in found:
        alone = sum(_like(other) == _like(measure) for other in found) == 1
        exact = measure.low == measure.high and measure.bound in ("", "about")
        concept = _concept(measure, clause.clause, names)
        if alone and exact and concept and measure.low > 0:
            yield _Given(
                clause.evidence,
                clause.passage,
                measure,
                clause.clause[measure.start : measure.end].strip(),
                clause.sentence,
                clause.clause,
                concept,
                (concept, measure.kind, *clause.key[1:]),
                (*clause.order[:2], clause.order[2], clause.order[3] * 10_000 + measure.start),
            )


def _like(measure: Measure) -> str:
    """What a figure may be mistaken for another of: a bare number may count what a count does."""
    return measure.family or "count"


def _concept(measure: Measure, clause: str, names: frozenset[str]) -> str:
    """What a figure measures; of what is counted, the word that follows."""
    kind = measure.kind
    if kind in _COUNTED:
        if "dead" in names or "injured" in names:
            if not kind and len(names & {"dead", "injured"}) == 1:
                return "dead" if "dead" in names else "injured"
            return ""
        rest = clause[measure.end : measure.end + 24]
        unit = (
            "" if not kind else re.sub(r"[\d.,\s万亿千百]", "", clause[measure.start : measure.end])
        )
        if kind and not has_han(unit):
            return f"of {words(unit)[:1]}" if words(unit) else ""
        if not kind and not re.match(r"[ -][a-z]{3}", rest):
            return ""
        noun = next(iter(words(rest)), "")
        usable = noun and noun not in STOP and noun not in LIGHT and not noun.isdigit()
        return f"of {unit} {noun}" if usable else ""
    family = measure.family
    return next(
        (
            name
            for name, kinds, _ in _CONCEPTS
            if name in names and (kind in kinds or family in kinds)
        ),
        "area" if kind == "area" and not names else "",
    )


# --- What two figures have in common --------------------------------------------------------------


@lru_cache(20_000)
def _naming(text: str, concept: str) -> tuple[str, ...]:
    """The words that name something: neither what is measured nor how it is narrowed."""
    bare = plain(text)
    for name, _, form in _CONCEPTS:
        bare = form.sub(" ", bare) if name == concept else bare
    for _, form in _QUALIFIERS:
        bare = form.sub(" ", bare)
    bare = _MONTH.sub(" ", re.sub(r"\d+(?:[.,]\d+)*\s?[年月日]?", " ", bare))
    found = (word for word, weight in telling(bare).items() if weight >= 0.6)
    return tuple(w for w in found if w not in _IDLE and w not in LIGHT and not w.isdigit())


@lru_cache(8_000)
def _near(text: str) -> _Near:
    bare = plain(unicodedata.normalize("NFKC", text))
    return _Near(bare, frozenset(tokens(bare)))


def _first_part(title: str) -> str:
    """A title without the name of its site, which mostly follows a dash or a line."""
    return re.split(r"\s[-–—]\s|[|_｜]|——", title)[0]


def _same(one: _Given, other: _Given) -> bool:
    """Whether two figures of one key are of one thing."""
    if one.own and other.own:
        if has_han("".join(one.own)) == has_han("".join(other.own)):
            shared = [w for w in one.own if _among(w, other.own)]
            least = min(len(one.own), len(other.own))
            if not shared or (
                len(shared) < least and len([w for w in other.own if _among(w, one.own)]) < least
            ):
                return False
        return _known(one.own, other) and _known(other.own, one)
    if one.own or other.own:
        named, bare = (one, other) if one.own else (other, one)
        return bool(bare.heads) and _known(named.own, bare) and _known(bare.heads, named)
    common = [word for word in one.heads if other.near.has(word)]
    telling_ = [word for word in common if word not in _REGIONS]
    return bool(telling_) and _known(one.heads, other) and _known(other.heads, one)


def _among(word: str, others: Sequence[str]) -> bool:
    """Whether a word is one of others, or a part of one, or the other way round (慕田峪, 慕田峪长城)."""
    return any(word == w or (has_han(word) and (word in w or w in word)) for w in others)


def _known(names: Sequence[str], given: _Given) -> bool:
    """Whether all the words stand where a figure does."""
    return all(given.near.has(word) or _among(word, given.own) for word in names)


_MEASURED_KINDS = """
length area volume mass speed power energy duration
"""
_MEASURED = frozenset(_MEASURED_KINDS.split())


def _agree(one: _Given, other: _Given) -> bool:
    """Equal, rounded, converted, or near enough where one is called an estimate."""
    a, b = one.measure, other.measure
    if compatible(a, b):
        return True
    gap, size = abs(a.low - b.low), max(a.low, b.low)
    if a.kind not in _MEASURED and size < 1_000:
        return False
    rounded = [m.coarse for m in (a, b) if m.coarse > m.step]
    return bool(rounded) and gap * 2 <= max(rounded)


def _compared(found: list[_Given]) -> Iterator[list[_Given]]:
    by_key: dict[tuple[object, ...], list[_Given]] = defaultdict(list)
    for given in found:
        by_key[given.key].append(given)
    for bucket in by_key.values():
        bucket.sort(key=lambda given: given.order)
        yield from _split_up(_clear(bucket)[:COMPARED])


def _clear(bucket: Sequence[_Given]) -> list[_Given]:
    """Without the figures of a source that name nothing themselves and do not agree with each other."""
    bare: dict[str, list[_Given]] = defaultdict(list)
    for given in bucket:
        if not given.own:
            bare[given.evidence.id].append(given)
    vague = {key for key, own in bare.items() if not all(_agree(own[0], other) for other in own)}
    return [given for given in bucket if given.own or given.evidence.id not in vague]


def _split_up(bucket: Sequence[_Given]) -> Iterator[list[_Given]]:
    """The figures of a bucket by what they are of; only such as do not agree."""
    if all(_agree(bucket[0], other) for other in bucket[1:]):
        return
    groups: list[list[_Given]] = []
    for given in bucket:
        home = next((g for g in groups if all(_same(given, member) for member in _kinds(g))), None)
        if home is None:
            groups.append([given])
        else:
            home.append(given)
    for group in groups:
        kept = _settled(group)
        if len({given.evidence.id for given in kept}) > 1 and _apart(kept):
            yield kept


def _kinds(group: Sequence[_Given]) -> list[_Given]:
    """One member for each way of naming the thing, so that copies cost nothing."""
    return list({(g.own, g.heads): g for g in group}.values())[:20]


def _settled(group: Sequence[_Given]) -> list[_Given]:
    """One figure for each source; none of a source that gives several."""
    mine: dict[str, list[_Given]] = defaultdict(list)
    for given in group:
        mine[given.evidence.id].append(given)
    return [own[0] for own in mine.values() if all(_agree(own[0], other) for other in own)]


def _apart(group: Sequence[_Given]) -> bool:
    values = {(g.measure.low, g.measure.coarse, g.measure.bound, g.measure.unit): g for g in group}
    kept = list(values.values())
    return any(not _agree(a, b) for n, a in enumerate(kept) for b in kept[n + 1 :])


# --- What is told ---------------------------------------------------------------------------------


def _figures(group: Sequence[_Given], numbers: dict[str, int]) -> tuple[GivenFigure, ...]:
    """The figures by value, those of copies as one, cited sources before others."""
    ordered = sorted(group, key=lambda g: (g.value, numbers.get(g.evidence.id, 1 << 30), g.order))
    origins: list[list[_Given]] = []
    for given in ordered:
        home = next(
            (o for o in origins if o[0].value == given.value and _copied(o[0], given)), None
        )
        if home is None:
            origins.append([given])
        else:
            home.append(given)
    return tuple(
        GivenFigure(
            text=_as_written(first),
            clause=_cut(first.sentence, first.text),
            evidence=first.evidence.id,
            number=numbers.get(first.evidence.id),
            date=first.evidence.published,
            copies=len(own) - 1,
        )
        for own in origins
        for first in own[:1]
    )


def _copied(one: _Given, other: _Given) -> bool:
    """Whether two passages are one text on two sites (containment of shingles, Broder 1997)."""
    least = min(len(one.grams), len(other.grams))
    if least < SHORTEST:
        return one.grams == other.grams
    return len(one.grams & other.grams) >= COPIED * least


def _as_written(given: _Given) -> str:
    """A figure as its source spells it."""
    at = plain(given.sentence).find(given.text)
    return given.sentence[at : at + len(given.text)] if at >= 0 else given.text


def _cut(sentence: str, figure: str) -> str:
    """A sentence, or as much of a long one as stands around its figure."""
    if len(sentence) <= CLAUSE:
        return sentence
    at = max(0, plain(sentence).find(figure) - CLAUSE // 2)
    return f"{'…' if at else ''}{sentence[at : at + CLAUSE].strip()}…"


def _subject(group: Sequence[_Given]) -> str:
    """What the figures are of: the shortest clause that names it, without its figure."""
    named = [given for given in group if given.own]
    first = min(named or group, key=lambda given: (len(given.clause), given.order))
    at = plain(first.sentence).find(first.clause)
    clause = first.sentence[at : at + len(first.clause)] if at >= 0 else first.clause
    start, end = first.measure.start, first.measure.end
    told = " ".join(f"{clause[:start]} {clause[end:]}".split()).strip(" ,，:：、-–—.")
    head = "" if named else " ".join(_first_part(first.evidence.title).split())
    return " · ".join(filter(None, (head, told)))[:SUBJECT] or first.concept


def _unit(kind: str) -> str:
    return kind.removeprefix("money ")
