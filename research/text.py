"""Words and sentences in Chinese and English: one tokeniser for the index and for the query.

SQLite's own tokenisers break Chinese silently: they take a whole clause for one word. So words are
cut here (rjieba's search mode for text with Han characters, word runs otherwise, English stems) and
handed to the index ready-made.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import pysbd
import rjieba
import snowballstemmer

from research.records import Language

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(r"\w+")
_SPLITTER = pysbd.Segmenter(language="en", clean=False)
# Characters that end a run of loose characters: they never belong to a name or a compound.
_PARTICLES = frozenset(
    "的了着过是在和与及或也都就还又很把被给让从到对向往于以而且但则若吗呢吧啊呀么之其这那哪个"
)

_STOP_WORDS = """
a an the and or but if of in on at to for from by with without about into over under between near as
is are was were be been being am do does did done has have had can could may might shall should will
would must i me my we our us you your he she it its they them their this that these those there here
what which who whom whose when where why how much many any some all each every more most other such
no not only own same so than too very just also please tell say know find give show want need like
s t d ll m o re ve y get
的 了 着 过 是 在 和 与 及 或 也 都 就 还 又 很 把 被 给 让 从 到 对 向 往 于 以 而 且 但 则 若 吗 呢 吧 啊 呀
什么 怎么 怎样 怎么样 如何 哪些 哪里 哪儿 哪个 哪天 多少 几点 几个 为什么 为何 是否 有没有 可以 能否 能不能 是不是
请问 请 告诉 我 我们 你 你们 他 她 它 他们 这 那 这个 那个 这些 那些 一下 一些 一个 有 没有 要 想 会 能 需要 应该
关于 以及 还是 或者 如果 因为 所以 但是 比较 最 更 时候 什么样 哪 多 几 个 去 来 做
"""

stem = lru_cache(200_000)(snowballstemmer.stemmer("english").stemWord)


def has_han(text: str) -> bool:
    return _HAN.search(text) is not None


def language(text: str) -> Language:
    """`zh` if Han characters carry the text, else `en`. One Han character weighs as much as a word."""
    han = len(_HAN.findall(text))
    latin = len(re.findall(r"[A-Za-z]{2,}", text))
    return "zh" if han and han >= latin else "en"


def fold(text: str) -> str:
    """Text as quotes are compared: NFKC, without any white space."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def _loose(run: str) -> list[str]:
    """Characters that the dictionary left single, as overlapping pairs: 遛娃 stays findable."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _cut(text: str, *, nested: bool) -> list[str]:
    out: list[str] = []
    run = ""
    for word in rjieba.cut_for_search(text) if nested else rjieba.cut(text):
        if len(word) == 1 and _HAN.match(word) and word not in _PARTICLES:
            run += word
            continue
        out += _loose(run)
        run = ""
        out.append(word)
    return out + _loose(run)


def tokens(text: str) -> list[str]:
    """Search terms in order: lower case, English stemmed, single letters and punctuation dropped.

    A long Chinese word also gives the words inside it: 博物院 is found by 博物 as well.
    """
    return _terms(text, nested=True)


def words(text: str) -> list[str]:
    """As `tokens`, without the words inside words: each stretch of text counts once."""
    return _terms(text, nested=False)


def _terms(text: str, *, nested: bool) -> list[str]:
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    text = re.sub(r"(?<=\w)'s\b", "", text)
    kept = []
    for word in _cut(text, nested=nested) if has_han(text) else _WORD.findall(text):
        if not _WORD.match(word) or (len(word) == 1 and not word.isdigit()):
            continue
        kept.append(stem(word) if word.isascii() else word)
    return kept


# Words that carry no meaning of their own in a question, as `tokens` spells them.
STOP = frozenset(_STOP_WORDS.split()) | {stem(word) for word in _STOP_WORDS.split()}


@lru_cache(4096)
def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Start and end (characters) of each sentence, in order, white space trimmed off.

    A line break always ends a sentence; within a line pysbd decides.
    """
    spans: list[tuple[int, int]] = []
    for line in re.finditer(r"[^\n]+", text):
        at = line.start()
        for piece in _SPLITTER.segment(line.group()):
            core = piece.strip()
            start = text.find(core, at, line.end()) if core else -1
            if start < 0:
                continue
            at = start + len(core)
            spans.append((start, at))
    return tuple(_closed(text, spans))


def _closed(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Gives a stray closing quote or bracket back to the sentence it closes."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        while out and start < end and text[start] in "”’」』）)】》\"'":
            if text[start] in "\"'" and out[-1][1] != start:
                break
            out[-1] = (out[-1][0], start + 1)
            start += 1
        while start < end and text[start].isspace():
            start += 1
        if start < end:
            out.append((start, end))
    return out
