"""What the services have in common: polite requests, bodies that end, and the seam to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from lxml import etree

import research
from research.language.text import telling
from research.records import Say
from research.sources.papers.work import Work
from research.trouble import Trouble, of_status
from research.wire.plain import rows
from research.wire.replies import body_of, parsed, reaching, trusted

if TYPE_CHECKING:
    import httpx

AGENT = f"Sightline/{research.__version__} (research desk)"
SIZE = 5_000_000  # bytes of an answer; Crossref sends the references of every work along
LONGEST = 300  # characters of a query
TERMS = 8  # words of a query that all have to be there
QUEUE = 60.0  # seconds that a search waits for its turn at most


_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SIGN = re.compile(r"\d|[B-HJ-Z]")  # vitamin D, type 2


class Service(Protocol):
    """A catalogue of scholarly works."""

    @property
    def name(self) -> str:
        """openalex, crossref, arxiv, pubmed."""

    async def works(self, query: str, most: int, say: Say) -> list[Work]:
        """What it finds, the best first, at most `most`.

        Raises:
            Trouble: the search failed, for a reason of a known kind.
        """

    async def close(self) -> None:
        """Releases the connections."""


def terms(query: str) -> list[str]:
    """The words of a query as they are written, without the idle ones and what would be an operator:
    for services that want all words to be there."""
    found = list(dict.fromkeys(_WORD.findall(query[: 2 * LONGEST])))
    return [word for word in found if telling(word) or _SIGN.fullmatch(word)][:TERMS]


def listed(value: object, service: str) -> list[dict[str, Any]]:
    """The rows of a list that an answer has to have.

    Raises:
        Trouble: there is none.
    """
    if not isinstance(value, list):
        raise Trouble("malformed", f"{service}: the JSON has no list of results", hint="endpoint")
    return rows(value)


class Client:
    """Asks the service at `base_url`; `timeout` (seconds) is for each request. No redirect is
    followed. `contact` is the address of mail that services are told, "" tells none."""

    def __init__(self, base_url: str, *, timeout: float = 30.0, contact: str = "") -> None:
        self.contact = contact
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._client: httpx.AsyncClient | None = None

    async def json(self, service: str, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        """The JSON object that the service answers.

        Raises:
            Trouble: it answers something else, or not in time.
        """
        response, body = await self._get(service, path, parameters)
        return parsed(body, response, service)

    async def xml(self, service: str, path: str, parameters: dict[str, str], root: str) -> Any:
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
        if found is None or found.tag != root:
            text = f"{service}: HTTP {response.status_code} without the XML asked for"
            raise Trouble("malformed", text, hint="endpoint")
        return found

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _get(
        self, service: str, path: str, parameters: dict[str, str]
    ) -> tuple[httpx.Response, bytes]:
        asked = {name: value for name, value in parameters.items() if value}
        async with (
            reaching(service, self._timeout),
            self._shared().stream("GET", f"{self._base_url}{path}", params=asked) as response,
        ):
            if response.status_code >= 300:
                raise of_status(response.status_code, service, response.headers)
            return response, await body_of(response, service, SIZE)

    def _shared(self) -> httpx.AsyncClient:
        """The connections, made at the first search."""
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                headers={"User-Agent": AGENT}, timeout=self._timeout, verify=trusted()
            )
        return self._client
