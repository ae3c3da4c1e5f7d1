"""Rules that split a question into subjects, and into parts: what it asks about each subject.

The subject is a name: one that the documents contain, else one that is written like a name. Without
a name a question has no subject; its later clauses are then about the first clause's keywords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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

NameSpan = tuple[int, int, str]  # start and end offset of a name in a question, and its text
_NAME_MARK = "\ue000"  # replaces a name while clauses are split; private use, removed from input
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
    """A clause in the question's words, and the names that it is about.

    `text_without_names` is for a clause about several names.
    """

    text: str
    subjects: list[str] = field(default_factory=list)
    text_without_names: str = ""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The clauses of a question; `has_names` states whether their subjects are names."""

    clauses: tuple[Clause, ...]
    has_names: bool


def parse_question(question: str, corpus: Corpus) -> ParsedQuestion:
    """Split a question into clauses. A question of stop words only has none."""
    question = _strip_urls(question.replace(_NAME_MARK, " "))
    names = _find_names(question, corpus)
    if names:
        return ParsedQuestion(tuple(_build_clauses(question, names)), True)
    clauses = [
        Clause(_clean_clause(text))
        for text in _merge_lead_ins(question, _split_clauses(question))
        if _has_content(text)
    ]
    for clause in clauses[1:]:
        clause.subjects = [" ".join(extract_keywords(clauses[0].text)[:4])]
    return ParsedQuestion(tuple(clauses), False)


def _strip_urls(question: str) -> str:
    """Remove the URLs from a question; if nothing else is left, replace them by their hosts."""
    rest = replace_urls(question)
    if re.search(r"[^\W_]", rest):
        return rest
    return replace_urls(question, lambda address: urlsplit(address).hostname or "")


def extract_keywords(text: str) -> list[str]:
    """Return the words of a clause for a search query."""
    keywords: list[str] = []
    han, at = has_han(text), 0
    for match in [*find_concepts(text), None]:
        end = match.start if match else len(text)
        keywords += _content_words(text[at:end])
        if match:
            keywords += [match.literal] if han or not match.is_question_word else []
            at = match.end
    words = [w for w in keywords if w.lower() not in STOP_WORDS]
    return list(dict.fromkeys(words or keywords))


def _content_words(text: str) -> list[str]:
    content_tokens = word_weights(text)
    if has_han(text):
        return _merge_overlapping(list(content_tokens), text)
    return [word for word in re.findall(r"[\w'’-]+", text) if any(token in content_tokens for token in tokenize(word))]


def _merge_overlapping(words: Sequence[str], text: str) -> list[str]:
    """Merge words that overlap in a text: a name that is in no dictionary is cut into pairs."""
    merged: list[str] = []
    for word in words:
        end = next((n for n in range(len(word) - 1, 0, -1) if merged and merged[-1].endswith(word[:n])), 0)
        if end and merged[-1] + word[end:] in text:
            merged[-1] += word[end:]
        else:
            merged.append(word)
    return merged


def _has_content(text: str) -> bool:
    return bool(find_concepts(text)) or any(not is_stop_word(token) for token in tokenize(text))


# Names


def _find_names(question: str, corpus: Corpus) -> list[NameSpan]:
    """Find the names in a question, in order, without overlap."""
    known_names = [name for name in corpus.find_names(question) if not is_generic(name)]
    spans = _locate_names(question, known_names)
    spans += _new_names(_quoted_names(question), spans)
    spans += _new_names(_latin_names(question), spans)
    while coordinate_names := _coordinate_names(question, spans):
        spans += coordinate_names
    # The tagger only guesses, so its names do not count in a clause with a certain name.
    guesses = [s for s in _chinese_names(question) if not any(_is_same_clause(question, s, known) for known in spans)]
    spans += _new_names(guesses, spans)
    is_plain_english = not has_han(question) and not is_comparison(question)
    if len(spans) > 1 and is_plain_english:  # a first word is always capitalised
        spans = [s for s in spans if s[0] or s[2] in known_names or not s[2].isalpha() or has_han(s[2])]
    spans = _merge_adjacent_names(question, sorted(spans))
    if is_comparison(question):
        spans = sorted(spans + _coordinate_names(question, spans))
        return spans if len(spans) > 1 else _compared_pair(question) or spans
    return _rarest_names(question, spans, corpus)


def is_comparison(question: str) -> bool:
    """Return whether a question compares things (比较, 区别, versus, taller than)."""
    return _COMPARISON.search(to_simplified(question)) is not None


def _compared_pair(question: str) -> list[NameSpan]:
    """Return the two things that a Chinese question compares, known or not (甲和乙有什么区别)."""
    match = _COMPARED_PAIR.search(question)
    return [(*match.span(n), match[n]) for n in (1, 2)] if match else []


