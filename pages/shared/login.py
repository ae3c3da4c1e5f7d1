"""Who this browser is. Without a login everybody is "local"; with one, runs belong to who asked.

The login is Streamlit's own (OpenID Connect), set up in `[auth]` of its secrets. Nothing here
remembers who somebody is: that is asked anew each time. Whatever is wrong with the set-up closes the
desk; it never makes it everybody's.

Streamlit's cookie is signed and holds the claims of the provider; the server keeps no list of valid
ones, so a copy of it stays valid when the browser deletes its own. Therefore the store keeps the
sign-ins that have ended, until their twelve hours are over.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared.safe import plain
from pages.shared.words import Say, speaker, t
from research import SettingError, StoreError, application

log = logging.getLogger(__name__)

LOCAL = "local"  # who owns everything where there is no login
FAREWELL = "farewell"  # in the session: a message for the screen for signing in
LASTS = timedelta(hours=12)  # from signing in to having to sign in again
SECRETS = Path(__file__).resolve().parents[2] / ".streamlit" / "secrets.toml"
SHARED = ("redirect_uri", "cookie_secret")
CLIENT = ("client_id", "client_secret", "server_metadata_url")
SHOWN = 60  # characters of a name
SECRET = 32  # characters that a secret needs at least
AUTHLIB = (1, 3, 2)  # what Streamlit needs
WHY = {  # the words for what is wrong with the set-up, and the name of what they tell
    "missing": ("login.missing", "keys"),
    "name": ("login.name", "name"),
    "weak": ("login.weak", "n"),
    "redirect": ("login.redirect", ""),
    "authlib": ("login.authlib", "version"),
    "unreadable": ("login.unreadable", ""),
    "unread": ("login.unread", "file"),
    "gone": ("login.gone", ""),
}
NEVER = datetime.fromtimestamp(0, UTC)
_held = [False]


@dataclass(frozen=True)
class Login:
    """How people sign in: the names of the providers ("" has none), or why nobody can.

    `problem` is one of `WHY`, `what` is what it is about.
    """

    providers: tuple[str, ...] = ()
    problem: str = ""
    what: str = ""

    @property
    def on(self) -> bool:
        """Whether anybody has to sign in. That nobody can does not turn it off."""
        return bool(self.providers or self.problem)


@dataclass(frozen=True)
class Person:
    """Somebody with an `owner` is signed in. Without one, `refused` may say why.

    `sign_in` is the id of this sign-in, `began` its time by the provider's clock.
    """

    owner: str = ""
    name: str = ""
    email: str = ""
    refused: str = ""
    sign_in: str = ""
    began: datetime = NEVER


# The set-up


def setup(own: Path = SECRETS) -> Login:
    """The login as the secrets have it now.

    Where the server is started elsewhere, Streamlit overlooks the file beside the program, `own`. That
    somebody wrote it means that there should be a login.
    """
    try:
        section: Any = st.secrets.get("auth")
    except (OSError, ValueError):  # there are none, or they cannot be read
        section = None
        if any(Path(file).exists() for file in st.get_option("secrets.files")):
            return Login(problem="unreadable")
    if section is not None:
        return _checked(section)
    if own.exists() and own not in map(Path, st.get_option("secrets.files")):
        return Login(problem="unread", what=f"{own.parent.name}/{own.name}")
    return Login(problem="gone") if _held[0] else Login()


def hold() -> None:
    """Called when the server starts: a login that is on stays on until it ends.

    Secrets are read again when their file changes. A file that is being written opens nothing.
    """
    state = setup()
    _held[0] = state.on
    if state.problem:
        say = speaker("en")
        log.error("%s", " ".join((say("login.broken"), _why(state, say, str))))


def _checked(section: Any) -> Login:
    if not isinstance(section, Mapping):
        return Login(problem="missing", what=", ".join(SHARED + CLIENT))
    named = {
        name: client
        for name, client in section.items()
        if isinstance(client, Mapping) and name != "client_kwargs"
    }
    clients = {f"{name}.": client for name, client in named.items()}
    if not named or any(key in section for key in CLIENT):
        clients[""] = section
    missing = [key for key in SHARED if not _text(section, key)]
    missing += [f"{of}{key}" for of, client in clients.items() for key in CLIENT if not _text(client, key)]  # fmt: skip
    if missing:
        return Login(problem="missing", what=", ".join(missing))
    if odd := [name for name in named if "_" in name]:
        return Login(problem="name", what=odd[0])
    if len(_text(section, "cookie_secret")) < SECRET:
        return Login(problem="weak", what=str(SECRET))
    if not _returns_here(_text(section, "redirect_uri")):
        return Login(problem="redirect")
    if not _installed():
        return Login(problem="authlib", what=".".join(map(str, AUTHLIB)))
    return Login(providers=tuple(sorted(of.rstrip(".") for of in clients)))


def _text(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key)
    return value.strip() if isinstance(value, str) else ""


def _returns_here(address: str) -> bool:
    """Whether that is an address at which Streamlit waits for people to come back."""
    try:
        parts = urlsplit(address.replace("{port}", "1"))
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and parts.path.endswith("/oauth2callback")
    )


def _installed() -> bool:
    try:
        import authlib
        from authlib.integrations import starlette_client  # noqa: F401
    except ImportError:
        return False
    found = [int(part) for part in authlib.__version__.split(".")[:3] if part.isdigit()]
    return tuple(found) >= AUTHLIB


# The visitor


def person(claims: Mapping[str, Any], now: datetime) -> Person:
    """Who somebody is by the claims of their provider.

    The owner is made of issuer and subject: these two stay, and nobody gets them again. A name or an
    address can be changed, and given to somebody else.
    """
    if claims.get("is_logged_in") is not True:
        return Person()
    name, email = _text(claims, "name"), _text(claims, "email")
    issuer, subject, issued = claims.get("iss"), claims.get("sub"), claims.get("iat")
    if not all(isinstance(value, str) and value.strip() for value in (issuer, subject)):
        return Person(name=name, email=email, refused="nobody")
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return Person(name=name, email=email, refused="expired")
    if not abs(now.timestamp() - issued) <= LASTS.total_seconds():  # NaN is no time either
        return Person(name=name, email=email, refused="expired")
    return Person(
        f"user-{_digest(issuer, subject)}", name, email,
        sign_in=_digest(issuer, subject, issued, claims.get("nonce")),
        began=datetime.fromtimestamp(issued, UTC),
    )  # fmt: skip


def _digest(*values: object) -> str:
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()[:40]


def admitted(claims: Mapping[str, Any], now: datetime) -> Person:
    """Return the person described by the claims of their provider; refused if this sign-in was
    ended.

    Raises:
        SettingError, StoreError: the record of ended sign-ins cannot be read.
    """
    found = person(claims, now)
    if found.owner and application.is_signed_out(
        found.sign_in, began=found.began, owner=found.owner
    ):
        return Person(name=found.name, email=found.email, refused="ended")
    return found


def end(found: Person, *, everywhere: bool = False) -> None:
    """End a sign-in, or all sign-ins of a person, for every process that shares the store.

    Raises:
        SettingError, StoreError: it cannot be recorded.
    """
    now = max(datetime.now(UTC), found.began)  # the provider's clock may be ahead of ours
    sign_in = "" if everywhere else found.sign_in
    application.sign_out(sign_in, at=now, until=now + LASTS, owner=found.owner)


def visitor() -> Person:
    """Return the person who is signed in in the browser of this session.

    Raises:
        SettingError, StoreError: the record of ended sign-ins cannot be read.
    """
    return admitted(st.user.to_dict(), datetime.now(UTC))


def owner() -> str:
    """Whose runs this browser may see. Where nobody is signed in any more, the page starts anew."""
    state = setup()
    if not state.on:
        return LOCAL
    found = visitor()
    if state.problem or not found.owner:
        st.rerun()
    return found.owner


def settle(owner: str) -> None:
    """A session has one owner: what another one has left in it goes."""
    if st.session_state.get("owner", owner) != owner:
        for key in [key for key in st.session_state if key not in ("lang", FAREWELL)]:
            del st.session_state[key]
    st.session_state.owner = owner


# What is drawn


def draw_sidebar(found: Person) -> None:
    """Who is signed in, and the way out."""
    with st.sidebar, st.container(key="signed_in", gap=None):
        st.caption(t("login.as"))
        st.text(_short(found.name or found.email or t("login.unnamed")))
        if found.name and found.email:
            st.text(_short(found.email))
        _leave(found)
        st.button(
            t("login.everywhere"),
            key="sign_out_everywhere",
            icon=":material/devices:",
            type="tertiary",
            on_click=sign_out,
            args=(found,),
            kwargs={"everywhere": True},
        )


def _short(text: str) -> str:
    """Outside text for a line of the sidebar, which is drawn as it is."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def card() -> DeltaGenerator:
    """The place of the screen at which those who are not in are received."""
    st.space(72)
    with st.container(horizontal_alignment="center", key="login"):
        return st.container(border=True, width=440, gap="medium", key="login_card")


