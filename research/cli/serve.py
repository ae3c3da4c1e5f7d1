"""The pages, served for the browser."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

import research
from research.cli.exits import FAILED, Quit
from research.cli.usage import port

ABOUT = "Serves the pages, as `python -m streamlit run app.py` does in the project folder."
NAMES = ("127.0.0.1", "localhost")  # by which this machine always knows itself
PLACES = (  # of the launcher: in an installed package, in the project's folder
    Path(__file__).parents[1] / "desk" / "app.py",
    Path(__file__).parents[2] / "app.py",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", metavar="ADDRESS", help="the address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument("--port", type=port, metavar="N", help="the port (default: 8501)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name to accept besides 127.0.0.1 and localhost; may be repeated",
    )


def act(args: argparse.Namespace) -> int:
    """Serves in this process until it is stopped."""
    app = next((place for place in PLACES if place.exists()), None)
    if app is None:
        raise Quit(FAILED, f"The pages are not installed: there is no {PLACES[0]}.")
    if args.data_dir:
        research.application.desk(args.data_dir)
    options = [f"--server.address={args.host}"] if args.host else []
    options += [f"--server.port={args.port}"] if args.port else []
    options += [
        f"--server.allowedHosts={name}"
        for name in ((*NAMES, *args.allow_host) if args.allow_host else ())
    ]
    sys.argv = ["streamlit", "run", str(app), *options]
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0  # for the module ends the process itself
