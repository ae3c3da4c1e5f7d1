"""Command `stories`: group news items into stories."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_USAGE, CommandError
from research.cli.terminal import escape_json, print_output

DESCRIPTION = "Groups items of news into stories, as JSON."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON list; - is standard input")


def execute(args: argparse.Namespace) -> int:
    try:
        data = sys.stdin.buffer.read() if str(args.file) == "-" else args.file.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise CommandError(EXIT_FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(EXIT_USAGE, f"{args.file} is not UTF-8 (byte {error.start}).") from error
    try:
        print_output(escape_json(research.stories_json(text, datetime.now(UTC))))
    except research.UnreadableItemsError as error:
        raise CommandError(EXIT_USAGE, f"{args.file}: {error}") from error
    return EXIT_ANSWERED
