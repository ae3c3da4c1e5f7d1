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
from research.agent.llm.room import excerpt, level
from research.core.records import Say
from research.models import prompting
from research.models.calls import Chat, said
from research.models.counting import tokens

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

FENCE = 30  # tokens of the marks around what a tool has said
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
    material: str = "",
) -> None:
    """Lets a model call tools for a query, at most `budget` times. `material` is what a server says
    of its tools; without any they are those of the map.

    Raises:
        Trouble: the model cannot be asked.
    """
    prompt = (
        prompts.server_prompt(query, material, budget, today)
        if material
        else prompts.tools_prompt(query, budget, today)
    )
    from langchain_core.messages import HumanMessage, SystemMessage

    turns: list[BaseMessage | _Said] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]

    def made(room: int) -> list[BaseMessage]:
        return _within(turns, room)

    while budget > 0:
        message = await chat.act(made, tools, "search", say)
        turns.append(message)
        calls = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
        broken = [(c["id"], c["name"] or "") for c in message.invalid_tool_calls]
        if not calls and not broken:
            return
        results = await asyncio.gather(*(call(name, args) for _, name, args in calls))
        for (id_, name, _), text in zip(calls, results, strict=True):
            turns.append(_Said(id_ or name, name, text))
        turns += [_Said(id_ or name, name, _UNREADABLE) for id_, name in broken]
        budget -= len(calls) + len(broken)


class _Said(NamedTuple):
    """What a tool has said to a call."""

    call: str
    tool: str
    text: str


def _within(turns: Sequence[BaseMessage | _Said], room: int) -> list[BaseMessage]:
    """The conversation in at most `room` tokens: what tools have said is shortened, the longest first."""
    from langchain_core.messages import ToolMessage

    told = [tokens(turn.text) + FENCE for turn in turns if isinstance(turn, _Said)]
    own = sum(tokens(said([turn])) for turn in turns if not isinstance(turn, _Said))
    most = max(level(told, room - own) - FENCE, 1)
    return [
        ToolMessage(
            prompting.fenced("result", excerpt(turn.text, most, {})),
            tool_call_id=turn.call,
            name=turn.tool,
        )
        if isinstance(turn, _Said)
        else turn
        for turn in turns
    ]
