"""From the bytes of a page to its text, and from the text to the passages that speak to a query.

The bytes are a stranger's: nothing in them is believed without need, nothing that they refer to is
fetched, and there is no page that takes long to read. Knows nothing of the network.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any

import lxml.html
import trafilatura
from lxml import etree

from research.language.published import day
from research.language.sentences import ends as sentence_ends
from research.language.text import HAN, LIGHT, idle, language, tokens, unwrapped
from research.records import Passage, fingerprint
from research.trouble import Trouble
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
    text = decoded(data, charset)
    page = _plain(text, url) if plain else _web(text, url, latest)
    if not page.text:
        raise Trouble("empty", "there is no text on the page that can be read without a browser")
    return page


def _plain(text: str, url: str) -> Page:
    text = _tidy(unwrapped(text))
    first = text.partition("\n")[0]
    return Page(url, first if len(first) <= 80 else "", text, None, language(text))


def _web(text: str, url: str, latest: date) -> Page:
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    except (etree.LxmlError, ValueError):
        return Page(url, "", "", None, "")
    body = _main(tree) or _tidy("".join(_flat(tree)))
    return Page(url, _title(tree), body, _published(tree, latest), _language(tree, body))


# Characters

_DECLARED = re.compile(
    rb"""<(?:meta\b[^>]{0,500}?charset|\?xml\b[^>]{0,200}?encoding)\s*=\s*["']?\s*([\w.:-]+)""",
    re.I,
)
# Codecs for texts of the web; Python has others, which are no charsets or work for ever.
_KNOWN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|gb\w+|x-gbk|big5\S*|euc-\w+|shift[_-]jis|sjis|iso-8859-\d+|latin-?1"
    r"|windows-\d+|cp\d+|koi8-\w|ascii|us-ascii|tis-620"
)
# What these names mean on the web.
_WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "iso-8859-1": "cp1252",
    "latin-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252",
}  # fmt: skip
_ODD = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes, charset: str = "") -> str:
    """The text that some bytes are.

    What they are beyond doubt comes first, then what they say of themselves, then what their
    server says: many a server calls all it has Latin-1.

    Raises:
        Trouble: they are no text.
    """
    found = _DECLARED.search(data[:4_096])
    stated = [_codec(found[1].decode("ascii", "replace")) if found else "", _codec(charset)]
    marks = [codec for mark, codec in _MARKS if data.startswith(mark)]
    guesses = ["gb18030"] if _looks_chinese(data) else []
    for codec in filter(None, [*marks, "utf-8", *stated, *guesses]):
        try:
            text = data.decode(codec)
        except (LookupError, UnicodeError):
            continue
        if "\0" not in text:
            return text
    text = _damaged(data, next(filter(None, stated), ""))
    if "\0" in text or len(_ODD.findall(text)) > len(text) // 50:
        raise Trouble("malformed", "the page is no text")
    return text


def _damaged(data: bytes, codec: str) -> str:
    """The text of bytes that are not all valid. With nothing stated they are UTF-8 if more of it is
    right than wrong, else what browsers take for granted.
    """
    text = data.decode(codec or "utf-8", "replace")
    wrong = text.count("\ufffd")
    if codec or wrong <= sum(char > "\x7f" for char in text) - wrong:
        return text
    return data.decode("cp1252", "replace")


def _codec(name: str) -> str:
    """The codec of that name, "" if there is none for texts."""
    name = name.strip("\"' ").lower()
    try:
        return codecs.lookup(_WIDER.get(name, name)).name if _KNOWN.fullmatch(name) else ""
    except LookupError:
        return ""


def _looks_chinese(data: bytes) -> bool:
    """Whether the bytes beyond ASCII stand in pairs as those of GB2312 do."""
    high = sum(byte >= 0x80 for byte in data[:20_000])
    pairs = re.findall(rb"[\xa1-\xf7][\xa1-\xfe]", data[:20_000])
    return high > 0 and 2 * len(pairs) > 0.9 * high


