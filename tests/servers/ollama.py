"""A fake Ollama: its own chat API with lines of JSON, and what it says of its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.servers import STREAMS, TRANSPORT, Server, json_bytes, pieces, reply, tokens
from tests.servers.brain import TEXTS, TOOLS, Ask, ToolCall
from tests.servers.openai import rounds_of, text_of, tools_of

MODELS = ("qwen3:8b", "llama3.2:3b")
_MADE = "2026-01-02T03:04:05.000000Z"
_CONTEXT = 4096

_ERRORS: dict[str, tuple[int, str]] = {
    "nokey": (401, "unauthorized"),
    "400key": (401, "unauthorized"),
    "400context": (400, "the input length exceeds the context length"),
    "400schema": (400, "invalid JSON schema in format"),
    "400tools": (400, "registry.ollama.ai/library/{model} does not support tools"),
    "403": (403, "this model requires a subscription"),
    "404": (404, "model '{model}' not found, try pulling it first"),
    "429": (429, "too many requests, try again in {arg}s"),
    "429bare": (429, "you have reached your usage limit"),
    "500": (500, "llama runner process has terminated: signal: killed"),
    "503": (503, "server busy, please try again. maximum pending requests exceeded"),
    "504": (504, "timed out waiting for llama runner to start"),
    "echokey": (400, "bad request: POST https://example.org/api/chat?key={key} with Bearer {key}"),
}
_MESSAGES = frozenset({"empty", "nothing", "load", "maxtokensempty"})


class FakeOllama(Server):
    """Ollama on its own API. It counts no more of a prompt than `num_ctx` allows, as the real one."""

    faults = TRANSPORT | STREAMS | TEXTS | TOOLS | _MESSAGES | set(_ERRORS)
    streams_as = "application/x-ndjson"

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_post("/api/chat", self.chat)
        router.add_get("/api/tags", self.listing)
        router.add_get("/api/version", self.listing)
        router.add_post("/api/show", self.listing)

    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        messages = body.get("messages") or []
        wanted = body.get("format")
        return Ask(
            prompt=text_of(messages),
            user=text_of([message for message in messages if message.get("role") == "user"][-1:]),
            model=str(body.get("model", "")),
            schema=wanted if isinstance(wanted, dict) else None,
            streamed=body.get("stream") is not False,
            context=int((body.get("options") or {}).get("num_ctx") or _CONTEXT),
            tools=tools_of(body),
            rounds=rounds_of(messages),
        )

    def key(self, request: web.Request) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ").strip()

    def event(self, body: Any) -> bytes:
        return json_bytes(body) + b"\n"

    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        if name not in _ERRORS:
            return None
        code, message = _ERRORS[name]
        model = ask.model if ask else ""
        message = message.format(model=model, key=self.key(request), arg=arg or "1")
        return reply({"error": message}, code, {"Retry-After": arg or "1"} if name == "429" else None)

    def models(self, request: web.Request) -> Any:
        if request.path.endswith("/version"):
            return {"version": "0.12.0"}
        if request.path.endswith("/show"):
            return _shown()
        return {"models": [_model(name) for name in MODELS]}

    async def answer(self, request: web.Request, ask: Ask, fault: str, arg: str) -> web.StreamResponse:
        error = {"error": "an error was encountered while running the model"}
        if fault == "miderror" and not ask.streamed:
            return reply(error, 500)
        calls = [] if fault in _MESSAGES else self.brain.calls(ask, fault)
        text = "" if calls or fault in _MESSAGES else self.brain.reply(ask, fault)
        return await self.send(
            request,
            _lines(ask, text, calls, fault),
            streamed=ask.streamed,
            fault=fault,
            arg=arg,
            error=error,
        )


def _lines(ask: Ask, text: str, calls: Sequence[ToolCall], fault: str) -> list[dict[str, Any]]:
    """The pieces of a reply and the line that ends it; without a stream all is in the last."""
    frame = {"model": ask.model, "created_at": _MADE}
    ends = {"maxtokens": "length", "maxtokensempty": "length", "load": "load"}
    last = {
        "done": True,
        "done_reason": ends.get(fault, "stop"),
        "total_duration": 2_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": min(tokens(ask.prompt), ask.context),
        "prompt_eval_duration": 500_000,
        "eval_count": tokens(text) if text else 0,
        "eval_duration": 500_000,
    }
    if fault == "nothing":
        return [] if ask.streamed else [{}]
    said = pieces(text) if ask.streamed else []
    lines = [frame | _said(piece) | {"done": False} for piece in said if piece]
    if not ask.streamed:
        return [frame | _said(text, calls) | last]
    lines += [frame | _said("", [call]) | {"done": False} for call in calls]
    return [*lines, frame | _said("") | last]


def _said(text: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.args}} for call in calls
        ]
    return {"message": message}


def _model(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": name,
        "modified_at": _MADE,
        "size": 5_000_000_000,
        "digest": "0" * 64,
        "details": _DETAILS,
    }


def _shown() -> dict[str, Any]:
    return {
        "details": _DETAILS,
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        "capabilities": ["completion", "tools"],
        "modified_at": _MADE,
    }


_DETAILS = {
    "format": "gguf",
    "family": "qwen3",
    "families": ["qwen3"],
    "parameter_size": "8.2B",
    "quantization_level": "Q4_K_M",
}
