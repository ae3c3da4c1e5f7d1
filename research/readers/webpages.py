"""A web page: from its bytes to its tree, the text in that, and what it states about itself.

The bytes are a stranger's: nothing in them is believed without need, and nothing that they refer to is
fetched. Knows neither where a page comes from nor what becomes of it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from datetime import date
from itertools import chain
from typing import Any, Literal

import lxml.html
from lxml import etree

from research.core.text.publication_dates import MIN_YEAR, parse_publication_day
from research.core.text.tokenizer import HAN_RANGES

MAX_ATTRIBUTES = 200  # of an element; the time that parsers take grows with the square of them
MAX_ELEMENTS = 500_000
MAX_UNCHECKED_ELEMENTS = 30_000  # elements of a page whose main text is always looked for
MIN_CHARS_PER_ELEMENT = 60  # characters for each element; a page of more elements than that is not looked through
_QUOTED_VALUE = r"""=\s*+(?:"[^"]*+"|'[^']*+')"""
# Tags, and what may look like one and is none. Each character is passed once.
_MARKUP_PATTERN = re.compile(
    rf"""<!--.*?(?:-->|\Z)
    |<(script|style|textarea|title|iframe|noembed|noframes|xmp)\b[^>]*+>.*?(?:</\1|\Z)
    |<[a-z](?P<tag>(?:[^>=]++|{_QUOTED_VALUE}|=)*+)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


PageLimit = Literal["attributes", "elements"]


class PageLimitError(ValueError):
    """A page with more `shape` than parsers get through in seconds."""

    def __init__(self, limit: PageLimit) -> None:
        self.limit: PageLimit = limit
        super().__init__(
            f"An element has more than {MAX_ATTRIBUTES} attributes"
            if limit == "attributes"
            else f"The page has more than {MAX_ELEMENTS:,} elements"
        )


def check_page_limits(text: str) -> None:
    """Refuses markup over which parsers spend minutes.

    Raises:
        ShapeError: an element has too many attributes, or there are too many elements.
    """
    elements = 0
    for found in _MARKUP_PATTERN.finditer(text):
        tag = found["tag"]
        elements += tag is not None
        if tag and len(tag) > MAX_ATTRIBUTES:
            bare = re.sub(_QUOTED_VALUE, "= ", tag)
            if max(bare.count("="), len(re.split(r"[\s/]+", bare))) > MAX_ATTRIBUTES:
                raise PageLimitError("attributes")
        if elements > MAX_ELEMENTS:
            raise PageLimitError("elements")


def is_dense(root: Any, character_count: int) -> bool:
    """Return whether a page of `size` characters has so many elements that extracting its main text
    would take minutes."""
    return sum(1 for _ in root.iter()) > max(MAX_UNCHECKED_ELEMENTS, character_count // MIN_CHARS_PER_ELEMENT)


def parse_html(text: str, *, require_complete: bool = False) -> Any:
    """The tree of a page, or of a piece of one, without comments. What is nested too deep for the parser
    is left out, unless it has to be `whole`.

    Raises:
        lxml.etree.LxmlError: there is no element in it.
        ValueError: it holds characters that no page can have.
        RecursionError: it has to be whole, and is not.
        ShapeError: parsing it would take very long.
    """
    check_page_limits(text)
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
    found = lxml.html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    if require_complete and any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise RecursionError("the page is nested too deep")
    _remove_ruby_readings(found)
    return found


def _remove_ruby_readings(root: Any) -> None:
    """Take out the readings that stand above characters (<rt>) and their brackets (<rp>): they are no
    part of the words. Source: https://html.spec.whatwg.org/multipage/text-level-semantics.html.
    """
    for base in [*root.iterfind(".//rt//rb")]:  # the end tag of <rt> may be left out before <rb>
        reading = next(base.iterancestors("ruby"), base.getparent())
        reading.append(base)
    etree.strip_elements(root, "rt", "rp", "rtc", with_tail=False)
    outermost = root.xpath("descendant-or-self::ruby[not(ancestor::ruby)]")
    for ruby in outermost:  # the source may have each part on a line of its own
        for node in ruby.iter():
            node.text = _SPACE_BESIDE_WIDE_PATTERN.sub("", node.text or "")
            if node is not ruby:
                node.tail = _SPACE_BESIDE_WIDE_PATTERN.sub("", node.tail or "")
    etree.strip_tags(root, "ruby", "rb", "rbc")


# Characters

_DECLARED_CHARSET_PATTERN = re.compile(
    rb"""<(?:meta\b[^>]{0,500}?charset|\?xml\b[^>]{0,200}?encoding)\s*=\s*["']?\s*([\w.:-]+)""",
    re.I,
)
# Codecs for texts of the web; Python has others, which are no charsets or work for ever.
_KNOWN_CHARSET_PATTERN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|gb\w+|x-gbk|big5\S*|euc-\w+|shift[_-]jis|sjis|iso-8859-\d+|latin-?1"
    r"|windows-\d+|cp\d+|koi8-\w|ascii|us-ascii|tis-620"
)
# What these names mean on the web.
_CHARSET_ALIASES = {
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "iso-8859-1": "cp1252",
    "latin-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252",
}  # fmt: skip
_ODD_CHARS = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode_page(data: bytes, charset: str = "") -> str:
    """The text that some bytes are.

    What they are beyond doubt comes first, then what they say of themselves, then what their
    server says: many a server calls all it has Latin-1.

    Raises:
        UnicodeError: they are no text.
    """
    found = _DECLARED_CHARSET_PATTERN.search(data[:4_096])
    stated = [_find_codec(found[1].decode("ascii", "replace")) if found else "", _find_codec(charset)]
    marks = [codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)]
    guesses = ["gb18030"] if is_probably_gb2312(data) else []
    for codec in filter(None, [*marks, "utf-8", *stated, *guesses]):
        try:
            text = data.decode(codec)
        except (LookupError, UnicodeError):
            continue
        if "\0" not in text:
            return text
    text = _decode_damaged(data, next(filter(None, stated), ""))
    if "\0" in text or len(_ODD_CHARS.findall(text)) > len(text) // 50:
        raise UnicodeError("the page is no text")
    return text


