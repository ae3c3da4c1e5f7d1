"""Whether every model and every web search answers."""

from __future__ import annotations

import argparse
import json

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, Quit
from research.cli.screen import as_json, plain, put
from research.cli.usage import json_option

ABOUT = "Sends a small request to every model and every web search."


def arguments(parser: argparse.ArgumentParser) -> None:
    json_option(parser)


def act(args: argparse.Namespace) -> int:
    checks = research.runs.check()
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
