"""Command `follow`: watch a run in another process until it ends."""

from __future__ import annotations

import argparse

from research.cli.exit_codes import EXIT_STOPPED, CommandError
from research.cli.options import add_json_option, add_output_options, add_run_argument, program_name
from research.cli.run_output import check_output, find_run, print_progress, write_result
from research.cli.terminal import ProgressDisplay

DESCRIPTION = "Follows a run in progress, started here or on the pages, and prints its report when it ends."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_options(parser)
    add_json_option(parser)
    add_run_argument(parser)


def execute(args: argparse.Namespace) -> int:
    """Follow a run; Ctrl-C ends the watching but not the run."""
    check_output(args.output)
    run = find_run(args.run)
    try:
        with ProgressDisplay() as display:
            print_progress(run, 0, display)
    except KeyboardInterrupt:
        command = f"{program_name()} follow {run.id}"
        raise CommandError(EXIT_STOPPED, f"The run continues. Follow it again with: {command}") from None
    return write_result(run.id, args)
