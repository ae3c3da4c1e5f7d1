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
from research.core.text.hanzi import to_simplified
from research.core.text.lexicon import lexicon_entries
from research.core.text.pinyin import load_syllables
from research.core.text.quantities import find_measures
from research.core.text.tokenizer import STOP_WORDS, stem

MAX_TEXT_CHARS = 600  # characters of a text
SMOOTHING_COUNT = 60  # further pieces that are thought of beside those at hand, so that rarity is told of few as well
MAX_DAYS_APART = 10  # from which on distance says no more
UNDATED_DISTANCE = 0.1
FEATURE_NAMES = (
    "words", "title", "shared", "names", "figures", "clash", "days", "mass", "head", "order", "replaced", "swapped",
)  # fmt: skip
MAX_ADDED_WORDS = 4  # words of one headline alone, from which on the two are no sentence with something replaced
_HAN_PATTERN = re.compile("[\u4e00-\u9fff]+")
_LATIN_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9.&'-]*")
_WORD_PATTERN = re.compile("[\u4e00-\u9fff]+|[a-z0-9.,%$'&-]+")
_SPELLING_PATTERN = re.compile("[\u4e00-\u9fffa-z0-9&]+")
_POSSESSIVE_PATTERN = re.compile("'s?$")
_CAPITALISED_PATTERN = re.compile(r"\b[A-Z][A-Za-z'-]{2,}")
# The consonants of transliteration: what sounds alike is one letter.
_CONSONANT_CLASSES = str.maketrans(
    {c: new for old, new in (("bp", "P"), ("dt", "T"), ("gkcq", "K"), ("fvw", "F"), ("szx", "S"),
                             ("l", "L"), ("r", "L"), ("m", "M"), ("n", "N"), ("j", "J"), ("aeiouyh.&'-", ""))
     for c in old}
)  # fmt: skip
_SPELLING_RULES = tuple(
    (re.compile(form), new)
    for form, new in (
        ("ph", "f"), ("sch|sh", "s"), ("ch", "J"), ("th", "t"), ("ck|gh", "k"), ("x", "ks"),
        ("c(?=[eiy])", "s"), ("g(?=[eiy])", "j"), ("(?<=[aeiou])[wh](?![aeiou])", ""),
    )
)  # fmt: skip

Token = tuple[str, str]  # kind (name, word, a kind of figure, latin), what
T = TypeVar("T")
_NON_FIGURE_KINDS = ("name", "word", "latin")  # kinds of tokens that are no figures


@dataclass(frozen=True, eq=False)
class ArticleFeatures:
    """A piece as it is compared. `shared` is in a vocabulary that both languages have."""

    is_chinese: bool
    has_text: bool  # has a text
    title_words: tuple[str, ...]  # the words of the title that mean something, in their order
    terms: frozenset[str]
    title_terms: frozenset[str]
    shared_tokens: frozenset[Token]
    title_tokens: frozenset[Token]
    figures: frozenset[Token]
    latin_names: frozenset[str]
    pinyin: frozenset[str]  # pinyin of stretches of two to four characters
    consonant_keys: frozenset[str]  # consonants of what looks transliterated


@cache
def _bilingual_tables() -> tuple[dict[str, set[Token]], dict[str, set[Token]]]:
    zh: dict[str, set[Token]] = {}
    en: dict[str, set[Token]] = {}
    for kind in ("word", "name"):
        for at, entry in enumerate(lexicon_entries(kind)):
            for spelling in entry.zh:
                zh.setdefault(spelling.lower(), set()).add((kind, str(at)))
            for spelling in entry.en:
                en.setdefault(" ".join(_stem_words(spelling)), set()).add((kind, str(at)))
    return zh, en


@cache
def _max_spelling_lengths() -> tuple[dict[str, int], dict[str, int]]:
    """How many characters or words the longest spelling has that begins with one."""
    zh, en = _bilingual_tables()
    return _max_length_by_first(zh), _max_length_by_first([spelling.split() for spelling in en])


def _max_length_by_first(spellings: Iterable[Sequence[str]]) -> dict[str, int]:
    longest: dict[str, int] = {}
    for spelling in filter(None, spellings):
        longest[spelling[0]] = max(longest.get(spelling[0], 0), len(spelling))
    return longest


@cache
def _transliteration_pattern() -> re.Pattern[str]:
    (characters,) = data.lines("transliteration.txt")
    return re.compile(f"[{characters}]{{3,}}")


@cache
def _load_weights() -> dict[str, list[float]]:
    model = json.loads(data.text("stories.json"))
    return {name: [*model[name]["weights"].values(), model[name]["bias"]] for name in ("one", "titles", "two")}  # fmt: skip


def _fold_text(text: str) -> str:
    folded = unicodedata.normalize("NFKD", to_simplified(unicodedata.normalize("NFKC", text)))
    return "".join(c for c in folded if not unicodedata.combining(c)).replace("’", "'")


def _stem_words(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z0-9]+", text.lower().replace("'s", ""))]


