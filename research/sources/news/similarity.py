"""Probability that two articles report the same event, from a fitted logistic model.

Features: shared words and Chinese character pairs for articles in one language; shared names,
figures and words of `data/lexicon.tsv` in any case, each weighted by its rarity in the collection.
A Latin name is matched in Chinese text by its pinyin (榕江, Rongjiang) or by the consonants of its
transliteration (埃斯皮诺萨, Espinosa). The weights in `data/stories.json` have one set for pairs in one
language, one for pairs with a title-only article, and one for pairs across languages;
`tests/yardsticks/fit_stories.py` fits them. Titles are also compared as word sequences: replacing
one word (“oil rises 4 %”, “oil falls 4 %”) indicates a different event.
"""

from __future__ import annotations

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

MAX_TEXT_CHARS = 600  # characters used of a text
SMOOTHING_COUNT = 60  # virtual articles that smooth the rarity in small collections
MAX_DAYS_APART = 10  # greater distances count the same
UNDATED_DISTANCE = 0.1
FEATURE_NAMES = (
    "words", "title", "shared", "names", "figures", "clash", "days", "mass", "head", "order", "replaced", "swapped",
)  # fmt: skip
MAX_ADDED_WORDS = 4  # more words in only one headline rule out a replacement
_HAN_PATTERN = re.compile("[\u4e00-\u9fff]+")
_LATIN_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9.&'-]*")
_WORD_PATTERN = re.compile("[\u4e00-\u9fff]+|[a-z0-9.,%$'&-]+")
_SPELLING_PATTERN = re.compile("[\u4e00-\u9fffa-z0-9&]+")
_POSSESSIVE_PATTERN = re.compile("'s?$")
_CAPITALISED_PATTERN = re.compile(r"\b[A-Z][A-Za-z'-]{2,}")
# Consonant classes of transliteration: similar sounds share one letter.
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

Token = tuple[str, str]  # (kind, value); kind: name, word, latin or a kind of figure
T = TypeVar("T")
_NON_FIGURE_KINDS = ("name", "word", "latin")


@dataclass(frozen=True, eq=False)
class ArticleFeatures:
    """Features of an article for comparison; `shared_tokens` are independent of the language."""

    is_chinese: bool
    has_text: bool
    title_words: tuple[str, ...]  # content words in order
    terms: frozenset[str]
    title_terms: frozenset[str]
    shared_tokens: frozenset[Token]
    title_tokens: frozenset[Token]
    figures: frozenset[Token]
    latin_names: frozenset[str]
    pinyin: frozenset[str]  # of spans of two to four characters
    consonant_keys: frozenset[str]  # of words that look transliterated


@cache
def _bilingual_tables() -> tuple[dict[str, set[Token]], dict[str, set[Token]]]:
    zh: dict[str, set[Token]] = {}
    en: dict[str, set[Token]] = {}
    for kind in ("word", "name"):
        for index, entry in enumerate(lexicon_entries(kind)):
            for spelling in entry.zh:
                zh.setdefault(spelling.lower(), set()).add((kind, str(index)))
            for spelling in entry.en:
                en.setdefault(" ".join(_stem_words(spelling)), set()).add((kind, str(index)))
    return zh, en


@cache
def _max_spelling_lengths() -> tuple[dict[str, int], dict[str, int]]:
    """Return, per first character or word, the length of the longest spelling."""
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
    model = data.json_object("stories.json")
    return {name: [*model[name]["weights"].values(), model[name]["bias"]] for name in ("one", "titles", "two")}


def _fold_text(text: str) -> str:
    folded = unicodedata.normalize("NFKD", to_simplified(unicodedata.normalize("NFKC", text)))
    return "".join(c for c in folded if not unicodedata.combining(c)).replace("’", "'")


def _stem_words(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z0-9]+", text.lower().replace("'s", ""))]


