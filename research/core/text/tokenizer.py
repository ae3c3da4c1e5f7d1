"""Tokeniser for Chinese and English, used for both the index and the query.

SQLite's own tokenisers take a whole Chinese clause for one word. So words are split here (runs of
Han characters by rjieba's dictionary, other runs unchanged, English stemmed) and passed to the
index as tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from research import data
from research.core.records import Language
from research.core.text import segment
from research.core.text.hanzi import to_simplified

HAN_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HAN_PATTERN = re.compile(f"[{HAN_RANGES}]")
# A run of Han characters, a decimal number, or a run of other letters and digits.
_RUN_PATTERN = re.compile(rf"[{HAN_RANGES}]+|(?<![\d.])\d+\.\d+(?!\.?\d)|[^\W_{HAN_RANGES}]+")
_THOUSANDS_SEPARATOR_PATTERN = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE_PATTERN = re.compile(r"(?<=\w)'s\b")
MIN_LANGUAGE_WORDS = 12  # minimum of Han characters and words to determine the language
ENGLISH_WORDS_PER_HAN = 4  # from this ratio on, a text is English with a Chinese name in it
# Characters that end a run of single characters: they never belong to a name or a compound.
_PARTICLES = frozenset("的了着过是在和与及或也都就还又很把被给让从到对向往于以而且但则若吗呢吧啊呀么之其这那哪个")

# Letters and symbols that are drawn as nothing or are placeholders: Hangul fillers, the empty
# Braille pattern, the replacement characters.
_INVISIBLE_SYMBOLS = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufffc\ufffd")

stem = lru_cache(200_000)(Stemmer.Stemmer("english").stemWord)


def has_han(text: str) -> bool:
    """Return whether a text contains Han characters."""
    return _HAN_PATTERN.search(text) is not None


def is_blank(text: str) -> bool:
    """Return True for a text without visible characters: only spaces, controls, combining marks
    without a letter and format characters."""
    return not any(c not in _INVISIBLE_SYMBOLS and unicodedata.category(c)[0] in "LNPS" for c in text)


def detect_language(text: str) -> Language:
    """Return `zh` if Han characters dominate, else `en`. A Han character counts as a word."""
    han, latin = _count_words(text)
    return "zh" if han and han >= latin else "en"


def certain_language(text: str) -> Language | None:
    """Return the language of a text; None if the text is too short or mixes both."""
    han, latin = _count_words(text)
    if han + latin < MIN_LANGUAGE_WORDS:
        return None
    return "zh" if han >= latin else "en" if ENGLISH_WORDS_PER_HAN * han < latin else None


def _count_words(text: str) -> tuple[int, int]:
    """Return the numbers of Han characters and of words in Latin letters."""
    return len(_HAN_PATTERN.findall(text)), len(re.findall(r"[A-Za-z]{2,}", text))


def _character_pairs(run: str) -> list[str]:
    """Return overlapping pairs of characters missing in the dictionary: 遛娃 can be found."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _split_han_runs(runs: list[str], *, include_subwords: bool) -> Iterator[list[str]]:
    """Yield the words of each run of Han characters.

    Uses dictionary words only: guessing unknown ones would split the same name differently in a
    query and in a document.
    """
    text = "\n".join(runs)
    out: list[str] = []
    run = ""
    for word in segment.cut_for_search(text) if include_subwords else segment.cut(text, hmm=False):
        if len(word) == 1 and word != "\n" and word not in _PARTICLES:
            run += word
            continue
        if run:
            out += _character_pairs(run)
            run = ""
        if len(word) > 1:
            out.append(word)
        elif word == "\n":
            yield out
            out = []
    yield out + _character_pairs(run)


def tokenize(text: str) -> list[str]:
    """Return the search terms in order: lower case, English stemmed, no single letters.

    A long Chinese word also yields the words inside it, so that 博物 finds 博物院. All are in simplified
    characters.
    """
    return _extract_terms(text, include_subwords=True)


