"""A fake server of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from tests.servers import STREAMS, TRANSPORT, Server, json_bytes, pieces, reply, tokens
from tests.servers.brain import TEXTS, TOOLS, Ask, Round, ToolCall
from tests.servers.openai import text_of

MODELS = ("claude-fake",)

_ERRORS: dict[str, tuple[int, str, str]] = {
    "nokey": (401, "authentication_error", "x-api-key header is required"),
    "400key": (401, "authentication_error", "invalid x-api-key"),
    "400context": (
        400, "invalid_request_error", "prompt is too long: 12000 tokens > 8192 maximum",
    ),
    "400tools": (400, "invalid_request_error", "tools: this model does not support tool use"),
    "403": (403, "permission_error", "Your API key does not have permission to use this resource."),
    "404": (404, "not_found_error", "model: {model}"),
    "429": (429, "rate_limit_error", "Number of request tokens has exceeded your rate limit."),
    "429bare": (429, "rate_limit_error", "This request would exceed your organization's limit."),
    "500": (500, "api_error", "Internal server error"),
    "503": (503, "api_error", "Service unavailable"),
    "529": (529, "overloaded_error", "Overloaded"),
    "400billing": (
        400, "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to "
        "upgrade or purchase credits.",
    ),
    "504": (504, "timeout_error", "The request timed out."),
    "echokey": (
        400, "invalid_request_error",
        "bad request: POST https://example.org/v1/messages with x-api-key {key}",
    ),
}  # fmt: skip
_MESSAGES = frozenset({"empty", "refusal", "maxtokensempty"})
_ENDS = {"maxtokens": "max_tokens", "maxtokensempty": "max_tokens", "refusal": "refusal"}


class FakeAnthropic(Server):
    """Anthropic's own API, streams with named events."""

    faults = TRANSPORT | STREAMS | TEXTS | TOOLS | _MESSAGES | set(_ERRORS)

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/messages", self.chat)
        router.add_get("/v1/models", self.listing)

    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        messages = body.get("messages") or []
        system = body.get("system") or ""
        system = system if isinstance(system, str) else text_of([{"content": system}])
        return Ask(
            prompt=f"{system}\n{text_of(messages)}",
            user=text_of([message for message in messages if message.get("role") == "user"][-1:]),
            model=str(body.get("model", "")),
            streamed=bool(body.get("stream")),
            tools=tuple(str(tool["name"]) for tool in body.get("tools") or ()),
            rounds=_rounds(messages),
        )

    def key(self, request: web.Request) -> str:
        """Newer libraries send it as a bearer's."""
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        return (request.headers.get("x-api-key") or bearer).strip()

    def event(self, body: Any) -> bytes:
        named = body.get("type", "message_delta") if isinstance(body, dict) else "message"
        return b"event: " + str(named).encode() + b"\ndata: " + json_bytes(body) + b"\n\n"

    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        if name not in _ERRORS:
            return None
        model = ask.model if ask else ""
        headers = {"Retry-After": arg or "1"} if name == "429" else None
        return reply(_error(name, model, self.key(request)), _ERRORS[name][0], headers)

    def models(self, request: web.Request) -> Any:
        return {"data": [{"type": "model", "id": name, "display_name": name} for name in MODELS]}

    async def answer(self, request: web.Request, ask: Ask, fault: str, arg: str) -> web.StreamResponse:
        error = _error("529", ask.model, "")
        if fault == "miderror" and not ask.streamed:
            return reply(error, 529)
        calls = [] if fault in _MESSAGES else self.brain.calls(ask, fault)
        text = "" if calls or fault in _MESSAGES else self.brain.reply(ask, fault)
        make = _events if ask.streamed else _message
        return await self.send(
            request, make(ask, text, calls, fault),
            streamed=ask.streamed, fault=fault, arg=arg, error=error,
        )  # fmt: skip


def _error(name: str, model: str, key: str) -> dict[str, Any]:
    _, kind, message = _ERRORS[name]
    return {
        "type": "error",
        "error": {"type": kind, "message": message.format(model=model, key=key)},
    }


def _rounds(messages: Sequence[Mapping[str, Any]]) -> tuple[Round, ...]:
    """The calls of each message that has any, with what the tools answered."""
    rounds: list[list[ToolCall]] = []
    for message in messages:
        parts = message.get("content")
        parts = parts if isinstance(parts, list) else []
        if made := [part for part in parts if part.get("type") == "tool_use"]:
            rounds.append([ToolCall(part["name"], part["input"], part["id"]) for part in made])
        for part in parts:
            if part.get("type") == "tool_result" and rounds:
                content = part.get("content") or ""
                said = content if isinstance(content, str) else text_of([{"content": content}])
                rounds[-1] = [
                    replace(call, result=said) if call.id == part["tool_use_id"] else call for call in rounds[-1]
                ]
    return tuple(map(tuple, rounds))


def _blocks(text: str, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    said = [{"type": "text", "text": text}] if text else []
    made = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.args} for c in calls]
    return [*said, *made]


def _frame(ask: Ask) -> dict[str, Any]:
    usage = {"input_tokens": tokens(ask.prompt), "output_tokens": 0}
    return {
        "id": "msg_fake", "type": "message", "role": "assistant", "model": ask.model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _ended(calls: Sequence[ToolCall], fault: str) -> str:
    return "tool_use" if calls else _ENDS.get(fault, "end_turn")


def _message(ask: Ask, text: str, calls: Sequence[ToolCall], fault: str) -> list[dict[str, Any]]:
    frame = _frame(ask)
    frame["usage"]["output_tokens"] = tokens(text) if text else 0
    return [frame | {"content": _blocks(text, calls), "stop_reason": _ended(calls, fault)}]


def _events(ask: Ask, text: str, calls: Sequence[ToolCall], fault: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": _frame(ask)}]
    for at, block in enumerate(_blocks(text, calls)):
        empty = block | ({"text": ""} if block["type"] == "text" else {"input": {}})
        events.append({"type": "content_block_start", "index": at, "content_block": empty})
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text) if piece]
        else:
            given = json_bytes(block["input"]).decode()
            deltas = [{"type": "input_json_delta", "partial_json": given}]
        events += [{"type": "content_block_delta", "index": at, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": at})
    ended = {"stop_reason": _ended(calls, fault), "stop_sequence": None}
    usage = {  # of the whole message so far
        "input_tokens": tokens(ask.prompt), "output_tokens": tokens(text) if text else 0,
    }  # fmt: skip
    return [
        *events,
        {"type": "message_delta", "delta": ended, "usage": usage},
        {"type": "message_stop"},
    ]
