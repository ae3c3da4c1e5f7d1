"""Command `show`: print the stored report of a run without searching or calling a model."""

from __future__ import annotations

import argparse

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, CommandError
from research.cli.options import add_json_option, add_output_options, add_run_argument, program_name
from research.cli.run_output import check_output, find_run, write_finished, write_report
from research.cli.terminal import print_message

DESCRIPTION = "Shows the report of a run, or what there is of it so far."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_options(parser)
    add_json_option(parser)
    add_run_argument(parser)


def execute(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = find_run(args.run)
    report = research.get_application().runs.report(run.id)
    if report is None:
        raise CommandError(EXIT_FAILED, f"Run {run.id} no longer exists.")
    if report.run.status == "done":
        return write_finished(report, args)
    write_report(report, research.number_report_answer(report), args)
    command = "resume" if report.run.is_resumable or report.run.status == "waiting" else "follow"
    message = f"This run is {report.run.status}. To continue: {program_name()} {command} {run.id}"
    return print_message(EXIT_ANSWERED, message)
