"""A fake Gemini Developer API: generateContent, its stream, and the list of models."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tests.servers.brain import TEXTS, TOOLS, Ask, Round, ToolCall, spoilt, utf8

MODELS = ("gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-3.1-pro-preview")
_TYPE = "type.googleapis.com/google.rpc."
_THOUGHTS = 20
_SENT = web.RequestKey("sent", dict[str, Any])  # to an agent
TOOL_TOKENS = 1_200  # of a page that was read
_URL_SAFE = str.maketrans("+/", "-_")  # how google-genai writes base64
BYPASS = "skip_thought_signature_validator"  # which Gemini takes for a signature


def _info(reason: str) -> dict[str, Any]:
    return {"@type": _TYPE + "ErrorInfo", "reason": reason, "domain": "googleapis.com"}


# Quotas that may be used up: of what they are, and their limit.
_QUOTAS = {"429": ("PerMinute", 20), "429day": ("PerDay", 500), "429free": ("PerDay", 0)}
_METRIC = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
_EXCEEDED = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To "
    "monitor your current usage, head to: https://ai.dev/rate-limit. \n* Quota exceeded for metric: "
    + _METRIC
    + ", limit: {limit}, model: {model}\nPlease retry in {arg}s."
)


def _quota(period: str, limit: int, seconds: str) -> list[dict[str, Any]]:
    violation = {
        "quotaMetric": _METRIC,
        "quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global"},
    }
    violation |= {"quotaValue": str(limit)} if limit else {}
    return [
        {"@type": _TYPE + "Help", "links": [{"url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]},
        {"@type": _TYPE + "QuotaFailure", "violations": [violation]},
        {"@type": _TYPE + "RetryInfo", "retryDelay": f"{seconds}s"},
    ]  # fmt: skip


_ERRORS: dict[str, tuple[int, str, str, list[dict[str, Any]]]] = {
    "nokey": (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.", []),
    "400key": (
        400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
        [_info("API_KEY_INVALID")],
    ),
    "400location": (
        400, "FAILED_PRECONDITION", "User location is not supported for the API use.", [],
    ),
    "400context": (
        400, "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        [],
    ),
    "400schema": (
        400, "INVALID_ARGUMENT",
        "The specified schema in generation_config.response_schema produces a constraint that has "
        "too many states for serving.",
        [],
    ),
    "400tools": (400, "INVALID_ARGUMENT", "Function calling is not enabled for this model", []),
    "400calls": (400, "INVALID_ARGUMENT", "{arg}", []),
    "403": (
        403, "PERMISSION_DENIED", "Generative Language API is disabled in project 1.",
        [_info("SERVICE_DISABLED")],
    ),
    "404": (
        404, "NOT_FOUND",
        "models/{model} is not found for API version v1beta, or is not supported for "
        "generateContent.",
        [],
    ),
    **dict.fromkeys(_QUOTAS, (429, "RESOURCE_EXHAUSTED", _EXCEEDED, [])),
    "429bare": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", []),
    "500": (500, "INTERNAL", "An internal error has occurred.", []),
    "503": (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    "504": (504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", []),
    "echokey": (
        400, "INVALID_ARGUMENT",
        "Bad request: POST https://example.org/v1beta/models/{model}:generateContent?key={key} "
        "with header x-goog-api-key: {key}",
        [],
    ),
}  # fmt: skip


def _queries_only(metadata: dict[str, Any]) -> dict[str, Any]:
    return {k: metadata.get(k) for k in ("webSearchQueries", "searchEntryPoint")}


def _bad_index(metadata: dict[str, Any]) -> dict[str, Any]:
    for support in metadata.get("groundingSupports") or ():
        support["groundingChunkIndices"] = [99, -1]
    return metadata


def _drift(metadata: dict[str, Any]) -> dict[str, Any]:
    for support in metadata.get("groundingSupports") or ():
        segment = support["segment"]
        segment["startIndex"] = segment.get("startIndex", 0) + 1
        segment["endIndex"] += 1
    return metadata


_METADATA: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "gm_none": lambda metadata: None,
    "gm_empty": lambda metadata: {},
    "gm_queries_only": _queries_only,
    "gm_chunks_only": lambda metadata: {k: v for k, v in metadata.items() if k != "groundingSupports"},
    "gm_emptychunks": lambda metadata: metadata | {"groundingChunks": [{}, {}]},
    "gm_badindex": _bad_index,
    "gm_drift": _drift,
    "gm_nulls": lambda metadata: dict.fromkeys(metadata),
}

_BARE: dict[str, dict[str, Any]] = {
    "empty": {},
    "emptylist": {"candidates": []},
    "promptblock": {"promptFeedback": {"blockReason": "SAFETY"}},
    "noparts": {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
    "safety": {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
    "recitation": {"candidates": [{"finishReason": "RECITATION", "index": 0}]},
    "malformedcall": {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]},
    "maxtokensempty": {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
}


class FakeGemini(Server):
    """Gemini as its own clients see it, with `base_url` for theirs.

    As Gemini 3 it signs the first call of each message, and refuses a request in which that came
    back without its signature. `signatures` are those that came back with each request.

    It reads the pages that a search names where it is let, each with the status in `pages`, by default
    SUCCESS; one with the status "" it leaves alone. `refuses` is what a model does not take: "pages", "thinking". `levels` are
    those of thinking that each request asked for. `cached` is how many tokens of a prompt it says that
    it had in its cache, 0 says nothing of it.

    It serves the API version v1beta, below any prefix; requests to others get a bare 404 and are not in
    the log.

    `tasks` of an agent are in progress the first `going` times that they are asked after, and then
    over as `ends` says: what it has takes the place of what a task that is completed tells.
    """

    faults = TRANSPORT | STREAMS | ODD | TEXTS | TOOLS | set(_ERRORS) | set(_METADATA) | set(_BARE)

    def __init__(self, *, port: int = 0, latency: float = 0.0) -> None:
        super().__init__(port=port, latency=latency)
        self.signatures: list[list[str]] = []
        self.pages: dict[str, str] = {}
        self.refuses: set[str] = set()
        self.levels: list[str] = []
        self.cached = 0
        self.tasks: dict[str, list[Any]] = {}
        self.going, self.ends = 1, dict[str, Any]()

    def reset(self) -> None:
        super().reset()
        self.signatures, self.pages, self.refuses, self.levels = [], {}, set(), []
        self.cached, self.tasks, self.going, self.ends = 0, {}, 1, {}

    def route(self, router: web.UrlDispatcher) -> None:
        served = "/{prefix:(?:.*/)?}v1beta"
        router.add_post(served + "/models/{model}:generateContent", self.chat)
        router.add_post(served + "/models/{model}:streamGenerateContent", self.chat)
        router.add_get(served + "/models", self.listing)
        router.add_get(served + "/models/{model}", self.listing)

        router.add_post(served + "/interactions", self.interact)
        router.add_get(served + "/interactions/{id}", self.interact)

    async def interact(self, request: web.Request) -> web.StreamResponse:
        """A task of an agent: stage "begin", then "look" each time that it is asked after."""
        request[_SENT] = await request.json() if request.method == "POST" else {}
        stage = "begin" if request.method == "POST" else "look"
        return await self._handle(request, stage, request[_SENT], None)

    def _task(self, request: web.Request) -> dict[str, Any]:
        if request.method == "POST":
            body = request[_SENT]
            id = f"v1_task{len(self.tasks)}"
            self.tasks[id] = [str(body["input"]), self.going]
            return {"id": id, "status": "in_progress", "agent": body["agent"], "steps": []}
        id = request.match_info["id"]
        query, left = self.tasks[id]
        self.tasks[id][1] = left - 1
        if left > 0:
            return {"id": id, "status": "in_progress", "steps": []}
        return {"id": id, **self._report(query), **self.ends}

    def _report(self, query: str) -> dict[str, Any]:
        """What an agent has found, in the steps of a task that is over."""
        texts, metadata = self.brain.grounded(query.splitlines()[-1])
        chunks, first = metadata["groundingChunks"], len(utf8(texts[0]))
        contents: list[dict[str, Any]] = [{"type": "text", "text": text, "annotations": []} for text in texts]
        for support in metadata["groundingSupports"]:
            segment = support["segment"]
            start, end = segment.get("startIndex", 0), segment["endIndex"]
            at, base = (0, 0) if end <= first else (1, first)
            for n in support["groundingChunkIndices"]:
                cite = {
                    "type": "url_citation", "url": chunks[n]["web"]["uri"],
                    "title": chunks[n]["web"]["title"], "end_index": end - base,
                }  # fmt: skip
                cite |= {"start_index": start - base} if start - base else {}
                contents[at]["annotations"].append(cite)
        queries = [query for query in metadata["webSearchQueries"] if query]
        suggestions = metadata["searchEntryPoint"]["renderedContent"]
        return {
            "status": "completed",
            "steps": [
                {"type": "user_input", "content": [{"type": "text", "text": query}]},
                {"type": "thought", "summary": [{"type": "text", "text": "I shall search."}]},
                {"type": "google_search_call", "id": "c1", "arguments": {"queries": queries}},
                {"type": "google_search_result", "call_id": "c1", "result": [{"search_suggestions": suggestions}]},
                {"type": "model_output", "content": contents},
            ],
            "usage": {
                "total_input_tokens": 20_000, "total_cached_tokens": 12_000,
                "total_output_tokens": 3_000, "total_thought_tokens": 1_000,
                "total_tool_use_tokens": 5_000, "total_tokens": 29_000,
                "grounding_tool_count": [{"type": "google_search", "count": 7}],
            },
        }  # fmt: skip

    def ask(self, request: web.Request, body: Mapping[str, Any]) -> Ask:
        config = body.get("generationConfig") or {}
        contents = body.get("contents") or []
        asked = [content for content in contents if content.get("role", "user") == "user" and _text([content])]
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        self.signatures.append([part.get("thoughtSignature", "") for part in _firsts(contents)])
        self.levels.append(_level(body))
        rounds = _rounds(contents)
        results = [call.result for calls in rounds for call in calls if call.result]
        return Ask(
            prompt="\n".join([_text([body.get("systemInstruction") or {}, *contents]), *results]),
            user=_text(asked[-1:]),
            model=request.match_info["model"],
            schema=schema,
            streamed=request.path.endswith(":streamGenerateContent"),
            search=any("googleSearch" in tool for tool in body.get("tools") or ()),
            pages=any("urlContext" in tool for tool in body.get("tools") or ()),
            tools=_tools(body),
            rounds=rounds,
            problem=self._refusal(body) or _problem(contents, rounds),
        )

    def _refusal(self, body: Mapping[str, Any]) -> str:
        """What the model of a request refuses in it."""
        tools = [name for tool in body.get("tools") or () for name in tool]
        if "pages" in self.refuses and "urlContext" in tools:
            return "Browsing as a tool is not supported for this model: url_context"
        if "thinking" in self.refuses and _level(body):
            return "Thinking level is not supported for this model."
        return ""

    def key(self, request: web.Request) -> str:
        return request.headers.get("x-goog-api-key") or request.query.get("key") or ""

    def _accepts(self, key: str) -> bool:
        return bool(key) and super()._accepts(key)

    def event(self, body: Any) -> bytes:
        return b"data: " + json_bytes(body) + b"\r\n\r\n"

    def error(self, name: str, arg: str, request: web.Request, ask: Ask | None) -> web.Response | None:
        if name not in _ERRORS:
            return None
        body = _error(name, arg, request.match_info.get("model", ""), self.key(request))
        return reply(body, body["error"]["code"])

    def models(self, request: web.Request) -> Any:
        if _SENT in request:
            return self._task(request)
        wanted = request.match_info.get("model")
        return _model(wanted) if wanted else {"models": [_model(name) for name in MODELS]}

    async def answer(self, request: web.Request, ask: Ask, fault: str, arg: str) -> web.StreamResponse:
        if fault == "miderror" and not ask.streamed:
            return reply(_error("503", "", ask.model, ""), 503)
        if ask.problem:
            return reply(_error("400calls", ask.problem, ask.model, ""), 400)
        bodies = [_BARE[fault] | self._about(ask, "")] if fault in _BARE else self._bodies(ask, fault)
        error = _error("503", "", ask.model, "")
        return await self.send(request, bodies, streamed=ask.streamed, fault=fault, arg=arg, error=error)

    def _bodies(self, ask: Ask, fault: str) -> list[dict[str, Any]]:
        """The reply as one body, or for a stream as several."""
        if calls := self.brain.calls(ask, fault):
            return [self._calling(ask, calls)]
        metadata: dict[str, Any] | None = None
        if ask.search:
            texts, metadata = self.brain.grounded(ask.query)
            if fault in TEXTS:
                texts = [spoilt("".join(texts), fault, ask)]
        else:
            texts = [self.brain.reply(ask, fault)]
        if metadata and fault in _METADATA:
            metadata = _METADATA[fault](copy.deepcopy(metadata))
        finish = "MAX_TOKENS" if fault == "maxtokens" else "STOP"
        if not ask.streamed:
            body = self._body(ask, texts, "".join(texts), finish, metadata)
            return [self._with_pages(ask, body) if ask.pages else body]
        finish = "" if fault in ("unended", "endless") else finish
        return self._pieces(ask, "".join(texts), finish, metadata, fault)

    def _with_pages(self, ask: Ask, body: dict[str, Any]) -> dict[str, Any]:
        """A reply for which pages were read; what they say is in its last sentence."""
        named = re.findall(r"https?://[\w./?=&%#-]+", ask.query)
        told = {url: self.pages.get(url, "SUCCESS") for url in named}
        status = "URL_RETRIEVAL_STATUS_"
        candidate = body["candidates"][0]
        metadata = candidate.get("groundingMetadata") or {}
        read = [url for url in named if told[url] == "SUCCESS"]
        for url in read if metadata.get("groundingSupports") else ():
            metadata["groundingSupports"][-1]["groundingChunkIndices"] += [len(metadata["groundingChunks"])]
            metadata["groundingChunks"].append({"web": {"uri": url, "title": "A page"}})
        candidate["urlContextMetadata"] = {
            "urlMetadata": [
                {"retrievedUrl": url, "urlRetrievalStatus": status + how} for url, how in told.items() if how
            ]
        }
        usage = body["usageMetadata"]
        usage["toolUsePromptTokenCount"] = TOOL_TOKENS * len(read)
        usage["totalTokenCount"] += usage["toolUsePromptTokenCount"]
        return body

    def _pieces(
        self, ask: Ask, text: str, finish: str, metadata: dict[str, Any] | None, fault: str
    ) -> list[dict[str, Any]]:
        """The bodies of a stream; usage grows, the finish and the metadata come with the last."""
        parts, so_far, bodies = repeating(pieces(text), fault), "", []
        for part in parts:
            so_far += part
            bodies.append(self._body(ask, [part], so_far, "", {} if ask.search else None))
        bodies[-1] = self._body(ask, parts[-1:], text, finish, metadata)
        return bodies

    def _body(
        self,
        ask: Ask,
        texts: Sequence[str],
        so_far: str,
        finish: str,
        metadata: dict[str, Any] | None,
    ) -> dict[str, Any]:
        content = {"parts": [{"text": text} for text in texts], "role": "model"}
        candidate: dict[str, Any] = {"content": content, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        if metadata is not None:
            candidate["groundingMetadata"] = metadata
        return {"candidates": [candidate]} | self._about(ask, so_far)

    def _calling(self, ask: Ask, calls: Sequence[ToolCall]) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [
            {"functionCall": {"name": call.name, "args": call.args, "id": call.id}} for call in calls
        ]
        parts[0]["thoughtSignature"] = _signature(calls[0])
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}
        return {"candidates": [candidate | {"index": 0}]} | self._about(ask, str(parts))

    def _about(self, ask: Ask, text: str) -> dict[str, Any]:
        prompt, said = tokens(ask.prompt), tokens(text) if text else 0
        usage = {
            "promptTokenCount": prompt,
            "candidatesTokenCount": said,
            "thoughtsTokenCount": _THOUGHTS,
            "totalTokenCount": prompt + said + _THOUGHTS,
        }
        usage |= {"cachedContentTokenCount": self.cached} if self.cached else {}
        return {"usageMetadata": usage, "modelVersion": ask.model, "responseId": "fake"}


def _level(body: Mapping[str, Any]) -> str:
    """The level of thinking that a request asks for. google-genai and LangChain write it differently."""
    config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    return str(config.get("thinkingLevel") or config.get("thinking_level") or "")


def _text(contents: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        str(part["text"]) for content in contents for part in content.get("parts") or () if part.get("text")
    )


def _tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the functions that may be called."""
    mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode")
    if mode == "NONE":
        return ()
    declared = (tool.get("functionDeclarations") or () for tool in body.get("tools") or ())
    return tuple(str(function["name"]) for functions in declared for function in functions)