@lru_cache(20_000)
def extract_features(title: str, text: str = "") -> ArticleFeatures:
    """Extract the features of a headline and the beginning of a text."""
    head = _fold_text(title)
    whole = _fold_text(f"{title}\n{text[:MAX_TEXT_CHARS]}")
    figures, title_figures = _extract_figures(whole), _extract_figures(head)
    is_chinese = len("".join(_HAN_PATTERN.findall(whole))) * 3 > len(re.findall("[A-Za-z]", whole))
    pinyin, consonant_keys = _extract_sounds(whole)
    return ArticleFeatures(
        is_chinese,
        bool(text.strip()),
        _extract_words(head),
        _extract_terms(whole),
        _extract_terms(head),
        _extract_shared_tokens(whole) | figures,
        _extract_shared_tokens(head) | title_figures,
        title_figures or figures,
        frozenset(match[0].lower() for match in _CAPITALISED_PATTERN.finditer(whole)) - STOP_WORDS,
        pinyin,
        consonant_keys,
    )


def _extract_terms(text: str) -> frozenset[str]:
    pairs = (run[i : i + 2] for run in _HAN_PATTERN.findall(text) for i in range(len(run) - 1))
    latin_words = (_POSSESSIVE_PATTERN.sub("", word.lower()).strip(".'-") for word in _LATIN_PATTERN.findall(text))
    return frozenset(pairs) | {stem(word) for word in latin_words if word and word not in STOP_WORDS}


def _extract_words(text: str) -> tuple[str, ...]:
    out: list[str] = []
    for run in _WORD_PATTERN.findall(text.lower()):
        if _HAN_PATTERN.match(run):
            out += (word for word in segment.cut(run, hmm=False) if word not in STOP_WORDS)
        elif (word := _POSSESSIVE_PATTERN.sub("", run).strip(".,'-")) and word not in STOP_WORDS:
            out.append(stem(word))
    return tuple(out)


def _extract_figures(text: str) -> frozenset[Token]:
    return frozenset(
        (m.kind or "number", f"{m.low:.3g}")
        for m in find_measures(text)
        if m.low == m.high and not m.is_date and m.kind not in ("date", "clock")
    )


def _extract_shared_tokens(text: str) -> frozenset[Token]:
    """Return the tokens of bilingual lexicon entries in a text, longest spellings first."""
    zh, en = _bilingual_tables()
    max_characters, max_words = _max_spelling_lengths()
    tokens: set[Token] = set()
    for run in _SPELLING_PATTERN.findall(text.lower()):
        tokens |= _match_longest(run, zh, max_characters, 2, 8)
    return frozenset(tokens | _match_longest(_stem_words(text), en, max_words, 1, 4))


def _match_longest(
    parts: Sequence[str],
    table: Mapping[str, set[Token]],
    max_lengths: Mapping[str, int],
    min_size: int,
    max_size: int,
) -> set[Token]:
    tokens: set[Token] = set()
    separator = "" if isinstance(parts, str) else " "
    position = 0
    while position < len(parts):
        size = min(max_size, max_lengths.get(parts[position], 0), len(parts) - position)
        while size >= min_size and (spelling := separator.join(parts[position : position + size])) not in table:
            size -= 1
        if size >= min_size:
            tokens |= table[spelling]
        position += size if size >= min_size else 1
    return tokens


def _extract_sounds(text: str) -> tuple[frozenset[str], frozenset[str]]:
    table, pinyin, consonant_keys = load_syllables(), set(), set()
    for run in _HAN_PATTERN.findall(text):
        syllables = [table.get(character, "?") for character in run]
        pinyin |= {"".join(syllables[i : i + n]) for n in (2, 3, 4) for i in range(len(syllables) - n + 1)}
        for match in _transliteration_pattern().finditer(run):
            transliterated = syllables[match.start() : match.end()]
            consonant_keys |= {
                _pinyin_consonants(transliterated[i : i + n])
                for n in range(2, 9)
                for i in range(len(transliterated) - n + 1)
            }
    return frozenset(pinyin), frozenset(consonant_keys)


