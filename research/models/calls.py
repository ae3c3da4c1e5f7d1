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
from research.core.errors import Trouble
from research.core.records import Say, Stage, Usage
from research.core.settings import Settings
from research.core.text.words import is_blank
from research.models.capabilities import THINKING, at_level, blamed, bound, in_words, level
from research.models.clients import STREAM, Clients
from research.models.contexts import SHORTEST, context, smaller
from research.models.counting import completed, fewest, tokens
from research.models.errors import TooLong, Unsupported, trouble
from research.models.gemini import bind_functions
from research.models.lenient_json import one_value
from research.models.overflow import Overflow
from research.models.reading import Unfit, fitting, joined, spoken
from research.models.roles import Spec, lacking, usable

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import RunnableConfig

BACKOFF = 0.5  # seconds before the second attempt; doubled for each further one
TELL = 0.05  # seconds between two stretches of a text that are told: chunks come faster
PARTS = 10  # parts of an answer that are named because they could not be read
_QUIET: RunnableConfig = {"callbacks": []}
_T = TypeVar("_T")
_A = TypeVar("_A")
_M = TypeVar("_M", bound=BaseModel)
_P = TypeVar("_P", bound="Prompt | Sequence[BaseMessage]")

_FULL = "model_context_window_exceeded"
_CUT = {"max_tokens", "length", _FULL}
_NO_REASON = {"none", "null", "finish_reason_unspecified"}
_BLOCKED = {
    "safety", "recitation", "content_filter", "blocklist", "prohibited_content", "spii", "language",
    "refusal", "sensitive",
}  # fmt: skip
# Ends that are none of the text: of Zhipu, DeepSeek, OpenRouter, and of vLLM and SGLang.
_BROKEN = {"network_error", "insufficient_system_resource", "error", "abort", "aborted"}


class Prompt(NamedTuple):
    """What a model is told: our rules, and the task with all outside text."""

    system: str
    user: str

    def more(self, text: str) -> Prompt:
        return Prompt(self.system, self.user + text)

    @property
    def size(self) -> int:
        """About as many tokens as it has."""
        return tokens(self.system) + tokens(self.user)


Sized = Callable[[int], Prompt]  # makes a prompt of at most so many tokens
Turns = Callable[[int], Sequence["BaseMessage"]]  # the same of a conversation


@dataclass(frozen=True)
class Reply:
    """A text. `cut` if the model reached its limit of output; `trouble` if it broke off."""

    text: str
    cut: bool = False
    trouble: Trouble | None = None


class Unfinished(Trouble):
    """A stream that could not be read to its end, and may be had in one piece."""


