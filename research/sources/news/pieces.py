"""How likely two pieces of news tell of one event: a fitted score over what they have in common.

Words and pairs of Chinese characters where both are in one language; in any case names, figures and words of
`data/lexicon.tsv`, each by how rare it is in the collection at hand. A Latin name is found in a Chinese text by its
pinyin (榕江, Rongjiang) or by the consonants of its transliteration (埃斯皮诺萨, Espinosa). Weights are those of
`data/stories.json`: one set for pairs in one language, one for those of which a piece has a title alone, one for pairs across;
`tests/yardsticks/fit_stories.py` fits them. Two titles are also compared as sentences: one in which a word is replaced
(“oil rises 4 %”, “oil falls 4 %”) tells of something else.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Generic, TypeVar

from rapidfuzz.distance import Indel

from research import data
from research.core.text import segment
from research.core.text.hanzi import simplified
from research.core.text.lexicon import entries
from research.core.text.pinyin import syllables
from research.core.text.quantities import measures
from research.core.text.words import STOP, stem

READ = 600  # characters of a text
USUAL = 60  # further pieces that are thought of beside those at hand, so that rarity is told of few as well
DAYS = 10  # from which on distance says no more
UNDATED = 0.1
FEATURES = (
    "words", "title", "shared", "names", "figures", "clash", "days", "mass", "head", "order", "replaced", "swapped",
)  # fmt: skip
ASIDE = (
    4  # words of one headline alone, from which on the two are no sentence with something replaced
)
_RUN = re.compile("[\u4e00-\u9fff]+")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9.&'-]*")
_WORD = re.compile("[\u4e00-\u9fff]+|[a-z0-9.,%$'&-]+")
_SPELLING = re.compile("[\u4e00-\u9fffa-z0-9&]+")
_POSSESSIVE = re.compile("'s?$")
_PEOPLE = re.compile(r"\b[A-Z][A-Za-z'-]{2,}")
# The consonants of transliteration: what sounds alike is one letter.
_CONSONANTS = str.maketrans(
    {c: new for old, new in (("bp", "P"), ("dt", "T"), ("gkcq", "K"), ("fvw", "F"), ("szx", "S"),
                             ("l", "L"), ("r", "L"), ("m", "M"), ("n", "N"), ("j", "J"), ("aeiouyh.&'-", ""))
     for c in old}
)  # fmt: skip
_SPELT = tuple(
    (re.compile(form), new)
    for form, new in (
        ("ph", "f"), ("sch|sh", "s"), ("ch", "J"), ("th", "t"), ("ck|gh", "k"), ("x", "ks"),
        ("c(?=[eiy])", "s"), ("g(?=[eiy])", "j"), ("(?<=[aeiou])[wh](?![aeiou])", ""),
    )
)  # fmt: skip

Token = tuple[str, str]  # kind (name, word, a kind of figure, latin), what
T = TypeVar("T")
_TOLD = ("name", "word", "latin")  # kinds of tokens that are no figures


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece as it is compared. `shared` is in a vocabulary that both languages have."""

    chinese: bool
    told: bool  # has a text
    said: tuple[str, ...]  # the words of the title that mean something, in their order
    words: frozenset[str]
    title: frozenset[str]
    shared: frozenset[Token]
    head: frozenset[Token]
    figures: frozenset[Token]
    latin: frozenset[str]
    spoken: frozenset[str]  # pinyin of stretches of two to four characters
    sounds: frozenset[str]  # consonants of what looks transliterated


@cache
def _bilingual() -> tuple[dict[str, set[Token]], dict[str, set[Token]]]:
    zh: dict[str, set[Token]] = {}
    en: dict[str, set[Token]] = {}
    for kind in ("word", "name"):
        for at, entry in enumerate(entries(kind)):
            for spelling in entry.zh:
                zh.setdefault(spelling.lower(), set()).add((kind, str(at)))
            for spelling in entry.en:
                en.setdefault(" ".join(_stems(spelling)), set()).add((kind, str(at)))
    return zh, en


@cache
def _reach() -> tuple[dict[str, int], dict[str, int]]:
    """How many characters or words the longest spelling has that begins with one."""
    zh, en = _bilingual()
    return _longest_by_first(zh), _longest_by_first([spelling.split() for spelling in en])


