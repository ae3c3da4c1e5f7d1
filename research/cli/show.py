"""The report of a run as it is stored; nothing is searched or asked."""

from __future__ import annotations

import argparse

import research
from research.cli.exits import ANSWERED, FAILED, Quit
from research.cli.running import check_output, finished, named, written
from research.cli.screen import complain
from research.cli.usage import json_option, prog, writing

ABOUT = "Shows the report of a run, or what there is of it so far."


def arguments(parser: argparse.ArgumentParser) -> None:
    writing(parser)
    json_option(parser)
    parser.add_argument("run", metavar="RUN", help="the id of the run, or its first characters")


def act(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = named(args.run)
    report = research.application.report(run.id)
    if report is None:
        raise Quit(FAILED, f"Run {run.id} no longer exists.")
    if report.run.status == "done":
        return finished(report, args)
    written(report, research.cited(report), args)
    again = "resume" if report.run.resumable or report.run.status == "waiting" else "follow"
    told = f"This run is {report.run.status}. To continue: {prog()} {again} {run.id}"
    return complain(ANSWERED, told)