def _parts(content: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in content.get("parts") or () if kind in part]


def _firsts(contents: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The first call of each message that has any, which is the one with a signature."""
    calling = (_parts(content, "functionCall") for content in contents)
    return (parts[0] for parts in calling if parts)


def _rounds(contents: Sequence[Mapping[str, Any]]) -> tuple[Round, ...]:
    """The calls of each message that has any, with what the functions answered.

    LangChain sends no ids: without one a result belongs to the first call of its name.
    """
    rounds: list[list[ToolCall]] = []
    for content in contents:
        if calling := _parts(content, "functionCall"):
            rounds.append([_made(part["functionCall"]) for part in calling])
        for part in _parts(content, "functionResponse") if rounds else ():
            _answered(rounds[-1], part["functionResponse"])
    return tuple(map(tuple, rounds))


def _made(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(call["name"]), call.get("args") or {}, str(call.get("id") or ""))


def _answered(calls: list[ToolCall], response: Mapping[str, Any]) -> None:
    id = response.get("id")
    for n, call in enumerate(calls):
        same = id == call.id if id else response["name"] == call.name
        if same and call.result is None:
            calls[n] = replace(call, result=_result(response.get("response") or {}))
            return


def _result(response: Mapping[str, Any]) -> str:
    """The text of a function's answer, which LangChain wraps unless it is a JSON object."""
    told = response.get("output") if response.keys() == {"output"} else response
    if isinstance(told, list) and all(isinstance(part, dict) for part in told):
        return "\n".join(str(part.get("text", "")) for part in told)
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)