def _pinyin_consonants(pinyin: Iterable[str]) -> str:
    out = ""
    for syllable in pinyin:
        consonant = {"zh": "J", "ch": "J", "sh": "S", "er": "L"}.get(syllable[:2])
        if consonant is None:
            consonant = "J" if syllable[0] == "q" else syllable[0].translate(_CONSONANT_CLASSES)
            consonant = "" if syllable == "wu" else consonant
        out += consonant + ("N" if syllable.endswith(("n", "ng")) else "")
    return re.sub(r"(.)\1+", r"\1", out)


@lru_cache(20_000)
def _latin_consonants(name: str) -> str:
    for pattern, new in _SPELLING_RULES:
        name = pattern.sub(new, name)
    return re.sub(r"(.)\1+", r"\1", name.translate(_CONSONANT_CLASSES))


def cross_language_overlap(query: ArticleFeatures, other: ArticleFeatures) -> float:
    """Return the share of a query's language-independent names and words that an article contains.

    The article is in the other language. Returns 0 unless at least two are shared.
    """
    query_tokens, article_tokens = SimilarityModel([query, other]).shared_tokens
    relevant = {token for token in query_tokens if token[0] in ("name", "word", "latin")}
    return len(relevant & article_tokens) / len(relevant) if len(relevant & article_tokens) > 1 else 0.0


def weights_name(first: ArticleFeatures, second: ArticleFeatures) -> str:
    """Return the name of the weights used to compare two articles."""
    if first.is_chinese != second.is_chinese:
        return "two"
    return "one" if first.has_text and second.has_text else "titles"


class _WeightedSet(Generic[T]):
    """A set of items with squared weights; sums are exact, independent of set order."""

    def __init__(self, items: frozenset[T], squared_weight: Callable[[T], float]) -> None:
        self._items, self._squared_weight = items, squared_weight
        self._squared_norm = math.fsum(map(squared_weight, items))

    def cosine(self, other: _WeightedSet[T]) -> float:
        shared = self._items & other._items
        if not shared:
            return 0.0
        return math.fsum(map(self._squared_weight, shared)) / math.sqrt(self._squared_norm * other._squared_norm)


