"""Command `resume`: continue a run where it ended."""

from __future__ import annotations

import argparse

import research
from research.cli.options import add_json_option, add_output_options, add_run_argument
from research.cli.run_output import check_output, find_run, follow_and_write

DESCRIPTION = "Resumes a run; finished searches are not repeated."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output_options(parser)
    add_json_option(parser)
    parser.add_argument("--write", action="store_true", help="stop searching and write from what was found")
    parser.add_argument("--more", action="store_true", help="add a round to a finished run, as a new run")
    parser.add_argument("--answer", metavar="TEXT", help="the answer to the run's clarifying question")
    add_run_argument(parser)


def execute(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = find_run(args.run)
    events = research.get_application().runs.events(run.id)
    report = research.get_application().runs.report(run.id)
    if report and report.is_awaiting_clarification:
        run = research.get_application().runs.answer_clarification(run.id, args.answer or "") or run
    elif run.status == "waiting":
        run = research.get_application().runs.approve(run.id) or run
    if args.more and run.status == "done":
        run, events = research.get_application().runs.extend(run.id) or run, []
    if run.is_resumable:
        run = research.get_application().runs.resume(run.id, write_only=args.write) or run
    return follow_and_write(run, events[-1].seq if events else 0, args)
