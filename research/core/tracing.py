"""Traces of runs, by OpenTelemetry, for whoever has set a collector to receive them.

A run is a trace. Below its root are a span for each stage, for each search, and for each attempt at
a call of a model, wherever it was made. A span holds ids, names, reasons, counts, tokens, money and
times, under the names of OpenTelemetry's conventions for generative AI where there are such:
https://opentelemetry.io/docs/specs/semconv/gen-ai/. What goes into one is named here, attribute by
attribute, so that no question, answer, document, message of a failure or key can get there.

The provider is ours alone, not the global one of the process: other libraries, whose spans would
hold prompts, find none. Without a collector nothing of OpenTelemetry is imported here.
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

# The extra `traces`.
INSTALL_COMMAND = "pip install 'opentelemetry-sdk>=1.45' 'opentelemetry-exporter-otlp-proto-http>=1.45'"
FLUSH_SECONDS = 2.0  # seconds, at the end, for what was not sent yet
_PROVIDER_NAMES = {"gemini": "gcp.gemini"}  # as the conventions call it; others are called the same
_FAILURE_REASONS = frozenset(get_args(FailureReason))
_UNFAILED_REASONS = (None, "empty", "left out")  # of a search: it is over as it should be
_LIBRARY_LOGGERS = ("opentelemetry.exporter", "opentelemetry.sdk", "opentelemetry.util")
_StateUpdate = dict[str, Any]


@dataclass
class _OpenSpan:
    """A span that has begun, and what was used below it."""

    tracer: otel.Tracer
    span: otel.Span
    parent: _OpenSpan | None = None
    totals: dict[str, float] = field(default_factory=dict)

    def start_child(self, name: str, attributes: Mapping[str, Any], *, is_client_call: bool = False) -> _OpenSpan:
        from opentelemetry.trace import SpanKind, set_span_in_context

        kind = SpanKind.CLIENT if is_client_call else SpanKind.INTERNAL
        span = self.tracer.start_span(name, set_span_in_context(self.span), kind, attributes=attributes)
        return _OpenSpan(self.tracer, span, self)

    def mark_failed(self, error_type: str) -> None:
        """Marks it as failed. The kind is a word of ours or the name of a class, never a message."""
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", error_type)
        self.span.set_status(StatusCode.ERROR)

    def add_amounts(self, amounts: Mapping[str, float]) -> None:
        """Adds to what was used here; a span shows the sum."""
        for name, amount in amounts.items():
            self.totals[name] = self.totals.get(name, 0) + amount
        self.span.set_attributes({name: self.totals[name] for name in amounts})


_current_span: ContextVar[_OpenSpan | None] = ContextVar("research.core.tracing", default=None)


class RunTrace:
    """The trace of one run, until it ends; without a span it is none."""

    def __init__(self, root: _OpenSpan | None = None) -> None:
        self._root = root

    def activate(self) -> None:
        """What the current task starts from here on belongs to the run."""
        if self._root is not None:
            _current_span.set(self._root)

    def end(self, status: RunStatus, error: BaseException | None = None) -> None:
        """Ends the run's span."""
        if self._root is None:
            return
        self._root.span.set_attribute("sightline.run.status", status)
        if status == "failed":
            self._root.mark_failed(_error_type(error) if error else "failed")
        self._root.span.end()


