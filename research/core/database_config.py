"""Which databases there are to ask: `databases.toml` of the data folder, or the file that is named instead.

An entry is a table `[name]` with `url`, and, where wanted, `description` (a text, or one each in `zh`
and `en`), `schemas`, `leave_out` and `semantic`. A `url` of `env:NAME` is that of a variable of our
environment, so that no password has to stand in the file. `default`, above all entries, names the one
that is asked where none is chosen.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from research.core.records import Language

FILE_NAME = "databases.toml"
OFF = "off"  # instead of a file: no database but that of DATABASE_URL
SHIPPED_DATABASE = "scenic-areas"  # what the database that ships is called
UPLOADED_FILES_PREFIX = "files:"  # before the id of somebody's own files
MAX_ENTRIES = 100  # entries of a file
URL_HELP = (
    "an address such as postgresql://user:password@host/database, sqlite:////folder/file.db or "
    "duckdb:////folder/file.duckdb"
)
_NAME_PATTERN = re.compile(r"\w[\w .-]{0,39}")
ShortText = Annotated[str, Field(min_length=1, max_length=200)]


class DatabaseConfig(BaseModel):
    """A database that can be chosen by its name. Of `schemas` none are all that may be read; what
    `leave_out` names, as `table` or `schema.table`, with * for any letters, is never read.
    `semantic` is the file that describes it."""

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

    def description_in(self, language: Language) -> str:
        """What it is, in a language, or in the other one."""
        return self.description.get(language) or next(iter(self.description.values()), "")

    def can_read(self, schema: str, table: str) -> bool:
        """Whether a table may be read, by its schema and its name there."""
        if self.schemas and schema not in self.schemas:
            return False
        names = (table.lower(), f"{schema}.{table}".lower())
        return not any(fnmatchcase(name, one.lower()) for one in self.leave_out for name in names)


class InvalidDatabase(NamedTuple):
    """An entry that cannot be used, and why."""

    name: str
    reason: str


class DatabaseConfigs(NamedTuple):
    """What a file has. `default` is "" where it names none."""

    entries: tuple[DatabaseConfig, ...] = ()
    invalid: tuple[InvalidDatabase, ...] = ()
    default: str = ""


def load_databases(setting_value: str, folder: Path, env: Mapping[str, str]) -> DatabaseConfigs:
    """The databases of a file, which is `databases.toml` of a folder where no other is `named`.

    Raises:
        ValueError: the file cannot be used; it says which and why.
    """
    if setting_value.lower() == OFF:
        return DatabaseConfigs()
    file = Path(setting_value).expanduser().absolute() if setting_value else folder / FILE_NAME
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        if setting_value:
            raise ValueError(f"{file} is not there") from None
        return DatabaseConfigs()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{file} is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    default = entries.pop("default", "")
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"{file}: there are {len(entries)} databases; at most {MAX_ENTRIES} can be used")
    found: dict[str, DatabaseConfig] = {}
    wrong: list[InvalidDatabase] = []
    for name, entry in entries.items():
        try:
            found[name] = _parse_entry(name, entry, file.parent, env)
        except ValueError as error:
            wrong.append(InvalidDatabase(" ".join(name.split())[:40], str(error)))
    if default and default not in (SHIPPED_DATABASE, *found):
        wrong.append(InvalidDatabase("default", "it names none of the databases that can be used"))
        default = ""
    return DatabaseConfigs(tuple(found.values()), tuple(wrong), default)


def list_databases(url: SecretStr, configs: DatabaseConfigs) -> tuple[DatabaseConfig, ...]:
    """All that can be chosen besides the database that ships. `url` is that of `DATABASE_URL`, "" for
    none; it comes first."""
    if not url.get_secret_value():
        return configs.entries
    name = database_name(url.get_secret_value())
    taken = {"", SHIPPED_DATABASE, *(one.name for one in configs.entries)}
    return DatabaseConfig(name="DATABASE_URL" if name in taken else name, url=url), *configs.entries


def default_database(url: SecretStr, configs: DatabaseConfigs) -> str:
    """The name of the database that is asked where none is chosen: that of `DATABASE_URL`, else the
    one that the file says, else its first one, else the one that ships."""
    known = [one.name for one in list_databases(url, configs)]
    if url.get_secret_value() or not configs.default:
        return known[0] if known else SHIPPED_DATABASE
    return configs.default


def database_name(url: str) -> str:
    """What a database is called by its address: its own name, or that of its file."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    return Path(name).stem if url.startswith(("sqlite", "duckdb")) else name


def parse_database_url(text: str, file_schemes: Sequence[str] = ("sqlite", "duckdb")) -> SecretStr | None:
    """An address of a database as the engines read it; None if it is none. `files` are the kinds of
    files that may be named."""
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme in file_schemes and re.fullmatch(r"/[^?]*[^?/]", rest) and rest != "/:memory:":
        return SecretStr(f"{scheme}://{rest}")
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and _is_well_formed(rest):
        return SecretStr(f"postgresql+psycopg://{rest}")
    return None


def _is_well_formed(rest: str) -> bool:
    """Whether an address is in one piece: a stray character of a password takes it apart."""
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError:
        return False
    one = parts.netloc.count("@") < 2 and parts.netloc.rpartition("@")[0].count(":") < 2
    named = re.fullmatch(r"/[^/@]+", parts.path)
    return bool(one and named) and port != 0 and not parts.fragment and "@" not in parts.query


def _parse_entry(name: str, entry: object, folder: Path, env: Mapping[str, str]) -> DatabaseConfig:
    """A database as its entry says. What is wrong is said without any value: it may be a password."""
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
    found = parse_database_url(url.strip())
    if found is None:
        raise ValueError(f"url must be {URL_HELP}; in a user or password write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?")  # fmt: skip
    given = {key: value for key, value in entry.items() if key != "name"} | {"url": found}
    if isinstance(given.get("semantic"), str):
        given["semantic"] = folder / Path(given["semantic"]).expanduser()
    try:
        return DatabaseConfig(name=name, **given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
