"""What a person has chosen otherwise than the environment says, and which keys they have brought.

Choices are kept in the store under the name of the setting, as text, and hold to the rules of the
environment. Of a key nothing leaves this module but where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from research.records import Record
from research.runs.keys import allowed
from research.runs.kits import Kits, checked
from research.settings import CHOICES, KEYS, SettingError, Settings
from research.trouble import conceal

SHORTEST = 8  # characters of a key: less would be hidden wherever it occurs by chance
LONGEST = 400
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


def choices(kits: Kits, owner: str) -> Sequence[Choice]:
    """Everything that an owner can choose."""
    base, mine, chosen = kits.base, kits.settings(owner), kits.chosen(owner)
    out = []
    for name, field in CHOICES.items():
        value, usual = _text(getattr(mine, field)), _text(getattr(base, field))
        picked = name in chosen
        usable = not picked or not _problem(base, {name: chosen[name]})
        out.append(Choice(name=name, value=value, usual=usual, chosen=picked, usable=usable))
    return out


def choose(kits: Kits, values: Mapping[str, str], owner: str) -> dict[str, str]:
    """Keeps what an owner has chosen; a blank value, or that of the environment, is none. If any is
    not usable, nothing is kept.

    Returns what is wrong, by name.
    """
    base = kits.base
    given = {name: value.strip() for name, value in values.items()}
    wrong = {name: why for name, value in given.items() if (why := _wrong(base, name, value))}
    if wrong:
        return wrong
    for name, value in given.items():
        own = value and _text(getattr(checked(base, {name: value}), CHOICES[name]))
        usual = _text(getattr(base, CHOICES[name]))
        kits.store.prefer(owner, name, None if not own or own == usual else own)
    return {}


def reset(kits: Kits, owner: str) -> None:
    """Forgets all that an owner has chosen of the settings; keys stay."""
    for name in kits.chosen(owner):
        kits.store.prefer(owner, name, None)


def key_states(kits: Kits, owner: str) -> Sequence[KeyState]:
    """Where each key is that an owner may bring along; none where keys cannot be used."""
    if not kits.keyed or kits.keys is None:
        return []
    places, base = kits.keys.places(owner), kits.base
    out = []
    for name, field in KEYS.items():
        if not allowed(name, owner):
            continue
        value = getattr(base, field)
        there = value if isinstance(value, str) else value.get_secret_value()
        place: KeyPlace = "environment" if there else "none"
        if name in places:
            place = "machine" if places[name] == "machine" else "session"
        out.append(KeyState(name=name, place=place))
    return out


def bring(kits: Kits, values: Mapping[str, str], owner: str, *, remember: bool) -> dict[str, str]:
    """Takes in keys of an owner's; blank ones are left out. If any is not usable, none is taken.

    Returns what is wrong, by name, without repeating it.

    Raises:
        OSError: they cannot be remembered; none was taken.
    """
    given = {name: value.strip() for name, value in values.items() if value.strip()}
    conceal(given.values())
    wrong = {
        name: why for name, value in given.items() if (why := _unfit(kits, name, value, owner))
    }
    if not wrong and given and kits.keys is not None:
        kits.keys.put(owner, given, remember=remember)
    return wrong


def forget_key(kits: Kits, name: str, owner: str) -> None:
    """Forgets a key that an owner has brought along.

    Raises:
        OSError: the file of the remembered ones cannot be written.
    """
    if kits.keys is not None:
        kits.keys.forget(owner, name)


def forget_all(kits: Kits, owner: str) -> None:
    """Forgets all that an owner has chosen, and the keys.

    Raises:
        OSError: the file of the remembered keys cannot be written.
    """
    reset(kits, owner)
    for name in KEYS:
        forget_key(kits, name, owner)


def _unfit(kits: Kits, name: str, value: str, owner: str) -> str:
    if not kits.keyed or not allowed(name, owner):
        return f"{name} cannot be set here."
    if not SHORTEST <= len(value) <= LONGEST:
        return f"{name} has {len(value)} characters, which no key has. Copy the key again."
    if _problem(kits.base, {name: value}):  # what it says may repeat the value
        return (
            f"{name} is not usable: it has characters that do not belong there, or is no address."
        )
    return ""


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
