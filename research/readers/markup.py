"""Readers of plain text, Markdown and web pages, which return drafts with headings.

No network access: references in a page are not followed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from research.core.text.numbers import HAN_NUMERALS
from research.core.text.publication_dates import parse_publication_day
from research.core.text.sentences import unwrap_lines
from research.readers.drafts import (
    FileDraft,
    binary_file_error,
    decode_text,
    one_line,
    page_limit_error,
    reject_binary,
    remove_invisible,
    title_line,
    too_deep_error,
)
from research.readers.html_tables import flatten_text, label_page
from research.readers.webpages import (
    PageLimitError,
    decode_page,
    is_dense,
    page_title,
    parse_html,
    publication_days,
    remove_navigation,
    text_length,
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

_HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAX_NESTING = 100  # nested blocks; the parser silently drops deeper ones
_MARKDOWN_PARSER = (
    MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"]).use(footnote_plugin)
)


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
    """Add the headings, paragraphs, lists and tables of Markdown, which may have HTML in it, to a draft.

    Images give their description.
    """
    environment: dict[str, Any] = {}
    tokens = _MARKDOWN_PARSER.parse(markdown, environment)
    if any(t.type in ("blockquote_open", "list_item_open") and t.level >= _MAX_NESTING - 1 for t in tokens):
        raise too_deep_error()
    page = _MARKDOWN_PARSER.renderer.render(tokens, _MARKDOWN_PARSER.options, environment)
    try:
        root = _parse_page(f"<div>{page}</div>")
    except etree.ParserError:
        return
    for image in [*root.iter("img")]:
        image.tail = (image.get("alt") or "") + (image.tail or "")
        image.drop_tree()
    _move_notes(root)
    label_page(root)
    _add_page_text(draft, root)
    top = next((element for element in root.iter("h1") if flatten_text(element).strip()), None)
    if top is not None:
        draft.title = draft.title or one_line(flatten_text(top))


def _move_notes(root: Any) -> None:
    """Put each footnote after the paragraph, list item or table of its first mark, to be read together with it."""
    for note in reversed(root.xpath("//section[@class='footnotes']/ol/li")):  # keeps the order of several
        number = (note.get("id") or "").removeprefix("fn")
        mark = next(iter(root.xpath("//a[@data-note=$number]", number=number)), None)
        note.tag = "div"
        first = note[0] if len(note) else note
        first.text = f"[{number}] {first.text or ''}"
        if mark is not None:
            next(mark.iterancestors("p", "li", "table", *_HEADING_TAGS), mark).addnext(note)


def _render_note_mark(renderer: Any, tokens: Sequence[Token], index: int, *_: Any) -> str:
    """Render the mark of a footnote as [n], with an anchor by which `_move_notes` finds it."""
    number = tokens[index].meta["id"] + 1
    return f' [{number}]<a data-note="{number}"></a>'


_MARKDOWN_PARSER.add_render_rule("footnote_ref", _render_note_mark)
_MARKDOWN_PARSER.add_render_rule("footnote_anchor", lambda *_: "")


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


def _add_page_text(draft: FileDraft, root: Any) -> None:
    """Add all visible text of a page to a draft, with its headings."""
    pieces: list[str] = []

    def add_pieces() -> None:
        draft.add_text("\n".join(line.strip() for line in "".join(pieces).split("\n")))
        pieces.clear()

    for piece in text_pieces(root, (*_HEADING_TAGS, "pre")):
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        add_pieces()
        if piece.tag == "pre":
            draft.add_text(piece.text_content())
        else:
            draft.add_heading(int(piece.tag[1]), flatten_text(piece))
    add_pieces()


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
            draft.add_heading(int(level) if level.isdigit() else 2, flatten_text(child))
        elif child.find(".//head") is not None or child.find(".//table") is not None:
            _add_main_text(draft, child)
        else:
            draft.add_text(flatten_text(child))
        draft.add_text(child.tail or "")


MAX_SHORT_PAGE_CHARS = 3_000
MIN_MAIN_TEXT_SHARE = 0.98  # of a short page; the search for the main text may leave out its lists and tables
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
        whole_page = _short_page(root)
        label_page(root)
        _extract_main_text(draft, root)
        if whole_page is not None and _length(draft) < MIN_MAIN_TEXT_SHARE * text_length(whole_page):
            draft.blocks.clear()
            _add_page_text(draft, whole_page)
    else:
        label_page(root)
    if not any(not piece.is_heading for piece in draft.blocks):
        draft.blocks.clear()
        for body in root.iter("body"):
            _add_page_text(draft, body)
    _remove_title_heading(draft)
    return draft


def _short_page(root: Any) -> Any:
    """Return the body of a page without its navigation if it is short, else None."""
    body = root.find("body")
    if body is None or text_length(body) > MAX_SHORT_PAGE_CHARS * 2:
        return None
    body = deepcopy(body)
    remove_navigation(body)
    label_page(body)
    return body if text_length(body) <= MAX_SHORT_PAGE_CHARS else None


def _length(draft: FileDraft) -> int:
    return sum(len("".join(block.text.split())) for block in draft.blocks)


def _remove_title_heading(draft: FileDraft) -> None:
    """Drop the top heading from heading paths if the page title begins with it."""
    top = next((piece.heading_path[0] for piece in draft.blocks if piece.heading_path), "")
    if top and draft.title.startswith(top):
        draft.blocks = [
            piece._replace(heading_path=piece.heading_path[1:]) if piece.heading_path[:1] == (top,) else piece
            for piece in draft.blocks
        ]


# Blocks of a page without its main text: chapters of books, bodies of mails

_ANCHOR_TAG = "anchor"  # no tag of HTML


class PageBlock(NamedTuple):
    """A part of a page in order: a heading with its level from 1, or text with level 0.

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
        return _parse_page(remove_invisible(reject_binary(decode_page(data, charset))))
    except UnicodeError:
        raise binary_file_error() from None
    except etree.ParserError:
        return None


def page_blocks(root: Any, anchors: Collection[str] = ()) -> list[PageBlock]:
    """Return the headings and other text of a page in order, tables row by row; the tree is changed.

    `anchors` are the ids of elements whose position is wanted.
    """
    label_page(root)
    for element in [*root.iter(etree.Element)] if anchors else []:
        if (name := element.get("id")) in anchors:
            mark = element.makeelement(_ANCHOR_TAG, name=name)
            # The mark of a heading, which is yielded whole, goes before it.
            if element.tag in _HEADING_TAGS and element.getparent() is not None:
                element.addprevious(mark)
            else:
                mark.tail, element.text = element.text, None
                element.insert(0, mark)
    blocks: list[PageBlock] = []
    for is_text, group in groupby(
        text_pieces(root, (*_HEADING_TAGS, _ANCHOR_TAG)), lambda piece: isinstance(piece, str)
    ):
        if is_text:
            blocks.append(PageBlock("\n".join(line.strip() for line in "".join(group).split("\n"))))
            continue
        for element in group:
            if element.tag == _ANCHOR_TAG:
                blocks.append(PageBlock("", anchor=element.get("name")))
            else:
                blocks.append(PageBlock(one_line(flatten_text(element)), int(element.tag[1])))
    return [block for block in blocks if block.text.strip() or block.anchor]
