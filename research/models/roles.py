"""Which model has which role, from free text such as `openai:deepseek-chat`.

Gemini is meant where no provider is named. A closed list of names would be out of date within
months, so any name goes; `lifecycle` knows those that are gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from research.core.providers import Provider, shipped
from research.core.settings import (
    CHECK_MODEL,
    REPORT_MODEL,
    ROLES,
    Role,
    SettingError,
    Settings,
    model_setting,
)

# Source: https://ai.google.dev/gemini-api/docs/models, as of 2026-11.
DEFAULTS: dict[Role, str] = {
    "plan": "gemini-3.5-flash-lite",
    "reflect": "gemini-3.5-flash-lite",
    "write": "gemini-3.8-flash",
    "search": "gemini-3.8-flash",
}


@dataclass(frozen=True)
class Spec:
    """A provider's model, and the setting that names it. One that is `apart` is asked at the address
    and with the key that are set for reports, and never with those of other models."""

    provider: str
    name: str
    setting: str = ""
    apart: bool = False
    own: Provider | None = field(default=None, compare=False, repr=False)  # of the desk's own file

    @property
    def server(self) -> Provider:
        """What is known of its provider."""
        return self.own or shipped()[self.provider]

    @property
    def wire(self) -> str:
        """What its server speaks."""
        return self.server.wire

    @property
    def address(self) -> str:
        """The setting that names the address of its server."""
        return "QUERY_ENGINE_BASE_URL" if self.apart else self.server.address

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse(text: str, setting: str = "", known: Mapping[str, Provider] | None = None) -> Spec:
    """A model from `provider:name`, or from a Gemini name alone. `known` are the providers, by name,
    where there are others than those that ship.

    Raises:
        SettingError: it names a provider without a model. Any other text before a colon is part
            of the name: `qwen3:8b` is a Gemini name, and a wrong one, which the service will say.
    """
    text = text.strip()
    head, colon, name = text.partition(":")
    server = (known or shipped()).get(head.strip().lower()) if colon else None
    if server is None:
        return Spec("gemini", text.removeprefix("models/"), setting)
    if not name.strip():
        raise SettingError(
            f"{setting or 'The model'} is {text!r}; it must be a provider and a model, such as "
            f"{server.name}:name."
        )
    own = None if server == shipped().get(server.name) else server
    return Spec(server.name, name.strip().removeprefix("models/"), setting, own=own)


def usable(spec: Spec, settings: Settings) -> bool:
    """Whether what the provider needs is set. Nothing is asked of the provider."""
    if spec.apart or spec.server.keyless:
        return True
    if spec.provider == "gemini":
        return bool(settings.key("gemini"))
    address = settings.given(spec.server.address)  # a server of one's own may ask for no key
    return bool(address or (settings.key(spec.provider) and spec.server.url))


def lacking(spec: Spec, settings: Settings) -> str:
    """The setting without which a model cannot be asked; "" if it can be."""
    if usable(spec, settings):
        return ""
    server = spec.server
    return server.address if not server.url and settings.key(spec.provider) else server.needs


def roles(settings: Settings) -> dict[Role, Spec]:
    """The model of each role.

    A role that is not set has the default Gemini model if there is a Gemini key. Without one it
    shares the first model that is set and usable: whoever sets one local model means it for all.
    """
    chosen: dict[Role, Spec] = {
        role: parse(settings.model(role), model_setting(role), settings.providers)
        for role in ROLES
        if settings.model(role)
    }
    order: tuple[Role, ...] = ("write", "plan", "reflect", "search")
    shared = next((chosen[r] for r in order if r in chosen and usable(chosen[r], settings)), None)
    gemini = bool(settings.gemini_key.get_secret_value())
    for role in ROLES:
        if role not in chosen:
            default = Spec("gemini", DEFAULTS[role], model_setting(role))
            chosen[role] = default if gemini or shared is None else shared
    return chosen


def available(settings: Settings) -> bool:
    """Whether any role has a model that can be asked."""
    return any(usable(spec, settings) for spec in roles(settings).values())


def reporter(settings: Settings) -> Spec | None:
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
    spec = parse(text, REPORT_MODEL, settings.providers)
    if given:
        if named and spec.wire != "openai":
            raise SettingError(
                f"{REPORT_MODEL} is {text!r}, but {given} can only be those of an OpenAI-compatible "
                f"server. Name a model of that server, or remove {given}."
            )
        name = spec.name if named else text.strip()
        return Spec(spec.provider if named else "openai", name, REPORT_MODEL, True, spec.own)
    if needs := lacking(spec, settings):
        if not named or spec.provider == "openai":
            needs += (
                ", or QUERY_ENGINE_BASE_URL or QUERY_ENGINE_API_KEY of an OpenAI-compatible server"
            )
        raise SettingError(
            f"{REPORT_MODEL} is {text!r}; it needs {needs}. Set it, or remove {REPORT_MODEL}."
        )
    return spec


def checker(settings: Settings) -> Spec | None:
    """The model that judges sentences of an answer; None if that is left to the one that reflects."""
    return (
        parse(settings.check_model, CHECK_MODEL, settings.providers)
        if settings.check_model
        else None
    )
