"""Decides by rules whether a question wants places on a map, and where and what it looks for.

A word alone decides nothing: 市场 and "in the area of" are no places, 咖啡的历史 looks for none. A wish
has a location, a kind of place or a thing to do there, and nothing else that it asks to know: what is
left of the clause without these must be no more than what people say around them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from research import data
from research.language import segment
from research.language.hanzi import simplified
from research.language.lexicon import Entry, entries
from research.language.numbers import WRITTEN
from research.language.quantities import measures
from research.language.sentences import CLAUSE
from research.language.text import HAN, has_han
from research.language.units import spelled

BESIDE, NEAR, WITHIN = 500, 2000, 5000  # metres around a place: right beside it, near it, in it
_LEAST, _MOST = 100, 50_000  # what a map service takes
_METRES_A_MINUTE = {"walk": 80, "ride": 250, "drive": 500}
_LONGEST_WAY = 2 * 3600  # seconds; what is longer is no way, as in 24小时药店


Act = Literal["near", "where", "details", "way", "distance", "between", "route"]
Means = Literal["walking", "driving", "bicycling", "transit", ""]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a question wants of a map.

    `act`: places of a kind around a place or in it; where a place is; what is known of a named place
    (hours, phone, price); the way from one to another; how far it is; what lies between two; a day's
    route. `place` is the centre or the origin, empty if the question names none: to be asked back.
    `to` is the destination or the second place. `stops` are the places a route is to pass.
    """

    place: str
    purpose: str = ""
    keywords: tuple[str, ...] = ()
    radius: int = WITHIN  # metres
    act: Act = "near"
    to: str = ""
    means: Means = ""
    stops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """A purpose and the stretch of the clause that names it."""

    purpose: Entry
    start: int
    end: int


# What is said of the answer and not of places: politeness in front, reasons at the end.
_ASIDE = re.compile(
    r"[，,、；;]?(?:并|再|顺便|也|然后)*(?:请)?(?:说明|说说|讲讲|告诉我|给出|解释|简述)(?:一下|下)?(?:推荐)?(?:理由|原因|为什么)[。.！!]?$"
    r"|[,;]?\s*\b(?:and|then)\s+(?:please\s+)?(?:say|explain|tell (?:me|us)|give (?:me |us )?)\s*(?:why|(?:your |the )?reasons?)\b[^?]*\??$"
    r"|^(?:please\s+)?(?:(?:could|can|would|will) you\s+)?(?:please\s+)?(?:suggest|recommend|find)(?: me| us)?\s+(?=\S)",
    re.I,
)


def wanted(question: str) -> Wish | None:
    """The wish of a question for places, if it has one."""
    text = simplified(unicodedata.normalize("NFKC", question))
    text = _ASIDE.sub("", text.replace("’", "'").replace("‘", "'")).strip()
    return _chinese(text) if has_han(text) else _english(text)


def kinds(text: str) -> tuple[str, ...]:
    """The keywords of a map search for what a text looks for; its own words if no table knows them."""
    text = simplified(text)
    found = _find(text, "zh" if has_han(text) else "en")
    own = dict.fromkeys(word for word in re.split(r"[\s|,，、;；]+", text) if word)
    return _keywords(found) or tuple(own)


def purposes() -> tuple[Entry, ...]:
    """What may be looked for, as the lexicon has it."""
    return entries("venue", "named", "food", "deed", "for", "any")


@lru_cache(2)
def _pattern(language: str) -> tuple[re.Pattern[str], dict[str, Entry]]:
    """Finds the words of all purposes, the longest first, and tells whose they are."""
    by_word: dict[str, Entry] = {}
    for purpose in purposes():
        for word in purpose.zh if language == "zh" else purpose.en:
            by_word.setdefault(word, purpose)
            if language == "en":
                by_word.setdefault(_plural(word), purpose)
    words = "|".join(re.escape(word) for word in sorted(by_word, key=len, reverse=True))
    words = words.replace(r"\ ", r"[\s-]+")
    edges = words if language == "zh" else rf"(?<![\w'])(?:{words})(?![\w'])"
    return re.compile(edges, re.I), by_word


