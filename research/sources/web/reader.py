"""From the bytes of a page to its text.

The bytes are a stranger's: nothing in them is believed without need, nothing that they refer to is
fetched, and there is no page that takes long to read. Knows nothing of the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import trafilatura
from lxml import etree

from research.language.decimals import join_decimals
from research.language.sentences import unwrapped
from research.language.text import language
from research.trouble import Trouble
from research.webpages import decoded, published, text_pieces, title, tree
from research.wire.plain import legible

LONGEST = 200_000  # characters of a page's text that are kept
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
    lines = (
        " ".join(line.split()) for line in join_decimals(legible(text[: 4 * LONGEST])).split("\n")
    )
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