def _decode_damaged(data: bytes, codec: str) -> str:
    """The text of bytes that are not all valid. With nothing stated they are UTF-8 if more of it is
    right than wrong, else what browsers take for granted.
    """
    text = data.decode(codec or "utf-8", "replace")
    wrong = text.count("\ufffd")
    if codec or wrong <= sum(char > "\x7f" for char in text) - wrong:
        return text
    return data.decode("cp1252", "replace")


def _find_codec(name: str) -> str:
    """The codec of that name, "" if there is none for texts."""
    name = name.strip("\"' ").lower()
    try:
        return codecs.lookup(_CHARSET_ALIASES.get(name, name)).name if _KNOWN_CHARSET_PATTERN.fullmatch(name) else ""
    except LookupError:
        return ""


def is_probably_gb2312(data: bytes) -> bool:
    """Whether the bytes beyond ASCII stand in pairs as those of GB2312 do."""
    high = sum(byte >= 0x80 for byte in data[:20_000])
    pairs = re.findall(rb"[\xa1-\xf7][\xa1-\xfe]", data[:20_000])
    return high > 0 and 2 * len(pairs) > 0.9 * high


# Text

_SKIPPED_TAGS = {
    "button", "iframe", "nav", "noscript", "object", "script", "select", "style", "svg", "template",
    "textarea", "title",
}  # fmt: skip
_BLOCK_TAGS = (
    "address article aside blockquote body br caption dd div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hr item lb li list main ol p pre quote row section table "
    "tr ul"
)
_BLOCK_ELEMENTS = frozenset(_BLOCK_TAGS.split())
_CELL_ELEMENTS = frozenset({"cell", "td", "th"})
_WIDE_CHARACTER_PATTERN = re.compile(f"[{HAN_RANGES}\u3001-\u303f\uff00-\uffef]")


def text_pieces(root: Any) -> Iterator[str]:
    """The text below an element in pieces: blocks on lines of their own, nothing that is hidden."""
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        edge = "\n" if node.tag in _BLOCK_ELEMENTS else "\t" if node.tag in _CELL_ELEMENTS else ""
        yield edge
        if event == "start" and node.tag in _SKIPPED_TAGS:
            walker.skip_subtree()
        elif event == "start":
            yield _collapse_line_breaks(node, node.text)
        elif node is not root:
            yield _collapse_line_breaks(node.getparent(), node.tail)


def _collapse_line_breaks(parent: Any, text: str | None) -> str:
    """Line breaks of the source are spaces, and between Chinese characters nothing."""
    if not text or (parent is not None and parent.tag in ("pre", "code")):
        return text or ""
    return re.sub(r"\s+", _white_space_replacement, text)


def _white_space_replacement(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    wide = _WIDE_CHARACTER_PATTERN.match(text[start - 1 : start]) and _WIDE_CHARACTER_PATTERN.match(text[end : end + 1])
    return "" if wide and "\n" in run[0] else " "


_SPACE_BESIDE_WIDE_PATTERN = re.compile(
    rf"\s+(?={_WIDE_CHARACTER_PATTERN.pattern})|(?<={_WIDE_CHARACTER_PATTERN.pattern})\s+"
)


# What a page states about itself

_DATE_PROPERTIES = (
    "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued",
    "dcterms.date", "dcterms.issued", "pubdate", "publishdate", "publish_date",
    "publication_date", "citation_publication_date",
)  # fmt: skip


def page_title(tree: Any) -> str:
    """What a page calls itself: to those who share it, in its window, in its first heading."""
    named = [e.get("content") or "" for e in tree.iter("meta") if e.get("property") == "og:title"]
    titles = ("".join(e.itertext()) for tag in ("title", "h1") for e in tree.iter(tag))
    lines = (" ".join(text.split()) for text in chain(named, titles))
    return next(filter(None, lines), "")


def publication_days(tree: Any, min_year: int = MIN_YEAR) -> Iterator[date]:
    """The days on which a page says that it was published, the surest first.

    Only what is stated as that: a copyright year or the day of the last change are not when something
    was published. None lies before the year `began`.
    """
    stated: dict[str, str] = {}
    for element in tree.iter("meta", "time"):
        for name in ("property", "name", "itemprop"):
            value = element.get("content") or element.get("datetime") or ""
            stated.setdefault((element.get(name) or "").strip().lower(), value)
    values = chain((stated.get(key, "") for key in _DATE_PROPERTIES), _json_ld_dates(tree))
    yield from filter(None, (parse_publication_day(value, min_year) for value in values))


def _json_ld_dates(tree: Any) -> Iterator[str]:
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
