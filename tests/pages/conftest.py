"""Fixtures of the page tests: a data folder of one's own, and pages run without a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from research import Library, close_application
from tests.pages.serving import SETTINGS, chromium
from tests.pages.visitor import Visitor
from tests.servers.openai import FakeOpenAI

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEY = "sk-sentinel-0123456789abcdef"


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the sample in it, made once and copied for each test."""
    path = tmp_path_factory.mktemp("indexed") / "library.db"
    Library(path).close()
    return path


@pytest.fixture
def folder(tmp_path: Path, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder that the process uses during a test. Nothing was asked in it yet."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "data"
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(folder))
    folder.mkdir()
    shutil.copy(indexed, folder)
    close_application()
    yield folder
    close_application()


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A model for every role, which is asked once for each thing; it knows no key but its own."""
    with FakeOpenAI() as fake:
        fake.keys = {KEY}
        monkeypatch.setenv("ANSWER_MODEL", "openai:gpt-fake")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("SIGHTLINE_MODEL_ATTEMPTS", "1")
        yield fake
        close_application()


@pytest.fixture
def visit(folder: Path) -> Callable[..., Visitor]:
    """Opens the app for a new visitor: `visit("library", run="abc", lang="zh")`."""
    return Visitor


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for the tests of one file: no loop of its own is left to those of the next."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()
