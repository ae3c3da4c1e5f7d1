"""A run that is under way in another process, watched until it is over."""

from __future__ import annotations

import argparse

from research.cli.exits import STOPPED, Quit
from research.cli.running import check_output, follow, named, over
from research.cli.screen import Screen
from research.cli.usage import json_option, prog, writing

ABOUT = (
    "Follows a run in progress, started here or on the pages, and prints its report when it ends."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    writing(parser)
    json_option(parser)
    parser.add_argument("run", metavar="RUN", help="the id of the run, or its first characters")


def act(args: argparse.Namespace) -> int:
    """Ctrl-C ends the watching and not the run."""
    check_output(args.output)
    run = named(args.run)
    try:
        with Screen() as screen:
            follow(run, 0, screen)
    except KeyboardInterrupt:
        again = f"{prog()} follow {run.id}"
        raise Quit(STOPPED, f"The run continues. Follow it again with: {again}") from None
    return over(run.id, args)
