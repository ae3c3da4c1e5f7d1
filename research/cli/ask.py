"""A question, answered with the report."""

from __future__ import annotations

import argparse

import research
from research.cli.running import check_output, chosen_options, question, to_the_end
from research.cli.usage import json_option, limits, writing

ABOUT = "Answers a question."


def arguments(parser: argparse.ArgumentParser) -> None:
    limits(parser)
    writing(parser)
    json_option(parser)


def act(args: argparse.Namespace) -> int:
    check_output(args.output)
    run = research.application.start(question(args), options=chosen_options(args))
    return to_the_end(run, 0, args)
