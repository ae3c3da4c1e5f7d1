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

from research.core.errors import ServiceError
from research.core.text.tokenizer import tokenize
from research.http.sanitize import keep_objects, strip_html, truncate_text
from research.readers.errors import to_service_error
from research.readers.pool import FETCH_POOL, MB, ParserError, ResourceLimits
from research.readers.webpages import PageLimitError, check_page_limits
from research.sources.news.article import MAX_TITLE_CHARS, Article, parse_web_address, url_host

PROVIDER_NAME = "feeds"
MAX_ITEMS = 5_000  # of one feed that are read, the first ones
MAX_LISTED_FEEDS = 500  # of one list
MAX_TEXT_CHARS = 2_000  # characters of an article that are kept
MAX_MATCHED_CHARS = 600  # characters of them that a query is compared with

# What the parser of broken XML fails with where it has no way out.
_PARSER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class FeedItem:
    """An article with the words that it is found by."""

    article: Article
    title_words: frozenset[str]
    all_words: frozenset[str]


@dataclass(frozen=True)
class Feed:
    """What a feed holds; `fault` says what is wrong with it. With `listing` it is a list of feeds,
    and `lists` are their addresses."""

    title: str = ""
    items: tuple[FeedItem, ...] = ()
    error_message: str = ""
    list_urls: tuple[str, ...] = ()
    is_list: bool = False


def parse_feed(body: bytes, url: str, retrieved: datetime, content_type: str = "") -> Feed:
    """What a feed from an address holds, as it was `retrieved`; `kind` is its content type, which may
    name its encoding.

    Raises:
        Trouble: it is no feed.
    """
    found = _parse_in_child("feed_task", body, url=url, retrieved=retrieved.isoformat(), kind=content_type)
    items = tuple(_build_item(Article.model_validate(each)) for each in found["articles"])
    return Feed(found["title"], items, found["fault"], tuple(found["lists"]), found["listing"])


def parse_feed_list(body: bytes) -> tuple[str, ...]:
    """The addresses of the feeds that an OPML file names, each once.

    Raises:
        Trouble: it is none.
    """
    return tuple(_parse_in_child("list_task", body)["lists"])


def _parse_in_child(task: str, body: bytes, **arguments: str) -> Any:
    """Run a function of this module in a parser process and return its result.

    Raises:
        Trouble: the feed cannot be parsed.
    """
    size = len(body) / MB
    allowance = ResourceLimits(int((96 + 60 * size) * MB), 1.5 + 5 * size)
    try:
        found = FETCH_POOL.call(
            f"research.sources.news.feed_parser:{task}",
            body,
            arguments,
            limits=allowance,
            imports=("feedparser",),
        )
    except ParserError as error:
        raise to_service_error(error, "the feed") from error
    if "message" in found:
        raise ServiceError("malformed", found["message"])
    return found


def feed_task(data: bytes, progress: object, *, url: str, retrieved: str, kind: str) -> dict[str, Any]:
    """The fields of a feed, or why there are none; a task of a parser process."""
    try:
        feed = _parse_feed_body(data, url, datetime.fromisoformat(retrieved), kind)
    except ServiceError as error:
        return {"message": error.message}
    return {
        "title": feed.title,
        "articles": [item.article.model_dump(mode="json") for item in feed.items],
        "fault": feed.error_message,
        "lists": feed.list_urls,
        "listing": feed.is_list,
    }


def list_task(data: bytes, progress: object) -> dict[str, Any]:
    """The addresses of feeds, or why there are none; a task of a parser process."""
    try:
        return {"lists": _parse_opml(data)}
    except ServiceError as error:
        return {"message": error.message}


def _parse_feed_body(body: bytes, url: str, retrieved: datetime, content_type: str) -> Feed:
    head = body[:2_000].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    if head.startswith(b"{"):
        return _parse_json(body, url, retrieved)
    try:
        check_page_limits(body.decode("latin-1"))
    except PageLimitError as error:
        raise ServiceError("malformed", f"{url_host(url)} sent a feed that cannot be read: {error}") from error
    if b"<opml" in head:
        return Feed(list_urls=_parse_opml(body), is_list=True)
    return _parse_xml(body, url, content_type, retrieved)


def _parse_opml(body: bytes) -> tuple[str, ...]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ServiceError("malformed", "the list of feeds is no OPML") from error
    if root is None or etree.QName(root).localname.lower() != "opml":
        raise ServiceError("malformed", "the list of feeds is no OPML")
    found = (parse_web_address(outline.get("xmlUrl")) for outline in root.iter("{*}outline", "outline"))
    return tuple(dict.fromkeys(filter(None, found)))[:MAX_LISTED_FEEDS]


# XML


