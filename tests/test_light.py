"""What is not loaded before it is needed: a start takes the time that its imports take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "altair", "docx", "folium", "fontTools", "google.genai", "httpx", "langchain_core", "langgraph",
    "langchain_google_genai", "langchain_mcp_adapters", "langsmith", "mcp", "openai", "onnxruntime", "openpyxl", "pandas", "pypdfium2", "rapidocr", "rjieba", "sqlglot", "trafilatura", "typst",
)  # fmt: skip
LOOK = f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["import app", "import app; import pages.ask"])
def test_nothing_heavy_is_loaded_before_a_question_is_asked(what: str, tmp_path: Path) -> None:
    """The second draws the page as well, on a data folder that is already there."""
    env = {k: v for k, v in os.environ.items() if "KEY" not in k and not k.startswith("SIGHTLINE_")}
    env["SIGHTLINE_DATA_DIR"] = str(tmp_path)
    opened = "import research; research.get_application(); research.close_application()"
    for code in (opened, f"{what}; {LOOK}"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == []


@pytest.mark.slow
def test_what_is_loaded_ahead_leaves_the_component_of_the_map_to_the_pages(tmp_path: Path) -> None:
    """Streamlit registers a component only where a page's script imports it; else its frame is not found."""
    code = (
        "import app, importlib, sys; [importlib.import_module(name) for name in app.WARM_UP_MODULES]; "
        "sys.exit('streamlit_folium' in sys.modules)"
    )
    env = {**os.environ, "SIGHTLINE_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, timeout=60)
    assert done.returncode == 0


@pytest.mark.parametrize("words", [("--help",), ("runs", "--help"), ("resume",)])
def test_the_help_waits_neither_for_the_engine_nor_for_any_library_but_that_of_the_terminal(
    words: tuple[str, ...],
) -> None:
    code = (
        "import sys\nfrom research.cli import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "print(*{name.split('.')[0] for name in sys.modules if name.split('.')[0] not in "
        "sys.stdlib_module_names}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert {"research", "rich"} <= loaded
    assert not loaded & {
        "pydantic",
        "langgraph",
        "langchain_core",
        "httpx",
        "sqlalchemy",
        "streamlit",
    }


GRAPH = {"httpx", "langchain_core", "langgraph", "langsmith", "sqlglot"}  # a run needs them
OTHERS = {
    "altair", "docx", "folium", "fontTools", "google.genai", "mcp", "openai", "openpyxl", "pandas",
    "pyarrow", "pypdfium2", "streamlit", "trafilatura", "typst",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unwanted"),
    [(("runs",), GRAPH | OTHERS), (("library", "list"), GRAPH | OTHERS), (("西湖哪年列入世界遗产？",), OTHERS)],
)  # fmt: skip
def test_a_command_loads_only_what_it_uses(words: tuple[str, ...], unwanted: set[str], tmp_path: Path) -> None:
    code = f"import sys; from research.cli import main; main({words!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "SIGHTLINE_DATA_DIR": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "research.application" in loaded
    assert loaded & unwanted == set()
