"""Settings of the server: its folder, the database of the runs, workers, and traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings

from research.core.settings.database import check_database_url
from research.core.settings.declaration import (
    LOWER_CASE,
    NO_KEY,
    SECTION_CONFIG,
    Address,
    Key,
    ValueKind,
    Variable,
    parse_address,
)

MIN_TOKEN_CHARS = 16
MAX_WORKERS = 64


def _parse_store_url(url: SecretStr) -> SecretStr:
    """Return the URL of the database of the runs as SQLAlchemy expects it."""
    return check_database_url(url, ("sqlite",), "a file in SIGHTLINE_DATA_DIR")  # DuckDB cannot store runs


def _parse_workers(value: str) -> str:
    """Return "auto", or a number of worker processes without a decimal point."""
    if value == "auto":
        return value
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not 0 <= number <= MAX_WORKERS or number != int(number):
        raise ValueError(
            f"is {value!r}; it must be auto, or a whole number from 0 to {MAX_WORKERS}. "
            "Correct it or remove it to use the default, auto."
        )
    return str(int(number))


def _check_token(token: SecretStr) -> SecretStr:
    """Check the length of a self-chosen secret, so that it cannot be guessed."""
    if 0 < len(token.get_secret_value()) < MIN_TOKEN_CHARS:
        raise ValueError(
            f"has fewer than {MIN_TOKEN_CHARS} characters. Set a longer one, such as "
            "`openssl rand -hex 32` prints, or remove it."
        )
    return token


def _check_traces_url(value: str) -> str:
    """Check the URL for traces, which OpenTelemetry uses unchanged, including a final slash."""
    parse_address(value)
    return value


def _parse_traces_exporter(value: str) -> str:
    """Return "otlp", the one supported exporter, or "none" if the setting names others only."""
    return "otlp" if "otlp" in [name.strip() for name in value.lower().split(",")] else "none"


def _parse_disabled(value: str) -> str:
    """Return "true" for true in any case; anything else is false, as OpenTelemetry specifies."""
    return "true" if value.lower() == "true" else "false"


class ServerSettings(BaseSettings):
    """The server and its data."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "The server"
    section_note: ClassVar = ""

    data_dir: Annotated[
        Path,
        ValueKind("folder"),
        Variable(
            "SIGHTLINE_DATA_DIR",
            "Where runs, the library and checkpoints are kept: a folder of its own, which Sightline makes "
            "private to the account it runs as (mode 700, files 600).",
            default_text="the user data folder",
            values_text="folder",
        ),
    ]
    store_url: Annotated[
        SecretStr,
        AfterValidator(_parse_store_url),
        ValueKind("database"),
        Variable(
            "STORE_URL",
            "Another place for runs and checkpoints: `postgresql://user:password@host/database`, or "
            "`sqlite:////folder/runs.db` with the checkpoints beside it.",
            default_text="`runs.db` in the data folder",
            values_text="database",
        ),
    ] = NO_KEY
    max_runs: Annotated[
        int,
        Field(ge=0, le=100_000),
        Variable(
            "SIGHTLINE_MAX_RUNS",
            "Runs under way at the same time, across all processes that share a store; others queue and say "
            "so. 0 is no limit.",
        ),
    ] = 100
    max_runs_per_owner: Annotated[
        int, Field(ge=0, le=100_000), Variable("SIGHTLINE_MAX_RUNS_EACH", "The same for each person.")
    ] = 20
    starts_per_minute: Annotated[
        int,
        Field(ge=0, le=100_000),
        Variable(
            "SIGHTLINE_STARTS_PER_MINUTE",
            "Runs one person may start per minute (without a login: everyone on this machine), and, "
            "separately, plans they may preview, counted in each page process; 0 is no limit.",
        ),
    ] = 30
    workers: Annotated[
        str,
        LOWER_CASE,
        AfterValidator(_parse_workers),
        Variable(
            "SIGHTLINE_WORKERS",
            "Processes that work on runs beside that of the pages ([Worker "
            "processes](deployment.md#worker-processes)); 0 is none. `auto` begins them, at most one a core, "
            "when more than 20 runs go on for each process there is, and lets them go after ten minutes "
            "without a run; there are none on one core, or with a limit of requests per minute. A number of "
            "them is begun with the pages.",
            values_text="`auto`, 0 to 64",
        ),
    ] = "auto"
    runs_url: Annotated[
        Address,
        Variable(
            "RUNS_URL",
            "The address of a server that speaks the LangGraph Agent Server API; runs go there (see [More "
            "than one machine](deployment.md#more-than-one-machine)).",
        ),
    ] = ""
    runs_key: Annotated[Key, Variable("RUNS_API_KEY", "Its key, if it wants one.")] = NO_KEY
    log_level: Annotated[
        Literal["info", "debug", "warning", "error"],
        LOWER_CASE,
        Variable(
            "LOG_LEVEL",
            "The least level of this program's log; `info` writes a line for each step of a run "
            "([Log](deployment.md#log)).",
        ),
    ] = "info"
    mcp_token: Annotated[
        Key,
        AfterValidator(_check_token),
        Variable(
            "SIGHTLINE_MCP_TOKEN",
            "The token that [MCP clients](mcp-server.md#by-http) send over HTTP: at least 16 characters.",
        ),
    ] = NO_KEY

    @property
    def store(self) -> Path | str:
        """The storage of the runs: path of a SQLite file, or URL of a PostgreSQL database."""
        url = self.store_url.get_secret_value()
        if not url:
            return self.data_dir / "runs.db"
        scheme, _, path = url.partition(":///")
        return Path(unquote(path)).expanduser().absolute() if scheme == "sqlite" else url


class TraceSettings(BaseSettings):
    """Traces."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Traces"
    section_note: ClassVar = "See [Traces](deployment.md#traces)."

    otlp_url: Annotated[
        Address,
        Variable(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "The collector, for example `http://127.0.0.1:4318`; without it nothing is sent.",
        ),
    ] = ""
    otlp_traces_url: Annotated[
        str,
        AfterValidator(_check_traces_url),
        Field(repr=False),
        ValueKind("address"),
        Variable(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "The full address for traces only.",
            default_text="`/v1/traces` there",
            values_text="address",
        ),
    ] = ""
    traces_exporter: Annotated[
        str,
        AfterValidator(_parse_traces_exporter),
        Variable("OTEL_TRACES_EXPORTER", "`none`: no traces.", values_text="`otlp`, `none`"),
    ] = "otlp"
    otel_disabled: Annotated[
        str,
        AfterValidator(_parse_disabled),
        Variable("OTEL_SDK_DISABLED", "`true`: no traces.", values_text="`false`, `true`"),
    ] = "false"

    @property
    def traces_url(self) -> str:
        """The full URL to which traces are exported; "" (the default) exports none."""
        if self.otel_disabled == "true" or self.traces_exporter == "none":
            return ""
        return self.otlp_traces_url or (self.otlp_url and f"{self.otlp_url}/v1/traces")
