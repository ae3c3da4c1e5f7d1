"""Gemini's API: the model that plans, reflects, writes and checks, and the JSON of a grounded answer.

The model is LangChain's ChatGoogleGenerativeAI over the google-genai client of the process. A grounded
answer is read as JSON: its offsets count the bytes of the text as it was sent.

Sources: https://ai.google.dev/api/generate-content and, for the calls of functions,
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

# Sent with every request, whatever the library's own default: the version v1 lacks the `-latest`
# aliases and previews of models, and need not know tools and system instructions.
API_VERSION = "v1beta"
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"
_VERSION_SUFFIX = re.compile(r"/v\d+(?:alpha|beta)?\d*/*$")


def base_url(settings: Settings) -> str:
    """Return the address of the service without an API version: the one that is set, which may end in
    a version, or else Google's."""
    return _VERSION_SUFFIX.sub("", settings.gemini_url).rstrip("/") or DEFAULT_BASE_URL


def build_model(name: str, settings: Settings, client_args: Mapping[str, Any]) -> ChatGoogleGenerativeAI:
    """Build a chat model with a client of its own, for which `share_client` puts another."""
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(
        model=quote_model_name(name),
        api_key=settings.gemini_key,
        base_url=base_url(settings),
        api_version=API_VERSION,
        vertexai=False,  # else variables of the environment choose the service
        temperature=None,  # else 0.7 for every name that is none of Gemini 3
        max_retries=1,  # attempts, not repeats
        client_args=dict(client_args),
    )


async def share_client(model: ChatGoogleGenerativeAI, client: genai.Client) -> None:
    """Let a model use a client that others use as well; its own is closed."""
    await model.aclose()
    model.client = client


def bind_functions(model: ChatGoogleGenerativeAI, tools: Sequence[Mapping[str, Any]]) -> Runnable[Any, Any]:
    """Bind functions in OpenAI's form to a model.

    The model's own `bind_tools` changes the schemas of arguments: it declares an object without properties
    as a text, and optional members of objects within objects as required.
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
        config: Members of google-genai's GenerateContentConfig.

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
    sent = response.sdk_http_response
    return json.loads(((sent and sent.body) or "").removeprefix("\ufeff"))


def quote_model_name(name: str) -> str:
    """Return a name of a model as a part of the path of a request. Anything may be set as a name."""
    return quote(name, safe="/:")


# Answers, of which any member may be missing


def get_member(json_object: Any, name: str) -> Any:
    """Return a member by its name in Python, which the JSON may spell as such or with capitals; None if
    it is not there."""
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
    """Return a member that is a whole number from 0 on."""
    return parse_count(get_member(json_object, name))


def parse_count(value: Any) -> int | None:
    """Return a whole number from 0 on, which the JSON may write as a text; None for anything else."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
        return int(value)  # as the JSON of protocol buffers writes long numbers
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
