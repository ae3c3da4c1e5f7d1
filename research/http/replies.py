"""A conversation over HTTP, and the ways in which it fails; knows no service."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from research.core.errors import Trouble, connection_hint
from research.http.plain import rows

if TYPE_CHECKING:
    import httpx


@lru_cache(1)
def trusted() -> ssl.SSLContext:
    """Whose certificates count: read once for all providers, since reading them takes a while."""
    import httpx

    return httpx.create_ssl_context()


@asynccontextmanager
async def reaching(service: str, seconds: float) -> AsyncIterator[None]:
    """Whatever goes wrong with the connection inside becomes a `Trouble` of its kind.

    The deadline is one for the whole exchange: a service that sends a byte now and then would
    outlast any limit on the time between two bytes.
    """
    import httpx

    try:
        async with asyncio.timeout(seconds):
            yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise late(service, seconds) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        text = f"{service}: the address cannot be used"
        raise Trouble("refused", text, hint="endpoint") from error
    except httpx.LocalProtocolError as error:  # its words may hold a header, and so a key
        raise Trouble("refused", f"{service}: the request cannot be sent") from error
    except httpx.DecodingError as error:
        raise Trouble("malformed", f"{service}: {error}", hint="endpoint") from error
    except httpx.HTTPError as error:
        text = f"{service}: {error or 'the connection broke'}"
        raise Trouble("unreachable", text, hint=connection_hint(error), again=True) from error


def late(service: str, seconds: float) -> Trouble:
    """No answer in time."""
    return Trouble("timeout", f"{service}: no answer within {seconds:g} s", again=True)


async def body_of(response: httpx.Response, service: str, most: int) -> bytes:
    """The body of a response that is being streamed, unpacked.

    Raises:
        Trouble: it has more than `most` bytes.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            raise Trouble("malformed", f"{service}: more than {most:,} bytes")
    return bytes(body)


def content(response: httpx.Response, service: str) -> dict[str, Any]:
    """The JSON object that a response holds.

    Raises:
        Trouble: it holds something else, a web page for instance.
    """
    return parsed(response.content, response, service)


def parsed(body: bytes, response: httpx.Response, service: str) -> dict[str, Any]:
    """The JSON object that a body of a response is.

    Raises:
        Trouble: it is something else.
    """
    found: dict[str, Any] = _json(body, response, service, dict)
    return found


def listed(body: bytes, response: httpx.Response, service: str) -> list[dict[str, Any]]:
    """The objects in the JSON list that a body of a response is.

    Raises:
        Trouble: it is something else.
    """
    return rows(_json(body, response, service, list))


def _json(body: bytes, response: httpx.Response, service: str, wanted: type) -> Any:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, wanted):
        kind = response.headers.get("content-type", "").partition(";")[0] or "no content type"
        text = f"{service}: HTTP {response.status_code} without the JSON asked for ({kind})"
        raise Trouble("malformed", text, hint="endpoint")
    return data
