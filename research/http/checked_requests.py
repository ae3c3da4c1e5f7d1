"""Requests to addresses written by others: checked, without proxy, cookies or automatic redirects."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from research.core.errors import ServiceError
from research.http.addresses import AddressValidator
from research.http.bodies import ValidatingResolver

MAX_CONNECTIONS = 20


def create_session(
    validator: AddressValidator | None, headers: Mapping[str, str], tls_context: ssl.SSLContext | None = None
) -> aiohttp.ClientSession:
    """Return a session whose connections are checked by `validator`; None allows any address.

    Bodies are not decompressed: read them with `research.http.bodies.read_body`. `tls_context` is for
    certificates unknown to the system.
    """
    tls = tls_context or True
    if validator:
        connector = aiohttp.TCPConnector(
            resolver=ValidatingResolver(validator),
            use_dns_cache=False,
            socket_factory=validator.open_socket,
            ssl=tls,
            limit=MAX_CONNECTIONS,
        )
    else:
        connector = aiohttp.TCPConnector(ssl=tls, limit=MAX_CONNECTIONS)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,  # a proxy would bypass the checks
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        headers={**headers, "Accept-Encoding": "gzip"},
    )


@asynccontextmanager
async def open_response(
    session: aiohttp.ClientSession, target: URL, headers: Mapping[str, str] | None = None, *, hide_details: bool = False
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Open a response whose body is still unread, without following redirects.

    With `hide_details`, error messages do not quote the library's, which may contain credentials.

    Raises:
        ServiceError: there is no response, or it broke off.
    """
    host = target.host
    try:
        async with session.get(target, headers=headers, allow_redirects=False) as response:
            yield response
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise ServiceError("unreachable", f"{host} has no certificate that holds", hint="tls") from error
    except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, zlib.error) as error:
        raise ServiceError("malformed", f"{host} sent what cannot be read") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, TimeoutError):
            raise
        reason = getattr(error, "strerror", None) or (type(error).__name__ if hide_details else error)
        text = f"{host} could not be reached, or broke off: {reason}"
        raise ServiceError("unreachable", text, is_retryable=True) from error
