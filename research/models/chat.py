"""Calls of a chat model, with a deadline, a rate limit, bounded retries and usage events.

There are three kinds of output: JSON by a schema, a text, and a streamed text. Every failure is a
`ServiceError`; an interrupted text carries its error. A prompt that can be built for any length is
rebuilt and sent once more if the server finds it too long. LangChain's own retries are off, because
they repeat hopeless requests and wait without any event.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel

from research.core.errors import ServiceError
from research.core.events import (
    EventEmitter,
    PartsUnreadable,
    PromptUndercounted,
    TextWritten,
    ThinkingUnsupported,
    UsageRecorded,
)
from research.core.records import RunOptions, Stage
from research.core.settings import Role
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
from research.models.output_parsing import OutputFormatError, clean_output, join_chunks, parse_object
from research.models.prompt_overflow import PromptOverflow
from research.models.prompting import MessagesBuilder, Prompt, PromptBuilder, count_tokens, message_text, to_messages
from research.models.replies import (
    ModelReply,
    UnfinishedStreamError,
    check_tool_message,
    complete_text,
    finish_reason,
    is_cut_off,
    streamed_reply,
)
from research.models.retries import missing_key_error, retry
from research.models.roles import ModelSpec, is_usable
from research.models.token_counts import estimate_tokens, fill_missing_counts, minimum_tokens

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import RunnableConfig

EMIT_INTERVAL_SECONDS = 0.05  # minimum interval between two text events; chunks arrive faster
MAX_LISTED_PARTS = 10  # maximum number of unreadable parts to report
_NO_CALLBACKS: RunnableConfig = {"callbacks": []}
_T = TypeVar("_T")
_M = TypeVar("_M", bound=BaseModel)
_P = TypeVar("_P", bound="Prompt | Sequence[BaseMessage]")


class ChatProvider(Protocol):
    """The chat models by role, and what their prompts depend on."""

    def chat(self, role: Role, options: RunOptions | None = None) -> Chat:
        """Return the model of a role, which the options may change."""

    @property
    def today(self) -> date: ...

    @property
    def max_result_chars(self) -> int: ...


class Chat:
    """One model in one role, bound to the event loop of its clients."""

    def __init__(self, spec: ModelSpec, clients: ModelClients) -> None:
        self.spec = spec
        self._clients = clients
        self._settings = clients.settings

    @property
    def token_budget(self) -> int:
        """Maximum number of tokens of a prompt."""
        return self._clients.token_budget(self.spec)

    async def load_client(self) -> None:
        """Load the client, which takes a second the first time."""
        await self._load_model()

    async def ask_json(
        self,
        prompt: Prompt | PromptBuilder,
        schema: Mapping[str, Any],
        output_type: type[_M],
        stage: Stage,
        emit: EventEmitter,
    ) -> _M:
        """Return an object that fits `schema`, parsed as `output_type`; ask once more if needed.

        Raises:
            ServiceError: No answer fits.
        """

        async def ask(prompt: Prompt, can_shrink: bool) -> _M:
            return await self._ask_json(prompt, schema, output_type, stage, emit, can_shrink)

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
        for is_last in (False, True):
            correction = f"\n\nYour last answer could not be used: {problem}" if problem else ""
            corrected_prompt = prompt.with_suffix(correction)
            try:
                text = await self._retry(
                    partial(self._request_json, corrected_prompt, schema, stage, emit, can_shrink), stage, emit
                )
                omitted: list[str] = []
                parsed = parse_object(text, output_type, schema, omitted.append)
                if omitted:
                    listed = tuple(omitted[:MAX_LISTED_PARTS])
                    emit(PartsUnreadable(stage=stage, service=str(self.spec), parts=listed))
                return parsed
            except OutputFormatError as error:
                problem = str(error)
            except ServiceError as error:
                if error.reason != "cut off" or is_last:
                    raise
                problem = error.message
        raise ServiceError("malformed", f"{self.spec}: {problem}")

    async def ask_text(self, prompt: Prompt | PromptBuilder, stage: Stage, emit: EventEmitter) -> ModelReply:
        """Return a text, without streaming.

        Raises:
            ServiceError: The model returned no text.
        """

        async def ask(prompt: Prompt, can_shrink: bool) -> ModelReply:
            return await self._retry(lambda: self._ask_text(prompt, stage, emit, can_shrink), stage, emit)

        return await self._ask_within_budget(prompt, ask)

    async def _ask_text(self, prompt: Prompt, stage: Stage, emit: EventEmitter, can_shrink: bool) -> ModelReply:
        message = await self._invoke(to_messages(prompt), {}, stage, emit, can_shrink=can_shrink)
        return ModelReply(complete_text(message, self.spec), is_cut=is_cut_off(message))

    async def stream_text(self, prompt: Prompt | PromptBuilder, stage: Stage, emit: EventEmitter) -> ModelReply:
        """Stream a text and return all of it.

        Emit a `TextWritten` for each new piece, with `restart` when the text begins again. An
        interrupted text is returned with its `error`.

        Raises:
            ServiceError: There is no text at all.
        """

        async def ask(prompt: Prompt, can_shrink: bool) -> ModelReply:
            return await self._stream_with_fallback(prompt, stage, emit, can_shrink)

        return await self._ask_within_budget(prompt, ask)

    async def _stream_with_fallback(
        self, prompt: Prompt, stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> ModelReply:
        """Stream a text; after a stream that could not be read to its end, request it without streaming.
        If all attempts fail, return the longest interrupted text."""
        best, should_stream = ModelReply(""), True

        async def ask() -> ModelReply:
            nonlocal best, should_stream
            written: list[str] = []
            try:
                if should_stream:
                    return await self._stream_counted(prompt, written, stage, emit, can_shrink)
                reply = await self._ask_text(prompt, stage, emit, can_shrink)
                emit(TextWritten(text=reply.text))
                return reply
            except ServiceError as error:
                should_stream = should_stream and not isinstance(error, UnfinishedStreamError)
                text = clean_output(join_chunks(written))
                if not is_blank(text):
                    if len(text) > len(best.text):
                        best = ModelReply(text, error=error)
                    emit(TextWritten(text="", restart=True))
                raise

        try:
            return await self._retry(ask, stage, emit)
        except ServiceError as error:
            if best.text and not (can_shrink and isinstance(error, PromptTooLongError)):
                return best
            raise

    async def next_message(
        self,
        messages: Sequence[BaseMessage] | MessagesBuilder,
        tools: Sequence[Mapping[str, Any]],
        stage: Stage,
        emit: EventEmitter,
    ) -> AIMessage:
        """Return the model's next message in a conversation with tools. One without calls is final.

        `messages` is the conversation so far, or builds it for a given number of tokens.

        Raises:
            ServiceError: The model returned no usable message.
        """

        async def ask(messages: Sequence[BaseMessage], can_shrink: bool) -> AIMessage:
            return await self._retry(lambda: attempt(messages, can_shrink), stage, emit)

        async def attempt(messages: Sequence[BaseMessage], can_shrink: bool) -> AIMessage:
            message = await self._invoke(list(messages), {}, stage, emit, tools, can_shrink=can_shrink)
            return check_tool_message(message, self.spec)

        tool_tokens = estimate_tokens(json.dumps(list(tools), ensure_ascii=False))
        build = (lambda tokens: messages(tokens - tool_tokens)) if callable(messages) else messages
        return await self._ask_within_budget(build, ask)

    # One attempt

    async def _ask_within_budget(
        self,
        build: _P | Callable[[int], _P],
        ask: Callable[[_P, bool], Awaitable[_T]],
    ) -> _T:
        """Ask with a prompt of the largest size that the model takes. If it was too long, ask once more
        with a smaller one, and remember the limit.

        `build` is the prompt, or builds it for a number of tokens.

        The second argument of `ask`, `can_shrink`, is True if a smaller prompt can be sent later. A
        server that reads only a part of the prompt is then an error.
        """
        if not callable(build):
            return await ask(build, False)
        prompt = build(self.token_budget)
        try:
            return await ask(prompt, True)
        except PromptTooLongError as error:
            if (sent := count_tokens(prompt)) < MIN_CONTEXT_TOKENS:
                raise
            budget = reduce_token_budget(error.overflow.max_tokens, error.overflow.prompt_tokens, sent)
            try:
                prompt = build(budget)
            except ServiceError:  # the smaller prompt would be empty
                raise error from None
            if count_tokens(prompt) >= sent:
                raise
        answer = await ask(prompt, False)
        self._clients.limit_token_budget(self.spec, budget)
        return answer

    async def _request_json(
        self, prompt: Prompt, schema: Mapping[str, Any], stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> str:
        """Return JSON text, requested in the best mode that the server supports."""
        schema_text = json.dumps(schema, ensure_ascii=False)
        capabilities = self._clients.capabilities(self.spec, schema_text)
        modes = capabilities.json_modes
        for index, mode in enumerate(modes):
            instructions = "" if mode == "schema" else json_instructions(schema_text)
            arguments = json_arguments(self.spec, mode, schema)
            try:
                message = await self._invoke(
                    to_messages(prompt.with_suffix(instructions)), arguments, stage, emit, can_shrink=can_shrink
                )
            except UnsupportedFeatureError:
                if index + 1 == len(modes):
                    raise
                continue
            # Another call may have removed more modes.
            capabilities.json_modes = min(capabilities.json_modes, modes[index:], key=len)
            text = complete_text(message, self.spec)
            if is_cut_off(message):
                raise ServiceError("cut off", f"{self.spec} reached its limit of output in the JSON")
            return text
        raise AssertionError("a server has at least one JSON mode")

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
        """Ask with the configured thinking level, and without one if the model refuses it."""
        level = thinking_level(self.spec, self._settings, stage)
        refused = self._clients.refused_features(self.spec)
        if not level or THINKING in refused:
            return await ask({})
        try:
            return await ask(thinking_arguments(level))
        except UnsupportedFeatureError as error:
            if not find_refused_feature(error.message, {THINKING}):
                raise
        answer = await ask({})
        if THINKING not in refused:
            refused.add(THINKING)
            emit(ThinkingUnsupported(stage=stage, service=str(self.spec), level=level))
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
        sent, tools_text = message_text(messages), json.dumps(tools, ensure_ascii=False) if tools else ""
        prompt_tokens = self._emit_usage(
            [message.usage_metadata], sent + tools_text, message_text([message]), stage, emit
        )
        self._check_token_count(prompt_tokens, sent, can_shrink, stage, emit)
        return message

    def _check_token_count(
        self, prompt_tokens: int, sent_text: str, can_shrink: bool, stage: Stage, emit: EventEmitter
    ) -> None:
        """Warn of a token count that is too low for the prompt: part of it may not have been read,
        or the server counts only uncached tokens. The answer is used either way.

        Raises:
            PromptTooLongError: Ollama has filled its context, at which it truncates a prompt,
                and this one can be shrunk.
        """
        is_full = self.spec.protocol == "ollama" and prompt_tokens >= context_length(self.spec, self._settings)
        if is_full and can_shrink:
            message = f"{self.spec} has read only {prompt_tokens} tokens of a longer prompt"
            raise PromptTooLongError(message, PromptOverflow(prompt_tokens, 0))
        if 0 < prompt_tokens < minimum_tokens(sent_text):
            emit(PromptUndercounted(stage=stage, service=str(self.spec), tokens=prompt_tokens))

    async def _stream_counted(
        self, prompt: Prompt, received: list[str], stage: Stage, emit: EventEmitter, can_shrink: bool
    ) -> ModelReply:
        """Stream with a token count, or without one if the server refuses to send it."""
        capabilities = self._clients.capabilities(self.spec)
        if capabilities.has_stream_usage:
            try:

                async def ask(thinking: dict[str, Any]) -> ModelReply:
                    return await self._stream_once(prompt, received, stage, emit, can_shrink, thinking)

                return await self._ask_with_thinking(ask, stage, emit)
            except UnsupportedFeatureError:
                # Only OpenAI's protocol requests the count; a text that has begun is kept.
                if self.spec.protocol != "openai" or received:
                    raise
        try:
            arguments = {"stream_usage": False}
            return await self._stream_once(prompt, received, stage, emit, can_shrink, arguments)
        finally:
            capabilities.has_stream_usage &= not received

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
        loop, idle_seconds = asyncio.get_running_loop(), self._settings.model_timeout
        end = loop.time() + idle_seconds * STREAM_TIMEOUT_FACTOR
        last: AIMessage | None = None
        usages: list[Any] = []
        emitted, next_emit, prompt_tokens, sent = "", 0.0, 0, prompt.system + prompt.user
        try:
            async with (
                asyncio.timeout(idle_seconds) as timeout,
                aclosing(model.astream(to_messages(prompt), _NO_CALLBACKS, **arguments)) as chunks,
            ):
                async for chunk in chunks:
                    if timeout.expired():  # asyncio.wait_for, which LangChain uses, may swallow the cancellation
                        raise TimeoutError
                    now = loop.time()
                    timeout.reschedule(min(now + idle_seconds, end))
                    usages.append(chunk.usage_metadata)
                    if finish_reason(chunk) or chunk.response_metadata.get("prompt_feedback"):
                        last = chunk
                    received.append(str(chunk.text))
                    if chunk.text and now >= next_emit:
                        emitted, next_emit = (
                            _emit_new_text(clean_output(join_chunks(received)), emitted, emit),
                            now + EMIT_INTERVAL_SECONDS,
                        )
        except Exception as error:
            if last is None or not finish_reason(last):  # otherwise only data after the text was lost
                raise self._stream_error(error, has_begun=bool(usages), is_over=loop.time() >= end) from error
        finally:
            if usages:  # the answer has begun
                prompt_tokens = self._emit_usage(usages, sent, join_chunks(received), stage, emit)
        self._check_token_count(prompt_tokens, sent, can_shrink, stage, emit)
        text = _emit_new_text(clean_output(join_chunks(received)), emitted, emit)
        return streamed_reply(last, text, self.spec)

    async def _load_model(self) -> Any:
        if not is_usable(self.spec, self._settings):
            raise missing_key_error(self.spec, self._settings)
        return await self._clients.langchain_model(self.spec)

    def _to_service_error(self, error: Exception) -> ServiceError:
        converted = classify_error(error, self.spec)
        if converted.reason == "timeout":
            limit = self._settings.model_timeout
            return ServiceError("timeout", f"{self.spec} did not answer within {limit:g} s")
        return converted

    def _stream_error(self, error: Exception, *, has_begun: bool, is_over: bool) -> ServiceError:
        """Return the error of a stream; `is_over` if the time for all of it has passed."""
        failure, idle_seconds = self._to_service_error(error), self._settings.model_timeout
        if failure.reason == "timeout" and has_begun:
            too_slow = f"was still answering after {idle_seconds * STREAM_TIMEOUT_FACTOR:g} s"
            problem = too_slow if is_over else f"sent nothing more for {idle_seconds:g} s"
            return ServiceError("timeout", f"{self.spec} {problem}")
        if failure.reason == "malformed" or (has_begun and failure.reason == "unavailable"):
            return UnfinishedStreamError(
                failure.reason, failure.message, is_retryable=True, retry_after_seconds=failure.retry_after_seconds
            )
        return failure

    # Retries and usage

    async def _retry(self, call: Callable[[], Awaitable[_T]], stage: Stage, emit: EventEmitter) -> _T:
        return await retry(call, lambda answer: answer, self.spec, self._clients, stage, emit)

    def _emit_usage(
        self, usages: Sequence[Any], sent_text: str, written_text: str, stage: Stage, emit: EventEmitter
    ) -> int:
        """Emit the sum of `usages`, of which each chunk of a stream reports an increment. Return the
        prompt tokens as counted by the server, 0 if it reports none."""
        counted = [part for part in usages if part]
        usage = UsageRecorded(
            stage=stage,
            model=str(self.spec),
            input=sum(part.get("input_tokens", 0) for part in counted),
            output=sum(part.get("output_tokens", 0) for part in counted),
            cached=sum((part.get("input_token_details") or {}).get("cache_read", 0) or 0 for part in counted),
        )
        emit(fill_missing_counts(usage, sent_text, written_text))
        return usage.input


def _emit_new_text(text: str, emitted: str, emit: EventEmitter) -> str:
    """Emit what is new in a text. If emitted text is no longer part of it, it was a thought whose
    closing tag has just arrived: the text restarts."""
    if not text.startswith(emitted):
        emit(TextWritten(text="", restart=True))
        emitted = ""
    if len(text) > len(emitted):
        emit(TextWritten(text=text[len(emitted) :]))
    return text
