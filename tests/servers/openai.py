"""A fake server of the OpenAI chat API, as LM Studio, vLLM or llama.cpp offer it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from tests.servers import (
    ODD,
    STREAMS,
    TRANSPORT,
    Server,
    json_bytes,
    pieces,
    repeating,
    reply,
    tokens,
)  # fmt: skip
from tests.servers.brain import TEXTS, TOOLS, Ask, Round, ToolCall, spoilt

MODELS = ("gpt-fake", "qwen3-8b")

_ERRORS: dict[str, tuple[int, str, str | None, str]] = {
    "nokey": (401, "invalid_request_error", None, "You didn't provide an API key."),
    "400key": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "400context": (
        400, "invalid_request_error", "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "12000 tokens.",
    ),
    "400schema": (
        400, "invalid_request_error", None, "This response_format type is unavailable now",
    ),
    "1210form": (400, "", "1210", "API 调用参数有误，请检查文档。"),
    "400tools": (
        400, "BadRequestError", None,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ),
    "400calls": (400, "invalid_request_error", None, "{arg}"),
    "403": (
        403, "invalid_request_error", "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    "404": (
        404, "invalid_request_error", "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    "429": (
        429, "requests", "rate_limit_exceeded",
        "Rate limit reached for {model}. Please try again in {arg}s.",
    ),
    "429bare": (429, "server_error", None, "Too many requests"),
    "429day": (
        429, "requests", "rate_limit_exceeded",
        "Rate limit reached for {model} on requests per day (RPD): Limit 200, Used 200, Requested 1. "
        "Please try again in 7m12s.",
    ),
    "429free": (
        429, "insufficient_quota", "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "429tokens": (
        429, "insufficient_quota", "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details. For details, "
        "see: https://help.aliyun.com/zh/model-studio/error-code#token-limit",
    ),
    "429balance": (429, "", "1113", "您的账户已欠费，请充值后重试。"),
    "429suspended": (
        429, "exceeded_current_quota_error", None,
        "Your account org-12ab is suspended, please check your plan and billing details",
    ),
    "402": (402, "unknown_error", "invalid_request_error", "Insufficient Balance"),
    "400usage": (
        400, "invalid_request_error", None, "Unrecognized request argument supplied: stream_options",
    ),
    "500": (500, "server_error", None, "The server had an error while processing your request."),
    "503": (503, "server_error", None, "The engine is currently overloaded."),
    "504": (504, "server_error", None, "The upstream server did not answer in time."),
    "echokey": (
        400, "invalid_request_error", None,
        "Bad request: POST https://example.org/v1/chat/completions?key={key} with header "
        "authorization: Bearer {key}",
    ),
}  # fmt: skip
_DETAILS = {
    "422form": "response_format",
    "422usage": "stream_options",
}  # as FastAPI refuses a field

_MESSAGES = frozenset({"empty", "nullcontent", "refusal", "safety", "maxtokensempty"})
_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)


class FakeOpenAI(Server):
    """An OpenAI-compatible server; with `ignores_schemas` it answers JSON of its own shape.

    The fault "cutargs" breaks off the arguments of each tool call, "nodelta" ends a stream with an event
    whose delta is null, "deltaless" with one that has none, "finish:REASON" ends a text for that reason. A schema that strict mode refuses is refused here too, and closing the server
    raises an AssertionError that names it: a client that asks in another way afterwards would hide it.
    """

    faults = (
        TRANSPORT
        | STREAMS
        | ODD
        | TEXTS
        | TOOLS
        | _MESSAGES
        | set(_ERRORS)
        | set(_DETAILS)
        | {"cutargs", "nodelta", "deltaless", "finish"}
    )
    prefix = "/v1"

    def __init__(self, *, port: int = 0, latency: float = 0.0) -> None:
        super().__init__(port=port, latency=latency)
        self.ignores_schemas = False
        self.refused_schemas: list[str] = []

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self.refused_schemas:
            raise AssertionError(self.refused_schemas)

    def reset(self) -> None:
        super().reset()
        self.ignores_schemas = False

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_post("/{prefix:.*}/chat/completions", self.chat)
        router.add_get("/{prefix:.*}/models", self.listing)
        router.add_get("/{prefix:.*}/models/{model:.+}", self.listing)

    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        wanted = body.get("response_format") or {}
        messages = body.get("messages") or []
        asked = [message for message in messages if message.get("role") == "user"]
        rounds = rounds_of(messages)
        refusal = _schema_problem(wanted.get("json_schema") or {})
        self.refused_schemas += [refusal] if refusal else []
        return Ask(
            prompt=text_of(messages),
            user=text_of(asked[-1:]),
            model=str(body.get("model", "")),
            schema=(wanted.get("json_schema") or {}).get("schema"),
            formed=bool(wanted),
            streamed=bool(body.get("stream")),
            usage=not body.get("stream") or bool((body.get("stream_options") or {}).get("include_usage")),
            tools=tools_of(body),
            rounds=rounds,
            problem=_problem(rounds) or refusal,
        )

    def wished(self, fault: str, ask: Ask | None) -> bool:
        if ask and fault.endswith("form"):
            return ask.formed
        if ask and fault.endswith("usage"):
            return ask.streamed and ask.usage
        return super().wished(fault, ask)

    def key(self, request: web.Request) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ").strip()

    def event(self, body: Any) -> bytes:
        return b"data: " + json_bytes(body) + b"\n\n"

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"

    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        if field := _DETAILS.get(name):
            extra = {"type": "extra_forbidden", "loc": ["body", field]}
            return reply({"detail": [extra | {"msg": "Extra inputs are not permitted"}]}, 422)
        if name not in _ERRORS:
            return None
        model = ask.model if ask else request.match_info.get("model", "")
        headers = {"Retry-After": arg or "1"} if name == "429" else None
        return reply(_error(name, arg, model, self.key(request)), _ERRORS[name][0], headers)

    def models(self, request: web.Request) -> Any:
        if wanted := request.match_info.get("model"):
            return _model(wanted)
        return {"object": "list", "data": [_model(name) for name in MODELS]}

    async def answer(self, request: web.Request, ask: Ask, fault: str, arg: str) -> web.StreamResponse:
        error = _error("503", "", ask.model, "")
        if fault == "miderror" and not ask.streamed:
            return reply(error, 503)
        if ask.problem:
            return reply(_error("400calls", ask.problem, ask.model, ""), 400)
        calls = [] if fault in _MESSAGES else self.brain.calls(ask, fault)
        if self.ignores_schemas and ask.schema and fault not in TEXTS:
            text = spoilt("", "othershape", ask)
        else:
            text = "" if calls else self.brain.reply(ask, fault)
        make = _chunks if ask.streamed else _completion
        return await self.send(
            request,
            make(ask, text, calls, f"finish:{arg}" if fault == "finish" else fault),
            streamed=ask.streamed,
            fault=fault,
            arg=arg,
            error=error,
        )


def _schema_problem(wanted: Mapping[str, Any]) -> str:
    """Return why strict mode refuses a schema: limits of length, objects that are open; "" if it does not."""
    if not wanted.get("strict"):
        return ""
    parts = [((), wanted.get("schema") or {})]
    while parts:
        context, schema = parts.pop()
        refused = {"minLength", "maxLength", "default"} & set(schema)
        wrong = f"'{min(refused)}' is not permitted." if refused else ""
        if schema.get("type") == "object":
            if set(schema.get("required") or ()) != set(schema.get("properties") or {}):
                wrong = "'required' is required to be supplied and to be an array including every key in properties."
            if schema.get("additionalProperties") is not False:
                wrong = "'additionalProperties' is required to be supplied and to be false."
        if wrong:
            return f"Invalid schema for response_format 'answer': In context={context}, {wrong}"
        for name, part in (schema.get("properties") or {}).items():
            parts.append(((*context, "properties", name), part))
        if "items" in schema:
            parts.append(((*context, "items"), schema["items"]))
        for at, part in enumerate(schema.get("anyOf") or ()):
            parts.append(((*context, "anyOf", str(at)), part))
    return ""


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The texts of chat messages, whether a message is a string or a list of parts."""
    texts: list[str] = []
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [str(part["text"]) for part in content if part.get("text")]
    return "\n".join(texts)


