"""From the bytes of a feed to articles: RSS, Atom, RDF, JSON Feed, and lists of feeds (OPML).

A feed is written by strangers: XML may be broken, addresses relative or worse, titles full of
mark-up. It is parsed in a child process with limits (`research.readers`). What can be read is read, and what
is broken is said. Asks nobody.
"""

from __future__ import annotations

import io
import json
import xml.sax
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from research.core.errors import Trouble
from research.core.text.words import tokens
from research.http.plain import rows, shortened, unmarked
from research.readers.errors import broken_off
from research.readers.pool import FETCHED, MB, Allowance, ParserError
from research.readers.webpages import ShapeError, check_shape
from research.sources.news.article import HEADLINE, Article, host, web_address

PROVIDER = "feeds"
ITEMS = 5_000  # of one feed that are read, the first ones
FEEDS = 500  # of one list
TEXT = 2_000  # characters of an article that are kept
MATCHED = 600  # characters of them that a query is compared with

# What the parser of broken XML fails with where it has no way out.
_LOST = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Item:
    """An article with the words that it is found by."""

    article: Article
    title: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True)
class Feed:
    """What a feed holds; `fault` says what is wrong with it. With `listing` it is a list of feeds,
    and `lists` are their addresses."""

    title: str = ""
    items: tuple[Item, ...] = ()
    fault: str = ""
    lists: tuple[str, ...] = ()
    listing: bool = False


def parsed(body: bytes, url: str, retrieved: datetime, kind: str = "") -> Feed:
    """What a feed from an address holds, as it was `retrieved`; `kind` is its content type, which may
    name its encoding.

    Raises:
        Trouble: it is no feed.
    """
    found = _parse_apart("feed_task", body, url=url, retrieved=retrieved.isoformat(), kind=kind)
    items = tuple(_item(Article.model_validate(each)) for each in found["articles"])
    return Feed(found["title"], items, found["fault"], tuple(found["lists"]), found["listing"])


def listed(body: bytes) -> tuple[str, ...]:
    """The addresses of the feeds that an OPML file names, each once.

    Raises:
        Trouble: it is none.
    """
    return tuple(_parse_apart("list_task", body)["lists"])


def _parse_apart(task: str, body: bytes, **arguments: str) -> Any:
    """Run a function of this module in a parser process and return its result.

    Raises:
        Trouble: the feed cannot be parsed.
    """
    size = len(body) / MB
    allowance = Allowance(int((96 + 60 * size) * MB), 1.5 + 5 * size)
    try:
        found = FETCHED.call(
            f"research.sources.news.parsing:{task}",
            body,
            arguments,
            allowance=allowance,
            imports=("feedparser",),
        )
    except ParserError as error:
        raise broken_off(error, "the feed") from error
    if "message" in found:
        raise Trouble("malformed", found["message"])
    return found


def feed_task(
    data: bytes, progress: object, *, url: str, retrieved: str, kind: str
) -> dict[str, Any]:
    """The fields of a feed, or why there are none; a task of a parser process."""
    try:
        feed = _parsed(data, url, datetime.fromisoformat(retrieved), kind)
    except Trouble as error:
        return {"message": error.message}
    return {
        "title": feed.title,
        "articles": [item.article.model_dump(mode="json") for item in feed.items],
        "fault": feed.fault,
        "lists": feed.lists,
        "listing": feed.listing,
    }


def list_task(data: bytes, progress: object) -> dict[str, Any]:
    """The addresses of feeds, or why there are none; a task of a parser process."""
    try:
        return {"lists": _listed(data)}
    except Trouble as error:
        return {"message": error.message}


def _parsed(body: bytes, url: str, retrieved: datetime, kind: str) -> Feed:
    head = body[:2_000].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if head.startswith(b"{"):
        return _json(body, url, retrieved)
    try:
        check_shape(body.decode("latin-1"))
    except ShapeError as error:
        raise Trouble(
            "malformed", f"{host(url)} sent a feed that cannot be read: {error}"
        ) from error
    if b"<opml" in head:
        return Feed(lists=_listed(body), listing=True)
    return _xml(body, url, kind, retrieved)


def _listed(body: bytes) -> tuple[str, ...]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Trouble("malformed", "the list of feeds is no OPML") from error
    if root is None or etree.QName(root).localname.lower() != "opml":
        raise Trouble("malformed", "the list of feeds is no OPML")
    found = (web_address(outline.get("xmlUrl")) for outline in root.iter("{*}outline", "outline"))
    return tuple(dict.fromkeys(filter(None, found)))[:FEEDS]


# XML


