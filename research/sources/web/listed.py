"""The web by services that take a key and answer a list as JSON, each described in one table.

The table is `data/searches.toml`; nothing here knows a service by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import Trouble, conceal, of_status
from research.core.records import Readiness, Say, Usage
from research.core.text.published import day
from research.http.plain import rows, tidy, unmarked
from research.http.replies import content, reaching, trusted
from research.sources.web.provider import Found
from research.sources.web.results import result, united

if TYPE_CHECKING:
    import httpx

    from research.core.providers import Search

AGENT = "Sightline/1.0"
LONGEST = 400  # characters of a query, which is what the shortest of them takes
_ERRORS = ("message", "errMsg", "error", "msg", "detail")  # where an answer without a list says why


class Listed:
    """One of the services of the table."""

    summarises = False

    def __init__(
        self,
        search: Search,
        key: str,
        *,
        url: str = "",
        results: int = 8,
        timeout: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        conceal([key])
        self._search, self._key, self._url = search, key, url or search.url
        self._results, self._timeout, self._clock = min(results, search.most), timeout, clock
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        return self._search.name

    def ready(self) -> Readiness:
        if self._key:
            return Readiness(state="live")
        return Readiness(state="missing", detail=self._search.key)

    async def search(self, query: str, say: Say) -> Found:
        service = self._search
        if not self._key:
            raise Trouble("no key", f"{service.title} needs {service.key}", hint="key")
        retrieved, query = self._clock(), tidy(query)
        asked = query[:LONGEST]
        answer = await self._answer(asked)
        say("usage", **Usage(stage="search", model=self.name, searches=1).model_dump(mode="json"))
        items = (self._item(row, retrieved) for row in self._rows(answer))
        return Found(
            evidence=united(items, self._results),
            asked=() if asked == query else (asked,),
            message="" if asked == query else f"query shortened to {len(asked)} characters",
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _answer(self, query: str) -> dict[str, Any]:
        service = self._search
        sent = _filled(service.send, {"{query}": query, "{results}": self._results})
        given: dict[str, Any] = {"params": sent} if service.method == "GET" else {"json": sent}
        async with reaching(service.title, self._timeout):
            response = await self._shared().request(service.method, self._url, **given)
        if response.status_code >= 300:
            raise of_status(response.status_code, service.title, response.headers)
        return content(response, service.title)

    def _shared(self) -> httpx.AsyncClient:
        """The connections, made at the first search. They follow no redirect: the key would go along."""
        if self._client is None:
            import httpx

            name, before = self._search.header
            self._client = httpx.AsyncClient(
                headers={
                    "User-Agent": AGENT,
                    "Accept": "application/json",
                    name: before + self._key,
                },
                timeout=self._timeout,
                verify=trusted(),
                follow_redirects=False,
            )
        return self._client

    def _rows(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """The results of an answer. One that has none and says why is a failure: some services answer
        200 to a key that they do not know.

        Raises:
            Trouble: it says why there are none.
        """
        found: Any = answer
        for name in self._search.rows.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        if found is None and (why := _said(answer)):
            raise Trouble("refused", f"{self._search.title}: {why}")
        return rows(found)

    def _item(self, row: dict[str, Any], retrieved: datetime) -> Any:
        fields, read = self._search.fields, unmarked if self._search.markup else tidy
        texts = (_text(row.get(name)) for name in fields.text)
        return result(
            row.get(fields.url),
            read(row.get(fields.title)),
            read(next(filter(None, texts), "")),
            retrieved=retrieved,
            day=day(row.get(fields.day)),
        )


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, Mapping):
        return {name: _filled(value, values) for name, value in template.items()}
    return values.get(template, template) if isinstance(template, str) else template


def _text(value: object) -> str:
    """A text, or the texts of a list."""
    if isinstance(value, list):
        return "\n".join(text for text in value if isinstance(text, str))
    return value if isinstance(value, str) else ""


def _said(answer: Mapping[str, Any]) -> str:
    for name in _ERRORS:
        said = answer.get(name)
        said = said.get("message") if isinstance(said, dict) else said
        if isinstance(said, str) and (text := tidy(said)) and text.lower() not in ("success", "ok"):
            return text[:300]
    return ""
