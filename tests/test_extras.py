"""An installation without the extras does what the README promises; where something needs one of them,
the command that installs it is shown, and never a stack trace."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.terminal import ROOT, process

# Modules of the extras, and of the packages that come with them only.
MODULES = {
    "login": ["authlib", "joserfc"],
    "traces": ["opentelemetry"],
    "postgres": ["psycopg", "psycopg_pool", "langgraph.checkpoint.postgres"],
    "anthropic": ["anthropic", "langchain_anthropic"],
    "ocr": ["rapidocr", "onnxruntime"],
    "agents": ["aegra_api"],
}
# Hides modules from a process that has its folder in PYTHONPATH.
HIDDEN = f"""
import sys
from importlib.machinery import PathFinder

NAMES = {tuple(name for names in MODULES.values() for name in names)!r}

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in NAMES):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
AUTH = {
    "redirect_uri": "http://127.0.0.1:8501/oauth2callback",
    "cookie_secret": "a secret of more than thirty-two characters",
    "client_id": "sightline",
    "client_secret": "no secret",
    "server_metadata_url": "http://127.0.0.1:9/.well-known/openid-configuration",
}


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that finds none of the extras."""
    folder = tmp_path / "hidden"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


def command(extra: str) -> str:
    """Return the end of the command that installs an extra."""
    packages = EXTRAS[extra]
    return " ".join(f"'{one}'" for one in packages) if extra != "anthropic" else "langchain-anthropic"


def test_every_extra_is_covered_here() -> None:
    assert EXTRAS.keys() == MODULES.keys()


def test_the_tests_install_each_extra_that_they_do_not_skip() -> None:
    lines = (ROOT / "tests" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = {line.partition("  #")[0].strip() for line in lines}
    for extra in ("login", "traces", "anthropic"):
        assert set(EXTRAS[extra]) <= required


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pdf", "docx", "html", "json"])
def test_a_question_is_answered_and_exported_without_the_extras(
    tmp_path: Path, plain: dict[str, str], ending: str
) -> None:
    report = tmp_path / f"report.{ending}"
    words = ("ask", "When was West Lake put on the World Heritage list?", "-o", str(report))
    done = process(tmp_path / "data", *words, env=plain)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert report.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_rows_are_exported_without_the_extras(tmp_path: Path, plain: dict[str, str], ending: str) -> None:
    rows = tmp_path / f"rows.{ending}"
    words = ("db", "How many 5A scenic areas does each province have?", "-o", str(rows))
    done = process(tmp_path / "data", *words, env=plain)
    assert done.returncode == 0, done.stderr
    assert rows.stat().st_size > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "words", "settings"),
    [
        ("traces", ("check",), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
        ("postgres", ("runs",), {"STORE_URL": "postgresql://nobody@127.0.0.1:9/runs"}),
        ("anthropic", ("check",), {"ANSWER_MODEL": "anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY": "k"}),
        ("ocr", ("library", "add", "scan.png"), {}),
    ],
)  # fmt: skip
def test_the_terminal_says_what_to_install(
    tmp_path: Path, plain: dict[str, str], extra: str, words: tuple[str, ...], settings: dict[str, str]
) -> None:  # fmt: skip
    Image.new("L", (200, 80), "white").save(tmp_path / "scan.png")
    own = [str(tmp_path / word) if word == "scan.png" else word for word in words]
    done = process(tmp_path / "data", *own, env=plain | settings)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    shown = done.stdout + done.stderr
    assert "pip install" in shown and command(extra) in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "press", "extra", "secrets", "settings"),
    [
        ("ask", "", "login", {"auth": AUTH}, {}),
        ("status", "check", "traces", {}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
        ("ask", "", "postgres", {}, {"STORE_URL": "postgresql://nobody@127.0.0.1:9/runs"}),
    ],
)
def test_the_page_says_what_to_install(
    tmp_path: Path, plain: dict[str, str], page: str, press: str, extra: str,
    secrets: dict[str, Any], settings: dict[str, str],
) -> None:  # fmt: skip
    code = (
        "from tests.pages.visitor import Visitor\n"
        f"visitor = Visitor({page!r}, secrets={secrets!r})\n"
        f"if {press!r}: visitor.press({press!r})\n"
        "print(visitor.words)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=plain | settings | {"SIGHTLINE_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "pip install" in done.stdout and command(extra) in done.stdout
