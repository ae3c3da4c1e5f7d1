"""A setting is declared once: the page, the document, `check` and masking follow from its declaration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from annotated_types import Ge, Le
from pydantic_settings import BaseSettings

from research.core.records import RunOptions
from research.core.settings import DECLARED, SECTIONS, Settings
from research.core.settings.declaration import NO_KEY, Key, Variable, declared_fields
from research.core.settings.environment import EnvironmentSource

ROOT = Path(__file__).resolve().parents[2]
SENTINEL = "sentinel-0123456789"
TOYS = """
    toys: Annotated[
        int,
        Field(ge=1, le=9),
        Variable(
            "SIGHTLINE_TOYS",
            "Toys on the desk, at most.",
            former_names=("TOYS_AT_ONCE",),
            form=FormField("report", Text("Toys on the desk", "桌上的玩具")),
        ),
    ] = 4
    toy_key: Annotated[Key, Variable("TOY_KEY", "The key to the toys.")] = NO_KEY
"""
SHOW_PAGE = """
from tests.pages.visitor import Visitor
for lang in ("en", "zh"):
    visitor = Visitor("settings", locale={"en": "en-US", "zh": "zh-CN"}[lang])
    field = next(item for item in visitor.at.number_input if item.key.startswith("set_SIGHTLINE_TOYS_"))
    print(field.label, field.value, int(field.min), int(field.max))
visitor.at.number_input(key=field.key).set_value(5)
visitor.press("save")
from research import get_application
print(*(c.value for c in get_application().preferences.choices("local") if c.name == "SIGHTLINE_TOYS"))
"""
SHOW_MASKED = """
from research.core.errors import mask_secrets, register_secrets
from research.core.settings import load_settings
settings = load_settings()
register_secrets(settings.secrets)
print(mask_secrets("the key {0}"), settings.toys, settings)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with two more declarations, and nothing else that is different."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("research", "pages", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "images"))
    for name in ("app.py", "requirements.txt", "tests/document_tables.py", "tests/pages/visitor.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    file = folder / "research" / "core" / "settings" / "runs.py"
    code = file.read_text(encoding="utf-8").replace("SECTION_CONFIG,", "NO_KEY, SECTION_CONFIG, Key,", 1)
    code = code.replace("\n\n\nclass LimitSettings", f"{TOYS}\n\nclass LimitSettings", 1)
    file.write_text(code, encoding="utf-8")
    return folder


def run_in(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if "KEY" not in name and name not in DECLARED}
    env = {**plain, "SIGHTLINE_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(folder), **env}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done


@pytest.mark.slow
def test_check_lists_a_new_setting_and_names_the_new_one_for_a_former_name(copy: Path) -> None:
    done = run_in(copy, "-m", "research", "check", "--settings", TOYS_AT_ONCE="7", TOY_KEY=SENTINEL)
    shown = dict(re.findall(r"^(\S+) +(.+)$", done.stdout, re.M))
    assert (shown["SIGHTLINE_TOYS"], shown["TOY_KEY"]) == ("7", "set")
    assert "TOYS_AT_ONCE is now called SIGHTLINE_TOYS." in done.stderr
    assert SENTINEL not in done.stdout + done.stderr


@pytest.mark.slow
def test_the_document_has_a_new_setting(copy: Path) -> None:
    run_in(copy, "-m", "tests.document_tables")
    lines = (copy / "docs" / "settings.md").read_text(encoding="utf-8").splitlines()
    assert "| `SIGHTLINE_TOYS` | 4 | 1 to 9 | ✓ | Toys on the desk, at most. |" in lines
    assert "| `TOY_KEY` | | key | | The key to the toys. |" in lines


@pytest.mark.slow
def test_a_new_setting_is_masked_if_it_is_a_key(copy: Path) -> None:
    done = run_in(copy, "-c", SHOW_MASKED.replace("{0}", SENTINEL), SIGHTLINE_TOYS="2", TOY_KEY=SENTINEL)
    assert "the key " in done.stdout and " 2 " in done.stdout
    assert SENTINEL not in done.stdout + done.stderr


@pytest.mark.slow
def test_the_settings_page_has_a_field_for_a_new_setting_in_both_languages(copy: Path) -> None:
    done = run_in(copy, "-c", SHOW_PAGE)
    assert done.stdout.splitlines() == ["Toys on the desk 4 1 9", "桌上的玩具 4 1 9", "5"]


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
