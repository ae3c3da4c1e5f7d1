"""Splits a question into what it is about (subjects) and what it wants to know (parts), by rules.

The subject is a name: one that the documents know, else one that is written like a name. A question
without any name is about its most telling phrase, and only then may a search do without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import rjieba

from research.reasoners import Corpus
from research.reasoners.concepts import generic, matches
from research.text import HAN, STOP, has_han, tokens

_MARK = "\ue000"  # stands for a subject while clauses are split; private use, removed from input
_SPLIT = re.compile(
    r"[，。？！；、,;?!\n]+|\.(?=\s|$)|：|:(?=\s)"
    r"|以及|还有|和|与|及|或者|还是|\s*\b(?:as well as|and|or|plus|versus|vs\.?)\b\s*|\s*&\s*",
    re.I,
)
_QUOTED = re.compile(r"[“「『《]([^”」』》]{2,40})[”」』》]|\"([^\"]{2,40})\"")
_LATIN_NAME = re.compile(
    r"\b[A-Z][\w’'.-]*(?:\s+(?:of\s+the|of|the|de|at)(?=\s+[A-Z])|\s+[A-Z0-9][\w’'.-]*)*"
)
_LATIN_IN_HAN = re.compile(r"[A-Za-z][A-Za-z0-9.+#-]*(?:\s+[A-Z][A-Za-z0-9.+#-]*)*")
_NOT_NAMES = frozenset(
    [
        "i",
        "what",
        "where",
        "when",
        "who",
        "whom",
        "whose",
        "which",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "can",
        "could",
        "should",
        "would",
        "will",
        "may",
        "must",
        "has",
        "have",
        "had",
        "the",
        "a",
        "an",
        "in",
        "on",
        "at",
        "for",
        "from",
        "to",
        "with",
        "and",
        "or",
        "but",
        "if",
        "compare",
        "tell",
        "give",
        "show",
        "list",
        "find",
        "explain",
        "describe",
        "name",
        "best",
        "any",
        "please",
        "kids",
        "children",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_EDGE = re.compile(
    r"^(?:(?:what|which|when|where|who|how|why|is|are|was|were|do|does|did|can|could|should|would|will|"
    r"the|a|an|of|in|on|at|for|to|by|from|with|about|there|it|its|i|we|you|my|our|any|be|me|if|please|tell|"
    r"compare|between|and|or|has|have|as)\b\s*|[的是在有对于关于请问到从去由把被为了]\s*|’s|'s)+",
    re.I,
)
_TAIL = re.compile(
    r"(?:\s+(?:the|a|an|of|in|on|at|for|to|by|from|with|about|and|or|is|are|there)|[的吗呢吧啊呀是在有和与]|\s|’s|'s)+$",
    re.I,
)


@dataclass(slots=True)
class Piece:
    """A clause: the names it is about and what it asks."""

    text: str
    subjects: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as understood: pieces, and whether their subjects are names (`proper`)."""

    pieces: tuple[Piece, ...]
    proper: bool


def read(question: str, corpus: Corpus) -> Reading:
    """Splits a question. A question without any telling word gives no pieces."""
    question = question.replace(_MARK, " ")
    names = _names(question, corpus)
    if names:
        return Reading(tuple(_pieces(question, names)), True)
    pieces = [Piece(text) for text in _clauses(question) if _telling(text)]
    topic = _topic(pieces, corpus)
    for piece in pieces:
        piece.subjects = [topic] if topic else []
    if len(pieces) > 1:
        pieces = [p for p in pieces if p.text != topic]
    return Reading(tuple(pieces), False)


def _telling(text: str) -> bool:
    return bool(matches(text)) or any(token not in STOP for token in tokens(text))


# Names


def _names(question: str, corpus: Corpus) -> list[tuple[int, int, str]]:
    """Start, end and text of the names in a question, in order, without overlap."""
    known = [name for name in corpus.names_in(question) if not generic(name)]
    spans = _places(question, known)
    for pattern in (_QUOTED, None):
        if not spans:
            found = _quoted(question) if pattern else _written_like_names(question)
            spans = [span for span in found if not generic(span[2])]
    return _joined(question, spans, corpus)


