"""Models of the roles, parsed from free text such as `openai:deepseek-chat`.

Without a provider a Gemini model is meant. A closed list of names would be outdated within months,
so any name is accepted; `lifecycle` knows those that are shut down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from research.core.providers import Provider, shipped_providers
from research.core.settings import (
    CHECK_MODEL,
    REPORT_MODEL,
    ROLES,
    Role,
    SettingError,
    Settings,
    model_setting_name,
)

# Source: https://ai.google.dev/gemini-api/docs/models, as of 2026-11.
DEFAULT_MODELS: dict[Role, str] = {
    "plan": "gemini-3.5-flash-lite",
    "reflect": "gemini-3.5-flash-lite",
    "write": "gemini-3.8-flash",
    "search": "gemini-3.8-flash",
}


@dataclass(frozen=True)
class ModelSpec:
    """A provider's model, and the setting that names it.

    With `is_report_server` it is called with the address and key set for reports, and never with
    those of other models.
    """

    provider: str
    name: str
    setting: str = ""
    is_report_server: bool = False
    custom_provider: Provider | None = field(default=None, compare=False, repr=False)  # entry of models.toml

    @property
    def provider_details(self) -> Provider:
        """The provider's entry."""
        return self.custom_provider or shipped_providers()[self.provider]

    @property
    def protocol(self) -> str:
        """The API protocol of its server."""
        return self.provider_details.protocol

    @property
    def address_setting(self) -> str:
        """The setting of its server's address."""
        return "QUERY_ENGINE_BASE_URL" if self.is_report_server else self.provider_details.url_setting

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse_spec(text: str, setting: str = "", providers: Mapping[str, Provider] | None = None) -> ModelSpec:
    """Parse a model from `provider:name`, or from a Gemini name without a provider.

    `providers` are the providers by name, by default those shipped. Any other text before a colon
    is part of the name: `qwen3:8b` is a Gemini name, and a wrong one, which the service will
    report.

    Raises:
        SettingError: The text names a provider without a model.
    """
    text = text.strip()
    head, colon, name = text.partition(":")
    server = (providers or shipped_providers()).get(head.strip().lower()) if colon else None
    if server is None:
        return ModelSpec("gemini", text.removeprefix("models/"), setting)
    if not name.strip():
        raise SettingError(
            f"{setting or 'The model'} is {text!r}; it must be a provider and a model, such as {server.name}:name."
        )
    custom = None if server == shipped_providers().get(server.name) else server
    return ModelSpec(server.name, name.strip().removeprefix("models/"), setting, custom_provider=custom)


def is_usable(spec: ModelSpec, settings: Settings) -> bool:
    """Return whether the provider's required settings are set. Sends no request."""
    if spec.is_report_server or spec.provider_details.is_key_optional:
        return True
    if spec.provider == "gemini":
        return bool(settings.key("gemini"))
    address = settings.provider_value(spec.provider_details.url_setting)  # a self-hosted server may need no key
    return bool(address or (settings.key(spec.provider) and spec.provider_details.url))


def missing_setting(spec: ModelSpec, settings: Settings) -> str:
    """Return the setting that a model lacks; "" if it is usable."""
    if is_usable(spec, settings):
        return ""
    server = spec.provider_details
    return server.url_setting if not server.url and settings.key(spec.provider) else server.required_setting


def role_models(settings: Settings) -> dict[Role, ModelSpec]:
    """Return the model of each role.

    A role without a setting has the default Gemini model if there is a Gemini key. Otherwise it
    shares the first usable model that is set: a single local model is meant for all roles.
    """
    specs: dict[Role, ModelSpec] = {
        role: parse_spec(settings.model(role), model_setting_name(role), settings.providers)
        for role in ROLES
        if settings.model(role)
    }
    order: tuple[Role, ...] = ("write", "plan", "reflect", "search")
    shared = next((specs[r] for r in order if r in specs and is_usable(specs[r], settings)), None)
    has_gemini_key = bool(settings.gemini_key.get_secret_value())
    for role in ROLES:
        if role not in specs:
            default = ModelSpec("gemini", DEFAULT_MODELS[role], model_setting_name(role))
            specs[role] = default if has_gemini_key or shared is None else shared
    return specs


def has_usable_model(settings: Settings) -> bool:
    """Return whether any role has a usable model."""
    return any(is_usable(spec, settings) for spec in role_models(settings).values())


def report_spec(settings: Settings) -> ModelSpec | None:
    """Return the model for reports; None if the models of the roles write them.

    With an address or key of its own it is a model of an OpenAI-compatible server, with or without
    a provider in its name. Otherwise its name is parsed as in any other setting.

    Raises:
        SettingError: Its settings contradict each other, or one is missing.
    """
    text = settings.report_model
    server_settings = {
        "QUERY_ENGINE_API_KEY": settings.report_key.get_secret_value(),
        "QUERY_ENGINE_BASE_URL": settings.report_url,
    }
    set_names = " and ".join(name for name, value in server_settings.items() if value)
    if not text:
        if set_names:
            raise SettingError(
                f"{set_names} cannot be used without {REPORT_MODEL}, the name of the model that works "
                f"on reports. Set it too, or remove {set_names}."
            )
        return None
    head, colon, _ = text.partition(":")
    has_provider = bool(colon) and head.strip().lower() in settings.providers
    spec = parse_spec(text, REPORT_MODEL, settings.providers)
    if set_names:
        if has_provider and spec.protocol != "openai":
            raise SettingError(
                f"{REPORT_MODEL} is {text!r}, but {set_names} can only be those of an OpenAI-compatible "
                f"server. Name a model of that server, or remove {set_names}."
            )
        name = spec.name if has_provider else text.strip()
        return ModelSpec(spec.provider if has_provider else "openai", name, REPORT_MODEL, True, spec.custom_provider)
    if missing := missing_setting(spec, settings):
        if not has_provider or spec.provider == "openai":
            missing += ", or QUERY_ENGINE_BASE_URL or QUERY_ENGINE_API_KEY of an OpenAI-compatible server"
        raise SettingError(f"{REPORT_MODEL} is {text!r}; it needs {missing}. Set it, or remove {REPORT_MODEL}.")
    return spec


def checker_spec(settings: Settings) -> ModelSpec | None:
    """Return the model that judges sentences of an answer; None to use the reflection model."""
    return parse_spec(settings.check_model, CHECK_MODEL, settings.providers) if settings.check_model else None
