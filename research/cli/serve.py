"""Command `serve`: serve the pages for the browser."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

import research
from research.cli.exit_codes import EXIT_FAILED, CommandError
from research.cli.options import parse_port

DESCRIPTION = "Serves the pages, as `python -m streamlit run app.py` does in the project folder."
LOCAL_HOST_NAMES = ("127.0.0.1", "localhost")  # host names of this machine that are always accepted
LAUNCHER_PATHS = (  # in an installed package, and in the project folder
    Path(__file__).parents[1] / "desk" / "app.py",
    Path(__file__).parents[2] / "app.py",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="ADDRESS", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=parse_port, metavar="N", help="the port (default: 8501)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name to accept besides 127.0.0.1 and localhost; may be repeated",
    )


def execute(args: argparse.Namespace) -> int:
    """Serve in this process until it is stopped."""
    app = next((path for path in LAUNCHER_PATHS if path.exists()), None)
    if app is None:
        raise CommandError(EXIT_FAILED, f"The pages are not installed: there is no {LAUNCHER_PATHS[0]}.")
    if args.data_dir:
        research.get_application(args.data_dir)
    options = [f"--server.address={args.host}"] if args.host else []
    options += [f"--server.port={args.port}"] if args.port else []
    options += [
        f"--server.allowedHosts={name}" for name in ((*LOCAL_HOST_NAMES, *args.allow_host) if args.allow_host else ())
    ]
    sys.argv = ["streamlit", "run", str(app), *options]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0  # not reached: streamlit ends the process itself
