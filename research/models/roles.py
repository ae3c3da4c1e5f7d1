"""Which model has which role, from free text such as `openai:deepseek-chat`.

Gemini is meant where no provider is named. A closed list of names would be out of date within
months, so any name goes; only those known to be gone are told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from research.settings import (
    CHECK_MODEL,
    REPORT_MODEL,
    ROLES,
    Role,
    SettingError,
    Settings,
    model_setting,
)

Provider = Literal["gemini", "openai", "ollama"]

# Source: https://ai.google.dev/gemini-api/docs/models, as of 2026-11.
DEFAULTS: dict[Role, str] = {
    "plan": "gemini-3.5-flash-lite",
    "reflect": "gemini-3.5-flash-lite",
    "write": "gemini-3.8-flash",
    "search": "gemini-3.8-flash",
}
# Source: https://ai.google.dev/gemini-api/docs/deprecations, as of 2026-11.
RETIRED = {
    "gemini-1.5-flash-latest": "",
    "gemini-2.0-flash": "2026-06-01",
    "gemini-2.5-pro-preview-05-06": "2025-12-02",
    "gemini-2.5-flash-preview-04-17": "",
}
# From that day on another model answers, at another price.
ROUTED = {
    "gemini-2.5-flash": ("2026-12-01", "gemini-3.5-flash-lite"),
    "gemini-2.5-pro": ("2026-12-01", "gemini-3.8-flash"),
}
KEYS: dict[Provider, str] = {
    "gemini": "GEMINI_API_KEY",
    "openai": "OPENAI_API_KEY",
    "ollama": "OLLAMA_BASE_URL",
}
ADDRESSES: dict[Provider, str] = {
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
}


@dataclass(frozen=True)
class Spec:
    """A provider's model, and the setting that names it. One that is `apart` is asked at the address
    and with the key that are set for reports, and never with those of other models."""

    provider: Provider
    name: str
    setting: str = ""
    apart: bool = False

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def parse(text: str, setting: str = "") -> Spec:
    """A model from `provider:name`, or from a Gemini name alone.

    Raises:
        SettingError: it names a provider without a model. Any other text before a colon is part
            of the name: `qwen3:8b` is a Gemini name, and a wrong one, which the service will say.
    """
    text = text.strip()
    head, colon, name = text.partition(":")
    provider = head.strip().lower()
    if not colon or provider not in get_args(Provider):
        return Spec("gemini", text.removeprefix("models/"), setting)
    if not name.strip():
        raise SettingError(
            f"{setting or 'The model'} is {text!r}; it must be a provider and a model, such as "
            f"{provider}:name."
        )
    return Spec(cast(Provider, provider), name.strip().removeprefix("models/"), setting)


def usable(spec: Spec, settings: Settings) -> bool:
    """Whether what the provider needs is set. Nothing is asked of the provider."""
    if spec.apart:
        return True
    if spec.provider == "gemini":
        return bool(settings.gemini_key.get_secret_value())
    if spec.provider == "openai":  # a local server needs an address, but no key
        return bool(settings.openai_key.get_secret_value() or settings.openai_url)
    return True


def roles(settings: Settings) -> dict[Role, Spec]:
    """The model of each role.

    A role that is not set has the default Gemini model if there is a Gemini key. Without one it
    shares the first model that is set and usable: whoever sets one local model means it for all.
    """
    chosen: dict[Role, Spec] = {
        role: parse(settings.model(role), model_setting(role))
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
    named = bool(colon) and head.strip().lower() in get_args(Provider)
    spec = parse(text, REPORT_MODEL)
    if given:
        if named and spec.provider != "openai":
            raise SettingError(
                f"{REPORT_MODEL} is {text!r}, but {given} can only be those of an OpenAI-compatible "
                f"server. Name a model of that server, or remove {given}."
            )
        return Spec("openai", spec.name if named else text.strip(), REPORT_MODEL, apart=True)
    if not usable(spec, settings):
        needs = KEYS[spec.provider]
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
    return parse(settings.check_model, CHECK_MODEL) if settings.check_model else None


def gone(name: str) -> str:
    """What is known of a name that is gone or going, in words; "" if nothing is."""
    if name in RETIRED:
        when = f" on {RETIRED[name]}" if RETIRED[name] else ""
        return f"{name} was shut down{when}"
    if name in ROUTED:
        day, successor = ROUTED[name]
        return f"{name} ends on {day}; from then on {successor} answers, at its own price"
    return ""
