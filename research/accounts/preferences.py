"""Settings that owners choose for themselves, and their keys.

Choices are stored as text under the names of their settings and validated like those of the
environment. Of a key, this module returns only its location.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from research.accounts.keys import KeyStore, may_set_key
from research.core.errors import register_secrets
from research.core.records import Record
from research.core.settings import CHOICES, CONNECTION_SETTINGS, SettingError, Settings, apply_choices, setting_text
from research.models.roles import parse_spec, report_spec
from research.storage.store import Store

log = logging.getLogger(__name__)

MIN_KEY_CHARS = 8  # characters of a key; shorter ones would be masked wherever they occur by chance
MAX_KEY_CHARS = 400
MODEL_SETTINGS = tuple(name for name, setting in CHOICES.items() if setting.kind == "model")
KeyLocation = Literal["session", "machine", "environment", "none"]


class SettingChoice(Record):
    """A setting as it applies to an owner. Values are text, as in the environment."""

    name: str
    value: str
    default: str  # the value for owners who have chosen nothing
    is_chosen: bool = False
    is_usable: bool = True  # False if the chosen value is invalid


class KeyStatus(Record):
    """The location of a key: session, machine (remembered), environment or none."""

    name: str
    location: KeyLocation
    is_refused: bool = False  # by its service, in the last test


class Preferences:
    """The choices of owners, and the settings that result from them."""

    def __init__(self, defaults: Settings, store: Store, keys: KeyStore | None = None) -> None:
        """Use `defaults` where an owner has chosen nothing, and keys only if a store is given."""
        self.defaults, self.store, self.keys = defaults, store, keys

    @property
    def can_use_keys(self) -> bool:
        """True if owners' keys can be used, which requires that runs are executed here."""
        return self.keys is not None and not self.defaults.runs_url

    def chosen_values(self, owner: str) -> dict[str, str]:
        """Return the choices of an owner, by setting.

        Raises:
            StoreError: the store cannot be used.
        """
        stored = self.store.preferences(owner)
        return {n: v for n, v in stored.items() if n in CHOICES and isinstance(v, str)}

    def owner_keys(self, owner: str) -> dict[str, str]:
        """Return the keys of an owner."""
        return self.keys.get_keys(owner) if self.keys and self.can_use_keys else {}

    def settings_for(self, owner: str) -> Settings:
        """Return the settings for an owner, ignoring choices that are no longer valid."""
        return self._apply_usable({**self.chosen_values(owner), **self.owner_keys(owner)})

    def _apply_usable(self, values: Mapping[str, str]) -> Settings:
        if not values:
            return self.defaults
        try:
            return settings_with_choices(self.defaults, values)
        except SettingError:
            pass
        usable: dict[str, str] = {}
        for name, value in values.items():
            try:
                settings_with_choices(self.defaults, usable | {name: value})
            except SettingError as error:
                log.warning("what somebody has chosen is left out: %s", error)
            else:
                usable[name] = value
        return settings_with_choices(self.defaults, usable)

    def choices(self, owner: str) -> Sequence[SettingChoice]:
        """Return every setting that an owner can choose."""
        base, own_settings, chosen = self.defaults, self.settings_for(owner), self.chosen_values(owner)
        rows = []
        for name, setting in CHOICES.items():
            value = setting_text(getattr(own_settings, setting.attribute))
            default = setting_text(getattr(base, setting.attribute))
            is_chosen = name in chosen
            is_usable = not is_chosen or not _values_problem(base, {name: chosen[name]})
            rows.append(
                SettingChoice(name=name, value=value, default=default, is_chosen=is_chosen, is_usable=is_usable)
            )
        return rows

    def save_choices(self, values: Mapping[str, str], *, owner: str) -> dict[str, str]:
        """Save choices of an owner and return problems by name; with any problem, nothing is saved.

        A blank value, or the default one, deletes the choice.
        """
        base = self.defaults
        stripped = {name: value.strip() for name, value in values.items()}
        problems = {
            name: problem for name, value in stripped.items() if (problem := _choice_problem(base, name, value))
        }
        if problems:
            return problems
        for name, value in stripped.items():
            attribute = CHOICES[name].attribute
            chosen = value and setting_text(getattr(settings_with_choices(base, {name: value}), attribute))
            default = setting_text(getattr(base, attribute))
            self.store.set_preference(owner, name, None if not chosen or chosen == default else chosen)
        return {}

    def reset_choices(self, owner: str) -> None:
        """Delete all choices of an owner; keys stay."""
        for name in self.chosen_values(owner):
            self.store.set_preference(owner, name, None)

    def key_statuses(self, owner: str) -> Sequence[KeyStatus]:
        """Return the status of each key that an owner may set; none where keys cannot be used."""
        if not self.can_use_keys or self.keys is None:
            return []
        locations, base, own_settings = self.keys.key_locations(owner), self.defaults, self.settings_for(owner)
        statuses = []
        for name in CONNECTION_SETTINGS:
            if not may_set_key(name, owner):
                continue
            location: KeyLocation = "environment" if base.provider_value(name) else "none"
            if name in locations:
                location = "machine" if locations[name] == "machine" else "session"
            is_refused = location != "none" and self.keys.is_refused(owner, name, own_settings.provider_value(name))
            statuses.append(KeyStatus(name=name, location=location, is_refused=is_refused))
        return statuses

    def settings_with_keys(self, values: Mapping[str, str], *, owner: str) -> tuple[Settings, dict[str, str]]:
        """Return the settings that an owner would have with these keys, and problems by name.

        Nothing is saved. Keys with problems are left out.
        """
        valid_keys, problems = self._validate_keys(values, owner)
        register_secrets(valid_keys.values())
        choices = {**self.chosen_values(owner), **self.owner_keys(owner), **valid_keys}
        return self._apply_usable(choices), problems

    def record_key_test(self, name: str, settings: Settings, *, owner: str, is_refused: bool) -> None:
        """Remember whether the key that was tested with these settings was refused."""
        if self.keys is not None and (value := settings.provider_value(name)):
            self.keys.record_test(owner, name, value, is_refused=is_refused)

    def add_keys(self, values: Mapping[str, str], *, owner: str, remember: bool = False) -> dict[str, str]:
        """Add keys of an owner, ignoring blank ones; with any problem, none is added.

        They are kept until the process ends or, with `remember`, in a file that only the owner of the
        process can read.

        Returns problems by name, without the values. A rejected value is not registered as a
        secret: a mistyped "answer" would be masked in every message of the process.

        Raises:
            OSError: the keys cannot be remembered; none was added.
        """
        valid_keys, problems = self._validate_keys(values, owner)
        if not problems and valid_keys and self.keys is not None:
            self.keys.add_keys(owner, valid_keys, remember=remember)
        return problems

    def _validate_keys(self, values: Mapping[str, str], owner: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return the usable keys and the problems of the others, ignoring blank ones."""
        stripped = {name: value.strip() for name, value in values.items() if value.strip()}
        problems = {
            name: problem for name, value in stripped.items() if (problem := self._key_problem(name, value, owner))
        }
        return {name: value for name, value in stripped.items() if name not in problems}, problems

    def delete_key(self, name: str, *, owner: str) -> None:
        """Delete a key of an owner.

        Raises:
            OSError: the file of remembered keys cannot be written.
        """
        if self.keys is not None:
            self.keys.delete_key(owner, name)

    def delete_all(self, owner: str) -> None:
        """Delete all choices and keys of an owner.

        Raises:
            OSError: the file of remembered keys cannot be written.
        """
        self.reset_choices(owner)
        for name in CONNECTION_SETTINGS:
            self.delete_key(name, owner=owner)

    def _key_problem(self, name: str, value: str, owner: str) -> str:
        if not self.can_use_keys or not may_set_key(name, owner):
            return f"{name} cannot be set here."
        if not MIN_KEY_CHARS <= len(value) <= MAX_KEY_CHARS:
            return f"{name} has {len(value)} characters, which no key has. Copy the key again."
        if _values_problem(self.defaults, {name: value}):  # the original message may contain the value
            return f"{name} is not usable: it has characters that do not belong there, or is no address."
        return ""


def settings_with_choices(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """Return the settings with these choices applied, once the names of models are checked as well.

    Raises:
        SettingError: a choice is invalid.
    """
    chosen_settings = apply_choices(settings, choices)
    for name in MODEL_SETTINGS:
        if choices.get(name, "").strip():
            parse_spec(choices[name], name, chosen_settings.providers)
    report_spec(chosen_settings)
    return chosen_settings


def _choice_problem(settings: Settings, name: str, value: str) -> str:
    if name not in CHOICES:  # in particular no key, because choices are stored
        return f"{name} cannot be chosen by a person."
    return _values_problem(settings, {name: value})


def _values_problem(settings: Settings, values: Mapping[str, str]) -> str:
    """Return why these values are invalid, "" if they are valid."""
    try:
        settings_with_choices(settings, values)
    except SettingError as error:
        return str(error)
    return ""
