"""The web by a SearXNG instance of one's own. Needs its address, no key."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import Trouble, of_status
from research.core.records import Readiness, Say
from research.core.text.published import day
from research.http.plain import rows, tidy, unmarked
from research.http.replies import content, reaching, trusted
from research.sources.web.provider import Found
from research.sources.web.results import result, united

if TYPE_CHECKING:
    import httpx


SETTING = "SEARXNG_URL"
AGENT = "Sightline/1.0"

# At the head of a word these choose engines (!), a language (:) or a time limit (<), and !! leads
# away to another service altogether. A query of ours asks for words.
_COMMAND = re.compile(r"(?<!\S)[!:<]+(?=\S)")


class SearXNG:
    """Asks the engines that the instance is set up with, or those that are named.

    With `engines` only these count: SearXNG drops a name that it does not know and asks its usual
    engines instead, which is reported as a failure here.
    """

    name = "searxng"
    summarises = False

    def __init__(
        self,
        base_url: str,
        *,
        engines: tuple[str, ...] = (),
        results: int = 8,
        timeout: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._base_url = base_url.strip().rstrip("/").removesuffix("/search")
        self._engines = engines
        self._results = results
        self._timeout = timeout
        self._clock = clock
        self._client: httpx.AsyncClient | None = None

    def ready(self) -> Readiness:
        if self._base_url:
            return Readiness(state="live")
        return Readiness(state="missing", detail=SETTING)

    async def search(self, query: str, say: Say) -> Found:
        if not self._base_url:
            raise Trouble("unreachable", f"{SETTING} is not set")
        retrieved = self._clock()
        query = tidy(query)
        asked = _COMMAND.sub("", query)
        answer = await self._answer(asked)
        found = rows(answer["results"])
        idle = _unresponsive(answer.get("unresponsive_engines"))
        if idle and not found:
            raise Trouble("blocked", f"SearXNG: engines gave no answer: {idle}")
        self._hold_to_engines(found)
        items = (
            result(
                row.get("url"),
                unmarked(row.get("title")),
                unmarked(row.get("content")),
                retrieved=retrieved,
                day=day(row.get("publishedDate")),
            )
            for row in found
        )
        return Found(
            evidence=united(items, self._results),
            asked=() if asked == query else (asked,),
            message=f"engines without an answer: {idle}" if idle else "",
        )

    async def close(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _answer(self, query: str) -> dict[str, Any]:
        parameters = {"q": query, "format": "json"}
        if self._engines:
            parameters["engines"] = ",".join(self._engines)
        async with reaching("SearXNG", self._timeout):
            response = await self._shared().get("search", params=parameters)
        return _answer(response)

    def _shared(self) -> httpx.AsyncClient:
        """The connections, made at the first search.

        A password leaves the address: addresses are logged.
        """
        if self._client is None:
            import httpx

            url = httpx.URL(self._base_url)
            self._client = httpx.AsyncClient(
                base_url=url.copy_with(userinfo=b""),
                auth=(url.username, url.password) if url.userinfo else None,
                headers={"User-Agent": AGENT},
                timeout=self._timeout,
                verify=trusted(),
            )
        return self._client

    def _hold_to_engines(self, found: list[dict[str, Any]]) -> None:
        """Sees to it that results come from the engines that were named, if any were.

        Raises:
            Trouble: other engines were asked.
        """
        named = {engine.strip().lower() for engine in self._engines}
        others = {engine for row in found if not named & (by := _engines(row)) for engine in by}
        if named and others:
            text = f"SearXNG asked {_listed(others)} instead of {_listed(named)}"
            raise Trouble("refused", text)


def _answer(response: httpx.Response) -> dict[str, Any]:
    """What the instance found.

    Raises:
        Trouble: it is not set up for this, cannot serve, or is no SearXNG.
    """
    status = response.status_code
    if status == 403:
        text = "SearXNG: HTTP 403; the instance must allow json under search.formats"
        raise Trouble("refused", text, hint="endpoint")
    if status >= 300:
        raise of_status(status, "SearXNG", response.headers)
    answer = content(response, "SearXNG")
    if not isinstance(answer.get("results"), list):
        raise Trouble("malformed", "SearXNG: the JSON has no results", hint="endpoint")
    return answer


def _engines(row: dict[str, Any]) -> set[str]:
    """The engines that a result says it came from."""
    listed = row.get("engines")
    names = listed if isinstance(listed, list) else []
    return {name.lower() for name in [*names, row.get("engine")] if name and isinstance(name, str)}


def _unresponsive(value: object) -> str:
    """The engines that did not answer, each with the reason that SearXNG gives."""
    said = []
    for entry in value if isinstance(value, list) else []:
        name, *why = entry if isinstance(entry, list) and entry else [entry]
        reason = tidy(why[0]) if why else ""
        said.append(tidy(name) + (f" ({reason})" if reason else ""))
    return ", ".join(filter(None, said))


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
