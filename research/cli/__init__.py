"""The program in a terminal: one module a command, loaded when it is called.

Uses only the public names of `research`, each of which is loaded when it is first asked for, so that
neither the help nor a command without a data folder waits for the engine. A command is a module here
with a line `ABOUT`, the `arguments` of its parser, and `act`, which returns the exit code.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

import research
from research.cli import usage
from research.cli.exits import FAILED, STOPPED, UNUSABLE, Quit
from research.cli.screen import Formatter, complain

COMMANDS = (
    "ask",
    "serve",
    "mcp",
    "news",
    "table",
    "load",
    "plan",
    "library",
    "runs",
    "show",
    "follow",
    "resume",
    "check",
    "stories",
    "db",
    "evaluate",
)
_NO_FOLDER = ("serve", "mcp", "stories", "evaluate")  # that open no data folder at once
_AS_OPTIONS = {"--show", "--follow", "--resume"}  # commands that may be written so
_WHOLE = {"-h", "--help", "--version"}  # of the program, where no command is named
_TAKING = {  # options with a value, which may stand before the command
    *("-o", "--output", "--out", "--citations", "--queries", "--loops", "--sources", "--source"),
    *(
        "--host",
        "--port",
        "--allow-host",
        "--model",
        "--data-dir",
        "--lang",
        "--sections",
        "--reflections",
    ),
    *("--answer", "--max-searches", "--max-tokens", "--max-cost", "--max-seconds", "--based-on"),
}


class Command(Protocol):
    """A module of this folder that is a command."""

    ABOUT: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def act(self, args: argparse.Namespace) -> int: ...


def command(name: str) -> Command:
    return cast(Command, import_module(f"research.cli.{name}"))


def parsed(argv: list[str]) -> argparse.Namespace:
    """The options of a command, and its `act`; whatever is no command is a question."""
    argv = [word.removeprefix("--") if word in _AS_OPTIONS else word for word in argv[:1]] + argv[
        1:
    ]
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        at += 2 if argv[at] in _TAKING else 1
    name, words = "ask", argv
    if at < len(argv) and argv[at] in COMMANDS:
        name, words = argv[at], [*argv[:at], *argv[at + 1 :]]
    elif at >= len(argv) and _WHOLE & set(argv):
        return usage.whole().parse_args(argv)
    chosen = command(name)
    parser = argparse.ArgumentParser(
        prog=f"{usage.prog()} {name}", description=chosen.ABOUT, allow_abbrev=False
    )
    chosen.arguments(parser)
    usage.shared(parser)
    parser.set_defaults(act=chosen.act, folder=name not in _NO_FOLDER)
    return parser.parse_args(words)


def run() -> int:
    """The program as a process of its own. It is over before there is much to collect: a collector
    that comes as often as usual, and looks through everything at the end, takes half a second."""
    gc.set_threshold(50_000, 20, 100)
    code = main()
    gc.freeze()
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    args = parsed(sys.argv[1:] if argv is None else list(argv))
    log = logging.StreamHandler() if args.log else logging.NullHandler()
    log.setFormatter(Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(log)
    code = FAILED
    try:
        if args.folder:
            research.application.desk(args.data_dir)
        code = args.act(args)
    except (research.QuestionError, research.SettingError, research.StateError) as error:
        code = complain(UNUSABLE, error)
    except research.StoreError as error:
        code = complain(FAILED, error)
    except Quit as error:
        code = complain(error.code, error)
    except KeyboardInterrupt:
        code = complain(STOPPED, "Stopped.")
    finally:
        if args.folder:
            _close()
    return code


def _close() -> None:
    try:
        research.application.close()
    except (research.StoreError, KeyboardInterrupt, TimeoutError) as error:
        complain(FAILED, error)
