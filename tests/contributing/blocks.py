"""The blocks of docs/contributing.md, put into a copy of the project as the document says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from research.core.settings import DECLARED

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "contributing.md"
TEST_FILES = ("tests/document_tables.py", "tests/pages/visitor.py")
_BLOCK = re.compile(r"^```(?:python|fluent)\n# (\S+?)(?:, above `([^`\n]+)`)?\n(.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    """Code for a file: a new one, or one in which the code goes above the only line with such a start."""

    path: str
    anchor: str
    code: str


def items() -> dict[str, str]:
    """The sections on what may be added, by their headings."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text.partition("## What to add, and where\n")[2].partition("\n## ")[0]
    heading_and_text = re.split(r"^### (.+)\n", section, flags=re.M)[1:]
    return dict(zip(heading_and_text[::2], heading_and_text[1::2], strict=True))


def blocks(item: str) -> list[Block]:
    """The blocks of a section, in their order."""
    found = [Block(*block) for block in _BLOCK.findall(items()[item])]
    assert len(found) == items()[item].count("\n```\n") > 0, "a block does not begin with its file"
    return found


def copy_project(folder: Path) -> None:
    """Copy what the program and the checks of a copy need. Data files are linked, not copied."""

    def link_or_copy(source: str, target: str) -> None:
        (shutil.copy if source.endswith((".py", ".pyi", ".md")) else os.symlink)(source, target)

    for name in ("research", "pages", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "images")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored, copy_function=link_or_copy)
    for name in ("app.py", "requirements.txt", *TEST_FILES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def put(block: Block, folder: Path) -> None:
    """Put a block into a copy.

    Raises:
        AssertionError: a file to be changed does not exist, a new one does, or the line is not there once.
    """
    file = folder / block.path
    if not block.anchor:
        assert not file.exists(), f"{block.path} exists: the document does not say where in it the code goes"
        file.parent.mkdir(exist_ok=True)
        file.write_text(block.code, encoding="utf-8")
        return
    assert file.exists(), f"{block.path} does not exist"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if line.startswith(block.anchor)]
    assert len(places) == 1, f"{block.path} has {len(places)} lines that begin with {block.anchor!r}"
    lines.insert(places[0], block.code)
    file.write_text("".join(lines), encoding="utf-8")


def environment(folder: Path, more: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """The environment of a process in a copy: no key, none of our settings but the data folder."""
    plain = {name: value for name, value in os.environ.items() if "KEY" not in name and name not in DECLARED}
    return plain | {"SIGHTLINE_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(folder)} | dict(more)


def run_in(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy; whatever does not end with 0 fails the test."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment(folder, env.items()),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done