def _xml(body: bytes, url: str, kind: str, retrieved: datetime) -> Feed:
    import feedparser

    headers = {"content-location": url} | ({"content-type": kind} if kind else {})
    try:
        # Of a stream no address is fetched and no file opened, which of bytes would be tried.
        told = feedparser.parse(
            io.BytesIO(body),
            response_headers=headers,
            resolve_relative_uris=False,
            sanitize_html=False,  # nothing of it stays HTML
        )
    except _LOST as error:
        raise Trouble("malformed", f"{host(url)} sent a feed that cannot be read") from error
    entries = rows(list(told.entries))
    if not told.get("version") and not entries:
        raise Trouble("malformed", f"{host(url)} sent no feed")
    title = _plain(told.feed.get("title")) or host(url)
    broken = isinstance(told.get("bozo_exception"), xml.sax.SAXException)
    found = (_entry(entry, url, title, retrieved) for entry in entries[:ITEMS])
    return _feed(title, found, len(entries), "its XML is broken" if broken else "")


def _entry(
    entry: Mapping[str, Any], base: str, feed: str, retrieved: datetime
) -> tuple[str, Article | None]:
    """The id of an entry and the article, if it has an address."""
    # `get` of the library's own class makes up one date from another.
    told = dict.get(entry, "published") or dict.get(entry, "updated")  # type: ignore[call-overload]
    contents = [part.get("value") for part in rows(entry.get("content"))]
    texts = [_plain(text, TEXT) for text in (*contents, entry.get("summary"))]
    source = entry.get("source")
    outlet = _plain(source.get("title")) if isinstance(source, dict) else ""
    link = web_address(entry.get("link"), base)
    article = Article(
        url=link,
        title=_plain(entry.get("title")),
        provider=PROVIDER,
        outlet=outlet or feed,
        text=max(texts, key=len),
        image=_image(entry, base),
    ).dated(told, retrieved)
    # An address that is none was taken for one relative to the feed: it leads back to that.
    return str(entry.get("id") or ""), article if link and link != base else None


def _image(entry: Mapping[str, Any], base: str) -> str:
    """The first picture of an entry. What a feed says of it cannot be told from the item's text."""
    media = rows(entry.get("media_content"))
    pictures = [m.get("url") for m in media if _is_picture(m)]
    pictures += [thumb.get("url") for thumb in rows(entry.get("media_thumbnail"))]
    pictures += [e.get("href") for e in rows(entry.get("enclosures")) if _is_picture(e)]
    return next(filter(None, (web_address(url, base) for url in pictures)), "")


def _is_picture(told: Mapping[str, Any]) -> bool:
    return told.get("medium") == "image" or str(told.get("type", "")).startswith("image/")


# JSON Feed (https://www.jsonfeed.org/version/1.1/)


def _json(body: bytes, url: str, retrieved: datetime) -> Feed:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Trouble("malformed", f"{host(url)} sent broken JSON") from error
    if not isinstance(told, dict) or not isinstance(told.get("items"), list):
        raise Trouble("malformed", f"{host(url)} sent no feed")
    title = _plain(told.get("title")) or host(url)
    entries = rows(told["items"])
    found = (_json_item(entry, url, title, retrieved) for entry in entries[:ITEMS])
    return _feed(title, found, len(entries), "")


def _json_item(
    entry: Mapping[str, Any], base: str, feed: str, retrieved: datetime
) -> tuple[str, Article | None]:
    dated = entry.get("date_published") or entry.get("date_modified")
    texts = (entry.get("content_text"), entry.get("content_html"), entry.get("summary"))
    link = web_address(entry.get("url") or entry.get("external_url"), base)
    article = Article(
        url=link,
        title=_plain(entry.get("title")),
        provider=PROVIDER,
        outlet=feed,
        text=max((_plain(text, TEXT) for text in texts), key=len),
        image=web_address(entry.get("image"), base),
    ).dated(dated, retrieved)
    return str(entry.get("id") or ""), article if link else None


# Both


def _feed(
    title: str, found: Iterable[tuple[str, Article | None]], entries: int, fault: str
) -> Feed:
    """The items, each id and each address once."""
    known: set[str] = set()
    items: list[Item] = []
    lost = 0
    for guid, article in found:
        if article is None:
            lost += 1
            continue
        names = {name for name in (f"id {guid}" if guid else "", article.url) if name}
        if not names & known and (article.title or article.text):
            items.append(_item(article))
        known |= names
    faults = [fault] if fault else []
    if lost:
        faults.append(f"{lost} of {entries} items have no address")
    if entries > ITEMS:
        faults.append(f"of {entries} items the first {ITEMS} were read")
    said = "; ".join(faults)
    return Feed(title, tuple(items), f"{said}; {len(items)} items were read" if said else "")


def _item(article: Article) -> Item:
    article = article.model_copy(update={"title": article.title or shortened(article.text, 80)})
    title = frozenset(tokens(article.title))
    return Item(article, title, title | frozenset(tokens(article.text[:MATCHED])))


def _plain(value: object, limit: int = HEADLINE) -> str:
    return shortened(unmarked(value), limit)
