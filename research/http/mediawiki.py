"""The API of MediaWiki (https://www.mediawiki.org/wiki/API:Errors_and_warnings), which Wikipedia and
Wikidata share."""

from __future__ import annotations

from typing import Any

from research.core.errors import Trouble
from research.http.client import Client
from research.http.plain import legible

_BUSY = ("maxlag", "readonly", "internal_api_error")


async def ask(client: Client, service: str, parameters: dict[str, str]) -> dict[str, Any]:
    """What the API answers.

    Raises:
        Trouble: it cannot serve now or does not understand; its errors come with the status of
            success.
    """
    own = {"format": "json", "formatversion": "2"}
    answer = await client.json(service, "/w/api.php", own | parameters)
    if not (error := mapping(answer.get("error"))):
        return answer
    code = str(error.get("code"))
    text = f"{service}: {code}: {legible(error.get('info'))}"
    if code == "ratelimited":
        raise Trouble("quota", text, again=True)
    if code.startswith(_BUSY):
        raise Trouble("unavailable", text, again=True)
    raise Trouble("blocked" if "blocked" in code else "refused", text)


def rank(page: dict[str, Any]) -> float:
    """Pages come in the order of their ids; the index is the place that the search gave them."""
    index = page.get("index")
    return index if isinstance(index, int) else float("inf")


def mapping(value: object) -> dict[str, Any]:
    """An object of the JSON; an empty one where there is something else."""
    return value if isinstance(value, dict) else {}
