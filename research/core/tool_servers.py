"""Which servers of tools there are: `mcp.json` of the data folder, or the file that is named instead.

The form is the one that other clients of MCP read: an object `mcpServers` with an entry for each
server, of `command`, `args` and `env`, or of `url` and `headers`. `${NAME}` in a value of `env` or
`headers` stands for a variable of our environment. What is ours beside that is in docs/mcp.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

FILE = "mcp.json"
OFF = "off"  # instead of a file: no server at all
MOST = 50  # servers of a file
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(r"(?i)key|token|secret|passw|credential|auth|cookie")
_BLANK = re.compile(r"[^a-z0-9]+")
Kind = Literal["stdio", "http", "streamable-http", "streamable_http", "streamableHttp"]
Short = Annotated[str, Field(min_length=1, max_length=200)]


class Search(BaseModel):
    """The tool that a query is put to where no model chooses, the argument that takes the query, and
    what else it is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Short
    argument: Short
    arguments: Mapping[str, Any] = Field(default_factory=dict)


class ToolServer(BaseModel):
    """A server as it is reached, and what of it may be used. Times are seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    type: Kind | None = None
    command: str = ""
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: Mapping[str, SecretStr] = Field(default_factory=dict)
    url: str = Field(default="", repr=False)
    headers: Mapping[str, SecretStr] = Field(default_factory=dict)
    title: str = Field(default="", max_length=40)
    about: str = Field(default="", max_length=250)
    tools: tuple[Short, ...] | None = None  # None: those that say that they only read
    search: Search | None = None
    timeout: float = Field(default=30.0, ge=0.05, le=300)
    calls: int = Field(default=8, ge=1, le=40)
    disabled: bool = False
    secrets: tuple[SecretStr, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> ToolServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("it needs command or url, and not both")
        if self.type and bool(self.url) == (self.type == "stdio"):
            raise ValueError(
                f"type {self.type} does not go with {'url' if self.url else 'command'}"
            )
        if self.url and not _is_address(self.url):
            raise ValueError("url must be an address such as https://example.org/mcp")
        return self

    @property
    def source(self) -> str:
        """The name of the source that it is."""
        return f"mcp_{_BLANK.sub('_', self.name.lower()).strip('_')}"[:32]

    @property
    def label(self) -> str:
        """What people are shown for a name."""
        return self.title or self.name


class Unusable(NamedTuple):
    """A server of a file that cannot be used, and why."""

    name: str
    why: str


def servers(
    named: str, folder: Path, env: Mapping[str, str]
) -> tuple[tuple[ToolServer, ...], tuple[Unusable, ...]]:
    """The servers of a file, which is `mcp.json` of a folder where no other is `named`.

    Raises:
        ValueError: the file cannot be used; it says which and why.
    """
    if named.lower() == OFF:
        return (), ()
    file = Path(named).expanduser() if named else folder / FILE
    try:
        entries = _entries(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        if named:
            raise ValueError(f"{file} is not there") from None
        return (), ()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{file} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    found: dict[str, ToolServer] = {}
    wrong: list[Unusable] = []
    for name, entry in entries.items():
        try:
            one = _server(name, entry, env)
            if one.source in found:
                raise ValueError(f"its name is too much like {found[one.source].name}")
        except ValueError as error:
            wrong.append(Unusable(name[:40], str(error)))
            continue
        if not one.disabled:
            found[one.source] = one
    return tuple(found.values()), tuple(wrong)


def _entries(text: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    entries = told.get("mcpServers") if isinstance(told, dict) else None
    if not isinstance(entries, dict):
        raise ValueError('there is no object "mcpServers"')
    if len(entries) > MOST:
        raise ValueError(f"there are {len(entries)} servers; at most {MOST} can be used")
    return entries


def _server(name: str, entry: object, env: Mapping[str, str]) -> ToolServer:
    """A server as its entry says. What is wrong is said without any value: it may be a secret."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has letters, digits, spaces and . _ -, at most 40")
    if not isinstance(entry, dict):
        raise ValueError("its entry is no object")
    given = {key: value for key, value in entry.items() if key not in ("name", "secrets")}
    secrets: list[str] = []
    for field in ("env", "headers"):
        if isinstance(values := given.get(field), dict):
            given[field] = dict(_filled(field, values, env, secrets))
    url = given.get("url")
    if isinstance(url, str) and _is_address(url):
        secrets.append(urlsplit(url).password or "")
    try:
        return ToolServer(**given, name=name, secrets=tuple(map(SecretStr, filter(None, secrets))))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{field}: {message}" if field else message) from None


def _filled(
    field: str, values: Mapping[str, Any], env: Mapping[str, str], secrets: list[str]
) -> Iterator[tuple[str, Any]]:
    """Values with the variables that they name; what must not be told goes into `secrets`."""
    for name, value in values.items():
        if not isinstance(value, str):
            yield name, value
            continue
        for variable in _VARIABLE.findall(value):
            if variable not in env:
                raise ValueError(f"{field}.{name}: the variable {variable} is not set")
            secrets.append(env[variable])
        filled = _VARIABLE.sub(lambda found: env[found[1]], value)
        if field == "headers" or _SECRET.search(name):
            secrets += [filled, *filled.split()[1:]]  # "Bearer KEY" is KEY as well
        yield name, filled


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def secrets(found: Iterable[ToolServer]) -> Iterator[str]:
    """What of servers is shown nowhere."""
    return (value.get_secret_value() for one in found for value in one.secrets)
