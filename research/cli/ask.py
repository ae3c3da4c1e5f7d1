"""Command `ask`: answer a question with a report."""

from __future__ import annotations

import argparse

import research
from research.cli.options import add_json_option, add_output_options, add_question_options
from research.cli.run_output import check_output, follow_and_write, read_options, read_question

DESCRIPTION = "Answers a question."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question_options(parser)
    add_output_options(parser)
    add_json_option(parser)


def execute(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = research.get_application().runs.start(read_question(args), options=read_options(args))
    return follow_and_write(run, 0, args)
