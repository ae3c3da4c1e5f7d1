"""Client of Tavily's search API with typed errors. Needs a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, error_from_status
from research.core.json_values import keep_objects
from research.core.records import Readiness
from research.http.lazy_client import LazyClient
from research.http.responses import convert_errors, parse_json_object, timeout_error
from research.http.sanitize import tidy_text

if TYPE_CHECKING:
    import httpx
    from tavily import AsyncTavilyClient

KEY_SETTING = "TAVILY_API_KEY"
MAX_QUERY_CHARS = 400  # Tavily refuses longer queries
MAX_RESULTS = 20  # Tavily's maximum for one query

_KEY_PATTERN = re.compile(r"[!-~]+")  # characters that a header can carry
_LIMIT_MESSAGES = {432: "the plan's limit is reached", 433: "the pay-as-you-go limit is reached"}
_LIMIT_WORDS_PATTERN = re.compile(r"(?i)\b(?:limits?|quota|credits?|exceed\w*)\b")


class TavilyClient:
    """Client of Tavily, bound to the event loop of its first use.

    Tavily's own client would also search without a key, on an undocumented allowance; so the key is
    required here.
    """

    def __init__(self, key: str, *, base_url: str = "", timeout_seconds: float = 30.0) -> None:
        self._key = key.strip()
        self._base_url = base_url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._client = LazyClient(event_hooks={"response": [_check_response]})

    def readiness(self) -> Readiness:
        """Return whether a key is set."""
        return Readiness(state="live") if self._key else Readiness(state="missing", detail=KEY_SETTING)

    async def search(self, query: str, **parameters: Any) -> dict[str, Any]:
        """Return Tavily's answer to a query.

        Raises:
            ServiceError: The answer is unusable, or no key is set and no request is sent.
        """
        if not self._key:
            raise ServiceError("no key", f"{KEY_SETTING} is not set", hint="key")
        if not _KEY_PATTERN.fullmatch(self._key):
            raise ServiceError("refused", f"{KEY_SETTING} has characters that no key has", hint="key")

        from tavily.errors import TimeoutError as TavilyTimeoutError

        try:
            async with convert_errors("Tavily", self._timeout_seconds):
                answer: dict[str, Any] = await self._tavily_client().search(
                    query, timeout=self._timeout_seconds, **parameters
                )
                return answer
        except TavilyTimeoutError as error:
            raise timeout_error("Tavily", self._timeout_seconds) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _tavily_client(self) -> AsyncTavilyClient:
        """Return a client of the library over our connections.

        They check each response first: the library's own exceptions lose the status and the retry
        delay, and for some statuses it raises none.
        """
        from tavily import AsyncTavilyClient

        return AsyncTavilyClient(api_key=self._key, api_base_url=self._base_url or None, client=self._client.open())


async def _check_response(response: httpx.Response) -> None:
    """Raise an error for a response without an answer.

    Raises:
        ServiceError: The response holds no answer.
    """
    await response.aread()
    status = response.status_code
    if status == 200:
        parse_json_object(response.content, response, "Tavily")
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
    """Return the message of an error response, in any of Tavily's formats."""
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
