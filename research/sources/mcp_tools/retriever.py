"""An MCP server as a source: results of its tools as evidence.

With a model, the model calls the tools within a budget. Without a model, or if no call of the model
succeeds, the query is passed to the one search tool that `mcp.json` names. In both cases evidence
comes from a tool's result and never from a model's text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Failure, Finding, Readiness, Task
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.evidence import build_evidence
from research.sources.mcp_tools.schemas import build_model_tools, describe_tools
from research.sources.mcp_tools.session import ToolServerSession
from research.sources.mcp_tools.tool_runner import ToolRunner
from research.sources.tool_exploration import ToolExplorer, explore

if TYPE_CHECKING:
    from mcp.types import Tool

MAX_SHOWN_TOOLS = 5  # listed in the source's state
MISSING_SEARCH, MISSING_TOOLS = "mcp.json: search", "mcp.json: tools"  # missing settings of a server


class MCPRetriever:
    """Searches with the tools of one server, in a session that it does not own."""

    max_sequential_calls = 1

    def __init__(
        self,
        server: ToolServer,
        session: ToolServerSession,
        *,
        timeout_seconds: float,
        max_passages: int = 8,
        explorer: ToolExplorer | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`timeout_seconds` is the deadline of a whole search; `max_passages` applies to each
        result."""
        self._server = server
        self._session = session
        self._timeout_seconds = timeout_seconds
        self._max_passages = max_passages
        self._explorer = explorer
        self._clock = clock
        self._start_task: asyncio.Task[None] | None = None

    def readiness(self) -> Readiness:
        if not self._explorer and not self._server.search:
            return Readiness(state="missing", detail=MISSING_SEARCH)
        if error := self._session.start_error:
            return Readiness(state="missing", detail=error.message)
        if not self._session.tools:
            return Readiness(state="live", detail="")
        usable = self._permitted_tools(self._session.tools)
        if not usable:
            return Readiness(state="missing", detail=MISSING_TOOLS)
        withheld = tuple(build_model_tools(usable.values())[1]) if self._explorer else ()
        return Readiness(state="live", detail=_abbreviate([*usable]), withheld=_abbreviate(withheld))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        started, start_time = self._clock(), time.monotonic()
        tools = self._permitted_tools(await self._session.start())
        if not tools:
            problem = "none of its tools says that it only reads: name some in its `tools`"
            raise ServiceError("refused", f"{self._server.label}: {problem}")
        offered = build_model_tools(tools.values())[0] if self._explorer else []
        by_name = {offer.name: offer for offer in offered}
        runner = ToolRunner(self._server, by_name, task.id, emit)
        runner.tools = await self._session.load_tools(runner)
        failures: list[Failure] = []
        if self._explorer:
            failures += await explore(
                self._explorer,
                task.query,
                [model_tool.specification for model_tool in offered],
                runner.call_for_model,
                max_calls=self._server.calls,
                timeout_seconds=self._timeout_seconds,
                source_name=self._server.source_name,
                emit=emit,
                material=describe_tools(offered),
            )
        if not runner.answered_calls and (search := self._server.search):
            await runner.call_tool(search.tool, {**search.arguments, search.argument: task.query})
        items, omitted = build_evidence(self._server, runner.answered_calls, task, self._max_passages, self._clock())
        error = runner.error
        if not items and error:
            raise error
        if not items and failures:
            first = failures[0]
            raise ServiceError(first.reason, first.message, hint=first.hint)
        failures += [error.to_failure("search", task.source, task.query)] if error else []
        return Finding(
            task=task,
            evidence=items,
            reason=None if items else "empty",
            message=omitted,
            started=started,
            seconds=round(time.monotonic() - start_time, 4),
            failures=tuple(failures),
        )

    async def warm(self) -> None:
        """Start the server in the background."""
        if not self._start_task:
            self._start_task = asyncio.create_task(self._start_session())

    async def close(self) -> None:
        """Cancel a start in progress. The session is closed by its owner."""
        if self._start_task:
            self._start_task.cancel()

    async def _start_session(self) -> None:
        try:
            await self._session.start()
        except ServiceError:
            return  # the session keeps the error in `start_error`

    def _permitted_tools(self, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """Return the search tool and the tools that `mcp.json` lists or, without a list, read-only
        tools."""
        search = self._server.search
        allowed = self._server.tools
        return {
            name: tool
            for name, tool in tools.items()
            if (search and name == search.tool) or (name in allowed if allowed is not None else _is_read_only(tool))
        }


def _abbreviate(names: Sequence[str]) -> str:
    """Return the first names and the number of further ones."""
    more = f" +{len(names) - MAX_SHOWN_TOOLS}" if len(names) > MAX_SHOWN_TOOLS else ""
    return ", ".join(names[:MAX_SHOWN_TOOLS]) + more


def _is_read_only(tool: Tool) -> bool:
    return bool(tool.annotations and tool.annotations.readOnlyHint)
