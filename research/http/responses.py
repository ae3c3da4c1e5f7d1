"""HTTP responses: TLS context, conversion of errors, size limit and JSON. Knows no service."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, connection_hint
from research.core.json_values import keep_objects

if TYPE_CHECKING:
    import httpx


@lru_cache(1)
def ssl_context() -> ssl.SSLContext:
    """Return the TLS context with the trusted certificates, loaded once because loading is slow."""
    import httpx

    return httpx.create_ssl_context()


@asynccontextmanager
async def convert_errors(service: str, timeout_seconds: float) -> AsyncIterator[None]:
    """Convert connection errors inside the block into `ServiceError`.

    The timeout covers the whole exchange: a service that sends a byte now and then would outlast a
    limit on the time between two bytes.
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
    except httpx.LocalProtocolError as error:  # its message may contain a header, and so a key
        raise ServiceError("refused", f"{service}: the request cannot be sent") from error
    except httpx.DecodingError as error:
        raise ServiceError("malformed", f"{service}: {error}", hint="endpoint") from error
    except httpx.HTTPError as error:
        text = f"{service}: {error or 'the connection broke'}"
        raise ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True) from error


def timeout_error(service: str, timeout_seconds: float) -> ServiceError:
    """Return the error for an answer that did not arrive in time."""
    return ServiceError("timeout", f"{service}: no answer within {timeout_seconds:g} s", is_retryable=True)


async def read_streamed_body(response: httpx.Response, service: str, max_bytes: int) -> bytes:
    """Return the decoded body of a streamed response.

    Raises:
        ServiceError: It has more than `max_bytes` bytes.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise ServiceError("malformed", f"{service}: more than {max_bytes:,} bytes")
    return bytes(body)


def parse_json_object(body: bytes, response: httpx.Response, service: str) -> dict[str, Any]:
    """Parse the body of a response as a JSON object; the response itself serves the error.

    Raises:
        ServiceError: It is something else.
    """
    parsed: dict[str, Any] = _parse_json(body, response, service, dict)
    return parsed


def parse_json_list(body: bytes, response: httpx.Response, service: str) -> list[dict[str, Any]]:
    """Parse the body of a response as a JSON list, and return the objects in it.

    Raises:
        ServiceError: It is something else.
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
