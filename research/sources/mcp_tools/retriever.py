"""A server of tools as a source: what its tools say, as evidence.

With a model the tools are the model's to call, within a budget; without one, or where it fails, the
query is put to the one tool that the file names for that. Either way what is found comes from a
tool's answer and never from a model's text.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from research.core.deadlines import deadline
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Failure, Finding, Readiness, Task
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.evidence import build_evidence
from research.sources.mcp_tools.schemas import ModelTool, build_model_tools, describe_tools
from research.sources.mcp_tools.session import ToolServerSession
from research.sources.mcp_tools.tool_runner import ToolCaller, ToolRunner

if TYPE_CHECKING:
    from mcp.types import Tool

TIMEOUT_FRACTION = 0.9  # of the time for a search: then it ends by itself, and keeps what it has
MAX_SHOWN_TOOLS = 5  # names of tools on a card
MISSING_SEARCH, MISSING_TOOLS = "mcp.json: search", "mcp.json: tools"  # what a server lacks there


class ToolExplorer(Protocol):
    """A model that is let loose on tools."""

    async def __call__(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: ToolCaller,
        budget: int,
        emit: EventEmitter,
        material: str,
    ) -> None:
        """Calls what it needs for a query, at most `budget` times. `call` gives what a tool said, or
        why it said nothing; `material` is what a server says of its tools.

        Raises:
            Trouble: the model cannot be asked.
        """


class MCPRetriever:
    """Searches through the tools of one server, in a session that belongs to somebody else."""

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
        """`deadline` are the seconds of a whole search, `passages` how many of an answer are kept."""
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
        if trouble := self._session.start_error:
            return Readiness(state="missing", detail=trouble.message)
        if not self._session.tools:
            return Readiness(state="live", detail="")
        usable = self._permitted_tools(self._session.tools)
        if not usable:
            return Readiness(state="missing", detail=MISSING_TOOLS)
        withheld = tuple(build_model_tools(usable.values())[1]) if self._explorer else ()
        return Readiness(state="live", detail=_abbreviate([*usable]), withheld=_abbreviate(withheld))

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        started, clock = self._clock(), time.monotonic()
        tools = self._permitted_tools(await self._session.start())
        if not tools:
            names = "none of its tools says that it only reads: name some in its `tools`"
            raise ServiceError("refused", f"{self._server.label}: {names}")
        offered = build_model_tools(tools.values())[0] if self._explorer else []
        by_name = {offer.name: offer for offer in offered}
        chain = ToolRunner(self._server, by_name, task.id, emit)
        chain.tools = await self._session.load_tools(chain)
        failures: list[Failure] = []
        if self._explorer:
            failures += await self._explore_tools(self._explorer, task.query, chain, offered, emit)
        if not chain.answered_calls and (search := self._server.search):
            await chain.call_tool(search.tool, {**search.arguments, search.argument: task.query})
        items, left_out = build_evidence(self._server, chain.answered_calls, task, self._max_passages, self._clock())
        trouble = chain.error
        if not items and trouble:
            raise trouble
        if not items and failures:
            first = failures[0]
            raise ServiceError(first.reason, first.message, hint=first.hint)
        failures += [trouble.to_failure("search", task.source, task.query)] if trouble else []
        return Finding(
            task=task,
            evidence=items,
            reason=None if items else "empty",
            message=left_out,
            started=started,
            seconds=round(time.monotonic() - clock, 4),
            failures=tuple(failures),
        )

    async def warm(self) -> None:
        """Begins to start the server; nobody waits for it."""
        if not self._start_task:
            self._start_task = asyncio.create_task(self._start_session())

    async def close(self) -> None:
        """Gives up a start that is under way. The session is not ours to close."""
        if self._start_task:
            self._start_task.cancel()

    async def _start_session(self) -> None:
        try:
            await self._session.start()
        except ServiceError:
            return  # the session keeps it for whoever looks

    def _permitted_tools(self, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """The tools that the file permits; those that only read, where it names none."""
        search = self._server.search
        named = self._server.tools
        return {
            name: tool
            for name, tool in tools.items()
            if (search and name == search.tool) or (name in named if named is not None else _is_read_only(tool))
        }

    async def _explore_tools(
        self,
        explorer: ToolExplorer,
        query: str,
        runner: ToolRunner,
        model_tools: Sequence[ModelTool],
        emit: EventEmitter,
    ) -> list[Failure]:
        """Lets the model search; what its calls have found counts, however they ended."""
        try:
            async with deadline(self._timeout_seconds * TIMEOUT_FRACTION):
                await explorer(
                    query,
                    [offer.specification for offer in model_tools],
                    runner.call_for_model,
                    self._server.calls,
                    emit,
                    describe_tools(model_tools),
                )
        except TimeoutError:
            trouble = ServiceError("timeout", "the search's time was over before the model was done")
        except ServiceError as error:
            trouble = error
        else:
            return []
        return [trouble.to_failure("search", runner.server.source_name, query)]


def _abbreviate(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" +{len(names) - MAX_SHOWN_TOOLS}" if len(names) > MAX_SHOWN_TOOLS else ""
    return ", ".join(names[:MAX_SHOWN_TOOLS]) + more


def _is_read_only(tool: Tool) -> bool:
    return bool(tool.annotations and tool.annotations.readOnlyHint)
