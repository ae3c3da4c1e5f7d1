"""The settings page: what is chosen is kept, what is wrong is said, and a key is never shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from research import close_application, get_application
from tests.catalogue import WORDS
from tests.pages.test_login import AUTH, claims, owner
from tests.pages.visitor import Visitor, shown
from tests.servers.openai import FakeOpenAI
from tests.servers.search import nowhere

Visit = Callable[..., Visitor]
KEY = "sentinel-key-of-a-person"
OUTCOMES = ("works", "refused", "quota", "unreached", "unlisted")


def english(key: str, **values: object) -> str:
    return shown(WORDS[key][1].format(**values))


def field(visitor: Visitor, kind: str, name: str) -> Any:
    """A field of the page by the name of its setting; its key has a number behind it."""
    found = [item for item in getattr(visitor.at, kind) if (item.key or "").startswith(f"set_{name}_")]
    assert len(found) == 1, [item.key for item in getattr(visitor.at, kind)]
    return found[0]


def advanced(visitor: Visitor) -> Any:
    """What is told of the part that few ever open."""
    label = english("settings.advanced")
    return next(part.proto for part in visitor.at.expander if label in part.label)


def chosen(owner: str = "local") -> dict[str, str]:
    return {one.name: one.value for one in get_application().preferences.choices(owner=owner) if one.is_chosen}


def told(at: AppTest) -> str:
    """Everything that goes to the browser."""
    return json.dumps([str(item.proto) for item in at.main]) + str(at.main) + str(at.sidebar)


def test_the_usual_effort_is_that_of_the_next_question(visit: Visit) -> None:
    visitor = visit("settings")
    field(visitor, "number_input", "NUMBER_OF_INITIAL_QUERIES").set_value(7)
    field(visitor, "number_input", "MAX_REFLECTIONS").set_value(1)
    visitor.press("save")
    assert chosen() == {"NUMBER_OF_INITIAL_QUERIES": "7", "MAX_REFLECTIONS": "1"}
    assert [toast.value for toast in visitor.at.toast] == [english("settings.saved")]
    assert english("settings.server", value="3") in visitor.words
    visitor.go("ask")
    assert visitor.at.slider(key="queries").value == 7
    assert visitor.go("news").at.slider(key="reflections").value == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("", "works"),
        ("400key", "refused"),
        ("429", "quota"),
        ("reset", "unreached"),
        ("404", "unlisted"),
    ],
)
def test_a_key_is_tested_beside_its_field(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, fault: str, outcome: str
) -> None:
    with FakeOpenAI() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
        close_application()
        if fault:
            fake.fail("models", fault)
        visitor = visit("settings")
        visitor.press("test_OPENAI_API_KEY")
        assert english("settings.test_none") in visitor.words and fake.calls() == 0
        field(visitor, "text_input", "OPENAI_API_KEY").set_value(KEY)
        visitor.press("test_OPENAI_API_KEY")
        said = {one: english(f"settings.test_{one}", seconds="").split("(")[0] for one in OUTCOMES}
        assert [one for one, words in said.items() if words in visitor.words] == [outcome]
        assert {one.name: one.location for one in get_application().preferences.key_statuses("local")}[
            "OPENAI_API_KEY"
        ] == "none"
        assert fake.calls() == fake.calls("models") == 1
        assert KEY not in visitor.words
        assert not any(words in visitor.look().words for words in said.values())


KEYS_TESTED = {  # a key or an address, and the field that it is typed into
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "TAVILY_API_KEY": KEY,
    "AMAP_MAPS_API_KEY": KEY,
    "GEMINI_API_KEY": KEY,
    "OLLAMA_BASE_URL": nowhere(),
    "OPENAI_BASE_URL": f"{nowhere()}/v1",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KEYS_TESTED)
def test_a_test_changes_nothing(visit: Visit, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Neither what is typed nor what was chosen beside it is kept, and runs work with what they did."""
    for address in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL",
                    "TAVILY_BASE_URL", "AMAP_BASE_URL", "OLLAMA_BASE_URL"):  # fmt: skip
        monkeypatch.setenv(address, nowhere())
    close_application()
    before = (
        get_application().preferences.key_statuses("local"),
        get_application().preferences.choices("local"),
        get_application().services_for(),
    )
    visitor = visit("settings")
    if not [item for item in visitor.at.text_input if f"set_{name}_" in (item.key or "")]:
        provider = name.split("_")[0].lower()
        visitor.at.selectbox(key="more_providers").select(provider).run()
    field(visitor, "text_input", name).set_value(KEYS_TESTED[name])
    field(visitor, "number_input", "NUMBER_OF_INITIAL_QUERIES").set_value(9)
    visitor.press(f"test_{name}")
    lacking = name == "OPENAI_BASE_URL"  # of which no key is there
    assert english("settings.test_none" if lacking else "settings.test_unreached") in visitor.words
    assert english("settings.test_unsaved") in visitor.words
    assert (
        get_application().preferences.key_statuses("local"),
        get_application().preferences.choices("local"),
        get_application().services_for(),
    ) == before
    assert get_application().services_for() is before[2]
    assert not [p for p in folder.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert field(visitor, "text_input", name).value == KEYS_TESTED[name]  # and can be saved now
    visitor.press("save")
    assert {one.name: one.location for one in get_application().preferences.key_statuses("local")}[name] == "session"
    assert chosen()["NUMBER_OF_INITIAL_QUERIES"] == "9"


def test_a_key_and_the_address_beside_it_are_tested_together(visit: Visit) -> None:
    with FakeOpenAI() as fake:
        fake.keys = {KEY}
        visitor = visit("settings")
        field(visitor, "text_input", "OPENAI_API_KEY").set_value(KEY)
        field(visitor, "text_input", "OPENAI_BASE_URL").set_value(fake.base_url)
        visitor.press("test_OPENAI_BASE_URL")
        assert english("settings.test_answers", seconds="").split("(")[0] in visitor.words
        assert {one.location for one in get_application().preferences.key_statuses("local")} == {"none"}


def test_what_is_no_key_is_not_tested(visit: Visit) -> None:
    visitor = visit("settings")
    field(visitor, "text_input", "GEMINI_API_KEY").set_value("my secret words")
    visitor.press("test_GEMINI_API_KEY")
    assert visitor.errors == [english("settings.wrong_key")]
    assert "my secret" not in visitor.words


@pytest.mark.slow
def test_a_refused_key_is_not_used_without_a_warning(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as fake:
        fake.keys = {"another-key-that-works"}
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
        close_application()
        visitor = visit("settings")
        field(visitor, "text_input", "OPENAI_API_KEY").set_value(KEY)
        visitor.press("test_OPENAI_API_KEY")
        warned = english("nav.refused", names="OPENAI_API_KEY")
        assert warned not in visit("ask").words  # it is not in use
        visitor.press("save")
        assert english("settings.key_refused") in visitor.words
        for page in ("ask", "news", "tables", "database", "places"):
            assert warned in visit(page).words
        field(visitor, "text_input", "OPENAI_API_KEY").set_value("another-key-that-works")
        visitor.press("save")
        assert warned not in visitor.words
        get_application().preferences.add_keys({"OPENAI_API_KEY": KEY}, owner="local")
        assert warned in visit("ask").words
        fake.keys = {KEY}  # the service knows it by now
        visitor.go("settings").press("test_OPENAI_API_KEY")
        assert warned not in visitor.look().words


def test_a_refused_key_of_one_person_is_no_warning_for_another(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as fake:
        fake.keys = {"another-key-that-works"}
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
        close_application()
        ann, bob = owner("0001"), owner("0002")
        for one in (ann, bob):
            get_application().preferences.add_keys({"OPENAI_API_KEY": KEY}, owner=one)
        get_application().check_key("OPENAI_API_KEY", owner=ann)
        refused = [
            {one.name for one in get_application().preferences.key_statuses(owner=each) if one.is_refused}
            for each in (ann, bob)
        ]
        assert refused == [{"OPENAI_API_KEY"}, set()]


def test_nobody_tests_the_key_of_the_server(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        close_application()
        visitor = visit("settings", secrets=AUTH, user=claims())
        assert visitor.press("test_OPENAI_API_KEY").at is not None
        assert english("settings.test_none") in visitor.words and fake.calls() == 0


def test_what_was_limited_for_the_last_question_gives_way_to_a_new_choice(visit: Visit) -> None:
    visitor = visit().ask("The tower?").wait()
    visitor.go("settings")
    field(visitor, "number_input", "MAX_RESEARCH_LOOPS").set_value(5)
    visitor.press("save")
    assert "limits" not in visitor.at.session_state


def test_a_model_that_is_none_is_refused_beside_its_field_and_nothing_is_kept(visit: Visit) -> None:
    visitor = visit("settings")
    assert not advanced(visitor).expanded
    field(visitor, "text_input", "ANSWER_MODEL").set_value("openai:")
    field(visitor, "text_input", "REFLECTION_MODEL").set_value("ollama:qwen3")
    visitor.press("save")
    assert visitor.errors == [english("settings.wrong_model")]
    assert advanced(visitor).expanded  # what is wrong is in sight
    assert chosen() == {}
    field(visitor, "text_input", "ANSWER_MODEL").set_value("openai:deepseek-chat")
    visitor.press("save")
    assert visitor.errors == []
    assert chosen() == {"ANSWER_MODEL": "openai:deepseek-chat", "REFLECTION_MODEL": "ollama:qwen3"}
    field(visitor, "text_input", "ANSWER_MODEL").set_value("")
    visitor.press("save")
    assert chosen() == {"REFLECTION_MODEL": "ollama:qwen3"}


def test_who_searches_the_web_is_put_in_order(visit: Visit) -> None:
    visitor = visit("settings")
    mode = [group for group in visitor.at.button_group if (group.key or "").startswith("set_mode")]
    mode[0].set_value("own")
    visitor.press("save")
    assert visitor.errors == [english("settings.search_empty")]
    field(visitor, "multiselect", "order").set_value(["wikipedia", "tavily"])
    visitor.press("save")
    assert chosen() == {"WEB_SEARCH": "wikipedia,tavily"}
    assert field(visitor, "multiselect", "order").value == ["wikipedia", "tavily"]


def test_everything_goes_back_but_the_keys(visit: Visit) -> None:
    get_application().preferences.save_choices({"NUMBER_OF_INITIAL_QUERIES": "9", "MAP_TILES": "off"}, owner="local")
    get_application().preferences.add_keys({"TAVILY_API_KEY": KEY}, owner="local")
    visitor = visit("settings").press("reset_sure")
    assert chosen() == {}
    assert field(visitor, "number_input", "NUMBER_OF_INITIAL_QUERIES").value == 3
    assert english("settings.key_session") in told(visitor.at)


def test_a_key_is_taken_in_and_never_shown_again(visit: Visit, folder: Path) -> None:
    visitor = visit("settings")
    field(visitor, "text_input", "TAVILY_API_KEY").set_value(KEY)
    visitor.press("save")
    assert {one.name: one.location for one in get_application().preferences.key_statuses("local")}[
        "TAVILY_API_KEY"
    ] == "session"
    assert KEY not in told(visitor.at)
    assert KEY not in str(visitor.at.session_state)
    assert field(visitor, "text_input", "TAVILY_API_KEY").value == ""
    assert not [p for p in folder.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert "live" in visitor.go("status").words or get_application().readiness()["news"].state == "live"
    visitor.go("settings").press("forget_TAVILY_API_KEY")
    assert {one.location for one in get_application().preferences.key_statuses("local")} == {"none"}


def test_a_key_is_remembered_only_if_that_is_ticked(visit: Visit, folder: Path) -> None:
    visitor = visit("settings")
    field(visitor, "text_input", "TAVILY_API_KEY").set_value(KEY)
    field(visitor, "checkbox", "remember").check()
    visitor.press("save")
    assert {one.name: one.location for one in get_application().preferences.key_statuses("local")}[
        "TAVILY_API_KEY"
    ] == "machine"
    assert [p.name for p in folder.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()] == ["keys.json"]


def test_the_key_of_any_provider_is_taken_in_and_its_models_are_asked_with_it(visit: Visit) -> None:
    visitor = visit("settings")
    fields = [item.key or "" for item in visitor.at.text_input]
    assert not [key for key in fields if "DEEPSEEK" in key]
    visitor.at.selectbox(key="more_providers").select("deepseek").run()
    field(visitor, "text_input", "DEEPSEEK_API_KEY").set_value(KEY)
    visitor.press("save")
    assert {one.name: one.location for one in get_application().preferences.key_statuses("local")}[
        "DEEPSEEK_API_KEY"
    ] == "session"
    assert KEY not in told(visitor.at)
    assert get_application().preferences.save_choices({"ANSWER_MODEL": "deepseek:deepseek-chat"}, owner="local") == {}
    table = {setting: (spec, lacks) for _, setting, spec, lacks in get_application().services_for("local").role_table()}
    assert table["ANSWER_MODEL"] == ("deepseek:deepseek-chat", "")
    assert table["REFLECTION_MODEL"] == ("deepseek:deepseek-chat", "")


@pytest.mark.slow
def test_what_is_no_key_is_refused_beside_its_field_without_being_repeated(visit: Visit) -> None:
    visitor = visit("settings")
    field(visitor, "text_input", "GEMINI_API_KEY").set_value("my secret words")
    visitor.press("save")
    assert visitor.errors == [english("settings.wrong_key")]
    assert "my secret" not in told(visitor.at)
    assert {one.location for one in get_application().preferences.key_statuses("local")} == {"none"}


def test_a_key_of_the_environment_is_told_as_that(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    visitor = visit("settings")
    assert english("settings.key_environment") in told(visitor.at)
    assert KEY not in told(visitor.at)
    assert not [key for key in visitor.buttons if key.startswith("forget_")]


def test_where_runs_are_worked_on_elsewhere_no_key_can_be_entered(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS_URL", "http://127.0.0.1:9")
    visitor = visit("settings")
    assert english("settings.keys_elsewhere") in visitor.words
    assert not [item for item in visitor.at.text_input if "GEMINI_API_KEY" in str(item.key)]


def test_with_a_login_keys_are_one_s_own_and_addresses_the_server_s(visit: Visit) -> None:
    ann, bob = owner("0001"), owner("0002")
    get_application().preferences.add_keys({"TAVILY_API_KEY": KEY}, owner=ann)
    get_application().preferences.save_choices({"NUMBER_OF_INITIAL_QUERIES": "8"}, owner=ann)
    visitor = visit("settings", secrets=AUTH, user=claims("0001"))
    assert "forget_TAVILY_API_KEY" in visitor.buttons
    assert english("settings.keys_addresses") in visitor.words
    keys = [item.key or "" for item in visitor.at.text_input]
    assert not [key for key in keys if "BASE_URL" in key]
    other = visit("settings", secrets=AUTH, user=claims("0002"))
    assert "forget_TAVILY_API_KEY" not in other.buttons
    assert field(other, "number_input", "NUMBER_OF_INITIAL_QUERIES").value == 3
    field(other, "number_input", "NUMBER_OF_INITIAL_QUERIES").set_value(2)
    other.press("save")
    assert chosen(bob)["NUMBER_OF_INITIAL_QUERIES"] == "2"
    assert chosen(ann)["NUMBER_OF_INITIAL_QUERIES"] == "8"


# The language


def switch(visitor: Visitor, language: str) -> None:
    [group] = [group for group in visitor.at.button_group if group.key == "lang"]
    group.set_value(language)
    visitor.look()


def test_a_language_that_was_switched_to_is_there_at_the_next_visit(visit: Visit) -> None:
    switch(visit("history"), "zh")
    assert WORDS["history.title"][0] in visit("history").words
    assert WORDS["history.title"][1] in visit("history", lang="en").words  # the address beats it
    assert WORDS["history.title"][0] in visit("history").words


def test_the_language_of_one_person_is_not_that_of_another(visit: Visit) -> None:
    get_application().store.set_preference(owner("0001"), "language", "zh")
    assert WORDS["history.title"][0] in visit("history", secrets=AUTH, user=claims("0001")).words
    assert WORDS["history.title"][1] in visit("history", secrets=AUTH, user=claims("0002")).words


def test_the_language_can_be_left_to_the_browser_again(visit: Visit) -> None:
    get_application().store.set_preference("local", "language", "zh")
    visitor = visit("settings")
    [group] = [group for group in visitor.at.button_group if (group.key or "").startswith("set_language_")]
    group.set_value("browser")
    visitor.look()
    assert "language" not in get_application().store.preferences("local")
    assert WORDS["settings.title"][1] in visitor.words