def _places(question: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    taken: list[tuple[int, int, str]] = []
    for name in names:
        words = r"\s+".join(re.escape(word) for word in name.split())
        edge = "" if has_han(name) else r"\b"
        for match in re.finditer(f"{edge}{words}{edge}", question, re.I):
            if all(match.end() <= a or match.start() >= b for a, b, _ in taken):
                taken.append((match.start(), match.end(), match.group()))
    return sorted(taken)


def _quoted(question: str) -> list[tuple[int, int, str]]:
    return [(m.start(), m.end(), m.group(1) or m.group(2)) for m in _QUOTED.finditer(question)]


def _written_like_names(question: str) -> list[tuple[int, int, str]]:
    if has_han(question):
        return _chinese_names(question)
    found = []
    for match in _LATIN_NAME.finditer(question):
        name, start = match.group(), match.start()
        while name and name.split()[0].lower().rstrip(".") in _NOT_NAMES:
            head, _, rest = name.partition(" ")
            start += len(head) + 1
            name = rest
        for suffix in ("’s", "'s", "."):
            name = name.removesuffix(suffix)
        if len(name) > 1 and name.lower() not in STOP:
            found.append((start, start + len(name), name))
    return found


def _chinese_names(question: str) -> list[tuple[int, int, str]]:
    found = [(m.start(), m.end(), m.group()) for m in _LATIN_IN_HAN.finditer(question)]
    at = 0
    for word, tag in rjieba.tag(question):
        start = question.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        if tag in ("nr", "ns", "nt", "nz", "nrt", "nrfg") and len(word) > 1 and has_han(word):
            found.append((start, at, word))
    found = [f for f in found if f[2].lower() not in STOP and not f[2].isdigit()]
    return sorted(found)


def _joined(
    question: str, spans: list[tuple[int, int, str]], corpus: Corpus
) -> list[tuple[int, int, str]]:
    """Of names that stand side by side (杭州西湖) the last is meant; the one before only locates it.

    Where the two together are written as one in no known name, the locating one stays in the text
    of the part, so that it still counts in the search.
    """
    out: list[tuple[int, int, str]] = []
    for span in spans:
        if out and question[out[-1][1] : span[0]] in ("", "的", "市", "省", " "):
            out.pop()
        out.append(span)
    return out


# Clauses


def _clauses(text: str) -> list[str]:
    return [piece.strip() for piece in _SPLIT.split(text) if piece and piece.strip()]


def _pieces(question: str, names: list[tuple[int, int, str]]) -> list[Piece]:
    masked, at = "", 0
    for start, end, _ in names:
        masked += question[at:start] + _MARK
        at = end
    masked += question[at:]
    queue = [name for _, _, name in names]
    pieces: list[Piece] = []
    waiting: list[str] = []
    for clause in _clauses(masked):
        count = clause.count(_MARK)
        own, queue = queue[:count], queue[count:]
        rest = clause.replace(_MARK, " ")
        if not _telling(rest):
            waiting += own
            continue
        pieces.append(Piece(_label(clause), waiting + own))
        waiting = []
    return _shared(pieces, waiting)


def _shared(pieces: list[Piece], waiting: list[str]) -> list[Piece]:
    """Clauses without a name of their own are about the last named, else the next named."""
    if not pieces:
        return [Piece("", [name]) for name in dict.fromkeys(waiting)]
    if waiting:
        for piece in pieces:
            piece.subjects = piece.subjects or list(waiting)
    last: list[str] = []
    for piece in pieces:
        piece.subjects = last = piece.subjects or last
    following: list[str] = []
    for piece in reversed(pieces):
        piece.subjects = following = piece.subjects or following
    for piece in pieces:
        piece.subjects = list(dict.fromkeys(piece.subjects))
    return pieces


def _label(clause: str) -> str:
    """What a clause asks, without the name and without the words around it."""
    text = re.sub(rf"\b(?:of|in|at|to|from|for|the)(?:\s+the)?\s+{_MARK}", " ", clause, flags=re.I)
    text = re.sub(rf"{_MARK}(?:’s|'s)?", " ", text)
    text = re.sub(rf"(?<=[{HAN}])\s+(?=[{HAN}])", " ", text)
    text = re.sub(r"\s+", " ", text).strip()
    short = _TAIL.sub("", _EDGE.sub("", text)).strip()
    return short if _telling(short) else text


# Questions without a name


def _topic(pieces: list[Piece], corpus: Corpus) -> str:
    """The most telling phrase that names no usual thing to ask."""
    best, weight = "", 0.0
    for piece in pieces:
        piece.text = _label(piece.text)
        rest = piece.text
        for match in reversed(matches(rest)):
            rest = rest[: match.start] + "\n" + rest[match.end :]
        for phrase in rest.split("\n"):
            words = [t for t in tokens(phrase) if t not in STOP]
            score = max((corpus.idf(t) for t in words), default=0.0)
            if score > weight:
                best, weight = _label(phrase), score
    return best
