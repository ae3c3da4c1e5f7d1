"""Gemini's own API: dicts in, JSON out, with the client of google-genai and none of its types.

Building and validating the library's types takes longer than all else in a call. Its client does what
it is good at: the address, the version and the key of a request, the pool of connections, deadlines,
and an error for each answer that is one. The library has no public way to send a dict: of what is
private in it `_api_client` is used, with `async_request` and `async_request_streamed`, which take a
method, a path and a body and give answers whose `body` is the JSON as text.

Sources: https://ai.google.dev/api/generate-content and, for the calls of functions,
https://ai.google.dev/gemini-api/docs/function-calling.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from google import genai
    from langchain_core.messages import AIMessage, BaseMessage

    from research.settings import Settings

# Sent with every request, whatever the library's own default: the version v1 lacks the `-latest`
# aliases and previews of models, and need not know tools and system instructions.
API_VERSION = "v1beta"
SERVICE = "https://generativelanguage.googleapis.com"
_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*/*$")
_RAW = "gemini"  # where a message keeps its content as it came: its calls carry signatures


@dataclass(frozen=True)
class Piece:
    """A stretch of a stream, with what a LangChain message of it would have. Of usage it has what it
    adds: the service counts all so far."""

    text: str
    usage_metadata: dict[str, Any]
    response_metadata: dict[str, Any]
    additional_kwargs: dict[str, Any] = field(default_factory=dict)


class Gemini:
    """A model of the service, asked as LangChain's models are: what is bound to a call is part of its
    `generationConfig`."""

    def __init__(
        self, client: genai.Client, name: str, tools: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._client, self._name, self._tools = client, name, tools

    def bind_tools(self, tools: Sequence[Mapping[str, Any]]) -> Gemini:
        """The model with functions that it may call, in OpenAI's form."""
        return Gemini(self._client, self._name, tools)

    async def ainvoke(
        self, messages: Sequence[BaseMessage], _: object = None, **config: Any
    ) -> AIMessage:
        from langchain_core.messages import AIMessage

        body = await asked(self._client, self._name, _body(messages, self._tools, config))
        candidate = _first(body)
        content = get(candidate, "content")
        calls, broken = _calls(content)
        return AIMessage(
            _text(content),
            tool_calls=calls,
            invalid_tool_calls=broken,
            usage_metadata=_usage(body) or None,
            response_metadata=_meta(body, candidate),
            additional_kwargs={_RAW: content} if calls or broken else {},
        )

    async def astream(
        self, messages: Sequence[BaseMessage], _: object = None, **config: Any
    ) -> AsyncIterator[Piece]:
        told: dict[str, Any] = {}
        path = _path(self._name, "streamGenerateContent?alt=sse")
        body = _body(messages, (), config)
        chunks = await self._client._api_client.async_request_streamed("post", path, body)
        async for chunk in chunks:
            part = json.loads(chunk.body)
            usage, candidate = _usage(part), _first(part)
            added = _less(usage, told)
            told = usage or told
            yield Piece(_text(get(candidate, "content")), added, _meta(part, candidate))


def base_url(settings: Settings) -> str:
    """Return the address of the service without an API version: the one that is set, which may end in
    a version, or else Google's."""
    return _VERSION.sub("", settings.gemini_url).rstrip("/") or SERVICE


async def asked(client: genai.Client, name: str, body: dict[str, Any]) -> Any:
    """What a model answers to a request, as it came.

    Raises:
        google.genai.errors.APIError: the service refuses it.
        ValueError: the answer is not JSON.
    """
    path = _path(name, "generateContent")
    response = await client._api_client.async_request("post", path, body)
    return json.loads((response.body or "").removeprefix("\ufeff"))


def _path(name: str, method: str) -> str:
    """Where a model is asked. A name is anything that somebody has set."""
    whole = name if name.startswith("tunedModels/") else f"models/{name}"
    return f"{quote(whole, safe='/:')}:{method}"


# Requests


