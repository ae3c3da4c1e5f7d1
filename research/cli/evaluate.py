"""The citations of reports, checked."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

import research
from research.cli.exits import ANSWERED, FAILED, UNUSABLE, Quit
from research.cli.screen import Quiet, Tongue, as_json, complain, plain, put, terminal_language
from research.cli.usage import json_option

if TYPE_CHECKING:
    from research import Evaluation

ABOUT = (
    "Checks the citations of reports in Markdown, whoever wrote them; in a JSON report "
    "made by Sightline, each sentence is also compared with the passages it cites."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    json_option(parser)
    parser.add_argument(
        "--sarif", action="store_true", help="SARIF 2.1.0, for code hosts and editors"
    )
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the findings")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="at most 10 MB each")


_LARGEST = 10_000_000  # bytes of a report
_WIDE = 110  # columns: a table is never squeezed below them
_SHADES = {"error": "red", "warning": "yellow", "info": "dim"}


def act(args: argparse.Namespace) -> int:
    """Checks reports; every file is judged before the exit code is."""
    spoken = args.lang or terminal_language()
    found: list[tuple[str, Evaluation]] = []
    unread = []
    if args.json and args.sarif:
        raise Quit(UNUSABLE, "evaluate writes --json or --sarif, not both.")
    for path in args.files:
        try:
            found.append((str(path), research.evaluate_report(_report_text(path), spoken)))
        except research.UnreadableReport as error:
            unread.append(f"{path}: {error}")
        except Quit as error:
            unread.append(str(error))
    if args.json:
        rows = [{"file": name, **_as_data(one)} for name, one in found]
        put(as_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    elif args.sarif:
        log = research.evaluations_sarif(found, unread, spoken)
        put(as_json(json.dumps(log, ensure_ascii=False, indent=2)) + "\n")
    elif found:
        _draw(found, spoken)
    for complaint in unread:
        complain(UNUSABLE, complaint)
    defects = sum(one.lint.errors + one.lint.warnings for _, one in found)
    return UNUSABLE if unread else FAILED if defects else ANSWERED


def _say(key: str, tongue: Tongue, **values: object) -> str:
    return research.message(f"evaluation.{key}", tongue, **values)


def _report_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Quit(UNUSABLE, f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a name with a character that no file's name has
        raise Quit(UNUSABLE, f"{path} cannot be read: {error}.") from error
    if len(data) > _LARGEST:
        raise Quit(UNUSABLE, f"{path} is larger than {_LARGEST // 1_000_000} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Quit(UNUSABLE, f"{path} is not UTF-8 (byte {error.start}).") from error


def _as_data(one: Evaluation) -> dict[str, Any]:
    lint = one.lint
    counts = {"errors": lint.errors, "warnings": lint.warnings, "statuses": one.statuses}
    return lint.model_dump(mode="json") | counts


def _draw(found: list[tuple[str, Evaluation]], tongue: Tongue) -> None:
    """A table of the reports, then what was found in each."""
    console = Quiet(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _WIDE)
    names = ("file", "style", "citations", "sources", "sentences", "cited", "errors", "warnings")
    table = Table(box=SIMPLE)
    for name in names:
        justify: Literal["left", "right"] = "left" if name in ("file", "style") else "right"
        table.add_column(
            _say(name, tongue),
            justify=justify,
            overflow="fold",
            no_wrap=name not in ("file", "style"),
        )
    for file, one in found:
        lint = one.lint
        share = f"{100 * lint.cited / lint.sentences:.0f} %" if lint.sentences else "–"
        counts = (lint.citations, lint.sources, lint.sentences, share, lint.errors, lint.warnings)
        style = ", ".join(lint.styles) or _say("none", tongue)
        table.add_row(*(Text(plain(str(value))) for value in (file, style, *counts)))
    console.print(table)
    for file, one in found:
        _draw_findings(console, file, one, tongue)


def _draw_findings(console: Console, file: str, one: Evaluation, tongue: Tongue) -> None:
    if one.lint.flaws or one.statuses:
        console.print(Text(plain(file), "bold"), soft_wrap=True)
    if one.statuses:
        counts = (f"{_say(name, tongue)} {count}" for name, count in one.statuses.items())
        console.print(Text(f"  {_say('statuses', tongue)}: {', '.join(counts)}"), soft_wrap=True)
    for flaw in one.lint.flaws:
        where = f"{_say('line', tongue, n=flaw.line)}  " if flaw.line else ""
        line = Text(f"  {where}")
        line.append(f"{_say(flaw.severity, tongue)} {flaw.kind}", _SHADES[flaw.severity])
        line.append(f"  {plain(flaw.message)}")
        console.print(line, soft_wrap=True)
        if flaw.excerpt:
            console.print(Text(f"      {plain(flaw.excerpt)}", "dim"), soft_wrap=True)