def split_words(text: str) -> list[str]:
    """Split like `tokenize`, but without the words inside words."""
    return _extract_terms(text, include_subwords=False)


def content_characters(text: str) -> list[str]:
    """Return the distinct Han characters that carry meaning, in order.

    Near-synonyms often share one: 买票, 门票 and 票价; 走廊 and 长廊.
    """
    if text.isascii():
        return []
    characters = dict.fromkeys(to_simplified(unicodedata.normalize("NFKC", text)))
    return [character for character in characters if _is_content_character(character)]


@lru_cache(20_000)
def _is_content_character(character: str) -> bool:
    return _HAN_PATTERN.match(character) is not None and character not in _FUNCTION_CHARS


def _extract_terms(text: str, *, include_subwords: bool) -> list[str]:
    if not text.isascii():
        text = to_simplified(unicodedata.normalize("NFKC", text)).replace("’", "'")
    text = text.lower()
    if "'s" in text:
        text = _POSSESSIVE_PATTERN.sub("", text)
    if "," in text:
        text = _THOUSANDS_SEPARATOR_PATTERN.sub("", text)
    runs = _RUN_PATTERN.findall(text)
    han = [run for run in runs if run[0] >= "\u3400" and _HAN_PATTERN.match(run)]
    han_words = _split_han_runs(han, include_subwords=include_subwords) if han else iter(())
    terms: list[str] = []
    for run in runs:
        if run.isascii():
            if len(run) > 1 or run.isdigit():
                terms.append(stem(run))
        elif run[0] >= "\u3400" and _HAN_PATTERN.match(run):
            terms += next(han_words)
        elif len(run) > 1:
            terms.append(_stem_other_script(run))
    return terms


@lru_cache(20_000)
def _stem_other_script(word: str) -> str:
    """Strip the accents of a Latin word and stem it (café, cafe); keep other scripts."""
    letters = unicodedata.normalize("NFKD", word)
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return stem(bare) if bare.isascii() else word


# Words without meaning of their own in a query, as `tokenize` spells them.
_STOP_WORD_LIST = " ".join(data.lines("stop.txt")).split()
STOP_WORDS = frozenset(_STOP_WORD_LIST) | {stem(word) for word in _STOP_WORD_LIST}
# Words with little meaning, which an answering sentence may lack.
LIGHT_WORDS = frozenset(stem(word) for word in " ".join(data.lines("light.txt")).split())
_QUESTION_WORD_PATTERN = re.compile(r"^(?:几|多少|哪)[\u4e00-\u9fff]*$")


def is_stop_word(token: str) -> bool:
    """Return whether a token of a query carries no information."""
    return token in STOP_WORDS or _QUESTION_WORD_PATTERN.match(token) is not None


# Weights of Chinese words by the first letter of their part-of-speech tag.
_PART_OF_SPEECH_WEIGHTS = {"n": 1.0, "j": 1.0, "l": 1.0, "i": 1.0, "e": 1.0, "v": 0.6, "b": 0.6, "a": 0.5, "z": 0.5}


def word_weights(text: str) -> dict[str, float]:
    """Return the words of a query in order with their weights (0 to 1), without stop words."""
    if not has_han(text):
        return {w: 0.3 if w in LIGHT_WORDS else 1.0 for w in split_words(text) if not is_stop_word(w)}
    weights: dict[str, float] = {}
    for word, tag in segment.tag(to_simplified(unicodedata.normalize("NFKC", text)).lower()):
        weights[stem(word) if word.isascii() else word] = _PART_OF_SPEECH_WEIGHTS.get(tag[:1], 0.25)
    return {w: 0.3 if w in LIGHT_WORDS else weights.get(w, 0.6) for w in split_words(text) if not is_stop_word(w)}


_FUNCTION_CHARS = _PARTICLES | {word for word in STOP_WORDS if len(word) == 1}
