"""The API of MediaWiki (https://www.mediawiki.org/wiki/API:Errors_and_warnings), which Wikipedia and
Wikidata share."""

from __future__ import annotations

from typing import Any

from research.core.errors import ServiceError
from research.http.client import ServiceClient
from research.http.sanitize import remove_control_characters

_BUSY_CODES = ("maxlag", "readonly", "internal_api_error")


async def query_api(client: ServiceClient, service: str, parameters: dict[str, str]) -> dict[str, Any]:
    """What the API answers.

    Raises:
        Trouble: it cannot serve now or does not understand; its errors come with the status of
            success.
    """
    own = {"format": "json", "formatversion": "2"}
    answer = await client.get_json(service, "/w/api.php", own | parameters)
    if not (error := as_object(answer.get("error"))):
        return answer
    code = str(error.get("code"))
    text = f"{service}: {code}: {remove_control_characters(error.get('info'))}"
    if code == "ratelimited":
        raise ServiceError("quota", text, is_retryable=True)
    if code.startswith(_BUSY_CODES):
        raise ServiceError("unavailable", text, is_retryable=True)
    raise ServiceError("blocked" if "blocked" in code else "refused", text)


def search_rank(page: dict[str, Any]) -> float:
    """Pages come in the order of their ids; the index is the place that the search gave them."""
    index = page.get("index")
    return index if isinstance(index, int) else float("inf")


def as_object(value: object) -> dict[str, Any]:
    """An object of the JSON; an empty one where there is something else."""
    return value if isinstance(value, dict) else {}
