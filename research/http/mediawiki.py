"""Client of the MediaWiki API, which Wikipedia and Wikidata share.

Errors: https://www.mediawiki.org/wiki/API:Errors_and_warnings.
"""

from __future__ import annotations

from typing import Any

from research.core.errors import ServiceError
from research.core.json_values import as_object
from research.http.client import ServiceClient
from research.http.sanitize import remove_control_characters

_BUSY_CODES = ("maxlag", "readonly", "internal_api_error")


async def query_api(client: ServiceClient, service: str, parameters: dict[str, str]) -> dict[str, Any]:
    """Return the API's answer to a query.

    Raises:
        ServiceError: The API reports an error, which it does with an HTTP status of success.
    """
    format_parameters = {"format": "json", "formatversion": "2"}
    answer = await client.get_json(service, "/w/api.php", format_parameters | parameters)
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
    """Return the rank of a page in the search results; pages are listed by id instead."""
    index = page.get("index")
    return index if isinstance(index, int) else float("inf")
