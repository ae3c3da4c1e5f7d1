"""Tests the connections to models and web searches, or compares the models with a provider's list."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, UNUSABLE, Quit
from research.cli.screen import as_json, plain, put
from research.cli.usage import json_option

ABOUT = (
    "Sends a small request to every model and every web search. With --models it asks none of them: it "
    "compares the names and prices of models that Sightline knows with a list of what is offered."
)
_LARGEST = 5_000_000  # bytes of a list


def arguments(parser: argparse.ArgumentParser) -> None:
    json_option(parser)
    parser.add_argument(
        "--models",
        nargs="?",
        const="",
        metavar="FILE",
        help="compare with the list in FILE (a provider's JSON, or a name a line); without FILE, "
        "with Gemini's own list, which needs GEMINI_API_KEY",
    )


def act(args: argparse.Namespace) -> int:
    if args.models is not None:
        return _compare(args.models, args.json)
    checks = research.application.check()
    if args.json:
        rows = [check.model_dump(mode="json") for check in checks]
        put(as_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    for check in () if args.json else checks:
        failure = check.failure
        said = f"{failure.reason}: {failure.message}" if failure else f"ok, {check.seconds:.2f} s"
        warning = f" ({check.warning})" if check.warning else ""
        put(f"{plain(check.name):10} {plain(check.model):36} {plain(said + warning)}\n")
    if not checks:
        raise Quit(NOTHING, "No model or web search is configured: answers quote the library.")
    return FAILED if any(check.failure for check in checks) else ANSWERED


def _compare(file: str, as_data: bool) -> int:
    """Print each model that is named, and whether it is listed; one that is not fails the command."""
    try:
        found = research.application.compare_models(_read(Path(file)) if file else None)
    except ValueError as error:
        raise Quit(UNUSABLE, f"{file} cannot be used as a list: {error}.") from error
    if found.failure:
        raise Quit(FAILED, f"Gemini's list cannot be read: {found.failure.message}.")
    if as_data:
        put(as_json(found.model_dump_json(indent=2)) + "\n")
    else:
        for table, day in found.dates.items():
            put(f"{table:10} as of {day}\n")
        for name in found.names:
            listed = "listed" if name.listed else "NOT LISTED"
            put(f"{listed:10} {plain(name.name):30} {plain(', '.join(name.uses))}\n")
        for unpriced in found.unpriced:
            put(f"no price   {plain(unpriced)}\n")
    return ANSWERED if all(name.listed for name in found.names) else FAILED


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Quit(UNUSABLE, f"{path} cannot be read: {error.strerror or error}.") from error
    if len(data) > _LARGEST:
        raise Quit(UNUSABLE, f"{path} is larger than {_LARGEST // 1_000_000} MB.")
    return data.decode("utf-8-sig", errors="replace")
