"""Where we look: each source answers one task with one finding. A source knows no other source.

To add one: a module here with a class that follows `Source`, and one line in `research/runs`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from research.records import EvidenceKind, Finding, Readiness, Say, Task


@runtime_checkable
class Owned(Protocol):
    """A source that knows things of whoever asks."""

    def of(self, owner: str) -> Source:
        """The source for the runs of an owner."""


class Source(Protocol):
    """The seam between the stages and whatever is searched.

    An expected failure is a finding with a reason. An exception is a bug; the graph turns it into a
    finding with the reason `internal` and goes on with the other branches.
    """

    @property
    def name(self) -> str:
        """The name in plans and settings: library, web, places, news, database."""

    @property
    def node(self) -> str:
        """The name of its node in the graph."""

    @property
    def kind(self) -> EvidenceKind:
        """The kind of evidence it brings."""

    @property
    def turns(self) -> int:
        """How often in turn a search may ask somebody; each time may take the time of a search."""

    def ready(self) -> Readiness:
        """What it can do now. Quick: no network."""

    async def search(self, task: Task, say: Say) -> Finding:
        """Looks up one task. The finding carries the task it was given."""
