"""All settings in one frozen value, what follows from several of them, and what may be shown of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from research.core import database_config
from research.core.config_files import InvalidEntry
from research.core.database_config import DatabaseConfig, DatabaseConfigs
from research.core.domains import DomainStatus, merge_domain_lists
from research.core.providers import Provider, SearchService, search_services, shipped_providers
from research.core.records import CheckedCopy, RunOptions
from research.core.settings.database import DatabaseSettings
from research.core.settings.declaration import (
    NO_KEY,
    Setting,
    SettingField,
    database_passwords,
    declared_fields,
    mask_credentials,
    strip_credentials,
    url_password,
)
from research.core.settings.models import ROLES, ModelSettings, Role
from research.core.settings.places import PlaceSettings
from research.core.settings.runs import LimitSettings, RunSettings
from research.core.settings.search import SearchSettings
from research.core.settings.server import ServerSettings, TraceSettings
from research.core.tool_servers import ToolServer, server_secrets


class Settings(
    CheckedCopy,
    ModelSettings,
    SearchSettings,
    PlaceSettings,
    DatabaseSettings,
    RunSettings,
    LimitSettings,
    ServerSettings,
    TraceSettings,
):
    """All external settings. Times are in seconds; "" means unset.

    The settings are declared in the base classes, one field each. The fields below are not set by a
    variable: they come from files, from tables of providers or from the sources.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", defer_build=False, validate_default=False)

    operator_limits: tuple[str, ...] = ()  # limits that the environment sets: a cap for quickstart clients
    configured_databases: DatabaseConfigs = DatabaseConfigs()  # of the databases file
    shared_domains: str = ""  # domain list in the data folder
    providers: Mapping[str, Provider] = Field(default_factory=shipped_providers)
    provider_settings: Mapping[str, SecretStr] = Field(default_factory=dict)  # keys and addresses without a field
    servers: tuple[ToolServer, ...] = ()  # MCP servers
    invalid_servers: tuple[InvalidEntry, ...] = ()  # unusable entries of the MCP configuration
    known_sources: tuple[str, ...] = ()  # names that may be chosen; empty if they are not known
    source_settings: tuple[tuple[Setting, SecretStr], ...] = ()  # of plug-in sources
    child_env: tuple[tuple[str, SecretStr], ...] = ()  # environment of tool server processes
    renamed: tuple[tuple[str, str], ...] = ()  # former names in use, each with the new one

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read only the arguments: `load_settings` reads the environment that it is given."""
        return (init_settings,)

    @classmethod
    def declarations(cls) -> Mapping[str, SettingField]:
        """Return the declared settings by the name of their variable, in the order of docs/settings.md."""
        return DECLARED

    @property
    def databases(self) -> tuple[DatabaseConfig, ...]:
        """The databases that can be queried besides the shipped one."""
        return database_config.list_databases(self.database_url, self.configured_databases)

    @property
    def default_database(self) -> str:
        """Name of the database that is queried when none is chosen."""
        return database_config.default_database(self.database_url, self.configured_databases)

    def source_setting(self, name: str) -> str:
        """Return the value of a setting that a plug-in source declares; "" for any other name."""
        values = {setting.name: value for setting, value in self.source_settings}
        return values.get(name, NO_KEY).get_secret_value()

    @property
    def reports_folder(self) -> Path | None:
        """The folder in which every report is saved; None if reports are not saved."""
        return self.data_dir / self.output_dir if self.output_dir else None

    @property
    def worker_count(self) -> int:
        """Number of worker processes.

        With `auto` it is one per core if there are several, but none with a request limit, which is
        enforced within one process.
        """
        if self.runs_url:
            return 0
        if self.workers != "auto":
            return int(self.workers)
        cores = _count_cores()
        return cores if cores > 1 and not self.requests_per_minute else 0

    @property
    def options(self) -> RunOptions:
        """Default options of a run."""
        return RunOptions(
            queries=self.queries,
            loops=self.loops,
            searches=self.max_searches,
            tokens=self.max_tokens,
            cost=self.max_cost,
            seconds=self.max_seconds,
            approve=self.approve_plan,
        )

    @property
    def domain_statuses(self) -> Mapping[str, DomainStatus]:
        """Domain statuses of the data folder's file, overridden by the setting or the user."""
        return merge_domain_lists((self.shared_domains, self.domains))

    # Providers of models and searches

    @property
    def services_with_keys(self) -> Sequence[Provider | SearchService]:
        """Model providers, then search services: everything with a key or address in the tables."""
        return [*self.providers.values(), *search_services().values()]

    def provider_value(self, name: str) -> str:
        """Return the key or address of a provider by the name of its setting; "" if unset."""
        setting = DECLARED.get(name)
        value = getattr(self, setting.attribute) if setting else self.provider_settings.get(name, "")
        return value.get_secret_value() if isinstance(value, SecretStr) else value

    def key(self, provider: str) -> str:
        """Return the key of a provider; "" if none is set."""
        return self.provider_value(self.providers[provider].key_setting)

    def url(self, provider: str) -> str:
        """Return the URL of a provider; "" if unknown, or built into the provider's library."""
        details = self.providers[provider]
        address = self.provider_value(details.url_setting)
        if not address or address.endswith(details.path):
            return address or details.url
        return address + details.path

    # What may be shown

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secret values, to be masked everywhere."""
        secrets = [
            secret for setting in DECLARED.values() for secret in setting.secrets(getattr(self, setting.attribute))
        ]
        secrets += [url_password(value.get_secret_value()) for _, value in self.child_env]
        addresses = {service.url_setting for service in self.services_with_keys}
        for name, secret in self.provider_settings.items():
            value = secret.get_secret_value()
            secrets.append(url_password(value) if name in addresses else value)
        for declaration, secret in self.source_settings:
            value = secret.get_secret_value()
            secrets += [url_password(value), value if declaration.is_secret else ""]
        secrets += server_secrets(self.servers)
        for entry in self.databases:
            secrets += database_passwords(entry.url.get_secret_value())
        return tuple(filter(None, secrets))

    def display_values(self) -> list[tuple[str, str]]:
        """Return every setting by name with its value as text; for a key only "set" or ""."""
        shown = {name: setting.display_text(getattr(self, setting.attribute)) for name, setting in DECLARED.items()}
        shown["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = strip_credentials(self.traces_url)
        shown |= {name: text for name, text in self._display_provider_values() if name not in shown}
        for declaration, secret in self.source_settings:
            value = secret.get_secret_value()
            is_set = "set" if value else ""
            shown.setdefault(declaration.name, is_set if declaration.is_secret else mask_credentials(value))
        return list(shown.items())

    def _display_provider_values(self) -> Iterator[tuple[str, str]]:
        for service in self.services_with_keys:
            if service.key_setting:
                yield service.key_setting, "set" if self.provider_value(service.key_setting) else ""
            if service.url_setting:
                yield service.url_setting, strip_credentials(self.provider_value(service.url_setting))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning for each setting that is read under a former name."""
        return tuple(
            f"{old} is now called {new}. The former name is read for one release only: rename it."
            for old, new in self.renamed
        )


