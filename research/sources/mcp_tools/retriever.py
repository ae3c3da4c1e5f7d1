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
from research.core.errors import Trouble
from research.core.records import Failure, Finding, Readiness, Say, Task
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.chain import Call, Chain
from research.sources.mcp_tools.results import evidence
from research.sources.mcp_tools.schemas import Offer, material, offers
from research.sources.mcp_tools.session import Session

if TYPE_CHECKING:
    from mcp.types import Tool

PUNCTUAL = 0.9  # of the time for a search: then it ends by itself, and keeps what it has
SHOWN = 5  # names of tools on a card
NO_SEARCH, NO_TOOLS = "mcp.json: search", "mcp.json: tools"  # what a server lacks there


class Explore(Protocol):
    """A model that is let loose on tools."""

    async def __call__(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: Call,
        budget: int,
        say: Say,
        material: str,
    ) -> None:
        """Calls what it needs for a query, at most `budget` times. `call` gives what a tool said, or
        why it said nothing; `material` is what a server says of its tools.

        Raises:
            Trouble: the model cannot be asked.
        """


class ToolsRetriever:
    """Searches through the tools of one server, in a session that belongs to somebody else."""

    turns = 1

    def __init__(
        self,
        server: ToolServer,
        session: Session,
        *,
        deadline: float,
        passages: int = 8,
        explore: Explore | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`deadline` are the seconds of a whole search, `passages` how many of an answer are kept."""
        self._server = server
        self._session = session
        self._deadline = deadline
        self._passages = passages
        self._explore = explore
        self._clock = clock
        self._starting: asyncio.Task[None] | None = None

    def ready(self) -> Readiness:
        if not self._explore and not self._server.search:
            return Readiness(state="missing", detail=NO_SEARCH)
        if trouble := self._session.trouble:
            return Readiness(state="missing", detail=trouble.message)
        if not self._session.tools:
            return Readiness(state="live", detail="")
        usable = self._usable(self._session.tools)
        if not usable:
            return Readiness(state="missing", detail=NO_TOOLS)
        withheld = tuple(offers(usable.values())[1]) if self._explore else ()
        return Readiness(state="live", detail=_listed([*usable]), withheld=_listed(withheld))

    async def search(self, task: Task, say: Say) -> Finding:
        started, clock = self._clock(), time.monotonic()
        tools = self._usable(await self._session.start())
        if not tools:
            names = "none of its tools says that it only reads: name some in its `tools`"
            raise Trouble("refused", f"{self._server.label}: {names}")
        offered = offers(tools.values())[0] if self._explore else []
        by_name = {offer.name: offer for offer in offered}
        chain = Chain(self._server, by_name, task.id, say)
        chain.tools = await self._session.load(chain)
        failures: list[Failure] = []
        if self._explore:
            failures += await self._explored(self._explore, task.query, chain, offered, say)
        if not chain.answered and (search := self._server.search):
            await chain.ask(search.tool, {**search.arguments, search.argument: task.query})
        items, left_out = evidence(
            self._server, chain.answered, task, self._passages, self._clock()
        )
        trouble = chain.trouble
        if not items and trouble:
            raise trouble
        if not items and failures:
            first = failures[0]
            raise Trouble(first.reason, first.message, hint=first.hint)
        failures += [trouble.failure("search", task.source, task.query)] if trouble else []
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
        if not self._starting:
            self._starting = asyncio.create_task(self._start())

    async def close(self) -> None:
        """Gives up a start that is under way. The session is not ours to close."""
        if self._starting:
            self._starting.cancel()

    async def _start(self) -> None:
        try:
            await self._session.start()
        except Trouble:
            return  # the session keeps it for whoever looks

    def _usable(self, tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """The tools that the file permits; those that only read, where it names none."""
        search = self._server.search
        named = self._server.tools
        return {
            name: tool
            for name, tool in tools.items()
            if (search and name == search.tool)
            or (name in named if named is not None else _reads(tool))
        }

    async def _explored(
        self, explore: Explore, query: str, chain: Chain, offered: Sequence[Offer], say: Say
    ) -> list[Failure]:
        """Lets the model search; what its calls have found counts, however they ended."""
        try:
            async with deadline(self._deadline * PUNCTUAL):
                await explore(
                    query,
                    [offer.specification for offer in offered],
                    chain.call,
                    self._server.calls,
                    say,
                    material(offered),
                )
        except TimeoutError:
            trouble = Trouble("timeout", "the search's time was over before the model was done")
        except Trouble as error:
            trouble = error
        else:
            return []
        return [trouble.failure("search", chain.server.source, query)]


def _listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" +{len(names) - SHOWN}" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _reads(tool: Tool) -> bool:
    return bool(tool.annotations and tool.annotations.readOnlyHint)