def _plural(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(?:ch|sh|s|x)$", word) else "s")


def _find(text: str, language: str) -> list[_Found]:
    pattern, by_word = _pattern(language)
    return [
        _Found(by_word[re.sub(r"\s+", " ", m.group().lower())], m.start(), m.end())
        for m in pattern.finditer(text)
        if re.sub(r"\s+", " ", m.group().lower()) in by_word
    ]


def _keywords(found: list[_Found]) -> tuple[str, ...]:
    """Kinds of place before things to do, these before whom it is for, these before any place."""
    for kinds in (("venue", "named", "food"), ("deed",), ("for",), ("any",)):
        words = [w for f in found if f.purpose.kind in kinds for w in f.purpose.keywords]
        sights = (
            kinds[0] == "venue" and "景点" in words and any(f.purpose.kind == "for" for f in found)
        )
        if words and not (sights and len({f.purpose for f in found}) == 2):
            return tuple(dict.fromkeys(words))
    return ()


def _radius(text: str, usual: int) -> int:
    """How far the question says, else as far as its words usually mean."""
    for measure in measures(text):
        if measure.kind == "length":
            return max(_LEAST, min(_MOST, round(measure.high)))
        if measure.kind == "duration" and measure.high <= _LONGEST_WAY:
            how = "drive" if re.search(r"开车|车程|驾车|driv", text) else "walk"
            how = "ride" if re.search(r"骑|cycl|bike ride", text) else how
            return max(_LEAST, min(_MOST, round(measure.high / 60) * _METRES_A_MINUTE[how]))
    return usual


def _words(name: str, end: str = "", start: str = "", flags: int = 0) -> re.Pattern[str]:
    """A pattern for one of the words of a list."""
    return re.compile(f"{start}(?:{data.words('places')[name]}){end}", flags)


# Chinese

_ZH_FACT = _words("zh fact")
_FAR = spelled("km", "m", "mile", "minute")  # what says how far something may be
_ZH_NEAR = (
    r"(?:这?附近|周边|周围|周遭|旁边|边上|一带|附近儿|隔壁|对面|楼下|门口|四周|沿线|左近"
    rf"|(?:方圆|步行|走路|开车|骑车|车程|驾车)?\s*{WRITTEN}\s*(?:{_FAR})(?:以内|之内|内|的?范围内?|路程|车程|能到)?)"
)
_ZH_BESIDE = re.compile("旁边|边上|隔壁|对面|楼下|门口")
_ZH_NEAR_PLACE = re.compile(rf"(?P<place>.*?)(?:的|站)?(?:{_ZH_NEAR})+".replace("|站", ""), re.I)
_ZH_FROM = re.compile(
    r"(?<!分)(?:离|距离|距)(?P<place>.{2,12}?)(?:最|比较|更|很|不太|不|特别|较)?(?:近|远)的?|靠近(?P<close>.{2,10}?)的"
)
_ZH_ASK = re.compile(
    r"(?:(?<![成首古帝])都|还|又|能|可以|会)?(?:有没有|有什么|有哪些|有哪|有啥|有几|有(?!名|关|限|机|效|趣)|哪里|哪儿|哪家|哪间|哪些|哪个|哪座"
    r"|哪|什么|去哪|啥|推荐|求)"
)
_ZH_WHERE = re.compile(
    r"在(?P<place>.{2,12}?)(?:里面|里|内|这边|那边)?(?:找|想|去|吃|喝|住|逛|玩|哪|有|寻|买|看|能|可以|的|推荐|做|约|打|遛|溜)"
)
_ZH_LEAD = _words("zh lead", "+")
_ZH_NOWHERE = _words("zh nowhere", "$")
_ZH_NO_PLACE = _words("zh no place", "$")
_ZH_PLACE = _words("zh place", "$", flags=re.I)
_ZH_IDLE = _words("zh idle")
_ZH_OPENS = re.compile(
    r"^(?:的|，|\s)*(?:可以|适合|能|比较|带|是|有|好|值得|最|附近|推荐|哪|什么|在|吗|离|开|晚上|环境|且|而且|又|都|方便|不|去|以及|和|或|$)"
)


def _chinese(text: str) -> Wish | None:
    """The clauses are read one by one; one may say where and another what."""
    clauses = [c.strip() for c in CLAUSE.split(text) if c.strip()]
    pairs = [a + b for a, b in pairwise(clauses)]
    pairs += [b + a for a, b in pairwise(clauses)]
    for clause in [*clauses, *pairs]:
        wish = _chinese_clause(clause)
        if wish:
            return wish
    return None


def _chinese_clause(clause: str) -> Wish | None:
    for place, start, end, usual in _zh_locations(clause):
        wish = _zh_wish(clause, place, (start, end), usual)
        if wish:
            return wish
    return None


def _zh_locations(clause: str) -> Iterator[tuple[str, int, int, int]]:
    """Place, its stretch with the words that mark it, and the usual radius; the surest first."""
    away = _ZH_FROM.search(clause)
    if away:
        group = "place" if away["place"] else "close"
        yield away[group], away.start(), away.end(), NEAR
    near = _ZH_NEAR_PLACE.search(clause)
    if near:
        usual = BESIDE if _ZH_BESIDE.search(near.group()) else NEAR
        place = near["place"]
        yield _zh_trim(place), near.start() + len(place) - len(_zh_trim(place)), near.end(), usual
        return
    where = _ZH_WHERE.search(clause)
    if where:
        yield where["place"], where.start(), where.end("place"), WITHIN
    ask = _ZH_ASK.search(clause, _lead(clause))
    if ask:
        place = _zh_trim(clause[: ask.start()])
        yield from _zh_first(clause, place, ask.start() - len(place))
    yield from _zh_bare(clause)


def _lead(clause: str) -> int:
    match = _ZH_LEAD.match(clause)
    return match.end() if match else 0


def _zh_trim(text: str) -> str:
    """The place at the end of what stands before its mark: 我想在三里屯 gives 三里屯."""
    text = text[_lead(text) :].strip()
    for cut in re.finditer(r"[在去](?=.{2})|(?<=[家店馆厅处方所])\s", text):
        if not re.match(r"去[处]", text[cut.start() :]):
            text = text[cut.end() :]
            break
    return text.removesuffix("的").strip()


def _zh_first(clause: str, place: str, start: int) -> Iterator[tuple[str, int, int, int]]:
    """A place that an asking word follows; what it asks for may stand between (西安的寺庙有哪些)."""
    found = _find(place, "zh")
    last = next((f for f in found if f.end == len(place) and f.start > 1), None)
    if last:
        name = re.sub(r"的?$", "", place[: last.start])
        yield _zh_less(name), start, start + len(name), WITHIN
    name = (
        re.sub(r"(?:里面|里|市内|市区里?|这边|那边|地区|境内|内)$", "", place)
        if len(place) > 2
        else place
    )
    yield name, start, start + len(place), WITHIN


def _zh_less(name: str) -> str:
    """A name without the words of praise that follow it: 上海好吃 gives 上海."""
    return re.sub(r"(?:的|好|最好|便宜|最|公立|特色|\s)+$", "", name)


def _zh_bare(clause: str) -> Iterator[tuple[str, int, int, int]]:
    """A place beside what is looked for there, without a word between: 陆家嘴酒店."""
    lead = _lead(clause)
    for found in _find(clause, "zh"):
        if found.start <= lead:
            continue
        before = clause[lead : found.start]
        name = re.split(r"的|\s|适合|便宜|最好|24", before)[0]
        yield name, lead, lead + len(name), WITHIN
        break
    first = next(iter(_find(clause, "zh")), None)
    if first and " " in clause[first.end :]:
        name = clause[first.end :].strip()
        yield name, clause.rindex(name), clause.rindex(name) + len(name), WITHIN


def _zh_wish(clause: str, place: str, span: tuple[int, int], usual: int) -> Wish | None:
    near = usual != WITHIN or bool(_ZH_FROM.search(clause))
    place = place.strip(" 的")
    rest = clause[: span[0]] + " " + clause[span[1] :]
    found = _find(rest, "zh")
    masked = rest
    for f in found:
        masked = masked[: f.start] + "\ue000" * (f.end - f.start) + masked[f.end :]
    if not found or _ZH_FACT.search(masked) or not _zh_is_place(place, masked, near=near):
        return None
    if not _zh_left(masked, near=near) or not _zh_meant(clause, masked, place, found, near=near):
        return None
    nowhere = not place or _ZH_NOWHERE.match(place)
    keywords = _keywords(found)
    return Wish("" if nowhere else place, _zh_said(rest, found), keywords, _radius(clause, usual))


def _zh_is_place(place: str, rest: str, *, near: bool) -> bool:
    """Whether a name can be a place: more is asked of it where no word says that it is one."""
    if not place or _ZH_NOWHERE.match(place):
        return near
    if _find(place, "zh")[:1] and _find(place, "zh")[0].purpose.kind == "any":
        return False
    if len(place) > 14 or _ZH_FACT.search(place) or re.search(r"[吃喝买是吗哪]|什么|怎", place):
        return False
    if near:
        return True
    if _ZH_NO_PLACE.match(place) and not _ZH_PLACE.search(place):
        return False
    if re.search(f"{_ZH_ASK.pattern}|找|求", rest) and len(place) > 1 and not _verbal(place):
        return True
    return _named(place)


def _named(place: str) -> bool:
    """Whether a name is written like one of a place."""
    tags = segment.tag(place)
    telling = any(tag in ("ns", "nt", "nr", "nrt", "nz", "nrfg") for _, tag in tags)
    return telling or bool(_ZH_PLACE.search(place)) or bool(re.fullmatch(r"[A-Z0-9][\w ]*", place))


def _verbal(place: str) -> bool:
    tags = segment.tag(place)
    return tags[-1][1][:1] in "vadpcumt" and not _named(place)


def _zh_left(masked: str, *, near: bool) -> bool:
    """Whether a clause without place and purpose says nothing else."""
    tail = masked[masked.rindex("\ue000") + 1 :]
    head = masked[: masked.rindex("\ue000")]
    plain = len(re.findall(f"[{HAN}A-Za-z]", _ZH_IDLE.sub("", head)))
    after = len(re.findall(f"[{HAN}A-Za-z]", _ZH_IDLE.sub("", tail)))
    if plain > (8 if near else 4):
        return False
    return after == 0 or (after <= 8 and bool(_ZH_OPENS.match(tail)) and tail.strip() != "")


def _zh_meant(clause: str, masked: str, place: str, found: list[_Found], *, near: bool) -> bool:
    """Whether a kind of place is looked for, and not one place or one dish named."""
    asks = bool(_ZH_ASK.search(masked) or re.search("找|求|去哪|列", clause))
    if near or (asks and any(f.purpose.kind in ("venue", "named", "food", "any") for f in found)):
        return True
    if asks:
        return _named(place)
    if not all(f.purpose.kind in ("venue", "named", "food", "for", "any") for f in found):
        return "地方" in clause or "去处" in clause
    first = found[0]
    apart = clause[clause.find(place) + len(place) :][:1] in ("的", " ")
    city = len(place) <= 3 and not re.search(r"[路街道桥站湾滩里]$", place)
    if first.purpose.kind in ("named", "food") and city and not apart and len(found) == 1:
        return False
    return not (first.purpose.kind == "named" and not apart and len(found) == 1)


def _zh_said(rest: str, found: list[_Found]) -> str:
    """What is looked for, in the question's words."""
    start = min(f.start for f in found)
    end = max(f.end for f in found)
    lead = re.search(r"(?:适合|可以|能)$", rest[:start])
    said = rest[lead.start() if lead else start : end]
    return re.sub(r"\s+", " ", re.sub(r"有哪些|有什么|推荐", "", said)).strip()


# English

_EN_END = re.compile(r"[?!;\n]+|(?<!St)(?<!Mt)(?<!Rd)\.(?:\s|$)")
_EN_FACT = _words("en fact", r"\b", r"\b", re.I)
_EN_ASK = re.compile(
    r"^\W*(?:(?:hi|hello|hey|please|so|and|ok|also|then)\W+)*(?:is there|are there|any(?:one"
    r"|body)?|where|which|what|whats|what's|where's|can you|could you|can i|can we|find|show"
    r"|recommend|suggest|list|give|i'm|i am|we're|we are|i|we|looking|need|want|search|get me"
    r"|help|got any|good|best|top|do you know|know|does|do|has|things|places|somewhere"
    r"|tell me)\b",
    re.I,
)
_EN_NOT_ASK = re.compile(
    r"^\W*(?:(?:is|are) the(?! any)|is (?!there)|are (?!there)|was|were|did|why|who|when|should"
    r"|will|would(?! you)|how(?! about)|if|according|the (?!best|top|nearest|closest"
    r"|cheapest))\b",
    re.I,
)
_NEAR_EN = (
    r"within (?:easy )?walking distance (?:of|from|to)|in walking distance (?:of|from)"
    r"|walking distance (?:of|from|to)|(?:a )?(?:short|quick|easy) (?:walk|stroll|drive) (?:of"
    r"|from|to|away from)"
    rf"|(?:within )?(?:an? |about )?\d+(?:\.\d+)?[\s-]*(?:{_FAR})(?:[\s'-]*(?:walk|drive|ride|on foot))? (?:of|from|around)"
    r"|not (?:too )?far from|close to|near to|nearest to|closest to|near by|near|nearby|around"
    r"|round|next to|next door to|beside|opposite|across from|outside|by|off|along"
)
_BESIDE_EN = re.compile(r"next|beside|opposite|across|outside", re.I)
_EN_LOCATION = re.compile(
    rf"(?<![\w-])(?P<near>{_NEAR_EN})\s+|(?<![\w-])(?P<within>inside|within|in|at|on)\s+", re.I
)
_EN_HERE = re.compile(
    r"(?<![\w-])(?:(?:anywhere |somewhere )?(?:near|around|close to|by|next to"
    r"|within walking distance of) (?:me|here|us|my \w+(?: \w+)?|our \w+|home|work|the office)"
    r"|nearby|close by|round here|around here"
    r"|in (?:the|this|my|our) (?:area|neighbou?rhood|vicinity|district)"
    rf"|(?:with)?in walking distance|near my [\w ]+|within \d+ ?(?:{_FAR})(?: walk)?)(?=\W*$|\W*(?:that|which|with|for|open|to|where|right|please|now"
    r"|tonight|today|and)\b)",
    re.I,
)
_CAP = r"[A-Z0-9][\w’'.&-]*"
_EN_NAME = re.compile(
    rf"{_CAP}(?:\s+(?:(?:of|de|la|the|and|du|des|am|on)\s+)*{_CAP}|\s+(?:street|road|avenue"
    rf"|station|metro|subway|railway|train|university|campus|district|area|neighbou?rhood|park"
    rf"|airport|square|temple|lake|town|city|village|bay|bridge|market|mall|tower|beach|island"
    rf"|centre|center|hotel|hospital|old|west|east|north|south)(?!\w))*"
)
_EN_DELIMIT = re.compile(
    r"\s+(?:for|with|that|which|where|open|to|please|tonight|today|this|on|good|suitable|serving"
    r"|who|under|is|are|have|has|do|can|worth|and|or|in|at|near|this|now|tomorrow|but|if|while"
    r"|because|after|before)\b|\s*[,:(]"
)
_EN_AREA = re.compile(r"\s+(?:area|neighbou?rhood|vicinity)$", re.I)
_EN_PLACE_WORD = _words("en place", "$", flags=re.I)
_EN_NO_PLACE = _words("en no place", "$", flags=re.I)
_EN_ABSTRACT = _words("en abstract", "$", flags=re.I)
_EN_DEMONYM = _words("en demonym", "$")
_EN_IDLE = frozenset(data.words("places")["en idle"].split("|"))
_EN_AFTER = re.compile(
    r"^(?:'s)?\s*(?:$|[,:(—–]|\ue001|(?:that|which|with|for|open|serving|where|good|suitable"
    r"|worth|to|or|and|is|are|do|can|i|we|you|there|have|has|spots?|places?|joints?|options"
    r"|recommendations?|suggestions?|ideas|near|nearby|around|here|please|tonight|today|right"
    r"|now|in|at|on|within|from|close|not|this|tomorrow|late|without|best|like|by|within"
    r"|anywhere|somewhere|walking|should|shops?|stalls?|under|recommended|friendly|activities"
    r"|scene|stop|guide|tour|list|after|before|as|a|while|next|opposite|beside|outside|off|along"
    r"|inside|across|when|but)\b|\ue000)",
    re.I,
)

# Asks where or what one certain thing is.
_EN_ONE = re.compile(
    r"\W*(?:what|where)(?:'s| is| are) (?!the (?:best|nearest|closest|cheapest|top|good|most)\b)"
    r"(?!there\b|some\b|good\b|a good\b)",
    re.I,
)


def _english(text: str) -> Wish | None:
    clauses = [c.strip() for c in _EN_END.split(text) if c.strip()]
    for clause in clauses:
        wish = _english_clause(clause)
        if wish:
            return wish
    return None


def _english_clause(clause: str) -> Wish | None:
    if _EN_NOT_ASK.match(clause):
        return None
    places, usual, rest, here = _en_locations(clause)
    if not places and not here:
        places, rest = _en_bare(clause, rest)
        if not places:
            return None
    found = [f for f in _find(rest, "en") if _en_head(rest, f)]
    if not found or all(f.purpose.kind == "any" and not here for f in found):
        found = found if re.search(r"\bplaces? (?:to|for)|where|somewhere", clause, re.I) else []
    if not found:
        return None
    masked = rest
    for f in found:
        masked = masked[: f.start] + "\ue000" * (f.end - f.start) + masked[f.end :]
    if _EN_FACT.search(masked) or not _en_left(masked):
        return None
    if not (here or _en_wishes(clause, rest)):
        return None
    purpose = " ".join(rest[min(f.start for f in found) : max(f.end for f in found)].split())
    purpose = re.sub(r"\s*\ue001\s*", " ", purpose).strip()
    return Wish(", ".join(places), purpose, _keywords(found), _radius(clause, usual))


def _en_locations(clause: str) -> tuple[list[str], int, str, bool]:
    """Places, usual radius, the clause with them masked, and whether it means where one is."""
    places: list[str] = []
    usual, rest, near_first = WITHIN, clause, False
    for match in list(_EN_LOCATION.finditer(clause)):
        name, end = _en_name(clause, match.end())
        if not name or any(c == "\ue001" for c in rest[match.start() : end]):
            continue
        if match["near"] and not near_first:
            usual = BESIDE if _BESIDE_EN.search(match["near"]) else NEAR
            usual = 1000 if "walk" in match["near"] else usual
            near_first = True
        places.append(name)
        rest = rest[: match.start()] + "\ue001" * (end - match.start()) + rest[end:]
    has = re.match(
        rf"\s*(?:does|do|has)\s+(?:the\s+)?({_EN_NAME.pattern})\s+(?:have|got)\b", clause
    )
    has = has or re.match(
        rf"\s*(?:Does|Do|Has)\s+(?:the\s+)?({_EN_NAME.pattern})\s+(?:have|got)\b", clause
    )
    if has and not places:
        places, rest = [has[1]], rest[: has.start(1)] + "\ue001" * len(has[1]) + rest[has.end(1) :]
    here = _EN_HERE.search(rest)
    if here:
        if not places:
            usual = NEAR
        rest = rest[: here.start()] + "\ue001" * (here.end() - here.start()) + rest[here.end() :]
    nearest = not places and re.search(r"\b(?:nearest|closest)\b", rest, re.I)
    return places, NEAR if nearest else usual, rest, bool(here or nearest)


def _en_name(clause: str, at: int) -> tuple[str, int]:
    """The name of a place that begins here, and where it ends."""
    article = re.compile(r"the\s+", re.I).match(clause, at)
    start = article.end() if article else at
    direction = re.compile(r"(?:downtown|central)\s+(?=[A-Z])").match(clause, start)
    name = _EN_NAME.match(clause, direction.end() if direction else start)
    if name:
        text, end = name.group().rstrip(".'"), name.end()
        if _EN_NO_PLACE.match(text) or (_EN_DEMONYM.match(text) and not clause[end:].strip()):
            return "", at
        if re.match(
            r"\s+(?:industry|market|history|culture|economy|era|dynasty|century)\b", clause[end:]
        ):
            return "", at
        tail = _EN_AREA.match(clause, end)
        text = re.sub(r"'s$", "", text)
        return _EN_AREA.sub("", text), tail.end() if tail else end
    cut = _EN_DELIMIT.search(clause, start)
    end = cut.start() if cut else len(clause)
    text = clause[start:end].strip()
    prose = bool(re.match(r"\W*[A-Z]", clause)) and not _EN_PLACE_WORD.search(text)
    prose = prose or bool(re.search("[A-Z]", text))
    if not text or prose or len(text.split()) > 4:
        return "", at
    if _EN_NO_PLACE.match(text) or _EN_ABSTRACT.search(text):
        return "", at
    if re.match(
        r"(?:me|here|us|my|our|home|work|walking|area|neighbou?rhood|the|your|its|their)\b", text
    ):
        return "", at
    return _EN_AREA.sub("", text), end


def _en_bare(clause: str, rest: str) -> tuple[list[str], str]:
    """A name beside what is looked for, without a preposition: Shibuya ramen."""
    for match in _EN_NAME.finditer(clause):
        name, start = match.group(), match.start()
        while name and _EN_DEMONYM.match(name.split()[0]):
            head, _, name = name.partition(" ")
            start += len(head) + 1
        words = name.split()
        while words and _find(words[-1], "en"):
            words.pop()
        name = " ".join(words)
        if not name or re.fullmatch(r"[\d.]+", name):
            continue
        end = start + len(name)
        name = re.sub(r"'s$", "", name)
        beside = [f for f in _find(rest, "en") if f.purpose.kind != "any"]
        plain = [
            f for f in beside if not rest[f.start].isupper() and (f.start >= end or f.end <= start)
        ]
        plain = [
            f
            for f in plain
            if f.purpose.kind != "named" or rest[f.start : f.end].lower().endswith("s")
        ]
        if plain:
            return [name], rest[:start] + "\ue001" * (end - start) + rest[end:]
    return [], rest


def _en_head(rest: str, found: _Found) -> bool:
    """Whether a purpose is what its phrase is about: not `hotel` in `hotel prices`."""
    before = re.search(r"(\S+)\s+$", rest[: found.start])
    capital = rest[found.start].isupper() and found.start > 0 and not rest[found.start :].isupper()
    if capital and before and before[1][:1].isupper() and not _EN_DEMONYM.match(before[1]):
        return False
    after = rest[found.end :].lstrip()
    if any(f.start == found.end + 1 for f in _find(rest, "en")):
        return True
    return bool(_EN_AFTER.match(after)) or (after[:1].isupper() and found.start > 0)


def _en_left(masked: str) -> bool:
    """Whether a clause without place and purpose says nothing else, before its last purpose."""
    at = masked.rfind("\ue000")
    head = re.sub(r"[\ue000\ue001]+", " ", masked[:at])
    tail = re.split(r"\b(?:for|with|that|which|to|where|open|serving)\b", masked[at:], maxsplit=1)[
        0
    ]
    said = [w.lower() for w in re.findall(r"[A-Za-z][\w'-]*", tail)]
    if any(w not in _EN_IDLE and w.endswith("ed") for w in said):
        return False
    if len([w for w in said if w not in _EN_IDLE]) > 2 or re.match(
        r"\ue000\s+(?:and|or)\s+[a-z]+\s", tail
    ):
        return False
    if re.search(
        r"(?<!kind )(?<!kinds )(?<!sort )(?<!sorts )(?<!lots )(?<!list )(?<!couple )(?<!type )(?<!types )\bof\b",
        head,
        re.I,
    ):
        return False
    words = [w.strip("'\"-.").lower() for w in re.findall(r"[\w'-]+", head)]
    return len([w for w in words if w and w not in _EN_IDLE]) <= 2


def _en_wishes(clause: str, rest: str) -> bool:
    """Whether a clause asks, or is a phrase without a verb: a search and no statement."""
    if _EN_ASK.match(clause):
        return not _EN_ONE.match(clause) or bool(re.match(r"\W*what are the", clause, re.I))
    rest = re.sub(r"(?:that|which) (?:is|are)|where \w+ can|I can", "", rest)
    return not re.search(r"\b(?:is|are|has|have|will|can|may|must|should)\b", rest)
