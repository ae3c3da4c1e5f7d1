"""Reading the settings: the only reader of the environment.

Explicit values override the environment, the environment overrides the default, and a blank value
is unset. Nothing is read at import.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from research.core.config_files import OFF
from research.core.database_config import load_databases
from research.core.domains import FILE_NAME as DOMAINS_FILE
from research.core.domains import merge_domain_lists
from research.core.providers import FILE_NAME as MODELS_FILE
from research.core.providers import Provider, SearchService, load_providers, search_services
from research.core.settings.configuration import CHOICES, CONNECTION_SETTINGS, DECLARED, Settings
from research.core.settings.declaration import (
    NO_KEY,
    Setting,
    SettingError,
    check_key,
    find_variable,
    parse_address,
)
from research.core.tool_servers import load_servers

log = logging.getLogger(__name__)

APP_NAME = "sightline"
# Environment variables that a tool server process may need to reach the internet.
_CHILD_VARIABLES = re.compile(
    r"(?:https?|no|all)_proxy|node_options|node_extra_ca_certs|ssl_cert_(?:file|dir)|npm_config_\w+",
    re.I,
)
# Variables of LangChain's legacy tracing: if one is set while LangSmith is off, LangChain refuses
# every call.
_LEGACY_TRACING_VARIABLES = re.compile(r"langchain_(?:tracing|handler)", re.I)


class EnvironmentSource(PydanticBaseSettingsSource):
    """Reads the declared variables of a settings class from a mapping.

    `names` are the variables that were read, by field, and `renamed` the former names in use, each with
    the new one.
    """

    def __init__(self, settings_cls: type[BaseSettings], env: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._env = env
        self.names: dict[str, str] = {}
        self.renamed: list[tuple[str, str]] = []

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[str | None, str, bool]:
        """Return the text of a field, None if it is unset, and the variable that it was read from."""
        variable = find_variable(field)
        for name in variable.names if variable else ():
            value = self._env.get(name, "").strip()
            if value or (variable and variable.is_blank_value and name in self._env):
                return value, name, False
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the texts of all fields that are set, by field."""
        values = {}
        for field_name, field in self.settings_cls.model_fields.items():
            value, name, _ = self.get_field_value(field, field_name)
            if value is None:
                continue
            values[field_name], self.names[field_name] = value, name
            variable = find_variable(field)
            if variable and name in variable.former_names:
                self.renamed.append((name, variable.name))
        return values


def load_settings(
    env: Mapping[str, str] | None = None,
    *,
    data_dir: Path | None = None,
    sources: Mapping[str, Sequence[Setting]] | None = None,
) -> Settings:
    """Load the settings from `env`, by default the environment of the process.

    Args:
        data_dir: takes precedence over SIGHTLINE_DATA_DIR.
        sources: the names of all sources with the settings that they declare. Without it, names of
            sources are not checked and no settings of sources are read.

    Raises:
        SettingError: A value is unusable.
    """
    env = os.environ if env is None else env
    source = EnvironmentSource(Settings, env)
    values = source()
    folder = _data_folder(data_dir or values.get("data_dir", ""))
    providers = _load_providers(folder)
    with _explain_file_errors("SIGHTLINE_MCP_CONFIG"):
        servers, invalid_servers = load_servers(values.get("mcp_config", ""), folder, env)
    with _explain_file_errors("SIGHTLINE_DATABASES"):
        databases = load_databases(values.get("databases_file", ""), folder, env)
    values |= {
        "data_dir": folder,
        "operator_limits": tuple(source.names[field] for field in ("queries", "loops") if field in source.names),
        "configured_databases": databases,
        "shared_domains": _load_shared_domains(folder / DOMAINS_FILE),
        "providers": providers,
        "provider_settings": _read_provider_settings(env, providers),
        "servers": servers,
        "invalid_servers": invalid_servers,
        "known_sources": (*sources, *(server.source_name for server in servers)) if sources is not None else (),
        "source_settings": _read_source_settings(env, sources or {}),
        "child_env": tuple((name, SecretStr(value)) for name, value in env.items() if _CHILD_VARIABLES.fullmatch(name)),
        "renamed": tuple(source.renamed),
    }
    settings = _validate(values, source.names)
    for warning in settings.warnings:
        log.warning("%s", warning)
    return settings