def _body(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    ids: set[str] = set()  # of calls that have one of the service's own
    body: dict[str, Any] = {"contents": contents}
    for message in messages:
        if raw := message.additional_kwargs.get(_RAW):
            contents.append(raw)
            ids |= {str(call["id"]) for call in _made(raw) if call.get("id")}
        elif message.type == "tool":
            part = {"functionResponse": _result(message, ids)}
            if contents and "functionResponse" in contents[-1]["parts"][0]:
                contents[-1]["parts"].append(part)
            else:
                contents.append({"role": "user", "parts": [part]})
        else:
            content: dict[str, Any] = {"parts": [{"text": str(message.text)}]}
            if message.type == "system":
                body["systemInstruction"] = content
            else:
                contents.append({"role": "model" if message.type == "ai" else "user", **content})
    if tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool["function"]) for tool in tools]}]
    if config:
        body["generationConfig"] = dict(config)
    return body


def _declared(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function; its parameters are a JSON schema, for which the service has a member of its own."""
    rest = {name: function[name] for name in ("name", "description") if name in function}
    return {**rest, "parametersJsonSchema": function["parameters"]}


def _result(message: Any, ids: set[str]) -> dict[str, Any]:
    told = {"name": message.name, "response": {"output": str(message.text)}}
    return {"id": message.tool_call_id, **told} if message.tool_call_id in ids else told


# Answers, of which any member may be missing


def get(thing: Any, name: str) -> Any:
    """A member by its name in Python, which the JSON may spell as such or with capitals; None if it is
    not there."""
    return thing.get(name, thing.get(_camel(name))) if isinstance(thing, dict) else None


@cache
def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def members(thing: Any, name: str) -> list[Any]:
    value = get(thing, name)
    return value if isinstance(value, list) else []


def number(thing: Any, name: str) -> int | None:
    """A member that is a whole number from 0 on."""
    return whole(get(thing, name))


def whole(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
        return int(value)  # as the JSON of protocol buffers writes long numbers
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(body: Any) -> Any:
    return next(iter(members(body, "candidates")), None)


def _text(content: Any) -> str:
    """The text of all parts that are no thoughts."""
    told = (get(part, "text") for part in members(content, "parts") if not get(part, "thought"))
    return "".join(text for text in told if isinstance(text, str))


def _made(content: Any) -> list[dict[str, Any]]:
    found = (get(part, "function_call") for part in members(content, "parts"))
    return [call for call in found if isinstance(call, dict)]


def _calls(content: Any) -> tuple[list[Any], list[Any]]:
    """The calls of functions, and those whose arguments are no object, as LangChain has them."""
    calls, broken = [], []
    for call in _made(content):
        name, id_, args = str(call.get("name") or ""), call.get("id"), call.get("args") or {}
        if isinstance(args, dict):
            calls.append({"name": name, "args": args, "id": id_})
        else:
            broken.append({"name": name, "args": str(args), "id": id_, "error": None})
    return calls, broken


def _usage(body: Any) -> dict[str, Any]:
    """The tokens of a call so far, as LangChain names them; {} if none are told. Those of tools are read
    and thoughts are written, though no text shows them."""
    told = get(body, "usage_metadata")

    def tokens(*names: str) -> int:
        return sum(number(told, f"{name}_token_count") or 0 for name in names)

    if not isinstance(told, dict):
        return {}
    read, written = tokens("prompt", "tool_use_prompt"), tokens("candidates", "thoughts")
    cached = {"cache_read": tokens("cached_content")}
    return {
        "input_tokens": read, "output_tokens": written, "total_tokens": read + written,
        "input_token_details": cached,
    }  # fmt: skip


def _less(usage: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """What usage adds to that which has been told."""
    if not (usage and told):
        return dict(usage)
    return {
        name: _less(value, told[name])
        if isinstance(value, dict)
        else max(0, value - told.get(name, 0))
        for name, value in usage.items()
    }


def _meta(body: Any, candidate: Any) -> dict[str, Any]:
    """Why the model has stopped, and why the service has not let it begin, as far as that is told."""
    block = get(get(body, "prompt_feedback"), "block_reason")
    meta = {"prompt_feedback": {"block_reason": block}} if block else {}
    finish = get(candidate, "finish_reason")
    return {**meta, "finish_reason": str(finish)} if finish else meta
