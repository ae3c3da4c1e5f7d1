"""Check of whether a sentence is about the subject of a table row, or about another thing that it
names.

The thing that a sentence names first counts as its subject. Without a parser this is a guess, made
on the safe side: a sentence that begins with another thing, or with a part of the row's subject,
does not count as being about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from research import data
from research.core.text import segment
from research.core.text.names import han_names, latin_names
from research.core.text.quantities import measures, plain
from research.core.text.sentences import CLAUSE
from research.core.text.words import HAN, LIGHT, STOP, fold, has_han, stem

READ = 2_000  # characters of a sentence that are read
_HAN_START = re.compile(rf"[{HAN}]")
_AT = re.compile(
    r"^(?:an?|the|its|some|all)\s(.+?)\s(?:at|on|near|beside|inside|outside|by)\s(?:the\s)?$"
)
_ITSELF = re.compile(
    r"^(?:it|they|this|these|其|它|该)(?![a-z])|^the\s[a-z]+\sand\s"
)  # matches "it", or "the palace and" before "the park"
_WORD = re.compile(r"[a-z]+")
_NEAR = data.words("cells")
# Words allowed before the first name of a sentence if that name is its subject.
_LEAD = re.compile(
    rf"\s*(?:the\s|an?\s)?(?P<near>\s*(?:{_NEAR['near en']})(?:ing)?\s|(?:{_NEAR['near zh']})的?)?"
)


def is_about(text: str, clause: str, names: Sequence[str], title: str, asked: str) -> bool:
    """Return whether a clause of a sentence may be about the thing with the given names.

    `text` is the sentence and `title` the title above it. `asked` is the question of the column;
    words from it do not count as another subject.
    """
    text = text[:READ]
    titled = any(fold(name) in fold(title) for name in names)
    if titled and _ITSELF.match(plain(clause)):
        return True
    if any(_places(plain(clause), names)):
        text = clause
    folded = plain(text)
    own = sorted(_places(folded, names))
    first = own[0][0] if own else len(folded)
    others = [
        (start, end)
        for start, end in (*latin_names(text), *han_names(text))
        if not _belongs(folded, (start, end), own, title, asked)
    ]
    if any(start < first for start, _ in others):
        return False
    if not own and not titled:
        return False
    subject = _subject(folded) if _HAN_START.match(folded) else _english(folded, own)
    return not _other(subject, names, title, asked)


def is_of_another(text: str, names: Sequence[str], title: str) -> bool:
    """Return whether a sentence that contains none of the names is about another thing.

    This holds if it begins with the thing in the title of its source and that is another thing, or
    if the title names the thing itself and the sentence begins with a thing near it.
    """
    text = text[:READ]
    folded = plain(text)
    if any(_places(folded, names)):
        return False
    spans = sorted((*latin_names(text), *han_names(text)))
    if not spans or not (ahead := _LEAD.fullmatch(folded[: spans[0][0]])):
        return False
    if any(fold(name) in fold(title) for name in names):
        return bool(ahead["near"])
    said = fold(folded[spans[0][0] : spans[0][1]].removeprefix("the "))
    part = any(
        said in fold(plain(name)) for name in names
    )  # the subject may be a section of the Great Wall
    return len(said) > 1 and not part and said in fold(plain(title))


def _places(folded: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    for name in names:
        for match in re.finditer(re.escape(plain(name)), folded) if name.strip() else ():
            yield match.span()


def _belongs(
    folded: str, span: tuple[int, int], own: Sequence[tuple[int, int]], title: str, asked: str
) -> bool:
    """Return whether a name in a sentence refers to no other thing.

    It is part of one of the thing's own names or stands next to one, is a date or a figure, or
    consists of words of the title or the column.
    """
    start, end = span
    said = folded[start:end]
    if fold(said) in fold(title) or fold(said) in fold(asked):
        return True
    if any((a <= start and end <= b) or end == a or (start <= a and b == end) for a, b in own):
        return True
    return any(m.start < end and start < m.end for m in measures(folded)) or any(
        told in {stem(w) for w in _WORD.findall(plain(asked))}
        for told in map(stem, _WORD.findall(said))
    )


def _subject(folded: str) -> str:
    """Return the nouns at the beginning of a Chinese sentence, after any dates and places set off
    before them."""
    for part in CLAUSE.split(folded):
        nouns = ""
        for word, kind in segment.tag(part.strip()):
            if kind[0] not in "nabjls" and kind != "u":
                break
            nouns += word
        if nouns:
            return nouns
    return ""


def _english(folded: str, own: Sequence[tuple[int, int]]) -> str:
    """Return the part of a thing with which an English sentence begins ("the cable car at the
    mountain"); "" if it begins with none."""
    match = _AT.match(folded[: own[0][0]]) if own else None
    return match[1] if match else ""


def _other(subject: str, names: Sequence[str], title: str, asked: str) -> bool:
    """Return whether a subject is another thing: it has a word that is in none of the names, the
    title and the column's question."""
    rest = fold(subject)
    if has_han(rest):
        known = (*map(fold, names), fold(title), fold(asked))
        for name in sorted(filter(None, map(fold, names)), key=len, reverse=True):
            rest = rest.replace(name, " ")
        rest = _transparent().sub(" ", rest)
        return any(part not in STOP and not any(part in k for k in known) for part in rest.split())
    told = {stem(w) for w in _WORD.findall(plain(f"{' '.join(names)} {title} {asked}"))}
    return any(
        stem(w) not in told
        and w not in STOP
        and stem(w) not in LIGHT
        and not _transparent().fullmatch(w)
        for w in _WORD.findall(subject)
    )


@cache
def _transparent() -> re.Pattern[str]:
    """Compile a pattern of the words that mean the thing as a whole, or all of its visitors."""
    words = data.words("cells")
    return re.compile(f"{words['whole zh']}|{words['goers zh']}|{words['goers']}")
