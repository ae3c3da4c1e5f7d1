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
from research.core.urls import is_http_url

FILE_NAME = "models.toml"
ProviderProtocol = Literal["gemini", "openai", "anthropic", "ollama"]
JSONMode = Literal["schema", "object", "words"]
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Provider(BaseModel):
    """A model server: how it is reached and what it supports. `context` is in tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    wire: ProviderProtocol = "openai"
    title: str = ""
    url: str = ""
    path: str = ""
    key: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$")
    address: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$")
    keyless: bool = False
    json_mode: JSONMode = Field(default="schema", alias="json")
    counted: bool = True
    context: int = Field(default=131_072, ge=2_048)
    keys_at: str = ""
    proof: str = "models"

    @property
    def required_setting(self) -> str:
        """Name of the setting without which the provider cannot be used."""
        return self.key if self.key and not self.keyless else self.address


class ResultFields(BaseModel):
    """Paths of the fields of a search result in the service's JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    url: str
    day: str
    text: tuple[str, ...]


class SearchService(BaseModel):
    """A search service with a key: its request, and where its response holds the results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    url: str
    key: str
    address: str
    method: Literal["GET", "POST"]
    header: tuple[str, str]
    send: Mapping[str, Any]
    most: int
    rows: str
    fields: ResultFields
    markup: bool = False
    keys_at: str


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
    own = _parse_providers(text)
    for name, provider in own.items():
        if not is_http_url(provider.url) and not provider.address and provider.wire != "gemini":
            raise ValueError(f"[{name}] needs url, an address such as http://127.0.0.1:8000/v1")
    return {**shipped_providers(), **own}


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
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise ValueError(f"[{name}] {field}: {first['msg']}") from None
    return providers
