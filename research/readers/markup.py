"""Reads what is written for people: plain text, Markdown and web pages.

Bytes or text in, a draft of pieces with their headings out. No network: nothing that a page refers to
is fetched. Knows nothing of the library that the drafts go into.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.core.text.numbers import NUMERAL
from research.core.text.published import day
from research.core.text.sentences import unwrapped
from research.core.text.words import HAN
from research.readers.formats import (
    Draft,
    binary,
    checked,
    decode,
    first_line,
    misshapen,
    one_line,
    table_lines,
    too_deep,
    visible,
)
from research.readers.webpages import (
    ShapeError,
    decoded,
    is_dense,
    published,
    text_pieces,
    title,
    tree,
)


def web_address(text: str) -> str:
    """The text if it is an http(s) address with a host, else nothing."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    good = parts.scheme in ("http", "https") and host and not re.search(r"\s", text)
    return text if good and len(text) <= 2_000 else ""


# Plain text

_TXT_HEADING = re.compile(
    rf"(?P<part>第[{NUMERAL}\d]+[章编部篇卷]|(?:Chapter|CHAPTER|Part|PART) [\dIVXLC]+\b)"
    rf"|第[{NUMERAL}\d]+节|[{NUMERAL}]{{1,3}}、|\d{{1,2}}\. ?(?=[^\d\s])"
)


def _txt_level(line: str) -> int | None:
    found = _TXT_HEADING.match(line)
    if not found or len(line) > 40 or line[-1] in "。！？；，,.;!?:：":
        return None
    return 1 if found["part"] else 2


def read_txt(data: bytes) -> Draft:
    """Plain text. Headings are short numbered lines that stand between blank lines."""
    text = visible(decode(data)).strip()
    draft = Draft(title=first_line(text))
    for block in re.split(r"\n(?:[ \t\u3000]*\n)+", text):
        lines = block.split("\n", 1)
        level = _txt_level(lines[0].strip())
        if level is None:
            draft.body(unwrapped(block))
            continue
        draft.head(level, lines[0])
        draft.body(unwrapped("".join(lines[1:])))
    return draft


# Markdown

_FULL_WIDTH = f"[{HAN}\u3000-\u303f\uff00-\uffef]"
_SOFT_BREAK = "\x1f"  # cannot occur otherwise: the text was cleaned and no entity makes it


