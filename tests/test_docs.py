"""README and the documents are held to what the project is."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pages.shared.map_content import TILE_LAYERS
from research import OCR_INSTALL, cli
from research.citations.support import SUPPORT_ACCURACY
from research.cli import exit_codes
from research.core import settings
from research.core.providers import search_services, shipped_providers
from research.models import roles
from research.sources import registry
from tests import document_tables
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = (
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted((ROOT / "tests").glob("*/README.md")),
    ROOT / "research" / "data" / "sights" / "README.md",
)
TOLD = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
SETTINGS, ARCHITECTURE = TOLD[DOCS / "settings.md"], TOLD[DOCS / "architecture.md"]
FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.M | re.S)
CODE = re.compile(r"(`+)(.+?)\1", re.S)
ROWS = {name: row for name, row in document_tables.rows(SETTINGS) if name}


def prose(text: str) -> str:
    """A document without its blocks of code, in which no link is one and no heading either."""
    return FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors of a document, as GitHub names those of headings."""
    found: set[str] = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(text), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        times = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in found)
        found.add(f"{slug}-{times}" if times else slug)
    return found


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^()\s]+)\)", CODE.sub("", prose(text)))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


# Links, pictures, paths


@each_row("document", DOCUMENTS)
def test_every_link_within_the_project_leads_somewhere(document: Path) -> None:
    broken = []
    for link in links(TOLD[document]):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        there = target.is_relative_to(ROOT) and target.exists()
        if not there or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


def test_anchors_are_those_of_headings_outside_code() -> None:
    text = '# One: `two` & three\n```\n# four\n```\n## A-b\n## A-b\n<a id="c"></a>\n'
    assert anchors(text) == {"one-two--three", "a-b", "a-b-1", "c"}
    assert links("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n![g](h.png)") == ["b.md", "h.png"]


def test_every_document_is_reached_from_both_front_pages() -> None:
    for front in ("README.md", "README.zh-CN.md"):
        reached = {(ROOT / link.partition("#")[0]).resolve() for link in links(TOLD[ROOT / front])}
        other = {DOCS / "zh.md"} if front == "README.md" else set()
        assert set(DOCS.glob("*.md")) - reached <= other


def test_every_picture_is_there_and_shown() -> None:
    shown = set()
    for document, text in TOLD.items():
        for words, picture in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", prose(text)):
            assert words
            shown.add((document.parent / picture).resolve())
    assert all(picture.stat().st_size > 10_000 for picture in shown)
    assert shown == set((DOCS / "images").iterdir())


@each_row("document", DOCUMENTS)
def test_every_path_of_the_project_that_is_named_exists(document: Path) -> None:
    top = "|".join(re.escape(path.name) for path in ROOT.iterdir())
    paths = [
        code
        for _, code in CODE.findall(prose(TOLD[document]))
        if re.fullmatch(rf"(?:{top})(?:/[\w./-]*)?", code) or re.fullmatch(r"[\w./]+\.py", code)
    ]
    paths = [path for path in paths if path != ".streamlit/secrets.toml"]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_name_beside_a_path_of_the_walk_is_defined_there() -> None:
    walk = ARCHITECTURE.partition("## The walk of one question")[2].partition("\n## ")[0]
    steps = re.findall(r"`([\w/]+\.py)` \(((?:`[\w.]+`(?:, )?)+)\)", walk)
    assert len(steps) >= 15
    for path, names in steps:
        text = (ROOT / path).read_text(encoding="utf-8")
        for name in re.findall(r"`([\w.]+)`", names):
            for part in name.split("."):
                assert re.search(rf"^ *(?:async def|def|class) {part}\b", text, re.M), (path, part)
    known = (ROOT / "research" / "agent" / "graph.py").read_text(encoding="utf-8")
    known += "".join(f'"{source.graph_node}"' for source in registry.sources_by_name().values())
    nodes = re.findall(r"^\| \d+ \| ((?:`\w+`(?:, )?)+)", walk, re.M)
    assert len(nodes) == 6
    for node in re.findall(r"`(\w+)`", " ".join(nodes)):
        assert f'"{node}"' in known, node


def test_the_walk_names_each_file_once() -> None:
    walk = ARCHITECTURE.partition("## The walk of one question")[2].partition("\n## ")[0]
    paths = re.findall(r"\b(?:research|pages)/[\w/]+\.py", walk)
    assert sorted(paths) == sorted(set(paths))
    assert len(paths) > 25


