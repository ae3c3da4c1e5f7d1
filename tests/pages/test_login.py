"""The login as the pages see it: who is let in, what they find there, and what closes the desk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared import login
from research import HistoryQuery, Run, RunOptions, get_application
from tests.catalogue import WORDS
from tests.pages.visitor import Visitor, shown

Visit = Callable[..., Visitor]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECRET = "0123456789abcdef0123456789abcdef0123456789a"
CLIENT = {
    "client_id": "sightline",
    "client_secret": "sentinel-client-secret",
    "server_metadata_url": "https://login.example.org/.well-known/openid-configuration",
}
SHARED = {"redirect_uri": "http://127.0.0.1:8501/oauth2callback", "cookie_secret": SECRET}
AUTH = {"auth": {**SHARED, **CLIENT}}
PAGES = (
    "",
    "news",
    "tables",
    "places",
    "database",
    "library",
    "history",
    "settings",
    "status",
    "help",
)
QUESTION = "The tower?"


def english(key: str, **values: object) -> str:
    return shown(WORDS[key][1].format(**values))


def claims(subject: str = "0001", *, hours: float = 0, **more: Any) -> dict[str, Any]:
    """What a provider says of somebody who signed in so many hours ago."""
    issued = datetime.now(UTC) - timedelta(hours=hours)
    return {
        "is_logged_in": True, "iss": "https://login.example.org", "sub": subject,
        "iat": int(issued.timestamp()), "name": "Ann Li", "email": "ann@example.org", **more,
    }  # fmt: skip


def owner(subject: str = "0001") -> str:
    return login.identify_visitor(claims(subject), datetime.now(UTC)).owner


def run_of(owner: str, run_id: str, status: Any = "done") -> Run:
    run = Run(
        id=run_id, conversation=f"talk-{run_id}", owner=owner, question=f"{QUESTION} {run_id}",
        options=RunOptions(), status=status, created=NOW, finished=NOW,
    )  # fmt: skip
    get_application().runs.store.add_run(run, None, "")
    return run


def closed(visitor: Visitor) -> bool:
    """Whether this is the screen before the desk, with nothing of the desk on it."""
    inside = {"start", "database_go", "sign_out", "add_files", "check", "places_search", "new"}
    return english("login.title") in visitor.words and not inside & {*visitor.buttons}


# Who is let in


def test_without_a_login_there_is_nothing_of_one(visit: Visit) -> None:
    visitor = visit(user=claims())
    assert "start" in visitor.buttons
    assert not {"sign_out", "sign_in"} & {*visitor.buttons}
    run_of("local", "mine")
    assert "mine" in visitor.go("history").words


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("user", [{}, {"is_logged_in": False}, {"email": "ann@example.org"}])
def test_whoever_has_not_signed_in_sees_the_screen_for_it_on_every_page(
    visit: Visit, page: str, user: dict[str, Any]
) -> None:
    visitor = visit(page, secrets=AUTH, user=user, run="abc")
    assert closed(visitor)
    assert "sign_in" in visitor.buttons
    assert english("ask.no_run") not in visitor.words


def test_who_is_not_in_starts_nothing_in_the_data_folder(visit: Visit, folder: Path) -> None:
    visit("history", secrets=AUTH)
    assert [file.name for file in folder.iterdir()] == ["library.db"]


def test_the_screen_is_in_the_visitor_s_language(visit: Visit) -> None:
    visitor = visit(secrets=AUTH, locale="zh-CN")
    assert shown(WORDS["login.lead"][0]) in visitor.words


def test_each_named_provider_has_a_button(visit: Visit) -> None:
    secrets = {"auth": {**SHARED, "google": CLIENT, "okta": CLIENT}}
    visitor = visit(secrets=secrets)
    assert {"sign_in_google", "sign_in_okta"} <= {*visitor.buttons}
    assert "sign_in" not in visitor.buttons


def test_who_has_signed_in_finds_the_desk_their_name_and_the_way_out(visit: Visit) -> None:
    visitor = visit(secrets=AUTH, user=claims())
    assert {"start", "sign_out"} <= {*visitor.buttons}
    assert "Ann Li\nann@example.org" in visitor.words
    assert closed(visitor.press("sign_out"))


def test_a_name_is_shown_as_it_is_and_cut(visit: Visit) -> None:
    name = "<b>Ann</b> [x](http://127.0.0.1/) ![y](http://127.0.0.1/z.png)\n# " + "n" * 500
    visitor = visit(secrets=AUTH, user=claims(name=name))
    (line,) = (text.value for text in visitor.at.text if "Ann" in text.value)
    assert line.startswith("<b>Ann</b> [x](http://127.0.0.1/) ![y]")
    assert len(line) == login.MAX_NAME_CHARS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "words"),
    [
        (claims(sub=""), "login.nobody"),
        (claims(sub=None), "login.nobody"),
        (claims(sub=7), "login.nobody"),
        (claims(iss=""), "login.nobody"),
        (claims(iss=None), "login.nobody"),
        (claims(hours=13), "login.expired"),
        (claims(iat=None), "login.expired"),
        (claims(iat=True), "login.expired"),
        (claims(iat="soon"), "login.expired"),
    ],
)
def test_who_cannot_be_told_or_came_long_ago_is_refused_and_told_why(
    visit: Visit, user: dict[str, Any], words: str
) -> None:
    visitor = visit(secrets=AUTH, user=user)
    assert english(words) in visitor.words
    assert english("login.title") in visitor.words
    assert "start" not in visitor.buttons
    assert ("sign_out" if words == "login.nobody" else "sign_in") in visitor.buttons


def test_a_sign_in_that_expires_ends_at_the_next_look(visit: Visit) -> None:
    visitor = visit(secrets=AUTH, user=claims())
    visitor.at.user = claims(hours=13)
    assert closed(visitor.look())


def test_a_widget_does_nothing_any_more_once_the_sign_in_has_expired(visit: Visit) -> None:
    visitor = visit("library", secrets=AUTH, user=claims())
    library = get_application().library
    assert library.is_sample_enabled
    visitor.at.user = claims(hours=13)
    visitor.at.toggle(key="sample").set_value(False)
    assert closed(visitor.look())
    assert library.is_sample_enabled


# Whose things are whose


def test_the_owner_is_made_of_issuer_and_subject_and_of_nothing_else() -> None:
    one = login.identify_visitor(claims(), datetime.now(UTC)).owner
    assert login.identify_visitor(claims(name="X", email="x@y.z", nonce="n"), datetime.now(UTC)).owner == one
    assert login.identify_visitor(claims("0002"), datetime.now(UTC)).owner != one
    assert login.identify_visitor(claims(iss="https://other.example"), datetime.now(UTC)).owner != one


@given(st.tuples(*[st.text(min_size=1).filter(str.strip)] * 4))
def test_two_people_never_have_the_same_owner(texts: tuple[str, str, str, str]) -> None:
    def made(issuer: str, subject: str) -> str:
        return login.identify_visitor(claims(subject, iss=issuer), datetime.now(UTC)).owner

    one, other = made(*texts[:2]), made(*texts[2:])
    assert (one == other) == (texts[:2] == texts[2:])
    assert login.LOCAL_OWNER not in (one, other)
    assert one.replace("-", "").isalnum()


@pytest.mark.slow
def test_a_run_of_somebody_else_is_told_as_one_that_does_not_exist(visit: Visit) -> None:
    for status in ("done", "stopped", "waiting", "failed"):
        run_of(owner("0002"), f"their{status}", status)
    nothing = visit(secrets=AUTH, user=claims(), run="0" * 32)
    for status in ("done", "stopped", "waiting", "failed"):
        theirs = visit(secrets=AUTH, user=claims(), run=f"their{status}")
        assert (theirs.words, theirs.buttons) == (nothing.words, nothing.buttons)
    assert english("ask.no_run") in nothing.words


@pytest.mark.slow
def test_the_notebooks_of_somebody_else_are_on_no_page(visit: Visit) -> None:
    get_application().store.add_to_notebook(owner("0002"), "Hers", ["tower.md"])
    for page, key in (("library", "notebook_picked"), ("ask", "notebook")):
        for subject in ("0001", "0002"):
            visitor = visit(page, secrets=AUTH, user=claims(subject))
            there = [*visitor.at.pills, *visitor.at.selectbox]
            assert (key in {widget.key for widget in there}) == (subject == "0002"), page


@pytest.mark.slow
def test_the_notes_of_somebody_else_are_on_no_page(visit: Visit) -> None:
    mine, theirs = owner("0001"), owner("0002")
    run_of(mine, "mine")
    run_of(theirs, "theirs")
    assert get_application().runs.save_remark("mine", "note of mine", owner=mine)
    assert get_application().runs.save_remark("theirs", "note of theirs", owner=theirs)
    for name in ("mine", "theirs"):
        for page in ("ask", "history"):
            words = visit(page, secrets=AUTH, user=claims(), run=name).words
            assert "note of theirs" not in words
    assert get_application().runs.search_history(HistoryQuery("note of"), owner=mine).total == 1
    assert not get_application().runs.save_remark("theirs", "", owner=mine)
    assert get_application().runs.search_history(HistoryQuery("note of theirs"), owner=theirs).total == 1


def test_the_history_has_one_s_own_runs_only(visit: Visit) -> None:
    run_of(owner("0001"), "mine")
    run_of(owner("0002"), "theirs")
    run_of("local", "before")
    words = visit("history", secrets=AUTH, user=claims()).words
    assert "mine" in words
    assert not {"theirs", "before"} & {*words.split()}


def test_runs_under_way_are_listed_for_their_owner_only(visit: Visit) -> None:
    run_of(owner("0002"), "theirs", "waiting")
    assert "theirs" not in visit(secrets=AUTH, user=claims()).words
    assert "theirs" in visit(secrets=AUTH, user=claims("0002")).words


def test_when_another_one_signs_in_nothing_of_the_session_is_left(visit: Visit) -> None:
    run_of(owner("0001"), "mine")
    visitor = visit(secrets=AUTH, user=claims(), run="mine")
    visitor.at.session_state.managed = visitor.at.session_state.drafting = "mine"
    assert visitor.at.session_state.last_run == "mine"
    visitor.at.user = claims("0002")
    visitor.at.query_params.clear()
    visitor.look()
    kept = [key for key in ("last_run", "managed", "drafting", "views") if key in visitor.at.session_state]
    assert kept == []
    assert QUESTION not in visitor.words


@pytest.mark.slow
def test_an_owner_in_the_session_makes_nobody_the_owner(visit: Visit) -> None:
    run_of(owner("0002"), "theirs")
    visitor = visit(secrets=AUTH, user=claims())
    visitor.at.session_state.owner = owner("0002")
    assert "theirs" not in visitor.go("history").words
    outsider = visit(secrets=AUTH)
    outsider.at.session_state.owner = owner("0002")
    assert closed(outsider.look())


# What is shared, and what is the server's


def test_the_library_says_that_it_is_shared_and_reads_no_path_of_the_server(visit: Visit) -> None:
    alone, together = visit("library"), visit("library", secrets=AUTH, user=claims())
    assert "add_folder" in alone.buttons
    assert english("library.shared") in together.words
    assert together.at.get("file_uploader"), "files still come by upload"
    assert "add_folder" not in together.buttons
    assert not [box for box in together.at.text_input if box.key == "folder"]


@pytest.mark.slow
def test_the_status_has_no_paths_no_settings_and_no_test_that_costs(visit: Visit, folder: Path) -> None:
    visitor = visit("status", secrets=AUTH, user=claims())
    assert english("status.private") in visitor.words
    assert "check" not in visitor.buttons
    assert not list(visitor.at.code)
    tables = "".join(table.value.to_string() for table in visitor.at.dataframe)
    assert str(folder) not in visitor.words + tables
    assert "SIGHTLINE_DATA_DIR" not in tables


def test_a_data_folder_that_cannot_be_used_is_not_named(visit: Visit, folder: Path) -> None:
    (folder / "runs.db").write_bytes(b"no database" * 100)
    visitor = visit(secrets=AUTH, user=claims())
    assert english("trouble.file") in visitor.words
    assert str(folder) not in visitor.words
    assert "runs.db" in visitor.words


# A set-up that is wrong


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in AUTH["auth"].items() if name != key}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "words", "values"),
    [
        *((without(key), "login.missing", {"keys": key}) for key in (*SHARED, *CLIENT)),
        ({**AUTH["auth"], "client_id": " "}, "login.missing", {"keys": "client_id"}),
        ({**AUTH["auth"], "client_secret": 7}, "login.missing", {"keys": "client_secret"}),
        ({}, "login.missing", {"keys": ", ".join((*SHARED, *CLIENT))}),
        ("yes", "login.missing", {"keys": ", ".join((*SHARED, *CLIENT))}),
        ({**SHARED, "okta": {"client_id": "x"}}, "login.missing", {"keys": "okta.client_secret, okta.server_metadata_url"}),
        ({**SHARED, "my_idp": CLIENT}, "login.name", {"name": "my_idp"}),
        ({**AUTH["auth"], "cookie_secret": "xxx"}, "login.weak", {"n": 32}),
        ({**AUTH["auth"], "redirect_uri": "http://127.0.0.1:8501/"}, "login.redirect", {}),
        ({**AUTH["auth"], "redirect_uri": "javascript:alert(1)//oauth2callback"}, "login.redirect", {}),
        ({**AUTH["auth"], "redirect_uri": "http://[/oauth2callback"}, "login.redirect", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("user", [{}, claims()], ids=["nobody", "somebody"])
def test_a_login_that_is_set_up_wrongly_lets_nobody_in_and_says_why(
    visit: Visit, section: Any, words: str, values: dict[str, object], user: dict[str, Any]
) -> None:
    run_of("local", "mine")
    visitor = visit("history", secrets={"auth": section}, user=user)
    assert closed(visitor)
    assert english("login.broken") in visitor.words
    assert english(words, **values) in visitor.words
    assert not [key for key in visitor.buttons if key.startswith("sign")]
    assert "mine" not in visitor.words
    assert "sentinel" not in visitor.words


def test_without_authlib_nobody_is_let_in(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "authlib", None)
    visitor = visit(secrets=AUTH, user=claims())
    assert closed(visitor)
    assert english("login.authlib", version="1.3.2") in visitor.words


def test_secrets_beside_the_program_that_were_not_read_close_the_desk(tmp_path: Path) -> None:
    overlooked = tmp_path / "secrets.toml"
    assert not login.read_config(overlooked).is_required
    overlooked.write_text("", encoding="utf-8")
    assert login.read_config(overlooked).problem == "unread"


def test_other_secrets_turn_no_login_on(visit: Visit) -> None:
    assert "start" in visit(secrets={"connections": {"x": 1}}).buttons


def test_no_secret_is_in_a_file_that_is_taken_away_or_in_the_log(
    visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    run_of(owner(), "mine")
    visitor = visit(secrets=AUTH, user=claims(), run="mine")
    told = "".join(str(element) for element in visitor.at.main) + caplog.text
    assert "sentinel" not in told
    assert SECRET not in told
