"""Parser of feeds: RSS, Atom, RDF, JSON Feed, and lists of feeds (OPML).

Feeds are untrusted: their XML may be broken, addresses invalid, titles full of mark-up. They are
parsed in a child process with limits (`research.readers`). Readable items are kept and faults are
reported. No network access.
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
from research.core.json_values import keep_objects
from research.core.text.tokenizer import tokenize
from research.http.sanitize import strip_html, truncate_text
from research.readers.errors import to_service_error
from research.readers.pool import FETCH_POOL, MB, ParserError, ResourceLimits
from research.readers.webpages import PageLimitError, check_page_limits
from research.sources.news.article import MAX_TITLE_CHARS, Article, parse_web_address, url_host

MAX_ITEMS = 5_000  # items read per feed
MAX_LISTED_FEEDS = 500  # feeds read per list
MAX_TEXT_CHARS = 2_000  # characters kept of an article
MAX_MATCHED_CHARS = 600  # characters compared with a query

# Exceptions that feedparser raises for badly broken XML.
_PARSER_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class FeedItem:
    """An article with its words for matching."""

    article: Article
    title_words: frozenset[str]
    all_words: frozenset[str]


@dataclass(frozen=True)
class Feed:
    """A parsed feed with its items, or a list of feeds (`is_list`) with their addresses.

    `error_message` describes faults of a feed that was still readable.
    """

    title: str = ""
    items: tuple[FeedItem, ...] = ()
    error_message: str = ""
    list_urls: tuple[str, ...] = ()
    is_list: bool = False


def parse_feed(body: bytes, url: str, retrieved: datetime, content_type: str = "") -> Feed:
    """Parse a feed retrieved from `url`; `content_type` may name its encoding.

    Raises:
        ServiceError: it is no feed.
    """
    fields = _parse_in_child("feed_task", body, url=url, retrieved=retrieved.isoformat(), content_type=content_type)
    items = tuple(_build_item(Article.model_validate(article)) for article in fields["articles"])
    return Feed(fields["title"], items, fields["error_message"], tuple(fields["list_urls"]), fields["is_list"])


def parse_feed_list(body: bytes) -> tuple[str, ...]:
    """Return the distinct feed addresses in an OPML file.

    Raises:
        ServiceError: it is no OPML.
    """
    return tuple(_parse_in_child("list_task", body)["list_urls"])


def _parse_in_child(task: str, body: bytes, **arguments: str) -> Any:
    """Run a function of this module in a parser process and return its result.

    Raises:
        ServiceError: the feed cannot be parsed.
    """
    size = len(body) / MB
    resource_limits = ResourceLimits(int((96 + 60 * size) * MB), 1.5 + 5 * size)
    try:
        result = FETCH_POOL.call(
            f"research.sources.news.feed_parser:{task}",
            body,
            arguments,
            limits=resource_limits,
            imports=("feedparser",),
        )
    except ParserError as error:
        raise to_service_error(error, "the feed") from error
    if "message" in result:
        raise ServiceError("malformed", result["message"])
    return result


def feed_task(data: bytes, progress: object, *, url: str, retrieved: str, content_type: str) -> dict[str, Any]:
    """Return the fields of a feed, or an error message; runs in a parser process.

    `progress`, which every task gets, is not used, since feeds are short.
    """
    try:
        feed = _parse_feed_body(data, url, datetime.fromisoformat(retrieved), content_type)
    except ServiceError as error:
        return {"message": error.message}
    return {
        "title": feed.title,
        "articles": [item.article.model_dump(mode="json") for item in feed.items],
        "error_message": feed.error_message,
        "list_urls": feed.list_urls,
        "is_list": feed.is_list,
    }


def list_task(data: bytes, progress: object) -> dict[str, Any]:
    """Return the addresses in a list of feeds, or an error message; runs in a parser process."""
    try:
        return {"list_urls": _parse_opml(data)}
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
    addresses = (parse_web_address(outline.get("xmlUrl")) for outline in root.iter("{*}outline", "outline"))
    return tuple(dict.fromkeys(filter(None, addresses)))[:MAX_LISTED_FEEDS]


# XML


def _parse_xml(body: bytes, url: str, content_type: str, retrieved: datetime) -> Feed:
    import feedparser

    headers = {"content-location": url} | ({"content-type": content_type} if content_type else {})
    try:
        # feedparser would take bytes for an address or file name; a stream is only read.
        parsed = feedparser.parse(
            io.BytesIO(body),
            response_headers=headers,
            resolve_relative_uris=False,
            sanitize_html=False,  # all texts are stripped of HTML later
        )
    except _PARSER_ERRORS as error:
        raise ServiceError("malformed", f"{url_host(url)} sent a feed that cannot be read") from error
    entries = keep_objects(list(parsed.entries))
    if not parsed.get("version") and not entries:
        raise ServiceError("malformed", f"{url_host(url)} sent no feed")
    title = _plain_text(parsed.feed.get("title")) or url_host(url)
    broken = isinstance(parsed.get("bozo_exception"), xml.sax.SAXException)
    articles = (_parse_entry(entry, url, title, retrieved) for entry in entries[:MAX_ITEMS])
    return _build_feed(title, articles, len(entries), "its XML is broken" if broken else "")


def _parse_entry(
    entry: Mapping[str, Any], base_url: str, feed_title: str, retrieved: datetime
) -> tuple[str, Article | None]:
    """Return the id of an entry and its article, or None if it has no address."""
    # feedparser's own `get` substitutes one date for another.
    date_text = dict.get(entry, "published") or dict.get(entry, "updated")  # type: ignore[call-overload]
    contents = [part.get("value") for part in keep_objects(entry.get("content"))]
    texts = [_plain_text(text, MAX_TEXT_CHARS) for text in (*contents, entry.get("summary"))]
    source = entry.get("source")
    outlet = _plain_text(source.get("title")) if isinstance(source, dict) else ""
    link = parse_web_address(entry.get("link"), base_url)
    article = Article(
        url=link,
        title=_plain_text(entry.get("title")),
        outlet=outlet or feed_title,
        text=max(texts, key=len),
        image=_entry_image(entry, base_url),
    ).with_published_date(date_text, retrieved)
    # An invalid link resolves to the feed's own address.
    return str(entry.get("id") or ""), article if link and link != base_url else None


def _entry_image(entry: Mapping[str, Any], base_url: str) -> str:
    """Return the address of the first image of an entry, or ""."""
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
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServiceError("malformed", f"{url_host(url)} sent broken JSON") from error
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise ServiceError("malformed", f"{url_host(url)} sent no feed")
    title = _plain_text(document.get("title")) or url_host(url)
    entries = keep_objects(document["items"])
    articles = (_parse_json_item(entry, url, title, retrieved) for entry in entries[:MAX_ITEMS])
    return _build_feed(title, articles, len(entries), "")


def _parse_json_item(
    entry: Mapping[str, Any], base_url: str, feed_title: str, retrieved: datetime
) -> tuple[str, Article | None]:
    date_text = entry.get("date_published") or entry.get("date_modified")
    texts = (entry.get("content_text"), entry.get("content_html"), entry.get("summary"))
    link = parse_web_address(entry.get("url") or entry.get("external_url"), base_url)
    article = Article(
        url=link,
        title=_plain_text(entry.get("title")),
        outlet=feed_title,
        text=max((_plain_text(text, MAX_TEXT_CHARS) for text in texts), key=len),
        image=parse_web_address(entry.get("image"), base_url),
    ).with_published_date(date_text, retrieved)
    return str(entry.get("id") or ""), article if link else None


# Common to XML and JSON feeds


def _build_feed(title: str, found: Iterable[tuple[str, Article | None]], entry_count: int, error_message: str) -> Feed:
    """Build a feed from parsed items, dropping repeated ids and addresses."""
    seen: set[str] = set()
    items: list[FeedItem] = []
    dropped_count = 0
    for guid, article in found:
        if article is None:
            dropped_count += 1
            continue
        keys = {name for name in (f"id {guid}" if guid else "", article.url) if name}
        if not keys & seen and (article.title or article.text):
            items.append(_build_item(article))
        seen |= keys
    faults = [error_message] if error_message else []
    if dropped_count:
        faults.append(f"{dropped_count} of {entry_count} items have no address")
    if entry_count > MAX_ITEMS:
        faults.append(f"of {entry_count} items the first {MAX_ITEMS} were read")
    message = "; ".join(faults)
    return Feed(title, tuple(items), f"{message}; {len(items)} items were read" if message else "")


def _build_item(article: Article) -> FeedItem:
    article = article.model_copy(update={"title": article.title or truncate_text(article.text, 80)})
    title = frozenset(tokenize(article.title))
    return FeedItem(article, title, title | frozenset(tokenize(article.text[:MAX_MATCHED_CHARS])))


def _plain_text(value: object, limit: int = MAX_TITLE_CHARS) -> str:
    return truncate_text(strip_html(value), limit)
