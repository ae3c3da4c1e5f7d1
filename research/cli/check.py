"""Command `check`: test the connections, list the settings, or compare the known models with a provider's list."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_NOTHING_FOUND, EXIT_USAGE, CommandError
from research.cli.options import add_json_option
from research.cli.terminal import clean_line, escape_json, print_message, print_output

DESCRIPTION = (
    "Sends a small request to every model and every web search. With --models it asks none of them: it "
    "compares the names and prices of models that Sightline knows with a list of what is offered. With --settings it "
    "lists the settings in force; of a key, only that it is set."
)
_MAX_LIST_BYTES = 5_000_000  # maximum size of a list in bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)
    parser.add_argument("--settings", action="store_true", help="list the settings in force, and send nothing")
    parser.add_argument(
        "--models",
        nargs="?",
        const="",
        metavar="FILE",
        help="compare with the list in FILE (a provider's JSON, or a name a line); without FILE, "
        "with Gemini's own list, which needs GEMINI_API_KEY",
    )


def execute(args: argparse.Namespace) -> int:
    if args.models is not None:
        return _compare_models(args.models, print_json=args.json)
    settings = research.get_application().settings
    for warning in settings.warnings:
        print_message(EXIT_ANSWERED, warning)
    if args.settings:
        return _list_settings(settings.display_values(), print_json=args.json)
    checks = research.get_application().check_connections()
    if args.json:
        rows = [check.model_dump(mode="json") for check in checks]
        print_output(escape_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    for check in () if args.json else checks:
        failure = check.failure
        result = f"{failure.reason}: {failure.message}" if failure else f"ok, {check.seconds:.2f} s"
        warning = f" ({check.warning})" if check.warning else ""
        print_output(f"{clean_line(check.name):10} {clean_line(check.model):36} {clean_line(result + warning)}\n")
    if not checks:
        raise CommandError(EXIT_NOTHING_FOUND, "No model or web search is configured: answers quote the library.")
    return EXIT_FAILED if any(check.failure for check in checks) else EXIT_ANSWERED


def _list_settings(values: Sequence[tuple[str, str]], *, print_json: bool) -> int:
    """Print the name and value of every setting."""
    if print_json:
        print_output(escape_json(json.dumps(dict(values), ensure_ascii=False, indent=2)) + "\n")
    else:
        for name, value in values:
            print_output(f"{clean_line(name):36} {clean_line(value)}".rstrip() + "\n")
    return EXIT_ANSWERED


def _compare_models(file: str, *, print_json: bool) -> int:
    """Print whether each known model is in the list of a file, or in Gemini's own if `file` is "".

    Return the exit code, which is 1 if a model is not listed.
    """
    try:
        comparison = research.get_application().compare_models(_read_list(Path(file)) if file else None)
    except ValueError as error:
        raise CommandError(EXIT_USAGE, f"{file} cannot be used as a list: {error}.") from error
    if comparison.failure:
        raise CommandError(EXIT_FAILED, f"Gemini's list cannot be read: {comparison.failure.message}.")
    if print_json:
        print_output(escape_json(comparison.model_dump_json(indent=2)) + "\n")
    else:
        for table, day in comparison.dates.items():
            print_output(f"{table:10} as of {day}\n")
        for name in comparison.names:
            listed = "listed" if name.is_listed else "NOT LISTED"
            print_output(f"{listed:10} {clean_line(name.name):30} {clean_line(', '.join(name.uses))}\n")
        for unpriced in comparison.unpriced:
            print_output(f"no price   {clean_line(unpriced)}\n")
    return EXIT_ANSWERED if all(name.is_listed for name in comparison.names) else EXIT_FAILED


def _read_list(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_LIST_BYTES + 1)
    except OSError as error:
        raise CommandError(EXIT_USAGE, f"{path} cannot be read: {error.strerror or error}.") from error
    if len(data) > _MAX_LIST_BYTES:
        raise CommandError(EXIT_USAGE, f"{path} is larger than {_MAX_LIST_BYTES // 1_000_000} MB.")
    return data.decode("utf-8-sig", errors="replace")
