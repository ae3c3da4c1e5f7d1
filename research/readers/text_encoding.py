"""Detection of the encoding of a text, by its bytes and by the frequencies of its characters.

UTF-8, and UTF-16 with a byte order mark or with the zero bytes of ASCII characters, are recognised
by their form. Among the other encodings the one whose characters are the most probable wins: a sum
of logarithms of probabilities over all characters beyond ASCII, with these models:

- Han: frequencies by rank, from the 3,000 characters of `han.txt`, which are in the order of their
  frequency in the dictionary of jieba 0.42.1 (MIT licence), where they make 98.5 %.
- Hangul: frequencies by rank, from the 380 syllables of `hangul.txt`. Kana: equally probable.
- Letters with marks, and Cyrillic: shares by language from `letters.tsv`; letters with marks are
  improbable beside each other, Cyrillic ones inside an ASCII word.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from research import data
from research.core.text.hanzi import to_simplified

# The probability of a character (the second argument) between its neighbours.
CharacterModel = Callable[[str, str, str], float]
SAMPLE_BYTES = 32_768  # of the lines that are not ASCII
SURE_MARGIN = 4.0  # nats between the most probable encoding and the next one
# Nats in favour of encodings that are frequent in the files of analysts who work in Chinese and English.
PRIORS = {"gb18030": 3.0, "cp1252": 1.5}
_RARE = 1e-6  # probability of a character that a model does not know
_MARKS = "“”„‘’‚–—…•°€£§«»‹›©®™·½²³¿¡ºª±×†"
_CJK_MARKS = "，。、：；（）《》“”‘’！？　「」『』·—…％＋－"


class EncodingGuess(NamedTuple):
    """The most probable encoding of a text, and the others that are nearly as probable."""

    encoding: str
    alternatives: tuple[str, ...] = ()

    @property
    def is_sure(self) -> bool:
        """Return True if no other encoding is nearly as probable."""
        return not self.alternatives


def detect_encoding(data: bytes) -> EncodingGuess | None:
    """Return the encoding of a text, or None if it has none of the known ones.

    The result is a name that `bytes.decode` accepts; decoding drops a byte order mark. But for UTF-8,
    only lines of the beginning are looked at, so decoding the rest may fail.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return EncodingGuess("utf-16")
    if encoding := _utf16_without_mark(data[:4_096]):
        return EncodingGuess(encoding)
    if _can_decode(data, "utf-8-sig"):
        return EncodingGuess("utf-8-sig")
    sample = _sample(data)
    scores: dict[str, float] = {}
    for encoding, models in _models().items():
        if _can_decode(sample, encoding):
            decoded = sample.decode(encoding, "replace")
            found = [score for model in models if (score := _score(decoded, model)) is not None]
            if found:
                scores[encoding] = max(found) + PRIORS.get(encoding, 0.0)
    if not scores:
        return None
    best = max(scores, key=scores.__getitem__)
    close = (other for other in scores if other != best and scores[best] - scores[other] < SURE_MARGIN)
    text = sample.decode(best, "replace")
    same = [encoding for encoding in scores if sample.decode(encoding, "replace") == text]
    return EncodingGuess(same[0], tuple(other for other in close if other not in same))


def _can_decode(data: bytes, encoding: str) -> bool:
    """Return True if all bytes are valid in an encoding; the last character may be cut."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeError:
        return False
    return True


def _utf16_without_mark(head: bytes) -> str:
    """Return the name of UTF-16 without a byte order mark if the zero bytes of ASCII show it, else ""."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if 4 * max(even, odd) < len(head) // 2:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _sample(data: bytes) -> bytes:
    """Return the lines beyond ASCII of a text, up to `SAMPLE_BYTES`."""
    lines: list[bytes] = []
    size = 0
    for match in re.finditer(rb"[^\r\n]*[\x80-\xff][^\r\n]*[\r\n]*", data):
        lines.append(match[0])
        size += len(match[0])
        if size > SAMPLE_BYTES:
            break
    return b"".join(lines)[: 2 * SAMPLE_BYTES]


