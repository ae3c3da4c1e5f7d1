"""Runs one of the fake servers: python -m tests.servers amap|gemini|news|oidc|openai|ollama."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import threading

_SERVERS = {
    "amap": "FakeAmap",
    "gemini": "FakeGemini",
    "news": "FakeNewsroom",
    "oidc": "FakeOIDC",
    "openai": "FakeOpenAI",
    "ollama": "FakeOllama",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("server", choices=sorted(_SERVERS))
    parser.add_argument("--port", type=int, default=0, help="0 is any free port")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every reply")
    given = parser.parse_args()
    module = importlib.import_module(f"tests.servers.{given.server}")
    how = {"port": given.port, "latency": given.latency}
    if given.server in ("amap", "news"):
        if given.port:
            parser.error(f"{given.server} takes any free port")
        how = {"waits": given.latency}
    server = getattr(module, _SERVERS[given.server])(**how)
    with server, contextlib.suppress(KeyboardInterrupt):
        print(server.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
