"""Command `mcp`: serve clients of the Model Context Protocol."""

from __future__ import annotations

import argparse

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_USAGE, CommandError
from research.cli.options import parse_port
from research.cli.terminal import print_message

DESCRIPTION = (
    "Serves Sightline's tools over the Model Context Protocol: on standard input and output for the "
    "program that starts it, or over HTTP."
)
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8502


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        action="store_true",
        help="serve over Streamable HTTP instead; SIGHTLINE_MCP_TOKEN sets the token that clients send",
    )
    parser.add_argument("--host", metavar="ADDRESS", help=f"with --http: where (default: {DEFAULT_HOST})")
    parser.add_argument("--port", type=parse_port, metavar="N", help=f"with --http (default: {DEFAULT_PORT})")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="with --http: another host name to accept; may be repeated",
    )


def execute(args: argparse.Namespace) -> int:
    """Serve in this process until the client disconnects or the process is stopped."""
    if not args.http:
        if args.host or args.port or args.allow_host:
            raise CommandError(EXIT_USAGE, "--host, --port and --allow-host go with --http.")
        research.serve_mcp_stdio(args.data_dir)
        return EXIT_ANSWERED
    host, port = args.host or DEFAULT_HOST, args.port or DEFAULT_PORT
    try:
        research.serve_mcp_http(
            host,
            port,
            data_dir=args.data_dir,
            host_names=args.allow_host,
            on_ready=lambda address: print_message(EXIT_ANSWERED, f"Serving MCP clients at {address}"),
        )
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(EXIT_FAILED, f"Cannot listen on {host}:{port}: {reason}.") from error
    return EXIT_ANSWERED