def test_every_path_of_the_tree_exists_and_every_folder_is_in_it() -> None:
    """A line begins with its paths; the names of files behind them are of the folder, if it is one."""
    tree = ARCHITECTURE.split("## The tree")[1].split("```")[1].strip().splitlines()
    assert len(tree) <= 100
    folders, missing = {0: ROOT}, []  # by the indent of what is in them
    named_folders = set()
    for line in tree:
        indent = len(line) - len(line.lstrip())
        if indent > 6:
            continue  # what is said of the line above
        names = re.match(r"(?:[\w.]+/?(?:  (?=\S))?)+", line.strip())
        assert names, line
        paths = [folders[indent] / name for name in names[0].split()]
        if names[0].rstrip().endswith("/"):
            folders[indent + 2] = paths[-1]
            named_folders.update(paths)
        said = line.strip()[names.end() :]
        home = paths[-1] if paths[-1].is_dir() else folders[indent]
        paths += [home / name for name in re.findall(r"(?<![/\w])[a-z_]+\.py", said)]
        missing += [named(path) for path in paths if not path.exists()]
    assert missing == []
    packages = {path.parent for top in ("pages", "research") for path in (ROOT / top).rglob("*.py")}
    assert packages <= named_folders


# Settings


def test_the_table_of_settings_is_up_to_date() -> None:
    """`python -m tests.document_tables` writes it."""
    assert document_tables.written(SETTINGS) == SETTINGS
    assert [name for name, row in ROWS.items() if not row[4]] == []
    assert [name for name, row in ROWS.items() if not row[2]] == []


def test_every_setting_of_the_environment_is_in_the_table_and_the_other_way_round() -> None:
    declared = settings.DECLARED.values()
    assert set(ROWS) == {name for one in declared for name in (one.variable.name, *one.variable.other_names)}
    assert len(ROWS) == sum(1 for name, _ in document_tables.rows(SETTINGS) if name)


def test_the_defaults_in_the_table_are_those_of_the_code(tmp_path: Path) -> None:
    shown = dict(settings.load_settings({}, data_dir=tmp_path).display_values())
    numbers = {name: value for name, value in shown.items() if re.match(r"\d", value)}
    assert len(numbers) >= 12
    for name, value in numbers.items():
        assert ROWS[name][1] == value, name
    for name, model in roles.DEFAULT_MODELS.items():
        assert ROWS[settings.model_setting_name(name)][1] == f"`{model}`"
    assert ROWS["WEB_SEARCH"][1] == f"`{shown['WEB_SEARCH']}`"


def test_the_values_in_the_table_are_those_that_the_code_permits() -> None:
    """The ends of each stretch are taken, what lies beyond is refused; of words, each is taken."""
    checked = 0
    for name, (_, _, values, page, _) in ROWS.items():
        assert (page == "✓") == (name in settings.CHOICES or name in settings.CONNECTION_SETTINGS)
        if ends := re.fullmatch(r"([\d.,]+) to ([\d.,]+)", values):
            low, high = (float(end.replace(",", "")) for end in ends.groups())
            for end in (low, high):
                settings.load_settings({name: f"{end:.12g}"})
            for beyond in (low - 1, high + 1):
                with pytest.raises(settings.SettingError, match=name):
                    settings.load_settings({name: f"{beyond:.12g}"})
            checked += 1
        elif words := re.fullmatch(r"(?:`\w+`(?:, )?)+(?:, address)?", values):
            for word in re.findall(r"`(\w+)`", words[0]):
                settings.load_settings({name: word})
            checked += 1
    assert checked >= 35


def test_a_setting_that_the_table_lacks_is_added_and_one_that_is_gone_is_taken_out() -> None:
    line = next(line for line in SETTINGS.splitlines() if "`MAX_RESEARCH_LOOPS`" in line)
    changed = SETTINGS.replace(f"{line}\n", line.replace("MAX_RESEARCH_LOOPS", "NO_MORE") + "\n")
    assert document_tables.written(changed) == SETTINGS