# Text

_SKIPPED = {
    "button", "iframe", "nav", "noscript", "object", "script", "select", "style", "svg", "template",
    "textarea", "title",
}  # fmt: skip
_BLOCK_TAGS = (
    "address article aside blockquote body br caption dd div dl dt fieldset figcaption figure "
    "footer h1 h2 h3 h4 h5 h6 head header hr item lb li list main ol p pre quote row section table "
    "tr ul"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_CELLS = frozenset({"cell", "td", "th"})
_WIDE = re.compile(f"[{HAN}\u3001-\u303f\uff00-\uffef]")
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
    return _tidy("".join(_flat(found.body))) if found and found.body is not None else ""


def _flat(root: Any) -> Iterator[str]:
    """The text below an element in pieces: blocks on lines of their own, nothing that is hidden."""
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        edge = "\n" if node.tag in _BLOCKS else "\t" if node.tag in _CELLS else ""
        yield edge
        if event == "start" and node.tag in _SKIPPED:
            walker.skip_subtree()
        elif event == "start":
            yield _spaced(node, node.text)
        elif node is not root:
            yield _spaced(node.getparent(), node.tail)


def _spaced(parent: Any, text: str | None) -> str:
    """Line breaks of the source are spaces, and between Chinese characters nothing."""
    if not text or (parent is not None and parent.tag in ("pre", "code")):
        return text or ""
    return re.sub(r"\s+", _space, text)


def _space(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    wide = _WIDE.match(text[start - 1 : start]) and _WIDE.match(text[end : end + 1])
    return "" if wide and "\n" in run[0] else " "


def _tidy(text: str) -> str:
    """Legible text, each paragraph a line, none empty; what is too long ends with a paragraph."""
    lines = (" ".join(line.split()) for line in legible(text[: 4 * LONGEST]).split("\n"))
    text = "\n".join(line for line in lines if line)
    if len(text) <= LONGEST:
        return text
    end = text.rfind("\n", LONGEST // 2, LONGEST)
    return text[: end if end > 0 else LONGEST]


# What a page states about itself

_DATE_KEYS = (
    "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued",
    "dcterms.date", "dcterms.issued", "pubdate", "publishdate", "publish_date",
    "publication_date", "citation_publication_date",
)  # fmt: skip


def _title(tree: Any) -> str:
    named = [e.get("content") or "" for e in tree.iter("meta") if e.get("property") == "og:title"]
    titles = ("".join(e.itertext()) for tag in ("title", "h1") for e in tree.iter(tag))
    lines = (" ".join(legible(text).split()) for text in chain(named, titles))
    return next(filter(None, lines), "")[:300]


def _published(tree: Any, latest: date) -> date | None:
    """The day on which a page says that it was published.

    Only a whole day that is stated as this one: a copyright year, a day of the last change or a
    month alone, of which date finders make one, are not when something was published.
    """
    stated: dict[str, str] = {}
    for element in tree.iter("meta", "time"):
        for name in ("property", "name", "itemprop"):
            value = element.get("content") or element.get("datetime") or ""
            stated.setdefault((element.get(name) or "").strip().lower(), value)
    values = chain((stated.get(key, "") for key in _DATE_KEYS), _linked_data(tree))
    days = (day(value) for value in values)
    return next((found for found in days if found and found <= latest), None)


def _linked_data(tree: Any) -> Iterator[str]:
    """What the JSON-LD of a page gives as `datePublished`, of the page itself only."""
    for script in tree.iter("script"):
        if "ld+json" not in (script.get("type") or "").lower():
            continue
        try:
            found = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue
        for item in found if isinstance(found, list) else [found]:
            graph = item.get("@graph") if isinstance(item, dict) else None
            for node in [item, *(graph if isinstance(graph, list) else [])]:
                if isinstance(node, dict) and isinstance(node.get("datePublished"), str):
                    yield node["datePublished"]


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
