"""What a person has chosen otherwise than the environment says, and which keys they have brought.

Choices are kept in the store under the name of the setting, as text, and hold to the rules of the
environment. Of a key nothing leaves this module but where it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from research.accounts.keys import KeyStore, may_set_key
from research.core.errors import register_secrets
from research.core.records import Record
from research.core.settings import CHOICES, KEYS, SettingError, Settings, apply_choices
from research.models.roles import parse_spec, report_spec
from research.storage.store import Store

log = logging.getLogger(__name__)

MIN_KEY_CHARS = 8  # characters of a key: less would be hidden wherever it occurs by chance
MAX_KEY_CHARS = 400
MODEL_SETTINGS = (
    "QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL", "CHECK_MODEL",
)  # fmt: skip
KeyLocation = Literal["session", "machine", "environment", "none"]


class SettingChoice(Record):
    """A setting as a person has it. All values are texts, as in the environment."""

    name: str
    value: str
    default: str  # what it is for those who have chosen nothing
    is_chosen: bool = False
    is_usable: bool = True  # of what is chosen


class KeyStatus(Record):
    """Where a key is: brought along for this session or remembered on this machine, set in the
    environment, or nowhere."""

    name: str
    location: KeyLocation
    is_refused: bool = False  # by its service, when it was last tested


class Preferences:
    """What each owner has chosen, and what their runs are set to by that."""

    def __init__(self, defaults: Settings, store: Store, keys: KeyStore | None = None) -> None:
        """`base` are the settings of those who have chosen nothing. Without `keys`, nobody's own are
        used."""
        self.defaults, self.store, self.keys = defaults, store, keys

    @property
    def can_use_keys(self) -> bool:
        """Whether keys of people can be used: not where the runs are worked on elsewhere."""
        return self.keys is not None and not self.defaults.runs_url

    def chosen_values(self, owner: str) -> dict[str, str]:
        """What an owner has chosen, by the name of the setting.

        Raises:
            StoreError: the store cannot be used.
        """
        known = self.store.preferences(owner)
        return {n: v for n, v in known.items() if n in CHOICES and isinstance(v, str)}

    def owner_keys(self, owner: str) -> dict[str, str]:
        """The keys that an owner has brought along."""
        return self.keys.get_keys(owner) if self.keys and self.can_use_keys else {}

    def settings_for(self, owner: str) -> Settings:
        """The settings for an owner. A choice that is not usable any more counts as none."""
        return self._apply_usable({**self.chosen_values(owner), **self.owner_keys(owner)})

    def _apply_usable(self, values: Mapping[str, str]) -> Settings:
        if not values:
            return self.defaults
        try:
            return validate_choices(self.defaults, values)
        except SettingError:
            pass
        kept: dict[str, str] = {}
        for name, value in values.items():
            try:
                validate_choices(self.defaults, kept | {name: value})
            except SettingError as error:
                log.warning("what somebody has chosen is left out: %s", error)
            else:
                kept[name] = value
        return validate_choices(self.defaults, kept)

    def choices(self, owner: str) -> Sequence[SettingChoice]:
        """Everything that an owner can choose."""
        base, mine, chosen = self.defaults, self.settings_for(owner), self.chosen_values(owner)
        out = []
        for name, field in CHOICES.items():
            value, usual = _setting_text(getattr(mine, field)), _setting_text(getattr(base, field))
            picked = name in chosen
            usable = not picked or not _values_problem(base, {name: chosen[name]})
            out.append(SettingChoice(name=name, value=value, default=usual, is_chosen=picked, is_usable=usable))
        return out

    def save_choices(self, values: Mapping[str, str], owner: str) -> dict[str, str]:
        """Keeps what an owner has chosen; a blank value, or that of the environment, is none. If any is
        not usable, nothing is kept.

        Returns what is wrong, by name.
        """
        base = self.defaults
        given = {name: value.strip() for name, value in values.items()}
        wrong = {name: why for name, value in given.items() if (why := _choice_problem(base, name, value))}
        if wrong:
            return wrong
        for name, value in given.items():
            own = value and _setting_text(getattr(validate_choices(base, {name: value}), CHOICES[name]))
            usual = _setting_text(getattr(base, CHOICES[name]))
            self.store.set_preference(owner, name, None if not own or own == usual else own)
        return {}

    def reset_choices(self, owner: str) -> None:
        """Forgets all that an owner has chosen of the settings; keys stay."""
        for name in self.chosen_values(owner):
            self.store.set_preference(owner, name, None)

    def key_statuses(self, owner: str) -> Sequence[KeyStatus]:
        """Where each key is that an owner may bring along; none where keys cannot be used."""
        if not self.can_use_keys or self.keys is None:
            return []
        places, base, mine = self.keys.key_locations(owner), self.defaults, self.settings_for(owner)
        out = []
        for name in KEYS:
            if not may_set_key(name, owner):
                continue
            place: KeyLocation = "environment" if base.provider_value(name) else "none"
            if name in places:
                place = "machine" if places[name] == "machine" else "session"
            refused = place != "none" and self.keys.is_refused(owner, name, mine.provider_value(name))
            out.append(KeyStatus(name=name, location=place, is_refused=refused))
        return out

    def settings_with_keys(self, values: Mapping[str, str], owner: str) -> tuple[Settings, dict[str, str]]:
        """Build the settings that an owner would have with these keys; nothing is kept. Return them
        with what is wrong, by name; a wrong key is left out."""
        given, wrong = self._validate_keys(values, owner)
        register_secrets(given.values())
        wanted = {**self.chosen_values(owner), **self.owner_keys(owner), **given}
        return self._apply_usable(wanted), wrong

    def record_key_test(self, name: str, settings: Settings, owner: str, *, is_refused: bool) -> None:
        """Remember whether the key that was tested with these settings was refused."""
        if self.keys is not None and (value := settings.provider_value(name)):
            self.keys.record_test(owner, name, value, is_refused=is_refused)

    def add_keys(self, values: Mapping[str, str], owner: str, *, remember: bool) -> dict[str, str]:
        """Takes in keys of an owner's; blank ones are left out. If any is not usable, none is taken.

        Returns what is wrong, by name, without repeating it. A refused value is not kept as a secret: a
        mistyped "answer" would be hidden in every message of the process.

        Raises:
            OSError: they cannot be remembered; none was taken.
        """
        given, wrong = self._validate_keys(values, owner)
        if not wrong and given and self.keys is not None:
            self.keys.add_keys(owner, given, remember=remember)
        return wrong

    def _validate_keys(self, values: Mapping[str, str], owner: str) -> tuple[dict[str, str], dict[str, str]]:
        """Separate the keys that can be used from those that cannot, with the reason; blank ones are
        left out."""
        given = {name: value.strip() for name, value in values.items() if value.strip()}
        wrong = {name: why for name, value in given.items() if (why := self._key_problem(name, value, owner))}
        return {name: value for name, value in given.items() if name not in wrong}, wrong

    def delete_key(self, name: str, owner: str) -> None:
        """Forgets a key that an owner has brought along.

        Raises:
            OSError: the file of the remembered ones cannot be written.
        """
        if self.keys is not None:
            self.keys.delete_key(owner, name)

    def delete_all(self, owner: str) -> None:
        """Forgets all that an owner has chosen, and the keys.

        Raises:
            OSError: the file of the remembered keys cannot be written.
        """
        self.reset_choices(owner)
        for name in KEYS:
            self.delete_key(name, owner)

    def _key_problem(self, name: str, value: str, owner: str) -> str:
        if not self.can_use_keys or not may_set_key(name, owner):
            return f"{name} cannot be set here."
        if not MIN_KEY_CHARS <= len(value) <= MAX_KEY_CHARS:
            return f"{name} has {len(value)} characters, which no key has. Copy the key again."
        if _values_problem(self.defaults, {name: value}):  # what it says may repeat the value
            return f"{name} is not usable: it has characters that do not belong there, or is no address."
        return ""


def validate_choices(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """The settings with these choices, all of which can be worked with.

    Raises:
        SettingError: one of them cannot.
    """
    made = apply_choices(settings, choices)
    for name in MODEL_SETTINGS:
        if choices.get(name, "").strip():
            parse_spec(choices[name], name, made.providers)
    report_spec(made)
    return made


def _choice_problem(settings: Settings, name: str, value: str) -> str:
    if name not in CHOICES:  # a key least of all: what is chosen is stored
        return f"{name} cannot be chosen by a person."
    return _values_problem(settings, {name: value})


def _values_problem(settings: Settings, values: Mapping[str, str]) -> str:
    """Why these values cannot be used; "" if they can."""
    try:
        validate_choices(settings, values)
    except SettingError as error:
        return str(error)
    return ""


def _setting_text(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
