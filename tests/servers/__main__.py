"""Runs one of the fake servers: python -m tests.servers gemini|openai|ollama."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import threading

_SERVERS = {"gemini": "FakeGemini", "openai": "FakeOpenAI", "ollama": "FakeOllama"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("server", choices=sorted(_SERVERS))
    parser.add_argument("--port", type=int, default=0, help="0 is any free port")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every reply")
    given = parser.parse_args()
    module = importlib.import_module(f"tests.servers.{given.server}")
    server = getattr(module, _SERVERS[given.server])(port=given.port, latency=given.latency)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(server.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
