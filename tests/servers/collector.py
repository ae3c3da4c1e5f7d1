"""A collector of traces on this machine, which takes OTLP over HTTP and keeps what it was sent.

It reads the protocol's own messages (opentelemetry-proto) and hands out spans that a test can read.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True)
class Request:
    """One request, as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def raw(self) -> bytes:
        head = "\n".join([self.path, *(f"{k}: {v}" for k, v in self.headers.items())])
        return head.encode() + b"\n" + self.body


@dataclass(frozen=True)
class Span:
    """A span. Times are nanoseconds since 1970; `parent` is "" for a root."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    kind: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str
    events: int


class Collector:
    """A server on a free port for as long as the `with` lasts. `status` is that of every answer;
    one that `hangs` answers nothing until it is closed."""

    def __init__(self, status: int = 200, *, hangs: bool = False) -> None:
        self.status, self.log = status, list[Request]()
        self._hangs, self._over = hangs, threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def spans(self) -> list[Span]:
        """Everything that was sent to the path of traces, the earliest begun first."""
        found = [span for request in self.log if request.path == "/v1/traces" for span in _spans(request.body)]
        return sorted(found, key=lambda span: span.start)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                collector.log.append(Request(self.path, dict(self.headers), body))
                if collector._hangs:
                    collector._over.wait()
                    return
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(collector.status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PATCH = do_PUT = do_POST

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return Handler


def _spans(body: bytes) -> list[Span]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Span(
            name=span.name,
            trace=span.trace_id.hex(),
            id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            start=span.start_time_unix_nano,
            end=span.end_time_unix_nano,
            kind=span.kind,
            failed=span.status.code == 2,
            attributes=_attributes(span.attributes),
            resource=_attributes(resource.resource.attributes),
            scope=scope.scope.name,
            events=len(span.events),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    which = value.WhichOneof("value")
    if which == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, which) if which else None
