"""A conversation over HTTP, and the ways in which it fails; knows no service."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, connection_hint
from research.http.sanitize import keep_objects

if TYPE_CHECKING:
    import httpx


@lru_cache(1)
def ssl_context() -> ssl.SSLContext:
    """Whose certificates count: read once for all providers, since reading them takes a while."""
    import httpx

    return httpx.create_ssl_context()


@asynccontextmanager
async def convert_errors(service: str, timeout_seconds: float) -> AsyncIterator[None]:
    """Whatever goes wrong with the connection inside becomes a `Trouble` of its kind.

    The deadline is one for the whole exchange: a service that sends a byte now and then would
    outlast any limit on the time between two bytes.
    """
    import httpx

    try:
        async with asyncio.timeout(timeout_seconds):
            yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise timeout_error(service, timeout_seconds) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        text = f"{service}: the address cannot be used"
        raise ServiceError("refused", text, hint="endpoint") from error
    except httpx.LocalProtocolError as error:  # its words may hold a header, and so a key
        raise ServiceError("refused", f"{service}: the request cannot be sent") from error
    except httpx.DecodingError as error:
        raise ServiceError("malformed", f"{service}: {error}", hint="endpoint") from error
    except httpx.HTTPError as error:
        text = f"{service}: {error or 'the connection broke'}"
        raise ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True) from error


def timeout_error(service: str, timeout_seconds: float) -> ServiceError:
    """No answer in time."""
    return ServiceError("timeout", f"{service}: no answer within {timeout_seconds:g} s", is_retryable=True)


async def read_streamed_body(response: httpx.Response, service: str, max_bytes: int) -> bytes:
    """The body of a response that is being streamed, unpacked.

    Raises:
        Trouble: it has more than `most` bytes.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise ServiceError("malformed", f"{service}: more than {max_bytes:,} bytes")
    return bytes(body)


def parse_json_response(response: httpx.Response, service: str) -> dict[str, Any]:
    """The JSON object that a response holds.

    Raises:
        Trouble: it holds something else, a web page for instance.
    """
    return parse_json_object(response.content, response, service)


def parse_json_object(body: bytes, response: httpx.Response, service: str) -> dict[str, Any]:
    """The JSON object that a body of a response is.

    Raises:
        Trouble: it is something else.
    """
    found: dict[str, Any] = _parse_json(body, response, service, dict)
    return found


def parse_json_list(body: bytes, response: httpx.Response, service: str) -> list[dict[str, Any]]:
    """The objects in the JSON list that a body of a response is.

    Raises:
        Trouble: it is something else.
    """
    return keep_objects(_parse_json(body, response, service, list))


def _parse_json(body: bytes, response: httpx.Response, service: str, expected_type: type) -> Any:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, expected_type):
        kind = response.headers.get("content-type", "").partition(";")[0] or "no content type"
        text = f"{service}: HTTP {response.status_code} without the JSON asked for ({kind})"
        raise ServiceError("malformed", text, hint="endpoint")
    return data
