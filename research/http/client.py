"""HTTP client for public services without a key: a polite user agent, size limits, no redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lxml import etree

from research.core.errors import ServiceError, error_from_status
from research.core.version import VERSION
from research.http.lazy_client import LazyClient
from research.http.responses import convert_errors, parse_json_list, parse_json_object, read_streamed_body

if TYPE_CHECKING:
    import httpx

USER_AGENT = f"Sightline/{VERSION} (research desk{{contact}}) httpx/{{library}}"
MAX_BODY_BYTES = 5_000_000  # Crossref sends the references of every work


class ServiceClient:
    """Client of the service at `base_url`, with a time-out per request and without redirects.

    `contact` is an e-mail address for the User-Agent header; "" leaves it out. A 403 from these
    services means that the client is blocked, since there is no key that could be wrong.
    """

    def __init__(self, base_url: str, *, timeout_seconds: float = 30.0, contact: str = "") -> None:
        self.contact = contact
        self._base_url = base_url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._client = LazyClient(timeout=timeout_seconds)

    async def get_json(self, service: str, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """Return the JSON object that the service answers with.

        Raises:
            ServiceError: The answer is something else, or late.
        """
        response, body = await self._get(service, path, parameters)
        return parse_json_object(body, response, service)

    async def get_json_list(self, service: str, path: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
        """Return the objects of the JSON list that the service answers with.

        Raises:
            ServiceError: The answer is something else, or late.
        """
        response, body = await self._get(service, path, parameters)
        return parse_json_list(body, response, service)

    async def get_xml(self, service: str, path: str, parameters: dict[str, str], root_tag: str) -> Any:
        """Return the root element of the XML that the service answers with.

        `root_tag` is its tag with the namespace. No entity or DTD of the document is loaded.

        Raises:
            ServiceError: The answer is something else, or late.
        """
        response, body = await self._get(service, path, parameters)
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root = etree.fromstring(body, parser)
        except (etree.XMLSyntaxError, ValueError):
            root = None
        if root is None or root.tag != root_tag:
            text = f"{service}: HTTP {response.status_code} without the XML asked for"
            raise ServiceError("malformed", text, hint="endpoint")
        return root

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _get(self, service: str, path: str, parameters: dict[str, str]) -> tuple[httpx.Response, bytes]:
        query = {name: value for name, value in parameters.items() if value}
        async with (
            convert_errors(service, self._timeout_seconds),
            self._client.open().stream(
                "GET", f"{self._base_url}{path}", params=query, headers={"User-Agent": self._user_agent()}
            ) as response,
        ):
            if response.status_code == 403:
                raise ServiceError("blocked", f"HTTP 403: {service} bars this client")
            if response.status_code >= 300:
                raise error_from_status(response.status_code, service, response.headers)
            return response, await read_streamed_body(response, service, MAX_BODY_BYTES)

    def _user_agent(self) -> str:
        import httpx

        return USER_AGENT.format(contact=f"; {self.contact}" if self.contact else "", library=httpx.__version__)