class Chat:
    """One model in one role. Belongs to the loop of its clients."""

    def __init__(self, spec: Spec, clients: Clients) -> None:
        self.spec = spec
        self._clients = clients
        self._settings = clients.settings

    @property
    def room(self) -> int:
        """Tokens that a prompt may have."""
        return self._clients.room(self.spec)

    async def warm(self) -> None:
        """Loads the client, which takes a second the first time."""
        await self._model()

    async def json(
        self,
        prompt: Prompt | Sized,
        schema: Mapping[str, Any],
        shape: type[_M],
        stage: Stage,
        say: Say,
    ) -> _M:
        """An object that fits `schema`, read as `shape`; asked for a second time if it does not.

        Raises:
            Trouble: there is no such object.
        """

        async def ask(prompt: Prompt, whole: bool) -> _M:
            return await self._json(prompt, schema, shape, stage, say, whole)

        return await self._sized(prompt, ask)

    async def _json(
        self,
        prompt: Prompt,
        schema: Mapping[str, Any],
        shape: type[_M],
        stage: Stage,
        say: Say,
        whole: bool,
    ) -> _M:
        problem = ""
        for last in (False, True):
            again = f"\n\nYour last answer could not be used: {problem}" if problem else ""
            try:
                text = await self._repeated(
                    lambda more=again: self._object(prompt.more(more), schema, stage, say, whole),  # type: ignore[misc]
                    stage,
                    say,
                )
                left_out: list[str] = []
                found = fitting(text, shape, schema, left_out.append)
                if left_out:
                    say(
                        "parts_unreadable", stage=stage, what=str(self.spec), parts=left_out[:PARTS]
                    )
                return found
            except Unfit as unfit:
                problem = str(unfit)
            except Trouble as found:
                if found.reason != "cut off" or last:
                    raise
                problem = found.message
        raise Trouble("malformed", f"{self.spec}: {problem}")

    async def text(self, prompt: Prompt | Sized, stage: Stage, say: Say) -> Reply:
        """A text in one piece.

        Raises:
            Trouble: there is none.
        """

        async def ask(prompt: Prompt, whole: bool) -> Reply:
            return await self._repeated(lambda: self._text(prompt, stage, say, whole), stage, say)

        return await self._sized(prompt, ask)

    async def _text(self, prompt: Prompt, stage: Stage, say: Say, whole: bool) -> Reply:
        message = await self._invoke(_messages(prompt), {}, stage, say, whole=whole)
        return Reply(_whole(message, self.spec), cut=_finish(message) in _CUT)

    async def stream(self, prompt: Prompt | Sized, stage: Stage, say: Say) -> Reply:
        """A text as it is written: `say("text", text=...)` for each stretch that is new, and with
        `restart=True` when it begins anew. A text that broke off comes back with its `trouble`.

        Raises:
            Trouble: not a word was written.
        """

        async def ask(prompt: Prompt, whole: bool) -> Reply:
            return await self._streamed(prompt, stage, say, whole)

        return await self._sized(prompt, ask)

    async def _streamed(self, prompt: Prompt, stage: Stage, say: Say, whole: bool) -> Reply:
        best, readable = Reply(""), True  # else the text is asked for in one piece

        async def ask() -> Reply:
            nonlocal best, readable
            written: list[str] = []
            try:
                if readable:
                    return await self._counted(prompt, written, stage, say, whole)
                reply = await self._text(prompt, stage, say, whole)
                say("text", text=reply.text)
                return reply
            except Trouble as found:
                readable = readable and not isinstance(found, Unfinished)
                text = spoken(joined(written))
                if not is_blank(text):
                    if len(text) > len(best.text):
                        best = Reply(text, trouble=found)
                    say("text", text="", restart=True)
                raise

        try:
            return await self._repeated(ask, stage, say)
        except Trouble as found:
            if best.text and not (whole and isinstance(found, TooLong)):
                return best
            raise

    async def act(
        self,
        messages: Sequence[BaseMessage] | Turns,
        tools: Sequence[Mapping[str, Any]],
        stage: Stage,
        say: Say,
    ) -> AIMessage:
        """The model's next message where it may call tools; one without calls is its last. `messages`
        are the conversation so far, or make it of at most so many tokens.

        Raises:
            Trouble: there is none.
        """

        async def ask(messages: Sequence[BaseMessage], whole: bool) -> AIMessage:
            return await self._repeated(lambda: once(messages, whole), stage, say)

        async def once(messages: Sequence[BaseMessage], whole: bool) -> AIMessage:
            message = await self._invoke(list(messages), {}, stage, say, tools, whole=whole)
            finish = _finish(message)
            if finish.startswith("malformed"):
                raise Trouble("malformed", f"{self.spec} stopped ({finish})", again=True)
            if finish in _BLOCKED:
                raise Trouble("blocked", f"{self.spec} stopped ({finish})")
            return _with_loose_calls(message)

        told = tokens(json.dumps(list(tools), ensure_ascii=False))
        turns = (lambda room: messages(room - told)) if callable(messages) else messages
        return await self._sized(turns, ask)

    # One attempt

    async def _sized(
        self,
        make: _P | Callable[[int], _P],
        ask: Callable[[_P, bool], Awaitable[_T]],
    ) -> _T:
        """Asks with a prompt that has as much room as the model gives, and once more with a smaller
        one if that was too long; what is learnt of the room is remembered.

        `ask` is told whether the prompt has to be read whole: one that can be made smaller has.
        """
        if not callable(make):
            return await ask(make, False)
        prompt = make(self.room)
        try:
            return await ask(prompt, True)
        except TooLong as found:
            if (sent := _size(prompt)) < SHORTEST:
                raise
            room = smaller(found.found.limit, found.found.asked, sent)
            try:
                prompt = make(room)
            except Trouble:  # nothing is left of it
                raise found from None
            if _size(prompt) >= sent:
                raise
        answer = await ask(prompt, False)
        self._clients.learn(self.spec, room)
        return answer

    async def _object(
        self, prompt: Prompt, schema: Mapping[str, Any], stage: Stage, say: Say, whole: bool
    ) -> str:
        """JSON text, asked for in the best way that this server takes."""
        told = json.dumps(schema, ensure_ascii=False)
        ways = self._clients.ways(self.spec, told)
        forms = ways.forms
        for at, form in enumerate(forms):
            more = "" if form == "schema" else in_words(told)
            wish = bound(self.spec, form, schema)
            try:
                message = await self._invoke(
                    _messages(prompt.more(more)), wish, stage, say, whole=whole
                )
            except Unsupported:
                if at + 1 == len(forms):
                    raise
                continue
            ways.forms = min(ways.forms, forms[at:], key=len)  # another call may have learnt more
            text = _whole(message, self.spec)
            if _finish(message) in _CUT:
                raise Trouble("cut off", f"{self.spec} reached its limit of output in the JSON")
            return text
        raise AssertionError("there is always a way to ask")

    async def _invoke(
        self,
        messages: list[BaseMessage],
        bound: dict[str, Any],
        stage: Stage,
        say: Say,
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        whole: bool = False,
    ) -> AIMessage:
        async def ask(thinking: dict[str, Any]) -> AIMessage:
            return await self._called(messages, bound | thinking, stage, say, tools, whole)

        return await self._thinking(ask, stage, say)

    async def _thinking(
        self, ask: Callable[[dict[str, Any]], Awaitable[_T]], stage: Stage, say: Say
    ) -> _T:
        """Asks with the level of thinking that is set, and without one where the model refuses it."""
        wanted = level(self.spec, self._settings, stage)
        refused = self._clients.refused(self.spec)
        if not wanted or THINKING in refused:
            return await ask({})
        try:
            return await ask(at_level(wanted))
        except Unsupported as turned_down:
            if not blamed(turned_down.message, {THINKING}):
                raise
        answer = await ask({})
        if THINKING not in refused:
            refused.add(THINKING)
            say("unthinking", stage=stage, what=str(self.spec), level=wanted)
        return answer

    async def _called(
        self,
        messages: list[BaseMessage],
        bound: dict[str, Any],
        stage: Stage,
        say: Say,
        tools: Sequence[Mapping[str, Any]],
        whole: bool,
    ) -> AIMessage:
        model = await self._model()
        if tools and self.spec.wire == "gemini":
            model = bind_functions(model, tools)
        elif tools:
            model = model.bind_tools(list(tools))
        try:
            async with asyncio.timeout(self._settings.model_timeout):
                message: AIMessage = await model.ainvoke(messages, _QUIET, **bound)
        except Exception as error:
            raise self._explained(error) from error
        sent, offered = said(messages), json.dumps(tools, ensure_ascii=False) if tools else ""
        read = self._count([message.usage_metadata], sent + offered, said([message]), stage, say)
        self._check_count(read, sent, whole, stage, say)
        return message

    def _check_count(self, read: int, sent: str, whole: bool, stage: Stage, say: Say) -> None:
        """Warn of a count of tokens that is too low for the prompt: some of it may not have been read, or
        the server counts what it had not in its cache. The answer is paid for and kept all the same.

        Raises:
            TooLong: Ollama has filled its context, where it cuts a prompt that has to be read `whole`.
        """
        full = self.spec.wire == "ollama" and read >= context(self.spec, self._settings)
        if full and whole:
            message = f"{self.spec} has read only {read} tokens of a longer prompt"
            raise TooLong(message, Overflow(read, 0))
        if 0 < read < fewest(sent):
            say("prompt_undercounted", stage=stage, what=str(self.spec), tokens=read)

    async def _counted(
        self, prompt: Prompt, written: list[str], stage: Stage, say: Say, whole: bool
    ) -> Reply:
        """A stream with the number of its tokens, or without if the server refuses to tell that."""
        ways = self._clients.ways(self.spec)
        if ways.counted:
            try:

                async def ask(thinking: dict[str, Any]) -> Reply:
                    return await self._stream(prompt, written, stage, say, whole, thinking)

                return await self._thinking(ask, stage, say)
            except Unsupported:
                # Others than OpenAI's are asked for nothing beside the text; one that has begun is kept.
                if self.spec.wire != "openai" or written:
                    raise
        try:
            bare = {"stream_usage": False}
            return await self._stream(prompt, written, stage, say, whole, bare)
        finally:
            ways.counted &= not written

    async def _stream(
        self,
        prompt: Prompt,
        written: list[str],
        stage: Stage,
        say: Say,
        whole: bool,
        bound: Mapping[str, Any],
    ) -> Reply:
        model = await self._model()
        loop, idle = asyncio.get_running_loop(), self._settings.model_timeout
        end = loop.time() + idle * STREAM
        last: AIMessage | None = None
        usages: list[Any] = []
        told, due, read, sent = "", 0.0, 0, prompt.system + prompt.user
        try:
            async with (
                asyncio.timeout(idle) as clock,
                aclosing(_astream(model, prompt, bound)) as chunks,
            ):
                async for chunk in chunks:
                    if clock.expired():  # asyncio.wait_for, which LangChain uses, may swallow that
                        raise TimeoutError
                    now = loop.time()
                    clock.reschedule(min(now + idle, end))
                    usages.append(chunk.usage_metadata)
                    if _finish(chunk) or chunk.response_metadata.get("prompt_feedback"):
                        last = chunk
                    written.append(str(chunk.text))
                    if chunk.text and now >= due:
                        told, due = _tell(spoken(joined(written)), told, say), now + TELL
        except Exception as error:
            found = self._explained(error)
            if found.reason == "timeout" and usages:
                over = f"was still answering after {idle * STREAM:g} s"
                late = over if loop.time() >= end else f"sent nothing more for {idle:g} s"
                found = Trouble("timeout", f"{self.spec} {late}")
            elif found.reason == "malformed" or (usages and found.reason == "unavailable"):
                found = Unfinished(found.reason, found.message, again=True, after=found.after)
            if last is None or not _finish(last):  # else only what came behind the text was lost
                raise found from error
        finally:
            if usages:  # an answer has begun
                read = self._count(usages, sent, joined(written), stage, say)
        self._check_count(read, sent, whole, stage, say)
        text = _tell(spoken(joined(written)), told, say)
        blank = is_blank(text)
        if last is None or _finish(last) in _BROKEN:
            if not blank:
                raise Unfinished("unreachable", f"{self.spec} broke off", again=True)
            raise Trouble("malformed", f"{self.spec} answered without a text", again=True)
        if _finish(last) in _CUT and not blank:
            return Reply(text, cut=True)
        if _finish(last) in _BLOCKED and not blank:
            raise Trouble("blocked", f"{self.spec} stopped ({_finish(last)})")
        _judge(last, text, self.spec)
        return Reply(text)

    async def _model(self) -> Any:
        if not usable(self.spec, self._settings):
            raise no_key(self.spec, self._settings)
        return await self._clients.chat(self.spec)

    def _explained(self, error: Exception) -> Trouble:
        found = trouble(error, self.spec)
        if found.reason == "timeout":
            limit = self._settings.model_timeout
            return Trouble("timeout", f"{self.spec} did not answer within {limit:g} s")
        return found

    # Attempts and the account

    async def _repeated(self, call: Callable[[], Awaitable[_T]], stage: Stage, say: Say) -> _T:
        return await repeated(call, _same, self.spec, self._clients, stage, say)

    def _count(self, parts: Sequence[Any], sent: str, written: str, stage: Stage, say: Say) -> int:
        """Tells what a call used; the parts of a stream are what each chunk added. Gives the tokens of
        the prompt as the server has counted them, 0 if it has not."""
        known = [part for part in parts if part]
        usage = Usage(
            stage=stage,
            model=str(self.spec),
            input=sum(part.get("input_tokens", 0) for part in known),
            output=sum(part.get("output_tokens", 0) for part in known),
            cached=sum(
                (part.get("input_token_details") or {}).get("cache_read", 0) or 0 for part in known
            ),
        )
        say("usage", **completed(usage, sent, written).model_dump(mode="json"))
        return usage.input


