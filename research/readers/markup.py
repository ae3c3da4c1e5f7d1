"""Readers of plain text, Markdown and web pages, which return drafts with headings.

No network access: references in a page are not followed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Container
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.core.text.numbers import HAN_NUMERALS
from research.core.text.publication_dates import parse_publication_day
from research.core.text.sentences import unwrap_lines
from research.core.text.tokenizer import HAN_RANGES
from research.readers.drafts import (
    FileDraft,
    binary_file_error,
    decode_text,
    one_line,
    page_limit_error,
    reject_binary,
    remove_invisible,
    table_lines,
    title_line,
    too_deep_error,
)
from research.readers.scripts import lowered_text, raised_text
from research.readers.webpages import (
    PageLimitError,
    decode_page,
    is_dense,
    page_title,
    parse_html,
    publication_days,
    text_pieces,
)

logging.getLogger("trafilatura").setLevel(logging.CRITICAL + 1)  # it logs every page without text


def web_address(text: str) -> str:
    """Return the text if it is an http(s) address with a host, or ""."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    is_valid = parts.scheme in ("http", "https") and host and not re.search(r"\s", text)
    return text if is_valid and len(text) <= 2_000 else ""


# Plain text

_TEXT_HEADING_PATTERN = re.compile(
    rf"(?P<part>第[{HAN_NUMERALS}\d]+[章编部篇卷]|(?:Chapter|CHAPTER|Part|PART) [\dIVXLC]+\b)"
    rf"|第[{HAN_NUMERALS}\d]+节|[{HAN_NUMERALS}]{{1,3}}、|\d{{1,2}}\. ?(?=[^\d\s])"
)


def _text_heading_level(line: str) -> int | None:
    match = _TEXT_HEADING_PATTERN.match(line)
    if not match or len(line) > 40 or line[-1] in "。！？；，,.;!?:：":
        return None
    return 1 if match["part"] else 2


def read_plain_text(data: bytes) -> FileDraft:
    """Read plain text; headings are short numbered lines at the start of a block after a blank
    line.
    """
    text = remove_invisible(decode_text(data)).strip()
    draft = FileDraft(title=title_line(text))
    for block in re.split(r"\n(?:[ \t\u3000]*\n)+", text):
        lines = block.split("\n", 1)
        level = _text_heading_level(lines[0].strip())
        if level is None:
            draft.add_text(unwrap_lines(block))
            continue
        draft.add_heading(level, lines[0])
        draft.add_text(unwrap_lines("".join(lines[1:])))
    return draft


# Markdown

_FULL_WIDTH = f"[{HAN_RANGES}\u3000-\u303f\uff00-\uffef]"
_SOFT_BREAK = "\x1f"  # cannot occur in the text: it was cleaned, and no entity yields it


