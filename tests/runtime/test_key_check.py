"""The test of one key: whether it works, is refused, has no quota left, or nobody answers, at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from research import close_application, get_application
from tests.servers.amap import FakeAmap
from tests.servers.anthropic import FakeAnthropic
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeTavily, nowhere

KEY = "sentinel-key-0123456789"
MODELS: dict[str, tuple[Any, str]] = {
    "GEMINI_API_KEY": (FakeGemini, "GOOGLE_GEMINI_BASE_URL"),
    "OPENAI_API_KEY": (FakeOpenAI, "OPENAI_BASE_URL"),
    "ANTHROPIC_API_KEY": (FakeAnthropic, "ANTHROPIC_BASE_URL"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in (*MODELS, "GOOGLE_API_KEY", "ANSWER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_SEARCH_TIMEOUT", "20")
    close_application()
    yield tmp_path
    close_application()


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts the fake of a key's service, whose address is in the environment."""
    with ExitStack() as stack:

        def serve(name: str) -> Any:
            kind, address = MODELS[name]
            fake = stack.enter_context(kind())
            monkeypatch.setenv(address, fake.base_url)
            close_application()
            return fake

        yield serve


def why(name: str) -> tuple[str, str]:
    """The reason and the hint of a test, ("", "") if the key works."""
    check = get_application().check_key(name)
    assert KEY not in check.model_dump_json()
    return (check.failure.reason, check.failure.hint) if check.failure else ("", "")


@pytest.mark.parametrize("name", MODELS)
def test_a_key_of_models_is_tested_by_their_list_alone(serving: Any, name: str) -> None:
    fake = serving(name)
    assert why(name) == ("no key", "key") and fake.calls() == 0
    assert get_application().preferences.add_keys({name: KEY}, owner="local") == {}
    fake.keys = {KEY}
    assert why(name) == ("", "")
    fake.keys = {"another"}
    assert why(name) == ("refused", "key")
    fake.keys = None
    fake.fail("models", "429")
    assert why(name)[0] == "quota"
    fake.fail("models", "html502")
    assert why(name)[0] == "unavailable"
    fake.fail("models", "html200")
    assert why(name) == ("malformed", "endpoint")
    fake.fail("models", "reset")
    assert why(name)[0] == "unreachable"
    assert fake.calls() == fake.calls("models") == 6  # nothing was asked of a model


def test_nobody_at_the_address_says_nothing_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", nowhere())
    close_application()
    get_application().preferences.add_keys({"OPENAI_API_KEY": KEY}, owner="local")
    assert why("OPENAI_API_KEY")[0] == "unreachable"


@pytest.mark.parametrize("name", MODELS)
def test_no_key_follows_a_redirect(serving: Any, name: str) -> None:
    fake, elsewhere = serving(name), FakeOpenAI()
    with elsewhere:
        fake.elsewhere = f"http://127.0.0.1:{elsewhere.port}"
        fake.fail("models", "redirect:307")
        get_application().preferences.add_keys({name: KEY}, owner="local")
        assert why(name)[0] == "redirected"
        assert elsewhere.calls() == 0


def test_what_tells_of_a_key_is_asked_where_the_list_is_everybody_s(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = serving("OPENAI_API_KEY")
    monkeypatch.setenv("OPENROUTER_BASE_URL", fake.base_url)
    close_application()
    get_application().preferences.add_keys({"OPENROUTER_API_KEY": KEY}, owner="local")
    why("OPENROUTER_API_KEY")
    assert fake.calls("models") == 0


def test_a_search_service_is_asked_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeTavily() as fake:
        monkeypatch.setenv("TAVILY_BASE_URL", fake.base_url)
        monkeypatch.setenv("WEB_SEARCH", "off")  # it need not be in use
        close_application()
        get_application().preferences.add_keys({"TAVILY_API_KEY": KEY}, owner="local")
        assert why("TAVILY_API_KEY") == ("", "")  # it has answered, if with nothing
        fake.statuses = [401, 432, 500]
        assert [why("TAVILY_API_KEY")[0] for _ in range(3)] == ["refused", "quota", "unavailable"]
        assert len(fake.log) == 4


def test_the_map_is_asked_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeAmap() as fake:
        monkeypatch.setenv("AMAP_BASE_URL", fake.base_url)
        close_application()
        get_application().preferences.add_keys({"AMAP_MAPS_API_KEY": KEY}, owner="local")
        assert why("AMAP_MAPS_API_KEY") == ("", "")
        fake.keys = {"another"}
        assert why("AMAP_MAPS_API_KEY")[0] == "refused"
        assert len(fake.log) == 2


def test_what_is_no_key_is_not_asked_for() -> None:
    with pytest.raises(ValueError, match="STORE_URL"):
        get_application().check_key("STORE_URL")
