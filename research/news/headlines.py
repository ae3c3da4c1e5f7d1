"""Headlines: what belongs to them, and what they are made of when two are compared.

Knows one headline at a time; `research.news.alike` compares two.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from research import segment
from research.hanzi import simplified
from research.news import words
from research.news.counts import Quantity, quantities
from research.text import HAN, LIGHT, STOP, stem

_OUTLET = re.compile(
    r"(?:网|报|社|新闻|财经|日报|晚报|早报|时报|周刊|周报|电视台|卫视|频道|在线|客户端|头条|观察|资讯|杂志|快讯|传媒|财联社|证券|金融界|澎湃|网易|搜狐|新浪|腾讯|凤凰|雪球|东方财富)$"
    r"|\b(?:news|times|post|journal|daily|herald|tribune|guardian|telegraph|mail|mirror|observer|gazette|chronicle|standard|independent|press|wire|today|magazine|weekly|review|reuters|bloomberg|bbc|cnn|cnbc|cbs|nbc|abc|fox|npr|afp|ap|sky|xinhua|cgtn|economist|forbes|axios|politico|globe|sun|star|monitor|insider|wsj|tv|radio|online|[a-z0-9-]+\.(?:com|net|org|cn|co\.uk|io))$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"^(?P<head>.{6,}?)(?P<mark>\s+[-—–]{1,2}\s+|\s*[_|]+\s*)(?P<tail>[^_|\d]{2,40})$"
)
_LEAD = re.compile(
    r"^(?:[【\[(](?:快讯|突发|重磅|独家|最新|视频|图集|组图|现场|直播|滚动|关注|热点|图解)[^】\])]{0,4}[】\])]"
    r"|(?:快讯|突发|重磅|独家|最新消息|刚刚|收评|午评|早报|视频|图集|直播)[:!丨|]+"
    r"|(?:breaking(?: news)?|exclusive|update \d*|live|watch|video|just in|analysis)\s*[:|-]\s*)\s*",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}](?:[^\W_{HAN}]|[.&'’+-](?=[^\W_{HAN}]))*")
_CLAUSE = re.compile(rf"[,;:!?。、](?!\d)|\s[-—–]\s|(?<=[{HAN}])\s+(?=[{HAN}])")
_QUOTED = re.compile(r"[“\"《「『‘](.{1,20}?)[”\"》」』’]")
_NAME_TAGS = ("nr", "ns", "nt", "nz", "j")
# How much a part of speech tells, by its first letter.
_TELLS = {"n": 1.0, "j": 1.0, "l": 0.8, "i": 0.8, "v": 0.8, "b": 0.6, "a": 0.6, "s": 0.6, "z": 0.5, "t": 0.4, "d": 0.15, "f": 0.3}  # fmt: skip
_EMPTY_ZH_WORDS = """
发生 致 因 受 达 为 将 等 多 已 目前 暂 正式 宣布 表示 称 回应 通报 官方 某 一 进行 启动 公布
影响 有关 相关 今日 今天 昨日 明日 近日 日前 今起 起 全国 消息 工作 情况 约 超 逾 破 突破 超过 首次
今年 明年 去年
"""
_EMPTY_ZH = frozenset(_EMPTY_ZH_WORDS.split())
_EMPTY_EN_WORDS = """
says say said new amid after over off its his her their as report reports reported announce
announces set sets due via plan plans will could may year years day week month people
"""
_EMPTY_EN = frozenset(stem(word) for word in _EMPTY_EN_WORDS.split())
_CORPORATE = re.compile(r"(?:公司|集团|大学|银行|法院|机场|医院|汽车|航空|科技|景区|公园|大桥|学院|研究院|委员会|管理局|总局|俱乐部)$")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a headline. `kind`: place, name, noun, other, or loose (Han characters that the
    dictionary does not know together, which is how unknown names look); in English only names that
    are capitalised inside a sentence are told from other words."""

    text: str
    kind: str
    weight: float
    concepts: frozenset[str] = frozenset()
    clause: int = 0  # how many commas, colons or (in Chinese) spaces stand before it


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline taken apart, in simplified characters but for `shown`. `plain` is without outlet, marks
    and spaces, in lower case."""

    shown: str
    plain: str
    chinese: bool
    tokens: tuple[Token, ...]
    texts: frozenset[str]
    concepts: frozenset[str]
    figures: tuple[Quantity, ...]
    units: frozenset[str]
    characters: frozenset[str]
    quoted: frozenset[str]
    counters: frozenset[str]
    negated: frozenset[str]
    initials: frozenset[str] = frozenset()
    titled: bool = False  # English With Every Word Capitalised

    @property
    def weight(self) -> float:
        return sum(token.weight for token in self.tokens)


def stripped(title: str | None, outlet: str = "") -> str:
    """A title without the outlet's name behind it and without "Breaking:" before it.

    A tail goes only if it looks like an outlet: it is the item's own, it has an outlet's word in it
    (日报, Times), or, behind _ or |, it is short beside the rest. What has a digit stays.
    """
    return _cut(" ".join(unicodedata.normalize("NFKC", title or "").split()), outlet)


def presented(title: str, outlet: str = "") -> str:
    """The same with the signs that its outlet has set: “，” stays what it is."""
    own = _cut(" ".join(title.split()), outlet)
    folded = stripped(title, outlet)
    return own if unicodedata.normalize("NFKC", own) == folded else folded


def _cut(shown: str, outlet: str) -> str:
    for _ in range(2):
        match = _TAIL.match(shown)
        if not match or not _is_outlet(match, outlet):
            break
        shown = match["head"].rstrip(" ,-—–_|")
    lead = _LEAD.match(simplified(shown))
    return shown[lead.end() :] if lead and len(shown) > lead.end() + 3 else shown


def _is_outlet(match: re.Match[str], outlet: str) -> bool:
    head, mark, tail = match["head"], match["mark"].strip(), match["tail"].strip()
    own = " ".join(unicodedata.normalize("NFKC", outlet).lower().split())
    tail, own = simplified(tail), simplified(own)
    if own and (tail.lower() in own or own in tail.lower()):
        return True
    chinese = bool(re.search(f"[{HAN}]", tail))
    if len(tail) > 12 if chinese else len(tail.split()) > 5:
        return False
    if _OUTLET.search(tail) or any(pattern.search(tail) for _, pattern in words.AGENCIES):
        return True
    if mark[:1] in ("_", "|"):
        return len(tail) * 1.5 <= len(head) and (chinese or tail[:1].isupper())
    capital = all(word[0].isupper() or word.lower() in STOP for word in tail.split())
    return not chinese and capital and len(head.split()) >= 5 and len(tail.split()) <= 3


@lru_cache(20_000)
def parsed(title: str, outlet: str = "") -> Headline:
    """A title as it is compared."""
    shown = stripped(title, outlet)
    said = simplified(shown)
    lowered = said.lower()
    plain = re.sub(r"[^\w%.]", "", lowered)
    chinese = len(re.findall(f"[{HAN}]", said)) * 3 > len(re.findall(r"[A-Za-z]", said))
    latin = re.findall(r"[A-Za-z][A-Za-z'’.&-]*", said)
    long = [word for word in latin if len(word) > 3]
    titled = len(long) > 3 and sum(w[0].isupper() for w in long) >= 0.75 * len(long)
    tokens = tuple(_tokens(said, titled))
    found = frozenset().union(*(token.concepts for token in tokens), *(_runs(lowered)))
    return Headline(
        shown=shown,
        plain=plain,
        chinese=chinese,
        tokens=tokens,
        texts=frozenset(token.text for token in tokens),
        concepts=found,
        figures=(figures := quantities(said)),
        units=frozenset(quantity.unit for quantity in figures),
        characters=frozenset(plain),
        quoted=frozenset(part.lower() for part in _QUOTED.findall(said)),
        counters=_counters(lowered),
        negated=frozenset(_negated(lowered)),
        initials=_initials(said),
        titled=titled,
    )


def _initials(shown: str) -> frozenset[str]:
    """Short forms that the capitalised words of a headline may have: ecb, and fed of Federal Reserve."""
    found = set()
    for run in re.findall(r"[A-Z][a-z]+(?: (?:of |and |the )?[A-Z][a-z]+)+", shown):
        heads = [word for word in run.split() if word[0].isupper()]
        found |= {"".join(word[0] for word in heads[i:j]).lower() for i in range(len(heads)) for j in range(i + 2, len(heads) + 1)}  # fmt: skip
        found.add(heads[0][:3].lower())
    return frozenset(found)


def _runs(lowered: str) -> list[frozenset[str]]:
    found = [words.concepts(run) for run in re.findall(f"[{HAN}]+", lowered)]
    spaced = f" {re.sub(r'[^a-z]+', ' ', lowered)} "
    found += [names for phrase, names in _PHRASES if phrase in spaced]
    found += [frozenset({name}) for pattern, name in _PATTERNS if pattern.search(lowered)]
    return found


_GUESS = r"(?:\w+ ){0,2}(?:forecasts?|estimates?|expectations?|targets?)\b"
_POSTS = (
    r"(?:[\d,.]+k? |hundreds of |thousands of |more |its )?(?:jobs|staff|workers|employees|posts)\b"
)
_PATTERNS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (rf"\b(?:beats?|tops?|topped|exceeds?|exceeded) {_GUESS}", "beat forecast"),
        (rf"\b(?:miss(?:es|ed)?|falls? short of|lags?) {_GUESS}", "miss forecast"),
        (r"\d(?:胜|赢)", "win"),
        (r"\d(?:负|输)", "lose"),
        (rf"\b(?:cuts?|axes?|sheds?|slash(?:es)?|eliminates?) {_POSTS}", "lay off"),
    )
)
_PHRASES = tuple(
    (f" {spelling} ", frozenset({name}))
    for spelling, name in (
        ("lay off", "lay off"), ("laid off", "lay off"), ("job cuts", "lay off"), ("comes ashore", "arrive"),
        ("steps down", "resign"), ("step down", "resign"), ("under control", "under control"),
        ("out of control", "worsen"), ("turns down", "reject"), ("strikes down", "overturn"),
        ("goes on sale", "launch"), ("goes public", "launch"), ("shut down", "close"),
        ("pulls out", "break off"), ("walks out", "break off"), ("withdraws from", "break off"),
        ("knocked out", "lose"), ("goes down", "fall"), ("central bank", "central bank"),
        ("no longer", "cancel"), ("phase out", "cancel"), ("calls off", "cancel"),
    )
)  # fmt: skip


def _counters(lowered: str) -> frozenset[str]:
    spoken = set(re.findall(r"[a-z']+", lowered.replace("’", "'")))
    found = {word for word in words.COUNTERS if (word in spoken if word.isascii() else word in lowered)}  # fmt: skip
    return frozenset(w for w in found if not any(w != o and w in o for o in found if not w.isascii()))  # fmt: skip


_NO_NEGATION = re.compile(
    "未来|不断|不仅|不少|不同|不动产|不锈钢|非常|非遗|非洲|无人机|无人驾驶|无锡|无线|无缝"
)


def _negated(lowered: str) -> list[str]:
    found: list[str] = []
    lowered = _NO_NEGATION.sub(" ", lowered)
    for mark in words.NEGATIONS_ZH:
        found += re.findall(rf"{mark}([{HAN}]{{2,4}})", lowered)
    spoken = re.findall(r"[a-z']+", lowered.replace("’", "'"))
    for at, word in enumerate(spoken[:-1]):
        if word in words.NEGATIONS_EN or word.endswith("n't"):
            found.append(stem(spoken[at + 1]))
    return found


# Words


def _tokens(shown: str, titled: bool) -> list[Token]:
    out: list[Token] = []
    counted = {q.measure.end for q in quantities(shown) if not q.spelling.isascii()}
    ends = [mark.end() for mark in _CLAUSE.finditer(shown)]
    for match in _TOKEN.finditer(shown):
        run, start = match[0], len(out)
        unit = max((end - match.start() for end in counted if match.start() < end <= match.end()), default=0)  # fmt: skip
        if unit and shown[match.start() - 1 : match.start()].strip() and unit <= 3:
            run = run[unit:]  # 人, 个基点: the number's
        if not run:
            continue
        if re.match(f"[{HAN}]", run):
            out += _chinese(run)
        elif not re.fullmatch(r"[\d.,-]+(?:[kmb]n?|st|nd|rd|th)?", run.lower()):
            run = re.sub(r"^[\d.,]+-(?=[A-Za-z]{2})", "", run)
            out += _english(run, titled, first=match.start() == 0)
        clause = sum(end <= match.start() for end in ends)
        out[start:] = [replace(token, clause=clause) for token in out[start:]]
    return out


def _english(run: str, titled: bool, first: bool) -> list[Token]:
    out = []
    parts = re.split(r"[-]", run) if not re.search(r"\d", run) else [run]
    for part in parts:
        word = re.sub(r"['’]s?$", "", part).lower().replace("’", "'")
        bare = "".join(
            c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)
        )
        capital = part[:1].isupper()
        acronym = part.isupper() and 1 < len(part) <= 5
        if not bare or ((bare in STOP or stem(bare) in STOP) and not acronym):
            continue
        found = words.english(bare)
        if words.is_place(bare):
            kind = "place"
        elif re.search(r"\d", bare) or (capital and not titled and not first and not found):
            kind = "name"
        else:
            kind = "other" if found else "noun"
        light = stem(bare) in LIGHT or stem(bare) in _EMPTY_EN
        weight = 0.3 if light else 1.3 if kind in ("name", "place") else 1.0
        key = bare if kind == "place" else stem(bare)
        out.append(Token(key, "other" if light else kind, weight, found))
    return out


def _chinese(run: str) -> list[Token]:
    out: list[Token] = []
    loose = ""
    for word, tag in [*segment.tag(run, hmm=False), ("", "x")]:
        if len(word) == 1 and tag[:1] not in "pucey" and word not in _EMPTY_ZH:
            loose += word
            continue
        if len(loose) > 1:
            out.append(Token(loose, "loose", 1.1, words.concepts(loose)))
        elif loose:
            out.append(Token(loose, "other", 0.4, words.concepts(loose)))
        loose = ""
        if len(word) > 1:
            out += [_word(part, tag) for part in _parted(word, tag)]
    return out


def _parted(word: str, tag: str) -> list[str]:
    """欧洲央行 names a place and what it has: 欧洲, 央行."""
    if tag.startswith(_NAME_TAGS) and tag != "ns":
        for size in (4, 3, 2):
            if len(word) >= size + 2 and words.is_place(word[:size]):
                return [word[:size], word[size:]]
    return [word]


def _word(word: str, tag: str) -> Token:
    found = words.concepts(word) if word in words.ZH or not tag.startswith(_NAME_TAGS) else frozenset()  # fmt: skip
    if words.is_place(word) or tag == "ns":
        return Token(words.place(word), "place", 1.2, found)
    if word in _EMPTY_ZH:
        return Token(word, "other", 0.15, found)
    if tag.startswith(_NAME_TAGS):
        return Token(word, "name", 1.2, found)
    weight = _TELLS.get(tag[:1], 0.3)
    if word.endswith(("无", "未", "没有", "没")):
        weight = 0.3
    if _CORPORATE.search(word) and len(word) > 2:
        weight = 1.0
    return Token(word, "noun" if tag[:1] == "n" else "other", weight, found)