class SimilarityModel:
    """Compares the articles of a collection, weighting words by their rarity in it."""

    def __init__(self, articles: Sequence[ArticleFeatures]) -> None:
        self._articles = articles
        latin_names = frozenset().union(*(article.latin_names for article in articles))
        self.shared_tokens = [
            article.shared_tokens | {("latin", name) for name in _find_latin_names(article, latin_names)}
            for article in articles
        ]
        self._term_counts = Counter(word for article in articles for word in article.terms)
        self._token_counts = Counter(token for tokens in self.shared_tokens for token in tokens)
        # Weights and the sets of each article are reused for every pair.
        self._cached_rarity = cache(self.token_rarity)
        term_weight = cache(lambda word: self.term_rarity(word) ** 2)
        token_weight = cache(lambda token: self.token_rarity(token) ** 2)
        self._term_sets = [_WeightedSet(article.terms, term_weight) for article in articles]
        self._title_term_sets = [_WeightedSet(article.title_terms, term_weight) for article in articles]
        self._token_sets = [_WeightedSet(tokens, token_weight) for tokens in self.shared_tokens]
        self._title_token_sets = [_WeightedSet(article.title_tokens, token_weight) for article in articles]
        names = [frozenset(t for t in tokens if t[0] in ("name", "latin")) for tokens in self.shared_tokens]
        self._name_sets = [_WeightedSet(tokens, token_weight) for tokens in names]
        self._figure_sets = [
            frozenset(t for t in tokens if t[0] not in _NON_FIGURE_KINDS) for tokens in self.shared_tokens
        ]

    def token_rarity(self, token: Token) -> float:
        """Return the weight of a token, greater if fewer articles contain it."""
        return math.log((len(self._articles) + SMOOTHING_COUNT + 1) / max(1, self._token_counts[token])) + 0.1

    def term_rarity(self, term: str) -> float:
        """Return the weight of a word, greater if fewer articles contain it."""
        return math.log((len(self._articles) + SMOOTHING_COUNT + 1) / max(1, self._term_counts[term])) + 0.3

    def pair_features(self, first: int, second: int, days_apart: float | None) -> tuple[float, ...]:
        """Return the features of a pair in the order of `FEATURE_NAMES`."""
        first_article, second_article = self._articles[first], self._articles[second]
        is_same_language = first_article.is_chinese == second_article.is_chinese
        shared = self.shared_tokens[first] & self.shared_tokens[second]
        return (
            self._term_sets[first].cosine(self._term_sets[second]) if is_same_language else 0.0,
            self._title_term_sets[first].cosine(self._title_term_sets[second]) if is_same_language else 0.0,
            self._token_sets[first].cosine(self._token_sets[second]),
            self._name_sets[first].cosine(self._name_sets[second]),
            min(len(self._figure_sets[first] & self._figure_sets[second]), 3) / 3,
            float(_has_figure_clash(first_article.figures, second_article.figures)),
            UNDATED_DISTANCE if days_apart is None else min(days_apart, MAX_DAYS_APART) / MAX_DAYS_APART,
            min(1.0, math.fsum(map(self._cached_rarity, shared)) / 20),
            self._title_token_sets[first].cosine(self._title_token_sets[second]),
            *(
                _title_edit_features(first_article.title_words, second_article.title_words)
                if weights_name(first_article, second_article) == "titles"
                else (0.0, 0.0, 0.0)
            ),
        )

    def same_event_probability(self, first: int, second: int, days_apart: float | None) -> float:
        """Return the probability that two articles report the same event."""
        *weights, bias = _load_weights()[weights_name(self._articles[first], self._articles[second])]
        features = self.pair_features(first, second, days_apart)
        evidence = bias + sum(weight * feature for weight, feature in zip(weights, features, strict=True))
        return 1 / (1 + math.exp(-evidence))


def _find_latin_names(article: ArticleFeatures, names: Iterable[str]) -> frozenset[str]:
    """Return the given Latin names that occur in an article, also in Chinese transliteration."""
    if not article.pinyin:
        return article.latin_names
    transliterated = {
        name
        for name in names
        if len(name) >= 5
        and (
            name in article.pinyin
            or (len(_latin_consonants(name)) >= 3 and _latin_consonants(name) in article.consonant_keys)
        )
    }
    return article.latin_names | transliterated


@lru_cache(200_000)
def _title_edit_features(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[float, float, float]:
    """Compare two headlines as word sequences.

    Return three values from 0 to 1: the share of the shorter headline that occurs in the longer one
    in the same order; the similarity if a word or two are replaced, reduced for words that only one
    has; and the similarity if words are replaced and none is added.
    """
    if not first or not second:
        return 0.0, 0.0, 0.0
    equal = added = 0
    replaced: list[int] = []
    removed = inserted = 0
    for code in [*Indel.opcodes(min(first, second), max(first, second)), None]:
        if code is not None and code.tag != "equal":
            removed += code.src_end - code.src_start
            inserted += code.dest_end - code.dest_start
            continue
        if removed and inserted:
            replaced.append(max(removed, inserted))
        else:
            added += removed + inserted
        removed = inserted = 0
        equal += code.src_end - code.src_start if code else 0
    similarity = 2 * equal / (len(first) + len(second))
    is_small = bool(replaced) and max(replaced) <= 2
    return (
        equal / min(len(first), len(second)),
        similarity * max(0.0, 1 - added / MAX_ADDED_WORDS) if is_small else 0.0,
        similarity if replaced and not added else 0.0,
    )


def _has_figure_clash(first: frozenset[Token], second: frozenset[Token]) -> bool:
    """Return True if both articles have figures of some kind but share none of that kind."""
    if first == second:
        return False
    kinds = {kind for kind, _ in first} & {kind for kind, _ in second}
    return not kinds <= {kind for kind, _ in first & second}
