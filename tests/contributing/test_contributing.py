"""docs/contributing.md says how to add a source, a format, a setting, an event and a page: it is done here."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl

from tests.contributing.blocks import ROOT, blocks, copy_project, environment, items, put, run_in
from tests.pages.test_router import FIRST
from tests.servers.collector import Collector
from tests.tables import each_row

ITEMS = ("A source", "An export format", "A setting", "An event", "A page")
QUESTION = "When was West Lake listed as a world heritage site?"
ASK = ("-m", "research", "ask", QUESTION, "--sources", "library")
SENTINEL = "sentinel-0123456789"
LATEST = "from research import get_application as app\nrun = app().runs.recent_runs(limit=1)[0]\n"


def test_the_document_has_the_five_items_in_at_most_ten_lines_each_besides_code() -> None:
    assert tuple(items()) == ITEMS
    for item, text in items().items():
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        assert len([line for line in prose.splitlines() if line.strip()]) <= 10, item


@each_row("item", ITEMS)
def test_each_file_that_an_item_changes_is_there_with_the_line_that_it_names(item: str) -> None:
    for path, anchor, _ in blocks(item):
        file = ROOT / path
        assert file.exists() == bool(anchor), path
        lines = file.read_text(encoding="utf-8").splitlines() if anchor else []
        assert sum(line.startswith(anchor) for line in lines) == bool(anchor), (path, anchor)


@each_row("item", ITEMS)
def test_each_path_that_an_item_names_exists(item: str) -> None:
    prose = re.sub(r"^```.*?^```$", "", items()[item], flags=re.M | re.S)
    paths = re.findall(r"`((?:research|pages|tests|docs)/[\w./]+)`", prose)
    assert [path for path in paths if not (ROOT / path).exists()] == []


Copy = Callable[[str], Path]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a function that makes a copy of the project with the blocks of one item, once for each item."""
    made: dict[str, Path] = {}

    def make(item: str) -> Path:
        if item not in made:
            folder = made[item] = tmp_path_factory.mktemp("copy")
            copy_project(folder)
            for block in blocks(item):
                put(block, folder)
        return made[item]

    return make


# A source


@pytest.mark.slow
def test_a_source_is_asked_cited_and_shown(copy: Copy) -> None:
    folder = copy("A source")
    example = ROOT / "docs" / "examples" / "tables" / "sightline_tables"
    shutil.copytree(example, folder / "research" / "sources" / "tables", dirs_exist_ok=True)
    asked = run_in(folder, "-m", "research", "ask", "How high is Mount Erebus?", "--sources", "tables", "--json")
    report = json.loads(asked.stdout)
    assert [source["title"] for source in report["sources"]] == ["Mount Erebus"]
    assert "3,794 metres" in report["answer"]
    shown = run_in(folder, "-c", SHOW_SOURCE).stdout.splitlines()
    assert shown == ["True True True", "True True True"]


SHOW_SOURCE = """
from tests.pages.visitor import Visitor, shown
for locale, name, text in (("en-US", "Tables", "The CSV tables"), ("zh-CN", "表格", "CSV 表格")):
    visitor = Visitor("", locale=locale)
    offered = [shown(option.content) for option in visitor.at.button_group(key="sources").proto.options]
    words = visitor.go("status").words
    print(name in offered, name in words, "mountains.csv" in words)
"""


# An export format


@pytest.fixture(scope="module")
def with_format(copy: Copy) -> tuple[Path, str]:
    """A copy with a format and a report, and the content of its file as the terminal writes it."""
    folder = copy("An export format")
    run_in(folder, *ASK, "-o", str(folder / "report.contents.txt"))
    return folder, (folder / "report.contents.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_terminal_and_the_archive_write_a_format(with_format: tuple[Path, str]) -> None:
    folder, written = with_format
    assert written.splitlines()[:2] == [QUESTION, "Question"]
    assert ".contents.txt" in run_in(folder, "-m", "research", "ask", "--help", COLUMNS="500").stdout
    run_in(folder, *ASK, "-o", str(folder / "report.zip"))
    with ZipFile(folder / "report.zip") as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("report.contents.txt"))
        assert archive.read(name).decode().splitlines()[0] == QUESTION


