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
from research.cli import options
from research.cli.exit_codes import EXIT_FAILED, EXIT_STOPPED, EXIT_USAGE, CommandError
from research.cli.terminal import CleanFormatter, print_message

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
_COMMANDS_WITHOUT_DATA = ("serve", "mcp", "stories", "evaluate")  # that open no data folder at once
_OPTION_COMMANDS = {"--show", "--follow", "--resume"}  # commands that may be written so
_PROGRAM_OPTIONS = {"-h", "--help", "--version"}  # of the program, where no command is named
_OPTIONS_WITH_VALUE = {  # options with a value, which may stand before the command
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

    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def execute(self, args: argparse.Namespace) -> int: ...


def load_command(name: str) -> Command:
    return cast(Command, import_module(f"research.cli.{name}"))


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """The options of a command, and its `act`; whatever is no command is a question."""
    argv = [word.removeprefix("--") if word in _OPTION_COMMANDS else word for word in argv[:1]] + argv[1:]
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        at += 2 if argv[at] in _OPTIONS_WITH_VALUE else 1
    name, words = "ask", argv
    if at < len(argv) and argv[at] in COMMANDS:
        name, words = argv[at], [*argv[:at], *argv[at + 1 :]]
    elif at >= len(argv) and _PROGRAM_OPTIONS & set(argv):
        return options.build_parser().parse_args(argv)
    chosen = load_command(name)
    parser = argparse.ArgumentParser(
        prog=f"{options.program_name()} {name}", description=chosen.DESCRIPTION, allow_abbrev=False
    )
    chosen.add_arguments(parser)
    options.add_shared_options(parser)
    parser.set_defaults(act=chosen.execute, folder=name not in _COMMANDS_WITHOUT_DATA)
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
    args = parse_arguments(sys.argv[1:] if argv is None else list(argv))
    log = logging.StreamHandler() if args.log else logging.NullHandler()
    log.setFormatter(CleanFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(log)
    code = EXIT_FAILED
    try:
        if args.folder:
            research.application.get_application(args.data_dir)
        code = args.act(args)
    except (research.QuestionError, research.SettingError, research.StateError) as error:
        code = print_message(EXIT_USAGE, error)
    except research.StoreError as error:
        code = print_message(EXIT_FAILED, error)
    except CommandError as error:
        code = print_message(error.code, error)
    except KeyboardInterrupt:
        code = print_message(EXIT_STOPPED, "Stopped.")
    finally:
        if args.folder:
            _close_application()
    return code


def _close_application() -> None:
    try:
        research.application.close()
    except (research.StoreError, KeyboardInterrupt, TimeoutError) as error:
        print_message(EXIT_FAILED, error)
