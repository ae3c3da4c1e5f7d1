"""The README is held to what the project is."""

import inspect
import re
from pathlib import Path

from research import settings
from research.evidence.support import ACCURACY
from research.models import roles

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_of_the_environment_is_in_the_readme_and_the_other_way_round():
    read = set(re.findall(r'"([A-Z][A-Z_]{5,})"', inspect.getsource(settings)))
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.M))
    assert told == read


def test_the_defaults_in_the_readme_are_those_of_the_code(tmp_path):
    shown = dict(settings.load({}, data_dir=tmp_path).shown())
    told = dict(re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", README, re.M))
    numbers = {name: value for name, value in shown.items() if re.match(r"\d", value)}
    assert len(numbers) >= 12
    for name, value in numbers.items():
        assert told[name] == value.removesuffix(" s"), name
    for name, model in roles.DEFAULTS.items():
        assert told[settings.model_setting(name)] == f"`{model}`"
    assert told["WEB_SEARCH"] == f"`{shown['WEB_SEARCH']}`"


def test_every_setting_is_shown_but_no_key():
    keys = {
        name: f"sentinel-{name}" for name in ("GEMINI_API_KEY", "OPENAI_API_KEY", "TAVILY_API_KEY")
    }
    loaded = settings.load(keys)
    assert {name for name, _ in loaded.shown()} | {"GOOGLE_API_KEY"} == set(
        re.findall(r"^\| `([A-Z_]+)` \|", README, re.M)
    )
    assert "sentinel" not in str(loaded.shown()) + repr(loaded) + loaded.model_dump_json()


def test_every_path_of_the_tree_exists():
    """A line begins with its paths; what it tells of a folder may name the files in it."""
    tree = README.split("## The tree")[1].split("```")[1]
    folders, missing = {0: ROOT}, []  # by the indent of what is in them
    for line in tree.strip().splitlines():
        indent = len(line) - len(line.lstrip())
        first = re.match(r"\s*((?:[a-z_]+(?:\.py|\.json|\.yaml|/)(?:  (?=\S))?)+)", line)
        assert first, line
        paths = [folders[indent] / name for name in first.group(1).split()]
        if first.group(1).rstrip().endswith("/"):
            folders[indent + 2] = paths[-1]
            paths += [
                paths[-1] / name for name in re.findall(r"\b[a-z_]+\.py", line[first.end() :])
            ]
        missing += [str(path.relative_to(ROOT)) for path in paths if not path.exists()]
    assert missing == []


def test_the_accuracy_in_the_readme_is_that_of_the_code():
    percent = {
        language: {
            name: round(100 * share) for name, share in ACCURACY[language].model_dump().items()
        }
        for language in ("zh", "en")
    }
    zh, en = (percent[language]["balanced"] for language in ("zh", "en"))
    zh_words, en_words = (percent[language]["overlap"] for language in ("zh", "en"))
    text = " ".join(README.split())
    assert (
        f"{en} % in English (mean of six attribution sets; plain word overlap {en_words} %)" in text
    )
    assert f"{zh} % in Chinese (OCNLI; shared characters {zh_words} %)" in text
    assert f"英文为 {en} %（六个引文测试集的平均，只比较词语重合为 {en_words} %）" in text
    assert f"中文为 {zh} %（OCNLI，只比较用字为 {zh_words} %）" in text
    e, z = percent["en"], percent["zh"]
    assert (
        f"right in {e['half']} % and {z['half']} % of its uses where half of the sentences are supported, "
        f"in {e['most']} % and {z['most']} % where four fifths are; “not supported” in "
        f"{e['doubted_half']} % and {e['doubted_most']} %, in English alone"
    ) in text
    assert f"“有依据”有 {e['half']} %（中文 {z['half']} %）是对的" in text
    assert f"五分之四受支持时为 {e['most']} %（{z['most']} %）" in text
    assert (
        f"“所引段落不支持”为 {e['doubted_half']} % 和 {e['doubted_most']} %，只标英文句子" in text
    )


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
            plain = name.split("[")[0].lower()
            required[re.sub(r"[-_.]+", "-", plain)] = bound
    modules = {
        "aiohttp": "aiohttp",
        "docx": "python-docx",
        "feedparser": "feedparser",
        "google.genai": "google-genai",
        "httpx": "httpx",
        "langchain_core": "langchain-core",
        "langchain_google_genai": "langchain-google-genai",
        "langchain_ollama": "langchain-ollama",
        "langchain_openai": "langchain-openai",
        "langgraph": "langgraph",
        "lxml": "lxml",
        "markdown_it": "markdown-it-py",
        "mcp": "mcp",
        "openpyxl": "openpyxl",
        "pandas": "pandas",
        "platformdirs": "platformdirs",
        "protego": "protego",
        "pydantic": "pydantic",
        "pypdf": "pypdf",
        "pysbd": "pysbd",
        "rich": "rich",
        "rjieba": "rjieba",
        "snowballstemmer": "snowballstemmer",
        "sqlalchemy": "sqlalchemy",
        "streamlit": "streamlit",
        "tavily": "tavily-python",
        "trafilatura": "trafilatura",
    }
    assert {package for package in modules.values() if package not in required} == set()
