"""Which model has which role, and what is said of names that are gone."""

from __future__ import annotations

import pytest

from research.core.errors import ServiceError
from research.core.settings import ROLES, Role, SettingError, model_setting_name
from research.models.roles import DEFAULT_MODELS, ModelSpec, has_usable_model, parse_spec, role_models
from research.models.roles import is_usable as is_usable
from tests.models.conftest import PROMPT, Heard, Wire, loaded
from tests.tables import each_row

SETTINGS = {role: model_setting_name(role) for role in ROLES}


def chosen(**env: str) -> dict[str, str]:
    return {role: str(spec) for role, spec in role_models(loaded(env)).items()}


@each_row(
    ("text", "spec"),
    [
        ("gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        ("  gemini-3.8-flash ", "gemini:gemini-3.8-flash"),
        ("models/gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        ("gemini:models/gemini-3.8-flash", "gemini:gemini-3.8-flash"),
        ("openai:deepseek-chat", "openai:deepseek-chat"),
        ("OpenAI : org/model:free", "openai:org/model:free"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
        ("qwen3:8b", "gemini:qwen3:8b"),
        ("gemini-9-of-next-year", "gemini:gemini-9-of-next-year"),
    ],
)
def test_a_model_is_a_provider_and_any_name(text: str, spec: str) -> None:
    assert str(parse_spec(text)) == spec


@pytest.mark.parametrize("text", ["openai:", "ollama:  ", "gemini:"])
def test_a_provider_without_a_name_is_refused_and_the_setting_is_named(text: str) -> None:
    with pytest.raises(SettingError, match=f"ANSWER_MODEL is '{text.strip()}'.*such as"):
        role_models(loaded({"ANSWER_MODEL": text}))


def test_with_a_gemini_key_each_role_has_its_default() -> None:
    assert chosen() == {role: f"gemini:{name}" for role, name in DEFAULT_MODELS.items()}


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_setting_is_not_set(blank: str) -> None:
    assert chosen(**dict.fromkeys(SETTINGS.values(), blank)) == chosen()


@each_row("role", ROLES)
def test_each_role_has_a_setting_of_its_own(role: Role) -> None:
    changed = chosen(**{SETTINGS[role]: "openai:other"})
    assert {name for name, model in changed.items() if model != chosen()[name]} == {role}
    assert role_models(loaded({SETTINGS[role]: "x"}))[role] == ModelSpec("gemini", "x", SETTINGS[role])


@each_row("role", ROLES)
def test_without_a_gemini_key_one_local_model_serves_every_role(role: Role) -> None:
    env = {"GEMINI_API_KEY": "", SETTINGS[role]: "ollama:qwen3:8b"}
    assert set(chosen(**env).values()) == {"ollama:qwen3:8b"}
    assert has_usable_model(loaded(env))


def test_the_model_that_writes_is_shared_before_the_others() -> None:
    env = {"GEMINI_API_KEY": "", "REFLECTION_MODEL": "ollama:small", "ANSWER_MODEL": "ollama:big"}
    assert chosen(**env) == {
        "plan": "ollama:big", "reflect": "ollama:small", "write": "ollama:big", "search": "ollama:big",
    }  # fmt: skip


def test_a_model_that_cannot_be_used_is_not_shared() -> None:
    env = {"GEMINI_API_KEY": "", "ANSWER_MODEL": "openai:gpt"}
    assert chosen(**env)["plan"] == f"gemini:{DEFAULT_MODELS['plan']}"
    assert not has_usable_model(loaded(env))


def test_without_a_key_and_without_a_model_nothing_is_available() -> None:
    assert not has_usable_model(loaded({"GEMINI_API_KEY": ""}))


@each_row(
    ("model", "env", "usable"),
    [
        ("gemini:m", {"GEMINI_API_KEY": "key-0123"}, True),
        ("gemini:m", {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "key-0123"}, True),
        ("gemini:m", {"GEMINI_API_KEY": ""}, False),
        ("openai:m", {"OPENAI_API_KEY": "key-0123"}, True),
        ("openai:m", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, True),
        ("openai:m", {}, False),
        ("ollama:m", {"GEMINI_API_KEY": ""}, True),
    ],
)
def test_a_model_is_usable_with_what_its_provider_needs(model: str, env: dict[str, str], usable: bool) -> None:
    assert is_usable(parse_spec(model), loaded(env)) == usable


@pytest.mark.asyncio(loop_scope="module")
async def test_a_model_that_is_not_there_is_told_with_the_setting_that_names_it(
    gemini: Wire,
) -> None:
    gemini.server.fail("any", "404")
    with pytest.raises(ServiceError) as caught:
        await gemini.chat("gemini-2.0-flash").ask_text(PROMPT, "write", Heard())
    assert caught.value.hint == "model"
    assert caught.value.message == (
        "gemini:gemini-2.0-flash is not available; set ANSWER_MODEL to another model. "
        "gemini-2.0-flash was shut down on 2026-06-01"
    )
