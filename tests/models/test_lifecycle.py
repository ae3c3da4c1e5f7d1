"""Names of models that are gone or answered by others, and a provider's list to compare them with."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from research.models.lifecycle import describe_change, model_aliases, model_redirects, resolve_name, shut_down_models
from research.models.model_names import compare_names, parse_listing
from research.models.prices import priced_names
from research.models.roles import DEFAULT_MODELS
from tests.tables import each_row

DAY = date(2026, 11, 26)
OFFERED = [
    *DEFAULT_MODELS.values(),
    *model_aliases().values(),
    *(r.model for r in model_redirects().values()),
    *priced_names(),
]


@each_row("name", shut_down_models())
def test_a_name_that_is_shut_down_is_known(name: str) -> None:
    assert "was shut down" in describe_change(name)
    assert name not in DEFAULT_MODELS.values()


@pytest.mark.parametrize("name", model_redirects())
def test_another_model_answers_from_its_day_on(name: str) -> None:
    route = model_redirects()[name]
    assert f"from {route.day} on {name} is answered by {route.model}" in describe_change(name)
    assert resolve_name(name, route.day) == route.model
    assert resolve_name(name, route.day - timedelta(days=1)) == name
    assert name not in DEFAULT_MODELS.values()
    assert route.model not in {*shut_down_models(), *model_redirects()}


def test_nothing_is_said_of_other_names() -> None:
    assert [describe_change(name) for name in (*DEFAULT_MODELS.values(), "qwen3:8b", "")] == [""] * 6


def test_an_alias_is_the_model_that_it_stands_for() -> None:
    for alias, name in model_aliases().items():
        assert resolve_name(alias, DAY) == name


def test_a_list_that_has_every_name_leaves_nothing_to_say() -> None:
    found = compare_names([f"models/{name}" for name in OFFERED], [("gemini-3.8-flash", "ANSWER_MODEL")], DAY)
    assert all(name.is_listed for name in found.names)
    assert found.unpriced == ()
    assert set(found.dates) == {"names", "prices", "contexts"}


def test_a_name_that_is_missing_is_told_with_what_it_is_used_for() -> None:
    offered = [name for name in OFFERED if name != "gemini-3.6-flash"]
    found = compare_names([*offered, "gemini-6-nova", "imagen-5"], [("gemini-3-own", "ANSWER_MODEL")], DAY)
    missing = {name.name: name.uses for name in found.names if not name.is_listed}
    assert missing["gemini-3-own"] == ("ANSWER_MODEL",)
    assert "answers for gemini-3.5-flash" in missing["gemini-3.6-flash"]
    assert len(missing) == 2
    assert found.unpriced == ("gemini-6-nova",)


def test_the_price_of_a_model_that_is_answered_by_another_needs_no_entry_in_the_list() -> None:
    found = compare_names(OFFERED, [], DAY)
    assert "gemini-3.7-flash" not in {name.name for name in found.names}


@each_row(
    ("text", "names"),
    [
        ('{"models": [{"name": "models/a"}, {"name": "models/b"}]}', ["models/a", "models/b"]),
        ('{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}', ["a", "b"]),
        ('["a", "b", 3, null]', ["a", "b"]),
        ("a\r\n\n# a remark\nb  # why\n", ["a", "b"]),
    ],
)
def test_a_list_is_read_in_the_shapes_that_providers_write(text: str, names: list[str]) -> None:
    assert parse_listing(text) == names


@each_row("text", ["", "{}", "[]", "\n# nothing\n", "[" * 100_000, '{"models": 3}'])
def test_a_text_without_names_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no names of models"):
        parse_listing(text)
