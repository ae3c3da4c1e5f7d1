"""Proper names in a claim: capitalised runs, titles in quotes, Latin words in Chinese, places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from research import segment
from research.evidence.lexicon import CONCEPTS, PARTS
from research.evidence.reading import LONGEST_CLAIM, Reading, is_place
from research.language.quantities import plain
from research.text import HAN, STOP, has_han, stem

_RUN = re.compile(r"(?<!\w)(?:[A-ZÀ-ÖØ-Þ][\w'’&-]*|\d+[A-Z][\w-]*)(?:(?:\s|\s(?:of|de|du|la|van|von|der|al|bin|d')\s|-)(?:[A-ZÀ-ÖØ-Þ][\w'’&-]*))*")  # fmt: skip
_TITLE = re.compile(r"《([^《》]{2,40})》|“([^“”]{2,30})”|「([^「」]{2,30})」")
_LATIN = re.compile(
    r"[A-Za-zÀ-ÖØ-öø-ÿ](?:[\dA-Za-zÀ-ÖØ-öø-ÿ&'’-]|\.(?=\w))*(?:\s[A-ZÀ-ÖØ-Þ](?:[\dA-Za-zÀ-ÖØ-öø-ÿ&'’-]|\.(?=\w))*)*"
)
_SUFFIXED = re.compile(rf"[{HAN}]{{2,10}}?(?:公司|集团|大学|学院|银行|研究院|研究所|医院|委员会|基金会|出版社|博物馆|博物院|美术馆|图书馆)")  # fmt: skip
_CALENDAR_WORDS = """
january february march april may june july august september october november december monday
tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov
dec am pm
"""
_CALENDAR = frozenset(_CALENDAR_WORDS.split())
_UNITS_WORDS = """
km kg m cm mm ha kw mw gw kwh gwh twh gb tb mb ml mg usd rmb cny eur c f no q1 q2 q3 q4 h1 h2 bc
ad bce ce mph
"""
_UNITS = frozenset(_UNITS_WORDS.split())
_NOTHING: frozenset[str] = frozenset()
_NAMED = frozenset(("nr", "ns", "nt", "nz", "nrt", "nrfg"))


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it stands in a text; `keys` are the concepts or stems of what distinguishes it."""

    text: str
    start: int
    keys: tuple[str, ...]
    exact: bool = False  # it is compared by its letters


@lru_cache(4_096)
def names(text: str) -> tuple[Name, ...]:
    """The names of a claim in the order in which they stand."""
    text = text[:LONGEST_CLAIM]
    found = list(_han_names(text) if has_han(text) else ())
    found += _latin_in_han(text) if has_han(text) else _capitalised(text)
    kept: list[Name] = []
    for name in sorted(found, key=lambda n: (n.start, -len(n.text))):
        if not kept or name.start >= kept[-1].start + len(kept[-1].text):
            kept.append(name)
    return tuple(kept)


def _key(word: str) -> str:
    word = re.sub(r"['’]s$", "", plain(word))
    stemmed = str(stem(word))
    return CONCEPTS.get(stemmed, stemmed)


def _capitalised(text: str) -> Iterator[Name]:
    for match in _RUN.finditer(text):
        words = re.findall(r"[\w'’&]+", match[0])
        start, said = match.start(), match[0]
        opens = not text[:start].strip("\"'“‘( ") or text[:start].rstrip()[-1:] in '.:!?“"'
        if opens and words[0].lower() in STOP | {"the", "its", "no", "not"}:
            said = said[len(words[0]) :].lstrip()
            start += len(match[0]) - len(said)
            words, opens = words[1:], False
        kept = [w for w in words if w.lower() not in STOP and w.lower() not in _CALENDAR and w.lower() not in _UNITS and not w.isdigit()]  # fmt: skip
        if not kept:
            continue
        if opens and len(words) == 1 and not re.search(r"\d|[A-Z].*[A-Z]", said) and not is_place(_key(said)):  # fmt: skip
            continue
        phrase = CONCEPTS.get("-".join(str(stem(plain(re.sub(r"['’]s$", "", w)))) for w in words), "")  # fmt: skip
        keys = (phrase,) if phrase else _distinct(kept)
        if keys:
            yield Name(said, start, keys)


def _distinct(words: list[str]) -> tuple[str, ...]:
    """What tells a name from others: of Peking University the first word."""
    keys = [_key(word) for word in words]
    known = set(CONCEPTS.values())
    own = [key for key in keys if key not in known or is_place(key)]
    return tuple(own)


def _latin_in_han(text: str) -> Iterator[Name]:
    for match in _LATIN.finditer(text):
        word = match[0]
        if len(word) > 1 and plain(word) not in _UNITS | _CALENDAR and not word.islower() | (word.lower() in STOP):  # fmt: skip
            before = text[match.start() - 1 : match.start()]
            if not before.isdigit():
                yield Name(word, match.start(), tuple(_key(w) for w in re.findall(r"[\w'’&]+", word)))  # fmt: skip


def _han_names(text: str) -> Iterator[Name]:
    for match in _TITLE.finditer(text):
        said = next(filter(None, match.groups()))
        if has_han(said):
            yield Name(said, match.start() + 1, (), exact=True)
    at = 0
    for word, tag in segment.tag(text):
        start = text.find(word, at)
        at = start + len(word) if start >= 0 else at
        concept = CONCEPTS.get(word) or CONCEPTS.get(word[:-1], "")
        if start >= 0 and is_place(concept):
            yield Name(word, start, (concept,))
        elif start >= 0 and len(word) > 1 and has_han(word) and tag in _NAMED and not concept:
            yield Name(word, start, (), exact=True)
    for match in _SUFFIXED.finditer(text):
        said = ""
        for piece, tag in reversed(segment.tag(match[0])):
            if tag[:1] not in "njbz" and tag != "vn":
                break
            said = piece + said
        if len(said) > 3 and said not in CONCEPTS and len(segment.cut(said)) > 1:
            yield Name(said, match.end() - len(said), (), exact=True)


def present(name: Name, passage: Reading) -> bool:
    """Whether a passage has a name, whole, by its last word, by its initials or by its concept."""
    if plain(name.text) in passage.folded:
        return True
    if name.exact:
        said = plain(name.text)
        short = re.sub(r"(?:省|市|县|区|公司|集团|大学|博物馆|人)$", "", said)
        if any(len(part) > 1 and part in passage.folded for part in (short, said[1:], said[:-1])):
            return True
        pairs = [said[i : i + 2] for i in range(len(said) - 1)]
        return len(said) > 4 and sum(pair in passage.folded for pair in pairs) >= 0.75 * len(pairs)
    if name.keys and all(key in passage.keys or PARTS.get(key, _NOTHING) & passage.keys for key in name.keys):  # fmt: skip
        return True
    words = re.findall(r"[\w'’&]+", plain(name.text))
    if len(words) > 1 and len(name.keys) > 1 and name.keys[-1] in passage.keys:
        return True
    initials = "".join(w[0] for w in words if w not in STOP)
    if len(initials) > 2 and re.search(rf"\b{re.escape(initials)}\b", passage.folded):
        return True
    return _spelled_out(words, passage.text)


def _spelled_out(words: list[str], text: str) -> bool:
    """Whether an acronym's letters begin the words of a name in the passage."""
    if len(words) != 1 or not 2 < len(words[0]) < 7:
        return False
    for run in _RUN.findall(text):
        heads = "".join(word[0] for word in re.findall(r"\w+", run) if word[0].isupper())
        if heads.lower().endswith(words[0]):
            return True
    return False
