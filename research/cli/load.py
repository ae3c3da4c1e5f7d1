"""A report, resumed from its saved state."""

from __future__ import annotations

import argparse
from pathlib import Path

import research
from research.cli.exits import FAILED, Quit
from research.cli.running import check_output, folder, to_the_end
from research.cli.usage import json_option, saving, writing

ABOUT = "Resumes a report from its saved state; nothing in it is searched or paid for again."


def arguments(parser: argparse.ArgumentParser) -> None:
    saving(parser)
    writing(parser)
    json_option(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="state_….json, from OUTPUT_DIR")


def act(args: argparse.Namespace) -> int:
    check_output(args.output)
    try:
        run = research.application.load(args.file, save=folder(args))
    except OSError as error:
        raise Quit(FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    seen = research.application.events(run.id)
    return to_the_end(research.application.resume(run.id) or run, seen[-1].seq, args)
