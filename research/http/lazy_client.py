"""An HTTP client that is created at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research.http.responses import ssl_context

if TYPE_CHECKING:
    import httpx


class LazyClient:
    """Creates an httpx client at its first use, on the event loop to which it then belongs."""

    def __init__(self, **options: Any) -> None:
        """`options` are arguments of `httpx.AsyncClient`."""
        self._options = options
        self._client: httpx.AsyncClient | None = None

    def open(self) -> httpx.AsyncClient:
        """Return the client, created if needed. It does not follow redirects."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(verify=ssl_context(), **self._options)
        return self._client

    async def close(self) -> None:
        """Close the connections; the next use creates a new client."""
        client, self._client = self._client, None
        if client:
            await client.aclose()
