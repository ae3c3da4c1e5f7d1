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
    Finding,
    Hint,
    Plan,
    Reason,
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
INSTALL = "pip install 'opentelemetry-sdk>=1.45' 'opentelemetry-exporter-otlp-proto-http>=1.45'"
FLUSH = 2.0  # seconds, at the end, for what was not sent yet
_PROVIDERS = {"gemini": "gcp.gemini"}  # as the conventions call it; others are called the same
_REASONS = frozenset(get_args(Reason))
_NO_FAILURE = (None, "empty", "left out")  # of a search: it is over as it should be
_LIBRARY = ("opentelemetry.exporter", "opentelemetry.sdk", "opentelemetry.util")
_Update = dict[str, Any]


@dataclass
class _Open:
    """A span that has begun, and what was used below it."""

    tracer: otel.Tracer
    span: otel.Span
    above: _Open | None = None
    used: dict[str, float] = field(default_factory=dict)

    def below(self, name: str, attributes: Mapping[str, Any], *, call: bool = False) -> _Open:
        from opentelemetry.trace import SpanKind, set_span_in_context

        kind = SpanKind.CLIENT if call else SpanKind.INTERNAL
        span = self.tracer.start_span(
            name, set_span_in_context(self.span), kind, attributes=attributes
        )
        return _Open(self.tracer, span, self)

    def fail(self, kind: str) -> None:
        """Marks it as failed. The kind is a word of ours or the name of a class, never a message."""
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", kind)
        self.span.set_status(StatusCode.ERROR)

    def add(self, amounts: Mapping[str, float]) -> None:
        """Adds to what was used here; a span shows the sum."""
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + amount
        self.span.set_attributes({name: self.used[name] for name in amounts})


_here: ContextVar[_Open | None] = ContextVar("research.core.tracing", default=None)


class Trace:
    """The trace of one run, until it ends; without a span it is none."""

    def __init__(self, root: _Open | None = None) -> None:
        self._root = root

    def enter(self) -> None:
        """What the current task starts from here on belongs to the run."""
        if self._root is not None:
            _here.set(self._root)

    def end(self, status: RunStatus, error: BaseException | None = None) -> None:
        """Ends the run's span."""
        if self._root is None:
            return
        self._root.span.set_attribute("sightline.run.status", status)
        if status == "failed":
            self._root.fail(_kind(error) if error else "failed")
        self._root.span.end()


class Tracing:
    """Sends the traces of runs to a collector by OTLP over HTTP; without an address it does nothing.

    Everything but the address is read from the environment by OpenTelemetry itself, the headers of
    a request among it. A collector that is out of reach costs one line of the log, and at the end
    `FLUSH` seconds.
    """

    def __init__(self, url: str = "") -> None:
        self._provider: TracerProvider | None = None
        self._exporter: SpanExporter | None = None
        self._ids: Any = None
        self.problem: Failure | None = None  # why there are no traces, although there is an address
        if url:
            try:
                self._open(url)
            except ImportError:
                message = f"the packages for traces are not installed; {INSTALL}"
                log.warning("there are no traces: %s", message)
                self._fail(message, "package")
            except (ValueError, OSError) as error:
                log.warning(
                    "there are no traces: OpenTelemetry refuses an OTEL_* variable: %s", error
                )
                self._fail("it refuses an OTEL_* variable; the log of the server says which")

    def _fail(self, message: str, hint: Hint = "") -> None:
        """Keep the reason for the test of connections."""
        text = f"OpenTelemetry: {message}"
        self.problem = Failure(
            stage="check", source="traces", reason="refused", hint=hint, message=text
        )

    def _open(self, url: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        for name in _LIBRARY:  # it tells of each attempt, and of wrong headers with their keys
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        resource = Resource.create()
        if str(resource.attributes["service.name"]).startswith("unknown_service"):
            resource = resource.merge(Resource({"service.name": "sightline"}))
        self._ids = _ids()
        self._exporter = _once_told(OTLPSpanExporter(endpoint=url, session=_staying()))
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._provider = provider

    def begin(self, run: Run, engine: str, resumed: bool) -> Trace:
        """Begins the trace of a run: what is started from here on belongs to it.

        The trace's id follows from the run's, so that a run that goes on is in the same trace.
        """
        if self._provider is None:
            return Trace()
        self._ids.run = run.id
        tracer = self._provider.get_tracer("sightline")
        span = tracer.start_span("invoke_workflow sightline", attributes=_of_run(run))
        span.set_attributes({"sightline.engine": engine, "sightline.run.resumed": resumed})
        root = _Open(tracer, span)
        _here.set(root)
        return Trace(root)

    def close(self) -> None:
        """Sends what is left, for `FLUSH` seconds at most."""
        if self._provider is None or self._exporter is None:
            return
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(FLUSH)
        if closing.is_alive():
            self._exporter.shutdown()  # ends its waiting for the next attempt
        self._provider = None


def keep_from_langsmith() -> None:
    """LangChain and LangGraph send nothing to LangSmith from now on, whatever the environment says:
    LANGSMITH_TRACING alone would send every prompt to its servers, even without a key.

    Of the names that LangSmith's client reads, this one comes first; it reads them once."""
    os.environ["LANGSMITH_TRACING_V2"] = "false"
    if "langsmith" in sys.modules:  # it is heavy, and loaded with the graph
        from langsmith import configure

        configure(enabled=False)


# What the stages and the models say


@contextmanager
def _span(name: str, attributes: Mapping[str, Any], *, call: bool = False) -> Iterator[_Open]:
    above = _here.get()
    assert above is not None
    opened = above.below(name, attributes, call=call)
    token = _here.set(opened)
    try:
        yield opened
    except BaseException as error:
        opened.fail(_kind(error))
        raise
    finally:
        _here.reset(token)
        opened.span.end()


def traced(
    name: str, stage: Callable[..., Awaitable[_Update]]
) -> Callable[..., Awaitable[_Update]]:
    """A node of the graph as it is, with a span around it where its run is traced."""

    @functools.wraps(stage)
    async def within(*args: Any, **kwargs: Any) -> _Update:
        if _here.get() is None:
            return await stage(*args, **kwargs)
        with _span(name, {}) as opened:
            update = await stage(*args, **kwargs)
            _note(opened, update)
            return update

    return within


@contextmanager
def call(provider: str, model: str, stage: Stage, attempt: int) -> Iterator[None]:
    """One attempt at a call of a model."""
    if _here.get() is None:
        yield
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "sightline.stage": stage,
        "sightline.attempt": attempt,
    }
    with _span(f"chat {model}", attributes, call=True):
        yield


