"""What a person has chosen otherwise than the environment says, and which keys they have brought.

Choices are kept in the store under the name of the setting, as text, and hold to the rules of the
environment. Of a key nothing leaves this module but where it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from research.accounts.keys import Keys, allowed
from research.core.errors import conceal
from research.core.records import Record
from research.core.settings import CHOICES, KEYS, SettingError, Settings, overlaid
from research.models.roles import parse, reporter
from research.storage.store import Store

log = logging.getLogger(__name__)

SHORTEST = 8  # characters of a key: less would be hidden wherever it occurs by chance
LONGEST = 400
MODELS = (
    "QUERY_GENERATOR_MODEL", "REFLECTION_MODEL", "ANSWER_MODEL", "WEB_SEARCH_MODEL", "CHECK_MODEL",
)  # fmt: skip
KeyPlace = Literal["session", "machine", "environment", "none"]


class Choice(Record):
    """A setting as a person has it. All values are texts, as in the environment."""

    name: str
    value: str
    usual: str  # what it is for those who have chosen nothing
    chosen: bool = False
    usable: bool = True  # of what is chosen


class KeyState(Record):
    """Where a key is: brought along for this session or remembered on this machine, set in the
    environment, or nowhere."""

    name: str
    place: KeyPlace
    refused: bool = False  # by its service, when it was last tested


class Preferences:
    """What each owner has chosen, and what their runs are set to by that."""

    def __init__(self, base: Settings, store: Store, keys: Keys | None = None) -> None:
        """`base` are the settings of those who have chosen nothing. Without `keys`, nobody's own are
        used."""
        self.base, self.store, self.keys = base, store, keys

    @property
    def keyed(self) -> bool:
        """Whether keys of people can be used: not where the runs are worked on elsewhere."""
        return self.keys is not None and not self.base.runs_url

    def chosen(self, owner: str) -> dict[str, str]:
        """What an owner has chosen, by the name of the setting.

        Raises:
            StoreError: the store cannot be used.
        """
        known = self.store.preferences(owner)
        return {n: v for n, v in known.items() if n in CHOICES and isinstance(v, str)}

    def brought(self, owner: str) -> dict[str, str]:
        """The keys that an owner has brought along."""
        return self.keys.of(owner) if self.keys and self.keyed else {}

    def settings(self, owner: str) -> Settings:
        """The settings for an owner. A choice that is not usable any more counts as none."""
        return self._usable({**self.chosen(owner), **self.brought(owner)})

    def _usable(self, wanted: Mapping[str, str]) -> Settings:
        if not wanted:
            return self.base
        try:
            return checked(self.base, wanted)
        except SettingError:
            pass
        kept: dict[str, str] = {}
        for name, value in wanted.items():
            try:
                checked(self.base, kept | {name: value})
            except SettingError as error:
                log.warning("what somebody has chosen is left out: %s", error)
            else:
                kept[name] = value
        return checked(self.base, kept)

    def choices(self, owner: str) -> Sequence[Choice]:
        """Everything that an owner can choose."""
        base, mine, chosen = self.base, self.settings(owner), self.chosen(owner)
        out = []
        for name, field in CHOICES.items():
            value, usual = _text(getattr(mine, field)), _text(getattr(base, field))
            picked = name in chosen
            usable = not picked or not _problem(base, {name: chosen[name]})
            out.append(Choice(name=name, value=value, usual=usual, chosen=picked, usable=usable))
        return out

    def choose(self, values: Mapping[str, str], owner: str) -> dict[str, str]:
        """Keeps what an owner has chosen; a blank value, or that of the environment, is none. If any is
        not usable, nothing is kept.

        Returns what is wrong, by name.
        """
        base = self.base
        given = {name: value.strip() for name, value in values.items()}
        wrong = {name: why for name, value in given.items() if (why := _wrong(base, name, value))}
        if wrong:
            return wrong
        for name, value in given.items():
            own = value and _text(getattr(checked(base, {name: value}), CHOICES[name]))
            usual = _text(getattr(base, CHOICES[name]))
            self.store.prefer(owner, name, None if not own or own == usual else own)
        return {}

    def reset(self, owner: str) -> None:
        """Forgets all that an owner has chosen of the settings; keys stay."""
        for name in self.chosen(owner):
            self.store.prefer(owner, name, None)

    def key_states(self, owner: str) -> Sequence[KeyState]:
        """Where each key is that an owner may bring along; none where keys cannot be used."""
        if not self.keyed or self.keys is None:
            return []
        places, base, mine = self.keys.places(owner), self.base, self.settings(owner)
        out = []
        for name in KEYS:
            if not allowed(name, owner):
                continue
            place: KeyPlace = "environment" if base.given(name) else "none"
            if name in places:
                place = "machine" if places[name] == "machine" else "session"
            refused = place != "none" and self.keys.is_refused(owner, name, mine.given(name))
            out.append(KeyState(name=name, place=place, refused=refused))
        return out

    def with_keys(self, values: Mapping[str, str], owner: str) -> tuple[Settings, dict[str, str]]:
        """Build the settings that an owner would have with these keys; nothing is kept. Return them
        with what is wrong, by name; a wrong key is left out."""
        given, wrong = self._sorted(values, owner)
        conceal(given.values())
        wanted = {**self.chosen(owner), **self.brought(owner), **given}
        return self._usable(wanted), wrong

    def note_test(self, name: str, settings: Settings, owner: str, *, refused: bool) -> None:
        """Remember whether the key that was tested with these settings was refused."""
        if self.keys is not None and (value := settings.given(name)):
            self.keys.note_test(owner, name, value, refused=refused)

    def bring(self, values: Mapping[str, str], owner: str, *, remember: bool) -> dict[str, str]:
        """Takes in keys of an owner's; blank ones are left out. If any is not usable, none is taken.

        Returns what is wrong, by name, without repeating it. A refused value is not kept as a secret: a
        mistyped "answer" would be hidden in every message of the process.

        Raises:
            OSError: they cannot be remembered; none was taken.
        """
        given, wrong = self._sorted(values, owner)
        if not wrong and given and self.keys is not None:
            self.keys.put(owner, given, remember=remember)
        return wrong

    def _sorted(
        self, values: Mapping[str, str], owner: str
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Separate the keys that can be used from those that cannot, with the reason; blank ones are
        left out."""
        given = {name: value.strip() for name, value in values.items() if value.strip()}
        wrong = {
            name: why for name, value in given.items() if (why := self._unfit(name, value, owner))
        }
        return {name: value for name, value in given.items() if name not in wrong}, wrong

    def forget_key(self, name: str, owner: str) -> None:
        """Forgets a key that an owner has brought along.

        Raises:
            OSError: the file of the remembered ones cannot be written.
        """
        if self.keys is not None:
            self.keys.forget(owner, name)

    def forget_all(self, owner: str) -> None:
        """Forgets all that an owner has chosen, and the keys.

        Raises:
            OSError: the file of the remembered keys cannot be written.
        """
        self.reset(owner)
        for name in KEYS:
            self.forget_key(name, owner)

    def _unfit(self, name: str, value: str, owner: str) -> str:
        if not self.keyed or not allowed(name, owner):
            return f"{name} cannot be set here."
        if not SHORTEST <= len(value) <= LONGEST:
            return f"{name} has {len(value)} characters, which no key has. Copy the key again."
        if _problem(self.base, {name: value}):  # what it says may repeat the value
            return f"{name} is not usable: it has characters that do not belong there, or is no address."
        return ""


def checked(settings: Settings, choices: Mapping[str, str]) -> Settings:
    """The settings with these choices, all of which can be worked with.

    Raises:
        SettingError: one of them cannot.
    """
    made = overlaid(settings, choices)
    for name in MODELS:
        if choices.get(name, "").strip():
            parse(choices[name], name, made.providers)
    reporter(made)
    return made


def _wrong(settings: Settings, name: str, value: str) -> str:
    if name not in CHOICES:  # a key least of all: what is chosen is stored
        return f"{name} cannot be chosen by a person."
    return _problem(settings, {name: value})


def _problem(settings: Settings, values: Mapping[str, str]) -> str:
    """Why these values cannot be used; "" if they can."""
    try:
        checked(settings, values)
    except SettingError as error:
        return str(error)
    return ""


def _text(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
