"""From the bytes of a page to its text, and from the text to the passages that speak to a query.

The bytes are a stranger's: nothing in them is believed without need, nothing that they refer to is
fetched, and there is no page that takes long to read. Knows nothing of the network.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import trafilatura
from lxml import etree

from research.language.sentences import ends as sentence_ends
from research.language.sentences import unwrapped
from research.language.text import LIGHT, idle, language, tokens
from research.records import Passage, fingerprint
from research.trouble import Trouble
from research.webpages import decoded, published, text_pieces, title, tree
from research.wire.plain import legible

LONGEST = 200_000  # characters of a page's text that are kept
WINDOW = 900  # characters of a passage
# With more elements finding the main text takes seconds, with very many it takes minutes.
ELEMENTS = 30_000


@dataclass(frozen=True)
class Page:
    """A page as it was read. `url` is where it was in the end, `published` the day that it states.

    Each paragraph of `text` is a line. `language` is a code such as "en", "zh" or "fr".
    """

    url: str
    title: str
    text: str
    published: date | None
    language: str


def read(data: bytes, url: str, *, charset: str = "", plain: bool = False, latest: date) -> Page:
    """The page that some bytes are. `charset` is what came with them, if anything did; nothing is
    published after `latest`.

    Raises:
        Trouble: there is no text in them.
    """
    try:
        text = decoded(data, charset)
    except UnicodeError as error:
        raise Trouble("malformed", str(error)) from None
    page = _plain(text, url) if plain else _web(text, url, latest)
    if not page.text:
        raise Trouble("empty", "there is no text on the page that can be read without a browser")
    return page


def _plain(text: str, url: str) -> Page:
    text = _tidy(unwrapped(text))
    first = text.partition("\n")[0]
    return Page(url, first if len(first) <= 80 else "", text, None, language(text))


def _web(text: str, url: str, latest: date) -> Page:
    try:
        root = tree(text)
    except (etree.LxmlError, ValueError):
        return Page(url, "", "", None, "")
    body = _main(root) or _tidy("".join(text_pieces(root)))
    stated = (day for day in published(root) if day <= latest)
    heading = " ".join(legible(title(root)).split())[:300]
    return Page(url, heading, body, next(stated, None), _language(root, body))


# Text

# What trafilatura has been seen to stumble over in broken pages, or may.
_STUMBLES = (
    etree.LxmlError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


def _main(tree: Any) -> str:
    """The main text of a page; "" if it cannot be told from the rest in a short time."""
    if sum(1 for _ in tree.iter()) > ELEMENTS:
        return ""
    try:
        found: Any = trafilatura.bare_extraction(tree, include_comments=False)
    except _STUMBLES:
        return ""
    return _tidy("".join(text_pieces(found.body))) if found and found.body is not None else ""


def _tidy(text: str) -> str:
    """Legible text, each paragraph a line, none empty; what is too long ends with a paragraph."""
    lines = (" ".join(line.split()) for line in legible(text[: 4 * LONGEST]).split("\n"))
    text = "\n".join(line for line in lines if line)
    if len(text) <= LONGEST:
        return text
    end = text.rfind("\n", LONGEST // 2, LONGEST)
    return text[: end if end > 0 else LONGEST]


def _language(tree: Any, text: str) -> str:
    """The language that a page declares, unless it is one of the two that can be told at sight."""
    declared = tree.get("lang") or tree.get("xml:lang") or ""
    stated = re.fullmatch(r"\s*([a-z]{2,3})(?:[-_].*)?", declared.lower())
    return stated[1] if stated and stated[1] not in ("zh", "en") else language(text)


# Passages


def passages(page: Page, query: str, limit: int) -> tuple[Passage, ...]:
    """The pieces of a page that speak most to a query, the best first; each stands in its text.

    If none has a word of the query, it is how the page begins.
    """
    windows = list(_windows(page.text))
    scores = _scores([page.text[start:end] for start, end in windows], query)
    ranked = sorted(range(len(windows)), key=lambda n: -scores[n])
    chosen = [n for n in ranked if scores[n] > 0] or ranked[:1]
    return tuple(_passage(page, *windows[n]) for n in chosen[: max(limit, 0)])


def _passage(page: Page, start: int, end: int) -> Passage:
    text = page.text[start:end]
    return Passage(id=fingerprint(page.url, str(start), text), text=text, start=start, end=end)


def _scores(texts: list[str], query: str) -> list[float]:
    """BM25 of each text among the others, with its usual constants; weak words count little."""
    asked = {word: 0.3 if word in LIGHT else 1.0 for word in tokens(query) if not idle(word)}
    counts = [Counter(tokens(text)) for text in texts]
    sizes = [count.total() for count in counts]
    usual = sum(sizes) / max(len(sizes), 1) or 1.0
    having = {word: sum(word in count for count in counts) for word in asked}
    weights = {
        word: weight * math.log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5))
        for word, weight in asked.items()
    }
    return [
        sum(
            weight * count[word] * 2.2 / (count[word] + 1.2 * (0.25 + 0.75 * size / usual))
            for word, weight in weights.items()
        )
        for count, size in zip(counts, sizes, strict=True)
    ]


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of stretches of whole paragraphs, or of whole sentences where one is too long.

    A short line without a full stop is taken for a heading: it goes with what it stands above.
    """
    open_: list[tuple[int, int]] = []
    for start, end in _pieces(text):
        if open_ and end - open_[0][0] > WINDOW:
            rest = open_[-1:] if len(open_) > 1 and _heads(text, *open_[-1]) else []
            kept = open_[: len(open_) - len(rest)]
            yield kept[0][0], kept[-1][1]
            open_ = rest if rest and end - rest[0][0] <= WINDOW else []
            if rest and not open_:
                yield rest[0]
        open_.append((start, end))
    if open_:
        yield open_[0][0], open_[-1][1]


def _heads(text: str, start: int, end: int) -> bool:
    return end - start <= 60 and text[end - 1] not in "。！？；，.!?;,:：…"


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, and the parts of those that are too long for one passage."""
    for line in re.finditer(r"[^\n]+", text):
        start, end = line.span()
        while end - start > WINDOW:
            cut = _cut(text, start)
            yield start, cut
            start = cut + (text[cut] == " ")
        yield start, end


def _cut(text: str, start: int) -> int:
    """Where a passage that begins at `start` ends: with a sentence, else with a word."""
    last = start + WINDOW
    ends = [*sentence_ends(text, start, last)]
    if ends and ends[-1] > start + WINDOW // 3:
        return ends[-1]
    space = text.rfind(" ", start + WINDOW // 3, last)
    return space if space > 0 else last
