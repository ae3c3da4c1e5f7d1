"""The calls of one search of a server's tools: counted, and kept as they came."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from research.core.errors import Trouble, concealed
from research.core.records import Say
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.limits import limited
from research.sources.mcp_tools.results import text_of
from research.sources.mcp_tools.session import ToolError, invoke

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp.types import CallToolResult

    from research.sources.mcp_tools.lenient import ToolAnswer
    from research.sources.mcp_tools.schemas import Offer
    from research.sources.mcp_tools.session import Handler

ANSWER = 8_000  # characters of an answer that a model reads
ARGUMENTS = 20_000  # characters of a call's arguments, as JSON
Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class ToolCall(NamedTuple):
    """A call and the tool's answer."""

    tool: str
    arguments: Mapping[str, Any]  # without keys
    result: ToolAnswer


@dataclass
class Chain:
    """The calls of a model, or the one without a model. Intercepts the calls of `tools`."""

    server: ToolServer
    offers: Mapping[str, Offer]  # by the names that the model has for them
    task: str  # its id
    say: Say
    tools: Mapping[str, BaseTool] = field(default_factory=dict)  # by the server's names
    answered: list[ToolCall] = field(default_factory=list)
    trouble: Trouble | None = None  # the last that kept a tool from answering
    calls: int = 0

    async def __call__(self, request: MCPToolCallRequest, handler: Handler) -> CallToolResult:
        """Announce a call, keep its answer as it came, and return the text of the answer.

        Raises:
            Trouble: there is no answer, or it is an error; kept in `trouble`.
        """
        from mcp.types import CallToolResult, TextContent

        arguments = _without_keys(request.args)
        shown = {name: str(value)[:80] for name, value in arguments.items()}
        self.say("tool", task=self.task, tool=request.name, arguments=shown)
        try:
            result = cast("ToolAnswer", await handler(request))
            text = text_of(result)
            if result.isError:
                raise ToolError("refused", f"{self.server.label}, {request.name}: {text[:ANSWER]}")
        except ToolError as error:
            self.trouble = limited(error.message) or error
            raise self.trouble from None
        except Trouble as trouble:
            self.trouble = trouble
            raise
        self.answered.append(ToolCall(request.name, arguments, result))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return what a model reads of a call: the answer, or what went wrong."""
        if self.calls >= self.server.calls:
            return _error("the budget of calls is used up: end now")
        self.calls += 1
        own = (offer for offer in self.offers.values() if offer.tool.name == tool)
        offer = self.offers.get(tool) or next(own, None)
        if offer is None:
            return _error(f"there is no tool {tool[:80]!r}")
        if len(json.dumps(dict(arguments), default=str)) > ARGUMENTS:
            return _error("the arguments are too long")
        try:
            restored = offer.arguments.restore(dict(arguments))
            return (await self.ask(offer.tool.name, restored))[:ANSWER]
        except Trouble as trouble:
            return _error(str(trouble))

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool by the server's name for it, and return the text of its answer.

        Raises:
            Trouble: there is no answer, or it is an error.
        """
        found = self.tools.get(tool)
        if found is None:
            self.trouble = Trouble("refused", f"{self.server.label} has no tool {tool}")
            raise self.trouble
        return (await invoke(found, arguments)).text


def _without_keys(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments as they are kept and shown."""
    clean: Mapping[str, Any] = json.loads(concealed(json.dumps(dict(arguments), default=str)))
    return clean


def _error(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)