_NESTED = 100  # blocks in each other; what lies deeper is left out without a word
_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": _NESTED}).enable(["table", "strikethrough"])


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Plain `key: value` lines between two lines of dashes, and what comes after them."""
    found = re.match(r"\s*---[ \t]*\n((?:.*\n){0,100}?)(?:---|\.\.\.)[ \t]*(?:\n|$)", text)
    pairs = re.findall(r"(?m)^([A-Za-z_]+)[ \t]*:[ \t]*(.*)$", found[1]) if found else []
    if not found or not pairs:
        return {}, text
    values = {key.lower(): value.strip() for key, value in pairs}
    quoted = re.compile(r"""(["'])(.*)\1""")
    return {
        key: match[2] if (match := quoted.fullmatch(value)) else value
        for key, value in values.items()
    }, text[found.end() :]


def _inline(token: Token) -> str:
    """The words of a line: links keep their text, pictures their description, tags go."""
    out: list[str] = []
    hidden = False
    for child in token.children or []:
        if child.type == "html_inline":
            tag = child.content.lower()
            if part := re.match(r"</?(script|style|ruby|rb|rt|rp|rtc)\b", tag):
                hidden = tag[1] != "/" and part[1] not in ("ruby", "rb")
            out.append("\n" if tag.startswith("<br") and not hidden else "")
        elif child.type in ("softbreak", "hardbreak"):
            out.append("\n" if child.type == "hardbreak" else _SOFT_BREAK)
        elif not hidden:
            out.append(_inline(child) if child.type == "image" else child.content)
    text = "".join(out)
    text = re.sub(f"(?<={_FULL_WIDTH}){_SOFT_BREAK}|{_SOFT_BREAK}(?={_FULL_WIDTH})", "", text)
    return text.replace(_SOFT_BREAK, " ")


def read_md(data: bytes) -> Draft:
    """Markdown (CommonMark and tables), with plain front matter."""
    facts, text = _front_matter(visible(decode(data)))
    draft = Draft(
        title=facts.get("title", ""),
        url=facts.get("url") or facts.get("source", ""),
        published=day(facts.get("date") or facts.get("published") or facts.get("as_of"), 1),
    )
    stated = facts.get("language", "").lower()[:2]
    draft.language = "zh" if stated == "zh" else "en" if stated == "en" else None
    _add_markdown(draft, text)
    return draft


def _add_markdown(draft: Draft, markdown: str) -> None:
    rows: list[list[str]] = []
    opened = ""  # the tag that the next inline token fills
    for token in _MARKDOWN.parse(markdown):
        if token.type in ("blockquote_open", "list_item_open") and token.level >= _NESTED - 1:
            raise too_deep()
        if token.type in ("heading_open", "paragraph_open", "th_open", "td_open"):
            opened = token.tag
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            draft.body("\n".join(table_lines(rows, has_header=True)))
            rows = []
        elif token.type in ("fence", "code_block"):
            draft.body(token.content)
        elif token.type == "html_block":
            draft.body(_flat(_tree(f"<div>{token.content}</div>")))
        elif token.type == "inline" and opened in ("th", "td"):
            rows[-1].append(_inline(token))
        elif token.type == "inline" and opened != "p":
            text = one_line(_inline(token))
            draft.head(int(opened[1]), text)
            if opened == "h1":
                draft.title = draft.title or text
        elif token.type == "inline":
            draft.body(_inline(token))


# HTML


def _decoded(data: bytes) -> str:
    try:
        return checked(decoded(data))
    except UnicodeError:
        raise binary() from None


def _tree(text: str) -> Any:
    try:
        return tree(text, whole=True)
    except RecursionError:
        raise too_deep() from None
    except ShapeError as error:
        raise misshapen(error) from None


def _flat(root: Any) -> str:
    return "\n".join(line.strip() for line in "".join(text_pieces(root)).split("\n"))


def _page_facts(root: Any) -> Draft:
    """What a page states about itself: title, address and date of publication."""
    shared = [e.get("content") or "" for e in root.iter("meta") if e.get("property") == "og:url"]
    links = (
        e.get("href") or ""
        for e in root.iter("link")
        if "canonical" in (e.get("rel") or "").lower().split()
    )
    return Draft(
        title=one_line(title(root)),
        url=next(filter(None, map(web_address, (*links, *shared))), ""),
        published=next(published(root, 1), None),
    )


def _add_main(draft: Draft, element: Any) -> None:
    """The main text as trafilatura returns it: a tree of heads, paragraphs, lists and tables."""
    draft.body(element.text or "")
    for child in element:
        if child.tag == "head":
            level = (child.get("rend") or "h2")[1:]
            draft.head(int(level) if level.isdigit() else 2, _flat(child))
        elif child.tag == "table":
            rows = [child_row.findall("cell") for child_row in child.iter("row")]
            header = bool(rows) and all(cell.get("role") == "head" for cell in rows[0])
            cells = [[_flat(cell) for cell in row] for row in rows]
            draft.body("\n".join(table_lines(cells, has_header=header)))
        elif child.find(".//head") is not None or child.find(".//table") is not None:
            _add_main(draft, child)
        else:
            draft.body(_flat(child))
        draft.body(child.tail or "")


def _find_main(draft: Draft, root: Any) -> None:
    import trafilatura

    main: Any = trafilatura.bare_extraction(root, include_comments=False, include_tables=True)
    if main is not None and main.body is not None:
        _add_main(draft, main.body)


def read_html(data: bytes, *, whole: bool = False) -> Draft:
    """A web page: its main text if that can be told apart, else all its text, as with `whole`."""
    text = visible(_decoded(data))
    try:
        root = _tree(text)
    except etree.ParserError:
        return Draft()
    draft = _page_facts(root)
    if not whole and not is_dense(root, len(text)):
        _find_main(draft, root)
    if not any(not piece.shown for piece in draft.pieces):
        draft.pieces.clear()
        draft.body("".join(_flat(body) for body in root.iter("body")))
    _drop_site_name(draft)
    return draft


def _drop_site_name(draft: Draft) -> None:
    """A page titled "Heading - Site" has its heading as title: no path needs to repeat it."""
    top = next((piece.path[0] for piece in draft.pieces if piece.path), "")
    if top and draft.title.startswith(top):
        draft.pieces = [
            piece._replace(path=piece.path[1:]) if piece.path[:1] == (top,) else piece
            for piece in draft.pieces
        ]
