"""Splits a question into what it is about (subjects) and what it wants to know (parts), by rules.

The subject is a name: one that the documents know, else one that is written like a name. A question
without any name has no subject; its later clauses are read in the light of the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from research import data
from research.agent.extractive.concepts import generic, matches
from research.agent.extractive.quotes import asks
from research.agent.reasoner import Corpus
from research.core.text import segment
from research.core.text.hanzi import simplified
from research.core.text.numbers import DIGIT
from research.core.text.sentences import CLAUSE
from research.core.text.words import HAN, STOP, has_han, idle, telling, tokens
from research.core.urls import without_addresses

_MARK = "\ue000"  # stands for a subject while clauses are split; private use, removed from input
_SET_OFF = re.compile(rf"(?:\b(?:of|between|in|at|for|the)\s+)*{_MARK}(?:[’']s)?", re.I)
_SPLIT = re.compile(
    rf"{CLAUSE.pattern}|[、：]|:(?=\s)"
    r"|\b(?:as well as|and|or|plus|versus|vs\.?)\b|(?<=\s)&(?=\s)",
    re.I,
)
_JOINS = frozenset(data.words("questions")["joins"].split("|"))
_QUOTED = re.compile(r"[“「『《]([^”」』》]{2,40})[”」』》]|\"([^\"]{2,40})\"")
_LATIN_NAME = re.compile(
    r"\b[A-Z][\w’'.-]*(?:\s+(?:of\s+the|of|the|de|at)(?=\s+[A-Z])|\s+[A-Z0-9][\w’'.-]*)*"
)
_LATIN_IN_HAN = re.compile(r"[A-Za-zÀ-ž][A-Za-zÀ-ž0-9.+#-]*(?:\s+[A-ZÀ-Þ][A-Za-zÀ-ž0-9.+#-]*)*")
_NOT_NAMES = frozenset(data.words("questions")["not names"].split("|"))
_NOT_IN_NAMES = re.compile(rf"[0-9{DIGIT}十百几半]|^[刚带坐不未有去到从]")
_LEAD = re.compile(
    r"^(?:(?:and|also|or|but|then|please)\b|以及|还有|那么|请教(?:一下)?|请问(?:一下)?|想问(?:一下)?|麻烦|请|并且|和|与|及|另外)\s*",
    re.I,
)


@dataclass(slots=True)
class Clause:
    """A clause: what it asks, in the question's words, and the names it is about.

    `bare` is the text without the names: it serves where the clause is about several.
    """

    text: str
    subjects: list[str] = field(default_factory=list)
    bare: str = ""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as understood: pieces, and whether their subjects are names (`proper`)."""

    pieces: tuple[Clause, ...]
    proper: bool


def read(question: str, corpus: Corpus) -> ParsedQuestion:
    """Splits a question. A question without any telling word gives no pieces."""
    question = _without_addresses(question.replace(_MARK, " "))
    names = _names(question, corpus)
    if names:
        return ParsedQuestion(tuple(_pieces(question, names)), True)
    pieces = [Clause(_clean(text)) for text in _whole(question, _clauses(question)) if _tells(text)]
    for piece in pieces[1:]:
        piece.subjects = [" ".join(keywords(pieces[0].text)[:4])]
    return ParsedQuestion(tuple(pieces), False)


def _without_addresses(question: str) -> str:
    """A question without the addresses of pages, whose letters are no words; the hosts of one that is
    nothing else."""
    rest = without_addresses(question)
    if re.search(r"[^\W_]", rest):
        return rest
    return without_addresses(question, lambda address: urlsplit(address).hostname or "")


def keywords(text: str) -> list[str]:
    """The words of a clause that a search should have."""
    kept: list[str] = []
    han, at = has_han(text), 0
    for match in [*matches(text), None]:
        end = match.start if match else len(text)
        kept += _written(text[at:end])
        if match:
            kept += [match.literal] if han or not match.asking else []
            at = match.end
    words = [w for w in kept if w.lower() not in STOP]
    return list(dict.fromkeys(words or kept))


def _written(text: str) -> list[str]:
    wanted = telling(text)
    if has_han(text):
        return _whole_words(list(wanted), text)
    return [p for p in re.findall(r"[\w'’-]+", text) if any(t in wanted for t in tokens(p))]


