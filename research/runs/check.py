"""The test connection: does each model answer in the form that is asked of it, and each search find."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from pydantic import BaseModel

from research.models.calls import Prompt
from research.models.roles import gone
from research.reasoners.llm import LLM
from research.records import Check, Failure, silent
from research.settings import ROLES, Role, model_setting
from research.sources.web.provider import Provider
from research.trouble import Trouble

QUERY = "Palace Museum Beijing"
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_PROMPT = Prompt(
    "Reply with JSON.", 'Which of red, green and blue is grass? Put it in the field "colour".'
)


class _Colour(BaseModel):
    colour: Literal["red", "green", "blue"]


async def connections(models: LLM | None, providers: Sequence[Provider]) -> list[Check]:
    """One check for each role and each search provider, all at once."""
    checks = [_model(models, role) for role in ROLES] if models else []
    return list(await asyncio.gather(*checks, *(_provider(provider) for provider in providers)))


async def _model(models: LLM, role: Role) -> Check:
    chat = models.chat(role)

    async def ask() -> None:
        await chat.json(_PROMPT, _SCHEMA, _Colour, "check", silent)

    seconds, failure = await timed(ask)
    return Check(
        name=role,
        setting=model_setting(role),
        model=str(chat.spec),
        seconds=seconds,
        failure=failure,
        warning=gone(chat.spec.name),
    )


async def _provider(provider: Provider) -> Check:
    async def ask() -> None:
        found = await provider.search(QUERY, silent)
        if not found.evidence:
            raise Trouble("empty", found.message or "it answered, but found nothing")

    seconds, failure = await timed(ask)
    return Check(
        name=provider.name, setting="WEB_SEARCH", model=provider.ready().detail,
        seconds=seconds, failure=failure,
    )  # fmt: skip


async def timed(ask: Callable[[], Awaitable[None]]) -> tuple[float, Failure | None]:
    """How long a request takes, and how it fails."""
    start = time.monotonic()
    try:
        await ask()
    except Trouble as trouble:
        return round(time.monotonic() - start, 3), trouble.failure("check")
    return round(time.monotonic() - start, 3), None
