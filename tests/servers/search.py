"""Tavily, SearXNG and a MediaWiki on this machine: real servers for the real clients to talk to.

Each runs in a thread with a loop of its own, remembers what it was asked and fails on request.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

HANGS = 60.0  # seconds; nobody waits that long


def nowhere() -> str:
    """An address of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@dataclass(frozen=True)
class Asked:
    """One request, as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


@dataclass
class Service:
    """A server on a free port of this machine, for as long as the `with` lasts.

    `status` is that of every response; `statuses` are those of the next ones. `error` is the body
    of a failure. A `fault` is one of: html, broken, list, empty, hangs, trickles, drops.
    """

    results: Any = field(default_factory=list)
    status: int = 200
    statuses: list[int] = field(default_factory=list)
    error: Any = None
    fault: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    waits: float = 0.0
    log: list[Asked] = field(default_factory=list)
    together: int = 0  # requests that were in the house at once, at most

    def __post_init__(self) -> None:
        self._inside = 0
        self._url = ""
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._down = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Any:
        self._thread.start()
        assert self._up.wait(60), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(60)
        assert not self._thread.is_alive(), "the server did not stop"

    @property
    def base_url(self) -> str:
        return self._url

    @property
    def last(self) -> Asked:
        return self.log[-1]

    def answer(self, asked: Asked) -> Any:
        """What a request that succeeds is answered, as JSON."""
        raise NotImplementedError

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # ends what is left in it
            runner.run(self._serve())

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        self._url = f"http://{host}:{port}"
        self._up.set()
        await self._down.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._inside += 1
        self.together = max(self.together, self._inside)
        try:
            text = await request.text()
            asked = Asked(
                request.method,
                request.path,
                dict(request.query),
                {name.lower(): value for name, value in request.headers.items()},
                json.loads(text) if text else None,
            )
            self.log.append(asked)
            await asyncio.sleep(HANGS if self.fault == "hangs" else self.waits)
            return await self._respond(request, asked)
        finally:
            self._inside -= 1

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if self.fault == "drops":
            assert request.transport is not None
            request.transport.abort()
        if self.fault == "trickles":
            return await self._trickle(request)
        status = self.statuses.pop(0) if self.statuses else self.status
        if self.fault == "html":
            page = "<!doctype html><title>Welcome</title><p>Please log in."
            return web.Response(status=status, text=page, content_type="text/html")
        bodies = {"broken": '{"results": [', "list": "[]", "empty": ""}
        body = bodies.get(self.fault)
        if body is None:
            body = json.dumps(self.answer(asked) if status == 200 else self.error)
        return web.Response(status=status, text=body, content_type="application/json", headers=self.headers)

    async def _trickle(self, request: web.Request) -> web.StreamResponse:
        """A byte now and then: no single wait is long, and the answer never ends."""
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.05)


class FakeTavily(Service):
    """`results` are Tavily's rows, as they go into its answer."""

    def answer(self, asked: Asked) -> Any:
        return {
            "query": asked.body["query"],
            "answer": None,
            "images": [],
            "results": self.results,
            "response_time": 0.01,
        }


class FakeSearXNG(Service):
    """`results` are SearXNG's rows, `unresponsive` its pairs of engine and reason."""

    unresponsive: Any = ()

    def answer(self, asked: Asked) -> Any:
        return {
            "query": asked.query["q"],
            "number_of_results": 0,
            "results": self.results,
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": self.unresponsive,
        }


class FakeWikipedia(Service):
    """`results` has the articles of each language, best first: title and extract, and what else
    an article is to say of itself. A language is the first folder of the address.

    It keeps to the API's ways: one extract a response, pages in the order of their ids, errors
    under the status of success, and nothing for clients that do not say who they are.
    """

    @property
    def base_url(self) -> str:
        return f"{self._url}/{{language}}"

    def answer(self, asked: Asked) -> Any:
        if self.error:
            return {"error": self.error}
        if len(asked.query["gsrsearch"]) > 300:
            return {"error": {"code": "cirrussearch-query-too-long", "info": "too long"}}
        code = asked.path.split("/")[1]
        found = dict(self.results).get(code, [])[: int(asked.query["gsrlimit"])]
        if not found:
            return {"batchcomplete": True}
        at = int(asked.query.get("excontinue", 0))
        pages = [self._page(code, place, article) for place, article in enumerate(found, 1)]
        pages.reverse()
        for n, page in enumerate(pages):
            if n != at:
                del page["extract"]
        if at + 1 < len(pages):
            rest = {"excontinue": at + 1, "continue": "||info|pageprops"}
            return {"continue": rest, "query": {"pages": pages}}
        return {"batchcomplete": True, "query": {"pages": pages}}

    def _page(self, code: str, place: int, article: dict[str, Any]) -> dict[str, Any]:
        address = f"https://{code}.wikipedia.org/wiki/{article['title'].replace(' ', '_')}"
        own = {
            "pageid": 1000 - place,
            "ns": 0,
            "index": place,
            "fullurl": address,
            "canonicalurl": address,
        }
        return own | article

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        if "Sightline" not in asked.headers.get("user-agent", ""):
            return web.Response(status=403, text="Please say who you are.")
        return await super()._respond(request, asked)
