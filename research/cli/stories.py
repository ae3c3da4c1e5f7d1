"""Items of news, grouped into stories."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

import research
from research.cli.exits import ANSWERED, FAILED, UNUSABLE, Quit
from research.cli.screen import as_json, put

ABOUT = "Groups items of news into stories, as JSON."


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a JSON list; - is standard input")


def act(args: argparse.Namespace) -> int:
    try:
        data = sys.stdin.buffer.read() if str(args.file) == "-" else args.file.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise Quit(FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise Quit(UNUSABLE, f"{args.file} is not UTF-8 (byte {error.start}).") from error
    try:
        put(as_json(research.stories_json(text, datetime.now(UTC))))
    except research.UnreadableItems as error:
        raise Quit(UNUSABLE, f"{args.file}: {error}") from error
    return ANSWERED
