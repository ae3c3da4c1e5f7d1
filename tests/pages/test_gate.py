"""What the server gives away by HTTP and by its websocket, to whom, with a login and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.middleware.access import AccessMiddleware, file_id, offered_file_url
from tests.catalogue import WORDS
from tests.pages.serving import SETTINGS
from tests.servers.oidc import FakeOIDC

ROOT = Path(__file__).resolve().parents[2]
SECRET = "0123456789abcdef0123456789abcdef0123456789a"
FILE = "/media/" + "0123456789abcdef" * 2
REFUSED = {"nobody", "forged", "garbled", "chunks", "old"}


def told(folder: Path, indexed: Path, secrets: str | None) -> dict[str, Any]:
    """What a server tells whose secrets are these."""
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    path = folder.parent / "secrets.toml"
    if secrets is not None:
        path.write_text(secrets, encoding="utf-8")
    env = {key: value for key, value in os.environ.items() if key not in SETTINGS}
    done = subprocess.run(
        [sys.executable, "-m", "tests.pages.signed_in", str(path)],
        cwd=ROOT,
        env={**env, "SIGHTLINE_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> dict[str, Any]:
    secrets = FakeOIDC(port=1).secrets(SECRET, "http://localhost/oauth2callback")
    return told(tmp_path_factory.mktemp("guarded") / "data", indexed, secrets)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, indexed: Path) -> dict[str, Any]:
    return told(tmp_path_factory.mktemp("alone") / "data", indexed, None)


@pytest.mark.slow
def test_a_file_is_given_to_the_one_whose_page_offered_it(guarded: dict[str, Any]) -> None:
    assert len(guarded["ann"]["files"]) == 1  # others are made when they are asked for
    assert guarded["ann"]["seen"]["ann"] == 200


@pytest.mark.slow
def test_a_file_of_somebody_else_s_is_told_as_one_that_does_not_exist(
    guarded: dict[str, Any],
) -> None:
    assert guarded["ann"]["seen"]["bob"] == guarded["paths"]["bob"]["file"] == 404


@pytest.mark.slow
def test_an_export_is_sent_to_its_own_person_alone(guarded: dict[str, Any], alone: dict[str, Any]) -> None:
    assert {who for who, status in guarded["export"].items() if status == 200} == {"ann"}
    assert set(guarded["export"].values()) == {200, 404} and guarded["no_export"] == 404
    assert set(alone["export"].values()) == {200}
    text, headers = guarded["fetched"]
    assert text == "a,b" and headers["cache-control"] == "no-store"
    assert headers["content-disposition"].startswith("attachment")
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("who", sorted(REFUSED))
def test_without_a_good_cookie_there_are_no_files_no_uploads_and_no_figures(guarded: dict[str, Any], who: str) -> None:
    assert guarded["ann"]["seen"][who] == 403
    paths = guarded["paths"][who]
    assert paths["metrics"] == paths["file"] == paths["scan"] == 403
    assert guarded["upload"][who] == "Sign in first"
    assert guarded["paths"][who]["health"] == guarded["paths"][who]["front"] == 200
    assert guarded["paths"][who]["logo"] == 200


def test_who_has_signed_in_reaches_the_server_s_own_checks(guarded: dict[str, Any]) -> None:
    assert guarded["paths"]["ann"]["metrics"] == 200
    assert guarded["paths"]["ann"]["scan"] == 404  # there is none
    assert "XSRF" in guarded["upload"]["ann"]


def test_a_page_asked_for_by_its_address_tells_bob_what_an_unknown_run_does(
    guarded: dict[str, Any],
) -> None:
    assert guarded["bob"] == guarded["unknown"]
    assert WORDS["ask.no_run"][1] in guarded["bob"]["words"]
    assert guarded["ann"]["words"] != guarded["bob"]["words"]


@pytest.mark.parametrize("who", ["nobody", "forged", "old"])
def test_a_socket_without_a_good_cookie_gets_the_screen_and_no_menu(guarded: dict[str, Any], who: str) -> None:
    assert WORDS["login.title"][1] in guarded[who]["words"]
    assert (guarded[who]["hidden"], guarded[who]["files"]) == (True, [])
    assert guarded[who]["buttons"] == ["sign_in"]


def test_secrets_that_are_emptied_while_the_server_runs_open_nothing(
    guarded: dict[str, Any],
) -> None:
    assert WORDS["login.broken"][1] in guarded["emptied"]["words"]
    assert WORDS["login.gone"][1] in guarded["emptied"]["words"]
    assert guarded["emptied"]["files"] == []


@pytest.mark.slow
def test_without_a_login_everybody_is_the_local_user(alone: dict[str, Any]) -> None:
    assert set(alone["ann"]["seen"].values()) == {200}
    assert alone["nobody"]["files"] == alone["ann"]["files"]
    assert alone["paths"]["nobody"]["metrics"] == 200
    assert alone["paths"]["nobody"]["file"] == 404


@pytest.mark.slow
@pytest.mark.parametrize("secrets", ["[auth\nx", "[auth]\n"])
def test_secrets_that_are_no_good_close_everything(tmp_path: Path, indexed: Path, secrets: str) -> None:
    found = told(tmp_path / "data", indexed, secrets)
    for who in ("ann", "nobody"):
        assert WORDS["login.broken"][1] in found[who]["words"]
        assert (found[who]["hidden"], found[who]["files"]) == (True, [])
        assert found["paths"][who]["file"] == found["paths"][who]["metrics"] == 403


# Which messages offer a file


def test_what_a_visitor_typed_offers_no_file() -> None:
    echoed = ForwardMsg()
    echoed.delta.new_element.text_area.value = FILE
    assert offered_file_url(echoed.SerializeToString()) == ""
    echoed.delta.new_element.markdown.body = f"[file]({FILE})"
    assert offered_file_url(echoed.SerializeToString()) == ""
    echoed.delta.new_element.imgs.imgs.add().url = FILE
    assert offered_file_url(echoed.SerializeToString()) == ""


def test_a_download_offers_its_file_made_before_or_when_asked_for() -> None:
    message = ForwardMsg()
    message.delta.new_element.download_button.url = f"{FILE}.md"
    assert file_id(offered_file_url(message.SerializeToString())) == FILE.removeprefix("/media/")
    later = ForwardMsg()
    later.backend_operation_response.deferred_file.url = FILE
    assert file_id(offered_file_url(later.SerializeToString())) == FILE.removeprefix("/media/")


def test_the_memory_of_what_was_offered_is_bounded() -> None:
    gate = AccessMiddleware(None)
    for n in range(60_000):
        gate._add_offer("ann", str(n))
    assert len(gate._offered_files) == 50_000
    assert ("ann", "59999") in gate._offered_files
