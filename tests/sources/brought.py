"""Packages that bring sources, as an installer would leave them: a folder with their metadata."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from research.sources import registry

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "tables"

# A module that describes a source which finds nothing; `{more}` are further fields.
PLAIN = """
from research.core.records import Finding, Readiness
from research.sources import Setting, Source

class Nothing:
    max_sequential_calls = 1
    def readiness(self): return Readiness(state="live", detail="")
    async def search(self, task, emit): return Finding(task=task, reason="empty", started=None)

def fails(*arguments): raise RuntimeError("<b>boom</b>")

FIELDS = dict(
    name="extra", kind="web", prompt_phrase="more", build=lambda dependencies: Nothing(),
    label={{"zh": "另一个", "en": "Extra"}}, description={{"zh": "另一个。", "en": "One more."}},
)
SOURCE = Source(**{{**FIELDS, **dict({more})}})
"""


def example(place: Path) -> None:
    """Installs the example of the documents as its project file says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"][registry.ENTRY_POINT_GROUP]
    installed(place, project["name"], points)
    (place / "sightline_tables").symlink_to(EXAMPLE / "sightline_tables")


def package(place: Path, name: str, code: str, value: str = "") -> None:
    """Installs a package of one module."""
    module = name.replace("-", "_")
    (place / f"{module}.py").write_text(code, encoding="utf-8")
    installed(place, name, {module: value or f"{module}:SOURCE"})


def installed(place: Path, name: str, points: Mapping[str, str]) -> None:
    folder = place / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (folder / "METADATA").write_text(metadata, encoding="utf-8")
    lines = [f"[{registry.ENTRY_POINT_GROUP}]", *(f"{name} = {value}" for name, value in points.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@contextmanager
def on_the_path(place: Path) -> Iterator[None]:
    """What is installed in a folder is there for so long."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        registry.clear_cache()
        try:
            yield
        finally:
            for name in set(sys.modules) - before:
                file = getattr(sys.modules[name], "__file__", None) or ""
                if file.startswith((str(place), str(EXAMPLE))):
                    del sys.modules[name]
    registry.clear_cache()
