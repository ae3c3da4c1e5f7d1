"""Tavily's wire: its own client, with every way in which it fails told apart. Needs a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, error_from_status
from research.core.records import Readiness
from research.http.responses import convert_errors, parse_json_response, ssl_context, timeout_error
from research.http.sanitize import keep_objects, tidy_text

if TYPE_CHECKING:
    import httpx


if TYPE_CHECKING:
    from tavily import AsyncTavilyClient

KEY_SETTING = "TAVILY_API_KEY"
MAX_QUERY_CHARS = 400  # characters of a query; Tavily refuses more
MAX_RESULTS = 20  # results that Tavily gives to one query

_KEY_PATTERN = re.compile(r"[!-~]+")  # what can be sent in a header
_LIMIT_MESSAGES = {432: "the plan's limit is reached", 433: "the pay-as-you-go limit is reached"}
_LIMIT_WORDS_PATTERN = re.compile(r"(?i)\b(?:limits?|quota|credits?|exceed\w*)\b")


class TavilyClient:
    """Asks Tavily. Belongs to the loop on which it is first used.

    The client would search without a key as well, on an allowance nobody knows; so the key is
    asked for here.
    """

    def __init__(self, key: str, *, base_url: str = "", timeout_seconds: float = 30.0) -> None:
        self._key = key.strip()
        self._base_url = base_url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._http_client: httpx.AsyncClient | None = None
        self._client: AsyncTavilyClient | None = None

    def readiness(self) -> Readiness:
        return Readiness(state="live") if self._key else Readiness(state="missing", detail=KEY_SETTING)

    async def search(self, query: str, **parameters: Any) -> dict[str, Any]:
        """What Tavily answers to one query.

        Raises:
            Trouble: it answers nothing that can be used; without a key it is not even asked.
        """
        if not self._key:
            raise ServiceError("no key", f"{KEY_SETTING} is not set", hint="key")
        if not _KEY_PATTERN.fullmatch(self._key):
            raise ServiceError("refused", f"{KEY_SETTING} has characters that no key has", hint="key")

        from tavily.errors import TimeoutError as TooLate

        try:
            async with convert_errors("Tavily", self._timeout_seconds):
                answer: dict[str, Any] = await self._tavily_client().search(
                    query, timeout=self._timeout_seconds, **parameters
                )
                return answer
        except TooLate as error:
            raise timeout_error("Tavily", self._timeout_seconds) from error

    async def close(self) -> None:
        http, self._http_client, self._client = self._http_client, None, None
        if http:
            await http.aclose()

    def _tavily_client(self) -> AsyncTavilyClient:
        """The client, made at the first search.

        It is given a connection that judges each response first: the client's own exceptions
        lose the status and the time to wait, and for some statuses it raises none.
        """
        if self._client is None:
            import httpx
            from tavily import AsyncTavilyClient

            self._http_client = httpx.AsyncClient(verify=ssl_context(), event_hooks={"response": [_check_response]})
            self._client = AsyncTavilyClient(
                api_key=self._key, api_base_url=self._base_url or None, client=self._http_client
            )
        return self._client


async def _check_response(response: httpx.Response) -> None:
    """Lets a response pass that holds an answer.

    Raises:
        Trouble: it holds none.
    """
    await response.aread()
    status = response.status_code
    if status == 200:
        parse_json_response(response, "Tavily")
        return
    if status < 300:
        raise ServiceError("malformed", f"Tavily: HTTP {status} is no answer")
    detail = _error_detail(response)
    if status in _LIMIT_MESSAGES:
        raise error_from_status(status, ": ".join(filter(None, (_LIMIT_MESSAGES[status], detail))))
    if status == 403 and _LIMIT_WORDS_PATTERN.search(detail):
        raise ServiceError("quota", f"HTTP {status}: {detail}")
    raise error_from_status(status, detail, response.headers)


def _error_detail(response: httpx.Response) -> str:
    """What a refusal says, in any of the shapes it comes in."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    detail = body.get("detail") or body.get("error") if isinstance(body, dict) else body
    if isinstance(detail, dict):
        detail = detail.get("error") or detail.get("message")
    if isinstance(detail, list):
        detail = "; ".join(str(row["msg"]) for row in keep_objects(detail) if row.get("msg"))
    return tidy_text(detail)
