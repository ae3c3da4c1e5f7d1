"""Traces of runs by OpenTelemetry, exported if a collector is configured.

A run is a trace. Below its root span are spans for each stage, each search and each attempt at a
model call. A span holds ids, names, reasons, counts, tokens, costs and times, named by
OpenTelemetry's conventions for generative AI where they apply:
https://opentelemetry.io/docs/specs/semconv/gen-ai/. Attributes are listed here one by one, so that
no question, answer, document, failure message or key can get into a span. Of an event with a note,
the current span gets the kind.

The tracer provider is private, not the global one of the process: other libraries, whose spans
would contain prompts, do not find it. Without a collector nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from research.core.records import (
    Answer,
    Failure,
    FailureHint,
    FailureReason,
    Finding,
    Plan,
    Reflection,
    Run,
    RunStatus,
    Stage,
    Usage,
)

if TYPE_CHECKING:
    import opentelemetry.trace as otel
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

log = logging.getLogger(__name__)

# Packages of the extra `traces`.
INSTALL_COMMAND = "pip install 'opentelemetry-sdk>=1.45' 'opentelemetry-exporter-otlp-proto-http>=1.45'"
FLUSH_SECONDS = 2.0  # time for unsent spans at the end
_PROVIDER_NAMES = {"gemini": "gcp.gemini"}  # name in the conventions; other names are equal
_FAILURE_REASONS = frozenset(get_args(FailureReason))
_REASONS_WITHOUT_ERROR = (None, "empty", "left out")  # search reasons that are not errors
_LIBRARY_LOGGERS = ("opentelemetry.exporter", "opentelemetry.sdk", "opentelemetry.util")
_StateUpdate = dict[str, Any]


@dataclass
class _OpenSpan:
    """A span in progress, and the usage recorded below it."""

    tracer: otel.Tracer
    span: otel.Span
    parent: _OpenSpan | None = None
    totals: dict[str, float] = field(default_factory=dict)

    def start_child(self, name: str, attributes: Mapping[str, Any], *, is_client_call: bool = False) -> _OpenSpan:
        """Start a span below this one."""
        from opentelemetry.trace import SpanKind, set_span_in_context

        kind = SpanKind.CLIENT if is_client_call else SpanKind.INTERNAL
        span = self.tracer.start_span(name, set_span_in_context(self.span), kind, attributes=attributes)
        return _OpenSpan(self.tracer, span, self)

    def mark_failed(self, error_type: str) -> None:
        """Mark the span as failed. `error_type` is a reason or a class name, never a message."""
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", error_type)
        self.span.set_status(StatusCode.ERROR)

    def add_amounts(self, amounts: Mapping[str, float]) -> None:
        """Add usage to the totals that the span shows."""
        for name, amount in amounts.items():
            self.totals[name] = self.totals.get(name, 0) + amount
        self.span.set_attributes({name: self.totals[name] for name in amounts})


_current_span: ContextVar[_OpenSpan | None] = ContextVar("research.core.tracing", default=None)


class RunTrace:
    """The trace of one run until it ends; a no-op without a root span."""

    def __init__(self, root: _OpenSpan | None = None) -> None:
        self._root = root

    def activate(self) -> None:
        """Make this trace the parent of the spans that the current task starts from now on."""
        if self._root is not None:
            _current_span.set(self._root)

    def end(self, status: RunStatus, error: BaseException | None = None) -> None:
        """End the root span."""
        if self._root is None:
            return
        self._root.span.set_attribute("sightline.run.status", status)
        if status == "failed":
            self._root.mark_failed(_error_type(error) if error else "failed")
        self._root.span.end()


class TraceExporter:
    """Exports traces to a collector by OTLP over HTTP; a no-op without a URL.

    OpenTelemetry itself reads everything but the URL from the environment, such as request headers.
    An unreachable collector costs one log line, and `FLUSH_SECONDS` at the end.
    """

    def __init__(self, url: str = "") -> None:
        self._provider: TracerProvider | None = None
        self._exporter: SpanExporter | None = None
        self._id_generator: Any = None
        self.failure: Failure | None = None  # reason why a configured export does not work
        if url:
            try:
                self._connect(url)
            except ImportError:
                message = f"the packages for traces are not installed; {INSTALL_COMMAND}"
                log.warning("there are no traces: %s", message)
                self._record_failure(message, "package")
            except (ValueError, OSError) as error:
                log.warning("there are no traces: OpenTelemetry refuses an OTEL_* variable: %s", error)
                self._record_failure("it refuses an OTEL_* variable; the log of the server says which")

    def _record_failure(self, message: str, hint: FailureHint = "") -> None:
        """Record the reason for the connection test."""
        text = f"OpenTelemetry: {message}"
        self.failure = Failure(stage="check", source="traces", reason="refused", hint=hint, message=text)

    def _connect(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        for name in _LIBRARY_LOGGERS:  # it logs each attempt, and invalid headers with their keys
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        resource = Resource.create()
        if str(resource.attributes["service.name"]).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "sightline"}))
        self._id_generator = _make_id_generator()
        self._exporter = _warn_once(OTLPSpanExporter(endpoint=url, session=_session_without_redirects()))
        provider = TracerProvider(resource=resource, id_generator=self._id_generator, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._provider = provider

    def start_trace(self, run: Run, engine: str, is_resumed: bool) -> RunTrace:
        """Start the trace of a run, the parent of all spans that follow.

        The trace id is derived from the run's id, so that a resumed run continues the same trace.
        """
        if self._provider is None:
            return RunTrace()
        self._id_generator.run = run.id
        tracer = self._provider.get_tracer("sightline")
        span = tracer.start_span("invoke_workflow sightline", attributes=_run_attributes(run))
        span.set_attributes({"sightline.engine": engine, "sightline.run.resumed": is_resumed})
        root = _OpenSpan(tracer, span)
        _current_span.set(root)
        return RunTrace(root)

    def close(self) -> None:
        """Export the remaining spans, within `FLUSH_SECONDS`."""
        if self._provider is None or self._exporter is None:
            return
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)
        if closing.is_alive():
            self._exporter.shutdown()  # ends its wait for the next attempt
        self._provider = None


def disable_langsmith() -> None:
    """Stop LangChain and LangGraph from sending anything to LangSmith, whatever the environment
    says: LANGSMITH_TRACING=true would send every prompt to its servers, even without a key.

    LangSmith's client checks this variable first, and reads the variables once.
    """
    os.environ["LANGSMITH_TRACING_V2"] = "false"
    if "langsmith" in sys.modules:  # heavy; imported together with the graph
        from langsmith import configure

        configure(enabled=False)


# Spans of stages and model calls


@contextmanager
def _child_span(name: str, attributes: Mapping[str, Any], *, is_client_call: bool = False) -> Iterator[_OpenSpan]:
    parent = _current_span.get()
    assert parent is not None
    child = parent.start_child(name, attributes, is_client_call=is_client_call)
    token = _current_span.set(child)
    try:
        yield child
    except BaseException as error:
        child.mark_failed(_error_type(error))
        raise
    finally:
        _current_span.reset(token)
        child.span.end()


def trace_node(name: str, node: Callable[..., Awaitable[_StateUpdate]]) -> Callable[..., Awaitable[_StateUpdate]]:
    """Wrap a graph node in a span if its run is traced."""

    @functools.wraps(node)
    async def traced_node(*args: Any, **kwargs: Any) -> _StateUpdate:
        if _current_span.get() is None:
            return await node(*args, **kwargs)
        with _child_span(name, {}) as span:
            update = await node(*args, **kwargs)
            _set_result_attributes(span, update)
            return update

    return traced_node


@contextmanager
def trace_model_call(provider: str, model: str, stage: Stage, attempt: int) -> Iterator[None]:
    """Wrap one attempt at a model call in a span."""
    if _current_span.get() is None:
        yield
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDER_NAMES.get(provider, provider),
        "gen_ai.request.model": model,
        "sightline.stage": stage,
        "sightline.attempt": attempt,
    }
    with _child_span(f"chat {model}", attributes, is_client_call=True):
        yield


def record_note(kind: str) -> None:
    """Add the kind of an event of the run, without its fields, to the current span."""
    if (current := _current_span.get()) is not None:
        current.span.add_event(kind)


def record_usage(usage: Usage) -> None:
    """Add usage to the current call or search span, and to the root span of the run."""
    if (current := _current_span.get()) is None:
        return
    amounts: dict[str, float] = {}
    if usage.input or usage.output:
        amounts = {
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
            "gen_ai.usage.cache_read.input_tokens": usage.cached,
        }
    money: dict[str, float] = {} if usage.cost is None else {"sightline.cost.usd": usage.cost}
    paid = {"sightline.paid_searches": usage.searches} if usage.searches else {}
    current.add_amounts({**amounts, **paid, **money})
    root = current
    while root.parent:
        root = root.parent
    if root is not current:  # under our own names: a sum over all spans must not count twice
        root.add_amounts({"sightline.tokens": usage.input + usage.output, **paid, **money})


# Attributes


def _run_attributes(run: Run) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "sightline",
        "gen_ai.conversation.id": run.conversation,
        "sightline.run.id": run.id,
        "sightline.run.based_on": run.based_on,
        "sightline.run.follows": run.follows,
        "sightline.owner": hashlib.blake2b(run.owner.encode(), digest_size=8).hexdigest(),
        "sightline.sources": run.options.sources,
        "sightline.queries": run.options.queries,
        "sightline.loops": run.options.loops,
    }
    return {name: value for name, value in attributes.items() if value != ""}


def _set_result_attributes(span: _OpenSpan, update: _StateUpdate) -> None:
    """Set the attributes of a stage's span from its state update."""
    attributes: dict[str, Any] = {}
    plan, answer = update.get("plan"), update.get("answer")
    if isinstance(plan, Plan):
        attributes["sightline.plan.parts"] = len(plan.parts)
        attributes["sightline.plan.tasks"] = len(plan.tasks)
        attributes["sightline.failures"] = [failure.reason for failure in plan.failures]
    if isinstance(answer, Answer):
        attributes["sightline.answer.quotes"] = answer.quote_count
        attributes["sightline.answer.cites"] = answer.cited_span_count
        attributes["sightline.answer.written"] = not answer.placeholder
        attributes["sightline.failures"] = [failure.reason for failure in answer.failures]
    for reflection in update.get("reflections", ()):
        attributes |= _reflection_attributes(reflection)
    for finding in update.get("findings", ()):
        attributes |= _finding_attributes(finding)
        if finding.reason not in _REASONS_WITHOUT_ERROR:
            span.mark_failed(finding.reason)
    span.span.set_attributes(attributes)


