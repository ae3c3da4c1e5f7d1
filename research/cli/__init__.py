"""Command line program: one module per command, imported when the command is called.

Uses only the public names of `research`, each of which is imported on first use, so that the help
and commands without a data folder do not wait for the engine. A command is a module of this package
with a `DESCRIPTION`, `add_arguments` for its parser, and `execute`, which returns the exit code.
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
_COMMANDS_WITHOUT_DATA = ("serve", "mcp", "stories", "evaluate")  # commands that open no data folder at the start
_OPTION_COMMANDS = {"--show", "--follow", "--resume"}  # commands that may be written as options
_PROGRAM_OPTIONS = {"-h", "--help", "--version"}  # options of the program, without a command
_OPTIONS_WITH_VALUE = {  # options with a value, which may stand before the command
    "-o", "--output", "--out", "--citations", "--queries", "--loops", "--sources", "--source", "--host", "--port",
    "--allow-host", "--model", "--data-dir", "--lang", "--sections", "--reflections", "--answer", "--max-searches",
    "--max-tokens", "--max-cost", "--max-seconds", "--based-on", "--pages",
}  # fmt: skip


class Command(Protocol):
    """A module of this package that implements a command."""

    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def execute(self, args: argparse.Namespace) -> int: ...


def load_command(name: str) -> Command:
    """Import the module of a command."""
    return cast(Command, import_module(f"research.cli.{name}"))


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """Parse the options of a command.

    Without a known command, the words are a question for `ask`. The result also holds `execute`, the
    function of the command, and `needs_data_dir`, which tells whether to open the data folder first.
    """
    argv = [word.removeprefix("--") if word in _OPTION_COMMANDS else word for word in argv[:1]] + argv[1:]
    index = 0
    while index < len(argv) and argv[index].startswith("-") and argv[index] not in ("-", "--"):
        index += 2 if argv[index] in _OPTIONS_WITH_VALUE else 1
    name, words = "ask", argv
    if index < len(argv) and argv[index] in COMMANDS:
        name, words = argv[index], [*argv[:index], *argv[index + 1 :]]
    elif index >= len(argv) and _PROGRAM_OPTIONS & set(argv):
        return options.build_parser().parse_args(argv)
    command = load_command(name)
    parser = argparse.ArgumentParser(
        prog=f"{options.program_name()} {name}", description=command.DESCRIPTION, allow_abbrev=False
    )
    command.add_arguments(parser)
    options.add_shared_options(parser)
    parser.set_defaults(execute=command.execute, needs_data_dir=name not in _COMMANDS_WITHOUT_DATA)
    return parser.parse_args(words)


def run() -> int:
    """Run the program as its own process.

    The process is too short for garbage to accumulate: default thresholds of the garbage collector,
    and its full pass at exit, would take half a second.
    """
    gc.set_threshold(50_000, 20, 100)
    code = main()
    gc.freeze()
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    args = parse_arguments(sys.argv[1:] if argv is None else list(argv))
    log = logging.StreamHandler() if args.log else logging.NullHandler()
    log.setFormatter(CleanFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(log)
    code = EXIT_FAILED
    try:
        if args.needs_data_dir:
            research.get_application(args.data_dir)
        code = args.execute(args)
    except (research.QuestionError, research.SettingError, research.StateError) as error:
        code = print_message(EXIT_USAGE, error)
    except research.StoreError as error:
        code = print_message(EXIT_FAILED, error)
    except CommandError as error:
        code = print_message(error.code, error)
    except KeyboardInterrupt:
        code = print_message(EXIT_STOPPED, "Stopped.")
    finally:
        if args.needs_data_dir:
            _close_application()
    return code


def _close_application() -> None:
    try:
        research.close_application()
    except (research.StoreError, KeyboardInterrupt, TimeoutError) as error:
        print_message(EXIT_FAILED, error)
