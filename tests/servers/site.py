"""A web site on this machine whose pages behave as badly as a test wants them to.

It writes every byte itself, so that it can send what no decent server would: drips, bombs, half a
page. It runs in a thread with a loop of its own and remembers what it was asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gzip
import ssl
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Reply:
    """What the site sends for a path.

    `length` is the Content-Length that it claims, None the true one, -1 none at all. The body comes
    `times` over, with `pause` seconds before each. `waits` are the seconds before anything comes.
    """

    body: bytes = b""
    status: int = 200
    type: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    times: int = 1
    pause: float = 0.0
    waits: float = 0.0

    def head(self) -> bytes:
        size = len(self.body) * self.times if self.length is None else self.length
        lines = [f"HTTP/1.1 {self.status} Whatever"]
        lines += [f"Content-Type: {self.type}"] if self.type else []
        lines += [f"Content-Length: {size}"] if size >= 0 else []
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def page(body: str, *, title: str = "A page", head: str = "", lang: str = "en") -> bytes:
    """A page with a main text, and with the things around it that no reader wants."""
    return (
        f'<!doctype html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>'
        "<nav><a href='/'>Home</a> <a href='/about'>About us</a></nav>"
        f"<article><h1>{title}</h1>{body}</article>"
        "<footer>All rights reserved</footer><script>var hidden = 1;</script></body></html>"
    ).encode()


def redirect(location: str, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": location})


def bomb(megabytes: int) -> Reply:
    """A small gzip stream that unpacks to so much."""
    body = gzip.compress(b"<p>" + b" " * (megabytes << 20))
    return Reply(body, headers={"Content-Encoding": "gzip"})


@dataclass(frozen=True)
class Request:
    """One request, as it arrived; names of headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]


class Site:
    """A site; in a `with` block it answers on `port`.

    `replies` says what is at a path, without its query; what is nowhere is answered with 404, the
    robots.txt too. `requests` are those that came, `connections` how many were opened.
    """

    def __init__(
        self,
        replies: Mapping[str, Reply] | None = None,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.replies = dict(replies or {})
        self.requests: list[Request] = []
        self.connections = 0
        self.together = self._inside = 0  # the most answers that were being prepared at once
        self.address = address
        self.port = port
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None] | None] = set()

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, robots.txt left out."""
        return [asked.path for asked in self.requests if asked.path != "/robots.txt"]

    @property
    def endpoint(self) -> tuple[str, int]:
        return self.address, self.port

    def __enter__(self) -> Self:
        started: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live(started)), name="Site", daemon=True)
        self._thread.start()
        self.port = started.result(60)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread and self._loop and self._stop:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(60)
            self._thread = None

    async def _live(self, started: Future[int]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._serve, self.address, self.port, ssl=self._tls)
        except OSError as error:
            started.set_exception(error)
            return
        started.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for task in filter(None, self._tasks):
            task.cancel()
        await asyncio.gather(*filter(None, self._tasks), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        pairs = (line.partition(": ") for line in lines[1:] if line)
        headers = {name.lower(): value for name, _, value in pairs}
        self.requests.append(Request(method, path, headers))
        reply = self.replies.get(path.partition("?")[0], Reply(b"nothing here", 404))
        self._inside += 1
        self.together = max(self.together, self._inside)
        await asyncio.sleep(reply.waits)
        self._inside -= 1
        writer.write(reply.head())
        for _ in range(reply.times):
            await asyncio.sleep(reply.pause)
            writer.write(reply.body)
            await writer.drain()


def identity(folder: Path, names: Iterable[str]) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate of its own signing for some names: as a server shows it, and as a client that
    trusts it (and no other) sees it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A site of a test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(map(x509.DNSName, names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / "site.pem"
    file.write_bytes(pem + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=pem.decode())
