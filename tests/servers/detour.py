"""A server that sends everybody on to another, and that other, which keeps what reaches it."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

STATUSES = (301, 302, 303, 307, 308)


class Detour:
    """A server on `base_url` that redirects every request, whatever its path, to a trap on another
    port; both are there for as long as the `with` lasts.

    `asked` are the requests that came here and `caught` those that came to the trap, each as one text
    of its first line, headers and body. The trap speaks HTTP even if this server speaks TLS.
    """

    def __init__(self, status: int = 307, *, tls: ssl.SSLContext | None = None) -> None:
        self.status = status
        self.asked: list[str] = []
        self.caught: list[str] = []
        self._trap = _server(self.caught, None)
        self._front = _server(self.asked, self)
        self._scheme = "https" if tls else "http"
        if tls:
            self._front.socket = tls.wrap_socket(self._front.socket, server_side=True)

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://localhost:{self._front.server_address[1]}"

    @property
    def target(self) -> str:
        """The trap's own address."""
        return f"http://127.0.0.1:{self._trap.server_address[1]}"

    def __enter__(self) -> Self:
        for server in (self._front, self._trap):
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._front, self._trap):
            server.shutdown()
            server.server_close()


def _server(log: list[str], detour: Detour | None) -> ThreadingHTTPServer:
    """One that redirects as `detour` says, or that answers everything with an empty object."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            log.append(f"{self.requestline}\n{self.headers}{body.decode(errors='replace')}")
            self.send_response(detour.status if detour else 200)
            if detour:
                self.send_header("location", detour.target + self.path)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_DELETE = do_PATCH = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server
