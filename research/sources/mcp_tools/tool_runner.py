"""Tool calls of one search of an MCP server: counted and recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from research.core.errors import ServiceError, mask_secrets
from research.core.events import EventEmitter, ToolCalled
from research.core.tool_servers import ToolServer
from research.sources.mcp_tools.evidence import ToolCall, result_text
from research.sources.mcp_tools.rate_limit_errors import parse_rate_limit
from research.sources.mcp_tools.session import ToolError, invoke
from research.sources.tool_exploration import error_json

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from mcp.types import CallToolResult

    from research.sources.mcp_tools.lenient_replies import LenientCallToolResult
    from research.sources.mcp_tools.schemas import ModelTool
    from research.sources.mcp_tools.session import Handler

MAX_MODEL_RESULT_CHARS = 8_000  # of a result that a model reads
MAX_ARGUMENT_CHARS = 20_000  # of a call's arguments as JSON


@dataclass
class ToolRunner:
    """Runs the tool calls of a search, and intercepts the calls of `tools` to record them."""

    server: ToolServer
    model_tools: Mapping[str, ModelTool]  # by the names that the model uses
    task_id: str
    emit: EventEmitter
    tools: Mapping[str, BaseTool] = field(default_factory=dict)  # by the server's names for them
    answered_calls: list[ToolCall] = field(default_factory=list)
    error: ServiceError | None = None  # of the last failed call
    call_count: int = 0

    async def __call__(self, request: MCPToolCallRequest, handler: Handler) -> CallToolResult:
        """Announce a call, record its result, and return the text of the result.

        Raises:
            ServiceError: there is no response, or it is an error; also stored in `error`.
        """
        from mcp.types import CallToolResult, TextContent

        arguments = _without_keys(request.args)
        shown = {name: str(value)[:80] for name, value in arguments.items()}
        self.emit(ToolCalled(task=self.task_id, tool=request.name, arguments=shown))
        try:
            result = cast("LenientCallToolResult", await handler(request))
            text = result_text(result)
            if result.isError:
                raise ToolError("refused", f"{self.server.label}, {request.name}: {text[:MAX_MODEL_RESULT_CHARS]}")
        except ToolError as error:
            self.error = parse_rate_limit(error.message) or error
            raise self.error from None
        except ServiceError as service_error:
            self.error = service_error
            raise
        self.answered_calls.append(ToolCall(request.name, arguments, result))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def call_for_model(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the text for the model: a tool's result or an error."""
        if self.call_count >= self.server.calls:
            return error_json("the budget of calls is used up: end now")
        self.call_count += 1
        by_original_name = (model_tool for model_tool in self.model_tools.values() if model_tool.tool.name == tool)
        model_tool = self.model_tools.get(tool) or next(by_original_name, None)
        if model_tool is None:
            return error_json(f"there is no tool {tool[:80]!r}")
        if len(json.dumps(dict(arguments), default=str)) > MAX_ARGUMENT_CHARS:
            return error_json("the arguments are too long")
        try:
            restored = model_tool.argument_names.restore(dict(arguments))
            return (await self.call_tool(model_tool.tool.name, restored))[:MAX_MODEL_RESULT_CHARS]
        except ServiceError as error:
            return error_json(str(error))

    async def call_tool(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool by the server's name and return the text of its result.

        Raises:
            ServiceError: there is no response, or it is an error.
        """
        langchain_tool = self.tools.get(tool)
        if langchain_tool is None:
            self.error = ServiceError("refused", f"{self.server.label} has no tool {tool}")
            raise self.error
        return (await invoke(langchain_tool, arguments)).text


def _without_keys(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments with keys masked, for storage and display."""
    clean: Mapping[str, Any] = json.loads(mask_secrets(json.dumps(dict(arguments), default=str)))
    return clean
