"""Tavily's wire: its own client, with every way in which it fails told apart. Needs a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from research.core.errors import Trouble, of_status
from research.core.records import Readiness
from research.http.plain import rows, tidy
from research.http.replies import content, late, reaching, trusted

if TYPE_CHECKING:
    import httpx


if TYPE_CHECKING:
    from tavily import AsyncTavilyClient

SETTING = "TAVILY_API_KEY"
LONGEST = 400  # characters of a query; Tavily refuses more
MOST = 20  # results that Tavily gives to one query

_KEY = re.compile(r"[!-~]+")  # what can be sent in a header
_LIMITS = {432: "the plan's limit is reached", 433: "the pay-as-you-go limit is reached"}
_ABOUT_LIMITS = re.compile(r"(?i)\b(?:limits?|quota|credits?|exceed\w*)\b")


class TavilyWire:
    """Asks Tavily. Belongs to the loop on which it is first used.

    The client would search without a key as well, on an allowance nobody knows; so the key is
    asked for here.
    """

    def __init__(self, key: str, *, base_url: str = "", timeout: float = 30.0) -> None:
        self._key = key.strip()
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._http: httpx.AsyncClient | None = None
        self._client: AsyncTavilyClient | None = None

    def ready(self) -> Readiness:
        return Readiness(state="live") if self._key else Readiness(state="missing", detail=SETTING)

    async def ask(self, query: str, **parameters: Any) -> dict[str, Any]:
        """What Tavily answers to one query.

        Raises:
            Trouble: it answers nothing that can be used; without a key it is not even asked.
        """
        if not self._key:
            raise Trouble("no key", f"{SETTING} is not set", hint="key")
        if not _KEY.fullmatch(self._key):
            raise Trouble("refused", f"{SETTING} has characters that no key has", hint="key")

        from tavily.errors import TimeoutError as TooLate

        try:
            async with reaching("Tavily", self._timeout):
                answer: dict[str, Any] = await self._shared().search(
                    query, timeout=self._timeout, **parameters
                )
                return answer
        except TooLate as error:
            raise late("Tavily", self._timeout) from error

    async def close(self) -> None:
        http, self._http, self._client = self._http, None, None
        if http:
            await http.aclose()

    def _shared(self) -> AsyncTavilyClient:
        """The client, made at the first search.

        It is given a connection that judges each response first: the client's own exceptions
        lose the status and the time to wait, and for some statuses it raises none.
        """
        if self._client is None:
            import httpx
            from tavily import AsyncTavilyClient

            self._http = httpx.AsyncClient(verify=trusted(), event_hooks={"response": [_judge]})
            self._client = AsyncTavilyClient(
                api_key=self._key, api_base_url=self._base_url or None, client=self._http
            )
        return self._client


async def _judge(response: httpx.Response) -> None:
    """Lets a response pass that holds an answer.

    Raises:
        Trouble: it holds none.
    """
    await response.aread()
    status = response.status_code
    if status == 200:
        content(response, "Tavily")
        return
    if status < 300:
        raise Trouble("malformed", f"Tavily: HTTP {status} is no answer")
    detail = _detail(response)
    if status in _LIMITS:
        raise of_status(status, ": ".join(filter(None, (_LIMITS[status], detail))))
    if status == 403 and _ABOUT_LIMITS.search(detail):
        raise Trouble("quota", f"HTTP {status}: {detail}")
    raise of_status(status, detail, response.headers)


def _detail(response: httpx.Response) -> str:
    """What a refusal says, in any of the shapes it comes in."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    detail = body.get("detail") or body.get("error") if isinstance(body, dict) else body
    if isinstance(detail, dict):
        detail = detail.get("error") or detail.get("message")
    if isinstance(detail, list):
        detail = "; ".join(str(row["msg"]) for row in rows(detail) if row.get("msg"))
    return tidy(detail)
