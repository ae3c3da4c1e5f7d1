"""Asking a chat model: with a deadline, a turn, a bounded number of attempts, and an account of it.

Three ways: JSON that fits a schema, a text, a text as it is written. Whatever goes wrong is a
`Trouble`; a text that broke off says so. A prompt that can be made for any length is made anew, and
asked once more, if the server finds it too long. LangChain's own retries are off, because it would repeat
what cannot help and wait without a word.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel

from research.core import tracing
from research.core.errors import ServiceError
from research.core.records import EventEmitter, Stage, Usage
from research.core.settings import Settings
from research.core.text.tokenizer import is_blank
from research.models.capabilities import (
    THINKING,
    find_refused_feature,
    json_arguments,
    json_instructions,
    thinking_arguments,
    thinking_level,
)
from research.models.clients import STREAM_TIMEOUT_FACTOR, ModelClients
from research.models.context_lengths import MIN_CONTEXT_TOKENS, context_length, reduce_token_budget
from research.models.errors import PromptTooLongError, UnsupportedFeatureError, classify_error
from research.models.gemini import bind_functions
from research.models.lenient_json import parse_single
from research.models.output_parsing import OutputFormatError, clean_output, join_chunks, parse_object
from research.models.prompt_overflow import PromptOverflow
from research.models.roles import ModelSpec, is_usable, missing_setting
from research.models.token_counts import estimate_tokens, fill_missing_counts, minimum_tokens

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import RunnableConfig

BACKOFF_SECONDS = 0.5  # seconds before the second attempt; doubled for each further one
EMIT_INTERVAL_SECONDS = 0.05  # seconds between two stretches of a text that are told: chunks come faster
MAX_LISTED_PARTS = 10  # parts of an answer that are named because they could not be read
_NO_CALLBACKS: RunnableConfig = {"callbacks": []}
_T = TypeVar("_T")
_A = TypeVar("_A")
_M = TypeVar("_M", bound=BaseModel)
_P = TypeVar("_P", bound="Prompt | Sequence[BaseMessage]")

_CONTEXT_FULL = "model_context_window_exceeded"
_CUT_REASONS = {"max_tokens", "length", _CONTEXT_FULL}
_EMPTY_REASONS = {"none", "null", "finish_reason_unspecified"}
_BLOCK_REASONS = {
    "safety", "recitation", "content_filter", "blocklist", "prohibited_content", "spii", "language",
    "refusal", "sensitive",
}  # fmt: skip
# Ends that are none of the text: of Zhipu, DeepSeek, OpenRouter, and of vLLM and SGLang.
_BROKEN_REASONS = {"network_error", "insufficient_system_resource", "error", "abort", "aborted"}


class Prompt(NamedTuple):
    """What a model is told: our rules, and the task with all outside text."""

    system: str
    user: str

    def with_suffix(self, text: str) -> Prompt:
        return Prompt(self.system, self.user + text)

    @property
    def token_count(self) -> int:
        """About as many tokens as it has."""
        return estimate_tokens(self.system) + estimate_tokens(self.user)


PromptBuilder = Callable[[int], Prompt]  # makes a prompt of at most so many tokens
MessagesBuilder = Callable[[int], Sequence["BaseMessage"]]  # the same of a conversation


@dataclass(frozen=True)
class ModelReply:
    """A text. `cut` if the model reached its limit of output; `trouble` if it broke off."""

    text: str
    is_cut: bool = False
    error: ServiceError | None = None


class UnfinishedStreamError(ServiceError):
    """A stream that could not be read to its end, and may be had in one piece."""


class Chat:
    """One model in one role. Belongs to the loop of its clients."""

    def __init__(self, spec: ModelSpec, clients: ModelClients) -> None:
        self.spec = spec
        self._clients = clients
        self._settings = clients.settings

    @property
    def token_budget(self) -> int:
        """Tokens that a prompt may have."""
        return self._clients.token_budget(self.spec)

    async def load_client(self) -> None:
        """Loads the client, which takes a second the first time."""
        await self._load_model()

    async def ask_json(
        self,
        prompt: Prompt | PromptBuilder,
        schema: Mapping[str, Any],
        output_type: type[_M],
        stage: Stage,
        emit: EventEmitter,
    ) -> _M:
        """An object that fits `schema`, read as `shape`; asked for a second time if it does not.

        Raises:
            Trouble: there is no such object.
        """

        async def ask(prompt: Prompt, whole: bool) -> _M:
            return await self._ask_json(prompt, schema, output_type, stage, emit, whole)

        return await self._ask_within_budget(prompt, ask)

    async def _ask_json(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any],
        output_type: type[_M],
        stage: Stage,
        emit: EventEmitter,
        can_shrink: bool,
    ) -> _M:
        problem = ""
        for last in (False, True):
            again = f"\n\nYour last answer could not be used: {problem}" if problem else ""
            try:
                text = await self._retry(
                    lambda more=again: self._request_json(prompt.with_suffix(more), schema, stage, emit, can_shrink),  # type: ignore[misc]
                    stage,
                    emit,
                )
                left_out: list[str] = []
                found = parse_object(text, output_type, schema, left_out.append)
                if left_out:
                    emit("parts_unreadable", stage=stage, what=str(self.spec), parts=left_out[:MAX_LISTED_PARTS])
                return found
            except OutputFormatError as unfit:
                problem = str(unfit)
            except ServiceError as found:
                if found.reason != "cut off" or last:
                    raise
                problem = found.message
        raise ServiceError("malformed", f"{self.spec}: {problem}")

    async def ask_text(self, prompt: Prompt | PromptBuilder, stage: Stage, emit: EventEmitter) -> ModelReply:
        """A text in one piece.

        Raises:
            Trouble: there is none.
        """

        async def ask(prompt: Prompt, whole: bool) -> ModelReply:
            return await self._retry(lambda: self._ask_text(prompt, stage, emit, whole), stage, emit)

        return await self._ask_within_budget(prompt, ask)

    async def _ask_text(self, prompt: Prompt, stage: Stage, emit: EventEmitter, can_shrink: bool) -> ModelReply:
        message = await self._invoke(_to_messages(prompt), {}, stage, emit, can_shrink=can_shrink)
        return ModelReply(_complete_text(message, self.spec), is_cut=_finish_reason(message) in _CUT_REASONS)

    async def stream_text(self, prompt: Prompt | PromptBuilder, stage: Stage, emit: EventEmitter) -> ModelReply:
        """A text as it is written: `say("text", text=...)` for each stretch that is new, and with
        `restart=True` when it begins anew. A text that broke off comes back with its `trouble`.

        Raises:
            Trouble: not a word was written.
        """

        async def ask(prompt: Prompt, whole: bool) -> ModelReply:
            return await self._stream_with_fallback(prompt, stage, emit, whole)

        return await self._ask_within_budget(prompt, ask)

    async def _stream_with_fallback(
        self, prompt: Prompt, stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> ModelReply:
        best, readable = ModelReply(""), True  # else the text is asked for in one piece

        async def ask() -> ModelReply:
            nonlocal best, readable
            written: list[str] = []
            try:
                if readable:
                    return await self._stream_counted(prompt, written, stage, emit, can_shrink)
                reply = await self._ask_text(prompt, stage, emit, can_shrink)
                emit("text", text=reply.text)
                return reply
            except ServiceError as found:
                readable = readable and not isinstance(found, UnfinishedStreamError)
                text = clean_output(join_chunks(written))
                if not is_blank(text):
                    if len(text) > len(best.text):
                        best = ModelReply(text, error=found)
                    emit("text", text="", restart=True)
                raise

        try:
            return await self._retry(ask, stage, emit)
        except ServiceError as found:
            if best.text and not (can_shrink and isinstance(found, PromptTooLongError)):
                return best
            raise

    async def next_message(
        self,
        messages: Sequence[BaseMessage] | MessagesBuilder,
        tools: Sequence[Mapping[str, Any]],
        stage: Stage,
        emit: EventEmitter,
    ) -> AIMessage:
        """The model's next message where it may call tools; one without calls is its last. `messages`
        are the conversation so far, or make it of at most so many tokens.

        Raises:
            Trouble: there is none.
        """

        async def ask(messages: Sequence[BaseMessage], whole: bool) -> AIMessage:
            return await self._retry(lambda: once(messages, whole), stage, emit)

        async def once(messages: Sequence[BaseMessage], whole: bool) -> AIMessage:
            message = await self._invoke(list(messages), {}, stage, emit, tools, can_shrink=whole)
            finish = _finish_reason(message)
            if finish.startswith("malformed"):
                raise ServiceError("malformed", f"{self.spec} stopped ({finish})", is_retryable=True)
            if finish in _BLOCK_REASONS:
                raise ServiceError("blocked", f"{self.spec} stopped ({finish})")
            return _parse_invalid_calls(message)

        told = estimate_tokens(json.dumps(list(tools), ensure_ascii=False))
        turns = (lambda room: messages(room - told)) if callable(messages) else messages
        return await self._ask_within_budget(turns, ask)

    # One attempt

    async def _ask_within_budget(
        self,
        build: _P | Callable[[int], _P],
        ask: Callable[[_P, bool], Awaitable[_T]],
    ) -> _T:
        """Asks with a prompt that has as much room as the model gives, and once more with a smaller
        one if that was too long; what is learnt of the room is remembered.

        `ask` is told whether the prompt has to be read whole: one that can be made smaller has.
        """
        if not callable(build):
            return await ask(build, False)
        prompt = build(self.token_budget)
        try:
            return await ask(prompt, True)
        except PromptTooLongError as found:
            if (sent := _count_tokens(prompt)) < MIN_CONTEXT_TOKENS:
                raise
            room = reduce_token_budget(found.overflow.max_tokens, found.overflow.prompt_tokens, sent)
            try:
                prompt = build(room)
            except ServiceError:  # nothing is left of it
                raise found from None
            if _count_tokens(prompt) >= sent:
                raise
        answer = await ask(prompt, False)
        self._clients.limit_token_budget(self.spec, room)
        return answer

    async def _request_json(
        self, prompt: Prompt, schema: Mapping[str, Any], stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> str:
        """JSON text, asked for in the best way that this server takes."""
        told = json.dumps(schema, ensure_ascii=False)
        ways = self._clients.capabilities(self.spec, told)
        forms = ways.json_modes
        for at, form in enumerate(forms):
            more = "" if form == "schema" else json_instructions(told)
            wish = json_arguments(self.spec, form, schema)
            try:
                message = await self._invoke(
                    _to_messages(prompt.with_suffix(more)), wish, stage, emit, can_shrink=can_shrink
                )
            except UnsupportedFeatureError:
                if at + 1 == len(forms):
                    raise
                continue
            ways.json_modes = min(ways.json_modes, forms[at:], key=len)  # another call may have learnt more
            text = _complete_text(message, self.spec)
            if _finish_reason(message) in _CUT_REASONS:
                raise ServiceError("cut off", f"{self.spec} reached its limit of output in the JSON")
            return text
        raise AssertionError("there is always a way to ask")

    async def _invoke(
        self,
        messages: list[BaseMessage],
        arguments: dict[str, Any],
        stage: Stage,
        emit: EventEmitter,
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        can_shrink: bool = False,
    ) -> AIMessage:
        async def ask(thinking: dict[str, Any]) -> AIMessage:
            return await self._invoke_once(messages, arguments | thinking, stage, emit, tools, can_shrink)

        return await self._ask_with_thinking(ask, stage, emit)

    async def _ask_with_thinking(
        self, ask: Callable[[dict[str, Any]], Awaitable[_T]], stage: Stage, emit: EventEmitter
    ) -> _T:
        """Asks with the level of thinking that is set, and without one where the model refuses it."""
        wanted = thinking_level(self.spec, self._settings, stage)
        refused = self._clients.refused_features(self.spec)
        if not wanted or THINKING in refused:
            return await ask({})
        try:
            return await ask(thinking_arguments(wanted))
        except UnsupportedFeatureError as turned_down:
            if not find_refused_feature(turned_down.message, {THINKING}):
                raise
        answer = await ask({})
        if THINKING not in refused:
            refused.add(THINKING)
            emit("unthinking", stage=stage, what=str(self.spec), level=wanted)
        return answer

    async def _invoke_once(
        self,
        messages: list[BaseMessage],
        arguments: dict[str, Any],
        stage: Stage,
        emit: EventEmitter,
        tools: Sequence[Mapping[str, Any]],
        can_shrink: bool,
    ) -> AIMessage:
        model = await self._load_model()
        if tools and self.spec.protocol == "gemini":
            model = bind_functions(model, tools)
        elif tools:
            model = model.bind_tools(list(tools))
        try:
            async with asyncio.timeout(self._settings.model_timeout):
                message: AIMessage = await model.ainvoke(messages, _NO_CALLBACKS, **arguments)
        except Exception as error:
            raise self._to_service_error(error) from error
        sent, offered = message_text(messages), json.dumps(tools, ensure_ascii=False) if tools else ""
        read = self._emit_usage([message.usage_metadata], sent + offered, message_text([message]), stage, emit)
        self._check_token_count(read, sent, can_shrink, stage, emit)
        return message

    def _check_token_count(
        self, prompt_tokens: int, sent_text: str, can_shrink: bool, stage: Stage, emit: EventEmitter
    ) -> None:
        """Warn of a count of tokens that is too low for the prompt: some of it may not have been read, or
        the server counts what it had not in its cache. The answer is paid for and kept all the same.

        Raises:
            TooLong: Ollama has filled its context, where it cuts a prompt that has to be read `whole`.
        """
        full = self.spec.protocol == "ollama" and prompt_tokens >= context_length(self.spec, self._settings)
        if full and can_shrink:
            message = f"{self.spec} has read only {prompt_tokens} tokens of a longer prompt"
            raise PromptTooLongError(message, PromptOverflow(prompt_tokens, 0))
        if 0 < prompt_tokens < minimum_tokens(sent_text):
            emit("prompt_undercounted", stage=stage, what=str(self.spec), tokens=prompt_tokens)

    async def _stream_counted(
        self, prompt: Prompt, received: list[str], stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> ModelReply:
        """A stream with the number of its tokens, or without if the server refuses to tell that."""
        ways = self._clients.capabilities(self.spec)
        if ways.has_stream_usage:
            try:

                async def ask(thinking: dict[str, Any]) -> ModelReply:
                    return await self._stream_once(prompt, received, stage, emit, can_shrink, thinking)

                return await self._ask_with_thinking(ask, stage, emit)
            except UnsupportedFeatureError:
                # Others than OpenAI's are asked for nothing beside the text; one that has begun is kept.
                if self.spec.protocol != "openai" or received:
                    raise
        try:
            bare = {"stream_usage": False}
            return await self._stream_once(prompt, received, stage, emit, can_shrink, bare)
        finally:
            ways.has_stream_usage &= not received

    async def _stream_once(
        self,
        prompt: Prompt,
        received: list[str],
        stage: Stage,
        emit: EventEmitter,
        can_shrink: bool,
        arguments: Mapping[str, Any],
    ) -> ModelReply:
        model = await self._load_model()
        loop, idle = asyncio.get_running_loop(), self._settings.model_timeout
        end = loop.time() + idle * STREAM_TIMEOUT_FACTOR
        last: AIMessage | None = None
        usages: list[Any] = []
        told, due, read, sent = "", 0.0, 0, prompt.system + prompt.user
        try:
            async with (
                asyncio.timeout(idle) as clock,
                aclosing(_stream_chunks(model, prompt, arguments)) as chunks,
            ):
                async for chunk in chunks:
                    if clock.expired():  # asyncio.wait_for, which LangChain uses, may swallow that
                        raise TimeoutError
                    now = loop.time()
                    clock.reschedule(min(now + idle, end))
                    usages.append(chunk.usage_metadata)
                    if _finish_reason(chunk) or chunk.response_metadata.get("prompt_feedback"):
                        last = chunk
                    received.append(str(chunk.text))
                    if chunk.text and now >= due:
                        told, due = (
                            _emit_new_text(clean_output(join_chunks(received)), told, emit),
                            now + EMIT_INTERVAL_SECONDS,
                        )
        except Exception as error:
            found = self._to_service_error(error)
            if found.reason == "timeout" and usages:
                over = f"was still answering after {idle * STREAM_TIMEOUT_FACTOR:g} s"
                late = over if loop.time() >= end else f"sent nothing more for {idle:g} s"
                found = ServiceError("timeout", f"{self.spec} {late}")
            elif found.reason == "malformed" or (usages and found.reason == "unavailable"):
                found = UnfinishedStreamError(
                    found.reason, found.message, is_retryable=True, retry_after_seconds=found.retry_after_seconds
                )
            if last is None or not _finish_reason(last):  # else only what came behind the text was lost
                raise found from error
        finally:
            if usages:  # an answer has begun
                read = self._emit_usage(usages, sent, join_chunks(received), stage, emit)
        self._check_token_count(read, sent, can_shrink, stage, emit)
        text = _emit_new_text(clean_output(join_chunks(received)), told, emit)
        blank = is_blank(text)
        if last is None or _finish_reason(last) in _BROKEN_REASONS:
            if not blank:
                raise UnfinishedStreamError("unreachable", f"{self.spec} broke off", is_retryable=True)
            raise ServiceError("malformed", f"{self.spec} answered without a text", is_retryable=True)
        if _finish_reason(last) in _CUT_REASONS and not blank:
            return ModelReply(text, is_cut=True)
        if _finish_reason(last) in _BLOCK_REASONS and not blank:
            raise ServiceError("blocked", f"{self.spec} stopped ({_finish_reason(last)})")
        _check_reply(last, text, self.spec)
        return ModelReply(text)

    async def _load_model(self) -> Any:
        if not is_usable(self.spec, self._settings):
            raise missing_key_error(self.spec, self._settings)
        return await self._clients.chat(self.spec)

    def _to_service_error(self, error: Exception) -> ServiceError:
        found = classify_error(error, self.spec)
        if found.reason == "timeout":
            limit = self._settings.model_timeout
            return ServiceError("timeout", f"{self.spec} did not answer within {limit:g} s")
        return found

    # Attempts and the account

    async def _retry(self, call: Callable[[], Awaitable[_T]], stage: Stage, emit: EventEmitter) -> _T:
        return await retry(call, _identity, self.spec, self._clients, stage, emit)

    def _emit_usage(
        self, usages: Sequence[Any], sent_text: str, written_text: str, stage: Stage, emit: EventEmitter
    ) -> int:
        """Tells what a call used; the parts of a stream are what each chunk added. Gives the tokens of
        the prompt as the server has counted them, 0 if it has not."""
        known = [part for part in usages if part]
        usage = Usage(
            stage=stage,
            model=str(self.spec),
            input=sum(part.get("input_tokens", 0) for part in known),
            output=sum(part.get("output_tokens", 0) for part in known),
            cached=sum((part.get("input_token_details") or {}).get("cache_read", 0) or 0 for part in known),
        )
        emit("usage", **fill_missing_counts(usage, sent_text, written_text).model_dump(mode="json"))
        return usage.input


async def retry(
    call: Callable[[], Awaitable[_A]],
    parse: Callable[[_A], _T],
    spec: ModelSpec,
    clients: ModelClients,
    stage: Stage,
    emit: EventEmitter,
) -> _T:
    """Calls until it works, and until what it gives can be read: again only where that can help, and
    after a bounded wait. It is read once the turn is given back and whoever waited for it has asked.

    A pause that the service asks for is kept to; one that is longer than the setting allows, or
    that did not help, is not waited for again before it is over.

    A call that our own limits hold back says so, and again when it has its turn; no deadline runs
    meanwhile.

    Raises:
        Trouble: the last attempt's, or one whose wait would be too long.
    """
    settings, rest = clients.settings, clients.cooldown(spec, for_search=stage == "search")
    if (left := rest.remaining_seconds) > 0:
        message = f"{rest.message} (possible again in {ceil(left)} s)"
        raise ServiceError("quota", message, hint=rest.hint, retry_after_seconds=left)

    def queued(waits: bool) -> None:
        emit("queued", stage=stage, what=str(spec), over=not waits)

    limiter = clients.limiter(spec.provider, spec.is_report_server)
    attempts = settings.model_attempts
    for attempt in range(1, attempts + 1):
        try:
            async with AsyncExitStack() as turn:
                await turn.enter_async_context(limiter.acquire(queued))
                with tracing.trace_model_call(spec.provider, spec.name, stage, attempt):
                    answer = await call()
                    await turn.aclose()
                    await limiter.yield_to_waiters()
                    return parse(answer)
        except ServiceError as found:
            wait = (
                BACKOFF_SECONDS * 2 ** (attempt - 1) if found.retry_after_seconds is None else found.retry_after_seconds
            )
            over = found.retry_after_seconds is not None and found.retry_after_seconds > settings.retry_wait
            last = over or attempt == attempts or not found.is_retryable
            if last and found.retry_after_seconds is not None and found.reason == "quota":
                rest.start(found.retry_after_seconds, found.message, found.hint)
            if over:
                message = f"{found.message} (possible again in {wait:g} s)"
                raise ServiceError(found.reason, message, hint=found.hint, retry_after_seconds=wait) from found
            if last:
                raise
            emit("waiting", stage=stage, seconds=wait, reason=found.reason, what=str(spec))
            await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")


def _identity(answer: _T) -> _T:
    return answer


def missing_key_error(spec: ModelSpec, settings: Settings) -> ServiceError:
    """The trouble of a provider whose key or address is not set."""
    return ServiceError("no key", f"{spec} needs {missing_setting(spec, settings)}", hint="key")


def _to_messages(prompt: Prompt) -> list[BaseMessage]:
    from langchain_core.messages import HumanMessage, SystemMessage

    system = [SystemMessage(prompt.system)] if prompt.system else []  # else a model's own holds
    return [*system, HumanMessage(prompt.user)]


def _count_tokens(prompt: Prompt | Sequence[BaseMessage]) -> int:
    return prompt.token_count if isinstance(prompt, Prompt) else estimate_tokens(message_text(prompt))


def message_text(messages: Sequence[BaseMessage]) -> str:
    """All that stands in messages, calls of tools included."""
    calls = [getattr(message, "tool_calls", None) for message in messages]
    made = json.dumps([call for call in calls if call], ensure_ascii=False) if any(calls) else ""
    return "".join(str(message.text) for message in messages) + made


def _emit_new_text(text: str, emitted: str, emit: EventEmitter) -> str:
    """Tells what is new in a text. What was told and is no part of it any more were thoughts, to
    which only the end of their tag has been heard: the text begins anew."""
    if not text.startswith(emitted):
        emit("text", text="", restart=True)
        emitted = ""
    if len(text) > len(emitted):
        emit("text", text=text[len(emitted) :])
    return text


def _stream_chunks(model: Any, prompt: Prompt, arguments: Mapping[str, Any]) -> Any:
    return model.astream(_to_messages(prompt), _NO_CALLBACKS, **arguments)


# Reading an answer


def _finish_reason(message: AIMessage) -> str:
    """Why the model stopped, in lower case; "" while it has not."""
    meta = message.response_metadata
    names = ("finish_reason", "done_reason", "stop_reason")  # Anthropic's is the last
    found = next((str(meta[name]).lower() for name in names if meta.get(name)), "")
    return "" if found in _EMPTY_REASONS else found


def _parse_invalid_calls(message: AIMessage) -> AIMessage:
    """A message in which calls of tools whose arguments are JSON written loosely are calls as well."""
    calls, broken = list(message.tool_calls), []
    for call in message.invalid_tool_calls:
        given = str(call["args"] or "").strip()
        args = {} if given in ("", "null") else parse_single(given)
        if isinstance(args, dict) and call["name"]:
            calls.append({"name": call["name"], "args": args, "id": call["id"], "type": "tool_call"})
        else:
            broken.append(call)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": broken})


def _complete_text(message: AIMessage, spec: ModelSpec) -> str:
    text = clean_output(str(message.text))
    if _finish_reason(message) in _CUT_REASONS and not is_blank(text):
        return text
    _check_reply(message, text, spec)
    return text


def _check_reply(message: AIMessage, text: str, spec: ModelSpec) -> None:
    """Raises Trouble unless the message is a whole text."""
    finish = _finish_reason(message)
    feedback = message.response_metadata.get("prompt_feedback") or {}
    refusal = message.additional_kwargs.get("refusal")
    block = feedback.get("block_reason") if isinstance(feedback, dict) else None
    if block:
        raise ServiceError("blocked", f"{spec} refused the prompt ({getattr(block, 'name', block)})")
    if refusal:
        raise ServiceError("blocked", f"{spec} refused: {refusal}")
    if finish in _BLOCK_REASONS:
        raise ServiceError("blocked", f"{spec} stopped ({finish})")
    if finish in _BROKEN_REASONS:
        raise ServiceError("unreachable", f"{spec} broke off ({finish})", is_retryable=True)
    if finish == _CONTEXT_FULL:
        raise PromptTooLongError(f"{spec} had no room for a word ({finish})", PromptOverflow())
    if finish in _CUT_REASONS:
        raise ServiceError("cut off", f"{spec} reached its limit of output before the first word")
    if not is_blank(text) and not finish and spec.protocol == "ollama":  # the last of its lines says why
        raise ServiceError("unreachable", f"{spec} broke off", is_retryable=True)
    if is_blank(text):
        ended = f" ({finish})" if finish else ""
        raise ServiceError("malformed", f"{spec} answered without a text{ended}", is_retryable=True)
