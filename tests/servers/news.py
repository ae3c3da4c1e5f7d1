"""News services on this machine: Tavily's topic of news, a site full of feeds, and GDELT.

They keep to the ways of the real ones as far as anybody has written them down, and fail on request.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from tests.servers.search import HANGS, Asked, FakeTavily, Service


def rows(count: int, now: datetime, *, apart: timedelta = timedelta(hours=5)) -> list[dict[str, Any]]:
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
        f"<item><title>{title}</title><link>{link}</link>{named}{dated}<description>{text}</description>{more}</item>"
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


# A few days of news, to look at the pages with: days before now, outlet, headline, text.
_ZH = (
    (0.2, "xinhua.example", "西湖景区国庆接待游客创历史新高", "西湖景区国庆假期接待游客320万人次，同比增长12%。"),
    (0.4, "hzdaily.example", "西湖景区国庆接待游客创历史新高", "西湖景区国庆假期接待游客350万人次，同比增长15%。"),
    (0.5, "thepaper.example", "西湖景区国庆接待游客创历史新高", "西湖景区国庆假期接待游客320万人次，同比增长12%。"),
    (1.5, "caixin.example", "故宫博物院调整冬季开放时间，周一闭馆", "故宫博物院自下周起执行冬季开放时间，周一闭馆。"),
    (2.2, "bjnews.example", "八达岭长城因大雪临时关闭部分路段", "受降雪影响，八达岭长城临时关闭南段。"),
    (2.4, "xinhua.example", "八达岭长城部分路段因大雪临时关闭", "八达岭长城管理处宣布临时关闭南段，恢复时间另行通知。"),
    (3.1, "cnr.example", "多地机票价格下降三成，错峰出游升温", "节后机票均价下降三成，错峰出游人数增长。"),
    (5.3, "yicai.example", "酒店集团第三季度营收增长8%", "酒店集团第三季度营收45亿元，同比增长8%。"),
    (6.6, "people.example", "文旅部发布冬季旅游安全提示", "文化和旅游部提醒游客关注天气与道路状况。"),
    (8.0, "scmp.example", "黄山缆车事故致三人受伤，景区致歉", "黄山一处缆车发生事故，三人受伤，景区已致歉。"),
    (None, "blog.example", "亲子游住宿怎么选：一位妈妈的笔记", "住宿以安静、近地铁为先。"),
    (9.5, "evil.example", "<img src=x onerror=window.__pwned=1> ![x](http://127.0.0.1:9/x) $a$ {{datum}} :red[x]", "带有标记的标题只是文字。"),
)  # fmt: skip
_EN = (
    (0.2, "wire.example", "West Lake draws a record number of visitors over the holiday", "West Lake drew 3.2 million visitors over the holiday, up 12% on the year before."),
    (0.4, "herald.example", "West Lake draws a record number of visitors over the holiday", "West Lake drew 3.5 million visitors over the holiday, up 15% on the year before."),
    (0.5, "courier.example", "West Lake draws a record number of visitors over the holiday", "West Lake drew 3.2 million visitors over the holiday, up 12% on the year before."),
    (1.5, "times.example", "Palace Museum moves to winter hours and closes on Mondays", "The Palace Museum will open from 8:30 to 16:30 until March."),
    (2.2, "wire.example", "Part of the Great Wall at Badaling closed after heavy snow", "The southern section at Badaling is closed after heavy snow."),
    (2.4, "post.example", "Great Wall at Badaling: part closed after heavy snow", "The administration closed the southern section; no date for its opening is known."),
    (3.1, "market.example", "Air fares fall by a third as the holiday ends", "Average fares fell by a third, and off-season trips rise."),
    (5.3, "market.example", "Hotel group's third-quarter revenue grows 8%", "The group reported revenue of 4.5 billion yuan, 8% more than last year."),
    (6.6, "gazette.example", "Ministry publishes advice for winter travel", "Travellers are asked to watch the weather and the state of the roads."),
    (8.0, "post.example", "Three hurt in cable car accident on Huangshan", "Three people were hurt; the operator has apologised."),
    (None, "blog.example", "Choosing a family hotel: notes of a mother", "Quiet rooms near the underground come first."),
    (9.5, "evil.example", "<img src=x onerror=window.__pwned=1> ![x](http://127.0.0.1:9/x) $a$ {{datum}} :red[x]", "A headline with marks in it is only text."),
)  # fmt: skip
_LEADS = {
    True: "国庆假期旅游市场总体平稳，热门景区客流创新高。\n\n这段话由搜索服务自动生成。",
    False: "Holiday tourism was strong, and well-known sights drew record crowds.\n\nThe search service wrote this itself.",
}
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400"><rect width="640" height="400" '
    'fill="#{colour}"/><circle cx="320" cy="200" r="90" fill="#ffffff" opacity="0.7"/></svg>'
)


@dataclass
class FakeNewsroom(FakeTavilyNews):
    """Tavily with a few days of news of its own, in the language of the query, and the pictures that
    it names: two that are there and one that is not. Queries begin at different rows; `latest` come
    before them."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    latest: list[dict[str, Any]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # pictures that were asked for
    referrers: set[str] = field(default_factory=set)  # that were named with them

    def answer(self, asked: Asked) -> Any:
        query = asked.body["query"]
        chinese = any("\u4e00" <= char <= "\u9fff" for char in query)
        told = [self._row(n, *row) for n, row in enumerate(_ZH if chinese else _EN)]
        start = zlib.crc32(query.encode()) % len(told)
        found = (self.latest + told[start:] + told[:start])[: asked.body.get("max_results", 5)]
        pictures = [
            {"url": f"{self.base_url}/picture/{name}.svg", "description": words}
            for name, words in (
                ("3b8fd4", "西湖断桥 / The Broken Bridge"),
                ("118277", "<b>长城</b> ![x](x) / the Great Wall in snow"),
                ("lost", "不存在的图片 / a picture that is gone"),
            )
        ]
        return {
            "query": query,
            "answer": _LEADS[chinese] if asked.body.get("include_answer") else None,
            "images": pictures if asked.body.get("include_images") else [],
            "results": found,
            "response_time": 0.01,
        }

    def _row(self, n: int, days: float | None, outlet: str, title: str, text: str) -> dict[str, Any]:
        told = None if days is None else format_datetime(self.now - timedelta(days=days), usegmt=True)
        return {
            "title": title,
            "url": f"https://www.{outlet}/2026/news/{n}",
            "content": text,
            "score": round(0.99 - n / 100, 2),
            "published_date": told,
        }

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            return await super()._handle(request)
        name = request.path.rpartition("/")[2].removesuffix(".svg")
        self.shown.append(name)
        if told := request.headers.get("Referer"):
            self.referrers.add(told)
        if name == "lost":
            return web.Response(status=404)
        return web.Response(text=_SVG.format(colour=name), content_type="image/svg+xml")