def test_every_setting_is_shown_but_no_key() -> None:
    keys = {name: f"sentinel-{name}" for name in ("GEMINI_API_KEY", "OPENAI_API_KEY", "TAVILY_API_KEY")}
    loaded = settings.load_settings(keys)
    tables = (*shipped_providers().values(), *search_services().values())
    servers = {name for one in tables for name in (one.key_setting, one.url_setting) if name}
    told = {name for name, _ in loaded.display_values()} | {"GOOGLE_API_KEY"}
    assert told == set(ROWS) | servers
    assert "sentinel" not in str(loaded.display_values()) + repr(loaded) + loaded.model_dump_json()


def test_every_setting_that_a_document_names_is_one() -> None:
    others = {"SIGHTLINE_HOST"}  # of compose.yaml
    for path in (ROOT / "tests").rglob("*.py"):
        others |= set(re.findall(r"\bSIGHTLINE_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    for document, text in TOLD.items():
        unknown = set(re.findall(r"\bSIGHTLINE_[A-Z_]+\b", text)) - set(ROWS) - others
        assert not unknown, (document, unknown)


# Figures


def test_no_document_promises_a_map_without_a_network_or_denies_that_pictures_are_read() -> None:
    hosts = {urlsplit(tiles["url"]).scheme for tiles in TILE_LAYERS.values()}
    assert hosts == {"https"}  # every base map comes from another host
    assert "rapidocr" in OCR_INSTALL
    told = " ".join("\n".join(TOLD[path] for path in DOCUMENTS if path.name != "CHANGELOG.md").split())
    wrong = r"(?i)offline map|map\W+works offline|离线地图|地图不联网也能用|does no text recognition|不做文字识别|wikipedia +# (?:entirely|完全)"
    assert re.findall(wrong, told) == []


def test_the_accuracy_in_the_documents_is_that_of_the_code() -> None:
    en, zh = (
        {name: f"{100 * share:.0f}%" for name, share in SUPPORT_ACCURACY[language].model_dump().items()}
        for language in ("en", "zh")
    )
    for name, never, labels in (
        (
            "accuracy.md",
            "not used",
            (
                "balanced accuracy (50% is chance)",
                "baseline: shared words or characters alone",
                "“supported” is right, if half of all sentences are supported",
                "“supported” is right, if four fifths are supported",
                "“not supported” is right, if half are supported",
                "“not supported” is right, if four fifths are supported",
            ),
        ),
        (
            "zh.md",
            "不使用",
            (
                "平衡准确率（50% 相当于随机）",
                "只比较词语（英文）或用字（中文）的重合",
                "“有依据”正确的比例，一半句子受支持时",
                "“有依据”正确的比例，五分之四受支持时",
                "“所引段落不支持”正确的比例，一半受支持时",
                "“所引段落不支持”正确的比例，五分之四受支持时",
            ),
        ),
    ):
        cells = [(en[k], zh[k]) for k in ("balanced", "overlap", "half", "most")]
        cells += [(en[k], never) for k in ("doubted_half", "doubted_most")]
        for label, (one, other) in zip(labels, cells, strict=True):
            assert f"| {label} | {one} | {other} |" in TOLD[DOCS / name]
    english, chinese = (" ".join(TOLD[ROOT / name].split()) for name in ("README.md", "README.zh-CN.md"))
    one, plain, other, bare = en["balanced"], en["overlap"], zh["balanced"], zh["overlap"]
    assert f"{one} in English (plain word overlap: {plain}) and {other} in Chinese ({bare};" in english
    assert f"英文为 {one}（只比较词语为 {plain}），中文为 {other} （只比较用字为 {bare}；" in chinese


def test_the_figures_on_news_in_the_documents_are_those_that_were_measured() -> None:
    text = " ".join(TOLD[DOCS / "accuracy.md"].split())
    measured = ROOT / "tests" / "yardsticks"
    for one in json.loads((measured / "stories.json").read_text(encoding="utf-8"))["sets"]:
        if one["half"] == "unseen":
            f, plain = one["program"]["B3 F"], one["tf-idf"]["B3 F"]
            assert f"a B-cubed F of {f:.3f} (plain tf-idf: {plain:.3f})" in text
    figures = json.loads((measured / "figures.json").read_text(encoding="utf-8"))["sets"]
    (unseen,) = (one["figures"]["program"] for one in figures if one["half"] == "unseen")
    assert "about two thirds of the differences shown are real, and nine in ten" in text
    assert (round(3 * unseen["P"]), round(10 * unseen["shown"])) == (2, 9)


def test_the_figures_on_answers_without_a_model_are_those_of_the_yardsticks() -> None:
    text, told = TOLD[ROOT / "tests" / "yardsticks" / "README.md"], TOLD[DOCS / "accuracy.md"]
    for name, shown in (("sample", "sample library"), ("other", "other subjects")):
        (row,) = re.findall(rf"^\| {name} \| unseen \| (.+) \|$", text, re.M)
        must, beside, _, _, plain, plain_beside = row.split(" | ")
        assert f"| {shown} | {must} | {beside} | {plain} | {plain_beside} |" in told
        assert 0.4 < float(must) < 0.6, "the front pages say: about half"


# Commands


def test_both_languages_give_the_same_commands() -> None:
    english, chinese = TOLD[ROOT / "README.md"], TOLD[ROOT / "README.zh-CN.md"]
    for marker in ("run", "test"):
        command = english.split(f"<!-- {marker} -->")[1].split("```")[1].strip()
        assert "\n" not in command
        assert chinese.split(f"<!-- {marker} -->")[1].split("```")[1].strip() == command
    test = english.split("<!-- test -->")[1].split("```")[1].partition("&& ")[2].strip()
    assert f"`{test}`" in TOLD[DOCS / "contributing.md"]


def test_every_command_of_the_documents_is_one() -> None:
    given = set()
    for document, text in TOLD.items():
        for line in re.findall(r"python -m research\b(?!\.)([^\n`]*)", text):
            words = shlex.split(re.split(r" (?:&&|<|>) |  # ", f"{line} ")[0], comments=True)
            if words in ([], ["--help"]) or "--help" in words:
                continue
            assert cli.parse_arguments(words).execute, (document, line)
            given.add(words[0])
        for module in re.findall(r"python -m ((?:research|tests)(?:\.\w+)+)", text):
            assert importlib.util.find_spec(module), (document, module)
    assert given >= set(cli.COMMANDS) - {"ask", "runs", "resume", "show", "follow"}
    table = TOLD[DOCS / "terminal.md"].partition("| command |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)", table, re.M)) == set(cli.COMMANDS)


def test_the_exit_codes_in_the_document_are_those_of_the_code() -> None:
    table = TOLD[DOCS / "terminal.md"].partition("| exit code |")[2].partition("\n\n")[0]
    codes = {
        exit_codes.EXIT_ANSWERED,
        exit_codes.EXIT_FAILED,
        exit_codes.EXIT_USAGE,
        exit_codes.EXIT_NOTHING_FOUND,
        exit_codes.EXIT_UNCHANGED,
        exit_codes.EXIT_STOPPED,
    }
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)} == codes


