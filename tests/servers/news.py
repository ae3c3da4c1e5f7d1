"""News services on this machine: Tavily's topic of news, a site full of feeds, and GDELT.

They keep to the ways of the real ones as far as anybody has written them down, and fail on request.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.servers.search import HANGS, Asked, FakeTavily, Service


def rows(
    count: int, now: datetime, *, apart: timedelta = timedelta(hours=5)
) -> list[dict[str, Any]]:
    """Rows as Tavily gives them for news, the newest first: dates are RFC 1123, nothing else is."""
    return [
        {
            "title": f"央行宣布降准，第 {n} 家媒体报道",
            "url": f"https://outlet{n}.example/2026/news?utm_source=feed&id={n}",
            "content": f"中国人民银行决定下调存款准备金率 0.5 个百分点。（第 {n} 家）",
            "score": round(0.99 - n / 100, 2),
            "raw_content": None,
            "published_date": format_datetime(now - n * apart, usegmt=True),
        }
        for n in range(count)
    ]


def rows_about(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of their own for each request, as many as it asks for, with what it asks in their words."""
    query = str(body["query"])
    mark = hashlib.sha256(json.dumps(dict(body), sort_keys=True).encode()).hexdigest()[:10]
    return [
        {
            "title": f"{query[:60]}: report {n} of {mark}",
            "url": f"https://paper{n}.example/{mark}/{n}",
            "content": f"What paper {n} writes of {query[:60]} ({mark}).",
            "score": round(0.99 - n / 100, 2),
            "raw_content": None,
            "published_date": "Wed, 18 Nov 2026 08:00:00 GMT",
        }
        for n in range(int(body.get("max_results", 5)))
    ]


@dataclass
class FakeTavilyNews(FakeTavily):
    """`results` are rows, of which it gives no more than it is asked for, or what makes them of a
    request's body; `lead` is its own answer. `odd` is how requests are treated whose query has a
    word in it: the attributes that differ, as in `{"strike": {"status": 432}}`.

    A query of more than 400 characters is refused, as Tavily refuses it.
    """

    lead: Any = None
    images: Any = field(default_factory=list)
    odd: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was asked, as it came over the wire."""
        return [asked.body for asked in self.log]

    def asked(self, words: str) -> list[dict[str, Any]]:
        """Those of the bodies whose query has some words in it."""
        return [body for body in self.bodies if words in body["query"]]

    def reset(self) -> None:
        """Forgets the log, and that anything is odd."""
        self.log, self.odd, self.status, self.fault = [], {}, 200, ""

    def answer(self, asked: Asked) -> Any:
        told = super().answer(asked)
        if callable(self.results):
            told["results"] = self.results(asked.body)
        elif isinstance(self.results, list):
            told["results"] = self.results[: asked.body.get("max_results", 5)]
        told["answer"] = self.lead if asked.body.get("include_answer") else None
        told["images"] = self.images if asked.body.get("include_images") else []
        return told

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if len(asked.body["query"]) > 400:
            error = {"detail": {"error": "Query is too long. Max query length is 400 characters."}}
            return web.json_response(error, status=400)
        for words, other in self.odd.items():
            if words in asked.body["query"]:
                return await self._differing(other)._respond(request, asked)
        if self.fault == "hangs":
            await asyncio.sleep(HANGS)
        return await super()._respond(request, asked)

    def _differing(self, other: Mapping[str, Any]) -> FakeTavilyNews:
        """This server, but for some attributes."""
        one = copy.copy(self)
        vars(one).update(odd={}, **other)
        return one


RSS = "application/rss+xml; charset=utf-8"


@dataclass(frozen=True)
class Given:
    """What lies at a path: a feed, a redirect, a page. With `etag` or `modified` it answers 304 to
    whoever has it already; `waits` are the seconds before anything comes."""

    body: bytes = b""
    type: str = RSS
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""
    modified: str = ""
    waits: float = 0.0
    trickles: bool = False


@dataclass
class FakeFeeds(Service):
    """A site whose paths are feeds."""

    feeds: dict[str, Given] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(self.base_url.rpartition(":")[2])

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.log]

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        given = self.feeds.get(asked.path, Given(b"nothing here", status=404, type="text/plain"))
        await asyncio.sleep(given.waits)
        if given.trickles:
            return await self._trickle(request)
        tags = {"ETag": given.etag, "Last-Modified": given.modified}
        headers = {**given.headers, "Content-Type": given.type}
        headers |= {name: value for name, value in tags.items() if value}
        had = asked.headers.get("if-none-match"), asked.headers.get("if-modified-since")
        if (given.etag and given.etag == had[0]) or (given.modified and given.modified == had[1]):
            return web.Response(status=304, headers=headers)
        return web.Response(status=given.status, body=given.body, headers=headers)


def rss(*items: str, title: str = "Example News", encoding: str = "utf-8") -> bytes:
    """An RSS feed of items, which are written as XML."""
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><rss version="2.0" '
        'xmlns:media="http://search.yahoo.com/mrss/"><channel>'
        f"<title>{title}</title><link>https://news.example/</link>{''.join(items)}</channel></rss>"
    )
    return text.encode(encoding)


def item(
    title: str,
    link: str = "https://news.example/a",
    *,
    date: str = "",
    text: str = "",
    guid: str = "",
    more: str = "",
) -> str:
    dated = f"<pubDate>{date}</pubDate>" if date else ""
    named = f"<guid isPermaLink='false'>{guid}</guid>" if guid else ""
    return (
        f"<item><title>{title}</title><link>{link}</link>{named}{dated}"
        f"<description>{text}</description>{more}</item>"
    )


def opml(*urls: str) -> bytes:
    outlines = "".join(f'<outline type="rss" text="a feed" xmlUrl="{url}"/>' for url in urls)
    return f'<?xml version="1.0"?><opml version="2.0"><body><outline text="News">{outlines}</outline></body></opml>'.encode()


@dataclass
class FakeGDELT(Service):
    """`results` are GDELT's articles; `says` is plain text that it answers instead, whatever the
    status, as it does with everything that it does not like."""

    says: str = ""
    raw: str = ""
    times: list[float] = field(default_factory=list)

    def answer(self, asked: Asked) -> Any:
        most = int(asked.query["maxrecords"])
        return {"articles": self.results[:most]} if self.results else {}

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        self.times.append(asyncio.get_running_loop().time())
        if self.says:
            status = self.statuses.pop(0) if self.statuses else self.status
            return web.Response(status=status, text=self.says, content_type="text/html")
        if self.raw:
            return web.Response(text=self.raw, content_type="application/json")
        return await super()._respond(request, asked)


def seen(n: int, **more: Any) -> dict[str, Any]:
    """A row of GDELT."""
    return {
        "url": f"https://paper{n}.example/story",
        "url_mobile": "",
        "title": f"Central bank cuts reserve ratio, paper {n}",
        "seendate": "20261120T081500Z",
        "socialimage": f"https://paper{n}.example/picture.jpg",
        "domain": f"paper{n}.example",
        "language": "English",
        "sourcecountry": "China",
    } | more


def dumps(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()
