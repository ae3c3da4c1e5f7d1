"""A client of public services without a key: polite requests, bodies that end, no redirect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lxml import etree

from research.core.errors import ServiceError, error_from_status
from research.core.version import VERSION
from research.http.responses import convert_errors, parse_json_list, parse_json_object, read_streamed_body, ssl_context

if TYPE_CHECKING:
    import httpx

USER_AGENT = f"Sightline/{VERSION} (research desk{{contact}}) httpx/{{library}}"
MAX_BODY_BYTES = 5_000_000  # bytes of an answer; Crossref sends the references of every work along


class ServiceClient:
    """Asks the service at `base_url`; `timeout` (seconds) is for each request. No redirect is
    followed. `contact` is the address of mail that services are told, "" tells none.

    A service without a key that answers 403 bars whoever asks: there is no key to set right.
    """

    def __init__(self, base_url: str, *, timeout_seconds: float = 30.0, contact: str = "") -> None:
        self.contact = contact
        self._base_url = base_url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._client: httpx.AsyncClient | None = None

    async def get_json(self, service: str, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """The JSON object that the service answers.

        Raises:
            Trouble: it answers something else, or not in time.
        """
        response, body = await self._get(service, path, parameters)
        return parse_json_object(body, response, service)

    async def get_rows(self, service: str, path: str, parameters: dict[str, str]) -> list[dict[str, Any]]:
        """The objects in the JSON list that the service answers.

        Raises:
            Trouble: it answers something else, or not in time.
        """
        response, body = await self._get(service, path, parameters)
        return parse_json_list(body, response, service)

    async def get_xml(self, service: str, path: str, parameters: dict[str, str], root_tag: str) -> Any:
        """The element `root` (with its namespace) that the service answers.

        Nothing that the document declares is looked up or put in.

        Raises:
            Trouble: it answers something else, or not in time.
        """
        response, body = await self._get(service, path, parameters)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
            remove_comments=True, remove_pis=True,
        )  # fmt: skip
        try:
            found = etree.fromstring(body, parser)
        except (etree.XMLSyntaxError, ValueError):
            found = None
        if found is None or found.tag != root_tag:
            text = f"{service}: HTTP {response.status_code} without the XML asked for"
            raise ServiceError("malformed", text, hint="endpoint")
        return found

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _get(self, service: str, path: str, parameters: dict[str, str]) -> tuple[httpx.Response, bytes]:
        asked = {name: value for name, value in parameters.items() if value}
        async with (
            convert_errors(service, self._timeout_seconds),
            self._http_client().stream("GET", f"{self._base_url}{path}", params=asked) as response,
        ):
            if response.status_code == 403:
                raise ServiceError("blocked", f"HTTP 403: {service} bars this client")
            if response.status_code >= 300:
                raise error_from_status(response.status_code, service, response.headers)
            return response, await read_streamed_body(response, service, MAX_BODY_BYTES)

    def _http_client(self) -> httpx.AsyncClient:
        """The connections, made at the first search."""
        if self._client is None:
            import httpx

            contact = f"; {self.contact}" if self.contact else ""
            agent = USER_AGENT.format(contact=contact, library=httpx.__version__)
            self._client = httpx.AsyncClient(
                headers={"User-Agent": agent}, timeout=self._timeout_seconds, verify=ssl_context()
            )
        return self._client