def _whole_words(words: Sequence[str], text: str) -> list[str]:
    """Words of a text that overlap in it as one: a name that no dictionary knows is cut into pairs."""
    out: list[str] = []
    for word in words:
        end = next(
            (n for n in range(len(word) - 1, 0, -1) if out and out[-1].endswith(word[:n])), 0
        )
        if end and out[-1] + word[end:] in text:
            out[-1] += word[end:]
        else:
            out.append(word)
    return out


def _tells(text: str) -> bool:
    return bool(matches(text)) or any(not idle(token) for token in tokens(text))


# Names


def _names(question: str, corpus: Corpus) -> list[tuple[int, int, str]]:
    """Start, end and text of the names in a question, in order, without overlap."""
    known = [name for name in corpus.names_in(question) if not generic(name)]
    spans = _places(question, known)
    for find in (_quoted, _latin_names, _chinese_names):
        more = [span for span in find(question) if not generic(span[2])]
        if find is _chinese_names:  # the tagger only guesses: not where a name is certain
            while more_beside := _equals(question, spans):
                spans += more_beside
            more = [s for s in more if not any(_together(question, s, k) for k in spans)]
        spans += [s for s in more if all(s[1] <= a or s[0] >= b for a, b, _ in spans)]
    plain = not has_han(question) and not compares(question)
    if len(spans) > 1 and plain:  # a capital at the beginning tells nothing
        spans = [s for s in spans if s[0] or s[2] in known or not s[2].isalpha() or has_han(s[2])]
    spans = _joined(question, sorted(spans))
    if compares(question):
        spans = sorted(spans + _equals(question, spans))
        return spans if len(spans) > 1 else _compared(question) or spans
    return _foremost(question, spans, corpus)


def compares(question: str) -> bool:
    """Whether a question sets things beside each other (比较, 区别, versus, taller than)."""
    return _COMPARES.search(simplified(question)) is not None


def _compared(question: str) -> list[tuple[int, int, str]]:
    """The two things that a Chinese question compares, be they known or not (甲和乙有什么区别)."""
    found = _TWO.search(question)
    return [(*found.span(n), found[n]) for n in (1, 2)] if found else []


