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

FILE = "models.toml"
Wire = Literal["gemini", "openai", "anthropic", "ollama"]
Form = Literal["schema", "object", "words"]
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Provider(BaseModel):
    """A server of models: how it is reached, and what it takes. `context` is in tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    wire: Wire = "openai"
    title: str = ""
    url: str = ""
    path: str = ""
    key: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$")
    address: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$")
    keyless: bool = False
    form: Form = Field(default="schema", alias="json")
    counted: bool = True
    context: int = Field(default=131_072, ge=2_048)
    keys_at: str = ""
    proof: str = "models"

    @property
    def needs(self) -> str:
        """The setting without which it cannot be asked."""
        return self.key if self.key and not self.keyless else self.address


class Fields(BaseModel):
    """Where the parts of a result stand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    url: str
    day: str
    text: tuple[str, ...]


class Search(BaseModel):
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
    fields: Fields
    markup: bool = False
    keys_at: str


@cache
def searches() -> Mapping[str, Search]:
    """The search services of the table, by name."""
    table = tomllib.loads(data.text("searches.toml"))
    return {name: Search(name=name, **entry) for name, entry in table.items()}


@cache
def shipped() -> Mapping[str, Provider]:
    """The providers of the table, by name."""
    return _read(data.text("providers.toml"))


def providers(folder: Path) -> Mapping[str, Provider]:
    """The providers of the table and those of a data folder, by name.

    Raises:
        ValueError: the folder's file cannot be read, or an entry cannot be used; it says which.
    """
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # of the folder itself others tell
        return shipped()
    except OSError as error:
        raise ValueError(f"{folder / FILE} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{folder / FILE} is not UTF-8") from None
    own = _read(text)
    for name, provider in own.items():
        if not _is_address(provider.url) and not provider.address and provider.wire != "gemini":
            raise ValueError(f"[{name}] needs url, an address such as http://127.0.0.1:8000/v1")
    return {**shipped(), **own}


def _read(text: str) -> Mapping[str, Provider]:
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from None
    found = {}
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"[{name}] is no name of a provider: lower-case letters, digits, - and _"
            )
        if not isinstance(entry, dict):
            raise ValueError(
                f"{name} stands outside of any provider: begin with a line such as [lab]"
            )
        try:
            found[name] = Provider(**({"title": name} | entry | {"name": name}))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise ValueError(f"[{name}] {field}: {first['msg']}") from None
    return found


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
