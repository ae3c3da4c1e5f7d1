"""The package that is installed from the project: what is in it, what it needs, and that it runs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from contextlib import suppress
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from urllib.request import urlopen

import pytest
from packaging.requirements import Requirement

import research
from research import OCR_INSTALL
from tests.cli.test_terminal_evaluate import SOUND, WRONG
from tests.fakes import until

ROOT = Path(__file__).resolve().parent.parent
TAKEN = ("research", "pages", ".streamlit")
FILES = ("app.py", "pyproject.toml", "requirements.txt", "README.md", "LICENSE", ".gitignore")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the project, in which secrets lie beside the settings."""
    source = tmp_path_factory.mktemp("source")
    for name in TAKEN:
        shutil.copytree(ROOT / name, source / name)
    for name in FILES:
        shutil.copy(ROOT / name, source)
    (source / ".streamlit" / "secrets.toml").write_text("[auth]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(source / "dist")],
        cwd=source,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = (source / "dist").iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def started(installed: Path, *words: str, data: Path) -> subprocess.Popen[str]:
    """The console script, as its installer writes it, in a folder of its own."""
    script = (installed / "sightline").with_suffix(".py")
    (entry,) = installed.glob("*.dist-info/entry_points.txt")
    found = re.search(r"^sightline = ([\w.]+):(\w+)$", entry.read_text(encoding="utf-8"), re.M)
    assert found
    script.write_text(f"import sys\nfrom {found[1]} import {found[2]}\nsys.exit({found[2]}())\n")
    elsewhere = data / "elsewhere"
    elsewhere.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-P", str(script), *words],
        cwd=elsewhere,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(elsewhere),
            "PYTHONPATH": str(installed),
            "SIGHTLINE_DATA_DIR": str(data / "data"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def ran(installed: Path, *words: str, data: Path) -> subprocess.CompletedProcess[str]:
    with started(installed, *words, data=data) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def test_the_package_has_every_file_of_the_engine_and_the_pages_and_nothing_else(
    installed: Path,
) -> None:
    def files(top: Path) -> set[Path]:
        found = {path.relative_to(top) for path in top.rglob("*") if path.is_file()}
        return {path for path in found if path.suffix != ".pyc"}

    pages = {Path("desk/pages") / path for path in files(ROOT / "pages")}
    beside = {Path("desk/app.py"), Path("desk/.streamlit/config.toml")}
    assert files(installed / "research") == files(ROOT / "research") | pages | beside
    assert {path.name.partition("-")[0] for path in installed.iterdir()} <= {"research", "sightline", "sightline.py"}  # fmt: skip


def test_the_package_needs_what_the_readme_installs(wheel: Path) -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]
    needed = [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]

    def plain(requirements: list[Requirement]) -> set[tuple[str, str, str]]:
        return {(re.sub("[-_.]+", "-", r.name).lower(), str(r.specifier), str(r.marker or "")) for r in requirements}

    own = [r for r in needed if "extra ==" not in str(r.marker)]
    assert plain(own) == plain(wanted)


def test_the_extras_are_what_the_documents_install(wheel: Path) -> None:
    told = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    shown = {
        extra: set(re.findall(r"'([^']+)'", told.split(f"<!-- {extra} -->")[1].split("```")[1]))
        for extra in ("postgres", "login", "traces")
    }
    recipe = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    (servers,) = re.findall(r"'(aegra-api[^']+)'", recipe)
    extras: dict[str, set[str]] = {}
    for text in metadata(wheel).get_all("Requires-Dist", []):
        if found := re.search(r"(.+?); .*extra == '(\w+)'", text):
            extras.setdefault(found[2], set()).add(found[1])
    own = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    (anthropic,) = extras.pop("anthropic")
    assert f"pip install {anthropic.partition('>')[0]}" in own
    told = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    line = told.split("<!-- ocr -->")[1].split("```")[1]
    assert OCR_INSTALL in line
    reading = {Requirement(text) for text in re.findall(r"'([^']+)'", line)}
    assert {Requirement(text) for text in extras.pop("ocr")} == reading
    assert extras == shown | {"agents": {servers}}
    assert all(f"'{one}'" in recipe for packages in shown.values() for one in packages)
    assert set(metadata(wheel).get_all("Provides-Extra", [])) == {*extras, "anthropic", "ocr"}


def test_the_version_is_that_of_the_changelog(installed: Path, wheel: Path, tmp_path: Path) -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", log, re.M)
    assert newest and newest[1] == research.__version__ == metadata(wheel)["Version"]
    done = ran(installed, "--version", data=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"Sightline {research.__version__}\n")


@pytest.mark.slow
def test_what_is_installed_answers_and_names_itself_as_it_was_called(installed: Path, tmp_path: Path) -> None:
    done = ran(installed, "ask", "颐和园门票多少钱？", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# 颐和园门票多少钱？")
    wrong = ran(installed, "ask", data=tmp_path)
    assert wrong.returncode == 2 and wrong.stderr.startswith("usage: sightline ask ")
    assert "sightline news" in ran(installed, "--help", data=tmp_path).stdout


@pytest.mark.slow
def test_what_is_installed_serves_the_pages(installed: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def answers() -> bool:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
            return True
        return False

    folder = tmp_path / "chosen"
    words = ("serve", "--port", str(port), "--data-dir", str(folder))
    with started(installed, *words, data=tmp_path) as server:
        until(lambda: server.poll() is not None or answers())
        assert server.poll() is None, server.communicate()
        until((folder / "runs.db").exists)  # the page server has this process's desk
        server.terminate()
        server.communicate(timeout=60)


@pytest.mark.slow
def test_the_first_page_of_what_is_installed_is_drawn(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from streamlit.testing.v1 import AppTest; "
        f"sys.path.insert(0, {str(installed / 'research' / 'desk')!r}); "
        f"page = AppTest.from_file({str(installed / 'research/desk/pages/router.py')!r}).run(timeout=60); "
        "import research; print(research.__file__); sys.exit(bool(page.exception))"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=env | {"SIGHTLINE_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(installed))


def test_another_repository_checks_its_reports_with_what_the_hook_installs(installed: Path, tmp_path: Path) -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = re.search(r"^  entry: sightline (.+)$", hook, re.MULTILINE)
    assert entry is not None and "language: python" in hook
    name = re.search(r"^- id: (.+)$", hook, re.MULTILINE)
    told = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8").partition("<!-- hook -->")[2]
    assert name is not None and f"{{id: {name[1]}," in told
    for text, code in ((SOUND, 0), (WRONG, 1)):
        report = tmp_path / "report.md"
        report.write_text(text, encoding="utf-8")
        done = ran(installed, *entry[1].split(), str(report), data=tmp_path)
        assert done.returncode == code, done.stderr
        assert ("dangling" in done.stdout) is bool(code)