def _reflection_attributes(reflection: Reflection) -> dict[str, Any]:
    return {
        "sightline.round": reflection.round,
        "sightline.reflection.sufficient": reflection.sufficient,
        "sightline.reflection.follow_ups": len(reflection.follow_ups),
        "sightline.failures": [failure.reason for failure in reflection.failures],
    }


def _finding_attributes(finding: Finding) -> dict[str, Any]:
    return {
        "sightline.round": finding.task.round,
        "sightline.search.task": finding.task.id,
        "sightline.search.source": finding.task.source,
        "sightline.search.provider": finding.provider,
        "sightline.search.reason": finding.reason or "",
        "sightline.search.reused": finding.reused,
        "sightline.search.cached": finding.cached,
        "sightline.search.sources": len(finding.evidence),
        "sightline.search.passages": finding.passage_count,
        "sightline.failures": [failure.reason for failure in finding.failures],
    }


def _error_type(error: BaseException) -> str:
    """Return the reason of a `ServiceError`, "cancelled", or the class name of an error."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str) and reason in _FAILURE_REASONS:
        return reason
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__


# OpenTelemetry components


def _make_id_generator() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class RunIdGenerator(RandomIdGenerator):
        """Hashes the run id to a trace id. Only the event loop of the runs starts traces."""

        run = ""

        def generate_trace_id(self) -> int:
            digest = hashlib.blake2b(self.run.encode(), digest_size=16).digest()
            return int.from_bytes(digest, "big")

    return RunIdGenerator()


def _session_without_redirects() -> Any:
    """Return an HTTP session in which a redirect is an error.

    The request headers contain keys, and the exporter takes an unfollowed redirect for a success.
    """
    import requests

    def raise_on_redirect(response: Any, **_: Any) -> None:
        if response.is_redirect:
            response.close()
            raise requests.TooManyRedirects("redirects are not followed", response=response)

    session = requests.Session()
    session.hooks["response"].append(raise_on_redirect)
    return session


def _warn_once(exporter: SpanExporter) -> SpanExporter:
    """Wrap an exporter so that a series of failures is logged once instead of at each attempt."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class WarnOnceExporter(SpanExporter):
        has_warned = False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = exporter.export(spans)
            failed = result is not SpanExportResult.SUCCESS
            if failed and not self.has_warned:
                log.warning(
                    "The collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take the traces of runs; "
                    "it must be in reach and take OTLP over HTTP (usually port 4318), and a redirect is "
                    "not followed. Runs go on."
                )
            self.has_warned = failed
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return WarnOnceExporter()
