"""A loop in which a model calls tools, reads the results and calls again.

It ends when the model makes no more calls or the budget is used up. Results of tools are outside
text and are fenced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from research.agent.llm import prompts
from research.agent.llm.truncation import excerpt, fair_share
from research.core.events import EventEmitter
from research.models import prompting
from research.models.chat import ChatProvider
from research.models.prompting import message_text
from research.models.token_counts import estimate_tokens
from research.sources.tool_exploration import ToolCaller

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


FENCE_TOKENS = 30  # tokens of the fence around a result
_INVALID_ARGUMENTS = '{"error": "the arguments of this call are no JSON object"}'


class ToolLoop:
    """Lets the searching model call tools."""

    def __init__(self, models: ChatProvider) -> None:
        self._models = models

    async def explore(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: ToolCaller,
        budget: int,
        emit: EventEmitter,
        material: str = "",
    ) -> None:
        """Let the model call tools for a query, at most `budget` times.

        `call` makes a call and returns its result as text. `material` is a server's description of
        its tools; without it the tools are those of the map.

        Raises:
            ServiceError: the model cannot be called.
        """
        from langchain_core.messages import HumanMessage, SystemMessage

        chat, today = self._models.chat("search"), self._models.today
        prompt = (
            prompts.tool_server_prompt(query, material, budget, today)
            if material
            else prompts.map_tools_prompt(query, budget, today)
        )
        messages: list[BaseMessage | _ToolResult] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        while budget > 0:
            message = await chat.next_message(partial(_fit_messages, messages), tools, "search", emit)
            messages.append(message)
            calls = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
            invalid_calls = [(c["id"], c["name"] or "") for c in message.invalid_tool_calls]
            if not calls and not invalid_calls:
                return
            results = await asyncio.gather(*(call(name, args) for _, name, args in calls))
            for (id_, name, _), text in zip(calls, results, strict=True):
                messages.append(_ToolResult(id_ or name, name, text))
            messages += [_ToolResult(id_ or name, name, _INVALID_ARGUMENTS) for id_, name in invalid_calls]
            budget -= len(calls) + len(invalid_calls)


class _ToolResult(NamedTuple):
    """The result of a tool call."""

    call_id: str
    tool_name: str
    text: str


def _fit_messages(messages: Sequence[BaseMessage | _ToolResult], token_budget: int) -> list[BaseMessage]:
    """Fit the conversation into the token budget by shortening the longest tool results."""
    from langchain_core.messages import ToolMessage

    result_tokens = [estimate_tokens(entry.text) + FENCE_TOKENS for entry in messages if isinstance(entry, _ToolResult)]
    other_tokens = sum(
        estimate_tokens(message_text([entry])) for entry in messages if not isinstance(entry, _ToolResult)
    )
    max_tokens = max(fair_share(result_tokens, token_budget - other_tokens) - FENCE_TOKENS, 1)
    return [
        ToolMessage(
            prompting.fence("result", excerpt(entry.text, max_tokens, {})),
            tool_call_id=entry.call_id,
            name=entry.tool_name,
        )
        if isinstance(entry, _ToolResult)
        else entry
        for entry in messages
    ]