def _signature(call: ToolCall) -> str:
    """What Gemini thought before a call: a text that fits this call alone."""
    made = json.dumps([call.name, call.args], ensure_ascii=False, sort_keys=True)
    return base64.b64encode(hashlib.sha256(utf8(made)).digest()).decode()


def _problem(contents: Sequence[Mapping[str, Any]], rounds: Sequence[Round]) -> str:
    """What Gemini says of calls that came back without their signature or a response."""
    for part, calls in zip(_firsts(contents), rounds, strict=True):
        given = part.get("thoughtSignature", "")
        if not given:
            return (
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly. Additional data, function call "
                f"`default_api:{calls[0].name}`."
            )
        own = _signature(calls[0]).translate(_URL_SAFE)
        if given != BYPASS and given.translate(_URL_SAFE) != own:
            return "Thought signature is not valid."
    if any(call.result is None for calls in rounds for call in calls):
        return (
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
    return ""


def _error(name: str, arg: str, model: str, key: str) -> dict[str, Any]:
    code, status, message, details = _ERRORS[name]
    seconds, limit = arg or "1", 0
    if name in _QUOTAS:
        period, limit = _QUOTAS[name]
        details = _quota(period, limit, seconds)
    message = message.format(model=model, key=key, arg=seconds, limit=limit)
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


def _model(name: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }
