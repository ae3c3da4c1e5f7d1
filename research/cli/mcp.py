"""The server for clients of the Model Context Protocol."""

from __future__ import annotations

import argparse

import research
from research.cli.exits import ANSWERED, FAILED, UNUSABLE, Quit
from research.cli.screen import complain
from research.cli.usage import port

ABOUT = (
    "Serves Sightline's tools over the Model Context Protocol: on standard input and output for the "
    "program that starts it, or over HTTP."
)
HOST, PORT = "127.0.0.1", 8502


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", action="store_true",
        help="serve over Streamable HTTP instead; SIGHTLINE_MCP_TOKEN sets the token that clients send",
    )  # fmt: skip
    parser.add_argument("--host", metavar="ADDRESS", help=f"with --http: where (default: {HOST})")
    parser.add_argument("--port", type=port, metavar="N", help=f"with --http (default: {PORT})")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="with --http: another host name to accept; may be repeated",
    )  # fmt: skip


def act(args: argparse.Namespace) -> int:
    """Serves in this process until its client goes, or until it is stopped."""
    if not args.http:
        if args.host or args.port or args.allow_host:
            raise Quit(UNUSABLE, "--host, --port and --allow-host go with --http.")
        research.serve_mcp_stdio(args.data_dir)
        return ANSWERED
    host, number = args.host or HOST, args.port or PORT
    try:
        research.serve_mcp_http(
            host, number, data_dir=args.data_dir, names=args.allow_host,
            ready=lambda address: complain(ANSWERED, f"Serving MCP clients at {address}"),
        )  # fmt: skip
    except OSError as error:
        why = error.strerror or error
        raise Quit(FAILED, f"Cannot listen on {host}:{number}: {why}.") from error
    return ANSWERED