async def repeated(
    call: Callable[[], Awaitable[_A]],
    read: Callable[[_A], _T],
    spec: Spec,
    clients: Clients,
    stage: Stage,
    say: Say,
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
    settings, rest = clients.settings, clients.rest(spec, search=stage == "search")
    if (left := rest.left) > 0:
        message = f"{rest.message} (possible again in {ceil(left)} s)"
        raise Trouble("quota", message, hint=rest.hint, after=left)

    def queued(waits: bool) -> None:
        say("queued", stage=stage, what=str(spec), over=not waits)

    limiter = clients.limiter(spec.provider, spec.apart)
    attempts = settings.model_attempts
    for attempt in range(1, attempts + 1):
        try:
            async with AsyncExitStack() as turn:
                await turn.enter_async_context(limiter.turn(queued))
                with tracing.call(spec.provider, spec.name, stage, attempt):
                    answer = await call()
                    await turn.aclose()
                    await limiter.give_way()
                    return read(answer)
        except Trouble as found:
            wait = BACKOFF * 2 ** (attempt - 1) if found.after is None else found.after
            over = found.after is not None and found.after > settings.retry_wait
            last = over or attempt == attempts or not found.again
            if last and found.after is not None and found.reason == "quota":
                rest.begin(found.after, found.message, found.hint)
            if over:
                message = f"{found.message} (possible again in {wait:g} s)"
                raise Trouble(found.reason, message, hint=found.hint, after=wait) from found
            if last:
                raise
            say("waiting", stage=stage, seconds=wait, reason=found.reason, what=str(spec))
            await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")


def _same(answer: _T) -> _T:
    return answer


def no_key(spec: Spec, settings: Settings) -> Trouble:
    """The trouble of a provider whose key or address is not set."""
    return Trouble("no key", f"{spec} needs {lacking(spec, settings)}", hint="key")


def _messages(prompt: Prompt) -> list[BaseMessage]:
    from langchain_core.messages import HumanMessage, SystemMessage

    system = [SystemMessage(prompt.system)] if prompt.system else []  # else a model's own holds
    return [*system, HumanMessage(prompt.user)]


def _size(prompt: Prompt | Sequence[BaseMessage]) -> int:
    return prompt.size if isinstance(prompt, Prompt) else tokens(said(prompt))


def said(messages: Sequence[BaseMessage]) -> str:
    """All that stands in messages, calls of tools included."""
    calls = [getattr(message, "tool_calls", None) for message in messages]
    made = json.dumps([call for call in calls if call], ensure_ascii=False) if any(calls) else ""
    return "".join(str(message.text) for message in messages) + made


def _tell(text: str, told: str, say: Say) -> str:
    """Tells what is new in a text. What was told and is no part of it any more were thoughts, to
    which only the end of their tag has been heard: the text begins anew."""
    if not text.startswith(told):
        say("text", text="", restart=True)
        told = ""
    if len(text) > len(told):
        say("text", text=text[len(told) :])
    return text


def _astream(model: Any, prompt: Prompt, bound: Mapping[str, Any]) -> Any:
    return model.astream(_messages(prompt), _QUIET, **bound)


# Reading an answer


def _finish(message: AIMessage) -> str:
    """Why the model stopped, in lower case; "" while it has not."""
    meta = message.response_metadata
    names = ("finish_reason", "done_reason", "stop_reason")  # Anthropic's is the last
    found = next((str(meta[name]).lower() for name in names if meta.get(name)), "")
    return "" if found in _NO_REASON else found


def _with_loose_calls(message: AIMessage) -> AIMessage:
    """A message in which calls of tools whose arguments are JSON written loosely are calls as well."""
    calls, broken = list(message.tool_calls), []
    for call in message.invalid_tool_calls:
        given = str(call["args"] or "").strip()
        args = {} if given in ("", "null") else one_value(given)
        if isinstance(args, dict) and call["name"]:
            calls.append(
                {"name": call["name"], "args": args, "id": call["id"], "type": "tool_call"}
            )
        else:
            broken.append(call)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": broken})


def _whole(message: AIMessage, spec: Spec) -> str:
    text = spoken(str(message.text))
    if _finish(message) in _CUT and not is_blank(text):
        return text
    _judge(message, text, spec)
    return text


def _judge(message: AIMessage, text: str, spec: Spec) -> None:
    """Raises Trouble unless the message is a whole text."""
    finish = _finish(message)
    feedback = message.response_metadata.get("prompt_feedback") or {}
    refusal = message.additional_kwargs.get("refusal")
    block = feedback.get("block_reason") if isinstance(feedback, dict) else None
    if block:
        raise Trouble("blocked", f"{spec} refused the prompt ({getattr(block, 'name', block)})")
    if refusal:
        raise Trouble("blocked", f"{spec} refused: {refusal}")
    if finish in _BLOCKED:
        raise Trouble("blocked", f"{spec} stopped ({finish})")
    if finish in _BROKEN:
        raise Trouble("unreachable", f"{spec} broke off ({finish})", again=True)
    if finish == _FULL:
        raise TooLong(f"{spec} had no room for a word ({finish})", Overflow())
    if finish in _CUT:
        raise Trouble("cut off", f"{spec} reached its limit of output before the first word")
    if (
        not is_blank(text) and not finish and spec.wire == "ollama"
    ):  # the last of its lines says why
        raise Trouble("unreachable", f"{spec} broke off", again=True)
    if is_blank(text):
        ended = f" ({finish})" if finish else ""
        raise Trouble("malformed", f"{spec} answered without a text{ended}", again=True)
