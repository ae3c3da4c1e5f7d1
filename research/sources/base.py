"""Where we look: a source says what it is (`Source`), and its retriever answers one task with one
finding (`Retriever`). A source knows no other source.

A source is a folder here with a `SOURCE` in its `__init__.py`, which imports nothing heavy, or a
package of others with the same: see `research/sources/registry.py` and docs/adding-a-source.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from research.core.records import EventEmitter, EvidenceKind, Finding, Language, Readiness, Task
from research.core.settings import Settings

QueryType = Literal[
    "words",  # the words of each part of a question
    "place",  # a question, or a part of it, that looks for places; nothing else
    "question",  # a whole question in plain words, if the retriever can read it (`Selective`)
]
ResultType = Literal[
    "quotes",  # sentences of the passages that speak to a part
    "places",  # each piece of evidence as it is, the best first
    "rows",  # the summary of the finding, and the passages of its rows
]
LOCAL_QUERY_FACTOR = 4  # times as many queries as of others, of what is on this machine and costs nothing


class StepResults(Protocol):
    """Remembers what the steps of a run have come to. What it has taken in survives the process."""

    def load_result(self, step: str) -> str | None:
        """What was noted of a step, as JSON, if anything."""

    async def save_result(self, step: str, text: str) -> None:
        """Keeps what a step has come to."""


# Of the run that searches, for a search that a later process can go on with; None outside of a run.
STEP_RESULTS: ContextVar[StepResults | None] = ContextVar("notes", default=None)


class Retriever(Protocol):
    """The seam between the stages and whatever is searched.

    An expected failure is a finding with a reason, or a `Trouble`. Any other exception is a bug; the
    stage turns it into a finding with the reason `internal` and goes on with the other searches.

    What a retriever may have beside this is asked for by name: `close()`, `warm()`, both coroutines
    on the loop of the runs, and `Owned` and `Selective`.
    """

    @property
    def max_sequential_calls(self) -> int:
        """How often in turn a search may ask somebody; each time may take the time of a search."""

    def readiness(self) -> Readiness:
        """What it can do now. Quick: no network."""

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        """Looks up one task. The finding carries the task it was given."""


@runtime_checkable
class SupportsOwners(Protocol):
    """A retriever that knows things of whoever asks."""

    def for_owner(self, owner: str) -> Retriever:
        """The retriever for the runs of an owner."""


@runtime_checkable
class SupportsSelection(Protocol):
    """A retriever that stands for several things, one of which a run may choose."""

    def select(self, name: str) -> Retriever:
        """The retriever for one of them; a search says if there is none."""


@runtime_checkable
class SupportsQuestionCheck(Protocol):
    """A retriever that can tell beforehand which questions it can answer by rules."""

    async def can_answer(self, question: str) -> bool:
        """Whether a question can be answered without a model."""


class Setting(NamedTuple):
    """A variable of the environment that a source of others reads: `Settings.of(name)`. What is
    `secret` is shown nowhere and kept out of every log."""

    name: str
    default: str = ""
    is_secret: bool = False


@dataclass(frozen=True)
class Dependencies:
    """What retrievers are built from. What only some sources of ours are made for is typed by them."""

    settings: Settings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    model_tasks: Any = None  # `summarise` and `explore` of research.agent.llm.reasoner; None without a model
    model_clients: Any = None  # research.models.clients.ModelClients
    page_reader: Any = None  # of pages; None where that is turned off
    library: Any = None  # research.sources.library.index.Library
    list_notebooks: Callable[[str], Mapping[str, Sequence[str]]] = lambda owner: {}  # documents, by name
    maps: Any = None  # research.sources.places.map_services.MapServices
    get_database: Any = None  # a DatabaseService of research.sources.database.service, by a name and an owner
    get_tool_session: Any = None  # research.sources.mcp_tools.session.ToolServerSession, by the name of its source
    parse_place_query: Callable[[str], Any] = lambda query: None  # what rules read of a wish for places


class SourceStatus(NamedTuple):
    """How things are where the usual sources of a question are chosen."""

    state: Literal["live", "sample", "offline", "missing"]  # of the source
    has_model: bool  # there is a model that plans
    no_remote_default: bool  # no usual source off this machine is asked for words


def never_default(status: SourceStatus) -> bool:
    """For a source that is searched only where somebody has chosen it."""
    return False


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a source says of itself; whoever plans, asks, shows or lists sources reads it here.

    `name` is [a-z][a-z0-9_]*, in settings, plans and stored runs. `prompt` follows "at most 3 search
    queries for". A source of ours has its texts in the catalogue (`source.NAME`,
    `report.source.NAME`, `card.NAME`, `status.brings_NAME`); one of others brings `label` (at most 40
    characters) and `about` (a sentence on what it searches) in both languages.
    """

    name: str
    kind: EvidenceKind
    prompt_phrase: str
    build: Callable[[Dependencies], Retriever]
    label: Mapping[Language, str] = field(default_factory=dict)
    description: Mapping[Language, str] = field(default_factory=dict)
    icon: str = "extension"  # a Material symbol
    settings: tuple[Setting, ...] = ()
    is_default: Callable[[SourceStatus], bool] = never_default  # whether a question that names no source is put to it
    query_type: QueryType = "words"  # what rules ask it
    result_type: ResultType = "quotes"  # what an answer by rules takes of what it finds
    is_local: bool = False  # nothing is sent anywhere
    is_paid: bool = False  # asking it may cost money
    is_cacheable: bool = False  # what it found serves the owner's other runs for SIGHTLINE_CACHE_HOURS
    is_preferred_for_reports: bool = False  # a report looks here first
    tool_descriptions: Mapping[str, str] = field(default_factory=dict)  # its ways of searching, as a model is told
    test_query: str = ""  # a query that finds something: the test of connections; "" tests nothing
    setup_commands: tuple[str, str] = ("", "")  # lines of a shell that make it live: with a key, without
    node_name: str = ""  # in the graph; "" is NAME_research
    is_external: bool = False  # brought by a package of others, or a server of `mcp.json`

    @property
    def graph_node(self) -> str:
        """The name of its node in the graph."""
        return self.node_name or f"{self.name}_research"

    def max_queries(self, query_limit: int) -> int:
        """How many queries of a round it may be asked, of a run that asks others `queries`."""
        return query_limit * (LOCAL_QUERY_FACTOR if self.is_local else 1)
