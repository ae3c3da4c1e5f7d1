"""Failures by reason, and the readiness of sources and connections."""

from __future__ import annotations

from typing import Literal

from research.core.records.base import Record

FailureReason = Literal[
    "no key",  # the source needs a key that is not set
    "refused",  # the key or the request was turned down
    "redirected",  # it redirects to another address, which is not followed
    "too many redirects",  # it redirects again and again, perhaps in a circle
    "not found",  # nothing exists at the address
    "too large",  # it exceeds the size limit
    "quota",  # the allowance is used up
    "timeout",  # no answer within the deadline
    "unreachable",  # no connection
    "blocked",  # the content or this client is blocked
    "empty",  # it answered without results
    "malformed",  # it answered something that cannot be read
    "unavailable",  # it answered that it cannot serve now
    "cut off",  # it reached its own limit of output
    "unclear",  # the question is ambiguous; the message asks back
    "no model",  # only a model can turn the query into a search; the message names alternatives
    "left out",  # not done or cut off: the run reached a limit, or its search was ended
    "internal",  # a bug of ours; the log has the details
]
Stage = Literal["plan", "search", "summarise", "reflect", "write", "check"]
FailureHint = Literal[
    "",
    "key",  # the key is wrong or missing
    "billing",  # the account has no credit, or the key no billing, and the request needs it
    "minute",  # too many requests in a short time; more are possible soon
    "day",  # the quota of the day is used up
    "location",  # the service refuses this region
    "model",  # the model does not exist (any more)
    "context",  # the input is too long for the model
    "endpoint",  # the address answers, but it is not this service
    "dns",  # the name of the server cannot be looked up
    "tls",  # the certificate of the server cannot be verified
    "package",  # a package that this needs is not installed
]
# Reasons whose message asks the user for something: nothing has failed.
ASKS_BACK: frozenset[FailureReason] = frozenset(("unclear", "no model"))


class Failure(Record):
    """A failed step, as the answer lists it."""

    stage: Stage = "search"
    source: str = ""
    query: str = ""
    reason: FailureReason
    hint: FailureHint = ""
    message: str = ""


class Readiness(Record):
    """Availability of a source: live, offline, limited to sample data, or missing a requirement,
    which `detail` names.

    `withheld` names the tools of a server that cannot be offered to any model.
    """

    state: Literal["live", "offline", "sample", "missing"]
    detail: str = ""
    withheld: str = ""


class ConnectionCheck(Record):
    """Result of a connection test: `name` is a role (plan, write) or a search provider."""

    name: str
    setting: str = ""
    model: str = ""
    seconds: float = 0.0
    failure: Failure | None = None
    warning: str = ""
