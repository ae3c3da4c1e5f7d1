"""Command `runs`: list the runs of the data folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import research
from research.cli.exit_codes import EXIT_ANSWERED
from research.cli.terminal import print_output, shorten

if TYPE_CHECKING:
    from research import Run

DESCRIPTION = "Lists the runs, newest first."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no arguments of its own."""


def execute(_: argparse.Namespace) -> int:
    print_output("".join(_run_line(run) for run in research.get_application().runs.recent_runs()))
    return EXIT_ANSWERED


def _run_line(run: Run) -> str:
    return f"{run.id}  {run.status:<11}  {run.created.astimezone():%Y-%m-%d %H:%M}  {shorten(run.question)}\n"