def _parse_xml(body: bytes, url: str, content_type: str, retrieved: datetime) -> Feed:
    import feedparser

    headers = {"content-location": url} | ({"content-type": content_type} if content_type else {})
    try:
        # Of a stream no address is fetched and no file opened, which of bytes would be tried.
        told = feedparser.parse(
            io.BytesIO(body),
            response_headers=headers,
            resolve_relative_uris=False,
            sanitize_html=False,  # nothing of it stays HTML
        )
    except _PARSER_ERRORS as error:
        raise ServiceError("malformed", f"{url_host(url)} sent a feed that cannot be read") from error
    entries = keep_objects(list(told.entries))
    if not told.get("version") and not entries:
        raise ServiceError("malformed", f"{url_host(url)} sent no feed")
    title = _plain_text(told.feed.get("title")) or url_host(url)
    broken = isinstance(told.get("bozo_exception"), xml.sax.SAXException)
    found = (_parse_entry(entry, url, title, retrieved) for entry in entries[:MAX_ITEMS])
    return _build_feed(title, found, len(entries), "its XML is broken" if broken else "")


def _parse_entry(
    entry: Mapping[str, Any], base_url: str, feed_title: str, retrieved: datetime
) -> tuple[str, Article | None]:
    """The id of an entry and the article, if it has an address."""
    # `get` of the library's own class makes up one date from another.
    told = dict.get(entry, "published") or dict.get(entry, "updated")  # type: ignore[call-overload]
    contents = [part.get("value") for part in keep_objects(entry.get("content"))]
    texts = [_plain_text(text, MAX_TEXT_CHARS) for text in (*contents, entry.get("summary"))]
    source = entry.get("source")
    outlet = _plain_text(source.get("title")) if isinstance(source, dict) else ""
    link = parse_web_address(entry.get("link"), base_url)
    article = Article(
        url=link,
        title=_plain_text(entry.get("title")),
        provider=PROVIDER_NAME,
        outlet=outlet or feed_title,
        text=max(texts, key=len),
        image=_entry_image(entry, base_url),
    ).with_published_date(told, retrieved)
    # An address that is none was taken for one relative to the feed: it leads back to that.
    return str(entry.get("id") or ""), article if link and link != base_url else None


def _entry_image(entry: Mapping[str, Any], base_url: str) -> str:
    """The first picture of an entry. What a feed says of it cannot be told from the item's text."""
    media = keep_objects(entry.get("media_content"))
    pictures = [m.get("url") for m in media if _is_picture(m)]
    pictures += [thumb.get("url") for thumb in keep_objects(entry.get("media_thumbnail"))]
    pictures += [e.get("href") for e in keep_objects(entry.get("enclosures")) if _is_picture(e)]
    return next(filter(None, (parse_web_address(url, base_url) for url in pictures)), "")


def _is_picture(media: Mapping[str, Any]) -> bool:
    return media.get("medium") == "image" or str(media.get("type", "")).startswith("image/")


# JSON Feed (https://www.jsonfeed.org/version/1.1/)


def _parse_json(body: bytes, url: str, retrieved: datetime) -> Feed:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServiceError("malformed", f"{url_host(url)} sent broken JSON") from error
    if not isinstance(told, dict) or not isinstance(told.get("items"), list):
        raise ServiceError("malformed", f"{url_host(url)} sent no feed")
    title = _plain_text(told.get("title")) or url_host(url)
    entries = keep_objects(told["items"])
    found = (_parse_json_item(entry, url, title, retrieved) for entry in entries[:MAX_ITEMS])
    return _build_feed(title, found, len(entries), "")


def _parse_json_item(
    entry: Mapping[str, Any], base_url: str, feed_title: str, retrieved: datetime
) -> tuple[str, Article | None]:
    dated = entry.get("date_published") or entry.get("date_modified")
    texts = (entry.get("content_text"), entry.get("content_html"), entry.get("summary"))
    link = parse_web_address(entry.get("url") or entry.get("external_url"), base_url)
    article = Article(
        url=link,
        title=_plain_text(entry.get("title")),
        provider=PROVIDER_NAME,
        outlet=feed_title,
        text=max((_plain_text(text, MAX_TEXT_CHARS) for text in texts), key=len),
        image=parse_web_address(entry.get("image"), base_url),
    ).with_published_date(dated, retrieved)
    return str(entry.get("id") or ""), article if link else None


# Both


def _build_feed(title: str, found: Iterable[tuple[str, Article | None]], entry_count: int, error_message: str) -> Feed:
    """The items, each id and each address once."""
    known: set[str] = set()
    items: list[FeedItem] = []
    lost = 0
    for guid, article in found:
        if article is None:
            lost += 1
            continue
        names = {name for name in (f"id {guid}" if guid else "", article.url) if name}
        if not names & known and (article.title or article.text):
            items.append(_build_item(article))
        known |= names
    faults = [error_message] if error_message else []
    if lost:
        faults.append(f"{lost} of {entry_count} items have no address")
    if entry_count > MAX_ITEMS:
        faults.append(f"of {entry_count} items the first {MAX_ITEMS} were read")
    said = "; ".join(faults)
    return Feed(title, tuple(items), f"{said}; {len(items)} items were read" if said else "")


def _build_item(article: Article) -> FeedItem:
    article = article.model_copy(update={"title": article.title or truncate_text(article.text, 80)})
    title = frozenset(tokenize(article.title))
    return FeedItem(article, title, title | frozenset(tokenize(article.text[:MAX_MATCHED_CHARS])))


def _plain_text(value: object, limit: int = MAX_TITLE_CHARS) -> str:
    return truncate_text(strip_html(value), limit)
