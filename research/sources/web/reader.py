"""From the bytes of a page to its text.

The bytes are a stranger's: nothing in them is believed without need, nothing that they refer to is
fetched, and they are parsed in a child process with limits (`research.readers`), which `warm` starts
ahead. Knows nothing of the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from lxml import etree

from research.core.errors import Trouble
from research.core.text.decimals import join_decimals
from research.core.text.sentences import unwrapped
from research.core.text.words import detect_language
from research.http.plain import legible
from research.readers.errors import broken_off
from research.readers.pool import FETCHED, MB, Allowance, ParserError
from research.readers.webpages import FEW, ShapeError, decoded, published, text_pieces, title, tree

LONGEST = 200_000  # characters of a page's text that are kept
PATIENCE = 10.0  # seconds that a page waits for its turn


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


def warm() -> None:
    """Has a process ready that reads pages."""
    FETCHED.warm()


def read(data: bytes, url: str, *, charset: str = "", plain: bool = False, latest: date) -> Page:
    """The page that some bytes are. `charset` is what came with them, if anything did; nothing is
    published after `latest`.

    Raises:
        Trouble: there is no text in them, or it takes too long to find.
    """
    try:
        try:
            found = _parse_apart(data, url, charset, plain, latest, seconds=1.2, more=2.0)
        except ParserError as error:
            if plain or error.fault in ("busy", "start"):
                raise
            # finding the main text takes longer than reading all of it
            found = _parse_apart(
                data, url, charset, plain, latest, seconds=0.6, more=0.6, whole=True
            )
    except ParserError as error:
        raise broken_off(error, "the page") from error
    if "reason" in found:
        raise Trouble("empty" if found["reason"] == "empty" else "malformed", str(found["message"]))
    day = date.fromisoformat(found["published"]) if found["published"] else None
    return Page(url, str(found["title"]), str(found["text"]), day, str(found["language"]))


def _parse_apart(
    data: bytes, url: str, charset: str, plain: bool, latest: date, *, seconds: float, more: float,
    whole: bool = False,
) -> Any:  # fmt: skip
    size = len(data) / MB
    return FETCHED.call(
        "research.sources.web.reader:parse_task",
        data,
        {
            "url": url,
            "charset": charset,
            "plain": plain,
            "latest": latest.isoformat(),
            "whole": whole,
        },
        allowance=Allowance(int((64 + 150 * size) * MB), seconds + more * size),
        imports=("trafilatura",),
        patience=PATIENCE,
    )


def parse_task(
    data: bytes, progress: object, *, url: str, charset: str, plain: bool, latest: str, whole: bool
) -> dict[str, Any]:
    """The fields of a page, or why there are none; a task of a parser process."""
    try:
        text = decoded(data, charset)
        page = (
            _plain(text, url) if plain else _web(text, url, date.fromisoformat(latest), whole=whole)
        )
    except (UnicodeError, ShapeError) as error:
        return {"reason": "malformed", "message": str(error)}
    if not page.text:
        message = "there is no text on the page that can be read without a browser"
        return {"reason": "empty", "message": message}
    return {
        "title": page.title,
        "text": page.text,
        "published": page.published and page.published.isoformat(),
        "language": page.language,
    }


def _plain(text: str, url: str) -> Page:
    text = _tidy(unwrapped(text))
    first = text.partition("\n")[0]
    return Page(url, first if len(first) <= 80 else "", text, None, detect_language(text))


def _web(text: str, url: str, latest: date, *, whole: bool) -> Page:
    try:
        root = tree(text)
    except ShapeError:
        raise
    except (etree.LxmlError, ValueError):
        return Page(url, "", "", None, "")
    body = ("" if whole else _main(root)) or _tidy("".join(text_pieces(root)))
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
    import trafilatura

    if sum(1 for _ in tree.iter()) > FEW:
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
    return stated[1] if stated and stated[1] not in ("zh", "en") else detect_language(text)
