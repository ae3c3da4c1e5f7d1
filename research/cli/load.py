"""Command `load`: resume a report from its saved state."""

from __future__ import annotations

import argparse
from pathlib import Path

import research
from research.cli.exit_codes import EXIT_FAILED, CommandError
from research.cli.options import add_json_option, add_output_options, add_save_option
from research.cli.run_output import check_output, follow_and_write, read_save_folder

DESCRIPTION = "Resumes a report from its saved state; nothing in it is searched or paid for again."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_save_option(parser)
    add_output_options(parser)
    add_json_option(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="state_….json, from OUTPUT_DIR")


def execute(args: argparse.Namespace) -> int:
    check_output(args.output)
    try:
        run = research.get_application().restore_report(args.file, save_folder=read_save_folder(args))
    except OSError as error:
        raise CommandError(EXIT_FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    events = research.get_application().runs.events(run.id)
    return follow_and_write(research.get_application().runs.resume(run.id) or run, events[-1].seq, args)
