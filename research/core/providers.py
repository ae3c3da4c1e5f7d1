"""Who can be asked for a model or a search of the web, as tables: what ships, and what `models.toml` of
the data folder adds.

The tables are `data/providers.toml` and `data/searches.toml`, where each field is explained. An entry of
the desk's own file that has the name of a shipped one takes its place.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from research import data

FILE_NAME = "models.toml"
ProviderProtocol = Literal["gemini", "openai", "anthropic", "ollama"]
JSONMode = Literal["schema", "object", "words"]
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Provider(BaseModel):
    """A server of models: how it is reached, and what it takes. `context` is in tokens."""

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
        """The setting without which it cannot be asked."""
        return self.key if self.key and not self.keyless else self.address


class ResultFields(BaseModel):
    """Where the parts of a result stand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    url: str
    day: str
    text: tuple[str, ...]


class SearchService(BaseModel):
    """A search service that takes a key: what it is asked, and where its answer has what."""

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
    """The search services of the table, by name."""
    table = tomllib.loads(data.text("searches.toml"))
    return {name: SearchService(name=name, **entry) for name, entry in table.items()}


@cache
def shipped_providers() -> Mapping[str, Provider]:
    """The providers of the table, by name."""
    return _parse_providers(data.text("providers.toml"))


def load_providers(folder: Path) -> Mapping[str, Provider]:
    """The providers of the table and those of a data folder, by name.

    Raises:
        ValueError: the folder's file cannot be read, or an entry cannot be used; it says which.
    """
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # of the folder itself others tell
        return shipped_providers()
    except OSError as error:
        raise ValueError(f"{folder / FILE_NAME} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{folder / FILE_NAME} is not UTF-8") from None
    own = _parse_providers(text)
    for name, provider in own.items():
        if not _is_http_url(provider.url) and not provider.address and provider.wire != "gemini":
            raise ValueError(f"[{name}] needs url, an address such as http://127.0.0.1:8000/v1")
    return {**shipped_providers(), **own}


def _parse_providers(text: str) -> Mapping[str, Provider]:
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from None
    found = {}
    for name, entry in entries.items():
        if not _NAME_PATTERN.fullmatch(name):
            raise ValueError(f"[{name}] is no name of a provider: lower-case letters, digits, - and _")
        if not isinstance(entry, dict):
            raise ValueError(f"{name} stands outside of any provider: begin with a line such as [lab]")
        try:
            found[name] = Provider(**({"title": name} | entry | {"name": name}))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise ValueError(f"[{name}] {field}: {first['msg']}") from None
    return found


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
