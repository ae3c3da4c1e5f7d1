"""Reads the replies of chat models: why they ended, and whether their text is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from research.core.errors import ServiceError
from research.core.text.tokenizer import is_blank
from research.models.errors import PromptTooLongError
from research.models.lenient_json import parse_single
from research.models.output_parsing import clean_output
from research.models.prompt_overflow import PromptOverflow
from research.models.roles import ModelSpec

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

_CONTEXT_FULL = "model_context_window_exceeded"
_CUT_REASONS = {"max_tokens", "length", _CONTEXT_FULL}
_EMPTY_REASONS = {"none", "null", "finish_reason_unspecified"}
_BLOCK_REASONS = {
    "safety", "recitation", "content_filter", "blocklist", "prohibited_content", "spii", "language",
    "refusal", "sensitive",
}  # fmt: skip
# Finish reasons of interrupted texts: of Zhipu, DeepSeek, OpenRouter, vLLM and SGLang.
_BROKEN_REASONS = {"network_error", "insufficient_system_resource", "error", "abort", "aborted"}


@dataclass(frozen=True)
class ModelReply:
    """A text. `is_cut`: the model reached its output limit; `error`: the text was interrupted."""

    text: str
    is_cut: bool = False
    error: ServiceError | None = None


class UnfinishedStreamError(ServiceError):
    """A stream that could not be read to its end; a request without streaming may succeed."""


def finish_reason(message: AIMessage) -> str:
    """Return why the model stopped, in lower case; "" while it has not."""
    meta = message.response_metadata
    names = ("finish_reason", "done_reason", "stop_reason")  # the last is Anthropic's
    reason = next((str(meta[name]).lower() for name in names if meta.get(name)), "")
    return "" if reason in _EMPTY_REASONS else reason


def is_cut_off(message: AIMessage) -> bool:
    """Return whether the model reached its output limit."""
    return finish_reason(message) in _CUT_REASONS


def check_tool_message(message: AIMessage, spec: ModelSpec) -> AIMessage:
    """Return a message with the arguments of its tool calls parsed.

    Raises:
        ServiceError: the model did not end its message.
    """
    finish = finish_reason(message)
    if finish.startswith("malformed"):
        raise ServiceError("malformed", f"{spec} stopped ({finish})", is_retryable=True)
    if finish in _BLOCK_REASONS:
        raise ServiceError("blocked", f"{spec} stopped ({finish})")
    return _parse_invalid_calls(message)


def _parse_invalid_calls(message: AIMessage) -> AIMessage:
    """Return the message with loosely written JSON arguments of tool calls parsed."""
    calls, broken = list(message.tool_calls), []
    for call in message.invalid_tool_calls:
        arguments_text = str(call["args"] or "").strip()
        args = {} if arguments_text in ("", "null") else parse_single(arguments_text)
        if isinstance(args, dict) and call["name"]:
            calls.append({"name": call["name"], "args": args, "id": call["id"], "type": "tool_call"})
        else:
            broken.append(call)
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": broken})


def complete_text(message: AIMessage, spec: ModelSpec) -> str:
    """Return the text of a message, which may have reached the output limit.

    Raises:
        ServiceError: the text is missing, blocked or incomplete.
    """
    text = clean_output(str(message.text))
    if is_cut_off(message) and not is_blank(text):
        return text
    _check_reply(message, text, spec)
    return text


def streamed_reply(last: AIMessage | None, text: str, spec: ModelSpec) -> ModelReply:
    """Return the reply of a stream from its text and its last message, if that arrived.

    Raises:
        ServiceError: the text is missing, blocked or incomplete.
    """
    finish, blank = finish_reason(last) if last else "", is_blank(text)
    if last is None or finish in _BROKEN_REASONS:
        if not blank:
            raise UnfinishedStreamError("unreachable", f"{spec} broke off", is_retryable=True)
        raise ServiceError("malformed", f"{spec} answered without a text", is_retryable=True)
    if finish in _CUT_REASONS and not blank:
        return ModelReply(text, is_cut=True)
    if finish in _BLOCK_REASONS and not blank:
        raise ServiceError("blocked", f"{spec} stopped ({finish})")
    _check_reply(last, text, spec)
    return ModelReply(text)


def _check_reply(message: AIMessage, text: str, spec: ModelSpec) -> None:
    """Raise a ServiceError unless the message is a complete text."""
    finish = finish_reason(message)
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
    if not is_blank(text) and not finish and spec.protocol == "ollama":  # its last line gives the reason
        raise ServiceError("unreachable", f"{spec} broke off", is_retryable=True)
    if is_blank(text):
        suffix = f" ({finish})" if finish else ""
        raise ServiceError("malformed", f"{spec} answered without a text{suffix}", is_retryable=True)
