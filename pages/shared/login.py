"""Login of visitors. Without a login everybody is "local"; with one, runs belong to their owners.

The login is Streamlit's own (OpenID Connect), set up in `[auth]` of its secrets. The visitor is
read from the cookie on every call and never cached here. A faulty set-up closes the application; it
never opens it to everybody.

Streamlit's cookie is signed and holds the claims of the provider. The server keeps no list of valid
cookies, so a copy stays valid when the browser deletes its own. Therefore the store records ended
sign-ins until their twelve hours are over.
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

from pages.shared.escaping import escape_markdown, to_single_line
from pages.shared.localization import Translator, create_translator, t
from research import SettingError, StoreError, get_application

log = logging.getLogger(__name__)

LOCAL_OWNER = "local"  # owner of everything without a login
FAREWELL_KEY = "farewell"  # session key of a message for the sign-in screen
SIGN_IN_LIFETIME = timedelta(hours=12)  # from signing in to having to sign in again
SECRETS_FILE = Path(__file__).resolve().parents[2] / ".streamlit" / "secrets.toml"
COMMON_SECRET_NAMES = ("redirect_uri", "cookie_secret")
CLIENT_SECRET_NAMES = ("client_id", "client_secret", "server_metadata_url")
MAX_NAME_CHARS = 60
MIN_SECRET_CHARS = 32  # of the cookie secret
MIN_AUTHLIB_VERSION = (1, 3, 2)  # minimum of Streamlit
# Placeholders of the messages about problems. A problem without a detail is "redirect", "unreadable" or "gone".
DETAIL_PLACEHOLDERS = {"missing": "keys", "name": "name", "weak": "n", "authlib": "version", "unread": "file"}
EPOCH = datetime.fromtimestamp(0, UTC)
_is_login_locked = [False]  # one item, which `lock_login` sets


@dataclass(frozen=True)
class LoginConfig:
    """Set-up of the login: the names of its providers, or the reason why nobody can sign in."""

    providers: tuple[str, ...] = ()  # "" for a provider without a name
    problem: str = ""  # name of a message of the family `login`
    detail: str = ""  # value for its message

    @property
    def is_required(self) -> bool:
        """True if visitors have to sign in, even if a faulty set-up prevents it."""
        return bool(self.providers or self.problem)


@dataclass(frozen=True)
class Visitor:
    """A visitor of the application, signed in if `owner` is not empty."""

    owner: str = ""
    name: str = ""
    email: str = ""
    refusal: str = ""  # reason of a refused sign-in: nobody, expired or ended
    sign_in_id: str = ""
    signed_in_at: datetime = EPOCH  # by the clock of the provider


# The set-up


def read_config(secrets_file: Path = SECRETS_FILE) -> LoginConfig:
    """Read the current set-up of the login from the secrets.

    Streamlit overlooks `secrets_file` if the server was started in another folder. Its existence
    means that a login is intended, so that is reported as a problem.
    """
    try:
        section: Any = st.secrets.get("auth")
    except (OSError, ValueError):  # no secrets, or unreadable ones
        section = None
        if any(Path(file).exists() for file in st.get_option("secrets.files")):
            return LoginConfig(problem="unreadable")
    if section is not None:
        return _parse_config(section)
    if secrets_file.exists() and secrets_file not in map(Path, st.get_option("secrets.files")):
        return LoginConfig(problem="unread", detail=f"{secrets_file.parent.name}/{secrets_file.name}")
    return LoginConfig(problem="gone") if _is_login_locked[0] else LoginConfig()


def lock_login() -> None:
    """Keep a login that is on at server start on until the server ends.

    Secrets are read again when their file changes; a half-written file must not open the
    application.
    """
    config = read_config()
    _is_login_locked[0] = config.is_required
    if config.problem:
        translate = create_translator("en")
        log.error("%s", " ".join((translate("login.broken"), _describe_problem(config, translate, str))))


def _parse_config(section: Any) -> LoginConfig:
    if not isinstance(section, Mapping):
        return LoginConfig(problem="missing", detail=", ".join(COMMON_SECRET_NAMES + CLIENT_SECRET_NAMES))
    named = {
        name: client for name, client in section.items() if isinstance(client, Mapping) and name != "client_kwargs"
    }
    clients = {f"{name}.": client for name, client in named.items()}
    if not named or any(key in section for key in CLIENT_SECRET_NAMES):
        clients[""] = section
    missing = [key for key in COMMON_SECRET_NAMES if not _read_text(section, key)]
    missing += [
        f"{prefix}{key}"
        for prefix, client in clients.items()
        for key in CLIENT_SECRET_NAMES
        if not _read_text(client, key)
    ]
    if missing:
        return LoginConfig(problem="missing", detail=", ".join(missing))
    if invalid_names := [name for name in named if "_" in name]:
        return LoginConfig(problem="name", detail=invalid_names[0])
    if len(_read_text(section, "cookie_secret")) < MIN_SECRET_CHARS:
        return LoginConfig(problem="weak", detail=str(MIN_SECRET_CHARS))
    if not _is_callback_url(_read_text(section, "redirect_uri")):
        return LoginConfig(problem="redirect")
    if not _is_authlib_installed():
        return LoginConfig(problem="authlib", detail=".".join(map(str, MIN_AUTHLIB_VERSION)))
    return LoginConfig(providers=tuple(sorted(prefix.rstrip(".") for prefix in clients)))


def _read_text(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key)
    return value.strip() if isinstance(value, str) else ""


def _is_callback_url(url: str) -> bool:
    """Return True for a URL at which Streamlit receives visitors from the provider."""
    try:
        parts = urlsplit(url.replace("{port}", "1"))
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.path.endswith("/oauth2callback")


def _is_authlib_installed() -> bool:
    try:
        import authlib
        from authlib.integrations import starlette_client  # noqa: F401
    except ImportError:
        return False
    version = [int(part) for part in authlib.__version__.split(".")[:3] if part.isdigit()]
    return tuple(version) >= MIN_AUTHLIB_VERSION


# The visitor


def identify_visitor(claims: Mapping[str, Any], now: datetime) -> Visitor:
    """Return the visitor described by the claims of a provider.

    The owner is a hash of issuer and subject, which are permanent and never reassigned. Name and
    e-mail address can change and pass to somebody else.
    """
    if claims.get("is_logged_in") is not True:
        return Visitor()
    name, email = _read_text(claims, "name"), _read_text(claims, "email")
    issuer, subject, issued = claims.get("iss"), claims.get("sub"), claims.get("iat")
    if not all(isinstance(value, str) and value.strip() for value in (issuer, subject)):
        return Visitor(name=name, email=email, refusal="nobody")
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return Visitor(name=name, email=email, refusal="expired")
    if not abs(now.timestamp() - issued) <= SIGN_IN_LIFETIME.total_seconds():  # refuses NaN, too
        return Visitor(name=name, email=email, refusal="expired")
    return Visitor(
        f"user-{_hash_values(issuer, subject)}",
        name,
        email,
        sign_in_id=_hash_values(issuer, subject, issued, claims.get("nonce")),
        signed_in_at=datetime.fromtimestamp(issued, UTC),
    )


def _hash_values(*values: object) -> str:
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()[:40]


def admit_visitor(claims: Mapping[str, Any], now: datetime) -> Visitor:
    """Return the visitor described by the claims, refused if this sign-in was ended.

    Raises:
        SettingError, StoreError: the record of ended sign-ins cannot be read.
    """
    visitor = identify_visitor(claims, now)
    if visitor.owner and get_application().store.is_signed_out(
        visitor.owner, visitor.sign_in_id, started_at=visitor.signed_in_at
    ):
        return Visitor(name=visitor.name, email=visitor.email, refusal="ended")
    return visitor


def end_sign_in(visitor: Visitor, *, everywhere: bool = False) -> None:
    """End a sign-in, or all sign-ins of a visitor, for every process that shares the store.

    Raises:
        SettingError, StoreError: the end cannot be recorded.
    """
    now = max(datetime.now(UTC), visitor.signed_in_at)  # the provider's clock may be ahead of ours
    sign_in = "" if everywhere else visitor.sign_in_id
    get_application().store.record_sign_out(visitor.owner, sign_in, ended_at=now, keep_until=now + SIGN_IN_LIFETIME)


def current_visitor() -> Visitor:
    """Return the visitor of this browser session.

    Raises:
        SettingError, StoreError: the record of ended sign-ins cannot be read.
    """
    return admit_visitor(st.user.to_dict(), datetime.now(UTC))


def current_owner() -> str:
    """Return the owner whose runs this browser may see.

    If a login is required and nobody is signed in any more, the page is rerun instead.

    Raises:
        SettingError, StoreError: the record of ended sign-ins cannot be read.
    """
    config = read_config()
    if not config.is_required:
        return LOCAL_OWNER
    visitor = current_visitor()
    if config.problem or not visitor.owner:
        st.rerun()
    return visitor.owner


def set_session_owner(owner: str) -> None:
    """Set the owner of the session and delete the state left by another owner."""
    if st.session_state.get("owner", owner) != owner:
        for key in [key for key in st.session_state if key not in ("lang", FAREWELL_KEY)]:
            del st.session_state[key]
    st.session_state.owner = owner


# Drawing


def draw_visitor(visitor: Visitor) -> None:
    """Draw the name of the visitor and the sign-out buttons in the sidebar."""
    with st.sidebar, st.container(key="signed_in", gap=None):
        st.caption(t("login.as"))
        st.text(to_single_line(visitor.name or visitor.email or t("login.unnamed"), MAX_NAME_CHARS))
        if visitor.name and visitor.email:
            st.text(to_single_line(visitor.email, MAX_NAME_CHARS))
        _draw_sign_out_button(visitor)
        _draw_sign_out_button(visitor, everywhere=True)


def create_card() -> DeltaGenerator:
    """Create the container of the sign-in screen."""
    st.space(72)
    with st.container(horizontal_alignment="center", key="login"):
        return st.container(border=True, width=440, gap="medium", key="login_card")


def draw(container: DeltaGenerator, config: LoginConfig, visitor: Visitor) -> None:
    """Draw the sign-in buttons, or the reason why nobody can sign in."""
    with container:
        st.title(t("login.title"), anchor=False)
        if farewell := st.session_state.pop(FAREWELL_KEY, ""):
            st.success(farewell, icon=":material/check_circle:")
        st.markdown(t("login.lead"))
        if config.problem:
            st.error(t("login.broken"), icon=":material/lock:")
            st.caption(_describe_problem(config))
            st.button(t("trouble.retry"), key="retry")
        elif visitor.refusal == "nobody":
            st.error(t("login.nobody"), icon=":material/person_off:")
            _draw_sign_out_button(visitor)
        else:
            if visitor.refusal:
                st.info(t(f"login.{visitor.refusal}"), icon=":material/schedule:")
            _draw_providers(config)


def _draw_providers(config: LoginConfig) -> None:
    for name in config.providers:
        label = t("login.in_with", name=escape_markdown(name.capitalize(), 40)) if name else t("login.in")
        st.button(
            label,
            key=f"sign_in_{name}".rstrip("_"),
            type="primary",
            icon=":material/login:",
            width="stretch",
            on_click=st.login,
            args=(name,) if name else (),
        )
    st.caption(t("login.note"))


def _draw_sign_out_button(visitor: Visitor, *, everywhere: bool = False) -> None:
    st.button(
        t("login.everywhere" if everywhere else "login.out"),
        key="sign_out_everywhere" if everywhere else "sign_out",
        icon=":material/devices:" if everywhere else ":material/logout:",
        type="tertiary",
        on_click=sign_out,
        args=(visitor,),
        kwargs={"everywhere": everywhere},
    )


def sign_out(visitor: Visitor, *, everywhere: bool = False) -> None:
    """End the sign-in on the server, then have Streamlit delete the cookie of this browser."""
    if visitor.owner:
        try:
            end_sign_in(visitor, everywhere=everywhere)
        except (StoreError, SettingError) as error:  # this browser is signed out nevertheless
            log.error("a sign-out could not be recorded: %s", error)
    st.logout()


def _describe_problem(
    config: LoginConfig, translate: Translator = t, escape: Callable[[str], str] = escape_markdown
) -> str:
    placeholder = DETAIL_PLACEHOLDERS.get(config.problem)
    return translate(f"login.{config.problem}", **({placeholder: escape(config.detail)} if placeholder else {}))
