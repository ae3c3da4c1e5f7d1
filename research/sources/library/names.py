"""Names that documents give to things, and pairs of names for the same thing.

A document's title is a name. Two names are aliases if a document says so: `故宫博物院（The Palace
Museum）`, `the Summer Palace (颐和园)`, `also called the Forbidden City`, `又称紫禁城`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from research.core.text import segment
from research.core.text.hanzi import to_simplified
from research.core.text.sentences import find_sentence_ends as sentence_ends
from research.core.text.tokenizer import HAN_RANGES, tokenize

_BRACKET = re.compile(r"[（(]([^（）()]{2,60})[）)]")
_HAN_RUN = re.compile(f"[{HAN_RANGES}·]{{2,}}$")
_LATIN_NAME = re.compile(r"(?:[A-Z][\w'’.-]*)(?:\s+(?:of the|of|and|&|de|at)(?=\s+[A-Z])|\s+[A-Z][\w'’.-]*)*$")
_ALSO_CALLED = re.compile(
    r"(?:called|nicknamed|written|spelled|named|known\s+(?:\w+\s+)?as)\s+(?:the\s+)?"
    r"([A-Z][\w'’-]*(?:\s+(?:of|the|and)(?=\s+[A-Z])|\s+[A-Z][\w'’-]*)*)"
    f"|(?:又称|又名|亦称|也称|俗称|简称|也叫|昵称|别称|被称|称)(?:它|其|之)?(?:为|作|是)?[“「]?([{HAN_RANGES}]{{2,10}})"
)
_CALLED_PREFIX = re.compile(r"^.*(?:又称|又名|亦称|也称|俗称|简称|也叫|昵称|别称|被称|称)(?:它|其|之)?(?:为|作|是)?")
_KIND_SUFFIX = re.compile(
    r"(?:博物院|博物馆|国家公园|公园|度假区|风景名胜区|风景区|景区|乐园|大学|遗址|纪念馆|研究基地)$"
)
_AREA_SUFFIX = re.compile(r"\s+(?:scenic|tourist) (?:area|spot|site)$", re.I)
_MAX_LINE_CHARS = 2_000
_LEADING_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.I)


@lru_cache(10_000)
def name_key(name: str) -> str:
    """Normalise a name for comparison: NFKC, simplified, lower case, single spaces, no leading
    article.
    """
    folded = to_simplified(unicodedata.normalize("NFKC", name))
    folded = re.sub(r"[\s_]+", " ", folded).strip().casefold()
    return _LEADING_ARTICLE.sub("", folded).strip(" .,;:!?，。；：！？“”\"'")


def candidate_keys(question: str) -> Iterator[str]:
    """Yield keys of all parts of a question that may be names: 2 to 14 Han characters, 1 to 7
    words.
    """
    folded = to_simplified(unicodedata.normalize("NFKC", question))
    for run in re.findall(f"[{HAN_RANGES}·]+", folded):
        for size in range(min(14, len(run)), 1, -1):
            for start in range(len(run) - size + 1):
                yield run[start : start + size]
    words = re.findall(r"[\w'’.&-]+", re.sub(f"[{HAN_RANGES}]+", " ", folded))
    for size in range(min(7, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            key = name_key(" ".join(words[start : start + size]).removesuffix("'s").removesuffix("’s"))
            if len(key) > 1:
                yield key


def extract_title_names(title: str) -> list[str]:
    """Return the names in a title: the whole, its part before a colon or dash, bracketed names."""
    bracketed = [m.group(1) for m in _BRACKET.finditer(title)]
    unbracketed = _BRACKET.sub(" ", title)
    first = re.split(r"[:：|｜—]|\s[-–]\s", unbracketed)[0]
    kind = _KIND_SUFFIX.search(to_simplified(first))
    out: dict[str, str] = {}
    for name in (unbracketed, first, first[: kind.start() if kind else None], *bracketed):
        name = _LEADING_ARTICLE.sub("", re.sub(r"\s+", " ", name).strip())
        if 2 <= len(name) <= 60 and tokenize(name):
            out.setdefault(name_key(name), name)
    return list(out.values())


def extract_aliases(title: str, text: str) -> list[tuple[str, str]]:
    """Return the distinct pairs of names that a document uses for the same thing."""
    pairs: dict[tuple[str, str], tuple[str, str]] = {}

    def add_pair(first: str, second: str) -> None:
        keys = (name_key(first), name_key(second))
        if keys[0] and keys[1] and keys[0] != keys[1]:
            pairs.setdefault(keys, (first, second))

    titles = extract_title_names(title)
    for other in titles[1:]:
        if name_key(other) in name_key(" ".join(_BRACKET.findall(title))):
            add_pair(titles[0], other)
    for line in _split_lines(text):
        named: list[tuple[int, str]] = []
        for match in _BRACKET.finditer(line):
            preceding_text = line[: match.start()].rstrip()
            name = _find_name_before(preceding_text, titles)
            inside = match.group(1).strip()
            if name and _is_other_script(name, inside):
                add_pair(name, _LEADING_ARTICLE.sub("", inside))
                add_pair(name, _LEADING_ARTICLE.sub("", _AREA_SUFFIX.sub("", inside)))
                named.append((match.end(), name))
        for match in _ALSO_CALLED.finditer(to_simplified(line)):
            subject = _find_subject(line[: match.start()], titles, named)
            if subject:
                start, end = match.span(match.lastindex or 0)
                add_pair(subject, line[start:end].strip())
    return list(pairs.values())


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, long ones in pieces, to keep matching time linear."""
    for line in text.splitlines():
        for start in range(0, len(line), _MAX_LINE_CHARS):
            yield line[start : start + _MAX_LINE_CHARS]


def _find_subject(preceding_text: str, titles: list[str], earlier_names: list[tuple[int, str]]) -> str:
    """Return the latest name in the sentence that continues with "also called", or ""."""
    start = max(sentence_ends(preceding_text), default=0)
    names_in_sentence = [name for end, name in earlier_names if start < end <= len(preceding_text)]
    if names_in_sentence:
        return names_in_sentence[-1]
    key = name_key(preceding_text[start:])
    return next((t for t in titles if name_key(t) in key), "")


def _find_name_before(preceding_text: str, titles: list[str]) -> str:
    """Return the name at the end of a text: one of the titles, a Latin or a Chinese name; "" if there is
    none."""
    for title in titles:
        if to_simplified(preceding_text).casefold().endswith(to_simplified(title).casefold()):
            return title
    if latin := _LATIN_NAME.search(preceding_text):
        return _LEADING_ARTICLE.sub("", latin.group())
    if han := _HAN_RUN.search(preceding_text):
        return _trailing_nouns(_CALLED_PREFIX.sub("", han.group()))
    return ""


def _trailing_nouns(han_run: str) -> str:
    """Return the nouns at the end of a Chinese text: 位于北京的故宫博物院 gives 故宫博物院."""
    start = len(han_run)
    for word, tag in reversed(segment.tag(to_simplified(han_run))):
        if not tag.startswith(("n", "j", "l", "z", "b", "vn", "i")):
            break
        start -= len(word)
    name = han_run[start:]
    return name if 2 <= len(name) <= 14 else ""


def _is_other_script(name: str, bracketed: str) -> bool:
    """Return True if a bracket holds a plausible name in the other script (Han or Latin)."""
    if re.search(f"[{HAN_RANGES}]", name):
        return re.fullmatch(r"(?:[Tt]he )?[A-Z][A-Za-z'’.& -]{1,58}", bracketed) is not None
    return re.fullmatch(f"[{HAN_RANGES}·]{{2,14}}", bracketed) is not None
