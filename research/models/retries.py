"""Repetition of failed calls of models within the configured limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from math import ceil
from typing import TypeVar

from research.core import tracing
from research.core.errors import ServiceError
from research.core.events import EventEmitter, RateLimitWait, RetryScheduled
from research.core.records import Stage
from research.core.settings import Settings
from research.models.clients import ModelClients
from research.models.roles import ModelSpec, missing_setting

BACKOFF_SECONDS = 0.5  # before the second attempt; doubled for each further one
_T = TypeVar("_T")
_A = TypeVar("_A")


async def retry(
    call: Callable[[], Awaitable[_A]],
    parse: Callable[[_A], _T],
    spec: ModelSpec,
    clients: ModelClients,
    stage: Stage,
    emit: EventEmitter,
) -> _T:
    """Call until a call succeeds and its answer can be parsed, within the configured limits.

    Only retryable errors are repeated. The answer is parsed after the rate-limiter slot has been
    released and waiting calls have sent their requests. A delay that the service demands is
    observed; after a final quota error with a delay, later calls fail until it is over. A call that
    our own limits hold back emits a `RateLimitWait` before and after; no deadline runs meanwhile.

    Raises:
        ServiceError: The last attempt's error, or one whose wait would be too long.
    """
    settings, cooldown = clients.settings, clients.cooldown(spec, is_search=stage == "search")
    if (remaining := cooldown.remaining_seconds) > 0:
        message = f"{cooldown.message} (possible again in {ceil(remaining)} s)"
        raise ServiceError("quota", message, hint=cooldown.hint, retry_after_seconds=remaining)

    def emit_wait(is_waiting: bool) -> None:
        emit(RateLimitWait(stage=stage, service=str(spec), is_over=not is_waiting))

    limiter = clients.limiter(spec)
    attempts = settings.model_attempts
    for attempt in range(1, attempts + 1):
        try:
            async with AsyncExitStack() as slot:
                await slot.enter_async_context(limiter.acquire(emit_wait))
                with tracing.trace_model_call(spec.provider, spec.name, stage, attempt):
                    answer = await call()
                    await slot.aclose()
                    await limiter.yield_to_waiters()
                    return parse(answer)
        except ServiceError as error:
            wait = (
                BACKOFF_SECONDS * 2 ** (attempt - 1) if error.retry_after_seconds is None else error.retry_after_seconds
            )
            is_too_long = error.retry_after_seconds is not None and error.retry_after_seconds > settings.retry_wait
            is_last = is_too_long or attempt == attempts or not error.is_retryable
            if is_last and error.retry_after_seconds is not None and error.reason == "quota":
                cooldown.start(error.retry_after_seconds, error.message, error.hint)
            if is_too_long:
                message = f"{error.message} (possible again in {wait:g} s)"
                raise ServiceError(error.reason, message, hint=error.hint, retry_after_seconds=wait) from error
            if is_last:
                raise
            emit(RetryScheduled(stage=stage, service=str(spec), reason=error.reason, seconds=wait))
            await asyncio.sleep(wait)
    raise AssertionError("at least one attempt is made")


def missing_key_error(spec: ModelSpec, settings: Settings) -> ServiceError:
    """Return the error for a provider whose key or address is not set."""
    return ServiceError("no key", f"{spec} needs {missing_setting(spec, settings)}", hint="key")