def tools_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the functions that may be called."""
    if body.get("tool_choice") == "none":
        return ()
    return tuple(str(tool["function"]["name"]) for tool in body.get("tools") or ())


def rounds_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Round, ...]:
    """The calls of each message that has any, with what the tools answered.

    A result belongs to the call with its id; without an id, to the first one that has none yet.
    """
    rounds: list[list[ToolCall]] = []
    for message in messages:
        if made := message.get("tool_calls"):
            rounds.append([_made(call) for call in made])
        elif message.get("role") == "tool" and rounds:
            id, calls = message.get("tool_call_id"), rounds[-1]
            at = (n for n, call in enumerate(calls) if call.result is None and id in (None, call.id))
            if (n := next(at, None)) is not None:
                calls[n] = replace(calls[n], result=text_of([message]))
    return tuple(map(tuple, rounds))


def _made(call: Mapping[str, Any]) -> ToolCall:
    given = call["function"]["arguments"]
    try:
        args = json.loads(given) if isinstance(given, str) else given
    except ValueError:  # as broken as this server may have sent them
        args = {}
    return ToolCall(str(call["function"]["name"]), args, str(call.get("id") or ""))


def _problem(rounds: Sequence[Round]) -> str:
    """What the API says of calls to which nobody replied."""
    lost = [call.id for calls in rounds for call in calls if call.result is None]
    return _UNANSWERED + ", ".join(lost) if lost else ""


def _function(call: ToolCall, fault: str) -> dict[str, Any]:
    args = json.dumps(call.args, ensure_ascii=False)
    args = args[: len(args) // 2] if fault == "cutargs" else args
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": args}}


def _message(text: str, calls: Sequence[ToolCall], fault: str) -> tuple[dict[str, Any], str]:
    """What is said and why it ends there."""
    if calls:
        return {"content": None, "tool_calls": [_function(c, fault) for c in calls]}, "tool_calls"
    if fault in ("nullcontent", "safety", "maxtokensempty"):
        ends = {"nullcontent": "stop", "safety": "content_filter", "maxtokensempty": "length"}
        return {"content": None}, ends[fault]
    if fault == "refusal":
        return {"content": None, "refusal": "I'm sorry, I can't help with that."}, "stop"
    if fault.startswith("finish:"):
        return {"content": text}, fault.removeprefix("finish:")
    return {"content": text}, "length" if fault == "maxtokens" else "stop"


def _usage(ask: Ask, text: str) -> dict[str, int]:
    prompt, said = tokens(ask.prompt), tokens(text) if text else 0
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _completion(ask: Ask, text: str, calls: Sequence[ToolCall], fault: str) -> list[dict[str, Any]]:
    message, finish = _message(text, calls, fault)
    choice = {
        "index": 0,
        "message": {"role": "assistant", "refusal": None} | message,
        "logprobs": None,
        "finish_reason": finish,
    }
    said = str(message.get("content") or "")
    choices = [] if fault == "empty" else [choice]
    return [_frame(ask, "chat.completion") | {"choices": choices, "usage": _usage(ask, said)}]


def _chunks(ask: Ask, text: str, calls: Sequence[ToolCall], fault: str) -> list[dict[str, Any]]:
    """A stream: the role, the pieces, why it ends, and the usage if that was asked for."""
    message, finish = _message(text, calls, fault)
    said = message["content"] or ""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in repeating(pieces(said), fault)] if said else []
    for at, call in enumerate(message.get("tool_calls") or ()):
        deltas += _call_deltas(at, call)
    if "refusal" in message:
        deltas.append({"refusal": message["refusal"]})
    frame = _frame(ask, "chat.completion.chunk") | ({"usage": None} if ask.usage else {})
    chunks = [frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": finish}
    if fault in ("unended", "endless"):
        end["finish_reason"] = None
    if fault == "nodelta":
        end["delta"] = None
    if fault == "deltaless":
        del end["delta"]
    chunks.append(frame | {"choices": [end]})
    if fault == "empty":
        chunks = [chunk | {"choices": []} for chunk in chunks[:1]]
    if ask.usage and fault not in ("unended", "endless"):
        chunks.append(frame | {"choices": [], "usage": _usage(ask, said)})
    return chunks


def _call_deltas(at: int, call: dict[str, Any]) -> list[dict[str, Any]]:
    """A call as a stream brings it: its name, then its arguments in pieces."""
    named = call | {"index": at, "function": call["function"] | {"arguments": ""}}
    parts = pieces(call["function"]["arguments"])
    rest = [{"index": at, "function": {"arguments": part}} for part in parts]
    return [{"tool_calls": [part]} for part in [named, *rest]]


def _frame(ask: Ask, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 1_767_323_045, "model": ask.model}


def _error(name: str, arg: str, model: str, key: str) -> dict[str, Any]:
    _, kind, code, message = _ERRORS[name]
    message = message.format(model=model, key=key, arg=arg or "1")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1_767_323_045, "owned_by": "fake"}