def apply_choices(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """Override settings with a user's choices (`CHOICES`), keys and addresses (`CONNECTION_SETTINGS`). A blank
    choice is ignored.

    A key from the environment is never sent to an address that a user has entered. Map tiles that
    are off for everyone stay off, since the pages' content security policy blocks them.

    Raises:
        SettingError: A choice is unusable by the rules for the environment.
    """
    if unknown := [name for name in choices if name not in CHOICES and name not in CONNECTION_SETTINGS]:
        raise SettingError(f"{unknown[0]} cannot be chosen by a person.")
    nonblank = {name: text.strip() for name, text in choices.items() if text.strip()}
    fields = {DECLARED[name].attribute: name for name in nonblank if name in DECLARED}
    values = {field: nonblank[name] for field, name in fields.items()}
    base = {"data_dir": settings.data_dir, "known_sources": settings.known_sources}
    chosen = _validate(base | values, fields)
    update: dict[str, Any] = {field: getattr(chosen, field) for field in fields}
    provider_settings = {**settings.provider_settings, **_read_provider_settings(nonblank, settings.providers)}
    for provider in settings.providers.values():
        if provider.url_setting in nonblank and provider.key_setting not in nonblank and provider.key_setting:
            if provider.key_setting in DECLARED:
                update[DECLARED[provider.key_setting].attribute] = NO_KEY
            provider_settings.pop(provider.key_setting, None)
    update["provider_settings"] = provider_settings
    if settings.map_tiles == "off":
        update.pop("map_tiles", None)
    return settings.model_copy(update=update)


def _validate(values: dict[str, Any], names: Mapping[str, str]) -> Settings:
    """Build the settings from texts. `names` are the variables that the texts were read from, by field.

    Raises:
        SettingError: A value is unusable.
    """
    problem = None
    try:
        settings = Settings(**values)
    except ValidationError as error:  # raised below without it, as it contains the values
        problem = error.errors(include_url=False)[0]
    if problem:
        field = str(problem["loc"][0])
        reason = problem.get("ctx", {}).get("error")
        if reason is None:
            setting = next(setting for setting in DECLARED.values() if setting.attribute == field)
            reason = setting.describe_problem(values[field])
        raise SettingError(f"{names[field]} {reason}")
    for field in ("default_sources", "report_sources"):
        _check_source_names(getattr(settings, field), names.get(field, ""), settings.known_sources)
    return settings


def _check_source_names(value: str, name: str, known: Sequence[str]) -> None:
    unknown = [part for part in value.split(",") if part and part not in known]
    if known and unknown:
        raise SettingError(
            f"{name} is {value!r}: there is no {unknown[0]!r}. Name one or several of "
            f"{', '.join(dict.fromkeys(known))}, or remove it to use every available source."
        )


# What is read beside the declared settings


def _read_provider_settings(env: Mapping[str, str], providers: Mapping[str, Provider]) -> dict[str, SecretStr]:
    """Read the keys and addresses of providers without a field of their own, by setting name."""
    services: list[Provider | SearchService] = [*providers.values(), *search_services().values()]
    keys = {service.key_setting for service in services}
    names = {name for service in services for name in (service.key_setting, service.url_setting)} - {"", *DECLARED}
    texts = {name: text for name in sorted(names) if (text := env.get(name, "").strip())}
    values = {}
    for name, text in texts.items():
        try:
            values[name] = check_key(SecretStr(text)) if name in keys else SecretStr(parse_address(text))
        except ValueError as error:
            raise SettingError(f"{name} {error}") from None
    return values


def _read_source_settings(
    env: Mapping[str, str], sources: Mapping[str, Sequence[Setting]]
) -> tuple[tuple[Setting, SecretStr], ...]:
    declared = {setting.name: setting for settings in sources.values() for setting in settings}
    return tuple(
        (setting, SecretStr(env.get(name, "").strip() or setting.default)) for name, setting in declared.items()
    )


def _load_providers(folder: Path) -> Mapping[str, Provider]:
    try:
        return load_providers(folder)
    except ValueError as error:
        raise SettingError(f"{MODELS_FILE}: {error}. Correct it or remove it.") from None


@contextmanager
def _explain_file_errors(setting: str) -> Iterator[None]:
    """Convert the ValueError of an unusable configuration file; `setting` is the one that names the file."""
    try:
        yield
    except ValueError as error:
        raise SettingError(f"{error}. Correct the file, or set {setting}={OFF} to do without.") from None


def _load_shared_domains(path: Path) -> str:
    """Load the domain list of the data folder; "" if there is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        merge_domain_lists([text])
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeError) as error:
        raise SettingError(f"{path} cannot be read ({type(error).__name__}). Correct it or remove it.") from None
    except ValueError as error:
        raise SettingError(f"{path} has {error}. Correct it or remove it.") from None
    return text


def _data_folder(chosen: Path | str) -> Path:
    """Return the data folder: the chosen one, or the system's default in the home folder.

    Raises:
        SettingError: The folder is in a home folder and this user has none.
    """
    try:
        folder = chosen or platformdirs.user_data_dir(APP_NAME, appauthor=False)
        return Path(folder).expanduser().absolute()
    except RuntimeError as error:
        cause = f"SIGHTLINE_DATA_DIR={chosen}" if chosen else "SIGHTLINE_DATA_DIR is not set"
        raise SettingError(
            f"{cause}, and no home folder of this user is known. "
            "Set SIGHTLINE_DATA_DIR to the path of a folder that can be written."
        ) from error


# The environment of this process and its children


def child_environment() -> dict[str, str]:
    """Return the environment variables that a child process needs: none except on Windows. They
    contain no key."""
    needed = "SYSTEMROOT SYSTEMDRIVE TEMP TMP" if os.name == "nt" else ""
    return {name: os.environ[name] for name in needed.split() if name in os.environ}


def remove_legacy_tracing_variables() -> None:
    """Remove the variables of LangChain's legacy tracing from the process environment."""
    for name in filter(_LEGACY_TRACING_VARIABLES.fullmatch, list(os.environ)):
        del os.environ[name]
