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

from research.core.errors import ServiceError
from research.core.text.decimals import join_decimals
from research.core.text.sentences import unwrap_lines
from research.core.text.tokenizer import detect_language
from research.http.sanitize import remove_control_characters
from research.readers.errors import to_service_error
from research.readers.pool import FETCH_POOL, MB, ParserError, ResourceLimits
from research.readers.webpages import (
    MAX_UNCHECKED_ELEMENTS,
    PageLimitError,
    decode_page,
    page_title,
    parse_html,
    publication_days,
    text_pieces,
)

MAX_TEXT_CHARS = 200_000  # characters of a page's text that are kept
MAX_QUEUE_SECONDS = 10.0  # seconds that a page waits for its turn


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


def warm_parser() -> None:
    """Has a process ready that reads pages."""
    FETCH_POOL.start_spare()


def parse_page(data: bytes, url: str, *, charset: str = "", is_plain_text: bool = False, latest_date: date) -> Page:
    """The page that some bytes are. `charset` is what came with them, if anything did; nothing is
    published after `latest`.

    Raises:
        Trouble: there is no text in them, or it takes too long to find.
    """
    try:
        try:
            found = _parse_in_child(
                data, url, charset, is_plain_text, latest_date, base_seconds=1.2, seconds_per_mb=2.0
            )
        except ParserError as error:
            if is_plain_text or error.fault in ("busy", "start"):
                raise
            # finding the main text takes longer than reading all of it
            found = _parse_in_child(
                data, url, charset, is_plain_text, latest_date, base_seconds=0.6, seconds_per_mb=0.6, all_text=True
            )
    except ParserError as error:
        raise to_service_error(error, "the page") from error
    if "reason" in found:
        raise ServiceError("empty" if found["reason"] == "empty" else "malformed", str(found["message"]))
    day = date.fromisoformat(found["published"]) if found["published"] else None
    return Page(url, str(found["title"]), str(found["text"]), day, str(found["language"]))


def _parse_in_child(
    data: bytes, url: str, charset: str, is_plain_text: bool, latest_date: date, *, base_seconds: float, seconds_per_mb: float,
    all_text: bool = False,
) -> Any:  # fmt: skip
    size = len(data) / MB
    return FETCH_POOL.call(
        "research.sources.web.page_parser:parse_task",
        data,
        {
            "url": url,
            "charset": charset,
            "plain": is_plain_text,
            "latest": latest_date.isoformat(),
            "whole": all_text,
        },
        limits=ResourceLimits(int((64 + 150 * size) * MB), base_seconds + seconds_per_mb * size),
        imports=("trafilatura",),
        max_wait_seconds=MAX_QUEUE_SECONDS,
    )


def parse_task(
    data: bytes, progress: object, *, url: str, charset: str, plain: bool, latest: str, whole: bool
) -> dict[str, Any]:
    """The fields of a page, or why there are none; a task of a parser process."""
    try:
        text = decode_page(data, charset)
        page = (
            _parse_plain_text(text, url)
            if plain
            else _parse_html(text, url, date.fromisoformat(latest), all_text=whole)
        )
    except (UnicodeError, PageLimitError) as error:
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


def _parse_plain_text(text: str, url: str) -> Page:
    text = _normalise_text(unwrap_lines(text))
    first = text.partition("\n")[0]
    return Page(url, first if len(first) <= 80 else "", text, None, detect_language(text))


def _parse_html(text: str, url: str, latest_date: date, *, all_text: bool) -> Page:
    try:
        root = parse_html(text)
    except PageLimitError:
        raise
    except (etree.LxmlError, ValueError):
        return Page(url, "", "", None, "")
    body = ("" if all_text else _extract_main_text(root)) or _normalise_text("".join(text_pieces(root)))
    stated = (day for day in publication_days(root) if day <= latest_date)
    heading = " ".join(remove_control_characters(page_title(root)).split())[:300]
    return Page(url, heading, body, next(stated, None), _page_language(root, body))


# Text

# What trafilatura has been seen to stumble over in broken pages, or may.
_EXTRACTION_ERRORS = (
    etree.LxmlError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


def _extract_main_text(root: Any) -> str:
    """The main text of a page; "" if it cannot be told from the rest in a short time."""
    import trafilatura

    if sum(1 for _ in root.iter()) > MAX_UNCHECKED_ELEMENTS:
        return ""
    try:
        found: Any = trafilatura.bare_extraction(root, include_comments=False)
    except _EXTRACTION_ERRORS:
        return ""
    return _normalise_text("".join(text_pieces(found.body))) if found and found.body is not None else ""


def _normalise_text(text: str) -> str:
    """Legible text, each paragraph a line, none empty; what is too long ends with a paragraph."""
    lines = (
        " ".join(line.split())
        for line in join_decimals(remove_control_characters(text[: 4 * MAX_TEXT_CHARS])).split("\n")
    )
    text = "\n".join(line for line in lines if line)
    if len(text) <= MAX_TEXT_CHARS:
        return text
    end = text.rfind("\n", MAX_TEXT_CHARS // 2, MAX_TEXT_CHARS)
    return text[: end if end > 0 else MAX_TEXT_CHARS]


def _page_language(root: Any, text: str) -> str:
    """The language that a page declares, unless it is one of the two that can be told at sight."""
    declared = root.get("lang") or root.get("xml:lang") or ""
    stated = re.fullmatch(r"\s*([a-z]{2,3})(?:[-_].*)?", declared.lower())
    return stated[1] if stated and stated[1] not in ("zh", "en") else detect_language(text)