def _longest_by_first(spellings: Iterable[Sequence[str]]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for spelling in filter(None, spellings):
        longest[spelling[0]] = max(longest.get(spelling[0], 0), len(spelling))
    return longest


@cache
def _transliterating() -> re.Pattern[str]:
    (characters,) = data.lines("transliteration.txt")
    return re.compile(f"[{characters}]{{3,}}")


@cache
def _weights() -> dict[str, list[float]]:
    model = json.loads(data.text("stories.json"))
    return {name: [*model[name]["weights"].values(), model[name]["bias"]] for name in ("one", "titles", "two")}  # fmt: skip


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", simplified(unicodedata.normalize("NFKC", text)))
    return "".join(c for c in folded if not unicodedata.combining(c)).replace("’", "'")


def _stems(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z0-9]+", text.lower().replace("'s", ""))]


@lru_cache(20_000)
def piece(title: str, text: str = "") -> Piece:
    """A headline and the beginning of a text as they are compared."""
    head = _plain(title)
    whole = _plain(f"{title}\n{text[:READ]}")
    figures, in_head = _figures(whole), _figures(head)
    chinese = len("".join(_RUN.findall(whole))) * 3 > len(re.findall("[A-Za-z]", whole))
    spoken, sounds = _sounding(whole)
    return Piece(
        chinese,
        bool(text.strip()),
        _said(head),
        _words(whole),
        _words(head),
        _known(whole) | figures,
        _known(head) | in_head,
        in_head or figures,
        frozenset(found[0].lower() for found in _PEOPLE.finditer(whole)) - STOP,
        spoken,
        sounds,
    )


def _words(text: str) -> frozenset[str]:
    pairs = (run[i : i + 2] for run in _RUN.findall(text) for i in range(len(run) - 1))
    spelt = (_POSSESSIVE.sub("", word.lower()).strip(".'-") for word in _LATIN.findall(text))
    return frozenset(pairs) | {stem(word) for word in spelt if word and word not in STOP}


def _said(text: str) -> tuple[str, ...]:
    said: list[str] = []
    for run in _WORD.findall(text.lower()):
        if _RUN.match(run):
            said += (word for word in segment.cut(run, hmm=False) if word not in STOP)
        elif (word := _POSSESSIVE.sub("", run).strip(".,'-")) and word not in STOP:
            said.append(stem(word))
    return tuple(said)


def _figures(text: str) -> frozenset[Token]:
    return frozenset(
        (m.kind or "number", f"{m.low:.3g}")
        for m in measures(text)
        if m.low == m.high and not m.dated and m.kind not in ("date", "clock")
    )


def _known(text: str) -> frozenset[Token]:
    """What the table of both languages has, the longest spellings first."""
    zh, en = _bilingual()
    characters, words = _reach()
    found: set[Token] = set()
    for run in _SPELLING.findall(text.lower()):
        found |= _longest(run, zh, characters, 2, 8)
    return frozenset(found | _longest(_stems(text), en, words, 1, 4))


def _longest(
    parts: Sequence[str],
    table: Mapping[str, set[Token]],
    reach: Mapping[str, int],
    least: int,
    most: int,
) -> set[Token]:
    found: set[Token] = set()
    joint = "" if isinstance(parts, str) else " "
    at = 0
    while at < len(parts):
        size = min(most, reach.get(parts[at], 0), len(parts) - at)
        while size >= least and (spelling := joint.join(parts[at : at + size])) not in table:
            size -= 1
        if size >= least:
            found |= table[spelling]
        at += size if size >= least else 1
    return found


def _sounding(text: str) -> tuple[frozenset[str], frozenset[str]]:
    table, spoken, sounds = syllables(), set(), set()
    for run in _RUN.findall(text):
        said = [table.get(character, "?") for character in run]
        spoken |= {"".join(said[i : i + n]) for n in (2, 3, 4) for i in range(len(said) - n + 1)}
        for match in _transliterating().finditer(run):
            own = said[match.start() : match.end()]
            sounds |= {_heard(own[i : i + n]) for n in range(2, 9) for i in range(len(own) - n + 1)}
    return frozenset(spoken), frozenset(sounds)


def _heard(syllables: Iterable[str]) -> str:
    out = ""
    for said in syllables:
        first = {"zh": "J", "ch": "J", "sh": "S", "er": "L"}.get(said[:2])
        if first is None:
            first = "J" if said[0] == "q" else said[0].translate(_CONSONANTS)
            first = "" if said == "wu" else first
        out += first + ("N" if said.endswith(("n", "ng")) else "")
    return re.sub(r"(.)\1+", r"\1", out)


@lru_cache(20_000)
def _spelt(name: str) -> str:
    for form, new in _SPELT:
        name = form.sub(new, name)
    return re.sub(r"(.)\1+", r"\1", name.translate(_CONSONANTS))


def told_across(query: Piece, other: Piece) -> float:
    """Of the names and news words of a query that both languages have, the share that a piece in the other
    language has; 0 where it has but one."""
    mine, theirs = Pieces([query, other]).shared
    asked = {token for token in mine if token[0] in ("name", "word", "latin")}
    return len(asked & theirs) / len(asked) if len(asked & theirs) > 1 else 0.0


def kind(one: Piece, other: Piece) -> str:
    """Which weights two pieces are compared by."""
    if one.chinese != other.chinese:
        return "two"
    return "one" if one.told and other.told else "titles"


class _Weighed(Generic[T]):
    """Words or tokens, of each of which `squared` is the square of its weight. Sums are exact, so that they do
    not depend on the order of a set."""

    def __init__(self, own: frozenset[T], squared: Callable[[T], float]) -> None:
        self._own, self._squared = own, squared
        self._mass = math.fsum(map(squared, own))

    def cosine(self, other: _Weighed[T]) -> float:
        common = self._own & other._own
        if not common:
            return 0.0
        return math.fsum(map(self._squared, common)) / math.sqrt(self._mass * other._mass)


class Pieces:
    """Some pieces with how rare each word is among them."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        latin = frozenset().union(*(own.latin for own in pieces))
        self.shared = [
            own.shared | {("latin", name) for name in _named(own, latin)} for own in pieces
        ]
        self._words = Counter(word for own in pieces for word in own.words)
        self._shared = Counter(token for own in self.shared for token in own)
        # A weight is wanted for each pair of pieces again, and so is what a piece has by itself.
        self._rarity = cache(self.rarity)
        rare, rarity = (
            cache(lambda word: self.rare(word) ** 2),
            cache(lambda t: self.rarity(t) ** 2),
        )
        self._by_words = [_Weighed(own.words, rare) for own in pieces]
        self._by_title = [_Weighed(own.title, rare) for own in pieces]
        self._by_shared = [_Weighed(own, rarity) for own in self.shared]
        self._by_head = [_Weighed(own.head, rarity) for own in pieces]
        names = [frozenset(t for t in own if t[0] in ("name", "latin")) for own in self.shared]
        self._by_names = [_Weighed(own, rarity) for own in names]
        self._counted = [frozenset(t for t in own if t[0] not in _TOLD) for own in self.shared]

    def rarity(self, token: Token) -> float:
        return math.log((len(self._pieces) + USUAL + 1) / max(1, self._shared[token])) + 0.1

    def rare(self, word: str) -> float:
        return math.log((len(self._pieces) + USUAL + 1) / max(1, self._words[word])) + 0.3

    def features(self, first: int, second: int, days: float | None) -> tuple[float, ...]:
        """What two pieces have in common, in the order of `FEATURES`; `days` lie between them."""
        one, other = self._pieces[first], self._pieces[second]
        same = one.chinese == other.chinese
        common = self.shared[first] & self.shared[second]
        return (
            self._by_words[first].cosine(self._by_words[second]) if same else 0.0,
            self._by_title[first].cosine(self._by_title[second]) if same else 0.0,
            self._by_shared[first].cosine(self._by_shared[second]),
            self._by_names[first].cosine(self._by_names[second]),
            min(len(self._counted[first] & self._counted[second]), 3) / 3,
            float(_clash(one.figures, other.figures)),
            UNDATED if days is None else min(days, DAYS) / DAYS,
            min(1.0, math.fsum(map(self._rarity, common)) / 20),
            self._by_head[first].cosine(self._by_head[second]),
            *(
                _as_sentences(one.said, other.said)
                if kind(one, other) == "titles"
                else (0.0, 0.0, 0.0)
            ),
        )

    def chance(self, first: int, second: int, days: float | None) -> float:
        """How likely two pieces tell of one event."""
        *weights, bias = _weights()[kind(self._pieces[first], self._pieces[second])]
        found = self.features(first, second, days)
        return 1 / (1 + math.exp(-bias - sum(w * f for w, f in zip(weights, found, strict=True))))


def _named(own: Piece, latin: Iterable[str]) -> frozenset[str]:
    """The Latin names that a piece has, if need be in Chinese characters."""
    if not own.spoken:
        return own.latin
    heard = {
        name
        for name in latin
        if len(name) >= 5
        and (name in own.spoken or (len(_spelt(name)) >= 3 and _spelt(name) in own.sounds))
    }
    return own.latin | heard


@lru_cache(200_000)
def _as_sentences(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[float, float, float]:
    """Of two headlines: the share of the shorter that stands in the other in the same order; how far they
    are one sentence in which a word or two are replaced by as few; the same if nothing else is added."""
    if not one or not other:
        return 0.0, 0.0, 0.0
    equal = added = 0
    replaced: list[int] = []
    gone = come = 0
    for code in [*Indel.opcodes(min(one, other), max(one, other)), None]:
        if code is not None and code.tag != "equal":
            gone += code.src_end - code.src_start
            come += code.dest_end - code.dest_start
            continue
        if gone and come:
            replaced.append(max(gone, come))
        else:
            added += gone + come
        gone = come = 0
        equal += code.src_end - code.src_start if code else 0
    both = 2 * equal / (len(one) + len(other))
    few = bool(replaced) and max(replaced) <= 2
    return (
        equal / min(len(one), len(other)),
        both * max(0.0, 1 - added / ASIDE) if few else 0.0,
        both if replaced and not added else 0.0,
    )


def _clash(one: frozenset[Token], other: frozenset[Token]) -> bool:
    """Whether both have figures of a kind, none of which is the same."""
    if one == other:
        return False
    kinds = {kind for kind, _ in one} & {kind for kind, _ in other}
    return not kinds <= {kind for kind, _ in one & other}
