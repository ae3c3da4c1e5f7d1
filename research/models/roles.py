"""Which model has which role, from free text such as `openai:deepseek-chat`.

Gemini is meant where no provider is named. A closed list of names would be out of date within
months, so any name goes; `lifecycle` knows those that are gone.
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
    """A provider's model, and the setting that names it. One that is `apart` is asked at the address
    and with the key that are set for reports, and never with those of other models."""

    provider: str
    name: str
    setting: str = ""
    is_report_server: bool = False
    custom_provider: Provider | None = field(default=None, compare=False, repr=False)  # of the desk's own file

    @property
    def provider_details(self) -> Provider:
        """What is known of its provider."""
        return self.custom_provider or shipped_providers()[self.provider]

    @property
    def protocol(self) -> str:
        """What its server speaks."""
        return self.provider_details.wire

    @property
    def address_setting(self) -> str:
        """The setting that names the address of its server."""
        return "QUERY_ENGINE_BASE_URL" if self.is_report_server else self.provider_details.address

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse_spec(text: str, setting: str = "", providers: Mapping[str, Provider] | None = None) -> ModelSpec:
    """A model from `provider:name`, or from a Gemini name alone. `known` are the providers, by name,
    where there are others than those that ship.

    Raises:
        SettingError: it names a provider without a model. Any other text before a colon is part
            of the name: `qwen3:8b` is a Gemini name, and a wrong one, which the service will say.
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
    own = None if server == shipped_providers().get(server.name) else server
    return ModelSpec(server.name, name.strip().removeprefix("models/"), setting, custom_provider=own)


def is_usable(spec: ModelSpec, settings: Settings) -> bool:
    """Whether what the provider needs is set. Nothing is asked of the provider."""
    if spec.is_report_server or spec.provider_details.keyless:
        return True
    if spec.provider == "gemini":
        return bool(settings.key("gemini"))
    address = settings.provider_value(spec.provider_details.address)  # a server of one's own may ask for no key
    return bool(address or (settings.key(spec.provider) and spec.provider_details.url))


def missing_setting(spec: ModelSpec, settings: Settings) -> str:
    """The setting without which a model cannot be asked; "" if it can be."""
    if is_usable(spec, settings):
        return ""
    server = spec.provider_details
    return server.address if not server.url and settings.key(spec.provider) else server.required_setting


def role_models(settings: Settings) -> dict[Role, ModelSpec]:
    """The model of each role.

    A role that is not set has the default Gemini model if there is a Gemini key. Without one it
    shares the first model that is set and usable: whoever sets one local model means it for all.
    """
    chosen: dict[Role, ModelSpec] = {
        role: parse_spec(settings.model(role), model_setting_name(role), settings.providers)
        for role in ROLES
        if settings.model(role)
    }
    order: tuple[Role, ...] = ("write", "plan", "reflect", "search")
    shared = next((chosen[r] for r in order if r in chosen and is_usable(chosen[r], settings)), None)
    gemini = bool(settings.gemini_key.get_secret_value())
    for role in ROLES:
        if role not in chosen:
            default = ModelSpec("gemini", DEFAULT_MODELS[role], model_setting_name(role))
            chosen[role] = default if gemini or shared is None else shared
    return chosen


def has_usable_model(settings: Settings) -> bool:
    """Whether any role has a model that can be asked."""
    return any(is_usable(spec, settings) for spec in role_models(settings).values())


def report_spec(settings: Settings) -> ModelSpec | None:
    """The model that works on reports; None if they are left to the roles.

    With an address or a key of its own it is a model of an OpenAI-compatible server, whether its
    name says so or not. Without them its name means what it means in any other setting.

    Raises:
        SettingError: what is set for it does not go together, or something is missing.
    """
    text = settings.report_model
    own = {
        "QUERY_ENGINE_API_KEY": settings.report_key.get_secret_value(),
        "QUERY_ENGINE_BASE_URL": settings.report_url,
    }
    given = " and ".join(name for name, value in own.items() if value)
    if not text:
        if given:
            raise SettingError(
                f"{given} cannot be used without {REPORT_MODEL}, the name of the model that works "
                f"on reports. Set it too, or remove {given}."
            )
        return None
    head, colon, _ = text.partition(":")
    named = bool(colon) and head.strip().lower() in settings.providers
    spec = parse_spec(text, REPORT_MODEL, settings.providers)
    if given:
        if named and spec.protocol != "openai":
            raise SettingError(
                f"{REPORT_MODEL} is {text!r}, but {given} can only be those of an OpenAI-compatible "
                f"server. Name a model of that server, or remove {given}."
            )
        name = spec.name if named else text.strip()
        return ModelSpec(spec.provider if named else "openai", name, REPORT_MODEL, True, spec.custom_provider)
    if needs := missing_setting(spec, settings):
        if not named or spec.provider == "openai":
            needs += ", or QUERY_ENGINE_BASE_URL or QUERY_ENGINE_API_KEY of an OpenAI-compatible server"
        raise SettingError(f"{REPORT_MODEL} is {text!r}; it needs {needs}. Set it, or remove {REPORT_MODEL}.")
    return spec


def check_spec(settings: Settings) -> ModelSpec | None:
    """The model that judges sentences of an answer; None if that is left to the one that reflects."""
    return parse_spec(settings.check_model, CHECK_MODEL, settings.providers) if settings.check_model else None
