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

FILE = "databases.toml"
OFF = "off"  # instead of a file: no database but that of DATABASE_URL
SHIPPED = "scenic-areas"  # what the database that ships is called
FILES = "files:"  # before the id of somebody's own files
MOST = 100  # entries of a file
HELP = (
    "an address such as postgresql://user:password@host/database, sqlite:////folder/file.db or "
    "duckdb:////folder/file.duckdb"
)
_NAME = re.compile(r"\w[\w .-]{0,39}")
Short = Annotated[str, Field(min_length=1, max_length=200)]


class Listed(BaseModel):
    """A database that can be chosen by its name. Of `schemas` none are all that may be read; what
    `leave_out` names, as `table` or `schema.table`, with * for any letters, is never read.
    `semantic` is the file that describes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    url: SecretStr
    description: Mapping[Language, str] = Field(default_factory=dict)
    schemas: tuple[Short, ...] = ()
    leave_out: tuple[Short, ...] = ()
    semantic: Path | None = None

    @field_validator("description", mode="before")
    @classmethod
    def _both(cls, given: object) -> object:
        return {"zh": given, "en": given} if isinstance(given, str) else given

    def told(self, language: Language) -> str:
        """What it is, in a language, or in the other one."""
        return self.description.get(language) or next(iter(self.description.values()), "")

    def may_read(self, schema: str, table: str) -> bool:
        """Whether a table may be read, by its schema and its name there."""
        if self.schemas and schema not in self.schemas:
            return False
        names = (table.lower(), f"{schema}.{table}".lower())
        return not any(fnmatchcase(name, one.lower()) for one in self.leave_out for name in names)


class Unlisted(NamedTuple):
    """An entry that cannot be used, and why."""

    name: str
    why: str


class Databases(NamedTuple):
    """What a file has. `default` is "" where it names none."""

    entries: tuple[Listed, ...] = ()
    wrong: tuple[Unlisted, ...] = ()
    default: str = ""


def databases(named: str, folder: Path, env: Mapping[str, str]) -> Databases:
    """The databases of a file, which is `databases.toml` of a folder where no other is `named`.

    Raises:
        ValueError: the file cannot be used; it says which and why.
    """
    if named.lower() == OFF:
        return Databases()
    file = Path(named).expanduser().absolute() if named else folder / FILE
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        if named:
            raise ValueError(f"{file} is not there") from None
        return Databases()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise ValueError(f"{file} is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    default = entries.pop("default", "")
    if len(entries) > MOST:
        raise ValueError(f"{file}: there are {len(entries)} databases; at most {MOST} can be used")
    found: dict[str, Listed] = {}
    wrong: list[Unlisted] = []
    for name, entry in entries.items():
        try:
            found[name] = _listed(name, entry, file.parent, env)
        except ValueError as error:
            wrong.append(Unlisted(" ".join(name.split())[:40], str(error)))
    if default and default not in (SHIPPED, *found):
        wrong.append(Unlisted("default", "it names none of the databases that can be used"))
        default = ""
    return Databases(tuple(found.values()), tuple(wrong), default)


def together(url: SecretStr, file: Databases) -> tuple[Listed, ...]:
    """All that can be chosen besides the database that ships. `url` is that of `DATABASE_URL`, "" for
    none; it comes first."""
    if not url.get_secret_value():
        return file.entries
    name = stem(url.get_secret_value())
    taken = {"", SHIPPED, *(one.name for one in file.entries)}
    return Listed(name="DATABASE_URL" if name in taken else name, url=url), *file.entries


def first(url: SecretStr, file: Databases) -> str:
    """The name of the database that is asked where none is chosen: that of `DATABASE_URL`, else the
    one that the file says, else its first one, else the one that ships."""
    known = [one.name for one in together(url, file)]
    if url.get_secret_value() or not file.default:
        return known[0] if known else SHIPPED
    return file.default


def stem(url: str) -> str:
    """What a database is called by its address: its own name, or that of its file."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    return Path(name).stem if url.startswith(("sqlite", "duckdb")) else name


def address(text: str, files: Sequence[str] = ("sqlite", "duckdb")) -> SecretStr | None:
    """An address of a database as the engines read it; None if it is none. `files` are the kinds of
    files that may be named."""
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme in files and re.fullmatch(r"/[^?]*[^?/]", rest) and rest != "/:memory:":
        return SecretStr(f"{scheme}://{rest}")
    if scheme in ("postgres", "postgresql", "postgresql+psycopg") and _whole(rest):
        return SecretStr(f"postgresql+psycopg://{rest}")
    return None


def _whole(rest: str) -> bool:
    """Whether an address is in one piece: a stray character of a password takes it apart."""
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError:
        return False
    one = parts.netloc.count("@") < 2 and parts.netloc.rpartition("@")[0].count(":") < 2
    named = re.fullmatch(r"/[^/@]+", parts.path)
    return bool(one and named) and port != 0 and not parts.fragment and "@" not in parts.query


def _listed(name: str, entry: object, folder: Path, env: Mapping[str, str]) -> Listed:
    """A database as its entry says. What is wrong is said without any value: it may be a password."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has letters, digits, spaces and . _ -, at most 40")
    if name == SHIPPED:
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
    found = address(url.strip())
    if found is None:
        raise ValueError(f"url must be {HELP}; in a user or password write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?")  # fmt: skip
    given = {key: value for key, value in entry.items() if key != "name"} | {"url": found}
    if isinstance(given.get("semantic"), str):
        given["semantic"] = folder / Path(given["semantic"]).expanduser()
    try:
        return Listed(name=name, **given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
