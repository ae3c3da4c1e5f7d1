"""The sign-in service for tests keeps to its protocol: what it would let pass shows nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tests.servers.oidc import CLIENT_ID, CLIENT_SECRET, FakeOIDC

HERE = "http://127.0.0.1:1/oauth2callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")


@pytest.fixture
def server() -> Iterator[FakeOIDC]:
    with FakeOIDC(next="ann") as found:
        yield found


def code(server: FakeOIDC, **more: str) -> str:
    """What one is sent back with."""
    asked = {
        "client_id": CLIENT_ID, "response_type": "code", "redirect_uri": HERE, "state": "s",
        "nonce": "n", "code_challenge": CHALLENGE.decode(), "code_challenge_method": "S256", **more,
    }  # fmt: skip
    answer = httpx.get(f"{server.base_url}/authorize?{urlencode(asked)}")
    assert answer.status_code == 302
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    assert back["state"] == ["s"]
    return back["code"][0]


def exchange(server: FakeOIDC, code: str, **more: str) -> httpx.Response:
    form = {"code": code, "redirect_uri": HERE, "code_verifier": VERIFIER, **more}
    secret = form.pop("secret", CLIENT_SECRET)
    return httpx.post(f"{server.base_url}/token", data=form, auth=(CLIENT_ID, secret))


def claims(server: FakeOIDC, token: str) -> dict[str, Any]:
    """What a token says, after all checks that a client has to make."""
    keys = KeySet.import_key_set(httpx.get(f"{server.base_url}/keys").json())
    told = jwt.decode(token, keys, algorithms=["RS256"]).claims
    wanted = {"iss": {"value": server.base_url}, "aud": {"value": CLIENT_ID}}
    checked = CodeIDToken(told, {}, wanted, {"nonce": "n", "client_id": CLIENT_ID})
    checked.validate(leeway=10)
    return dict(told)


def test_it_signs_a_person_in(server: FakeOIDC) -> None:
    found = httpx.get(server.discovery).json()
    assert found["issuer"] == server.base_url
    told = claims(server, exchange(server, code(server)).json()["id_token"])
    assert (told["sub"], told["name"]) == ("0001", "Ann Li")


def test_it_asks_who_to_be(server: FakeOIDC) -> None:
    server.next = ""
    asked = urlencode({"client_id": CLIENT_ID, "response_type": "code", "redirect_uri": HERE})
    assert "Bob Wang" in httpx.get(f"{server.base_url}/authorize?{asked}").text
    answer = httpx.post(f"{server.base_url}/authorize?{asked}", data={"who": "bob"})
    found = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
    token = exchange(server, found).json()["id_token"].split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(token + "=="))["sub"] == "0002"


@pytest.mark.parametrize("wrong", [{"code_verifier": "x" * 43}, {"redirect_uri": "http://x/"}, {"secret": "guessed"}])
def test_a_code_is_for_whoever_began(server: FakeOIDC, wrong: dict[str, str]) -> None:
    assert exchange(server, code(server), **wrong).status_code in (400, 401)


def test_a_code_is_good_once(server: FakeOIDC) -> None:
    once = code(server)
    assert exchange(server, once).status_code == 200
    assert exchange(server, once).status_code == 400


def test_nobody_is_sent_to_an_address_that_is_not_known(server: FakeOIDC) -> None:
    server.returns = {HERE}
    asked = {"client_id": CLIENT_ID, "response_type": "code", "redirect_uri": "http://evil/"}
    assert httpx.get(f"{server.base_url}/authorize?{urlencode(asked)}").status_code == 400


@pytest.mark.parametrize("fault", ["signature", "nonce", "audience", "issuer", "expired"])
def test_a_fault_makes_a_token_that_a_client_must_refuse(server: FakeOIDC, fault: str) -> None:
    server.faults = {fault}
    with pytest.raises((JoseError, ValueError)):
        claims(server, exchange(server, code(server)).json()["id_token"])
