"""Words in Chinese and English: one tokeniser for the index and for the query.

SQLite's own tokenisers break Chinese silently: they take a whole clause for one word. So words are
cut here (runs of Han characters by rjieba's dictionary, other runs as they stand, English stemmed)
and handed to the index ready-made.
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
_UNMATCHED_CHARS = re.compile("[\\s\u00ad\u200b\u2060\ufeff]+")
_HYPHENATED_BREAK_PATTERN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\n\s*(?=[^\W\d_])")
MIN_LANGUAGE_WORDS = 12  # Han characters and words that tell the language of a text
ENGLISH_WORDS_PER_HAN = 4  # so many words for one Han character are English with a name in Chinese
_INNER_HYPHEN_PATTERN = re.compile(r"(?<=[^\W\d_])[-\u2010](?=\s*[^\W\d_])")
_GRAPHEME_PATTERN = re.compile(
    "[^\\s\u0300-\u036f\u3099\u309a][\u0300-\u036f\u3099\u309a]*|[\u0300-\u036f\u3099\u309a]"
)
# Characters that end a run of loose characters: they never belong to a name or a compound.
_PARTICLES = frozenset("的了着过是在和与及或也都就还又很把被给让从到对向往于以而且但则若吗呢吧啊呀么之其这那哪个")

# Letters and symbols that are drawn as nothing, or stand for what is not there: Hangul fillers, the empty
# Braille pattern, the replacement characters.
_INVISIBLE_SYMBOLS = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufffc\ufffd")

stem = lru_cache(200_000)(Stemmer.Stemmer("english").stemWord)


def has_han(text: str) -> bool:
    return _HAN_PATTERN.search(text) is not None


def is_blank(text: str) -> bool:
    """Return True for a text in which nothing can be seen: no letter, figure, sign or punctuation mark,
    only spaces, controls, marks without a letter and format characters."""
    return not any(c not in _INVISIBLE_SYMBOLS and unicodedata.category(c)[0] in "LNPS" for c in text)


def detect_language(text: str) -> Language:
    """`zh` if Han characters carry the text, else `en`. One Han character weighs as much as a word."""
    han = len(_HAN_PATTERN.findall(text))
    latin = len(re.findall(r"[A-Za-z]{2,}", text))
    return "zh" if han and han >= latin else "en"


def certain_language(text: str) -> Language | None:
    """The language that a text is certainly written in; None if it is short, or mixes both."""
    han = len(_HAN_PATTERN.findall(text))
    latin = len(re.findall(r"[A-Za-z]{2,}", text))
    if han + latin < MIN_LANGUAGE_WORDS:
        return None
    return "zh" if han >= latin else "en" if ENGLISH_WORDS_PER_HAN * han < latin else None


def format_distance(metres: int) -> str:
    """A distance as people say it."""
    return f"{metres} m" if metres < 1_000 else f"{metres / 1_000:.1f}".removesuffix(".0") + " km"


def normalise_quote(text: str) -> str:
    """Text as quotes are compared: NFKC, simplified, without white space and what cannot be seen."""
    return _UNMATCHED_CHARS.sub("", to_simplified(unicodedata.normalize("NFKC", text)))


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Start and end of a quote in a text, compared as `fold` does.

    Where the text has words that a line break cuts (inter-⏎national), hyphens within words do not
    count either, since nothing tells whether the word has one.
    """
    loose = _HYPHENATED_BREAK_PATTERN.search(text) is not None
    if not loose and normalise_quote(quote) not in normalise_quote(text):
        return None
    folded, places = _normalise_with_offsets(text, loose)
    wanted, _ = _normalise_with_offsets(quote, loose)
    at = folded.find(wanted) if wanted else -1
    return (places[at][0], places[at + len(wanted) - 1][1]) if at >= 0 else None


def _normalise_with_offsets(text: str, ignore_hyphens: bool) -> tuple[str, list[tuple[int, int]]]:
    """The folded text, and for each of its characters the stretch of the text that it stands for."""
    hyphens = {match.start() for match in _INNER_HYPHEN_PATTERN.finditer(text)} if ignore_hyphens else ()
    out: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _GRAPHEME_PATTERN.finditer(text):
        if match.start() not in hyphens:
            kept = normalise_quote(match[0])
            out.append(kept)
            places += [match.span()] * len(kept)
    return "".join(out), places


