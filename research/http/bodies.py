"""What comes from an address that was judged first: connections that keep to it, bodies that end."""

from __future__ import annotations

import socket
import zlib

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from research.core.errors import Trouble
from research.http.addresses import Guard

_MEMBERS = 100  # parts that one gzip stream may have
_GZIP = b"\x1f\x8b"


class Guarded(AbstractResolver):
    """Gives the client no address but those that the guard let through."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET6 if address.version == 6 else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._guard.addresses(host, port)
        ]

    async def close(self) -> None:
        """There is nothing to close."""


class _Unpacker:
    """Undoes gzip piece by piece, never more than there is room for.

    The client's own would fill the memory first and let us count afterwards.
    """

    def __init__(self) -> None:
        self._part = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._parts = 1

    def __call__(self, data: bytes, room: int) -> bytes:
        out = self._part.decompress(data, room)
        while self._part.eof and self._part.unused_data.startswith(_GZIP) and len(out) < room:
            rest = self._part.unused_data
            self._parts += 1
            if self._parts > _MEMBERS:
                raise zlib.error("too many parts")
            self._part = zlib.decompressobj(zlib.MAX_WBITS | 16)
            out += self._part.decompress(rest, room - len(out))
        return out

    @property
    def whole(self) -> bool:
        return self._part.eof


async def whole(
    response: aiohttp.ClientResponse, size: int, *, cut: bool = False, what: str = "page"
) -> bytes:
    """The body, unpacked, of at most `size` bytes. `cut` keeps that much of a longer one.

    Raises:
        Trouble: it is longer, or packed in another way than was asked for.
    """
    packed = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip"):
        raise Trouble("malformed", f"{response.url.host} sent the {what} packed as {packed[:40]}")
    too_long = Trouble("too large", f"the {what} is longer than {size:,} bytes")
    if not cut and (response.content_length or 0) > size:
        raise too_long
    unpack = _Unpacker() if packed.endswith("gzip") else None
    body, came = bytearray(), 0
    async for chunk in response.content.iter_any():
        came += len(chunk)
        body += unpack(chunk, size + 1 - len(body)) if unpack else chunk
        if max(came, len(body)) > size:
            if cut:
                return bytes(body[:size])
            raise too_long
    if unpack and came and not unpack.whole:
        raise Trouble("malformed", f"{response.url.host} broke off in the middle of the {what}")
    return bytes(body)