def _equals(question: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """What stands beside the names, and is none of what every question asks."""
    return [
        one
        for one in _coordinate(question, sorted(spans))
        if all(one[1] <= a or one[0] >= b for a, b, _ in spans) and not generic(one[2])
    ]


_LEADS = "(?:请问|请|帮我|我想|想)?(?:比较|对比)?(?:一下)?"
_WITH = "(?:、|和|与|跟|同|及)"
_COMPARES = re.compile(
    r"比较|对比|相比|比起|区别|差别|不同|异同|分别|各自|比.{0,12}?[更高低大小长短多少早晚贵重好远近]|哪[个座家种本]"
    r"|\bcompar|\bversus\b|\bvs\b|\bdiffer|\bthan\b",
    re.I,
)
_COMPARING = re.compile(
    r"(?:请|帮我|我想)?(?:比较|对比)(?:一下)?(?:之间)?|相比(?:较|之下)?|比起来?|分别"
    r"|(?:之间)?(?:的|有)?(?:什么|何|哪些)?(?:区别|差别|不同|异同)(?:之处|点)?"
    r"|\b(?:please\s+)?compared?(?:\s+(?:to|with))?(?:\s+each other)?\b|\bversus\b|\bvs\b\.?"
    r"|\b(?:what(?:'s|’s| is| are)\s+)?(?:the\s+)?(?:main\s+)?differences?(?:\s+between)?\b",
    re.I,
)
_TWO = re.compile(
    rf"{_LEADS}([{HAN}A-Za-z0-9]{{2,12}}?){_WITH}([{HAN}A-Za-z0-9]{{2,12}}?)"
    r"(?=(?:相)?比|有(?:什么|何|哪些)(?:区别|差别|不同)|(?:之间)?的(?:区别|差别|不同|异同)|分别|各自|[，,]?\s*哪|[，,]?\s*谁)"
)
_BETWEEN = (
    r"(?:\s|[、，,;；]|和|与|跟|同|及|以及|还有|或者?|还是|比(?!较)|\band\b|\bor\b|\bas well as\b|\bplus\b|\bversus\b|\bvs\b\.?"
    r"|\bwith\b|\bto\b|\bthan\b|\bcompared\b|\bthe\b|&)"
)
_TOGETHER = re.compile(rf"{_MARK}(?:{_BETWEEN}+{_MARK})+")
_NEXT = re.compile(
    rf"\s*{_WITH}\s*([{HAN}A-Za-zÀ-ž0-9]{{2,10}}?)(?=在|的|哪|谁|各|分别|有|是|比|差|相|先|{_WITH}|[，。？?！：:]|$)"
)
_BEFORE = re.compile(rf"(?:^|[，。：、]){_LEADS}([{HAN}A-Za-zÀ-ž0-9]{{2,10}}?)\s*{_WITH}\s*$")


def _coordinate(
    question: str, names: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """What a Chinese question puts beside a name: a subject like it, be it known or not."""
    for start, end, _ in names:
        if match := _NEXT.match(question, end):
            yield match.start(1), match.end(1), match[1]
        if match := _BEFORE.search(question, 0, start):
            yield match.start(1), match.end(1), match[1]


def _foremost(
    question: str, spans: list[tuple[int, int, str]], corpus: Corpus
) -> list[tuple[int, int, str]]:
    """Of several names in one clause, the most telling: the others only say where or whence.

    Names in a row (A and B) are equals and are all kept.
    """
    out: list[tuple[int, int, str]] = []
    for span in spans:
        if out and _together(question, out[-1], span):
            if _rank(span[2], corpus) > _rank(out[-1][2], corpus):
                out[-1] = span
            continue
        out.append(span)
    return out


def _together(question: str, a: tuple[int, int, str], b: tuple[int, int, str]) -> bool:
    """Whether two stretches stand in one clause."""
    between = question[min(a[1], b[1]) : max(a[0], b[0])]
    return not _SPLIT.search(between) and not any(join in between for join in _JOINS)


def _rank(name: str, corpus: Corpus) -> float:
    """How telling a name is. One that no document has tells most: it must never be given up."""
    return max((corpus.idf(token) for token in tokens(name)), default=0.0)


def _places(question: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    taken: list[tuple[int, int, str]] = []
    folded = simplified(question)
    for name in names:
        words = r"\s+".join(re.escape(word) for word in simplified(name).split())
        edge = "" if has_han(name) else r"\b"
        for match in re.finditer(f"{edge}{words}{edge}", folded, re.I):
            if all(match.end() <= a or match.start() >= b for a, b, _ in taken):
                start, end = match.span()
                taken.append((start, end, question[start:end]))
    return sorted(taken)


def _quoted(question: str) -> list[tuple[int, int, str]]:
    found = [
        (m.start(), m.end(), (m.group(1) or m.group(2)).strip()) for m in _QUOTED.finditer(question)
    ]
    return [span for span in found if any(not idle(token) for token in tokens(span[2]))]


def _latin_names(question: str) -> list[tuple[int, int, str]]:
    if has_han(question):
        return [
            (m.start(), m.end(), m.group())
            for m in _LATIN_IN_HAN.finditer(question)
            if re.search(r"[A-ZÀ-Þ0-9]", m.group()) and m.group().lower() not in STOP
        ]
    found = []
    for match in _LATIN_NAME.finditer(question):
        name, start = match.group(), match.start()
        while name and name.split()[0].lower().rstrip(".") in _NOT_NAMES:
            head, _, rest = name.partition(" ")
            start += len(head) + 1
            name = rest
        if not start and name.partition(" ")[2].startswith("the "):  # Rank the Chinese provinces
            start = name.index(" the ") + len(" the ")
            name = name[start:]
        for suffix in ("’s", "'s", "."):
            name = name.removesuffix(suffix)
        if len(name) > 1 and name.lower() not in STOP and re.search(r"[^\W\d]", name):
            found.append((start, start + len(name), name))
    return found


def _chinese_names(question: str) -> list[tuple[int, int, str]]:
    found = []
    at = 0
    folded = simplified(question)
    known = set(segment.cut(folded, hmm=False))
    for word, tag in segment.tag(folded):
        start = folded.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        least = 3 if tag == "nr" else 2  # short words tagged as persons are mostly something else
        named = tag in ("nr", "ns", "nt") and len(word) >= least
        if named and word in known and has_han(word) and not _NOT_IN_NAMES.search(word):
            found.append((start, at, question[start:at]))
    return found


def _joined(question: str, spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Of names that stand side by side (杭州西湖) the last is meant; the one before locates it.

    The locating name stays in the text of the clause, so that it still counts in the search.
    """
    out: list[tuple[int, int, str]] = []
    for span in spans:
        if out and question[out[-1][1] : span[0]] in ("", "的", "市", "省", "市的", "省的", " "):
            out.pop()
        out.append(span)
    return out


# Clauses


def _clauses(text: str) -> list[str]:
    out: list[str] = []
    for piece in _SPLIT.split(text):
        current, at = "", 0
        for word in segment.cut(simplified(piece)) if has_han(piece) else [piece]:
            if word in _JOINS:
                out.append(current)
                current = ""
            else:
                current += piece[at : at + len(word)]
            at += len(word)
        out.append(current)
    return [piece.strip() for piece in out if piece.strip()]


def _whole(text: str, clauses: Sequence[str]) -> list[str]:
    """The clauses that ask something, each with those before it that only lead to it (In 1932, …); the
    last of these belongs to the clause before."""
    out: list[str] = []
    begin: int | None = None
    at = 0
    for clause in clauses:
        start = text.index(clause, at)
        if begin is not None and re.search(r"[。？！?!\n]", text[at:start]):
            out.append(text[begin:at])
            begin = None
        at = start + len(clause)
        begin = start if begin is None else begin
        bare = clause.replace(_MARK, " ")
        if matches(bare) or asks(bare) or (_MARK in clause and not _tells(bare)):
            out.append(text[begin:at])
            begin = None
    if begin is not None:
        first = text.rindex(out.pop(), 0, begin) if out else begin
        out.append(text[first:at])
    return out


def _clean(clause: str) -> str:
    text = re.sub(rf"(?<=[{HAN}])\s+(?=[{HAN}])", "", clause)
    text = re.sub(r"\s+", " ", text).strip().removeprefix("的")
    lead = _LEAD.match(simplified(text))
    return text[lead.end() if lead else 0 :].lstrip("，, ") or text


def _pieces(question: str, names: list[tuple[int, int, str]]) -> list[Clause]:
    masked, groups = _masked(question, names)
    comparing = compares(question) and len(names) > 1
    if comparing:
        masked = _COMPARING.sub(" ", masked)
    pieces: list[Clause] = []
    waiting: list[str] = []
    for clause in _whole(masked, _clauses(masked)):
        count = clause.count(_MARK)
        own, groups = [name for group in groups[:count] for name in group], groups[count:]
        rest = _SET_OFF.sub(" ", clause)
        if not _tells(rest) and not (comparing and asks(rest)):
            waiting += own
        else:
            named = len(own) == 1 and not waiting and not comparing
            text = clause.replace(_MARK, own[0]) if named else rest
            bare = _clean(_unmarked(rest))
            pieces.append(Clause(_clean(_unmarked(text)), waiting + own, bare))
            waiting = []
    if comparing:
        every = [name for _, _, name in names]
        pieces = [Clause(piece.bare, every, piece.bare) for piece in pieces]
        waiting = waiting if pieces else every
    return _shared(pieces, waiting)


def _masked(question: str, names: list[tuple[int, int, str]]) -> tuple[str, list[list[str]]]:
    """The question with a mark for each name, or for several that stand side by side; and those names."""
    masked, at = "", 0
    for start, end, _ in names:
        masked += question[at:start] + _MARK
        at = end
    masked += question[at:]
    queue = [name for _, _, name in names]
    groups: list[list[str]] = []
    at = 0
    out = ""
    for found in re.finditer(f"{_TOGETHER.pattern}|{_MARK}", masked, re.I):
        count = found[0].count(_MARK)
        groups.append(queue[:count])
        queue = queue[count:]
        out += masked[at : found.start()] + _MARK
        at = found.end()
    return out + masked[at:], groups


def _unmarked(text: str) -> str:
    """What is left of a clause without its names, less the word that led to them."""
    return re.sub(
        r"\s+(?:of|in|at|to|from|for|the|’s|'s)(?:\s+the)?\s*$", "", text.strip(), flags=re.I
    )


def _shared(pieces: list[Clause], waiting: list[str]) -> list[Clause]:
    """Clauses without a name of their own are about the last named, else the next named."""
    if not pieces:
        return [Clause("", [name]) for name in dict.fromkeys(waiting)]
    if waiting:  # the question ends with names: … of A and B
        pieces[-1].subjects += waiting
    last: list[str] = []
    for piece in pieces:
        piece.subjects = last = piece.subjects or last
    following: list[str] = []
    for piece in reversed(pieces):
        piece.subjects = following = piece.subjects or following
    for piece in pieces:
        piece.subjects = list(dict.fromkeys(piece.subjects))
    return pieces
