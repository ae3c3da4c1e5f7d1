"""The declaration of a setting, and everything that follows from its declaration and type.

A setting is a field of `Settings`. Its annotation carries a `Variable`: the environment variable, the
meaning and, if people may choose a value for themselves, the field of the Settings page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin
from urllib.parse import unquote, urlsplit

from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsConfigDict

from research.core.bilingual import Text

# The sections of the Settings page, with their titles. One without settings is not drawn.
FORM_SECTIONS = {
    "keys": Text("Keys", "密钥"),
    "open": Text("Without a key", "不用密钥"),
    "question": Text("Questions", "提问"),
    "report": Text("News reports", "新闻报告"),
    "exports": Text("Exports", "导出"),
    "limits": Text("Limits per run (0 = no limit)", "每次研究的上限（0 为不限）"),
    "search": Text("Web search", "网络搜索"),
    "models": Text("Models and checking", "模型与核对"),
    "appearance": Text("Language and appearance", "语言与外观"),
}
# A comma separates only before a blank, a URL or the end: it may be part of a URL.
_LIST_SEPARATOR = re.compile(r"\s+|,+(?=\s|https?://|$)")
_USER_AND_PASSWORD = re.compile(r"//[^/]*@")
NO_KEY = SecretStr("")
# Of a class with a part of the settings: its schema is only built as a part of `Settings`.
SECTION_CONFIG = SettingsConfigDict(frozen=True, extra="forbid", defer_build=True, validate_default=False)


class SettingError(ValueError):
    """An unusable setting; the message names it, its value and the remedy."""


class Setting(NamedTuple):
    """An environment variable that a third-party source reads with `Settings.source_setting(name)`.

    The value of a secret setting is never displayed and is masked in logs.
    """

    name: str
    default: str = ""
    is_secret: bool = False


@dataclass(frozen=True)
class FormField:
    """The field of the Settings page in which people choose the value of a setting for themselves.

    `section` is one of `FORM_SECTIONS`. `options` are the labels of the choices by value. `step` is
    that of a number.
    """

    section: str
    label: Text
    help: Text | None = None
    options: Mapping[str, Text] = field(default_factory=dict)
    step: float = 1


@dataclass(frozen=True)
class Variable:
    """The environment variable of a setting.

    `help` is its meaning in docs/settings.md, in Markdown. `other_names` are read where `name` is not
    set; `former_names` likewise, with a warning that names the new one. `default_text` and
    `values_text` are only for that document: the default if it is no fixed value, and the permitted
    values if the type does not tell them. With `is_blank_value` a blank value counts as set.
    """

    name: str
    help: str
    other_names: tuple[str, ...] = ()
    former_names: tuple[str, ...] = ()
    default_text: str = ""
    values_text: str = ""
    unit: str = ""
    form: FormField | None = None
    is_blank_value: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which the setting is read, the first one first."""
        return (self.name, *self.other_names, *self.former_names)


@dataclass(frozen=True)
class ValueKind:
    """The kind of a setting's values where their Python type does not tell it, such as "address"."""

    name: str


class SettingField(NamedTuple):
    """A declared setting: its declaration, and what follows from the type of its field.

    `kind` is "whole", "number", "switch", "choice", "key", "text" or the name of a `ValueKind`. `choices`
    are the permitted words. `low` and `high` are None unless it is a number.
    """

    attribute: str
    variable: Variable
    kind: str
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...]

    def describe_problem(self, raw: object) -> str:
        """Return why a value from the environment cannot be used, as the end of "NAME is 'x'; "."""
        if self.kind == "switch":
            expected = "on or off"
        elif self.choices:
            expected = f"one of {', '.join(self.choices)}"
        else:
            is_fraction = self.kind == "whole" and self._is_number_in_range(raw)
            expected = f"a{' whole' if is_fraction else ''} number from {self.low:.12g} to {self.high:.12g}"
        default = setting_text(self.default)
        return f"is {raw!r}; it must be {expected}. Correct it or remove it to use the default, {default}."

    def _is_number_in_range(self, raw: object) -> bool:
        try:
            return bool(self.low <= float(str(raw)) <= self.high)  # type: ignore[operator]
        except ValueError:
            return False

    def display_text(self, value: Any) -> str:
        """Return a value for display: without credentials, and of a key only "set" or ""."""
        if self.kind == "database":
            return _strip_database_credentials(value.get_secret_value())
        if isinstance(value, SecretStr):
            return "set" if value.get_secret_value() else ""
        if isinstance(value, float):
            return f"{value:g}{self.variable.unit and f' {self.variable.unit}'}"
        if self.kind in ("address", "addresses"):
            return " ".join(map(strip_credentials, split_addresses(value)))
        return setting_text(value)

    def secrets(self, value: Any) -> Iterator[str]:
        """Yield what must be masked of a value: a key, and the passwords of addresses."""
        if self.kind == "database":
            yield from database_passwords(value.get_secret_value())
        elif isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, str):
            yield from map(url_password, split_addresses(value))


