"""The end of a sign-in is kept by the server, and only a page of the desk's own can bring it about.

The servers are processes of their own that share a data folder; cookies are made by Streamlit itself,
with the secret of the servers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from tests.pages.serving import Server
from tests.servers.oidc import FakeOIDC

SECRET = "0123456789abcdef0123456789abcdef0123456789a"
USER = "_streamlit_user"
OUT = "/auth/logout"
PAGE = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
IN, REFUSED = (
    404,
    403,
)  # for a picture that there is not: of one who may see pictures, and of another
Cookies = dict[str, str]


def sign_in(subject: str = "ann", nonce: str = "one", *, ago: float = 1, pad: int = 0) -> Cookies:
    """The cookies of a sign-in so many seconds ago; with much to say in them, several."""
    claims: dict[str, Any] = {
        "is_logged_in": True, "origin": "http://127.0.0.1", "iss": "http://idp", "sub": subject,
        "iat": int(time.time() - ago), "nonce": nonce, "name": subject, "provider": "default",
    }  # fmt: skip

    def signed(name: str, value: str) -> str:
        return create_signed_value(SECRET, name, value).decode()

    if not pad:
        return {USER: signed(USER, json.dumps(claims))}
    text = json.dumps(claims | {"groups": "x" * pad})
    parts = [text[n : n + 2000] for n in range(0, len(text), 2000)]
    chunks = {f"{USER}_{n}": signed(f"{USER}_{n}", part) for n, part in enumerate(parts, 1)}
    return {USER: signed(USER, f"chunks-{len(parts)}"), **chunks}


def ask(server: Server, path: str, cookies: Cookies, method: str = "GET", **headers: str) -> Any:
    sent = {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    return httpx.request(method, server.url + path, headers={**sent, **headers}, follow_redirects=False, timeout=30)


def seen(server: Server, cookies: Cookies) -> int:
    return int(ask(server, "/page-pictures/1/1", cookies).status_code)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> Iterator[list[Server]]:
    """Two processes that share a data folder."""
    folder = tmp_path_factory.mktemp("signing_out") / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    secrets = folder.parent / "secrets.toml"
    with FakeOIDC() as provider:
        secrets.write_text(provider.secrets(SECRET, "http://127.0.0.1:{port}/oauth2callback"))
        servers = [Server(folder, STREAMLIT_SECRETS_FILES=str(secrets)) for _ in range(2)]
        try:
            yield [server.start() for server in servers]
        finally:
            for server in servers:
                server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("pad", [0, 5000], ids=["one cookie", "cookie in parts"])
def test_a_copied_cookie_is_worth_nothing_once_its_browser_has_signed_out(pair: list[Server], pad: int) -> None:
    stolen = sign_in(nonce=f"copied {pad}", pad=pad)
    other = sign_in(nonce=f"not copied {pad}")
    assert [seen(server, stolen) for server in pair] == [IN, IN]
    gone = ask(pair[0], OUT, stolen, **PAGE)
    assert gone.status_code == 302
    assert f'{USER}=""' in gone.headers["set-cookie"]
    assert [seen(server, stolen) for server in pair] == [REFUSED, REFUSED]
    assert [seen(server, other) for server in pair] == [IN, IN]
    assert [seen(server, sign_in("bob", f"copied {pad}")) for server in pair] == [IN, IN]


@pytest.mark.slow
def test_what_has_ended_stays_ended_when_the_server_is_started_again(pair: list[Server]) -> None:
    cookies = sign_in(nonce="before")
    ask(pair[0], OUT, cookies, **PAGE)
    pair[0].kill()
    pair[0].start()
    assert [seen(server, cookies) for server in pair] == [REFUSED, REFUSED]


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "Same-Origin"},
        {"sec-fetch-site": "same-origin, cross-site"},
        {"sec-fetch-site": "cross-site", "referer": "http://127.0.0.1/", "origin": "null"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", [OUT, f"{OUT}?x=1", f"{OUT}/", "/auth/%6cogout", "//auth/logout"])
def test_a_request_from_elsewhere_signs_nobody_out(
    pair: list[Server], headers: dict[str, str], method: str, path: str
) -> None:
    cookies = sign_in(nonce="elsewhere")
    answer = ask(pair[0], path, cookies, method, **headers)
    assert answer.status_code in (403, 404) or path == "//auth/logout"
    assert USER not in answer.headers.get("set-cookie", "")
    assert seen(pair[0], cookies) == IN


@pytest.mark.parametrize("cookies", [{}, {USER: "abc"}, sign_in(ago=13 * 3600), {USER: "chunks-9"}], ids=range(4))
def test_who_is_not_signed_in_may_throw_the_cookie_away(pair: list[Server], cookies: Cookies) -> None:
    assert ask(pair[0], OUT, cookies).status_code == 302


@pytest.mark.slow
def test_a_sign_in_of_the_future_or_of_no_time_is_none(pair: list[Server]) -> None:
    assert seen(pair[0], sign_in(nonce="ahead", ago=-60)) == IN
    assert seen(pair[0], sign_in(nonce="far ahead", ago=-13 * 3600)) == REFUSED


@pytest.mark.slow
def test_a_store_that_cannot_be_read_lets_nobody_in(tmp_path: Path, indexed: Path, pair: list[Server]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    (folder / "runs.db").write_bytes(b"no database" * 100)
    secrets = pair[0].folder.parent / "secrets.toml"
    server = Server(folder, STREAMLIT_SECRETS_FILES=str(secrets)).start()
    try:
        assert seen(server, sign_in()) == REFUSED
        assert ask(server, OUT, sign_in(), **PAGE).status_code == 302
    finally:
        server.kill()


@pytest.mark.slow
def test_sign_outs_on_two_processes_at_once_are_all_kept(pair: list[Server]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    many = [sign_in(nonce=f"at once {n}") for n in range(12)]
    leave: Callable[[int], Any] = lambda n: ask(pair[n % 2], OUT, many[n], **PAGE)  # noqa: E731
    with ThreadPoolExecutor(6) as pool:
        assert {answer.status_code for answer in pool.map(leave, range(12))} == {302}
    for n, cookies in enumerate(many):
        assert seen(pair[(n + 1) % 2], cookies) == REFUSED
