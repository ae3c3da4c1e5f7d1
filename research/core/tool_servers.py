"""Configured MCP servers: `mcp.json` of the data folder, or the file that the setting names.

The format is that of other MCP clients: an object `mcpServers` with an entry for each server, of
`command`, `args` and `env`, or of `url` and `headers`. `${NAME}` in a value of `env` or `headers`
stands for an environment variable. Our additional fields are in docs/mcp.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from research.core.config_files import OFF, InvalidEntry, ShortText, first_problem, read_config
from research.core.urls import is_http_url

FILE_NAME = "mcp.json"
MAX_SERVERS = 50
_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")
_VARIABLE_PATTERN = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME_PATTERN = re.compile(r"(?i)key|token|secret|passw|credential|auth|cookie")
_NON_ALPHANUMERIC_PATTERN = re.compile(r"[^a-z0-9]+")
TransportType = Literal["stdio", "http", "streamable-http", "streamable_http", "streamableHttp"]


class SearchTool(BaseModel):
    """The tool that receives the query when no model chooses one, the argument that takes the
    query, and fixed further arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: ShortText
    argument: ShortText
    arguments: Mapping[str, Any] = Field(default_factory=dict)


class ToolServer(BaseModel):
    """Connection and permitted tools of an MCP server. Times are in seconds."""

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
    tools: tuple[ShortText, ...] | None = None  # None: the tools annotated as read-only
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
        if self.url and not is_http_url(self.url):
            raise ValueError("url must be an address such as https://example.org/mcp")
        return self

    @property
    def source_name(self) -> str:
        """Name of the server as a source."""
        return f"mcp_{_NON_ALPHANUMERIC_PATTERN.sub('_', self.name.lower()).strip('_')}"[:32]

    @property
    def label(self) -> str:
        """Display name."""
        return self.title or self.name


def load_servers(
    setting_value: str, folder: Path, env: Mapping[str, str]
) -> tuple[tuple[ToolServer, ...], tuple[InvalidEntry, ...]]:
    """Load the MCP servers of the file `setting_value`, or else of `mcp.json` in the folder; none with
    `OFF`.

    Returns:
        The usable servers that are not disabled, and the invalid entries.

    Raises:
        ValueError: The file cannot be used; the message names it and the reason.
    """
    if setting_value.lower() == OFF:
        return (), ()
    file = Path(setting_value).expanduser() if setting_value else folder / FILE_NAME
    text = read_config(file, is_required=bool(setting_value))
    if text is None:
        return (), ()
    try:
        entries = _parse_entries(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    servers: dict[str, ToolServer] = {}
    invalid: list[InvalidEntry] = []
    for name, entry in entries.items():
        try:
            server = _parse_server(name, entry, env)
            if server.source_name in servers:
                raise ValueError(f"its name is too much like {servers[server.source_name].name}")
        except ValueError as error:
            invalid.append(InvalidEntry(name[:40], str(error)))
            continue
        if not server.disabled:
            servers[server.source_name] = server
    return tuple(servers.values()), tuple(invalid)


def _parse_entries(text: str) -> Mapping[str, Any]:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    entries = parsed.get("mcpServers") if isinstance(parsed, dict) else None
    if not isinstance(entries, dict):
        raise ValueError('there is no object "mcpServers"')
    if len(entries) > MAX_SERVERS:
        raise ValueError(f"there are {len(entries)} servers; at most {MAX_SERVERS} can be used")
    return entries


def _parse_server(name: str, entry: object, env: Mapping[str, str]) -> ToolServer:
    """Parse one entry. Errors never contain a value, which may be a secret."""
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError("a name has letters, digits, spaces and . _ -, at most 40")
    if not isinstance(entry, dict):
        raise ValueError("its entry is no object")
    fields = {key: value for key, value in entry.items() if key not in ("name", "secrets")}
    secrets: list[str] = []
    for field in ("env", "headers"):
        if isinstance(values := fields.get(field), dict):
            fields[field] = dict(_substitute_variables(field, values, env, secrets))
    url = fields.get("url")
    if isinstance(url, str) and is_http_url(url):
        secrets.append(urlsplit(url).password or "")
    try:
        return ToolServer(**fields, name=name, secrets=tuple(map(SecretStr, filter(None, secrets))))
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None


def _substitute_variables(
    field: str, values: Mapping[str, Any], env: Mapping[str, str], secrets: list[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the values with their variables filled in; add those to mask to `secrets`."""
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
            secrets += [filled, *filled.split()[1:]]  # of "Bearer KEY" mask KEY as well
        yield name, filled


def server_secrets(servers: Iterable[ToolServer]) -> Iterator[str]:
    """Yield the secrets of servers, which are masked everywhere."""
    return (value.get_secret_value() for server in servers for value in server.secrets)
