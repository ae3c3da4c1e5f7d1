"""Settings of the databases that can be queried, and of the database of the runs."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings

from research.core.database_config import parse_database_url
from research.core.settings.declaration import NO_KEY, SECTION_CONFIG, ValueKind, Variable


def check_database_url(url: SecretStr, file_schemes: tuple[str, ...], alternative: str) -> SecretStr:
    """Check the URL of a database and return it as SQLAlchemy expects it.

    `alternative` names what is used without it. The error does not repeat the value, which may be a
    password.
    """
    value = url.get_secret_value()
    if not value:
        return NO_KEY
    if parsed := parse_database_url(value, file_schemes):
        return parsed
    raise ValueError(
        "must be an address such as postgresql://user:password@host/database or sqlite:////folder/file.db; in a user "
        "or password write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?. "
        f"Correct it or remove it to use {alternative}."
    )


def _parse_database_url(url: SecretStr) -> SecretStr:
    """Return the URL of the database for questions as SQLAlchemy expects it."""
    return check_database_url(url, ("sqlite", "duckdb"), "the scenic areas that ship with Sightline")


class DatabaseSettings(BaseSettings):
    """The databases that questions are put to."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Database"
    section_note: ClassVar = ""

    database_url: Annotated[
        SecretStr,
        AfterValidator(_parse_database_url),
        ValueKind("database"),
        Variable(
            "DATABASE_URL",
            "The database to query: `sqlite:////folder/file.db`, `duckdb:////folder/file.duckdb` or "
            "`postgresql://user:password@host/database` (with the "
            "[drivers](deployment.md#runs-in-postgresql)). Nothing is ever written to it.",
            default_text="the scenic areas that ship",
            values_text="database",
        ),
    ] = NO_KEY
    databases_file: Annotated[
        str,
        Variable(
            "SIGHTLINE_DATABASES",
            "[Several databases](database.md#several-databases) to choose from; `off`: none, whatever the file says.",
            default_text="`databases.toml` in the data folder",
            values_text="file, `off`",
        ),
    ] = ""
    database_samples: Annotated[
        bool,
        Variable(
            "DATABASE_SAMPLES",
            "Read the values of columns that have few, and names similar to those in the question, and show "
            "them to the model. `off`: of an attached database, the model sees only tables, columns and "
            "comments.",
        ),
    ] = True
    database_timeout: Annotated[
        float, Field(ge=0.05, le=60), Variable("DATABASE_TIMEOUT", "Time limit for one statement.", unit="s")
    ] = 5.0
    database_rows: Annotated[
        int,
        Field(ge=1, le=10_000),
        Variable("DATABASE_ROWS", "Rows that a statement shows at most; further ones by page, all by export."),
    ] = 1_000
