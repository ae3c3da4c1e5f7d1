"""The only reader of the environment.

Explicit values beat the environment, the environment beats the default, and a blank value is unset.
`Settings` is a frozen value; nothing is read at import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict

from research.records import Options

APP_NAME = "sightline"


class SettingError(ValueError):
    """A setting has a value that cannot be used; the message names it, the value and the remedy."""


class Settings(BaseModel):
    """Everything that can be set from outside. Times are seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_dir: Path
    queries: int = 3
    loops: int = 2
    search_timeout: float = 30.0
    search_delay: float = 0.0
    passages_per_search: int = 8

    @property
    def options(self) -> Options:
        """The limits a run has unless the form says otherwise."""
        return Options(queries=self.queries, loops=self.loops)


def _number(env: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    raw = env.get(name, "").strip()
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise SettingError(
            f"{name} is {raw!r}; it must be a number from {low:g} to {high:g}. "
            f"Correct it or remove it to use the default, {default:g}."
        )
    return value


def _whole(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    value = _number(env, name, default, low, high)
    if value != int(value):
        raise SettingError(
            f"{name} is {env[name]!r}; it must be a whole number from {low} to {high}. "
            f"Correct it or remove it to use the default, {default}."
        )
    return int(value)


def load(env: Mapping[str, str] | None = None, *, data_dir: Path | None = None) -> Settings:
    """Reads the settings from `env` (the process's environment unless given).

    Raises:
        SettingError: a value is not usable.
    """
    env = os.environ if env is None else env
    folder = data_dir or Path(
        env.get("SIGHTLINE_DATA_DIR", "").strip()
        or platformdirs.user_data_dir(APP_NAME, appauthor=False)
    )
    return Settings(
        data_dir=folder.expanduser().absolute(),
        queries=_whole(env, "NUMBER_OF_INITIAL_QUERIES", 3, 1, 10),
        loops=_whole(env, "MAX_RESEARCH_LOOPS", 2, 1, 10),
        search_timeout=_number(env, "SIGHTLINE_SEARCH_TIMEOUT", 30, 0.05, 600),
        search_delay=_number(env, "SIGHTLINE_SEARCH_DELAY", 0, 0, 60),
        passages_per_search=_whole(env, "SIGHTLINE_PASSAGES_PER_SEARCH", 8, 1, 50),
    )