@lru_cache(20_000)
def extract_features(title: str, text: str = "") -> ArticleFeatures:
    """A headline and the beginning of a text as they are compared."""
    head = _fold_text(title)
    whole = _fold_text(f"{title}\n{text[:MAX_TEXT_CHARS]}")
    figures, in_head = _extract_figures(whole), _extract_figures(head)
    chinese = len("".join(_HAN_PATTERN.findall(whole))) * 3 > len(re.findall("[A-Za-z]", whole))
    spoken, sounds = _extract_sounds(whole)
    return ArticleFeatures(
        chinese,
        bool(text.strip()),
        _extract_words(head),
        _extract_terms(whole),
        _extract_terms(head),
        _extract_shared_tokens(whole) | figures,
        _extract_shared_tokens(head) | in_head,
        in_head or figures,
        frozenset(found[0].lower() for found in _CAPITALISED_PATTERN.finditer(whole)) - STOP_WORDS,
        spoken,
        sounds,
    )


def _extract_terms(text: str) -> frozenset[str]:
    pairs = (run[i : i + 2] for run in _HAN_PATTERN.findall(text) for i in range(len(run) - 1))
    spelt = (_POSSESSIVE_PATTERN.sub("", word.lower()).strip(".'-") for word in _LATIN_PATTERN.findall(text))
    return frozenset(pairs) | {stem(word) for word in spelt if word and word not in STOP_WORDS}


def _extract_words(text: str) -> tuple[str, ...]:
    said: list[str] = []
    for run in _WORD_PATTERN.findall(text.lower()):
        if _HAN_PATTERN.match(run):
            said += (word for word in segment.cut(run, hmm=False) if word not in STOP_WORDS)
        elif (word := _POSSESSIVE_PATTERN.sub("", run).strip(".,'-")) and word not in STOP_WORDS:
            said.append(stem(word))
    return tuple(said)


def _extract_figures(text: str) -> frozenset[Token]:
    return frozenset(
        (m.kind or "number", f"{m.low:.3g}")
        for m in find_measures(text)
        if m.low == m.high and not m.is_date and m.kind not in ("date", "clock")
    )


def _extract_shared_tokens(text: str) -> frozenset[Token]:
    """What the table of both languages has, the longest spellings first."""
    zh, en = _bilingual_tables()
    characters, words = _max_spelling_lengths()
    found: set[Token] = set()
    for run in _SPELLING_PATTERN.findall(text.lower()):
        found |= _match_longest(run, zh, characters, 2, 8)
    return frozenset(found | _match_longest(_stem_words(text), en, words, 1, 4))


def _match_longest(
    parts: Sequence[str],
    table: Mapping[str, set[Token]],
    max_lengths: Mapping[str, int],
    min_size: int,
    max_size: int,
) -> set[Token]:
    found: set[Token] = set()
    joint = "" if isinstance(parts, str) else " "
    at = 0
    while at < len(parts):
        size = min(max_size, max_lengths.get(parts[at], 0), len(parts) - at)
        while size >= min_size and (spelling := joint.join(parts[at : at + size])) not in table:
            size -= 1
        if size >= min_size:
            found |= table[spelling]
        at += size if size >= min_size else 1
    return found


def _extract_sounds(text: str) -> tuple[frozenset[str], frozenset[str]]:
    table, spoken, sounds = load_syllables(), set(), set()
    for run in _HAN_PATTERN.findall(text):
        said = [table.get(character, "?") for character in run]
        spoken |= {"".join(said[i : i + n]) for n in (2, 3, 4) for i in range(len(said) - n + 1)}
        for match in _transliteration_pattern().finditer(run):
            own = said[match.start() : match.end()]
            sounds |= {_pinyin_consonants(own[i : i + n]) for n in range(2, 9) for i in range(len(own) - n + 1)}
    return frozenset(spoken), frozenset(sounds)


def _pinyin_consonants(pinyin: Iterable[str]) -> str:
    out = ""
    for said in pinyin:
        first = {"zh": "J", "ch": "J", "sh": "S", "er": "L"}.get(said[:2])
        if first is None:
            first = "J" if said[0] == "q" else said[0].translate(_CONSONANT_CLASSES)
            first = "" if said == "wu" else first
        out += first + ("N" if said.endswith(("n", "ng")) else "")
    return re.sub(r"(.)\1+", r"\1", out)


@lru_cache(20_000)
def _latin_consonants(name: str) -> str:
    for form, new in _SPELLING_RULES:
        name = form.sub(new, name)
    return re.sub(r"(.)\1+", r"\1", name.translate(_CONSONANT_CLASSES))


def cross_language_overlap(query: ArticleFeatures, other: ArticleFeatures) -> float:
    """Of the names and news words of a query that both languages have, the share that a piece in the other
    language has; 0 where it has but one."""
    mine, theirs = SimilarityModel([query, other]).shared_tokens
    asked = {token for token in mine if token[0] in ("name", "word", "latin")}
    return len(asked & theirs) / len(asked) if len(asked & theirs) > 1 else 0.0


def weight_set(one: ArticleFeatures, other: ArticleFeatures) -> str:
    """Which weights two pieces are compared by."""
    if one.is_chinese != other.is_chinese:
        return "two"
    return "one" if one.has_text and other.has_text else "titles"


