"""A model that is let loose on tools: it calls, reads what they say, and calls again.

The loop ends when the model has no more calls to make or the budget is used up. What the tools say
is outside text and stands between fences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from research.models.calls import Chat
from research.reasoners import prompts
from research.records import Say

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage, ToolMessage

Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]
_UNREADABLE = '{"error": "the arguments of this call are no JSON object"}'


async def explore(
    chat: Chat,
    query: str,
    tools: Sequence[Mapping[str, Any]],
    call: Call,
    budget: int,
    today: date,
    say: Say,
) -> None:
    """Lets a model call tools for a query, at most `budget` times.

    Raises:
        Trouble: the model cannot be asked.
    """
    prompt = prompts.tools_prompt(query, budget, today)
    from langchain_core.messages import HumanMessage, SystemMessage

    messages: list[BaseMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
    while budget > 0:
        message = await chat.act(messages, tools, "search", say)
        messages.append(message)
        calls = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
        broken = [(c["id"], c["name"] or "") for c in message.invalid_tool_calls]
        if not calls and not broken:
            return
        results = await asyncio.gather(*(call(name, args) for _, name, args in calls))
        for (id_, name, _), said in zip(calls, results, strict=True):
            messages.append(_told(id_, name, said))
        messages += [_told(id_, name, _UNREADABLE) for id_, name in broken]
        budget -= len(calls) + len(broken)


def _told(id_: str | None, name: str, said: str) -> ToolMessage:
    from langchain_core.messages import ToolMessage

    return ToolMessage(prompts.fenced("result", said), tool_call_id=id_ or name, name=name)