def _coordinate_names(question: str, spans: Sequence[NameSpan]) -> list[NameSpan]:
    """Return the new names that a conjunction joins to known ones."""
    return _new_names(_adjacent_names(question, sorted(spans)), spans)


def _new_names(names: Iterable[NameSpan], known: Sequence[NameSpan]) -> list[NameSpan]:
    """Return the names that are not generic and overlap no known name."""
    return [
        (start, end, text)
        for start, end, text in names
        if not is_generic(text) and all(end <= a or start >= b for a, b, _ in known)
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


def _adjacent_names(question: str, names: Sequence[NameSpan]) -> Iterator[NameSpan]:
    """Yield the texts that a Chinese question joins to a name by a conjunction, known or not."""
    for start, end, _ in names:
        if match := _NAME_AFTER.match(question, end):
            yield match.start(1), match.end(1), match[1]
        if match := _NAME_BEFORE.search(question, 0, start):
            yield match.start(1), match.end(1), match[1]


def _rarest_names(question: str, spans: list[NameSpan], corpus: Corpus) -> list[NameSpan]:
    """Keep the rarest of several names in a clause, as the others only locate it.

    Names in a row (A and B) are equals and are all kept.
    """
    names: list[NameSpan] = []
    for span in spans:
        if names and _is_same_clause(question, names[-1], span):
            if _name_weight(span[2], corpus) > _name_weight(names[-1][2], corpus):
                names[-1] = span
            continue
        names.append(span)
    return names


def _is_same_clause(question: str, a: NameSpan, b: NameSpan) -> bool:
    """Return whether two spans are in one clause."""
    between = question[min(a[1], b[1]) : max(a[0], b[0])]
    return not _CLAUSE_SEPARATOR.search(between) and not any(join in between for join in _CONJUNCTIONS)


def _name_weight(name: str, corpus: Corpus) -> float:
    """Return the largest inverse document frequency of a name's words: the rarer, the larger."""
    return max((corpus.idf(token) for token in tokenize(name)), default=0.0)


def _locate_names(question: str, names: Sequence[str]) -> list[NameSpan]:
    """Return every occurrence of the given names; where two overlap, the name given first is kept."""
    taken: list[NameSpan] = []
    folded = to_simplified(question)
    for name in names:
        words = r"\s+".join(re.escape(word) for word in to_simplified(name).split())
        edge = "" if has_han(name) else r"\b"
        for match in re.finditer(f"{edge}{words}{edge}", folded, re.I):
            if all(match.end() <= a or match.start() >= b for a, b, _ in taken):
                start, end = match.span()
                taken.append((start, end, question[start:end]))
    return sorted(taken)


def _quoted_names(question: str) -> list[NameSpan]:
    """Return the names in quotation marks or title brackets."""
    matches = [(m.start(), m.end(), (m.group(1) or m.group(2)).strip()) for m in _QUOTED_NAME.finditer(question)]
    return [span for span in matches if any(not is_stop_word(token) for token in tokenize(span[2]))]


def _latin_names(question: str) -> list[NameSpan]:
    """Return the capitalised names in Latin letters."""
    if has_han(question):
        return [
            (m.start(), m.end(), m.group())
            for m in _LATIN_IN_HAN.finditer(question)
            if re.search(r"[A-ZÀ-Þ0-9]", m.group()) and m.group().lower() not in STOP_WORDS
        ]
    names = []
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
            names.append((start, start + len(name), name))
    return names


def _chinese_names(question: str) -> list[NameSpan]:
    """Return the names of people, places and organisations that the Chinese tagger finds."""
    names = []
    at = 0
    folded = to_simplified(question)
    dictionary_words = set(segment.cut(folded, hmm=False))
    for word, tag in segment.tag(folded):
        start = folded.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        min_length = 3 if tag == "nr" else 2  # short "nr" words are rarely names
        is_name = tag in ("nr", "ns", "nt") and len(word) >= min_length
        if is_name and word in dictionary_words and has_han(word) and not _NON_NAME_CHARS.search(word):
            names.append((start, at, question[start:at]))
    return names


def _merge_adjacent_names(question: str, spans: list[NameSpan]) -> list[NameSpan]:
    """Keep the last of adjacent names (杭州西湖); the one before locates it.

    The locating name stays in the text of the clause, so that it still counts in the search.
    """
    names: list[NameSpan] = []
    for span in spans:
        if names and question[names[-1][1] : span[0]] in ("", "的", "市", "省", "市的", "省的", " "):
            names.pop()
        names.append(span)
    return names


# Clauses


def _split_clauses(text: str) -> list[str]:
    """Split a text at punctuation and conjunctions."""
    out: list[str] = []
    for part in _CLAUSE_SEPARATOR.split(text):
        current, at = "", 0
        for word in segment.cut(to_simplified(part)) if has_han(part) else [part]:
            if word in _CONJUNCTIONS:
                out.append(current)
                current = ""
            else:
                current += part[at : at + len(word)]
            at += len(word)
        out.append(current)
    return [part.strip() for part in out if part.strip()]


def _merge_lead_ins(text: str, clauses: Sequence[str]) -> list[str]:
    """Join each clause that asks something with the lead-ins before it ("In 1932, …").

    Lead-ins after the last such clause are appended to it.
    """
    merged: list[str] = []
    begin: int | None = None
    at = 0
    for clause in clauses:
        start = text.index(clause, at)
        if begin is not None and re.search(r"[。？！?!\n]", text[at:start]):
            merged.append(text[begin:at])
            begin = None
        at = start + len(clause)
        begin = start if begin is None else begin
        unmasked = clause.replace(_NAME_MARK, " ")
        if (
            find_concepts(unmasked)
            or has_question_word(unmasked)
            or (_NAME_MARK in clause and not _has_content(unmasked))
        ):
            merged.append(text[begin:at])
            begin = None
    if begin is not None:
        first = text.rindex(merged.pop(), 0, begin) if merged else begin
        merged.append(text[first:at])
    return merged


def _clean_clause(clause: str) -> str:
    """Remove superfluous white space and the words that lead into a clause."""
    text = re.sub(rf"(?<=[{HAN_RANGES}])\s+(?=[{HAN_RANGES}])", "", clause)
    text = re.sub(r"\s+", " ", text).strip().removeprefix("的")
    lead = _LEAD_IN.match(to_simplified(text))
    return text[lead.end() if lead else 0 :].lstrip("，, ") or text


def _build_clauses(question: str, names: list[NameSpan]) -> list[Clause]:
    """Split a question with names into clauses, each with the names that it is about."""
    masked, groups = _mask_names(question, names)
    comparing = is_comparison(question) and len(names) > 1
    if comparing:
        masked = _COMPARISON_PHRASE.sub(" ", masked)
    built: list[Clause] = []
    pending: list[str] = []
    for clause in _merge_lead_ins(masked, _split_clauses(masked)):
        count = clause.count(_NAME_MARK)
        clause_names, groups = [name for group in groups[:count] for name in group], groups[count:]
        rest = _MARK_WITH_PREPOSITION.sub(" ", clause)
        if not _has_content(rest) and not (comparing and has_question_word(rest)):
            pending += clause_names
        else:
            named = len(clause_names) == 1 and not pending and not comparing
            text = clause.replace(_NAME_MARK, clause_names[0]) if named else rest
            bare = _clean_clause(_strip_trailing_preposition(rest))
            built.append(Clause(_clean_clause(_strip_trailing_preposition(text)), pending + clause_names, bare))
            pending = []
    if comparing:
        all_names = [name for _, _, name in names]
        built = [Clause(text, all_names, text) for text in (clause.text_without_names for clause in built)]
        pending = pending if built else all_names
    return _share_subjects(built, pending)


def _mask_names(question: str, names: list[NameSpan]) -> tuple[str, list[list[str]]]:
    """Replace each name, or names in a row, by a mark. Return the text and each mark's names."""
    masked, at = "", 0
    for start, end, _ in names:
        masked += question[at:start] + _NAME_MARK
        at = end
    masked += question[at:]
    queue = [name for _, _, name in names]
    groups: list[list[str]] = []
    at = 0
    merged = ""
    for mark in re.finditer(f"{_NAME_SEQUENCE.pattern}|{_NAME_MARK}", masked, re.I):
        count = mark[0].count(_NAME_MARK)
        groups.append(queue[:count])
        queue = queue[count:]
        merged += masked[at : mark.start()] + _NAME_MARK
        at = mark.end()
    return merged + masked[at:], groups


def _strip_trailing_preposition(text: str) -> str:
    """Remove the preposition that preceded a removed name at the end of a clause."""
    return re.sub(r"\s+(?:of|in|at|to|from|for|the|’s|'s)(?:\s+the)?\s*$", "", text.strip(), flags=re.I)


def _share_subjects(clauses: list[Clause], pending_names: list[str]) -> list[Clause]:
    """Give clauses without a name the subjects of the last clause with one, else of the next."""
    if not clauses:
        return [Clause("", [name]) for name in dict.fromkeys(pending_names)]
    if pending_names:  # the question ends with names: "… of A and B"
        clauses[-1].subjects += pending_names
    last: list[str] = []
    for clause in clauses:
        clause.subjects = last = clause.subjects or last
    following: list[str] = []
    for clause in reversed(clauses):
        clause.subjects = following = clause.subjects or following
    for clause in clauses:
        clause.subjects = list(dict.fromkeys(clause.subjects))
    return clauses
