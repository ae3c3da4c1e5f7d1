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
from research.agent.extractive.concepts import find_concepts, is_generic
from research.agent.extractive.quote_selection import has_question_word
from research.agent.reasoner import Corpus
from research.core.text import segment
from research.core.text.hanzi import to_simplified
from research.core.text.numbers import HAN_DIGITS
from research.core.text.sentences import CLAUSE_END_PATTERN
from research.core.text.tokenizer import HAN_RANGES, STOP_WORDS, has_han, is_stop_word, tokenize, word_weights
from research.core.urls import replace_urls

_NAME_MARK = "\ue000"  # stands for a subject while clauses are split; private use, removed from input
_MARK_WITH_PREPOSITION = re.compile(rf"(?:\b(?:of|between|in|at|for|the)\s+)*{_NAME_MARK}(?:[’']s)?", re.I)
_CLAUSE_SEPARATOR = re.compile(
    rf"{CLAUSE_END_PATTERN.pattern}|[、：]|:(?=\s)"
    r"|\b(?:as well as|and|or|plus|versus|vs\.?)\b|(?<=\s)&(?=\s)",
    re.I,
)
_CONJUNCTIONS = frozenset(data.words("questions")["joins"].split("|"))
_QUOTED_NAME = re.compile(r"[“「『《]([^”」』》]{2,40})[”」』》]|\"([^\"]{2,40})\"")
_LATIN_NAME = re.compile(r"\b[A-Z][\w’'.-]*(?:\s+(?:of\s+the|of|the|de|at)(?=\s+[A-Z])|\s+[A-Z0-9][\w’'.-]*)*")
_LATIN_IN_HAN = re.compile(r"[A-Za-zÀ-ž][A-Za-zÀ-ž0-9.+#-]*(?:\s+[A-ZÀ-Þ][A-Za-zÀ-ž0-9.+#-]*)*")
_NON_NAMES = frozenset(data.words("questions")["not names"].split("|"))
_NON_NAME_CHARS = re.compile(rf"[0-9{HAN_DIGITS}十百几半]|^[刚带坐不未有去到从]")
_LEAD_IN = re.compile(
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
    text_without_names: str = ""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as understood: pieces, and whether their subjects are names (`proper`)."""

    clauses: tuple[Clause, ...]
    has_names: bool


def parse_question(question: str, corpus: Corpus) -> ParsedQuestion:
    """Splits a question. A question without any telling word gives no pieces."""
    question = _strip_urls(question.replace(_NAME_MARK, " "))
    names = _find_names(question, corpus)
    if names:
        return ParsedQuestion(tuple(_build_clauses(question, names)), True)
    pieces = [
        Clause(_clean_clause(text))
        for text in _merge_lead_ins(question, _split_clauses(question))
        if _has_content(text)
    ]
    for piece in pieces[1:]:
        piece.subjects = [" ".join(extract_keywords(pieces[0].text)[:4])]
    return ParsedQuestion(tuple(pieces), False)


def _strip_urls(question: str) -> str:
    """A question without the addresses of pages, whose letters are no words; the hosts of one that is
    nothing else."""
    rest = replace_urls(question)
    if re.search(r"[^\W_]", rest):
        return rest
    return replace_urls(question, lambda address: urlsplit(address).hostname or "")


def extract_keywords(text: str) -> list[str]:
    """The words of a clause that a search should have."""
    kept: list[str] = []
    han, at = has_han(text), 0
    for match in [*find_concepts(text), None]:
        end = match.start if match else len(text)
        kept += _content_words(text[at:end])
        if match:
            kept += [match.literal] if han or not match.is_question_word else []
            at = match.end
    words = [w for w in kept if w.lower() not in STOP_WORDS]
    return list(dict.fromkeys(words or kept))


def _content_words(text: str) -> list[str]:
    wanted = word_weights(text)
    if has_han(text):
        return _merge_overlapping(list(wanted), text)
    return [p for p in re.findall(r"[\w'’-]+", text) if any(t in wanted for t in tokenize(p))]


def _merge_overlapping(words: Sequence[str], text: str) -> list[str]:
    """Words of a text that overlap in it as one: a name that no dictionary knows is cut into pairs."""
    out: list[str] = []
    for word in words:
        end = next((n for n in range(len(word) - 1, 0, -1) if out and out[-1].endswith(word[:n])), 0)
        if end and out[-1] + word[end:] in text:
            out[-1] += word[end:]
        else:
            out.append(word)
    return out


def _has_content(text: str) -> bool:
    return bool(find_concepts(text)) or any(not is_stop_word(token) for token in tokenize(text))


# Names


def _find_names(question: str, corpus: Corpus) -> list[tuple[int, int, str]]:
    """Start, end and text of the names in a question, in order, without overlap."""
    known = [name for name in corpus.find_names(question) if not is_generic(name)]
    spans = _locate_names(question, known)
    for find in (_quoted_names, _latin_names, _chinese_names):
        more = [span for span in find(question) if not is_generic(span[2])]
        if find is _chinese_names:  # the tagger only guesses: not where a name is certain
            while more_beside := _coordinate_names(question, spans):
                spans += more_beside
            more = [s for s in more if not any(_is_same_clause(question, s, k) for k in spans)]
        spans += [s for s in more if all(s[1] <= a or s[0] >= b for a, b, _ in spans)]
    plain = not has_han(question) and not is_comparison(question)
    if len(spans) > 1 and plain:  # a capital at the beginning tells nothing
        spans = [s for s in spans if s[0] or s[2] in known or not s[2].isalpha() or has_han(s[2])]
    spans = _merge_adjacent_names(question, sorted(spans))
    if is_comparison(question):
        spans = sorted(spans + _coordinate_names(question, spans))
        return spans if len(spans) > 1 else _compared_pair(question) or spans
    return _most_telling_names(question, spans, corpus)


def is_comparison(question: str) -> bool:
    """Whether a question sets things beside each other (比较, 区别, versus, taller than)."""
    return _COMPARISON.search(to_simplified(question)) is not None


def _compared_pair(question: str) -> list[tuple[int, int, str]]:
    """The two things that a Chinese question compares, be they known or not (甲和乙有什么区别)."""
    found = _COMPARED_PAIR.search(question)
    return [(*found.span(n), found[n]) for n in (1, 2)] if found else []


def _coordinate_names(question: str, spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """What stands beside the names, and is none of what every question asks."""
    return [
        one
        for one in _adjacent_names(question, sorted(spans))
        if all(one[1] <= a or one[0] >= b for a, b, _ in spans) and not is_generic(one[2])
    ]


_LEAD_IN_WORDS = "(?:请问|请|帮我|我想|想)?(?:比较|对比)?(?:一下)?"
_COORDINATORS = "(?:、|和|与|跟|同|及)"
_COMPARISON = re.compile(
    r"比较|对比|相比|比起|区别|差别|不同|异同|分别|各自|比.{0,12}?[更高低大小长短多少早晚贵重好远近]|哪[个座家种本]"
    r"|\bcompar|\bversus\b|\bvs\b|\bdiffer|\bthan\b",
    re.I,
)
_COMPARISON_PHRASE = re.compile(
    r"(?:请|帮我|我想)?(?:比较|对比)(?:一下)?(?:之间)?|相比(?:较|之下)?|比起来?|分别"
    r"|(?:之间)?(?:的|有)?(?:什么|何|哪些)?(?:区别|差别|不同|异同)(?:之处|点)?"
    r"|\b(?:please\s+)?compared?(?:\s+(?:to|with))?(?:\s+each other)?\b|\bversus\b|\bvs\b\.?"
    r"|\b(?:what(?:'s|’s| is| are)\s+)?(?:the\s+)?(?:main\s+)?differences?(?:\s+between)?\b",
    re.I,
)
_COMPARED_PAIR = re.compile(
    rf"{_LEAD_IN_WORDS}([{HAN_RANGES}A-Za-z0-9]{{2,12}}?){_COORDINATORS}([{HAN_RANGES}A-Za-z0-9]{{2,12}}?)"
    r"(?=(?:相)?比|有(?:什么|何|哪些)(?:区别|差别|不同)|(?:之间)?的(?:区别|差别|不同|异同)|分别|各自|[，,]?\s*哪|[，,]?\s*谁)"
)
_BETWEEN_NAMES = (
    r"(?:\s|[、，,;；]|和|与|跟|同|及|以及|还有|或者?|还是|比(?!较)|\band\b|\bor\b|\bas well as\b|\bplus\b|\bversus\b|\bvs\b\.?"
    r"|\bwith\b|\bto\b|\bthan\b|\bcompared\b|\bthe\b|&)"
)
_NAME_SEQUENCE = re.compile(rf"{_NAME_MARK}(?:{_BETWEEN_NAMES}+{_NAME_MARK})+")
_NAME_AFTER = re.compile(
    rf"\s*{_COORDINATORS}\s*([{HAN_RANGES}A-Za-zÀ-ž0-9]{{2,10}}?)(?=在|的|哪|谁|各|分别|有|是|比|差|相|先|{_COORDINATORS}|[，。？?！：:]|$)"
)
_NAME_BEFORE = re.compile(
    rf"(?:^|[，。：、]){_LEAD_IN_WORDS}([{HAN_RANGES}A-Za-zÀ-ž0-9]{{2,10}}?)\s*{_COORDINATORS}\s*$"
)


def _adjacent_names(question: str, names: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """What a Chinese question puts beside a name: a subject like it, be it known or not."""
    for start, end, _ in names:
        if match := _NAME_AFTER.match(question, end):
            yield match.start(1), match.end(1), match[1]
        if match := _NAME_BEFORE.search(question, 0, start):
            yield match.start(1), match.end(1), match[1]


def _most_telling_names(question: str, spans: list[tuple[int, int, str]], corpus: Corpus) -> list[tuple[int, int, str]]:
    """Of several names in one clause, the most telling: the others only say where or whence.

    Names in a row (A and B) are equals and are all kept.
    """
    out: list[tuple[int, int, str]] = []
    for span in spans:
        if out and _is_same_clause(question, out[-1], span):
            if _name_weight(span[2], corpus) > _name_weight(out[-1][2], corpus):
                out[-1] = span
            continue
        out.append(span)
    return out


def _is_same_clause(question: str, a: tuple[int, int, str], b: tuple[int, int, str]) -> bool:
    """Whether two stretches stand in one clause."""
    between = question[min(a[1], b[1]) : max(a[0], b[0])]
    return not _CLAUSE_SEPARATOR.search(between) and not any(join in between for join in _CONJUNCTIONS)


def _name_weight(name: str, corpus: Corpus) -> float:
    """How telling a name is. One that no document has tells most: it must never be given up."""
    return max((corpus.idf(token) for token in tokenize(name)), default=0.0)


def _locate_names(question: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    taken: list[tuple[int, int, str]] = []
    folded = to_simplified(question)
    for name in names:
        words = r"\s+".join(re.escape(word) for word in to_simplified(name).split())
        edge = "" if has_han(name) else r"\b"
        for match in re.finditer(f"{edge}{words}{edge}", folded, re.I):
            if all(match.end() <= a or match.start() >= b for a, b, _ in taken):
                start, end = match.span()
                taken.append((start, end, question[start:end]))
    return sorted(taken)


def _quoted_names(question: str) -> list[tuple[int, int, str]]:
    found = [(m.start(), m.end(), (m.group(1) or m.group(2)).strip()) for m in _QUOTED_NAME.finditer(question)]
    return [span for span in found if any(not is_stop_word(token) for token in tokenize(span[2]))]


def _latin_names(question: str) -> list[tuple[int, int, str]]:
    if has_han(question):
        return [
            (m.start(), m.end(), m.group())
            for m in _LATIN_IN_HAN.finditer(question)
            if re.search(r"[A-ZÀ-Þ0-9]", m.group()) and m.group().lower() not in STOP_WORDS
        ]
    found = []
    for match in _LATIN_NAME.finditer(question):
        name, start = match.group(), match.start()
        while name and name.split()[0].lower().rstrip(".") in _NON_NAMES:
            head, _, rest = name.partition(" ")
            start += len(head) + 1
            name = rest
        if not start and name.partition(" ")[2].startswith("the "):  # Rank the Chinese provinces
            start = name.index(" the ") + len(" the ")
            name = name[start:]
        for suffix in ("’s", "'s", "."):
            name = name.removesuffix(suffix)
        if len(name) > 1 and name.lower() not in STOP_WORDS and re.search(r"[^\W\d]", name):
            found.append((start, start + len(name), name))
    return found


def _chinese_names(question: str) -> list[tuple[int, int, str]]:
    found = []
    at = 0
    folded = to_simplified(question)
    known = set(segment.cut(folded, hmm=False))
    for word, tag in segment.tag(folded):
        start = folded.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        least = 3 if tag == "nr" else 2  # short words tagged as persons are mostly something else
        named = tag in ("nr", "ns", "nt") and len(word) >= least
        if named and word in known and has_han(word) and not _NON_NAME_CHARS.search(word):
            found.append((start, at, question[start:at]))
    return found


def _merge_adjacent_names(question: str, spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
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


def _split_clauses(text: str) -> list[str]:
    out: list[str] = []
    for piece in _CLAUSE_SEPARATOR.split(text):
        current, at = "", 0
        for word in segment.cut(to_simplified(piece)) if has_han(piece) else [piece]:
            if word in _CONJUNCTIONS:
                out.append(current)
                current = ""
            else:
                current += piece[at : at + len(word)]
            at += len(word)
        out.append(current)
    return [piece.strip() for piece in out if piece.strip()]


def _merge_lead_ins(text: str, clauses: Sequence[str]) -> list[str]:
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
        bare = clause.replace(_NAME_MARK, " ")
        if find_concepts(bare) or has_question_word(bare) or (_NAME_MARK in clause and not _has_content(bare)):
            out.append(text[begin:at])
            begin = None
    if begin is not None:
        first = text.rindex(out.pop(), 0, begin) if out else begin
        out.append(text[first:at])
    return out


def _clean_clause(clause: str) -> str:
    text = re.sub(rf"(?<=[{HAN_RANGES}])\s+(?=[{HAN_RANGES}])", "", clause)
    text = re.sub(r"\s+", " ", text).strip().removeprefix("的")
    lead = _LEAD_IN.match(to_simplified(text))
    return text[lead.end() if lead else 0 :].lstrip("，, ") or text


def _build_clauses(question: str, names: list[tuple[int, int, str]]) -> list[Clause]:
    masked, groups = _mask_names(question, names)
    comparing = is_comparison(question) and len(names) > 1
    if comparing:
        masked = _COMPARISON_PHRASE.sub(" ", masked)
    pieces: list[Clause] = []
    waiting: list[str] = []
    for clause in _merge_lead_ins(masked, _split_clauses(masked)):
        count = clause.count(_NAME_MARK)
        own, groups = [name for group in groups[:count] for name in group], groups[count:]
        rest = _MARK_WITH_PREPOSITION.sub(" ", clause)
        if not _has_content(rest) and not (comparing and has_question_word(rest)):
            waiting += own
        else:
            named = len(own) == 1 and not waiting and not comparing
            text = clause.replace(_NAME_MARK, own[0]) if named else rest
            bare = _clean_clause(_strip_trailing_preposition(rest))
            pieces.append(Clause(_clean_clause(_strip_trailing_preposition(text)), waiting + own, bare))
            waiting = []
    if comparing:
        every = [name for _, _, name in names]
        pieces = [Clause(piece.text_without_names, every, piece.text_without_names) for piece in pieces]
        waiting = waiting if pieces else every
    return _share_subjects(pieces, waiting)


def _mask_names(question: str, names: list[tuple[int, int, str]]) -> tuple[str, list[list[str]]]:
    """The question with a mark for each name, or for several that stand side by side; and those names."""
    masked, at = "", 0
    for start, end, _ in names:
        masked += question[at:start] + _NAME_MARK
        at = end
    masked += question[at:]
    queue = [name for _, _, name in names]
    groups: list[list[str]] = []
    at = 0
    out = ""
    for found in re.finditer(f"{_NAME_SEQUENCE.pattern}|{_NAME_MARK}", masked, re.I):
        count = found[0].count(_NAME_MARK)
        groups.append(queue[:count])
        queue = queue[count:]
        out += masked[at : found.start()] + _NAME_MARK
        at = found.end()
    return out + masked[at:], groups


def _strip_trailing_preposition(text: str) -> str:
    """What is left of a clause without its names, less the word that led to them."""
    return re.sub(r"\s+(?:of|in|at|to|from|for|the|’s|'s)(?:\s+the)?\s*$", "", text.strip(), flags=re.I)


def _share_subjects(clauses: list[Clause], pending_names: list[str]) -> list[Clause]:
    """Clauses without a name of their own are about the last named, else the next named."""
    if not clauses:
        return [Clause("", [name]) for name in dict.fromkeys(pending_names)]
    if pending_names:  # the question ends with names: … of A and B
        clauses[-1].subjects += pending_names
    last: list[str] = []
    for piece in clauses:
        piece.subjects = last = piece.subjects or last
    following: list[str] = []
    for piece in reversed(clauses):
        piece.subjects = following = piece.subjects or following
    for piece in clauses:
        piece.subjects = list(dict.fromkeys(piece.subjects))
    return clauses
