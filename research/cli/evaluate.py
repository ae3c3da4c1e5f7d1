"""Command `evaluate`: check the citations of reports."""

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
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_USAGE, CommandError
from research.cli.options import add_json_option
from research.cli.terminal import (
    Language,
    PipeSafeConsole,
    clean_line,
    escape_json,
    print_message,
    print_output,
    terminal_language,
)

if TYPE_CHECKING:
    from research import ReportEvaluation

DESCRIPTION = (
    "Checks the citations of reports in Markdown, whoever wrote them; in a JSON report "
    "made by Sightline, each sentence is also compared with the passages it cites."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)
    parser.add_argument("--sarif", action="store_true", help="SARIF 2.1.0, for code hosts and editors")
    parser.add_argument("--lang", choices=("zh", "en"), help="language of the findings")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="at most 10 MB each")


_MAX_REPORT_BYTES = 10_000_000  # maximum size of a report in bytes
_MIN_TABLE_WIDTH = 110  # minimum width of a table in columns
_SEVERITY_STYLES = {"error": "red", "warning": "yellow", "info": "dim"}


def execute(args: argparse.Namespace) -> int:
    """Check reports; every file is read before the exit code is decided."""
    language = args.lang or terminal_language()
    evaluations: list[tuple[str, ReportEvaluation]] = []
    read_errors = []
    if args.json and args.sarif:
        raise CommandError(EXIT_USAGE, "evaluate writes --json or --sarif, not both.")
    for path in args.files:
        try:
            evaluations.append((str(path), research.evaluate_report(_read_report(path), language)))
        except research.UnreadableReportError as error:
            read_errors.append(f"{path}: {error}")
        except CommandError as error:
            read_errors.append(str(error))
    if args.json:
        rows = [{"file": name, **_to_json(evaluation)} for name, evaluation in evaluations]
        print_output(escape_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    elif args.sarif:
        log = research.build_sarif(evaluations, read_errors, language)
        print_output(escape_json(json.dumps(log, ensure_ascii=False, indent=2)) + "\n")
    elif evaluations:
        _print_reports(evaluations, language)
    for read_error in read_errors:
        print_message(EXIT_USAGE, read_error)
    defects = sum(evaluation.lint.error_count + evaluation.lint.warning_count for _, evaluation in evaluations)
    return EXIT_USAGE if read_errors else EXIT_FAILED if defects else EXIT_ANSWERED


def _text(key: str, language: Language, **values: object) -> str:
    return research.message(f"evaluation.{key}", language, **values)


def _read_report(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_REPORT_BYTES + 1)
    except OSError as error:
        raise CommandError(EXIT_USAGE, f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # the name contains a character that is invalid in file names
        raise CommandError(EXIT_USAGE, f"{path} cannot be read: {error}.") from error
    if len(data) > _MAX_REPORT_BYTES:
        raise CommandError(EXIT_USAGE, f"{path} is larger than {_MAX_REPORT_BYTES // 1_000_000} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(EXIT_USAGE, f"{path} is not UTF-8 (byte {error.start}).") from error


def _to_json(evaluation: ReportEvaluation) -> dict[str, Any]:
    lint = evaluation.lint
    counts = {"errors": lint.error_count, "warnings": lint.warning_count, "statuses": evaluation.statuses}
    return lint.model_dump(mode="json") | counts


def _print_reports(evaluations: list[tuple[str, ReportEvaluation]], language: Language) -> None:
    """Print a table of the reports, then the flaws of each."""
    console = PipeSafeConsole(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _MIN_TABLE_WIDTH)
    names = ("file", "style", "citations", "sources", "sentences", "cited", "errors", "warnings")
    table = Table(box=SIMPLE)
    for name in names:
        justify: Literal["left", "right"] = "left" if name in ("file", "style") else "right"
        table.add_column(
            _text(name, language),
            justify=justify,
            overflow="fold",
            no_wrap=name not in ("file", "style"),
        )
    for file, evaluation in evaluations:
        lint = evaluation.lint
        share = f"{100 * lint.cited / lint.sentences:.0f} %" if lint.sentences else "–"
        counts = (lint.citations, lint.sources, lint.sentences, share, lint.error_count, lint.warning_count)
        style = ", ".join(lint.styles) or _text("none", language)
        table.add_row(*(Text(clean_line(str(value))) for value in (file, style, *counts)))
    console.print(table)
    for file, evaluation in evaluations:
        _print_flaws(console, file, evaluation, language)


def _print_flaws(console: Console, file: str, evaluation: ReportEvaluation, language: Language) -> None:
    if evaluation.lint.flaws or evaluation.statuses:
        console.print(Text(clean_line(file), "bold"), soft_wrap=True)
    if evaluation.statuses:
        counts = (f"{_text(name, language)} {count}" for name, count in evaluation.statuses.items())
        console.print(Text(f"  {_text('statuses', language)}: {', '.join(counts)}"), soft_wrap=True)
    for flaw in evaluation.lint.flaws:
        location = f"{_text('line', language, n=flaw.line)}  " if flaw.line else ""
        line = Text(f"  {location}")
        line.append(f"{_text(flaw.severity, language)} {flaw.kind}", _SEVERITY_STYLES[flaw.severity])
        line.append(f"  {clean_line(flaw.message)}")
        console.print(line, soft_wrap=True)
        if flaw.excerpt:
            console.print(Text(f"      {clean_line(flaw.excerpt)}", "dim"), soft_wrap=True)
