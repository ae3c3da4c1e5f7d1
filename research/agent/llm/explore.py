"""A model that is let loose on tools: it calls, reads what they say, and calls again.

The loop ends when the model has no more calls to make or the budget is used up. What the tools say
is outside text and stands between fences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from research.agent.llm import prompts
from research.agent.llm.truncation import excerpt, fair_share
from research.core.records import EventEmitter
from research.models import prompting
from research.models.chat import Chat, message_text
from research.models.token_counts import estimate_tokens

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

FENCE_TOKENS = 30  # tokens of the marks around what a tool has said
ToolCaller = Callable[[str, Mapping[str, Any]], Awaitable[str]]
_INVALID_ARGUMENTS = '{"error": "the arguments of this call are no JSON object"}'


async def explore(
    chat: Chat,
    query: str,
    tools: Sequence[Mapping[str, Any]],
    call: ToolCaller,
    budget: int,
    today: date,
    emit: EventEmitter,
    material: str = "",
) -> None:
    """Lets a model call tools for a query, at most `budget` times. `material` is what a server says
    of its tools; without any they are those of the map.

    Raises:
        Trouble: the model cannot be asked.
    """
    prompt = (
        prompts.tool_server_prompt(query, material, budget, today)
        if material
        else prompts.map_tools_prompt(query, budget, today)
    )
    from langchain_core.messages import HumanMessage, SystemMessage

    turns: list[BaseMessage | _ToolResult] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]

    def made(room: int) -> list[BaseMessage]:
        return _fit_messages(turns, room)

    while budget > 0:
        message = await chat.next_message(made, tools, "search", emit)
        turns.append(message)
        calls = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
        broken = [(c["id"], c["name"] or "") for c in message.invalid_tool_calls]
        if not calls and not broken:
            return
        results = await asyncio.gather(*(call(name, args) for _, name, args in calls))
        for (id_, name, _), text in zip(calls, results, strict=True):
            turns.append(_ToolResult(id_ or name, name, text))
        turns += [_ToolResult(id_ or name, name, _INVALID_ARGUMENTS) for id_, name in broken]
        budget -= len(calls) + len(broken)


class _ToolResult(NamedTuple):
    """What a tool has said to a call."""

    call_id: str
    tool_name: str
    text: str


def _fit_messages(messages: Sequence[BaseMessage | _ToolResult], token_budget: int) -> list[BaseMessage]:
    """The conversation in at most `room` tokens: what tools have said is shortened, the longest first."""
    from langchain_core.messages import ToolMessage

    told = [estimate_tokens(turn.text) + FENCE_TOKENS for turn in messages if isinstance(turn, _ToolResult)]
    own = sum(estimate_tokens(message_text([turn])) for turn in messages if not isinstance(turn, _ToolResult))
    most = max(fair_share(told, token_budget - own) - FENCE_TOKENS, 1)
    return [
        ToolMessage(
            prompting.fence("result", excerpt(turn.text, most, {})),
            tool_call_id=turn.call_id,
            name=turn.tool_name,
        )
        if isinstance(turn, _ToolResult)
        else turn
        for turn in messages
    ]
