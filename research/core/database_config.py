"""Configured databases: `databases.toml` of the data folder, or the file that the setting names.

An entry is a table `[name]` with `url` and optionally `description` (one text, or one each in `zh`
and `en`), `schemas`, `leave_out` and `semantic`. A `url` of `env:NAME` is read from that
environment variable, so that no password has to stand in the file. The top-level key `default`
names the database that is queried when none is chosen.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from research.core.config_files import OFF, InvalidEntry, ShortText, first_problem, read_config
from research.core.records import Language

FILE_NAME = "databases.toml"
SHIPPED_DATABASE = "scenic-areas"  # name of the shipped database
UPLOADED_FILES_PREFIX = "files:"  # prefix of the id of uploaded files
MAX_ENTRIES = 100  # entries of a file
URL_HELP = (
    "an address such as postgresql://user:password@host/database, sqlite:////folder/file.db or "
    "duckdb:////folder/file.duckdb"
)
_NAME_PATTERN = re.compile(r"\w[\w .-]{0,39}")


class DatabaseConfig(BaseModel):
    """A database that can be chosen by name.

    All schemas may be read unless `schemas` lists some. Tables in `leave_out`, as `table` or
    `schema.table` with * as a wildcard, are never read. `semantic` is the file that describes the
    database.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    url: SecretStr
    description: Mapping[Language, str] = Field(default_factory=dict)
    schemas: tuple[ShortText, ...] = ()
    leave_out: tuple[ShortText, ...] = ()
    semantic: Path | None = None

    @field_validator("description", mode="before")
    @classmethod
    def _expand_description(cls, value: object) -> object:
        return {"zh": value, "en": value} if isinstance(value, str) else value

    def can_read(self, schema: str, table: str) -> bool:
        """Return whether a table may be read."""
        if self.schemas and schema not in self.schemas:
            return False
        names = (table.lower(), f"{schema}.{table}".lower())
        return not any(fnmatchcase(name, pattern.lower()) for pattern in self.leave_out for name in names)


class DatabaseConfigs(NamedTuple):
    """Contents of a configuration file. `default` is "" where the file names none."""

    entries: tuple[DatabaseConfig, ...] = ()
    invalid: tuple[InvalidEntry, ...] = ()
    default: str = ""


def load_databases(setting_value: str, folder: Path, env: Mapping[str, str]) -> DatabaseConfigs:
    """Load the databases of the file `setting_value`, or else of `databases.toml` in the folder; with
    `OFF` there are none but that of `DATABASE_URL`.

    Raises:
        ValueError: The file cannot be used; the message names it and the reason.
    """
    if setting_value.lower() == OFF:
        return DatabaseConfigs()
    file = Path(setting_value).expanduser().absolute() if setting_value else folder / FILE_NAME
    text = read_config(file, is_required=bool(setting_value))
    if text is None:
        return DatabaseConfigs()
    try:
        entries = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    default = entries.pop("default", "")
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"{file}: there are {len(entries)} databases; at most {MAX_ENTRIES} can be used")
    valid: dict[str, DatabaseConfig] = {}
    invalid: list[InvalidEntry] = []
    for name, entry in entries.items():
        try:
            valid[name] = _parse_entry(name, entry, file.parent, env)
        except ValueError as error:
            invalid.append(InvalidEntry(" ".join(name.split())[:40], str(error)))
    if default and default not in (SHIPPED_DATABASE, *valid):
        invalid.append(InvalidEntry("default", "it names none of the databases that can be used"))
        default = ""
    return DatabaseConfigs(tuple(valid.values()), tuple(invalid), default)


def list_databases(url: SecretStr, configs: DatabaseConfigs) -> tuple[DatabaseConfig, ...]:
    """Return the databases that can be chosen besides the shipped one. The one of `DATABASE_URL`
    comes first; an empty `url` means there is none."""
    if not url.get_secret_value():
        return configs.entries
    name = database_name(url.get_secret_value())
    taken = {"", SHIPPED_DATABASE, *(entry.name for entry in configs.entries)}
    return DatabaseConfig(name="DATABASE_URL" if name in taken else name, url=url), *configs.entries


def default_database(url: SecretStr, configs: DatabaseConfigs) -> str:
    """Return the name of the database that is queried when none is chosen: that of `DATABASE_URL`,
    else the file's default, else the first entry of the file, else the shipped one."""
    names = [entry.name for entry in list_databases(url, configs)]
    if url.get_secret_value() or not configs.default:
        return names[0] if names else SHIPPED_DATABASE
    return configs.default


def database_name(url: str) -> str:
    """Return the name of a database by its URL, for a file its name without suffix."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    return Path(name).stem if url.startswith(("sqlite", "duckdb")) else name


def parse_database_url(text: str, file_schemes: Sequence[str] = ("sqlite", "duckdb")) -> SecretStr | None:
    """Normalise the URL of a database for SQLAlchemy; None if it is not one. `file_schemes` are the
    accepted kinds of file."""
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme in file_schemes and re.fullmatch(r"/[^?]*[^?/]", rest) and rest != "/:memory:":
        return SecretStr(f"{scheme}://{rest}")
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and _is_well_formed(rest):
        return SecretStr(f"postgresql+psycopg://{rest}")
    return None


def _is_well_formed(url_rest: str) -> bool:
    """Return whether a URL, without its scheme, parses into one host and one database. An unescaped
    character in the password would split it elsewhere."""
    try:
        parts = urlsplit(f"//{url_rest}")
        port = parts.port
    except ValueError:
        return False
    has_one_login = parts.netloc.count("@") < 2 and parts.netloc.rpartition("@")[0].count(":") < 2
    has_database = re.fullmatch(r"/[^/@]+", parts.path)
    return bool(has_one_login and has_database) and port != 0 and not parts.fragment and "@" not in parts.query


def _parse_entry(name: str, entry: object, folder: Path, env: Mapping[str, str]) -> DatabaseConfig:
    """Parse one entry. Errors never contain a value, which may be a password."""
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError("a name has letters, digits, spaces and . _ -, at most 40")
    if name == SHIPPED_DATABASE:
        raise ValueError("the database that ships is called so")
    if not isinstance(entry, dict):
        raise ValueError(f"it stands outside of any entry: begin with a line such as [{name}]")
    url = entry.get("url")
    if not isinstance(url, str) or not url.strip():
        raise ValueError("it needs url")
    if url.startswith("env:"):
        variable = url.removeprefix("env:").strip()
        if not re.fullmatch(r"[A-Za-z_]\w*", variable):
            raise ValueError("after env: stands the name of a variable of the environment")
        url = env.get(variable, "")
        if not url.strip():
            raise ValueError(f"the variable {variable} is not set")
    parsed_url = parse_database_url(url.strip())
    if parsed_url is None:
        raise ValueError(
            f"url must be {URL_HELP}; in a user or password write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?"
        )
    fields = {key: value for key, value in entry.items() if key != "name"} | {"url": parsed_url}
    if isinstance(fields.get("semantic"), str):
        fields["semantic"] = folder / Path(fields["semantic"]).expanduser()
    try:
        return DatabaseConfig(name=name, **fields)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
