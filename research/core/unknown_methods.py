"""Rejects requests of unknown MCP methods before the SDK sees them.

The SDK answers an unknown method with "invalid parameters" and logs a line for each request type
that it tried. Clients of newer protocol versions call such methods to detect what the server
supports, and need the JSON-RPC error -32601.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, get_args

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

IncomingMessage = SessionMessage | Exception


@asynccontextmanager
async def reject_unknown_requests(
    incoming: MemoryObjectReceiveStream[IncomingMessage], outgoing: MemoryObjectSendStream[SessionMessage]
) -> AsyncIterator[MemoryObjectReceiveStream[IncomingMessage]]:
    """Answer unanswerable requests of a message stream with an error and filter them out."""
    send_stream, receive_stream = anyio.create_memory_object_stream[IncomingMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_forward_valid_messages, incoming, send_stream, outgoing)
        try:
            yield receive_stream
        finally:
            group.cancel_scope.cancel()


async def _forward_valid_messages(
    incoming: MemoryObjectReceiveStream[IncomingMessage],
    forwarded: MemoryObjectSendStream[IncomingMessage],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    async with incoming, forwarded:
        async for message in incoming:
            try:
                if error := _request_error(message):
                    await outgoing.send(SessionMessage(types.JSONRPCMessage(error)))
                elif _should_forward(message):
                    await forwarded.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


def _request_error(message: IncomingMessage) -> types.JSONRPCError | None:
    """Return the error response to a request that no server can handle, else None."""
    request = message.message.root if isinstance(message, SessionMessage) else None
    if not isinstance(request, types.JSONRPCRequest):
        return None
    if request.method not in _known_methods():
        code, text = types.METHOD_NOT_FOUND, "Method not found"
    elif not _is_valid(types.ClientRequest, request):
        code, text = types.INVALID_PARAMS, f"Invalid parameters of {request.method}"
    else:
        return None
    error = types.ErrorData(code=code, message=text)
    return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


def _should_forward(message: IncomingMessage) -> bool:
    """Return False for messages that are not JSON-RPC and for notifications of unknown type."""
    if isinstance(message, Exception):
        return False
    content = message.message.root
    return not isinstance(content, types.JSONRPCNotification) or _is_valid(types.ClientNotification, content)


def _is_valid(message_type: Any, message: Any) -> bool:
    try:
        message_type.model_validate(message.model_dump(by_alias=True, mode="json", exclude_none=True))
    except ValidationError:
        return False
    return True


@lru_cache(1)
def _known_methods() -> frozenset[str]:
    """Return the request methods that the SDK knows."""
    request_types = get_args(types.ClientRequestType)
    return frozenset(get_args(request_type.model_fields["method"].annotation)[0] for request_type in request_types)
