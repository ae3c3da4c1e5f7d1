"""python -m tests.benchmarks [name ...]: measures and prints. A missed target fails nothing, for the
machine may be busy; a limit that makes a target unreachable does."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.figures import Figure, Unreachable, machine

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__main__", "figures"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="labelled pairs that `support` judges as well")
    parser.add_argument("--scale", action="store_true", help="`desk` measures a folder with years of work in it")
    given = parser.parse_args()
    names = given.names or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if given.pairs and ("support" not in names or not given.pairs.is_file()):
        parser.error(f"--pairs needs the benchmark support and a file; {given.pairs} is given")
    if given.scale and "desk" not in names:
        parser.error("--scale needs the benchmark desk")
    console = Console(width=None if sys.stdout.isatty() else 140)
    for name in names:
        module = importlib.import_module(f"tests.benchmarks.{name}")
        extra = {"support": given.pairs, "desk": given.scale}
        before = machine()
        try:
            found = list(module.figures(extra[name]) if name in extra else module.figures())
        except Unreachable as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        console.print(_table(f"{name} ({before})", found))
    return 0


def _table(title: str, figures: list[Figure]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("what")
    for column in ("measured", "target", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("note")
    for figure in figures:
        table.add_row(
            figure.name,
            _value(figure.measured, figure.unit),
            "" if figure.target is None else _value(figure.target, figure.unit),
            "" if figure.ratio is None else f"{figure.ratio:.2f}",
            figure.verdict,
            figure.note,
        )
    return table


def _value(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 1000 else 3 if value < 10 else 1}f} {unit}".strip()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    sys.exit(main())