def spent(usage: Usage) -> None:
    """What was used just now: shown at the call or the search that used it, and summed at the run."""
    if (here := _here.get()) is None:
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
    here.add({**amounts, **paid, **money})
    root = here
    while root.above:
        root = root.above
    if root is not here:  # by names of our own: who adds up all spans must not count twice
        root.add({"sightline.tokens": usage.input + usage.output, **paid, **money})


# What is told of them


def _of_run(run: Run) -> dict[str, Any]:
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


def _note(opened: _Open, update: _Update) -> None:
    """What a stage came to, from what it hands to the graph."""
    told: dict[str, Any] = {}
    plan, answer = update.get("plan"), update.get("answer")
    if isinstance(plan, Plan):
        told["sightline.plan.parts"] = len(plan.parts)
        told["sightline.plan.tasks"] = len(plan.tasks)
        told["sightline.failures"] = [failure.reason for failure in plan.failures]
    if isinstance(answer, Answer):
        told["sightline.answer.quotes"] = answer.quotes
        told["sightline.answer.cites"] = answer.cites
        told["sightline.answer.written"] = not answer.unwritten
        told["sightline.failures"] = [failure.reason for failure in answer.failures]
    for reflection in update.get("reflections", ()):
        told |= _of_reflection(reflection)
    for finding in update.get("findings", ()):
        told |= _of_finding(finding)
        if finding.reason not in _NO_FAILURE:
            opened.fail(finding.reason)
    opened.span.set_attributes(told)


def _of_reflection(reflection: Reflection) -> dict[str, Any]:
    return {
        "sightline.round": reflection.round,
        "sightline.reflection.sufficient": reflection.sufficient,
        "sightline.reflection.follow_ups": len(reflection.follow_ups),
        "sightline.failures": [failure.reason for failure in reflection.failures],
    }


def _of_finding(finding: Finding) -> dict[str, Any]:
    return {
        "sightline.round": finding.task.round,
        "sightline.search.task": finding.task.id,
        "sightline.search.source": finding.task.source,
        "sightline.search.provider": finding.provider,
        "sightline.search.reason": finding.reason or "",
        "sightline.search.reused": finding.reused,
        "sightline.search.cached": finding.cached,
        "sightline.search.sources": len(finding.evidence),
        "sightline.search.passages": finding.passages,
        "sightline.failures": [failure.reason for failure in finding.failures],
    }


def _kind(error: BaseException) -> str:
    """Why something failed, in a word: the reason of a trouble, or the class."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str) and reason in _REASONS:
        return reason
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__


# What OpenTelemetry needs of us


def _ids() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        """The id of a trace is the hash of its run's. Only the loop of the runs begins traces."""

        run = ""

        def generate_trace_id(self) -> int:
            digest = hashlib.blake2b(self.run.encode(), digest_size=16).digest()
            return int.from_bytes(digest, "big")

    return Ids()


def _staying() -> Any:
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


def _once_told(exporter: SpanExporter) -> SpanExporter:
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
