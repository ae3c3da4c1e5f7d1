"""Tables of model providers and search services: those shipped, and those that `models.toml` of the
data folder adds.

The tables are `data/providers.toml` and `data/searches.toml`, which explain each field. An entry of
`models.toml` replaces a shipped one of the same name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from research import data
from research.core.config_files import first_problem
from research.core.urls import is_http_url

FILE_NAME = "models.toml"
ProviderProtocol = Literal["gemini", "openai", "anthropic", "ollama"]
JSONMode = Literal["schema", "object", "words"]
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Provider(BaseModel):
    """A model server: how it is reached and what it supports. The aliases are the fields of the table.

    `key_setting` and `url_setting` are the names of the settings with its key and with another URL, to
    which `path` is appended. `context_tokens` is the context length of a model of unknown length.
    `key_page` is the URL at which people get a key; `key_test_path` can be read with a valid key only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    protocol: ProviderProtocol = Field(default="openai", alias="wire")
    title: str = ""
    url: str = ""
    path: str = ""
    key_setting: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$", alias="key")
    url_setting: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$", alias="address")
    is_key_optional: bool = Field(default=False, alias="keyless")
    json_mode: JSONMode = Field(default="schema", alias="json")
    has_stream_usage: bool = Field(default=True, alias="counted")
    context_tokens: int = Field(default=131_072, ge=2_048, alias="context")
    key_page: str = Field(default="", alias="keys_at")
    key_test_path: str = Field(default="models", alias="proof")

    @property
    def required_setting(self) -> str:
        """Name of the setting without which the provider cannot be used."""
        return self.key_setting if self.key_setting and not self.is_key_optional else self.url_setting


class ResultFields(BaseModel):
    """Paths of the fields of a search result in the service's JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    url: str
    day: str
    text: tuple[str, ...]


class SearchService(BaseModel):
    """A search service with a key: its request, and where its response holds the results.

    The aliases are the fields of the table. `key_setting` and `url_setting` are the names of the
    settings with its key and with another URL. `header` is the name of the header with the key and the
    text before the key. In `parameters` {query} and {results} are filled in. `results_path` is the path
    of the list of results in the JSON. With `is_html` the texts of results are HTML.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    url: str
    key_setting: str = Field(alias="key")
    url_setting: str = Field(alias="address")
    method: Literal["GET", "POST"]
    header: tuple[str, str]
    parameters: Mapping[str, Any] = Field(alias="send")
    max_results: int = Field(alias="most")
    results_path: str = Field(alias="rows")
    result_fields: ResultFields = Field(alias="fields")
    is_html: bool = Field(default=False, alias="markup")
    key_page: str = Field(alias="keys_at")


@cache
def search_services() -> Mapping[str, SearchService]:
    """Return the shipped search services by name."""
    table = tomllib.loads(data.text("searches.toml"))
    return {name: SearchService(name=name, **entry) for name, entry in table.items()}


@cache
def shipped_providers() -> Mapping[str, Provider]:
    """Return the shipped model providers by name."""
    return _parse_providers(data.text("providers.toml"))


def load_providers(folder: Path) -> Mapping[str, Provider]:
    """Return the shipped providers and those of a data folder, by name.

    Raises:
        ValueError: The folder's file cannot be read, or an entry cannot be used; the message
            names it.
    """
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # a missing data folder is reported elsewhere
        return shipped_providers()
    except OSError as error:
        raise ValueError(f"{folder / FILE_NAME} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{folder / FILE_NAME} is not UTF-8") from None
    added = _parse_providers(text)
    for name, provider in added.items():
        if not is_http_url(provider.url) and not provider.url_setting and provider.protocol != "gemini":
            raise ValueError(f"[{name}] needs url, an address such as http://127.0.0.1:8000/v1")
    return {**shipped_providers(), **added}


def _parse_providers(text: str) -> Mapping[str, Provider]:
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from None
    providers = {}
    for name, entry in entries.items():
        if not _NAME_PATTERN.fullmatch(name):
            raise ValueError(f"[{name}] is no name of a provider: lower-case letters, digits, - and _")
        if not isinstance(entry, dict):
            raise ValueError(f"{name} stands outside of any provider: begin with a line such as [lab]")
        try:
            providers[name] = Provider(**({"title": name} | entry | {"name": name}))
        except ValidationError as error:
            raise ValueError(f"[{name}] {first_problem(error)}") from None
    return providers