_MAX_NESTING = 100  # nested blocks; the parser silently drops deeper ones
_MARKDOWN_PARSER = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the `key: value` lines between two lines of dashes, and the text after them."""
    match = re.match(r"\s*---[ \t]*\n((?:.*\n){0,100}?)(?:---|\.\.\.)[ \t]*(?:\n|$)", text)
    pairs = re.findall(r"(?m)^([A-Za-z_]+)[ \t]*:[ \t]*(.*)$", match[1]) if match else []
    if not match or not pairs:
        return {}, text
    values = {key.lower(): value.strip() for key, value in pairs}
    quoted = re.compile(r"""(["'])(.*)\1""")
    return {
        key: quoted_match[2] if (quoted_match := quoted.fullmatch(value)) else value for key, value in values.items()
    }, text[match.end() :]


def _inline_text(token: Token) -> str:
    """Return the text of a line: links keep their text, images their description; tags go.

    Superscripts and subscripts have their plain forms.
    """
    out: list[str] = []
    hidden = False
    script_start = 0  # in `out`, of the superscript or subscript that is open
    for child in token.children or []:
        if child.type == "html_inline":
            tag = child.content.lower()
            if tag_match := re.match(r"</?(script|style|ruby|rb|rt|rp|rtc)\b", tag):
                hidden = tag[1] != "/" and tag_match[1] not in ("ruby", "rb")
            if tag in ("<sup>", "<sub>"):
                script_start = len(out)
            elif tag in ("</sup>", "</sub>"):
                text = "".join(out[script_start:])
                out[script_start:] = [
                    raised_text(text, "".join(out[:script_start])[-40:]) if tag == "</sup>" else lowered_text(text)
                ]
            out.append("\n" if tag.startswith("<br") and not hidden else "")
        elif child.type in ("softbreak", "hardbreak"):
            out.append("\n" if child.type == "hardbreak" else _SOFT_BREAK)
        elif not hidden:
            out.append(_inline_text(child) if child.type == "image" else child.content)
    text = "".join(out)
    text = re.sub(f"(?<={_FULL_WIDTH}){_SOFT_BREAK}|{_SOFT_BREAK}(?={_FULL_WIDTH})", "", text)
    return text.replace(_SOFT_BREAK, " ")


def read_markdown(data: bytes) -> FileDraft:
    """Read Markdown (CommonMark and tables) with plain front matter."""
    metadata, text = _front_matter(remove_invisible(decode_text(data)))
    draft = FileDraft(
        title=metadata.get("title", ""),
        url=metadata.get("url") or metadata.get("source", ""),
        published=parse_publication_day(metadata.get("date") or metadata.get("published") or metadata.get("as_of"), 1),
    )
    language = metadata.get("language", "").lower()[:2]
    draft.language = "zh" if language == "zh" else "en" if language == "en" else None
    add_markdown(draft, text)
    return draft


def add_markdown(draft: FileDraft, markdown: str) -> None:
    """Add the headings, paragraphs, lists and tables of Markdown to a draft."""
    rows: list[list[str]] = []
    open_tag = ""  # the tag that the next inline token fills
    for token in _MARKDOWN_PARSER.parse(markdown):
        if token.type in ("blockquote_open", "list_item_open") and token.level >= _MAX_NESTING - 1:
            raise too_deep_error()
        if token.type in ("heading_open", "paragraph_open", "th_open", "td_open"):
            open_tag = token.tag
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            draft.add_text("\n".join(table_lines(rows, has_header=True)))
            rows = []
        elif token.type in ("fence", "code_block"):
            draft.add_text(token.content)
        elif token.type == "html_block":
            draft.add_text(_flatten_text(_parse_page(f"<div>{token.content}</div>")))
        elif token.type == "inline" and open_tag in ("th", "td"):
            rows[-1].append(_inline_text(token))
        elif token.type == "inline" and open_tag != "p":
            text = one_line(_inline_text(token))
            draft.add_heading(int(open_tag[1]), text)
            if open_tag == "h1":
                draft.title = draft.title or text
        elif token.type == "inline":
            draft.add_text(_inline_text(token))


# HTML


def _decode_page(data: bytes) -> str:
    try:
        return reject_binary(decode_page(data))
    except UnicodeError:
        raise binary_file_error() from None


def _parse_page(text: str) -> Any:
    try:
        return parse_html(text, require_complete=True)
    except RecursionError:
        raise too_deep_error() from None
    except PageLimitError as error:
        raise page_limit_error(error) from None


def _flatten_text(root: Any) -> str:
    return "\n".join(line.strip() for line in "".join(text_pieces(root)).split("\n"))


def _page_metadata(root: Any) -> FileDraft:
    """Return a draft with the title, address and publication date stated by a page."""
    shared_urls = [element.get("content") or "" for element in root.iter("meta") if element.get("property") == "og:url"]
    links = (
        element.get("href") or ""
        for element in root.iter("link")
        if "canonical" in (element.get("rel") or "").lower().split()
    )
    return FileDraft(
        title=one_line(page_title(root)),
        url=next(filter(None, map(web_address, (*links, *shared_urls))), ""),
        published=next(publication_days(root, 1), None),
    )


def _add_main_text(draft: FileDraft, element: Any) -> None:
    """Add trafilatura's main text, a tree of heads, paragraphs, lists and tables, to a draft."""
    draft.add_text(element.text or "")
    for child in element:
        if child.tag == "head":
            level = (child.get("rend") or "h2")[1:]
            draft.add_heading(int(level) if level.isdigit() else 2, _flatten_text(child))
        elif child.tag == "table":
            rows = [child_row.findall("cell") for child_row in child.iter("row")]
            has_header = bool(rows) and all(cell.get("role") == "head" for cell in rows[0])
            cells = [[_flatten_text(cell) for cell in row] for row in rows]
            draft.add_text("\n".join(table_lines(cells, has_header=has_header)))
        elif child.find(".//head") is not None or child.find(".//table") is not None:
            _add_main_text(draft, child)
        else:
            draft.add_text(_flatten_text(child))
        draft.add_text(child.tail or "")


MIN_MAIN_TEXT_CHARS = 30  # below, the library takes all text of a page in one line


def _extract_main_text(draft: FileDraft, root: Any) -> None:
    import trafilatura
    from trafilatura.settings import use_config

    config = use_config()
    # The library counts characters; a Chinese one says as much as four Latin ones, and short pages are pages.
    config["DEFAULT"].update({"MIN_EXTRACTED_SIZE": str(MIN_MAIN_TEXT_CHARS), "MIN_OUTPUT_SIZE": "1"})
    main: Any = trafilatura.bare_extraction(root, include_comments=False, include_tables=True, config=config)
    if main is not None and main.body is not None:
        _add_main_text(draft, main.body)


def read_html(data: bytes, *, all_text: bool = False) -> FileDraft:
    """Read a web page: its main text, or all its text if `all_text` is set or no main text is
    found.
    """
    text = remove_invisible(_decode_page(data))
    try:
        root = _parse_page(text)
    except etree.ParserError:
        return FileDraft()
    draft = _page_metadata(root)
    if not all_text and not is_dense(root, len(text)):
        _extract_main_text(draft, root)
    if not any(not piece.is_heading for piece in draft.blocks):
        draft.blocks.clear()
        draft.add_text("".join(_flatten_text(body) for body in root.iter("body")))
    _remove_title_heading(draft)
    return draft


def _remove_title_heading(draft: FileDraft) -> None:
    """Drop the top heading from heading paths if the page title begins with it."""
    top = next((piece.heading_path[0] for piece in draft.blocks if piece.heading_path), "")
    if top and draft.title.startswith(top):
        draft.blocks = [
            piece._replace(heading_path=piece.heading_path[1:]) if piece.heading_path[:1] == (top,) else piece
            for piece in draft.blocks
        ]


# Blocks of a page without its main text: chapters of books, bodies of mails

_HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MARKER = "\ufdd0"  # a noncharacter: it stands for nothing in any text


class PageBlock(NamedTuple):
    """A part of a page in order: a heading with its level from 1, or text or a table with level 0.

    `anchor` is the id of an element that begins here, in which case there is no text.
    """

    text: str
    level: int = 0
    anchor: str = ""


def parse_page(data: bytes, charset: str = "") -> Any:
    """Parse all of a page; return None if there is nothing in it.

    Raises:
        UnreadableFileError: it is binary, nested too deep or has too many elements.
    """
    try:
        return _parse_page(remove_invisible(reject_binary(decode_page(data, charset))).replace(_MARKER, ""))
    except UnicodeError:
        raise binary_file_error() from None
    except etree.ParserError:
        return None


def page_blocks(root: Any, anchors: Container[str] = ()) -> list[PageBlock]:
    """Return the headings, tables and other text of a page in order; the tree is changed.

    Tables that hold other tables, or have one row or column, are taken as layout. `anchors` are the ids
    of elements whose position is wanted.
    """
    found: list[PageBlock] = []
    for element in [*root.iter("table", *_HEADING_TAGS)]:  # those inside a table leave the tree with it
        is_table = element.tag == "table"
        if is_table and not _is_data_table(element):
            continue
        if is_table:
            rows = [[_flatten_text(cell) for cell in row.iterchildren("td", "th")] for row in element.iter("tr")]
            has_header = next(element.iter("tr")).find("td") is None
            block = PageBlock("\n".join(table_lines(rows, has_header=has_header)))
        else:
            block = PageBlock(one_line(_flatten_text(element)), int(element.tag[1]))
        for child in [*element]:
            element.remove(child)
        element.tag, element.text = "div", f"{_MARKER}{len(found)}{_MARKER}"
        found.append(block)
    if anchors:
        for element in [*root.iter(etree.Element)]:
            if (name := element.get("id")) and name in anchors:
                element.text = f"{_MARKER}{len(found)}{_MARKER}{element.text or ''}"
                found.append(PageBlock("", anchor=name))
    pieces = _flatten_text(root).split(_MARKER)  # text and numbers of blocks take turns
    blocks = [found[int(piece)] if n % 2 else PageBlock(piece) for n, piece in enumerate(pieces)]
    return [block for block in blocks if block.text.strip() or block.anchor]


def _is_data_table(table: Any) -> bool:
    """Return True for a table with rows and columns that holds no other table."""
    rows = [*table.iter("tr")]
    is_wide = any(len([*row.iterchildren("td", "th")]) > 1 for row in rows)
    return len(rows) > 1 and is_wide and table.find(".//table") is None
