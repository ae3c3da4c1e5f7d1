"""A run that goes on where it ended."""

from __future__ import annotations

import argparse

import research
from research.cli.running import check_output, named, to_the_end
from research.cli.usage import json_option, writing

ABOUT = "Resumes a run; finished searches are not repeated."


def arguments(parser: argparse.ArgumentParser) -> None:
    writing(parser)
    json_option(parser)
    parser.add_argument(
        "--write", action="store_true", help="stop searching and write from what was found"
    )
    parser.add_argument(
        "--more", action="store_true", help="add a round to a finished run, as a new run"
    )
    parser.add_argument(
        "--answer", metavar="TEXT", help="the answer to the run's clarifying question"
    )
    parser.add_argument("run", metavar="RUN", help="the id of the run, or its first characters")


def act(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = named(args.run)
    seen = research.application.events(run.id)
    report = research.application.report(run.id)
    if report and report.asks_back:
        run = research.application.clarify(run.id, args.answer or "") or run
    elif run.status == "waiting":
        run = research.application.approve(run.id) or run
    if args.more and run.status == "done":
        run, seen = research.application.more(run.id) or run, []
    if run.resumable:
        run = research.application.resume(run.id, write=args.write) or run
    return to_the_end(run, seen[-1].seq if seen else 0, args)
