"""From what a search service answers to evidence: shared by the providers that list results.

Knows what a usable result is and how a conversation over HTTP can fail; no provider. Nothing that a
service sends is taken on trust: any field may be missing, of another type, or full of mark-up.
"""

from __future__ import annotations

import asyncio
import html
import re
import ssl
import unicodedata
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from research.evidence.registry import Registry, canonical_url, evidence_id
from research.records import Evidence, EvidenceKind, Passage, fingerprint
from research.text import has_han
from research.trouble import Trouble

KIND: EvidenceKind = "web"
SNIPPET = 4_000  # characters of a result's text that are kept
WEB_BEGAN = 1990  # a date before it is a service's way of saying that it knows none

# Tags that may stand in the middle of a word; any other tag parts words.
_INLINE = re.compile(r"</?(?:a|b|em|i|mark|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]*)?/?>", re.I)
_HIDDEN = re.compile(r"<(script|style)\b[^<>]*>.*?</\1\s*>|<!--.*?-->", re.I | re.S)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# Text


def legible(text: object) -> str:
    """Text without what cannot be shown or stored: control characters, halves of surrogate pairs,
    and marks that turn the direction of reading. Line breaks and tabs stay.
    """
    if not isinstance(text, str):
        return ""
    return "".join(char for char in text if char in "\n\t" or not _unseen(char))


def _unseen(char: str) -> bool:
    return char in _DIRECTIONS or unicodedata.category(char) in ("Cc", "Cs")


def tidy(text: object) -> str:
    """Legible text without idle white space; paragraphs stay on lines of their own."""
    lines = (" ".join(line.split()) for line in legible(text).split("\n"))
    return "\n".join(line for line in lines if line)


def unmarked(text: object) -> str:
    """Plain text of a snippet of HTML: no tags, entities as the characters they stand for."""
    source = text[:SNIPPET] if isinstance(text, str) else ""
    bare = _TAG.sub(" ", _INLINE.sub("", _HIDDEN.sub(" ", source)))
    return " ".join(legible(html.unescape(bare)).split())


def shortened(text: str, limit: int) -> str:
    """The text cut to `limit` characters, at the end of a word where words are written apart."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    if _within_word(cut[-1]) and _within_word(text[limit]):
        boundary = max((n for n, char in enumerate(cut, 1) if not _within_word(char)), default=0)
        cut = cut[:boundary] or cut
    return cut.rstrip()


def _within_word(char: str) -> bool:
    return not char.isspace() and not has_han(char)


def published(value: object) -> date | None:
    """The day that a service names in one of the ways of RFC 1123 or ISO 8601; else None."""
    if not isinstance(value, str):
        return None
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            day = parse(value.strip()).date()
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
        return day if day.year >= WEB_BEGAN else None
    return None


# Evidence


def rows(value: object) -> list[dict[str, Any]]:
    """What of a list of results is a result at all."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def result(
    url: object, title: str, text: str, *, retrieved: datetime, day: date | None = None
) -> Evidence | None:
    """One result as evidence with one passage; None without a usable address or any text."""
    address = canonical_url(url.strip()) if isinstance(url, str) else ""
    text = shortened(text, SNIPPET)
    if not address or not text:
        return None
    domain = (urlsplit(address).hostname or "").removeprefix("www.")
    return Evidence(
        id=evidence_id(KIND, address, address),
        kind=KIND,
        title=" ".join(title.split()) or domain,
        publisher=domain,
        url=address,
        retrieved=retrieved,
        published=day,
        passages=(Passage(id=fingerprint(address, text), text=text, end=len(text)),),
    )


def united(items: Iterable[Evidence | None], limit: int) -> tuple[Evidence, ...]:
    """The usable results, each address once, at most `limit` of them."""
    registry = Registry()
    for item in items:
        if item is not None:
            registry.add(item)
    return tuple(registry)[:limit]


# HTTP


@lru_cache(1)
def trusted() -> ssl.SSLContext:
    """Whose certificates count: read once for all providers, since reading them takes a while."""
    return httpx.create_ssl_context()


@asynccontextmanager
async def reaching(service: str, seconds: float) -> AsyncIterator[None]:
    """Whatever goes wrong with the connection inside becomes a `Trouble` of its kind.

    The deadline is one for the whole exchange: a service that sends a byte now and then would
    outlast any limit on the time between two bytes.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise late(service, seconds) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
        text = f"{service}: the address cannot be used"
        raise Trouble("refused", text, hint="endpoint") from error
    except httpx.LocalProtocolError as error:  # its words may hold a header, and so a key
        raise Trouble("refused", f"{service}: the request cannot be sent") from error
    except httpx.DecodingError as error:
        raise Trouble("malformed", f"{service}: {error}", hint="endpoint") from error
    except httpx.HTTPError as error:
        text = f"{service}: {error or 'the connection broke'}"
        raise Trouble("unreachable", text, again=True) from error


def late(service: str, seconds: float) -> Trouble:
    """No answer in time."""
    return Trouble("timeout", f"{service}: no answer within {seconds:g} s", again=True)


def content(response: httpx.Response, service: str) -> dict[str, Any]:
    """The JSON object that a response holds.

    Raises:
        Trouble: it holds something else, a web page for instance.
    """
    try:
        data = response.json()
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        kind = response.headers.get("content-type", "").partition(";")[0] or "no content type"
        text = f"{service}: HTTP {response.status_code} without the JSON asked for ({kind})"
        raise Trouble("malformed", text, hint="endpoint")
    return data