@pytest.mark.slow
def test_the_page_offers_a_format_in_both_languages(with_format: tuple[Path, str]) -> None:
    folder, written = with_format
    done = run_in(folder, "-c", LATEST + SHOW_FORMAT)
    assert json.loads(done.stdout) == [["Contents", "目录"], ".contents.txt", "toc", written]


SHOW_FORMAT = """
import json
from pages.run import downloads
from tests.pages.visitor import Visitor
labels = []
for locale, name in (("en-US", "Contents"), ("zh-CN", "目录")):
    buttons = Visitor("", run=run.id, locale=locale).at.get("download_button")
    labels += [button.label for button in buttons if button.label == name]
from research import number_report_answer
report = app().runs.report(run.id)
(one,) = (one for one in downloads.list_formats(report, number_report_answer(report)) if one.kind == "contents")
print(json.dumps([labels, one.suffix, one.icon, one.build().decode()]))
"""


@pytest.mark.slow
async def test_mcp_clients_read_a_format(with_format: tuple[Path, str]) -> None:
    folder, written = with_format
    run_id = run_in(folder, "-c", LATEST + "print(run.id)").stdout.strip()
    async with stdio_client(mcp_server(folder)) as (read, write), session(read, write) as client:
        await client.initialize()
        (content,) = (await client.read_resource(AnyUrl(f"sightline://runs/{run_id}/contents.txt"))).contents
    assert (content.mimeType, content.text) == ("text/plain", written)  # type: ignore[union-attr]


def mcp_server(folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "research", "mcp"], env=environment(folder), cwd=folder
    )


def session(read: Any, write: Any) -> ClientSession:
    return ClientSession(read, write, timedelta(seconds=60))


@pytest.mark.slow
def test_the_document_has_a_format(with_format: tuple[Path, str]) -> None:
    folder, _ = with_format
    run_in(folder, "-m", "tests.document_tables")
    assert ", Contents `contents.txt` |" in (folder / "docs" / "exports.md").read_text(encoding="utf-8")


# A setting


@pytest.mark.slow
def test_check_lists_a_setting(copy: Copy) -> None:
    env = {"PROVERBS_PER_ANSWER": "7", "PROVERBS_API_KEY": SENTINEL}
    done = run_in(copy("A setting"), "-m", "research", "check", "--settings", **env)
    shown = dict(re.findall(r"^(\S+) +(.+)$", done.stdout, re.M))
    assert (shown["PROVERBS_PER_ANSWER"], shown["PROVERBS_API_KEY"]) == ("7", "set")
    assert SENTINEL not in done.stdout + done.stderr


@pytest.mark.slow
def test_the_document_has_a_setting(copy: Copy) -> None:
    folder = copy("A setting")
    run_in(folder, "-m", "tests.document_tables")
    lines = (folder / "docs" / "settings.md").read_text(encoding="utf-8").splitlines()
    assert "| `PROVERBS_PER_ANSWER` | 4 | 1 to 9 | ✓ | Proverbs in an answer, at most. |" in lines
    assert "| `PROVERBS_API_KEY` | | key | | The key to the proverbs. |" in lines


@pytest.mark.slow
def test_a_setting_is_read_and_masked_if_it_is_a_key(copy: Copy) -> None:
    env = {"PROVERBS_PER_ANSWER": "2", "PROVERBS_API_KEY": SENTINEL}
    done = run_in(copy("A setting"), "-c", SHOW_MASKED.replace("{0}", SENTINEL), **env)
    assert "the key " in done.stdout and " 2 " in done.stdout
    assert SENTINEL not in done.stdout + done.stderr