def declared_fields(model: type[BaseModel]) -> dict[str, SettingField]:
    """Return the settings that a model declares, by the name of their environment variable."""
    found = (_setting_field(attribute, info) for attribute, info in model.model_fields.items())
    return {setting.variable.name: setting for setting in found if setting}


def find_variable(info: FieldInfo) -> Variable | None:
    """Return the variable in a field's annotation; None if the field is not a setting."""
    return next((entry for entry in info.metadata if isinstance(entry, Variable)), None)


def _setting_field(attribute: str, info: FieldInfo) -> SettingField | None:
    variable = find_variable(info)
    if variable is None:
        return None
    words = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    types = {int: "whole", float: "number", bool: "switch", SecretStr: "key"}
    usual_kind = "choice" if words else types.get(info.annotation, "text")  # type: ignore[arg-type]
    return SettingField(
        attribute=attribute,
        variable=variable,
        kind=next((entry.name for entry in info.metadata if isinstance(entry, ValueKind)), usual_kind),
        default=info.default,
        low=next((entry.ge for entry in info.metadata if isinstance(entry, Ge)), None),  # type: ignore[arg-type]
        high=next((entry.le for entry in info.metadata if isinstance(entry, Le)), None),  # type: ignore[arg-type]
        choices=words,
    )


def setting_text(value: object) -> str:
    """Return the value of a setting as it is written in the environment."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.12g}" if isinstance(value, float) else str("" if value is None else value)


# Addresses and their credentials


def split_addresses(value: str) -> list[str]:
    """Split a list of URLs and paths; a value without a URL is one path."""
    if "://" not in value:
        return [value] if value else []
    return [part for part in _LIST_SEPARATOR.split(value) if part]


def strip_credentials(url: str) -> str:
    """Remove the user name and password from a URL."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def mask_credentials(text: str) -> str:
    """Remove what looks like a user name and password from a text that may not be a URL."""
    return _USER_AND_PASSWORD.sub("//", text)


def url_password(url: str) -> str:
    """Return the password in a URL, "" if there is none."""
    try:
        return urlsplit(url).password or ""
    except ValueError:  # not a URL
        return ""


def database_passwords(url: str) -> list[str]:
    """Return the passwords in a database URL, both decoded and as written there."""
    parts = urlsplit(url)
    written = [parts.password or ""]
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        written += [value] if "password" in name else []
    return [form for value in written if value for form in {value, unquote(value)}]


def _strip_database_credentials(url: str) -> str:
    """Remove the user name, password and options from a database URL."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if url else ""


# Types of several settings


def parse_address(value: str) -> str:
    """Check a URL and remove slashes at its end; "" stays.

    Raises:
        ValueError: it is no URL of HTTP.
    """
    try:
        parts = urlsplit(value)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # half an IPv6 address
        is_usable = False
    if value and not is_usable:
        raise ValueError(
            f"is {mask_credentials(value)!r}; it must be an address such as https://example.org. "
            "Correct it or remove it."
        )
    return value.rstrip("/")


def check_key(key: SecretStr) -> SecretStr:
    """Check that a key has only characters that a header can carry. The error does not repeat it."""
    value = key.get_secret_value()
    if value and (not value.isascii() or not value.isprintable() or " " in value):
        raise ValueError("has characters that no key has. Copy the key again, without quotes and spaces, or remove it.")
    return key


def _to_lower_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


LOWER_CASE = BeforeValidator(_to_lower_case)
Address = Annotated[str, AfterValidator(parse_address), Field(repr=False), ValueKind("address")]
Key = Annotated[SecretStr, AfterValidator(check_key)]
ModelName = Annotated[str, ValueKind("model")]
