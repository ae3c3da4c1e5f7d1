"""What comes from an address that was judged first: connections that keep to it, bodies that end."""

from __future__ import annotations

import socket
import zlib

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from research.core.errors import ServiceError
from research.http.addresses import AddressValidator

_MAX_GZIP_MEMBERS = 100  # parts that one gzip stream may have
_GZIP_MAGIC = b"\x1f\x8b"


class ValidatingResolver(AbstractResolver):
    """Gives the client no address but those that the guard let through."""

    def __init__(self, validator: AddressValidator) -> None:
        self._validator = validator

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
            for address in await self._validator.resolve(host, port)
        ]

    async def close(self) -> None:
        """There is nothing to close."""


class _GzipDecoder:
    """Undoes gzip piece by piece, never more than there is room for.

    The client's own would fill the memory first and let us count afterwards.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._member_count = 1

    def __call__(self, data: bytes, max_bytes: int) -> bytes:
        out = self._member.decompress(data, max_bytes)
        while self._member.eof and self._member.unused_data.startswith(_GZIP_MAGIC) and len(out) < max_bytes:
            rest = self._member.unused_data
            self._member_count += 1
            if self._member_count > _MAX_GZIP_MEMBERS:
                raise zlib.error("too many parts")
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            out += self._member.decompress(rest, max_bytes - len(out))
        return out

    @property
    def is_complete(self) -> bool:
        return self._member.eof


async def read_body(
    response: aiohttp.ClientResponse, max_bytes: int, *, truncate: bool = False, content_name: str = "page"
) -> bytes:
    """The body, unpacked, of at most `size` bytes. `cut` keeps that much of a longer one.

    Raises:
        Trouble: it is longer, or packed in another way than was asked for.
    """
    packed = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip"):
        raise ServiceError("malformed", f"{response.url.host} sent the {content_name} packed as {packed[:40]}")
    too_long = ServiceError("too large", f"the {content_name} is longer than {max_bytes:,} bytes")
    if not truncate and (response.content_length or 0) > max_bytes:
        raise too_long
    unpack = _GzipDecoder() if packed.endswith("gzip") else None
    body, came = bytearray(), 0
    async for chunk in response.content.iter_any():
        came += len(chunk)
        body += unpack(chunk, max_bytes + 1 - len(body)) if unpack else chunk
        if max(came, len(body)) > max_bytes:
            if truncate:
                return bytes(body[:max_bytes])
            raise too_long
    if unpack and came and not unpack.is_complete:
        raise ServiceError("malformed", f"{response.url.host} broke off in the middle of the {content_name}")
    return bytes(body)