# The classes that declare settings, in the order of docs/settings.md.
SECTIONS = tuple(base for base in Settings.__bases__ if issubclass(base, BaseSettings))
DECLARED = {name: setting for section in SECTIONS for name, setting in declared_fields(section).items()}
# Settings that a user may choose on the Settings page, apart from keys and addresses.
CHOICES = {
    name: setting
    for name, setting in DECLARED.items()
    if setting.variable.form and setting.variable.form.section != "keys"
}
# Addresses that a user may supply: of servers at home, and of providers with one per customer.
ADDRESS_SETTINGS = tuple(
    provider.url_setting
    for provider in shipped_providers().values()
    if provider.protocol != "gemini" and (provider.is_key_optional or not provider.url or provider.name == "openai")
)
_TABLE_KEYS = (
    *(
        provider.key_setting
        for provider in shipped_providers().values()
        if provider.key_setting and provider.protocol != "gemini"
    ),
    *(service.key_setting for service in search_services().values()),
)
_OWN_KEYS = tuple(
    name for name, setting in DECLARED.items() if setting.variable.form and setting.variable.form.section == "keys"
)
# Keys and addresses that a user may supply: those with a declaration of their own first.
CONNECTION_SETTINGS = (
    tuple(name for name in _OWN_KEYS if name not in (*_TABLE_KEYS, *ADDRESS_SETTINGS)) + _TABLE_KEYS + ADDRESS_SETTINGS
)


def model_setting_name(role: Role) -> str:
    """Return the name of the setting for a role's model."""
    return _MODEL_SETTINGS[role]


_MODEL_SETTINGS = {
    role: name for role in ROLES for name, setting in DECLARED.items() if setting.attribute == f"{role}_model"
}


def _count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