def _character_pairs(run: str) -> list[str]:
    """Characters that the dictionary left single, as overlapping pairs: 遛娃 stays findable."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _split_han_runs(runs: list[str], *, include_subwords: bool) -> Iterator[list[str]]:
    """The words of each run of Han characters.

    Only words of the dictionary: guessing at unknown ones cuts the same name differently in a
    question and in a document.
    """
    text = "\n".join(runs)
    out: list[str] = []
    run = ""
    for word in segment.cut_for_search(text, hmm=False) if include_subwords else segment.cut(text, hmm=False):
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
    """Search terms in order: lower case, English stemmed, single letters and punctuation dropped.

    A long Chinese word also gives the words inside it: 博物院 is found by 博物 as well. All are in
    simplified characters.
    """
    return _extract_terms(text, include_subwords=True)


def split_words(text: str) -> list[str]:
    """As `tokens`, without the words inside words: each stretch of text counts once."""
    return _extract_terms(text, include_subwords=False)


def content_characters(text: str) -> list[str]:
    """The Han characters that carry meaning, each once, in order.

    Words that mean nearly the same often share one: 买票, 门票 and 票价; 走廊 and 长廊.
    """
    if text.isascii():
        return []
    found = dict.fromkeys(to_simplified(unicodedata.normalize("NFKC", text)))
    return [character for character in found if _is_content_character(character)]


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
    cut = _split_han_runs(han, include_subwords=include_subwords) if han else iter(())
    kept: list[str] = []
    for run in runs:
        if run.isascii():
            if len(run) > 1 or run.isdigit():
                kept.append(stem(run))
        elif run[0] >= "\u3400" and _HAN_PATTERN.match(run):
            kept += next(cut)
        elif len(run) > 1:
            kept.append(_stem_other_script(run))
    return kept


@lru_cache(20_000)
def _stem_other_script(word: str) -> str:
    """A word of another script; a Latin one without its accents: café is found by cafe."""
    letters = unicodedata.normalize("NFKD", word)
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return stem(bare) if bare.isascii() else word


# Words that carry no meaning of their own in a question, as `tokens` spells them.
_STOP_WORD_LIST = " ".join(data.lines("stop.txt")).split()
STOP_WORDS = frozenset(_STOP_WORD_LIST) | {stem(word) for word in _STOP_WORD_LIST}
# Words that carry little: a sentence may well answer without them.
LIGHT_WORDS = frozenset(stem(word) for word in " ".join(data.lines("light.txt")).split())
_QUESTION_WORD_PATTERN = re.compile(r"^(?:几|多少|哪)[\u4e00-\u9fff]*$")


def is_stop_word(token: str) -> bool:
    """Whether a token of a question says nothing about what is asked."""
    return token in STOP_WORDS or _QUESTION_WORD_PATTERN.match(token) is not None


# Parts of speech of Chinese words, by their first letter, and how much such a word tells.
_PART_OF_SPEECH_WEIGHTS = {"n": 1.0, "j": 1.0, "l": 1.0, "i": 1.0, "e": 1.0, "v": 0.6, "b": 0.6, "a": 0.5, "z": 0.5}


def word_weights(text: str) -> dict[str, float]:
    """The words of a question in order, each with how much it tells (0 to 1); idle ones left out."""
    if not has_han(text):
        return {w: 0.3 if w in LIGHT_WORDS else 1.0 for w in split_words(text) if not is_stop_word(w)}
    kinds: dict[str, float] = {}
    for word, tag in segment.tag(to_simplified(unicodedata.normalize("NFKC", text)).lower()):
        kinds[stem(word) if word.isascii() else word] = _PART_OF_SPEECH_WEIGHTS.get(tag[:1], 0.25)
    return {w: 0.3 if w in LIGHT_WORDS else kinds.get(w, 0.6) for w in split_words(text) if not is_stop_word(w)}


_FUNCTION_CHARS = _PARTICLES | {word for word in STOP_WORDS if len(word) == 1}
