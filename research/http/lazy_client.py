"""An HTTP client that is created at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research.http.responses import ssl_context

if TYPE_CHECKING:
    import httpx


class LazyClient:
    """Holds an httpx client, which belongs to the event loop on which it is first used."""

    def __init__(self, **options: Any) -> None:
        """`options` are arguments of `httpx.AsyncClient`."""
        self._options = options
        self._client: httpx.AsyncClient | None = None

    def get(self) -> httpx.AsyncClient:
        """Return the client; it does not follow redirects."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(verify=ssl_context(), **self._options)
        return self._client

    async def close(self) -> None:
        """Close the connections; the next use creates a new client."""
        client, self._client = self._client, None
        if client:
            await client.aclose()
