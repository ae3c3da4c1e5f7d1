"""The test connection: does each model answer in the form that is asked of it, and each search find."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from pydantic import BaseModel

from research.models.calls import Chat, Prompt
from research.models.roles import gone
from research.reasoners.llm import LLM
from research.records import Check, Failure, silent
from research.settings import ROLES, model_setting
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
    """One check for each role, for the model of the reports, named by their source, and for each
    search provider, all at once."""
    checks: list[Awaitable[Check]] = []
    if models and any(not lacks for *_, lacks in models.table()):
        checks = [_model(role, model_setting(role), models.chat(role)) for role in ROLES]
    if models and (chat := models.reporting()):
        checks.append(_model("news", chat.spec.setting, chat))
    return list(await asyncio.gather(*checks, *(_provider(provider) for provider in providers)))


async def _model(name: str, setting: str, chat: Chat) -> Check:
    async def ask() -> None:
        await chat.json(_PROMPT, _SCHEMA, _Colour, "check", silent)

    seconds, failure = await timed(ask)
    return Check(
        name=name,
        setting=setting,
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