class _WeightedSet(Generic[T]):
    """Words or tokens, of each of which `squared` is the square of its weight. Sums are exact, so that they do
    not depend on the order of a set."""

    def __init__(self, items: frozenset[T], squared_weight: Callable[[T], float]) -> None:
        self._items, self._squared_weight = items, squared_weight
        self._squared_norm = math.fsum(map(squared_weight, items))

    def cosine(self, other: _WeightedSet[T]) -> float:
        common = self._items & other._items
        if not common:
            return 0.0
        return math.fsum(map(self._squared_weight, common)) / math.sqrt(self._squared_norm * other._squared_norm)


class SimilarityModel:
    """Some pieces with how rare each word is among them."""

    def __init__(self, articles: Sequence[ArticleFeatures]) -> None:
        self._articles = articles
        latin = frozenset().union(*(own.latin_names for own in articles))
        self.shared_tokens = [
            own.shared_tokens | {("latin", name) for name in _find_latin_names(own, latin)} for own in articles
        ]
        self._term_counts = Counter(word for own in articles for word in own.terms)
        self._token_counts = Counter(token for own in self.shared_tokens for token in own)
        # A weight is wanted for each pair of pieces again, and so is what a piece has by itself.
        self._cached_rarity = cache(self.token_rarity)
        rare, rarity = (
            cache(lambda word: self.term_rarity(word) ** 2),
            cache(lambda t: self.token_rarity(t) ** 2),
        )
        self._term_sets = [_WeightedSet(own.terms, rare) for own in articles]
        self._title_term_sets = [_WeightedSet(own.title_terms, rare) for own in articles]
        self._token_sets = [_WeightedSet(own, rarity) for own in self.shared_tokens]
        self._title_token_sets = [_WeightedSet(own.title_tokens, rarity) for own in articles]
        names = [frozenset(t for t in own if t[0] in ("name", "latin")) for own in self.shared_tokens]
        self._name_sets = [_WeightedSet(own, rarity) for own in names]
        self._figure_sets = [frozenset(t for t in own if t[0] not in _NON_FIGURE_KINDS) for own in self.shared_tokens]

    def token_rarity(self, token: Token) -> float:
        return math.log((len(self._articles) + SMOOTHING_COUNT + 1) / max(1, self._token_counts[token])) + 0.1

    def term_rarity(self, term: str) -> float:
        return math.log((len(self._articles) + SMOOTHING_COUNT + 1) / max(1, self._term_counts[term])) + 0.3

    def pair_features(self, first: int, second: int, days_apart: float | None) -> tuple[float, ...]:
        """What two pieces have in common, in the order of `FEATURES`; `days` lie between them."""
        one, other = self._articles[first], self._articles[second]
        same = one.is_chinese == other.is_chinese
        common = self.shared_tokens[first] & self.shared_tokens[second]
        return (
            self._term_sets[first].cosine(self._term_sets[second]) if same else 0.0,
            self._title_term_sets[first].cosine(self._title_term_sets[second]) if same else 0.0,
            self._token_sets[first].cosine(self._token_sets[second]),
            self._name_sets[first].cosine(self._name_sets[second]),
            min(len(self._figure_sets[first] & self._figure_sets[second]), 3) / 3,
            float(_has_figure_clash(one.figures, other.figures)),
            UNDATED_DISTANCE if days_apart is None else min(days_apart, MAX_DAYS_APART) / MAX_DAYS_APART,
            min(1.0, math.fsum(map(self._cached_rarity, common)) / 20),
            self._title_token_sets[first].cosine(self._title_token_sets[second]),
            *(
                _title_edit_features(one.title_words, other.title_words)
                if weight_set(one, other) == "titles"
                else (0.0, 0.0, 0.0)
            ),
        )

    def same_event_probability(self, first: int, second: int, days_apart: float | None) -> float:
        """How likely two pieces tell of one event."""
        *weights, bias = _load_weights()[weight_set(self._articles[first], self._articles[second])]
        found = self.pair_features(first, second, days_apart)
        return 1 / (1 + math.exp(-bias - sum(w * f for w, f in zip(weights, found, strict=True))))


def _find_latin_names(article: ArticleFeatures, names: Iterable[str]) -> frozenset[str]:
    """The Latin names that a piece has, if need be in Chinese characters."""
    if not article.pinyin:
        return article.latin_names
    heard = {
        name
        for name in names
        if len(name) >= 5
        and (
            name in article.pinyin
            or (len(_latin_consonants(name)) >= 3 and _latin_consonants(name) in article.consonant_keys)
        )
    }
    return article.latin_names | heard


@lru_cache(200_000)
def _title_edit_features(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[float, float, float]:
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
        both * max(0.0, 1 - added / MAX_ADDED_WORDS) if few else 0.0,
        both if replaced and not added else 0.0,
    )


def _has_figure_clash(one: frozenset[Token], other: frozenset[Token]) -> bool:
    """Whether both have figures of a kind, none of which is the same."""
    if one == other:
        return False
    kinds = {kind for kind, _ in one} & {kind for kind, _ in other}
    return not kinds <= {kind for kind, _ in one & other}
