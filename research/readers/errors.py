"""Conversion of parser errors into failures of the source whose text was being parsed."""

from __future__ import annotations

from research.core.errors import ServiceError
from research.readers.pool import ParserError


def to_service_error(error: ParserError, content_name: str) -> ServiceError:
    """Convert a parser error into a failure of fetched content, named as in "the page"."""
    if error.fault == "busy":
        return ServiceError("timeout", f"too much is being read at once; {content_name} was not", is_retryable=True)
    if error.fault == "start":
        return ServiceError(
            "unavailable", f"no process can be started here that reads {content_name}", is_retryable=True
        )
    if error.fault == "time":
        return ServiceError("malformed", f"reading {content_name} takes longer than its size allows")
    if error.fault == "memory":
        return ServiceError("malformed", f"reading {content_name} takes more memory than its size allows")
    return ServiceError("malformed", f"the parser broke off over {content_name}")
