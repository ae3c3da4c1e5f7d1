"""Check whether a sentence is about the subject of a table row or about another thing.

The thing that a sentence names first counts as its subject. Without a parser this is a guess, made
on the safe side: a sentence that begins with another thing, or with a part of the row's subject,
does not count as being about the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from research import data
from research.core.text import segment
from research.core.text.names import find_han_names, find_latin_names
from research.core.text.quantities import find_measures, fold_text
from research.core.text.quotes import normalise_quote
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, LIGHT_WORDS, STOP_WORDS, has_han, stem

MAX_SENTENCE_CHARS = 2_000  # longer sentences are cut
_HAN_CHAR = re.compile(rf"[{HAN_RANGES}]")
_LOCATED_PART = re.compile(r"^(?:an?|the|its|some|all)\s(.+?)\s(?:at|on|near|beside|inside|outside|by)\s(?:the\s)?$")
_PRONOUN = re.compile(
    r"^(?:it|they|this|these|其|它|该)(?![a-z])|^the\s[a-z]+\sand\s"
)  # matches "it", or "the palace and" before "the park"
_WORD = re.compile(r"[a-z]+")
_CELL_WORDS = data.words("cells")
# Words allowed before the first name of a sentence if that name is its subject.
_SENTENCE_START = re.compile(
    rf"\s*(?:the\s|an?\s)?(?P<near>\s*(?:{_CELL_WORDS['near en']})(?:ing)?\s|(?:{_CELL_WORDS['near zh']})的?)?"
)


def is_about(text: str, clause: str, names: Sequence[str], title: str, question: str) -> bool:
    """Return whether a clause of a sentence may be about the thing with the given names.

    `text` is the sentence and `title` the title above it. `question` is the question of the column;
    words from it do not count as another subject.
    """
    text = text[:MAX_SENTENCE_CHARS]
    is_titled = any(normalise_quote(name) in normalise_quote(title) for name in names)
    if is_titled and _PRONOUN.match(fold_text(clause)):
        return True
    if any(_find_names(fold_text(clause), names)):
        text = clause
    folded = fold_text(text)
    name_spans = sorted(_find_names(folded, names))
    first_start = name_spans[0][0] if name_spans else len(folded)
    others = [
        (start, end)
        for start, end in (*find_latin_names(text), *find_han_names(text))
        if not _is_same_subject(folded, (start, end), name_spans, title, question)
    ]
    if any(start < first_start for start, _ in others):
        return False
    if not name_spans and not is_titled:
        return False
    subject = _chinese_subject(folded) if _HAN_CHAR.match(folded) else _english_part(folded, name_spans)
    return not _is_other_subject(subject, names, title, question)


def is_about_other(text: str, names: Sequence[str], title: str) -> bool:
    """Return whether a sentence that contains none of the names is about another thing.

    This holds if it begins with the thing in the title of its source and that is another thing, or
    if the title names the thing itself and the sentence begins with a thing near it.
    """
    text = text[:MAX_SENTENCE_CHARS]
    folded = fold_text(text)
    if any(_find_names(folded, names)):
        return False
    spans = sorted((*find_latin_names(text), *find_han_names(text)))
    if not spans or not (ahead := _SENTENCE_START.fullmatch(folded[: spans[0][0]])):
        return False
    if any(normalise_quote(name) in normalise_quote(title) for name in names):
        return bool(ahead["near"])
    first_name = normalise_quote(folded[spans[0][0] : spans[0][1]].removeprefix("the "))
    is_part = any(
        first_name in normalise_quote(fold_text(name)) for name in names
    )  # the subject may be a section of the Great Wall
    return len(first_name) > 1 and not is_part and first_name in normalise_quote(fold_text(title))


def _find_names(folded: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    for name in names:
        for match in re.finditer(re.escape(fold_text(name)), folded) if name.strip() else ():
            yield match.span()


def _is_same_subject(
    folded: str, span: tuple[int, int], name_spans: Sequence[tuple[int, int]], title: str, question: str
) -> bool:
    """Return whether a name in a sentence refers to no other thing.

    That holds if it is part of one of the thing's own names or next to one, is a date or a figure,
    or consists of words of the title or the column.
    """
    start, end = span
    name = folded[start:end]
    if normalise_quote(name) in normalise_quote(title) or normalise_quote(name) in normalise_quote(question):
        return True
    if any((a <= start and end <= b) or end == a or (start <= a and b == end) for a, b in name_spans):
        return True
    return any(m.start < end and start < m.end for m in find_measures(folded)) or any(
        stemmed in {stem(w) for w in _WORD.findall(fold_text(question))} for stemmed in map(stem, _WORD.findall(name))
    )


def _chinese_subject(folded: str) -> str:
    """Return the nouns at the beginning of a Chinese sentence, after any dates and places set off
    before."""
    for part in CLAUSE_END_PATTERN.split(folded):
        nouns = ""
        for word, kind in segment.tag(part.strip()):
            if kind[0] not in "nabjls" and kind != "u":
                break
            nouns += word
        if nouns:
            return nouns
    return ""


def _english_part(folded: str, name_spans: Sequence[tuple[int, int]]) -> str:
    """Return the part of a thing with which an English sentence begins; "" if it begins with none.

    In "the cable car at the mountain" that is "cable car".
    """
    match = _LOCATED_PART.match(folded[: name_spans[0][0]]) if name_spans else None
    return match[1] if match else ""


def _is_other_subject(subject: str, names: Sequence[str], title: str, question: str) -> bool:
    """Return whether a subject has a word that is in none of names, title and question."""
    rest = normalise_quote(subject)
    if has_han(rest):
        known = (*map(normalise_quote, names), normalise_quote(title), normalise_quote(question))
        for name in sorted(filter(None, map(normalise_quote, names)), key=len, reverse=True):
            rest = rest.replace(name, " ")
        rest = _whole_pattern().sub(" ", rest)
        return any(part not in STOP_WORDS and not any(part in k for k in known) for part in rest.split())
    known_stems = {stem(w) for w in _WORD.findall(fold_text(f"{' '.join(names)} {title} {question}"))}
    return any(
        stem(w) not in known_stems
        and w not in STOP_WORDS
        and stem(w) not in LIGHT_WORDS
        and not _whole_pattern().fullmatch(w)
        for w in _WORD.findall(subject)
    )


@cache
def _whole_pattern() -> re.Pattern[str]:
    """Compile a pattern of the words that mean the thing as a whole, or all of its visitors."""
    words = data.words("cells")
    return re.compile(f"{words['whole zh']}|{words['goers zh']}|{words['goers']}")
