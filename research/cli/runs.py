"""The runs of the data folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED
from research.cli.screen import cut, put

if TYPE_CHECKING:
    from research import Run

ABOUT = "Lists the runs, newest first."


def arguments(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def act(_: argparse.Namespace) -> int:
    put("".join(_row(run) for run in research.application.recent()))
    return ANSWERED


def _row(run: Run) -> str:
    return f"{run.id}  {run.status:<11}  {run.created.astimezone():%Y-%m-%d %H:%M}  {cut(run.question)}\n"
