"""The README is held to what the project is."""

import inspect
import re
from pathlib import Path

from research import settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_of_the_environment_is_in_the_readme_and_the_other_way_round():
    read = set(re.findall(r'"([A-Z][A-Z_]{5,})"', inspect.getsource(settings)))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.M))
    assert told == read


def test_the_defaults_in_the_readme_are_those_of_the_code(tmp_path):
    loaded = settings.load({}, data_dir=tmp_path)
    values = {
        "NUMBER_OF_INITIAL_QUERIES": loaded.queries,
        "MAX_RESEARCH_LOOPS": loaded.loops,
        "SIGHTLINE_SEARCH_TIMEOUT": loaded.search_timeout,
        "SIGHTLINE_SEARCH_DELAY": loaded.search_delay,
        "SIGHTLINE_PASSAGES_PER_SEARCH": loaded.passages_per_search,
    }
    for name, value in values.items():
        assert f"| `{name}` | {value:g} |" in README


def test_every_path_of_the_tree_exists():
    tree = README.split("## The tree")[1].split("```")[1]
    folder, missing = ROOT, []
    for line in tree.strip().splitlines():
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            folder = ROOT
        first = re.match(r"\s*((?:[a-z_]+(?:\.py|/)(?:  (?=\S))?)+)", line)
        assert first, line
        for name in first.group(1).split():
            path = (ROOT if indent == 0 else folder) / name
            if not path.exists():
                missing.append(str(path.relative_to(ROOT)))
            if indent == 0 and name.endswith("/"):
                folder = path
    assert missing == []


def test_every_picture_of_the_readme_is_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) >= 2
    for picture in pictures:
        assert (ROOT / picture).stat().st_size > 10_000


def test_both_languages_give_the_same_commands():
    english, chinese = README.split("## 中文")
    for marker in ("run", "test"):
        command = english.split(f"<!-- {marker} -->")[1].split("```")[1].strip()
        assert "\n" not in command
        assert command in chinese


def test_requirements_are_lower_bounded_and_every_import_is_required():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    required = {}
    for line in lines:
        line = line.split("#")[0].strip()
        if line:
            name, _, bound = line.partition(">=")
            assert bound, f"{line} has no lower bound"
            required[re.sub(r"[-_.]+", "-", name.lower())] = bound
    modules = {
        "aiosqlite": "aiosqlite",
        "docx": "python-docx",
        "langgraph": "langgraph",
        "lxml": "lxml",
        "markdown_it": "markdown-it-py",
        "openpyxl": "openpyxl",
        "pandas": "pandas",
        "platformdirs": "platformdirs",
        "pydantic": "pydantic",
        "pypdf": "pypdf",
        "pysbd": "pysbd",
        "rich": "rich",
        "rjieba": "rjieba",
        "snowballstemmer": "snowballstemmer",
        "streamlit": "streamlit",
        "trafilatura": "trafilatura",
    }
    assert {package for package in modules.values() if package not in required} == set()
