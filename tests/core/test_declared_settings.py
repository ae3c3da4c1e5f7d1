"""Declarations of settings: their names, former names, bounds and texts. `tests/contributing` adds one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import pytest
from annotated_types import Ge, Le
from pydantic_settings import BaseSettings

from research.core.records import RunOptions
from research.core.settings import DECLARED, SECTIONS, Settings
from research.core.settings.declaration import NO_KEY, Key, Variable, declared_fields
from research.core.settings.environment import EnvironmentSource

# Former names


class ToySettings(BaseSettings):
    """Two settings, of which one was called otherwise."""

    toys: Annotated[int, Variable("TOYS", "Toys.", former_names=("PLAYTHINGS",))] = 4
    key: Annotated[Key, Variable("TOY_KEY", "A key.", other_names=("SPARE_KEY",))] = NO_KEY


def test_a_former_name_is_read_unless_the_new_one_is_set() -> None:
    source = EnvironmentSource(ToySettings, {"PLAYTHINGS": " 7 ", "SPARE_KEY": "k"})
    assert source() == {"toys": "7", "key": "k"}
    assert source.renamed == [("PLAYTHINGS", "TOYS")]
    both = EnvironmentSource(ToySettings, {"PLAYTHINGS": "7", "TOYS": "8"})
    assert (both(), both.renamed) == ({"toys": "8"}, [])
    blank = EnvironmentSource(ToySettings, {"PLAYTHINGS": " "})
    assert (blank(), blank.renamed) == ({}, [])


def test_a_warning_names_the_new_name(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, renamed=(("PLAYTHINGS", "TOYS"),))
    assert settings.warnings == (
        "PLAYTHINGS is now called TOYS. The former name is read for one release only: rename it.",
    )
    assert Settings(data_dir=tmp_path).warnings == ()


# All declarations


def test_each_name_is_declared_once() -> None:
    names = [name for setting in DECLARED.values() for name in setting.variable.names]
    assert len(names) == len(set(names))
    assert sum(len(declared_fields(section)) for section in SECTIONS) == len(DECLARED)
    undeclared = set(Settings.model_fields) - {setting.attribute for setting in DECLARED.values()}
    assert undeclared == set(Settings.__annotations__) - {"model_config"}


def test_the_options_of_a_run_have_the_bounds_and_defaults_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    for name in ("NUMBER_OF_INITIAL_QUERIES", "MAX_RESEARCH_LOOPS", "MAX_REFLECTIONS"):
        setting = DECLARED[name]
        option = RunOptions.model_fields[setting.attribute]
        assert option.default == setting.default, name
        assert {Ge(setting.low), Le(setting.high)} == set(option.metadata), name
    assert Le(DECLARED["SIGHTLINE_REPORT_SECTIONS"].high) in RunOptions.model_fields["sections"].metadata
    assert settings.options == RunOptions()


def test_the_texts_of_the_page_are_there_in_both_languages() -> None:
    for name, setting in DECLARED.items():
        form = setting.variable.form
        if form is None:
            continue
        for text in filter(None, (form.label, form.help, *form.options.values())):
            assert re.search("[㐀-鿿]", text.zh) and not re.search("[㐀-鿿]", text.en), name
            assert text.en == text.en.strip() and text.zh == text.zh.strip(), name
        if setting.choices and form.section != "appearance":
            assert set(form.options) == set(setting.choices), name


def test_nothing_is_read_from_the_environment_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NUMBER_OF_INITIAL_QUERIES", "queries", "QUERIES"):
        monkeypatch.setenv(name, "9")
    assert Settings(data_dir=tmp_path).queries == 3
