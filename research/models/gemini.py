"""Gemini's API: the chat model, and the JSON of a grounded answer.

The chat model is LangChain's ChatGoogleGenerativeAI over the google-genai client of the process. A
grounded answer is read as JSON: its offsets count the bytes of the text as it was sent.

Sources: https://ai.google.dev/api/generate-content and, for function calls,
https://ai.google.dev/gemini-api/docs/function-calling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from google import genai
    from langchain_core.runnables import Runnable
    from langchain_google_genai import ChatGoogleGenerativeAI

    from research.core.settings import Settings

# Sent with every request, whatever the library's default: version v1 lacks the `-latest` aliases
# and preview models, and may not support tools and system instructions.
API_VERSION = "v1beta"
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"
_VERSION_SUFFIX = re.compile(r"/v\d+(?:alpha|beta)?\d*/*$")


def base_url(settings: Settings) -> str:
    """Return the service's address without an API version: the configured one, which may end in a
    version, or else Google's."""
    return _VERSION_SUFFIX.sub("", settings.gemini_url).rstrip("/") or DEFAULT_BASE_URL


def build_model(name: str, settings: Settings, client_args: Mapping[str, Any]) -> ChatGoogleGenerativeAI:
    """Build a chat model with its own client, which `share_client` replaces."""
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(
        model=quote_model_name(name),
        api_key=settings.gemini_key,
        base_url=base_url(settings),
        api_version=API_VERSION,
        vertexai=False,  # otherwise environment variables choose the service
        temperature=None,  # otherwise 0.7 for every model other than Gemini 3
        max_retries=1,  # counts attempts, not retries
        client_args=dict(client_args),
    )


async def share_client(model: ChatGoogleGenerativeAI, client: genai.Client) -> None:
    """Replace a model's client by a shared one, and close the former."""
    await model.aclose()
    model.client = client


def bind_functions(model: ChatGoogleGenerativeAI, tools: Sequence[Mapping[str, Any]]) -> Runnable[Any, Any]:
    """Bind functions in OpenAI's format to a model.

    The model's own `bind_tools` changes the schemas of arguments: it declares an object without
    properties as a string, and optional members of nested objects as required.
    """
    from google.genai import types

    functions = [
        types.FunctionDeclaration(
            name=function["name"],
            description=function.get("description"),
            parameters_json_schema=function["parameters"],
        )
        for function in (tool["function"] for tool in tools)
    ]
    return model.bind(tools=[types.Tool(function_declarations=functions)])


async def generate_content(client: genai.Client, name: str, prompt: str, config: dict[str, Any]) -> Any:
    """Return the JSON of a model's answer as the service sent it.

    Args:
        config: Fields of google-genai's GenerateContentConfig.

    Raises:
        google.genai.errors.APIError: The service refuses the request.
        ValueError: The answer is not JSON.
    """
    from google.genai import types

    response = await client.aio.models.generate_content(
        model=quote_model_name(name),
        contents=prompt,
        config=types.GenerateContentConfig(**config, should_return_http_response=True),
    )
    http_response = response.sdk_http_response
    return json.loads(((http_response and http_response.body) or "").removeprefix("\ufeff"))


def quote_model_name(name: str) -> str:
    """Quote a model name for a URL path. The setting accepts any text."""
    return quote(name, safe="/:")


# Answers, of which any member may be missing


def get_member(json_object: Any, name: str) -> Any:
    """Return a member by its Python name, which the JSON may spell in snake case or camel case;
    None if it is absent."""
    return json_object.get(name, json_object.get(_camel_case(name))) if isinstance(json_object, dict) else None


@cache
def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def list_member(json_object: Any, name: str) -> list[Any]:
    """Return a member that is a list; [] for anything else."""
    value = get_member(json_object, name)
    return value if isinstance(value, list) else []


def count_member(json_object: Any, name: str) -> int | None:
    """Return a member that is a non-negative integer; None for anything else."""
    return parse_count(get_member(json_object, name))


def parse_count(value: Any) -> int | None:
    """Return a non-negative integer, which the JSON may hold as text; None for anything else."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
        return int(value)  # protocol buffers write long integers as JSON strings
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
