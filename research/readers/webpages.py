"""Web pages: decoding, parsing, text extraction and metadata.

Pages are untrusted: references in them are not followed.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from datetime import date
from itertools import chain
from typing import Any, Literal

import lxml.html
from lxml import etree

from research.core.text.publication_dates import MIN_YEAR, parse_publication_day
from research.core.text.tokenizer import HAN_RANGES
from research.readers.scripts import flatten_scripts

MAX_ATTRIBUTES = 200  # per element; parsing time grows with the square
MAX_ELEMENTS = 500_000
MAX_UNCHECKED_ELEMENTS = 30_000  # up to here, the main text is always extracted
MIN_CHARS_PER_ELEMENT = 60  # larger pages with denser mark-up are not searched for main text
_QUOTED_VALUE = r"""=\s*+(?:"[^"]*+"|'[^']*+')"""
# Tags, and content that may look like tags. Each character is scanned once.
_MARKUP_PATTERN = re.compile(
    rf"""<!--.*?(?:-->|\Z)
    |<(script|style|textarea|title|iframe|noembed|noframes|xmp)\b[^>]*+>.*?(?:</\1|\Z)
    |<[a-z](?P<tag>(?:[^>=]++|{_QUOTED_VALUE}|=)*+)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


PageLimit = Literal["attributes", "elements"]


class PageLimitError(ValueError):
    """A page has more attributes or elements than parsers can process within seconds."""

    def __init__(self, limit: PageLimit) -> None:
        self.limit: PageLimit = limit
        super().__init__(
            f"An element has more than {MAX_ATTRIBUTES} attributes"
            if limit == "attributes"
            else f"The page has more than {MAX_ELEMENTS:,} elements"
        )


def check_page_limits(text: str) -> None:
    """Refuse mark-up that would take parsers minutes.

    Raises:
        PageLimitError: an element has too many attributes, or there are too many elements.
    """
    elements = 0
    for match in _MARKUP_PATTERN.finditer(text):
        tag = match["tag"]
        elements += tag is not None
        if tag and len(tag) > MAX_ATTRIBUTES:
            unquoted = re.sub(_QUOTED_VALUE, "= ", tag)
            if max(unquoted.count("="), len(re.split(r"[\s/]+", unquoted))) > MAX_ATTRIBUTES:
                raise PageLimitError("attributes")
        if elements > MAX_ELEMENTS:
            raise PageLimitError("elements")


def is_dense(root: Any, character_count: int) -> bool:
    """Return True if a page has too many elements to extract its main text within minutes."""
    return sum(1 for _ in root.iter()) > max(MAX_UNCHECKED_ELEMENTS, character_count // MIN_CHARS_PER_ELEMENT)


def parse_html(text: str, *, require_complete: bool = False) -> Any:
    """Parse a page or a fragment, without comments and ruby readings, with superscripts in plain text.

    Content nested too deep for the parser is dropped, unless `require_complete` is set.

    Raises:
        lxml.etree.LxmlError: there is no element in it.
        ValueError: it contains characters that no page can have.
        RecursionError: `require_complete` is set, and content would be dropped.
        PageLimitError: parsing would take very long.
    """
    check_page_limits(text)
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
    root = lxml.html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text), parser=parser)
    if require_complete and any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise RecursionError("the page is nested too deep")
    _remove_hidden(root)
    _remove_ruby_readings(root)
    flatten_scripts(root)
    return root


_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


def _remove_hidden(root: Any) -> None:
    """Remove text that a page hides from its readers; metadata among it stays.

    What is hidden from screen readers alone repeats other text, as formulas do, unless it is most of the page.
    """
    total = len(root.text_content())
    for element in [*root.iter("*")]:
        is_hidden = element.get("hidden", "until-found").lower() != "until-found"
        is_hidden = is_hidden or bool(_HIDING_STYLE.search(element.get("style") or ""))
        if not is_hidden and (element.get("aria-hidden") or "").lower() == "true":
            is_hidden = 2 * len(element.text_content()) < total
        if is_hidden and element.tag not in ("html", "body"):
            metadata = [*element.iterdescendants("meta", "script")]
            for child in list(element):
                element.remove(child)
            element.text = None
            for entry in metadata:
                entry.tail = None
                element.append(entry)


def _remove_ruby_readings(root: Any) -> None:
    """Remove the readings above characters (<rt>) and their brackets (<rp>), which are not text.

    Source: https://html.spec.whatwg.org/multipage/text-level-semantics.html.
    """
    for base in [*root.iterfind(".//rt//rb")]:  # </rt> may be omitted before <rb>
        reading = next(base.iterancestors("ruby"), base.getparent())
        reading.append(base)
    etree.strip_elements(root, "rt", "rp", "rtc", with_tail=False)
    outermost = root.xpath("descendant-or-self::ruby[not(ancestor::ruby)]")
    for ruby in outermost:  # the parts may be on separate lines in the source
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
# Charsets of the web; other Python codecs are no charsets or may be very slow.
_KNOWN_CHARSET_PATTERN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|gb\w+|x-gbk|big5\S*|euc-\w+|shift[_-]jis|sjis|iso-8859-\d+|latin-?1"
    r"|windows-\d+|cp\d+|koi8-\w|ascii|us-ascii|tis-620"
)
# Meaning of these names on the web.
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
    """Decode a page.

    Byte order marks and valid UTF-8 come first, then the charset declared in the page, then that of
    the response, because many servers declare Latin-1 for everything.

    Raises:
        UnicodeError: it is no text.
    """
    match = _DECLARED_CHARSET_PATTERN.search(data[:4_096])
    declared_codecs = [_find_codec(match[1].decode("ascii", "replace")) if match else "", _find_codec(charset)]
    mark_codecs = [codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)]
    guessed_codecs = ["gb18030"] if is_probably_gb2312(data) else []
    for codec in filter(None, [*mark_codecs, "utf-8", *declared_codecs, *guessed_codecs]):
        try:
            text = data.decode(codec)
        except (LookupError, UnicodeError):
            continue
        if "\0" not in text:
            return text
    text = _decode_damaged(data, next(filter(None, declared_codecs), ""))
    if "\0" in text or len(_ODD_CHARS.findall(text)) > len(text) // 50:
        raise UnicodeError("the page is no text")
    return text


def _decode_damaged(data: bytes, codec: str) -> str:
    """Decode bytes with errors: as declared, as UTF-8 if mostly valid, or else as Windows-1252."""
    text = data.decode(codec or "utf-8", "replace")
    error_count = text.count("\ufffd")
    if codec or error_count <= sum(char > "\x7f" for char in text) - error_count:
        return text
    return data.decode("cp1252", "replace")


def _find_codec(name: str) -> str:
    """Return the codec of a charset name, or "" if it is not one for text."""
    name = name.strip("\"' ").lower()
    try:
        return codecs.lookup(_CHARSET_ALIASES.get(name, name)).name if _KNOWN_CHARSET_PATTERN.fullmatch(name) else ""
    except LookupError:
        return ""


def is_probably_gb2312(data: bytes) -> bool:
    """Return True if the bytes beyond ASCII mostly form pairs of GB2312."""
    high_count = sum(byte >= 0x80 for byte in data[:20_000])
    pairs = re.findall(rb"[\xa1-\xf7][\xa1-\xfe]", data[:20_000])
    return high_count > 0 and 2 * len(pairs) > 0.9 * high_count


# Text

_SKIPPED_TAGS = {
    "button", "iframe", "nav", "noscript", "object", "script", "select", "style", "svg", "template",
    "textarea", "title",
}  # fmt: skip
_BLOCK_TAGS = (
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hr item lb legend li list main menu ol p pre quote row section "
    "summary table tr ul"
)
_BLOCK_ELEMENTS = frozenset(_BLOCK_TAGS.split())
_CELL_ELEMENTS = frozenset({"cell", "td", "th"})
_WIDE_CHARACTER_PATTERN = re.compile(f"[{HAN_RANGES}\u3001-\u303f\uff00-\uffef]")


def text_pieces(root: Any, whole_tags: Collection[str] = ()) -> Iterator[Any]:
    """Yield the visible text below an element, with line breaks around blocks.

    An element with one of `whole_tags` is yielded itself instead of its text.
    """
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, node in walker:
        separator = "\n" if node.tag in _BLOCK_ELEMENTS else "\t" if node.tag in _CELL_ELEMENTS else ""
        yield separator
        if event == "start" and node.tag in _SKIPPED_TAGS:
            walker.skip_subtree()
        elif event == "start" and node.tag in whole_tags:
            yield node
            walker.skip_subtree()
        elif event == "start":
            yield _collapse_line_breaks(node, node.text)
        elif node is not root:
            yield _collapse_line_breaks(node.getparent(), node.tail)


def _collapse_line_breaks(parent: Any, text: str | None) -> str:
    """Replace line breaks of the source by spaces, or by nothing between Chinese characters."""
    if not text or (parent is not None and parent.tag in ("pre", "code")):
        return text or ""
    return re.sub(r"\s+", _white_space_replacement, text)


def _white_space_replacement(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    is_between_wide = _WIDE_CHARACTER_PATTERN.match(text[start - 1 : start]) and _WIDE_CHARACTER_PATTERN.match(
        text[end : end + 1]
    )
    return "" if is_between_wide and "\n" in run[0] else " "


_SPACE_BESIDE_WIDE_PATTERN = re.compile(
    rf"\s+(?={_WIDE_CHARACTER_PATTERN.pattern})|(?<={_WIDE_CHARACTER_PATTERN.pattern})\s+"
)


# Navigation

_NAVIGATION = (
    "self::nav or self::footer or self::aside or self::header[not(ancestor::article or ancestor::main)]"
    " or @role='navigation' or @role='banner' or @role='contentinfo' or @role='complementary' or @role='search'"
)
_NAVIGATION_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|top-?nav|menu|footer?|breadcrumbs?|crumbs?|sidebar|copyright|cookies?|banner)(?:$|[\s_-])",
    re.IGNORECASE,
)
MIN_MENU_LINKS = 2
MIN_MENU_SHARE = 0.8  # of the text of an element, which its links hold
_MENU_ELEMENTS = ("div", "ul", "ol", "p", "section", "table", "td", "dl", "center")


def remove_navigation(root: Any) -> None:
    """Remove the parts of a page that serve to find others, by their elements, names or share of links."""
    for element in root.xpath(f"//*[{_NAVIGATION}]"):
        _drop(element)
    for element in [*root.iter(*_MENU_ELEMENTS)]:
        if _NAVIGATION_NAMES.search(f"{element.get('class', '')} {element.get('id', '')}"):
            _drop(element)
            continue
        links = [link for link in element.iter("a") if link.text_content().strip()]
        link_length = sum(text_length(link) for link in links)
        if len(links) >= MIN_MENU_LINKS and link_length >= MIN_MENU_SHARE * text_length(element):
            _drop(element)


def _drop(element: Any) -> None:
    """Remove an element, but not the text after it."""
    if element.getparent() is not None:
        element.drop_tree()


def text_length(root: Any) -> int:
    """Return the number of visible characters below an element, without white space."""
    return sum(len("".join(piece.split())) for piece in text_pieces(root))


# Metadata

_DATE_PROPERTIES = (
    "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued",
    "dcterms.date", "dcterms.issued", "pubdate", "publishdate", "publish_date",
    "publication_date", "citation_publication_date",
)  # fmt: skip


def page_title(tree: Any) -> str:
    """Return the title of a page: `og:title`, the <title> element or the first <h1>."""
    shared_titles = [
        element.get("content") or "" for element in tree.iter("meta") if element.get("property") == "og:title"
    ]
    titles = ("".join(element.itertext()) for tag in ("title", "h1") for element in tree.iter(tag))
    lines = (" ".join(text.split()) for text in chain(shared_titles, titles))
    return next(filter(None, lines), "")


def publication_days(tree: Any, min_year: int = MIN_YEAR) -> Iterator[date]:
    """Yield the publication dates that a page states, the most reliable first.

    Copyright years and modification dates are ignored, and so are dates before `min_year`.
    """
    values_by_name: dict[str, str] = {}
    for element in tree.iter("meta", "time"):
        for name in ("property", "name", "itemprop"):
            value = element.get("content") or element.get("datetime") or ""
            values_by_name.setdefault((element.get(name) or "").strip().lower(), value)
    values = chain((values_by_name.get(key, "") for key in _DATE_PROPERTIES), _json_ld_dates(tree))
    yield from filter(None, (parse_publication_day(value, min_year) for value in values))


def _json_ld_dates(tree: Any) -> Iterator[str]:
    """Yield the `datePublished` values of a page's JSON-LD, ignoring nested objects."""
    for script in tree.iter("script"):
        if "ld+json" not in (script.get("type") or "").lower():
            continue
        try:
            document = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue
        for item in document if isinstance(document, list) else [document]:
            graph = item.get("@graph") if isinstance(item, dict) else None
            for node in [item, *(graph if isinstance(graph, list) else [])]:
                if isinstance(node, dict) and isinstance(node.get("datePublished"), str):
                    yield node["datePublished"]