def test_each_marker_that_is_read_stands_once_and_in_the_document_where_it_is_looked_for() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    looked = re.findall(r"\^<!-- (\w+) -->\$/.* (\S+\.md)\)", script)
    assert dict(looked) == {
        "test": "README.md",
        "postgres": "docs/deployment.md",
        "ocr": "docs/library.md",
    }
    places = [*looked, ("run", "README.md"), ("postgres role", "docs/database.md"),
              ("api", "docs/terminal.md"), ("hook", "docs/terminal.md")]  # fmt: skip
    for marker, name in places:
        found = [named(path) for path, text in TOLD.items() if f"<!-- {marker} -->\n```" in text]
        assert [path for path in found if path != "README.zh-CN.md"] == [name]


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
        "pypdfium2": "pypdfium2",
        "Stemmer": "pystemmer",
        "pysbd": "pysbd",
        "rich": "rich",
        "rjieba": "rjieba",
        "sqlalchemy": "sqlalchemy",
        "streamlit": "streamlit",
        "tavily": "tavily-python",
        "trafilatura": "trafilatura",
    }
    assert {package for package in modules.values() if package not in required} == set()


def test_the_documents_name_every_provider_of_models_and_what_it_needs() -> None:
    """The Settings page draws the same table, from the same file."""
    table = SETTINGS.partition(document_tables.SERVERS)[2].partition(document_tables.SERVERS_END)[0]
    for name, one in shipped_providers().items():
        row = next(line for line in table.splitlines() if line.startswith(f"| `{name}` |"))
        assert one.title in row
        assert all(f"`{setting}`" in row for setting in (one.key_setting, one.url_setting) if setting)
    for readme in ("README.md", "README.zh-CN.md"):
        text = (ROOT / readme).read_text(encoding="utf-8")
        assert "docs/settings.md#providers-of-models" in text
    assert len(shipped_providers()) == 14  # as the README says
