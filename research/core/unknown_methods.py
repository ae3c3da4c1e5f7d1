"""Requests that no server here knows, answered before the SDK sees them.

The SDK answers a method that it does not know with "invalid parameters", and logs a line for each of
the types that the request is not. A client that speaks a newer version of the protocol asks for such
methods to find out what it talks to; JSON-RPC's own answer (-32601) tells it.
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
    """What is received, without requests that cannot be answered: their errors are sent instead."""
    into, out = anyio.create_memory_object_stream[IncomingMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_forward_valid_messages, incoming, into, outgoing)
        try:
            yield out
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
    """The error that answers a request, if no server can answer it otherwise."""
    request = message.message.root if isinstance(message, SessionMessage) else None
    if not isinstance(request, types.JSONRPCRequest):
        return None
    if request.method not in _known_methods():
        code, told = types.METHOD_NOT_FOUND, "Method not found"
    elif not _is_valid(types.ClientRequest, request):
        code, told = types.INVALID_PARAMS, f"Invalid parameters of {request.method}"
    else:
        return None
    error = types.ErrorData(code=code, message=told)
    return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)


def _should_forward(message: IncomingMessage) -> bool:
    """Whether anything is to be done about a message: nothing is about one that is no JSON-RPC, and
    about a notification of a kind that is unknown."""
    if isinstance(message, Exception):
        return False
    told = message.message.root
    return not isinstance(told, types.JSONRPCNotification) or _is_valid(types.ClientNotification, told)


def _is_valid(message_type: Any, message: Any) -> bool:
    try:
        message_type.model_validate(message.model_dump(by_alias=True, mode="json", exclude_none=True))
    except ValidationError:
        return False
    return True


@lru_cache(1)
def _known_methods() -> frozenset[str]:
    """The methods of requests that the SDK knows."""
    kinds = get_args(types.ClientRequestType)
    return frozenset(get_args(kind.model_fields["method"].annotation)[0] for kind in kinds)