def _score(text: str, model: CharacterModel) -> float | None:
    """Return the logarithm of the probability of the characters beyond ASCII; None if one is impossible."""
    padded = f" {text} "
    total = 0.0
    for before, character, after in zip(padded, padded[1:], padded[2:], strict=False):
        if character >= "\x80":
            if character == "\ufffd" or "\x80" <= character <= "\x9f" or "\ue000" <= character <= "\uf8ff":
                return None
            total += math.log(model(before, character, after))
    return total


# Models: the probability of a character between its neighbours


@cache
def _ranks(name: str) -> dict[str, int]:
    """Return the ranks, from 0, of the characters of a list in the order of their frequency."""
    return {character: rank for rank, character in enumerate("".join(data.lines(name)))}


@cache
def _han_probability(character: str) -> float:
    """Return the frequency of a Han character in Chinese, by its rank."""
    rank = _ranks("han.txt").get(to_simplified(character))
    return _RARE if rank is None else 0.23 / (rank + 40)


def _simplified(before: str, character: str, after: str) -> float:
    if _is_han(character):
        return 0.92 * _han_probability(character) * (1 if to_simplified(character) == character else 0.02)
    return 0.07 / len(_CJK_MARKS) if character in _CJK_MARKS else _RARE


def _traditional(before: str, character: str, after: str) -> float:
    if _is_han(character):
        return 0.92 * _han_probability(character)
    return 0.07 / len(_CJK_MARKS) if character in _CJK_MARKS else _RARE


def _japanese(before: str, character: str, after: str) -> float:
    if "ぁ" <= character <= "ヺ" or character == "ー":
        return 0.5 / 170
    if _is_han(character):
        return 0.4 * _han_probability(character)
    return 0.07 / len(_CJK_MARKS) if character in _CJK_MARKS or character in "・々" else _RARE


def _korean(before: str, character: str, after: str) -> float:
    if "가" <= character <= "힣":
        rank = _ranks("hangul.txt").get(character)
        if rank is not None:
            return 0.3 / (rank + 20)
        # The 2,350 syllables of KS X 1001 nearly suffice for modern Korean.
        return 0.1 / 2_350 if len(character.encode("euc_kr", "replace")) == 2 else _RARE
    return 0.01 / len(_CJK_MARKS) if character in _CJK_MARKS else _RARE


def _letter_model(shares: Mapping[str, float]) -> CharacterModel:
    """Return the model of a language with these letters besides ASCII, in words of ASCII letters.

    Two such letters beside each other are rare, unless the language has no ASCII letters.
    """
    is_cyrillic = "о" in shares
    beside_another, beside_ascii = (1.0, 0.01) if is_cyrillic else (0.05, 1.0)

    def model(before: str, character: str, after: str) -> float:
        share = shares.get(character, 0.05 / len(_MARKS) if character in _MARKS else _RARE)
        if character in _MARKS:
            return share
        if any(neighbour >= "\x80" and neighbour not in _MARKS for neighbour in (before, after)):
            share *= beside_another
            if character != character.lower() and before >= "\x80" and before == before.lower():
                share *= 0.02  # a capital inside a word
        if _is_ascii_letter(before) or _is_ascii_letter(after):
            return share * beside_ascii
        return share if is_cyrillic else 0.1 * share

    return model


def _letter_models() -> dict[str, list[CharacterModel]]:
    """Return the models of the languages of `letters.tsv`, by encoding."""
    models: dict[str, list[CharacterModel]] = {}
    for encoding, _, letters in data.rows("letters.tsv"):
        shares = {item[0]: 0.94 * int(item[1:]) / 1000 for item in letters.split()}
        for letter in list(shares):
            shares.setdefault(letter.upper(), 0.01 * shares[letter]) if len(letter.upper()) == 1 else None
        models.setdefault(encoding, []).append(_letter_model(shares))
    return models


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or character >= "\U00020000"


def _is_ascii_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


@cache
def _models() -> dict[str, list[CharacterModel]]:
    """Return the models of the languages that are written in each encoding."""
    return {
        "gb18030": [_simplified],
        "cp950": [_traditional],
        "cp932": [_japanese],
        "cp949": [_korean],
        **_letter_models(),
    }