class TraceExporter:
    """Sends the traces of runs to a collector by OTLP over HTTP; without an address it does nothing.

    Everything but the address is read from the environment by OpenTelemetry itself, the headers of
    a request among it. A collector that is out of reach costs one line of the log, and at the end
    `FLUSH` seconds.
    """

    def __init__(self, url: str = "") -> None:
        self._provider: TracerProvider | None = None
        self._exporter: SpanExporter | None = None
        self._id_generator: Any = None
        self.failure: Failure | None = None  # why there are no traces, although there is an address
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
        """Keep the reason for the test of connections."""
        text = f"OpenTelemetry: {message}"
        self.failure = Failure(stage="check", source="traces", reason="refused", hint=hint, message=text)

    def _connect(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        for name in _LIBRARY_LOGGERS:  # it tells of each attempt, and of wrong headers with their keys
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
        """Begins the trace of a run: what is started from here on belongs to it.

        The trace's id follows from the run's, so that a run that goes on is in the same trace.
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
        """Sends what is left, for `FLUSH` seconds at most."""
        if self._provider is None or self._exporter is None:
            return
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH_SECONDS)
        if closing.is_alive():
            self._exporter.shutdown()  # ends its waiting for the next attempt
        self._provider = None


def disable_langsmith() -> None:
    """LangChain and LangGraph send nothing to LangSmith from now on, whatever the environment says:
    LANGSMITH_TRACING alone would send every prompt to its servers, even without a key.

    Of the names that LangSmith's client reads, this one comes first; it reads them once."""
    os.environ["LANGSMITH_TRACING_V2"] = "false"
    if "langsmith" in sys.modules:  # it is heavy, and loaded with the graph
        from langsmith import configure

        configure(enabled=False)


# What the stages and the models say


@contextmanager
def _child_span(name: str, attributes: Mapping[str, Any], *, is_client_call: bool = False) -> Iterator[_OpenSpan]:
    above = _current_span.get()
    assert above is not None
    opened = above.start_child(name, attributes, is_client_call=is_client_call)
    token = _current_span.set(opened)
    try:
        yield opened
    except BaseException as error:
        opened.mark_failed(_error_type(error))
        raise
    finally:
        _current_span.reset(token)
        opened.span.end()


def trace_node(name: str, node: Callable[..., Awaitable[_StateUpdate]]) -> Callable[..., Awaitable[_StateUpdate]]:
    """A node of the graph as it is, with a span around it where its run is traced."""

    @functools.wraps(node)
    async def within(*args: Any, **kwargs: Any) -> _StateUpdate:
        if _current_span.get() is None:
            return await node(*args, **kwargs)
        with _child_span(name, {}) as opened:
            update = await node(*args, **kwargs)
            _set_result_attributes(opened, update)
            return update

    return within


@contextmanager
def trace_model_call(provider: str, model: str, stage: Stage, attempt: int) -> Iterator[None]:
    """One attempt at a call of a model."""
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


def record_usage(usage: Usage) -> None:
    """What was used just now: shown at the call or the search that used it, and summed at the run."""
    if (here := _current_span.get()) is None:
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
    here.add_amounts({**amounts, **paid, **money})
    root = here
    while root.parent:
        root = root.parent
    if root is not here:  # by names of our own: who adds up all spans must not count twice
        root.add_amounts({"sightline.tokens": usage.input + usage.output, **paid, **money})


# What is told of them


def _run_attributes(run: Run) -> dict[str, Any]:
    told = {
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
    return {name: value for name, value in told.items() if value != ""}


def _set_result_attributes(span: _OpenSpan, update: _StateUpdate) -> None:
    """What a stage came to, from what it hands to the graph."""
    told: dict[str, Any] = {}
    plan, answer = update.get("plan"), update.get("answer")
    if isinstance(plan, Plan):
        told["sightline.plan.parts"] = len(plan.parts)
        told["sightline.plan.tasks"] = len(plan.tasks)
        told["sightline.failures"] = [failure.reason for failure in plan.failures]
    if isinstance(answer, Answer):
        told["sightline.answer.quotes"] = answer.quote_count
        told["sightline.answer.cites"] = answer.cited_span_count
        told["sightline.answer.written"] = not answer.unwritten
        told["sightline.failures"] = [failure.reason for failure in answer.failures]
    for reflection in update.get("reflections", ()):
        told |= _reflection_attributes(reflection)
    for finding in update.get("findings", ()):
        told |= _finding_attributes(finding)
        if finding.reason not in _UNFAILED_REASONS:
            span.mark_failed(finding.reason)
    span.span.set_attributes(told)


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
    """Why something failed, in a word: the reason of a trouble, or the class."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str) and reason in _FAILURE_REASONS:
        return reason
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__


# What OpenTelemetry needs of us


def _make_id_generator() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        """The id of a trace is the hash of its run's. Only the loop of the runs begins traces."""

        run = ""

        def generate_trace_id(self) -> int:
            digest = hashlib.blake2b(self.run.encode(), digest_size=16).digest()
            return int.from_bytes(digest, "big")

    return Ids()


def _session_without_redirects() -> Any:
    """Connections to which a redirect is a failure: what is sent has keys in its headers, and the
    exporter takes a redirect that it does not follow for a success.
    """
    import requests

    def refuse(response: Any, **_: Any) -> None:
        if response.is_redirect:
            response.close()
            raise requests.TooManyRedirects("redirects are not followed", response=response)

    session = requests.Session()
    session.hooks["response"].append(refuse)
    return session


def _warn_once(exporter: SpanExporter) -> SpanExporter:
    """The exporter, which says once that nothing arrives instead of at each attempt."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class Once(SpanExporter):
        told = False

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = exporter.export(spans)
            failed = result is not SpanExportResult.SUCCESS
            if failed and not self.told:
                log.warning(
                    "The collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take the traces of runs; "
                    "it must be in reach and take OTLP over HTTP (usually port 4318), and a redirect is "
                    "not followed. Runs go on."
                )
            self.told = failed
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return Once()
