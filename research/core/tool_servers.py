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

FILE_NAME = "mcp.json"
OFF = "off"  # instead of a file: no server at all
MAX_SERVERS = 50  # servers of a file
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE_PATTERN = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME_PATTERN = re.compile(r"(?i)key|token|secret|passw|credential|auth|cookie")
_NON_ALPHANUMERIC_PATTERN = re.compile(r"[^a-z0-9]+")
TransportType = Literal["stdio", "http", "streamable-http", "streamable_http", "streamableHttp"]
ShortText = Annotated[str, Field(min_length=1, max_length=200)]


class SearchTool(BaseModel):
    """The tool that a query is put to where no model chooses, the argument that takes the query, and
    what else it is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: ShortText
    argument: ShortText
    arguments: Mapping[str, Any] = Field(default_factory=dict)


class ToolServer(BaseModel):
    """A server as it is reached, and what of it may be used. Times are seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    type: TransportType | None = None
    command: str = ""
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: Mapping[str, SecretStr] = Field(default_factory=dict)
    url: str = Field(default="", repr=False)
    headers: Mapping[str, SecretStr] = Field(default_factory=dict)
    title: str = Field(default="", max_length=40)
    about: str = Field(default="", max_length=250)
    tools: tuple[ShortText, ...] | None = None  # None: those that say that they only read
    search: SearchTool | None = None
    timeout: float = Field(default=30.0, ge=0.05, le=300)
    calls: int = Field(default=8, ge=1, le=40)
    disabled: bool = False
    secrets: tuple[SecretStr, ...] = ()

    @model_validator(mode="after")
    def _check_transport(self) -> ToolServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("it needs command or url, and not both")
        if self.type and bool(self.url) == (self.type == "stdio"):
            raise ValueError(f"type {self.type} does not go with {'url' if self.url else 'command'}")
        if self.url and not _is_http_url(self.url):
            raise ValueError("url must be an address such as https://example.org/mcp")
        return self

    @property
    def source_name(self) -> str:
        """The name of the source that it is."""
        return f"mcp_{_NON_ALPHANUMERIC_PATTERN.sub('_', self.name.lower()).strip('_')}"[:32]

    @property
    def label(self) -> str:
        """What people are shown for a name."""
        return self.title or self.name


class InvalidToolServer(NamedTuple):
    """A server of a file that cannot be used, and why."""

    name: str
    reason: str


def load_servers(
    setting_value: str, folder: Path, env: Mapping[str, str]
) -> tuple[tuple[ToolServer, ...], tuple[InvalidToolServer, ...]]:
    """The servers of a file, which is `mcp.json` of a folder where no other is `named`.

    Raises:
        ValueError: the file cannot be used; it says which and why.
    """
    if setting_value.lower() == OFF:
        return (), ()
    file = Path(setting_value).expanduser() if setting_value else folder / FILE_NAME
    try:
        entries = _parse_entries(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        if setting_value:
            raise ValueError(f"{file} is not there") from None
        return (), ()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{file} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    found: dict[str, ToolServer] = {}
    wrong: list[InvalidToolServer] = []
    for name, entry in entries.items():
        try:
            one = _parse_server(name, entry, env)
            if one.source_name in found:
                raise ValueError(f"its name is too much like {found[one.source_name].name}")
        except ValueError as error:
            wrong.append(InvalidToolServer(name[:40], str(error)))
            continue
        if not one.disabled:
            found[one.source_name] = one
    return tuple(found.values()), tuple(wrong)


def _parse_entries(text: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    entries = told.get("mcpServers") if isinstance(told, dict) else None
    if not isinstance(entries, dict):
        raise ValueError('there is no object "mcpServers"')
    if len(entries) > MAX_SERVERS:
        raise ValueError(f"there are {len(entries)} servers; at most {MAX_SERVERS} can be used")
    return entries


def _parse_server(name: str, entry: object, env: Mapping[str, str]) -> ToolServer:
    """A server as its entry says. What is wrong is said without any value: it may be a secret."""
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError("a name has letters, digits, spaces and . _ -, at most 40")
    if not isinstance(entry, dict):
        raise ValueError("its entry is no object")
    given = {key: value for key, value in entry.items() if key not in ("name", "secrets")}
    secrets: list[str] = []
    for field in ("env", "headers"):
        if isinstance(values := given.get(field), dict):
            given[field] = dict(_substitute_variables(field, values, env, secrets))
    url = given.get("url")
    if isinstance(url, str) and _is_http_url(url):
        secrets.append(urlsplit(url).password or "")
    try:
        return ToolServer(**given, name=name, secrets=tuple(map(SecretStr, filter(None, secrets))))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{field}: {message}" if field else message) from None


def _substitute_variables(
    field: str, values: Mapping[str, Any], env: Mapping[str, str], secrets: list[str]
) -> Iterator[tuple[str, Any]]:
    """Values with the variables that they name; what must not be told goes into `secrets`."""
    for name, value in values.items():
        if not isinstance(value, str):
            yield name, value
            continue
        for variable in _VARIABLE_PATTERN.findall(value):
            if variable not in env:
                raise ValueError(f"{field}.{name}: the variable {variable} is not set")
            secrets.append(env[variable])
        filled = _VARIABLE_PATTERN.sub(lambda found: env[found[1]], value)
        if field == "headers" or _SECRET_NAME_PATTERN.search(name):
            secrets += [filled, *filled.split()[1:]]  # "Bearer KEY" is KEY as well
        yield name, filled


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def server_secrets(servers: Iterable[ToolServer]) -> Iterator[str]:
    """What of servers is shown nowhere."""
    return (value.get_secret_value() for one in servers for value in one.secrets)
