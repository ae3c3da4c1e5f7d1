"""Parser of web pages: from bytes to text.

Pages are untrusted: references are not followed, and parsing runs in a child process with limits
(`research.readers`), which `warm_parser` starts ahead. No network access.
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

MAX_TEXT_CHARS = 200_000  # characters kept of a page's text
MAX_QUEUE_SECONDS = 10.0  # that a page waits for a free process


@dataclass(frozen=True)
class Page:
    """A web page as text, one paragraph per line.

    `url` is the address after redirects, `published` the day that the page states, `language` a
    code such as "en", "zh" or "fr".
    """

    url: str
    title: str
    text: str
    published: date | None
    language: str


def warm_parser() -> None:
    """Start a spare parser process."""
    FETCH_POOL.start_spare()


def parse_page(data: bytes, url: str, *, charset: str = "", is_plain_text: bool = False, latest_date: date) -> Page:
    """Parse a page. `charset` is that of the response; publication days after `latest_date` are
    ignored.

    Raises:
        ServiceError: the page has no text, or parsing takes too long.
    """
    arguments = {
        "url": url,
        "charset": charset,
        "is_plain_text": is_plain_text,
        "latest_date": latest_date.isoformat(),
    }
    try:
        try:
            fields = _parse_in_child(data, arguments, base_seconds=1.2, seconds_per_mb=2.0)
        except ParserError as error:
            if is_plain_text or error.fault in ("busy", "start"):
                raise
            # all text is faster to read than the main text
            fields = _parse_in_child(data, arguments | {"all_text": True}, base_seconds=0.6, seconds_per_mb=0.6)
    except ParserError as error:
        raise to_service_error(error, "the page") from error
    if "reason" in fields:
        raise ServiceError("empty" if fields["reason"] == "empty" else "malformed", str(fields["message"]))
    day = date.fromisoformat(fields["published"]) if fields["published"] else None
    return Page(url, str(fields["title"]), str(fields["text"]), day, str(fields["language"]))


def _parse_in_child(data: bytes, arguments: dict[str, Any], *, base_seconds: float, seconds_per_mb: float) -> Any:
    size = len(data) / MB
    return FETCH_POOL.call(
        "research.sources.web.page_parser:parse_task",
        data,
        arguments,
        limits=ResourceLimits(int((64 + 150 * size) * MB), base_seconds + seconds_per_mb * size),
        imports=("trafilatura",),
        max_wait_seconds=MAX_QUEUE_SECONDS,
    )


def parse_task(
    data: bytes,
    progress: object,
    *,
    url: str,
    charset: str,
    is_plain_text: bool,
    latest_date: str,
    all_text: bool = False,
) -> dict[str, Any]:
    """Return the fields of a page, or the reason of failure; runs in a parser process.

    `latest_date` is in ISO 8601. With `all_text` the text is not reduced to the main text.
    `progress`, which every task gets, is not used.
    """
    try:
        text = decode_page(data, charset)
        page = (
            _parse_plain_text(text, url)
            if is_plain_text
            else _parse_html(text, url, date.fromisoformat(latest_date), all_text)
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
    first_line = text.partition("\n")[0]
    return Page(url, first_line if len(first_line) <= 80 else "", text, None, detect_language(text))


def _parse_html(text: str, url: str, latest_date: date, all_text: bool) -> Page:
    try:
        root = parse_html(text)
    except PageLimitError:
        raise
    except (etree.LxmlError, ValueError):
        return Page(url, "", "", None, "")
    body = ("" if all_text else _extract_main_text(root)) or _normalise_text("".join(text_pieces(root)))
    publication_dates = (day for day in publication_days(root) if day <= latest_date)
    title = " ".join(remove_control_characters(page_title(root)).split())[:300]
    return Page(url, title, body, next(publication_dates, None), _page_language(root, body))


# Text

# Errors that trafilatura raises, or may raise, on broken pages.
_EXTRACTION_ERRORS = (
    etree.LxmlError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def _extract_main_text(root: Any) -> str:
    """Return the main text of a page; "" if it cannot be extracted or the page is too large."""
    import trafilatura

    if sum(1 for _ in root.iter()) > MAX_UNCHECKED_ELEMENTS:
        return ""
    try:
        extracted: Any = trafilatura.bare_extraction(root, include_comments=False)
    except _EXTRACTION_ERRORS:
        return ""
    return _normalise_text("".join(text_pieces(extracted.body))) if extracted and extracted.body is not None else ""


def _normalise_text(text: str) -> str:
    """Return clean text, one paragraph per line, cut at a paragraph if too long."""
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
    """Return the declared language, except for Chinese and English, which are detected."""
    declared = root.get("lang") or root.get("xml:lang") or ""
    match = re.fullmatch(r"\s*([a-z]{2,3})(?:[-_].*)?", declared.lower())
    return match[1] if match and match[1] not in ("zh", "en") else detect_language(text)
