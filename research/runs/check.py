"""The test connection: does each model answer in the form that is asked of it, and each search find."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from research.models.calls import Chat, Prompt
from research.models.roles import gone
from research.reasoners.llm import LLM
from research.records import Check, Failure, Task, silent
from research.settings import ROLES, model_setting
from research.sources import Retriever, registry
from research.sources.web.provider import Provider
from research.stages.search import searched
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


async def connections(
    models: LLM | None,
    providers: Sequence[Provider],
    sources: Mapping[str, Retriever],
    deadline: float,
) -> list[Check]:
    """One check for each role, for the model of the reports, named by their source, for each search
    provider but agents, whose every search is a task that costs dollars, and for each other source that names a query to be tested with, all at once. `deadline`
    are the seconds of a search."""
    checks: list[Awaitable[Check]] = []
    if models and any(not lacks for *_, lacks in models.table()):
        checks = [_model(role, model_setting(role), models.chat(role)) for role in ROLES]
    if models and (chat := models.reporting()):
        checks.append(_model("news", chat.spec.setting, chat))
    checks += [_provider(provider) for provider in providers if provider.name != "deep-research"]
    for name, retriever in sources.items():
        if registry.of(name).probe and retriever.ready().state == "live":
            checks.append(_source(name, retriever, deadline))
    return list(await asyncio.gather(*checks))


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


async def _source(name: str, retriever: Retriever, deadline: float) -> Check:
    task = Task(id="", source=name, query=registry.of(name).probe)

    async def ask() -> None:
        found = await searched(task, retriever, silent, deadline * retriever.turns)
        if found.reason:
            raise Trouble(found.reason, found.message, hint=found.hint)

    seconds, failure = await timed(ask)
    return Check(
        name=name, setting="", model=retriever.ready().detail, seconds=seconds, failure=failure
    )


async def timed(ask: Callable[[], Awaitable[None]]) -> tuple[float, Failure | None]:
    """How long a request takes, and how it fails."""
    start = time.monotonic()
    try:
        await ask()
    except Trouble as trouble:
        return round(time.monotonic() - start, 3), trouble.failure("check")
    return round(time.monotonic() - start, 3), None
