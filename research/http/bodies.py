"""Reads response bodies: connections go to checked addresses only, and bodies have a size limit."""

from __future__ import annotations

import socket
import zlib

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from research.core.errors import ServiceError
from research.http.addresses import AddressValidator

_MAX_GZIP_MEMBERS = 100  # members of one gzip stream
_GZIP_MAGIC = b"\x1f\x8b"


class ValidatingResolver(AbstractResolver):
    """A resolver for aiohttp that returns checked addresses only."""

    def __init__(self, validator: AddressValidator) -> None:
        self._validator = validator

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the checked addresses of a host."""
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
        """Do nothing: there are no resources to release."""


class _GzipDecoder:
    """Decompresses gzip piece by piece, up to a size limit.

    The decoder of aiohttp would fill the memory before the size could be checked.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._member_count = 1

    def __call__(self, data: bytes, max_bytes: int) -> bytes:
        """Decompress the next piece to at most `max_bytes` bytes."""
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
        """True after the end of a gzip member."""
        return self._member.eof


async def read_body(
    response: aiohttp.ClientResponse, max_bytes: int, *, truncate: bool = False, content_name: str = "page"
) -> bytes:
    """Return the decompressed body of a response, of at most `max_bytes`.

    Args:
        truncate: Return the first `max_bytes` of a longer body instead of raising.
        content_name: Name of the content in error messages.

    Raises:
        ServiceError: The body is too long, broken, or in an encoding that was not requested.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ServiceError("malformed", f"{response.url.host} sent the {content_name} packed as {encoding[:40]}")
    too_long = ServiceError("too large", f"the {content_name} is longer than {max_bytes:,} bytes")
    if not truncate and (response.content_length or 0) > max_bytes:
        raise too_long
    decode = _GzipDecoder() if encoding.endswith("gzip") else None
    body, received = bytearray(), 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        body += decode(chunk, max_bytes + 1 - len(body)) if decode else chunk
        if max(received, len(body)) > max_bytes:
            if truncate:
                return bytes(body[:max_bytes])
            raise too_long
    if decode and received and not decode.is_complete:
        raise ServiceError("malformed", f"{response.url.host} broke off in the middle of the {content_name}")
    return bytes(body)