SHOW_MASKED = """
from research.core.errors import mask_secrets, register_secrets
from research.core.settings import load_settings
settings = load_settings()
register_secrets(settings.secrets)
print(mask_secrets("the key {0}"), settings.proverbs_per_answer, settings)
"""


@pytest.mark.slow
def test_the_settings_page_has_a_field_for_a_setting_in_both_languages(copy: Copy) -> None:
    done = run_in(copy("A setting"), "-c", SHOW_FIELD)
    assert done.stdout.splitlines() == ["Proverbs 4 1 9", "谚语数 4 1 9", "5"]


SHOW_FIELD = """
from tests.pages.visitor import Visitor
for locale in ("en-US", "zh-CN"):
    visitor = Visitor("settings", locale=locale)
    field = next(item for item in visitor.at.number_input if item.key.startswith("set_PROVERBS_PER_ANSWER_"))
    print(field.label, field.value, int(field.min), int(field.max))
visitor.at.number_input(key=field.key).set_value(5)
visitor.press("save")
from research import get_application
print(get_application().services_for("local").settings.proverbs_per_answer)
"""


# An event

NOTE, NOTE_ZH = "The answer quotes 3 proverbs", "答案引用了 3 条谚语"


@pytest.mark.slow
def test_an_event_is_stored_and_shown_by_the_terminal_the_log_the_trace_and_the_page(copy: Copy) -> None:
    folder = copy("An event")
    with Collector() as collector:
        done = run_in(folder, *ASK, OTEL_EXPORTER_OTLP_ENDPOINT=collector.base_url, LOG_LEVEL="info")
    assert NOTE in done.stderr
    assert [span.events for span in collector.spans if span.name == "answer"] == [1]
    shown = run_in(folder, "-c", LATEST + SHOW_EVENT).stdout.splitlines()
    assert shown == ["proverb_quoted 3", "True", "True", "run 7: proverb_quoted"]
    run_id = run_in(folder, "-c", LATEST + "print(run.id)").stdout.strip()
    assert NOTE in run_in(folder, "-m", "research", "follow", run_id).stderr


SHOW_EVENT = f"""
import logging
from research.runtime.run_log import log_event
from tests.pages.visitor import Visitor
(event,) = (event for event in app().runs.events(run.id) if event.kind == "proverb_quoted")
print(event.kind, event.data.count)
for locale, note in (("en-US", {NOTE!r}), ("zh-CN", {NOTE_ZH!r})):
    print(note in Visitor("", run=run.id, locale=locale).words)
logging.basicConfig(level=logging.INFO, format="%(message)s", force=True, stream=__import__("sys").stdout)
log_event("7", event.data)
"""


@pytest.mark.slow
async def test_mcp_clients_are_told_of_an_event(copy: Copy) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with stdio_client(mcp_server(copy("An event"))) as (read, write), session(read, write) as client:
        await client.initialize()
        arguments = {"question": QUESTION, "sources": ["library"]}
        assert not (await client.call_tool("research", arguments, progress_callback=hear)).isError
    assert NOTE in heard


# A page


@pytest.mark.slow
def test_a_page_is_in_the_menu_and_draws_itself_in_both_languages(copy: Copy) -> None:
    folder = copy("A page")
    first = json.loads(run_in(folder, "-c", FIRST, "proverbs").stdout.splitlines()[-1])
    assert first["menu"][-2:] == ["proverbs", "help"]
    assert (first["page"], first["words"][0]) == ("proverbs", "Proverbs")
    shown = run_in(folder, "-c", SHOW_PAGE).stdout.splitlines()
    assert shown == ["Proverbs|Sayings with their origin.", "谚语|谚语及其出处。"]


SHOW_PAGE = """
from tests.pages.visitor import Visitor
for locale in ("en-US", "zh-CN"):
    at = Visitor("proverbs", locale=locale).at
    print(at.title[0].value, at.caption[0].value, sep="|")
"""