def draw(place: DeltaGenerator, state: Login, found: Person) -> None:
    """How to sign in, or why nobody can."""
    with place:
        st.title(t("login.title"), anchor=False)
        if farewell := st.session_state.pop(FAREWELL, ""):
            st.success(farewell, icon=":material/check_circle:")
        st.markdown(t("login.lead"))
        if state.problem:
            st.error(t("login.broken"), icon=":material/lock:")
            st.caption(_why(state))
            st.button(t("trouble.retry"), key="retry")
        elif found.refused == "nobody":
            st.error(t("login.nobody"), icon=":material/person_off:")
            _leave(found)
        else:
            if found.refused:
                st.info(t(f"login.{found.refused}"), icon=":material/schedule:")
            _providers(state)


def _providers(state: Login) -> None:
    for name in state.providers:
        words = t("login.in_with", name=plain(name.capitalize(), 40)) if name else t("login.in")
        st.button(
            words,
            key=f"sign_in_{name}".rstrip("_"),
            type="primary",
            icon=":material/login:",
            width="stretch",
            on_click=st.login,
            args=(name,) if name else (),
        )
    st.caption(t("login.note"))


def _leave(found: Person) -> None:
    st.button(
        t("login.out"),
        key="sign_out",
        icon=":material/logout:",
        type="tertiary",
        on_click=sign_out,
        args=(found,),
    )


def sign_out(found: Person, *, everywhere: bool = False) -> None:
    """End the sign-in on the server, then have Streamlit delete the cookie of this browser."""
    if found.owner:
        try:
            end(found, everywhere=everywhere)
        except (
            StoreError,
            SettingError,
        ) as error:  # the browser at hand is signed out all the same
            log.error("a sign-out could not be recorded: %s", error)
    st.logout()


def _why(state: Login, say: Say = t, escape: Callable[[str], str] = plain) -> str:
    words, value = WHY[state.problem]
    return say(words, **({value: escape(state.what)} if value else {}))
