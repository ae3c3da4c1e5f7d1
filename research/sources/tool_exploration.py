"""Search by a model that calls the tools of a source within a budget, used by maps and MCP servers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from research.core.deadlines import deadline
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Failure

TIMEOUT_FRACTION = 0.9  # of the search deadline, so that a search ends in time and keeps its results
ToolCaller = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Calls a tool by its name with arguments, and returns the text of its result or error."""


class ToolExplorer(Protocol):
    """A model that chooses and chains tool calls."""

    async def __call__(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: ToolCaller,
        budget: int,
        emit: EventEmitter,
        material: str = "",
    ) -> None:
        """Make the tool calls that a query needs, at most `budget`.

        `call` returns the text of a tool's result or error; `material` are a server's descriptions
        of its tools.

        Raises:
            ServiceError: the model does not respond.
        """


async def explore(
    explorer: ToolExplorer,
    query: str,
    tools: Sequence[Mapping[str, Any]],
    call: ToolCaller,
    *,
    max_calls: int,
    timeout_seconds: float,
    source_name: str,
    emit: EventEmitter,
    material: str = "",
) -> list[Failure]:
    """Let a model call tools, and return its failure, if any. The results of its calls remain.

    `timeout_seconds` is the deadline of the whole search; `source_name` is used in the failure.
    """
    try:
        async with deadline(timeout_seconds * TIMEOUT_FRACTION):
            await explorer(query, tools, call, max_calls, emit, material)
    except TimeoutError:
        failure = ServiceError("timeout", "the search's time was over before the model was done")
    except ServiceError as error:
        failure = error
    else:
        return []
    return [failure.to_failure("search", source_name, query)]


def error_json(text: str) -> str:
    """Return an error as a result that a model can read."""
    return json.dumps({"error": text}, ensure_ascii=False)
