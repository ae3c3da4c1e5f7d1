"""A sign-in service on this machine: OpenID Connect's code flow with PKCE, for people who are made up.

Its page lets one choose who to be; a person who is `next` is signed in without being asked. Tokens
are signed with a key that is made at the start. What is wrong with a token is chosen by `faults`.

Follows OpenID Connect Core 1.0, Discovery 1.0 and RP-Initiated Logout 1.0, and RFC 7636 (PKCE).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import html
import json
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from aiohttp import BasicAuth, web
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT_ID = "sightline-tests"
CLIENT_SECRET = "no secret at all"
FAULTS = frozenset({"signature", "nonce", "audience", "issuer", "expired"})
PEOPLE = {
    "ann": {"sub": "0001", "name": "Ann Li", "email": "ann@example.org"},
    "bob": {"sub": "0002", "name": "Bob Wang", "email": "bob@example.org"},
}


@dataclass
class FakeOIDC:
    """A provider on `base_url`, for as long as the `with` lasts.

    `people` are those it knows, with their claims; a claim that is None is left out. `returns` are
    the addresses it sends people back to; None is any.
    """

    port: int = 0
    latency: float = 0.0
    people: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {key: dict(claims) for key, claims in PEOPLE.items()}
    )
    next: str = ""
    faults: set[str] = field(default_factory=set)
    returns: set[str] | None = None
    log: list[str] = field(default_factory=list)  # the paths that were asked for

    def __post_init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}
        self._up = threading.Event()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._down = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="FakeOIDC", daemon=True)
        self._thread.start()
        assert self._up.wait(60), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(60)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def discovery(self) -> str:
        return f"{self.base_url}/.well-known/openid-configuration"

    def secrets(self, cookie_secret: str, returns: str, provider: str = "") -> str:
        """The `[auth]` of Streamlit's secrets that goes with this provider, as TOML."""
        shared = {"redirect_uri": returns, "cookie_secret": cookie_secret}
        client = {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "server_metadata_url": self.discovery,
        }
        lines = ["[auth]", *(f"{key} = {json.dumps(value)}" for key, value in shared.items())]
        lines += [f"[auth.{provider}]"] if provider else []
        return "\n".join([*lines, *(f"{k} = {json.dumps(v)}" for k, v in client.items())]) + "\n"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # ends what is left in it
            runner.run(self._serve())

    async def _serve(self) -> None:
        app = web.Application(middlewares=[self._noted])
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._keys)
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        app.router.add_get("/leave", self._leave)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.port = runner.addresses[0][1]
        self._up.set()
        await self._down.wait()
        await runner.cleanup()

    @web.middleware
    async def _noted(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.log.append(request.path)
        await asyncio.sleep(self.latency)
        response: web.StreamResponse = await handler(request)
        return response

    # What it answers

    async def _discovery(self, _: web.Request) -> web.Response:
        at = self.base_url
        return web.json_response({
            "issuer": at,
            "authorization_endpoint": f"{at}/authorize",
            "token_endpoint": f"{at}/token",
            "jwks_uri": f"{at}/keys",
            "end_session_endpoint": f"{at}/leave",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        })  # fmt: skip

    async def _keys(self, _: web.Request) -> web.Response:
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1"}
        return web.json_response({"keys": [key | {"n": _number(numbers.n), "e": _number(numbers.e)}]})

    async def _authorize(self, request: web.Request) -> web.StreamResponse:
        """Asks who to be, unless that is known, and sends them back with a code."""
        asked = dict(request.query)
        if asked.get("client_id") != CLIENT_ID or asked.get("response_type") != "code":
            return web.Response(status=400, text="unknown client")
        if self.returns is not None and asked.get("redirect_uri") not in self.returns:
            return web.Response(status=400, text="unknown redirect_uri")
        posted = await request.post() if request.method == "POST" else {}
        who = str(posted.get("who", "")) or self.next
        if who not in self.people:
            return web.Response(text=self._form(), content_type="text/html")
        code = secrets.token_urlsafe(16)
        self._codes[code] = (who, asked)
        back = urlencode({"code": code, "state": asked.get("state", "")})
        return _sent(f"{asked['redirect_uri']}?{back}")

    def _form(self) -> str:
        buttons = "".join(
            f'<button name="who" value="{html.escape(key)}">{html.escape(str(claims.get("name")))}</button>'
            for key, claims in self.people.items()
        )
        return f'<!doctype html><title>Who are you?</title><form method="post">{buttons}</form>'

    async def _token(self, request: web.Request) -> web.Response:
        """Gives an id token for a code, once, to the client that it was made for."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        given = request.headers.get("authorization", "")
        client = BasicAuth.decode(given) if given else None
        name = client.login if client else form.get("client_id")
        password = client.password if client else form.get("client_secret")
        if (name, password) != (CLIENT_ID, CLIENT_SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        who, asked = self._codes.pop(form.get("code", ""), ("", {}))
        if not who or asked["redirect_uri"] != form.get("redirect_uri") or not _proven(asked, form):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response({
            "access_token": secrets.token_urlsafe(16),
            "token_type": "Bearer",
            "expires_in": 3600,
            "id_token": self.token(who, asked.get("nonce", "")),
        })  # fmt: skip

    def token(self, who: str, nonce: str) -> str:
        """A signed id token, with what is wrong with it by `faults`."""
        now = int(time.time()) - (7200 if "expired" in self.faults else 0)
        claims = {
            "iss": "https://elsewhere.example" if "issuer" in self.faults else self.base_url,
            "aud": "somebody else" if "audience" in self.faults else CLIENT_ID,
            "iat": now,
            "exp": now + 3600,
            "nonce": "another" if "nonce" in self.faults else nonce,
            **self.people[who],
        }
        claims = {key: value for key, value in claims.items() if value is not None}
        head = {"alg": "RS256", "typ": "JWT", "kid": "1"}
        body = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
        key = self._other if "signature" in self.faults else self._key
        return f"{body}.{_encoded(key.sign(body.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        return _sent(request.query["post_logout_redirect_uri"])


def _sent(address: str) -> web.Response:
    return web.Response(status=302, headers={"location": address})


def _proven(asked: dict[str, str], form: dict[str, str]) -> bool:
    """Whether who brings the code also began (PKCE)."""
    if "code_challenge" not in asked:
        return True
    made = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    return _encoded(made) == asked["code_challenge"]


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
