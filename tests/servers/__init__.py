"""Stand-ins for the services that the project talks to, on a port of this machine.

What the chat-model servers have in common is here: a thread with a loop of its own, a log of what
was asked, and rules that say which requests go wrong and how. Each wire has its own module, and
what the model says is in `brain`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Self

from aiohttp import web

from tests.servers.brain import Ask, Brain, utf8
from tests.servers.lengths import too_long

HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>"
TRANSPORT = frozenset({
    "hang", "reset", "html502", "html200", "badjson", "bombody", "uncounted", "redirect", "toolong",
})  # fmt: skip
STREAMS = frozenset({"midreset", "midclose", "midend", "miderror", "midhang", "midbadjson", "slow"})
# Streams that are all there, and odd: with comments and other fields, with an event that is null, with a
# `[DONE]` at the end, with no reason for their end before it or at all, with chunks that repeat what was
# said before.
ODD = frozenset({"comments", "nullevent", "done", "unended", "endless", "cumulative", "repeated"})
_CUTS = frozenset({"reset", "midreset", "midclose"})
_PIECES = 16
_COUNTS = frozenset({"usage", "usageMetadata", "prompt_eval_count", "eval_count"})


@dataclass
class Call:
    """One request as it came in. `ended` is when its reply was out, `left` that the client went."""

    time: float
    stage: str
    path: str
    headers: dict[str, str]
    body: Any
    prompt: str = ""
    fault: str = ""
    ended: float | None = None
    left: bool = False


@dataclass
class _Rule:
    stage: str
    matching: str
    left: int | None
    fault: str = ""
    body: Any = None

    def fits(self, stage: str, prompt: str) -> bool:
        return self.stage in ("any", stage) and self.left != 0 and self.matching in prompt


class Server(ABC):
    """A fake model server; in a `with` block it answers on `base_url`.

    `keys` are the keys that it accepts, None any. `latency` is waited before every reply. `counts` is
    whether it tells how many tokens a call used, leaves that out, tells of none, or of a tenth, as
    servers do that have read no more of a prompt. `context` is how
    many tokens a prompt may have, 0 any; `wording` is how a longer one is refused (one of `LENGTHS`), and
    `weight` how many times more tokens it counts than `tokens` does. `elsewhere` is where the fault
    "redirect:307" sends a request on to; "toolong:vllm" refuses one in that wording.
    """

    faults: frozenset[str] = TRANSPORT | STREAMS
    streams_as: str = "text/event-stream"
    prefix: str = ""

    def __init__(self, *, port: int = 0, latency: float = 0.0) -> None:
        self.brain = Brain()
        self.latency = self._latency = latency
        self.keys: set[str] | None = None
        self.counts: Literal["told", "left out", "zero", "low"] = "told"
        self.context, self.wording, self.weight = 0, "openai", 1.0
        self.elsewhere = ""
        self.log: list[Call] = []
        self.port = port
        self._rules: list[_Rule] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    # Living

    def __enter__(self) -> Self:
        started: Future[int] = Future()
        app = web.Application(client_max_size=1 << 28)
        self.route(app.router)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(app, started)),
            name=type(self).__name__,
            daemon=True,
        )
        self._thread.start()
        self.port = started.result(60)
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server at once, requests that hang included."""
        if self._thread and self._loop and self._stop:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(60)
            self._thread = None

    @property
    def up(self) -> bool:
        return self._thread is not None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    async def _live(self, app: web.Application, started: Future[int]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.01)
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self.port, backlog=1024).start()
            started.set_result(runner.addresses[0][1])
            await self._stop.wait()
        except OSError as error:
            started.set_exception(error)
        finally:
            await runner.cleanup()

    # What a test says and asks

    def fail(self, stage: str, fault: str, *, times: int | None = None, matching: str = "") -> None:
        """Lets requests of a stage go wrong from now on; the newest rule that fits counts.

        A fault may have an argument, as in "429:26" or "slow:0.2". "ok" is no fault: it exempts the
        requests that it fits from older rules.

        Raises:
            ValueError: this server has no such fault.
        """
        if fault.partition(":")[0] not in self.faults | {"ok"}:
            raise ValueError(f"{type(self).__name__} has no fault {fault!r}")
        self._rules.insert(0, _Rule(stage, matching, times, fault))

    def replay(self, stage: str, body: Any, *, times: int | None = None, matching: str = "") -> None:
        """Answers requests of a stage with a body as it is; a stream has it as its one event."""
        self._rules.insert(0, _Rule(stage, matching, times, "replay", body))

    def reset(self) -> None:
        """Forgets log, rules, keys, a later latency and what the brain was told or remembers."""
        self.log, self._rules = [], []
        self.latency, self.keys, self.brain = self._latency, None, Brain()
        self.counts = "told"
        self.context, self.wording, self.weight = 0, "openai", 1.0

    def calls(self, stage: str = "any") -> int:
        return sum(stage in ("any", call.stage) for call in tuple(self.log))

    # What a wire has to say

    @abstractmethod
    def route(self, router: web.UrlDispatcher) -> None:
        """Adds the server's paths, each with `chat` or `listing` for a handler."""

    @abstractmethod
    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        """The request without its wire."""

    @abstractmethod
    async def answer(self, request: web.Request, ask: Ask, fault: str, arg: str) -> web.StreamResponse:
        """The reply to a request, with a fault that is not one of the transport."""

    @abstractmethod
    def models(self, request: web.Request) -> Any:
        """What the server says of its models."""

    @abstractmethod
    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        """The reply for a fault that is an HTTP error; None if it is not one."""

    @abstractmethod
    def key(self, request: web.Request) -> str:
        """The key that the request carries."""

    @abstractmethod
    def event(self, body: Any) -> bytes:
        """One piece of a stream."""

    def end(self) -> bytes:
        """What follows the last piece of a stream."""
        return b""

    # Answering

    async def chat(self, request: web.Request) -> web.StreamResponse:
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            body = {}
        ask = self.ask(request, body)
        return await self._handle(request, self.brain.stage(ask), body, ask)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        return await self._handle(request, "models", {}, None)

    async def _handle(self, request: web.Request, stage: str, body: Any, ask: Ask | None) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = Call(time.monotonic(), stage, request.path, headers, body, ask.prompt if ask else "")
        rule = self._rule(stage, call.prompt)
        call.fault = rule.fault if rule and self.wished(rule.fault, ask) else ""
        self.log.append(call)
        name, _, arg = call.fault.partition(":")
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            if rule and name == "replay":
                return await self.send(request, [rule.body], streamed=bool(ask and ask.streamed))
            asked = round(tokens(call.prompt) * self.weight)
            if self.context and not name and asked > self.context:
                call.fault = "too long"
                return _refusal(*too_long(self.wording, self.context, asked))
            return await self._reply(request, ask, name, arg)
        except (asyncio.CancelledError, ConnectionError):
            call.left = name not in _CUTS
            raise asyncio.CancelledError from None
        finally:
            call.ended = time.monotonic()

    def _rule(self, stage: str, prompt: str) -> _Rule | None:
        """The newest rule that fits, used once."""
        rule = next((rule for rule in tuple(self._rules) if rule.fits(stage, prompt)), None)
        if rule and rule.left is not None:
            rule.left -= 1
        return rule

    async def _reply(self, request: web.Request, ask: Ask | None, name: str, arg: str) -> web.StreamResponse:
        if not self._accepts(self.key(request)):
            name = "nokey" if not self.key(request) else "400key"
        if name == "hang":
            await forever()
        if name == "reset":
            await reset(request)
        if name in ("html502", "html200"):
            return web.Response(text=HTML, content_type="text/html", status=int(name[4:]))
        if name == "redirect":
            headers = {"Location": self.elsewhere + request.path_qs}
            return web.Response(status=int(arg), headers=headers)
        if name == "toolong":
            return _refusal(*too_long(arg, 8_192, 12_000))
        if error := self.error(name, arg, request, ask):
            return error
        if ask is None:
            return reply(self.models(request), cut=name == "badjson")
        if name == "badjson":
            return self._bad_json(ask)
        return await self.answer(request, ask, name, arg)

    def _accepts(self, key: str) -> bool:
        return self.keys is None or key in self.keys

    def wished(self, fault: str, ask: Ask | None) -> bool:
        """Whether a request has in it what a fault refuses."""
        return fault != "400schema" or bool(ask and ask.schema)

    def _bad_json(self, ask: Ask) -> web.Response:
        """A reply that breaks off although it is all there."""
        if not ask.streamed:
            return reply({"id": "1", "parts": ["cut here", "never seen"]}, cut=True)
        whole = self.event({"id": "1", "parts": ["cut here", "never seen"]})
        return web.Response(body=whole[: len(whole) // 2], content_type=self.streams_as)

    async def send(
        self,
        request: web.Request,
        bodies: Sequence[Any],
        *,
        streamed: bool,
        fault: str = "",
        arg: str = "",
        error: Any = None,
    ) -> web.StreamResponse:
        """The bodies as a stream, or the last of them alone, broken off as the fault says."""
        counts = "left out" if fault == "uncounted" else self.counts
        bodies = [_counted(body, counts) for body in bodies]
        if streamed:
            pieces = [self.event(body) for body in bodies]
            return await self._stream(request, pieces, fault, arg, error)
        if fault == "slow":
            await asyncio.sleep(float(arg or 0.5))
        if fault in ("midreset", "midclose", "midhang"):
            return await self._half(request, json_bytes(bodies[-1]), fault)
        mark = b"\xef\xbb\xbf" * (fault == "bombody")
        return reply(bodies[-1], cut=fault in ("midbadjson", "midend"), mark=mark)

    async def _stream(
        self, request: web.Request, pieces: Sequence[bytes], fault: str, arg: str, error: Any
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": self.streams_as})
        await response.prepare(request)
        middle = max(1, len(pieces) // 2)
        if fault == "bombody":
            await response.write(b"\xef\xbb\xbf")
        for piece in pieces[:middle] if fault.startswith("mid") else pieces:
            await response.write(_ASIDE + piece if fault == "comments" else piece)
            if fault == "nullevent":
                await response.write(b"data: null\n\n")
            if fault == "slow":
                await asyncio.sleep(float(arg or 0.5))
        if fault.startswith("mid"):
            await self._break(request, fault)
        if fault == "miderror":
            await response.write(self.event(error))
        elif fault == "midbadjson":
            broken = self.event({"cut": "here", "never": "seen"})
            await response.write(broken[: len(broken) // 2] + b"\r\n\r\n")
        elif fault not in ("midend", "endless"):
            await response.write(_DONE if fault in ("done", "unended") else self.end())
        await response.write_eof()
        return response

    async def _half(self, request: web.Request, data: bytes, fault: str) -> web.StreamResponse:
        """Promises the whole of a body and sends half of it."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(data)
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        await self._break(request, fault)
        return response

    async def _break(self, request: web.Request, fault: str) -> None:
        await asyncio.sleep(0.05)  # what was written before is to arrive first
        if fault == "midreset":
            await reset(request)
        if fault == "midclose" and request.transport:
            request.transport.close()
        if fault in ("midclose", "midhang"):
            await forever()


_ASIDE = b": keep-alive\n\nevent: message\nid: 7\nretry: 1000\n"
_DONE = b"data: [DONE]\n\n"


def repeating(parts: Sequence[str], fault: str) -> list[str]:
    """The pieces of a text, each with all before it, or with the whole once more at the end."""
    if fault == "cumulative":
        return ["".join(parts[:n]) for n in range(1, len(parts) + 1)]
    return [*parts, "".join(parts)] if fault == "repeated" else list(parts)


def _refusal(status: int, body: Any) -> web.Response:
    if isinstance(body, str):
        return web.Response(text=body, content_type="text/html", status=status)
    return reply(body, status)


def _counted(body: Any, counts: str) -> Any:
    """A body with its counts of tokens as a server tells them; Anthropic's have one within a message."""
    if counts == "told" or not isinstance(body, dict):
        return body
    if counts == "left out":
        return {n: _counted(value, counts) for n, value in body.items() if n not in _COUNTS}
    part = 0 if counts == "zero" else 0.1
    return {n: _times(part, value) if n in _COUNTS else value for n, value in body.items()}


def _times(part: float, count: Any) -> Any:
    if isinstance(count, dict):
        return {name: _times(part, n) for name, n in count.items()}
    return count and int(count * part)


async def forever() -> None:
    """Waits until the client goes or the server closes, which cancels the handler."""
    await asyncio.Event().wait()


async def reset(request: web.Request) -> None:
    """Ends the connection with a TCP reset."""
    if request.transport:
        sock = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    await forever()


def json_bytes(body: Any) -> bytes:
    return utf8(json.dumps(body, ensure_ascii=False))


def reply(
    body: Any,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    cut: bool = False,
    mark: bytes = b"",
) -> web.Response:
    """A JSON response behind a mark, or the first two thirds of one."""
    data = mark + json_bytes(body)
    return web.Response(
        body=data[: len(data) * 2 // 3] if cut else data,
        status=status,
        headers=headers,
        content_type="application/json",
    )


def pieces(text: str) -> list[str]:
    """A text as a stream brings it: at least three pieces where it has the length."""
    size = max(1, min(24, -(-len(text) // 3)), -(-len(text) // _PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def tokens(text: str) -> int:
    """About as many tokens as a model would count."""
    return len(utf8(text)) // 4 + 1


def refused_url() -> str:
    """The base URL of a port of this machine on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"
