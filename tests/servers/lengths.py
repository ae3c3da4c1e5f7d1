"""What servers say of a prompt that is too long for them: the status, and the body with {limit} and
{asked} where they tell the tokens.

Sources: the error pages of the providers, the sources of the servers, and reports of their users.
"""

from __future__ import annotations

import json
from typing import Any


def _openai(message: str, code: str | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}


LENGTHS: dict[str, tuple[int, Any]] = {
    "openai": (400, _openai(
        "This model's maximum context length is {limit} tokens. However, your messages resulted in "
        "{asked} tokens. Please reduce the length of the messages.", "context_length_exceeded")),
    "openai responses": (400, _openai(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded")),
    "openai gpt-5": (400, _openai(
        "Input tokens exceed the configured limit of {limit} tokens. Your messages resulted in {asked} "
        "tokens.", "context_length_exceeded")),
    "openai minute": (429, _openai(
        "Request too large for gpt-4o in organization org-12ab on tokens per min (TPM): Limit {limit}, "
        "Requested {asked}. The input or output tokens must be reduced in order to run successfully.",
        "rate_limit_exceeded", "tokens")),
    "dashscope": (400, _openai(
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {limit}]",
        "invalid_parameter_error")),
    "moonshot": (400, _openai(
        "Invalid request: Your request exceeded model token limit: {limit} (requested: {asked})")),
    "moonshot short": (400, _openai("Your request exceeded model token limit: {limit}")),
    "zhipu": (400, {"error": {"code": "1261", "message": "Prompt 超长"}}),
    "zhipu english": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "deepseek": (400, _openai(
        "This model's maximum context length is {limit} tokens. However, you requested {asked} tokens "
        "({asked} in the messages, 0 in the completion). Please reduce the length of the messages or "
        "completion.")),
    "vllm": (400, {
        "object": "error", "type": "BadRequestError", "param": None, "code": 400,
        "message": "This model's maximum context length is {limit} tokens. However, your request has "
        "{asked} input tokens. Please reduce the length of the input messages."}),
    "vllm prompt": (400, _openai(
        "The decoder prompt (length {asked}) is longer than the maximum model length of {limit}. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens.",
        None, "BadRequestError")),
    "llama.cpp": (400, {"error": {
        "code": 400, "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": "{asked}", "n_ctx": "{limit}"}}),
    "llama.cpp old": (500, {"error": {
        "code": 500, "message": "context size exceeded, n_ctx is too small", "type": "server_error"}}),
    "lm studio": (400, {"error":
        "Trying to keep the first {asked} tokens when context the overflows. However, the model is "
        "loaded with context length of only {limit} tokens, which is not enough."}),
    "sglang": (400, {
        "object": "error", "code": 400, "type": "BadRequestError",
        "message": "The input ({asked} tokens) is longer than the model's context length ({limit} "
        "tokens)."}),
    "tgi": (422, {
        "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: "
        "{asked} `inputs` tokens and 0 `max_new_tokens`", "error_type": "validation"}),
    "fastapi": (422, {"detail": "Prompt too long: {asked} tokens exceed the limit of {limit}"}),
    "anthropic": (400, {"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: {asked} tokens > {limit} maximum"}}),
    "anthropic bytes": (413, {"type": "error", "error": {
        "type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    "bedrock": (400, {"message": "Input is too long for requested model."}),
    "mistral": (400, {
        "object": "error", "type": "invalid_request_error", "code": "3051",
        "message": "Prompt contains {asked} tokens and 0 draft tokens, too large for model with {limit} "
        "maximum context length"}),
    "groq": (413, _openai(
        "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit {limit}, "
        "Requested {asked}, please reduce your message size and try again.",
        "rate_limit_exceeded", "tokens")),
    "openrouter": (400, {"error": {
        "code": 400, "message": "This endpoint's maximum context length is {limit} tokens. However, you "
        "requested about {asked} tokens ({asked} of text input). Please reduce the length of either "
        "one, or use the \"middle-out\" transform."}}),
    "xai": (400, {
        "code": "Client specified an invalid argument",
        "error": "This model's maximum prompt length is {limit} but the request contains {asked} "
        "tokens."}),
    "siliconflow": (400, {
        "code": 20015, "data": None,
        "message": "length of prompt_tokens ({asked}) must be less than max_seq_len ({limit})."}),
    "volcengine": (400, _openai("Input length {asked} exceeds the maximum length {limit}.",
                                "InvalidParameter")),
    "minimax": (400, _openai("invalid params, context window exceeds limit (2013)")),
    "xunfei": (400, {"error": {"code": "10907", "message": "token 数量超过上限"}}),
    "qianfan": (400, {"error": {"code": "336007", "message": "输入内容过长，最大长度为{limit}"}}),
    "hunyuan": (400, {"error": {"message": "输入长度 {asked} 超出模型最大上下文长度 {limit}"}}),
    "github": (413, {"error": {
        "code": "tokens_limit_reached",
        "message": "Request body too large for gpt-4o model. Max size: {limit} tokens."}}),
    "cohere": (400, {
        "message": "too many tokens: total number of tokens in the prompt cannot exceed {limit} - received "
        "{asked}. Try using a shorter prompt."}),
    "llama-cpp-python": (500, {"error": {
        "code": None, "type": "internal_server_error",
        "message": "Requested tokens ({asked}) exceed context window of {limit}"}}),
    "chinese relay": (400, _openai("当前输入长度 {asked} tokens，大于模型支持的 {limit}")),
    "chinese relay short": (400, _openai("请求内容过长，请精简后重试")),
    "chinese dialogue": (400, {"message": "对话历史的tokens数 {asked} 高于 {limit}"}),
    "conversation": (400, {"detail": "This conversation is too long for the model."}),
    "sequence": (400, {"detail": "Sequence of {asked} tokens does not fit into {limit}"}),
    "fewer": (422, {"detail": "The total number of tokens, {asked}, must be fewer than {limit}"}),
    "size": (400, {"error": "requested {asked} tokens but context size is {limit}"}),
    "ollama": (400, {"error": "the input length exceeds the context length"}),
    "ollama cloud": (400, {"error": "prompt too long; exceeded max context length by 5000 tokens"}),
    "gemini": (400, {"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count ({asked}) exceeds the maximum number of tokens allowed "
        "({limit})."}}),
    "gemini old": (400, {"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count exceeds the maximum number of tokens allowed {limit}."}}),
    "proxy": (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
}  # fmt: skip


def too_long(wording: str, limit: int, asked: int) -> tuple[int, Any]:
    """The status and the body of a refusal; a text is a body that is no JSON."""
    status, body = LENGTHS[wording]
    text = json.dumps(body, ensure_ascii=False)
    for name, n in (("limit", limit), ("asked", asked)):
        text = text.replace(f'"{{{name}}}"', str(n)).replace(f"{{{name}}}", str(n))
    return status, json.loads(text)
